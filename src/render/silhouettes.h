// render/silhouettes.h: the curves along which surfaces may end, as somebody sees them: edges of meshes, and outlines of
// analytic shapes.
//
// They are pieces with numbers: edges, outlines and their parts, then triangles along which interpolated normals may turn away. A point is a piece and a number t in [0, 1). Rays that touch a piece have the measure
// |edge x w| dt dw: length along it, as seen in the direction w, times solid angle.
#pragma once
#include "core/distribution.h"
#include "render/mesh_rim.h"
#include "render/outline.h"
#include "render/scene.h"
#include <limits>
#include <map>

namespace umbel {

class Silhouettes {
public:
    /// Of a scene as it is. UserError if shapes are followed whose silhouettes are not known.
    explicit Silhouettes(const Scene &scene);

    bool empty() const { return m_count == 0; }

    struct Point {
        Vector3 p;
        Vector3 edge;   // derivative of p by t
        Vector3 inside; // of the surface that ends here, as seen by whoever asked
        Hit hit;        // as if a ray had met the point: see attached()
        Mask valid;
        Float depth = Float(0); // see HasOutline::Outline
        // Where no surface ends, but shading jumps: what lies beside by less is on the triangles that meet there
        Float width = Float(std::numeric_limits<double>::infinity());

        static Point either(const Mask &m, const Point &a, const Point &b);
    };
    /// As seen from somewhere; edges are where they are.
    Point point(const UInt32 &piece, const Float &t, const Viewpoint &from,
                const Mask &active) const;
    /// Whether the surface ends there for light along `w`; always true for outlines from a suitable viewpoint.
    Mask ends(const UInt32 &piece, const Vector3 &w, const Mask &active) const;
    /// The point with derivatives of whatever scripts follow: it stays where it is on the surface.
    Vector3 attached(const Point &at, const Float &time, const Mask &active) const;

    /// Likewise of a line along which shading jumps (see HasOutline::moved), or of an outline: it stays on its line, as it is seen from
    /// somewhere that is followed, too.
    Vector3 moved(const Point &at, const UInt32 &piece, const Viewpoint &from, const Float &time,
                  const Mask &active) const;
    /// Whether it is one along which shading jumps.
    Mask is_dark(const UInt32 &piece, const Mask &active) const;

    /// Directions in which a piece is a silhouette, and their density by solid angle.
    struct Direction {
        Vector3 w;
        Float pdf;
    };
    Direction sample_direction(const UInt32 &piece, const Vector2 &u, const Mask &active) const;
    /// A ray that touches a line along which normals of a mesh turn away: `at.edge` has its length by three random numbers.
    struct RimRay {
        Point at;
        Direction direction;
    };
    RimRay sample_rim(const UInt32 &piece, const Float &t, const Vector2 &u,
                      const Mask &active) const;
    bool has_rims() const { return m_rims_host != 0; }
    Mask is_rim(const UInt32 &piece) const {
        return m_rims_host ? piece >= m_edge_count + m_outline_count : Mask(false);
    }
    /// The middle of an analytic shape.
    Vector3 middle(const UInt32 &piece, const Mask &active) const;
    Mask is_edge(const UInt32 &piece) const { return piece < m_edge_count; }
    bool has_edges() const { return m_edges_host != 0; }
    bool has_outlines() const { return !m_shapes.empty(); }

    /// Pieces by how long they look from somewhere, if they may be seen to end: also where a mesh has a crease, across which
    /// shading jumps. `all`: also those that do not move. Nothing if there is none.
    std::optional<DiscreteDistribution> seen_from(const Viewpoint &from, bool is_certain,
                                                  bool all) const;
    /// Pieces of a kind by the measure of rays that touch them. Nothing if there is none.
    std::optional<DiscreteDistribution> by_measure(LineKind kind) const;
    bool has_dark() const { return m_has_dark; }

private:
    enum : uint32_t { Open = 1, Crease = 2, Followed = 4, None = ~0u };
    struct Edge {
        Vector3 a, b, left, right; // its ends, and the corners opposite to it
        UInt32 triangle, corner, flags, instance;
        Mask is_open() const { return (flags & UInt32(uint32_t{ Open })) != UInt32(0u); }
    };
    static constexpr size_t MostEdges = 1u << 22;
    static constexpr uint32_t MostParts = 16;
    /// Where a surface's vertices, triangles, rows and primitives begin among those of the arena.
    struct Begin {
        uint32_t vertex = 0, triangle = 0, row = 0, primitive = 0;
    };
    /// Of the scene itself (0), or as part of an instance.
    void add_surface(size_t surface, const Begin &begin, uint32_t instance);
    void add_mesh(size_t surface, const Mesh &mesh, const Begin &begin, uint32_t instance,
                  bool followed);
    void weigh_edges(size_t first, double weight);
    bool has_instances() const { return !m_arena.m_instances.empty(); }
    Edge edge(const UInt32 &piece, const Mask &active) const;
    Vector3 vertex(const UInt32 &v, const Mask &active) const;
    /// Half the angle of the wedge of silhouette directions around an edge, and where it begins.
    struct Wedge {
        Vector3 axis, x, y;
        Float begin, width; // of angles around the axis, from x to y, modulo pi
    };
    static Wedge wedge(const Edge &e);
    static Mask same_side(const Edge &e, const Vector3 &normal);
    static Float width(const Edge &e, const Float &t, const Vector3 &way);
    /// A triangle with interpolated normals.
    struct Rim {
        MeshRim::Corner corners[3];
        UInt32 triangle, instance;
        Mask is_followed;
        Float weight;             // see silhouette_sampling_weight()
        InstanceTransform placed; // if anything is

        Float size() const; // its longest edge
    };
    /// By its number from 0 on.
    Rim rim(const UInt32 &number, const Mask &active) const;
    MeshRim lines(const Rim &rim, const Viewpoint &from) const;
    static Hit hit_at(const Float (&b)[3], const Rim &rim);
    Vector3 moved_rim(const Point &at, const UInt32 &piece, const Viewpoint &from,
                      const Float &time, const Mask &active) const;
    /// By the lengths of edges, of outlines, and of lines of triangles, and the weights of their shapes.
    std::optional<DiscreteDistribution>
    distribution(const Float &lengths, std::vector<double> outlines, const Float &rims) const;

    const Scene &m_scene;
    const Arena &m_arena;
    uint32_t m_edges_host = 0, m_rims_host = 0, m_count = 0;
    bool m_has_dark = false;
    UInt32 m_edge_count, m_outline_count; // as data
    std::vector<uint32_t> m_host_corners, m_host_places, m_host_rims;
    std::vector<double> m_edge_weights;                  // empty: all are 1
    std::map<size_t, std::pair<size_t, size_t>> m_known; // by surface: edges of its first instance
    UInt32 m_corners;      // of edges: both ends, and the corners opposite to it
    UInt32 m_places;       // triangle, corner, flags, instance
    UInt32 m_rims;         // triangle, flags, instance, bits of the shape's weight
    struct OutlinedShape { // or a piece of one
        uint32_t row, primitive, instance, place;
        std::array<double, 3> centre;
        double radius, length;
        double weight; // see silhouette_sampling_weight()
        bool followed;
        const HasOutline *shape;

        uint32_t number() const { return place / MostParts; }
        uint32_t part() const { return place % MostParts; }
        bool is_dark() const { return part() >= HasOutline::FirstDark; }
    };
    std::vector<OutlinedShape> m_shapes;
    // By shape: its row in the arena's table, its primitive there, its instance; sixteen times its own number of that, and
    // the part of the outline
    UInt32 m_rows;
    Float m_centres; // x, y, z and radius
};

} // namespace umbel
