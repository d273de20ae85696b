// jit/algorithm_scan.cpp: prefix_sum, compress, count.
//
// Prefix sums are made of nested groups: lanes of a vector, four vectors, a piece, the run. In
// each, the sum of all that precedes is added to sums that start at the group itself (Sklansky's
// scheme). Every level rounds monotonically, so that sums of nonnegative floats never decrease, and
// an exclusive sum is the inclusive one moved by an element, to the bit: a table of cumulative
// probabilities can be searched.
#include "jit/algorithm.h"
#include "jit/algorithm_common.h"
#include "jit/stream.h"
#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

namespace umbel::jit {
namespace {

// ---- Sums within a piece

template <class A> constexpr int ScanLanes = sizeof(A) == 8 ? 4 : sizeof(A) == 1 ? 16 : 8;

template <class T> struct Scan {
    using A = Accumulator<T, ReduceOp::Add>;
    static constexpr int N = ScanLanes<A>;
    static constexpr int Group = 4 * N;
    using V = Vec<A, N>;
    using Index = Vec<std::make_signed_t<Unsigned<A>>, N>;
    using LaneNumbers = std::make_integer_sequence<int, N>;

    // Lane i takes lane i - 1, and lane 0 the last one of `before`.
    template <int... I>
    static UMBEL_INLINE void shift(const V &before, V &x, std::integer_sequence<int, I...>) {
        x = __builtin_shuffle(before, x, Index{ (N - 1 + I)... });
    }

    static UMBEL_INLINE void broadcast_last(const V &x, V &out) {
        out = __builtin_shuffle(x, Index{} + (N - 1));
    }

    // Makes groups of 2 Half lanes: those of the upper half add the last lane of the lower half.
    template <int Half, int... I>
    static UMBEL_INLINE void scan_step(V &x, std::integer_sequence<int, I...> lanes) {
        x += __builtin_shuffle(x, V{}, Index{ (I & Half ? (I & ~(Half - 1)) - 1 : N)... });
        if constexpr (2 * Half < N)
            scan_step<2 * Half>(x, lanes);
    }

    // Sums of the lanes of four vectors, with respect to the first.
    static UMBEL_INLINE void scan_group(const T *in, V (&x)[4]) {
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) {
            load<N, A>(in + k * N, x[k]);
            scan_step<1>(x[k], LaneNumbers());
        }
        V last;
        broadcast_last(x[0], last);
        x[1] += last;
        broadcast_last(x[2], last);
        x[3] += last;
        broadcast_last(x[1], last);
        x[2] += last;
        x[3] += last;
    }

    static UMBEL_INLINE void store(const V &x, T *out) {
        if constexpr (std::is_same_v<T, f16>) {
            for (int i = 0; i < N; ++i)
                out[i] = T(x[i]);
        } else {
            Vec<T, N> y = __builtin_convertvector(x, Vec<T, N>);
            std::memcpy(out, &y, sizeof(y));
        }
    }

    // out[i] = base + (in[0] + ... + in[i]); exclusive: up to in[i - 1]. May run in place.
    static UMBEL_INLINE void piece(const T *in, uint64_t n, bool exclusive, A base, T *out) {
        A sum = 0;
        uint64_t i = 0;
        if (n >= Group) {
            V sums = {}, bases = V{} + base, zero = {}, x[4], last;
            for (; i + Group <= n; i += Group) {
                scan_group(in + i, x);
                broadcast_last(x[3], last);
                if (exclusive)
#pragma GCC unroll 4
                    for (int k = 3; k >= 0; --k)
                        shift(k ? x[k - 1] : zero, x[k], LaneNumbers());
#pragma GCC unroll 4
                for (int k = 0; k < 4; ++k)
                    store((x[k] + sums) + bases, out + i + k * N);
                sums += last;
            }
            sum = sums[0];
        }
        for (; i < n; ++i) {
            A next = A(sum + A(in[i]));
            out[i] = T(A(base + (exclusive ? sum : next)));
            sum = next;
        }
    }

    // Each run of `block` elements.
    UMBEL_CLONES static void pieces(const T *in, uint64_t n, uint64_t block, bool exclusive, A base,
                                    T *out) {
        for (uint64_t i = 0; i < n; i += block)
            piece(in + i, std::min(block, n - i), exclusive, base, out + i);
    }

    // The sum of a whole piece, rounded as above.
    UMBEL_CLONES static A total(const T *in, uint64_t n) {
        A sum = 0;
        uint64_t i = 0;
        for (; i + Group <= n; i += Group) {
            prefetch<Group * sizeof(T)>(in + i);
            if constexpr (is_float_v<T>) {
                // (x0 + x1) + (x2 + x3) of four vectors at once, then the same of the four results.
                V a, b, c, d;
                load<4, A>(in + i, a);
                load<4, A>(in + i + 4, b);
                load<4, A>(in + i + 8, c);
                load<4, A>(in + i + 12, d);
                using I = Vec<int64_t, 4>;
                V ab = __builtin_shuffle(a, b, I{ 0, 4, 2, 6 }) +
                       __builtin_shuffle(a, b, I{ 1, 5, 3, 7 });
                V cd = __builtin_shuffle(c, d, I{ 0, 4, 2, 6 }) +
                       __builtin_shuffle(c, d, I{ 1, 5, 3, 7 });
                V t = __builtin_shuffle(ab, cd, I{ 0, 1, 4, 5 }) +
                      __builtin_shuffle(ab, cd, I{ 2, 3, 6, 7 });
                sum += (t[0] + t[1]) + (t[2] + t[3]);
            } else {
                V x, y, z, w;
                load<N, A>(in + i, x);
                load<N, A>(in + i + N, y);
                load<N, A>(in + i + 2 * N, z);
                load<N, A>(in + i + 3 * N, w);
                x = (x + y) + (z + w);
                for (int k = 0; k < N; ++k)
                    sum = A(sum + x[k]);
            }
        }
        for (; i < n; ++i)
            sum = A(sum + A(in[i]));
        return sum;
    }
};

// ---- Sums of runs

constexpr uint64_t ChunkBytes = 2 << 20; // about a core's L2 cache

template <class T> void scan_runs(const T *in, uint64_t n, uint64_t block, bool exclusive, T *out) {
    using A = typename Scan<T>::A;
    // Short runs: several of them make a task
    if (block <= Piece) {
        parallel_blocks(n, Piece / block * block, [&](uint64_t begin, uint64_t end) {
            Scan<T>::pieces(in + begin, end - begin, block, exclusive, A(0), out + begin);
        });
        return;
    }

    // Long runs: total each piece, sum the totals, then scan each piece from where it starts. A chunk
    // of pieces at a time, so that the second reading finds them in the caches.
    uint64_t per_run = (block + Piece - 1) / Piece, pieces = (n + block - 1) / block * per_run;
    uint64_t chunk =
        std::max(ChunkBytes / (Piece * sizeof(T)), 4 * uint64_t(Stream::thread_count()));
    std::vector<A> base(chunk);
    A sum = 0;
    for (uint64_t first = 0; first < pieces; first += chunk) {
        uint64_t count = std::min(chunk, pieces - first);
        auto for_pieces = [&](auto fn) {
            parallel_blocks(count, 1, [&](uint64_t k, uint64_t) {
                uint64_t p = first + k, begin = p / per_run * block + p % per_run * Piece;
                uint64_t end = std::min({ n, begin + Piece, (p / per_run + 1) * block });
                base[k] = begin < end ? fn(base[k], begin, end - begin) : A(0);
            });
        };
        for_pieces(
            [&](A, uint64_t begin, uint64_t length) { return Scan<T>::total(in + begin, length); });
        for (uint64_t k = 0; k < count; ++k) {
            if ((first + k) % per_run == 0)
                sum = 0; // a run begins
            sum = A(sum + std::exchange(base[k], sum));
        }
        for_pieces([&](A start, uint64_t begin, uint64_t length) {
            Scan<T>::pieces(in + begin, length, length, exclusive, start, out + begin);
            return start;
        });
    }
}

// ---- Masks

// Bit i tells whether byte i of 64 is nonzero.
UMBEL_INLINE uint64_t nonzero_bits(const uint8_t *mask) {
    uint64_t bits = 0;
    for (int k = 0; k < 8; ++k) {
        uint64_t x;
        std::memcpy(&x, mask + 8 * k, 8);
        // The top bit of each byte becomes its truth; the product gathers the eight of them.
        x = ((x & 0x7f7f7f7f7f7f7f7full) + 0x7f7f7f7f7f7f7f7full) | x;
        x = (x >> 7) & 0x0101010101010101ull;
        bits |= ((x * 0x0102040810204080ull) >> 56) << (8 * k);
    }
    return bits;
}

UMBEL_CLONES uint64_t count_piece(const uint8_t *mask, uint64_t n) {
    using V = Vec<uint8_t, 64>;
    uint64_t result = 0, i = 0;
    while (i + 64 <= n) {
        // A byte of the accumulator overflows after 255 steps.
        V acc = {}, x;
        uint64_t stop = std::min(n, i + 255 * 64);
        for (; i + 64 <= stop; i += 64) {
            std::memcpy(&x, mask + i, 64);
            acc -= (V)(x != 0); // true is -1
        }
        uint8_t lane[64];
        std::memcpy(lane, &acc, 64);
        for (int k = 0; k < 64; ++k)
            result += lane[k];
    }
    for (; i < n; ++i)
        result += mask[i] != 0;
    return result;
}

UMBEL_CLONES void compress_piece(const uint8_t *mask, uint64_t begin, uint64_t end, uint32_t *out) {
    uint64_t i = begin;
    for (; i + 64 <= end; i += 64) {
        uint64_t bits = nonzero_bits(mask + i);
        if (bits == ~uint64_t(0)) {
            for (int k = 0; k < 64; ++k)
                out[k] = uint32_t(i + k);
            out += 64;
        } else {
            for (; bits; bits &= bits - 1)
                *out++ = uint32_t(i + std::countr_zero(bits));
        }
    }
    for (; i < end; ++i)
        if (mask[i])
            *out++ = uint32_t(i);
}

constexpr uint64_t MaskPiece = 4 * Piece;

// Nonzero bytes of each piece.
std::vector<uint64_t> count_pieces(const uint8_t *mask, uint64_t n) {
    std::vector<uint64_t> counts((n + MaskPiece - 1) / MaskPiece);
    parallel_blocks(n, MaskPiece, [&](uint64_t begin, uint64_t end) {
        counts[begin / MaskPiece] = count_piece(mask + begin, end - begin);
    });
    return counts;
}

} // namespace

// ---- Interface

void prefix_sum(Type t, const void *in, uint64_t n, uint64_t block, bool exclusive, void *out) {
    if (n == 0)
        return;
    if (block == 0)
        throw InternalError("prefix_sum: the block is empty");
    with_reduction("prefix_sum", t, ReduceOp::Add, [&]<class T, ReduceOp op> {
        if constexpr (op == ReduceOp::Add)
            scan_runs((const T *)in, n, std::min(block, n), exclusive, (T *)out);
    });
}

uint64_t count(const uint8_t *mask, uint64_t n) {
    uint64_t result = 0;
    for (uint64_t c : count_pieces(mask, n))
        result += c;
    return result;
}

uint64_t compress(const uint8_t *mask, uint64_t n, uint32_t *out) {
    if (n > uint64_t(1) << 32)
        throw InternalError(fmt::format("compress: {} lanes exceed 32-bit indices", n));
    std::vector<uint64_t> start = count_pieces(mask, n);
    uint64_t total = 0;
    for (uint64_t &s : start) {
        uint64_t count = s;
        s = total;
        total += count;
    }
    parallel_blocks(n, MaskPiece, [&](uint64_t begin, uint64_t end) {
        compress_piece(mask, begin, end, out + start[begin / MaskPiece]);
    });
    return total;
}

} // namespace umbel::jit
