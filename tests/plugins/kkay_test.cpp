// tests/plugins/kkay_test.cpp: fibres that mirror light into a cone.
#include "support/phases.h"

namespace umbel {
using namespace test;

class BackendKajiyaKay : public VariantTest {};
UMBEL_VARIANTS(BackendKajiyaKay, "llvm_rgb", "interp_spectral_double")

// Fibres along z.
TEST_P(BackendKajiyaKay, KeepsLightThatComesAcrossFibres) {
    const size_t n = 1 << 15;
    for (double exponent : { 1.0, 4.0, 25.0 }) {
        auto phase = phase_from(fmt::format(
            "<phase type='kkay'><float name='kd' value='0'/><float name='ks' value='1'/>"
            "<float name='exponent' value='{}'/></phase>",
            exponent));
        Vector2 u{ make(uniform_numbers(5, n)), make(uniform_numbers(6, n)) };
        auto scattered = [&](const Vector3 &wi) {
            MediumInteraction mei = collision_along_z();
            mei.wi = wi;
            return phase->sample({}, mei, Float(0.5), u, true).weight[0];
        };
        expect_estimate(scattered({ Float(1), Float(0), Float(0) }), 1, "across");
        EXPECT_LT(estimate(scattered({ Float(0.6), Float(0), Float(0.8) })).mean, 1);
    }
}

TEST_P(BackendKajiyaKay, IsTheFormula) {
    auto phase = phase_from("<phase type='kkay'/>");
    // Against the fibres: mirrored, light goes on along them
    double mirrored = 0.4 / (2 * Pi * 16 / 15);
    EXPECT_NEAR(phase_value(*phase, 1), 0.2 / (4 * Pi) + mirrored, 1e-5);
    EXPECT_NEAR(phase_value(*phase, -1), 0.2 / (4 * Pi), 1e-5);
    EXPECT_NEAR(phase_value(*phase, 0.5), 0.2 / (4 * Pi) + mirrored / 16, 1e-5);
}

} // namespace umbel
