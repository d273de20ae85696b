// render/mesh_creases.h: normals of a mesh that are smooth, but not over its creases.
#pragma once
#include "render/shape.h"

namespace umbel {

/// The parameter max_smooth_angle of meshes that come from files.
class Creases {
public:
    /// So many numbers for each vertex of a mesh, which may be none.
    struct PerVertex {
        std::vector<double> *list;
        uint32_t size;
    };

    void declare(Params &p);
    bool given() const { return m_degrees > 0; }
    /// Makes normals of a mesh that has none. Around each place, triangles that share an edge there and bend by less than the angle
    /// have one normal. Vertices that need several become several, with the same texture coordinates and `others`.
    void smooth(Mesh &mesh, const std::vector<PerVertex> &others = {}) const;

private:
    double m_degrees = 0;
};

} // namespace umbel
