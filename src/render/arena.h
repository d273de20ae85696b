// render/arena.h: what rays may hit: the surfaces of a scene, packed, and all that geometry says about a hit.
//
// Vertices and triangles of all meshes lie in two arrays (packed_meshes.h); analytic shapes in a table of their own; groups
// are stored once, and instances refer to them. What a surface is made of, and what it emits, is the scene's to say.
#pragma once
#include "render/dispatch.h"
#include "render/instance.h"
#include <memory>
#include <span>

namespace umbel {

class Accelerator;
struct Geometry;
struct PackedMeshes;

class Arena {
public:
    Arena();
    ~Arena();

    /// Numbers the surfaces of a scene's shapes, which must outlive the arena.
    void collect(std::span<const Ref<Shape>> shapes);
    /// Packs them, and builds the tree; again after a change.
    void build(bool double_precision, bool robust);
    /// Whether a shape has changed since.
    bool is_outdated() const { return revisions() != m_revisions; }

    /// Surfaces by number: those of the scene, then those of groups that have instances, and those that move.
    const std::vector<const Shape *> &surfaces() const { return m_surfaces; }
    size_t instance_count() const { return m_instance_count; }
    const BoundingBox &bounds() const { return m_bounds; }

    Hit trace(const Ray &ray, const Mask &active, const Mask &coherent) const;
    Mask ray_test(const Ray &ray, const Mask &active) const;
    /// What a hit's derivatives follow.
    enum class Follow {
        Nothing, // as rendering has it
        Ray,     // the point stays on the ray
        Shape,   // the point stays where it is on the surface
        OnlyRay  // the point stays on the ray, and the surface where it is
    };
    /// All about a hit but the scene's: bsdf, its flags, emitter and shape_number are left out.
    SurfaceInteraction interaction(const Ray &ray, const Hit &hit, const Mask &active,
                                   Follow follow) const {
        return interaction(ray, hit, active, follow, true).si;
    }
    /// Likewise, with derivatives of whatever scripts follow: the point stays on the ray, or, where `on_ray` is false, where it
    /// is on the surface.
    struct Attached {
        SurfaceInteraction si;
        Float area; // of the surface around the point, relative to what it is: 1, with derivatives
    };
    Attached attached(const Ray &ray, const Hit &hit, const Mask &on_ray,
                      const Mask &active) const {
        bool nowhere = on_ray.is_literal() && !on_ray.literal_bits();
        return interaction(ray, hit, active, nowhere ? Follow::Shape : Follow::Ray, on_ray);
    }

    /// Takes up the derivatives of vertices and transforms that scripts follow, since passing them on forgets the way that they
    /// took. Returns the values of the program that carry them from here on; none if nothing is followed.
    std::vector<Value> follow_shapes();
    /// Those that were taken up last.
    std::vector<Value> followed_shapes() const;
    bool follows_shapes() const { return m_followed.is_any(); }
    /// Whether normals differ within some triangle.
    bool has_smooth_meshes() const { return m_has_smooth_meshes; }
    /// Derivatives of the normal at a hit with respect to u and v: of the shading normal, or of the geometric one.
    std::pair<Vector3, Vector3> normal_partials(const Ray &ray, const Hit &hit,
                                                const SurfaceInteraction &si, bool shading,
                                                const Mask &active) const;
    /// The number of a hit's triangle in its mesh, its shape from 0 on, and the place in it by the order of the mesh's
    /// indices.
    struct Place {
        UInt32 prim, instance, shape_index;
        Vector2 uv;
    };
    Place place_of(const Hit &hit, const Mask &active) const;

private:
    friend class Silhouettes; // render/silhouettes.h: edges of what is packed here
    struct Triangle;

    /// On the host, while it is packed.
    struct HostRecords {
        std::shared_ptr<PackedMeshes> meshes;
        size_t vertices = 0, triangles = 0;           // how many of them are in place
        std::vector<double> key_vertices;             // a record a vertex and step
        std::vector<uint32_t> keys = { 0, 0, 0, 0 };  // see m_keys
        std::vector<uint32_t> first_prims = { 0, 0 }; // see m_first_prims
        std::vector<uint32_t> analytic;               // see m_analytic_numbers
    };
    std::vector<int> revisions() const;
    /// In which anything moves.
    std::optional<TimeInterval> interval() const;
    void place_instances(Geometry &g, const TimeInterval &time, bool deforms);
    /// Surfaces from one number up to another, which have a tree of their own.
    void add_part(size_t number, size_t end, const std::optional<TimeInterval> &time, Geometry &g,
                  HostRecords &to);
    /// Room for all meshes, and what they have.
    std::shared_ptr<PackedMeshes> make_room(bool double_precision);
    void upload(const HostRecords &records);
    void add_mesh(const Mesh &mesh, uint32_t number, HostRecords &to) const;
    void add_keys(const Mesh &mesh, const TimeInterval &time,
                  std::vector<std::vector<double>> &part, HostRecords &to) const;
    /// What carries derivatives.
    struct Followed {
        Float
            vertices; // with them, in place of the numbers of the host; none if no mesh is followed
        Float
            transforms; // from where a surface is to where it is: identities of 12 numbers, by shape, then by instance
        bool is_any() const { return vertices.valid() || transforms.valid(); }
    };
    Followed followed() const;
    Float follow_meshes() const;
    Float follow_transforms() const;
    Attached interaction(const Ray &ray, const Hit &hit, const Mask &active, Follow follow,
                         const Mask &on_ray) const;
    /// Where a hit's shape is in its own space, and from there, step by step, in the scene's.
    std::vector<InstanceTransform> places_of(const Float &followed, const Hit &hit,
                                             const Float &time, const Mask &valid,
                                             const Mask &triangle) const;
    UInt32 shape_of(const Hit &hit, const Mask &valid, const Mask &triangle) const;
    Triangle triangle(const Float &vertices, const UInt32 &prim, const Float &time,
                      const Mask &active) const;
    /// Returns twice the triangle's area.
    Float triangle_interaction(const Float &vertices, const Hit &hit, const Float &time,
                               const Mask &active, SurfaceInteraction &si) const;
    /// The number of a hit's analytic shape in their table, of its surface, and of the primitive in it.
    struct AnalyticPlace {
        UInt32 row, shape, prim;
    };
    AnalyticPlace analytic_place(const Hit &hit, const Mask &analytic) const;
    Hit follow_ray(const Float &vertices, const Ray &ray, const Hit &hit, const Mask &valid,
                   const Mask &triangle) const;
    void analytic_interaction(const Ray &ray, const Hit &hit, const Mask &valid,
                              const Mask &triangle, SurfaceInteraction &si) const;

    /// What has a transform of its own: instances, and shapes that move.
    struct Placed {
        uint32_t part;
        const Shape *shape;
    };
    std::vector<Shape *> m_shapes; // as the scene names them
    std::vector<const Shape *> m_surfaces;
    // Where in m_surfaces each part ends: the scene's own come first, then groups and what moves
    std::vector<size_t> m_parts;
    std::vector<Placed> m_placed;
    size_t m_instance_count = 0;
    InstanceTable m_instances;
    BoundingBox m_bounds;
    std::vector<int> m_revisions; // of shapes, as they are packed

    Float m_vertices; // all meshes: see PackedMeshes
    UInt32 m_triangles;
    size_t m_stride = 0;                              // numbers a vertex
    bool m_has_normals = false, m_has_facets = false; // some mesh does
    bool m_has_uvs = false, m_lacks_uvs = false;      // likewise
    bool m_has_triangles = false, m_has_smooth_meshes = false;
    Followed m_followed;  // when it was last asked for: for recordings
    Float m_key_vertices; // 8 numbers each; only if meshes deform
    // By shape: its first key, how many steps come after it, how far apart they are, its first vertex
    UInt32 m_keys;
    // By shape: where its triangles begin, or its number among analytic shapes; if it is inside out
    UInt32 m_first_prims;
    UInt32 m_instance_numbers; // global, by instance
    Table<AnalyticShape> m_analytic;
    UInt32
        m_analytic_numbers; // of each primitive: its shape's row in that table, and the number of its surface
    std::unique_ptr<Accelerator> m_accelerator;
};

} // namespace umbel
