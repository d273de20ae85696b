// core/warp.cpp: see core/warp.h.
#include "core/warp.h"

namespace umbel {

namespace {
struct SinCos {
    Float s, c;
    explicit SinCos(const Float &angle) : s(sin(angle)), c(cos(angle)) {}
};
} // namespace

Vector2 square_to_uniform_disk_concentric(const Vector2 &u) {
    Float x = fma(u.x, 2, -1), y = fma(u.y, 2, -1);
    // The larger coordinate is the radius, their quotient the angle within its quadrant
    Mask wide = abs(x) > abs(y);
    Float r = select(wide, x, y), q = select(wide, y, x);
    Float phi = q / r * (0.25 * Pi);
    phi = select(wide, phi, 0.5 * Pi - phi);
    phi = select((x == 0) & (y == 0), 0, phi);
    SinCos t(phi);
    return { r * t.c, r * t.s };
}

Float square_to_uniform_disk_concentric_pdf(const Vector2 &p) {
    return select(dot(p, p) <= 1, InvPi, 0);
}

Vector3 square_to_uniform_sphere(const Vector2 &u) {
    Float z = fma(u.y, -2, 1), r = safe_sqrt(fma(-z, z, 1));
    SinCos t(TwoPi * u.x);
    return { r * t.c, r * t.s, z };
}

Float square_to_uniform_sphere_pdf() { return 0.25 * InvPi; }

Vector3 square_to_uniform_hemisphere(const Vector2 &u) {
    // From the concentric disk, so that neighbouring samples stay neighbours
    Vector2 p = square_to_uniform_disk_concentric(u);
    Float r2 = dot(p, p), z = 1 - r2;
    return { p.x * sqrt(z + 1), p.y * sqrt(z + 1), z };
}

Float square_to_uniform_hemisphere_pdf(const Vector3 &v) { return select(v.z >= 0, InvTwoPi, 0); }

Vector3 square_to_cosine_hemisphere(const Vector2 &u) {
    Vector2 p = square_to_uniform_disk_concentric(u);
    return { p.x, p.y, safe_sqrt(1 - dot(p, p)) };
}

Float square_to_cosine_hemisphere_pdf(const Vector3 &v) { return select(v.z >= 0, InvPi * v.z, 0); }

Vector3 square_to_uniform_cone(const Vector2 &u, const Float &cos_cutoff) {
    Vector2 p = square_to_uniform_disk_concentric(u);
    Float pn = dot(p, p), k = 1 - cos_cutoff, z = fma(-pn, k, 1);
    Float s = safe_sqrt(k * (2 - pn * k)); // r / |p| with r^2 = 1 - z^2
    return { p.x * s, p.y * s, z };
}

Float square_to_uniform_cone_pdf(const Vector3 &v, const Float &cos_cutoff) {
    return select(v.z >= cos_cutoff, InvTwoPi / (1 - cos_cutoff), 0);
}

Vector2 square_to_uniform_triangle(const Vector2 &u) {
    Float t = safe_sqrt(1 - u.x);
    return { 1 - t, t * u.y };
}

Float square_to_uniform_triangle_pdf(const Vector2 &b) {
    return select((b.x >= 0) & (b.y >= 0) & (b.x + b.y <= 1), 2, 0);
}

Vector3 square_to_beckmann(const Vector2 &u, const Float &alpha) {
    // tan^2(theta) = -alpha^2 log(1 - |p|^2) for p uniform on the disk
    Vector2 p = square_to_uniform_disk_concentric(u);
    Float r2 = dot(p, p);
    Float tan2 = -sqr(alpha) * log(max(1 - r2, 1e-30)), cos2 = rcp(1 + tan2);
    Float s = safe_sqrt((1 - cos2) / max(r2, 1e-30));
    return { p.x * s, p.y * s, safe_sqrt(cos2) };
}

Float square_to_beckmann_pdf(const Vector3 &m, const Float &alpha) {
    Float z2 = sqr(m.z), tan2 = Frame::sin_theta_2(m) / z2, a2 = sqr(alpha);
    Float pdf = exp(-tan2 / a2) / (Pi * a2 * z2 * m.z);
    return select(m.z > 1e-5, pdf, 0);
}

Vector3 square_to_von_mises_fisher(const Vector2 &u, const Float &kappa) {
    Vector2 p = square_to_uniform_disk_concentric(u);
    Float r2 = dot(p, p), sy = max(1 - r2, 1e-30);
    Float z = 1 + log(fma(1 - sy, exp(-2 * kappa), sy)) / kappa;
    z = clamp(select(kappa < 1e-4, fma(r2, -2, 1), z), -1, 1);
    Float s = safe_sqrt(fma(-z, z, 1) / max(r2, 1e-30));
    return { p.x * s, p.y * s, z };
}

Float square_to_von_mises_fisher_pdf(const Vector3 &v, const Float &kappa) {
    Float pdf = exp(kappa * (v.z - 1)) * (kappa * InvTwoPi) / (1 - exp(-2 * kappa));
    return select(kappa < 1e-4, 0.25 * InvPi, pdf);
}

Float interval_to_tent(const Float &u) {
    Float v = fma(u, 2, -1); // distance from the middle, with the side as sign
    return mulsign(1 - safe_sqrt(1 - abs(v)), v);
}

Float interval_to_tent_pdf(const Float &x) { return max(1 - abs(x), 0); }

Vector2 square_to_std_normal(const Vector2 &u) {
    Float r = sqrt(-2 * log(1 - u.x));
    SinCos t(TwoPi * u.y);
    return { r * t.c, r * t.s };
}

Float square_to_std_normal_pdf(const Vector2 &p) { return InvTwoPi * exp(-0.5 * dot(p, p)); }

} // namespace umbel
