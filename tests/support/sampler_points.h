// support/sampler_points.h: points of a pixel's samples, and which parts of the square they occupy.
#pragma once
#include "support/scenes.h"
#include <set>

namespace umbel::test {

inline Ref<Sampler> make_sampler(const std::string &type, int count) {
    return make_object<Sampler>(Properties("sampler", type).set("sample_count", int64_t(count)));
}

struct SampledPoints {
    std::vector<double> x, y; // of a request for two numbers
    std::vector<double> one;  // of the request for one after it
};
/// Of `n` samples of a pixel, after `skip` requests for two numbers.
inline SampledPoints sampled_points(const Sampler &s, uint32_t n, uint32_t seed, uint32_t pixel,
                                    int skip) {
    SamplerState state = s.begin(jit::opaque(seed), jit::opaque(pixel), UInt32(jit::lane_index(n)));
    for (int i = 0; i < skip; ++i)
        s.next_2d(state);
    Vector2 p = s.next_2d(state);
    Float one = s.next_1d(state);
    SampledPoints out{ values(p.x), values(p.y), values(one) };
    for (const std::vector<double> *v : { &out.x, &out.y, &out.one })
        for (double u : *v)
            EXPECT_TRUE(u >= 0 && u < 1) << u;
    return out;
}

/// How many cells of a grid have a point.
inline size_t occupied_cells(const std::vector<double> &x, const std::vector<double> &y,
                             int columns, int rows) {
    std::set<std::pair<int, int>> cells;
    for (size_t i = 0; i < x.size(); ++i)
        cells.insert({ int(x[i] * columns), int(y[i] * rows) });
    return cells.size();
}

/// Whether each elementary interval of 2^m points has one of them.
inline void expect_net(const std::vector<double> &x, const std::vector<double> &y) {
    for (int columns = 1; columns <= int(x.size()); columns *= 2)
        EXPECT_EQ(occupied_cells(x, y, columns, int(x.size()) / columns), x.size())
            << columns << " columns";
}

} // namespace umbel::test
