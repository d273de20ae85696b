// render/hidden_lights.cpp: rays past lights.
#include "render/hidden_lights.h"
#include "ad/ad.h"
#include <algorithm>

namespace umbel {

Ray past_lights(const Scene &scene, const Ray &ray, const Mask &active) {
    auto is_surface = [](const Emitter *e) { return e->shape() != nullptr; };
    if (std::ranges::none_of(scene.emitters().objects(), is_surface))
        return ray;
    ad::SuspendGrad none; // where a ray begins on its way does not matter
    struct State {
        Ray ray;
        Mask active;
        UMBEL_STRUCT(ray, active)
    };
    State s = jit::loop(
        State{ ray, active }, [](const State &s) { return s.active; },
        [&](State &s) {
            SurfaceInteraction si = scene.ray_intersect(s.ray, s.active, true);
            s.active = s.active & si.is_valid() & (si.emitter != UInt32(0u));
            Ray behind = si.behind(s.ray); // on the ray itself: silhouettes are near
            s.ray.o = select(s.active, behind.o, s.ray.o);
            s.ray.maxt = select(s.active, behind.maxt, s.ray.maxt);
        },
        "past lights");
    Ray beyond = ray;
    beyond.o = s.ray.o;
    beyond.maxt = s.ray.maxt;
    return beyond;
}

bool covers_background(const Scene &scene, bool hides_lights) {
    return !hides_lights && std::ranges::any_of(scene.emitters().objects(), [](const Emitter *e) {
        return e->is_environment();
    });
}

} // namespace umbel
