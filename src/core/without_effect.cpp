// core/without_effect.cpp: see without_effect.h.
//
// Scenes that work elsewhere may name them, so they are no errors; that they do nothing is said, and why.
#include "core/without_effect.h"
#include <limits>

namespace umbel {
namespace {

constexpr double Any = std::numeric_limits<double>::quiet_NaN(); // no value asks for nothing

struct Ineffective {
    std::string_view kind, type, name; // type: empty for all
    double nothing;                    // the value that asks for nothing
    const char *why;
};
constexpr Ineffective Table[] = {
    { "integrator", "", "timeout", -1,
      "images are rendered to the last sample; `umbel render --time` limits the time" },
    { "integrator", "motion", "glossy_threshold", 0, "only ideal mirrors and glass are followed" },
    { "integrator", "prb_basic", "rr_depth", 5, "no path ends by roulette" },
    { "integrator", "ptracer", "brute_force", 0,
      "light is always connected to the camera, which gives the same image with less noise" },
    { "integrator", "ptracer", "granularity", Any, "launches of samples_per_pass share the work" },
    { "integrator", "volprim_rf_basic", "rr_depth", 5, "no ray ends by roulette" },
    { "sensor", "batch", "to_world", Any, "each of its sensors has a place of its own" },
    { "shape", "instance", "silhouette_sampling_weight", 1, "the shapes of its group have theirs" },
    { "shape", "shapegroup", "silhouette_sampling_weight", 1, "its shapes have theirs" },
    { "shape", "shapegroup", "to_world", Any, "the group stands where its instances put it" },
};

double number(const Property &p) {
    if (auto *v = std::get_if<double>(&p.value))
        return *v;
    if (auto *v = std::get_if<int64_t>(&p.value))
        return double(*v);
    if (auto *v = std::get_if<bool>(&p.value))
        return *v;
    return Any;
}

} // namespace

const char *without_effect(const Properties &object, const Property &p) {
    for (const Ineffective &i : Table)
        if (object.kind == i.kind && (i.type.empty() || object.type == i.type) && p.name == i.name)
            return number(p) == i.nothing ? "" : i.why;
    return nullptr;
}

} // namespace umbel
