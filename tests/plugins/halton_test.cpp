// tests/plugins/halton_test.cpp: a pixel's samples are a stretch of Halton's sequence.
#include "support/sampler_points.h"

namespace umbel {
using namespace test;

class BackendHalton : public VariantTest {
protected:
    static Ref<Sampler> halton(int scramble) {
        return make_object<Sampler>(
            Properties("sampler", "halton").set("scramble", int64_t(scramble)));
    }
    /// Coordinate `dimension` of the first `n` samples of a pixel.
    static std::vector<double> coordinate(const Sampler &s, uint32_t n, uint32_t seed,
                                          uint32_t dimension) {
        SamplerState state =
            s.begin(jit::opaque(seed), jit::opaque(3u), UInt32(jit::lane_index(n)));
        state.dimension = jit::opaque(dimension);
        return values(s.next_1d(state));
    }
};
UMBEL_VARIANTS(BackendHalton, "interp_rgb", "llvm_rgb", "llvm_rgb_double")

TEST_P(BackendHalton, EachStretchOfPowersOfABaseFillsItsIntervals) {
    for (int scramble : { -1, 0, 5 }) {
        Ref<Sampler> s = halton(scramble);
        for (uint32_t seed : { 1u, 2u })
            for (auto [dimension, base] :
                 { std::pair{ 0u, 2 }, { 1u, 3 }, { 2u, 5 }, { 30u, 127 } }) {
                int n = base;
                while (n * base <= 1024)
                    n *= base;
                std::vector<double> x = coordinate(*s, uint32_t(n), seed, dimension);
                EXPECT_EQ(occupied_cells(x, x, n, 1), size_t(n)) << base << " " << scramble;
            }
        // Two dimensions at once
        SampledPoints p = sampled_points(*s, 8 * 27, 3, 4, 0);
        EXPECT_EQ(occupied_cells(p.x, p.y, 8, 27), 8u * 27u);
    }
}

TEST_P(BackendHalton, WithoutScramblingPointsFollowEachOtherAsInTheSequence) {
    // The radical inverse in base 2 of i + 1 follows from that of i
    std::vector<double> x = coordinate(*halton(0), 64, 1, 0);
    double tolerance = variant().double_precision ? 1e-9 : 1e-6;
    for (size_t i = 0; i + 1 < x.size(); ++i) {
        double u = x[i], step = 0.5;
        while (u >= step) { // carry
            u -= step;
            step /= 2;
        }
        EXPECT_NEAR(x[i + 1], u + step, tolerance) << i;
    }
}

TEST_P(BackendHalton, BeyondItsTablesNumbersAreIndependent) {
    Ref<Sampler> s = halton(-1);
    std::vector<double> x = coordinate(*s, 4096, 1, 1024), y = coordinate(*s, 4096, 1, 3000);
    double n = double(occupied_cells(x, y, 64, 64));
    EXPECT_NEAR(n, 4096 * (1 - std::exp(-1.0)), 150);
}

TEST_P(BackendHalton, OtherSeedsCompileNothing) {
    jit::Context &c = variant().context();
    Ref<Sampler> s = halton(-1), other = halton(0);
    coordinate(*s, 64, 1, 5);
    c.set(jit::Flag::History, true);
    std::vector<double> a = coordinate(*s, 64, 2, 7), b = coordinate(*other, 64, 2, 7);
    c.set(jit::Flag::History, false);
    for (const jit::KernelRecord &k : c.take_history())
        EXPECT_TRUE(k.memory_hit) << k.name;
    EXPECT_NE(a, b);
}

TEST(HaltonErrors, ScramblingHasABound) {
    VariantScope scope(find_variant("interp_rgb"));
    EXPECT_THROW(make_object<Sampler>(Properties("sampler", "halton").set("scramble", int64_t(-2))),
                 UserError);
}

} // namespace umbel
