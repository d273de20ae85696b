// roughcoating: another BSDF under a rough, clear or tinted dielectric layer.
//
//     f(wi, wo) = F(wi . h) D(h) G(wi, wo) / (4 |cos(theta_i) cos(theta_o)|) + T(wi) T(wo) A f_inside(wi', wo') / eta^2
//
// T is the part of light that the rough surface lets through, all directions together, as of `roughplastic`. What is inside is
// lit and seen as through a smooth layer: see `coating`, also for A and what is lost.
#include "render/coated_bsdf.h"
#include "render/rough_coating.h"

namespace umbel {

class RoughCoatingBsdf final : public CoatedBsdf {
public:
    void declare(Params &p) override {
        p.example("<bsdf type='roughconductor'><string name='material' value='Al'/>"
                  "<float name='alpha' value='.3'/></bsdf>");
        p.example("<string name='distribution' value='ggx'/><float name='alpha' value='.25'/>"
                  "<float name='int_ior' value='1.6'/><rgb name='sigma_a' value='.3,.1,.5'/>"
                  "<float name='thickness' value='.5'/><bsdf type='diffuse'/>");
        p.example("<string name='distribution' value='phong'/><float name='alpha' value='.2'/>"
                  "<boolean name='sample_visible' value='false'/><float "
                  "name='specular_reflectance' value='.7'/><bsdf type='difftrans'/>");
        p.example("<texture type='bitmap' name='alpha'><string name='filename' "
                  "value='$files/image.png'/><boolean name='raw' value='true'/></texture>"
                  "<bsdf type='diffuse'/>");
        m_roughness.declare(p);
        CoatedBsdf::declare(p);
    }
    void configure() override {
        m_roughness.configure(m_ior.eta);
        CoatedBsdf::configure();
    }
    void child_changed() override {
        if (m_roughness.is_outgrown())
            m_roughness.configure(m_ior.eta);
        CoatedBsdf::configure();
    }

protected:
    uint32_t surface_type() const override { return BSDFFlags::GlossyReflection; }
    Float transmittance(const SurfaceInteraction &si, const Float &cosine,
                        const Mask &active) const override {
        return m_roughness.transmittance(si, cosine, active);
    }
    std::pair<Float, Float> eval_surface(const SurfaceInteraction &si, const Vector3 &wi,
                                         const Vector3 &wo, const Mask &active) const override {
        Microfacet surface = m_roughness.surface(si, active);
        Vector3 h = normalize(wi + wo);
        Float d = surface.eval(h), f = fresnel(dot(wi, h), m_ior.eta).r;
        return { f * d * surface.g(wi, wo, h) / (4 * wi.z),
                 surface.visible() ? d * surface.smith_g1(wi, h) / (4 * wi.z)
                                   : d * h.z / (4 * dot(wo, h)) };
    }
    Vector3 sample_surface(const SurfaceInteraction &si, const Vector3 &wi, const Vector2 &u,
                           const Mask &active) const override {
        return reflect(wi, m_roughness.surface(si, active).sample(wi, u).first);
    }

private:
    CoatingRoughness m_roughness;
};

UMBEL_PLUGIN(BSDF, RoughCoatingBsdf, "roughcoating")
} // namespace umbel
