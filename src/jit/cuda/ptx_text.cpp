// jit/cuda/ptx_text.cpp: masks, moves and the frame of a function's text.
#include "jit/cuda/ptx_text.h"

namespace umbel::jit::ptx {

const char *bits_suffix(Type t) {
    return t == Type::F16 ? "b16" : bytes(t) == 8 ? "b64" : t == Type::Bool ? "pred" : "b32";
}

const char *number_suffix(Type t) {
    switch (t) {
    case Type::F32: return "f32";
    case Type::F64: return "f64";
    case Type::I64: return "s64";
    case Type::U64:
    case Type::Ptr: return "u64";
    case Type::I8:
    case Type::I16:
    case Type::I32: return "s32";
    default: return "u32";
    }
}

const char *memory_suffix(Type t) {
    switch (t) {
    case Type::Bool:
    case Type::U8: return "u8";
    case Type::I8: return "s8";
    case Type::U16: return "u16";
    case Type::I16: return "s16";
    case Type::F16: return "b16";
    default: return bytes(t) == 8 ? "b64" : "b32";
    }
}

Operand immediate(Type t, uint64_t bits) {
    switch (t) {
    case Type::Bool: return bits & 1 ? True : False;
    case Type::F32: return fmt::format("0f{:08X}", uint32_t(bits));
    case Type::F64: return fmt::format("0d{:016X}", bits);
    case Type::I8: return fmt::format("{}", int(int8_t(bits)));
    case Type::I16: return fmt::format("{}", int(int16_t(bits)));
    case Type::U8: return fmt::format("{}", unsigned(uint8_t(bits)));
    case Type::U16: return fmt::format("{}", unsigned(uint16_t(bits)));
    case Type::I32:
    case Type::U32: return fmt::format("0x{:x}", uint32_t(bits));
    default: return fmt::format("0x{:x}", bits);
    }
}

Operand Writer::make(char register_class, std::string_view instruction, const Operand &a,
                     const Operand &b, const Operand &c, const Operand &d) {
    Operand out = fresh(register_class);
    m_text += "    ";
    m_text += instruction;
    m_text += ' ';
    m_text += out;
    for (const Operand *o : { &a, &b, &c, &d })
        if (!o->empty()) {
            m_text += ", ";
            m_text += *o;
        }
    m_text += ";\n";
    return out;
}

// ---- Masks

Operand Writer::mask_and(const Operand &a, const Operand &b) {
    if (a == False || b == False)
        return False;
    if (a == True || a == b)
        return b;
    return b == True ? a : make('p', "and.pred", a, b);
}

Operand Writer::mask_or(const Operand &a, const Operand &b) {
    if (a == True || b == True)
        return True;
    if (a == False || a == b)
        return b;
    return b == False ? a : make('p', "or.pred", a, b);
}

Operand Writer::mask_xor(const Operand &a, const Operand &b) {
    if (a == False)
        return b;
    if (b == False)
        return a;
    if (a == True)
        return mask_not(b);
    return b == True ? mask_not(a) : make('p', "xor.pred", a, b);
}

Operand Writer::mask_not(const Operand &a) {
    return a == True ? False : a == False ? True : make('p', "not.pred", a);
}

Operand Writer::as_register(const Operand &mask) {
    if (mask != True && mask != False)
        return mask;
    return make('p', mask == True ? "setp.eq.u32" : "setp.ne.u32", "0", "0");
}

void Writer::jump_unless(const Operand &mask, const std::string &to) {
    if (mask == False)
        jump(to);
    else if (mask != True)
        line("@!{} bra {}", mask, to);
}

// ---- Values

Operand Writer::literal(Type t, uint64_t bits) {
    // The driver takes the least float or 0, converted to another precision, for a choice of the integers 1 and 0. So it does not
    // get to see such a number: blocks have no third coordinate.
    if (bits == 1 && (t == Type::F32 || t == Type::F64)) {
        Operand zero = make('r', "mov.u32", "%ctaid.z");
        if (t == Type::F64)
            zero = make('d', "cvt.u64.u32", zero);
        return make(register_class(t), t == Type::F64 ? "or.b64" : "or.b32", zero, "1");
    }
    if (t != Type::F16)
        return immediate(t, bits);
    return make('h', "mov.b16", fmt::format("0x{:04x}", uint16_t(bits)));
}

void Writer::move(Type t, const Operand &to, const Operand &from) {
    if (to == from)
        return;
    if (t != Type::Bool)
        line("mov.{} {}, {}", bits_suffix(t), to, from);
    else if (from == True || from == False)
        line("setp.{}.u32 {}, 0, 0", from == True ? "eq" : "ne", to);
    else
        line("mov.pred {}, {}", to, from);
}

Operand Writer::select(Type t, const Operand &mask, const Operand &a, const Operand &b) {
    if (mask == True || a == b)
        return a;
    if (mask == False)
        return b;
    if (t == Type::Bool)
        return mask_or(mask_and(mask, a), mask_and(mask_not(mask), b));
    return make(register_class(t), fmt::format("selp.{}", bits_suffix(t)), a, b, mask);
}

std::string Writer::finish() const {
    std::string out;
    const char *types[] = { "pred", "b16", "b32", "b64" };
    for (int c = 0; c < 4; ++c)
        if (m_count[c])
            out += fmt::format("    .reg .{} %{}<{}>;\n", types[c], "phrd"[c], m_count[c]);
    return out + m_text;
}

} // namespace umbel::jit::ptx
