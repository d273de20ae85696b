// cylinder: an open tube between two points.
//
// u is the angle around the axis, v the way along it, both from 0 to 1. Transforms may rotate, move and scale it evenly
// around its axis. Once it is loaded, its to_world is that of the tube of radius 1 between the origin and (0, 0, 1): scripts
// that change it change axis and radius.
#include "core/warp.h"
#include "render/bends_unevenly.h"
#include "render/outline.h"
#include "render/shape.h"
#include <cmath>

namespace umbel {

namespace {

// The nearer solution of |o + t d| = 1 across the axis with a point of the tube, between mint and maxt, for host numbers
// and recorded ones alike. In the tube's space it has radius and length 1.
template <class F, class Select>
F solve_tube(const F (&o)[3], const F (&d)[3], F mint, F maxt, F none, Select choose) {
    using std::sqrt;
    F dd = d[0] * d[0] + d[1] * d[1];
    F b = (o[0] * d[0] + o[1] * d[1]) / dd; // minus the middle of the chord
    F x = o[0] - b * d[0], y = o[1] - b * d[1];
    F rest = (F(1) - (x * x + y * y)) / dd;
    F half = sqrt(choose(rest > F(0), rest, F(0)));
    F near_t = -b - half, far_t = -b + half;
    F near_z = o[2] + near_t * d[2], far_z = o[2] + far_t * d[2];
    auto good = [&](const F &t, const F &z) {
        return (t >= mint) & (t <= maxt) & (z >= F(0)) & (z <= F(1));
    };
    auto solvable = (rest >= F(0)) & (dd > F(0));
    F far = choose(solvable & good(far_t, far_z), far_t, none);
    return choose(solvable & good(near_t, near_z), near_t, far);
}

} // namespace

class Cylinder final : public AnalyticShape, public HasOutline, public BendsUnevenly {
public:
    void declare(Params &p) override {
        AnalyticShape::declare(p);
        std::array<double, 3> p0{}, p1{};
        double radius = 1;
        p.vector("p0", p0, { 0, 0, 0 }).fixed().doc("One end of the axis");
        p.vector("p1", p1, { 0, 0, 1 }).fixed().doc("The other end");
        p.number("radius", radius, 1, 0).fixed().doc("Its radius");
        if (p.loading())
            m_to_world = m_to_world * from_unit_tube(p0, p1, radius);
    }

    void configure() override {
        auto inverse = m_to_world.inverse();
        if (!inverse)
            complain("to_world is singular, so that nothing is left of the cylinder");
        m_to_object = *inverse;
        m_transform = HostTransform(m_to_world, m_to_object);

        double products[3][3], sizes[3]; // of the directions that x, y and z become
        for (int a = 0; a < 3; ++a)
            for (int b = 0; b < 3; ++b) {
                products[a][b] = 0;
                for (int i = 0; i < 3; ++i)
                    products[a][b] += m_to_world(i, a) * m_to_world(i, b);
            }
        for (int c = 0; c < 3; ++c)
            sizes[c] = std::sqrt(products[c][c]);
        m_is_round = std::abs(sizes[0] - sizes[1]) <= 1e-6 * sizes[0];
        for (auto [a, b] : { std::pair(0, 1), std::pair(0, 2), std::pair(1, 2) })
            m_is_round &= std::abs(products[a][b]) <= 1e-6 * sizes[a] * sizes[b];
        if (!m_is_round && (emitter() || sensor()))
            complain("to_world shears the tube, or scales it by {:g} and {:g} across the axis; a "
                     "cylinder with a light or a sensor must be round: use a mesh",
                     sizes[0], sizes[1]);
        m_area = m_is_round ? 2 * Pi * sizes[0] * sizes[2] : skewed_area();
        m_inv_area = HostFloat(1 / m_area);
        m_flip = HostFloat(m_flip_normals ? -1 : 1);
    }

    BoundingBox bounds() const override {
        BoundingBox b;
        for (double z : { 0.0, 1.0 }) {
            auto c = m_to_world.apply_point({ 0, 0, z });
            for (int i = 0; i < 3; ++i) {
                double r = std::hypot(m_to_world(i, 0), m_to_world(i, 1));
                b.min[size_t(i)] = std::min(b.min[size_t(i)], c[size_t(i)] - r);
                b.max[size_t(i)] = std::max(b.max[size_t(i)], c[size_t(i)] + r);
            }
        }
        return b;
    }
    double area() const override { return m_area; }
    uint32_t type() const override { return ShapeType::Cylinder; }
    // Around the tube, by the second fundamental form: p is bent by u alone. (Shears along the axis, which turn the
    // normal's derivative away from dp_du, count for its size only.)
    Vector2 curvature_at(const Vector2 &uv) const override {
        Transform t = m_transform;
        Float phi = uv.x * (2 * Pi), c = cos(phi), s = sin(phi);
        Vector3 by_angle = t.vector({ -s, c, Float(0) }), twice = t.vector({ -c, -s, Float(0) }),
                along = t.vector({ Float(0), Float(0), Float(1) });
        Float aa = dot(by_angle, by_angle), ab = dot(by_angle, along), bb = dot(along, along);
        Float bent = dot(twice, normal_at({ c, s, Float(0) }));
        return { -bent * bb / (aa * bb - sqr(ab)), Float(0) };
    }
    bool bends_evenly() const override { return m_is_round; }

    double intersect_host(const std::array<double, 3> &o, const std::array<double, 3> &d,
                          double mint, double maxt) const override {
        auto p = m_to_object.apply_point(o), w = m_to_object.apply_vector(d);
        double origin[3] = { p[0], p[1], p[2] }, dir[3] = { w[0], w[1], w[2] };
        return solve_tube(origin, dir, mint, maxt, std::numeric_limits<double>::infinity(),
                          [](bool m, double a, double b) { return m ? a : b; });
    }
    Float intersect(const Ray &ray, const Mask &) const override {
        Transform to_object = Transform(m_transform).inverse();
        Vector3 o = to_object.point(ray.o), d = to_object.vector(ray.d);
        Float origin[3] = { o.x, o.y, o.z }, dir[3] = { d.x, d.y, d.z };
        return solve_tube(
            origin, dir, Float(0), ray.maxt, Float(std::numeric_limits<double>::infinity()),
            [](const Mask &m, const Float &a, const Float &b) { return select(m, a, b); });
    }

    void fill_interaction(const Ray &ray, const Float &t, SurfaceInteraction &si) const override {
        Transform transform = m_transform;
        Vector3 local = transform.inverse().point(ray(t));
        Float inv_r = rsqrt(sqr(local.x) + sqr(local.y));
        local = { local.x * inv_r, local.y * inv_r, local.z }; // back onto the surface
        Float phi = atan2(local.y, local.x);
        phi = phi + select(phi < 0, Float(2 * Pi), Float(0));
        si.p = transform.point(local);
        si.uv = { phi * InvTwoPi, local.z };
        si.dp_du = transform.vector({ -local.y, local.x, Float(0) }) * (2 * Pi);
        si.dp_dv = transform.vector({ Float(0), Float(0), Float(1) });
        si.n = normal_at(local);
        si.sh_frame.n = si.n;
    }

    // Two lines along the tube, unless it is seen from within, and both ends, a quarter of u each.
    Outline outline(const Viewpoint &from, const Float &u) const override {
        Transform t = m_transform;
        Vector3 z = t.vector({ 0, 0, 1 }), start = t.translation();
        Float part = floor(u * 4), rest = u * 4 - part;
        Mask is_line = part < 2, second = (part == 1) | (part == 3);
        // Across the axis, in the tube's space: the tangents of a circle from a point
        Vector3 v = select(from.w > 0, t.inverse().point(from.p), t.inverse().vector(from.p));
        Float dist2 = sqr(v.x) + sqr(v.y);
        Float c = select(from.w > 0, rsqrt(dist2), Float(0)), s = safe_sqrt(1 - sqr(c));
        s = select(second, -s, s);
        Float inv = rsqrt(dist2), x = v.x * inv, y = v.y * inv;
        Vector3 across = t.vector({ x * c - y * s, y * c + x * s, Float(0) });
        EllipsePoint ring(select(second, start + z, start), t.vector({ 1, 0, 0 }),
                          t.vector({ 0, 1, 0 }), rest);
        Vector3 on_line = fma(z, rest, start + across);
        return { select(is_line, on_line, ring.p), select(is_line, z, ring.tangent) * 4.0,
                 select(is_line, -across, select(second, -z, z)), (sqr(c) < 1) | !is_line };
    }

    PositionSample sample_rest_position(const Float &time, const Vector2 &u,
                                        const Mask &) const override {
        Float phi = u.y * (2 * Pi);
        Vector3 local(cos(phi), sin(phi), u.x);
        return { Transform(m_transform).point(local),
                 normal_at(local),
                 { u.y, u.x },
                 time,
                 m_inv_area,
                 false };
    }

private:
    using Vec = std::array<double, 3>;
    // Two directions across an axis of unit length [Duff 2017].
    static std::pair<Vec, Vec> basis(const Vec &n) {
        double sign = std::copysign(1.0, n[2]), a = -1 / (sign + n[2]), b = n[0] * n[1] * a;
        return { { 1 + sign * n[0] * n[0] * a, sign * b, -sign * n[0] },
                 { b, sign + n[1] * n[1] * a, -n[1] } };
    }
    TransformData from_unit_tube(const Vec &p0, const Vec &p1, double radius) const {
        Vec axis{ p1[0] - p0[0], p1[1] - p0[1], p1[2] - p0[2] };
        double length = std::hypot(axis[0], axis[1], axis[2]);
        if (!(length > 0 && radius > 0))
            complain("the axis has length {} and the tube the radius {}; both must be positive",
                     length, radius);
        for (double &x : axis)
            x /= length;
        auto [s, t] = basis(axis);
        TransformData place;
        for (int i = 0; i < 3; ++i) {
            place(i, 0) = s[size_t(i)] * radius;
            place(i, 1) = t[size_t(i)] * radius;
            place(i, 2) = axis[size_t(i)] * length;
            place(i, 3) = p0[size_t(i)];
        }
        return place;
    }
    // Of the strips along the axis that it is made of; this many give all digits, as it is periodic.
    double skewed_area() const {
        constexpr int Strips = 256;
        double sum = 0;
        for (int k = 0; k < Strips; ++k) {
            double phi = 2 * Pi * k / Strips;
            Vec a = m_to_world.apply_vector({ -std::sin(phi), std::cos(phi), 0 }),
                b = m_to_world.apply_vector({ 0, 0, 1 });
            sum += std::hypot(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
                              a[0] * b[1] - a[1] * b[0]);
        }
        return sum * 2 * Pi / Strips;
    }
    Vector3 normal_at(const Vector3 &local) const {
        Vector3 n = Transform(m_transform).normal({ local.x, local.y, Float(0) });
        return normalize(n) * m_flip;
    }

    double m_area = 0;
    TransformData m_to_object;
    HostTransform m_transform;
    HostFloat m_flip;
    bool m_is_round = true;
};

UMBEL_PLUGIN(Shape, Cylinder, "cylinder")
} // namespace umbel
