// mixturebsdf: a sum of BSDFs with constant weights. Weights that sum to less than 1 absorb the rest.
#include "render/bsdf_mixture.h"
#include "render/mixture_weights.h"

namespace umbel {

class MixtureBsdf final : public BsdfMixture {
public:
    void declare(Params &p) override {
        p.example("<string name='weights' value='0.7, 0.3'/><bsdf type='dielectric'/>"
                  "<bsdf type='roughdielectric'/>");
        p.example("<string name='weights' value='0.6, 0.3'/><bsdf type='diffuse'/>"
                  "<bsdf type='roughdielectric'><float name='alpha' value='.05'/></bsdf>");
        p.example("<string name='weights' value='.25 .125 .5'/><bsdf type='diffuse'/>"
                  "<bsdf type='roughconductor'><string name='material' value='Au'/></bsdf>"
                  "<bsdf type='conductor'><string name='material' value='Cu'/></bsdf>");
        p.objects("bsdf", m_parts).doc("What is mixed");
        m_weights.declare(p, m_parts.size(), "BSDF");
    }

protected:
    std::vector<Float> weights(const SurfaceInteraction &, const Mask &) const override {
        return m_weights.all();
    }

private:
    MixtureWeights m_weights;
};

UMBEL_PLUGIN(BSDF, MixtureBsdf, "mixturebsdf")
} // namespace umbel
