// tests/jit/region_scatter_test.cpp: reductions into neighbouring cells, in the order of regions.
#include "jit/array.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace umbel::jit;

namespace {

class RegionScatter : public testing::TestWithParam<const char *> {
protected:
    RegionScatter()
        : context(std::string(GetParam()) == "llvm" ? llvm_backend() : interp_backend()),
          scope(context) {}
    Context context;
    ContextScope scope;
};

constexpr uint32_t Columns = 700, Rows = 600, Cells = Columns * Rows, Lanes = 500'077;

// Numbers below 2^16 that no order of lanes resembles.
uint32_t hash(uint32_t i) {
    i = (i ^ i >> 15) * 2246822519u;
    return (i ^ i >> 13) * 3266489917u >> 16;
}
UInt32 lane_hashes(uint32_t seed) {
    std::vector<uint32_t> v(Lanes);
    for (uint32_t i = 0; i < Lanes; ++i)
        v[i] = hash(2 * i + seed);
    return copy(v);
}

struct Corners {
    UInt32 a = lane_hashes(0), b = lane_hashes(1);
    std::vector<uint32_t> x, y, w; // on the host: cell, weight
    uint32_t rows;

    explicit Corners(uint32_t rows = Rows) : rows(rows) {
        for (uint32_t i = 0; i < Lanes; ++i) {
            uint32_t ha = hash(2 * i), hb = hash(2 * i + 1);
            x.push_back(ha % (Columns - 1));
            y.push_back(hb % (rows - 1));
            w.push_back((ha ^ hb) % 16);
        }
    }
    UInt32 cell() const { return b % UInt32(rows - 1) * Columns + a % UInt32(Columns - 1); }
    UInt32 weight() const { return (a ^ b) % 16u; }
};

// Sums of small whole numbers, which are exact in any order.
template <class T> void expect_sums(const Corners &c, uint32_t channels) {
    Array<T> target = opaque(full(T(3), Cells * channels));
    UInt32 cell = c.cell(), weight = c.weight();
    for (uint32_t offset : { 0u, 1u, Columns, Columns + 1 })
        for (uint32_t k = 0; k < channels; ++k)
            scatter_add(target, Array<T>(weight + offset % 7u + k), (cell + offset) * channels + k);
    UInt32 result = weight * 2u + 1u;
    eval(result);

    std::vector<T> want(Cells * channels, T(3));
    for (uint32_t i = 0; i < Lanes; ++i)
        for (uint32_t offset : { 0u, 1u, Columns, Columns + 1 })
            for (uint32_t k = 0; k < channels; ++k)
                want[(c.y[i] * Columns + c.x[i] + offset) * channels + k] +=
                    T(c.w[i] + offset % 7 + k);
    EXPECT_TRUE(target.read() == want) << channels << " channels";
    std::vector<uint32_t> results = result.read();
    for (uint32_t i = 0; i < Lanes; ++i)
        ASSERT_EQ(results[i], 2 * c.w[i] + 1) << "lane " << i;
}

TEST_P(RegionScatter, CellsGetTheirSumsAndLanesTheirResults) {
    Corners c;
    expect_sums<float>(c, 1);
    expect_sums<float>(c, 3);
    expect_sums<double>(c, 1);
    expect_sums<uint32_t>(c, 1);
}

TEST_P(RegionScatter, AllLanesMayMeetInOneRegion) { expect_sums<float>(Corners(5), 1); }

TEST_P(RegionScatter, IndicesOfNeighboursNeedNoMemory) {
    Corners c;
    Float32 target = opaque(zeros<float>(Cells));
    UInt32 cell = c.cell();
    for (uint32_t offset : { 0u, 1u, Columns, Columns + 1 })
        scatter_add(target, Float32(c.weight() + offset), cell + offset);
    FlagScope history(Flag::History, true);
    context.take_history();
    eval(target);
    std::vector<KernelRecord> launches = context.take_history();
    ASSERT_EQ(launches.size(), 1u);
    EXPECT_EQ(launches[0].outputs, 5u); // four values, one index
}

// The corners of points on the border lie outside, some before the first cell.
TEST_P(RegionScatter, MaskedCornersOutsideTouchNothing) {
    Corners c;
    Int32 x = Int32(c.a % (Columns + 1)) - 1, y = Int32(c.b % (Rows + 1)) - 1;
    Float32 target = opaque(zeros<float>(Cells));
    for (int dy : { 0, 1 })
        for (int dx : { 0, 1 }) {
            Int32 px = x + dx, py = y + dy;
            Mask inside = (px >= 0) & (px < int(Columns)) & (py >= 0) & (py < int(Rows));
            UInt32 cell = UInt32(y) * Columns + UInt32(x) + uint32_t(dy * int(Columns) + dx);
            scatter_add(target, Float32(c.weight()), cell, inside);
        }
    std::vector<float> want(Cells);
    for (uint32_t i = 0; i < Lanes; ++i)
        for (int dy : { 0, 1 })
            for (int dx : { 0, 1 }) {
                int px = int(hash(2 * i) % (Columns + 1)) - 1 + dx;
                int py = int(hash(2 * i + 1) % (Rows + 1)) - 1 + dy;
                if (px >= 0 && px < int(Columns) && py >= 0 && py < int(Rows))
                    want[size_t(py) * Columns + size_t(px)] += float(c.w[i]);
            }
    EXPECT_TRUE(target.read() == want);
}

TEST_P(RegionScatter, OtherReductionsAndConstantsServe) {
    Corners c;
    Int32 most = opaque(full(-1, Cells)), hits = opaque(zeros<int32_t>(Cells));
    UInt32 cell = c.cell();
    for (uint32_t offset : { 0u, 1u, Columns })
        scatter_reduce(ReduceOp::Max, most, Int32(c.weight() + offset), cell + offset);
    eval(most);
    for (uint32_t offset : { 0u, 1u, Columns })
        scatter_add(hits, Int32(2), cell + offset);
    eval(hits);
    std::vector<int32_t> want_most(Cells, -1), want_hits(Cells);
    for (uint32_t i = 0; i < Lanes; ++i)
        for (uint32_t offset : { 0u, 1u, Columns }) {
            int32_t &m = want_most[c.y[i] * Columns + c.x[i] + offset];
            m = std::max(m, int32_t(c.w[i] + offset));
            want_hits[c.y[i] * Columns + c.x[i] + offset] += 2;
        }
    EXPECT_TRUE(most.read() == want_most);
    EXPECT_TRUE(hits.read() == want_hits);
}

TEST_P(RegionScatter, LaneNumbersAreThoseOfTheCaller) {
    Corners c;
    UInt32 target = opaque(zeros<uint32_t>(Cells)), lane = arange<uint32_t>(Lanes);
    UInt32 cell = c.cell();
    for (uint32_t offset : { 0u, 1u })
        scatter_add(target, lane, cell + offset);
    std::vector<uint32_t> want(Cells);
    for (uint32_t i = 0; i < Lanes; ++i)
        for (uint32_t offset : { 0u, 1u })
            want[c.y[i] * Columns + c.x[i] + offset] += i;
    EXPECT_TRUE(target.read() == want);
}

TEST_P(RegionScatter, ThreadsDoNotChangeTheBits) {
    auto run = [] {
        Corners c;
        Float32 target = opaque(zeros<float>(Cells));
        UInt32 cell = c.cell();
        for (uint32_t offset : { 0u, 1u, Columns, Columns + 1 })
            scatter_add(target, sin(Float32(c.weight() + offset)), cell + offset);
        return target.read();
    };
    uint32_t before = Stream::thread_count();
    Stream::set_thread_count(1);
    std::vector<float> one = run();
    Stream::set_thread_count(4);
    std::vector<float> four = run();
    Stream::set_thread_count(before);
    EXPECT_TRUE(one == four);
}

INSTANTIATE_TEST_SUITE_P(Backends, RegionScatter, testing::Values("interp", "llvm"),
                         [](auto &info) { return std::string(info.param); });

} // namespace
