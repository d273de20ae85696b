// render/volume_path_tracer.h: path tracing through participating media.
//
// What `path` does at surfaces is done at collisions in media, too: light is gathered by sampling a light and by sampling the
// phase function. Rays towards lights pass media, and surfaces that leave their direction alone (`null`, `polarizer`), and bring
// what is left of the light; such surfaces do not count as bounces. Without media and such surfaces it is `path`.
//
// The derivative walks each path a second time, as that of render/path_tracer.h does. Distances and directions are sampled, not
// differentiated; light is, at what was sampled. That it passes a medium is a factor of all that lies ahead: transmittance where
// the medium is homogeneous, elsewhere 1 - extinction / bound at each null collision. Rays towards lights are walked twice, as
// what they bring must be known before its factors can be differentiated. Where a medium has no extinction, nothing is ever
// scattered: there, the derivative knows what light loses and not what it gains, as it does where an albedo is 0.
#pragma once
#include "render/integrator.h"

namespace umbel {

class VolumePathTracer : public Integrator {
public:
    /// How the two ways of gathering light share it.
    enum class Weights {
        None,     // what can be sampled from lights is, and nothing else
        Power,    // the power heuristic [Veach 1995]; channels share each distance
        Spectral, // the balance heuristic, over both ways and all channels that a path might have been sampled for [Miller 2019]
    };

    void declare(Params &p) override;
    Radiance sample(const Scene &scene, SampleStream &sampler, const Ray &ray, const Medium *medium,
                    const Mask &active) const override;
    RadianceDerivative differentiate(ad::Mode, const Scene &, SampleStream, const Ray &,
                                     const Medium *, const Radiance &, const RadianceDerivative &,
                                     const Mask &) const override;

protected:
    /// `max_depth` is the default. One that has derivatives weighs by the power heuristic, and takes smaller steps.
    explicit VolumePathTracer(Weights weights, int max_depth = -1, bool is_differentiable = false)
        : m_weights(weights), m_max_depth(max_depth), m_is_differentiable(is_differentiable) {}

    Weights m_weights; // the same from loading on

private:
    struct State;
    State initial_state(const Scene &scene, SampleStream &sampler, const Ray &ray,
                        const Medium *medium, const Mask &active) const;
    MediumSample sample_medium(const Scene &scene, State &s, const Float &end,
                               const Mask &inside) const;
    void find_next(const Scene &scene, State &s) const;
    void bounce(const Scene &scene, State &s) const;

    int m_max_depth, m_rr_depth = 5;
    bool m_strict_normals = false;
    const bool m_is_differentiable;
};

} // namespace umbel
