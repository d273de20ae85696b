// multichannel: several integrators that are asked about the same rays.
//
// The first one gives the colours of the image, as if it were alone; the others give further channels: name.R, name.G and name.B
// (mono: name.Y) of their colours, and name.* of channels of their own. Names are those that the scene gives to the
// integrators; without one, the first is image, the second image2 and so on.
#include "render/nesting_integrator.h"
#include <set>

namespace umbel {

class MultiChannel final : public NestingIntegrator {
public:
    void declare(Params &p) override {
        p.example("<integrator type='path'/><integrator type='ao' name='open'/><integrator "
                  "type='aov'><string name='aovs' value='d:depth'/></integrator>");
        Integrator::declare(p);
        declare_several(p, "Those that compute the channels");
    }
    void configure() override {
        if (m_inner.empty())
            complain("has no integrators; put at least one inside");
        std::set<std::string> names(m_inner_names.begin(), m_inner_names.end());
        if (names.size() != m_inner_names.size())
            complain("two of its integrators have the same name");
        for (const Ref<Integrator> &i : m_inner)
            if (i->splats())
                i->complain("follows light from its source, and so cannot be part of "
                            "`multichannel`, where all are asked about the camera's rays");
    }
};

UMBEL_PLUGIN(Integrator, MultiChannel, "multichannel")
} // namespace umbel
