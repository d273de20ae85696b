// render/embree_packets_v3.cpp: packets of eight lanes, for AVX2; compiled with -march=x86-64-v3.
#include "render/embree_packets.h"

#if defined(__AVX2__)
#define UMBEL_PACKETS packets_of_v3
#define UMBEL_VECTOR_BYTES 32
#include "render/embree_packets.inc"
#endif

namespace umbel {

const EmbreePackets *embree_packets_v3() {
#if defined(UMBEL_PACKETS)
    static const EmbreePackets all = { 8, &UMBEL_PACKETS::trace_in_place<8>,
                                       &UMBEL_PACKETS::test_in_place<8> };
    static const bool is_here = __builtin_cpu_supports("x86-64-v3");
    return is_here ? &all : nullptr;
#else
    return nullptr;
#endif
}

} // namespace umbel
