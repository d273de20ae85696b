// jit/math_exp.h: exponentials, logarithms, hyperbolic functions and their inverses, cbrt, pow.
#pragma once
#include "jit/math_data.h"
#include "jit/math_scalar.h"

namespace umbel::jit::math {

// ---- exponentials

/// e^x = (1 + p) s^2. Scaling by s twice reaches subnormal and just overflowing results with one
/// rounding, at the price of an r in [-log 2, log 2] instead of half of that.
template <class F> struct ExpParts {
    F p, s;
};

/// 2^n from a number n + Magic, -Bias < n <= Bias.
template <class F> F exp2_of_magic(UInt<F> n) {
    return from_bits<F>((n << FormatOf<F>::Mantissa) + bits_of<F>(1));
}

template <class F> ExpParts<F> exp_parts(F x) {
    using C = FormatOf<F>;
    F t = fma(x, F(C::HalfLog2e), F(C::Magic));
    F n = F(C::Magic) - t; // negated
    F r = fma(n, F(2 * C::Ln2[0]), x);
    r = fma(n, F(2 * C::Ln2[1]), r);
    F p = fma(r * r, poly(r, Fit<Scalar<F>>::Exp), r);
    return { p, exp2_of_magic<F>(to_bits(t)) };
}

/// Bounds beyond which e^x is infinite or 0; within them the exponent arithmetic cannot wrap.
template <class F> constexpr Scalar<F> ExpRange = is_single<F> ? 120 : 800;

/// The limit comes first: min and max give their second operand, here the NaN.
template <class F> F clamp_exponent(F x, Scalar<F> limit) {
    return max(F(-limit), min(F(limit), x));
}

template <class F> F exp(F x) {
    auto [p, s] = exp_parts(clamp_exponent(x, ExpRange<F>));
    return ((F(1) + p) * s) * s;
}

/// v 2^n for a whole n within two exponent ranges and t = n + Magic, in two factors: rounds once.
template <class F> F scale_by_exp2(F v, F n, F t) {
    UInt<F> half = to_bits(fma(n, F(0.5f), F(FormatOf<F>::Magic)));
    return (v * exp2_of_magic<F>(half)) * exp2_of_magic<F>(to_bits(t) - half);
}

template <class F> F exp2(F x) {
    using C = FormatOf<F>;
    x = clamp_exponent(x, is_single<F> ? 200 : 1200);
    F t = x + F(C::Magic);
    F n = t - F(C::Magic);
    F r = x - n;
    F p = fma(r, poly(r, Fit<Scalar<F>>::Exp2), F(1));
    return scale_by_exp2(p, n, t);
}

// ---- hyperbolic functions

namespace detail {
/// (e^a - 1) / 2 for 0 <= a <= ExpRange, accurate relative to its value.
template <class F> F half_expm1(F a) {
    auto [p, s] = exp_parts(a);
    F h = F(0.5f) * s;
    return fma(p * s, h, fma(h, s, F(-0.5f)));
}
} // namespace detail

template <class F> F sinh(F x) {
    F a = abs(x);
    F e = detail::half_expm1(min(F(ExpRange<F>), a));
    F y = e + min(e / fma(F(2), e, F(1)), F(0.5f)); // the quotient of infinities counts as 1/2
    // Halves of the smallest numbers would round
    constexpr Scalar<F> Tiny = is_single<F> ? 0x1p-20 : 0x1p-40;
    return flip_sign_by(select(a < F(Tiny), a, y), x);
}

template <class F> F cosh(F x) {
    auto [p, s] = exp_parts(min(F(ExpRange<F>), abs(x)));
    F y = ((F(1) + p) * s) * (F(0.5f) * s);
    return y + F(0.25f) / y;
}

template <class F> F tanh(F x) {
    F a = min(F(20), abs(x)); // 1 from 19.1 on
    F e = detail::half_expm1(a + a);
    return flip_sign_by(e / (e + F(1)), x);
}

// ---- logarithms

/// x = m 2^e with m in [sqrt(1/2), sqrt(2)).
template <class F> struct Split {
    F m, e;
};

namespace detail {
template <class F> Split<F> split_biased(F x, F bias) {
    using C = FormatOf<F>;
    constexpr auto Root = std::bit_cast<typename C::Bits>(C::SqrtHalf);
    constexpr auto One = std::bit_cast<typename C::Bits>(Scalar<F>(1));
    UInt<F> b = to_bits(x) + uint_of<F>(One - Root);
    F e = from_bits<F>((b >> C::Mantissa) | bits_of<F>(C::Integer)) - bias;
    UInt<F> fraction = b & uint_of<F>((typename C::Bits(1) << C::Mantissa) - 1);
    return { from_bits<F>(fraction + uint_of<F>(Root)), e };
}
} // namespace detail

/// For finite x > 0.
template <class F> Split<F> split(F x) {
    using C = FormatOf<F>;
    Mask<F> tiny = x < F(C::MinNormal);
    constexpr Scalar<F> Bias = C::Integer + C::Bias, Shift = C::Mantissa + (is_single<F> ? 1 : 2);
    return detail::split_biased(select(tiny, x * F(C::SubnormalScale), x),
                                select(tiny, F(Bias + Shift), F(Bias)));
}

/// For normal x > 0.
template <class F> Split<F> split_normal(F x) {
    using C = FormatOf<F>;
    return detail::split_biased(x, F(C::Integer + C::Bias));
}

/// f - log(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)), accurate relative to f^2.
template <class F> F log_tail(F f) {
    F f2 = f * f;
    if constexpr (is_single<F>) {
        return fma(-(f2 * f), poly(f, Fit<float>::Log), F(0.5f) * f2);
    } else {
        F s = f / (F(2) + f), z = s * s, h = F(0.5) * f2;
        return h - s * fma(z, poly(z, Fit<double>::Log), h);
    }
}

/// log(1 + f) + e log 2.
template <class F> F log_of(F f, F e) {
    using C = FormatOf<F>;
    return fma(e, F(C::Ln2[0]), f + fma(e, F(C::Ln2[1]), -log_tail(f)));
}

namespace detail {
template <class F> F log_special(F x, F y) {
    using C = FormatOf<F>;
    y = select(x < F(C::Inf), y, x);
    y = select(x == F(0), F(-C::Inf), y);
    return select(x < F(0), F(C::NaN), y);
}
} // namespace detail

template <class F> F log(F x) {
    auto [m, e] = split(x);
    return detail::log_special(x, log_of(m - F(1), e));
}

template <class F> F log2(F x) {
    using C = FormatOf<F>;
    auto [m, e] = split(x);
    F f = m - F(1);
    return detail::log_special(x, fma(f - log_tail(f), F(2 * C::HalfLog2e), e));
}

// ---- inverse hyperbolic functions

namespace detail {
/// log(1 + w) + shift log 2 for w >= 0; 1 + w is kept in two parts.
template <class F> F log1p_of(F w, F shift) {
    F u = w + F(1);
    Mask<F> above = F(1) < w;
    F rest = select(above, F(1) - (u - w), w - (u - F(1)));
    auto [m, e] = split_normal(u);
    F scale = from_bits<F>(to_bits(m) - to_bits(u) + bits_of<F>(1)); // 2^-e
    return log_of(fma(rest, scale, m - F(1)), e + shift);
}

/// From here on, 1 is nothing beside x, and x^2 comes close to overflowing.
template <class F> constexpr Scalar<F> HugeRoot = is_single<F> ? 0x1p60 : 0x1p500;
} // namespace detail

template <class F> F asinh(F x) {
    using C = FormatOf<F>;
    F a = abs(x), a2 = a * a;
    // log(a + sqrt(a^2 + 1)); huge: log(2 a), halved twice so that exponents stay in range
    Mask<F> huge = F(detail::HugeRoot<F>) < a;
    F w = a + a2 / (F(1) + sqrt(a2 + F(1)));
    F y = detail::log1p_of(select(huge, a * F(0.25f), w), select(huge, F(3), F(0)));
    return flip_sign_by(select(a < F(C::Inf), y, a), x);
}

template <class F> F acosh(F x) {
    using C = FormatOf<F>;
    F t = x - F(1);
    // log(x + sqrt(x^2 - 1))
    Mask<F> huge = F(detail::HugeRoot<F>) < x;
    F w = t + sqrt(fma(t, t, t + t));
    F y = detail::log1p_of(select(huge, x * F(0.25f), w), select(huge, F(3), F(0)));
    y = select(x < F(C::Inf), y, x);
    return select(x < F(1), F(C::NaN), y);
}

template <class F> F atanh(F x) {
    using C = FormatOf<F>;
    F a = abs(x);
    F y = F(0.5f) * detail::log1p_of((a + a) / (F(1) - a), F(0));
    y = select(a == F(1), F(C::Inf), y);
    return flip_sign_by(select(F(1) < a, F(C::NaN), y), x);
}

// ---- powers

template <class F> F cbrt(F x) {
    using C = FormatOf<F>;
    F a = abs(x);
    auto [m, e] = split(a);
    // a = (m 2^k) 2^(3 n), k in { -1, 0, 1 }
    F t = fma(e, F(C::Third), F(C::Magic));
    F k = fma(F(C::Magic) - t, F(3), e);
    Mask<F> up = k == F(1), down = k == F(-1);
    F v = m * select(up, F(2), select(down, F(0.5f), F(1)));

    // y = v^(-1/3): a guess, one step of third order; then v y^2 and one step of Newton
    F y = poly(m, Fit<Scalar<F>>::Cbrt);
    y = y * select(up, F(C::CbrtHalf), select(down, F(C::Cbrt2), F(1)));
    F h = fma(-(y * y), v * y, F(1));
    y = fma(y * h, fma(h, F(Scalar<F>(2) / 9), F(C::Third)), y);
    F y2 = y * y, z = v * y2;
    z = fma(fma(-(z * z), z, v), y2 * F(C::Third), z);

    z = from_bits<F>(to_bits(z) + (to_bits(t) << C::Mantissa)); // times 2^n
    return select((F(0) < a) & (a < F(C::Inf)), flip_sign_by(z, x), x + x);
}

namespace detail {
/// |x|^y = v 2^n, n the whole number next to p, for finite x != 0 and moderate y.
template <class F> struct PowParts {
    F v, p;
};

/// Single precision. log2 m = K atanh s, K = 2 / log 2, s = (m - 1) / (m + 1), in two words wherever an
/// error would be magnified by y.
template <class F> PowParts<F> pow_parts(F a, F y) {
    using C = Format<float>;
    using P = Fit<float>;
    auto [m, e] = split(a);
    F f = m - F(1), d = m + F(1), d_low = m - (d - F(1));
    F s = f / d;
    F rest = fma(-s, d_low, fma(-s, d, f)); // what s misses, times d
    F z = s * s;

    // K atanh s = s (K + g), and what s misses by the derivative
    F g = fma(z, poly(z, P::PowLog), F(P::PowScale[1]));
    F c = F(P::PowScale[0]) + g, c_low = (F(P::PowScale[0]) - c) + g;
    F h = s * c;
    F h_low = fma(s, c_low, fma(s, c, -h));
    h_low = fma(rest, poly(f, P::PowSlope), h_low);
    F l = e + h, l_low = ((e - l) + h) + h_low;

    // 2^(y l)
    F p = y * l;
    F p_low = fma(y, l_low, fma(y, l, -p));
    F n = (p + F(C::Magic)) - F(C::Magic);
    F r = (p - n) + p_low;
    return { fma(r, poly(r, P::PowExp2), F(1)), p };
}

/// v 2^n also where it is subnormal, 0 or infinite.
template <class F> F join_pow_parts(PowParts<F> a) {
    constexpr float Limit = 200;
    F t = clamp_exponent(a.p, Limit) + F(Format<float>::Magic);
    F v = select(abs(a.p) < F(Limit), a.v, F(1)); // beyond, v was made from nothing
    return scale_by_exp2(v, t - F(Format<float>::Magic), t);
}

/// Double precision: |x|^y itself.
template <class F> F pow_finite(F a, F y) {
    // The logarithm in two words, since y magnifies its error: log m = 2 atanh s, s = f / (2 + f)
    using C = Format<double>;
    auto [m, e] = split(a);
    F f = m - F(1);
    F d = F(2) + f, d_low = f - (d - F(2));
    F inv = F(1) / d;
    F s = f * inv;
    F s_low = fma(-s, d_low, fma(-s, d, f)) * inv;
    F z = s * s;
    F z_low = fma(s, s, -z) + F(2) * (s * s_low);
    F q = z * poly(z, Fit<double>::PowLog);
    F c = F(C::Third) + q;
    F c_low = ((F(C::Third) - c) + q) + F(C::ThirdLow);
    F u = z * c;
    F u_low = fma(z, c, -u) + fma(z, c_low, z_low * c);
    F v = s * u;
    F v_low = fma(s, u, -v) + fma(s, u_low, s_low * u);
    F l = s + v;
    F l_low = ((s - l) + v) + (s_low + v_low);

    // + e log 2
    F k = e * F(C::Ln2[0]);
    F k_low = fma(e, F(C::Ln2[1]), fma(e, F(C::Ln2[0]), -k));
    F h = fma(F(2), l, k);
    F h_low = fma(F(2), l, k - h) + fma(F(2), l_low, k_low);

    // e^(y h), again in two words up to the last sum
    F p = y * h;
    F p_low = fma(y, h, -p) + y * h_low;
    Mask<F> inside = abs(p) < F(ExpRange<F>);
    p = clamp_exponent(p, ExpRange<F>);
    F t = fma(p, F(C::HalfLog2e), F(C::Magic));
    F n = F(C::Magic) - t;
    F r0 = fma(n, F(2 * C::Ln2[0]), p);
    F r_low = fma(n, F(2 * C::Ln2[1]), select(inside, p_low, F(0)));
    F r = r0 + r_low;
    r_low = (r0 - r) + r_low;
    F one_r = F(1) + r;
    F rest = ((F(1) - one_r) + r) + fma(r * r, poly(r, Fit<double>::Exp), r_low);
    F scale = exp2_of_magic<F>(to_bits(t));
    return ((one_r + rest) * scale) * scale;
}

/// pow where x is not positive and finite, or y is NaN or huge; `moderate` is |x|^y
/// elsewhere.
template <class F> F pow_special(F x, F y, F moderate, Scalar<F> huge_power) {
    using C = FormatOf<F>;
    F a = abs(x), half = F(0.5f) * y;
    Mask<F> whole = floor(y) == y;
    Mask<F> odd = whole & (floor(half) != half);
    Mask<F> negative = as_signed(to_bits(x)) < as_signed(uint_of<F>(0));
    Mask<F> zero = a == F(0), infinite = a == F(C::Inf), huge = F(huge_power) <= abs(y);

    // Magnitude: grows towards infinity where base and exponent lie on the same side
    Mask<F> grows = ((a < F(1)) & (y < F(0))) | ((F(1) < a) & (F(0) < y));
    F limit = select(grows, F(C::Inf), F(0));
    F r = select(zero | infinite | (huge & (a != F(1))), limit, moderate);
    r = select(huge & (a == F(1)), F(1), r);

    // Sign; no real power of a negative number but whole ones
    r = select(negative & !whole & !zero & !infinite, F(C::NaN), r);
    r = select(negative & odd, -r, r);
    r = select((x == x) & (y == y), r, x + y);
    return select((y == F(0)) | (x == F(1)), F(1), r);
}
} // namespace detail

template <class F> F pow(F x, F y) {
    using C = FormatOf<F>;
    // Beyond it every power of a number other than 1 is 0 or infinite
    constexpr Scalar<F> HugePower = is_single<F> ? 0x1p40 : 0x1p70;
    if constexpr (is_single<F>) {
        detail::PowParts<F> parts = detail::pow_parts(abs(x), y);
        F t = parts.p + F(C::Magic);
        F r = from_bits<F>(to_bits(parts.v) + (to_bits(t) << C::Mantissa));
        Mask<F> usual = (F(0) < x) & (x < F(C::Inf)) & (abs(parts.p) < F(C::Bias - 1));
        return if_any(!usual, r, [&] {
            return detail::pow_special(x, y, detail::join_pow_parts(parts), HugePower);
        });
    } else {
        F r = detail::pow_finite(abs(x), y);
        Mask<F> usual = (F(0) < x) & (x < F(C::Inf)) & (abs(y) < F(HugePower));
        return if_any(!usual, r, [&] { return detail::pow_special(x, y, r, HugePower); });
    }
}

} // namespace umbel::jit::math
