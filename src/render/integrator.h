// render/integrator.h: what turns rays into numbers for the film.
#pragma once
#include "ad/ad.h"
#include "render/scene.h"

namespace umbel {

/// What one sample contributes.
struct Radiance {
    Spectrum L;
    Mask valid;              // whether the ray met anything: the alpha channel
    std::vector<Float> aovs; // as many as aov_names()
    UInt32 lit = 0u;         // bit k: bounce k saw the light that it sampled; for differentiate()
    UMBEL_STRUCT(L, valid, aovs, lit)
};

class Integrator : public Object {
public:
    static constexpr const char *Kind = "integrator";

    void declare(Params &p) override;
    /// Radiance along a ray.
    virtual Radiance sample(const Scene &scene, SampleStream &sampler, const Ray &ray,
                            const Mask &active) const = 0;
    /// Differentiates sample() with the random numbers of `sampler`, given what it returned for them: here, all of its
    /// arithmetic. In reverse mode, adds the derivatives of `gradient` times radiance to the gradients of all that is followed; in forward mode, returns
    /// the radiance's tangent.
    virtual Spectrum differentiate(ad::Mode mode, const Scene &scene, SampleStream sampler,
                                   const Ray &ray, const Radiance &primal, const Spectrum &gradient,
                                   const Mask &active) const;
    /// Channels beyond the colour.
    virtual std::vector<std::string> aov_names() const { return {}; }

    bool hide_emitters() const { return m_hide_emitters; }
    void set_hide_emitters(bool hide) { m_hide_emitters = hide; }

protected:
    bool m_hide_emitters = false;
};

} // namespace umbel
