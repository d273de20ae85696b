// roughdiffuse: a rough surface of diffuse facets, such as plaster or sand.
//
// V-shaped grooves that shadow, mask and light each other [Oren 1994]; a, b are the larger and the smaller of both angles to the
// normal, c the cosine between both azimuths, s2 the variance of the facets' angles:
//
//     pi f = rho (C1 + c C2 tan(b) + (1 - |c|) C3 tan((a + b) / 2)) + rho^2 C4 (1 - c (2 b / pi)^2)
//     C1 = 1 - s2 / (2 s2 + 0.66)                      C2 = 0.45 s2 / (s2 + 0.09) (sin(a) - [c < 0] (2 b / pi)^3)
//     C3 = 0.125 s2 / (s2 + 0.09) (4 a b / pi^2)^2     C4 = 0.17 s2 / (s2 + 0.13)
//
// The approximation of the same paper: pi f = rho (C1 + max(c, 0) 0.45 s2 / (s2 + 0.09) sin(a) tan(b)). With alpha = 0 it is
// `diffuse`. One-sided.
#include "core/warp.h"
#include "render/bsdf.h"
#include "render/roughness.h"

namespace umbel {

class RoughDiffuse final : public BSDF {
public:
    void declare(Params &p) override {
        p.example("<rgb name='reflectance' value='.6,.3,.2'/>");
        p.example("<boolean name='use_fast_approx' value='true'/><float name='alpha' value='.6'/>"
                  "<rgb name='reflectance' value='.6,.5,.4'/>");
        p.example("<texture name='alpha' type='bitmap'><string name='filename' "
                  "value='$files/image.png'/><boolean name='raw' value='true'/></texture>");
        p.texture("reflectance", m_reflectance, 0.5)
            .differentiable()
            .doc("Reflectance of the facets");
        p.texture("alpha", m_alpha, 0.2)
            .differentiable()
            .doc("Roughness: slope of the microsurface, root mean square");
        if (p.loading())
            refuse_negative(*p.properties(), "alpha");
        p.boolean("use_fast_approx", m_fast, false)
            .doc("A simpler formula, without light between facets");
    }
    void configure() override {
        m_components = { BSDFFlags::DiffuseReflection | BSDFFlags::FrontSide };
    }

    std::pair<Spectrum, Float> eval_pdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                        const Vector3 &wo, const Mask &active) const override {
        if (!ctx.is_enabled(BSDFFlags::DiffuseReflection))
            return { Spectrum(0), Float(0) };
        Mask good = active & (si.wi.z > 0) & (wo.z > 0);
        Float density = select(good, InvPi * wo.z, Float(0));
        return { depolarize(select(good, albedo(si, wo, active) * density, Spectrum(0))), density };
    }

    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &,
                      const Vector2 &u, const Mask &active) const override {
        if (!ctx.is_enabled(BSDFFlags::DiffuseReflection))
            return BSDFSample::none();
        Vector3 wo = square_to_cosine_hemisphere(u);
        Mask good = active & (si.wi.z > 0) & (wo.z > 0);
        return { wo,         select(good, InvPi * wo.z, Float(0)),
                 Float(1),   UInt32(uint32_t(BSDFFlags::DiffuseReflection)),
                 UInt32(0u), depolarize(select(good, albedo(si, wo, active), Spectrum(0))) };
    }

    Spectrum eval_diffuse_reflectance(const SurfaceInteraction &si,
                                      const Mask &active) const override {
        return m_reflectance->eval(si, active);
    }

private:
    // pi f.
    Spectrum albedo(const SurfaceInteraction &si, const Vector3 &wo, const Mask &active) const {
        Spectrum rho = m_reflectance->eval(si, active);
        // The slope's root mean square as an angle's, for shallow facets and one direction of two
        Float s2 = sqr(m_alpha->eval_1(si, active)) * 0.5;
        Float sin_i = safe_sqrt(1 - sqr(si.wi.z)), sin_o = safe_sqrt(1 - sqr(wo.z)),
              sines = sin_i * sin_o;
        Float c = select(sines > 0,
                         (si.wi.x * wo.x + si.wi.y * wo.y) / select(sines > 0, sines, Float(1)),
                         Float(0));
        Float cos_a = min(si.wi.z, wo.z), cos_b = max(si.wi.z, wo.z); // a is the larger angle
        Float sin_a = max(sin_i, sin_o), sin_b = min(sin_i, sin_o), tan_b = sin_b / cos_b;
        Float c1 = 1 - 0.5 * s2 / (s2 + 0.33), c2 = 0.45 * s2 / (s2 + 0.09);
        if (m_fast)
            return rho * (c1 + max(c, 0) * c2 * sin_a * tan_b);

        Float a = acos(clamp(cos_a, -1, 1)), b = acos(clamp(cos_b, -1, 1)), part = b * (2 / Pi);
        c2 = c2 * select(c > 0, sin_a, sin_a - part * sqr(part));
        Float c3 = 0.125 * s2 / (s2 + 0.09) * sqr(a * b * (4 / (Pi * Pi))),
              c4 = 0.17 * s2 / (s2 + 0.13);
        Float tan_half = (sin_a + sin_b) / (cos_a + cos_b);
        return rho * (c1 + c * c2 * tan_b + (1 - abs(c)) * c3 * tan_half) +
               rho * rho * (c4 * (1 - c * sqr(part)));
    }

    Ref<Texture> m_reflectance, m_alpha;
    bool m_fast = false;
};

UMBEL_PLUGIN(BSDF, RoughDiffuse, "roughdiffuse")
} // namespace umbel
