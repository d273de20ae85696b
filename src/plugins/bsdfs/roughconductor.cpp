// roughconductor: a metal with a microscopically rough surface.
//
//     f(wi, wo) = F(wi . h) D(h) G(wi, wo) / (4 cos(theta_i) cos(theta_o))      h = normalize(wi + wo)
//
// Microfacet theory [Walter 2007], sampled by visible normals [Heitz 2018]. Light between facets is not followed, so very rough
// surfaces lose some energy.
#include "core/fresnel.h"
#include "core/mueller.h"
#include "render/conductor_ior.h"
#include "render/microfacet.h"
#include "render/polarization.h"
#include "render/roughness.h"

namespace umbel {

class RoughConductor final : public BSDF {
public:
    void declare(Params &p) override {
        p.example("<string name='material' value='Au'/>");
        p.example(
            "<string name='material' value='Cu'/><string name='distribution' value='ggx'/><float "
            "name='alpha_u' value='.15'/>"
            "<float name='alpha_v' value='.4'/><boolean name='sample_visible' value='false'/>");
        p.example("<string name='material' value='Al'/><string name='distribution' "
                  "value='phong'/><float name='alpha_u' value='.15'/>"
                  "<float name='alpha_v' value='.3'/><string name='ext_eta' value='water'/>");
        m_ior.declare(p);
        declare_distribution(p, m_distribution);
        m_roughness.declare(p);
        p.boolean("sample_visible", m_visible, true)
            .doc("Sample only normals that are seen: less noise");
        p.texture("specular_reflectance", m_specular, 1)
            .differentiable()
            .doc("Multiplies what is reflected; 1 is physical");
    }
    void configure() override {
        m_components = { BSDFFlags::GlossyReflection | BSDFFlags::FrontSide | m_roughness.flags() };
    }

    std::pair<Spectrum, Float> eval_pdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                        const Vector3 &wo, const Mask &active) const override {
        if (!ctx.is_enabled(BSDFFlags::GlossyReflection))
            return { Spectrum(0), Float(0) };
        Mask good = active & (si.wi.z > 0) & (wo.z > 0);
        Microfacet surface = microfacet(si, active);
        Vector3 h = normalize(si.wi + wo);
        Float d = surface.eval(h);
        Float value = d * surface.g(si.wi, wo, h) / (4 * si.wi.z);
        Float density = surface.visible() ? d * surface.smith_g1(si.wi, h) / (4 * si.wi.z)
                                          : d * h.z / (4 * dot(wo, h));
        good = good & (d > 0);
        return { select(good, reflectance(ctx, si, wo, h, active) * value, Spectrum(0)),
                 select(good, density, Float(0)) };
    }

    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &,
                      const Vector2 &u, const Mask &active) const override {
        if (!ctx.is_enabled(BSDFFlags::GlossyReflection))
            return BSDFSample::none();
        Microfacet surface = microfacet(si, active);
        auto [m, m_pdf] = surface.sample(si.wi, u);
        Vector3 wo = reflect(si.wi, m);
        Mask good = active & (si.wi.z > 0) & (wo.z > 0) & (m_pdf > 0);
        Float weight = surface.visible()
                           ? surface.smith_g1(wo, m)
                           : surface.g(si.wi, wo, m) * dot(si.wi, m) / (si.wi.z * m.z);
        return {
            wo,         select(good, m_pdf / (4 * dot(wo, m)), Float(0)),
            Float(1),   UInt32(uint32_t(BSDFFlags::GlossyReflection)),
            UInt32(0u), select(good, reflectance(ctx, si, wo, m, active) * weight, Spectrum(0))
        };
    }

private:
    Microfacet microfacet(const SurfaceInteraction &si, const Mask &active) const {
        auto [u, v] = m_roughness.eval(si, active);
        return { microfacet_type(m_distribution), u, v, m_visible };
    }

    Spectrum reflectance(const BSDFContext &ctx, const SurfaceInteraction &si, const Vector3 &wo,
                         const Vector3 &h, const Mask &active) const {
        Spectrum eta = m_ior.eval_eta(si, active), k = m_ior.eval_k(si, active);
        Spectrum f =
            variant().polarized
                ? to_implied_basis(ctx, mueller::specular_reflection(dot(si.wi, h), eta, k), si.wi,
                                   wo, h)
                : fresnel_conductor(dot(si.wi, h), eta, k);
        return f * m_specular->eval(si, active);
    }

    ConductorIor m_ior;
    std::string m_distribution;
    Roughness m_roughness;
    Ref<Texture> m_specular;
    bool m_visible = true;
};

UMBEL_PLUGIN(BSDF, RoughConductor, "roughconductor")
} // namespace umbel
