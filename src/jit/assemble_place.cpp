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
        bool leaf =
            n.op == Op::Literal || n.op == Op::Lane || (is_data(n) && role(id) == Role::Local);
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
    if (c.has(Flag::CodeMotion) &&
        m_readers.empty()) // which must stay before what overwrites their arrays
        for (auto &[region, list] : m_lists)
            group_gathers(list);
}

// Memory answers late, but many questions at once: gathers that do not wait for each other go side by side,
// with what they need before them and everything else after. Between two pinned operations only.
void FunctionEmitter::group_gathers(std::vector<NodeId> &list) {
    std::vector<NodeId> out;
    std::unordered_map<NodeId, uint32_t>
        level; // of nodes between the two: gathers one after another before it
    std::vector<NodeId> stack;
    auto flush = [&](size_t first, size_t last) {
        std::vector<std::vector<NodeId>> gathers; // by level
        level.clear();
        for (size_t i = first; i < last; ++i) {
            NodeId id = list[i];
            uint32_t l = 0;
            for_each_operand(id, [&](NodeId d, RegionId) {
                if (auto it = level.find(resolve(d)); it != level.end())
                    l = std::max(l, it->second + (g[resolve(d)].op == Op::Gather));
            });
            level[id] = l;
            if (g[id].op == Op::Gather) {
                gathers.resize(std::max<size_t>(gathers.size(), l + 1));
                gathers[l].push_back(id);
            }
        }
        constexpr uint32_t Done = ~0u;
        auto append = [&](NodeId root) { // operands first
            stack.assign(1, root);
            while (!stack.empty()) {
                NodeId id = stack.back();
                size_t before = stack.size();
                if (level[id] != Done)
                    for_each_operand(id, [&](NodeId d, RegionId) {
                        auto it = level.find(resolve(d));
                        if (it != level.end() && it->second != Done)
                            stack.push_back(resolve(d));
                    });
                if (stack.size() > before)
                    continue;
                stack.pop_back();
                if (std::exchange(level[id], Done) != Done)
                    out.push_back(id);
            }
        };
        for (auto &side_by_side : gathers)
            for (NodeId id : side_by_side)
                append(id);
        for (size_t i = first; i < last; ++i)
            append(list[i]);
    };
    size_t first = 0;
    for (size_t i = 0; i <= list.size(); ++i)
        if (i == list.size() || (g[list[i]].flags & Pinned)) {
            flush(first, i);
            if (i < list.size())
                out.push_back(list[i]);
            first = i + 1;
        }
    list = std::move(out);
}

} // namespace umbel::jit::assembling
