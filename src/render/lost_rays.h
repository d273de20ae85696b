// render/lost_rays.h: rays that cannot be followed: not finite, or too far away for single precision.
//
// They hit nothing, and are counted. The first one is told at once, as rays may be traced by scripts that render nothing; how
// many there were, at the end of a render.
#pragma once
#include "render/motion.h"

namespace umbel {

/// Coordinates of rays and of scenes, at most: Embree ends the process where they are larger.
constexpr double LargestCoordinate = 1e18;

/// The largest coordinate of a box, whatever its sign; 0 if it is empty, and no number if one of them is none.
double farthest(const BoundingBox &b);

/// How far from the origin rays may begin for them to stay within bounds in an instance's space, too. 0 where its transform
/// leaves nothing of it, or next to nothing.
double reach_of(const TransformSteps &steps);

/// From any thread.
void note_lost_rays(uint64_t count, const std::array<float, 3> &origin,
                    const std::array<float, 3> &direction) noexcept;
/// Scripts that ask for arrays alone see no report: they are told once for each scene.
void tell_lost_rays_anew();
/// Warns if there were some since it was last called.
void report_lost_rays();

} // namespace umbel
