// render/visibility_warp.h: what comes into sight where shapes move, estimated by rays around those of a path.
//
// Light that arrives at x is an integral over directions w, whose integrand f jumps along silhouettes. A derivative that holds on to
// points of surfaces lacks what a silhouette covers as it moves on:
//
//     dI = int f div U dw + int U . grad f dw
//
// with any field U that, where a surface behind ends, is the speed of the silhouette relative to it, and else is smooth
// [Bangaru 2020, Loubet 2019]. Here it is the mean over auxiliary rays w + a, a normally distributed with variance 1 / kappa, of
//
//     2 (speed of what the auxiliary ray meets - that of what w meets)     where that lies in front, and not on the same surface
//
// of which a silhouette cuts off one half where w is next to it. The divergence of a mean over a is the mean of kappa a . U.
// U is not 0 next to silhouettes only, so that the second integral is of the order of 1 / sqrt(kappa): it is left out, and that is
// the method's bias, beside corners, silhouettes that bend much, and where things touch. Noise grows as kappa does.
//
// Seen by the camera, both sides of a silhouette count, and mostly cancel: there, the difference of what both rays of a pair see takes the
// place of f, which is free of that bias but for what is of the order of 1 / kappa.
#pragma once
#include "render/scene.h"

namespace umbel {

struct VisibilityWarp {
    int rays = 0; // auxiliary ones a segment; none: nothing is known of what comes into sight
    double kappa = 1e5;
    bool antithetic = true;
    int max_depth = -1; // segments of a path that have any; -1: all

    bool is_on() const { return rays > 0; }

    /// Light from one end of a segment to the other.
    struct Segment {
        Ray ray;           // as it is
        Vector3 from;      // where it begins, with derivatives
        Float t;           // where it ends, infinity for what surrounds the scene ...
        Vector3 to;        // ... with derivatives, ...
        Vector3 n;         // ... and the surface's normal there
        bool is_of_camera; // then its direction stays, whatever is there
    };
    /// A factor of what it carries: 1, with derivatives.
    Float factor(const Scene &scene, const Segment &segment, UInt32 &noise,
                 const Mask &active) const;
    /// Auxiliary rays, and how a silhouette between each and the segment moves, if there is one, times half of that factor's weight: 0,
    /// with derivatives.
    struct Aside {
        Ray ray;
        Float motion;
        Mask jumps;
    };
    std::vector<Aside> asides(const Scene &scene, const Segment &segment, UInt32 &noise,
                              const Mask &active) const;

    /// Random numbers that a path does not use.
    static UInt32 noise_of(SampleStream sampler);
};

} // namespace umbel
