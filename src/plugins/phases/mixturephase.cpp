// mixturephase: a mixture of phase functions with constant weights: f = sum of weight_i f_i. What their sum lacks of 1 is absorbed.
//
// Weights are those of numbers of particles: flakes scatter by what they cover, and particles that absorb cover what the others do in
// the mean.
#include "core/host_array.h"
#include "render/mixture_weights.h"
#include "render/phase_mixture.h"
#include <numeric>

namespace umbel {

class MixturePhase final : public PhaseMixture {
public:
    void declare(Params &p) override {
        p.example("<string name='weights' value='0.5, 0.3, 0.2'/><phase type='rayleigh'/>"
                  "<phase type='hg'/><phase type='isotropic'/>");
        p.example("<string name='weights' value='0.5, 0.2'/><phase type='microflake'/>"
                  "<phase type='hg'/>");
        p.objects("phase", m_parts).doc("What is mixed");
        m_weights.declare(p, m_parts.size(), "phase function");
    }

    bool loses_energy() const override {
        return read_floats(Float(kept().detached()))[0] < 1 - 1e-6 || PhaseMixture::loses_energy();
    }

protected:
    std::vector<Float> weights(const MediumInteraction &, const Mask &) const override {
        Float sum = kept();
        std::vector<Float> out;
        for (const Float &w : m_weights.all())
            out.push_back(w / sum);
        return out;
    }
    Float kept() const override {
        const std::vector<Float> &all = m_weights.all();
        return std::accumulate(all.begin() + 1, all.end(), all[0]);
    }

private:
    MixtureWeights m_weights;
};

UMBEL_PLUGIN(PhaseFunction, MixturePhase, "mixturephase")
} // namespace umbel
