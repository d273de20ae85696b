// depth: the distance to the first surface, and nothing else.
#include "render/integrator.h"

namespace umbel {

class Depth final : public Integrator {
public:
    Radiance sample(const Scene &scene, SampleStream &, const Ray &ray, const Medium *,
                    const Mask &active) const override {
        Hit hit = scene.trace(ray, active, true);
        Mask valid = active & (hit.t < std::numeric_limits<double>::infinity());
        Float t = scene.follows_shapes() // with derivatives of where they are
                      ? scene.interaction(ray, hit, active, Scene::Follow::Ray).t
                      : hit.t;
        return { Spectrum(select(valid, t, Float(0))), valid, {} };
    }
};

UMBEL_PLUGIN(Integrator, Depth, "depth")
} // namespace umbel
