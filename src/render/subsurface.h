// render/subsurface.h: light that enters a surface in one place and leaves it in another, without its way being followed.
#pragma once
#include "render/medium.h"

namespace umbel {

class Subsurface : public Object {
public:
    static constexpr const char *Kind = "subsurface";

    /// Called when the whole scene is known, and when it has changed: say, to collect the light that falls on `shape`.
    virtual void prepare(const Scene &scene, const Shape &shape) = 0;
    /// Radiance that leaves the surface towards si.wi, beyond what its BSDF reflects; an estimate, if it takes random numbers.
    virtual Spectrum eval(const Scene &scene, const SurfaceInteraction &si, SampleStream &sampler,
                          const Mask &active) const = 0;
};

} // namespace umbel
