// render/volume_path_tracer.h: path tracing through participating media.
//
// What `path` does at surfaces is done at collisions in media, too: light is gathered by sampling a light and by sampling the
// phase function. Rays towards lights pass media, and surfaces that leave their direction alone (`null`, `polarizer`), and bring
// what is left of the light; such surfaces do not count as bounces. Without media and such surfaces it is `path`.
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
    explicit VolumePathTracer(Weights weights) : m_weights(weights) {}

private:
    struct State;
    void bounce(const Scene &scene, State &s) const;

    const Weights m_weights;
    int m_max_depth = -1, m_rr_depth = 5;
};

} // namespace umbel
