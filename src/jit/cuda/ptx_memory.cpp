// jit/cuda/ptx_memory.cpp: loads, stores, and reductions into memory.
#include "jit/cuda/ptx_text.h"

namespace umbel::jit::ptx {

Operand Writer::element_address(const Operand &base, const Operand &index, uint64_t size) {
    if (index == "0x0")
        return base;
    return make('d', "mad.wide.u32", index, std::to_string(size), base);
}

std::vector<Operand> Writer::load(Type t, const char *space, const std::string &address,
                                  uint32_t count, uint32_t align, const Operand &mask) {
    std::vector<Operand> out;
    Type held = t == Type::Bool ? Type::U8 : t;
    uint32_t size = uint32_t(bytes(t));
    if (mask == False) {
        for (uint32_t k = 0; k < count; ++k)
            out.push_back(literal(t, 0));
        return out;
    }
    for (uint32_t k = 0; k < count; ++k) {
        out.push_back(fresh(held));
        if (mask != True)
            move(held, out.back(), held == Type::F16 ? "0" : immediate(held, 0));
    }
    // As vectors of up to 16 bytes, as far as records are aligned
    for (uint32_t k = 0; k < count;) {
        uint32_t n = 4;
        while (n > 1 &&
               (n * size > 16 || k + n > count || (k * size) % (n * size) || align % (n * size)))
            n /= 2;
        std::string list;
        for (uint32_t j = 0; j < n; ++j)
            list += (j ? ", " : "") + out[k + j];
        if (n > 1)
            list = "{" + list + "}";
        line("{}ld.{}.{}{} {}, [{}+{}]", when(mask), space,
             n == 1   ? ""
             : n == 2 ? "v2."
                      : "v4.",
             memory_suffix(t), list, address, k * size);
        k += n;
    }
    if (t == Type::Bool)
        for (Operand &v : out)
            v = make('p', "setp.ne.u32", v, "0");
    return out;
}

void Writer::store(Type t, const char *space, const std::string &address, const Operand &value,
                   const Operand &mask) {
    if (mask == False)
        return;
    Operand v = t == Type::Bool ? cast(Type::U8, t, value) : value;
    if (v[0] != '%') { // immediates have no width of their own
        Operand r = fresh(t == Type::Bool ? Type::U8 : t);
        move(t == Type::Bool ? Type::U8 : t, r, v);
        v = r;
    }
    line("{}st.{}.{} [{}], {}", when(mask), space, memory_suffix(t), address, v);
}

// ---- Reductions

namespace {

/// The instruction that does it in one go, or "".
std::string native(ReduceOp op, Type t) {
    bool whole = is_int(t) && bits(t) >= 32;
    switch (op) {
    case ReduceOp::Add:
        if (t == Type::F32 || t == Type::F64)
            return fmt::format("add.{}", number_suffix(t));
        return whole ? (bits(t) == 64 ? "add.u64" : "add.u32") : "";
    case ReduceOp::Min: return whole ? fmt::format("min.{}", number_suffix(t)) : "";
    case ReduceOp::Max: return whole ? fmt::format("max.{}", number_suffix(t)) : "";
    case ReduceOp::And: return whole ? (bits(t) == 64 ? "and.b64" : "and.b32") : "";
    case ReduceOp::Or: return whole ? (bits(t) == 64 ? "or.b64" : "or.b32") : "";
    default: return "";
    }
}

Op elementwise_of(ReduceOp op) {
    switch (op) {
    case ReduceOp::Add: return Op::Add;
    case ReduceOp::Mul: return Op::Mul;
    case ReduceOp::Min: return Op::Min;
    case ReduceOp::Max: return Op::Max;
    case ReduceOp::And: return Op::And;
    default: return Op::Or;
    }
}

} // namespace

// Until nobody else has changed the word meanwhile. Elements of less than 32 bits are parts of one.
void Writer::compare_and_swap(ReduceOp op, Type t, const Operand &address, const Operand &value) {
    Type held = t == Type::Bool ? Type::U8 : t;
    Operand v = t == Type::Bool ? cast(Type::U8, t, value) : value;
    bool wide = bytes(held) == 8, part = bytes(held) < 4;
    const char *b = wide ? "b64" : "b32";
    char reg = wide ? 'd' : 'r';
    Operand word_address = address, shift, kept;
    if (part) {
        word_address = make('d', "and.b64", address, "0xfffffffffffffffc");
        Operand low = make('r', "cvt.u32.u64", address);
        shift = make('r', "shl.b32", make('r', "and.b32", low, "3"), "3");
        Operand ones = make('r', "shl.b32", bytes(held) == 1 ? "255" : "65535", shift);
        kept = make('r', "not.b32", ones);
    }
    Operand seen = make(reg, fmt::format("ld.relaxed.gpu.global.{}", b), "[" + word_address + "]");
    std::string again = label(), done = label();
    place(again);
    Operand old = seen;
    if (part) {
        old = make('r', "shr.u32", seen, shift);
        old = held == Type::F16 ? make('h', "cvt.u16.u32", old) : narrow(held, old);
    }
    // op(old, v); extrema keep the old one where v is NaN or equal
    bool extreme = op == ReduceOp::Min || op == ReduceOp::Max;
    Operand now =
        elementwise(elementwise_of(op), held, held, extreme ? v : old, extreme ? old : v, {});
    Operand next = now;
    if (part) {
        next = held == Type::F16 ? make('r', "cvt.u32.u16", now)
                                 : make('r', "and.b32", now, bytes(held) == 1 ? "255" : "65535");
        next = make('r', "or.b32", make('r', "and.b32", seen, kept),
                    make('r', "shl.b32", next, shift));
    }
    line("@{} bra {}", make('p', fmt::format("setp.eq.{}", b), next, seen), done);
    Operand found =
        make(reg, fmt::format("atom.global.cas.{}", b), "[" + word_address + "]", seen, next);
    line("@{} bra {}", make('p', fmt::format("setp.eq.{}", b), found, seen), done);
    line("mov.{} {}, {}", b, seen, found);
    jump(again);
    place(done);
}

void Writer::reduce(ReduceOp op, Type t, const Operand &address, const Operand &value,
                    const Operand &mask) {
    if (mask == False)
        return;
    if (op == ReduceOp::Store)
        return store(t, "global", address, value, mask);
    if (std::string instruction = native(op, t); !instruction.empty()) {
        line("{}red.global.{} [{}], {}", when(mask), instruction, address, value);
        return;
    }
    std::string after = label();
    jump_unless(mask, after);
    compare_and_swap(op, t, address, value);
    place(after);
}

} // namespace umbel::jit::ptx
