// core/fresnel.h: reflection and refraction at smooth interfaces.
#pragma once
#include "core/spectrum.h"

namespace umbel {

struct FresnelResult {
    Float r; // part of unpolarized light that is reflected
    Float
        cos_theta_t; // of the refracted direction, on the other side: its sign is opposite to cos_theta_i
    Float eta_it; // relative index, from the incident to the transmitted side
    Float eta_ti;
};
/// Between dielectrics; eta is the index below over that above. Any sign of cos_theta_i.
FresnelResult fresnel(const Float &cos_theta_i, const Float &eta);

/// Of a conductor with index eta + i k, from air, unpolarized.
Float fresnel_conductor(const Float &cos_theta_i, const Float &eta, const Float &k);
Spectrum fresnel_conductor(const Float &cos_theta_i, const Spectrum &eta, const Spectrum &k);

struct Complex {
    Float re, im;
};
struct PolarizedFresnel {
    Complex a_s, a_p;  // amplitudes of what is reflected, across the plane of incidence and in it
    Float cos_theta_t; // as of fresnel(); 0 under total reflection
    Complex eta_it, eta_ti;
};
/// At a smooth interface of relative index eta + i k, any sign of cos_theta_i. Phases grow with time: amplitudes are those of
/// an index eta - i k [Clarke 2010, appendix A.2].
PolarizedFresnel fresnel_polarized(const Float &cos_theta_i, const Float &eta, const Float &k);

/// wi mirrored in the z axis, or in a normal m.
inline Vector3 reflect(const Vector3 &wi) { return { -wi.x, -wi.y, wi.z }; }
inline Vector3 reflect(const Vector3 &wi, const Vector3 &m) { return fma(m, 2 * dot(wi, m), -wi); }
/// The refracted direction, from cos_theta_t and eta_ti of fresnel().
inline Vector3 refract(const Vector3 &wi, const Float &cos_theta_t, const Float &eta_ti) {
    return { -eta_ti * wi.x, -eta_ti * wi.y, cos_theta_t };
}
inline Vector3 refract(const Vector3 &wi, const Vector3 &m, const Float &cos_theta_t,
                       const Float &eta_ti) {
    return fma(m, fma(dot(wi, m), eta_ti, cos_theta_t), -(wi * eta_ti));
}

} // namespace umbel
