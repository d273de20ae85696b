// render/integrator.h: what turns rays into numbers for the film.
#pragma once
#include "render/scene.h"

namespace umbel {

/// What one sample contributes.
struct Radiance {
    Spectrum L;
    Mask valid;              // whether the ray met anything: the alpha channel
    std::vector<Float> aovs; // as many as aov_names()
    UMBEL_STRUCT(L, valid, aovs)
};

class Integrator : public Object {
public:
    static constexpr const char *Kind = "integrator";

    void declare(Params &p) override;
    /// Radiance along a ray.
    virtual Radiance sample(const Scene &scene, SampleStream &sampler, const Ray &ray,
                            const Mask &active) const = 0;
    /// Channels beyond the colour.
    virtual std::vector<std::string> aov_names() const { return {}; }

protected:
    bool m_hide_emitters = false;
};

} // namespace umbel
