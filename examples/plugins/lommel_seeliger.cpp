// lommel_seeliger: a dusty surface that scatters light once, such as the moon's.
//
//     f(wi, wo) = w / (4 pi) / (cos(theta_i) + cos(theta_o))      on the normal's side, else 0
//
// Directions are sampled by the cosine. Not part of Umbel: a plugin in a library of its own, see docs/extending.md.
#include "core/warp.h"
#include "render/bsdf.h"

namespace umbel {

class LommelSeeliger final : public BSDF {
public:
    void declare(Params &p) override {
        p.texture("albedo", m_albedo, 0.5).differentiable().doc("Of a single grain of dust: w");
    }
    void configure() override {
        m_components = { BSDFFlags::DiffuseReflection | BSDFFlags::FrontSide };
    }

    std::pair<Spectrum, Float> eval_pdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                        const Vector3 &wo, const Mask &active) const override {
        if (!ctx.is_enabled(BSDFFlags::DiffuseReflection))
            return { Spectrum(0), Float(0) };
        Mask above = (si.wi.z > 0) & (wo.z > 0);
        Float f = InvPi / 4 * wo.z / (si.wi.z + wo.z);
        return { depolarize(m_albedo->eval(si, active)) * select(above, f, Float(0)),
                 select(above, InvPi * wo.z, Float(0)) };
    }

    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &,
                      const Vector2 &u, const Mask &active) const override {
        if (!ctx.is_enabled(BSDFFlags::DiffuseReflection))
            return BSDFSample::none();
        Vector3 wo = square_to_cosine_hemisphere(u);
        auto [value, pdf] = eval_pdf(ctx, si, wo, active);
        Mask good = pdf > 0;
        return { .wo = wo,
                 .pdf = pdf,
                 .eta = 1,
                 .sampled_type = uint32_t(BSDFFlags::DiffuseReflection),
                 .sampled_component = 0u,
                 .weight = select(good, value * rcp(pdf), Spectrum(0).dense()) };
    }

private:
    Ref<Texture> m_albedo;
};

UMBEL_PLUGIN(BSDF, LommelSeeliger, "lommel_seeliger")
} // namespace umbel
