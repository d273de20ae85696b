// wireframe: the edges of a mesh's triangles.
//
// The colour goes over from that of edges to that of triangles between `line_width` (1 - `step_width`) and `line_width` from
// the nearest edge, by a smooth step. Lengths are those of the mesh: an instance of it has its lines scaled. Shapes that are
// no meshes have no edges.
#include "core/host_array.h"
#include "render/met_shapes.h"
#include "render/traced_once.h"
#include <cmath>

namespace umbel {

class Wireframe final : public Texture {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<float name='line_width' value='.4'/><float name='step_width' value='.9'/>"
                  "<rgb name='edge_color' value='.7,.3,.2'/>");
        p.texture("interior_color", m_interior, 0.5).differentiable().doc("Of triangles");
        p.texture("edge_color", m_edge, 0.1).differentiable().doc("Of their edges");
        p.number("line_width", m_width, 0, 0)
            .doc("Distance from the edge at which lines end; 0: a tenth of the mean length of the "
                 "mesh's edges");
        p.number("step_width", m_step, 0.5, 0, 1)
            .doc("The part of the line over which the colour changes");
    }
    void configure() override {
        m_line = opaque_float(m_width);
        m_inner = opaque_float(1 - m_step);
    }

    Spectrum eval(const SurfaceInteraction &si, const Mask &active) const override {
        auto of = [&](const Texture &t) {
            return traced_once(t, "eval", [&] { return t.eval(si, active); }, si, active);
        };
        return blend(of(*m_interior), of(*m_edge), edge_at(si, active).share);
    }
    Float eval_1(const SurfaceInteraction &si, const Mask &active) const override {
        auto of = [&](const Texture &t) {
            return traced_once(t, "eval_1", [&] { return t.eval_1(si, active); }, si, active);
        };
        return blend(of(*m_interior), of(*m_edge), edge_at(si, active).share);
    }
    Vector3 eval_3(const SurfaceInteraction &si, const Mask &active) const override {
        auto of = [&](const Texture &t) {
            return traced_once(t, "eval_3", [&] { return t.eval_3(si, active); }, si, active);
        };
        return blend(of(*m_interior), of(*m_edge), edge_at(si, active).share);
    }
    Vector2 eval_1_grad(const SurfaceInteraction &si, const Mask &active) const override {
        Edge edge = edge_at(si, active);
        Vector2 slope =
            blend(m_interior->eval_1_grad(si, active), m_edge->eval_1_grad(si, active), edge.share);
        Float difference = m_edge->eval_1(si, active) - m_interior->eval_1(si, active);
        return slope + Vector2{ dot(edge.slope, si.dp_du), dot(edge.slope, si.dp_dv) } * difference;
    }
    bool is_spatially_varying() const override { return true; }
    double max_value() const override {
        return std::max(m_interior->max_value(), m_edge->max_value());
    }

private:
    struct Edge {
        Float share;   // of the edge's colour: 1 on it, 0 far from it
        Vector3 slope; // its derivative by the place
        UMBEL_STRUCT(share, slope)
    };
    template <class T> static T blend(const T &interior, const T &edge, const Float &share) {
        return edge * share + interior * (1 - share);
    }

    Edge edge_at(const SurfaceInteraction &si, const Mask &active) const {
        if (!m_shapes.update(
                [](const Shape &s) { return dynamic_cast<const Mesh *>(&s) != nullptr; }))
            return { Float(0), Vector3(Float(0)) };
        return m_shapes.call<Edge>(*this, "wireframe", si, active,
                                   [&](const Shape &s, const Mask &mine) {
                                       return nearest_edge(static_cast<const Mesh &>(s), si, mine);
                                   });
    }

    Edge nearest_edge(const Mesh &mesh, const SurfaceInteraction &si, const Mask &active) const {
        Vector3 p[3];
        for (uint32_t k = 0; k < 3; ++k) {
            UInt32 at = mesh.corner(si.prim, k) * UInt32(3u);
            auto number = [&](uint32_t j) {
                return Float(jit::gather(mesh.positions_array(), at + UInt32(j), active));
            };
            p[k] = { number(0), number(1), number(2) };
        }
        Float least = std::numeric_limits<double>::infinity();
        Vector3 away;
        for (size_t k = 0; k < 3; ++k) {
            Vector3 d = normalize(p[(k + 1) % 3] - p[k]), to = si.object_p - p[k];
            Vector3 v = to - d * dot(d, to);
            Float square = squared_norm(v);
            away = k ? select(square < least, v, away) : v;
            least = min(least, square);
        }
        Float distance = safe_sqrt(least), line = m_width > 0 ? m_line : automatic_width(mesh);
        Float begin = line * m_inner, range = line - begin;
        Mask smooth = range > 0;
        Float t = clamp((distance - begin) / select(smooth, range, Float(1)), 0, 1);
        Float share =
            select(smooth, 1 - t * t * (3 - 2 * t), select(distance < line, Float(1), Float(0)));
        Mask changes = smooth & (distance > 0);
        Float slope = select(changes, -6 * t * (1 - t) / (range * distance), Float(0));
        return { share, select(changes, away * slope, Vector3(Float(0))) };
    }

    // A tenth of the mean length of edges, as the mesh is now.
    Float automatic_width(const Mesh &mesh) const {
        Width &w = m_widths[&mesh];
        if (w.number == mesh.global_number() && w.revision == mesh.revision())
            return w.value;
        double sum = 0;
        for (size_t t = 0; t < mesh.triangle_count(); ++t)
            for (size_t k = 0; k < 3; ++k) {
                auto a = mesh.vertex(mesh.corner(t, k)),
                     b = mesh.vertex(mesh.corner(t, (k + 1) % 3));
                sum += std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
            }
        double mean = sum / (3 * double(std::max(mesh.triangle_count(), size_t(1))));
        w = { mesh.global_number(), mesh.revision(), opaque_float(0.1 * mean) };
        return w.value;
    }

    struct Width {
        uint32_t number = 0;
        int revision = 0;
        Float value;
    };
    double m_width = 0, m_step = 0.5;
    Float m_line, m_inner;
    Ref<Texture> m_interior, m_edge;
    mutable MetShapes m_shapes; // meshes
    mutable std::map<const Mesh *, Width> m_widths;
};

UMBEL_PLUGIN(Texture, Wireframe, "wireframe")
} // namespace umbel
