// render/curve_lanes.h: curves in recorded code.
#pragma once
#include "core/vector.h"
#include "render/curve_math.h"

namespace umbel::curves {

using LaneKnot = Knot<Float>;
using LaneVec = Vec<Float>;

inline LaneVec lanes(const Vector3 &v) { return { v.x, v.y, v.z }; }
inline Vector3 vector(const LaneVec &v) { return { v.x, v.y, v.z }; }

} // namespace umbel::curves
