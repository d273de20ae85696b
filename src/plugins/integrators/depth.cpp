// depth: the distance to the first surface, and nothing else.
#include "render/integrator.h"

namespace umbel {

class Depth final : public Integrator {
public:
    Radiance sample(const Scene &scene, SampleStream &, const Ray &ray, const Medium *,
                    const Mask &active) const override {
        Hit hit = scene.trace(ray, active, true);
        Mask valid = active & (hit.t < std::numeric_limits<double>::infinity());
        return { Spectrum(select(valid, hit.t, Float(0))), valid, {} };
    }
};

UMBEL_PLUGIN(Integrator, Depth, "depth")
} // namespace umbel
