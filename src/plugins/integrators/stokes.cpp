// stokes: the Stokes vector of light that reaches the camera, as further channels: S0 to S3 for each colour channel.
//
// In polarized variants only. Vectors refer to the horizontal axis of the image.
#include "core/mueller.h"
#include "render/further_colours.h"
#include "render/nesting_integrator.h"

namespace umbel {

class Stokes final : public NestingIntegrator {
public:
    void declare(Params &p) override {
        Integrator::declare(p);
        declare_one(p, "What computes the light; `path` if absent");
    }
    void configure() override {
        if (!variant().polarized)
            complain("needs a polarized variant, such as llvm_spectral_polarized; this is {}",
                     variant().name);
    }
    std::vector<std::string> aov_names() const override {
        std::vector<std::string> names = m_inner[0]->aov_names();
        for (int s = 0; s < 4; ++s)
            for (const std::string &c : further_colour_names())
                names.push_back(fmt::format("S{}.{}", s, c));
        return names;
    }

    Radiance sample(const Scene &scene, SampleStream &sampler, const Ray &ray, const Medium *medium,
                    const Mask &active) const override {
        Radiance r = m_inner[0]->sample(scene, sampler, ray, medium, active);
        // From the axis that the direction implies to the camera's: the horizontal one, made perpendicular to the ray
        Vector3 forward = -ray.d, up(0, 1, 0);
        Vector3 horizontal =
            cross(ray.d, scene.sensors().empty() ? up : scene.sensors()[0]->up(ray.time));
        Spectrum L =
            mueller::rotate_stokes_basis(forward, stokes_basis(forward), horizontal) * r.L.dense();
        for (int s = 0; s < 4; ++s)
            for (const Float &v : further_colours(L.entry(s, 0), ray.wavelengths))
                r.aovs.push_back(v);
        return r;
    }
};

UMBEL_PLUGIN(Integrator, Stokes, "stokes")
} // namespace umbel
