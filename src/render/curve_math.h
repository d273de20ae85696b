// render/curve_math.h: where rays meet round curves; written once, for numbers of the host and of the program.
//
// `select(mask, a, b)` chooses between numbers. Rays meet curves from outside only: those that begin inside pass.
#pragma once
#include <cmath>
#include <cstddef>

namespace umbel::curves {

template <class F> struct Vec {
    F x, y, z;
    Vec operator+(const Vec &b) const { return { x + b.x, y + b.y, z + b.z }; }
    Vec operator-(const Vec &b) const { return { x - b.x, y - b.y, z - b.z }; }
    Vec operator*(const F &s) const { return { x * s, y * s, z * s }; }
};
template <class F> F dot(const Vec<F> &a, const Vec<F> &b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

/// A point of a curve's axis, with the radius there.
template <class F> struct Knot {
    Vec<F> p;
    F r;
};
/// A distance, infinite where nothing is met, and where on the segment that is, from 0 to 1.
template <class F> struct Found {
    F t, u;
};

/// A straight segment with spheres at its ends: the hull of two spheres. u belongs to the point of the axis that the normal
/// comes from.
template <class F, class Select>
Found<F> meet_segment(const Knot<F> &a, const Knot<F> &b, const Vec<F> &o, const Vec<F> &d,
                      const F &mint, const F &maxt, const F &infinity, Select &&select) {
    using std::sqrt;
    const F zero(0), one(1);
    F scale = one / sqrt(dot(d, d));
    Vec<F> w = d * scale, axis = b.p - a.p, oa = o - a.p;
    // From where the ray is nearest to the middle: squares of long ways would leave nothing of those of radii
    F near = -dot(w, oa + axis * F(0.5));
    oa = oa + w * near;
    // The cone that touches both spheres: k2 t^2 + 2 k1 t + k0 = 0, at the height y / slope along the axis, from parts across
    // the axis, whose squares are not lost among those of its length
    F shrink = a.r - b.r, aa = dot(axis, axis), inv = one / select(aa > zero, aa, one),
      slope = aa - shrink * shrink, ao = dot(axis, oa), ad = dot(axis, w);
    Vec<F> oc = oa - axis * (ao * inv), wc = w - axis * (ad * inv);
    auto radius = [&](const F &along) { return a.r - shrink * along * inv; };
    F k2 = slope * dot(wc, wc) - shrink * shrink * ad * ad * inv,
      k1 = slope * dot(oc, wc) + ad * shrink * radius(ao);
    auto is_cone = (slope > zero) & (k2 != zero);
    // Where the equation is least, which is `least` there
    F safe = select(is_cone, k2, one), middle = -k1 / safe, r = radius(ao + ad * middle);
    Vec<F> c = oc + wc * middle;
    F least = slope * dot(c, c) - aa * r * r, h = -least * safe;
    // No root of zero, whose derivative is infinite
    F root = select(h > zero, sqrt(select(h > zero, h, one)), zero);
    F side = middle - root / safe, y = ao - a.r * shrink + side * ad;
    auto on_side = is_cone & (h >= zero) & (y > zero) & (y < slope);
    // Spheres, where they are met before what is inside of the hull. Those of a joint are met at the same distance by both
    // segments, to the bit: it is always the same one of them that is seen
    auto sphere = [&](const Vec<F> &from, const F &r) {
        F along = dot(w, from);
        Vec<F> rest = from - w * along;
        F more = dot(w, rest);
        Vec<F> nearest = rest - w * more;
        F h = r * r - dot(nearest, nearest);
        return select(h > zero, -along - more - sqrt(select(h > zero, h, one)), infinity);
    };
    F first = sphere(o - a.p, a.r), second = sphere(o - b.p, b.r);
    auto is_first = first <= second;
    F t = select(on_side, near + side, select(is_first, first, second)) * scale;
    F u = select(on_side, y / slope, select(is_first, zero, one));
    auto hit = (t >= mint) & (t <= maxt);
    return { select(hit, t, infinity), u };
}

/// A cubic B-spline with its derivatives.
template <class F> struct Spline {
    Knot<F> c[4];

    Knot<F> mix(const F &w0, const F &w1, const F &w2, const F &w3) const {
        return { c[0].p * w0 + c[1].p * w1 + c[2].p * w2 + c[3].p * w3,
                 c[0].r * w0 + c[1].r * w1 + c[2].r * w2 + c[3].r * w3 };
    }
    Knot<F> at(const F &u) const {
        F s(1.0 / 6), v = F(1) - u, u2 = u * u, v2 = v * v;
        return mix(v2 * v * s, (u2 * (u * F(3) - F(6)) + F(4)) * s,
                   (v2 * (v * F(3) - F(6)) + F(4)) * s, u2 * u * s);
    }
    Knot<F> derivative(const F &u) const {
        F h(0.5), v = F(1) - u;
        return mix(v * v * -h, u * (u * F(3) - F(4)) * h, v * (v * F(3) - F(4)) * -h, u * u * h);
    }
    Knot<F> second_derivative(const F &u) const {
        return mix(F(1) - u, u * F(3) - F(2), F(1) - u * F(3), u);
    }
};

/// How far a point is from lying on the surface of a spline: a circle around the axis moves along that, at a right angle.
/// Newton's step leads there.
template <class F> struct SplineStep {
    F t, u;   // after the step
    F miss;   // of the distance to the axis, relative to the radius
    F facing; // negative where the surface is seen from outside
};
template <class F>
SplineStep<F> spline_step(const Spline<F> &spline, const Vec<F> &o, const Vec<F> &d, const F &t,
                          const F &u) {
    Knot<F> c = spline.at(u), c1 = spline.derivative(u), c2 = spline.second_derivative(u);
    Vec<F> q = o + d * t - c.p;
    F f = dot(q, c1.p), g = dot(q, q) - c.r * c.r;
    F ft = dot(d, c1.p), fu = dot(q, c2.p) - dot(c1.p, c1.p), gt = dot(q, d) * F(2),
      gu = (f + c.r * c1.r) * F(-2);
    F inv = F(1) / (ft * gu - fu * gt);
    Vec<F> n = q * -fu - c1.p * (c.r * c1.r);
    return { t - (f * gu - g * fu) * inv, u - (ft * g - gt * f) * inv, g / (c.r * c.r), dot(n, d) };
}

constexpr int SplinePieces = 8, SplineSteps = 8;

/// What begins at one of the pieces that a spline is cut into. Distances to the axis may be off by a part `tolerance`. The
/// spline lies near the origin, and so does the ray at t = 0, lest digits be lost.
template <class F, class Select>
Found<F> meet_spline_piece(const Spline<F> &spline, const F &piece, const Vec<F> &o,
                           const Vec<F> &d, const F &mint, const F &maxt, const F &infinity,
                           double tolerance, Select &&select) {
    const F width(1.0 / SplinePieces), zero(0), one(1);
    F u0 = piece * width;
    Knot<F> a = spline.at(u0), b = spline.at(u0 + width);
    // Between their ends, pieces bend away from a line
    Knot<F> bend = spline.second_derivative(u0 + width * F(0.5));
    using std::sqrt;
    F more = sqrt(dot(bend.p, bend.p)) * width * width * F(0.125) + (a.r + b.r) * F(0.01);
    a.r = a.r + more;
    b.r = b.r + more;
    Found<F> guess = meet_segment(a, b, o, d, F(-infinity), infinity, infinity, select);
    auto is_near = guess.t < infinity;
    F t = select(is_near, guess.t, zero), u = u0 + guess.u * width;
    for (int i = 0; i < SplineSteps; ++i) {
        SplineStep<F> s = spline_step(spline, o, d, t, u);
        t = s.t;
        u = select(s.u > F(1.5), F(1.5), select(s.u < F(-0.5), F(-0.5), s.u));
    }
    SplineStep<F> s = spline_step(spline, o, d, t, u);
    auto hit = is_near & (s.miss < F(tolerance)) & (s.miss > F(-tolerance)) & (s.facing < zero) &
               (u >= zero) & (u <= one) & (t >= mint) & (t <= maxt);
    return { select(hit, t, infinity), u };
}

} // namespace umbel::curves
