// jit/cuda/ptx_sum.cpp: see jit/cuda/ptx_sum.h.
#include "jit/cuda/ptx_sum.h"
#include "jit/cuda/ptx_emit.h"
#include "jit/cuda/ptx_warp.h"

namespace umbel::jit::ptx {

namespace {

constexpr const char *Digit = "0x3fffffff";

struct Cell {
    Operand digits;     // in the copy of this block
    Operand not_finite; // in the first copy
    std::string
        came; // behind that: not 0 if zeros are not all negative, however little is left of the sum
};

// Many lanes may come to one cell, but reading is cheap: only the first ones write.
void note_arrival(Writer &w, const Cell &cell, const Operand &mask) {
    Operand seen = w.load(Type::U32, "global", cell.came, 1, 4, mask)[0],
            is_first = w.make('p', "setp.eq.u32", seen, "0");
    w.store(Type::U32, "global", cell.came, "1", w.mask_and(mask, is_first));
}

Cell cell_of(Writer &w, const Operand &base, const Operand &index, Type t) {
    Operand header = w.make('d', "and.b64", base, "0x7fffffffffffffff");
    Operand mask = w.fresh('r'), stride = w.fresh('r');
    w.line("ld.global.v2.b32 {{{}, {}}}, [{}]", mask, stride, header);
    Operand copy = w.make('r', "and.b32", w.make('r', "mov.u32", "%ctaid.x"), mask);
    Operand first = w.make('d', "add.u64", header, std::to_string(SumHeaderBytes)),
            own = w.make('d', "mad.wide.u32", copy, stride, first);
    std::string bytes = std::to_string(cell_bytes(t));
    Operand whole = w.make('d', "mad.wide.u32", index, bytes, first);
    Operand not_finite = w.make('d', "add.u64", whole, std::to_string(8 * digit_count(t)));
    return { w.make('d', "mad.wide.u32", index, bytes, own), not_finite,
             fmt::format("{}+{}", not_finite, umbel::jit::bytes(t)) };
}

// f32: a number of 53 bits, of which two digits are made.
void add_single(Writer &w, const Cell &cell, const Operand &v) {
    Operand exponent = w.make('r', "and.b32", w.make('r', "shr.u32", v, "23"), "255");
    Operand mantissa = w.make('r', "and.b32", v, "0x7fffff");
    std::string finite = w.label();
    w.line("@{} bra {}", w.make('p', "setp.ne.u32", exponent, "255"), finite);
    w.line("red.global.add.f32 [{}], {}", cell.not_finite, v);
    w.line("ret");
    w.place(finite);
    note_arrival(w, cell, w.make('p', "setp.eq.u32", v, "0"));
    Operand zero = w.make('p', "setp.eq.u32", w.make('r', "shl.b32", v, "1"), "0");
    w.line("@{} ret", zero);
    Operand normal = w.make('p', "setp.ne.u32", exponent, "0");
    w.line("@{} or.b32 {}, {}, 0x800000", normal, mantissa, mantissa);
    Operand place = w.make('r', "sub.u32", w.make('r', "max.u32", exponent, "1"), "1");
    Operand digit = w.make('r', "div.u32", place, "30");
    Operand shift = w.make('r', "sub.u32", place, w.make('r', "mul.lo.u32", digit, "30"));
    Operand sum = w.make('d', "shl.b64", w.make('d', "cvt.u64.u32", mantissa), shift);
    Operand negative = w.make('p', "setp.lt.s32", v, "0");
    w.line("@{} neg.s64 {}, {}", negative, sum, sum);
    Operand at = w.make('d', "mad.wide.u32", digit, "8", cell.digits);
    Peers peers = find_peers(w, at);
    add_up(w, peers, { sum });
    w.line("@!{} ret", peers.leads);
    // Low digits are positive and stay; others may cancel
    Operand low = w.make('d', "and.b64", sum, Digit), is_low = w.make('p', "setp.ne.u64", low, "0");
    w.line("@{} red.global.add.u64 [{}], {}", is_low, at, low);
    note_arrival(w, cell, w.mask_not(is_low));
    Operand above = w.make('d', "shr.s64", sum, "30");
    w.line("@{} red.global.add.u64 [{}+8], {}", w.make('p', "setp.ne.s64", above, "0"), at, above);
}

// f64: three digits.
void add_double(Writer &w, const Cell &cell, const Operand &v) {
    Operand exponent =
        w.make('r', "and.b32", w.make('r', "cvt.u32.u64", w.make('d', "shr.u64", v, "52")), "2047");
    Operand mantissa = w.make('d', "and.b64", v, "0xfffffffffffff");
    std::string finite = w.label();
    w.line("@{} bra {}", w.make('p', "setp.ne.u32", exponent, "2047"), finite);
    w.line("red.global.add.f64 [{}], {}", cell.not_finite, v);
    w.line("ret");
    w.place(finite);
    note_arrival(w, cell, w.make('p', "setp.ne.u64", v, "0x8000000000000000"));
    Operand normal = w.make('p', "setp.ne.u32", exponent, "0");
    w.line("@{} or.b64 {}, {}, 0x10000000000000", normal, mantissa, mantissa);
    Operand place = w.make('r', "sub.u32", w.make('r', "max.u32", exponent, "1"), "1");
    Operand digit = w.make('r', "div.u32", place, "30");
    Operand shift = w.make('r', "sub.u32", place, w.make('r', "mul.lo.u32", digit, "30"));
    Operand at = w.make('d', "mad.wide.u32", digit, "8", cell.digits);
    Operand negative = w.make('p', "setp.lt.s64", v, "0");
    Operand middle = w.make('r', "sub.u32", "30", shift),
            upper = w.make('r', "sub.u32", "60", shift);
    const std::vector<Operand> parts = {
        w.make('d', "and.b64", w.make('d', "shl.b64", mantissa, shift), Digit),
        w.make('d', "and.b64", w.make('d', "shr.u64", mantissa, middle), Digit),
        w.make('d', "shr.u64", mantissa, upper)
    };
    for (const Operand &part : parts)
        w.line("@{} neg.s64 {}, {}", negative, part, part);
    Peers peers = find_peers(w, at);
    add_up(w, peers, parts);
    w.line("@!{} ret", peers.leads);
    for (size_t k = 0; k < parts.size(); ++k)
        w.line("@{} red.global.add.u64 [{}+{}], {}", w.make('p', "setp.ne.s64", parts[k], "0"), at,
               8 * k, parts[k]);
}

} // namespace

std::string sum_function(Module &module, Type t) {
    std::string key = fmt::format("sum_{}", name(t));
    if (auto it = module.helpers.find(key); it != module.helpers.end())
        return it->second;
    Writer w(module);
    Operand base = w.make('d', "ld.param.b64", "[base]"),
            index = w.make('r', "ld.param.b32", "[index]");
    Operand v = w.fresh(t);
    w.line("ld.param.{} {}, [v]", bits_suffix(t), v);
    std::string digits = w.label();
    w.line("@{} bra {}", w.make('p', "setp.lt.s64", base, "0"), digits);
    w.reduce(ReduceOp::Add, t, w.element_address(base, index, bytes(t)), v, True);
    w.line("ret");
    w.place(digits);
    Type held = t == Type::F64 ? t : Type::F32;
    Cell cell = cell_of(w, base, index, held);
    if (t == Type::F64)
        add_double(w, cell, v);
    else
        add_single(w, cell, w.cast(Type::F32, t, v));
    w.line("ret");
    module.head +=
        fmt::format(".func {}(.param .b64 base, .param .b32 index, .param .{} v)\n{{\n{}}}\n\n",
                    key, bits_suffix(t), w.finish());
    return module.helpers[key] = key;
}

// ---- The end

namespace {

Operand lane_of(Writer &w) {
    Operand lane = w.fresh('r');
    w.line("mad.lo.u32 {}, {}, {}, {}", lane, w.make('r', "mov.u32", "%ctaid.x"),
           w.make('r', "mov.u32", "%ntid.x"), w.make('r', "mov.u32", "%tid.x"));
    return lane;
}

// One lane a word of the first copy.
std::string merge_kernel(Module &module) {
    Writer w(module);
    Operand lane = lane_of(w), size = w.make('r', "ld.param.u32", "[size]");
    w.line("@{} ret", w.make('p', "setp.ge.u32", lane, size));
    Operand header = w.make('d', "ld.param.u64", "[digits]");
    Operand mask = w.fresh('r'), stride = w.fresh('r');
    w.line("ld.global.v2.b32 {{{}, {}}}, [{}]", mask, stride, header);
    Operand first =
        w.element_address(w.make('d', "add.u64", header, std::to_string(SumHeaderBytes)), lane, 8);
    Operand sum = w.make('d', "ld.global.b64", "[" + first + "]"), at = w.fresh('d'),
            copy = w.fresh('r');
    w.line("mov.b64 {}, {}", at, first);
    w.line("mov.b32 {}, 0", copy);
    std::string again = w.label(), done = w.label();
    w.place(again);
    w.line("@{} bra {}", w.make('p', "setp.ge.u32", copy, mask), done);
    w.line("mad.wide.u32 {}, {}, 1, {}", at, stride, at);
    w.line("add.u64 {}, {}, {}", sum, sum, w.make('d', "ld.global.b64", "[" + at + "]"));
    w.line("add.u32 {}, {}, 1", copy, copy);
    w.jump(again);
    w.place(done);
    w.line("st.global.b64 [{}], {}", first, sum);
    w.line("ret");
    return fmt::format(".visible .entry merge(.param .u64 digits, .param .u32 size)\n{{\n{}}}\n\n",
                       w.finish());
}

// r * 2^(30 digit + lowest), r a number of 83 bits at most
Operand scaled(Writer &w, const Operand &r, const Operand &digit, int lowest) {
    Operand e =
        w.make('r', "add.s32", w.make('r', "mul.lo.s32", digit, "30"), std::to_string(lowest));
    Operand half = w.make('r', "shr.s32", e, "1"), rest = w.make('r', "sub.s32", e, half);
    auto power = [&](const Operand &k) {
        Operand biased = w.make('r', "add.s32", k, "1023");
        return w.make('d', "shl.b64", w.make('d', "cvt.u64.u32", biased), "52");
    };
    Operand p = power(half), q = power(rest);
    return w.make('d', "mul.rn.f64", w.make('d', "mul.rn.f64", r, p), q);
}

// One lane a cell: carries, from the lowest digit on; then the number from the highest on, as far as a double goes.
std::string finish_kernel(Module &module, Type t) {
    Type held = t == Type::F64 ? t : Type::F32;
    int digits = int(digit_count(held)), lowest = held == Type::F64 ? -1074 : -149;
    Writer w(module);
    Operand lane = lane_of(w), size = w.make('r', "ld.param.u32", "[size]");
    w.line("@{} ret", w.make('p', "setp.ge.u32", lane, size));
    Operand first = w.make('d', "add.u64", w.make('d', "ld.param.u64", "[digits]"),
                           std::to_string(SumHeaderBytes));
    Operand cell = w.make('d', "mad.wide.u32", lane, std::to_string(cell_bytes(held)), first);
    Operand target = w.element_address(w.make('d', "ld.param.u64", "[target]"), lane, bytes(t));
    Operand old = w.load(t, "global", target, 1, 1, True)[0];
    auto give = [&](const Operand &sum) { // of type F64
        Operand total = w.make('d', "add.rn.f64", w.cast(Type::F64, t, old), sum);
        w.store(t, "global", target, w.cast(t, Type::F64, total), True);
        w.line("ret");
    };
    // What is not finite
    std::string finite = w.label();
    Operand special = w.load(held, "global", fmt::format("{}+{}", cell, 8 * digits), 1, 1, True)[0];
    Operand bits = held == Type::F64 ? special : w.make('d', "cvt.u64.u32", special);
    w.line("@{} bra {}", w.make('p', "setp.eq.u64", bits, "0"), finite);
    give(w.cast(Type::F64, held, special));
    w.place(finite);
    // Carries
    Operand came = w.load(Type::U32, "global",
                          fmt::format("{}+{}", cell, 8 * digits + int(bytes(held))), 1, 1, True)[0];
    Operand carry = w.make('d', "mov.b64", "0"), any = w.make('d', "cvt.u64.u32", came),
            k = w.make('r', "mov.b32", "0"), at = w.make('d', "mov.b64", cell);
    std::string again = w.label();
    w.place(again);
    Operand sum = w.make('d', "add.s64", w.make('d', "ld.global.b64", "[" + at + "]"), carry);
    w.line("st.global.b64 [{}], {}", at, w.make('d', "and.b64", sum, Digit));
    w.line("shr.s64 {}, {}, 30", carry, sum);
    w.line("or.b64 {}, {}, {}", any, any, sum);
    w.line("add.u64 {}, {}, 8", at, at);
    w.line("add.u32 {}, {}, 1", k, k);
    w.line("@{} bra {}", w.make('p', "setp.lt.u32", k, std::to_string(digits)), again);
    w.line("@{} ret", w.make('p', "setp.eq.u64", any, "0")); // nobody came, or -0: -0 stays -0
    // From the top: 2^53 is more than there are bits in the result
    Operand r = w.make('d', "cvt.rn.f64.s64", carry);
    std::string more = w.label(), enough = w.label();
    w.place(more);
    w.line("@{} bra {}", w.make('p', "setp.eq.u32", k, "0"), enough);
    Operand size_of_r = w.make('d', "and.b64", r, "0x7fffffffffffffff");
    w.line("@{} bra {}", w.make('p', "setp.ge.f64", size_of_r, "0d4340000000000000"), enough);
    w.line("sub.u64 {}, {}, 8", at, at);
    w.line("sub.u32 {}, {}, 1", k, k);
    Operand digit = w.make('d', "cvt.rn.f64.s64", w.make('d', "ld.global.b64", "[" + at + "]"));
    w.line("fma.rn.f64 {}, {}, 0d41D0000000000000, {}", r, r, digit);
    w.jump(more);
    w.place(enough);
    give(scaled(w, r, k, lowest));
    return fmt::format(".visible .entry finish_{}(.param .u64 digits, .param .u64 target, "
                       ".param .u32 size)\n{{\n{}}}\n\n",
                       name(t), w.finish());
}

} // namespace

std::string sum_kernels() {
    Module module;
    std::string text = merge_kernel(module);
    for (Type t : { Type::F16, Type::F32, Type::F64 })
        text += finish_kernel(module, t);
    return fmt::format(".version {}\n.target {}\n.address_size 64\n\n", PtxVersion,
                       TargetArchitecture) +
           module.head + text;
}

} // namespace umbel::jit::ptx
