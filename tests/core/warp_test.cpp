// tests/core/warp_test.cpp: every warp samples the density that it states, and its inverse undoes it.
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
    expect_chi2("polar disk", square_to_uniform_disk, square_to_uniform_disk_pdf, o);
    expect_chi2(
        "concentric square", square_to_uniform_square_concentric,
        [](const Vector2 &) { return Float(1); }, square(0, 1));
}

TEST_P(BackendWarp, SphereSamplesFollowTheirDensity) {
    expect_chi2_sphere("sphere", square_to_uniform_sphere,
                       [](const Vector3 &v) { return square_to_uniform_sphere_pdf(v); });
}

TEST_P(BackendWarp, LuneSamplesFollowTheirDensity) {
    // Normals whose planes meet along z, so that the lunes fill whole bins, and others
    Vector3 x{ 1, 0, 0 }, y{ 0, 1, 0 };
    expect_chi2_sphere(
        "quarter lunes",
        [&](const Vector2 &u) { return square_to_uniform_spherical_lune(u, x, y); },
        [&](const Vector3 &v) { return square_to_uniform_spherical_lune_pdf(v, x, y); });
    Vector3 a = normalize(Vector3(1, 0.2, 0.1)), b = normalize(Vector3(0.7, 1, -0.4));
    expect_chi2_sphere(
        "lunes", [&](const Vector2 &u) { return square_to_uniform_spherical_lune(u, a, b); },
        [&](const Vector3 &v) { return square_to_uniform_spherical_lune_pdf(v, a, b); },
        { .y0 = -1, .y1 = 1, .nx = 12, .ny = 12, .subdivisions = 200 });
}

TEST_P(BackendWarp, TangentsArePerpendicularAndUniform) {
    Vector3 n = normalize(Vector3(0.3, -0.5, -0.8));
    Float u = make(uniform_numbers(3, 1000));
    Vector3 t = interval_to_tangent_direction(n, u);
    std::vector<double> want = values(u), got = values(tangent_direction_to_interval(n, t)),
                        cosine = values(dot(t, n)), length = values(norm(t));
    for (size_t i = 0; i < want.size(); ++i) {
        EXPECT_NEAR(got[i], want[i], 1e-6);
        EXPECT_NEAR(cosine[i], 0, 1e-6);
        EXPECT_NEAR(length[i], 1, 1e-6);
    }
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

TEST_P(BackendWarp, GgxSamplesFollowTheirDensity) {
    for (double alpha : { 0.1, 0.3, 1.0 })
        expect_chi2_sphere(
            "ggx", [&](const Vector2 &u) { return square_to_ggx(u, alpha); },
            [&](const Vector3 &m) { return square_to_ggx_pdf(m, alpha); },
            { .y0 = 0, .y1 = 1, .nx = 12, .ny = 80, .subdivisions = 32 });
}

TEST_P(BackendWarp, VisibleGgxSamplesFollowTheirDensity) {
    for (Vector3 wi : { Vector3(0, 0, 1), Vector3(0.6, 0, 0.8), Vector3(-0.6, 0.75, 0.2) })
        for (auto [au, av] : { std::pair{ 0.5, 0.5 }, { 0.25, 0.8 } })
            expect_chi2_sphere(
                "visible ggx",
                [&, au = au, av = av](const Vector2 &u) {
                    return square_to_ggx_visible(u, normalize(wi), au, av);
                },
                [&, au = au, av = av](const Vector3 &m) {
                    return square_to_ggx_visible_pdf(m, normalize(wi), au, av);
                },
                { .y0 = 0, .y1 = 1, .subdivisions = 32 });
}

TEST_P(BackendWarp, HenyeyGreensteinSamplesFollowTheirDensity) {
    for (double g : { 0.0, 1e-4, 0.3, -0.6, 0.9 })
        expect_chi2_sphere(
            fmt::format("Henyey-Greenstein {}", g),
            [&](const Vector2 &u) { return square_to_hg(u, g); },
            [&](const Vector3 &v) { return square_to_hg_pdf(v, g); },
            { .y0 = -1, .y1 = 1, .nx = 12, .ny = 80, .subdivisions = 32 });
    // The mean cosine is g
    for (double g : { -0.75, 0.5 }) {
        double sum = 0;
        for (double z :
             values(square_to_hg(
                        { make(uniform_numbers(1, 100000)), make(uniform_numbers(2, 100000)) }, g)
                        .z))
            sum += z;
        EXPECT_NEAR(sum / 1e5, g, 5e-3);
    }
}

TEST_P(BackendWarp, RoughFiberSamplesFollowTheirDensity) {
    Vector3 wi = normalize(Vector3(0.4, -0.3, 0.6)), tangent = normalize(Vector3(0.2, 0.1, 1));
    Chi2 o{ .y0 = -1, .y1 = 1, .subdivisions = 24 };
    Float third = make(uniform_numbers(77, o.samples));
    for (double kappa : { 1e-5, 1.0, 20.0, 100.0 })
        expect_chi2_sphere(
            fmt::format("rough fiber {}", kappa),
            [&](const Vector2 &u) {
                return square_to_rough_fiber({ u.x, u.y, third }, wi, tangent, kappa);
            },
            [&](const Vector3 &v) { return square_to_rough_fiber_pdf(v, wi, tangent, kappa); }, o);
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
    expect_chi2("square tent", square_to_tent, square_to_tent_pdf, square(-1, 1));
    for (double b : { -1.0, -0.25, 2.0 })
        expect_chi2_1d(
            "lopsided tent",
            [&](const Float &u) { return interval_to_nonuniform_tent(-1, b, 2, u); },
            [&](const Float &x) { return interval_to_nonuniform_tent_pdf(-1, b, 2, x); }, -1, 2);
}

TEST_P(BackendWarp, LinearSamplesFollowTheirDensity) {
    for (auto [a, b] : { std::pair{ 1.0, 1.0 }, { 0.0, 2.0 }, { 3.0, 0.0 }, { 0.5, 0.51 } })
        expect_chi2_1d(
            "linear", [&, a = a, b = b](const Float &u) { return interval_to_linear(a, b, u); },
            [&, a = a, b = b](const Float &x) { return interval_to_linear_pdf(a, b, x); }, 0, 1);
}

TEST_P(BackendWarp, BilinearSamplesFollowTheirDensity) {
    for (std::array<double, 4> v :
         { std::array{ 1.0, 1.0, 1.0, 1.0 }, std::array{ 1.0, 2.0, 3.0, 4.0 },
           std::array{ 0.0, 0.0, 0.0, 5.0 }, std::array{ 2.0, 0.0, 0.0, 1.0 } })
        expect_chi2(
            "bilinear",
            [&](const Vector2 &u) { return square_to_bilinear(v[0], v[1], v[2], v[3], u).first; },
            [&](const Vector2 &p) { return square_to_bilinear_pdf(v[0], v[1], v[2], v[3], p); },
            square(0, 1));
}

TEST_P(BackendWarp, NormalSamplesFollowTheirDensity) {
    expect_chi2("normal", square_to_std_normal, square_to_std_normal_pdf, square(-6, 6));
}

TEST_P(BackendWarp, InversesUndoTheirWarps) {
    // Away from the square's edges: there an angle may come back a full turn off
    std::vector<double> x, y;
    for (double v : uniform_numbers(11, 2000))
        x.push_back(0.02 + 0.96 * v);
    for (double v : uniform_numbers(12, 2000))
        y.push_back(0.02 + 0.96 * v);
    Vector2 u{ make(x), make(y) };
    double eps = variant().double_precision ? 1e-11 : 2e-4;
    auto same = [&](const char *what, const Vector2 &back) {
        std::vector<double> bx = values(back.x), by = values(back.y);
        for (size_t i = 0; i < x.size(); ++i)
            ASSERT_TRUE(std::abs(bx[i] - x[i]) < eps && std::abs(by[i] - y[i]) < eps)
                << what << ": (" << x[i] << ", " << y[i] << ") became (" << bx[i] << ", " << by[i]
                << "), variant " << variant().name;
    };
    same("polar disk", uniform_disk_to_square(square_to_uniform_disk(u)));
    same("disk", uniform_disk_to_square_concentric(square_to_uniform_disk_concentric(u)));
    same("triangle", uniform_triangle_to_square(square_to_uniform_triangle(u)));
    same("tent", tent_to_square(square_to_tent(u)));
    same("normal", std_normal_to_square(square_to_std_normal(u)));
    same("linear", { linear_to_interval(1, 3, interval_to_linear(1, 3, u.x)),
                     linear_to_interval(2, 2, interval_to_linear(2, 2, u.y)) });
    auto [p, pdf] = square_to_bilinear(1, 2, 0.5, 3, u);
    auto [back, same_pdf] = bilinear_to_square(1, 2, 0.5, 3, p);
    same("bilinear", back);
    EXPECT_NEAR(values(pdf)[7], values(same_pdf)[7], 1e-6);
    same("sphere", uniform_sphere_to_square(square_to_uniform_sphere(u)));
    same("hemisphere", uniform_hemisphere_to_square(square_to_uniform_hemisphere(u)));
    same("cosine", cosine_hemisphere_to_square(square_to_cosine_hemisphere(u)));
    for (double c : { -0.5, 0.25, 0.9 })
        same("cone", uniform_cone_to_square(square_to_uniform_cone(u, c), c));
    Vector3 a = normalize(Vector3(1, 0.2, 0.1)), b = normalize(Vector3(-0.3, 1, 0.4));
    same("lunes",
         uniform_spherical_lune_to_square(square_to_uniform_spherical_lune(u, a, b), a, b));
    for (double alpha : { 0.2, 1.0 }) {
        same("beckmann", beckmann_to_square(square_to_beckmann(u, alpha), alpha));
        same("ggx", ggx_to_square(square_to_ggx(u, alpha), alpha));
    }
    for (double kappa : { 0.0, 0.5, 10.0 })
        same("von Mises-Fisher",
             von_mises_fisher_to_square(square_to_von_mises_fisher(u, kappa), kappa));
    for (double g : { 0.0, 1e-3, 0.5, -0.7 })
        same("Henyey-Greenstein", hg_to_square(square_to_hg(u, g), g));
}

TEST_P(BackendWarp, CornersOfTheSquareGiveFiniteUnitVectors) {
    double top = variant().double_precision ? 1 - 0x1p-53 : 1 - 0x1p-24;
    for (double a : { 0.0, 0.5, top })
        for (double b : { 0.0, 0.5, top }) {
            Vector2 u{ make({ a, a }), make({ b, b }) };
            for (const Vector3 &v :
                 { square_to_uniform_sphere(u), square_to_uniform_hemisphere(u),
                   square_to_cosine_hemisphere(u), square_to_uniform_cone(u, 0.9),
                   square_to_beckmann(u, 0.2), square_to_von_mises_fisher(u, 20),
                   square_to_ggx(u, 0.2), square_to_hg(u, 0.9), square_to_hg(u, 0),
                   square_to_ggx_visible(u, Vector3(0.6, 0, 0.8), 0.2, 0.1),
                   square_to_ggx_visible(u, Vector3(0, 0, 1), 0.2, 0.1) })
                EXPECT_NEAR(values(norm(v))[0], 1, 1e-5) << a << " " << b;
            for (const Vector2 &v :
                 { square_to_uniform_disk_concentric(u),
                   uniform_disk_to_square_concentric(square_to_uniform_disk_concentric(u)),
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
