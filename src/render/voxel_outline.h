// render/voxel_outline.h: where a surface in a grid of numbers is seen to end, and how its points move as the numbers change.
//
// Numbers in a voxel are interpolated trilinearly, and the surface bends where voxels meet. All is in units of voxels, from the least
// corner of one.
#pragma once
#include "core/vector.h"
#include "render/voxel_math.h"

namespace umbel::voxels {

/// Numbers and slopes at a place in a voxel.
struct Slopes {
    Vector3 p;
    Float f;
    Vector3 g;        // derivatives along the axes
    Float xy, xz, yz; // mixed ones; those by one axis twice are 0

    Slopes(const Corners<Float> &c, const Vector3 &p);
    /// Its matrix of second derivatives times a vector.
    Vector3 bend(const Vector3 &v) const {
        return { fma(xy, v.y, xz * v.z), fma(xy, v.x, yz * v.z), fma(xz, v.x, yz * v.y) };
    }
};

/// Points of the surface move by -df times `way` where numbers change by df. On a face of the voxel they stay in its plane, and on an
/// edge on its line, so that both sides agree where the surface bends.
///
///     way = W g / (g . W g)      W = diag(x (1 - x), y (1 - y), z (1 - z))
struct Flow {
    Vector3 way;

    explicit Flow(const Slopes &s);
    /// Of the area around the point, relative to what it is: the derivative by numbers that change by df, with slopes dg, there. Areas
    /// are measured in a space where the surface's unit normal is n: `to` is n taken there as slopes are, `from` as directions are.
    Float area_change(const Float &df, const Vector3 &dg, const Vector3 &to,
                      const Vector3 &from) const;

private:
    Vector3 m_turn[3]; // derivatives of `way` along the axes
};

/// A place at which the surface is seen to end, on a curve of which s is the place.
struct End {
    Vector3 p;
    Vector3 tangent; // derivative of p by s
    Vector3 inside;  // the surface lies on this side, as seen
    Mask valid;
    UMBEL_STRUCT(p, tangent, inside, valid)
};

/// Where the surface is touched by lines of sight, in the plane x = s: at two places at most. Of all such places, those count here
/// whose curve runs along x more than along y or z. `eye` is a point where w is 1, else a direction.
End smooth_end(const Corners<Float> &c, const Vector3 &eye, const Float &w, const Float &s,
               const Mask &second);

/// Where the surface passes the voxel's face x = 0 (or 1), at y = s, or z = s: as before, each place counts once. `beyond` are numbers
/// at the corners of the face after that, if there is a voxel there; else the surface has its border here. It ends where one
/// side of the bend is seen from above and the other from below; `everywhere`: it counts in any case.
End crease_end(const Corners<Float> &c, const Float (&beyond)[4], const Mask &is_border,
               const Mask &is_upper, const Vector3 &eye, const Float &w, const Float &s,
               const Mask &by_z, bool everywhere);

/// Numbers, or vectors, as seen when axis `a` is called x, and the next ones y and z; and back.
Corners<Float> turned(const Corners<Float> &c, const UInt32 &a);
Vector3 turned(const Vector3 &v, const UInt32 &a);
Vector3 turned_back(const Vector3 &v, const UInt32 &a);

} // namespace umbel::voxels
