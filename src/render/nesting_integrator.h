// render/nesting_integrator.h: integrators that others are inside of, which are asked about the same rays.
//
// What is made of their answers is arithmetic (`combined`). Derivatives go through that, and from there to each of those inside,
// which differentiates itself: with the random numbers that it began with, and what it has kept.
#pragma once
#include "render/integrator.h"

namespace umbel {

class NestingIntegrator : public Integrator {
public:
    bool prepare(const Scene &scene, const Progress &progress) const override;
    bool repeats() const override;
    /// Of those inside, too.
    void set_hide_emitters(bool hide) override;
    /// Channels of the first, as if it were alone; then name.R, name.G and name.B (mono: name.Y) of each of the others, and name.*
    /// of channels of its own.
    std::vector<std::string> aov_names() const override;

    Radiance sample(const Scene &scene, SampleStream &sampler, const Ray &ray, const Medium *medium,
                    const Mask &active) const override;
    RadianceDerivative differentiate(ad::Mode mode, const Scene &scene, SampleStream sampler,
                                     const Ray &ray, const Medium *medium, const Radiance &primal,
                                     const RadianceDerivative &gradient,
                                     const Mask &active) const override;
    const Integrator *ignores_camera() const override;
    /// What comes into sight, by the first; UserError where another one knows of that, or where the image is not the first's.
    Float boundary(const BoundaryPass &pass) const override;
    bool has_boundary() const override;
    int continuous_samples(int spp) const override;

protected:
    /// Any number of integrators, each with a name: that of the scene, else image, image2, image3 and so on.
    void declare_several(Params &p, const char *doc);
    /// One, `path` if absent.
    void declare_one(Params &p, const char *doc);
    /// The image and the channels, of what those inside saw along a ray: here, in the order of aov_names().
    virtual Radiance combined(const std::vector<Radiance> &inside, const Ray &ray) const;
    /// Whether the image is that of the first, and nothing else depends on that.
    virtual bool shows_first() const { return true; }

    std::vector<Ref<Integrator>> m_inner;
    std::vector<std::string> m_inner_names; // where there may be several

private:
    void hide_inside();
};

} // namespace umbel
