// render/bvh_build.h: trees of boxes as arrays, for recorded code to traverse.
#pragma once
#include "render/accelerator.h"

namespace umbel {

/// A node is one record of 16 numbers: the boxes of both children, and what they are. Leaves name a run of primitives; a
/// primitive is a record of 12: a triangle's corner and edges (its corners, where tests are robust), its number, and its
/// geometry (TriangleGeometry and so on). In place of a corner, analytic primitives have the number of their shape, from 1 on,
/// and theirs in it.
struct BvhTree {
    static constexpr int StackSize = 64, NodeSize = 16, PrimSize = 12;
    /// In the place of TriangleGeometry: one that deforms. In the place of its corner, the first of its keys, how many there
    /// are after it, and how far apart they are.
    static constexpr uint32_t DeformingTriangle = InstanceGeometry + 1;
    static constexpr uint32_t LeafBit = 1u << 31, CountShift = 28,
                              FirstMask = (1u << CountShift) - 1;

    std::vector<double> nodes, prims;
    std::vector<double> keys;    // triangles that deform, at their steps: 12 numbers each, as above
    std::vector<uint32_t> roots; // of each part of the geometry

    /// Elements that are numbers of something, and no coordinates.
    std::vector<size_t> node_numbers() const;
    std::vector<size_t> prim_numbers() const;
};

BvhTree build_bvh(const Geometry &geometry);

} // namespace umbel
