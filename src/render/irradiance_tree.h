// render/irradiance_tree.h: light that falls on points of a surface, and sums over all of them that are fine where it is near
// [Jensen 2002].
//
// Points are the leaves of an octree; an inner node stands for all below it, and is used in their place where it is seen under a
// small solid angle. Nodes lie in memory as they are visited, each with the number of the next one that is not below it: a walk
// has no stack.
#pragma once
#include "core/vector.h"
#include <functional>
#include <span>
#include <vector>

namespace umbel {

class IrradianceTree {
public:
    struct Point {
        std::array<double, 3> p;
        double area;
        std::vector<double> irradiance; // as many numbers as all points have
    };

    IrradianceTree() = default;
    explicit IrradianceTree(std::vector<Point> points);

    bool empty() const { return m_count == 0; }
    /// Calls add() in recorded code for the nodes that are to be summed up as seen from `p`, with the squared distance and a
    /// function for number k of their irradiance times area. A node is opened where its area over the squared distance exceeds
    /// `quality`.
    template <class State, class F>
    State sum(const Vector3 &p, const Float &quality, State state, const Mask &active,
              F &&add) const;

private:
    uint32_t m_count = 0, m_numbers = 0;
    Value m_nodes;      // position and area, four numbers each
    Value m_next;       // after all that is below; of leaves, the next one
    Value m_irradiance; // times area, m_numbers each
};

template <class State, class F>
State IrradianceTree::sum(const Vector3 &p, const Float &quality, State state, const Mask &active,
                          F &&add) const {
    struct Walk {
        State state;
        UInt32 node;
        Mask active;
        UMBEL_STRUCT(state, node, active)
    };
    UInt32 count = jit::opaque(m_count);
    Walk w = jit::loop(
        Walk{ state, UInt32(0u), active & (UInt32(0u) < count) },
        [](const Walk &w) { return w.active; },
        [&](Walk &w) {
            std::vector<Value> v = jit::gather_packet(m_nodes, w.node, 4, w.active);
            UInt32 next(jit::gather(m_next, w.node, w.active)), below = w.node + UInt32(1u);
            Float d2 = squared_norm(Vector3(Float(v[0]), Float(v[1]), Float(v[2])) - p);
            Mask is_used = w.active & ((next == below) | (Float(v[3]) <= quality * d2));
            UInt32 first = w.node * UInt32(m_numbers);
            add(w.state, d2, is_used, [&](const UInt32 &k, const Mask &wanted) {
                return Float(jit::gather(m_irradiance, first + k, wanted));
            });
            w.node = select(is_used, next, below);
            w.active = w.active & (w.node < count);
        },
        "irradiance");
    return w.state;
}

} // namespace umbel
