// core/permutation.h: what sets of points in the unit square are arranged with.
#pragma once
#include "core/float.h"

namespace umbel {

/// Where a permutation of 0 .. count-1 takes `index` (modulo `count`): one of them for each key [Kensler 2013].
UInt32 permute(const UInt32 &index, const UInt32 &count, const UInt32 &key);

/// A coordinate that rounding may have made 1, as the largest number below.
Float below_one(const Float &x);

} // namespace umbel
