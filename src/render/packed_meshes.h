// render/packed_meshes.h: all meshes of a scene, as trees and lanes read them.
#pragma once
#include "jit/buffer.h"
#include <cstddef>
#include <cstdint>

namespace umbel {

/// Numbers of vertices are of the variant's precision. Memory is shared by the arena, Embree, and meshes that gave up theirs.
struct PackedMeshes {
    /// A vertex: position, u, normal (already turned to the mesh's outside), v; or position and nothing.
    enum : size_t { Position = 0, U = 3, Normal = 4, V = 7, Full = 8, Bare = 4 };
    /// A triangle: three vertices, counter-clockwise as seen from outside, and its shape with these bits.
    static constexpr uint32_t FacetedBit = 1u << 31, NoUvBit = 1u << 30, ShapeMask = NoUvBit - 1;

    bool is_double = false;
    size_t stride = Full; // numbers a vertex
    size_t vertex_count = 0, triangle_count = 0;
    jit::BufferRef vertices, triangles;

    size_t vertex_bytes() const { return stride * (is_double ? sizeof(double) : sizeof(float)); }
    const uint32_t *triangle(size_t i) const {
        return static_cast<const uint32_t *>(triangles->data()) + 4 * i;
    }
    double number(size_t vertex, size_t k) const {
        size_t at = vertex * stride + k;
        return is_double ? static_cast<const double *>(vertices->data())[at]
                         : double(static_cast<const float *>(vertices->data())[at]);
    }
};

} // namespace umbel
