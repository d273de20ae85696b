// render/accelerator.h: finds what rays hit.
#pragma once
#include "render/instance.h"
#include "render/packed_meshes.h"
#include <memory>
#include <span>

namespace umbel {

/// Geometry numbers in hits; instances have numbers from the last one on in Embree's trees.
enum : uint32_t { TriangleGeometry = 0, AnalyticGeometry = 1, InstanceGeometry = 2 };

class Accelerator {
public:
    virtual ~Accelerator() = default;
    virtual Hit trace(const Ray &ray, const Mask &active, const Mask &coherent) const = 0;
    virtual Mask occluded(const Ray &ray, const Mask &active) const = 0;
};

/// All triangles of a scene, in the arena's order, its analytic shapes, and its instances.
struct Geometry {
    std::shared_ptr<const PackedMeshes> meshes;
    std::vector<const AnalyticShape *> analytic;
    /// Their primitives: which of them it belongs to, and its number there.
    struct AnalyticPrimitive {
        uint32_t shape, primitive;
    };
    std::vector<AnalyticPrimitive> analytic_primitives;

    /// What has a tree of its own: the scene comes first, then the groups that instances name. Analytic shapes are counted by
    /// primitives.
    struct Part {
        uint32_t first_triangle = 0, triangles = 0, first_analytic = 0, analytic = 0;
        uint32_t first_vertex = 0;
        // If its triangles deform: its vertices at times spread evenly over the scene's interval
        std::vector<std::vector<double>> steps = {};
        bool deforms() const { return !steps.empty(); }
    };
    std::vector<Part> parts;
    struct Placed {
        uint32_t part;
        const Shape *shape; // knows where: there may be millions
    };
    std::vector<Placed> instances;
    TimeInterval time;
    TransformSteps steps_of(const Placed &p) const { return p.shape->steps(time); }
    BoundingBox bounds_of(const Placed &p) const {
        return transform_bounds(steps_of(p), p.shape->bounds());
    }
    const InstanceTable *table = nullptr; // the same, for lanes
    bool is_rebuilt = false; // after a change, as optimizations of shapes do it in every iteration
    bool robust = false;     // slower tests, by which no ray passes between triangles

    BoundingBox triangle_bounds(const Part &part, size_t triangle) const;
    /// Corner k of a triangle, at a step of a part that deforms.
    std::array<double, 3> corner(const Part &part, size_t triangle, size_t k,
                                 size_t step = 0) const {
        size_t vertex = meshes->triangle(triangle)[k];
        if (!part.deforms())
            return { meshes->number(vertex, 0), meshes->number(vertex, 1),
                     meshes->number(vertex, 2) };
        const double *p = &part.steps[step][3 * (vertex - part.first_vertex)];
        return { p[0], p[1], p[2] };
    }
    BoundingBox analytic_bounds(size_t primitive) const {
        const AnalyticPrimitive &p = analytic_primitives[primitive];
        return analytic[p.shape]->primitive_bounds(p.primitive);
    }
};

/// Embree: single precision, on the CPU.
std::unique_ptr<Accelerator> make_embree_accelerator(const Geometry &geometry);
/// A tree traversed by recorded code: any precision, any backend.
std::unique_ptr<Accelerator> make_bvh_accelerator(const Geometry &geometry);

} // namespace umbel
