// render/curve_outline.cpp: where round curves end, as seen from somewhere, and how their points move with control points.
//
// Straight segments are hulls of two spheres: two lines of the cone that touches both, and parts of circles on the spheres. Points
// of a spline are c(u) + r(u) e, with e of unit length across the axis; two lines run along it, and its ends are open.
#include "ad/ad.h"
#include "render/curve_lanes.h"
#include "render/curve_shape.h"
#include <cmath>

namespace umbel {

using namespace curves;

// ---- which pieces there are

std::vector<HasOutline::Piece> CurveShape::outline_pieces() const {
    std::vector<Piece> out;
    const std::vector<uint32_t> &s = m_curves.segments;
    for (size_t i = 0; i < s.size(); ++i) {
        BoundingBox b = primitive_bounds(i);
        size_t first = s[i] + (m_curves.is_linear ? 0u : 1u); // about where a spline begins
        const Point &from = m_curves.points[first], &to = m_curves.points[first + 1];
        double length = std::hypot(from[0] - to[0], from[1] - to[1], from[2] - to[2]);
        auto number = uint32_t(i);
        out.push_back({ number, Sides, b.centre(), b.radius(), 2 * (length + from[3] + to[3]) });
        // Where segments follow each other, a spline goes on, and straight ones share a sphere
        bool begins = i == 0 || s[i - 1] + 1 != s[i],
             ends = i + 1 == s.size() || s[i] + 1 != s[i + 1];
        auto ring = [&](uint32_t part, const Point &p) {
            out.push_back({ number, part, { p[0], p[1], p[2] }, 2 * p[3], 2 * Pi * p[3] });
        };
        if (begins)
            ring(Begin, from);
        if (ends || m_curves.is_linear)
            ring(End, to);
    }
    return out;
}

HasOutline::Outline CurveShape::piece_outline(const Viewpoint &from, const Float &u,
                                              const UInt32 &segment, const UInt32 &part,
                                              const Mask &active) const {
    UInt32 first = jit::gather(UInt32(m_segments_array), segment, active);
    LaneKnot c[4];
    read_knots(m_still_points, first, active, c);
    Float twice = u * 2, half = floor(twice);
    Mask is_side = part == UInt32(uint32_t{ Sides }), is_end = part == UInt32(uint32_t{ End });
    Float sign = select(half > 0, Float(-1), Float(1));
    Outline side, ring;
    if (m_curves.is_linear) {
        side = segment_side(c[0], c[1], from, twice - half, sign);
        ring = segment_cap(c[0], c[1], from, u, is_end);
    } else {
        Spline<Float> spline{ { c[0], c[1], c[2], c[3] } };
        side = spline_side(spline, from, twice - half, sign);
        ring = spline_end(spline, from, u, is_end);
    }
    Outline out{
        select(is_side, side.p, ring.p),           select(is_side, side.tangent, ring.tangent),
        select(is_side, side.inside, ring.inside), active & select(is_side, side.valid, ring.valid),
        select(is_side, side.at, ring.at),         select(is_side, side.depth, ring.depth)
    };
    if (m_curves.is_linear)
        out.valid = out.valid & !is_in_neighbour(out.p, Float(0), segment, first, out.valid);
    return out;
}

// ---- straight segments

// Both lines of the cone: its normal m has m . axis = k everywhere, and m . (from - c) = r where the cone is seen edge-on, which
// holds all along a line.
HasOutline::Outline CurveShape::segment_side(const LaneKnot &a, const LaneKnot &b,
                                             const Viewpoint &from, const Float &u,
                                             const Float &sign) {
    Vector3 start = vector(a.p), along = vector(b.p) - start, way = from.from(start);
    Float widens = b.r - a.r, inv_length = rsqrt(squared_norm(along)), k = -widens * inv_length;
    Vector3 axis = along * inv_length;
    Float on_axis = dot(way, axis);
    Vector3 across = fma(axis, -on_axis, way);
    Float far = norm(across), slant = safe_sqrt(1 - sqr(k));
    Float cosine = (from.w * a.r - k * on_axis) / (slant * far);
    Mask valid = (abs(k) < 1) & (far > 0) & (abs(cosine) < 1);
    Vector3 x = across / far, y = cross(axis, x);
    Vector3 m = fma(axis, k, (x * cosine + y * (safe_sqrt(1 - sqr(cosine)) * sign)) * slant);
    Vector3 line = fma(m, widens, along);
    return { fma(line, u, fma(m, a.r, start)), line * 2.0, -m, valid, u };
}

// A sphere's circle, where the cone does not cover it.
HasOutline::Outline CurveShape::segment_cap(const LaneKnot &a, const LaneKnot &b,
                                            const Viewpoint &from, const Float &u,
                                            const Mask &is_end) {
    Vector3 along = vector(b.p) - vector(a.p), centre = select(is_end, vector(b.p), vector(a.p));
    Float r = select(is_end, b.r, a.r);
    Vector3 way = from.from(centre);
    Float inv = rsqrt(squared_norm(way)), cosine = from.w * r * inv,
          sine = safe_sqrt(1 - sqr(cosine));
    Frame f(way * inv);
    EllipsePoint m(f.n * cosine, f.s * sine, f.t * sine, u);
    Mask before_cone = dot(m.p, along) < a.r - b.r;
    return { fma(m.p, r, centre), m.tangent * r, -m.p, (cosine < 1) & (before_cone != is_end),
             select(is_end, Float(1), Float(0)) };
}

// How far a point is inside the hull of two spheres: the largest r(u) - |p - c(u)|, a concave function of u.
static Float depth_in_segment(const LaneKnot &a, const LaneKnot &b, const Vector3 &p) {
    Vector3 start = vector(a.p), along = vector(b.p) - start, way = p - start;
    Float widens = b.r - a.r, length2 = squared_norm(along), inv_length = rsqrt(length2),
          k = -widens * inv_length, x = dot(way, along) * inv_length,
          y = safe_sqrt(squared_norm(way) - sqr(x));
    Float u = (x - y * k * rsqrt(max(1 - sqr(k), Float(1e-12)))) * inv_length;
    u = select(length2 > 0, min(max(u, Float(0)), Float(1)), Float(0));
    return fma(widens, u, a.r) - norm(fma(along, -u, way));
}

// Segments that follow each other overlap at joints.
Mask CurveShape::is_in_neighbour(const Vector3 &p, const Float &error, const UInt32 &segment,
                                 const UInt32 &first, const Mask &active) const {
    UInt32 all(m_segments_array);
    Mask before = active & (segment > UInt32(0u)),
         after = active & (segment + UInt32(1u) < jit::opaque(uint32_t(m_segments.size())));
    before = before & (jit::gather(all, segment - UInt32(1u), before) + UInt32(1u) == first);
    after = after & (jit::gather(all, segment + UInt32(1u), after) == first + UInt32(1u));
    auto is_in = [&](const UInt32 &from, const Mask &on) {
        LaneKnot c[4];
        read_knots(m_still_points, from, on, c);
        return on & (depth_in_segment(c[0], c[1], p) > fma(1e-3, min(c[0].r, c[1].r), error));
    };
    return is_in(first - UInt32(1u), before) | is_in(first + UInt32(1u), after);
}

// ---- splines

namespace {

// Of the radius. Embree was seen to miss rays by half of a thousandth.
constexpr double SplineDepth = 2e-3;

// At a place u of a spline, as seen from somewhere: q = from - c. With e across the axis, the surface is seen edge-on where
//
//     G(u, e) = (|c'|^2 - r e . c'') (e . q - w r) - r' c' . q = 0
struct SplineView {
    Vector3 c, c1, c2, c3, q, axis;
    Float r, r1, r2, l2, w;

    SplineView(const Spline<Float> &s, const Viewpoint &from, const Float &u) : w(from.w) {
        LaneKnot k = s.at(u), k1 = s.derivative(u), k2 = s.second_derivative(u);
        Float three(3);
        LaneKnot k3 = s.mix(Float(-1), three, -three, Float(1));
        c = vector(k.p), c1 = vector(k1.p), c2 = vector(k2.p), c3 = vector(k3.p);
        r = k.r, r1 = k1.r, r2 = k2.r;
        q = from.from(c);
        l2 = squared_norm(c1);
        axis = c1 * rsqrt(l2);
    }
    Float stretch(const Vector3 &e) const { return l2 - r * dot(e, c2); }
    Float height(const Vector3 &e) const { return dot(e, q) - w * r; }
    Float G(const Vector3 &e) const { return stretch(e) * height(e) - r1 * dot(c1, q); }
    /// Its derivative by e.
    Vector3 gradient(const Vector3 &e) const { return q * stretch(e) - c2 * (r * height(e)); }
    /// Its derivative by u, as e turns with the axis.
    Float G_u(const Vector3 &e) const {
        Float fixed = (2 * dot(c1, c2) - r1 * dot(e, c2) - r * dot(e, c3)) * height(e) -
                      stretch(e) * (w * r1) - r2 * dot(c1, q) - r1 * (dot(c2, q) - w * l2);
        return fixed + dot(gradient(e), turning(e));
    }
    Vector3 turning(const Vector3 &e) const { return c1 * (-dot(e, c2) / l2); }
    Vector3 normal(const Vector3 &e) const { return e * stretch(e) - c1 * r1; }
};

} // namespace

// From the two lines of a straight tube, Newton's method leads to where a bent one is seen edge-on.
HasOutline::Outline CurveShape::spline_side(const Spline<Float> &spline, const Viewpoint &from,
                                            const Float &u, const Float &sign) {
    SplineView v(spline, from, u);
    Vector3 across = fma(v.axis, -dot(v.q, v.axis), v.q);
    Float far = norm(across);
    Vector3 x = across / far, y = cross(v.axis, x);
    Float cosine = (v.w * v.r + v.r1 * dot(v.c1, v.q) / v.l2) / far;
    cosine = min(max(cosine, Float(-0.999)), Float(0.999));
    Float angle = acos(cosine) * sign;
    constexpr int Steps = 5;
    Vector3 e, t;
    Float slope;
    for (int i = 0; i <= Steps; ++i) {
        Float c = cos(angle), s = sin(angle);
        e = x * c + y * s;
        t = cross(v.axis, e);
        slope = dot(v.gradient(e), t);
        if (i < Steps)
            angle = angle - min(max(v.G(e) / slope, Float(-0.5)), Float(0.5));
    }
    Float turned = v.G_u(e), scale = v.l2 * norm(v.q);
    double tolerance = variant().double_precision ? 1e-9 : 1e-4;
    // Along the view, the surface bends away on both sides: else it hides the line itself
    Vector3 way = fma(e, -(v.w * v.r), v.q);
    Float bends = dot(way, v.c1) / v.stretch(e) * turned + dot(way, t) / v.r * slope;
    Mask valid = (far > 0) & (abs(v.G(e)) < tolerance * scale) & (v.stretch(e) > 0) & (bends > 0);
    Vector3 tangent = v.c1 + e * v.r1 + (v.turning(e) - t * (turned / slope)) * v.r;
    return { fma(e, v.r, v.c), tangent * 2.0, -v.normal(e), valid, u, v.r * SplineDepth };
}

// The ring where a spline begins or ends: its half that is seen from outside.
HasOutline::Outline CurveShape::spline_end(const Spline<Float> &spline, const Viewpoint &from,
                                           const Float &u, const Mask &is_end) {
    Float at = select(is_end, Float(1), Float(0));
    SplineView v(spline, from, at);
    Frame f(v.axis);
    EllipsePoint e(Vector3(Float(0)), f.s, f.t, u);
    Float facing = dot(v.normal(e.p), fma(e.p, -(v.w * v.r), v.q));
    return { fma(e.p, v.r, v.c),
             e.tangent * v.r,
             select(is_end, -v.c1, v.c1),
             from.is_end ? facing < 0 : facing > 0,
             at,
             v.r * SplineDepth };
}

// ---- points that move with the surface

CurveShape::Axis CurveShape::axis_at(const LaneKnot (&c)[4], const Float &u) const {
    if (m_curves.is_linear)
        return { vector(c[0].p * (1 - u) + c[1].p * u), vector(c[1].p - c[0].p), Vector3(Float(0)),
                 fma(c[1].r - c[0].r, u, c[0].r), c[1].r - c[0].r };
    Spline<Float> s{ { c[0], c[1], c[2], c[3] } };
    LaneKnot k = s.at(u), k1 = s.derivative(u);
    return { vector(k.p), vector(k1.p), vector(s.second_derivative(u).p), k.r, k1.r };
}

static Vector3 detached(const Vector3 &v) {
    return { Float(ad::detach(v.x)), Float(ad::detach(v.y)), Float(ad::detach(v.z)) };
}

// Directions across the axis turn with it by as little as they can; those of the spheres at a segment's ends stay.
Vector3 CurveShape::carried(const Vector3 &p, const Axis &a, const Float &u) const {
    Vector3 axis = normalize(a.along), still = detached(axis);
    Vector3 out = detached(p) - detached(a.centre), across = fma(still, -dot(still, out), out);
    across = select(squared_norm(across) > 0, across, Frame(still).s);
    Vector3 m = normalize(fma(axis, -dot(axis, across), across));
    if (m_curves.is_linear) {
        Float k = -a.widens * rsqrt(squared_norm(a.along));
        Mask on_cone = (u > 0) & (u < 1);
        m = select(on_cone, fma(axis, k, m * safe_sqrt(1 - sqr(k))), normalize(out));
    }
    Vector3 moved = fma(m, a.radius, a.centre);
    return p + (moved - detached(moved));
}

// By u and the angle around the axis; of spheres by solid angle.
Float CurveShape::area_around(const Vector3 &p, const Float &u, const UInt32 &segment,
                              const Mask &active) const {
    UInt32 first = jit::gather(UInt32(m_segments_array), segment, active);
    LaneKnot c[4];
    read_knots(points(), first, active, c);
    Axis a = axis_at(c, u);
    Float length2 = squared_norm(a.along), inv = rsqrt(length2);
    if (m_curves.is_linear)
        return select((u > 0) & (u < 1), a.radius * (length2 - sqr(a.widens)) * inv, sqr(a.radius));
    Float stretch = (length2 - dot(p - a.centre, a.bend)) * inv;
    return a.radius * sqrt(sqr(stretch) + sqr(a.widens));
}

} // namespace umbel
