// core/warp.h: mappings from the unit square to domains that light transport integrates over, with their
// densities. Names follow one scheme: square_to_X and square_to_X_pdf.
#pragma once
#include "core/vector.h"

namespace umbel {

/// Concentric, area-preserving, continuous [Shirley 1997].
Vector2 square_to_uniform_disk_concentric(const Vector2 &u);
Float square_to_uniform_disk_concentric_pdf(const Vector2 &p);

Vector3 square_to_uniform_sphere(const Vector2 &u);
Float square_to_uniform_sphere_pdf();

Vector3 square_to_uniform_hemisphere(const Vector2 &u);
Float square_to_uniform_hemisphere_pdf(const Vector3 &v);

/// Density cos(theta) / pi on the side of +z.
Vector3 square_to_cosine_hemisphere(const Vector2 &u);
Float square_to_cosine_hemisphere_pdf(const Vector3 &v);

/// The cone of directions around +z with cos(theta) >= cos_cutoff.
Vector3 square_to_uniform_cone(const Vector2 &u, const Float &cos_cutoff);
Float square_to_uniform_cone_pdf(const Vector3 &v, const Float &cos_cutoff);

/// Barycentric coordinates of a triangle, uniform in its area.
Vector2 square_to_uniform_triangle(const Vector2 &u);
Float square_to_uniform_triangle_pdf(const Vector2 &b);

/// Normals of a Beckmann microsurface of roughness alpha: density D(m) cos(theta).
Vector3 square_to_beckmann(const Vector2 &u, const Float &alpha);
Float square_to_beckmann_pdf(const Vector3 &m, const Float &alpha);

/// Von Mises-Fisher with concentration kappa around +z, stable for small and large kappa [Jakob 2012].
Vector3 square_to_von_mises_fisher(const Vector2 &u, const Float &kappa);
Float square_to_von_mises_fisher_pdf(const Vector3 &v, const Float &kappa);

/// Triangular density of width 2 around 0.
Float interval_to_tent(const Float &u);
Float interval_to_tent_pdf(const Float &x);

/// Two independent standard normal variables.
Vector2 square_to_std_normal(const Vector2 &u);
Float square_to_std_normal_pdf(const Vector2 &p);

} // namespace umbel
