// prb_reparam: path replay, with what comes into sight where shapes or the camera move, by auxiliary rays [Bangaru 2020, Loubet 2019].
//
// Images are those of `prb`. Derivatives also count silhouettes, in the first and in all later segments of a path, of shapes of any kind:
// nothing is asked of them but to be hit by rays. Around each ray of a path, and each towards a light, others tell what is in
// front nearby, and how it moves; see render/visibility_warp.h.
//
// They are **biased**: the derivative is as blurred as auxiliary rays spread, by an angle of 1 / sqrt(`reparam_kappa`). What is lost are
// details of that size, corners, places where things touch; shadows of lights at points or in single directions are lost altogether,
// and so is what is seen in mirrors. Larger `reparam_kappa` have less bias, as 1 / sqrt(`reparam_kappa`), and more noise, as its fourth
// root; more rays have less noise and the same bias. `prb_projective` has no such bias, and less noise, for shapes whose
// silhouettes are known.
#include "render/followed_camera.h"
#include "render/path_tracer.h"

namespace umbel {

class PrbReparam final : public PathTracer {
public:
    PrbReparam() : PathTracer(6) {}

    void declare(Params &p) override {
        PathTracer::declare(p);
        p.integer("reparam_rays", m_warp.rays, 4, 1, 256)
            .doc("Auxiliary rays around each ray of a path, in derivatives");
        p.number("reparam_kappa", m_warp.kappa, 1e5, 1)
            .doc("How close they are: one over the variance of their angles");
        p.boolean("reparam_antithetic", m_warp.antithetic, true)
            .doc("Draws them in pairs, on opposite sides");
        p.integer("reparam_max_depth", m_warp.max_depth, -1, -1)
            .doc("Segments of a path that have any; -1: all");
    }

    // Nothing is left to do; but what was done is right for rays that leave from one point.
    Float boundary(const BoundaryPass &pass) const override {
        if ((pass.scene.follows_shapes() || FollowedCamera::is_any()) &&
            pass.sensor.has(EndpointFlags::DeltaDirection))
            complain("its auxiliary rays leave the camera in other directions, and those of this "
                     "camera all have the same; use `prb_projective`");
        return {};
    }
};

UMBEL_PLUGIN(Integrator, PrbReparam, "prb_reparam")
} // namespace umbel
