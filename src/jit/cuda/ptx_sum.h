// jit/cuda/ptx_sum.h: sums of floats by many lanes, exact and therefore in any order.
//
// Atomic additions of floats come in an order that no two runs share, and so do their roundings. Here a cell that lanes add to is a
// row of integers, the digits of a number in base 2^30 that covers all exponents; integers may be added in any order. What a lane adds
// falls into two digits (three in double precision), and 64 bits have room for 2^33 of them. A kernel at the end carries, rounds once
// and adds the number to the array. Infinities and NaNs have a place of their own behind the digits.
//
// Where few cells meet many lanes there are several copies of the cells, one after another, and blocks take turns: memory serves lanes
// that meet in one word one by one. Lanes of a warp that add to the same digits do so once, together.
//
// Kernels are given the address of these digits in the place of the array's, with its highest bit set.
#pragma once
#include "jit/cuda/ptx_text.h"

namespace umbel::jit::ptx {

/// Before the digits: which copies there are, {u32 copies - 1, u32 bytes of a copy}, and nothing else.
constexpr uint32_t SumHeaderBytes = 64;
constexpr uint64_t SumTag = uint64_t(1) << 63;

/// Of a cell of that type (f16 is summed as f32): digits, the sum of what is not finite, and whether anything was added but -0.
constexpr uint32_t digit_count(Type t) { return t == Type::F64 ? 71 : 10; }
constexpr uint32_t cell_bytes(Type t) { return 8 * (digit_count(t) + (t == Type::F64 ? 2 : 1)); }

/// The name of the function (base, index, value) that adds to an array or to its digits, made when first asked for.
std::string sum_function(Module &module, Type t);

/// A module with the kernels `merge` (adds up copies of digits) and `finish_TYPE`: (u64 digits, u64 array, u32 cells).
std::string sum_kernels();

} // namespace umbel::jit::ptx
