// coating: another BSDF under a smooth, clear or tinted dielectric layer, such as varnish.
//
//     f(wi, wo) = F(wi) delta(wo - reflected wi) + T(wi) T(wo) A f_inside(wi', wo') / eta^2      T = 1 - F
//     A = exp(-sigma_a thickness (1 / |cos(theta_i')| + 1 / |cos(theta_o')|))
//
// wi' and wo' are the directions refracted into the layer [Weidlich 2007]. What the layer reflects inwards is lost, so bright
// diffuse materials are darkened: `plastic` is for those. Both sides are coated; scattered light is unpolarized.
#include "render/coated_bsdf.h"

namespace umbel {

class Coating final : public CoatedBsdf {
public:
    void declare(Params &p) override {
        p.example("<bsdf type='roughconductor'><string name='material' value='Cu'/>"
                  "<float name='alpha' value='.2'/></bsdf>");
        p.example("<float name='int_ior' value='1.7'/><rgb name='sigma_a' value='.1,.4,1.2'/>"
                  "<float name='thickness' value='.7'/><float name='specular_reflectance' "
                  "value='.8'/><bsdf type='difftrans'/>");
        p.example("<bsdf type='mask'><bsdf type='conductor'><string name='material' value='Au'/>"
                  "</bsdf></bsdf>");
        CoatedBsdf::declare(p);
    }

protected:
    uint32_t surface_type() const override { return BSDFFlags::DeltaReflection; }
    Float transmittance(const SurfaceInteraction &, const Float &cosine,
                        const Mask &) const override {
        return 1 - fresnel(cosine, m_ior.eta).r;
    }
    Vector3 sample_surface(const SurfaceInteraction &, const Vector3 &wi, const Vector2 &,
                           const Mask &) const override {
        return reflect(wi);
    }
};

UMBEL_PLUGIN(BSDF, Coating, "coating")
} // namespace umbel
