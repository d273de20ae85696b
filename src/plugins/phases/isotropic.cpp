// isotropic: scatters light in all directions alike.
//
//     f(wi, wo) = pdf(wo) = 1 / (4 pi)
//
// Scattered light is unpolarized.
#include "core/warp.h"
#include "render/phase.h"

namespace umbel {

class Isotropic final : public PhaseFunction {
public:
    void configure() override { m_components = { PhaseFunctionFlags::Isotropic }; }

    std::pair<Spectrum, Float> eval_pdf(const PhaseFunctionContext &ctx, const MediumInteraction &,
                                        const Vector3 &, const Mask &) const override {
        if (!ctx.is_enabled(PhaseFunctionFlags::Isotropic))
            return { Spectrum(0), Float(0) };
        return { depolarize(Spectrum(InvFourPi)), Float(InvFourPi) };
    }

    PhaseFunctionSample sample(const PhaseFunctionContext &ctx, const MediumInteraction &,
                               const Float &, const Vector2 &u, const Mask &) const override {
        if (!ctx.is_enabled(PhaseFunctionFlags::Isotropic))
            return PhaseFunctionSample::none();
        return { square_to_uniform_sphere(u), Float(InvFourPi), depolarize(Spectrum(1)) };
    }

private:
    static constexpr double InvFourPi = 0.25 * InvPi;
};

UMBEL_PLUGIN(PhaseFunction, Isotropic, "isotropic")
} // namespace umbel
