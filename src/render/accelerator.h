// render/accelerator.h: finds what rays hit.
#pragma once
#include "render/interaction.h"
#include "render/shape.h"
#include <memory>
#include <span>

namespace umbel {

/// Geometry numbers in hits.
enum : uint32_t { TriangleGeometry = 0, AnalyticGeometry = 1 };

class Accelerator {
public:
    virtual ~Accelerator() = default;
    virtual Hit trace(const Ray &ray, const Mask &active, const Mask &coherent) const = 0;
    virtual Mask occluded(const Ray &ray, const Mask &active) const = 0;
};

/// All triangles of a scene, in the arena's order, and its analytic shapes.
struct Geometry {
    std::vector<double> positions; // three a vertex
    std::vector<uint32_t> indices; // three a triangle
    std::vector<const AnalyticShape *> analytic;
};

/// Embree: single precision, on the CPU.
std::unique_ptr<Accelerator> make_embree_accelerator(const Geometry &geometry);
/// A tree traversed by recorded code: any precision, any backend.
std::unique_ptr<Accelerator> make_bvh_accelerator(const Geometry &geometry);

} // namespace umbel
