// jit/element_count.h: sizes of arrays, which have 32 bits.
#pragma once
#include <cstdint>

namespace umbel::jit {

/// The size of an array of `n` elements; UserError where no array is that long.
uint32_t element_count(uint64_t n);

} // namespace umbel::jit
