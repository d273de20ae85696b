// jit/cuda/ptx_arith.cpp: element-wise operations, to the letter of op.h.
//
// Floats round to nearest and keep subnormal numbers: every instruction says .rn, which also keeps the assembler from fusing
// products and sums. Single precision may be less exact where users want it to be fast: see Flag::FastMath.
#include "jit/cuda/ptx_text.h"
#include <cmath>

namespace umbel::jit::ptx {

namespace {

bool is_narrow(Type t) { return is_int(t) && bits(t) < 32; }

std::string with(const char *instruction, Type t) {
    return fmt::format("{}.{}", instruction, number_suffix(t));
}

} // namespace

Operand Writer::narrow(Type t, const Operand &a) {
    if (!is_narrow(t))
        return a;
    if (is_signed(t))
        return make('r', "bfe.s32", a, "0", std::to_string(bits(t)));
    return make('r', "and.b32", a, t == Type::U8 ? "255" : "65535");
}

// ---- Integers

Operand Writer::divide(Type t, const Operand &a, const Operand &b) {
    char reg = register_class(t);
    // What the machine does with 0 and with -1 is not what op.h says
    Operand by_zero = make('p', with("setp.eq", t), b, "0"), bad = by_zero, negated;
    if (is_signed(t)) {
        negated = make('p', with("setp.eq", t), b, "-1");
        bad = mask_or(by_zero, negated);
    }
    Operand d = make(reg, fmt::format("selp.{}", bits_suffix(t)), "1", b, bad);
    Operand q = make(reg, with("div", t), a, d);
    if (is_signed(t)) // narrow types wrap
        q = select(t, negated, narrow(t, make(reg, with("neg", t), a)), q);
    return select(t, by_zero, immediate(t, ~0ull), q);
}

// The assembler takes the result of its own instruction to be at least 0, which that of the least integer is not: only what is
// narrower than the register is safe.
Operand Writer::absolute(Type t, const Operand &a) {
    if (!is_signed(t))
        return a;
    if (is_narrow(t))
        return narrow(t, make('r', "abs.s32", a));
    Operand negative = make('p', with("setp.lt", t), a, "0");
    return select(t, negative, make(register_class(t), with("neg", t), a), a);
}

Operand Writer::multiply_high(Type t, const Operand &a, const Operand &b) {
    if (!is_narrow(t))
        return make(register_class(t), with("mul.hi", t), a, b);
    Operand p = make('r', with("mul.lo", t), a, b);
    return narrow(t, make('r', is_signed(t) ? "shr.s32" : "shr.u32", p, std::to_string(bits(t))));
}

Operand Writer::count_bits(Op op, Type t, const Operand &a) {
    bool wide = bits(t) == 64;
    Operand v = a;
    if (is_narrow(t) && is_signed(t))
        v = make('r', "and.b32", a, t == Type::I8 ? "255" : "65535");
    const char *b = wide ? "b64" : "b32";
    Operand n;
    if (op == Op::Popcount) {
        n = make('r', fmt::format("popc.{}", b), v);
    } else if (op == Op::Clz) {
        n = make('r', fmt::format("clz.{}", b), v);
        if (is_narrow(t))
            n = make('r', "sub.u32", n, std::to_string(32 - bits(t)));
    } else {
        n = make('r', fmt::format("clz.{}", b),
                 make(wide ? 'd' : 'r', fmt::format("brev.{}", b), v));
        if (is_narrow(t))
            n = make('r', "min.u32", n, std::to_string(bits(t)));
    }
    return wide ? make('d', "cvt.u64.u32", n) : n;
}

Operand Writer::rotate(Op op, Type t, const Operand &a, const Operand &b) {
    bool left = op == Op::Rotl;
    unsigned width = unsigned(bits(t));
    if (width == 32)
        return make('r', left ? "shf.l.wrap.b32" : "shf.r.wrap.b32", a, a, b);
    Operand amount = width == 64 ? make('r', "cvt.u32.u64", b) : b;
    amount = make('r', "and.b32", amount, std::to_string(width - 1));
    Operand rest = make('r', "and.b32", make('r', "neg.s32", amount), std::to_string(width - 1));
    if (width == 64) {
        Operand up = make('d', "shl.b64", a, left ? amount : rest),
                down = make('d', "shr.u64", a, left ? rest : amount);
        return make('d', "or.b64", up, down);
    }
    Operand v = make('r', "and.b32", a, width == 8 ? "255" : "65535");
    Operand up = make('r', "shl.b32", v, left ? amount : rest),
            down = make('r', "shr.u32", v, left ? rest : amount);
    return narrow(t, make('r', "or.b32", up, down));
}

Operand Writer::integer_op(Op op, Type t, const Operand &a, const Operand &b, const Operand &c) {
    char reg = register_class(t);
    std::string bit = bits_suffix(t), mask = std::to_string(bits(t) - 1);
    auto amount = [&] { // of a shift, modulo the width
        return make('r', "and.b32", reg == 'd' ? make('r', "cvt.u32.u64", b) : b, mask);
    };
    switch (op) {
    case Op::Neg: return narrow(t, make(reg, reg == 'd' ? "neg.s64" : "neg.s32", a));
    case Op::Abs: return absolute(t, a);
    case Op::Not: return narrow(t, make(reg, "not." + bit, a));
    case Op::Popcount:
    case Op::Clz:
    case Op::Ctz: return count_bits(op, t, a);
    case Op::Add: return narrow(t, make(reg, with("add", t), a, b));
    case Op::Sub: return narrow(t, make(reg, with("sub", t), a, b));
    case Op::Mul: return narrow(t, make(reg, with("mul.lo", t), a, b));
    case Op::Div: return divide(t, a, b);
    case Op::Mod: { // x % 0 = x - ones * 0
        Operand p = make(reg, with("mul.lo", t), divide(t, a, b), b);
        return narrow(t, make(reg, with("sub", t), a, p));
    }
    case Op::MulHi: return multiply_high(t, a, b);
    case Op::Min: return make(reg, with("min", t), a, b);
    case Op::Max: return make(reg, with("max", t), a, b);
    case Op::And: return make(reg, "and." + bit, a, b);
    case Op::Or: return make(reg, "or." + bit, a, b);
    case Op::Xor: return make(reg, "xor." + bit, a, b);
    case Op::Shl: return narrow(t, make(reg, "shl." + bit, a, amount()));
    case Op::Shr: return make(reg, with("shr", t), a, amount());
    case Op::Rotl:
    case Op::Rotr: return rotate(op, t, a, b);
    case Op::Fma: return narrow(t, make(reg, with("mad.lo", t), a, b, c));
    default: break;
    }
    check(false);
    return {};
}

// ---- Floats

Operand Writer::minimum(Type t, const Operand &a, const Operand &b, bool greatest) {
    return select(t, make('p', with(greatest ? "setp.gt" : "setp.lt", t), a, b), a, b);
}

Operand Writer::float_op(Op op, Type t, const Operand &a, const Operand &b, const Operand &c) {
    char reg = register_class(t);
    bool wide = t == Type::F64;
    if (m_module.is_fast && !m_is_exact && t == Type::F32) {
        switch (op) {
        case Op::Add: return make(reg, "add.f32", a, b); // which the assembler fuses
        case Op::Sub: return make(reg, "sub.f32", a, b);
        case Op::Mul: return make(reg, "mul.f32", a, b);
        case Op::Div: return make(reg, "div.full.f32", a, b); // 2 units in the last place
        case Op::Rcp: return make(reg, "rcp.approx.f32", a);  // 1
        case Op::Sqrt: return make(reg, "sqrt.approx.f32", a);
        case Op::Rsqrt: return make(reg, "rsqrt.approx.f32", a);
        default: break;
        }
    }
    switch (op) {
    // Of double precision not as bits: the driver's assembler (580.159, optimizing) made kernels of that whose conversions of
    // such numbers to integers were 0
    case Op::Neg: return wide ? make('d', "neg.f64", a) : make('r', "xor.b32", a, "0x80000000");
    case Op::Abs: return wide ? make('d', "abs.f64", a) : make('r', "and.b32", a, "0x7fffffff");
    case Op::Sqrt: return make(reg, with("sqrt.rn", t), a);
    case Op::Rcp: return make(reg, with("rcp.rn", t), a);
    case Op::Rsqrt: return make(reg, with("rcp.rn", t), make(reg, with("sqrt.rn", t), a));
    case Op::Floor: return make(reg, wide ? "cvt.rmi.f64.f64" : "cvt.rmi.f32.f32", a);
    case Op::Ceil: return make(reg, wide ? "cvt.rpi.f64.f64" : "cvt.rpi.f32.f32", a);
    case Op::Trunc: return make(reg, wide ? "cvt.rzi.f64.f64" : "cvt.rzi.f32.f32", a);
    case Op::Round: return make(reg, wide ? "cvt.rni.f64.f64" : "cvt.rni.f32.f32", a);
    case Op::Add: return make(reg, with("add.rn", t), a, b);
    case Op::Sub: return make(reg, with("sub.rn", t), a, b);
    case Op::Mul: return make(reg, with("mul.rn", t), a, b);
    case Op::Div: return make(reg, with("div.rn", t), a, b);
    case Op::Min: return minimum(t, a, b, false);
    case Op::Max: return minimum(t, a, b, true);
    case Op::Fma: return make(reg, with("fma.rn", t), a, b, c);
    default: break;
    }
    check(false);
    return {};
}

Operand Writer::compare(Op op, Type from, const Operand &a, const Operand &b) {
    if (from == Type::Bool) {
        Operand differ = mask_xor(a, b);
        return op == Op::Ne ? differ : mask_not(differ);
    }
    const char *test = op == Op::Eq   ? "setp.eq"
                       : op == Op::Lt ? "setp.lt"
                       : op == Op::Le ? "setp.le"
                                      : (is_float(from) ? "setp.neu" : "setp.ne");
    return make('p', with(test, from), a, b);
}

// ---- Casts

// The machine's own conversion saturates; for narrow integers we do, and NaN is not 0 where 64 bits take part.
Operand Writer::float_to_int(Type t, Type from, const Operand &a) {
    char reg = register_class(t);
    Operand r = make(reg, fmt::format("cvt.rzi.{}.{}", number_suffix(t), number_suffix(from)), a);
    if (is_narrow(t)) {
        int n = int(bits(t)), low = is_signed(t) ? -(1 << (n - 1)) : 0,
            high = (1 << (is_signed(t) ? n - 1 : n)) - 1;
        r = make('r', with("min", t), r, std::to_string(high));
        if (is_signed(t))
            r = make('r', with("max", t), r, std::to_string(low));
    }
    Operand number = make('p', with("setp.eq", from), a, a);
    return select(t, number, r, "0");
}

Operand Writer::cast(Type t, Type from, const Operand &a) {
    if (t == from)
        return a;
    if (from == Type::F16) {
        Operand f = make('r', "cvt.f32.f16", a);
        return t == Type::F32 ? f : cast(t, Type::F32, f);
    }
    if (t == Type::Bool)
        return is_float(from) ? make('p', with("setp.neu", from), a, immediate(from, 0))
                              : make('p', with("setp.ne", from), a, "0");
    if (t == Type::F16) {
        if (from == Type::F64)
            return make('h', "cvt.rn.f16.f64", a);
        // Integers that f32 would round are all beyond the largest f16
        return make('h', "cvt.rn.f16.f32", cast(Type::F32, from, a));
    }
    if (from == Type::Bool) {
        if (is_float(t))
            return select(t, a, immediate(t, t == Type::F32 ? 0x3f800000 : 0x3ff0000000000000),
                          immediate(t, 0));
        return make(register_class(t), fmt::format("selp.{}", bits_suffix(t)), "1", "0",
                    as_register(a));
    }
    auto convert = [&](const char *rounding) {
        return make(register_class(t),
                    fmt::format("cvt.{}{}.{}", rounding, number_suffix(t), number_suffix(from)), a);
    };
    if (is_float(from))
        return is_float(t) ? convert(t == Type::F32 ? "rn." : "") : float_to_int(t, from, a);
    if (is_float(t))
        return convert("rn.");
    if (register_class(t) == register_class(from)) // the same bits, or fewer
        return bits(t) < bits(from) || (is_narrow(t) && is_signed(t) != is_signed(from))
                   ? narrow(t, a)
                   : a;
    if (register_class(t) == 'd') // extended by the sign of the source
        return make('d',
                    fmt::format("cvt.{}.{}", is_signed(from) ? "s64" : "u64",
                                is_signed(from) ? "s32" : "u32"),
                    a);
    return narrow(t, make('r', "cvt.u32.u64", a));
}

Operand Writer::elementwise(Op op, Type t, Type from, const Operand &a, const Operand &b,
                            const Operand &c) {
    switch (op) {
    case Op::Select: return select(t, a, b, c);
    case Op::Cast: return cast(t, from, a);
    case Op::Bitcast:
        if (from == Type::F16 && t != from) { // to an integer of 16 bits
            Operand r = make('r', "cvt.u32.u16", a);
            return is_signed(t) ? narrow(t, r) : r;
        }
        if (t == Type::F16 && from != t)
            return make('h', "cvt.u16.u32", a);
        if (a[0] != '%' && is_float(t) != is_float(from)) // a number, written as one of its type
            return make(register_class(t), bytes(t) == 8 ? "mov.b64" : "mov.b32", a);
        return is_narrow(t) ? narrow(t, a) : a;
    default: break;
    }
    bool comparison = op >= Op::Eq && op <= Op::Le;
    if (from == Type::F16 && (op == Op::Neg || op == Op::Abs))
        return make('h', op == Op::Neg ? "xor.b16" : "and.b16", a,
                    op == Op::Neg ? "0x8000" : "0x7fff");
    // Half precision is for storage: compute in f32, round once
    if (from == Type::F16) {
        auto wide = [&](const Operand &v) { return v.empty() ? v : cast(Type::F32, Type::F16, v); };
        Operand x = wide(a), y = wide(b), z = wide(c);
        if (comparison)
            return compare(op, Type::F32, x, y);
        return cast(Type::F16, Type::F32, float_op(op, Type::F32, x, y, z));
    }
    if (comparison)
        return compare(op, from, a, b);
    if (t == Type::Bool)
        return op == Op::Not   ? mask_not(a)
               : op == Op::And ? mask_and(a, b)
               : op == Op::Or  ? mask_or(a, b)
                               : mask_xor(a, b);
    return is_float(t) ? float_op(op, t, a, b, c) : integer_op(op, t, a, b, c);
}

} // namespace umbel::jit::ptx
