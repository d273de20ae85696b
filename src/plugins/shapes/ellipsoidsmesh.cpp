// ellipsoidsmesh: a cloud of ellipsoids, each inside of a shell of triangles.
//
// As `ellipsoids`, with a polyhedron in place of each ellipsoid: coarser to look at, and all that integrators over Gaussians need, which ask
// where a ray enters the region that counts. `shell` is `ico_sphere` (20 triangles), `uv_sphere` (72), `box` (12) or a mesh around the
// origin, whose triangles face outwards. It is scaled so that the nearest of its vertices and its triangles' centroids lies on the unit
// sphere, as in Mitsuba 3. Texture coordinates are places in a triangle.
#include "ad/ad.h"
#include "core/host_array.h"
#include "jit/array.h"
#include "render/ellipsoid_shape.h"
#include <algorithm>
#include <cmath>

namespace umbel {

namespace {

constexpr double Infinity = std::numeric_limits<double>::infinity();
using Vec = std::array<double, 3>;
struct Shell {
    std::vector<Vec> vertices;
    std::vector<std::array<uint32_t, 3>> faces;
};

Vec minus(const Vec &a, const Vec &b) { return { a[0] - b[0], a[1] - b[1], a[2] - b[2] }; }
Vec cross_host(const Vec &a, const Vec &b) {
    return { a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0] };
}
double dot_host(const Vec &a, const Vec &b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// Rings of vertices around the y axis, from one pole to the other. `first` is where they begin, and `turn` by how much each is turned against
// the one before, both in steps from one vertex to the next.
Shell rings(const std::vector<double> &heights, uint32_t around, double first, double turn) {
    Shell s;
    auto count = uint32_t(heights.size());
    for (uint32_t r = 0; r < count; ++r)
        for (uint32_t k = 0; k < around; ++k) {
            double a = (k + first + turn * r) * 2 * Pi / around,
                   radius = std::sqrt(1 - heights[r] * heights[r]);
            s.vertices.push_back({ radius * std::cos(a), heights[r], radius * std::sin(a) });
        }
    uint32_t bottom = count * around, top = bottom + 1;
    s.vertices.insert(s.vertices.end(), { { 0, -1, 0 }, { 0, 1, 0 } });
    for (uint32_t k = 0; k < around; ++k) {
        uint32_t next = (k + 1) % around, last = (count - 1) * around;
        s.faces.push_back({ bottom, k, next });
        s.faces.push_back({ top, last + next, last + k });
        for (uint32_t r = 0; r + 1 < count; ++r) {
            uint32_t a = r * around, b = a + around;
            s.faces.push_back({ a + k, b + k, a + next });
            s.faces.push_back({ a + next, b + k, b + next });
        }
    }
    return s;
}
Shell box() {
    Shell s;
    for (uint32_t k = 0; k < 8; ++k)
        s.vertices.push_back({ k & 1 ? 1. : -1., k & 2 ? 1. : -1., k & 4 ? 1. : -1. });
    for (uint32_t axis = 0; axis < 3; ++axis)
        for (uint32_t side = 0; side < 2; ++side) {
            uint32_t u = 1u << (axis + 1) % 3, v = 1u << (axis + 2) % 3, o = side << axis;
            if (!side)
                std::swap(u, v);
            s.faces.push_back({ o, o + u, o + u + v });
            s.faces.push_back({ o, o + u + v, o + v });
        }
    return s;
}

} // namespace

class EllipsoidsMesh final : public EllipsoidShape {
public:
    void declare(Params &p) override {
        p.example("<string name='filename' value='$files/gaussians.ply'/><float name='extent' "
                  "value='2'/>");
        p.example("<string name='filename' value='$files/ellipsoids.ply'/><float name='extent' "
                  "value='1'/><string name='shell' value='uv_sphere'/>");
        p.example("<string name='filename' value='$files/ellipsoids.ply'/><float name='extent' "
                  "value='1'/><shape name='shell' type='cube'/>");
        bool is_mesh =
            p.loading() && p.properties()->find("shell") && p.properties()->find("shell")->object();
        if (is_mesh)
            p.named_object("shell", m_mesh);
        else
            p.choice("shell", m_shell, "ico_sphere",
                     { "ico_sphere", "uv_sphere", "box", "default" })
                .doc("What is around each ellipsoid; or a mesh");
        declare_ellipsoids(p);
    }
    void configure() override {
        make_shell();
        EllipsoidShape::configure();
    }
    uint32_t type() const override { return ShapeType::EllipsoidsMesh; }

private:
    void make_shell() {
        Shell s;
        if (m_mesh) {
            auto mesh = std::dynamic_pointer_cast<Mesh>(m_mesh);
            if (!mesh)
                complain("the shell must be a mesh, and {} is none", quote(m_mesh->plugin()));
            for (uint32_t i = 0; i < mesh->vertex_count(); ++i)
                s.vertices.push_back(mesh->vertex(i));
            for (size_t t = 0; t < mesh->triangle_count(); ++t)
                s.faces.push_back({ mesh->corner(t, 0), mesh->corner(t, 1), mesh->corner(t, 2) });
        } else if (m_shell == "box")
            s = box();
        else if (m_shell == "uv_sphere")
            s = rings({ -std::cos(Pi / 5), -std::cos(2 * Pi / 5), std::cos(2 * Pi / 5),
                        std::cos(Pi / 5) },
                      9, 0.75, 0);
        else // an icosahedron
            s = rings({ -1 / std::sqrt(5.0), 1 / std::sqrt(5.0) }, 5, 0.5, 0.5);
        double nearest = Infinity;
        m_reach = 0;
        for (const auto &f : s.faces) {
            Vec centroid{};
            for (uint32_t v : f)
                for (size_t k = 0; k < 3; ++k)
                    centroid[k] += s.vertices[v][k] / 3;
            for (const Vec &v :
                 { s.vertices[f[0]], s.vertices[f[1]], s.vertices[f[2]], centroid }) {
                nearest = std::min(nearest, std::sqrt(dot_host(v, v)));
                m_reach = std::max(m_reach, std::sqrt(dot_host(v, v)));
            }
        }
        if (!(nearest > 0) || s.faces.empty())
            complain("the shell must be around the origin");
        m_reach /= nearest;
        m_triangles_host.clear();
        std::vector<double> numbers; // of each triangle: a corner, and the two edges from there
        for (const auto &f : s.faces) {
            Vec p = s.vertices[f[0]], e1 = minus(s.vertices[f[1]], p),
                e2 = minus(s.vertices[f[2]], p);
            for (Vec *v : { &p, &e1, &e2 })
                for (double &x : *v)
                    numbers.push_back(x /= nearest);
            m_triangles_host.push_back({ p, e1, e2 });
        }
        m_triangles = float_array(numbers);
        m_count = jit::opaque(uint32_t(s.faces.size()));
    }
    double reach() const override { return m_reach; }

    // Triangles that face the ray [Moeller 1997].
    double enter_host(const Vec &o, const Vec &d) const override {
        double t = Infinity;
        for (const Triangle &r : m_triangles_host) {
            Vec q = cross_host(d, r.e2), from = minus(o, r.p), w = cross_host(from, r.e1);
            double det = dot_host(r.e1, q), u = dot_host(from, q), v = dot_host(d, w);
            if (!(det > 0) || u < 0 || v < 0 || u + v > det)
                continue;
            double here = dot_host(r.e2, w) / det;
            if (here >= 0 && here < t)
                t = here;
        }
        return t;
    }
    struct Found {
        UInt32 face;
        Float t, u, v;
        UMBEL_STRUCT(face, t, u, v)
    };
    Found find(const Vector3 &o, const Vector3 &d, const Mask &active) const {
        struct State {
            UInt32 at;
            Found found;
            UMBEL_STRUCT(at, found)
        };
        State s{ UInt32(0u), { UInt32(0u), Float(Infinity), Float(0), Float(0) } };
        Vector3 from(still(o)), along(still(d));
        s = jit::loop(
            s, [&](const State &s) { return active & (s.at < m_count); },
            [&](State &s) {
                Found here = meet(s.at, from, along);
                Mask nearer = here.t < s.found.t;
                s.found = { select(nearer, s.at, s.found.face), select(nearer, here.t, s.found.t),
                            select(nearer, here.u, s.found.u), select(nearer, here.v, s.found.v) };
                s.at = s.at + UInt32(1u);
            },
            "shell");
        return s.found;
    }
    Found meet(const UInt32 &face, const Vector3 &o, const Vector3 &d) const {
        auto [p, e1, e2] = triangle(face);
        Vector3 q = cross(d, e2), from = o - p, w = cross(from, e1);
        Float det = dot(e1, q);
        Mask faces = det > 0;
        Float inv = rcp(select(faces, det, Float(1))), u = dot(from, q) * inv, v = dot(d, w) * inv,
              t = dot(e2, w) * inv;
        Mask hit = faces & (u >= 0) & (v >= 0) & (u + v <= 1) & (t >= 0);
        return { face, select(hit, t, Float(Infinity)), u, v };
    }
    std::array<Vector3, 3> triangle(const UInt32 &face) const {
        auto vec = [&](uint32_t k) {
            auto number = [&](uint32_t j) {
                return Float(
                    jit::gather(m_triangles, face * UInt32(9u) + UInt32(3 * k + j), Mask(true)));
            };
            return Vector3(number(0), number(1), number(2));
        };
        return { vec(0), vec(1), vec(2) };
    }
    static Vector3 still(const Vector3 &v) {
        return { Float(ad::detach(v.x)), Float(ad::detach(v.y)), Float(ad::detach(v.z)) };
    }

    // The triangle is found without derivatives; where in it, has them.
    Float enter(const Vector3 &o, const Vector3 &d, const Mask &active) const override {
        Found f = find(o, d, active);
        bool is_followed = false;
        for (const Float *v : { &o.x, &o.y, &o.z, &d.x, &d.y, &d.z })
            is_followed |= ad::grad_enabled(*v);
        if (!is_followed)
            return f.t;
        Float t = meet(f.face, o, d).t;
        return select(f.t < Infinity, Float(ad::replace_grad(f.t, t)), f.t);
    }
    Surface surface_at(const Vector3 &, const Vector3 &o, const Vector3 &d,
                       const Mask &active) const override {
        Found f = find(o, d, active);
        auto [p, e1, e2] = triangle(f.face);
        Found at = meet(f.face, o, d);
        return { cross(e1, e2), { at.u, at.v } };
    }

    struct Triangle {
        Vec p, e1, e2;
    };
    std::string m_shell;
    Ref<Shape> m_mesh;
    double m_reach = 1;
    std::vector<Triangle> m_triangles_host;
    Float m_triangles; // nine numbers each
    UInt32 m_count;
};

UMBEL_PLUGIN(Shape, EllipsoidsMesh, "ellipsoidsmesh")
} // namespace umbel
