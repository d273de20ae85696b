// blendbsdf: between two BSDFs, as a texture says: f = (1 - weight) f_0 + weight f_1.
#include "render/bsdf_mixture.h"

namespace umbel {

class BlendBsdf final : public BsdfMixture {
public:
    void declare(Params &p) override {
        p.example("<bsdf type='diffuse'/><bsdf type='roughconductor'><string name='material' "
                  "value='Au'/></bsdf>");
        p.example("<bsdf type='dielectric'/><bsdf type='roughdielectric'/><texture type='bitmap' "
                  "name='weight'><string name='filename' value='$files/image.png'/><boolean "
                  "name='raw' value='true'/></texture>");
        p.texture("weight", m_weight, 0.5)
            .differentiable()
            .doc("0 is the first BSDF, 1 the second one");
        p.objects("bsdf", m_parts, 2).doc("The two");
    }
    void configure() override {
        if (m_parts.size() != 2)
            complain("blends two BSDFs, and has {} inside", m_parts.size());
        BsdfMixture::configure();
    }

protected:
    std::vector<Float> weights(const SurfaceInteraction &si, const Mask &active) const override {
        Float w = clamp(m_weight->eval_1(si, active), 0, 1);
        return { 1 - w, w };
    }

private:
    Ref<Texture> m_weight;
};

UMBEL_PLUGIN(BSDF, BlendBsdf, "blendbsdf")
} // namespace umbel
