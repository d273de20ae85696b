// render/interaction.cpp: rays that leave a surface.
#include "render/interaction.h"
#include "core/mueller.h"

namespace umbel {

namespace {

// Relative to the size of coordinates: far more than rounding moves a point off its surface, far less than a
// scene's details.
double ray_epsilon() { return variant().double_precision ? 1500 * 0x1p-52 : 1500 * 0x1p-23 / 2; }

Vector3 offset_point(const Interaction &it, const Vector3 &d) {
    Float size = 1 + max_component(abs(it.p));
    Float step = mulsign(size * ray_epsilon(), dot(it.n, d));
    return fma(it.n, step, it.p);
}

} // namespace

Ray Interaction::spawn_ray(const Vector3 &d) const {
    return { offset_point(*this, d), d, Float(std::numeric_limits<double>::infinity()), time,
             wavelengths };
}

Ray Interaction::spawn_ray_to(const Vector3 &target) const {
    Vector3 o = offset_point(*this, target - p), d = target - o;
    Float dist = norm(d);
    return { o, d / dist, dist * (1 - 10 * ray_epsilon()), time, wavelengths };
}

Spectrum SurfaceInteraction::to_world_mueller(const Spectrum &m, const Vector3 &in_forward,
                                              const Vector3 &out_forward) const {
    if (!variant().polarized || !m.is_mueller())
        return m;
    Vector3 in = to_world(in_forward), out = to_world(out_forward);
    return mueller::rotate_basis(m, in, to_world(stokes_basis(in_forward)), stokes_basis(in), out,
                                 to_world(stokes_basis(out_forward)), stokes_basis(out));
}

} // namespace umbel
