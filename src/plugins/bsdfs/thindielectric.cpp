// thindielectric: a pane of a clear material, so thin that light leaves it where it entered.
//
// Of light that is reflected between both surfaces again and again, all orders are summed [Stokes 1862]: for a surface that
// reflects r, the pane reflects r + (1 - r)^2 r / (1 - r^2) = 2 r / (1 + r), and lets the rest go straight through.
#include "core/fresnel.h"
#include "render/bsdf.h"
#include "render/dielectric_ior.h"

namespace umbel {

class ThinDielectric final : public BSDF {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<string name='int_ior' value='diamond'/>"
                  "<rgb name='specular_reflectance' value='.5,.7,.6'/>"
                  "<rgb name='specular_transmittance' value='.5,.7,.6'/>");
        m_ior.declare(p, "bk7");
        p.texture("specular_reflectance", m_reflectance, 1)
            .differentiable()
            .doc("Multiplies what is reflected; 1 is physical");
        p.texture("specular_transmittance", m_transmittance, 1)
            .differentiable()
            .doc("Multiplies what passes; 1 is physical");
    }
    void configure() override {
        uint32_t sides = BSDFFlags::FrontSide | BSDFFlags::BackSide;
        m_components = { BSDFFlags::DeltaReflection | sides, BSDFFlags::Null | sides };
    }

    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &u1,
                      const Vector2 &, const Mask &active) const override {
        bool reflects = ctx.is_enabled(BSDFFlags::DeltaReflection, 0),
             transmits = ctx.is_enabled(BSDFFlags::Null, 1);
        if (!reflects && !transmits)
            return BSDFSample::none();
        Float r = pane(si);
        Mask reflected = reflects && transmits ? u1 <= r : Mask(reflects);
        Float pdf = reflects && transmits ? select(reflected, r, 1 - r) : Float(1);
        return { select(reflected, reflect(si.wi), -si.wi),
                 pdf,
                 Float(1),
                 select(reflected, UInt32(uint32_t(BSDFFlags::DeltaReflection)),
                        UInt32(uint32_t(BSDFFlags::Null))),
                 select(reflected, UInt32(0u), UInt32(1u)),
                 depolarize(value(si, r, reflected, active) / pdf) };
    }
    Spectrum eval_delta(const BSDFContext &, const SurfaceInteraction &si, const BSDFSample &s,
                        const Mask &active) const override {
        return depolarize(value(si, pane(si), s.sampled_component == UInt32(0u), active));
    }
    Spectrum eval_null_transmission(const SurfaceInteraction &si,
                                    const Mask &active) const override {
        return depolarize(value(si, pane(si), Mask(false), active));
    }

private:
    // Part of the light that the pane reflects.
    Float pane(const SurfaceInteraction &si) const {
        Float r = fresnel(abs(si.wi.z), m_ior.eta).r;
        return 2 * r / (1 + r);
    }
    Spectrum value(const SurfaceInteraction &si, const Float &r, const Mask &reflected,
                   const Mask &active) const {
        return select(reflected, m_reflectance->eval(si, active) * r,
                      m_transmittance->eval(si, active) * (1 - r));
    }

    DielectricIor m_ior;
    Ref<Texture> m_reflectance, m_transmittance;
};

UMBEL_PLUGIN(BSDF, ThinDielectric, "thindielectric")
} // namespace umbel
