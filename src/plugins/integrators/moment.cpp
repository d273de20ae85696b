// moment: the mean square of an image besides the image itself, from which follows its variance.
//
// Channels m2.R, m2.G, m2.B (mono: m2.Y) hold the mean of squared samples; a pixel's variance is m2 - mean^2, that of the mean
// of n samples an n-th of it. Further channels of the integrator inside get such companions, too.
#include "render/further_colours.h"
#include "render/nesting_integrator.h"

namespace umbel {

class Moment final : public NestingIntegrator {
public:
    void declare(Params &p) override {
        Integrator::declare(p);
        declare_one(p, "What computes the image; `path` if absent");
    }
    std::vector<std::string> aov_names() const override {
        std::vector<std::string> inner = m_inner[0]->aov_names(), names = inner;
        for (const std::string &c : further_colour_names())
            names.push_back("m2." + c);
        for (const std::string &name : inner)
            names.push_back("m2." + name);
        return names;
    }

protected:
    Radiance combined(const std::vector<Radiance> &inside, const Ray &ray) const override {
        Radiance r = NestingIntegrator::combined(inside, ray);
        std::vector<Float> inner = r.aovs;
        for (const Float &v : further_colours(r.L, ray.wavelengths))
            r.aovs.push_back(sqr(v));
        for (const Float &v : inner)
            r.aovs.push_back(sqr(v));
        return r;
    }
    bool shows_first() const override { return false; }
};

UMBEL_PLUGIN(Integrator, Moment, "moment")
} // namespace umbel
