// dielectric: a smooth interface between two transparent materials, such as glass and air.
//
// Light is reflected or refracted; which, is decided at random by Fresnel's equations. Radiance that enters the denser side
// is compressed into a smaller solid angle, hence the factor 1 / eta^2.
#include "core/fresnel.h"
#include "core/mueller.h"
#include "render/dielectric_ior.h"
#include "render/lobe_choice.h"
#include "render/polarization.h"

namespace umbel {

class Dielectric final : public BSDF {
public:
    void declare(Params &p) override {
        m_ior.declare(p, "bk7");
        p.texture("specular_reflectance", m_reflectance, 1)
            .differentiable()
            .doc("Multiplies what is reflected; 1 is physical");
        p.texture("specular_transmittance", m_transmittance, 1)
            .differentiable()
            .doc("Multiplies what is refracted; 1 is physical");
    }
    void configure() override {
        uint32_t sides = BSDFFlags::FrontSide | BSDFFlags::BackSide;
        m_components = { BSDFFlags::DeltaReflection | sides,
                         BSDFFlags::DeltaTransmission | sides | BSDFFlags::NonSymmetric };
    }

    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &u1,
                      const Vector2 &, const Mask &active) const override {
        bool reflects = ctx.is_enabled(BSDFFlags::DeltaReflection, 0),
             transmits = ctx.is_enabled(BSDFFlags::DeltaTransmission, 1);
        if (!reflects && !transmits)
            return BSDFSample::none();
        FresnelResult f = fresnel(si.wi.z, m_ior.eta);
        Float t = 1 - f.r;
        Mask reflected = reflects && transmits ? u1 <= f.r : Mask(reflects);
        Float pdf = reflects && transmits ? select(reflected, f.r, t) : Float(1);

        Vector3 wo = select(reflected, reflect(si.wi), refract(si.wi, f.cos_theta_t, f.eta_ti));
        Spectrum r_value = m_reflectance->eval(si, active),
                 t_value = m_transmittance->eval(si, active), weight;
        if (variant().polarized) {
            Spectrum none(0);
            Spectrum mr = mueller::specular_reflection(si.wi.z, Spectrum(m_ior.eta), none),
                     mt = mueller::specular_transmission(si.wi.z, Spectrum(m_ior.eta));
            weight = to_implied_basis(ctx, select(reflected, mr * r_value, mt * t_value), si.wi, wo,
                                      Vector3(0, 0, 1)) *
                     rcp(ad::grad_enabled(pdf) ? Float(ad::detach(pdf)) : pdf);
        } else if (reflects && transmits) // the choice has no derivative, what it is divided by has
            weight =
                select(reflected, r_value * share_of_choice(f.r), t_value * share_of_choice(t));
        else
            weight = reflects ? r_value * f.r : t_value * t;
        if (ctx.mode == BSDFContext::Mode::Radiance)
            weight = weight * select(reflected, Float(1), sqr(f.eta_ti));
        return { wo,
                 pdf,
                 select(reflected, Float(1), f.eta_it),
                 select(reflected, UInt32(uint32_t(BSDFFlags::DeltaReflection)),
                        UInt32(uint32_t(BSDFFlags::DeltaTransmission))),
                 select(reflected, UInt32(0u), UInt32(1u)),
                 select(si.wi.z != 0, weight, Spectrum(0)) };
    }
    Spectrum eval_delta(const BSDFContext &ctx, const SurfaceInteraction &si, const BSDFSample &s,
                        const Mask &active) const override {
        FresnelResult f = fresnel(si.wi.z, m_ior.eta);
        Mask reflected = s.sampled_component == UInt32(0u);
        Spectrum r = m_reflectance->eval(si, active), t = m_transmittance->eval(si, active), value;
        if (variant().polarized) {
            Spectrum mr = mueller::specular_reflection(si.wi.z, Spectrum(m_ior.eta), Spectrum(0)),
                     mt = mueller::specular_transmission(si.wi.z, Spectrum(m_ior.eta));
            value = to_implied_basis(ctx, select(reflected, mr * r, mt * t), si.wi, s.wo,
                                     Vector3(0, 0, 1));
        } else
            value = select(reflected, r * f.r, t * (1 - f.r));
        if (ctx.mode == BSDFContext::Mode::Radiance)
            value = value * select(reflected, Float(1), sqr(f.eta_ti));
        return select(si.wi.z != 0, value, Spectrum(0));
    }

private:
    DielectricIor m_ior;
    Ref<Texture> m_reflectance, m_transmittance;
};

UMBEL_PLUGIN(BSDF, Dielectric, "dielectric")
} // namespace umbel
