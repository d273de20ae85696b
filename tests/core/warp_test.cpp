// tests/core/warp_test.cpp: every warp samples the density that it states.
#include "core/warp.h"
#include "support/variant_fixture.h"

namespace umbel {
namespace {

using namespace test;

class BackendWarp : public VariantTest {};
UMBEL_VARIANTS(BackendWarp, "interp_rgb", "interp_rgb_double", "llvm_rgb", "llvm_rgb_double")

/// A rectangle that covers a warp's flat domain.
Chi2 square(double low, double high) { return { .x0 = low, .x1 = high, .y0 = low, .y1 = high }; }

TEST_P(BackendWarp, DiskSamplesFollowTheirDensity) {
    Chi2 o = square(-1, 1);
    o.subdivisions = 64; // its edge crosses bins
    expect_chi2("disk", square_to_uniform_disk_concentric, square_to_uniform_disk_concentric_pdf,
                o);
}

TEST_P(BackendWarp, SphereSamplesFollowTheirDensity) {
    expect_chi2_sphere("sphere", square_to_uniform_sphere,
                       [](const Vector3 &) { return square_to_uniform_sphere_pdf(); });
}

TEST_P(BackendWarp, HemisphereSamplesFollowTheirDensities) {
    expect_chi2_sphere("hemisphere", square_to_uniform_hemisphere,
                       square_to_uniform_hemisphere_pdf);
    expect_chi2_sphere("cosine", square_to_cosine_hemisphere, square_to_cosine_hemisphere_pdf);
}

TEST_P(BackendWarp, ConeSamplesFollowTheirDensity) {
    for (double cutoff : { -1.0, -0.25, 0.5, 0.875 })
        expect_chi2_sphere(
            "cone", [&](const Vector2 &u) { return square_to_uniform_cone(u, cutoff); },
            [&](const Vector3 &v) { return square_to_uniform_cone_pdf(v, cutoff); },
            { .y0 = cutoff, .y1 = 1, .mass_tolerance = 1e-4 });
    // A narrow one: the sun's
    double sun = 0.99998919;
    std::vector<double> z = values(square_to_uniform_cone({ 0.5, 0 }, sun).z);
    EXPECT_NEAR(z[0], sun, 1e-7);
}

TEST_P(BackendWarp, TriangleSamplesFollowTheirDensity) {
    Chi2 o = square(0, 1);
    o.subdivisions = 64;
    o.mass_tolerance =
        4e-3; // the edge goes through centres of subdivisions, all of which count as inside
    expect_chi2("triangle", square_to_uniform_triangle, square_to_uniform_triangle_pdf, o);
}

TEST_P(BackendWarp, BeckmannSamplesFollowTheirDensity) {
    for (double alpha : { 0.1, 0.3, 1.0 })
        expect_chi2_sphere(
            "beckmann", [&](const Vector2 &u) { return square_to_beckmann(u, alpha); },
            [&](const Vector3 &m) { return square_to_beckmann_pdf(m, alpha); },
            { .y0 = alpha < 0.2 ? 0.9 : 0, .y1 = 1, .ny = 40 });
}

TEST_P(BackendWarp, VonMisesFisherSamplesFollowTheirDensity) {
    for (double kappa : { 0.0, 1e-5, 1e-2, 1.0, 10.0, 300.0 })
        expect_chi2_sphere(
            fmt::format("von Mises-Fisher {}", kappa),
            [&](const Vector2 &u) { return square_to_von_mises_fisher(u, kappa); },
            [&](const Vector3 &v) { return square_to_von_mises_fisher_pdf(v, kappa); },
            { .y0 = kappa > 100 ? 0.9 : -1, .y1 = 1, .ny = 40 });
}

TEST_P(BackendWarp, TentSamplesFollowTheirDensity) {
    expect_chi2_1d("tent", interval_to_tent, interval_to_tent_pdf, -1, 1);
}

TEST_P(BackendWarp, NormalSamplesFollowTheirDensity) {
    expect_chi2("normal", square_to_std_normal, square_to_std_normal_pdf, square(-6, 6));
}

TEST_P(BackendWarp, CornersOfTheSquareGiveFiniteUnitVectors) {
    double top = variant().double_precision ? 1 - 0x1p-53 : 1 - 0x1p-24;
    for (double a : { 0.0, 0.5, top })
        for (double b : { 0.0, 0.5, top }) {
            Vector2 u{ make({ a, a }), make({ b, b }) };
            for (const Vector3 &v :
                 { square_to_uniform_sphere(u), square_to_uniform_hemisphere(u),
                   square_to_cosine_hemisphere(u), square_to_uniform_cone(u, 0.9),
                   square_to_beckmann(u, 0.2), square_to_von_mises_fisher(u, 20) })
                EXPECT_NEAR(values(norm(v))[0], 1, 1e-5) << a << " " << b;
            for (const Vector2 &v : { square_to_uniform_disk_concentric(u),
                                      square_to_uniform_triangle(u), square_to_std_normal(u) })
                EXPECT_TRUE(std::isfinite(values(v.x + v.y)[0])) << a << " " << b;
        }
}

// The test itself must be able to fail.
TEST(Chi2, AWrongDensityIsRejected) {
    std::vector<double> x = uniform_numbers(5, 100000);
    std::vector<double> observed(50, 0), expected(50, 2000);
    for (double v : x)
        observed[size_t(50 * v * (0.95 + 0.05 * v))] += 1;
    EXPECT_LT(chi2_p_value(observed, expected), 1e-6);
    EXPECT_EQ(chi2_p_value({ 1, 99999 }, { 0, 100000 }), 0);
    EXPECT_NEAR(chi2_tail(3.841459, 1), 0.05, 1e-6);
    EXPECT_NEAR(chi2_tail(124.3421, 100), 0.05, 1e-6);
    EXPECT_NEAR(chi2_tail(77.9295, 100), 0.95, 1e-5);
}

} // namespace
} // namespace umbel
