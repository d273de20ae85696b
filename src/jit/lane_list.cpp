// jit/lane_list.cpp: see jit/lane_list.h.
#include "jit/lane_list.h"

namespace umbel::jit {

LaneList compress(const Mask &mask, uint32_t size) {
    if (!mask.valid())
        fail("compress: the operand is an uninitialized value");
    UInt32 ones(opaque(cast(Type::U32, mask))), place = prefix_sum(ones);
    LaneList out{ UInt32(full(Type::U32, 0, size)), sum(ones) };
    if (size && mask.size())
        scatter(out.lanes, UInt32(lane_index(mask.size())), place, mask & (place < size));
    return out;
}

} // namespace umbel::jit
