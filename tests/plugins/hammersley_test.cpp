// tests/plugins/hammersley_test.cpp: points of equal distance in the first dimension.
#include "support/sampler_points.h"

namespace umbel {
using namespace test;

class BackendHammersley : public VariantTest {};
UMBEL_VARIANTS(BackendHammersley, "interp_rgb", "llvm_rgb", "llvm_rgb_double")

TEST_P(BackendHammersley, FirstCoordinatesHaveEqualDistances) {
    Ref<Sampler> s = make_sampler("hammersley", 20);
    for (uint32_t pixel : { 1u, 2u }) {
        SampledPoints p = sampled_points(*s, 20, 3, pixel, 0);
        for (size_t i = 0; i + 1 < p.x.size(); ++i) {
            double step = p.x[i + 1] - p.x[i];
            EXPECT_NEAR(step < 0 ? step + 1 : step, 0.05, 1e-6);
        }
    }
}

TEST_P(BackendHammersley, SecondCoordinatesAreHaltonsFirst) {
    Ref<Sampler> hammersley = make_sampler("hammersley", 32), halton = make_sampler("halton", 32);
    EXPECT_EQ(sampled_points(*hammersley, 32, 3, 4, 0).y, sampled_points(*halton, 32, 3, 4, 0).x);
    EXPECT_EQ(sampled_points(*hammersley, 32, 3, 4, 1).x, sampled_points(*halton, 32, 3, 4, 0).y);
}

TEST_P(BackendHammersley, PointsOfAPixelAreEvenlySpread) {
    // 2^m points: all columns of the first coordinate, and all intervals of the second
    SampledPoints p = sampled_points(*make_sampler("hammersley", 64), 64, 3, 4, 0);
    EXPECT_EQ(occupied_cells(p.y, p.y, 64, 1), 64u);
    // A rotation moves points between at most two elementary intervals of a column
    EXPECT_GE(occupied_cells(p.x, p.y, 8, 8), 48u);
}

} // namespace umbel
