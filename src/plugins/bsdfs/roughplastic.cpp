// roughplastic: a diffuse base below a rough dielectric coating.
//
//     f(wi, wo) = F(wi . h) D(h) G(wi, wo) / (4 cos(theta_i) cos(theta_o))
//               + rho / (1 - k r) T(wi) T(wo) / (pi eta^2)                        h = normalize(wi + wo)
//
// T is the part of light that the coating lets through, all directions together, and r what it throws back of diffuse light
// from below; k is rho with `nonlinear`, and else 1: see `plastic`. Both are integrated once, on the host, of a textured
// roughness for 32 of them.
#include "core/fresnel.h"
#include "core/warp.h"
#include "render/dielectric_ior.h"
#include "render/lobe_choice.h"
#include "render/rough_coating.h"

namespace umbel {

class RoughPlastic final : public BSDF {
public:
    void declare(Params &p) override {
        p.example("<rgb name='diffuse_reflectance' value='.5,.15,.1'/>");
        p.example("<boolean name='nonlinear' value='true'/><string name='distribution' "
                  "value='ggx'/><float name='alpha' value='.3'/><float name='int_ior' value='1.6'/>"
                  "<float name='specular_reflectance' value='.8'/>"
                  "<boolean name='sample_visible' value='false'/>"
                  "<texture type='bitmap' name='diffuse_reflectance'>"
                  "<string name='filename' value='$files/image.png'/></texture>");
        p.example("<string name='distribution' value='phong'/><float name='alpha' value='.2'/>");
        p.example("<texture type='bitmap' name='alpha'><string name='filename' "
                  "value='$files/image.png'/><boolean name='raw' value='true'/></texture>");
        m_ior.declare(p, "polypropylene");
        m_roughness.declare(p);
        p.texture("diffuse_reflectance", m_diffuse, 0.5)
            .differentiable()
            .doc("Reflectance of the base");
        p.texture("specular_reflectance", m_specular, 1)
            .differentiable()
            .doc("Multiplies what the coating reflects; 1 is physical");
        p.boolean("nonlinear", m_nonlinear, false)
            .doc("Colours grow more saturated as light is reflected between coating and base");
    }
    void configure() override {
        m_components = { BSDFFlags::GlossyReflection | BSDFFlags::FrontSide,
                         BSDFFlags::DiffuseReflection | BSDFFlags::FrontSide };
        m_roughness.configure(m_ior.eta);
        child_changed();
    }
    void child_changed() override {
        m_share = mean_share(*m_specular, *m_diffuse);
        if (m_roughness.is_outgrown())
            m_roughness.configure(m_ior.eta);
    }

    std::pair<Spectrum, Float> eval_pdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                        const Vector3 &wo, const Mask &active) const override {
        LobeChoice lobes(ctx, BSDFFlags::GlossyReflection);
        if (lobes.none())
            return { Spectrum(0), Float(0) };
        Float t_i = m_roughness.transmittance(si, si.wi.z, active);
        lobes.weigh((1 - t_i) * m_share, t_i * (1 - m_share));
        Mask good = active & (si.wi.z > 0) & (wo.z > 0);
        return { depolarize(select(good, value(lobes, si, wo, t_i, active), Spectrum(0))),
                 select(good, density(lobes, si, wo, active), Float(0)) };
    }

    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &u1,
                      const Vector2 &u2, const Mask &active) const override {
        LobeChoice lobes(ctx, BSDFFlags::GlossyReflection);
        if (lobes.none())
            return BSDFSample::none();
        Float t_i = m_roughness.transmittance(si, si.wi.z, active);
        lobes.weigh((1 - t_i) * m_share, t_i * (1 - m_share));
        Mask glossy = u1 < lobes.probability;
        Vector3 m = m_roughness.surface(si, active).sample(si.wi, u2).first;
        Vector3 wo = select(glossy, reflect(si.wi, m), square_to_cosine_hemisphere(u2));
        Float pdf = density(lobes, si, wo, active);
        Mask good = active & (si.wi.z > 0) & (wo.z > 0) & (pdf > 0);
        return lobes.sampled(glossy, BSDFFlags::GlossyReflection, good, wo, pdf,
                             value(lobes, si, wo, t_i, active) / select(good, pdf, Float(1)));
    }

    Spectrum eval_diffuse_reflectance(const SurfaceInteraction &si,
                                      const Mask &active) const override {
        return m_diffuse->eval(si, active);
    }

private:
    // f cos(theta_o), both directions above the surface.
    Spectrum value(const LobeChoice &lobes, const SurfaceInteraction &si, const Vector3 &wo,
                   const Float &t_i, const Mask &active) const {
        Spectrum sum(0);
        if (lobes.gloss) {
            Microfacet surface = m_roughness.surface(si, active);
            Vector3 h = normalize(si.wi + wo);
            Float f = fresnel(dot(si.wi, h), m_ior.eta).r;
            sum += m_specular->eval(si, active) *
                   (f * surface.eval(h) * surface.g(si.wi, wo, h) / (4 * si.wi.z));
        }
        if (lobes.base) {
            Float back = m_roughness.reflectance_inside(si, active);
            Spectrum rho = map(m_diffuse->eval(si, active), [&](const Float &v) {
                return v / (1 - (m_nonlinear ? v * back : back));
            });
            Float t_o = m_roughness.transmittance(si, wo.z, active);
            sum += rho * (t_i * t_o * InvPi * wo.z / sqr(m_ior.eta));
        }
        return sum;
    }
    Float density(const LobeChoice &lobes, const SurfaceInteraction &si, const Vector3 &wo,
                  const Mask &active) const {
        Microfacet surface = m_roughness.surface(si, active);
        Vector3 h = normalize(si.wi + wo);
        Float gloss = surface.visible()
                          ? surface.eval(h) * surface.smith_g1(si.wi, h) / (4 * si.wi.z)
                          : surface.pdf(si.wi, h) / (4 * dot(wo, h));
        return lobes.probability * gloss + (1 - lobes.probability) * InvPi * wo.z;
    }

    DielectricIor m_ior;
    CoatingRoughness m_roughness;
    Ref<Texture> m_diffuse, m_specular;
    bool m_nonlinear = false;
    Float m_share; // of the coating, where lobes are chosen
};

UMBEL_PLUGIN(BSDF, RoughPlastic, "roughplastic")
} // namespace umbel
