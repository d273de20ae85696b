// render/outline.h: where an analytic shape ends, as seen from somewhere.
#pragma once
#include "core/vector.h"

namespace umbel {

/// From where something is seen: a point, or far away in a direction.
struct Viewpoint {
    Vector3 p; // the point, or the direction towards it
    Float w;   // 1, or 0 where it is far away

    /// Towards the viewer, of any length.
    Vector3 from(const Vector3 &x) const { return fma(x, -w, p); }
};

/// Of an analytic shape: the curve along which what is seen of it ends.
class HasOutline {
public:
    virtual ~HasOutline() = default;
    struct Outline {
        Vector3 p;
        Vector3 tangent; // derivative of p by u
        Vector3 inside;  // seen from the viewpoint, the shape lies on this side of the curve
        Mask valid;
        UMBEL_STRUCT(p, tangent, inside, valid)
    };
    /// A point of it, for u in [0, 1).
    virtual Outline outline(const Viewpoint &from, const Float &u) const = 0;
};

/// A point of a closed curve p(phi) = centre + x cos(phi) + y sin(phi).
struct EllipsePoint {
    Vector3 p, tangent;
    EllipsePoint(const Vector3 &centre, const Vector3 &x, const Vector3 &y, const Float &u) {
        Float phi = u * (2 * Pi), c = cos(phi), s = sin(phi);
        p = fma(x, c, fma(y, s, centre));
        tangent = (y * c - x * s) * (2 * Pi);
    }
};

} // namespace umbel
