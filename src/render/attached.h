// render/attached.h: points of paths that stay where they are on their surfaces when shapes move, as derivatives see it.
//
// What methods share that sample a path as if nothing moved, and differentiate the light that goes from one of its points to the
// next: what comes into sight, or goes out of it, is not their business.
#pragma once
#include "render/replay.h"
#include "render/scene.h"

namespace umbel {

/// The numbers of one, the derivatives of the other.
Vector3 replace_grad(const Vector3 &a, const Vector3 &b);

/// What a ray of the camera met: it stays on the ray, which moves with the camera.
SurfaceInteraction attached_to_camera(const Scene &scene, const Ray &ray, const Hit &hit,
                                      const Mask &active);

/// A point of a light that was sampled from where nothing is followed, `fixed`.
struct AttachedLight {
    AttachedLight(const Scene &scene, const SurfaceInteraction &fixed, const DirectionSample &ds,
                  const Mask &active);
    /// What arrives of it at the same place that is followed, over the density of `ds`, which moves with it; `light` is what
    /// it is. `factor`: of it, 1 with derivatives.
    Spectrum arriving_at(const Scene &scene, const SurfaceInteraction &si, DirectionSample &ds,
                         const Spectrum &light, const Float &factor) const;

    Ray ray; // towards it
    Hit hit;
    Arena::Attached point;
    Mask sampled;
    Mask found; // on a surface
};

/// From a point to the next one, along a ray that was sampled from a BSDF.
struct AttachedStep {
    AttachedStep(const Scene &scene, const SurfaceInteraction &si, const Ray &ray,
                 const BSDFSample &bs, const Mask &active);

    Hit hit;
    Arena::Attached next;
    Spectrum value; // of the BSDF towards it, times how much arrives there relative to what does
};

} // namespace umbel
