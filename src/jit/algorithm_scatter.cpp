// jit/algorithm_scatter.cpp: scatter_reduce, in one of three ways.
//
//  - Few lanes: a loop, one lane after another.
//  - Small targets, many lanes: blocks of lanes reduce into copies of their own, merged in order of
//    the blocks.
//  - Large targets: lanes are partitioned by target region, stably; a region stays in a core's
//    cache while one thread applies its lanes in order. No atomics, no waiting for memory.
#include "jit/algorithm.h"
#include "jit/algorithm_common.h"
#include "jit/algorithm_partition.h"
#include <bit>

namespace umbel::jit {
namespace {

constexpr uint64_t FewLanes = 4096;
// Largest target with copies, which must fit the L2 cache, and the fewest lanes per cell: copies
// cost a merge, where the partition costs two more passes over the lanes.
constexpr uint64_t CopiedCells = 1 << 16;
constexpr uint64_t CopiedLanesPerCell = 64;
// Up to this many bytes a loop on one thread (1.4 ns a lane) beats a partition (6.3 ns) on four.
constexpr uint64_t CachedBytes = 1 << 20;
// Lanes that are partitioned at a time bound the memory for it.
constexpr uint64_t Slab = uint64_t(1) << 25;
// Cells of a region: its bytes fit the L2 cache beside the lanes that stream by.
constexpr int RegionBits = 16;
constexpr int MaxRegionCountBits = 10;

struct Lanes {
    uint64_t size; // of the target
    const uint32_t *index;
    const void *value;
    uint64_t stride; // 0: one value for all lanes
    const uint8_t *mask;
    uint64_t count;

    bool active(uint64_t i) const { return index[i] < size && (!mask || mask[i]); }
};

// ---- One lane after another

template <class T, ReduceOp op> void scatter_sequential(T *target, const Lanes &lanes) {
    const T *value = (const T *)lanes.value;
    for (uint64_t i = 0; i < lanes.count; ++i)
        if (lanes.active(i))
            combine<op>(target[lanes.index[i]], value[i * lanes.stride]);
}

// ---- Copies

// What leaves every value unchanged: for float sums that is -0, as -0 + 0 = 0.
template <class A, ReduceOp op> constexpr A neutral() {
    return op == ReduceOp::Add && is_float_v<A> ? A(-0.0) : identity<A, op>();
}

template <class T, ReduceOp op> void scatter_copies(T *target, const Lanes &lanes) {
    using A = Accumulator<T, op>;
    uint64_t size = lanes.size;
    // At most 256 copies, each at most a sixteenth as large as its block of lanes
    uint64_t block = std::max({ uint64_t(1) << 16, 16 * size, (lanes.count + 255) / 256 });
    uint64_t blocks = (lanes.count + block - 1) / block;
    // Lanes i, i + ways, ... of a block share a copy: additions to one cell need not wait for each
    // other.
    uint64_t ways = size <= 1024 ? 4 : 1;
    BufferRef memory = allocate(blocks * ways * size * sizeof(A));
    A *copies = (A *)memory->data();
    const T *value = (const T *)lanes.value;

    parallel_blocks(lanes.count, block, [&](uint64_t begin, uint64_t end) {
        A *copy = copies + begin / block * ways * size;
        std::fill(copy, copy + ways * size, neutral<A, op>());
        for (uint64_t i = begin; i < end; ++i)
            if (lanes.active(i))
                combine<op>(copy[(i & (ways - 1)) * size + lanes.index[i]],
                            A(value[i * lanes.stride]));
    });

    parallel_blocks(size, 64, [&](uint64_t begin, uint64_t end) {
        for (uint64_t cell = begin; cell < end; ++cell) {
            A sum = neutral<A, op>();
            for (uint64_t c = 0; c < blocks * ways; ++c)
                combine<op>(sum, copies[c * size + cell]);
            A result = A(target[cell]);
            combine<op>(result, sum);
            target[cell] = T(result);
        }
    });
}

// ---- Partition

template <class U> struct IndexValue {
    uint32_t index;
    U value;
};

struct Regions {
    BufferRef memory;
    std::vector<uint32_t> start; // first record of each region, and the end of the last
};

// Rec: IndexValue<U>, where only the size of U matters, or uint32_t, the index alone.
template <class Rec> Regions partition_lanes(const Lanes &lanes) {
    // At least 128 regions, for the balance between threads, and no more than the lines of a chunk
    // allow
    int size_bits = int(std::bit_width(lanes.size - 1));
    int shift = std::min(RegionBits, std::max(0, size_bits - 7));
    shift = std::max(shift, size_bits - MaxRegionCountBits);
    uint32_t regions = uint32_t((lanes.size - 1) >> shift) + 1;

    Regions result;
    result.memory = allocate(lanes.count * sizeof(Rec));
    auto run = [&](auto active) {
        auto load = [&](uint64_t i, Rec &rec) {
            uint32_t index = lanes.index[i];
            if constexpr (std::is_same_v<Rec, uint32_t>)
                rec = index;
            else
                rec = { index, ((decltype(Rec::value) *)lanes.value)[i] };
            // Without a jump, which random masks would have mispredicted.
            uint32_t keep = -uint32_t(active(i, index));
            return ((index >> shift) & keep) | (regions & ~keep);
        };
        result.start = partition(lanes.count, regions, (Rec *)result.memory->data(), load);
    };
    uint64_t size = lanes.size;
    if (const uint8_t *mask = lanes.mask)
        run([=](uint64_t i, uint32_t index) { return (index < size) & (mask[i] != 0); });
    else
        run([=](uint64_t, uint32_t index) { return index < size; });
    return result;
}

template <class T, ReduceOp op> void scatter_regions(T *target, const Lanes &lanes) {
    if (lanes.stride == 0) {
        Regions regions = partition_lanes<uint32_t>(lanes);
        const uint32_t *index = (const uint32_t *)regions.memory->data();
        T value = *(const T *)lanes.value;
        parallel_blocks(regions.start.size() - 1, 1, [&](uint64_t r, uint64_t) {
            for (uint32_t i = regions.start[r]; i < regions.start[r + 1]; ++i)
                combine<op>(target[index[i]], value);
        });
        return;
    }
    using U = Unsigned<T>;
    Regions regions = partition_lanes<IndexValue<U>>(lanes);
    const IndexValue<U> *records = (const IndexValue<U> *)regions.memory->data();
    parallel_blocks(regions.start.size() - 1, 1, [&](uint64_t r, uint64_t) {
        for (uint32_t i = regions.start[r]; i < regions.start[r + 1]; ++i)
            combine<op>(target[records[i].index], std::bit_cast<T>(records[i].value));
    });
}

// ---- The choice

template <class T, ReduceOp op> void scatter(T *target, const Lanes &lanes) {
    if (lanes.count < FewLanes)
        return scatter_sequential<T, op>(target, lanes);
    if constexpr (op != ReduceOp::Store) // copies do not tell which of their cells were stored to
        if (lanes.size <= CopiedCells && lanes.count >= CopiedLanesPerCell * lanes.size)
            return scatter_copies<T, op>(target, lanes);
    // Both that follow give the same bits: here the choice may depend on the machine.
    int threads = tbb::this_task_arena::max_concurrency();
    if (threads == 1 || (threads <= 4 && lanes.size * sizeof(T) <= CachedBytes))
        return scatter_sequential<T, op>(target, lanes);
    for (uint64_t begin = 0; begin < lanes.count; begin += Slab) {
        Lanes slab = lanes;
        slab.index += begin;
        slab.value = (const T *)lanes.value + begin * lanes.stride;
        slab.mask = lanes.mask ? lanes.mask + begin : nullptr;
        slab.count = std::min(Slab, lanes.count - begin);
        scatter_regions<T, op>(target, slab);
    }
}

} // namespace

// ---- Interface

void scatter_reduce(Type t, ReduceOp op, void *target, uint64_t target_size, const uint32_t *index,
                    const void *value, bool value_uniform, const uint8_t *mask, uint64_t n) {
    if (n == 0 || target_size == 0)
        return;
    // Indices have 32 bits: what lies beyond is never hit.
    uint64_t size = std::min(target_size, uint64_t(1) << 32);
    Lanes lanes = { size, index, value, value_uniform ? uint64_t(0) : 1, mask, n };
    with_reduction("scatter_reduce", t, op,
                   [&]<class T, ReduceOp o> { scatter<T, o>((T *)target, lanes); });
}

} // namespace umbel::jit
