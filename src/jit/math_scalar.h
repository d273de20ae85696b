// jit/math_scalar.h: the vocabulary in which the functions of jit/math.h are written, for scalars.
//
// A function of jit/math.h is a template over a number type F. It runs on `float` and `double` with
// the definitions below, and emits vector code when F is a type that records instructions. Such a
// type specializes Traits and supplies the same names as overloads found through its own namespace.
// Both then round in the same places, so results agree to the bit, provided that neither contracts
// a * b + c into a fused operation on its own (-ffp-contract=off): every fma is spelled out.
//
//     F      constructible from its scalar S; + - * / unary -; < <= == != give M
//     U, I   unsigned and signed integers as wide as F; U constructible from uint32_t (f32) or
//            uint64_t (f64); U: + - * & | ^ << >> (by int and by U); comparisons give M
//     M      mask; & | !
//     if_any lanes of the mask take the value of a function, which is skipped when there are none
//            and must be harmless for the other lanes
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace umbel::jit::math {

template <class F> struct Traits;
template <> struct Traits<float> {
    using S = float;
    using I = int32_t;
    using U = uint32_t;
    using M = bool;
};
template <> struct Traits<double> {
    using S = double;
    using I = int64_t;
    using U = uint64_t;
    using M = bool;
};

template <class F> using Scalar = typename Traits<F>::S;
template <class F> using Int = typename Traits<F>::I;
template <class F> using UInt = typename Traits<F>::U;
template <class F> using Mask = typename Traits<F>::M;
template <class F> constexpr bool is_single = std::is_same_v<Scalar<F>, float>;

// ---- floats

inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline float sqrt(float a) { return __builtin_sqrtf(a); }
inline double sqrt(double a) { return __builtin_sqrt(a); }
inline float abs(float a) { return __builtin_fabsf(a); }
inline double abs(double a) { return __builtin_fabs(a); }
inline float floor(float a) { return __builtin_floorf(a); }
inline double floor(double a) { return __builtin_floor(a); }
inline float trunc(float a) { return __builtin_truncf(a); }
inline double trunc(double a) { return __builtin_trunc(a); }
inline float round_even(float a) { return __builtin_rintf(a); }
inline double round_even(double a) { return __builtin_rint(a); }
// As Op::Min and Op::Max: the second operand where either is NaN.
inline float min(float a, float b) { return a < b ? a : b; }
inline double min(double a, double b) { return a < b ? a : b; }
inline float max(float a, float b) { return a > b ? a : b; }
inline double max(double a, double b) { return a > b ? a : b; }

inline double to_double(float a) { return a; }
inline float to_single(double a) { return float(a); }

// ---- bits and integers

inline uint32_t to_bits(float a) { return std::bit_cast<uint32_t>(a); }
inline uint64_t to_bits(double a) { return std::bit_cast<uint64_t>(a); }
template <class F>
    requires std::is_floating_point_v<F>
F from_bits(UInt<F> a) {
    return std::bit_cast<F>(a);
}

inline int32_t as_signed(uint32_t a) { return int32_t(a); }
inline int64_t as_signed(uint64_t a) { return int64_t(a); }
inline uint32_t as_unsigned(int32_t a) { return uint32_t(a); }
inline uint64_t as_unsigned(int64_t a) { return uint64_t(a); }

/// Truncates; 0 out of range, where C++ leaves the cast undefined.
inline int32_t to_int(float a) { return abs(a) < 0x1p31f ? int32_t(a) : 0; }
inline int64_t to_int(double a) { return abs(a) < 0x1p63 ? int64_t(a) : 0; }
template <class F>
    requires std::is_floating_point_v<F>
F to_float(Int<F> a) {
    return F(a);
}

inline uint32_t mul_hi(uint32_t a, uint32_t b) { return uint32_t(uint64_t(a) * b >> 32); }
inline uint64_t mul_hi(uint64_t a, uint64_t b) {
    return uint64_t(static_cast<unsigned __int128>(a) * b >> 64);
}

/// Element `i` of a constant table, widened to the index's width; `i` is in range for every lane.
template <size_t N> uint32_t lookup(const uint32_t (&table)[N], int32_t i) { return table[i]; }
template <size_t N> uint64_t lookup(const uint32_t (&table)[N], int64_t i) { return table[i]; }

// ---- masks

inline float select(bool m, float a, float b) { return m ? a : b; }
inline double select(bool m, double a, double b) { return m ? a : b; }
inline int32_t select(bool m, int32_t a, int32_t b) { return m ? a : b; }
inline int64_t select(bool m, int64_t a, int64_t b) { return m ? a : b; }

template <class Fn> float if_any(bool m, float otherwise, Fn fn) { return m ? fn() : otherwise; }
template <class Fn> double if_any(bool m, double otherwise, Fn fn) { return m ? fn() : otherwise; }

// ---- the two formats

/// Layout of a format, and constants split into a rounded value and what rounding left over.
template <class S> struct Format;
template <> struct Format<float> {
    using Bits = uint32_t;
    static constexpr int Mantissa = 23, Width = 32;
    static constexpr float Bias = 127, Integer = 0x1p23f; // at Integer, an ulp is 1
    static constexpr float Magic =
        0x1.8p23f; // adding it rounds to an integer, held in the low bits
    static constexpr float MinNormal = 0x1p-126f, SubnormalScale = 0x1p24f;
    static constexpr float Pio2[3] = { 0x1.921fb6p0f, -0x1.777a5cp-25f, -0x1.ee59dap-50f };
    static constexpr float Ln2[2] = { 0x1.62e43p-1f, -0x1.05c61p-29f };
    static constexpr float TwoOverPi = 0x1.45f306p-1f, HalfLog2e = 0x1.715476p-1f;
    static constexpr float Third = 0x1.555556p-2f, Cbrt2 = 0x1.428a3p0f, CbrtHalf = 0x1.965feap-1f;
    static constexpr float SqrtHalf = 0x1.6a09e6p-1f;
    static constexpr float Inf = __builtin_inff(), NaN = __builtin_nanf("");
};
template <> struct Format<double> {
    using Bits = uint64_t;
    static constexpr int Mantissa = 52, Width = 64;
    static constexpr double Bias = 1023, Integer = 0x1p52;
    static constexpr double Magic = 0x1.8p52;
    static constexpr double MinNormal = 0x1p-1022, SubnormalScale = 0x1p54;
    static constexpr double Pio2[3] = { 0x1.921fb54442d18p0, 0x1.1a62633145c07p-54,
                                        -0x1.f1976b7ed8fbcp-110 };
    static constexpr double Ln2[2] = { 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56 };
    static constexpr double TwoOverPi = 0x1.45f306dc9c883p-1, HalfLog2e = 0x1.71547652b82fep-1;
    static constexpr double Third = 0x1.5555555555555p-2, ThirdLow = 0x1.5555555555555p-56;
    static constexpr double Cbrt2 = 0x1.428a2f98d728bp0, CbrtHalf = 0x1.965fea53d6e3dp-1;
    static constexpr double SqrtHalf = 0x1.6a09e667f3bcdp-1;
    static constexpr double Inf = __builtin_inf(), NaN = __builtin_nan("");
};
template <class F> using FormatOf = Format<Scalar<F>>;

/// The bits of a scalar constant, as an integer of F.
template <class F> UInt<F> bits_of(Scalar<F> s) {
    return UInt<F>(std::bit_cast<typename FormatOf<F>::Bits>(s));
}
/// An integer constant of F.
template <class F> UInt<F> uint_of(typename FormatOf<F>::Bits b) { return UInt<F>(b); }

template <class F> F flip_sign_by(F a, F sign) {
    return from_bits<F>(to_bits(a) ^ (to_bits(sign) & bits_of<F>(-0.f)));
}

// ---- polynomials

namespace detail {
// Sum of c[First + k Step] x^k.
template <size_t First, size_t Step, class F, size_t N>
[[gnu::always_inline]] inline F horner(F x, const Scalar<F> (&c)[N]) {
    if constexpr (First + Step >= N)
        return F(c[First]);
    else
        return fma(horner<First + Step, Step>(x, c), x, F(c[First]));
}
} // namespace detail

/// Sum of c[k] x^k. A long one is two interleaved chains, in x^2, which halves the latency.
template <class F, size_t N> [[gnu::always_inline]] inline F poly(F x, const Scalar<F> (&c)[N]) {
    if constexpr (N < 7) {
        return detail::horner<0, 1>(x, c);
    } else {
        F x2 = x * x;
        return fma(detail::horner<1, 2>(x2, c), x, detail::horner<0, 2>(x2, c));
    }
}

} // namespace umbel::jit::math
