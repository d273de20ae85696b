// principled: Disney's material: a few weights between 0 and 1 blend metals, plastics, cloth and rough glass
// [Burley 2012; Burley 2015].
//
//     component        value                                                 h = normalize(wi + wo)
//     diffuse          (1 - metallic) ((1 - spec_trans) diffuse + sheen)
//     clearcoat        clearcoat / 4 F D G, where D has long tails           if there is one
//     refraction       (1 - metallic) spec_trans sqrt(base_color) ...        if there is one; else as `roughdielectric`
//     highlight        F D G / (4 cos(theta_i) cos(theta_o))                 F from a dielectric's to a metal's
//
// Made to look right: bright colours with sheen or retro-reflection may reflect more than arrives.
#include "render/principled.h"
#include "core/fresnel.h"
#include "core/warp.h"

namespace umbel {

namespace {

// The clearcoat's distribution of normals, generalized Trowbridge-Reitz of exponent 1.
struct Gtr1 {
    Float alpha2;

    explicit Gtr1(const Float &alpha) : alpha2(sqr(alpha)) {}
    Float eval(const Vector3 &m) const {
        Float d = (alpha2 - 1) / (Pi * log(alpha2) * (1 + (alpha2 - 1) * sqr(m.z)));
        return select(d * m.z > 1e-20, d, Float(0));
    }
    Vector3 sample(const Vector2 &u) const {
        Float phi = TwoPi * u.x, cos2 = (1 - pow(alpha2, 1 - u.y)) / (1 - alpha2);
        Float r = safe_sqrt(1 - cos2);
        return { r * cos(phi), r * sin(phi), safe_sqrt(cos2) };
    }
};

// Masking of one direction by GGX facets, whatever the side.
Float masking(const Vector3 &v, double alpha) {
    Float cos2 = sqr(v.z);
    return 2 / (1 + sqrt(1 + sqr(Float(alpha)) * (1 - cos2) / cos2));
}

} // namespace

class Principled final : public PrincipledBase {
public:
    void declare(Params &p) override {
        p.example("<rgb name='base_color' value='.6,.3,.2'/><float name='roughness' value='.4'/>"
                  "<float name='anisotropic' value='.5'/><float name='metallic' value='.3'/>"
                  "<float name='spec_tint' value='.6'/><float name='sheen' value='.3'/>"
                  "<float name='sheen_tint' value='.4'/><float name='flatness' value='.3'/>"
                  "<float name='clearcoat' value='.6'/><float name='clearcoat_gloss' value='.3'/>"
                  "<float name='specular' value='.7'/>");
        p.example("<rgb name='base_color' value='.6,.3,.2'/><float name='roughness' value='.6'/>"
                  "<float name='anisotropic' value='.2'/><float name='metallic' value='.2'/>"
                  "<float name='spec_trans' value='.7'/><float name='clearcoat' value='1'/>"
                  "<float name='spec_tint' value='.2'/><float name='sheen' value='.8'/>"
                  "<float name='sheen_tint' value='.9'/><float name='flatness' value='.6'/>"
                  "<float name='eta' value='1.4'/>"
                  "<float name='diffuse_reflectance_sampling_rate' value='.5'/>");
        declare_base(p);
        m_metallic.declare(p, "metallic", "From a dielectric to a metal of the base's colour");
        m_clearcoat.declare(p, "clearcoat", "A second highlight");
        check_number(p, "clearcoat_gloss", 0, 1);
        p.texture("clearcoat_gloss", m_gloss, 0)
            .differentiable()
            .doc("Narrows the second highlight: its roughness goes from 0.1 to 0.001");
        if (!p.traversing() || !m_by_eta)
            p.scalar("specular", m_specular, 0.5, 0, 1)
                .differentiable()
                .doc("Strength of the dielectric's highlight: another way to say `eta`");
        if (!p.traversing() || m_by_eta)
            p.scalar("eta", m_given_eta, 1.5, 1e-3)
                .differentiable()
                .doc("In place of `specular`: index of refraction inside over that outside");
        p.derived(m_eta);
        p.scalar("diffuse_reflectance_sampling_rate", m_diffuse_rate, 1, 0)
            .doc("How often the diffuse part is sampled, relative to the others");
        p.scalar("main_specular_sampling_rate", m_specular_rate, 1, 0)
            .doc("How often the highlight and refraction are sampled");
        p.scalar("clearcoat_sampling_rate", m_clearcoat_rate, 1, 0)
            .doc("How often the second highlight is sampled");
        if (!p.loading())
            return;
        m_by_eta = p.properties()->has("eta");
        if (m_by_eta && p.properties()->has("specular"))
            fail("{}: give either specular or eta: one follows from the other",
                 p.properties()->describe());
    }
    void configure() override {
        // Without a difference of indices nothing would be refracted
        bool refracts = m_spec_trans.present;
        if (m_by_eta)
            m_eta = refracts ? select(m_given_eta == 1, Float(1.001), m_given_eta) : m_given_eta;
        else {
            Float s = refracts ? select(m_specular == 0, Float(1e-3), m_specular) : m_specular;
            m_eta = 2 / (1 - safe_sqrt(0.08 * s)) - 1;
        }
        using namespace BSDFFlags;
        uint32_t turned = m_anisotropic.present ? uint32_t(Anisotropic) : 0u;
        m_components = { DiffuseReflection | FrontSide };
        if (m_clearcoat.present)
            m_components.push_back(GlossyReflection | FrontSide);
        if (refracts)
            m_components.push_back(GlossyTransmission | FrontSide | BackSide | NonSymmetric |
                                   turned);
        m_components.push_back(GlossyReflection | FrontSide | BackSide | turned);
    }

    std::pair<Spectrum, Float> eval_pdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                        const Vector3 &wo, const Mask &active) const override {
        Lobes lobes(*this, ctx);
        Spectrum base = m_base_color->eval(si, active), value(0);
        Float pdf(0), cos_i = abs(si.wi.z), cos_o = abs(wo.z);
        Mask front = si.wi.z > 0, reflected = si.wi.z * wo.z > 0;
        Float eta = select(front, m_eta, rcp(m_eta));
        Vector3 h =
            normalize(si.wi + (lobes.refracts ? wo * select(reflected, Float(1), eta) : wo));
        h = h * mulsign(Float(1), h.z);
        Float wi_h = dot(si.wi, h), wo_h = dot(wo, h), f = fresnel(wi_h, m_eta).r;
        Weights w = weights(lobes, si, f, active);
        // Facets that are seen from behind do not exist
        Mask seen = wi_h * si.wi.z > 0, mirrors = reflected & seen & (wo_h * si.wi.z > 0);

        if (lobes.diffuse) {
            Mask here = reflected & front;
            Spectrum v = diffuse(si, base, cos_i, cos_o, wo_h, active) * (1 - w.spec_trans) +
                         sheen(si, base, wo_h, active);
            value += select(here, v * (w.dielectric * cos_o), Spectrum(0));
            pdf += select(here, w.p_diffuse * InvPi * cos_o, Float(0));
        }
        if (lobes.clearcoat) {
            Mask here = mirrors & front;
            Float d = clearcoat(si, active).eval(h);
            Float v = w.clearcoat * 0.25 * schlick(Float(0.04), wi_h, m_eta) * d *
                      masking(si.wi, 0.25) * masking(wo, 0.25) * cos_o;
            value += Spectrum(select(here, v, Float(0)));
            pdf += select(here, w.p_clearcoat * h.z * d / (4 * abs(wo_h)), Float(0));
        }
        if (lobes.refracts || lobes.mirrors) {
            Microfacet surface = microfacet(si, 1, active);
            Float d = surface.eval(h), dg = d * surface.g(si.wi, wo, h) / cos_i;
            Float density = surface.pdf(si.wi * mulsign(Float(1), si.wi.z), h);
            if (lobes.mirrors) {
                Mask here = mirrors & (f > 0);
                value += select(here, reflectance(si, base, f, wi_h, w, active) * (0.25 * dg),
                                Spectrum(0));
                pdf += select(mirrors, w.p_reflect * density / (4 * abs(wo_h)), Float(0));
            }
            if (lobes.refracts) {
                Mask here = seen & (wo_h * si.wi.z < 0) & !reflected;
                Float jacobian = sqr(eta) * abs(wo_h) / sqr(wi_h + eta * wo_h);
                Float v = w.refracted * (1 - f) * dg * abs(wi_h) * jacobian;
                if (ctx.mode == BSDFContext::Mode::Radiance) // compressed into another solid angle
                    v = v / sqr(eta);
                Spectrum root = map(base, [](const Float &c) { return safe_sqrt(c); });
                value += select(here & (f < 1), root * v, Spectrum(0));
                pdf += select(here, w.p_refract * density * jacobian, Float(0));
            }
        }
        Mask good = active & (si.wi.z != 0) & (wo.z != 0) & w.inside;
        return { depolarize(select(good, value, Spectrum(0))), select(good, pdf, Float(0)) };
    }

    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &u1,
                      const Vector2 &u2, const Mask &active) const override {
        Lobes lobes(*this, ctx);
        if (lobes.none())
            return BSDFSample::none();
        Vector3 m = microfacet(si, 1, active).sample(si.wi * mulsign(Float(1), si.wi.z), u2).first;
        FresnelResult f = fresnel(dot(si.wi, m), m_eta);
        Weights w = weights(lobes, si, f.r, active);

        // Which lobe, and a direction of it
        Float below_coat = w.p_diffuse, below_refraction = below_coat + w.p_clearcoat,
              below_mirror = below_refraction + w.p_refract;
        Mask is_diffuse = u1 < below_coat, is_coat = (u1 < below_refraction) & !is_diffuse,
             is_mirrored = u1 >= below_mirror,
             is_refracted = (u1 >= below_refraction) & !is_mirrored;
        Vector3 wo = select(is_diffuse, square_to_cosine_hemisphere(u2), reflect(si.wi, m));
        Mask good = active;
        if (lobes.clearcoat) {
            Vector3 m_coat = clearcoat(si, active).sample(u2);
            wo = select(is_coat, reflect(si.wi, m_coat), wo);
            good = good & !(is_coat & (dot(si.wi, m_coat) <= 0)); // seen from behind
        }
        if (lobes.refracts) {
            wo = select(is_refracted, refract(si.wi, m, f.cos_theta_t, f.eta_ti), wo);
            good = good & !(is_refracted & (f.cos_theta_t == 0)); // under total reflection
        }
        good = good & (select(is_refracted, -wo.z, wo.z) * si.wi.z > 0);
        // Without rounding, a lobe that is not wanted has no part of [0, 1)
        if (!lobes.mirrors)
            good = good & !is_mirrored;

        auto [value, pdf] = eval_pdf(ctx, si, wo, good);
        good = good & (pdf > 0);
        auto number = [](uint32_t v) { return UInt32(v); };
        UInt32 type = select(is_diffuse, number(BSDFFlags::DiffuseReflection),
                             select(is_refracted, number(BSDFFlags::GlossyTransmission),
                                    number(BSDFFlags::GlossyReflection)));
        UInt32 component =
            select(is_diffuse, number(0),
                   select(is_coat, number(1),
                          select(is_refracted, number(lobes.refraction), number(lobes.mirror))));
        return { wo,
                 select(good, pdf, Float(0)),
                 select(is_refracted, f.eta_it, Float(1)),
                 type,
                 component,
                 select(good, value / select(good, pdf, Float(1)), Spectrum(0)) };
    }

protected:
    std::vector<std::pair<const char *, OptionalWeight *>> weights() override {
        auto all = PrincipledBase::weights();
        all.emplace_back("metallic", &m_metallic);
        all.emplace_back("clearcoat", &m_clearcoat);
        return all;
    }

private:
    // Which lobes there are that the caller wants.
    struct Lobes {
        uint32_t refraction, mirror; // their numbers
        bool diffuse, clearcoat, refracts, mirrors;

        Lobes(const Principled &b, const BSDFContext &ctx)
            : refraction(b.m_clearcoat.present ? 2 : 1),
              mirror(refraction + (b.m_spec_trans.present ? 1 : 0)),
              diffuse(ctx.is_enabled(BSDFFlags::DiffuseReflection, 0)),
              clearcoat(b.m_clearcoat.present && ctx.is_enabled(BSDFFlags::GlossyReflection, 1)),
              refracts(b.m_spec_trans.present &&
                       ctx.is_enabled(BSDFFlags::GlossyTransmission, refraction)),
              mirrors(ctx.is_enabled(BSDFFlags::GlossyReflection, mirror)) {}
        bool none() const { return !diffuse && !clearcoat && !refracts && !mirrors; }
    };
    // What lobes count for, and the probabilities of sampling them. `f` is the dielectric's reflectance at the facet.
    struct Weights {
        Float metallic, dielectric, spec_trans, refracted, clearcoat;
        Float p_diffuse, p_clearcoat, p_refract, p_reflect;
        Mask inside; // false where light is inside of what is opaque
    };
    Weights weights(const Lobes &lobes, const SurfaceInteraction &si, const Float &f,
                    const Mask &active) const {
        Weights w;
        w.metallic = m_metallic.eval(si, active);
        w.spec_trans = m_spec_trans.eval(si, active);
        w.clearcoat = m_clearcoat.eval(si, active);
        w.dielectric = 1 - w.metallic;
        w.refracted = w.dielectric * w.spec_trans;
        Mask front = si.wi.z > 0;
        w.inside = front | (w.refracted > 0);
        // Inside there are reflection and refraction only
        Float none(0), specular = select(front, m_specular_rate, Float(1));
        Float diffuse = select(front, w.dielectric * (1 - w.spec_trans) * m_diffuse_rate, none);
        Float coat = select(front, 0.25 * w.clearcoat * m_clearcoat_rate, none);
        Float refract = select(front, w.refracted, Float(1)) * (1 - f);
        if (!lobes.refracts || !lobes.mirrors)
            refract = Float(lobes.refracts ? 1 : 0);
        if (!lobes.refracts && !lobes.mirrors)
            specular = none;
        Float total = (lobes.diffuse ? diffuse : none) + (lobes.clearcoat ? coat : none) + specular;
        Float scale = select(total > 0, rcp(total), none);
        w.p_diffuse = lobes.diffuse ? diffuse * scale : none;
        w.p_clearcoat = lobes.clearcoat ? coat * scale : none;
        w.p_refract = lobes.refracts ? specular * refract * scale : none;
        w.p_reflect = specular * (1 - refract) * scale;
        return w;
    }
    // Of the highlight: from inside, of the part that is a dielectric.
    Spectrum reflectance(const SurfaceInteraction &si, const Spectrum &base, const Float &f,
                         const Float &wi_h, const Weights &w, const Mask &active) const {
        Float tint = m_spec_tint.eval(si, active);
        Spectrum r(w.dielectric * (1 - tint) * f);
        if (m_metallic.present)
            r += schlick(base, wi_h, m_eta) * w.metallic;
        if (m_spec_tint.present)
            r += tinted_schlick(hue(si, base), wi_h, select(wi_h >= 0, m_eta, rcp(m_eta)), m_eta) *
                 (w.dielectric * tint);
        return select(si.wi.z > 0, r, Spectrum(w.refracted * f));
    }
    Gtr1 clearcoat(const SurfaceInteraction &si, const Mask &active) const {
        return Gtr1(lerp(Float(0.1), Float(0.001), m_gloss->eval_1(si, active)));
    }

    OptionalWeight m_metallic, m_clearcoat;
    Ref<Texture> m_gloss;
    bool m_by_eta = false;
    Float m_specular, m_given_eta, m_eta; // the last one counts
    Float m_diffuse_rate, m_specular_rate, m_clearcoat_rate;
};

UMBEL_PLUGIN(BSDF, Principled, "principled")
} // namespace umbel
