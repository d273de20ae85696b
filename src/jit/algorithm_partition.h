// jit/algorithm_partition.h: a stable parallel partition of records into buckets.
//
// The step that radix sort and scattering share. Chunks of the input count their buckets, sums of
// the counts tell each chunk where its part of each bucket starts, then all chunks move their
// records. A chunk gathers a cache line per bucket before it writes it, past the caches: memory
// sees whole lines.
#pragma once
#include "jit/buffer.h"
#include "jit/stream.h"
#include <algorithm>
#include <cstring>
#include <tbb/task_arena.h>
#include <vector>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace umbel::jit {

/// A cache line of a bucket's records on their way to memory.
template <class Rec> struct alignas(64) BucketLine {
    static constexpr uint32_t Count = 64 / sizeof(Rec);
    Rec rec[Count];

    void stream_to(Rec *out) const {
#if defined(__SSE2__)
        for (int k = 0; k < 4; ++k)
            _mm_stream_si128((__m128i *)out + k, _mm_load_si128((const __m128i *)rec + k));
#else
        std::memcpy(out, rec, 64);
#endif
    }
};

/// Moves the records of one chunk. pos[b]: where bucket b's next record goes, in elements of `out`;
/// an entry more, 0, is for records to be dropped.
template <class Rec, class Load>
void move_chunk(uint64_t begin, uint64_t end, uint32_t buckets, uint32_t *pos, Rec *out,
                const Load &load) {
    constexpr uint32_t L = BucketLine<Rec>::Count;
    // Positions count from the start of the line that `out` lies in, so that lines are aligned.
    uint32_t skew = uint32_t(uintptr_t(out) % 64 / sizeof(Rec));
    out -= skew;
    BufferRef memory = allocate((buckets + 1) * (sizeof(BucketLine<Rec>) + sizeof(uint32_t)));
    auto *line = (BucketLine<Rec> *)memory->data();
    auto *first = (uint32_t *)(line + buckets + 1);
    for (uint32_t b = 0; b < buckets; ++b)
        first[b] = pos[b] += skew;

    // Fill lines; a full one goes to memory
    for (uint64_t i = begin; i < end; ++i) {
        Rec rec;
        uint32_t b = load(i, rec);
        uint32_t p = pos[b]++;
        line[b].rec[p % L] = rec;
        if (p % L == L - 1) {
            uint32_t start = p + 1 - L;
            if (b == buckets) // dropped
                pos[b] = 0;
            else if (start >= first[b])
                line[b].stream_to(out + start);
            else // the line's head belongs to another chunk or bucket
                std::copy(line[b].rec + first[b] % L, line[b].rec + L, out + first[b]);
        }
    }

    // Lines that did not become full
    for (uint32_t b = 0; b < buckets; ++b) {
        uint32_t start = std::max(first[b], pos[b] - pos[b] % L);
        std::copy(line[b].rec + start % L, line[b].rec + (start % L + pos[b] - start), out + start);
    }
#if defined(__SSE2__)
    _mm_sfence(); // streamed lines must be visible to whoever is told that the chunk is done
#endif
}

/// Partitions records 0 to n - 1 (fewer than 2^31) into `out`. `load(i, rec)` makes record i and
/// returns its bucket, or `buckets` to have it dropped; it is called twice. Rec: 4, 8 or 16 bytes,
/// `out` aligned to their size. Returns where each bucket starts, then where the last one ends.
/// There is one stable partition, so the result depends neither on the chunks nor on the threads.
template <class Rec, class Load>
std::vector<uint32_t> partition(uint64_t n, uint32_t buckets, Rec *out, const Load &load) {
    // A chunk is worth its counters, and a thread gets several to even out the load
    uint64_t threads = uint64_t(tbb::this_task_arena::max_concurrency());
    uint64_t chunks =
        std::clamp<uint64_t>(n / (16 * buckets + 4096), 1, threads == 1 ? 1 : 4 * threads);
    uint64_t chunk = (n + chunks - 1) / chunks;
    uint64_t stride = buckets + 1; // the last bucket takes what is dropped
    std::vector<uint32_t> counts(chunks * stride);

    // Count
    parallel_blocks(n, chunk, [&](uint64_t begin, uint64_t end) {
        // Two counters per bucket: successive records of one bucket need not wait for each other.
        std::vector<uint32_t> count(2 * stride);
        for (uint64_t i = begin; i < end; ++i) {
            Rec rec;
            count[2 * load(i, rec) + (i & 1)]++;
        }
        for (uint32_t b = 0; b < buckets; ++b)
            counts[begin / chunk * stride + b] = count[2 * b] + count[2 * b + 1];
    });

    // Sum: bucket by bucket, and chunk by chunk within a bucket
    std::vector<uint32_t> start(buckets + 1);
    uint32_t total = 0;
    for (uint32_t b = 0; b < buckets; ++b) {
        start[b] = total;
        for (uint64_t c = 0; c < chunks; ++c) {
            uint32_t count = counts[c * stride + b];
            counts[c * stride + b] = total;
            total += count;
        }
    }
    start[buckets] = total;

    // Move
    parallel_blocks(n, chunk, [&](uint64_t begin, uint64_t end) {
        move_chunk(begin, end, buckets, &counts[begin / chunk * stride], out, load);
    });
    return start;
}

} // namespace umbel::jit
