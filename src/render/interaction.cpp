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

Ray SurfaceInteraction::behind(const Ray &ray) const {
    // As far as rays begin that leave the surface
    Float ahead = t + norm(offset_point(*this, ray.d) - p) * rsqrt(squared_norm(ray.d));
    return { ray(ahead), ray.d, ray.maxt - ahead, ray.time, ray.wavelengths };
}

// Where the neighbours meet the tangent plane, in terms of dp_du and dp_dv.
void SurfaceInteraction::compute_uv_partials(const Ray &ray, const Mask &active) {
    if (!ray.neighbours)
        return;
    Float aa = squared_norm(dp_du), ab = dot(dp_du, dp_dv), bb = squared_norm(dp_dv);
    Float det = aa * bb - ab * ab;
    Mask good = active & is_valid() & (det > 0);
    Float inv = rcp(select(good, det, Float(1)));
    auto step = [&](const Vector3 &o, const Vector3 &d) -> Vector2 {
        Float along = dot(n, d);
        Mask meets = good & (along != 0);
        Vector3 to = fma(d, dot(n, p - o) / select(meets, along, Float(1)), o) - p;
        Float x = dot(dp_du, to), y = dot(dp_dv, to);
        return { select(meets, (bb * x - ab * y) * inv, Float(0)),
                 select(meets, (aa * y - ab * x) * inv, Float(0)) };
    };
    duv_dx = step(ray.neighbours->o_x, ray.neighbours->d_x);
    duv_dy = step(ray.neighbours->o_y, ray.neighbours->d_y);
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
