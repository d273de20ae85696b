// jit/assemble_place.cpp: the order of a function's nodes, and the region that each belongs to.
#include "jit/assemble_function.h"

namespace umbel::jit::assembling {

// ---- 2. order

void FunctionEmitter::order(const FunctionRoots &roots) {
    // Depth first, operands before users. A node is pushed, expanded once, and appended when it comes up
    // again. Reads of a local array come before writes that would overwrite it.
    constexpr uint32_t InProgress = 1, Done = 2;
    std::vector<NodeId> stack, operands;
    auto begin = [&](NodeId id) {
        id = resolve(id);
        if (seen(id))
            return;
        stack.push_back(id);
    };
    auto walk = [&](NodeId root) {
        begin(root);
        while (!stack.empty()) {
            NodeId id = stack.back();
            NodeScratch &s = c.scratch[id];
            if (s.epoch != c.epoch) {
                s = { c.epoch, NoValue, ~0u, InProgress };
                operands.clear();
                for_each_operand(id, [&](NodeId d, RegionId) { operands.push_back(resolve(d)); });
                if (g[id].op == Op::ArraySet)
                    if (auto it = m_readers.find(resolve(g[id].dep[0])); it != m_readers.end())
                        for (NodeId r : it->second) // an older reader cannot depend on this write
                            if (g[r].seq < g[id].seq)
                                operands.push_back(r);
                for (size_t i = operands.size(); i-- > 0;)
                    if (!seen(operands[i]))
                        stack.push_back(operands[i]);
            } else {
                stack.pop_back();
                if (s.order == InProgress) {
                    s.order = Done;
                    m_order.push_back(id);
                }
            }
        }
    };

    // Arrays are rare: find their readers in a first walk, then order with them.
    for (NodeId r : roots.effects)
        walk(r);
    for (NodeId r : roots.outputs)
        walk(r);
    bool arrays = false;
    for (NodeId id : m_order)
        if (g[id].op == Op::ArrayGet) {
            m_readers[resolve(g[id].dep[0])].push_back(id);
            arrays = true;
        }
    if (arrays) {
        m_order.clear();
        ++c.epoch;
        for (NodeId r : roots.effects)
            walk(r);
        for (NodeId r : roots.outputs)
            walk(r);
    }
}

// ---- 3. place

void FunctionEmitter::use(NodeId id, RegionId region) {
    id = resolve(id);
    NodeScratch &s = c.scratch[id];
    s.late = s.late == ~0u ? region : g.common_ancestor(s.late, region);
}

// The innermost region that the node cannot leave, as seen from this function.
RegionId FunctionEmitter::home_of(NodeId id) const {
    const Node &n = g[id];
    return g.region(n.region).function == function ? n.region : function;
}

void FunctionEmitter::place(const FunctionRoots &roots) {
    for (NodeId r : roots.effects)
        use(r, g[r].region);
    for (NodeId r : roots.outputs)
        use(r, function);
    for (size_t i = m_order.size(); i-- > 0;) {
        NodeId id = m_order[i];
        const Node &n = g[id];
        NodeScratch &s = c.scratch[id];
        RegionId home = home_of(id);
        RegionId best = s.late == ~0u ? home : s.late;
        bool fixed = (n.flags & Pinned) || n.op == Op::Active || n.op == Op::Phi ||
                     n.op == Op::LoopOut || n.op == Op::IfOut || n.op == Op::CallOut ||
                     n.op == Op::ExternOut || !c.has(Flag::CodeMotion);
        bool leaf = n.op == Op::Literal || n.op == Op::Lane ||
                    (function == 0 && (n.op == Op::Address || (n.op == Op::Buffer && n.size == 1)));
        // Uniform code runs once a launch: at the head of the kernel.
        bool uniform = function == 0 && n.region == 0 && n.size == 1 && is_elementwise(n.op);
        if (leaf)
            best = function;
        else if (fixed || uniform)
            best = home;
        else if (can_hoist(n))
            for (RegionId r = best;
                 r != home;) { // the shallowest loop, and there the innermost branch
                r = g.region(r).parent;
                if (g.region(r).loop_depth < g.region(best).loop_depth)
                    best = r;
            }
        s.late = best;
        for_each_operand(id, [&](NodeId d, RegionId region) { use(d, region); });
    }
    for (NodeId id : m_order)
        m_lists[c.scratch[id].late].push_back(id);
}

} // namespace umbel::jit::assembling
