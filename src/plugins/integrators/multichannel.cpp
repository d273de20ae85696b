// multichannel: several integrators that are asked about the same rays.
//
// The first one gives the colours of the image, as if it were alone; the others give further channels: name.R, name.G and name.B
// (mono: name.Y) of their colours, and name.* of channels of their own. Names are those that the scene gives to the
// integrators; without one, the first is image, the second image2 and so on.
#include "render/further_colours.h"
#include "render/integrator.h"
#include <algorithm>
#include <set>

namespace umbel {

class MultiChannel final : public Integrator {
public:
    void declare(Params &p) override {
        p.example("<integrator type='path'/><integrator type='ao' name='open'/><integrator "
                  "type='aov'><string name='aovs' value='d:depth'/></integrator>");
        Integrator::declare(p);
        p.objects("integrator", m_inner).doc("Those that compute the channels");
        if (!p.loading())
            return;
        m_names.clear();
        for (const Property &q : p.properties()->all())
            if (q.object() && (*q.object())->kind == Kind)
                m_names.push_back(q.name);
        m_names.resize(m_inner.size());
        for (size_t i = 0; i < m_inner.size(); ++i) {
            if (m_names[i].empty())
                m_names[i] = i == 0 ? "image" : fmt::format("image{}", i + 1);
            if (m_hide_emitters)
                m_inner[i]->set_hide_emitters(true);
        }
    }
    void configure() override {
        if (m_inner.empty())
            complain("has no integrators; put at least one inside");
        std::set<std::string> names(m_names.begin(), m_names.end());
        if (names.size() != m_names.size())
            complain("two of its integrators have the same name");
        for (const Ref<Integrator> &i : m_inner)
            if (i->splats())
                i->complain("follows light from its source, and so cannot be part of "
                            "`multichannel`, where all are asked about the camera's rays");
    }
    bool prepare(const Scene &scene, const Progress &progress) const override {
        for (const Ref<Integrator> &i : m_inner)
            if (!i->make_ready(scene, progress))
                return false;
        return true;
    }
    bool repeats() const override {
        return std::all_of(m_inner.begin(), m_inner.end(),
                           [](const Ref<Integrator> &i) { return i->repeats(); });
    }
    std::vector<std::string> aov_names() const override {
        std::vector<std::string> names;
        for (size_t i = 0; i < m_inner.size(); ++i) {
            if (i > 0)
                for (char c : std::string(variant().colour == Colour::Mono ? "Y" : "RGB"))
                    names.push_back(fmt::format("{}.{}", m_names[i], c));
            for (const std::string &name : m_inner[i]->aov_names())
                names.push_back(i == 0 ? name : m_names[i] + "." + name);
        }
        return names;
    }

    Radiance sample(const Scene &scene, SampleStream &sampler, const Ray &ray, const Medium *medium,
                    const Mask &active) const override {
        Radiance out;
        for (size_t i = 0; i < m_inner.size(); ++i) {
            Radiance r = m_inner[i]->sample(scene, sampler, ray, medium, active);
            if (i == 0) {
                out = r;
                continue;
            }
            for (const Float &v : further_colours(r.L, ray.wavelengths))
                out.aovs.push_back(v);
            out.aovs.insert(out.aovs.end(), r.aovs.begin(), r.aovs.end());
        }
        out.replay.clear();
        return out;
    }

private:
    std::vector<Ref<Integrator>> m_inner;
    std::vector<std::string> m_names;
};

UMBEL_PLUGIN(Integrator, MultiChannel, "multichannel")
} // namespace umbel
