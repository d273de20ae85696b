// mixturephase: a mixture of phase functions with constant weights. Weights are made to sum to 1: what is absorbed is the
// medium's business.
#include "render/mixture_weights.h"
#include "render/phase_mixture.h"
#include <numeric>

namespace umbel {

class MixturePhase final : public PhaseMixture {
public:
    void declare(Params &p) override {
        p.example("<string name='weights' value='0.5, 0.3, 0.2'/><phase type='rayleigh'/>"
                  "<phase type='hg'/><phase type='isotropic'/>");
        p.objects("phase", m_parts).doc("What is mixed");
        if (p.traversing()) {
            for (size_t i = 0; i < m_weights.size(); ++i)
                p.exposed(fmt::format("weight_{}", i).c_str(), &m_weights[i]).differentiable();
            return;
        }
        std::string text;
        p.string("weights", text, "")
            .doc("As many numbers, between commas; their sum is 1 at most");
        if (p.loading())
            m_weights = mixture_weights(text, m_parts.size(), "phase function", *p.properties());
    }

protected:
    std::vector<Float> weights(const MediumInteraction &, const Mask &) const override {
        Float sum = std::accumulate(m_weights.begin() + 1, m_weights.end(), m_weights[0]);
        std::vector<Float> out;
        for (const Float &w : m_weights)
            out.push_back(w / sum);
        return out;
    }

private:
    std::vector<Float> m_weights;
};

UMBEL_PLUGIN(PhaseFunction, MixturePhase, "mixturephase")
} // namespace umbel
