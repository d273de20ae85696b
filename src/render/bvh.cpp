// render/bvh.cpp: a tree of boxes, traversed by recorded code: for double precision, and for machines without Embree.
//
// A hit on an instance's box traverses the tree of its group with the ray in the group's space.
#include "core/host_array.h"
#include "jit/unset_array.h"
#include "render/bvh_build.h"
#include "render/dispatch.h"
#include <bit>

namespace umbel {

namespace {

class BvhAccelerator final : public Accelerator {
public:
    explicit BvhAccelerator(const Geometry &g) : m_robust(g.robust), m_instances(*g.table) {
        BvhTree tree = build_bvh(g);
        if (tree.prims.empty())
            return;
        m_root = jit::opaque(tree.roots[0]);
        m_nodes = array_of(tree.nodes, tree.node_numbers());
        m_prims = array_of(tree.prims, tree.prim_numbers());
        if (!tree.keys.empty())
            m_keys = float_array(tree.keys);
        for (const AnalyticShape *s : g.analytic)
            m_analytic.append(s);
        std::vector<uint32_t> roots;
        for (const Geometry::Placed &i : g.instances)
            roots.push_back(tree.roots[i.part]);
        if (!roots.empty())
            m_instance_roots = jit::copy(roots);
    }

    Hit trace(const Ray &ray, const Mask &active, const Mask &) const override {
        return m_prims.valid() ? traverse(ray, m_root, active & is_finite(ray), { false, true })
                               : no_hit();
    }
    Mask occluded(const Ray &ray, const Mask &active) const override {
        Mask followed = active & is_finite(ray);
        return m_prims.valid() ? traverse(ray, m_root, followed, { true, true }).is_valid()
                               : Mask(false);
    }

private:
    // Numbers of nodes, primitives and shapes lie among coordinates, and must be exact: floats have their bits.
    static Float array_of(const std::vector<double> &values, const std::vector<size_t> &numbers) {
        if (variant().double_precision)
            return float_array(values);
        std::vector<float> out(values.begin(), values.end());
        for (size_t i : numbers)
            out[i] = std::bit_cast<float>(uint32_t(values[i]));
        return Float(jit::copy(out));
    }
    static UInt32 number(const Value &v) {
        return variant().double_precision ? to_uint(Float(v))
                                          : UInt32(jit::bitcast(jit::Type::U32, v));
    }

    /// How a tree is traversed; known while tracing.
    struct How {
        bool any;   // whether one hit is enough
        bool scene; // the scene's tree, which has instances, not a group's
    };
    struct State {
        UInt32 current, height; // what is visited next, and how much waits on the stack
        jit::LocalArray<uint32_t> stack;
        Hit hit;
        Mask active;
        UMBEL_STRUCT(current, height, stack, hit, active)
    };

    // Others hit nothing, as in Embree's trees: some shapes might search for them for ever.
    static Mask is_finite(const Ray &ray) {
        constexpr double Infinity = std::numeric_limits<double>::infinity();
        Mask m = ray.maxt == ray.maxt;
        for (const Float &v : { ray.o.x, ray.o.y, ray.o.z, ray.d.x, ray.d.y, ray.d.z })
            m = m & (abs(v) < Infinity);
        return m;
    }

    static Hit no_hit() {
        UInt32 none(0u);
        return {
            Float(std::numeric_limits<double>::infinity()), Float(0), Float(0), none, none, none
        };
    }

    Hit traverse(const Ray &ray, const UInt32 &root, const Mask &active, How how) const {
        Vector3 inv(rcp(ray.d.x), rcp(ray.d.y), rcp(ray.d.z));
        State s{ root, UInt32(0u),
                 jit::LocalArray<uint32_t>(jit::unset_array(jit::Type::U32, BvhTree::StackSize)),
                 no_hit(), active };
        // Lanes look for a leaf each, then visit leaves together: few would have company if some descended meanwhile
        auto is_inside = [](const State &s) {
            return s.active & ((s.current & UInt32(BvhTree::LeafBit)) == UInt32(0u));
        };
        s = jit::loop(
            s, [](const State &s) { return s.active; },
            [&](State &s) {
                s = jit::loop(s, is_inside, [&](State &s) { visit_node(ray, inv, s); }, "bvh node");
                visit_leaf(ray, s, how);
            },
            "bvh");
        return s.hit;
    }

    static Float far_end(const Ray &ray, const Hit &hit) { return min(ray.maxt, hit.t); }

    void visit_node(const Ray &ray, const Vector3 &inv, State &s) const {
        std::vector<Value> r =
            jit::gather_packet(m_nodes, s.current, BvhTree::NodeSize, Mask(true));
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
            hits[c] = near_t[c] <= min(exit * (1 + 8 * epsilon()), far);
        }
        UInt32 left = number(r[12]), right = number(r[13]);
        Mask both = hits[0] & hits[1], swap = both & (near_t[1] < near_t[0]);
        UInt32 nearer = select(swap | (hits[1] & !hits[0]), right, left);
        UInt32 farther = select(swap, left, right);
        s.stack.set(s.height, farther, both);
        s.height = select(both, s.height + UInt32(1u), s.height);
        pop(s, nearer, true, hits[0] | hits[1]);
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

    void visit_leaf(const Ray &ray, State &s, How how) const {
        struct Inner {
            UInt32 at, end;
            Hit hit;
            UMBEL_STRUCT(at, end, hit)
        };
        UInt32 first = s.current & UInt32(BvhTree::FirstMask);
        UInt32 count = (s.current >> UInt32(BvhTree::CountShift)) & UInt32(7u);
        Inner i{ first, select(s.active, first + count, first), s.hit };
        i = jit::loop(
            i, [](const Inner &i) { return i.at < i.end; },
            [&](Inner &i) {
                intersect(ray, i.at, i.hit, how);
                i.at += UInt32(1u);
                if (how.any)
                    i.end = select(i.hit.is_valid(), i.at, i.end);
            },
            "bvh leaf");
        s.hit = i.hit;
        if (how.any)
            s.active = s.active & !s.hit.is_valid();
        pop(s, s.current, s.active, false);
    }

    struct Meeting { // with a triangle's plane
        Float t, u, v;
        Mask within; // the triangle
    };
    // [Moeller 1997]
    static Meeting meet(const Ray &ray, const Vector3 &p0, const Vector3 &e1, const Vector3 &e2) {
        Vector3 q = cross(ray.d, e2), o = ray.o - p0, w = cross(o, e1);
        Float inv_det = rcp(dot(e1, q));
        Float u = dot(o, q) * inv_det, v = dot(ray.d, w) * inv_det, t = dot(e2, w) * inv_det;
        return { t, u, v, (u >= 0) & (v >= 0) & (u + v <= 1) };
    }
    // By the sides on which the ray passes the edges, in Pluecker's coordinates. An edge that two triangles share has the same number
    // in both but for its sign, to the bit: no ray passes between them.
    static Meeting meet_robustly(const Ray &ray, const Vector3 &p0, const Vector3 &p1,
                                 const Vector3 &p2) {
        // Fused in one way, whatever an assembler would like better
        auto apart = [](const Float &a, const Float &b, const Float &c, const Float &d) {
            return fma(a, b, -(c * d));
        };
        auto side = [&](const Vector3 &a, const Vector3 &b) {
            Vector3 e = b - a, s = a + b;
            return fma(
                apart(e.y, s.z, e.z, s.y), ray.d.x,
                fma(apart(e.z, s.x, e.x, s.z), ray.d.y, apart(e.x, s.y, e.y, s.x) * ray.d.z));
        };
        Vector3 a = p0 - ray.o, b = p1 - ray.o, c = p2 - ray.o;
        Float of_a = side(b, c), of_b = side(c, a), of_c = side(a, b), sum = of_a + of_b + of_c;
        Float least = abs(sum) * epsilon();
        Mask within =
            (min(of_a, min(of_b, of_c)) >= -least) | (max(of_a, max(of_b, of_c)) <= least);
        Vector3 normal = cross(b - a, c - a);
        Float inv_sum = rcp(sum);
        auto weight = [&](const Float &x) { return clamp(x * inv_sum, Float(0), Float(1)); };
        return { dot(normal, a) / dot(normal, ray.d), weight(of_b), weight(of_c), within };
    }

    void intersect(const Ray &ray, const UInt32 &prim, Hit &hit, How how) const {
        std::vector<Value> r = jit::gather_packet(m_prims, prim, BvhTree::PrimSize, Mask(true));
        auto vec = [&](size_t i) { return Vector3(Float(r[i]), Float(r[i + 1]), Float(r[i + 2])); };
        UInt32 prim_number = number(r[9]), kind = number(r[10]);
        if (m_keys.valid() && !how.scene)
            deform(ray.time, r);
        Float far = far_end(ray, hit);
        auto [t, u, v, within] = m_robust ? meet_robustly(ray, vec(0), vec(3), vec(6))
                                          : meet(ray, vec(0), vec(3), vec(6));
        Mask found = within & (t >= 0) & (t < far);
        UInt32 geometry = uint32_t(TriangleGeometry), instance(0u);
        if (!m_analytic.empty()) {
            Mask analytic = kind == UInt32(uint32_t(AnalyticGeometry));
            Ray clipped = ray;
            clipped.maxt = far;
            UInt32 id = select(analytic, number(r[0]), UInt32(0u)), primitive = number(r[1]);
            using PrimitiveHit = AnalyticShape::PrimitiveHit;
            PrimitiveHit on = m_analytic.call(
                "shape.intersect", id, analytic, PrimitiveHit{ far, Float(0), Float(0) },
                [&](const AnalyticShape &s) {
                    return s.intersect_primitive(clipped, primitive, analytic);
                });
            found = (found & !analytic) | (analytic & (on.t < far));
            t = select(analytic, on.t, t);
            u = select(analytic, on.u, u);
            v = select(analytic, on.v, v);
            geometry = select(analytic, UInt32(uint32_t(AnalyticGeometry)), geometry);
        }
        if (how.scene && m_instance_roots.valid()) {
            Mask placed = kind == UInt32(uint32_t(InstanceGeometry));
            UInt32 id = select(placed, prim_number + UInt32(1u), UInt32(0u));
            Ray local = m_instances.at(id, ray.time, placed).to_local(ray);
            local.maxt = far;
            UInt32 root = jit::gather(m_instance_roots, prim_number, placed);
            Hit inner = traverse(local, root, placed, { how.any, false });
            found = (found & !placed) | (placed & inner.is_valid());
            t = select(placed, inner.t, t);
            u = select(placed, inner.u, u);
            v = select(placed, inner.v, v);
            prim_number = select(placed, inner.prim, prim_number);
            geometry = select(placed, inner.geometry, geometry);
            instance = id;
        }
        hit.t = select(found, t, hit.t);
        hit.u = select(found, u, hit.u);
        hit.v = select(found, v, hit.v);
        hit.prim = select(found, prim_number, hit.prim);
        hit.geometry = select(found, geometry, hit.geometry);
        hit.instance = select(found, instance, hit.instance);
    }

    // Puts a triangle that deforms where it is at a time.
    void deform(const Float &time, std::vector<Value> &r) const {
        Mask deforms = number(r[10]) == UInt32(BvhTree::DeformingTriangle);
        UInt32 first = number(r[0]), apart = number(r[2]);
        InstanceTable::Step s = m_instances.step_at(time, number(r[1]));
        auto key = [&](const UInt32 &step) {
            return jit::gather_packet(m_keys, first + step * apart, BvhTree::PrimSize, deforms);
        };
        std::vector<Value> a = key(s.first), b = key(s.next);
        for (size_t i = 0; i < 9; ++i)
            r[i] = select(deforms, lerp(Float(a[i]), Float(b[i]), s.fraction), Float(r[i]));
    }

    static double epsilon() { return variant().double_precision ? 0x1p-52 : 0x1p-23; }

    bool m_robust;
    UInt32 m_root;
    Float m_nodes, m_prims;
    Float m_keys; // only if triangles deform, which they do inside of instances
    Table<AnalyticShape> m_analytic;
    const InstanceTable &m_instances; // the scene's
    UInt32 m_instance_roots;          // by instance; none without instances
};

} // namespace

std::unique_ptr<Accelerator> make_bvh_accelerator(const Geometry &geometry) {
    return std::make_unique<BvhAccelerator>(geometry);
}

} // namespace umbel
