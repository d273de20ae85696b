// principledthin: Disney's material for thin sheets, such as leaves, paper and panes: light that passes is not bent
// [Burley 2015].
//
//     component            value                                                       wo' = wo, mirrored to the side of wi
//     diffuse              (1 - spec_trans) (1 - diff_trans / 2) (diffuse + sheen)      h = normalize(wi + wo')
//     diffuse, through     (1 - spec_trans) diff_trans / 2 base_color / pi
//     highlight, through   spec_trans base_color (1 - F) D' G' / (4 cos(theta_i) cos(theta_o))    D': narrower than D
//     highlight            spec_trans F D G / (4 cos(theta_i) cos(theta_o))
//
// Both sides are alike. Light that passes along a facet that faces away from wo itself is left out, as in Mitsuba; that is not
// symmetric in wi and wo.
#include "core/fresnel.h"
#include "core/warp.h"
#include "render/principled.h"

namespace umbel {

class PrincipledThin final : public PrincipledBase {
public:
    void declare(Params &p) override {
        p.example("<rgb name='base_color' value='.7,.4,.2'/><float name='roughness' value='.6'/>"
                  "<float name='anisotropic' value='.5'/><float name='spec_tint' value='.4'/>"
                  "<float name='spec_trans' value='.6'/><float name='diff_trans' value='.7'/>"
                  "<float name='sheen' value='.3'/><float name='sheen_tint' value='.5'/>"
                  "<float name='flatness' value='.3'/><float name='eta' value='1.4'/>"
                  "<float name='diffuse_transmittance_sampling_rate' value='2'/>");
        declare_base(p);
        m_diff_trans.declare(p, "diff_trans",
                             "Diffuse light: 0 is all reflected, 2 is all let through", 2);
        check_number(p, "eta", 1e-3, 1e3);
        p.texture("eta", m_eta, 1.5).differentiable().doc("Index of refraction of the sheet");
        p.scalar("diffuse_reflectance_sampling_rate", m_rates[0], 1, 0)
            .doc("How often diffuse reflection is sampled, relative to the others");
        p.scalar("diffuse_transmittance_sampling_rate", m_rates[1], 1, 0)
            .doc("How often diffuse transmission is sampled");
        p.scalar("specular_transmittance_sampling_rate", m_rates[2], 1, 0)
            .doc("How often the highlight of what passes is sampled");
        p.scalar("specular_reflectance_sampling_rate", m_rates[3], 1, 0)
            .doc("How often the highlight is sampled");
    }
    void configure() override {
        using namespace BSDFFlags;
        uint32_t sides = FrontSide | BackSide,
                 turned = m_anisotropic.present ? uint32_t(Anisotropic) : 0u;
        m_components = { DiffuseReflection | sides, DiffuseTransmission | sides };
        if (m_spec_trans.present)
            m_components.push_back(GlossyTransmission | sides | NonSymmetric | turned);
        m_components.push_back(GlossyReflection | sides | turned);
    }

    std::pair<Spectrum, Float> eval_pdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                        const Vector3 &wo, const Mask &active) const override {
        Lobes lobes = wanted(ctx);
        Float spec_trans = m_spec_trans.eval(si, active),
              through = 0.5 * m_diff_trans.eval(si, active), base_part = 1 - spec_trans;
        Probabilities p = probabilities(lobes, spec_trans, through);
        Spectrum base = m_base_color->eval(si, active), value(0);
        Float pdf(0), cos_i = abs(si.wi.z), cos_o = abs(wo.z);
        Mask reflected = si.wi.z * wo.z > 0;
        Vector3 wi = si.wi * mulsign(Float(1), si.wi.z);
        Vector3 mirrored = wo * mulsign(Float(1), si.wi.z);
        mirrored.z = cos_o;
        Vector3 h = normalize(wi + mirrored);
        Float wi_h = dot(wi, h), jacobian = rcp(4 * abs(dot(mirrored, h)));

        if (lobes[DiffuseR]) {
            Float cos_d = dot(mirrored, h);
            Spectrum v =
                (diffuse(si, base, cos_i, cos_o, cos_d, active) + sheen(si, base, cos_d, active)) *
                (base_part * (1 - through) * cos_o);
            value += select(reflected, v, Spectrum(0));
            pdf += select(reflected, p[DiffuseR] * InvPi * cos_o, Float(0));
        }
        if (lobes[DiffuseT]) {
            Spectrum v = base * (base_part * through * InvPi * cos_o);
            value += select(reflected, Spectrum(0), v);
            pdf += select(reflected, Float(0), p[DiffuseT] * InvPi * cos_o);
        }
        if (lobes[GlossyR] || lobes[GlossyT]) {
            Float eta = m_eta->eval_1(si, active), f = fresnel(wi_h, eta).r;
            auto add = [&](int lobe, const Mask &here, const Float &scale, const Spectrum &colour) {
                Microfacet surface = microfacet(si, scale, active);
                Float v = spec_trans * surface.eval(h) * surface.g(wi, mirrored, h) / (4 * cos_i);
                value += select(here, colour * v, Spectrum(0));
                pdf += select(here, p[lobe] * surface.pdf(wi, h) * jacobian, Float(0));
            };
            if (lobes[GlossyR])
                add(GlossyR, reflected & (wi_h > 0), 1,
                    reflectance(si, base, f, wi_h, eta, active));
            if (lobes[GlossyT])
                add(GlossyT, (wi_h > 0) & passes(ctx, wi, mirrored, h) & !reflected, narrowing(eta),
                    base * (1 - f));
        }
        Mask good = active & (si.wi.z != 0) & (wo.z != 0);
        return { depolarize(select(good, value, Spectrum(0))), select(good, pdf, Float(0)) };
    }

    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &u1,
                      const Vector2 &u2, const Mask &active) const override {
        Lobes lobes = wanted(ctx);
        Probabilities p = probabilities(lobes, m_spec_trans.eval(si, active),
                                        0.5 * m_diff_trans.eval(si, active));
        BSDFSample s = BSDFSample::none();
        Vector3 wi = si.wi * mulsign(Float(1), si.wi.z), diffuse = square_to_cosine_hemisphere(u2);
        Mask left = active & (si.wi.z != 0), good = false;
        Float below(0);
        auto facet = [&](const Float &scale) {
            return microfacet(si, scale, active).sample(wi, u2).first;
        };
        int last = lobes[DiffuseT]   ? DiffuseT
                   : lobes[DiffuseR] ? DiffuseR
                   : lobes[GlossyT]  ? GlossyT
                                     : GlossyR;
        auto offer = [&](int lobe, uint32_t type, const Vector3 &wo, const Mask &exists) {
            below += p[lobe];
            Mask here = lobe == last ? left : left & (u1 < below); // however numbers are rounded
            left = left & !here;
            uint32_t number = lobe == GlossyR ? uint32_t(m_components.size() - 1) : uint32_t(lobe);
            s.wo = select(here, wo * mulsign(Float(1), si.wi.z), s.wo);
            s.sampled_type = select(here, UInt32(type), s.sampled_type);
            s.sampled_component = select(here, UInt32(number), s.sampled_component);
            bool through = lobe == DiffuseT || lobe == GlossyT;
            good = good | (here & exists & ((through ? -wo.z : wo.z) > 0));
        };
        if (lobes[GlossyR])
            offer(GlossyR, BSDFFlags::GlossyReflection, reflect(wi, facet(1)), true);
        if (lobes[GlossyT]) {
            Vector3 m = facet(narrowing(m_eta->eval_1(si, active))), wo = reflect(wi, m);
            offer(GlossyT, BSDFFlags::GlossyTransmission, { wo.x, wo.y, -wo.z },
                  passes(ctx, wi, wo, m));
        }
        if (lobes[DiffuseR])
            offer(DiffuseR, BSDFFlags::DiffuseReflection, diffuse, true);
        if (lobes[DiffuseT])
            offer(DiffuseT, BSDFFlags::DiffuseTransmission, -diffuse, true);

        auto [value, pdf] = eval_pdf(ctx, si, s.wo, good);
        good = good & (pdf > 0);
        s.pdf = select(good, pdf, Float(0));
        s.weight = select(good, value / select(good, pdf, Float(1)), Spectrum(0));
        return s;
    }

protected:
    std::vector<std::pair<const char *, OptionalWeight *>> weights() override {
        auto all = PrincipledBase::weights();
        all.emplace_back("diff_trans", &m_diff_trans);
        return all;
    }

private:
    enum { DiffuseR, DiffuseT, GlossyT, GlossyR };
    using Lobes = std::array<bool, 4>;
    using Probabilities = std::array<Float, 4>;

    Lobes wanted(const BSDFContext &ctx) const {
        bool glossy = m_spec_trans.present;
        return { ctx.is_enabled(BSDFFlags::DiffuseReflection, 0),
                 m_diff_trans.present && ctx.is_enabled(BSDFFlags::DiffuseTransmission, 1),
                 glossy && ctx.is_enabled(BSDFFlags::GlossyTransmission, 2),
                 glossy && ctx.is_enabled(BSDFFlags::GlossyReflection, 3) };
    }
    Probabilities probabilities(const Lobes &lobes, const Float &spec_trans,
                                const Float &through) const {
        Probabilities p = { m_rates[0] * (1 - spec_trans) * (1 - through),
                            m_rates[1] * (1 - spec_trans) * through, m_rates[2] * 0.5 * spec_trans,
                            m_rates[3] * 0.5 * spec_trans };
        Float total(0);
        for (size_t i = 0; i < 4; ++i)
            total += p[i] = lobes[i] ? p[i] : Float(0);
        Float scale = select(total > 0, rcp(total), Float(0));
        for (Float &v : p)
            v = v * scale;
        return p;
    }
    // Two interfaces blur what passes less than they blur reflections [Burley 2015, figure 15].
    static Float narrowing(const Float &eta) { return 0.65 * eta - 0.35; }
    // Whether the facet faces away from where light leaves, as light goes.
    static Mask passes(const BSDFContext &ctx, const Vector3 &wi, const Vector3 &mirrored,
                       const Vector3 &h) {
        const Vector3 &v = ctx.mode == BSDFContext::Mode::Radiance ? mirrored : wi;
        return dot(Vector3(v.x, v.y, -v.z), h) < 0;
    }
    Spectrum reflectance(const SurfaceInteraction &si, const Spectrum &base, const Float &f,
                         const Float &wi_h, const Float &eta, const Mask &active) const {
        if (!m_spec_tint.present)
            return Spectrum(f);
        Float tint = m_spec_tint.eval(si, active);
        return map(tinted_schlick(hue(si, base), wi_h, eta, eta),
                   [&](const Float &v) { return lerp(f, v, tint); });
    }

    OptionalWeight m_diff_trans;
    Ref<Texture> m_eta;
    std::array<Float, 4> m_rates;
};

UMBEL_PLUGIN(BSDF, PrincipledThin, "principledthin")
} // namespace umbel
