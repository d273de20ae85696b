// render/rotation_of.h: how an environment is turned.
#pragma once
#include "core/object.h"
#include <cmath>

namespace umbel {

/// What is left of a transform of directions. Turns, mirrors and sizes are all that leaves densities what they are; of these,
/// sizes do not count. UserError about the object for others.
inline TransformData rotation_of(const Object &object, const TransformData &to_world) {
    TransformData r;
    double size = 0;
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k)
            size += to_world(i, k) * to_world(i, k) / 3;
    size = std::sqrt(size);
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k)
            r(i, k) = to_world(i, k) / size;
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k) {
            double product = r(0, i) * r(0, k) + r(1, i) * r(1, k) + r(2, i) * r(2, k);
            if (!(std::abs(product - (i == k)) < 1e-3))
                object.complain(
                    "to_world stretches or shears the environment; it may only be turned, "
                    "mirrored, scaled alike in all directions, and moved");
        }
    return r;
}

} // namespace umbel
