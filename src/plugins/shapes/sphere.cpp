// sphere: given by centre and radius.
//
// Points of it are sampled by the cone of directions that it fills, seen from outside. Transforms may rotate, move and
// scale it evenly; of one that does not, the scale along its x axis counts for all, with a warning: an ellipsoid is an `instance`
// of a sphere. Once it is loaded, its to_world is that of the unit sphere around the origin: scripts that change it change
// centre and radius.
#include "core/load_warnings.h"
#include "core/warp.h"
#include "render/outline.h"
#include "render/shape.h"
#include <cmath>

namespace umbel {

namespace {

// The nearer of the two solutions of |o + t d|^2 = r^2 in [mint, maxt], for host numbers and recorded ones alike.
// From the middle of the chord, which keeps its digits for small spheres far away [Haines 2019].
template <class F, class Select>
F solve_sphere(const F (&o)[3], const F (&d)[3], F radius, F mint, F maxt, F none, Select choose) {
    using std::sqrt;
    F dd = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    F b = (o[0] * d[0] + o[1] * d[1] + o[2] * d[2]) / dd; // minus the middle
    F x = o[0] - b * d[0], y = o[1] - b * d[1], z = o[2] - b * d[2];
    F rest = (radius * radius - (x * x + y * y + z * z)) / dd;
    F half = sqrt(choose(rest > F(0), rest, F(0)));
    F near_t = -b - half, far_t = -b + half;
    F t = choose(near_t >= mint, near_t, far_t);
    return choose((rest >= F(0)) & (t >= mint) & (t <= maxt), t, none);
}

} // namespace

class Sphere final : public AnalyticShape, public HasOutline {
public:
    void declare(Params &p) override {
        AnalyticShape::declare(p);
        std::array<double, 3> centre{};
        double radius = 1;
        p.vector("center", centre, { 0, 0, 0 }).fixed().doc("Its centre");
        p.number("radius", radius, 1, 0).fixed().doc("Its radius");
        if (p.loading())
            m_to_world = m_to_world * TransformData::translate(centre) *
                         TransformData::scale({ radius, radius, radius });
    }

    void configure() override {
        double scale = length_of(column(0));
        for (int c = 1; c < 3; ++c)
            if (std::abs(length_of(column(c)) - scale) > 1e-6 * scale) {
                warn_while_loading(fmt::format(
                    "{}: to_world scales by {:g} and {:g} along different axes; a sphere stays "
                    "one, of radius {:g}. For an ellipsoid, put it into a `shapegroup` and scale "
                    "an `instance` of that",
                    where(), scale, length_of(column(c)), scale));
                make_even(scale);
                break;
            }
        m_r = HostFloat(scale);
        if (!(m_r.value() > 0))
            complain("the radius is {}; it must be positive", m_r.value());
        m_c = HostVector3(m_to_world.apply_point({ 0, 0, 0 }));
        m_inv_area = HostFloat(1 / area());
        for (int c = 0; c < 3; ++c)
            m_axes[c] = HostVector3({ m_to_world(0, c), m_to_world(1, c), m_to_world(2, c) });
        m_flip = HostFloat(m_flip_normals ? -1 : 1);
    }

    BoundingBox bounds() const override {
        BoundingBox b;
        for (size_t i = 0; i < 3; ++i) {
            b.min[i] = m_c.value()[i] - m_r.value();
            b.max[i] = m_c.value()[i] + m_r.value();
        }
        return b;
    }
    double area() const override { return 4 * Pi * m_r.value() * m_r.value(); }
    uint32_t type() const override { return ShapeType::Sphere; }
    Vector2 curvature() const override {
        Float k = Float(m_flip) / m_r;
        return { k, k };
    }

    double intersect_host(const std::array<double, 3> &o, const std::array<double, 3> &d,
                          double mint, double maxt) const override {
        auto c = m_c.value();
        double rel[3] = { o[0] - c[0], o[1] - c[1], o[2] - c[2] };
        double dir[3] = { d[0], d[1], d[2] };
        return solve_sphere(rel, dir, m_r.value(), mint, maxt,
                            std::numeric_limits<double>::infinity(),
                            [](bool m, double a, double b) { return m ? a : b; });
    }
    Float intersect(const Ray &ray, const Mask &) const override {
        Vector3 o = ray.o - m_c;
        Float rel[3] = { o.x, o.y, o.z };
        Float dir[3] = { ray.d.x, ray.d.y, ray.d.z };
        return solve_sphere(
            rel, dir, Float(m_r), Float(0), ray.maxt,
            Float(std::numeric_limits<double>::infinity()),
            [](const Mask &m, const Float &a, const Float &b) { return select(m, a, b); });
    }

    void fill_interaction(const Ray &ray, const Float &t, SurfaceInteraction &si) const override {
        Vector3 n = normalize(ray(t) - m_c);
        si.p = fma(n, m_r, m_c); // back onto the surface
        Vector3 local = to_local(n);
        si.uv = spherical(local);
        Float rd_2 = sqr(local.x) + sqr(local.y);
        Float rd = sqrt(rd_2), inv_rd = rcp(rd);
        Mask pole = rd_2 == 0;
        Float cos_phi = select(pole, Float(1), local.x * inv_rd),
              sin_phi = select(pole, Float(0), local.y * inv_rd);
        Vector2 du{ -local.y, local.x };
        Vector3 dv(local.z * cos_phi, local.z * sin_phi, -rd);
        dv = select(pole, Vector3(Float(1), Float(0), Float(0)),
                    dv); // where v runs in all directions
        Vector3 x = m_axes[0], y = m_axes[1], z = m_axes[2];
        si.dp_du = fma(x, du.x, y * du.y) * (2 * Pi);
        si.dp_dv = fma(x, dv.x, fma(y, dv.y, z * dv.z)) * Pi;
        si.n = n * m_flip;
        si.sh_frame.n = si.n;
    }

    // A circle, where rays touch the sphere; there is none if it is seen from inside.
    Outline outline(const Viewpoint &from, const Float &u) const override {
        Vector3 c = m_c, v = from.from(c);
        Float r = m_r, dist2 = squared_norm(v), sin2 = select(from.w > 0, sqr(r) / dist2, Float(0));
        Frame frame(v * rsqrt(dist2));
        Float size = r * safe_sqrt(1 - sin2);
        EllipsePoint e(fma(v, sin2, c), frame.s * size, frame.t * size, u);
        return { e.p, e.tangent, c - e.p, sin2 < 1 };
    }

    PositionSample sample_rest_position(const Float &time, const Vector2 &u,
                                        const Mask &) const override {
        Vector3 n = square_to_uniform_sphere(u);
        return { fma(n, m_r, m_c), n * m_flip, spherical(to_local(n)), time, m_inv_area, false };
    }

    DirectionSample sample_rest_direction(const Interaction &it, const Vector2 &u,
                                          const Mask &active) const override {
        Vector3 dc = m_c - it.p;
        Float dist2 = squared_norm(dc), sin2 = sqr(m_r) / dist2;
        Mask outside = sin2 < 1 - 1e-5;
        DirectionSample inside = AnalyticShape::sample_rest_direction(it, u, active);

        // The cone that the sphere fills; where it is narrow, 1 - cos must not cancel
        Float cos_max = safe_sqrt(1 - sin2);
        Float one_minus_cos = select(sin2 > 0.001, 1 - cos_max, sin2 * (0.5 + 0.125 * sin2));
        Float c = u.x * one_minus_cos; // 1 - cos of the angle
        Float cos_theta = 1 - c, sin_theta = safe_sqrt(c * (2 - c)), phi = u.y * (2 * Pi);
        Frame frame(dc * -rsqrt(dist2)); // from the centre to the point
        Vector3 d = frame.to_world({ sin_theta * cos(phi), sin_theta * sin(phi), -cos_theta });
        // Where that direction meets the sphere
        Float dist = sqrt(dist2), along = dist * cos_theta;
        Float t = along - safe_sqrt(sqr(m_r) - sqr(dist * sin_theta));
        Vector3 n = normalize(fma(d, t, it.p) - m_c);
        DirectionSample ds;
        ds.p = fma(n, m_r, m_c);
        ds.n = n * m_flip;
        ds.uv = spherical(to_local(n));
        ds.time = it.time;
        ds.delta = false;
        Vector3 to = ds.p - it.p;
        ds.dist = norm(to);
        ds.d = to / ds.dist;
        ds.pdf = rcp((2 * Pi) * one_minus_cos);
        ds.emitter = UInt32(0u);

        auto pick = [&](const auto &a, const auto &b) { return select(outside, a, b); };
        return { { pick(ds.p, inside.p), pick(ds.n, inside.n), pick(ds.uv, inside.uv), ds.time,
                   pick(ds.pdf, inside.pdf), Mask(false) },
                 pick(ds.d, inside.d),
                 pick(ds.dist, inside.dist),
                 UInt32(0u) };
    }

    Float pdf_rest_direction(const Interaction &it, const DirectionSample &ds,
                             const Mask &active) const override {
        Float sin2 = sqr(m_r) / squared_norm(m_c - it.p), cos_max = safe_sqrt(1 - sin2);
        Float one_minus_cos = select(sin2 > 0.001, 1 - cos_max, sin2 * (0.5 + 0.125 * sin2));
        return select(sin2 < 1 - 1e-5, rcp((2 * Pi) * one_minus_cos),
                      AnalyticShape::pdf_rest_direction(it, ds, active));
    }

private:
    using Column = std::array<double, 3>;
    Column column(int c) const { return { m_to_world(0, c), m_to_world(1, c), m_to_world(2, c) }; }
    static double length_of(const Column &v) { return std::hypot(v[0], v[1], v[2]); }
    // Its axes become perpendicular and of one length; the first stays.
    void make_even(double scale) {
        for (int c = 1; c < 3; ++c) {
            Column v = column(c);
            for (int k = 0; k < c; ++k) {
                Column a = column(k);
                double part = (v[0] * a[0] + v[1] * a[1] + v[2] * a[2]) / (scale * scale);
                for (size_t i = 0; i < 3; ++i)
                    v[i] -= part * a[i];
            }
            double length = length_of(v);
            if (!(length > 0))
                complain("to_world is singular: it squeezes space into a plane, a line or a point");
            for (int i = 0; i < 3; ++i)
                m_to_world(i, c) = v[size_t(i)] * scale / length;
        }
    }

    // A transform that scales evenly is undone by its transpose, up to that scale.
    Vector3 to_local(const Vector3 &n) const {
        return normalize({ dot(m_axes[0], n), dot(m_axes[1], n), dot(m_axes[2], n) });
    }
    // Spherical coordinates of a direction in the sphere's own space.
    static Vector2 spherical(const Vector3 &local) {
        Float phi = atan2(local.y, local.x);
        phi = phi + select(phi < 0, Float(2 * Pi), Float(0));
        return { phi * InvTwoPi, acos(clamp(local.z, -1, 1)) * InvPi };
    }

    HostVector3 m_c;
    HostFloat m_r, m_flip;
    HostVector3 m_axes[3]; // columns of to_world
};

UMBEL_PLUGIN(Shape, Sphere, "sphere")
} // namespace umbel
