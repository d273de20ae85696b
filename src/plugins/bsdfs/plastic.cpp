// plastic: a diffuse base below a smooth dielectric coating.
//
//     f(wi, wo) = rho / (1 - k r) (1 - F(wi)) (1 - F(wo)) / (pi eta^2)   + a mirror of reflectance F(wi)
//
// r is the part of diffuse light from below that the coating throws back, so that the base scatters it again and again; k is the
// base's own colour rho with `nonlinear`, where it grows more saturated each time, and else 1. Means of Fresnel's
// reflectance are fits [Egan 1973; d'Eon 2011].
#include "core/fresnel.h"
#include "core/warp.h"
#include "render/dielectric_ior.h"
#include "render/lobe_choice.h"

namespace umbel {

class Plastic final : public BSDF {
public:
    void declare(Params &p) override {
        p.example("<rgb name='diffuse_reflectance' value='.1,.27,.36'/>");
        p.example("<boolean name='nonlinear' value='true'/><float name='int_ior' value='1.9'/>"
                  "<float name='specular_reflectance' value='.8'/>"
                  "<texture type='bitmap' name='diffuse_reflectance'>"
                  "<string name='filename' value='$files/image.png'/></texture>");
        m_ior.declare(p, "polypropylene");
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
        m_components = { BSDFFlags::DeltaReflection | BSDFFlags::FrontSide,
                         BSDFFlags::DiffuseReflection | BSDFFlags::FrontSide };
        m_share = mean_share(*m_specular, *m_diffuse);
    }
    void child_changed() override { configure(); }

    std::pair<Spectrum, Float> eval_pdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                        const Vector3 &wo, const Mask &active) const override {
        LobeChoice lobes(ctx, BSDFFlags::DeltaReflection);
        if (!lobes.base)
            return { Spectrum(0), Float(0) };
        Mask good = active & (si.wi.z > 0) & (wo.z > 0);
        Float f_i = fresnel(si.wi.z, m_ior.eta).r, cosine = InvPi * wo.z;
        lobes.weigh(f_i * m_share, (1 - f_i) * (1 - m_share));
        Spectrum value = base(si, f_i, wo, active) * cosine;
        return { depolarize(select(good, value, Spectrum(0))),
                 select(good, cosine * (1 - lobes.probability), Float(0)) };
    }

    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &u1,
                      const Vector2 &u2, const Mask &active) const override {
        LobeChoice lobes(ctx, BSDFFlags::DeltaReflection);
        if (lobes.none())
            return BSDFSample::none();
        Float f_i = fresnel(si.wi.z, m_ior.eta).r;
        lobes.weigh(f_i * m_share, (1 - f_i) * (1 - m_share));
        Mask mirrored = u1 < lobes.probability;
        Vector3 wo = select(mirrored, reflect(si.wi), square_to_cosine_hemisphere(u2));
        Float chosen = select(mirrored, lobes.probability, 1 - lobes.probability);
        Spectrum weight =
            select(mirrored, m_specular->eval(si, active) * f_i, base(si, f_i, wo, active)) /
            chosen;
        return lobes.sampled(mirrored, BSDFFlags::DeltaReflection,
                             active & (si.wi.z > 0) & (wo.z > 0), wo,
                             select(mirrored, chosen, chosen * InvPi * wo.z), weight);
    }

    Spectrum eval_delta(const BSDFContext &, const SurfaceInteraction &si, const BSDFSample &,
                        const Mask &active) const override {
        Float f_i = fresnel(si.wi.z, m_ior.eta).r;
        return depolarize(select(si.wi.z > 0, m_specular->eval(si, active) * f_i, Spectrum(0)));
    }

    Spectrum eval_diffuse_reflectance(const SurfaceInteraction &si,
                                      const Mask &active) const override {
        return m_diffuse->eval(si, active);
    }

private:
    // pi times the base's BRDF, as seen through the coating.
    Spectrum base(const SurfaceInteraction &si, const Float &f_i, const Vector3 &wo,
                  const Mask &active) const {
        Float back = mean_reflectance_inside(), f_o = fresnel(wo.z, m_ior.eta).r;
        Spectrum rho = m_diffuse->eval(si, active);
        rho = map(rho, [&](const Float &v) { return v / (1 - (m_nonlinear ? v * back : back)); });
        return rho * ((1 - f_i) * (1 - f_o) / sqr(m_ior.eta));
    }
    // Of diffuse light that meets the coating from below. The first fit is better for interiors that are denser than what is
    // around them, the second one for others.
    Float mean_reflectance_inside() const {
        Float eta = rcp(m_ior.eta), inv = m_ior.eta;
        Float egan = 0.0636 * inv + 0.6681 + eta * (0.7099 - 1.4399 * eta);
        Float deon = Float(-1.36881);
        for (double c : { 4.98554, -7.80989, 6.75335, -3.4793, 0.919317 })
            deon = deon * inv + c;
        return select(eta < 1, egan, deon);
    }

    DielectricIor m_ior;
    Ref<Texture> m_diffuse, m_specular;
    bool m_nonlinear = false;
    Float m_share; // of the coating, where lobes are chosen
};

UMBEL_PLUGIN(BSDF, Plastic, "plastic")
} // namespace umbel
