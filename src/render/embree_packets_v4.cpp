// render/embree_packets_v4.cpp: packets of sixteen lanes, for AVX-512; compiled with -march=x86-64-v4.
#include "render/embree_packets.h"

#if defined(__AVX512BW__)
#define UMBEL_PACKETS packets_of_v4
#define UMBEL_VECTOR_BYTES 64
#include "render/embree_packets.inc"
#endif

namespace umbel {

const EmbreePackets *embree_packets_v4() {
#if defined(UMBEL_PACKETS)
    static const EmbreePackets all = { 16, &UMBEL_PACKETS::trace_in_place<16>,
                                       &UMBEL_PACKETS::test_in_place<16> };
    static const bool is_here = __builtin_cpu_supports("x86-64-v4");
    return is_here ? &all : nullptr;
#else
    return nullptr;
#endif
}

} // namespace umbel
