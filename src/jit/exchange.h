// jit/exchange.h: atomic exchanges with elements of arrays.
#pragma once
#include "jit/array.h"

namespace umbel::jit {

/// Replaces element `index` of the target by `value` in one step and gives what was there; 0 for lanes
/// outside the mask. Lanes that meet in one element follow one another, in no fixed order.
Value scatter_exchange(Value &target, const Value &value, const Value &index, const Value &mask);

struct Swapped {
    Value before, done; // what was there; whether it was replaced
};
/// The same, but only where the element has the bits of `compare`.
Swapped scatter_compare_exchange(Value &target, const Value &compare, const Value &value,
                                 const Value &index, const Value &mask);

} // namespace umbel::jit
