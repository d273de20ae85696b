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
//     2 (speed of the silhouette next to w on the way to w + a - that of what w meets)     where w + a meets what lies in front
//
// of which a silhouette cuts off one half where w is next to it. The divergence of a mean over a is the mean of kappa a . U.
// U is not 0 next to silhouettes only, so that the second integral is of the order of 1 / sqrt(kappa): it is left out, and that is
// the method's bias, beside corners, silhouettes that bend much, and where things touch. The variance grows as sqrt(kappa): fewer rays
// have a silhouette next to them, and those count for more.
//
// Where the silhouette is has to be searched for, between w and w + a. What w + a meets is inside of it by an angle s, where things
// that are round have another distance, another normal and another colour than at the silhouette, by sqrt(s): a bias of the order of
// kappa^(-1/4). Of one side of a ball's shadow it is 45 % at 100, 19 % at 1,000, 10 % at 10,000; of what a third segment adds to the
// ball's outline 11 % at 100,000.
//
// Normals that are interpolated turn away from who looks before a mesh of few triangles ends: it ends in a rim, which is dark, or shows
// the other side. Where that begins is a jump as well, and is searched for on its own. It does not stay on its surface: the change of
// n_sh . w there, over its slope, is how fast it moves. On either side of it, what is met is the same surface, so that both count. In
// later segments, so they do only if their ends were met by chance: points of lights that were sampled shine by geometric normals.
// Derivatives of an icosphere of 80 triangles by its size: 28.8 by differences if it shines, 28.6 (28.2) at a kappa of 10,000
// (100,000), and -9.5 (-9.7) without all that; under a sky -24.8, -25.3 (-24.9) and -55.8 (-55.4).
//
// Below the horizon of what a segment begins on, nothing is searched for: next to it, light arrives at no angle.
//
// Seen by the camera, both sides of a silhouette count: there, the difference of what is seen just before and just behind it takes the
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
        Vector3 from;      // where it begins, with derivatives, ...
        Vector3 n_from;    // ... and the surface's normal there; 0: none
        Hit hit;           // where it ends, infinity for what surrounds the scene ...
        Vector3 to;        // ... with derivatives, ...
        Vector3 n, n_sh;   // ... and the surface's normals there
        bool is_of_camera; // then its direction stays, whatever is there
        bool has_rim;      // whether there is light on one side of the line where n_sh turns away
    };
    /// A factor of what it carries: 1, with derivatives.
    Float factor(const Scene &scene, const Segment &segment, UInt32 &noise,
                 const Mask &active) const;
    /// Rays just before and beyond a silhouette between the segment and each auxiliary ray, or the line where a rim begins, if there is one,
    /// and how it moves, times half of that factor's weight: 0, with derivatives. As many for each auxiliary ray.
    struct Aside {
        Ray before, beyond;
        Float motion;
        Mask jumps;
    };
    std::vector<Aside> asides(const Scene &scene, const Segment &segment, UInt32 &noise,
                              const Mask &active) const;

    /// Random numbers that a path does not use.
    static UInt32 noise_of(SampleStream sampler);
};

} // namespace umbel
