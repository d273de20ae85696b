// tests/plugins/hg_test.cpp: the scattering of Henyey and Greenstein.
#include "support/phases.h"

namespace umbel {
using namespace test;

class BackendHg : public VariantTest {};
UMBEL_VARIANTS(BackendHg, "llvm_rgb", "interp_spectral_double")

TEST_P(BackendHg, HasItsMeanCosine) {
    for (double g : { -0.95, -0.3, -5e-4, 0.0, 2e-4, 0.01, 0.5, 0.9, 0.99 }) {
        auto phase =
            phase_from(fmt::format("<phase type='hg'><float name='g' value='{}'/></phase>", g));
        auto cosine = sampled_cosines(*phase, 1 << 16);
        Estimate e = estimate(cosine);
        EXPECT_LT(std::abs(e.mean - g), 4 * e.error + 1e-6) << g;
    }
}

TEST_P(BackendHg, IsTheFormula) {
    auto phase = phase_from("<phase type='hg'><float name='g' value='0.6'/></phase>");
    for (double c : { -1.0, -0.4, 0.0, 0.7, 1.0 }) {
        double want = (1 - 0.36) / (4 * Pi * std::pow(1.36 - 1.2 * c, 1.5));
        EXPECT_NEAR(phase_value(*phase, c), want, 1e-5 * want) << c;
    }
    EXPECT_EQ(phase->flags(), uint32_t(PhaseFunctionFlags::Anisotropic));
}

TEST(Hg, RefusesTheExtremes) {
    VariantScope scope(find_variant("llvm_rgb"));
    for (const char *g : { "1", "-1", "1.5" })
        EXPECT_THROW(
            phase_from(fmt::format("<phase type='hg'><float name='g' value='{}'/></phase>", g)),
            UserError);
}

} // namespace umbel
