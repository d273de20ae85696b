// tests/ad/memory_test.cpp: gathers, scatters, local arrays, reductions and prefix sums.
#include "support/gradient_check.h"

using namespace umbel::jit;
using namespace umbel::ad;
using namespace umbel::test;

namespace {

class Memory : public AdTest {
protected:
    List table = random_points(1, 8, 0.5, 2), lanes = random_points(2, 11, 0.5, 2);
    std::vector<uint32_t> repeated{ 0, 3, 3, 7, 1, 3, 0, 5, 5, 2, 3 };
    std::vector<uint32_t> distinct{ 4, 9, 0, 12, 7, 2, 10, 1, 14, 5, 3 };
    Mask most() { return arange<uint32_t>(11) != 4u; }
};

// ---- gathers

TEST_P(Memory, GatherSumsWhatItsLanesGive) {
    expect_gradient("gather",
                    [&](const Inputs &in) { return gather(in[0], copy(repeated)) * in[1]; },
                    { table, lanes });
    expect_gradient("masked gather",
                    [&](const Inputs &in) { return gather(in[0], copy(repeated), most()) * in[1]; },
                    { table, lanes });
    expect_gradient("gather of computed values",
                    [&](const Inputs &in) {
                        Float64 t = in[0] * in[0];
                        return gather(t, copy(repeated)) + gather(t, copy(repeated) ^ 1u) * 2.0 +
                               sin(gather(t, 2u));
                    },
                    { table });
    expect_gradient("gather from one element",
                    [&](const Inputs &in) {
                        return gather(in[0] * in[0], copy(std::vector<uint32_t>(11, 0))) * in[1];
                    },
                    { { 1.5 }, lanes });
    expect_gradient(
        "gather besides lane by lane",
        [&](const Inputs &in) { return gather(in[0], arange<uint32_t>(8) ^ 3u) * in[0]; },
        { table });
}

TEST_P(Memory, AnIndexOfTheGradientOutsideTheMaskIsNotTouched) {
    Float64 t = copy(List{ 1, 2, 3 });
    enable_grad(t);
    Float64 y =
        gather(t, copy(std::vector<uint32_t>{ 0, 1000000000, 2 }), arange<uint32_t>(3) != 1u);
    backward(y);
    EXPECT_EQ(grad(t).read(), (List{ 1, 0, 1 }));
}

TEST_P(Memory, PacketGatherSumsWhatItsLanesGive) {
    for (uint32_t n : { 2u, 4u }) {
        UInt32 index = copy(repeated) % (8 / n);
        auto packet = [&](const Inputs &in, const Mask &mask) {
            std::vector<Value> v = gather_packet(in[0], index, n, mask);
            Float64 y = 0.0;
            for (uint32_t i = 0; i < n; ++i)
                y += Float64(v[i]) * Float64(v[(i + 1) % n]) * double(i + 1);
            return y * in[1];
        };
        expect_gradient("packet", [&](const Inputs &in) { return packet(in, true); },
                        { table, lanes });
        expect_gradient("masked packet", [&](const Inputs &in) { return packet(in, most()); },
                        { table, lanes });
    }
    // Only one of the elements is used
    expect_gradient("part of a packet",
                    [&](const Inputs &in) {
                        return Float64(gather_packet(in[0], copy(repeated) % 2u, 4, Mask(true))[2]);
                    },
                    { table });
}

// A wide gather's gradient in one precision agrees with the exact sums, whatever reduction served.
TEST_P(Memory, ManyLanesOntoFewElements) {
    const uint32_t n = 100000, cells = 37;
    Float64 t = copy(random_points(4, cells, 0, 1));
    enable_grad(t);
    UInt32 index = (arange<uint32_t>(n) * 7919u) % cells;
    Float64 y = gather(t, index) * Float64(arange<uint32_t>(n) % 5u);
    backward(y);
    List want(cells, 0), got = grad(t).read();
    for (uint32_t i = 0; i < n; ++i)
        want[uint32_t(i * 7919u) % cells] += i % 5;
    EXPECT_EQ(got, want);
}

// ---- scatters

// Threads store in any order; whoever wins has the value, and its derivative.
TEST_P(Memory, TheLaneWhoseValueIsStoredHasTheGradient) {
    constexpr uint32_t Lanes = 1 << 18, Cells = 3;
    for (int repetition = 0; repetition < 10; ++repetition) {
        Float64 x = arange<double>(Lanes);
        enable_grad(x);
        Float64 target = opaque(zeros<double>(Cells));
        scatter(target, x * 1.0, arange<uint32_t>(Lanes) % Cells);
        std::vector<double> stored = Float64(detach(target)).read();
        Float64 total = sum(target);
        backward(total);
        std::vector<double> g = Float64(grad(x)).read();
        for (double lane : stored)
            EXPECT_EQ(g[size_t(lane)], 1);
        EXPECT_EQ(std::count(g.begin(), g.end(), 0.0), Lanes - Cells);
    }
}

TEST_P(Memory, ScatterStoreReplacesTheTargetsGradient) {
    List target = random_points(7, 15, 0.5, 2);
    expect_gradient("store",
                    [&](const Inputs &in) {
                        Float64 t = in[0] * in[0];
                        scatter(t, in[1] * in[1], copy(distinct));
                        return t * t;
                    },
                    { target, lanes });
    expect_gradient("masked store",
                    [&](const Inputs &in) {
                        Float64 t = in[0] * in[0];
                        scatter(t, in[1], copy(distinct), most());
                        return sin(t);
                    },
                    { target, lanes });
    expect_gradient("store of one value",
                    [&](const Inputs &in) {
                        Float64 t = in[0] * in[0];
                        scatter(t, in[1], copy(distinct));
                        return sin(t);
                    },
                    { target, { 0.7 } });
    expect_gradient("store into constants",
                    [&](const Inputs &in) {
                        Float64 t = zeros<double>(15);
                        scatter(t, in[0], copy(distinct));
                        return sin(t) + t;
                    },
                    { lanes });
    expect_gradient("two stores",
                    [&](const Inputs &in) {
                        Float64 t = in[0] + 0.0;
                        scatter(t, in[1], copy(distinct));
                        scatter(t, in[1] * in[1], (copy(distinct) + 1u) % 15u);
                        return sin(t);
                    },
                    { target, lanes });
}

// Which lane wins a cell is not fixed: it is the one whose value is found there. The others wrote in vain.
TEST_P(Memory, LanesThatWereOverwrittenGetNoGradient) {
    for (bool masked : { false, true }) {
        Float64 before = copy(table), x = copy(lanes);
        enable_grad(before);
        enable_grad(x);
        Float64 t = before + 0.0;
        UInt32 lane = arange<uint32_t>(uint32_t(lanes.size()));
        scatter(t, x * x, copy(repeated), masked ? lane != 10u : Mask(true));
        List stored = Float64(detach(t)).read();
        Float64 total = sum(t * t);
        backward(total);
        List of_lanes = Float64(grad(x)).read(), of_table = Float64(grad(before)).read();
        std::vector<int> hits(table.size(), 0), winners(table.size(), 0);
        for (size_t i = 0; i < lanes.size(); ++i) {
            uint32_t cell = repeated[i];
            bool writes = !(masked && i == 10),
                 wins = writes && stored[cell] == lanes[i] * lanes[i];
            hits[cell] += writes;
            winners[cell] += wins;
            EXPECT_NEAR(of_lanes[i], wins ? 4 * std::pow(lanes[i], 3) : 0, 1e-12) << i;
        }
        for (size_t c = 0; c < table.size(); ++c) {
            EXPECT_EQ(winners[c], hits[c] > 0) << c;
            EXPECT_NEAR(of_table[c], hits[c] ? 0 : 2 * table[c], 1e-12) << c;
        }
    }
}

TEST_P(Memory, ScatterAddKeepsTheTargetsGradient) {
    expect_gradient("add",
                    [&](const Inputs &in) {
                        Float64 t = in[0] * in[0];
                        scatter_add(t, in[1] * in[1], copy(repeated));
                        return t * t;
                    },
                    { table, lanes });
    expect_gradient("masked add",
                    [&](const Inputs &in) {
                        Float64 t = in[0] * in[0];
                        scatter_add(t, in[1] * in[1], copy(repeated), most());
                        return t * t;
                    },
                    { table, lanes });
    expect_gradient("add of one value",
                    [&](const Inputs &in) {
                        Float64 t = in[0] * in[0];
                        scatter_add(t, in[1] * in[1], copy(repeated));
                        return t * t;
                    },
                    { table, { 0.7 } });
}

TEST_P(Memory, ScatterMinAndMaxPassTheGradientToWhatTheyKeep) {
    for (ReduceOp op : { ReduceOp::Min, ReduceOp::Max }) {
        auto f = [&](const Mask &mask) {
            return [&, mask](const Inputs &in) {
                Float64 t = in[0] * in[0];
                scatter_reduce(op, t, in[1] * 1.3, copy(repeated), mask);
                return t * t;
            };
        };
        expect_gradient(name(op), f(true), { table, lanes });
        expect_gradient(name(op), f(most()), { table, lanes });
    }
}

TEST_P(Memory, ATieOfScatterMaxIsShared) {
    Float64 t = copy(List{ 3, 1 }), v = copy(List{ 3, 3, 2, 5 });
    enable_grad(t);
    enable_grad(v);
    Float64 r = t + 0.0;
    scatter_reduce(ReduceOp::Max, r, v, copy(std::vector<uint32_t>{ 0, 0, 0, 1 }));
    Float64 y = r * copy(List{ 6, 1 });
    backward(y);
    EXPECT_EQ(grad(t).read(), (List{ 2, 0 }));
    EXPECT_EQ(grad(v).read(), (List{ 2, 2, 0, 1 }));
}

TEST_P(Memory, ScatterMulMultipliesTheGradientByTheOtherFactors) {
    auto f = [&](const Inputs &in) {
        Float64 t = in[0] * in[0];
        scatter_reduce(ReduceOp::Mul, t, in[1] * in[1], copy(repeated), most());
        return t * t;
    };
    expect_gradient("mul", f, { table, lanes });
    List one_zero = lanes, two_zeros = lanes, target_zero = table;
    one_zero[1] = 0;
    two_zeros[1] = two_zeros[2] = 0;
    target_zero[3] = 0;
    auto linear = [&](const Inputs &in) {
        Float64 t = in[0] + 0.0;
        scatter_reduce(ReduceOp::Mul, t, in[1], copy(repeated));
        return t;
    };
    expect_gradient("mul with a zero", linear, { table, one_zero });
    expect_gradient("mul with two zeros", linear, { table, two_zeros });
    expect_gradient("mul with a zero in the target", linear, { target_zero, lanes });
}

TEST_P(Memory, AScatterIntoAnArrayWithoutGradientGivesItOne) {
    Float64 film = zeros<double>(4), v = copy(List{ 1, 2, 3 });
    enable_grad(v);
    EXPECT_FALSE(grad_enabled(film));
    scatter_add(film, v, copy(std::vector<uint32_t>{ 2, 2, 1 }));
    EXPECT_TRUE(grad_enabled(film));
    forward(v);
    EXPECT_EQ(grad(film).read(), (List{ 0, 1, 2, 0 }));
}

TEST_P(Memory, ValuesFromBeforeAScatterKeepTheirGradients) {
    Float64 t = copy(List{ 1, 2, 3 }), v = copy(List{ 10 });
    enable_grad(t);
    enable_grad(v);
    Float64 before = t * 2.0, after = t;
    scatter(after, v, UInt32(1u));
    Float64 y = before * before + after * after;
    backward(y);
    EXPECT_EQ(grad(t).read(), (List{ 10, 16, 30 }));
    EXPECT_EQ(item(grad(v)), 20);
}

// ---- local arrays

TEST_P(Memory, LocalArraysCarryGradientsElementByElement) {
    UInt32 at = copy(repeated) % 4u;
    expect_gradient("new and get",
                    [&](const Inputs &in) {
                        LocalArray<double> a(in[0] * in[0], 4);
                        return a.get(at) * a.get(1u);
                    },
                    { lanes });
    expect_gradient("set and get",
                    [&](const Inputs &in) {
                        LocalArray<double> a(in[0], 4);
                        a.set(at, in[1] * in[1]);
                        a.set(2u, in[0] * in[1], most());
                        a.set(at ^ 1u, a.get(at) * in[0]);
                        Float64 sum = 0.0;
                        for (uint32_t i = 0; i < 4; ++i)
                            sum += a.get(i) * a.get(i) * double(i + 1);
                        return sum;
                    },
                    { lanes, random_points(9, 11, 0.5, 2) });
    expect_gradient("masked get",
                    [&](const Inputs &in) {
                        LocalArray<double> a(0.0, 3);
                        a.set(at % 3u, in[0]);
                        return a.get(at % 3u, most()) * in[0];
                    },
                    { lanes });
    expect_gradient("versions of an array",
                    [&](const Inputs &in) {
                        LocalArray<double> a(in[0], 3), b = a;
                        b.set(1u, in[0] * in[0]);
                        return a.get(1u) * b.get(1u) + b.get(0u) + a.get(2u);
                    },
                    { lanes });
    expect_gradient("uniform initial value",
                    [&](const Inputs &in) {
                        LocalArray<double> a(in[0], 3);
                        a.set(at % 3u, in[1]);
                        return a.get(0u) * a.get(1u) + a.get(2u);
                    },
                    { { 0.8 }, lanes });
    expect_gradient("out of range",
                    [&](const Inputs &in) {
                        LocalArray<double> a(in[0], 3);
                        a.set(at + 1u, in[0] * 2.0); // index 3 and more change nothing
                        return a.get(0u) + a.get(at + 1u) + a.get(2u);
                    },
                    { lanes });
}

// ---- reductions and prefix sums

TEST_P(Memory, ReductionsAgreeWithDifferences) {
    expect_gradient("sum", [](const Inputs &in) { return sum(in[0] * in[0]); }, { lanes });
    expect_gradient("prod", [](const Inputs &in) { return prod(in[0] * in[0]); }, { lanes });
    expect_gradient("minimum", [](const Inputs &in) { return minimum(in[0] * in[0]); }, { lanes });
    expect_gradient("maximum", [](const Inputs &in) { return maximum(in[0] * in[0]); }, { lanes });
    expect_gradient("dot", [](const Inputs &in) { return dot(in[0], in[1] * in[1]); },
                    { lanes, random_points(3, 11, -1, 1) });
    expect_gradient("dot with itself", [](const Inputs &in) { return dot(in[0], in[0]); },
                    { lanes });
    expect_gradient("sum of one", [](const Inputs &in) { return sum(in[0] * in[0]); }, { { 2 } });
    expect_gradient("sum used by lanes",
                    [](const Inputs &in) { return in[0] / sum(in[0]) + maximum(in[0]) * in[0]; },
                    { lanes });
    expect_gradient("sum of a broadcast", [](const Inputs &in) { return sum(in[0] * in[1]); },
                    { { 2 }, lanes });
    List zero = lanes;
    zero[4] = 0;
    expect_gradient("product with a zero", [](const Inputs &in) { return prod(in[0]); }, { zero });
    zero[7] = 0;
    expect_gradient("product with two zeros", [](const Inputs &in) { return prod(in[0]); },
                    { zero });
}

TEST_P(Memory, TiesOfMinimumAndMaximumAreShared) {
    Float64 x = copy(List{ 1, 3, 3, 1, 1, 3, 3 });
    enable_grad(x);
    Float64 y = maximum(x) * 8.0 + minimum(x) * 3.0;
    backward(y);
    EXPECT_EQ(grad(x).read(), (List{ 1, 2, 2, 1, 1, 2, 2 }));
}

TEST_P(Memory, BlockReductionsAgreeWithDifferences) {
    for (uint32_t block : { 1u, 3u, 4u, 11u }) { // the last run is shorter
        for (ReduceOp op : { ReduceOp::Add, ReduceOp::Mul, ReduceOp::Min, ReduceOp::Max }) {
            expect_gradient(name(op),
                            [&](const Inputs &in) {
                                Float64 r(block_reduce(op, in[0] * in[0], block));
                                return r * r;
                            },
                            { lanes });
        }
    }
    List zero = lanes;
    zero[4] = zero[7] = zero[8] = 0;
    expect_gradient("products with zeros",
                    [](const Inputs &in) { return Float64(block_reduce(ReduceOp::Mul, in[0], 3)); },
                    { zero });
}

TEST_P(Memory, PrefixSumsAgreeWithDifferences) {
    for (bool exclusive : { false, true })
        for (uint32_t block : { 0u, 1u, 3u, 4u, 11u }) {
            expect_gradient("prefix sum",
                            [&](const Inputs &in) {
                                Float64 p(prefix_sum(static_cast<const Value &>(in[0] * in[0]),
                                                     exclusive, block));
                                return p * p * in[1];
                            },
                            { lanes, random_points(8, 11, 0.5, 1) });
        }
}

TEST_P(Memory, ReductionsOfSinglePrecision) {
    Float32 x = copy(std::vector<float>{ 1, 2, 4 });
    enable_grad(x);
    Float32 y =
        sum(x * x) + prod(x) + maximum(x) + dot(x, x) + sum(cumsum(x)) + sum(block_sum(x * x, 2));
    backward(y);
    EXPECT_EQ(grad(x).read(),
              (std::vector<float>{ 2 + 8 + 2 + 3 + 2, 4 + 4 + 4 + 2 + 4, 8 + 2 + 1 + 8 + 1 + 8 }));
}

// Permutations and compaction are gathers with computed indices.
TEST_P(Memory, SortedAndCompressedValuesKeepTheirGradients) {
    expect_gradient("sort",
                    [](const Inputs &in) {
                        UInt32 order(sort_permutation(in[0]));
                        return gather(in[0] * in[0], order) * arange<double>(11);
                    },
                    { lanes });
    expect_gradient("compress",
                    [](const Inputs &in) {
                        UInt32 kept(compress(in[0] > 1.0));
                        return gather(in[0] * in[0], kept);
                    },
                    { lanes });
}

UMBEL_BACKENDS(Memory)

} // namespace
