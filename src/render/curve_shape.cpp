// render/curve_shape.cpp: round curves.
#include "render/curve_shape.h"
#include "ad/ad.h"
#include "core/file_text.h"
#include "core/host_array.h"
#include "render/curve_math.h"
#include "render/emitter.h"
#include <algorithm>
#include <charconv>
#include <cmath>

namespace umbel {

namespace {

constexpr double Infinity = std::numeric_limits<double>::infinity();

using curves::lanes;
using curves::LaneVec;

Float choose_lane(const Mask &m, const Float &a, const Float &b) { return select(m, a, b); }

// Of a few sums and products, relative to the largest number in them.
double rounding() { return variant().double_precision ? 0x1p-48 : 0x1p-19; }

Float still(const Float &v) { return Float(ad::detach(v)); }

} // namespace

void CurveShape::declare(Params &p) {
    Shape::declare(p);
    if (!p.traversing())
        return;
    p.exposed("control_point_count", &m_count);
    p.exposed("segment_indices", BufferSlot{ &m_segments_array, &m_segments });
    p.exposed("control_points", BufferSlot{ &m_points_array, &m_points }).differentiable();
    p.derived(m_points_array);
}

void CurveShape::set_curves(const std::vector<std::vector<Point>> &curves) {
    m_points.clear();
    m_segments.clear();
    for (const std::vector<Point> &curve : curves) {
        auto first = uint32_t(m_points.size() / 4);
        for (const Point &p : curve) {
            auto w = m_to_world.apply_point({ p[0], p[1], p[2] });
            m_points.insert(m_points.end(), { w[0], w[1], w[2], p[3] });
        }
        for (uint32_t i = 0; i + order() <= curve.size(); ++i)
            m_segments.push_back(first + i);
    }
}

void CurveShape::configure() {
    take_files();
    if (m_emitter)
        complain("curves cannot emit light; give the emitter to a mesh");
    m_points_array = m_segments_array = {};
    update();
}

void CurveShape::changed(std::span<const std::string> names) {
    auto is_changed = [&](const char *name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (is_changed("control_points") && m_points_array.valid())
        m_points = read_floats(Float(m_points_array.detached()));
    if (is_changed("segment_indices") && m_segments_array.valid())
        m_segments = UInt32(m_segments_array).read();
    m_segments_array = {};
    update();
    ++m_revision;
}

void CurveShape::update() {
    if (m_points.size() % 4)
        complain("control_points has {} numbers; there must be four a point", m_points.size());
    m_count = double(m_points.size() / 4);
    m_curves.points.resize(m_points.size() / 4);
    m_curves.segments = m_segments;
    for (size_t i = 0; i < m_points.size(); ++i) {
        m_curves.points[i / 4][i % 4] = m_points[i];
        if (!std::isfinite(m_points[i]) || (i % 4 == 3 && !(m_points[i] > 0)))
            complain("control point {} is at {}, {}, {} with the radius {}; points must be finite, "
                     "and radii positive",
                     i / 4, m_points[i / 4 * 4], m_points[i / 4 * 4 + 1], m_points[i / 4 * 4 + 2],
                     m_points[i / 4 * 4 + 3]);
    }
    m_area = 0;
    for (uint32_t s : m_segments) {
        if (size_t(s) + order() > m_curves.points.size())
            complain("a segment begins at point {} of {}", s, m_curves.points.size());
        size_t first = s + (m_curves.is_linear ? 0 : 1); // about where a spline begins
        const Point &a = m_curves.points[first], &b = m_curves.points[first + 1];
        m_area += Pi * (a[3] + b[3]) * std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
    }
    m_inv_area = HostFloat(m_area > 0 ? 1 / m_area : 0);
    BufferSlot{ &m_points_array, &m_points }.read();
    m_still_points = float_array(m_points);
    BufferSlot{ &m_segments_array, &m_segments }.read();
    m_inv_count = opaque_float(1 / double(m_segments.size()));
    m_sign = opaque_float(m_flip_normals ? -1 : 1);
}

BoundingBox CurveShape::bounds() const {
    BoundingBox b;
    for (size_t i = 0; i < primitive_count(); ++i)
        b.extend(primitive_bounds(i));
    return b;
}

// A spline lies in the hull of its points.
BoundingBox CurveShape::primitive_bounds(size_t segment) const {
    BoundingBox b;
    for (size_t k = 0; k < order(); ++k) {
        const Point &p = m_curves.points[m_curves.segments[segment] + k];
        b.extend(std::array{ p[0] - p[3], p[1] - p[3], p[2] - p[3] });
        b.extend(std::array{ p[0] + p[3], p[1] + p[3], p[2] + p[3] });
    }
    return b;
}

AnalyticShape::HostHit CurveShape::intersect_primitive_host(size_t, const std::array<double, 3> &,
                                                            const std::array<double, 3> &, double,
                                                            double) const {
    check(false); // Embree has curves of its own
    return {};
}

void CurveShape::read_knots(const Value &points, const UInt32 &first, const Mask &active,
                            LaneKnot (&to)[4]) const {
    for (uint32_t k = 0; k < order(); ++k) {
        std::vector<Value> v = jit::gather_packet(points, first + UInt32(k), 4, active);
        to[k] = { { Float(v[0]), Float(v[1]), Float(v[2]) }, Float(v[3]) };
    }
}

bool CurveShape::follows_data() const { return ad::grad_enabled(m_points_array); }

AnalyticShape::PrimitiveHit CurveShape::intersect_primitive(const Ray &ray, const UInt32 &segment,
                                                            const Mask &active) const {
    UInt32 first = jit::gather(UInt32(m_segments_array), segment, active);
    LaneKnot c[4];
    read_knots(m_curves.is_linear ? points() : m_still_points, first, active, c);
    LaneVec o = lanes(ray.o), d = lanes(ray.d);
    Float infinity(Infinity);
    if (m_curves.is_linear) {
        auto found =
            curves::meet_segment(c[0], c[1], o, d, Float(0), ray.maxt, infinity, choose_lane);
        // Where a ray enters a segment inside of the one before or after, it was in the curve already
        Vector3 from(still(o.x), still(o.y), still(o.z)), along(still(d.x), still(d.y), still(d.z));
        Float t = still(found.t);
        Mask is_covered = jit::if_(
            active & (t < Infinity),
            [&] {
                Vector3 way = along * t, p = from + way;
                Float error = max_component(abs(from) + abs(way)) * rounding();
                return is_in_neighbour(p, error, segment, first, Mask(true));
            },
            [] { return Mask(false); }, "joint");
        return { select(is_covered, infinity, found.t), found.u, Float(0) };
    }
    // Found without derivatives; a last step has them
    curves::Spline<Float> spline{ { c[0], c[1], c[2], c[3] } }, at_origin = spline;
    LaneVec from{ still(o.x), still(o.y), still(o.z) }, along{ still(d.x), still(d.y), still(d.z) };
    for (LaneKnot &k : at_origin.c)
        k.p = k.p - c[1].p;
    from = from - c[1].p;
    Float near = -dot(along, from) / dot(along, along), last = still(ray.maxt) - near;
    from = from + along * near;
    double tolerance = variant().double_precision ? 1e-9 : 1e-4;
    struct State {
        Float piece, t, u;
        UMBEL_STRUCT(piece, t, u)
    };
    State s{ Float(0), infinity, Float(0) };
    s = jit::loop(
        s, [&](const State &s) { return s.piece < double(curves::SplinePieces); },
        [&](State &s) {
            auto found = curves::meet_spline_piece(at_origin, s.piece, from, along, -near, last,
                                                   infinity, tolerance, choose_lane);
            Mask nearer = found.t < s.t;
            s.t = select(nearer, found.t, s.t);
            s.u = select(nearer, found.u, s.u);
            s.piece = s.piece + 1;
        },
        "spline");
    s.t = s.t + near;
    bool is_followed = is_following() && follows_data();
    for (const Float *v : { &o.x, &o.y, &o.z, &d.x, &d.y, &d.z })
        is_followed |= ad::grad_enabled(*v);
    if (is_followed) {
        Mask hit = s.t < Infinity;
        read_knots(points(), first, active, spline.c);
        auto step = curves::spline_step(spline, o, d, select(hit, s.t, Float(0)), s.u);
        s.t = select(hit, Float(ad::replace_grad(s.t, step.t)), s.t);
        s.u = select(hit, Float(ad::replace_grad(s.u, step.u)), s.u);
    }
    return { s.t, s.u, Float(0) };
}

void CurveShape::fill_primitive(const Ray &ray, const PrimitiveHit &hit, const UInt32 &segment,
                                const Mask &active, SurfaceInteraction &si) const {
    UInt32 first = jit::gather(UInt32(m_segments_array), segment, active);
    LaneKnot c[4];
    read_knots(points(), first, active, c);
    const Axis at = axis_at(c, hit.u);
    const Vector3 &along = at.along, &bend = at.bend;
    const Float &radius = at.radius, &widens = at.widens;
    si.p = ray(hit.t);
    if (is_following() && follows_data())
        si.p = select(on_ray(), si.p, carried(si.p, at, hit.u));
    Vector3 out = si.p - at.centre, away = normalize(out), axis = normalize(along);
    si.n = away;
    if (!m_curves.is_linear)
        si.n = normalize(out * (squared_norm(along) - dot(out, bend)) - along * (widens * radius));

    // Angles are counted from a direction that is at a right angle to z
    Float cosine = axis.z;
    const Vector3 z(Float(0), Float(0), Float(1));
    Mask upright = abs(cosine) >= 1;
    Vector3 flat = select(upright, Vector3(Float(0), Float(1), Float(0)), z - axis * cosine),
            turn = normalize(flat);
    Vector3 start = cross(turn, axis);
    Float angle = atan2(dot(turn, away), dot(start, away));
    angle = angle + select(angle < 0, Float(2 * Pi), Float(0));
    si.uv = { angle * InvTwoPi, (hit.u + Float(segment)) * m_inv_count };
    si.dp_du = cross(axis, out) * (2 * Pi);
    Vector3 next = along + away * widens;
    if (!m_curves.is_linear) { // directions turn with the axis
        Vector3 axis_v = (bend - axis * dot(axis, bend)) / norm(along),
                flat_v = -(axis_v * cosine + axis * axis_v.z),
                turn_v = (flat_v - turn * dot(turn, flat_v)) / norm(flat);
        turn_v = select(upright, Vector3(Float(0)), turn_v);
        Vector3 start_v = cross(turn_v, axis) + cross(turn, axis_v);
        next += (start_v * dot(start, away) + turn_v * dot(turn, away)) * radius;
    }
    si.dp_dv = next / m_inv_count;
    si.n = si.n * m_sign;
    si.sh_frame.n = si.n;
}

PositionSample CurveShape::sample_rest_position(const Float &, const Vector2 &,
                                                const Mask &) const {
    complain("points on curves cannot be sampled");
}

std::vector<std::vector<std::array<double, 4>>>
read_curves(const std::filesystem::path &file, size_t numbers, size_t least, double radius) {
    FileBytes bytes(file);
    const char *at = bytes.view().data(), *end = at + bytes.view().size();
    std::vector<std::vector<std::array<double, 4>>> out;
    size_t line = 0;
    bool is_new = true;
    auto finish = [&] {
        if (!is_new && out.back().size() < least)
            fail("{}:{}: a curve of {} control points; it takes {} at least", file.string(), line,
                 out.back().size(), least);
        is_new = true;
    };
    while (at < end) {
        ++line;
        const char *stop = std::find(at, end, '\n');
        std::array<double, 4> p{ 0, 0, 0, radius };
        size_t n = 0;
        for (const char *c = at; true; ++n) {
            while (c < stop && (*c == ' ' || *c == '\t' || *c == '\r' || *c == ','))
                ++c;
            if (c == stop)
                break;
            c += *c == '+';
            double v;
            auto [next, error] = std::from_chars(c, stop, v);
            if (error != std::errc() || n == numbers || !std::isfinite(v))
                fail("{}:{}: expected {} finite numbers", file.string(), line, numbers);
            p[n] = v;
            c = next;
        }
        at = stop == end ? end : stop + 1;
        if (n == 0) {
            finish();
            continue;
        }
        if (n != numbers)
            fail("{}:{}: {} numbers; expected {}", file.string(), line, n, numbers);
        if (!(p[3] > 0))
            fail("{}:{}: the radius is {}; it must be positive", file.string(), line, p[3]);
        if (is_new)
            out.emplace_back();
        is_new = false;
        out.back().push_back(p);
    }
    finish();
    if (out.empty())
        fail("{}: the file holds no control points", file.string());
    return out;
}

} // namespace umbel
