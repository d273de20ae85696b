// moment: the mean square of an image besides the image itself, from which follows its variance.
//
// Channels m2.R, m2.G, m2.B (mono: m2.Y) hold the mean of squared samples; a pixel's variance is m2 - mean^2, that of the mean
// of n samples an n-th of it. Further channels of the integrator inside get such companions, too.
#include "render/further_colours.h"
#include "render/integrator.h"

namespace umbel {

class Moment final : public Integrator {
public:
    void declare(Params &p) override {
        Integrator::declare(p);
        p.object("integrator", m_inner).doc("What computes the image; `path` if absent");
        if (p.loading() && !m_inner)
            m_inner =
                p.loader()->load_as<Integrator>(std::make_shared<Properties>("integrator", "path"));
        if (p.loading() && m_hide_emitters)
            m_inner->set_hide_emitters(true);
    }
    bool prepare(const Scene &scene, const Progress &progress) const override {
        return m_inner->make_ready(scene, progress);
    }
    bool repeats() const override { return m_inner->repeats(); }
    std::vector<std::string> aov_names() const override {
        std::vector<std::string> inner = m_inner->aov_names(), names = inner;
        for (char c : std::string(variant().colour == Colour::Mono ? "Y" : "RGB"))
            names.push_back(fmt::format("m2.{}", c));
        for (const std::string &name : inner)
            names.push_back("m2." + name);
        return names;
    }

    Radiance sample(const Scene &scene, SampleStream &sampler, const Ray &ray, const Medium *medium,
                    const Mask &active) const override {
        Radiance r = m_inner->sample(scene, sampler, ray, medium, active);
        std::vector<Float> inner = r.aovs;
        for (const Float &v : further_colours(r.L, ray.wavelengths))
            r.aovs.push_back(sqr(v));
        for (const Float &v : inner)
            r.aovs.push_back(sqr(v));
        return r;
    }

private:
    Ref<Integrator> m_inner;
};

UMBEL_PLUGIN(Integrator, Moment, "moment")
} // namespace umbel
