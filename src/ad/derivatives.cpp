// ad/derivatives.cpp: the table of derivatives: one line an operand.
//
// Subgradients: |x| has slope 1 at 0; min and max pass the gradient to the operand that they return;
// floor, ceil, round and trunc have slope 0 everywhere; pow(x, y) has none in y where x <= 0.
#include "ad/derivatives.h"
#include <cmath>
#include <numbers>

namespace umbel::ad {

using namespace jit;

namespace {

// Arithmetic on values of a float type known at run time.
struct F {
    Value v;
    F(Value v) : v(std::move(v)) {}
    F constant(double x) const {
        switch (v.type()) {
        case Type::F16: return literal(Type::F16, float_to_half(float(x)));
        case Type::F32: return literal(Type::F32, to_bits(float(x)));
        default: return literal(Type::F64, to_bits(x));
        }
    }
    friend F operator+(const F &a, const F &b) { return binary(Op::Add, a.v, b.v); }
    friend F operator-(const F &a, const F &b) { return binary(Op::Sub, a.v, b.v); }
    friend F operator*(const F &a, const F &b) { return binary(Op::Mul, a.v, b.v); }
    friend F operator/(const F &a, const F &b) { return binary(Op::Div, a.v, b.v); }
    friend F operator+(double a, const F &b) { return b.constant(a) + b; }
    friend F operator-(double a, const F &b) { return b.constant(a) - b; }
    friend F operator-(const F &a, double b) { return a - a.constant(b); }
    friend F operator*(double a, const F &b) { return b.constant(a) * b; }
    friend F operator/(double a, const F &b) { return b.constant(a) / b; }
    friend F operator-(const F &a) { return unary(Op::Neg, a.v); }
};
F fn(Op op, const F &a) { return unary(op, a.v); }
Value less(const F &a, const F &b) { return binary(Op::Lt, a.v, b.v); }
F choose(const Value &m, const F &a, const F &b) { return ternary(Op::Select, m, a.v, b.v); }

Partial weight(const F &f) { return { f.v, {}, false }; }
Partial one() { return {}; }
Partial none() { return { {}, {}, true }; }
Partial where(Value mask) { return { {}, std::move(mask), false }; }

} // namespace

Partial partial(Op op, int i, const Value *const *operands, const Value &result) {
    bool floats = is_float(result.type());
    if (op == Op::Select) {
        if (i == 0 || !floats)
            return none();
        return where(i == 1 ? *operands[0] : unary(Op::Not, *operands[0])); // m ? b : c
    }
    if (!floats || !is_float(operands[i]->type()))
        return none();
    switch (op) { // the most frequent ones, before anything is copied
    case Op::Add: return one();
    case Op::Mul: return { *operands[1 - i], {}, false };
    case Op::Fma:
        if (i == 2)
            return one();
        return { *operands[1 - i], {}, false };
    default: break;
    }
    F a(*operands[0]), r(result);
    F b = operands[1] ? F(*operands[1]) : a;
    constexpr double ln2 = std::numbers::ln2, two_over_sqrt_pi = 2 * std::numbers::inv_sqrtpi;
    // clang-format off
    switch (op) {
        case Op::Neg:    return weight(a.constant(-1));
        case Op::Abs:    return weight(choose(less(a, a.constant(0)), a.constant(-1), a.constant(1)));
        case Op::Sqrt:   return weight(0.5 / r);
        case Op::Rcp:    return weight(-(r * r));
        case Op::Rsqrt:  return weight(-0.5 * (r * r * r));
        case Op::Cast:   return one();
        case Op::Sin:    return weight(fn(Op::Cos, a));
        case Op::Cos:    return weight(-fn(Op::Sin, a));
        case Op::Tan:    return weight(1 + r * r);
        case Op::Asin:   return weight(fn(Op::Rsqrt, 1 - a * a));
        case Op::Acos:   return weight(-fn(Op::Rsqrt, 1 - a * a));
        case Op::Atan:   return weight(fn(Op::Rcp, 1 + a * a));
        case Op::Sinh:   return weight(fn(Op::Cosh, a));
        case Op::Cosh:   return weight(fn(Op::Sinh, a));
        case Op::Tanh:   return weight(1 - r * r);
        case Op::Asinh:  return weight(fn(Op::Rsqrt, 1 + a * a));
        case Op::Acosh:  return weight(fn(Op::Rsqrt, a * a - 1));
        case Op::Atanh:  return weight(fn(Op::Rcp, 1 - a * a));
        case Op::Exp:    return weight(r);
        case Op::Exp2:   return weight(ln2 * r);
        case Op::Log:    return weight(fn(Op::Rcp, a));
        case Op::Log2:   return weight(1 / (ln2 * a));
        case Op::Cbrt:   return weight(1 / (3 * (r * r)));
        case Op::Erf:    return weight(two_over_sqrt_pi * fn(Op::Exp, -(a * a)));
        case Op::Erfinv: return weight(1 / two_over_sqrt_pi * fn(Op::Exp, r * r));
        case Op::Lgamma: return weight(F(digamma(a.v)));
        case Op::Sub:    return i == 0 ? one() : weight(a.constant(-1));
        case Op::Div:    return weight(i == 0 ? fn(Op::Rcp, b) : -(r / b));
        case Op::Min:    return where(i == 0 ? less(a, b) : unary(Op::Not, less(a, b)));
        case Op::Max:    return where(i == 0 ? less(b, a) : unary(Op::Not, less(b, a)));
        case Op::Atan2:  return weight(i == 0 ? b / (a * a + b * b) : -(a / (a * a + b * b)));
        case Op::Pow:
            if (i == 0)  return weight(b * F(binary(Op::Pow, a.v, (b - 1).v)));
            return weight(choose(less(a.constant(0), a), r * fn(Op::Log, a), a.constant(0)));
        default:         return none(); // floor, ceil, trunc, round
    }
    // clang-format on
}

// psi(x) = psi(x + 1) - 1/x lifts x to 8 or more, where the asymptotic series has 1e-16 relative
// accuracy with eight terms; psi(1 - x) - pi / tan(pi x) reflects negative arguments.
Value digamma(const Value &value) {
    Type t = value.type();
    F x = t == Type::F16 ? F(cast(Type::F32, value)) : F(value);
    Value negative = less(x, x.constant(0.5));
    F z = choose(negative, 1 - x, x), sum = z.constant(0);
    for (int i = 0; i < 8; ++i) {
        Value small = less(z, z.constant(8));
        sum = choose(small, sum - 1 / z, sum);
        z = choose(small, 1 + z, z);
    }
    // Bernoulli numbers over 2n: 1/12, -1/120, 1/252, -1/240, 1/132, -691/32760, 1/12
    F y = 1 / (z * z);
    F series =
        y *
        (1. / 12 +
         -(y * (1. / 120 -
                y * (1. / 252 - y * (1. / 240 - y * (1. / 132 - y * (691. / 32760 -
                                                                     y * y.constant(1. / 12))))))));
    F psi = sum + fn(Op::Log, z) - 0.5 / z - series;
    constexpr double pi = std::numbers::pi;
    F reduced = x - fn(Op::Round, x); // tan has period pi: keeps the argument small and exact
    F reflected = psi - pi / fn(Op::Tan, pi * reduced);
    F result = choose(negative, reflected, psi);
    return t == Type::F16 ? cast(t, result.v) : result.v;
}

} // namespace umbel::ad
