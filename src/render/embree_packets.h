// render/embree_packets.h: what kernels call to trace rays with Embree.
//
// The frame of such a call is laid out like Embree's own packet of rays, so it is handed over as it is; only blocks of other
// widths (the interpreter's) are copied.
#pragma once
#include <cstdint>
#include <embree3/rtcore.h>

namespace umbel {

/// What kernels are handed.
struct EmbreeTree {
    RTCScene scene = nullptr;
    float reach = 0; // of rays
};

/// Functions for jit::call_host; `user` is an EmbreeTree. Distances take the place of the normal's first component, and are
/// infinite where nothing is hit.
void trace_embree_packet(void *user, uint64_t, uint32_t lanes, const int32_t *mask, void *frame);
/// Leaves 1 where something is in the way, else 0.
void test_embree_packet(void *user, uint64_t, uint32_t lanes, const int32_t *mask, void *frame);

} // namespace umbel
