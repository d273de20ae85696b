// core/warp_sphere.cpp: warps to uniform directions of parts of the sphere; see core/warp.h.
#include "core/warp.h"

namespace umbel {

namespace {
Vector2 xy(const Vector3 &v) { return { v.x, v.y }; }

// What spans the two lunes between planes of normals n1 and n2.
struct Lune {
    Vector3 axis, across; // where the planes meet; with n1 and the axis, a right-handed frame
    Float angle;          // between the normals

    Lune(const Vector3 &n1, const Vector3 &n2)
        : axis(normalize(cross(n1, n2))), across(cross(axis, n1)),
          angle(2 * atan2(norm(n1 - n2), norm(n1 + n2))) {}
};
} // namespace

Vector3 square_to_uniform_sphere(const Vector2 &u) {
    Float z = fma(u.y, -2, 1), r = safe_sqrt(fma(-z, z, 1)), phi = TwoPi * u.x;
    return { r * cos(phi), r * sin(phi), z };
}

Vector2 uniform_sphere_to_square(const Vector3 &v) {
    Float turn = atan2(v.y, v.x) * InvTwoPi;
    return { select(turn < 0, turn + 1, turn), fma(v.z, -0.5, 0.5) };
}

Float square_to_uniform_sphere_pdf(const Vector3 &) { return 0.25 * InvPi; }

Vector3 square_to_uniform_hemisphere(const Vector2 &u) {
    Vector2 p = square_to_uniform_disk_concentric(u);
    Float r2 = dot(p, p), z = 1 - r2;
    return { p.x * sqrt(z + 1), p.y * sqrt(z + 1), z };
}

Vector2 uniform_hemisphere_to_square(const Vector3 &v) {
    return uniform_disk_to_square_concentric(xy(v) * rsqrt(1 + v.z));
}

Float square_to_uniform_hemisphere_pdf(const Vector3 &v) { return select(v.z >= 0, InvTwoPi, 0); }

Vector3 square_to_cosine_hemisphere(const Vector2 &u) {
    Vector2 p = square_to_uniform_disk_concentric(u);
    return { p.x, p.y, safe_sqrt(1 - dot(p, p)) };
}

Vector2 cosine_hemisphere_to_square(const Vector3 &v) {
    return uniform_disk_to_square_concentric(xy(v));
}

Float square_to_cosine_hemisphere_pdf(const Vector3 &v) { return select(v.z >= 0, InvPi * v.z, 0); }

Vector3 square_to_uniform_cone(const Vector2 &u, const Float &cos_cutoff) {
    Vector2 p = square_to_uniform_disk_concentric(u);
    Float pn = dot(p, p), k = 1 - cos_cutoff, z = fma(-pn, k, 1);
    Float s = safe_sqrt(k * (2 - pn * k)); // r / |p| with r^2 = 1 - z^2
    return { p.x * s, p.y * s, z };
}

Vector2 uniform_cone_to_square(const Vector3 &v, const Float &cos_cutoff) {
    // |p|^2 (1 - cos_cutoff) = 1 - z = r^2 / (1 + z)
    Float k = 1 - cos_cutoff;
    return uniform_disk_to_square_concentric(xy(v) * rsqrt(max(k * (1 + v.z), 1e-30)));
}

Float square_to_uniform_cone_pdf(const Vector3 &v, const Float &cos_cutoff) {
    return select(v.z >= cos_cutoff, InvTwoPi / (1 - cos_cutoff), 0);
}

Vector3 square_to_uniform_spherical_lune(const Vector2 &u, const Vector3 &n1, const Vector3 &n2) {
    // One lune takes the lower half of the numbers, its mirror image the upper one
    Lune lune(n1, n2);
    Mask second = u.x >= 0.5;
    Float part = fma(u.x, 2, select(second, -1, 0));
    Float phi = fma(1 - part, lune.angle, select(second, 1.5 * Pi, 0.5 * Pi));
    Float z = fma(u.y, -2, 1), r = safe_sqrt(fma(-z, z, 1));
    return fma(lune.axis, z, fma(lune.across, r * sin(phi), n1 * (r * cos(phi))));
}

Vector2 uniform_spherical_lune_to_square(const Vector3 &v, const Vector3 &n1, const Vector3 &n2) {
    Lune lune(n1, n2);
    Float phi = atan2(dot(v, lune.across), dot(v, n1)) - 0.5 * Pi;
    Mask second = dot(v, n1) > 0;
    phi = select(second, phi - Pi, phi);
    phi = phi - TwoPi * round(phi * InvTwoPi);
    Float part = clamp(1 - phi / lune.angle, 0, 1);
    return { 0.5 * (part + select(second, 1, 0)), fma(dot(v, lune.axis), -0.5, 0.5) };
}

Float square_to_uniform_spherical_lune_pdf(const Vector3 &v, const Vector3 &n1, const Vector3 &n2) {
    return select(dot(v, n1) * dot(v, n2) <= 0, 0.25 / Lune(n1, n2).angle, Float(0));
}

Vector3 interval_to_tangent_direction(const Vector3 &n, const Float &u) {
    Float phi = TwoPi * u;
    return Frame(n).to_world({ cos(phi), sin(phi), 0 });
}

Float tangent_direction_to_interval(const Vector3 &n, const Vector3 &v) {
    Vector3 local = Frame(n).to_local(v);
    Float turn = atan2(local.y, local.x) * InvTwoPi;
    return select(turn < 0, turn + 1, turn);
}

} // namespace umbel
