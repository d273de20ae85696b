// tests/ad/memory_points_test.cpp: memory and whole-array operations at a thousand random points.
#include "support/gradient_check.h"
#include <algorithm>

using namespace umbel::jit;
using namespace umbel::ad;
using namespace umbel::test;

namespace {

class ThousandPoints : public AdTest {
protected:
    static constexpr uint32_t N = 1000;
    List x = random_points(1, N, 0.5, 2);

    // Far apart from each other, for what has kinks where two are equal; a step is 0.001.
    static List apart(uint64_t seed, double offset) {
        List v(N);
        for (uint32_t i = 0; i < N; ++i)
            v[i] = 0.01 * i + offset;
        std::shuffle(v.begin(), v.end(), std::mt19937_64(seed));
        return v;
    }
    // Each lane once, or four lanes an element.
    static UInt32 shuffled(uint32_t elements) {
        std::vector<uint32_t> v(N);
        for (uint32_t i = 0; i < N; ++i)
            v[i] = i % elements;
        std::shuffle(v.begin(), v.end(), std::mt19937_64(7));
        return copy(v);
    }
};

TEST_P(ThousandPoints, GathersAgreeWithDifferences) {
    expect_gradient("gather", [&](const Inputs &in) { return gather(in[0], shuffled(250)); },
                    { x });
    expect_gradient("gather_packet",
                    [&](const Inputs &in) {
                        auto p = gather_packet<double, 4>(in[0], shuffled(250));
                        return p[0] * p[1] + p[2] * p[3];
                    },
                    { x });
}

TEST_P(ThousandPoints, ScattersAgreeWithDifferences) {
    List before = random_points(3, 250, 0.5, 2);
    expect_gradient("scatter",
                    [&](const Inputs &in) {
                        Float64 target = in[0] * 2.0;
                        scatter(target, in[0] * in[0], shuffled(N), arange<uint32_t>(N) % 3u != 0u);
                        return target;
                    },
                    { x });
    expect_gradient("scatter_add",
                    [&](const Inputs &in) {
                        Float64 target = in[1] * in[1];
                        scatter_add(target, in[0] * in[0], shuffled(250));
                        return target;
                    },
                    { x, before });
    for (ReduceOp op : { ReduceOp::Min, ReduceOp::Max })
        expect_gradient(name(op),
                        [&](const Inputs &in) {
                            Float64 target = gather(in[1], arange<uint32_t>(250) * 4u);
                            scatter_reduce(op, target, in[0], shuffled(250));
                            return target * target;
                        },
                        { apart(4, 0), apart(5, 0.005) });
    expect_gradient("mul",
                    [&](const Inputs &in) {
                        Float64 target = in[1] * 1.0;
                        scatter_reduce(ReduceOp::Mul, target, in[0], shuffled(250));
                        return target;
                    },
                    { x, before });
}

TEST_P(ThousandPoints, ReductionsAgreeWithDifferences) {
    List near_one = random_points(6, N, 0.9, 1.1);
    expect_gradient("sum", [](const Inputs &in) { return sum(in[0] * in[0]); }, { x });
    expect_gradient("dot", [](const Inputs &in) { return dot(in[0], sin(in[0])); }, { x });
    expect_gradient("prod", [](const Inputs &in) { return prod(in[0]); }, { near_one });
    expect_gradient("minimum", [](const Inputs &in) { return minimum(in[0] * in[0]); },
                    { apart(8, 0.5) });
    expect_gradient("maximum", [](const Inputs &in) { return maximum(in[0] * in[0]); },
                    { apart(9, 0.5) });
    for (ReduceOp op : { ReduceOp::Add, ReduceOp::Mul, ReduceOp::Min, ReduceOp::Max })
        expect_gradient("block_reduce",
                        [&](const Inputs &in) { return Float64(block_reduce(op, in[0], 8)); },
                        { apart(10, 0.5) });
    expect_gradient("cumsum", [](const Inputs &in) { return cumsum(in[0] * in[0]); }, { x });
    expect_gradient("prefix_sum",
                    [](const Inputs &in) { return Float64(prefix_sum(in[0], true, 50)); }, { x });
}

TEST_P(ThousandPoints, LocalArraysAgreeWithDifferences) {
    UInt32 lane = arange<uint32_t>(N);
    expect_lanewise("local array",
                    [&](const Inputs &in) {
                        LocalArray<double> a(in[0], 4);
                        a.set(lane % 4u, in[0] * in[1]);
                        a.set((lane + 1u) % 4u, sin(in[1]));
                        return a.get(lane % 3u) * a.get((lane + 1u) % 4u);
                    },
                    { x, random_points(11, N, 0.5, 2) });
}

UMBEL_BACKENDS(ThousandPoints)

} // namespace
