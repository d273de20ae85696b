// render/voxel_outline.cpp: see render/voxel_outline.h.
#include "render/voxel_outline.h"

namespace umbel::voxels {

Slopes::Slopes(const Corners<Float> &c, const Vector3 &p) : p(p) {
    const Float(&v)[8] = c.f;
    Float at[3] = { p.x, p.y, p.z }, slope[3];
    f = value(c, at);
    gradient(c, at, slope);
    g = { slope[0], slope[1], slope[2] };
    Float xyz = (v[7] - v[6] - v[5] + v[4]) - (v[3] - v[2] - v[1] + v[0]);
    xy = fma(xyz, p.z, v[3] - v[2] - v[1] + v[0]);
    xz = fma(xyz, p.y, v[5] - v[4] - v[1] + v[0]);
    yz = fma(xyz, p.x, v[6] - v[4] - v[2] + v[0]);
}

// ---- points that move with the surface

Flow::Flow(const Slopes &s) {
    // Not quite 0 at corners, where there is no way left to go
    auto weight = [](const Float &x) { return max(x * (1 - x), Float(0)) + 1e-6; };
    Vector3 w(weight(s.p.x), weight(s.p.y), weight(s.p.z));
    Vector3 slope(1 - 2 * s.p.x, 1 - 2 * s.p.y, 1 - 2 * s.p.z); // of the weights
    Vector3 d = w * s.g;
    Float length = dot(s.g, d), inv = select(length > 0, rcp(length), Float(0));
    way = d * inv;
    // Derivatives of d and of the length along each axis
    Vector3 zero(Float(0)),
        rows[3] = { { zero.x, s.xy, s.xz }, { s.xy, zero.x, s.yz }, { s.xz, s.yz, zero.x } };
    Vector3 lengthens = slope * s.g * s.g + s.bend(d) * 2.0;
    const Float Vector3::*axes[3] = { &Vector3::x, &Vector3::y, &Vector3::z };
    for (size_t j = 0; j < 3; ++j) {
        Vector3 by = w * rows[j];
        Float own = (slope.*axes[j]) * (s.g.*axes[j]);
        if (j == 0)
            by.x = by.x + own;
        else if (j == 1)
            by.y = by.y + own;
        else
            by.z = by.z + own;
        m_turn[j] = fma(way, -(lengthens.*axes[j]), by) * inv;
    }
}

// Of the gradient M of the motion, in units of voxels: its trace, less what happens along the normal.
Float Flow::area_change(const Float &df, const Vector3 &dg, const Vector3 &to,
                        const Vector3 &from) const {
    Float trace = m_turn[0].x + m_turn[1].y + m_turn[2].z;
    Vector3 along = fma(m_turn[0], from.x, fma(m_turn[1], from.y, m_turn[2] * from.z));
    return dot(to, way) * dot(dg, from) - dot(way, dg) + df * (dot(to, along) - trace);
}

// ---- where it is seen to end

namespace {

Mask is_within(const Float &v) { return (v >= 0) & (v <= 1); }
Vector3 sight(const Vector3 &eye, const Float &w, const Vector3 &p) { return fma(p, -w, eye); }

End safe(End e) {
    e.p = select(e.valid, e.p, Vector3(Float(0.5)));
    e.tangent = select(e.valid, e.tangent, Vector3(Float(0)));
    e.inside = select(e.valid, e.inside, Vector3(Float(0)));
    return e;
}

} // namespace

// In that plane, numbers and their slopes along the line of sight are both bilinear in y and z:
//
//     a0 + a1 y + a2 z + a3 y z = 0      b0 + b1 y + b2 z + b3 y z = 0
//
// z follows from either, and what is left is quadratic in y.
End smooth_end(const Corners<Float> &c, const Vector3 &eye, const Float &w, const Float &s,
               const Mask &second) {
    const Float(&f)[8] = c.f;
    Float plane[4], across[4]; // at the corners of the plane: numbers, and slopes along x
    for (size_t k = 0; k < 4; ++k) {
        plane[k] = blend(f[2 * k], f[2 * k + 1], s);
        across[k] = f[2 * k + 1] - f[2 * k];
    }
    auto terms = [](const Float(&v)[4], Float(&t)[4]) {
        t[0] = v[0];
        t[1] = v[1] - v[0];
        t[2] = v[2] - v[0];
        t[3] = v[3] - v[2] - v[1] + v[0];
    };
    Float a[4], b[4], x[4];
    terms(plane, a);
    terms(across, x);
    Float ahead = fma(s, -w, eye.x);
    b[0] = fma(ahead, x[0], fma(a[1], eye.y, fma(a[2], eye.z, w * a[0])));
    b[1] = fma(ahead, x[1], a[3] * eye.z);
    b[2] = fma(ahead, x[2], a[3] * eye.y);
    b[3] = fma(ahead, x[3], -(w * a[3]));

    Float k2 = b[1] * a[3] - b[3] * a[1],
          k1 = b[0] * a[3] + b[1] * a[2] - b[2] * a[1] - b[3] * a[0],
          k0 = b[0] * a[2] - b[2] * a[0];
    Float root2 = fma(k1, k1, -4 * k2 * k0), root = safe_sqrt(root2);
    Float q = -0.5 * (k1 + select(k1 < 0, -root, root));
    Float y = select(second, k0 / q, q / k2);
    auto size = [](const Float(&t)[4]) { return abs(t[0]) + abs(t[1]) + abs(t[2]) + abs(t[3]); };
    Float below_a = fma(a[3], y, a[2]), below_b = fma(b[3], y, b[2]);
    Mask by_a = abs(below_a) * size(b) > abs(below_b) * size(a);
    Float z = -select(by_a, fma(a[1], y, a[0]) / below_a, fma(b[1], y, b[0]) / below_b);
    // A step of Newton's method takes back what was lost to roundings
    auto at = [&](const Float(&t)[4]) { return fma(fma(t[3], z, t[1]), y, fma(t[2], z, t[0])); };
    Float fa = at(a), fb = at(b), ay = fma(a[3], z, a[1]), az = fma(a[3], y, a[2]),
          by = fma(b[3], z, b[1]), bz = fma(b[3], y, b[2]), det = ay * bz - az * by;
    Float inv = select(det != 0, rcp(det), Float(0));
    y = y - (fa * bz - fb * az) * inv;
    z = z - (fb * ay - fa * by) * inv;

    End e;
    e.p = { s, y, z };
    Slopes here(c, e.p);
    Vector3 v = sight(eye, w, e.p);
    Vector3 t = cross(here.g, fma(here.g, -w, here.bend(v)));
    Float most = abs(t.x);
    e.valid = (root2 >= 0) & is_within(y) & is_within(z) & (most > 0) & (most >= abs(t.y)) &
              (most >= abs(t.z));
    e.tangent = t / t.x;
    // Beside the line of sight numbers have the sign that they have along it, on both sides of the point
    e.inside = select(dot(v, here.bend(v)) > 0, -here.g, here.g);
    return safe(e);
}

End crease_end(const Corners<Float> &c, const Float (&beyond)[4], const Mask &is_border,
               const Mask &is_upper, const Vector3 &eye, const Float &w, const Float &s,
               const Mask &by_z, bool everywhere) {
    const Float(&f)[8] = c.f;
    Float v[4];
    for (size_t k = 0; k < 4; ++k)
        v[k] = select(is_upper, f[2 * k + 1], f[2 * k]);
    // With the axis of s first
    Float v1 = select(by_z, v[2], v[1]), v2 = select(by_z, v[1], v[2]);
    Float low = blend(v[0], v1, s), high = blend(v2, v[3], s);
    Float other = low / (low - high), x = select(is_upper, Float(1), Float(0));
    End e;
    e.p = { x, select(by_z, other, s), select(by_z, s, other) };
    Slopes here(c, e.p);
    Float along = select(by_z, here.g.z, here.g.y), across = select(by_z, here.g.y, here.g.z);
    // As each place has one axis that the curve runs along the most
    Mask counts = select(by_z, abs(along) < abs(across), abs(along) <= abs(across));
    Float steep = -along / across;
    e.tangent = { Float(0), select(by_z, steep, Float(1)), select(by_z, Float(1), steep) };
    // Into the voxel, on the surface
    Vector3 in = cross(e.tangent, here.g);
    Mask leads_out = (in.x < 0) != is_upper;
    e.inside = select(leads_out, -in, in);
    Vector3 to = sight(eye, w, e.p), g = here.g;
    g.x = bilinear(v[0], v[1], v[2], v[3], e.p.y, e.p.z) -
          bilinear(beyond[0], beyond[1], beyond[2], beyond[3], e.p.y, e.p.z);
    Mask ends = is_border | (dot(here.g, to) * dot(g, to) < 0);
    e.valid = is_within(other) & counts & (across != 0);
    if (!everywhere)
        e.valid = e.valid & ends;
    return safe(e);
}

// ---- axes

Corners<Float> turned(const Corners<Float> &c, const UInt32 &a) {
    Corners<Float> out;
    Mask x = a == UInt32(0u), y = a == UInt32(1u);
    for (size_t k = 0; k < 8; ++k) {
        size_t first = k & 1, next = k >> 1 & 1, last = k >> 2;
        const Float &if_y = c.f[first << 1 | next << 2 | last],
                    &if_z = c.f[first << 2 | next | last << 1];
        out.f[k] = select(x, c.f[k], select(y, if_y, if_z));
    }
    return out;
}

Vector3 turned(const Vector3 &v, const UInt32 &a) {
    Mask x = a == UInt32(0u), y = a == UInt32(1u);
    return select(x, v, select(y, Vector3(v.y, v.z, v.x), Vector3(v.z, v.x, v.y)));
}

Vector3 turned_back(const Vector3 &v, const UInt32 &a) {
    Mask x = a == UInt32(0u), y = a == UInt32(1u);
    return select(x, v, select(y, Vector3(v.z, v.x, v.y), Vector3(v.y, v.z, v.x)));
}

} // namespace umbel::voxels
