// depth: the distance to the first surface, and nothing else.
#include "render/hidden_lights.h"
#include "render/integrator.h"

namespace umbel {

class Depth final : public Integrator {
public:
    Radiance sample(const Scene &scene, SampleStream &, const Ray &camera_ray, const Medium *,
                    const Mask &active) const override {
        Ray ray = m_hide_emitters ? past_lights(scene, camera_ray, active) : camera_ray;
        Hit hit = scene.trace(ray, active, true);
        Mask valid = active & (hit.t < std::numeric_limits<double>::infinity());
        Float t = scene.follows_shapes() // with derivatives of where they are
                      ? scene.interaction(ray, hit, active, Scene::Follow::Ray).t
                      : hit.t;
        if (m_hide_emitters)
            t = t + dot(ray.o - camera_ray.o, ray.d);
        return { Spectrum(select(valid, t, Float(0))), valid, {} };
    }
};

UMBEL_PLUGIN(Integrator, Depth, "depth")
} // namespace umbel
