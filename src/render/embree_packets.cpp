// render/embree_packets.cpp: see embree_packets.h.
#include "render/embree_packets.h"
#include "render/lost_rays.h"
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace umbel {

namespace {

constexpr int RayFields = 12, HitFields = 8; // of RTCRayN and RTCHitN, 4 bytes a lane each

// Four lanes are what every x86 has vectors for.
typedef int32_t Lanes __attribute__((vector_size(16)));
typedef float Numbers __attribute__((vector_size(16)));
Lanes load(const void *numbers, int i) {
    Lanes v;
    std::memcpy(&v, static_cast<const int32_t *>(numbers) + i, sizeof(v));
    return v;
}
bool is_any(const Lanes &v) { return v[0] | v[1] | v[2] | v[3]; }

template <int N> RTCIntersectContext context(const void *rays) {
    RTCIntersectContext c;
    rtcInitIntersectContext(&c);
    auto *id = static_cast<const uint32_t *>(rays) + 10 * N;
    Lanes incoherent{};
    for (int i = 0; i < N; i += 4)
        incoherent |= load(id, i) == 0;
    c.flags = is_any(incoherent) ? RTC_INTERSECT_CONTEXT_FLAG_INCOHERENT
                                 : RTC_INTERSECT_CONTEXT_FLAG_COHERENT;
    return c;
}

template <int N> void intersect(const int *valid, RTCScene scene, void *rays) {
    RTCIntersectContext c = context<N>(rays);
    if constexpr (N == 4)
        rtcIntersect4(valid, scene, &c, static_cast<RTCRayHit4 *>(rays));
    else if constexpr (N == 8)
        rtcIntersect8(valid, scene, &c, static_cast<RTCRayHit8 *>(rays));
    else
        rtcIntersect16(valid, scene, &c, static_cast<RTCRayHit16 *>(rays));
}
template <int N> void occlude(const int *valid, RTCScene scene, void *rays) {
    RTCIntersectContext c = context<N>(rays);
    if constexpr (N == 4)
        rtcOccluded4(valid, scene, &c, static_cast<RTCRay4 *>(rays));
    else if constexpr (N == 8)
        rtcOccluded8(valid, scene, &c, static_cast<RTCRay8 *>(rays));
    else
        rtcOccluded16(valid, scene, &c, static_cast<RTCRay16 *>(rays));
}

// Lanes whose rays Embree can follow. As a rule that is all of them, and their mask is handed on as it is.
template <int N> class Followed {
public:
    Followed(const int32_t *mask, const void *frame, float reach) : m_mask(mask) {
        auto *rays = static_cast<const int32_t *>(frame);
        // Without their sign, the bits of floats have the order of the floats, and those of NaN are the greatest
        const int32_t furthest = std::bit_cast<int32_t>(reach), infinite = 0x7f800000;
        Lanes any{};
        for (int i = 0; i < N; i += 4) {
            auto beyond = [&](int field, int32_t limit) {
                return (load(rays + field * N, i) & 0x7fffffff) > limit;
            };
            Lanes lost = beyond(0, furthest) | beyond(1, furthest) | beyond(2, furthest) |
                         beyond(4, furthest) | beyond(5, furthest) | beyond(6, furthest);
            lost |= beyond(7, infinite) | beyond(8, infinite); // time and end
            lost &= load(mask, i);
            std::memcpy(m_lost + i, &lost, sizeof(lost));
            any |= lost;
        }
        if (is_any(any)) [[unlikely]]
            drop(static_cast<const float *>(frame));
    }
    const int *valid() const { return m_mask; }

private:
    void drop(const float *rays) {
        int count = 0, first = 0;
        for (int i = N; i-- > 0;) {
            m_without[i] = m_mask[i] & ~m_lost[i];
            if (m_lost[i]) {
                ++count;
                first = i;
            }
        }
        m_mask = m_without;
        auto at = [&](int field) { return rays[field * N + first]; };
        note_lost_rays(uint64_t(count), { at(0), at(1), at(2) }, { at(4), at(5), at(6) });
    }

    const int32_t *m_mask;
    alignas(4 * N) int32_t m_without[N], m_lost[N];
};

// Intersects a packet in place and leaves distances where the normal's first component was.
template <int N> void trace_in_place(const int *mask, const EmbreeTree &tree, void *frame) {
    char *ray = static_cast<char *>(frame), *hit = ray + RayFields * 4 * N;
    std::memset(hit + 3 * 4 * N, 0, 2 * 4 * N); // u, v; nobody asks for the normal
    std::memset(hit + 5 * 4 * N, 0xff, 3 * 4 * N); // no primitive, no geometry
    Followed<N> followed(mask, frame, tree.reach);
    intersect<N>(followed.valid(), tree.scene, frame);
    // Without branches, which nobody could predict
    constexpr int32_t Infinity = std::bit_cast<int32_t>(std::numeric_limits<float>::infinity());
    for (int i = 0; i < N; i += 4) {
        Lanes missed = load(hit + 6 * 4 * N, i) == int32_t(RTC_INVALID_GEOMETRY_ID);
        Lanes distance = (missed & Infinity) | (~missed & load(ray + 8 * 4 * N, i));
        std::memcpy(hit + 4 * i, &distance, sizeof(distance));
    }
}
template <int N> void test_in_place(const int *mask, const EmbreeTree &tree, void *frame) {
    Followed<N> followed(mask, frame, tree.reach);
    occlude<N>(followed.valid(), tree.scene, frame);
    char *ray = static_cast<char *>(frame), *out = ray + RayFields * 4 * N;
    for (int i = 0; i < N; i += 4) {
        Lanes met = Numbers(load(ray + 8 * 4 * N, i)) < 0; // where Embree sets the end to -inf
        met &= (load(followed.valid(), i) != 0) & 1;
        std::memcpy(out + 4 * i, &met, sizeof(met));
    }
}

template <class F> // f(valid, frame of 16 lanes)
void in_chunks(uint32_t lanes, const int32_t *mask, char *frame, int outputs, F &&f) {
    alignas(64) int valid[16];
    alignas(64) char packet[(RayFields + HitFields) * 64];
    for (uint32_t at = 0; at < lanes; at += 16) {
        uint32_t n = std::min(16u, lanes - at);
        std::memset(valid, 0, sizeof valid);
        std::memcpy(valid, mask + at, 4 * n);
        for (int k = 0; k < RayFields; ++k)
            std::memcpy(packet + 64 * k, frame + 4 * (size_t(k) * lanes + at), 4 * n);
        f(valid, packet);
        for (int k = RayFields; k < RayFields + outputs; ++k)
            std::memcpy(frame + 4 * (size_t(k) * lanes + at), packet + 64 * k, 4 * n);
    }
}

} // namespace

void trace_embree_packet(void *user, uint64_t, uint32_t lanes, const int32_t *mask, void *frame) {
    auto &tree = *static_cast<const EmbreeTree *>(user);
    switch (lanes) {
    case 4: return trace_in_place<4>(mask, tree, frame);
    case 8: return trace_in_place<8>(mask, tree, frame);
    case 16: return trace_in_place<16>(mask, tree, frame);
    default:
        in_chunks(lanes, mask, static_cast<char *>(frame), HitFields,
                  [&](const int *valid, void *p) { trace_in_place<16>(valid, tree, p); });
    }
}
void test_embree_packet(void *user, uint64_t, uint32_t lanes, const int32_t *mask, void *frame) {
    auto &tree = *static_cast<const EmbreeTree *>(user);
    switch (lanes) {
    case 4: return test_in_place<4>(mask, tree, frame);
    case 8: return test_in_place<8>(mask, tree, frame);
    case 16: return test_in_place<16>(mask, tree, frame);
    default:
        in_chunks(lanes, mask, static_cast<char *>(frame), 1,
                  [&](const int *valid, void *p) { test_in_place<16>(valid, tree, p); });
    }
}

} // namespace umbel
