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

constexpr int EmbreeRayFields = 12,
              EmbreeHitFields = 8; // of RTCRayN and RTCHitN, 4 bytes a lane each

/// Packets of as many lanes as the machine's vectors have.
struct EmbreePackets {
    using Function = void (*)(const int *mask, const EmbreeTree &tree, void *frame);
    int lanes;
    Function trace, test;
};
/// So many lanes were not followed, the first of which has this origin and direction.
void note_lost_packet(int count, const float *o, const float *d);
/// For AVX2 and AVX-512; null where the machine has none.
const EmbreePackets *embree_packets_v3();
const EmbreePackets *embree_packets_v4();

} // namespace umbel
