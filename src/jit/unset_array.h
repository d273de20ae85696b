// jit/unset_array.h: local arrays whose elements are written before they are read, such as stacks.
#pragma once
#include "jit/array.h"

namespace umbel::jit {

/// As local_array, for whoever reads no element that was not written: compiled code does not fill it.
Value unset_array(Type type, uint32_t length);

} // namespace umbel::jit
