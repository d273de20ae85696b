// diffuse: an ideally diffuse (Lambertian) reflector.
//
//     f(wi, wo) = rho / pi      pdf(wo) = cos(theta_o) / pi      on the normal's side, else 0
//
// Sampling the cosine lobe makes the weight f cos / pdf equal to rho. One-sided: see `twosided`.
#include "core/warp.h"
#include "render/bsdf.h"

namespace umbel {

class Diffuse final : public BSDF {
public:
    void declare(Params &p) override {
        p.example("<rgb name='reflectance' value='.2,.25,.7'/>");
        p.example("<texture type='bitmap' name='reflectance'>"
                  "<string name='filename' value='$files/image.png'/></texture>");
        p.texture("reflectance", m_reflectance, 0.5)
            .differentiable()
            .doc("Fraction of the incident light that is reflected, per channel");
    }
    void configure() override {
        m_components = { BSDFFlags::DiffuseReflection | BSDFFlags::FrontSide };
    }

    std::pair<Spectrum, Float> eval_pdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                        const Vector3 &wo, const Mask &active) const override {
        if (!ctx.is_enabled(BSDFFlags::DiffuseReflection))
            return { Spectrum(0), Float(0) };
        Float density = select(above(si.wi, wo), InvPi * wo.z, Float(0));
        return { albedo(si, active) * density, density };
    }

    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &,
                      const Vector2 &u, const Mask &active) const override {
        if (!ctx.is_enabled(BSDFFlags::DiffuseReflection))
            return BSDFSample::none();
        Vector3 wo = square_to_cosine_hemisphere(u);
        Mask good = above(si.wi, wo);
        Spectrum weight = albedo(si, active);
        return { .wo = wo,
                 .pdf = select(good, InvPi * wo.z, Float(0)),
                 .eta = 1,
                 .sampled_type = uint32_t(BSDFFlags::DiffuseReflection),
                 .sampled_component = 0u,
                 .weight = select(good, weight, black()) };
    }

    Spectrum eval_diffuse_reflectance(const SurfaceInteraction &si,
                                      const Mask &active) const override {
        return m_reflectance->eval(si, active);
    }

private:
    static Mask above(const Vector3 &wi, const Vector3 &wo) { return (wi.z > 0) & (wo.z > 0); }

    Spectrum albedo(const SurfaceInteraction &si, const Mask &active) const {
        return depolarize(m_reflectance->eval(si, active));
    }

    Ref<Texture> m_reflectance;
};

UMBEL_PLUGIN(BSDF, Diffuse, "diffuse")
} // namespace umbel
