// render/arena.h: what rays may hit: the surfaces of a scene, packed, and all that geometry says about a hit.
//
// Triangles of all meshes lie in one array, a record each; analytic shapes in a table of their own; groups are stored
// once, and instances refer to them. What a surface is made of, and what it emits, is the scene's to say.
#pragma once
#include "render/dispatch.h"
#include "render/instance.h"
#include <memory>
#include <span>

namespace umbel {

class Accelerator;
struct Geometry;

class Arena {
public:
    Arena();
    ~Arena();

    /// Numbers the surfaces of a scene's shapes, which must outlive the arena.
    void collect(std::span<const Ref<Shape>> shapes);
    /// Packs them, and builds the tree; again after a change.
    void build(bool double_precision);
    /// Whether a shape has changed since.
    bool is_outdated() const { return revisions() != m_revisions; }

    /// Surfaces by number: those of the scene, then those of each group that has instances.
    const std::vector<const Shape *> &surfaces() const { return m_surfaces; }
    size_t instance_count() const { return m_placed.size(); }
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
                                   Follow follow) const;
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
    /// One record a triangle of all meshes.
    struct Records {
        Float triangles; // 16 numbers: p0 e1 e2 (9), uv0 uv1 uv2 (6), number of the shape
        Float normals;   // n0 n1 n2 (9) and padding (3); none if all meshes are faceted
    };
    struct Triangle;

    std::vector<int> revisions() const;
    void place_instances(Geometry &g);
    void add_mesh(const Mesh &mesh, uint32_t number, Geometry &g, std::vector<double> &records,
                  std::vector<double> &normals) const;
    /// The records with derivatives in place of the numbers of the host; none if scripts follow no mesh.
    Records follow_meshes() const;
    /// The same, made before the present recording, if there is one.
    const Records &followed() const;
    static Triangle triangle(const Float &records, const UInt32 &prim, const Mask &active);
    void triangle_interaction(const Records &records, const Hit &hit, const Mask &active,
                              SurfaceInteraction &si) const;
    Hit follow_ray(const Records &records, const Ray &ray, const Hit &hit, const Mask &valid,
                   const Mask &triangle) const;
    void analytic_interaction(const Ray &ray, const Hit &hit, const Mask &valid,
                              const Mask &triangle, SurfaceInteraction &si) const;

    std::vector<const Shape *> m_shapes; // as the scene names them
    std::vector<const Shape *> m_surfaces;
    std::vector<size_t> m_parts; // where in m_surfaces each group ends; the scene's own come first
    std::vector<std::pair<uint32_t, const Instance *>> m_placed; // with the number of their part
    InstanceTable m_instances;
    BoundingBox m_bounds;
    std::vector<int> m_revisions; // of shapes, as they are packed

    Records m_records;
    mutable Records m_followed; // see followed()
    bool m_has_normals = false, m_has_triangles = false;
    // By shape: where its triangles begin, or its number among analytic shapes; if it is inside out
    UInt32 m_first_prims;
    UInt32 m_instance_numbers; // global, by instance
    Table<AnalyticShape> m_analytic;
    UInt32 m_analytic_numbers; // their numbers as shapes
    std::unique_ptr<Accelerator> m_accelerator;
};

} // namespace umbel
