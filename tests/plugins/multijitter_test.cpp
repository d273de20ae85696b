// tests/plugins/multijitter_test.cpp: each cell has a point, and so has each strip.
#include "support/sampler_points.h"

namespace umbel {
using namespace test;

class BackendMultiJitter : public VariantTest {};
UMBEL_VARIANTS(BackendMultiJitter, "interp_rgb", "llvm_rgb", "llvm_rgb_double")

TEST_P(BackendMultiJitter, CellsAndStripsHaveOnePointEach) {
    // The count becomes a product of numbers that differ little, as in Mitsuba 3
    for (auto [asked, rows, columns] : { std::array{ 36, 6, 6 }, { 8, 2, 4 }, { 21, 4, 6 } }) {
        Ref<Sampler> s = make_sampler("multijitter", asked);
        int n = rows * columns;
        ASSERT_EQ(s->sample_count(), n);
        for (int skip : { 0, 3 }) {
            SampledPoints p = sampled_points(*s, uint32_t(n), 7, 11, skip);
            EXPECT_EQ(occupied_cells(p.x, p.y, columns, rows), size_t(n));
            EXPECT_EQ(occupied_cells(p.x, p.y, n, 1), size_t(n));
            EXPECT_EQ(occupied_cells(p.x, p.y, 1, n), size_t(n));
            EXPECT_EQ(occupied_cells(p.one, p.one, n, 1), size_t(n));
        }
    }
}

TEST_P(BackendMultiJitter, WithoutJitterPointsLieInTheMiddleOfTheirStrips) {
    Ref<Sampler> s = make_object<Sampler>(
        Properties("sampler", "multijitter").set("sample_count", int64_t(16)).set("jitter", false));
    SampledPoints p = sampled_points(*s, 16, 1, 2, 0);
    for (double x : p.x)
        EXPECT_NEAR(x * 16 - std::floor(x * 16), 0.5, 1e-5);
}

} // namespace umbel
