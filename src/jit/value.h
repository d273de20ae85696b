// jit/value.h: handles on recorded values, and the operations on them that go lane by lane.
//
// `Value` knows its type at run time; `Array<T>` is a Value whose type C++ knows. A value of size 1
// broadcasts. Nothing is computed until a result is asked for.
#pragma once
#include "jit/context.h"
#include <bit>
#include <cstring>
#include <type_traits>

namespace umbel::jit {

class Value {
public:
    Value() = default;
    Value(const Value &o) : m_context(o.m_context), m_id(o.m_id), m_grad(o.m_grad) {
        if (m_id)
            m_context->graph.retain(m_id);
        if (m_grad) [[unlikely]]
            m_context->tracker->retain(m_grad);
    }
    Value(Value &&o) noexcept
        : m_context(o.m_context), m_id(std::exchange(o.m_id, 0)),
          m_grad(std::exchange(o.m_grad, 0)) {}
    Value &operator=(const Value &o) {
        Value copy(o);
        return *this = std::move(copy);
    }
    Value &operator=(Value &&o) noexcept {
        std::swap(m_context, o.m_context);
        std::swap(m_id, o.m_id);
        std::swap(m_grad, o.m_grad);
        return *this;
    }
    ~Value() {
        if (m_id)
            m_context->graph.release(m_id);
        if (m_grad) [[unlikely]]
            m_context->tracker->release(m_grad);
    }

    /// Takes over a reference.
    static Value adopt(Context &c, NodeId id) {
        Value v;
        v.m_context = &c;
        v.m_id = id;
        return v;
    }
    /// A new reference.
    static Value share(Context &c, NodeId id) {
        c.graph.retain(id);
        return adopt(c, id);
    }

    /// The value with a gradient id, whose reference it takes over.
    static Value attach(Value v, GradId grad) {
        if (v.m_grad)
            v.m_context->tracker->release(v.m_grad);
        v.m_grad = grad;
        return v;
    }
    /// The value without its gradient id.
    Value detached() const { return m_id ? share(*m_context, m_id) : Value(); }
    /// Names the value's node in the graph of derivatives; 0: none.
    GradId grad_id() const { return m_grad; }

    bool valid() const { return m_id != 0; }
    NodeId id() const { return m_id; }
    Context &context() const { return *m_context; }
    const Node &node() const { return m_context->graph[m_id]; }
    Type type() const { return node().type; }
    uint32_t size() const { return m_id ? node().size : 0; }
    bool is_literal() const { return m_id && node().op == Op::Literal; }
    bool is_evaluated() const { return m_id && node().op == Op::Buffer; }
    /// Bits of a literal.
    uint64_t literal_bits() const { return node().imm; }

private:
    Context *m_context = nullptr;
    NodeId m_id = 0;
    GradId m_grad = 0;
};

// ---- the dynamically typed operations; errors name the operation and the operand. Sizes are those of the host, so that one
// that no array can have is an error and does not become another one.
Value literal(Type type, uint64_t bits, uint64_t size = 1);
Value unary(Op op, const Value &a);
Value binary(Op op, const Value &a, const Value &b);
Value ternary(Op op, const Value &a, const Value &b, const Value &c);
Value cast(Type type, const Value &a);
Value bitcast(Type type, const Value &a);
/// Lane numbers 0 .. size-1, u32.
Value lane_index(uint64_t size);
/// Whether `op` is defined for operands of type `t`.
bool accepts(Op op, Type t);

// jit/rules.cpp: a node equal to op(a, b, c) that needs no new operation, with a reference; 0 if there is
// none. Operands may be reordered to a canonical form.
NodeId simplify(Context &c, Op op, Type type, NodeId &a, NodeId &b, NodeId &d);

template <class T> uint64_t to_bits(T v) {
    uint64_t r = 0;
    std::memcpy(&r, &v, sizeof(T));
    return r;
}
template <class T> T from_bits(uint64_t bits) {
    T v;
    std::memcpy(&v, &bits, sizeof(T));
    return v;
}

uint16_t float_to_half(float f);
float half_to_float(uint16_t h);

template <class T> class Array : public Value {
public:
    using Scalar = T;
    static constexpr Type static_type = type_of_v<T>;

    Array() = default;
    /// A constant. Part of the program: see opaque() for values that change between launches.
    template <class S>
        requires std::is_arithmetic_v<S>
    Array(S s) : Value(literal(static_type, bits_of(s))) {}
    explicit Array(Value v) : Value(std::move(v)) {
        if (valid() && type() != static_type)
            fail("a value of type {} is not an array of {}", name(type()), name(static_type));
    }
    /// Conversion between types is always written out.
    template <class U>
        requires(!std::is_same_v<U, T>)
    explicit Array(const Array<U> &a) : Value(cast(static_type, a)) {}

    friend Array operator+(const Array &a, const Array &b) { return make(Op::Add, a, b); }
    friend Array operator-(const Array &a, const Array &b) { return make(Op::Sub, a, b); }
    friend Array operator*(const Array &a, const Array &b) { return make(Op::Mul, a, b); }
    friend Array operator/(const Array &a, const Array &b) { return make(Op::Div, a, b); }
    friend Array operator%(const Array &a, const Array &b) { return make(Op::Mod, a, b); }
    friend Array operator&(const Array &a, const Array &b) { return make(Op::And, a, b); }
    friend Array operator|(const Array &a, const Array &b) { return make(Op::Or, a, b); }
    friend Array operator^(const Array &a, const Array &b) { return make(Op::Xor, a, b); }
    friend Array operator<<(const Array &a, const Array &b) { return make(Op::Shl, a, b); }
    friend Array operator>>(const Array &a, const Array &b) { return make(Op::Shr, a, b); }
    friend Array operator-(const Array &a) { return Array(unary(Op::Neg, a)); }
    friend Array operator~(const Array &a) { return Array(unary(Op::Not, a)); }
    friend Array operator!(const Array &a)
        requires std::is_same_v<T, bool>
    {
        return Array(unary(Op::Not, a));
    }
    Array &operator+=(const Array &b) { return *this = *this + b; }
    Array &operator-=(const Array &b) { return *this = *this - b; }
    Array &operator*=(const Array &b) { return *this = *this * b; }
    Array &operator/=(const Array &b) { return *this = *this / b; }
    Array &operator&=(const Array &b) { return *this = *this & b; }
    Array &operator|=(const Array &b) { return *this = *this | b; }
    Array &operator^=(const Array &b) { return *this = *this ^ b; }

    friend Array<bool> operator==(const Array &a, const Array &b) { return compare(Op::Eq, a, b); }
    friend Array<bool> operator!=(const Array &a, const Array &b) { return compare(Op::Ne, a, b); }
    friend Array<bool> operator<(const Array &a, const Array &b) { return compare(Op::Lt, a, b); }
    friend Array<bool> operator<=(const Array &a, const Array &b) { return compare(Op::Le, a, b); }
    friend Array<bool> operator>(const Array &a, const Array &b) { return compare(Op::Lt, b, a); }
    friend Array<bool> operator>=(const Array &a, const Array &b) { return compare(Op::Le, b, a); }

    friend Array min(const Array &a, const Array &b) { return make(Op::Min, a, b); }
    friend Array max(const Array &a, const Array &b) { return make(Op::Max, a, b); }
    friend Array clamp(const Array &x, const Array &lo, const Array &hi) {
        return make(Op::Min, make(Op::Max, x, lo), hi);
    }
    friend Array atan2(const Array &y, const Array &x) { return make(Op::Atan2, y, x); }
    friend Array pow(const Array &x, const Array &y) { return make(Op::Pow, x, y); }
    friend Array mul_hi(const Array &a, const Array &b) { return make(Op::MulHi, a, b); }
    friend Array rotl(const Array &a, const Array &b) { return make(Op::Rotl, a, b); }
    friend Array rotr(const Array &a, const Array &b) { return make(Op::Rotr, a, b); }
    friend Array fma(const Array &a, const Array &b, const Array &c) {
        return Array(ternary(Op::Fma, a, b, c));
    }
    friend Array select(const Array<bool> &m, const Array &a, const Array &b) {
        return Array(ternary(Op::Select, m, a, b));
    }

    /// The array's elements on the host; evaluates and waits.
    std::vector<T> read() const;

private:
    template <class S> static uint64_t bits_of(S s) {
        if constexpr (std::is_same_v<T, half>)
            return float_to_half(float(s));
        else
            return to_bits(static_cast<T>(s));
    }
    static Array make(Op op, const Value &a, const Value &b) { return Array(binary(op, a, b)); }
    static Array<bool> compare(Op op, const Value &a, const Value &b);
};

using Mask = Array<bool>;
using Int32 = Array<int32_t>;
using UInt32 = Array<uint32_t>;
using Int64 = Array<int64_t>;
using UInt64 = Array<uint64_t>;
using Float16 = Array<half>;
using Float32 = Array<float>;
using Float64 = Array<double>;

template <class T> Array<bool> Array<T>::compare(Op op, const Value &a, const Value &b) {
    return Array<bool>(binary(op, a, b));
}

#define UMBEL_UNARY(fn, op)                                                                        \
    template <class T> Array<T> fn(const Array<T> &a) { return Array<T>(unary(Op::op, a)); }
UMBEL_UNARY(abs, Abs)
UMBEL_UNARY(sqrt, Sqrt)
UMBEL_UNARY(rcp, Rcp)
UMBEL_UNARY(rsqrt, Rsqrt)
UMBEL_UNARY(floor, Floor)
UMBEL_UNARY(ceil, Ceil)
UMBEL_UNARY(trunc, Trunc)
UMBEL_UNARY(round, Round)
UMBEL_UNARY(popcount, Popcount)
UMBEL_UNARY(clz, Clz)
UMBEL_UNARY(ctz, Ctz)
UMBEL_UNARY(sin, Sin)
UMBEL_UNARY(cos, Cos)
UMBEL_UNARY(tan, Tan)
UMBEL_UNARY(asin, Asin)
UMBEL_UNARY(acos, Acos)
UMBEL_UNARY(atan, Atan)
UMBEL_UNARY(sinh, Sinh)
UMBEL_UNARY(cosh, Cosh)
UMBEL_UNARY(tanh, Tanh)
UMBEL_UNARY(asinh, Asinh)
UMBEL_UNARY(acosh, Acosh)
UMBEL_UNARY(atanh, Atanh)
UMBEL_UNARY(exp, Exp)
UMBEL_UNARY(exp2, Exp2)
UMBEL_UNARY(log, Log)
UMBEL_UNARY(log2, Log2)
UMBEL_UNARY(cbrt, Cbrt)
UMBEL_UNARY(erf, Erf)
UMBEL_UNARY(erfinv, Erfinv)
UMBEL_UNARY(lgamma, Lgamma)
#undef UMBEL_UNARY

template <class U, class T> Array<U> reinterpret(const Array<T> &a) {
    return Array<U>(bitcast(type_of_v<U>, a));
}
/// The double-width product of 32-bit integers.
inline UInt64 mul_wide(const UInt32 &a, const UInt32 &b) { return UInt64(a) * UInt64(b); }
inline Int64 mul_wide(const Int32 &a, const Int32 &b) { return Int64(a) * Int64(b); }

} // namespace umbel::jit
