// blendphase: between two phase functions, as a volume says: f = (1 - weight) f_0 + weight f_1.
#include "render/phase_mixture.h"
#include "render/volume.h"

namespace umbel {

class BlendPhase final : public PhaseMixture {
public:
    void declare(Params &p) override {
        p.example("<phase type='isotropic'/><phase type='hg'/>");
        p.example("<phase type='rayleigh'/><phase type='hg'><float name='g' value='-0.3'/></phase>"
                  "<volume type='gridvolume' name='weight'><string name='filename' "
                  "value='$files/grey.vol'/></volume>");
        p.volume("weight", m_weight, 0.5).doc("0 is the first phase function, 1 the second one");
        p.objects("phase", m_parts, 2).doc("The two");
    }
    void configure() override {
        if (m_parts.size() != 2)
            complain("blends two phase functions, and has {} inside", m_parts.size());
        PhaseMixture::configure();
    }
    bool area_varies_in_space() const override {
        return PhaseMixture::area_varies_in_space() ||
               (has(PhaseFunctionFlags::Microflake) && m_weight->is_spatially_varying());
    }

protected:
    std::vector<Float> weights(const MediumInteraction &mei, const Mask &active) const override {
        Float w = clamp(m_weight->eval_1(mei, active), 0, 1);
        return { 1 - w, w };
    }

private:
    Ref<Volume> m_weight;
};

UMBEL_PLUGIN(PhaseFunction, BlendPhase, "blendphase")
} // namespace umbel
