// render/mesh_rim.h: where interpolated normals of a triangle turn away from who sees it.
//
// With b the place in the triangle (weights of its corners, which sum to 1), normals sum_i b_i n_i and points sum_j b_j p_j, what counts is
//
//     c(b) = sum_ij b_i b_j n_i . (eye - w p_j)
//
// a quadratic form, which is zero along a line in the triangle.
#pragma once
#include "render/outline.h"

namespace umbel {

class Mesh;

/// Whether normals differ within a triangle by more than rounding. Those of cubes and the like do not, though they have some.
bool normals_differ(const Mesh &mesh, size_t triangle);

class MeshRim {
public:
    struct Corner {
        Vector3 p;      // in the scene
        Vector3 facing; // its normal ...
        Vector3 own;    // ... and its place, in the mesh's own space
    };
    /// `seen`: the viewer there.
    MeshRim(const Corner (&corners)[3], const Viewpoint &seen);

    struct Place {
        Float b[3];
        Vector3 p, tangent; // by t
        Mask valid;
    };
    /// For t in [0, 1): three axes, each with two places where its corner's weight is the same. Of all of the line, each axis has
    /// the places where its weight changes the most.
    Place place(const Float &t) const;
    Vector3 point(const Float (&b)[3]) const;
    /// The slope of c on the triangle, in the scene.
    Vector3 slope(const Float (&b)[3]) const;
    /// Whether c may be zero somewhere.
    Mask may_be_seen() const;
    /// Twice the triangle's area, as a normal.
    Vector3 area2() const;

private:
    void gradient(const Float (&b)[3], Float (&g)[3]) const;
    Vector3 m_p[3];
    Float m_form[3][3]; // symmetric
};

} // namespace umbel
