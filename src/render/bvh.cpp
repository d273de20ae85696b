// render/bvh.cpp: a tree of boxes, traversed by recorded code: for double precision, and for machines without Embree.
//
// Embree's builder makes the tree. A node is one record of 16 numbers: the boxes of both children, and what they are.
// Leaves name a run of primitives; a primitive is a record of 12: a triangle's corner and edges, and its number.
#include "core/host_array.h"
#include "render/accelerator.h"
#include "render/dispatch.h"
#include <cmath>
#include <embree3/rtcore.h>
#include <span>

namespace umbel {

namespace {

// ---- building, on the host

constexpr uint32_t LeafBit = 1u << 31, CountShift = 28, FirstMask = (1u << CountShift) - 1;
constexpr int StackSize = 64, NodeSize = 16, PrimSize = 12;

struct BuildNode { // inner if it has children
    RTCBounds bounds[2];
    BuildNode *child[2] = {};
    uint32_t *prims = nullptr; // of a leaf; like the nodes, in the builder's own memory
    uint32_t count = 0;
};

void *create_node(RTCThreadLocalAllocator allocator, unsigned, void *) {
    return new (rtcThreadLocalAlloc(allocator, sizeof(BuildNode), 16)) BuildNode;
}
void set_children(void *node, void **children, unsigned, void *) {
    for (int i = 0; i < 2; ++i)
        static_cast<BuildNode *>(node)->child[i] = static_cast<BuildNode *>(children[i]);
}
void set_bounds(void *node, const RTCBounds **bounds, unsigned, void *) {
    for (int i = 0; i < 2; ++i)
        static_cast<BuildNode *>(node)->bounds[i] = *bounds[i];
}
void *create_leaf(RTCThreadLocalAllocator allocator, const RTCBuildPrimitive *prims, size_t count,
                  void *) {
    auto *leaf = new (rtcThreadLocalAlloc(allocator, sizeof(BuildNode), 16)) BuildNode;
    leaf->prims = static_cast<uint32_t *>(rtcThreadLocalAlloc(allocator, 4 * count, 16));
    leaf->count = uint32_t(count);
    for (size_t i = 0; i < count; ++i)
        leaf->prims[i] = prims[i].primID;
    return leaf;
}

/// Boxes of all primitives, rounded outwards to single precision; triangles come first.
std::vector<RTCBuildPrimitive> build_primitives(const Geometry &g) {
    std::vector<RTCBuildPrimitive> out;
    auto add = [&](const BoundingBox &b) {
        constexpr float Inf = std::numeric_limits<float>::infinity();
        auto low = [&](double v) { return std::nextafter(float(v), -Inf); };
        auto high = [&](double v) { return std::nextafter(float(v), Inf); };
        uint32_t id = uint32_t(out.size());
        out.push_back({ low(b.min[0]), low(b.min[1]), low(b.min[2]), 0, high(b.max[0]),
                        high(b.max[1]), high(b.max[2]), id });
    };
    for (size_t t = 0; t < g.indices.size(); t += 3) {
        BoundingBox b;
        for (size_t k = 0; k < 3; ++k) {
            const double *p = &g.positions[3 * g.indices[t + k]];
            b.extend(std::array<double, 3>{ p[0], p[1], p[2] });
        }
        add(b);
    }
    for (const AnalyticShape *s : g.analytic)
        add(s->bounds());
    return out;
}

struct FlatTree {
    std::vector<double> nodes, prims;
    uint32_t root = 0;
};

// A child as lanes see it: a node's number, or a leaf's first primitive and count.
uint32_t flatten_leaf(const BuildNode &leaf, const Geometry &g, FlatTree &tree) {
    uint32_t first = uint32_t(tree.prims.size() / PrimSize), count = leaf.count;
    uint32_t triangles = uint32_t(g.indices.size() / 3);
    check(count < LeafBit >> CountShift);
    for (uint32_t id : std::span(leaf.prims, count)) {
        double record[PrimSize] = {};
        if (id < triangles) {
            const double *p[3];
            for (size_t k = 0; k < 3; ++k)
                p[k] = &g.positions[3 * g.indices[3 * id + k]];
            for (size_t j = 0; j < 3; ++j) {
                record[j] = p[0][j];
                record[3 + j] = p[1][j] - p[0][j];
                record[6 + j] = p[2][j] - p[0][j];
            }
        }
        record[9] = id < triangles ? id : id - triangles;
        record[10] = id < triangles ? TriangleGeometry : AnalyticGeometry;
        tree.prims.insert(tree.prims.end(), record, record + PrimSize);
    }
    return LeafBit | count << CountShift | first;
}

FlatTree flatten(const BuildNode *root, const Geometry &g) {
    FlatTree tree;
    if (!root->child[0]) {
        tree.root = flatten_leaf(*root, g, tree);
        return tree;
    }
    std::vector<const BuildNode *> order = { root }; // by number; grows while it is walked
    for (size_t i = 0; i < order.size(); ++i) {
        const BuildNode &n = *order[i];
        for (const RTCBounds &b : n.bounds)
            tree.nodes.insert(tree.nodes.end(),
                              { b.lower_x, b.lower_y, b.lower_z, b.upper_x, b.upper_y, b.upper_z });
        for (const BuildNode *c : n.child) {
            double ref = 0;
            if (c->child[0]) {
                ref = double(order.size());
                order.push_back(c);
            } else
                ref = double(flatten_leaf(*c, g, tree));
            tree.nodes.push_back(ref);
        }
        tree.nodes.insert(tree.nodes.end(), 2, 0.0);
    }
    return tree;
}

FlatTree build_tree(const Geometry &g) {
    static RTCDevice device = rtcNewDevice("start_threads=0");
    std::vector<RTCBuildPrimitive> prims = build_primitives(g);
    if (prims.empty())
        return {};
    if (prims.size() > FirstMask)
        fail("the scene has {} primitives; at most {} are possible in this variant", prims.size(),
             FirstMask);
    RTCBVH bvh = rtcNewBVH(device);
    size_t count = prims.size();
    prims.reserve(2 * count); // room for splits
    RTCBuildArguments a = rtcDefaultBuildArguments();
    a.buildQuality = RTC_BUILD_QUALITY_MEDIUM;
    a.maxBranchingFactor = 2;
    a.maxDepth = StackSize - 4;
    a.minLeafSize = 1;
    a.maxLeafSize = 4;
    a.bvh = bvh;
    a.primitives = prims.data();
    a.primitiveCount = count;
    a.primitiveArrayCapacity = prims.capacity();
    a.createNode = create_node;
    a.setNodeChildren = set_children;
    a.setNodeBounds = set_bounds;
    a.createLeaf = create_leaf;
    auto *root = static_cast<BuildNode *>(rtcBuildBVH(&a));
    if (!root)
        throw DeviceError("Embree could not build a tree for the scene; is there enough memory?");
    FlatTree tree = flatten(root, g);
    rtcReleaseBVH(bvh);
    return tree;
}

// ---- traversal, recorded

class BvhAccelerator final : public Accelerator {
public:
    explicit BvhAccelerator(const Geometry &g) {
        FlatTree tree = build_tree(g);
        if (tree.prims.empty())
            return;
        m_root = jit::opaque(tree.root);
        if (tree.nodes.empty())
            tree.nodes.resize(NodeSize); // the root is a leaf
        m_nodes = float_array(tree.nodes);
        m_prims = float_array(tree.prims);
        for (const AnalyticShape *s : g.analytic)
            m_analytic.add(s);
    }

    Hit trace(const Ray &ray, const Mask &active, const Mask &) const override {
        return traverse(ray, active, false);
    }
    Mask occluded(const Ray &ray, const Mask &active) const override {
        return traverse(ray, active, true).t < std::numeric_limits<double>::infinity();
    }

private:
    struct State {
        UInt32 current, height; // what is visited next, and how much waits on the stack
        jit::LocalArray<uint32_t> stack;
        Hit hit;
        Mask active;
        UMBEL_STRUCT(current, height, stack, hit, active)
    };

    Hit traverse(const Ray &ray, const Mask &active, bool any) const {
        Float inf(std::numeric_limits<double>::infinity());
        Hit none{ inf, Float(0), Float(0), UInt32(0u), UInt32(0u) };
        if (!m_prims.valid())
            return none;
        Vector3 inv(rcp(ray.d.x), rcp(ray.d.y), rcp(ray.d.z));
        State s{ m_root, UInt32(0u), jit::LocalArray<uint32_t>(UInt32(0u), StackSize), none,
                 active };
        s = jit::loop(
            s, [](const State &s) { return s.active; },
            [&](State &s) {
                Mask leaf = (s.current & UInt32(LeafBit)) != UInt32(0u);
                visit_leaf(ray, s, leaf, any);
                visit_node(ray, inv, s, s.active & !leaf);
            },
            "bvh");
        return s.hit;
    }

    static Float far_end(const Ray &ray, const Hit &hit) { return min(ray.maxt, hit.t); }

    void visit_node(const Ray &ray, const Vector3 &inv, State &s, const Mask &inner) const {
        std::vector<Value> r = jit::gather_packet(m_nodes, s.current, NodeSize, inner);
        auto at = [&](size_t i) { return Float(r[i]); };
        Float far = far_end(ray, s.hit), near_t[2];
        Mask hits[2];
        for (size_t c = 0; c < 2; ++c) {
            const size_t o = 6 * c;
            Float lo_x = (at(o) - ray.o.x) * inv.x, hi_x = (at(o + 3) - ray.o.x) * inv.x;
            Float lo_y = (at(o + 1) - ray.o.y) * inv.y, hi_y = (at(o + 4) - ray.o.y) * inv.y;
            Float lo_z = (at(o + 2) - ray.o.z) * inv.z, hi_z = (at(o + 5) - ray.o.z) * inv.z;
            near_t[c] = max(max(min(lo_x, hi_x), min(lo_y, hi_y)), max(min(lo_z, hi_z), Float(0)));
            Float exit = min(min(max(lo_x, hi_x), max(lo_y, hi_y)), max(lo_z, hi_z));
            // Rounding of the products must not lose a hit [Ize 2013].
            hits[c] = inner & (near_t[c] <= min(exit * (1 + 8 * epsilon()), far));
        }
        UInt32 left = to_uint(at(12)), right = to_uint(at(13));
        Mask both = hits[0] & hits[1], swap = both & (near_t[1] < near_t[0]);
        UInt32 nearer = select(swap | (hits[1] & !hits[0]), right, left);
        UInt32 farther = select(swap, left, right);
        s.stack.set(s.height, farther, both);
        s.height = select(both, s.height + UInt32(1u), s.height);
        pop(s, nearer, inner, hits[0] | hits[1]);
    }

    // Goes to `next` in lanes of `go`, to the top of the stack in the other lanes of `mask`.
    static void pop(State &s, const UInt32 &next, const Mask &mask, const Mask &go) {
        Mask take = mask & !go, empty = take & (s.height == UInt32(0u));
        take = take & !empty;
        UInt32 top = s.height - UInt32(1u);
        UInt32 waiting = s.stack.get(top, take);
        s.current = select(mask & go, next, select(take, waiting, s.current));
        s.height = select(take, top, s.height);
        s.active = s.active & !empty;
    }

    void visit_leaf(const Ray &ray, State &s, const Mask &leaf, bool any) const {
        struct Inner {
            UInt32 at, end;
            Hit hit;
            UMBEL_STRUCT(at, end, hit)
        };
        UInt32 first = s.current & UInt32(FirstMask);
        UInt32 count = (s.current >> UInt32(CountShift)) & UInt32(7u);
        Inner i{ first, select(s.active & leaf, first + count, first), s.hit };
        i = jit::loop(
            i, [](const Inner &i) { return i.at < i.end; },
            [&](Inner &i) {
                intersect(ray, i.at, i.hit);
                i.at += UInt32(1u);
                if (any) // one is enough
                    i.end = select(i.hit.t < std::numeric_limits<double>::infinity(), i.at, i.end);
            },
            "bvh leaf");
        s.hit = i.hit;
        Mask done = s.active & leaf;
        if (any) {
            Mask found = done & (s.hit.t < std::numeric_limits<double>::infinity());
            s.active = s.active & !found;
            done = done & !found;
        }
        pop(s, s.current, done, false);
    }

    void intersect(const Ray &ray, const UInt32 &prim, Hit &hit) const {
        std::vector<Value> r = jit::gather_packet(m_prims, prim, PrimSize, Mask(true));
        auto vec = [&](size_t i) { return Vector3(Float(r[i]), Float(r[i + 1]), Float(r[i + 2])); };
        UInt32 number = to_uint(Float(r[9]));
        Float far = far_end(ray, hit);
        // [Moeller 1997]
        Vector3 p0 = vec(0), e1 = vec(3), e2 = vec(6);
        Vector3 q = cross(ray.d, e2), o = ray.o - p0, w = cross(o, e1);
        Float inv_det = rcp(dot(e1, q));
        Float u = dot(o, q) * inv_det, v = dot(ray.d, w) * inv_det, t = dot(e2, w) * inv_det;
        Mask found = (u >= 0) & (v >= 0) & (u + v <= 1) & (t >= 0) & (t < far);
        UInt32 geometry = uint32_t(TriangleGeometry);
        if (!m_analytic.empty()) {
            Mask analytic = Float(r[10]) != 0;
            struct Distance {
                Float t;
                UMBEL_STRUCT(t)
            };
            Ray clipped = ray;
            clipped.maxt = far;
            UInt32 id = select(analytic, number + UInt32(1u), UInt32(0u));
            Float shape_t = m_analytic
                                .call("shape.intersect", id, analytic, Distance{ far },
                                      [&](const AnalyticShape &s) {
                                          return Distance{ s.intersect(clipped, analytic) };
                                      })
                                .t;
            found = (found & !analytic) | (analytic & (shape_t < far));
            t = select(analytic, shape_t, t);
            geometry = select(analytic, UInt32(uint32_t(AnalyticGeometry)), geometry);
        }
        hit.t = select(found, t, hit.t);
        hit.u = select(found, u, hit.u);
        hit.v = select(found, v, hit.v);
        hit.prim = select(found, number, hit.prim);
        hit.geometry = select(found, geometry, hit.geometry);
    }

    static double epsilon() { return variant().double_precision ? 0x1p-52 : 0x1p-23; }

    UInt32 m_root;
    Float m_nodes, m_prims;
    Table<AnalyticShape> m_analytic;
};

} // namespace

std::unique_ptr<Accelerator> make_bvh_accelerator(const Geometry &geometry) {
    return std::make_unique<BvhAccelerator>(geometry);
}

} // namespace umbel
