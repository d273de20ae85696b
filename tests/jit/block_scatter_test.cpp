// tests/jit/block_scatter_test.cpp: reductions that are carried out with each block of lanes.
#include "jit/array.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace umbel::jit;

namespace {

class BlockScatter : public testing::TestWithParam<const char *> {
protected:
    BlockScatter()
        : context(std::string(GetParam()) == "llvm" ? llvm_backend() : interp_backend()),
          scope(context) {}
    Context context;
    ContextScope scope;
};

uint32_t hash(uint32_t i) { return (i * 2654435769u ^ i >> 3) * 2246822519u >> 7; }

// Cells of which several lanes hit each, some lanes hit none, and some are masked.
void expect_sums(uint32_t lanes, uint32_t cells) {
    Float32 target = opaque(full(0.5f, cells));
    UInt32 lane = arange<uint32_t>(lanes);
    UInt32 index = ((lane * 2654435769u ^ lane >> 3u) * 2246822519u >> 7u) % UInt32(cells + 3);
    scatter_add(target, Float32(lane % 5u), index, lane % 3u != 1u);
    scatter_add(target, Float32(1.f), (index + 1u) % UInt32(cells));
    std::vector<double> want(cells, 0.5);
    for (uint32_t i = 0; i < lanes; ++i) {
        uint32_t at = hash(i) % (cells + 3);
        if (i % 3 != 1 && at < cells)
            want[at] += i % 5;
        want[(at + 1) % cells] += 1;
    }
    std::vector<float> got = target.read();
    for (uint32_t k = 0; k < cells; ++k)
        ASSERT_NEAR(got[k], want[k], 1e-5 * want[k])
            << lanes << " lanes, cell " << k << " of " << cells;
}

TEST_P(BlockScatter, SumsAreRightForAllShapes) {
    for (uint32_t lanes : { 1u, 5u, 1000u, 1025u, 10'000u, 100'003u })
        for (uint32_t cells : { 1u, 3u, 1000u, 70'000u })
            expect_sums(lanes, cells);
}

TEST_P(BlockScatter, LanesMeetInOneCell) {
    for (uint32_t lanes : { 1u, 17u, 4096u, 100'001u }) {
        Float64 total = zeros<double>(3);
        UInt32 lane = arange<uint32_t>(lanes);
        scatter_add(total, Float64(lane), UInt32(1u));
        scatter_add(total, Float64(2.0), UInt32(2u), lane % 2u == 0u);
        scatter_add(total, Float64(lane), UInt32(7u)); // out of range
        double n = lanes;
        EXPECT_EQ(total.read(), (std::vector<double>{ 0, n * (n - 1) / 2, 2 * std::ceil(n / 2) }));

        Int32 most = opaque(full(-5, 2));
        scatter_reduce(ReduceOp::Max, most, Int32(lane), UInt32(opaque(0u)));
        EXPECT_EQ(most.read(), (std::vector<int32_t>{ int32_t(lanes) - 1, -5 }));
    }
}

TEST_P(BlockScatter, EvaluatedOperandsMeetInOneCell) {
    Float32 x = opaque(full(0.25f, 50'000)), total = zeros<float>(1);
    scatter_add(total, x, UInt32(0u));
    EXPECT_EQ(item(total), 12'500);
}

TEST_P(BlockScatter, ManyReductionsAreOneLaunch) {
    FlagScope history(Flag::History, true);
    std::vector<Float32> totals;
    UInt32 lane = arange<uint32_t>(20'000);
    Float32 x = Float32(lane) * 0.5f;
    for (uint32_t i = 0; i < 10; ++i) {
        totals.push_back(opaque(zeros<float>(4)));
        scatter_add(totals.back(), x * float(i), lane % 4u);
    }
    synchronize();
    context.take_history();
    eval(x);
    std::vector<KernelRecord> launches = context.take_history();
    ASSERT_EQ(launches.size(), 1u);
    EXPECT_EQ(item(totals[3], 1), 0.5f * 3 * 5000 * 9999.f);
}

TEST_P(BlockScatter, ThreadsDoNotChangeTheBits) {
    auto run = [] {
        Float32 target = zeros<float>(100);
        UInt32 lane = arange<uint32_t>(300'000);
        scatter_add(target, sin(Float32(lane)), lane * 7u % 100u);
        return target.read();
    };
    uint32_t before = Stream::thread_count();
    Stream::set_thread_count(1);
    std::vector<float> one = run();
    Stream::set_thread_count(4);
    std::vector<float> four = run();
    Stream::set_thread_count(before);
    EXPECT_EQ(one, four);
}

INSTANTIATE_TEST_SUITE_P(Backends, BlockScatter, testing::Values("interp", "llvm"),
                         [](auto &info) { return std::string(info.param); });

} // namespace
