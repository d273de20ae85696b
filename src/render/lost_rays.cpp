// render/lost_rays.cpp: see render/lost_rays.h.
#include "render/lost_rays.h"
#include "core/warning.h"
#include <atomic>
#include <cmath>
#include <fmt/format.h>

namespace umbel {

static std::atomic<uint64_t> g_lost{ 0 };
static std::atomic<bool> g_is_told{ false };

double farthest(const BoundingBox &b) {
    double most = 0;
    for (size_t k = 0; k < 3 && !b.is_empty(); ++k)
        for (double v : { b.min[k], b.max[k] })
            if (!(std::abs(v) <= most))
                most = std::abs(v); // also if it is none, which then stays
    return most;
}

double reach_of(const TransformSteps &steps) {
    constexpr double Least = 1000; // lest one tiny instance hide the rest of the scene
    double reach = LargestCoordinate;
    for (const TransformData &t : steps) {
        std::optional<TransformData> inverse = t.inverse();
        if (!inverse)
            return 0;
        double most = 1; // by how much a coordinate grows
        for (int i = 0; i < 3; ++i)
            most = std::max(most, std::abs((*inverse)(i, 0)) + std::abs((*inverse)(i, 1)) +
                                      std::abs((*inverse)(i, 2)));
        double place = std::max({ std::abs(t(0, 3)), std::abs(t(1, 3)), std::abs(t(2, 3)) });
        reach = std::min(reach, LargestCoordinate / most - place);
    }
    return reach >= Least ? reach : 0;
}

void note_lost_rays(uint64_t count, const std::array<float, 3> &o,
                    const std::array<float, 3> &d) noexcept {
    g_lost += count;
    if (g_is_told.exchange(true))
        return;
    try {
        warn(fmt::format(
            "a ray from ({:g}, {:g}, {:g}) towards ({:g}, {:g}, {:g}) is not finite or "
            "too far away (past {:g}, less with small instances); such rays hit nothing",
            o[0], o[1], o[2], d[0], d[1], d[2], LargestCoordinate));
    } catch (...) {
    }
}

void tell_lost_rays_anew() { g_is_told = false; }

void report_lost_rays() {
    g_is_told = false;
    if (uint64_t n = g_lost.exchange(0))
        warn(
            fmt::format("{} rays were not finite or too far away, and hit nothing: are the camera, "
                        "lights and shapes where they should be?",
                        n));
}

} // namespace umbel
