// jit/lane_list.h: the lanes where a mask holds, in an array whose size is not the data's.
//
// compress() in jit/array.h has to wait for its size. Nothing waits here: on a device, the count stays there.
#pragma once
#include "jit/array.h"

namespace umbel::jit {

struct LaneList {
    UInt32 lanes; // in ascending order, as many as fit; zeros follow
    UInt32 count; // one element: where the mask holds, whether they fit or not
};
LaneList compress(const Mask &mask, uint32_t size);

} // namespace umbel::jit
