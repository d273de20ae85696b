// render/attached.cpp: see render/attached.h.
#include "render/attached.h"
#include "render/followed_camera.h"

namespace umbel {

Vector3 replace_grad(const Vector3 &a, const Vector3 &b) {
    auto each = [](const Float &x, const Float &y) { return Float(ad::replace_grad(x, y)); };
    return { each(a.x, b.x), each(a.y, b.y), each(a.z, b.z) };
}

SurfaceInteraction attached_to_camera(const Scene &scene, const Ray &ray, const Hit &hit,
                                      const Mask &active) {
    Mask met = active & hit.is_valid();
    Ray beyond = FollowedCamera::carry(ray, active & !met); // what surrounds the scene
    SurfaceInteraction si =
        scene.attached(FollowedCamera::carry(ray, met), hit, Mask(true), active).si;
    si.wi = replace_grad(si.wi, select(met, si.wi, -beyond.d));
    return si;
}

// How much of what leaves x arrives around a point that stays on its surface, relative to what it is: 1, with derivatives.
static Float arriving(const Vector3 &x, const Arena::Attached &to, const Mask &active) {
    Vector3 way = select(active, to.si.p - x, Vector3(Float(0), Float(0), Float(1)));
    Float dist2 = squared_norm(way), cosine = abs_dot(to.si.n, way);
    Float density = cosine * to.area * rsqrt(dist2) / dist2, fixed(ad::detach(density));
    return select(active & (fixed > 0), density / fixed, Float(1));
}

AttachedLight::AttachedLight(const Scene &scene, const SurfaceInteraction &fixed,
                             const DirectionSample &ds, const Mask &active)
    : ray(fixed.spawn_ray_to(ds.p)), sampled(active & (ds.pdf > 0)) {
    ray.maxt = std::numeric_limits<double>::infinity();
    hit = scene.trace(ray, sampled);
    point = scene.attached(ray, hit, false, sampled);
    found = sampled & point.si.is_valid() & (point.si.emitter == ds.emitter);
}

Spectrum AttachedLight::arriving_at(const Scene &scene, const SurfaceInteraction &si,
                                    DirectionSample &ds, const Spectrum &light,
                                    const Float &factor) const {
    struct Result {
        Spectrum value;
        Vector3 p, d;
        UMBEL_STRUCT(value, p, d)
    };
    Vector3 none(Float(0));
    DirectionSample sample = ds;
    Vector3 on_surface = select(found, point.si.p, ds.p);
    Result r = scene.emitters().call(
        "emitter.eval_direction", ds.emitter, sampled, Result{ black(), none, none },
        [&](const Emitter &e) {
            DirectionSample at = sample;
            if (e.shape())
                at.p = on_surface;
            if (!e.has(EndpointFlags::Infinite | EndpointFlags::DeltaDirection)) {
                at.dist = norm(at.p - si.p);
                at.d = (at.p - si.p) / at.dist;
            }
            return Result{ e.eval_direction(si, at, sampled), at.p, at.d };
        });
    ds.p = replace_grad(ds.p, r.p);
    ds.d = replace_grad(ds.d, r.d);
    Float weight = select(sampled, rcp(ds.pdf), Float(0)) * arriving(si.p, point, found) * factor;
    Spectrum out = light;
    for (size_t c = 0; c < out.c.size(); ++c)
        out[c] = Float(ad::replace_grad(light[c], r.value[c] * weight));
    return out;
}

AttachedStep::AttachedStep(const Scene &scene, const SurfaceInteraction &si, const Ray &ray,
                           const BSDFSample &bs, const Mask &active)
    : hit(scene.trace(ray, active)), next(scene.attached(ray, hit, false, active)) {
    Mask smooth = active & next.si.is_valid() & !bs.is_delta();
    Vector3 way = select(smooth, next.si.p - si.p, ray.d);
    BSDFSample towards = bs;
    towards.wo = replace_grad(bs.wo, si.to_local(normalize(way)));
    value = scene.bsdfs().call("bsdf", si.bsdf, active, black(), [&](const BSDF &bsdf) {
        return value_of(bsdf, si, towards, active);
    });
    value = value * arriving(si.p, next, smooth);
}

} // namespace umbel
