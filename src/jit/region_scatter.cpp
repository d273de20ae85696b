// jit/region_scatter.cpp: see jit/region_scatter.h.
#include "jit/region_scatter.h"
#include "jit/algorithm_common.h"
#include "jit/backend.h"
#include "jit/stream.h"
#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <span>

namespace umbel::jit {

namespace {

// Few regions make a fast partition: the lines that some 32 of them are written to stay in the L1
// cache. But two of them, that of the target and that of an array gathered from, are to fit the L2
// cache.
constexpr int RegionsBits = 5;
constexpr int LeastRegionBytesBits = 17, RegionBytesBits = 19;
constexpr int MaxRegionBytesBits = 20;
constexpr int MaxRegionsBits = 8; // a byte a lane tells its region
constexpr uint64_t BlockBytes = 1 << 16;
constexpr uint64_t CountedLanes = 1 << 16; // lanes that share a row of counters, at least
constexpr uint64_t PartShare = 32; // no copy of a region takes much more of the lanes than 1 / this

int region_bits(uint64_t cells, uint64_t width) {
    int cells_bits = int(std::bit_width(cells - 1)), width_bits = std::countr_zero(width);
    int bits = std::clamp(cells_bits - RegionsBits, LeastRegionBytesBits - width_bits,
                          RegionBytesBits - width_bits);
    return std::max(bits, cells_bits - MaxRegionsBits);
}

template <class A, ReduceOp op> constexpr A neutral() {
    return op == ReduceOp::Add && is_float_v<A> ? A(-0.0) : identity<A, op>();
}

// Which lane belongs where: lane i to region key[i]; lanes of counting chunk c in region r start at
// first[c * regions + r] of the ordered columns.
struct Order {
    BufferRef key_memory;
    uint8_t *key;
    uint64_t chunk;
    std::vector<uint32_t> first;
    std::vector<uint64_t> begin, end; // of each region
};

// Lanes of a region, or a part of them, that reduce into a copy of their own.
struct Part {
    uint32_t region;
    uint64_t begin, end;
    uint64_t first_cell, cells; // the copy
    char *copy;
};

template <class F> void with_width(uint64_t width, F f) {
    switch (width) {
    case 1: return f.template operator()<uint8_t>();
    case 2: return f.template operator()<uint16_t>();
    case 4: return f.template operator()<uint32_t>();
    default: return f.template operator()<uint64_t>();
    }
}

// Lanes [begin, end) of a column to their places in the order of regions, or back. One column at a time: with two, the lines that
// all regions are written to do not stay in the nearest cache.
template <bool Back, class T>
void move_lanes(const RegionScatter::Column &column, const Order &order, uint64_t begin,
                uint64_t end) {
    auto *lanes = static_cast<T *>(column.lanes->data()),
         *ordered = static_cast<T *>(column.ordered->data());
    auto row = order.first.begin() + ptrdiff_t(begin / order.chunk * order.begin.size());
    std::array<uint32_t, 1 << MaxRegionsBits> place;
    std::copy_n(row, order.begin.size(), place.begin());
    for (uint64_t i = begin; i < end; ++i) {
        T &there = ordered[place[order.key[i]]++];
        if constexpr (Back)
            lanes[i] = there;
        else
            there = lanes[i];
    }
}

template <bool Back>
void move_columns(const std::vector<RegionScatter::Column> &columns, const Order &order,
                  uint64_t lanes) {
    parallel_blocks(lanes, order.chunk, [&](uint64_t begin, uint64_t end) {
        for (const RegionScatter::Column &c : columns)
            with_width(c.width, [&]<class T> { move_lanes<Back, T>(c, order, begin, end); });
    });
}

// What lies beyond the end hits nothing, wherever it goes.
UMBEL_CLONES void find_regions(const uint32_t *top, uint64_t n, int bits, uint32_t last,
                               uint8_t *key) {
    for (uint64_t i = 0; i < n; ++i)
        key[i] = uint8_t(std::min(top[i] >> bits, last));
}

Order order_lanes(uint64_t lanes, uint64_t regions, int bits,
                  const std::function<void(uint32_t *, uint64_t, uint64_t)> &index) {
    constexpr uint64_t Block = 4 * Grain;
    Order o;
    o.key_memory = allocate(lanes);
    o.key = static_cast<uint8_t *>(o.key_memory->data());
    o.chunk = std::max(CountedLanes, (lanes / 256 + Grain - 1) / Grain * Grain);
    uint64_t chunks = (lanes + o.chunk - 1) / o.chunk;
    o.first.resize(chunks * regions);

    // Count the lanes of each region
    parallel_blocks(lanes, o.chunk, [&](uint64_t first, uint64_t last) {
        BufferRef memory = allocate(Block * sizeof(uint32_t));
        uint32_t *top = static_cast<uint32_t *>(memory->data());
        uint32_t *count = &o.first[first / o.chunk * regions];
        for (uint64_t begin = first; begin < last; begin += Block) {
            uint64_t n = std::min(Block, last - begin);
            index(top, begin, begin + n);
            find_regions(top, n, bits, uint32_t(regions - 1), o.key + begin);
            for (uint64_t i = 0; i < n; ++i)
                ++count[o.key[begin + i]];
        }
    });

    // Their places
    uint64_t place = 0;
    for (uint64_t r = 0; r < regions; ++r) {
        o.begin.push_back(place);
        for (uint64_t c = 0; c < chunks; ++c) {
            uint64_t count = o.first[c * regions + r];
            o.first[c * regions + r] = uint32_t(place);
            place += count;
        }
        o.end.push_back(place);
        place = (place + Grain - 1) / Grain * Grain;
    }
    return o;
}

std::vector<Part> cut_parts(const Order &o, uint64_t lanes, uint64_t cells, uint64_t span,
                            int bits) {
    std::vector<Part> parts;
    for (uint32_t r = 0; r < o.begin.size(); ++r) {
        uint64_t count = o.end[r] - o.begin[r], pieces = (count * PartShare + lanes / 2) / lanes;
        uint64_t length = (count / std::max<uint64_t>(pieces, 1) + Grain) / Grain * Grain;
        uint64_t low = uint64_t(r) << bits, first = low - std::min(low, span);
        uint64_t last = std::min(cells, low + (uint64_t(1) << bits));
        for (uint64_t at = o.begin[r]; at < o.end[r]; at += length)
            parts.push_back(
                { r, at, std::min(at + length, o.end[r]), first, last - first, nullptr });
    }
    return parts;
}

// Operands of a scatter for a block of lanes.
template <class T> struct Source {
    uint32_t back;
    bool uniform;
    const T *value;
    const uint8_t *mask; // null: all lanes

    bool plain() const { return !mask && !uniform; }
};

template <class T> struct Cells {
    T *data;
    uint32_t first, count;
};

template <class T, ReduceOp op>
void reduce_any(const Cells<T> &cells, const uint32_t *top, uint64_t n, const Source<T> &s) {
    for (uint64_t i = 0; i < n; ++i) {
        uint32_t at = top[i] - cells.first - s.back; // wraps where it lies before the cells
        if (at < cells.count && (!s.mask || s.mask[i]))
            combine<op>(cells.data[at], s.value[s.uniform ? 0 : i]);
    }
}

// Adds to two cells at once, where they stand side by side: half the loads and stores.
UMBEL_INLINE void add_pair(float *cells, float a, float b) {
    Vec<float, 2> both;
    std::memcpy(&both, cells, sizeof(both));
    both += Vec<float, 2>{ a, b };
    std::memcpy(cells, &both, sizeof(both));
}

// N plain ones at once: the cells of a lane are near each other.
template <class T, ReduceOp op, int N, bool Pairs = false>
void reduce_plain(const Cells<T> &cells, const uint32_t *top, uint64_t n, const Source<T> *s) {
    const T *value[N];
    uint32_t back[N], span = 0;
    for (int k = 0; k < N; ++k) {
        value[k] = s[k].value;
        back[k] = s[k].back;
        span = std::max(span, back[k]);
    }
    T *data = cells.data;
    const uint32_t first = cells.first, count = cells.count, inner = count - std::min(count, span);
    for (uint64_t i = 0; i < n; ++i) {
        uint32_t cell = top[i] - first;
        if (cell - span < inner) [[likely]] { // all of them
            if constexpr (Pairs)
                for (int k = 0; k < N; k += 2)
                    add_pair(data + (cell - back[k]), value[k][i], value[k + 1][i]);
            else
                for (int k = 0; k < N; ++k)
                    combine<op>(data[cell - back[k]], value[k][i]);
        } else {
            for (int k = 0; k < N; ++k)
                if (uint32_t at = cell - back[k]; at < count)
                    combine<op>(data[at], value[k][i]);
        }
    }
}

template <class T, ReduceOp op>
void reduce_block(const Cells<T> &cells, const uint32_t *top, uint64_t n,
                  std::span<const Source<T>> s) {
    while (!s.empty()) {
        size_t run = 0;
        while (run < s.size() && run < 4 && s[run].plain())
            ++run;
        size_t done = run == 4 ? 4 : run >= 2 ? 2 : 1;
        constexpr bool pairable = std::is_same_v<T, float> && op == ReduceOp::Add;
        if (pairable && done == 4 && s[0].back == s[1].back + 1 && s[2].back == s[3].back + 1)
            reduce_plain<T, op, 4, pairable>(cells, top, n, s.data());
        else if (done == 4)
            reduce_plain<T, op, 4>(cells, top, n, s.data());
        else if (done == 2)
            reduce_plain<T, op, 2>(cells, top, n, s.data());
        else
            reduce_any<T, op>(cells, top, n, s[0]);
        s = s.subspan(done);
    }
}

} // namespace

uint64_t RegionScatter::ordered_lanes(uint64_t lanes) {
    return lanes + (uint64_t(1) << MaxRegionsBits) * Grain;
}

void RegionScatter::set_effects(const BlockScatter &scatters, const Neighbours &neighbours) {
    target = scatters.targets[0];
    slot_widths = scatters.slot_widths;
    const std::vector<NodeId> &o = neighbours.operands;
    top_slot = uint32_t(std::find(o.begin(), o.end(), neighbours.top) - o.begin());
    for (size_t k = 0; k < scatters.effects.size(); ++k) {
        const BlockScatter::Effect &e = scatters.effects[k];
        effects.push_back({ neighbours.back[k], e.value, e.mask, e.masked });
    }
    std::stable_sort(effects.begin(), effects.end(),
                     [](const Effect &a, const Effect &b) { return a.back > b.back; });
}

void RegionScatter::run(
    uint64_t lanes, const std::function<void(uint32_t *out, uint64_t begin, uint64_t end)> &index,
    const std::function<void(char *const *slots, uint64_t begin, uint64_t end)> &compute) const {
    uint64_t span = 0, element = bytes(target.type);
    for (const Effect &e : effects)
        span = std::max<uint64_t>(span, e.back);
    const uint64_t reach = target.cells + span; // `top` is below, or hits nothing
    const int bits = region_bits(reach, element);

    // Order
    Order order = order_lanes(lanes, ((reach - 1) >> bits) + 1, bits, index);
    move_columns<false>(inputs, order, lanes);

    // Run, with a copy of its region for each part
    std::vector<Part> parts = cut_parts(order, lanes, target.cells, span, bits);
    uint64_t stride = ((uint64_t(1) << bits) + span) * element + 64;
    BufferRef copies = allocate(parts.size() * stride);
    uint64_t width = std::accumulate(slot_widths.begin(), slot_widths.end(), uint64_t(0));
    uint64_t block = std::max(BlockBytes / width / Grain * Grain, Grain);
    with_reduction("scatter", target.type, target.op, [&]<class T, ReduceOp op> {
        parallel_blocks(parts.size(), 1, [&](uint64_t number, uint64_t) {
            Part &part = parts[number];
            part.copy = static_cast<char *>(copies->data()) + number * stride;
            Cells<T> cells{ reinterpret_cast<T *>(part.copy), uint32_t(part.first_cell),
                            uint32_t(part.cells) };
            std::fill_n(cells.data, cells.count, neutral<T, op>());
            std::vector<Source<T>> sources;
            std::vector<BufferRef> scratch;
            for (uint64_t w : slot_widths)
                scratch.push_back(allocate(block * w));
            std::vector<char *> slots(slot_widths.size());
            for (uint64_t begin = part.begin; begin < part.end; begin += block) {
                uint64_t end = std::min(part.end, begin + block);
                for (size_t k = 0; k < slots.size(); ++k)
                    slots[k] = static_cast<char *>(scratch[k]->data()) - begin * slot_widths[k];
                compute(slots.data(), begin, end);
                sources.clear();
                for (const Effect &e : effects) {
                    auto *value = static_cast<const T *>(e.value.at(slots.data(), begin, element));
                    auto *mask = static_cast<const uint8_t *>(e.mask.at(slots.data(), begin, 1));
                    sources.push_back(
                        { e.back, e.value.uniform, value, e.masked ? mask : nullptr });
                }
                auto *top = reinterpret_cast<const uint32_t *>(slots[top_slot]) + begin;
                reduce_block<T, op>(cells, top, end - begin, std::span<const Source<T>>(sources));
            }
        });

        // Merge: a copy reaches `span` cells into the region before its own
        T *cells = static_cast<T *>(target.data);
        parallel_blocks(target.cells, uint64_t(1) << bits, [&](uint64_t begin, uint64_t end) {
            for (const Part &p : parts) {
                uint64_t first = std::max(begin, p.first_cell);
                uint64_t last = std::min(end, p.first_cell + p.cells);
                const T *copy = reinterpret_cast<const T *>(p.copy) - p.first_cell;
                for (uint64_t i = first; i < last; ++i)
                    combine<op>(cells[i], copy[i]);
            }
        });
    });
    move_columns<true>(outputs, order, lanes);
}

// ---- Whether it fits

namespace {

// A u32 as a sum of multiples of other nodes and a constant.
struct Linear {
    std::vector<std::pair<NodeId, uint32_t>> terms;
    uint32_t constant = 0;

    void add(const Graph &g, NodeId id, uint32_t factor, int depth) {
        const Node &n = g[id];
        auto constant_of = [&](int k, uint32_t &out) {
            const Node &d = g[n.dep[k]];
            return d.op == Op::Literal ? (out = uint32_t(d.imm), true) : false;
        };
        uint32_t c;
        if (n.op == Op::Literal) {
            constant += factor * uint32_t(n.imm);
        } else if (depth == 0) {
            terms.push_back({ id, factor });
        } else if (n.op == Op::Add || n.op == Op::Sub) {
            add(g, n.dep[0], factor, depth - 1);
            add(g, n.dep[1], n.op == Op::Add ? factor : -factor, depth - 1);
        } else if (n.op == Op::Mul && (constant_of(0, c) || constant_of(1, c))) {
            add(g, n.dep[g[n.dep[0]].op == Op::Literal ? 1 : 0], factor * c, depth - 1);
        } else if (n.op == Op::Shl && constant_of(1, c)) {
            add(g, n.dep[0], factor << (c & 31), depth - 1);
        } else {
            terms.push_back({ id, factor });
        }
    }

    // Terms in the order of nodes, each node once
    void sort() {
        std::sort(terms.begin(), terms.end());
        size_t kept = 0;
        for (const auto &[id, factor] : terms) {
            if (kept && terms[kept - 1].first == id)
                terms[kept - 1].second += factor;
            else
                terms[kept++] = { id, factor };
        }
        terms.resize(kept);
    }
};

} // namespace

Neighbours find_neighbours(const Graph &g, const std::vector<NodeId> &scatters,
                           const std::vector<NodeId> &operands, uint32_t lanes) {
    // Copies in f64 serve smaller targets; one scatter alone needs no kernel to run again.
    constexpr uint64_t LeastCells = 1 << 18, LeastLanes = 1 << 18;
    constexpr int Depth = 8;
    if (scatters.size() < 2 || lanes < LeastLanes)
        return {};
    NodeId buffer = g[g[scatters[0]].dep[0]].dep[0];
    uint64_t cells = g[buffer].size, width = bytes(g[buffer].type);
    if (cells < LeastCells || uint64_t(lanes) * scatters.size() < cells)
        return {};

    auto among = [&](NodeId id) {
        return std::find(operands.begin(), operands.end(), id) != operands.end();
    };
    std::vector<uint32_t> offset;
    Linear first;
    for (NodeId id : scatters) {
        const Node &n = g[id];
        if (g[n.dep[0]].dep[0] != buffer || n.imm != g[scatters[0]].imm || !among(n.dep[1]))
            return {};
        for (int k : { 2, 3 }) // evaluated operands would have to be ordered, too
            if (g[n.dep[k]].op == Op::Buffer && g[n.dep[k]].size != 1)
                return {};
        Linear index;
        index.add(g, n.dep[1], 1, Depth);
        index.sort();
        if (offset.empty())
            first = index;
        if (index.terms != first.terms)
            return {};
        offset.push_back(index.constant - first.constant);
    }

    // The largest cell of a lane; offsets wrap
    Neighbours result;
    auto less = [](uint32_t a, uint32_t b) { return int32_t(a - b) < 0; };
    auto top = std::max_element(offset.begin(), offset.end(), less);
    uint64_t span = 0;
    for (uint32_t o : offset) {
        result.back.push_back(*top - o);
        span = std::max<uint64_t>(span, *top - o);
    }
    int bits = region_bits(cells + span, width);
    if (span > (uint64_t(1) << bits) / 2 || cells + span > uint64_t(1) << 31 ||
        bits + std::countr_zero(width) > MaxRegionBytesBits)
        return {};
    result.top = g[scatters[size_t(top - offset.begin())]].dep[1];
    for (NodeId id : operands) {
        bool needed = id == result.top;
        for (NodeId scatter : scatters)
            needed |= g[scatter].dep[2] == id || g[scatter].dep[3] == id;
        if (needed)
            result.operands.push_back(id);
    }
    return result;
}

} // namespace umbel::jit
