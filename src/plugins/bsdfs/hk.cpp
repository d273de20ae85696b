// hk: a thin layer of a scattering medium, without refraction: light that was scattered once, or not at all.
//
// With a = |cos(theta_i)|, b = |cos(theta_o)|, t = thickness (sigma_s + sigma_a), albedo = sigma_s / (sigma_s + sigma_a):
//
//     f(wi, wo) = albedo p(wi, wo) (1 - exp(-t / a - t / b)) / (a + b)               reflected
//               = albedo p(wi, wo) (exp(-t / a) - exp(-t / b)) / (a - b)             transmitted
//
// and exp(-t / a) goes straight on [Hanrahan 1993]. Inside of `coating` it is the whole model of that paper. What is scattered
// more than once is lost. Scattered light is unpolarized.
#include "render/phase.h"
#include "render/scattering_coefficients.h"

namespace umbel {

class HanrahanKrueger final : public BSDF {
public:
    void declare(Params &p) override {
        p.example("<string name='material' value='ketchup'/><float name='thickness' value='.7'/>");
        p.example("<rgb name='sigma_s' value='2,1.1,.4'/><spectrum name='sigma_a' value='.1'/>"
                  "<float name='thickness' value='.3'/>");
        p.example("<spectrum name='sigma_t' value='.8'/><rgb name='albedo' value='.9,.5,.2'/>");
        m_coefficients.declare(p);
        p.scalar("thickness", m_thickness, 1, 0).differentiable().doc("Of the layer");
        p.object(p.traversing() ? "phase_function" : "phase", m_phase)
            .doc("How the medium scatters; `isotropic` if absent");
        if (!p.loading())
            return;
        if (!m_phase)
            m_phase = p.loader()->load_as<PhaseFunction>(
                std::make_shared<Properties>("phase", "isotropic"));
    }
    void configure() override {
        uint32_t sides = BSDFFlags::FrontSide | BSDFFlags::BackSide;
        m_components = { BSDFFlags::GlossyReflection | sides, BSDFFlags::GlossyTransmission | sides,
                         BSDFFlags::Null | sides };
    }

    std::pair<Spectrum, Float> eval_pdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                        const Vector3 &wo, const Mask &active) const override {
        Lobes lobes(ctx);
        if (!lobes.reflects && !lobes.transmits)
            return { Spectrum(0), Float(0) };
        Layer layer = eval_layer(si, active);
        Float a = abs(si.wi.z), b = abs(wo.z), product = si.wi.z * wo.z;
        Mask reflected = product > 0, good = active & (product != 0);
        if (!lobes.reflects)
            good = good & !reflected;
        if (!lobes.transmits)
            good = good & reflected;
        auto [p, density] =
            m_phase->eval_pdf({ .mode = ctx.mode }, collision(si), si.to_world(wo), good);
        Float safe_a = select(good, a, Float(1)), safe_b = select(good, b, Float(1));
        Spectrum scattered = map(layer.depth, [&](const Float &t) {
            Float back = one_minus_exp(t / safe_a + t / safe_b) / (safe_a + safe_b);
            // The difference of both exponentials over that of the cosines, where these may be equal
            Float x = t * abs(safe_a - safe_b) / (safe_a * safe_b);
            Float ratio = select(x > 0, one_minus_exp(x) / select(x > 0, x, Float(1)), Float(1));
            Float through = exp(-t / max(safe_a, safe_b)) * t / (safe_a * safe_b) * ratio;
            return select(reflected, back, through) * b;
        });
        Spectrum value = layer.albedo * scattered * unpolarized(p);
        if (lobes.passes)
            density = density * (1 - straight(layer, si));
        return { depolarize(select(good, value, Spectrum(0))), select(good, density, Float(0)) };
    }

    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &u1,
                      const Vector2 &u2, const Mask &active) const override {
        Lobes lobes(ctx);
        bool scatters = lobes.reflects || lobes.transmits;
        if (!scatters && !lobes.passes)
            return BSDFSample::none();
        Layer layer = eval_layer(si, active);
        Float pass = !scatters ? Float(1) : lobes.passes ? straight(layer, si) : Float(0);
        Mask goes_on = u1 < pass;
        Float again = (u1 - pass) / select(pass < 1, 1 - pass, Float(1));
        PhaseFunctionSample s =
            m_phase->sample({ .mode = ctx.mode }, collision(si), clamp(again, 0, 1), u2, active);
        Vector3 wo = select(goes_on, -si.wi, si.to_local(s.wo));
        auto [value, density] = eval_pdf(ctx, si, wo, active & !goes_on);
        Mask good = active & select_mask(goes_on, (si.wi.z != 0) & (pass > 0), density > 0);
        Float pdf = select(goes_on, pass, density);
        Spectrum weight = select(goes_on, transmittance(layer, si), unpolarized(value)) /
                          select(good, pdf, Float(1));
        Mask reflected = si.wi.z * wo.z > 0;
        UInt32 component = select(goes_on, UInt32(2u), select(reflected, UInt32(0u), UInt32(1u)));
        UInt32 type = select(goes_on, UInt32(uint32_t(BSDFFlags::Null)),
                             select(reflected, UInt32(uint32_t(BSDFFlags::GlossyReflection)),
                                    UInt32(uint32_t(BSDFFlags::GlossyTransmission))));
        return { wo,        select(good, pdf, Float(0)),
                 Float(1),  type,
                 component, depolarize(select(good, weight, Spectrum(0))) };
    }

    Spectrum eval_delta(const BSDFContext &, const SurfaceInteraction &si, const BSDFSample &,
                        const Mask &active) const override {
        return depolarize(transmittance(eval_layer(si, active), si));
    }
    Spectrum eval_null_transmission(const SurfaceInteraction &si,
                                    const Mask &active) const override {
        return transmittance(eval_layer(si, active), si);
    }
    Spectrum eval_diffuse_reflectance(const SurfaceInteraction &si,
                                      const Mask &active) const override {
        return eval_layer(si, active).albedo;
    }

private:
    struct Lobes {
        bool reflects, transmits, passes;
        explicit Lobes(const BSDFContext &ctx)
            : reflects(ctx.is_enabled(BSDFFlags::GlossyReflection, 0)),
              transmits(ctx.is_enabled(BSDFFlags::GlossyTransmission, 1)),
              passes(ctx.is_enabled(BSDFFlags::Null, 2)) {}
    };
    struct Layer {
        Spectrum depth, albedo; // optical depth along the normal
    };

    Layer eval_layer(const SurfaceInteraction &si, const Mask &active) const {
        auto [sum, albedo] = m_coefficients.eval(si, active);
        // Beyond that nothing is left; a layer without end has a depth, too
        Spectrum depth = map(sum, [&](const Float &s) {
            return select(s > 0, min(s * m_thickness, 1e4), Float(0));
        });
        return { depth, albedo };
    }
    static Spectrum transmittance(const Layer &layer, const SurfaceInteraction &si) {
        Float a = abs(si.wi.z);
        return map(layer.depth, [&](const Float &t) {
            return select(a > 0, exp(-t / select(a > 0, a, Float(1))), Float(0));
        });
    }
    // How often a sample goes straight on.
    static Float straight(const Layer &layer, const SurfaceInteraction &si) {
        return mean(transmittance(layer, si));
    }
    // 1 - exp(-x) for x >= 0, without loss for small x.
    static Float one_minus_exp(const Float &x) {
        return select(x < 0.01, x * (1 - x * (0.5 - x * (1.0 / 6 - x * (1.0 / 24)))), 1 - exp(-x));
    }
    static Mask select_mask(const Mask &m, const Mask &a, const Mask &b) {
        return (m & a) | ((!m) & b);
    }
    // The phase function's directions are those of the scene.
    static MediumInteraction collision(const SurfaceInteraction &si) {
        MediumInteraction mei;
        mei.t = si.t;
        mei.mint = Float(0);
        mei.p = si.p;
        mei.n = Vector3(Float(0));
        mei.time = si.time;
        mei.wavelengths = si.wavelengths;
        mei.medium = UInt32(0u);
        mei.wi = si.to_world(si.wi);
        mei.sh_frame = Frame(mei.wi);
        mei.sigma_s = mei.sigma_n = mei.sigma_t = mei.majorant = Spectrum(0);
        return mei;
    }

    ScatteringCoefficients m_coefficients;
    Float m_thickness;
    Ref<PhaseFunction> m_phase;
};

UMBEL_PLUGIN(BSDF, HanrahanKrueger, "hk")
} // namespace umbel
