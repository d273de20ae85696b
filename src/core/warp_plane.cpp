// core/warp_plane.cpp: warps to domains of the plane and the line; see core/warp.h.
#include "core/warp.h"

namespace umbel {

namespace {
// As a fraction of a turn, in [0, 1).
Float turn(const Vector2 &p) {
    Float t = atan2(p.y, p.x) * InvTwoPi;
    return select(t < 0, t + 1, t);
}
Vector2 polar(const Float &r, const Float &angle) { return { r * cos(angle), r * sin(angle) }; }
} // namespace

// ---- disks

Vector2 square_to_uniform_disk(const Vector2 &u) { return polar(sqrt(u.y), TwoPi * u.x); }

Vector2 uniform_disk_to_square(const Vector2 &p) { return { turn(p), dot(p, p) }; }

Float square_to_uniform_disk_pdf(const Vector2 &p) { return select(dot(p, p) <= 1, InvPi, 0); }

Vector2 square_to_uniform_disk_concentric(const Vector2 &u) {
    Float x = fma(u.x, 2, -1), y = fma(u.y, 2, -1);
    // The larger coordinate is the radius, their quotient the angle within its quadrant
    Mask wide = abs(x) > abs(y);
    Float r = select(wide, x, y), q = select(wide, y, x);
    Float phi = q / r * (0.25 * Pi);
    phi = select(wide, phi, 0.5 * Pi - phi);
    phi = select((x == 0) & (y == 0), 0, phi);
    return polar(r, phi);
}

Vector2 uniform_disk_to_square_concentric(const Vector2 &p) {
    Mask wide = abs(p.x) > abs(p.y);
    Float large = select(wide, p.x, p.y), small = select(wide, p.y, p.x);
    Float r = mulsign(sqrt(dot(p, p)), large);
    Float q = r * atan(small / select(large == 0, 1, large)) * (4 * InvPi);
    return { fma(select(wide, r, q), 0.5, 0.5), fma(select(wide, q, r), 0.5, 0.5) };
}

Float square_to_uniform_disk_concentric_pdf(const Vector2 &p) {
    return square_to_uniform_disk_pdf(p);
}

Vector2 square_to_uniform_square_concentric(const Vector2 &u) {
    return uniform_disk_to_square(square_to_uniform_disk_concentric(u));
}

// ---- the triangle

Vector2 square_to_uniform_triangle(const Vector2 &u) {
    Float t = safe_sqrt(1 - u.x);
    return { 1 - t, t * u.y };
}

Vector2 uniform_triangle_to_square(const Vector2 &b) {
    Float t = 1 - b.x;
    return { fma(-t, t, 1), b.y / select(t == 0, 1, t) };
}

Float square_to_uniform_triangle_pdf(const Vector2 &b) {
    return select((b.x >= 0) & (b.y >= 0) & (b.x + b.y <= 1), 2, 0);
}

// ---- tents

Float interval_to_tent(const Float &u) {
    Float v = fma(u, 2, -1); // distance from the middle, with the side as sign
    return mulsign(1 - safe_sqrt(1 - abs(v)), v);
}

Float tent_to_interval(const Float &x) {
    Float a = abs(x);
    return fma(mulsign(a * (2 - a), x), 0.5, 0.5);
}

Float interval_to_tent_pdf(const Float &x) { return max(1 - abs(x), 0); }

Vector2 square_to_tent(const Vector2 &u) {
    return { interval_to_tent(u.x), interval_to_tent(u.y) };
}

Vector2 tent_to_square(const Vector2 &p) {
    return { tent_to_interval(p.x), tent_to_interval(p.y) };
}

Float square_to_tent_pdf(const Vector2 &p) {
    return interval_to_tent_pdf(p.x) * interval_to_tent_pdf(p.y);
}

Float interval_to_nonuniform_tent(const Float &a, const Float &b, const Float &c, const Float &u) {
    Float width = c - a, rising = b - a;
    return select(u * width < rising, a + safe_sqrt(u * width * rising),
                  c - safe_sqrt((1 - u) * width * (c - b)));
}

Float interval_to_nonuniform_tent_pdf(const Float &a, const Float &b, const Float &c,
                                      const Float &x) {
    Float slope = select(x < b, (x - a) / (b - a), (c - x) / (c - b));
    return select((x >= a) & (x <= c), 2 * slope / (c - a), Float(0));
}

// ---- linear and bilinear densities

Float interval_to_linear(const Float &v0, const Float &v1, const Float &u) {
    // The root of the quadratic equation that does not cancel for v0 = v1
    Float d = v0 + safe_sqrt(lerp(v0 * v0, v1 * v1, u));
    return clamp(u * (v0 + v1) / select(d > 0, d, 1), 0, 1);
}

Float linear_to_interval(const Float &v0, const Float &v1, const Float &x) {
    return x * fma(2 - x, v0, x * v1) / (v0 + v1);
}

Float interval_to_linear_pdf(const Float &v0, const Float &v1, const Float &x) {
    return select((x >= 0) & (x <= 1), 2 * lerp(v0, v1, x) / (v0 + v1), Float(0));
}

std::pair<Vector2, Float> square_to_bilinear(const Float &v00, const Float &v10, const Float &v01,
                                             const Float &v11, const Vector2 &u) {
    // The marginal distribution of y, then x in its row
    Float y = interval_to_linear(v00 + v10, v01 + v11, u.y);
    Float x = interval_to_linear(lerp(v00, v01, y), lerp(v10, v11, y), u.x);
    Vector2 p{ x, y };
    return { p, square_to_bilinear_pdf(v00, v10, v01, v11, p) };
}

std::pair<Vector2, Float> bilinear_to_square(const Float &v00, const Float &v10, const Float &v01,
                                             const Float &v11, const Vector2 &p) {
    Vector2 u{ linear_to_interval(lerp(v00, v01, p.y), lerp(v10, v11, p.y), p.x),
               linear_to_interval(v00 + v10, v01 + v11, p.y) };
    return { u, square_to_bilinear_pdf(v00, v10, v01, v11, p) };
}

Float square_to_bilinear_pdf(const Float &v00, const Float &v10, const Float &v01, const Float &v11,
                             const Vector2 &p) {
    Float value = lerp(lerp(v00, v01, p.y), lerp(v10, v11, p.y), p.x);
    Mask inside = (p.x >= 0) & (p.x <= 1) & (p.y >= 0) & (p.y <= 1);
    return select(inside, 4 * value / (v00 + v10 + v01 + v11), Float(0));
}

// ---- the normal distribution

Vector2 square_to_std_normal(const Vector2 &u) {
    return polar(sqrt(-2 * log(1 - u.x)), TwoPi * u.y);
}

Vector2 std_normal_to_square(const Vector2 &p) { return { 1 - exp(-0.5 * dot(p, p)), turn(p) }; }

Float square_to_std_normal_pdf(const Vector2 &p) { return InvTwoPi * exp(-0.5 * dot(p, p)); }

} // namespace umbel
