// core/float.h: Float, the number that rendering code computes with, and its companions.
//
// One class for all variants: a handle on a recorded value whose precision is the variant's.
#pragma once
#include "core/variant.h"
#include "jit/control.h"
#include <cmath>

namespace umbel {

using jit::Int32;
using jit::Mask;
using jit::UInt32;
using jit::UInt64;
using jit::Value;

constexpr double Pi = 3.14159265358979323846, InvPi = 1 / Pi, InvTwoPi = 0.5 / Pi, TwoPi = 2 * Pi;

class Float : public Value {
public:
    Float() = default;
    /// A constant of the program; see opaque() for values that change between launches.
    Float(double v) : Value(constant(variant().float_type(), v)) {}
    Float(float v) : Float(double(v)) {}
    Float(int v) : Float(double(v)) {}
    explicit Float(Value v) : Value(std::move(v)) {
        if (valid() && !jit::is_float(type()))
            fail("a value of type {} is not a Float", jit::name(type()));
    }
    explicit Float(const UInt32 &v) : Value(jit::cast(variant().float_type(), v)) {}
    explicit Float(const Int32 &v) : Value(jit::cast(variant().float_type(), v)) {}

    static Value constant(jit::Type t, double v) {
        return t == jit::Type::F32 ? jit::literal(t, jit::to_bits(float(v)))
                                   : jit::literal(t, jit::to_bits(v));
    }
    /// A constant of this value's own precision.
    Float like(double v) const { return Float(constant(type(), v)); }

    friend Float operator+(const Float &a, const Float &b) { return op(jit::Op::Add, a, b); }
    friend Float operator-(const Float &a, const Float &b) { return op(jit::Op::Sub, a, b); }
    friend Float operator*(const Float &a, const Float &b) { return op(jit::Op::Mul, a, b); }
    friend Float operator/(const Float &a, const Float &b) { return op(jit::Op::Div, a, b); }
    friend Float operator-(const Float &a) { return Float(jit::unary(jit::Op::Neg, a)); }
    Float &operator+=(const Float &b) { return *this = *this + b; }
    Float &operator-=(const Float &b) { return *this = *this - b; }
    Float &operator*=(const Float &b) { return *this = *this * b; }
    Float &operator/=(const Float &b) { return *this = *this / b; }
    friend Mask operator<(const Float &a, const Float &b) {
        return Mask(jit::binary(jit::Op::Lt, a, b));
    }
    friend Mask operator>(const Float &a, const Float &b) { return b < a; }
    friend Mask operator<=(const Float &a, const Float &b) {
        return Mask(jit::binary(jit::Op::Le, a, b));
    }
    friend Mask operator>=(const Float &a, const Float &b) { return b <= a; }
    friend Mask operator==(const Float &a, const Float &b) {
        return Mask(jit::binary(jit::Op::Eq, a, b));
    }
    friend Mask operator!=(const Float &a, const Float &b) {
        return Mask(jit::binary(jit::Op::Ne, a, b));
    }

    friend Float min(const Float &a, const Float &b) { return op(jit::Op::Min, a, b); }
    friend Float max(const Float &a, const Float &b) { return op(jit::Op::Max, a, b); }
    friend Float atan2(const Float &y, const Float &x) { return op(jit::Op::Atan2, y, x); }
    friend Float pow(const Float &x, const Float &y) { return op(jit::Op::Pow, x, y); }
    friend Float fma(const Float &a, const Float &b, const Float &c) {
        return Float(jit::ternary(jit::Op::Fma, a, b, c));
    }
    friend Float select(const Mask &m, const Float &a, const Float &b) {
        return Float(jit::ternary(jit::Op::Select, m, a, b));
    }

private:
    static Float op(jit::Op o, const Float &a, const Float &b) {
        return Float(jit::binary(o, a, b));
    }
};

#define UMBEL_FLOAT_UNARY(fn, op)                                                                  \
    inline Float fn(const Float &a) { return Float(jit::unary(jit::Op::op, a)); }
UMBEL_FLOAT_UNARY(abs, Abs)
UMBEL_FLOAT_UNARY(sqrt, Sqrt)
UMBEL_FLOAT_UNARY(rcp, Rcp)
UMBEL_FLOAT_UNARY(rsqrt, Rsqrt)
UMBEL_FLOAT_UNARY(floor, Floor)
UMBEL_FLOAT_UNARY(ceil, Ceil)
UMBEL_FLOAT_UNARY(trunc, Trunc)
UMBEL_FLOAT_UNARY(round, Round)
UMBEL_FLOAT_UNARY(sin, Sin)
UMBEL_FLOAT_UNARY(cos, Cos)
UMBEL_FLOAT_UNARY(tan, Tan)
UMBEL_FLOAT_UNARY(asin, Asin)
UMBEL_FLOAT_UNARY(acos, Acos)
UMBEL_FLOAT_UNARY(atan, Atan)
UMBEL_FLOAT_UNARY(sinh, Sinh)
UMBEL_FLOAT_UNARY(cosh, Cosh)
UMBEL_FLOAT_UNARY(tanh, Tanh)
UMBEL_FLOAT_UNARY(exp, Exp)
UMBEL_FLOAT_UNARY(log, Log)
UMBEL_FLOAT_UNARY(erf, Erf)
UMBEL_FLOAT_UNARY(erfinv, Erfinv)
#undef UMBEL_FLOAT_UNARY

/// Both arms constants: without this, C++ would take them for masks.
template <class A, class B>
    requires(std::is_arithmetic_v<A> && std::is_arithmetic_v<B>)
Float select(const Mask &m, A a, B b) {
    return select(m, Float(double(a)), Float(double(b)));
}

inline Float sqr(const Float &a) { return a * a; }
/// 0 for negative numbers, with a derivative of 0 there and at 0 itself.
inline Float safe_sqrt(const Float &a) {
    Mask positive = a > 0;
    return select(positive, sqrt(select(positive, a, Float(1))), Float(0));
}
inline Float clamp(const Float &x, const Float &lo, const Float &hi) { return min(max(x, lo), hi); }
inline Float lerp(const Float &a, const Float &b, const Float &t) {
    return fma(b, t, fma(-a, t, a));
}
/// |a| with the sign of b.
inline Float mulsign(const Float &a, const Float &b) { return select(b < 0, -a, a); }
inline UInt32 to_uint(const Float &a) { return UInt32(jit::cast(jit::Type::U32, a)); }
inline Int32 to_int(const Float &a) { return Int32(jit::cast(jit::Type::I32, a)); }
/// A scalar that is data of the program, not part of its text.
inline Float opaque_float(double v) {
    Float f(v);
    return Float(jit::opaque(static_cast<const Value &>(f)));
}

} // namespace umbel
