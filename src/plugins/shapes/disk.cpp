// disk: the unit disk in the plane z = 0, its normal along +z; transforms make it any ellipse.
//
// u is the distance from the centre, v the angle, both from 0 to 1.
#include "core/warp.h"
#include "render/outline.h"
#include "render/shape.h"
#include <cmath>

namespace umbel {

class Disk final : public AnalyticShape, public HasOutline {
public:
    void configure() override {
        auto inverse = m_to_world.inverse();
        if (!inverse)
            complain("to_world is singular, so that nothing is left of the disk");
        m_to_object = *inverse;
        m_transform = HostTransform(m_to_world, m_to_object);
        m_x = m_to_world.apply_vector({ 1, 0, 0 });
        m_y = m_to_world.apply_vector({ 0, 1, 0 });
        m_area =
            Pi * std::hypot(m_x[1] * m_y[2] - m_x[2] * m_y[1], m_x[2] * m_y[0] - m_x[0] * m_y[2],
                            m_x[0] * m_y[1] - m_x[1] * m_y[0]);
        m_inv_area = HostFloat(1 / m_area);
        m_normal = HostVector3(m_to_world.apply_normal({ 0, 0, m_flip_normals ? -1.0 : 1.0 }));
    }

    BoundingBox bounds() const override {
        BoundingBox b;
        auto c = m_to_world.apply_point({ 0, 0, 0 });
        for (size_t i = 0; i < 3; ++i) {
            double r = std::hypot(m_x[i], m_y[i]);
            b.min[i] = c[i] - r;
            b.max[i] = c[i] + r;
        }
        return b;
    }
    double area() const override { return m_area; }
    NormalCone normal_cone() const override {
        return { m_to_world.apply_normal({ 0, 0, m_flip_normals ? -1.0 : 1.0 }), 1 };
    }
    uint32_t type() const override { return ShapeType::Disk; }

    double intersect_host(const std::array<double, 3> &o, const std::array<double, 3> &d,
                          double mint, double maxt) const override {
        auto p = m_to_object.apply_point(o), w = m_to_object.apply_vector(d);
        double t = -p[2] / w[2], x = p[0] + t * w[0], y = p[1] + t * w[1];
        return t >= mint && t <= maxt && x * x + y * y <= 1
                   ? t
                   : std::numeric_limits<double>::infinity();
    }
    Float intersect(const Ray &ray, const Mask &) const override {
        Transform to_object = Transform(m_transform).inverse();
        Vector3 o = to_object.point(ray.o), d = to_object.vector(ray.d);
        Float t = -o.z / d.z;
        Mask hit =
            (t >= 0) & (t <= ray.maxt) & (sqr(fma(d.x, t, o.x)) + sqr(fma(d.y, t, o.y)) <= 1);
        return select(hit, t, Float(std::numeric_limits<double>::infinity()));
    }

    void fill_interaction(const Ray &ray, const Float &t, SurfaceInteraction &si) const override {
        Transform transform = m_transform;
        Vector3 local = transform.inverse().point(ray(t));
        si.p = transform.point({ local.x, local.y, Float(0) }); // back onto the surface
        si.uv = polar({ local.x, local.y });
        Float inv_r = rcp(si.uv.x);
        Mask centre = si.uv.x == 0;
        Float cos_phi = select(centre, Float(1), local.x * inv_r),
              sin_phi = select(centre, Float(0), local.y * inv_r);
        Float turn = 2 * Pi * si.uv.x;
        si.dp_du = transform.vector({ cos_phi, sin_phi, Float(0) });
        si.dp_dv = transform.vector({ -sin_phi * turn, cos_phi * turn, Float(0) });
        si.n = si.sh_frame.n = m_normal;
    }

    // Its border, wherever it is seen from.
    Outline outline(const Viewpoint &, const Float &u) const override {
        Transform t = m_transform;
        Vector3 c = t.translation();
        EllipsePoint e(c, t.vector({ 1, 0, 0 }), t.vector({ 0, 1, 0 }), u);
        return { e.p, e.tangent, c - e.p, Mask(true) };
    }

    PositionSample sample_rest_position(const Float &time, const Vector2 &u,
                                        const Mask &) const override {
        Vector2 p = square_to_uniform_disk_concentric(u);
        return { Transform(m_transform).point({ p.x, p.y, Float(0) }),
                 m_normal,
                 polar(p),
                 time,
                 m_inv_area,
                 false };
    }

private:
    static Vector2 polar(const Vector2 &p) {
        Float v = atan2(p.y, p.x) * InvTwoPi;
        return { sqrt(sqr(p.x) + sqr(p.y)), v + select(v < 0, Float(1), Float(0)) };
    }

    TransformData m_to_object;
    HostTransform m_transform;
    std::array<double, 3> m_x{}, m_y{}; // images of the axes
    double m_area = 0;
    HostVector3 m_normal;
};

UMBEL_PLUGIN(Shape, Disk, "disk")
} // namespace umbel
