// pplastic: plastic that polarizes light: a rough highlight, and a diffuse part that light enters and leaves by refraction.
//
//     f(wi, wo) = F(wi . h) D(h) G(wi, wo) / (4 cos(theta_i) cos(theta_o))      h = normalize(wi + wo)
//               + (1 - F(wi)) rho (1 - F(wo)) / pi
//
// What leaves the diffuse part is polarized in the plane of incidence, and the highlight across that of reflection. A highlight is
// never brighter than what both refractions lose.
#include "core/fresnel.h"
#include "core/mueller.h"
#include "core/warp.h"
#include "render/dielectric_ior.h"
#include "render/lobe_choice.h"
#include "render/microfacet.h"
#include "render/polarization.h"
#include "render/roughness.h"

namespace umbel {

class PolarizedPlastic final : public BSDF {
public:
    void declare(Params &p) override {
        p.example("<rgb name='diffuse_reflectance' value='.1,.3,.1'/>");
        p.example("<string name='distribution' value='ggx'/><float name='alpha_u' value='.2'/>"
                  "<float name='alpha_v' value='.4'/><float name='int_ior' value='1.7'/>"
                  "<rgb name='diffuse_reflectance' value='.6,.3,.1'/><float "
                  "name='specular_reflectance' value='.8'/>"
                  "<boolean name='sample_visible' value='false'/>");
        p.example("<float name='eta' value='1.6'/><texture type='bitmap' name='alpha'><string "
                  "name='filename' value='$files/image.png'/><boolean name='raw' value='true'/>"
                  "</texture>");
        declare_index(p);
        p.choice("distribution", m_distribution, "beckmann", { "beckmann", "ggx" })
            .doc("Shape of the distribution of microscopic normals");
        m_roughness.declare(p);
        p.boolean("sample_visible", m_visible, true)
            .doc("Sample only normals that are seen: less noise");
        p.texture("diffuse_reflectance", m_diffuse, 0.5)
            .differentiable()
            .doc("Reflectance of the diffuse part");
        p.texture("specular_reflectance", m_specular, 1)
            .differentiable()
            .doc("Multiplies the highlight; 1 is physical");
    }
    void configure() override {
        m_components = { BSDFFlags::GlossyReflection | BSDFFlags::FrontSide | m_roughness.flags(),
                         BSDFFlags::DiffuseReflection | BSDFFlags::FrontSide };
        m_share = mean_share(*m_specular, *m_diffuse);
    }
    void child_changed() override { configure(); }

    std::pair<Spectrum, Float> eval_pdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                        const Vector3 &wo, const Mask &active) const override {
        LobeChoice lobes(ctx, BSDFFlags::GlossyReflection);
        if (lobes.none())
            return { Spectrum(0), Float(0) };
        lobes.weigh(m_share, 1 - m_share);
        Microfacet surface = microfacet(si, active);
        Vector3 h = normalize(si.wi + wo);
        Float d = surface.eval(h), pdf = InvPi * wo.z * (1 - lobes.probability);
        Spectrum value = Spectrum(0).dense();
        if (lobes.gloss) {
            value += highlight(ctx, si, wo, h, active) * m_specular->eval(si, active) *
                     (d * surface.g(si.wi, wo, h) / (4 * si.wi.z));
            pdf += lobes.probability * (m_visible ? d * surface.smith_g1(si.wi, h) / (4 * si.wi.z)
                                                  : d * h.z / (4 * dot(wo, h)));
        }
        if (lobes.base)
            value += base(ctx, si, wo, active) * (InvPi * wo.z);
        Mask good = active & (si.wi.z > 0) & (wo.z > 0);
        return { select(good, value, Spectrum(0)), select(good, pdf, Float(0)) };
    }

    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &u1,
                      const Vector2 &u2, const Mask &active) const override {
        LobeChoice lobes(ctx, BSDFFlags::GlossyReflection);
        if (lobes.none())
            return BSDFSample::none();
        lobes.weigh(m_share, 1 - m_share);
        Mask glossy = u1 < lobes.probability;
        Vector3 m = microfacet(si, active).sample(si.wi, u2).first;
        Vector3 wo = select(glossy, reflect(si.wi, m), square_to_cosine_hemisphere(u2));
        auto [value, pdf] = eval_pdf(ctx, si, wo, active);
        Mask good = active & (pdf > 0);
        BSDFSample s =
            lobes.sampled(glossy, BSDFFlags::GlossyReflection, good, wo, pdf, Spectrum(0));
        s.weight = select(good, value / select(good, pdf, Float(1)), Spectrum(0));
        return s;
    }

    Spectrum eval_diffuse_reflectance(const SurfaceInteraction &si,
                                      const Mask &active) const override {
        return m_diffuse->eval(si, active);
    }

private:
    // Relative to what is outside: given as such, or by both.
    void declare_index(Params &p) {
        if (!p.traversing())
            m_ior.declare(p, "polypropylene");
        p.unbounded_texture("eta", m_eta)
            .differentiable()
            .doc("Index of refraction inside over that outside, in place of int_ior and ext_ior");
        if (!p.loading())
            return;
        const Properties &q = *p.properties();
        if (m_eta && (q.has("int_ior") || q.has("ext_ior")))
            fail("{}: give either eta, or int_ior and ext_ior, not both", q.describe());
        if (!m_eta)
            m_eta = std::dynamic_pointer_cast<Texture>(p.loader()->load_spectrum(
                SpectrumData::uniform(m_ior.interior / m_ior.exterior), q));
    }
    Microfacet microfacet(const SurfaceInteraction &si, const Mask &active) const {
        auto [u, v] = m_roughness.eval(si, active);
        return { microfacet_type(m_distribution), u, v, m_visible };
    }
    // What a facet reflects.
    Spectrum highlight(const BSDFContext &ctx, const SurfaceInteraction &si, const Vector3 &wo,
                       const Vector3 &h, const Mask &active) const {
        Float cosine = dot(si.wi, h), eta = m_eta->eval_1(si, active);
        if (!variant().polarized)
            return Spectrum(fresnel(cosine, eta).r);
        return to_implied_basis(
            ctx, mueller::specular_reflection(cosine, Spectrum(eta), Spectrum(0)), si.wi, wo, h);
    }
    // Into the material, around in it until nothing is polarized, and out again.
    Spectrum base(const BSDFContext &ctx, const SurfaceInteraction &si, const Vector3 &wo,
                  const Mask &active) const {
        Spectrum rho = m_diffuse->eval(si, active);
        Float eta = m_eta->eval_1(si, active);
        if (!variant().polarized)
            return rho * ((1 - fresnel(si.wi.z, eta).r) * (1 - fresnel(wo.z, eta).r));
        bool radiance = ctx.mode == BSDFContext::Mode::Radiance;
        const Vector3 &in = radiance ? wo : si.wi, &out = radiance ? si.wi : wo;
        Float inside = abs(fresnel(out.z, eta).cos_theta_t);
        Spectrum m = mueller::specular_transmission(inside, Spectrum(rcp(eta))) *
                     (depolarize(rho) * mueller::specular_transmission(in.z, Spectrum(eta)));
        return to_implied_basis(ctx, m, si.wi, wo, Vector3(0, 0, 1));
    }

    DielectricIor m_ior;
    std::string m_distribution;
    Roughness m_roughness;
    Ref<Texture> m_eta, m_diffuse, m_specular;
    bool m_visible = true;
    Float m_share; // of the highlight, where lobes are chosen
};

UMBEL_PLUGIN(BSDF, PolarizedPlastic, "pplastic")
} // namespace umbel
