// difftrans: a sheet that lets light through and scatters it evenly on the other side, such as paper.
//
//     f(wi, wo) = T / pi      pdf(wo) = |cos(theta_o)| / pi      on the side that wi is not on, else 0
//
// It reflects nothing: `blendbsdf` and `mixturebsdf` add that.
#include "core/warp.h"
#include "render/bsdf.h"

namespace umbel {

class DiffTrans final : public BSDF {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<texture type='bitmap' name='transmittance'><string name='filename' "
                  "value='$files/image.png'/></texture>");
        p.texture("transmittance", m_transmittance, 0.5)
            .differentiable()
            .doc("Part of the light that gets through");
    }
    void configure() override {
        m_components = { BSDFFlags::DiffuseTransmission | BSDFFlags::FrontSide |
                         BSDFFlags::BackSide };
    }

    std::pair<Spectrum, Float> eval_pdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                        const Vector3 &wo, const Mask &active) const override {
        if (!ctx.is_enabled(BSDFFlags::DiffuseTransmission))
            return { Spectrum(0), Float(0) };
        Float density = select(active & (si.wi.z * wo.z < 0), InvPi * abs(wo.z), Float(0));
        return { depolarize(m_transmittance->eval(si, active) * density), density };
    }

    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &,
                      const Vector2 &u, const Mask &active) const override {
        if (!ctx.is_enabled(BSDFFlags::DiffuseTransmission))
            return BSDFSample::none();
        Vector3 wo = square_to_cosine_hemisphere(u);
        Mask good = active & (si.wi.z != 0) & (wo.z > 0);
        Float density = InvPi * wo.z;
        wo.z = -mulsign(wo.z, si.wi.z);
        return {
            wo,         select(good, density, Float(0)),
            Float(1),   UInt32(uint32_t(BSDFFlags::DiffuseTransmission)),
            UInt32(0u), depolarize(select(good, m_transmittance->eval(si, active), Spectrum(0)))
        };
    }

    Spectrum eval_diffuse_reflectance(const SurfaceInteraction &, const Mask &) const override {
        return Spectrum(0);
    }

private:
    Ref<Texture> m_transmittance;
};

UMBEL_PLUGIN(BSDF, DiffTrans, "difftrans")
} // namespace umbel
