// tests/plugins/orthogonal_test.cpp: all pairs of dimensions are stratified at once.
#include "support/sampler_points.h"

namespace umbel {
using namespace test;

namespace {

Ref<Sampler> orthogonal(int count, int strength) {
    return make_object<Sampler>(Properties("sampler", "orthogonal")
                                    .set("sample_count", int64_t(count))
                                    .set("strength", int64_t(strength)));
}

std::vector<std::vector<double>> coordinates(const Sampler &s, int dimensions) {
    SamplerState state = s.begin(jit::opaque(3u), jit::opaque(8u),
                                 UInt32(jit::lane_index(uint32_t(s.sample_count()))));
    std::vector<std::vector<double>> out;
    for (int d = 0; d < dimensions; ++d)
        out.push_back(values(s.next_1d(state)));
    return out;
}

} // namespace

class BackendOrthogonal : public VariantTest {};
UMBEL_VARIANTS(BackendOrthogonal, "interp_rgb", "llvm_rgb", "llvm_rgb_double")

TEST_P(BackendOrthogonal, CountsArePowersOfPrimes) {
    for (auto [asked, strength, want] : { std::array{ 4, 2, 4 },
                                          { 5, 2, 9 },
                                          { 26, 2, 49 },
                                          { 64, 2, 121 },
                                          { 9, 3, 27 },
                                          { 17, 4, 81 } })
        EXPECT_EQ(orthogonal(asked, strength)->sample_count(), want) << asked << " " << strength;
}

TEST_P(BackendOrthogonal, AnyTwoDimensionsAreStratified) {
    for (int base : { 2, 3, 5, 7 }) {
        int n = base * base, dimensions = (base + 1) / 2 * 2;
        auto u = coordinates(*orthogonal(n, 2), dimensions);
        for (int a = 0; a < dimensions; ++a) {
            EXPECT_EQ(occupied_cells(u[size_t(a)], u[size_t(a)], n, 1), size_t(n)) << base;
            for (int b = 0; b < a; ++b)
                EXPECT_EQ(occupied_cells(u[size_t(a)], u[size_t(b)], base, base), size_t(n))
                    << base << ": " << a << " and " << b;
        }
    }
}

TEST_P(BackendOrthogonal, WithStrengthThreeAnyThreeDimensionsAreStratified) {
    int base = 5, n = 125;
    auto u = coordinates(*orthogonal(n, 3), 6);
    for (size_t a = 0; a < 6; ++a) {
        EXPECT_EQ(occupied_cells(u[a], u[a], n, 1), size_t(n));
        for (size_t b = 0; b < a; ++b)
            for (size_t c = 0; c < b; ++c) {
                std::set<std::array<int, 3>> cells;
                for (size_t i = 0; i < u[a].size(); ++i)
                    cells.insert({ int(u[a][i] * base), int(u[b][i] * base), int(u[c][i] * base) });
                EXPECT_EQ(cells.size(), size_t(n)) << a << " " << b << " " << c;
            }
    }
}

TEST_P(BackendOrthogonal, PairsStayTogetherAndLaterOnesAreNotCorrelated) {
    // Dimensions beyond the array's: a pair begins the next block, in another order
    Ref<Sampler> s = orthogonal(11 * 11, 2);
    for (int skip : { 0, 5, 6, 20 }) {
        SampledPoints p = sampled_points(*s, 121, 1, 2, skip);
        EXPECT_EQ(occupied_cells(p.x, p.y, 11, 11), 121u) << skip;
    }
    auto u = coordinates(*s, 36);
    for (size_t a = 0; a < u.size(); ++a)
        for (size_t b = 0; b < a; ++b) {
            double sum = 0;
            for (size_t i = 0; i < 121; ++i)
                sum += (u[a][i] - 0.5) * (u[b][i] - 0.5);
            EXPECT_LT(std::abs(sum / 121 * 12), 5 / std::sqrt(121.0)) << a << " " << b;
        }
}

} // namespace umbel
