// jit/math_trig.h: sin, cos, tan and their inverses.
//
// sin, cos and tan reduce |x| to r in [-pi/4, pi/4] and a quadrant. All three write the reduction
// in the same way, so that common subexpressions of sin(x) and cos(x) merge.
#pragma once
#include "jit/math_data.h"
#include "jit/math_scalar.h"

namespace umbel::jit::math {

/// r + q pi/2; only the low two bits of q count.
template <class F> struct Angle {
    F r;
    UInt<F> q;
};

template <class F> constexpr Scalar<F> HugeAngle = is_single<F> ? 1e5 : 1e9;

/// For 0 <= x <= HugeAngle. The first product cancels exactly, the others carry pi/2 to three
/// words.
template <class F> Angle<F> reduce_angle(F x) {
    using C = FormatOf<F>;
    F t = fma(x, F(C::TwoOverPi), F(C::Magic));
    F n = F(C::Magic) - t; // negated
    F r = fma(n, F(C::Pio2[0]), x);
    r = fma(n, F(C::Pio2[1]), r);
    r = fma(n, F(C::Pio2[2]), r);
    return { r, to_bits(t) };
}

/// For x > HugeAngle, by Payne and Hanek: x = m 2^k with an integer m, and only those digits of
/// 2/pi take part whose product with x is neither a multiple of 4 nor below the precision wanted.
/// Infinity gives NaN.
template <class F> Angle<F> reduce_huge_angle(F x) {
    using C = FormatOf<F>;
    using U = UInt<F>;
    constexpr int W = C::Width, H = W / 2;

    // Other lanes take a harmless number; their index into the table would be out of range
    F big = select(F(HugeAngle<F>) < x, x, F(HugeAngle<F>));
    U b = to_bits(big);
    U m = (b & uint_of<F>((typename C::Bits(1) << C::Mantissa) - 1)) |
          uint_of<F>(typename C::Bits(1) << C::Mantissa);

    // Three words of digits, the first of which has weight 2: bit k - 1 behind the point, after 64
    // zeros
    U bit = (b >> C::Mantissa) + uint_of<F>(62 - C::Mantissa - int(C::Bias));
    U word = bit >> 5, shift = bit & uint_of<F>(31);
    auto digits_at = [&](int i) {
        U high = lookup(TwoOverPi, as_signed(word + uint_of<F>(i)));
        U low = lookup(TwoOverPi, as_signed(word + uint_of<F>(i + 1)));
        return (high << shift) | ((low >> 1) >> (uint_of<F>(31) - shift));
    };
    auto word_at = [&](int i) {
        if constexpr (W == 32)
            return digits_at(i);
        else
            return (digits_at(2 * i) << 32) | (digits_at(2 * i + 1) & uint_of<F>(0xffffffff));
    };
    U w0 = word_at(0), w1 = word_at(1), w2 = word_at(2);

    // The upper two words of m w modulo 2^(3 W): two bits of quadrant, then the fraction
    U low = m * w1, mid = low + mul_hi(m, w2);
    U carry = as_unsigned(select(mid < low, as_signed(uint_of<F>(1)), as_signed(uint_of<F>(0))));
    U top = m * w0 + mul_hi(m, w1) + carry;
    U q = top >> (W - 2);
    top = (top << 2) | (mid >> (W - 2));
    mid = mid << 2;

    // A fraction of a half or more belongs to the next quadrant: take its complement
    U sign = as_unsigned(as_signed(top) >> (W - 1));
    q = q - sign;
    top = top ^ sign;
    mid = mid ^ sign;

    // To floats, by half words: these convert exactly
    auto digits = [](U v, Scalar<F> scale) {
        return (from_bits<F>(v | bits_of<F>(C::Integer)) - F(C::Integer)) * F(scale);
    };
    constexpr Scalar<F> Unit = Scalar<F>(1) / Scalar<F>(typename C::Bits(1) << H);
    U half = uint_of<F>((typename C::Bits(1) << H) - 1);
    F a = digits(top >> H, Unit), c = digits(top & half, Unit * Unit);
    F hi = a + c;
    F lo = (a - hi) + c;
    lo = lo + digits(mid >> H, Unit * Unit * Unit);
    lo = lo + digits(mid & half, Unit * Unit * Unit * Unit);

    F r = hi * F(C::Pio2[0]);
    F rest = fma(hi, F(C::Pio2[0]), -r);
    rest = fma(hi, F(C::Pio2[1]), rest);
    rest = fma(lo, F(C::Pio2[0]), rest);
    r = r + rest;
    r = from_bits<F>(to_bits(r) ^ (sign & bits_of<F>(-0.f)));
    return { r + (x - x), q };
}

template <class F> F sin_poly(F r, F r2) { return fma(r * r2, poly(r2, Fit<Scalar<F>>::Sin), r); }
template <class F> F cos_poly(F r2) { return fma(r2, poly(r2, Fit<Scalar<F>>::Cos), F(1)); }

/// sin for quarter 0, cos for quarter 1.
template <class F> F sin_of(const Angle<F> &angle, int quarter) {
    using C = FormatOf<F>;
    UInt<F> one = uint_of<F>(1);
    F r2 = angle.r * angle.r;
    F s = sin_poly(angle.r, r2), c = cos_poly(r2);
    Mask<F> odd = (angle.q & one) == one;
    F v = quarter ? select(odd, s, c) : select(odd, c, s);
    UInt<F> q = quarter ? angle.q + one : angle.q;
    return from_bits<F>(to_bits(v) ^ ((q << (C::Width - 2)) & bits_of<F>(-0.f)));
}

template <class F> F tan_of(const Angle<F> &angle) {
    UInt<F> one = uint_of<F>(1);
    F r2 = angle.r * angle.r;
    F t = fma(angle.r * r2, poly(r2, Fit<Scalar<F>>::Tan), angle.r);
    Mask<F> odd = (angle.q & one) == one;
    return select(odd, F(-1), t) / select(odd, t, F(1));
}

template <class F> F sin(F x) {
    F a = abs(x);
    F y = if_any(F(HugeAngle<F>) < a, sin_of(reduce_angle(a), 0),
                 [&] { return sin_of(reduce_huge_angle(a), 0); });
    return flip_sign_by(y, x); // sin is odd; reducing |x| keeps -0
}

template <class F> F cos(F x) {
    F a = abs(x);
    return if_any(F(HugeAngle<F>) < a, sin_of(reduce_angle(a), 1),
                  [&] { return sin_of(reduce_huge_angle(a), 1); });
}

template <class F> F tan(F x) {
    F a = abs(x);
    F y = if_any(F(HugeAngle<F>) < a, tan_of(reduce_angle(a)),
                 [&] { return tan_of(reduce_huge_angle(a)); });
    return flip_sign_by(y, x);
}

// ---- inverses

namespace detail {
/// s + q is asin |x| up to 1/2, and asin sqrt((1 - |x|) / 2), half the angle missing to pi/2,
/// above.
template <class F> struct AsinParts {
    F s, q;
};
template <class F> AsinParts<F> asin_parts(F a, Mask<F> above) {
    F z = select(above, (F(1) - a) * F(0.5f), a * a);
    F s = select(above, sqrt(z), a);
    return { s, (s * z) * poly(z, Fit<Scalar<F>>::Asin) };
}

/// c - 2 (s + q) for a constant c in two words, with the small terms gathered first.
template <class F> F less_twice(const Scalar<F> (&c)[3], Scalar<F> factor, const AsinParts<F> &p) {
    return fma(F(-2), p.s, F(factor * c[0])) + fma(F(-2), p.q, F(factor * c[1]));
}
} // namespace detail

template <class F> F asin(F x) {
    using C = FormatOf<F>;
    F a = abs(x);
    Mask<F> above = F(0.5f) < a;
    auto p = detail::asin_parts(a, above);
    return flip_sign_by(select(above, detail::less_twice(C::Pio2, 1, p), p.s + p.q), x);
}

template <class F> F acos(F x) {
    using C = FormatOf<F>;
    F a = abs(x);
    Mask<F> above = F(0.5f) < a, negative = x < F(0);
    auto p = detail::asin_parts(a, above);
    F sum = p.s + p.q;
    F far = select(negative, detail::less_twice(C::Pio2, 2, p), sum + sum);
    F near = F(C::Pio2[0]) + (F(C::Pio2[1]) - flip_sign_by(sum, x));
    return select(above, far, near);
}

namespace detail {
/// atan(t) for 0 <= t <= 1.
template <class F> F atan_part(F t) {
    F t2 = t * t;
    return fma(t * t2, poly(t2, Fit<Scalar<F>>::Atan), t);
}
} // namespace detail

template <class F> F atan(F x) {
    using C = FormatOf<F>;
    F a = abs(x);
    Mask<F> above = F(1) < a;
    F p = detail::atan_part(select(above, F(1), a) / max(F(1), a));
    return flip_sign_by(select(above, F(C::Pio2[0]) + (F(C::Pio2[1]) - p), p), x);
}

template <class F> F atan2(F y, F x) {
    using C = FormatOf<F>;
    F ax = abs(x), ay = abs(y);
    Mask<F> steep = ax < ay;
    F num = select(steep, ax, ay), den = select(steep, ay, ax);
    F t = num / select(den == F(0), F(1), den);
    F p = detail::atan_part(select(num == F(C::Inf), F(1), t));

    // Count from the nearest axis; the left half plane, with -0, by the sign bit
    Mask<F> left = as_signed(to_bits(x)) < as_signed(uint_of<F>(0));
    F axis = select(steep, F(C::Pio2[0]), select(left, F(2 * C::Pio2[0]), F(0)));
    F axis_low = select(steep, F(C::Pio2[1]), select(left, F(2 * C::Pio2[1]), F(0)));
    p = axis + (axis_low + select((steep & !left) | (left & !steep), -p, p));
    return select((x == x) & (y == y), flip_sign_by(p, y), x + y);
}

} // namespace umbel::jit::math
