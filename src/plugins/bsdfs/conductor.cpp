// conductor: a smooth metal: a mirror whose colour follows from its index of refraction eta + i k.
#include "core/fresnel.h"
#include "core/mueller.h"
#include "render/conductor_ior.h"
#include "render/polarization.h"

namespace umbel {

class Conductor final : public BSDF {
public:
    void declare(Params &p) override {
        p.example("<string name='material' value='Au'/>");
        m_ior.declare(p);
        p.texture("specular_reflectance", m_specular, 1)
            .differentiable()
            .doc("Multiplies what is reflected; 1 is physical");
    }
    void configure() override {
        m_components = { BSDFFlags::DeltaReflection | BSDFFlags::FrontSide };
    }

    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &,
                      const Vector2 &, const Mask &active) const override {
        if (!ctx.is_enabled(BSDFFlags::DeltaReflection))
            return BSDFSample::none();
        Mask good = active & (si.wi.z > 0);
        Vector3 wo = reflect(si.wi);
        return { wo,         select(good, Float(1), Float(0)),
                 Float(1),   UInt32(uint32_t(BSDFFlags::DeltaReflection)),
                 UInt32(0u), select(good, reflectance(ctx, si, wo, active), Spectrum(0)) };
    }
    Spectrum eval_delta(const BSDFContext &ctx, const SurfaceInteraction &si, const BSDFSample &s,
                        const Mask &active) const override {
        return select(si.wi.z > 0, reflectance(ctx, si, s.wo, active), Spectrum(0));
    }

private:
    Spectrum reflectance(const BSDFContext &ctx, const SurfaceInteraction &si, const Vector3 &wo,
                         const Mask &active) const {
        Spectrum eta = m_ior.eval_eta(si, active), k = m_ior.eval_k(si, active);
        Spectrum f = variant().polarized
                         ? to_implied_basis(ctx, mueller::specular_reflection(si.wi.z, eta, k),
                                            si.wi, wo, Vector3(0, 0, 1))
                         : fresnel_conductor(si.wi.z, eta, k);
        return f * m_specular->eval(si, active);
    }

    ConductorIor m_ior;
    Ref<Texture> m_specular;
};

UMBEL_PLUGIN(BSDF, Conductor, "conductor")
} // namespace umbel
