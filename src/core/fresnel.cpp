// core/fresnel.cpp: Fresnel's equations.
#include "core/fresnel.h"

namespace umbel {
namespace {

Complex operator+(const Complex &a, const Complex &b) { return { a.re + b.re, a.im + b.im }; }
Complex operator-(const Complex &a, const Complex &b) { return { a.re - b.re, a.im - b.im }; }
Complex operator*(const Complex &a, const Complex &b) {
    return { a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re };
}
Complex operator*(const Complex &a, const Float &b) { return { a.re * b, a.im * b }; }
Float norm2(const Complex &a) { return sqr(a.re) + sqr(a.im); }
Complex operator/(const Complex &a, const Complex &b) {
    Float inv = rcp(norm2(b));
    return Complex{ a.re * b.re + a.im * b.im, a.im * b.re - a.re * b.im } * inv;
}
Complex sqrt(const Complex &a) { // principal value
    // The smaller part follows from the larger one: nothing cancels
    Float large = safe_sqrt(0.5 * (umbel::sqrt(norm2(a)) + abs(a.re)));
    Float small = 0.5 * abs(a.im) / select(large == 0, Float(1), large);
    Mask right = a.re >= 0;
    return { select(right, large, small), mulsign(select(right, small, large), a.im) };
}
Complex select(const Mask &m, const Complex &a, const Complex &b) {
    return { select(m, a.re, b.re), select(m, a.im, b.im) };
}

} // namespace

PolarizedFresnel fresnel_polarized(const Float &cos_theta_i, const Float &eta, const Float &k) {
    // From below, the interface has the inverse index
    Mask outside = cos_theta_i >= 0;
    Complex one{ Float(1), Float(0) }, e{ eta, -abs(k) }, inverse = one / e;
    Complex it = select(outside, e, inverse), ti = select(outside, inverse, e);
    Float cos_i = abs(cos_theta_i);
    Complex cos_t_2 = one - ti * ti * fma(-cos_i, cos_i, 1), cos_t = sqrt(cos_t_2);
    // Under total reflection and in absorbing media, the branch with a wave that decays
    cos_t.im = -abs(cos_t.im);
    Complex c{ cos_i, Float(0) };
    Complex a_s = (c - it * cos_t) / (c + it * cos_t);
    Complex a_p = (it * cos_i - cos_t) / (it * cos_i + cos_t);
    Float refracted = select(cos_t_2.re >= 0, cos_t.re, Float(0));
    return { a_s, a_p, select(outside, -refracted, refracted), it, ti };
}

FresnelResult fresnel(const Float &cos_theta_i, const Float &eta) {
    Mask outside = cos_theta_i >= 0;
    Float rcp_eta = rcp(eta), eta_it = select(outside, eta, rcp_eta),
          eta_ti = select(outside, rcp_eta, eta);
    // Snell's law; negative under total reflection
    Float cos_t_2 = fma(-fma(-cos_theta_i, cos_theta_i, 1), sqr(eta_ti), 1);
    Float cos_i = abs(cos_theta_i), cos_t = safe_sqrt(cos_t_2);
    Float a_s = fma(-eta_it, cos_t, cos_i) / fma(eta_it, cos_t, cos_i);
    Float a_p = fma(-eta_it, cos_i, cos_t) / fma(eta_it, cos_i, cos_t);
    Float r = 0.5 * (sqr(a_s) + sqr(a_p));
    Mask matched = eta == 1, grazing = cos_i == 0;
    r = select(matched, Float(0), select(grazing, Float(1), r));
    return { r, -mulsign(cos_t, cos_theta_i), eta_it, eta_ti };
}

Float fresnel_conductor(const Float &cos_theta_i, const Float &eta, const Float &k) {
    // [Born 1999, section 14.2], without complex numbers
    Float c2 = sqr(cos_theta_i), s2 = 1 - c2, s4 = sqr(s2);
    Float t1 = sqr(eta) - sqr(k) - s2;
    Float a2_b2 = safe_sqrt(sqr(t1) + 4 * sqr(k) * sqr(eta));
    Float a = safe_sqrt(0.5 * (a2_b2 + t1));
    Float term1 = a2_b2 + c2, term2 = 2 * cos_theta_i * a;
    Float r_s = (term1 - term2) / (term1 + term2);
    Float term3 = a2_b2 * c2 + s4, term4 = term2 * s2;
    Float r_p = r_s * (term3 - term4) / (term3 + term4);
    return 0.5 * (r_s + r_p);
}

Spectrum fresnel_conductor(const Float &cos_theta_i, const Spectrum &eta, const Spectrum &k) {
    return map(eta, k, [&](const Float &e, const Float &kk) {
        return fresnel_conductor(cos_theta_i, e, kk);
    });
}

} // namespace umbel
