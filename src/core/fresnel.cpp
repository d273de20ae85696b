// core/fresnel.cpp: Fresnel's equations.
#include "core/fresnel.h"

namespace umbel {

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
