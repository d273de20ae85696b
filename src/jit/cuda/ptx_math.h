// jit/cuda/ptx_math.h: the vocabulary of jit/math_scalar.h for values that write PTX.
//
// A Ptx<float> stands for an operand. Operators append instructions to the writer that is in force on this thread.
#pragma once
#include "jit/cuda/ptx_text.h"
#include "jit/math_scalar.h"

namespace umbel::jit::ptx {

/// Makes a writer the one that operators of this thread write to.
class Writing {
public:
    explicit Writing(Writer &w) : m_outer(current()) { current() = &w; }
    ~Writing() { current() = m_outer; }
    Writing(const Writing &) = delete;
    static Writer *&current() {
        thread_local Writer *writer = nullptr;
        return writer;
    }

private:
    Writer *m_outer;
};
inline Writer &out() { return *Writing::current(); }

struct Mask {
    Operand v;
};
inline Mask operator&(const Mask &a, const Mask &b) { return { out().mask_and(a.v, b.v) }; }
inline Mask operator|(const Mask &a, const Mask &b) { return { out().mask_or(a.v, b.v) }; }
inline Mask operator!(const Mask &a) { return { out().mask_not(a.v) }; }

/// S: float, double, or an integer type of 32 or 64 bits.
template <class S> struct Ptx {
    Operand v;

    explicit Ptx(Operand operand, std::nullptr_t) : v(std::move(operand)) {}
    Ptx(S s) {
        using U = std::conditional_t<sizeof(S) == 4, uint32_t, uint64_t>;
        v = immediate(type_of_v<S>, std::bit_cast<U>(s));
    }
};

template <class S> Ptx<S> made(Operand v) { return Ptx<S>(std::move(v), nullptr); }
template <class S> Ptx<S> apply(Op op, const Ptx<S> &a, const Ptx<S> &b) {
    return made<S>(out().elementwise(op, type_of_v<S>, type_of_v<S>, a.v, b.v, {}));
}
template <class S> Ptx<S> apply(Op op, const Ptx<S> &a) {
    return made<S>(out().elementwise(op, type_of_v<S>, type_of_v<S>, a.v, {}, {}));
}
template <class S> Mask compare(Op op, const Ptx<S> &a, const Ptx<S> &b) {
    return { out().elementwise(op, Type::Bool, type_of_v<S>, a.v, b.v, {}) };
}

// These take any Ptx and a scalar on either side.
#define UMBEL_PTX_BINARY(symbol, op)                                                               \
    template <class S> Ptx<S> operator symbol(const Ptx<S> &a, const Ptx<S> &b) {                  \
        return apply(Op::op, a, b);                                                                \
    }                                                                                              \
    template <class S> Ptx<S> operator symbol(const Ptx<S> &a, std::type_identity_t<S> b) {        \
        return apply(Op::op, a, Ptx<S>(b));                                                        \
    }                                                                                              \
    template <class S> Ptx<S> operator symbol(std::type_identity_t<S> a, const Ptx<S> &b) {        \
        return apply(Op::op, Ptx<S>(a), b);                                                        \
    }
UMBEL_PTX_BINARY(+, Add)
UMBEL_PTX_BINARY(-, Sub)
UMBEL_PTX_BINARY(*, Mul)
UMBEL_PTX_BINARY(/, Div)
UMBEL_PTX_BINARY(&, And)
UMBEL_PTX_BINARY(|, Or)
UMBEL_PTX_BINARY(^, Xor)
#undef UMBEL_PTX_BINARY
template <class S> Ptx<S> operator-(const Ptx<S> &a) { return apply(Op::Neg, a); }
template <class S> Ptx<S> operator~(const Ptx<S> &a) { return apply(Op::Not, a); }
template <class S> Ptx<S> operator<<(const Ptx<S> &a, int n) {
    return apply(Op::Shl, a, Ptx<S>(S(n)));
}
template <class S> Ptx<S> operator<<(const Ptx<S> &a, const Ptx<S> &n) {
    return apply(Op::Shl, a, n);
}
template <class S> Ptx<S> operator>>(const Ptx<S> &a, int n) {
    return apply(Op::Shr, a, Ptx<S>(S(n)));
}
template <class S> Ptx<S> operator>>(const Ptx<S> &a, const Ptx<S> &n) {
    return apply(Op::Shr, a, n);
}
template <class S> Mask operator<(const Ptx<S> &a, const Ptx<S> &b) {
    return compare(Op::Lt, a, b);
}
template <class S> Mask operator<=(const Ptx<S> &a, const Ptx<S> &b) {
    return compare(Op::Le, a, b);
}
template <class S> Mask operator>(const Ptx<S> &a, const Ptx<S> &b) {
    return compare(Op::Lt, b, a);
}
template <class S> Mask operator>=(const Ptx<S> &a, const Ptx<S> &b) {
    return compare(Op::Le, b, a);
}
template <class S> Mask operator==(const Ptx<S> &a, const Ptx<S> &b) {
    return compare(Op::Eq, a, b);
}
template <class S> Mask operator!=(const Ptx<S> &a, const Ptx<S> &b) {
    return compare(Op::Ne, a, b);
}

template <class S> Ptx<S> fma(const Ptx<S> &a, const Ptx<S> &b, const Ptx<S> &c) {
    return made<S>(out().elementwise(Op::Fma, type_of_v<S>, type_of_v<S>, a.v, b.v, c.v));
}
template <class S> Ptx<S> sqrt(const Ptx<S> &a) { return apply(Op::Sqrt, a); }
template <class S> Ptx<S> abs(const Ptx<S> &a) { return apply(Op::Abs, a); }
template <class S> Ptx<S> floor(const Ptx<S> &a) { return apply(Op::Floor, a); }
template <class S> Ptx<S> trunc(const Ptx<S> &a) { return apply(Op::Trunc, a); }
template <class S> Ptx<S> round_even(const Ptx<S> &a) { return apply(Op::Round, a); }
template <class S> Ptx<S> min(const Ptx<S> &a, const Ptx<S> &b) { return apply(Op::Min, a, b); }
template <class S> Ptx<S> max(const Ptx<S> &a, const Ptx<S> &b) { return apply(Op::Max, a, b); }
template <class S> Ptx<S> mul_hi(const Ptx<S> &a, const Ptx<S> &b) {
    return apply(Op::MulHi, a, b);
}
template <class S> Ptx<S> select(const Mask &m, const Ptx<S> &a, const Ptx<S> &b) {
    return made<S>(out().select(type_of_v<S>, m.v, a.v, b.v));
}
inline Mask select(const Mask &m, const Mask &a, const Mask &b) {
    return { out().select(Type::Bool, m.v, a.v, b.v) };
}

inline Ptx<double> to_double(const Ptx<float> &a) {
    return made<double>(out().cast(Type::F64, Type::F32, a.v));
}
inline Ptx<float> to_single(const Ptx<double> &a) {
    return made<float>(out().cast(Type::F32, Type::F64, a.v));
}

// Registers have bits, and no types: only immediates are written in another way.
inline Operand as_bits(const Operand &v, char register_class, const char *suffix) {
    return v[0] == '%' ? v : out().make(register_class, fmt::format("mov.{}", suffix), v);
}
inline Ptx<uint32_t> to_bits(const Ptx<float> &a) {
    return made<uint32_t>(as_bits(a.v, 'r', "b32"));
}
inline Ptx<uint64_t> to_bits(const Ptx<double> &a) {
    return made<uint64_t>(as_bits(a.v, 'd', "b64"));
}
template <class F> F from_bits(const Ptx<uint32_t> &a) {
    return made<float>(as_bits(a.v, 'r', "b32"));
}
template <class F> F from_bits(const Ptx<uint64_t> &a) {
    return made<double>(as_bits(a.v, 'd', "b64"));
}
inline Ptx<int32_t> as_signed(const Ptx<uint32_t> &a) { return made<int32_t>(a.v); }
inline Ptx<int64_t> as_signed(const Ptx<uint64_t> &a) { return made<int64_t>(a.v); }
inline Ptx<uint32_t> as_unsigned(const Ptx<int32_t> &a) { return made<uint32_t>(a.v); }
inline Ptx<uint64_t> as_unsigned(const Ptx<int64_t> &a) { return made<uint64_t>(a.v); }

// Out of range some number, which is discarded.
inline Ptx<int32_t> to_int(const Ptx<float> &a) {
    return made<int32_t>(out().make('r', "cvt.rzi.s32.f32", a.v));
}
inline Ptx<int64_t> to_int(const Ptx<double> &a) {
    return made<int64_t>(out().make('d', "cvt.rzi.s64.f64", a.v));
}
template <class F> F to_float(const Ptx<int32_t> &a) {
    return made<float>(out().make('r', "cvt.rn.f32.s32", a.v));
}
template <class F> F to_float(const Ptx<int64_t> &a) {
    return made<double>(out().make('d', "cvt.rn.f64.s64", a.v));
}

/// Elements of a constant table, which the module gets a copy of; index and result of 32 bits.
Operand table_element(const uint32_t *table, size_t size, const Operand &index);
template <size_t N> Ptx<uint32_t> lookup(const uint32_t (&table)[N], const Ptx<int32_t> &i) {
    return made<uint32_t>(table_element(table, N, i.v));
}
template <size_t N> Ptx<uint64_t> lookup(const uint32_t (&table)[N], const Ptx<int64_t> &i) {
    Operand narrow = out().make('r', "cvt.u32.u64", i.v);
    return made<uint64_t>(out().make('d', "cvt.u64.u32", table_element(table, N, narrow)));
}

/// A branch around what the lane does not need.
template <class S, class Fn> Ptx<S> if_any(const Mask &m, const Ptx<S> &otherwise, Fn fn) {
    if (m.v == False)
        return otherwise;
    Writer &w = out();
    Operand result = w.fresh(type_of_v<S>);
    std::string after = w.label();
    w.move(type_of_v<S>, result, otherwise.v);
    w.jump_unless(m.v, after);
    w.move(type_of_v<S>, result, Ptx<S>(fn()).v);
    w.place(after);
    return made<S>(result);
}

} // namespace umbel::jit::ptx

namespace umbel::jit::math {

template <> struct Traits<ptx::Ptx<float>> {
    using S = float;
    using I = ptx::Ptx<int32_t>;
    using U = ptx::Ptx<uint32_t>;
    using M = ptx::Mask;
};
template <> struct Traits<ptx::Ptx<double>> {
    using S = double;
    using I = ptx::Ptx<int64_t>;
    using U = ptx::Ptx<uint64_t>;
    using M = ptx::Mask;
};

} // namespace umbel::jit::math
