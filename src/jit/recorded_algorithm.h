// jit/recorded_algorithm.h: algorithms over whole arrays as kernels of recorded code, for devices that have no functions of their own
// for them.
//
// Lanes take their elements in a fixed order that depends on sizes alone: so do results, to the bit.
#pragma once
#include "jit/gemm.h"

namespace umbel::jit::recorded {

// The operands are evaluated; what they mean is told in jit/algorithm.h.
Value reduce(ReduceOp op, const Value &v);
Value block_reduce(ReduceOp op, const Value &v, uint32_t block);
Value prefix_sum(const Value &v, bool exclusive, uint32_t block);
Value dot(const Value &a, const Value &b);
Value compress(const Value &mask);
uint32_t count(const Value &mask);
Value sort_permutation(const Value &keys, bool descending);
Value gemm(const Value &a, const Value &b, const Gemm &shape, uint32_t size);

} // namespace umbel::jit::recorded
