// jit/math_special.h: erf, its inverse, and log |gamma|.
#pragma once
#include "jit/math_exp.h"
#include "jit/math_trig.h"

namespace umbel::jit::math {

template <class F> F erf(F x) {
    using T = Fit<Scalar<F>>;
    F a = abs(x);
    F near = fma(a, poly(a * a, T::Erf), a);
    // 1 - erfc(a), where erfc need not be accurate relative to itself
    auto [p, s] = exp_parts(poly(min(F(T::LogErfcEnd), a) - F(1), T::LogErfc));
    F far = F(1) - ((F(1) + p) * s) * s;
    return flip_sign_by(select(F(1) < a, far, near), x);
}

/// x times a smooth function of w = -log(1 - x^2), or of its root in the tail.
template <class F> F erfinv(F x) {
    using C = FormatOf<F>;
    using T = Fit<Scalar<F>>;
    F a = abs(x);
    auto [m, e] = split_normal(fma(-a, a, F(1)));
    F w = -log_of(m - F(1), e);
    F y = poly(w - F(T::ErfinvCentre), T::Erfinv);
    y = if_any(F(T::ErfinvEnd) < a, y, [&] {
        F q = sqrt(w);
        F tail = poly(q - F(T::ErfinvTailCentre), T::ErfinvTail);
        if constexpr (!is_single<F>)
            tail = select(q < F(4), tail, poly(q - F(5), T::ErfinvFar));
        tail = select(a == F(1), F(C::Inf), tail);
        return select(F(1) < a, F(C::NaN), tail - F(1));
    });
    return flip_sign_by(fma(a, y, a), x);
}

namespace detail {
// Where the interval of Fit::Lgamma ends, less 2: sqrt(2) - 1, since split() ends there too.
constexpr double LgammaEnd = 0x1.a827999fcef32p-2;

/// log |gamma(x)| in double precision for x > -1/2.
template <class F> F lgamma_right(F x) {
    using C = Format<double>;
    using T = Fit<double>;
    F a = abs(x);
    Mask<F> stirling = F(8) <= x, low = x < F(1 + LgammaEnd), lowest = x < F(LgammaEnd);

    // gamma(x) = gamma(2 + d) q or gamma(2 + d) / q, 2 + d within the interval of the polynomial.
    // All differences are exact
    F t = x, q = F(1);
    for (int i = 0; i < 6; ++i) {
        Mask<F> above = F(2 + LgammaEnd) <= t;
        F next = t - F(1);
        q = select(above, q * next, q);
        t = select(above, next, t);
    }
    F d = select(lowest, x, select(low, x - F(1), t - F(2)));
    q = select(lowest, a * (x + F(1)), select(low, x, q));
    F sign = select(low, F(-1), F(1));

    auto [m, e] = split(select(stirling, x, q));
    F f = m - F(1), tail = log_tail(f);
    // Near 1, f = d, and d gamma'(2) - f must round once
    F near = fma(d, poly(d, T::Lgamma), sign * f) + sign * fma(e, F(C::Ln2[1]), -tail);
    near = fma(sign * e, F(C::Ln2[0]), near);

    // Stirling's series; log x - 1 with its two words apart as long as possible
    F inv = F(1) / x;
    F series = inv * poly(inv * inv, T::Stirling);
    F log_x = fma(e, F(C::Ln2[0]), f + fma(e, F(C::Ln2[1]), -tail));
    F far =
        fma(x - F(0.5), log_x - F(1), F(0x1.acfe390c97d69p-2) + series); // log(2 pi) / 2 - 1 / 2
    F r = select(stirling, far, near);
    return select((x == F(0)) | (x == F(C::Inf)), F(C::Inf), r);
}

/// The same for x <= -1/2, by reflection; `mirrored` is log gamma(-x).
template <class F> F lgamma_left(F x, F mirrored) {
    using C = Format<double>;
    F a = -x;
    F r = abs(a - round_even(a));
    Mask<F> above = F(0.25) < r;
    F angle = F(2 * C::Pio2[0]) * select(above, F(0.5) - r, r);
    F angle2 = angle * angle;
    F sine = select(above, cos_poly(angle2), sin_poly(angle, angle2));

    // log |gamma(x)| = -log(a |sin pi a| / pi) - log gamma(a). Up to 18 there are zeros; there
    // gamma(a) joins the logarithm's argument, all but its last factor, so that nothing large
    // cancels
    Mask<F> small = a < F(18);
    F t = a, q = select(a < F(1 + LgammaEnd), F(1), a);
    for (int i = 0; i < 16; ++i) {
        Mask<F> next_above = small & (F(2 + LgammaEnd) <= t);
        F next = t - F(1);
        q = select(next_above, q * next, q);
        t = select(next_above, next, t);
    }
    F d = select(a < F(1 + LgammaEnd), a - F(1), t - F(2));
    F rest = select(small, d * poly(d, Fit<double>::Lgamma), mirrored);
    auto [m, e] = split_normal(q * (sine * F(0x1.45f306dc9c883p-2))); // 1 / pi
    F y = -(log_of(m - F(1), e) + rest);
    return select((r == F(0)) | (a == F(C::Inf)), F(C::Inf), y);
}
} // namespace detail

template <class F> F lgamma(F x) {
    if constexpr (is_single<F>) {
        return to_single(lgamma(to_double(x)));
    } else {
        Mask<F> left = x < F(-0.5);
        F right = detail::lgamma_right(select(left, -x, x));
        return if_any(left, right, [&] { return detail::lgamma_left(x, right); });
    }
}

} // namespace umbel::jit::math
