// render/boundary_test.h: how far what a ray meets is from where its surface ends, as that ray sees it.
//
// 0 at silhouettes and edges, and more away from them: of round shapes the cosine between ray and normal, of smooth meshes its
// square, of faceted ones three times the least barycentric coordinate, so that edges of triangles are all silhouettes, of
// `rectangle` and `disk` the way to the edge.
#pragma once
#include "render/scene.h"

namespace umbel {

class BoundaryTest {
public:
    /// 1 where nothing was met.
    Float eval(const Ray &ray, const Hit &hit, const SurfaceInteraction &si,
               const Mask &active) const;

private:
    enum Kind : uint32_t { Round, Smooth, Faceted, Rectangle, Disk };
    static Kind kind_of(const Shape &shape);
    /// Of all shapes, by global number.
    const UInt32 &kinds() const;

    mutable std::vector<uint32_t> m_known;
    mutable UInt32 m_kinds; // the same for lanes
};

} // namespace umbel
