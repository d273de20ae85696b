// tests/plugins/isotropic_test.cpp: scattering in all directions alike.
#include "render/phase.h"
#include "support/scenes.h"

namespace umbel {
using namespace test;

class BackendIsotropic : public VariantTest {};
UMBEL_VARIANTS(BackendIsotropic, "llvm_rgb", "interp_spectral_double", "llvm_mono_polarized")

TEST_P(BackendIsotropic, SamplesMatchTheirDensity) {
    auto phase = make_object<PhaseFunction>(Properties("phase", "isotropic"));
    PhaseFunctionContext ctx;
    MediumInteraction mei;
    expect_chi2_sphere(
        "isotropic",
        [&](const Vector2 &u) { return phase->sample(ctx, mei, Float(0.5), u, true).wo; },
        [&](const Vector3 &wo) {
            // A constant, of as many lanes as there are directions
            return phase->eval_pdf(ctx, mei, wo, true).second + wo.x * 0;
        });
}

TEST_P(BackendIsotropic, ScattersAllLight) {
    auto phase = make_object<PhaseFunction>(Properties("phase", "isotropic"));
    PhaseFunctionContext ctx;
    MediumInteraction mei;
    auto s = phase->sample(ctx, mei, Float(0.5), { Float(0.3), Float(0.7) }, true);
    auto [value, pdf] = phase->eval_pdf(ctx, mei, s.wo, true);
    EXPECT_NEAR(read_floats(pdf)[0], 0.25 * InvPi, 1e-7);
    EXPECT_EQ(read_floats(unpolarized(value)[0])[0], read_floats(pdf)[0]);
    EXPECT_EQ(read_floats(unpolarized(s.weight)[0])[0], 1);
    EXPECT_EQ(read_floats(s.pdf)[0], read_floats(pdf)[0]);
    if (variant().polarized) { // what leaves has forgotten what came
        EXPECT_FALSE(jit::any(any_nonzero(s.weight.entry(1, 1))));
    }
}

TEST(Isotropic, HasOneComponent) {
    VariantScope scope(find_variant("llvm_rgb"));
    auto phase = make_object<PhaseFunction>(Properties("phase", "isotropic"));
    EXPECT_EQ(phase->flags(), uint32_t(PhaseFunctionFlags::Isotropic));
    PhaseFunctionContext ctx;
    ctx.type_mask = PhaseFunctionFlags::Anisotropic;
    EXPECT_EQ(read_floats(phase->eval_pdf(ctx, {}, {}, true).second)[0], 0);
    PhaseFunctionContext second;
    second.component = 1;
    EXPECT_EQ(read_floats(phase->eval_pdf(second, {}, {}, true).second)[0], 0);
    // Of two phase functions inside another one, with a component each, the second's
    EXPECT_FALSE(second.inside(0, 1));
    EXPECT_EQ(second.inside(1, 1)->component, 0u);
}

} // namespace umbel
