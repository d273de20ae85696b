// render/embree_packets.cpp: see embree_packets.h.
#define UMBEL_PACKETS packets_of_any
#define UMBEL_VECTOR_BYTES 16 // what every x86 has
#include "render/embree_packets.inc"
#include "render/lost_rays.h"
#include <algorithm>

namespace umbel {

namespace {

struct Kinds {
    EmbreePackets of4, of8, of16;
};

const Kinds &kinds() {
    static const Kinds all = [] {
        using namespace packets_of_any;
        Kinds k{ { 4, &trace_in_place<4>, &test_in_place<4> },
                 { 8, &trace_in_place<8>, &test_in_place<8> },
                 { 16, &trace_in_place<16>, &test_in_place<16> } };
        if (const EmbreePackets *p = embree_packets_v3())
            k.of8 = *p;
        if (const EmbreePackets *p = embree_packets_v4())
            k.of16 = *p;
        return k;
    }();
    return all;
}

void in_chunks(EmbreePackets::Function f, const EmbreeTree &tree, uint32_t lanes,
               const int32_t *mask, char *frame, int outputs) {
    alignas(64) int valid[16];
    alignas(64) char packet[(EmbreeRayFields + EmbreeHitFields) * 64];
    for (uint32_t at = 0; at < lanes; at += 16) {
        uint32_t n = std::min(16u, lanes - at);
        std::memset(valid, 0, sizeof valid);
        std::memcpy(valid, mask + at, 4 * n);
        for (int k = 0; k < EmbreeRayFields; ++k)
            std::memcpy(packet + 64 * k, frame + 4 * (size_t(k) * lanes + at), 4 * n);
        f(valid, tree, packet);
        for (int k = EmbreeRayFields; k < EmbreeRayFields + outputs; ++k)
            std::memcpy(frame + 4 * (size_t(k) * lanes + at), packet + 64 * k, 4 * n);
    }
}

void run(EmbreePackets::Function EmbreePackets::*which, int outputs, void *user, uint32_t lanes,
         const int32_t *mask, void *frame) {
    auto &tree = *static_cast<const EmbreeTree *>(user);
    static const Kinds &k = kinds();
    switch (lanes) {
    case 4: return (k.of4.*which)(mask, tree, frame);
    case 8: return (k.of8.*which)(mask, tree, frame);
    case 16: return (k.of16.*which)(mask, tree, frame);
    default: in_chunks(k.of16.*which, tree, lanes, mask, static_cast<char *>(frame), outputs);
    }
}

} // namespace

void note_lost_packet(int count, const float *o, const float *d) {
    note_lost_rays(uint64_t(count), { o[0], o[1], o[2] }, { d[0], d[1], d[2] });
}

void trace_embree_packet(void *user, uint64_t, uint32_t lanes, const int32_t *mask, void *frame) {
    run(&EmbreePackets::trace, EmbreeHitFields, user, lanes, mask, frame);
}
void test_embree_packet(void *user, uint64_t, uint32_t lanes, const int32_t *mask, void *frame) {
    run(&EmbreePackets::test, 1, user, lanes, mask, frame);
}

} // namespace umbel
