// jit/block_scatter.cpp: see jit/block_scatter.h.
#include "jit/block_scatter.h"
#include "jit/algorithm_common.h"
#include "jit/backend.h"
#include "jit/stream.h"
#include <algorithm>
#include <span>

namespace umbel::jit {

namespace {

// Up to this many cells, where many lanes meet in one, float sums are kept in f64.
constexpr uint64_t WideCells = 1 << 16;
constexpr uint64_t MaxChunks = 64;
constexpr uint64_t LanesPerChunk = 4096;
// Results of a block: so few that the cells they hit stay in the L2 cache, too, for a next scatter
// of the same lanes into neighbouring cells.
constexpr uint64_t BlockBytes = 1 << 15;
constexpr uint64_t Ahead = 48; // lanes

/// Lanes of one block: pointers to its first elements.
struct Block {
    const uint32_t *index;
    const void *value;
    const uint8_t *mask; // null: all lanes
    bool uniform_index, uniform_value;
    uint64_t lanes;
};

// What leaves every value unchanged: for float sums that is -0, as -0 + 0 = 0.
template <class A, ReduceOp op> constexpr A neutral() {
    return op == ReduceOp::Add && is_float_v<A> ? A(-0.0) : identity<A, op>();
}

// Calls f.template operator()<T, A, op>() with the type of the target and that of its copies.
template <class F> void with_types(const ScatterTarget &t, F f) {
    with_reduction("scatter", t.type, t.op, [&]<class T, ReduceOp op> {
        if (t.cells <= WideCells)
            f.template operator()<T, Accumulator<T, op>, op>();
        else
            f.template operator()<T, T, op>();
    });
}

// All lanes of a block, for one cell; 16 lanes at a time.
template <class T, ReduceOp op> Accumulator<T, op> reduce_block(const Block &b) {
    using A = Accumulator<T, op>;
    const T *value = static_cast<const T *>(b.value);
    A sums[16];
    std::fill(sums, sums + 16, neutral<A, op>());
    uint64_t i = 0;
    if (!b.mask && !b.uniform_value)
        for (; i + 16 <= b.lanes; i += 16)
            for (int k = 0; k < 16; ++k)
                combine<op>(sums[k], A(value[i + k]));
    for (; i < b.lanes; ++i)
        if (!b.mask || b.mask[i])
            combine<op>(sums[i % 16], A(value[b.uniform_value ? 0 : i]));
    for (int k = 1; k < 16; ++k)
        combine<op>(sums[0], sums[k]);
    return sums[0];
}

// Into a copy, or, lane after lane, into the target itself.
template <class T, class A, ReduceOp op>
void apply(A *cells, uint64_t size, const Block &b, bool copy) {
    if (b.uniform_index && copy) {
        if (*b.index < size) {
            Accumulator<T, op> sum = Accumulator<T, op>(cells[*b.index]);
            combine<op>(sum, reduce_block<T, op>(b));
            cells[*b.index] = A(sum);
        }
        return;
    }
    const T *value = static_cast<const T *>(b.value);
    const uint64_t stride = b.uniform_value ? 0 : 1, step = b.uniform_index ? 0 : 1;
    for (uint64_t i = 0; i < b.lanes; ++i) {
        // Cells of large targets are on their way well before their turn
        uint64_t ahead = b.index[(i + Ahead < b.lanes ? i + Ahead : i) * step];
        __builtin_prefetch(&cells[ahead < size ? ahead : 0], 1);
        uint32_t index = b.index[i * step];
        if (index < size && (!b.mask || b.mask[i]))
            combine<op>(cells[index], A(value[i * stride]));
    }
}

// N scatters into one copy, lane by lane: those of a lane often hit neighbouring cells (the corners of a
// texel, the elements of a record), which are in the nearest cache then.
template <class T, class A, ReduceOp op, int N>
void apply_together(A *cells, uint64_t size, const Block *b) {
    const uint64_t lanes = b[0].lanes;
    const uint32_t *index[N];
    const T *value[N];
    for (int k = 0; k < N; ++k) {
        index[k] = b[k].index;
        value[k] = static_cast<const T *>(b[k].value);
    }
    auto lane = [&](uint64_t i) {
        for (int k = 0; k < N; ++k)
            if (uint64_t at = index[k][i]; at < size)
                combine<op>(cells[at], A(value[k][i]));
    };
    uint64_t i = 0;
    for (; i + Ahead < lanes; ++i) {
        for (int k = 0; k < N; ++k) {
            uint64_t ahead = index[k][i + Ahead];
            __builtin_prefetch(&cells[ahead < size ? ahead : 0], 1);
        }
        lane(i);
    }
    for (; i < lanes; ++i)
        lane(i);
}

// Whether two scatters of a block may share a loop.
bool plain(const Block &b) { return !b.mask && !b.uniform_index && !b.uniform_value; }

uint64_t copy_bytes(const ScatterTarget &t) {
    uint64_t result = 0;
    with_types(t, [&]<class T, class A, ReduceOp op> { result = t.cells * sizeof(A); });
    return (result + 63) / 64 * 64;
}

void clear_copy(const ScatterTarget &t, void *copy) {
    with_types(t, [&]<class T, class A, ReduceOp op> {
        std::fill_n(static_cast<A *>(copy), t.cells, neutral<A, op>());
    });
}

void scatter_block(const ScatterTarget &t, const Block &b) {
    with_reduction("scatter", t.type, t.op, [&]<class T, ReduceOp op> {
        apply<T, T, op>(static_cast<T *>(t.data), t.cells, b, false);
    });
}

// All of them into one copy; as many at once as share a loop.
void scatter_blocks(const ScatterTarget &t, void *copy, std::span<const Block> blocks) {
    with_types(t, [&]<class T, class A, ReduceOp op> {
        A *cells = static_cast<A *>(copy);
        while (!blocks.empty()) {
            size_t n = 0;
            while (n < blocks.size() && n < 4 && plain(blocks[n]))
                ++n;
            if (n == 4)
                apply_together<T, A, op, 4>(cells, t.cells, blocks.data());
            else if (n >= 2)
                apply_together<T, A, op, 2>(cells, t.cells, blocks.data());
            else
                apply<T, A, op>(cells, t.cells, blocks[0], true);
            blocks = blocks.subspan(n == 4 ? 4 : n >= 2 ? 2 : 1);
        }
    });
}

// The target combined with `count` copies, `stride` bytes apart.
void merge_copies(const ScatterTarget &t, const void *copies, uint64_t stride, uint64_t count) {
    with_types(t, [&]<class T, class A, ReduceOp op> {
        T *target = static_cast<T *>(t.data);
        parallel_blocks(t.cells, Piece, [&](uint64_t begin, uint64_t end) {
            A sums[512]; // of so many cells at a time: copies are read in runs
            for (uint64_t first = begin; first < end; first += 512) {
                uint64_t n = std::min<uint64_t>(512, end - first);
                for (uint64_t i = 0; i < n; ++i)
                    sums[i] = A(target[first + i]);
                for (uint64_t c = 0; c < count; ++c) {
                    auto *copy = reinterpret_cast<const A *>(static_cast<const char *>(copies) +
                                                             c * stride) +
                                 first;
                    for (uint64_t i = 0; i < n; ++i)
                        combine<op>(sums[i], copy[i]);
                }
                for (uint64_t i = 0; i < n; ++i)
                    target[first + i] = T(sums[i]);
            }
        });
    });
}

} // namespace

uint64_t BlockScatter::chunks(uint64_t lanes) const {
    uint64_t scattered = 0, copies = 0;
    for (const Effect &e : effects)
        scattered += lanes * bytes(targets[e.target].type);
    for (const ScatterTarget &t : targets)
        copies += copy_bytes(t);
    return std::clamp<uint64_t>(
        std::min(scattered / std::max<uint64_t>(2 * copies, 1), lanes / LanesPerChunk), 1,
        MaxChunks);
}

void BlockScatter::run(
    uint64_t lanes,
    const std::function<void(char *const *slots, uint64_t begin, uint64_t end)> &compute) const {
    // Chunks of lanes, blocks of a chunk
    uint64_t width = 0;
    for (uint64_t w : slot_widths)
        width += w;
    uint64_t block = std::max(BlockBytes / std::max<uint64_t>(width, 1) / Grain * Grain, Grain);
    uint64_t chunk = (lanes + chunks(lanes) - 1) / chunks(lanes);
    chunk = (chunk + Grain - 1) / Grain * Grain;
    uint64_t count = (lanes + chunk - 1) / chunk;

    // A copy of each target for each chunk
    std::vector<uint64_t> offsets;
    uint64_t stride = 0;
    for (const ScatterTarget &t : targets) {
        offsets.push_back(stride);
        stride += copy_bytes(t);
    }
    BufferRef memory;
    if (count > 1)
        memory = allocate(count * stride);
    auto copy_of = [&](uint64_t c, size_t target) {
        return count > 1 ? static_cast<char *>(memory->data()) + c * stride + offsets[target]
                         : nullptr;
    };

    parallel_blocks(lanes, chunk, [&](uint64_t first, uint64_t last) {
        uint64_t c = first / chunk, space = std::min(block, last - first);
        for (size_t t = 0; t < targets.size() && count > 1; ++t)
            clear_copy(targets[t], copy_of(c, t));
        std::vector<BufferRef> scratch;
        for (uint64_t w : slot_widths)
            scratch.push_back(allocate(space * w));
        std::vector<char *> slots(slot_widths.size());
        std::vector<Block> blocks;
        for (uint64_t begin = first; begin < last; begin += block) {
            uint64_t end = std::min(last, begin + block);
            for (size_t k = 0; k < slots.size(); ++k)
                slots[k] = static_cast<char *>(scratch[k]->data()) - begin * slot_widths[k];
            compute(slots.data(), begin, end);
            auto block_of = [&](const Effect &e) {
                auto at = [&](const ScatterOperand &o, uint64_t w) {
                    return o.at(slots.data(), begin, w);
                };
                return Block{ static_cast<const uint32_t *>(at(e.index, 4)),
                              at(e.value, bytes(targets[e.target].type)),
                              e.masked ? static_cast<const uint8_t *>(at(e.mask, 1)) : nullptr,
                              e.index.uniform,
                              e.value.uniform,
                              end - begin };
            };
            if (count == 1) { // in program order
                for (const Effect &e : effects)
                    scatter_block(targets[e.target], block_of(e));
                continue;
            }
            for (size_t t = 0; t < targets.size(); ++t) {
                blocks.clear();
                for (const Effect &e : effects)
                    if (e.target == t)
                        blocks.push_back(block_of(e));
                scatter_blocks(targets[t], copy_of(c, t), blocks);
            }
        }
    });
    for (size_t t = 0; t < targets.size() && count > 1; ++t)
        merge_copies(targets[t], copy_of(0, t), stride, count);
}

} // namespace umbel::jit
