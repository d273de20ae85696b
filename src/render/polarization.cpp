// render/polarization.cpp: frames of Mueller matrices.
#include "render/polarization.h"
#include "core/mueller.h"

namespace umbel {

Spectrum to_implied_basis(const BSDFContext &ctx, const Spectrum &m, const Vector3 &wi,
                          const Vector3 &wo, const Vector3 &normal) {
    if (!variant().polarized)
        return m;
    // Light comes in against one of the directions and leaves along the other
    bool radiance = ctx.mode == BSDFContext::Mode::Radiance;
    Vector3 in = radiance ? -wo : -wi, out = radiance ? wi : wo;
    auto axis = [&](const Vector3 &forward) {
        Vector3 s = cross(normal, forward);
        // At normal incidence any axis will do, as long as both sides agree
        return select(squared_norm(s) > 1e-12, s, Frame(normal).s);
    };
    return mueller::rotate_basis(m, in, axis(in), stokes_basis(in), out, axis(out),
                                 stokes_basis(out));
}

} // namespace umbel
