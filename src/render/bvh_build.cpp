// render/bvh_build.cpp: builds trees with Embree's builder and lays them out for lanes.
#include "render/bvh_build.h"
#include "jit/parallel.h"
#include <cmath>
#include <embree3/rtcore.h>
#include <span>

namespace umbel {

namespace {

struct BuildNode { // inner if it has children
    RTCBounds bounds[2];
    BuildNode *child[2] = {};
    uint32_t *prims = nullptr; // of a leaf; like the nodes, in the builder's own memory
    uint32_t count = 0;
};

/// A tree's primitives: triangles, then analytic shapes, then (of the scene only) instances.
struct PartView {
    const Geometry &g;
    const Geometry::Part &part;
    uint32_t instances;
    size_t first_key; // of its triangles, if they deform

    uint32_t size() const { return part.triangles + part.analytic + instances; }
    BoundingBox bounds(uint32_t i) const {
        if (i < part.triangles)
            return g.triangle_bounds(part, part.first_triangle + i);
        i -= part.triangles;
        return i < part.analytic ? g.analytic_bounds(part.first_analytic + i)
                                 : g.bounds_of(g.instances[i - part.analytic]);
    }
    void write_triangle(uint32_t triangle, size_t step, double *record) const;
    void write_keys(BvhTree &tree) const;
    void write(uint32_t i, BvhTree &tree) const;
};

/// What Embree's threads are told.
struct Build {
    const PartView &view;
    jit::HandOver to, from;
};

template <class Fn> auto by_build(void *user, const Fn &fn) {
    auto &build = *static_cast<Build *>(user);
    jit::GiveAtEnd end{ build.from };
    build.to.take();
    return fn();
}

void *create_node(RTCThreadLocalAllocator allocator, unsigned, void *user) {
    return by_build(user, [&]() -> void * {
        return new (rtcThreadLocalAlloc(allocator, sizeof(BuildNode), 16)) BuildNode;
    });
}
void set_children(void *node, void **children, unsigned, void *user) {
    by_build(user, [&] {
        for (int i = 0; i < 2; ++i)
            static_cast<BuildNode *>(node)->child[i] = static_cast<BuildNode *>(children[i]);
    });
}
void set_bounds(void *node, const RTCBounds **bounds, unsigned, void *user) {
    by_build(user, [&] {
        for (int i = 0; i < 2; ++i)
            static_cast<BuildNode *>(node)->bounds[i] = *bounds[i];
    });
}
void *create_leaf(RTCThreadLocalAllocator allocator, const RTCBuildPrimitive *prims, size_t count,
                  void *user) {
    return by_build(user, [&]() -> void * {
        auto *leaf = new (rtcThreadLocalAlloc(allocator, sizeof(BuildNode), 16)) BuildNode;
        leaf->prims = static_cast<uint32_t *>(rtcThreadLocalAlloc(allocator, 4 * count, 16));
        leaf->count = uint32_t(count);
        for (size_t i = 0; i < count; ++i)
            leaf->prims[i] = prims[i].primID;
        return leaf;
    });
}

void PartView::write_triangle(uint32_t triangle, size_t step, double *record) const {
    std::array<double, 3> p[3];
    for (size_t k = 0; k < 3; ++k)
        p[k] = g.corner(part, triangle, k, step);
    for (size_t j = 0; j < 3; ++j) {
        record[j] = p[0][j];
        record[3 + j] = g.robust ? p[1][j] : p[1][j] - p[0][j];
        record[6 + j] = g.robust ? p[2][j] : p[2][j] - p[0][j];
    }
}

void PartView::write_keys(BvhTree &tree) const {
    for (size_t step = 0; step < part.steps.size(); ++step)
        for (uint32_t i = 0; i < part.triangles; ++i) {
            double record[BvhTree::PrimSize] = {};
            write_triangle(part.first_triangle + i, step, record);
            tree.keys.insert(tree.keys.end(), record, record + BvhTree::PrimSize);
        }
}

void PartView::write(uint32_t i, BvhTree &tree) const {
    double record[BvhTree::PrimSize] = {};
    if (i < part.triangles) {
        uint32_t triangle = part.first_triangle + i;
        if (part.deforms()) {
            record[0] = double(first_key + i);
            record[1] = double(part.steps.size() - 1);
            record[2] = part.triangles;
        } else
            write_triangle(triangle, 0, record);
        record[9] = triangle;
        record[10] = part.deforms() ? BvhTree::DeformingTriangle : uint32_t(TriangleGeometry);
    } else if (i - part.triangles < part.analytic) {
        uint32_t number = part.first_analytic + i - part.triangles;
        record[0] = g.analytic_primitives[number].shape + 1;
        record[1] = g.analytic_primitives[number].primitive;
        record[9] = number;
        record[10] = AnalyticGeometry;
    } else {
        record[9] = i - part.triangles - part.analytic;
        record[10] = InstanceGeometry;
    }
    tree.prims.insert(tree.prims.end(), record, record + BvhTree::PrimSize);
}

/// Boxes of all primitives, rounded outwards to single precision.
std::vector<RTCBuildPrimitive> build_primitives(const PartView &view) {
    constexpr float Inf = std::numeric_limits<float>::infinity();
    auto low = [&](double v) { return std::nextafter(float(v), -Inf); };
    auto high = [&](double v) { return std::nextafter(float(v), Inf); };
    std::vector<RTCBuildPrimitive> out;
    out.reserve(2 * size_t(view.size())); // room for splits
    for (uint32_t i = 0; i < view.size(); ++i) {
        BoundingBox b = view.bounds(i);
        out.push_back({ low(b.min[0]), low(b.min[1]), low(b.min[2]), 0, high(b.max[0]),
                        high(b.max[1]), high(b.max[2]), i });
    }
    return out;
}

// A child as lanes see it: a node's number, or a leaf's first primitive and count.
uint32_t flatten_leaf(const BuildNode &leaf, const PartView &view, BvhTree &tree) {
    size_t first = tree.prims.size() / BvhTree::PrimSize;
    check(leaf.count < BvhTree::LeafBit >> BvhTree::CountShift);
    if (first + leaf.count > BvhTree::FirstMask)
        fail("the scene has more than {} primitives, which are too many for this variant",
             BvhTree::FirstMask);
    for (uint32_t id : std::span(leaf.prims, leaf.count))
        view.write(id, tree);
    return BvhTree::LeafBit | leaf.count << BvhTree::CountShift | uint32_t(first);
}

/// Appends nodes and primitives; returns the root.
uint32_t flatten(const BuildNode *root, const PartView &view, BvhTree &tree) {
    if (!root->child[0])
        return flatten_leaf(*root, view, tree);
    size_t base = tree.nodes.size() / BvhTree::NodeSize;
    std::vector<const BuildNode *> order = { root }; // by number; grows while it is walked
    for (size_t i = 0; i < order.size(); ++i) {
        const BuildNode &n = *order[i];
        for (const RTCBounds &b : n.bounds)
            tree.nodes.insert(tree.nodes.end(),
                              { b.lower_x, b.lower_y, b.lower_z, b.upper_x, b.upper_y, b.upper_z });
        for (const BuildNode *c : n.child) {
            double ref = 0;
            if (c->child[0]) {
                ref = double(base + order.size());
                order.push_back(c);
            } else
                ref = double(flatten_leaf(*c, view, tree));
            tree.nodes.push_back(ref);
        }
        tree.nodes.insert(tree.nodes.end(), 2, 0.0);
    }
    return uint32_t(base);
}

constexpr uint32_t SplitUpTo = 1u << 20; // triangles

// Boxes of what is left of a primitive on both sides of a plane: of triangles, what is inside of its box so far.
void split_box(const PartView &view, const RTCBuildPrimitive *prim, unsigned dim, float position,
               RTCBounds *left, RTCBounds *right) {
    constexpr float Inf = std::numeric_limits<float>::infinity();
    float lower[3] = { prim->lower_x, prim->lower_y, prim->lower_z },
          upper[3] = { prim->upper_x, prim->upper_y, prim->upper_z };
    float box[2][2][3]; // side, end, dimension
    bool clips = prim->primID < view.part.triangles && !view.part.deforms();
    for (int side = 0; side < 2; ++side)
        for (int d = 0; d < 3; ++d) {
            box[side][0][d] = clips ? Inf : lower[d];
            box[side][1][d] = clips ? -Inf : upper[d];
        }
    if (clips) {
        std::array<double, 3> p[3];
        for (size_t k = 0; k < 3; ++k)
            p[k] = view.g.corner(view.part, view.part.first_triangle + prim->primID, k);
        auto extend = [&](int side, const std::array<double, 3> &q) {
            for (size_t d = 0; d < 3; ++d) {
                box[side][0][d] = std::min(box[side][0][d], std::nextafter(float(q[d]), -Inf));
                box[side][1][d] = std::max(box[side][1][d], std::nextafter(float(q[d]), Inf));
            }
        };
        for (size_t k = 0; k < 3; ++k) {
            const auto &a = p[k], &b = p[(k + 1) % 3];
            if (a[dim] <= position)
                extend(0, a);
            if (a[dim] >= position)
                extend(1, a);
            if ((a[dim] < position) != (b[dim] < position) && a[dim] != b[dim]) {
                double t = (position - a[dim]) / (b[dim] - a[dim]);
                std::array<double, 3> q;
                for (size_t d = 0; d < 3; ++d)
                    q[d] = a[d] + t * (b[d] - a[d]);
                extend(0, q);
                extend(1, q);
            }
        }
        for (int side = 0; side < 2; ++side)
            for (int d = 0; d < 3; ++d) {
                box[side][0][d] = std::max(box[side][0][d], lower[d]);
                box[side][1][d] = std::min(box[side][1][d], upper[d]);
            }
    }
    box[0][1][dim] = std::min(box[0][1][dim], position);
    box[1][0][dim] = std::max(box[1][0][dim], position);
    RTCBounds *out[] = { left, right };
    for (int side = 0; side < 2; ++side)
        *out[side] = { box[side][0][0], box[side][0][1], box[side][0][2], 0,
                       box[side][1][0], box[side][1][1], box[side][1][2], 0 };
}

void split_primitive(const RTCBuildPrimitive *prim, unsigned dim, float position, RTCBounds *left,
                     RTCBounds *right, void *user) {
    const PartView &view = static_cast<Build *>(user)->view;
    by_build(user, [&] { split_box(view, prim, dim, position, left, right); });
}

uint32_t build_part(const PartView &view, BvhTree &tree) {
    static RTCDevice device = rtcNewDevice("start_threads=0");
    if (!device)
        throw DeviceError("Embree cannot start; is there enough memory?");
    if (!view.size())
        return BvhTree::LeafBit; // a leaf of nothing
    std::vector<RTCBuildPrimitive> prims = build_primitives(view);
    RTCBVH bvh = rtcNewBVH(device);
    RTCBuildArguments a = rtcDefaultBuildArguments();
    a.buildQuality = RTC_BUILD_QUALITY_MEDIUM;
    a.maxBranchingFactor = 2;
    a.maxDepth = BvhTree::StackSize - 4;
    a.minLeafSize = 1;
    a.maxLeafSize = 4;
    a.bvh = bvh;
    a.primitives = prims.data();
    a.primitiveCount = prims.size();
    a.primitiveArrayCapacity = prims.capacity();
    a.createNode = create_node;
    a.setNodeChildren = set_children;
    a.setNodeBounds = set_bounds;
    a.createLeaf = create_leaf;
    // As for Embree's own trees; an image has the same bits either way
    if (!view.g.is_rebuilt && view.part.triangles <= SplitUpTo) {
        a.buildQuality = RTC_BUILD_QUALITY_HIGH;
        a.splitPrimitive = split_primitive;
    }
    Build build{ view, {}, {} };
    a.userPtr = &build;
    build.to.give();
    auto *root = static_cast<BuildNode *>(rtcBuildBVH(&a));
    build.from.take();
    if (!root)
        throw DeviceError("Embree could not build a tree for the scene; is there enough memory?");
    uint32_t ref = flatten(root, view, tree);
    rtcReleaseBVH(bvh);
    return ref;
}

} // namespace

BoundingBox Geometry::triangle_bounds(const Part &part, size_t triangle) const {
    BoundingBox b;
    for (size_t step = 0; step < std::max<size_t>(part.steps.size(), 1); ++step)
        for (size_t k = 0; k < 3; ++k)
            b.extend(corner(part, triangle, k, step));
    return b;
}

std::vector<size_t> BvhTree::node_numbers() const {
    std::vector<size_t> out;
    for (size_t i = 0; i < nodes.size(); i += NodeSize)
        out.insert(out.end(), { i + 12, i + 13 });
    return out;
}

std::vector<size_t> BvhTree::prim_numbers() const {
    std::vector<size_t> out;
    for (size_t i = 0; i < prims.size(); i += PrimSize) {
        out.insert(out.end(), { i + 9, i + 10 });
        if (prims[i + 10] != double(TriangleGeometry))
            out.insert(out.end(), { i, i + 1, i + 2 });
    }
    return out;
}

BvhTree build_bvh(const Geometry &g) {
    BvhTree tree;
    for (size_t i = 0; i < g.parts.size(); ++i) {
        uint32_t instances = i == 0 ? uint32_t(g.instances.size()) : 0;
        PartView view{ g, g.parts[i], instances, tree.keys.size() / BvhTree::PrimSize };
        view.write_keys(tree);
        tree.roots.push_back(build_part(view, tree));
    }
    if (tree.nodes.empty())
        tree.nodes.resize(BvhTree::NodeSize); // all roots are leaves
    return tree;
}

} // namespace umbel
