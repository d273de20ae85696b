// core/warp_lobes.cpp: warps to directions around a peak; see core/warp.h.
#include "core/warp.h"

namespace umbel {

namespace {

constexpr double Tiny =
    1e-30; // keeps quotients finite where numerator and denominator vanish together

// From a point of the disk to the direction of its azimuth at polar angle theta, and back.
Vector3 from_disk(const Vector2 &p, const Float &cos_theta, const Float &sin2_theta) {
    Float s = safe_sqrt(sin2_theta / max(dot(p, p), Tiny));
    return { p.x * s, p.y * s, cos_theta };
}
Vector2 to_square(const Vector3 &v, const Float &r2) {
    Float s = safe_sqrt(r2 / max(Frame::sin_theta_2(v), Tiny));
    return uniform_disk_to_square_concentric({ v.x * s, v.y * s });
}
Vector3 from_tan2(const Vector2 &p, const Float &tan2) {
    Float cos2 = rcp(1 + tan2);
    return from_disk(p, sqrt(cos2), tan2 * cos2);
}

// exp(-x) I0(x) for x >= 0 [Abramowitz 1964, 9.8.1 and 9.8.2], error below 2e-7.
Float scaled_bessel_i0(const Float &x) {
    auto polynomial = [](const Float &t, std::initializer_list<double> from_highest) {
        Float sum = 0;
        for (double c : from_highest)
            sum = fma(sum, t, c);
        return sum;
    };
    Float small = exp(-x) * polynomial(sqr(x / 3.75), { 0.0045813, 0.0360768, 0.2659732, 1.2067492,
                                                        3.0899424, 3.5156229, 1.0 });
    Float large =
        rsqrt(max(x, 1)) *
        polynomial(3.75 / max(x, 1), { 0.00392377, -0.01647633, 0.02635537, -0.02057706, 0.00916281,
                                       -0.00157565, 0.00225319, 0.01328592, 0.39894228 });
    return select(x < 3.75, small, large);
}

} // namespace

// ---- microfacet normals

Vector3 square_to_beckmann(const Vector2 &u, const Float &alpha) {
    // tan^2(theta) = -alpha^2 log(1 - |p|^2) for p uniform on the disk
    Vector2 p = square_to_uniform_disk_concentric(u);
    return from_tan2(p, -sqr(alpha) * log(max(1 - dot(p, p), Tiny)));
}

Vector2 beckmann_to_square(const Vector3 &m, const Float &alpha) {
    Float tan2 = Frame::sin_theta_2(m) / sqr(m.z);
    return to_square(m, 1 - exp(-tan2 / sqr(alpha)));
}

Float square_to_beckmann_pdf(const Vector3 &m, const Float &alpha) {
    Float z2 = sqr(m.z), tan2 = Frame::sin_theta_2(m) / z2, a2 = sqr(alpha);
    Float pdf = exp(-tan2 / a2) / (Pi * a2 * z2 * m.z);
    return select(m.z > 1e-5, pdf, 0);
}

Vector3 square_to_ggx(const Vector2 &u, const Float &alpha) {
    Vector2 p = square_to_uniform_disk_concentric(u);
    Float r2 = dot(p, p);
    return from_tan2(p, sqr(alpha) * r2 / max(1 - r2, 1e-12));
}

Vector2 ggx_to_square(const Vector3 &m, const Float &alpha) {
    // r2 = tan^2 / (alpha^2 + tan^2)
    Float sin2 = Frame::sin_theta_2(m);
    return to_square(m, sin2 / fma(sqr(alpha), sqr(m.z), sin2));
}

Float square_to_ggx_pdf(const Vector3 &m, const Float &alpha) {
    Float a2 = sqr(alpha), d = fma(a2, sqr(m.z), Frame::sin_theta_2(m)); // (a cos)^2 + sin^2
    return select(m.z > 0, a2 * m.z / (Pi * sqr(d)), Float(0));
}

Vector3 square_to_ggx_visible(const Vector2 &u, const Vector3 &wi, const Float &alpha_u,
                              const Float &alpha_v) {
    // Stretched by the roughness, the microsurface is a hemisphere: sample its projection along wi, a half disk beside a
    // half ellipse
    Vector3 v = normalize({ alpha_u * wi.x, alpha_v * wi.y, wi.z });
    Float len2 = fma(v.x, v.x, v.y * v.y), inv = rsqrt(max(len2, Tiny));
    Mask upright = len2 < 1e-12;
    Vector3 s{ select(upright, 1, -v.y * inv), select(upright, 0, v.x * inv), 0 };
    Vector3 t = cross(v, s);
    Vector2 p = square_to_uniform_disk_concentric(u);
    Float y = lerp(safe_sqrt(1 - sqr(p.x)), p.y, 0.5 * (1 + v.z));
    Float z = safe_sqrt(1 - sqr(p.x) - sqr(y));
    Vector3 n = fma(v, z, fma(t, y, s * p.x));
    return normalize({ alpha_u * n.x, alpha_v * n.y, max(n.z, 1e-12) });
}

Float square_to_ggx_visible_pdf(const Vector3 &m, const Vector3 &wi, const Float &alpha_u,
                                const Float &alpha_v) {
    Float d = rcp(Pi * alpha_u * alpha_v * sqr(sqr(m.x / alpha_u) + sqr(m.y / alpha_v) + sqr(m.z)));
    // G1 / wi.z, without the division by a cosine that may be tiny
    Float length = sqrt(sqr(alpha_u * wi.x) + sqr(alpha_v * wi.y) + sqr(wi.z));
    Float cosine = dot(wi, m);
    return select((m.z > 0) & (wi.z > 0) & (cosine > 0), 2 * d * cosine / (wi.z + length),
                  Float(0));
}

// ---- phase functions

Vector3 square_to_von_mises_fisher(const Vector2 &u, const Float &kappa) {
    Vector2 p = square_to_uniform_disk_concentric(u);
    Float r2 = dot(p, p), sy = max(1 - r2, Tiny);
    Float z = 1 + log(fma(1 - sy, exp(-2 * kappa), sy)) / kappa;
    z = clamp(select(kappa < 1e-4, fma(r2, -2, 1), z), -1, 1);
    return from_disk(p, z, fma(-z, z, 1));
}

Vector2 von_mises_fisher_to_square(const Vector3 &v, const Float &kappa) {
    Float least = exp(-2 * kappa), r2 = (1 - exp(kappa * (v.z - 1))) / (1 - least);
    return to_square(v, select(kappa < 1e-4, fma(v.z, -0.5, 0.5), r2));
}

Float square_to_von_mises_fisher_pdf(const Vector3 &v, const Float &kappa) {
    Float pdf = exp(kappa * (v.z - 1)) * (kappa * InvTwoPi) / (1 - exp(-2 * kappa));
    return select(kappa < 1e-4, 0.25 * InvPi, pdf);
}

Vector3 square_to_hg(const Vector2 &u, const Float &g) {
    // cos = (1 + g^2 - ((1 - g^2) / (1 + g t))^2) / (2 g) with t from -1 to 1, multiplied out so that g cancels
    Vector2 p = square_to_uniform_disk_concentric(u);
    Float t = fma(dot(p, p), -2, 1), t2 = sqr(t);
    Float top = fma(g, fma(g, fma(g, t2 - 1, 2 * t), t2 + 3), 2 * t);
    Float z = clamp(top / (2 * sqr(fma(g, t, 1))), -1, 1);
    return from_disk(p, z, fma(-z, z, 1));
}

Vector2 hg_to_square(const Vector3 &v, const Float &g) {
    Float g2 = sqr(g), s = sqrt(fma(-2 * g, v.z, 1 + g2));
    Float t = fma(v.z, 2, g * (g2 - 3)) / (s * (1 - g2 + s));
    return to_square(v, clamp(fma(t, -0.5, 0.5), 0, 1));
}

Float square_to_hg_pdf(const Vector3 &v, const Float &g) {
    Float s = fma(-2 * g, v.z, 1 + sqr(g));
    return (0.25 * InvPi) * (1 - sqr(g)) / (s * sqrt(s));
}

// ---- fibers

Vector3 square_to_rough_fiber(const Vector3 &u, const Vector3 &wi, const Vector3 &tangent,
                              const Float &kappa) {
    Frame fiber(tangent);
    Float z = -dot(wi, tangent), r = safe_sqrt(fma(-z, z, 1)), phi = TwoPi * u.z;
    Frame cone(Vector3(r * cos(phi), r * sin(phi), z));
    return fiber.to_world(cone.to_world(square_to_von_mises_fisher({ u.x, u.y }, kappa)));
}

Float square_to_rough_fiber_pdf(const Vector3 &v, const Vector3 &wi, const Vector3 &tangent,
                                const Float &kappa) {
    // The mean over the cone of kappa / (2 pi (1 - exp(-2 kappa))) exp(kappa (<v, c> - 1))
    Float cos_i = -dot(wi, tangent), cos_o = dot(v, tangent);
    Float sines = safe_sqrt(1 - sqr(cos_i)) * safe_sqrt(1 - sqr(cos_o));
    Float peak = exp(kappa * (fma(cos_i, cos_o, sines) - 1)) * scaled_bessel_i0(kappa * sines);
    return select(kappa < 1e-4, 0.25 * InvPi, kappa * InvTwoPi / (1 - exp(-2 * kappa)) * peak);
}

} // namespace umbel
