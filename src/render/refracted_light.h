// render/refracted_light.h: how light of a point, or of one direction, gets to a place behind a refracting surface.
//
// It enters where eta wx + wy, of the directions to the place inside and to the light, is along the surface's normal: that is
// Snell's law. Newton's method leads from a guess to such a point, by the surface's curvature, and rays from the place inside
// keep it on the surface [Hanika 2015]. Below a curved surface there may be several. The one that a random guess leads to stands
// for all of them, over the probability of finding it; one over that is, in the mean, the number of further guesses until
// it is found again [Zeltner 2020].
#pragma once
#include "render/scene.h"

namespace umbel {

struct RefractedLight {
    SurfaceInteraction si; // where it enters, seen from the place inside
    DirectionSample ds;    // from there to the light
    Spectrum light;        // what arrives at the surface, wherever anything is in between
    // The part of the solid angle around ds.d that is left inside, over the probability of finding this point; 0: none was found
    Float weight;
};

/// Of a light that is a point or a direction: those of others have weight 0. Surfaces count whose subsurface has that number;
/// `eta` is the index behind them over that in front.
RefractedLight refracted_light(const Scene &scene, const Interaction &inside, const UInt32 &emitter,
                               const UInt32 &subsurface, const Float &eta, SampleStream &sampler,
                               const Mask &active);

/// Whether there is any such light.
bool has_refracted_lights(const Scene &scene);

} // namespace umbel
