// core/warp.h: mappings from the unit square to domains that light transport integrates over, with their
// densities and, where there is a closed form, their inverses.
//
//     square_to_X(u)      a point of X for a point of the square, uniform or by the density that X is named after
//     square_to_X_pdf(x)  that density, with respect to area, solid angle or length; zero outside of X
//     X_to_square(x)      undoes square_to_X
//
// Directions are around +z. Maps onto disks, caps and lobes go through the concentric disk [Shirley 1997]: neighbours stay
// neighbours, so that well-spread samples stay well spread.
#pragma once
#include "core/vector.h"

namespace umbel {

// ---- the plane: warp_plane.cpp

/// Polar: u.x is the angle, u.y the squared radius.
Vector2 square_to_uniform_disk(const Vector2 &u);
Vector2 uniform_disk_to_square(const Vector2 &p);
Float square_to_uniform_disk_pdf(const Vector2 &p);

/// Concentric, area-preserving, continuous.
Vector2 square_to_uniform_disk_concentric(const Vector2 &u);
Vector2 uniform_disk_to_square_concentric(const Vector2 &p);
Float square_to_uniform_disk_concentric_pdf(const Vector2 &p);

/// To the square of polar coordinates: feeds polar maps with what the concentric one keeps together.
Vector2 square_to_uniform_square_concentric(const Vector2 &u);

/// Barycentric coordinates of a triangle, uniform in its area.
Vector2 square_to_uniform_triangle(const Vector2 &u);
Vector2 uniform_triangle_to_square(const Vector2 &b);
Float square_to_uniform_triangle_pdf(const Vector2 &b);

/// Triangular density of width 2 around 0.
Float interval_to_tent(const Float &u);
Float tent_to_interval(const Float &x);
Float interval_to_tent_pdf(const Float &x);
Vector2 square_to_tent(const Vector2 &u);
Vector2 tent_to_square(const Vector2 &p);
Float square_to_tent_pdf(const Vector2 &p);

/// Rising from a to b and falling from there to c.
Float interval_to_nonuniform_tent(const Float &a, const Float &b, const Float &c, const Float &u);
Float interval_to_nonuniform_tent_pdf(const Float &a, const Float &b, const Float &c,
                                      const Float &x);

/// On [0, 1], proportional to a line from v0 to v1; neither negative, not both 0.
Float interval_to_linear(const Float &v0, const Float &v1, const Float &u);
Float linear_to_interval(const Float &v0, const Float &v1, const Float &x);
Float interval_to_linear_pdf(const Float &v0, const Float &v1, const Float &x);

/// On the unit square, proportional to the bilinear interpolation of corner values, vXY at (X, Y). Returned together
/// with the density, which is normalized.
std::pair<Vector2, Float> square_to_bilinear(const Float &v00, const Float &v10, const Float &v01,
                                             const Float &v11, const Vector2 &u);
std::pair<Vector2, Float> bilinear_to_square(const Float &v00, const Float &v10, const Float &v01,
                                             const Float &v11, const Vector2 &p);
Float square_to_bilinear_pdf(const Float &v00, const Float &v10, const Float &v01, const Float &v11,
                             const Vector2 &p);

/// Two independent standard normal variables.
Vector2 square_to_std_normal(const Vector2 &u);
Vector2 std_normal_to_square(const Vector2 &p);
Float square_to_std_normal_pdf(const Vector2 &p);

// ---- directions: warp_sphere.cpp

Vector3 square_to_uniform_sphere(const Vector2 &u);
Vector2 uniform_sphere_to_square(const Vector3 &v);
Float square_to_uniform_sphere_pdf(const Vector3 &v = {});

Vector3 square_to_uniform_hemisphere(const Vector2 &u);
Vector2 uniform_hemisphere_to_square(const Vector3 &v);
Float square_to_uniform_hemisphere_pdf(const Vector3 &v);

/// Density cos(theta) / pi on the side of +z.
Vector3 square_to_cosine_hemisphere(const Vector2 &u);
Vector2 cosine_hemisphere_to_square(const Vector3 &v);
Float square_to_cosine_hemisphere_pdf(const Vector3 &v);

/// The cone of directions with cos(theta) >= cos_cutoff.
Vector3 square_to_uniform_cone(const Vector2 &u, const Float &cos_cutoff);
Vector2 uniform_cone_to_square(const Vector3 &v, const Float &cos_cutoff);
Float square_to_uniform_cone_pdf(const Vector3 &v, const Float &cos_cutoff);

/// Directions that see the front of one of two planes and the back of the other; their normals must not be parallel.
Vector3 square_to_uniform_spherical_lune(const Vector2 &u, const Vector3 &n1, const Vector3 &n2);
Vector2 uniform_spherical_lune_to_square(const Vector3 &v, const Vector3 &n1, const Vector3 &n2);
Float square_to_uniform_spherical_lune_pdf(const Vector3 &v, const Vector3 &n1, const Vector3 &n2);

/// Directions perpendicular to n; uniform in the angle, whose density is 1 / (2 pi).
Vector3 interval_to_tangent_direction(const Vector3 &n, const Float &u);
Float tangent_direction_to_interval(const Vector3 &n, const Vector3 &v);

// ---- lobes: warp_lobes.cpp

/// Normals of a Beckmann microsurface of roughness alpha: density D(m) cos(theta).
Vector3 square_to_beckmann(const Vector2 &u, const Float &alpha);
Vector2 beckmann_to_square(const Vector3 &m, const Float &alpha);
Float square_to_beckmann_pdf(const Vector3 &m, const Float &alpha);

/// Likewise of a GGX (Trowbridge-Reitz) microsurface [Walter 2007].
Vector3 square_to_ggx(const Vector2 &u, const Float &alpha);
Vector2 ggx_to_square(const Vector3 &m, const Float &alpha);
Float square_to_ggx_pdf(const Vector3 &m, const Float &alpha);

/// Those GGX normals that are visible from wi, which must be above the surface: density
/// G1(wi) D(m) max(0, <wi, m>) / wi.z [Heitz 2018].
Vector3 square_to_ggx_visible(const Vector2 &u, const Vector3 &wi, const Float &alpha_u,
                              const Float &alpha_v);
Float square_to_ggx_visible_pdf(const Vector3 &m, const Vector3 &wi, const Float &alpha_u,
                                const Float &alpha_v);

/// Von Mises-Fisher with concentration kappa, stable for small and large kappa [Jakob 2012].
Vector3 square_to_von_mises_fisher(const Vector2 &u, const Float &kappa);
Vector2 von_mises_fisher_to_square(const Vector3 &v, const Float &kappa);
Float square_to_von_mises_fisher_pdf(const Vector3 &v, const Float &kappa);

/// Henyey-Greenstein with mean cosine g, -1 < g < 1: forward along +z.
Vector3 square_to_hg(const Vector2 &u, const Float &g);
Vector2 hg_to_square(const Vector3 &v, const Float &g);
Float square_to_hg_pdf(const Vector3 &v, const Float &g);

/// Light from wi off a fiber along `tangent`: the cone of mirror directions, blurred by a von Mises-Fisher lobe.
Vector3 square_to_rough_fiber(const Vector3 &u, const Vector3 &wi, const Vector3 &tangent,
                              const Float &kappa);
Float square_to_rough_fiber_pdf(const Vector3 &v, const Vector3 &wi, const Vector3 &tangent,
                                const Float &kappa);

} // namespace umbel
