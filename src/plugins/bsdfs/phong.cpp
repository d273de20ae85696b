// phong: the modified Phong model, for old scenes.
//
//     f(wi, wo) = diffuse / pi + specular (n + 2) / (2 pi) max(0, cos(a))^n      a: from the mirror direction to wo
//
// [Lafortune 1994]. One-sided. Where both reflectances sum to more than 1, they are scaled down.
#include "core/fresnel.h"
#include "core/warp.h"
#include "render/lobe_choice.h"
#include "render/roughness.h"

namespace umbel {

class Phong final : public BSDF {
public:
    void declare(Params &p) override {
        p.example("<rgb name='diffuse_reflectance' value='.4,.3,.1'/>");
        p.example("<float name='exponent' value='4.5'/><rgb name='specular_reflectance' "
                  "value='.3,.25,.2'/><texture type='bitmap' name='diffuse_reflectance'>"
                  "<string name='filename' value='$files/image.png'/></texture>");
        p.texture("exponent", m_exponent, 30)
            .differentiable()
            .doc("The larger, the smaller the highlight");
        if (p.loading())
            refuse_negative(*p.properties(), "exponent");
        p.texture("specular_reflectance", m_specular, 0.2)
            .differentiable()
            .doc("Weight of the highlight");
        p.texture("diffuse_reflectance", m_diffuse, 0.5)
            .differentiable()
            .doc("Weight of the diffuse part");
    }
    void configure() override {
        m_components = { BSDFFlags::GlossyReflection | BSDFFlags::FrontSide,
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
        Float n = m_exponent->eval_1(si, active), cosine = dot(reflect(si.wi), wo);
        Float power =
            select(cosine > 0, pow(select(cosine > 0, cosine, Float(1)), n), Float(0)) * InvTwoPi;
        BoundedReflectances colours(*m_specular, *m_diffuse, si, active);
        Spectrum value(0);
        if (lobes.gloss)
            value += colours.gloss * ((n + 2) * power);
        if (lobes.base)
            value += colours.base * InvPi;
        Float pdf = lobes.probability * (n + 1) * power + (1 - lobes.probability) * InvPi * wo.z;
        Mask good = active & (si.wi.z > 0) & (wo.z > 0);
        return { depolarize(select(good, value * wo.z, Spectrum(0))), select(good, pdf, Float(0)) };
    }

    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &u1,
                      const Vector2 &u2, const Mask &active) const override {
        LobeChoice lobes(ctx, BSDFFlags::GlossyReflection);
        if (lobes.none())
            return BSDFSample::none();
        lobes.weigh(m_share, 1 - m_share);
        Mask glossy = u1 < lobes.probability;
        Float n = m_exponent->eval_1(si, active), z = pow(1 - u2.x, rcp(n + 1)),
              r = safe_sqrt(1 - sqr(z)), phi = TwoPi * u2.y;
        Vector3 around = Frame(reflect(si.wi)).to_world({ r * cos(phi), r * sin(phi), z });
        Vector3 wo = select(glossy, around, square_to_cosine_hemisphere(u2));
        auto [value, pdf] = eval_pdf(ctx, si, wo, active);
        Mask good = active & (pdf > 0);
        return lobes.sampled(glossy, BSDFFlags::GlossyReflection, good, wo, pdf,
                             unpolarized(value) / select(good, pdf, Float(1)));
    }

    Spectrum eval_diffuse_reflectance(const SurfaceInteraction &si,
                                      const Mask &active) const override {
        return BoundedReflectances(*m_specular, *m_diffuse, si, active).base;
    }

private:
    Ref<Texture> m_exponent, m_specular, m_diffuse;
    Float m_share; // of the highlight, where lobes are chosen
};

UMBEL_PLUGIN(BSDF, Phong, "phong")
} // namespace umbel
