// render/outline.h: where an analytic shape ends, as seen from somewhere.
#pragma once
#include "core/vector.h"
#include <array>
#include <optional>
#include <vector>

namespace umbel {

class Shape;

/// How often silhouettes of a shape are chosen, relative to those of others: its parameter of that name.
double silhouette_sampling_weight(const Shape &shape);

/// Where light jumps: at the ends of surfaces; where normals of shading turn away from whoever sees them; and where surfaces turn
/// away from light that these normals face.
enum class LineKind { End, Dark, OwnShadow };

/// From where something is seen: a point, or far away in a direction.
struct Viewpoint {
    Vector3 p; // the point, or the direction towards it
    Float w;   // 1, or 0 where it is far away
    // Rays end there, rather than begin: some shapes are met from one side only
    bool is_end = false;
    bool is_camera = false;            // also lines count along which shading jumps
    std::optional<LineKind> only = {}; // lines of other kinds are not asked for

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
        Float at = Float(0); // the u of a hit there
        // Rays that pass the curve inside by less may miss the shape: those that graze it are hard to find by iteration
        Float depth = Float(0);
        UMBEL_STRUCT(p, tangent, inside, valid, at, depth)
    };
    /// A point of it, for u in [0, 1).
    virtual Outline outline(const Viewpoint &from, const Float &u) const = 0;

    // ---- of shapes of many primitives

    /// Some of it, about as long as this. Parts are what a shape numbers so, from 0 to 15.
    struct Piece {
        uint32_t primitive, part;
        std::array<double, 3> centre; // of a ball that it lies in
        double radius, length;
    };
    /// None: all of it is one.
    virtual std::vector<Piece> outline_pieces() const { return {}; }
    /// Whether anything may be seen of a piece from a Viewpoint of the host's numbers; to save samples.
    virtual bool may_be_seen(uint32_t /*primitive*/, uint32_t /*part*/,
                             const std::array<double, 4> & /*from*/) const {
        return true;
    }
    virtual Outline piece_outline(const Viewpoint &from, const Float &u, const UInt32 & /*prim*/,
                                  const UInt32 & /*part*/, const Mask & /*active*/) const {
        return outline(from, u);
    }

    // ---- of shapes whose normals of shading are not those of the surface

    /// From here on, parts are no silhouettes, but lines along which these normals turn away from the viewer: shading jumps.
    enum : uint32_t { FirstDark = 4 };
    /// Whether light may arrive where these normals face it, up to where the surface turns away and hides it from itself: there it
    /// jumps. Then moved() knows silhouettes, too.
    virtual bool has_own_shadow() const { return false; }
    /// A point of a piece, with derivatives of the viewpoint and of what the shape follows: it stays on its line, which is not always
    /// the same part of the surface.
    virtual Vector3 moved(const Viewpoint & /*from*/, const Vector3 &p, const UInt32 & /*prim*/,
                          const UInt32 & /*part*/, const Mask & /*active*/) const {
        return p;
    }
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
