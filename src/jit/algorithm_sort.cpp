// jit/algorithm_sort.cpp: sort_permutation, by least significant digits first.
//
// Keys become unsigned integers of the same order; pairs of key and index pass through one stable
// partition per digit. Bits that are equal in all keys are skipped.
#include "jit/algorithm.h"
#include "jit/algorithm_common.h"
#include "jit/algorithm_partition.h"
#include <bit>
#include <utility>

namespace umbel::jit {
namespace {

// Wider digits mean fewer passes, narrower ones that a chunk's lines stay in the L1 or L2 cache.
constexpr int MaxDigitBits = 11;
constexpr uint64_t SmallSort = 1024;

// Maps raw bits of a key to an unsigned integer of the same order. T is unsigned.
template <class T> struct KeyOrder {
    bool is_float;
    T flip; // of integers and of floats with a clear sign bit
    T invert;

    KeyOrder(Type t, bool descending)
        : is_float(jit::is_float(t)),
          flip(is_float || is_signed(t) ? T(T(1) << (8 * sizeof(T) - 1)) : T(0)),
          invert(descending ? T(~T(0)) : T(0)) {}

    T operator()(T x) const {
        // Negative floats: all bits, as a larger magnitude comes first.
        T negative = T(-T(is_float & (x >> (8 * sizeof(T) - 1))));
        return T(x ^ (flip | negative) ^ invert);
    }
};

template <class K> struct KeyIndex {
    K key;
    uint32_t index;
};

template <class T> void sort_small(const T *keys, uint32_t n, KeyOrder<T> order, uint32_t *out) {
    KeyIndex<T> pairs[SmallSort];
    for (uint32_t i = 0; i < n; ++i)
        pairs[i] = { order(keys[i]), i };
    std::sort(pairs, pairs + n, [](const auto &a, const auto &b) {
        return a.key != b.key ? a.key < b.key : a.index < b.index;
    });
    for (uint32_t i = 0; i < n; ++i)
        out[i] = pairs[i].index;
}

// Bits in which ordered keys may differ.
template <class T> T varying_bits(const T *keys, uint64_t n, bool is_float) {
    constexpr Type t = type_of_v<T>;
    T any, all;
    reduce(t, ReduceOp::Or, keys, n, &any);
    reduce(t, ReduceOp::And, keys, n, &all);
    T varying = T(any & ~all);
    bool both_signs = varying >> (8 * sizeof(T) - 1);
    return is_float && both_signs ? T(~T(0)) : varying; // negative keys are complemented
}

template <class T> void sort_radix(const T *keys, uint64_t n, KeyOrder<T> order, uint32_t *out) {
    using K = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    using Rec = KeyIndex<K>;
    K varying = varying_bits(keys, n, order.is_float);
    if (varying == 0) {
        parallel_blocks(n, Piece, [&](uint64_t begin, uint64_t end) {
            for (uint64_t i = begin; i < end; ++i)
                out[i] = uint32_t(i);
        });
        return;
    }

    // Digits of equal width that cover the varying bits
    int low = std::countr_zero(varying), high = int(std::bit_width(varying));
    int passes = (high - low + MaxDigitBits - 1) / MaxDigitBits;
    int width = (high - low + passes - 1) / passes;
    K mask = (K(1) << width) - 1;

    // The first pass reads the keys, the last one writes indices only
    BufferRef from, to;
    for (bool first = true;; first = false) {
        low += std::countr_zero(K(varying >> low)); // pass over bits that never vary
        int shift = low;
        low += width;
        bool last = low >= high;
        auto digit = [shift, mask](K key) { return uint32_t((key >> shift) & mask); };
        auto load_key = [&](uint64_t i, Rec &rec) {
            rec = { K(order(keys[i])), uint32_t(i) };
            return digit(rec.key);
        };
        const Rec *source = from ? (const Rec *)from->data() : nullptr;
        auto load_pair = [&](uint64_t i, Rec &rec) {
            rec = source[i];
            return digit(rec.key);
        };
        auto index_of = [](const auto &load) {
            return [&load](uint64_t i, uint32_t &index) {
                Rec rec;
                uint32_t bucket = load(i, rec);
                index = rec.index;
                return bucket;
            };
        };

        uint32_t buckets = uint32_t(mask) + 1;
        if (last) {
            if (first)
                partition(n, buckets, out, index_of(load_key));
            else
                partition(n, buckets, out, index_of(load_pair));
            return;
        }
        if (!to)
            to = allocate(n * sizeof(Rec));
        if (first)
            partition(n, buckets, (Rec *)to->data(), load_key);
        else
            partition(n, buckets, (Rec *)to->data(), load_pair);
        std::swap(from, to);
    }
}

template <class T> void sort(Type t, const void *keys, uint64_t n, bool descending, uint32_t *out) {
    KeyOrder<T> order(t, descending);
    if (n <= SmallSort)
        sort_small((const T *)keys, uint32_t(n), order, out);
    else
        sort_radix((const T *)keys, n, order, out);
}

} // namespace

// ---- Interface

void sort_permutation(Type t, const void *keys, uint64_t n, bool descending, uint32_t *out) {
    if (n >= uint64_t(1) << 31)
        throw UserError(
            fmt::format("sort: {} elements; at most 2^31 - 1 can be sorted at once", n));
    switch (bytes(t)) {
    case 1: return sort<uint8_t>(t, keys, n, descending, out);
    case 2: return sort<uint16_t>(t, keys, n, descending, out);
    case 4: return sort<uint32_t>(t, keys, n, descending, out);
    case 8: return sort<uint64_t>(t, keys, n, descending, out);
    default: throw InternalError(fmt::format("sort_permutation: {} has no order", name(t)));
    }
}

} // namespace umbel::jit
