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
        m_weights.declare(p, m_parts.size(), "phase function");
    }

protected:
    std::vector<Float> weights(const MediumInteraction &, const Mask &) const override {
        const std::vector<Float> &all = m_weights.all();
        Float sum = std::accumulate(all.begin() + 1, all.end(), all[0]);
        std::vector<Float> out;
        for (const Float &w : all)
            out.push_back(w / sum);
        return out;
    }

private:
    MixtureWeights m_weights;
};

UMBEL_PLUGIN(PhaseFunction, MixturePhase, "mixturephase")
} // namespace umbel
