// stokes: the Stokes vector of light that reaches the camera, as further channels: S0 to S3 for each colour channel.
//
// In polarized variants only. Vectors refer to the horizontal axis of the image.
#include "core/mueller.h"
#include "core/spectra.h"
#include "render/integrator.h"

namespace umbel {

class Stokes final : public Integrator {
public:
    void declare(Params &p) override {
        Integrator::declare(p);
        p.object("integrator", m_inner).doc("What computes the light; `path` if absent");
        if (p.loading() && !m_inner)
            m_inner =
                p.loader()->load_as<Integrator>(std::make_shared<Properties>("integrator", "path"));
        if (p.loading() && m_hide_emitters)
            m_inner->set_hide_emitters(true);
    }
    void configure() override {
        if (!variant().polarized)
            complain("needs a polarized variant, such as llvm_spectral_polarized; this is {}",
                     variant().name);
    }
    bool prepare(const Scene &scene, const Progress &progress) const override {
        return m_inner->make_ready(scene, progress);
    }
    bool repeats() const override { return m_inner->repeats(); }
    std::vector<std::string> aov_names() const override {
        std::vector<std::string> names = m_inner->aov_names();
        for (int s = 0; s < 4; ++s)
            for (char c : std::string(variant().colour == Colour::Mono ? "Y" : "RGB"))
                names.push_back(fmt::format("S{}.{}", s, c));
        return names;
    }

    Radiance sample(const Scene &scene, SampleStream &sampler, const Ray &ray, const Medium *medium,
                    const Mask &active) const override {
        Radiance r = m_inner->sample(scene, sampler, ray, medium, active);
        // From the axis that the direction implies to the camera's: the horizontal one, made perpendicular to the ray
        Vector3 forward = -ray.d, up(0, 1, 0);
        Vector3 horizontal =
            cross(ray.d, scene.sensors().empty() ? up : scene.sensors()[0]->up(ray.time));
        Spectrum L =
            mueller::rotate_stokes_basis(forward, stokes_basis(forward), horizontal) * r.L.dense();
        if (variant().colour == Colour::Spectral) // further channels are not weighted by the driver
            L = L *
                map(ray.wavelengths, [](const Float &w) { return rcp(sample_wavelength_pdf(w)); });
        for (int s = 0; s < 4; ++s)
            for (const Float &v : to_rgb(L.entry(s, 0), ray.wavelengths))
                r.aovs.push_back(v);
        return r;
    }

private:
    Ref<Integrator> m_inner;
};

UMBEL_PLUGIN(Integrator, Stokes, "stokes")
} // namespace umbel
