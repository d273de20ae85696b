// tests/plugins/independent_test.cpp: random numbers without any order.
#include "support/scenes.h"

namespace umbel {
using namespace test;

class BackendIndependent : public VariantTest {};
UMBEL_VARIANTS(BackendIndependent, "interp_rgb", "llvm_rgb_double")

TEST_P(BackendIndependent, SamplesAreUniformAndUncorrelated) {
    Ref<Sampler> sampler = make_object<Sampler>(Properties("sampler", "independent"));
    uint32_t n = 1 << 16;
    UInt32 lane(jit::lane_index(n));
    SamplerState s = sampler->begin(jit::opaque(3u), lane >> UInt32(4u), lane & UInt32(15u));
    Vector2 a = sampler->next_2d(s);
    Float b = sampler->next_1d(s);
    std::vector<double> v[3] = { read_floats(a.x), read_floats(a.y), read_floats(b) };
    double bound = 4 / std::sqrt(double(n));
    for (int i = 0; i < 3; ++i) {
        double mean = 0, square = 0, next = 0, cross = 0;
        for (size_t k = 0; k < n; ++k) {
            double x = (v[i][k] - 0.5) * std::sqrt(12.0);
            mean += x / n;
            square += x * x / n;
            next += x * (v[i][(k + 1) % n] - 0.5) * std::sqrt(12.0) / n;
            cross += x * (v[(i + 1) % 3][k] - 0.5) * std::sqrt(12.0) / n;
        }
        EXPECT_LT(std::abs(mean), bound) << i;
        EXPECT_LT(std::abs(square - 1), bound) << i;
        EXPECT_LT(std::abs(next), bound) << "neighbours, " << i;
        EXPECT_LT(std::abs(cross), bound) << "dimensions, " << i;
    }
}

} // namespace umbel
