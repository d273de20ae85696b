// jit/algorithm_reduce.cpp: reduce, block_reduce, dot.
//
// An array (or a run of it) is cut into pieces of fixed length; a piece is reduced by several
// vector accumulators in a fixed pattern, and the results of the pieces are combined in order.
#include "jit/algorithm.h"
#include "jit/algorithm_common.h"
#include "jit/stream.h"
#include <algorithm>
#include <vector>

namespace umbel::jit {
namespace {

// ---- One piece

// Lanes of an accumulator: 64 bytes, and no more than 16, lest short runs take the scalar path.
template <class A> constexpr int Lanes = sizeof(A) == 8 ? 8 : 16;

template <ReduceOp op, class A> UMBEL_INLINE A combine_lanes(Vec<A, Lanes<A>> (&acc)[4]) {
    combine<op>(acc[0], acc[1]);
    combine<op>(acc[2], acc[3]);
    combine<op>(acc[0], acc[2]);
    A lane[Lanes<A>];
    std::memcpy(lane, &acc[0], sizeof(lane));
    for (int half = Lanes<A> / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i)
            combine<op>(lane[i], lane[i + half]);
    return lane[0];
}

template <class T, ReduceOp op> struct Reduce {
    using A = Accumulator<T, op>;

    static UMBEL_INLINE A piece(const T *in, uint64_t n) {
        constexpr int N = Lanes<A>;
        A result = identity<A, op>();
        uint64_t i = 0;
        if (n >= 4 * N) {
            Vec<A, N> acc[4], x;
            for (int k = 0; k < 4; ++k)
                load<N, A>(in + k * N, acc[k]);
            // Min and max must not start from a NaN.
            if constexpr (is_float_v<A> && (op == ReduceOp::Min || op == ReduceOp::Max))
                for (int k = 0; k < 4; ++k)
                    acc[k] = acc[k] == acc[k] ? acc[k] : identity<A, op>() - Vec<A, N>{};
            for (i = 4 * N; i + 4 * N <= n; i += 4 * N) {
                prefetch<4 * N * sizeof(T)>(in + i);
#pragma GCC unroll 4
                for (int k = 0; k < 4; ++k) {
                    load<N, A>(in + i + k * N, x);
                    combine<op>(acc[k], x);
                }
            }
            result = combine_lanes<op, A>(acc);
        }
        for (; i < n; ++i)
            combine<op>(result, A(in[i]));
        return result;
    }

    // Each run of `block` elements; R is T or A.
    template <class R>
    UMBEL_CLONES static void pieces(const T *in, uint64_t n, uint64_t block, R *out) {
        for (uint64_t i = 0; i < n; i += block)
            *out++ = R(piece(in + i, std::min(block, n - i)));
    }
};

template <class T> struct Dot {
    using A = Accumulator<T, ReduceOp::Add>;

    UMBEL_CLONES static A piece(const T *a, const T *b, uint64_t n) {
        constexpr int N = Lanes<A>;
        A result = 0;
        uint64_t i = 0;
        if (n >= 4 * N) {
            Vec<A, N> acc[4] = {}, x, y;
            for (; i + 4 * N <= n; i += 4 * N)
#pragma GCC unroll 4
                for (int k = 0; k < 4; ++k) {
                    load<N, A>(a + i + k * N, x);
                    load<N, A>(b + i + k * N, y);
                    acc[k] += x * y;
                }
            result = combine_lanes<ReduceOp::Add, A>(acc);
        }
        for (; i < n; ++i) {
            A product = A(a[i]);
            combine<ReduceOp::Mul>(product, A(b[i]));
            combine<ReduceOp::Add>(result, product);
        }
        return result;
    }
};

// ---- Many pieces

// Long runs are made of several tasks: fn(begin, n) gives the result of a piece.
template <class T, class A, ReduceOp op, class PieceFn>
void reduce_long_runs(uint64_t n, uint64_t block, T *out, const PieceFn &fn) {
    uint64_t runs = (n + block - 1) / block, per_run = (block + Piece - 1) / Piece;
    std::vector<A> partial(runs * per_run, identity<A, op>());
    parallel_blocks(partial.size(), 1, [&](uint64_t p, uint64_t) {
        uint64_t begin = p / per_run * block + p % per_run * Piece;
        uint64_t end = std::min({ n, begin + Piece, (p / per_run + 1) * block });
        if (begin < end)
            partial[p] = fn(begin, end - begin);
    });
    for (uint64_t r = 0; r < runs; ++r) {
        A result = partial[r * per_run];
        for (uint64_t p = 1; p < per_run; ++p)
            combine<op>(result, partial[r * per_run + p]);
        out[r] = T(result);
    }
}

template <class T, ReduceOp op> void reduce_runs(const T *in, uint64_t n, uint64_t block, T *out) {
    using A = Accumulator<T, op>;
    if (block > Piece) {
        reduce_long_runs<T, A, op>(n, block, out, [&](uint64_t begin, uint64_t count) {
            A result;
            Reduce<T, op>::pieces(in + begin, count, count, &result);
            return result;
        });
        return;
    }
    // Short runs: several of them make a task
    parallel_blocks(n, Piece / block * block, [&](uint64_t begin, uint64_t end) {
        Reduce<T, op>::pieces(in + begin, end - begin, block, out + begin / block);
    });
}

} // namespace

// ---- Interface

void reduce(Type t, ReduceOp op, const void *in, uint64_t n, void *out) {
    if (n) {
        block_reduce(t, op, in, n, n, out);
        return;
    }
    with_reduction("reduce", t, op, [&]<class T, ReduceOp o> {
        *(T *)out = t == Type::Bool && op == ReduceOp::And ? T(1) : identity<T, o>();
    });
}

void block_reduce(Type t, ReduceOp op, const void *in, uint64_t n, uint64_t block, void *out) {
    if (block == 0)
        throw InternalError("block_reduce: the block is empty");
    with_reduction("block_reduce", t, op, [&]<class T, ReduceOp o> {
        if constexpr (o == ReduceOp::Store)
            throw InternalError("block_reduce: storing is no reduction");
        else
            reduce_runs<T, o>((const T *)in, n, std::min(block, std::max<uint64_t>(n, 1)),
                              (T *)out);
    });
}

void dot(Type t, const void *a, const void *b, uint64_t n, void *out) {
    // As in sums, the sign of integers does not matter.
    with_reduction("dot", t, ReduceOp::Add, [&]<class T, ReduceOp o> {
        if constexpr (o == ReduceOp::Add) {
            if (n == 0)
                *(T *)out = T(0);
            else
                reduce_long_runs<T, Accumulator<T, o>, o>(
                    n, n, (T *)out, [&](uint64_t i, uint64_t count) {
                        return Dot<T>::piece((const T *)a + i, (const T *)b + i, count);
                    });
        }
    });
}

} // namespace umbel::jit
