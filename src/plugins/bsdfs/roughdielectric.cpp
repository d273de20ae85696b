// roughdielectric: a microscopically rough interface between two transparent materials, such as ground glass.
//
// Reflection and refraction at microfacets [Walter 2007]; h is the half vector of either.
#include "core/fresnel.h"
#include "render/bsdf.h"
#include "render/dielectric_ior.h"
#include "render/lobe_choice.h"
#include "render/microfacet.h"
#include "render/roughness.h"

namespace umbel {

class RoughDielectric final : public BSDF {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<string name='distribution' value='ggx'/><float name='alpha_u' value='.2'/>"
                  "<float name='alpha_v' value='.4'/>");
        p.example("<string name='distribution' value='as'/><float name='alpha' value='.25'/>");
        m_ior.declare(p, "bk7");
        declare_distribution(p, m_distribution);
        m_roughness.declare(p);
        p.boolean("sample_visible", m_visible, true)
            .doc("Sample only normals that are seen: less noise");
        p.texture("specular_reflectance", m_reflectance, 1)
            .differentiable()
            .doc("Multiplies what is reflected; 1 is physical");
        p.texture("specular_transmittance", m_transmittance, 1)
            .differentiable()
            .doc("Multiplies what is refracted; 1 is physical");
    }
    void configure() override {
        uint32_t sides = BSDFFlags::FrontSide | BSDFFlags::BackSide | m_roughness.flags();
        m_components = { BSDFFlags::GlossyReflection | sides,
                         BSDFFlags::GlossyTransmission | sides | BSDFFlags::NonSymmetric };
    }

    std::pair<Spectrum, Float> eval_pdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                        const Vector3 &wo, const Mask &active) const override {
        bool reflects = ctx.is_enabled(BSDFFlags::GlossyReflection, 0),
             transmits = ctx.is_enabled(BSDFFlags::GlossyTransmission, 1);
        Microfacet surface = microfacet(si, active);
        Float cos_i = si.wi.z, cos_o = wo.z;
        Mask reflected = cos_i * cos_o > 0;
        Float eta = select(cos_i > 0, m_ior.eta, rcp(m_ior.eta));
        Vector3 h = normalize(si.wi + wo * select(reflected, Float(1), eta));
        h = h * mulsign(Float(1), h.z);
        Float d = surface.eval(h), wi_h = dot(si.wi, h), wo_h = dot(wo, h);
        FresnelResult f = fresnel(wi_h, m_ior.eta);
        Float g = surface.g(si.wi, wo, h), denominator = sqr(wi_h + eta * wo_h);

        Float value_r = f.r * d * g / (4 * abs(cos_i));
        Float value_t = (1 - f.r) * d * g * sqr(eta) * abs(wi_h * wo_h / (cos_i * denominator));
        if (ctx.mode == BSDFContext::Mode::Radiance) // compressed into another solid angle
            value_t = value_t * sqr(rcp(eta));
        Spectrum value = select(reflected, m_reflectance->eval(si, active) * value_r,
                                m_transmittance->eval(si, active) * value_t);

        Vector3 wi_up = si.wi * mulsign(Float(1), cos_i);
        Float jacobian = select(reflected, rcp(4 * abs(wo_h)), sqr(eta) * abs(wo_h) / denominator);
        Float density = surface.pdf(wi_up, h) * jacobian;
        if (reflects && transmits)
            density = density * select(reflected, f.r, 1 - f.r);
        // Facets seen from behind do not exist
        Mask good = active & (cos_i != 0) & (cos_o != 0) & (wi_h * cos_i > 0) & (wo_h * cos_o > 0) &
                    (d > 0);
        if (!reflects)
            good = good & !reflected;
        if (!transmits)
            good = good & reflected;
        return { depolarize(select(good, value, Spectrum(0))), select(good, density, Float(0)) };
    }

    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &u1,
                      const Vector2 &u2, const Mask &active) const override {
        bool reflects = ctx.is_enabled(BSDFFlags::GlossyReflection, 0),
             transmits = ctx.is_enabled(BSDFFlags::GlossyTransmission, 1);
        if (!reflects && !transmits)
            return BSDFSample::none();
        Microfacet surface = microfacet(si, active);
        Vector3 wi_up = si.wi * mulsign(Float(1), si.wi.z);
        auto [m, m_pdf] = surface.sample(wi_up, u2);
        FresnelResult f = fresnel(dot(si.wi, m), m_ior.eta);
        Mask reflected = reflects && transmits ? u1 <= f.r : Mask(reflects);
        Vector3 wo =
            select(reflected, reflect(si.wi, m), refract(si.wi, m, f.cos_theta_t, f.eta_ti));
        Mask good =
            active & (m_pdf > 0) & (select(reflected, si.wi.z * wo.z, -(si.wi.z * wo.z)) > 0);

        good = good & (reflected | (f.cos_theta_t != 0)); // not under total reflection
        // Facets seen from behind do not exist
        Float wi_m = dot(si.wi, m), wo_m = dot(wo, m);
        good = good & (wi_m * si.wi.z > 0) & (wo_m * wo.z > 0);
        Float jacobian = select(reflected, rcp(4 * abs(wo_m)),
                                sqr(f.eta_it) * abs(wo_m) / sqr(wi_m + f.eta_it * wo_m));
        Float pdf = m_pdf * jacobian;
        Float weight = surface.visible() ? surface.smith_g1(wo, m)
                                         : surface.g(si.wi, wo, m) * abs(wi_m / (si.wi.z * m.z));
        if (reflects && transmits) {
            Float choice = select(reflected, f.r, 1 - f.r);
            pdf = pdf * choice;
            weight = weight * share_of_choice(choice);
        } else
            weight = weight * (reflects ? f.r : 1 - f.r);
        if (ctx.mode == BSDFContext::Mode::Radiance)
            weight = weight * select(reflected, Float(1), sqr(f.eta_ti));
        Spectrum value =
            select(reflected, m_reflectance->eval(si, active), m_transmittance->eval(si, active));
        return { wo,
                 select(good, pdf, Float(0)),
                 select(reflected, Float(1), f.eta_it),
                 select(reflected, UInt32(uint32_t(BSDFFlags::GlossyReflection)),
                        UInt32(uint32_t(BSDFFlags::GlossyTransmission))),
                 select(reflected, UInt32(0u), UInt32(1u)),
                 depolarize(select(good, value * weight, Spectrum(0))) };
    }

private:
    Microfacet microfacet(const SurfaceInteraction &si, const Mask &active) const {
        auto [u, v] = m_roughness.eval(si, active);
        return { microfacet_type(m_distribution), u, v, m_visible };
    }

    DielectricIor m_ior;
    std::string m_distribution;
    Roughness m_roughness;
    Ref<Texture> m_reflectance, m_transmittance;
    bool m_visible = true;
};

UMBEL_PLUGIN(BSDF, RoughDielectric, "roughdielectric")
} // namespace umbel
