// jit/rebuild.cpp: see jit/rebuild.h.
#include "jit/rebuild.h"
#include <unordered_map>

namespace umbel::jit {

Value rebuild(Context &c, NodeId root, const std::function<Value(NodeId)> &leaf) {
    std::unordered_map<NodeId, Value> done;
    std::vector<NodeId> stack{ root };
    while (!stack.empty()) {
        NodeId id = stack.back();
        if (done.count(id)) {
            stack.pop_back();
            continue;
        }
        const Node n = c.graph[id];
        if (Value v = leaf(id); v.valid()) {
            done.emplace(id, std::move(v));
            continue;
        }
        if (!is_elementwise(n.op))
            return {};
        size_t before = stack.size();
        for (NodeId d : n.dep)
            if (d && !done.count(d))
                stack.push_back(d);
        if (stack.size() > before)
            continue;
        auto at = [&](int i) -> const Value & { return done[n.dep[i]]; };
        Value v;
        if (n.op ==
            Op::Bitcast) // two of them part a value from its derivative: no rule must see them
            v = Value::adopt(c, c.graph.make({ .op = n.op,
                                               .type = n.type,
                                               .size = n.size,
                                               .dep = { at(0).id(), 0, 0, 0 } }));
        else
            v = n.op == Op::Cast ? cast(n.type, at(0))
                : n.dep[2]       ? ternary(n.op, at(0), at(1), at(2))
                : n.dep[1]       ? binary(n.op, at(0), at(1))
                                 : unary(n.op, at(0));
        done.emplace(id, std::move(v));
    }
    return done[root];
}

Value outside(const Value &v) {
    Context &c = v.context();
    Graph &g = c.graph;
    if (v.node().region == 0 || g.region(v.node().region).function == 0)
        return v;
    OutsideScope scope(c);
    Value out = rebuild(
        c, v.id(), [&](NodeId id) { return g[id].region == 0 ? Value::share(c, id) : Value(); });
    if (!out.valid())
        return v;
    if (!v.grad_id())
        return out;
    c.tracker->retain(v.grad_id());
    return Value::attach(std::move(out), v.grad_id());
}

} // namespace umbel::jit
