// render/voxel_shading.h: slopes of a grid of numbers that are blended over voxels, and lines along which light and shadow of a
// surface that is shaded by them begin.
//
// All is in units of voxels, from the least corner of one.
#pragma once
#include "render/voxel_outline.h"

namespace umbel::voxels {

/// What slopes in an eighth of a voxel depend on, the part next to one of its corners: numbers at the voxel's corners, and on
/// the faces after those that meet there.
struct Around {
    Corners<Float> corners;
    Mask upper[3];      // along which axes that corner is the upper one
    Mask lacks[3];      // and the grid ends there
    Float beyond[3][4]; // by axis; of a face, the next axis changes first
    double size[3];     // of the grid, in voxels

    /// Normals of the eight voxels around that corner, each of unit length in the shape's space, blended; as slopes.
    Vector3 slope(const Vector3 &p) const;
    /// Its derivatives along the axes, too.
    struct Slope {
        Vector3 h, by[3];
    };
    Slope slope_and_bend(const Vector3 &p) const;

private:
    /// Along an axis: the slopes of the voxels on both sides of the corner, with their derivatives along the next axis and the
    /// one after that, and the weight of the second one.
    struct Along {
        Float low, high, low_by[2], high_by[2], weight, weight_by;
    };
    Along along(size_t axis, const Vector3 &p, bool bend) const;
    Slope blend_all(const Vector3 &p, bool bend) const;
};

/// At a place on a line of the surface, f = 0, along which slopes h are at a right angle to the line of sight:
/// h . (eye - w p) = 0. How both numbers change with the place.
struct TurningLine {
    Vector3 g, by;

    /// Of blended slopes; or of the numbers' own, where the surface itself turns away.
    TurningLine(const Around &around, const Vector3 &eye, const Float &w, const Vector3 &p);
    TurningLine(const Corners<Float> &c, const Vector3 &eye, const Float &w, const Vector3 &p);
    /// The shortest way to the line where both numbers have grown by so much.
    Vector3 way(const Float &df, const Float &dc) const;
};

/// A place on the line of blended slopes in an eighth of a voxel. `u` in [0, 1) chooses a plane at a right angle to one of the
/// axes: it has a share of the line, the square of the cosine between both, so that the three make one.
End dark_end(const Around &around, const Vector3 &eye, const Float &w, const Float &u,
             const Mask &active);

} // namespace umbel::voxels
