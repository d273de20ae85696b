// jit/algorithm.h: array algorithms that are not lane by lane, over host memory.
//
// All run on the calling thread's TBB arena and give the same bits for any number of threads: work is
// cut into blocks whose size depends on the problem alone, and partial results are combined in order.
#pragma once
#include "jit/op.h"
#include "jit/type.h"
#include <cstdint>

namespace umbel::jit {

/// Reduces `n` elements at `in` to one at `out`. Bool: And, Or. n = 0 gives the identity.
void reduce(Type t, ReduceOp op, const void *in, uint64_t n, void *out);
/// Sum of products; floats accumulate in f64.
void dot(Type t, const void *a, const void *b, uint64_t n, void *out);
/// Reduces each run of `block` elements; the last one may be shorter. out: ceil(n / block) elements.
void block_reduce(Type t, ReduceOp op, const void *in, uint64_t n, uint64_t block, void *out);
/// Prefix sums within runs of `block` elements (n for one run).
void prefix_sum(Type t, const void *in, uint64_t n, uint64_t block, bool exclusive, void *out);
/// Indices of the nonzero bytes of `mask`, ascending; returns how many.
uint64_t compress(const uint8_t *mask, uint64_t n, uint32_t *out);
/// Number of nonzero bytes.
uint64_t count(const uint8_t *mask, uint64_t n);
/// Stable permutation that sorts keys ascending (descending): out[i] is the index of the i-th element.
/// Floats: -0 before +0; NaNs with the sign bit clear sort last.
void sort_permutation(Type t, const void *keys, uint64_t n, bool descending, uint32_t *out);
/// target[index[i]] op= value[i] for all i in [0, n) with mask[i] (null: all), as if i ran from 0
/// upward, to the bit. value_uniform: value[0] for all. Indices past target_size are skipped. Min
/// and max keep the target where the value is NaN.
///
/// One exception, for sums and products of floats: with n >= 4096, target_size <= 65536 and n >= 64
/// target_size, blocks of lanes (whose length follows from n and target_size alone) accumulate in
/// f64, and each cell of the target takes one rounded update. That is more accurate than the
/// sequential order.
void scatter_reduce(Type t, ReduceOp op, void *target, uint64_t target_size, const uint32_t *index,
                    const void *value, bool value_uniform, const uint8_t *mask, uint64_t n);

} // namespace umbel::jit
