// tests/plugins/rayleigh_test.cpp: scattering by small particles, and what it does to polarization.
#include "core/mueller.h"
#include "support/phases.h"

namespace umbel {
using namespace test;

class BackendRayleigh : public VariantTest {};
UMBEL_VARIANTS(BackendRayleigh, "llvm_rgb", "interp_spectral_double", "llvm_mono_polarized")

TEST_P(BackendRayleigh, IsTheFormula) {
    auto phase = phase_from("<phase type='rayleigh'/>");
    for (double c : { -1.0, -0.4, 0.0, 0.7, 1.0 })
        EXPECT_NEAR(phase_value(*phase, c), 3 / (16 * Pi) * (1 + c * c), 1e-6) << c;
    Estimate e = estimate(sampled_cosines(*phase, 1 << 16));
    EXPECT_LT(std::abs(e.mean), 4 * e.error);
}

TEST(Rayleigh, PolarizesWhatIsTurnedBy90Degrees) {
    VariantScope scope(find_variant("llvm_mono_polarized_double"));
    auto phase = phase_from("<phase type='rayleigh'/>");
    MediumInteraction mei = collision_along_z(); // the viewer is below
    auto scattered = [&](const Vector3 &wo) {
        Spectrum m = phase->eval_pdf({}, mei, wo, true).first;
        std::array<double, 4> stokes; // of unpolarized light
        for (int i = 0; i < 4; ++i)
            stokes[size_t(i)] = read_floats(m.entry(i, 0)[0])[0];
        return stokes;
    };
    // It comes from the side, and oscillates across the plane of both directions: along y
    auto s = scattered({ Float(1), Float(0), Float(0) });
    EXPECT_NEAR(std::hypot(s[1], s[2], s[3]), s[0], 1e-12);
    Vector3 axis = stokes_basis(mei.wi);
    double along =
        read_floats(axis.y)[0]; // cosine of the frame's axis to y; Q is that of the doubled angle
    EXPECT_NEAR(s[1] / s[0], 2 * along * along - 1, 1e-12);
    // Straight on, and back, nothing happens to it
    for (double z : { 1.0, -1.0 }) {
        s = scattered({ Float(0), Float(0), Float(z) });
        EXPECT_NEAR(std::hypot(s[1], s[2], s[3]), 0, 1e-9);
    }
    // At 60 degrees a part is
    s = scattered({ Float(std::sqrt(0.75)), Float(0), Float(0.5) });
    EXPECT_NEAR(std::hypot(s[1], s[2], s[3]) / s[0], (1 - 0.25) / (1 + 0.25), 1e-12);
}

} // namespace umbel
