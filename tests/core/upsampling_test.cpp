// tests/core/upsampling_test.cpp: spectra of RGB colours have these colours, are smooth, and stay in [0, 1].
#include "core/spectra.h"
#include "core/upsampling.h"
#include "core/upsampling_fit.h"
#include "support/variant_fixture.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace umbel {
namespace {

Colour3 colour_of(const Colour3 &c) {
    return reflectance_to_srgb([&](double l) { return eval_coefficients(c, l); });
}

double distance(const Colour3 &a, const Colour3 &b) {
    return std::max({ std::abs(a[0] - b[0]), std::abs(a[1] - b[1]), std::abs(a[2] - b[2]) });
}

std::string text(const Colour3 &c) { return fmt::format("({}, {}, {})", c[0], c[1], c[2]); }

/// Largest and mean distance between random colours and those of their spectra.
std::pair<double, double> round_trip(Colour3 (*coefficients)(const Colour3 &), int n) {
    std::mt19937_64 rng(1);
    std::uniform_real_distribution<double> u(0, 1);
    double worst = 0, sum = 0;
    for (int i = 0; i < n; ++i) {
        Colour3 rgb = { u(rng), u(rng), u(rng) };
        double d = distance(rgb, colour_of(coefficients(rgb)));
        sum += d;
        worst = std::max(worst, d);
    }
    return { worst, sum / n };
}

TEST(Upsampling, SpectraHaveTheColoursThatTheyWereMadeFrom) {
    auto [worst, mean] = round_trip(rgb_to_coefficients, 20000);
    EXPECT_LT(worst, 1e-4);
    EXPECT_LT(mean, 1e-5);
}

TEST(Upsampling, SpectraOfTheTableAreNear) {
    auto [worst, mean] = round_trip(table_coefficients, 20000);
    EXPECT_LT(worst, 4e-3);
    EXPECT_LT(mean, 3e-4);
}

TEST(Upsampling, FitsReachTheirColours) {
    std::mt19937_64 rng(2);
    std::uniform_real_distribution<double> u(0.01, 0.99);
    for (int i = 0; i < 300; ++i) {
        Colour3 rgb = { u(rng), u(rng), u(rng) };
        EXPECT_LT(fit_upsampling(rgb).error, 1e-4) << text(rgb);
    }
}

TEST(Upsampling, GreysAreFlat) {
    for (double g : { 0.0, 0.01, 0.18, 0.5, 0.9, 1.0 }) {
        Colour3 c = rgb_to_coefficients({ g, g, g });
        for (double l = 360; l <= 830; l += 10)
            EXPECT_NEAR(eval_coefficients(c, l), g, 2e-6) << g;
    }
    // No jump where the table takes over
    Colour3 c = rgb_to_coefficients({ 0.5, 0.5, 0.4999 });
    for (double l = 360; l <= 830; l += 10)
        EXPECT_NEAR(eval_coefficients(c, l), 0.5, 2e-3) << l;
}

TEST(Upsampling, NeighbouringColoursHaveNeighbouringSpectra) {
    std::mt19937_64 rng(3);
    std::uniform_real_distribution<double> u(0, 1);
    for (int line = 0; line < 200; ++line) {
        Colour3 a = { u(rng), u(rng), u(rng) }, b = { u(rng), u(rng), u(rng) }, before = {};
        const int steps = 200;
        for (int i = 0; i <= steps; ++i) {
            double t = double(i) / steps;
            Colour3 rgb, now;
            for (size_t k = 0; k < 3; ++k)
                rgb[k] = (1 - t) * a[k] + t * b[k];
            Colour3 c = rgb_to_coefficients(rgb);
            for (size_t k = 0; k < 3; ++k)
                now[k] = eval_coefficients(c, 400 + 150 * double(k));
            if (i > 0) {
                EXPECT_LT(distance(now, before), 0.1) << text(rgb);
            }
            before = now;
        }
    }
}

TEST(Upsampling, CornersAndBadInputGiveFiniteSpectra) {
    for (double r : { 0.0, 1.0, -1.0, 2.0, double(NAN), double(INFINITY) })
        for (double g : { 0.0, 1.0, 1e-300 })
            for (double b : { 0.0, 1.0, double(NAN) }) {
                Colour3 c = rgb_to_coefficients({ r, g, b });
                for (double l : { 360.0, 550.0, 830.0 }) {
                    double s = eval_coefficients(c, l);
                    EXPECT_TRUE(s >= 0 && s <= 1) << text({ r, g, b });
                }
            }
    for (size_t i = 0; i < 8;
         ++i) { // the cube's corners are on the edge of what reflectances can do
        Colour3 rgb = { double(i & 1), double(i >> 1 & 1), double(i >> 2) };
        EXPECT_LT(distance(rgb, colour_of(rgb_to_coefficients(rgb))), 0.01) << text(rgb);
    }
}

TEST(Upsampling, UnboundedColoursAreScaled) {
    for (const Colour3 &rgb :
         { Colour3{ 17, 3, 0.5 }, { 0.001, 0.002, 0.0005 }, { 1e6, 1e6, 1e6 } }) {
        UnboundedCoefficients u = rgb_to_unbounded(rgb);
        Colour3 got = colour_of(u.c);
        for (size_t i = 0; i < 3; ++i)
            EXPECT_NEAR(got[i] * u.scale, rgb[i], 5e-4 * u.scale) << i;
    }
    EXPECT_EQ(rgb_to_unbounded({ 0, 0, 0 }).scale, 0);
}

TEST(Upsampling, TheWhiteOfTheTablesIsNearlyTheNominalOne) {
    EXPECT_LT(distance(xyz_to_srgb(d65_xyz()), { 1, 1, 1 }), 6e-4) << text(xyz_to_srgb(d65_xyz()));
}

class BackendUpsampling : public test::VariantTest {};
UMBEL_VARIANTS(BackendUpsampling, "interp_spectral", "llvm_spectral", "llvm_spectral_double")

TEST_P(BackendUpsampling, TracedSpectraAgreeWithTheHost) {
    std::vector<double> l;
    for (double w = 360; w <= 830; w += 2.5)
        l.push_back(w);
    double eps = variant().double_precision ? 1e-12 : 2e-5;
    for (const Colour3 &rgb : { Colour3{ 0.9, 0.1, 0.2 }, { 1, 0, 0 }, { 0.01, 0.02, 0.7 } }) {
        Colour3 c = rgb_to_coefficients(rgb);
        std::vector<double> got =
            test::values(eval_coefficients(Vector3(c[0], c[1], c[2]), test::make(l)));
        for (size_t i = 0; i < l.size(); ++i)
            EXPECT_NEAR(got[i], eval_coefficients(c, l[i]), eps) << l[i];
    }
}

TEST(Upsampling, CoefficientsFollowTheirColour) {
    for (const Colour3 &rgb : { Colour3{ 0.6, 0.3, 0.2 }, { 0.2, 0.7, 0.75 }, { 0.4, 0.4, 0.4 } }) {
        ColourMatrix by = coefficients_by_rgb(rgb_to_coefficients(rgb));
        for (size_t k = 0; k < 3; ++k) {
            const double h = 2e-3;
            Colour3 more = rgb, less = rgb;
            more[k] += h;
            less[k] -= h;
            Colour3 a = rgb_to_coefficients(more), b = rgb_to_coefficients(less);
            for (size_t i = 0; i < 3; ++i)
                EXPECT_NEAR(by[i][k], (a[i] - b[i]) / (2 * h), 2e-3 * (1 + std::abs(by[i][k])))
                    << rgb[0] << " " << i << " " << k;
        }
    }
}

// Except at the corners of the cube, where spectra have steep edges.
TEST_P(BackendUpsampling, MeansAreThoseOfFineSteps) {
    std::mt19937_64 rng(2);
    std::uniform_real_distribution<double> u(0.02, 0.98);
    for (int i = 0; i < 30; ++i) {
        Colour3 c = rgb_to_coefficients({ u(rng), u(rng), u(rng) });
        double want = 0;
        for (int k = 0; k < 4700; ++k)
            want += eval_coefficients(c, 360 + (k + 0.5) / 10) / 4700;
        Vector3 traced(opaque_float(c[0]), opaque_float(c[1]), opaque_float(c[2]));
        EXPECT_NEAR(test::values(mean_of_coefficients(traced))[0], want, 1e-4);
    }
}

} // namespace
} // namespace umbel
