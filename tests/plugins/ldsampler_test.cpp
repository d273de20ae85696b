// tests/plugins/ldsampler_test.cpp: scrambled points are nets, up to a dimension.
#include "support/sampler_points.h"

namespace umbel {
using namespace test;

class BackendLdSampler : public VariantTest {};
UMBEL_VARIANTS(BackendLdSampler, "interp_rgb", "llvm_rgb", "llvm_rgb_double")

TEST_P(BackendLdSampler, PointsAreNetsInEachPairOfDimensions) {
    for (int n : { 4, 32, 256 }) {
        Ref<Sampler> s = make_sampler("ldsampler", n - 1);
        ASSERT_EQ(s->sample_count(), n);
        for (int skip : { 0, 1, 30 }) {
            SampledPoints p = sampled_points(*s, uint32_t(n), 5, 9, skip);
            expect_net(p.x, p.y);
            EXPECT_EQ(occupied_cells(p.one, p.one, n, 1), size_t(n));
        }
    }
}

TEST_P(BackendLdSampler, BeyondTheGivenDimensionNumbersAreIndependent) {
    Ref<Sampler> s = make_object<Sampler>(Properties("sampler", "ldsampler")
                                              .set("sample_count", int64_t(1024))
                                              .set("dimension", int64_t(2)));
    SampledPoints last = sampled_points(*s, 1024, 5, 9, 1),
                  next = sampled_points(*s, 1024, 5, 9, 2);
    expect_net(last.x, last.y);
    // Of 1024 random points, 1 - 1/e of the intervals have one: 647 +- 10
    EXPECT_NEAR(double(occupied_cells(next.x, next.y, 32, 32)), 647, 60);
    // Requests for one number are counted by themselves
    EXPECT_EQ(occupied_cells(next.one, next.one, 1024, 1), 1024u);
}

TEST_P(BackendLdSampler, DimensionsAreNotCorrelated) {
    Ref<Sampler> s = make_sampler("ldsampler", 1024);
    std::vector<std::vector<double>> d;
    for (int skip = 0; skip < 5; ++skip) {
        SampledPoints p = sampled_points(*s, 1024, 1, 2, skip);
        d.insert(d.end(), { p.x, p.y });
    }
    for (size_t a = 0; a < d.size(); ++a)
        for (size_t b = 0; b < a; ++b) {
            double sum = 0;
            for (size_t i = 0; i < 1024; ++i)
                sum += (d[a][i] - 0.5) * (d[b][i] - 0.5);
            EXPECT_LT(std::abs(sum / 1024 * 12), 5 / std::sqrt(1024.0)) << a << " " << b;
        }
}

} // namespace umbel
