// render/marching.h: distances and transmittance in media by quadrature, step by step along a ray, in place of tracking.
//
// A ray's way through a medium is cut into equal steps. The optical depth of a step is that of Simpson's rule; inside, the extinction
// is taken as linear between the step's begin, middle and end, and scaled so that it agrees. Distances follow that model by inversion
// of one random number; what is scattered there is the medium's own. So transmittance has no noise, and noise of distances is
// that of the sampler alone, but both are biased: what is smaller than a step may be missed.
#pragma once
#include "render/medium.h"

namespace umbel {

/// A medium that may ask for it.
class Marched {
public:
    virtual ~Marched() = default;
    /// The length of steps, at most; null: distances are tracked.
    virtual const Float *march_step() const = 0;
};

/// What Medium::sample() and Medium::transmittance() give; all but the emission. `begin` is where the ray enters the medium, `e` the
/// part of the ray inside.
MediumSample march_sample(const Medium &medium, const Ray &ray, const Medium::Extent &e,
                          const MediumInteraction &begin, const Float &step, SampleStream &sampler,
                          const Mask &active, const UInt32 *channel);
Spectrum march_transmittance(const Medium &medium, const Ray &ray, const Medium::Extent &e,
                             const MediumInteraction &begin, const Float &step, const Mask &active);

} // namespace umbel
