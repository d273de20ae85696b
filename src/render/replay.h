// render/replay.h: what methods share that walk paths a second time for their derivatives [Vicini 2021].
//
// The light that a path brings is a sum of products. By the second walk it is known, and so is what of it lies ahead of each
// vertex: a factor is differentiated where it arises, as that times the factor over itself, and nothing is kept.
#pragma once
#include "ad/ad.h"
#include "render/bsdf.h"

namespace umbel {

class Scene;

/// The same without derivatives.
template <class T> T detached(T x) {
    jit::visit_values(x, [](Value &v) { v = ad::detach(v); });
    return x;
}

/// A plain factor over itself: 1, with the derivative of its logarithm; where it is 0, none.
Spectrum relative(const Spectrum &factor);

/// Derivatives of numbers, here and now: in reverse mode, adds those of `gradients` times them to the gradients of all that
/// is followed; in forward mode, returns tangents.
std::vector<Float> differentiate_values(ad::Mode mode, std::vector<Float> values,
                                        const std::vector<Float> &gradients);

/// Light that passes through something.
struct PassingDerivative {
    ad::Mode mode;
    Spectrum gradient; // in reverse mode: of the light, times the light

    /// Of a factor of it. In forward mode, returns the tangent of its logarithm; the light's is the sum of them times the light.
    Spectrum of(const Spectrum &factor, const Mask &active) const;
};

/// All that a path asks of a BSDF, where it is differentiated.
struct ReplayedScattering {
    Spectrum value; // towards a light: f cos
    Float pdf;
    BSDFSample sample;
    Spectrum sample_value; // weight times density
    UMBEL_STRUCT(value, pdf, sample, sample_value)
};
/// What is sampled is not differentiated: a derivative of the value at a fixed direction is all that it takes.
ReplayedScattering replay_bsdf(const Scene &scene, const SurfaceInteraction &si, const Vector3 &wo,
                               const Float &u1, const Vector2 &u2, bool with_sample_value,
                               const Mask &active);
/// The value of the BSDF for what was sampled from it.
Spectrum value_of(const BSDF &bsdf, const SurfaceInteraction &si, const BSDFSample &bs,
                  const Mask &active);

/// A vertex: of what it brings itself, and of what lies ahead times what it scatters over itself. Takes `near` from the radiance
/// `L`, which was known up to here; in forward mode, returns the tangent.
Spectrum differentiate_vertex(ad::Mode mode, Spectrum &L, const Spectrum &near,
                              const Spectrum &scattered, const Spectrum &gradient,
                              const Mask &goes_on);

} // namespace umbel
