// ad/replay.cpp: see ad/replay.h.
#include "ad/replay.h"
#include "ad/tracker.h"
#include "jit/host_pointer.h"
#include <algorithm>

namespace umbel::ad {

using namespace jit;

void Originals::remember(Context &c, NodeId id) {
    Entry &e = m_nodes[id];
    if (e.users++)
        return;
    e.node = c.graph[id];
    e.held[0] = Value::share(c, id);
    for (size_t k = 0; k < std::size(e.node.dep); ++k)
        if (e.node.dep[k])
            e.held[k + 1] = Value::share(c, e.node.dep[k]);
}

void Originals::forget(NodeId id) {
    auto it = m_nodes.find(id);
    if (--it->second.users)
        return;
    Entry gone = std::move(it->second); // its values may free more: not while the map changes
    m_nodes.erase(it);
}

const Node &Replay::node(NodeId id) const {
    if (const Node *n = static_cast<AdTracker &>(*c.tracker).originals.find(id))
        return *n;
    return g[id];
}

void operands_of(Context &c, NodeId id, const Node &n, std::vector<NodeId> &out) {
    const Graph &g = c.graph;
    if (const AppliedOp *op = AdTracker::of(c).applied.find(id))
        for (const Value &v : op->inputs)
            out.push_back(v.id());
    for (NodeId d : n.dep)
        if (d)
            out.push_back(d);
    auto add = [&](std::span<const NodeId> list) {
        out.insert(out.end(), list.begin(), list.end());
    };
    if (n.op == Op::Loop) {
        auto &r = static_cast<const LoopRecord &>(*g.record_of(id));
        add(r.init);
        add(r.next);
        out.push_back(r.condition);
    } else if (n.op == Op::If) {
        auto &r = static_cast<const IfRecord &>(*g.record_of(id));
        add(r.then_out);
        add(r.else_out);
    } else if (n.op == Op::Call) {
        auto &r = static_cast<const CallRecord &>(*g.record_of(id));
        add(r.args);
        add(r.captures);
        for (auto &b : r.bodies)
            add(b.outputs);
        for (auto &i : r.instances)
            if (i.body != ~0u)
                for (size_t k = 0; k < r.bodies[i.body].leaves.size(); ++k)
                    if (NodeId leaf = r.data[i.first + k]; !(leaf & IsValue))
                        out.push_back(leaf);
    } else if (n.op == Op::Extern) {
        add(static_cast<const ExternRecord &>(*g.record_of(id)).inputs);
    } else if (n.op == Op::Phi) {
        if (NodeId owner = g.region(n.region).owner) {
            auto &r = static_cast<const LoopRecord &>(*g.record_of(owner));
            out.push_back(r.init[uint32_t(n.imm)]);
        }
    }
}

// Walks with a stack of its own.
bool Replay::depends(NodeId root) {
    struct Frame {
        NodeId id;
        std::vector<NodeId> operands;
        size_t next;
    };
    std::vector<Frame> stack;
    auto answer = [&](NodeId id) -> int { // 1, 0, or -1: not known yet
        if (m_set.count(id))
            return 1;
        auto it = m_depends.find(id);
        return it == m_depends.end() ? -1 : it->second;
    };
    auto push = [&](NodeId id) {
        m_depends[id] = false; // in progress: cycles through loop state add nothing
        stack.push_back({ id, {}, 0 });
        operands_of(c, id, node(id), stack.back().operands);
    };
    if (int a = answer(root); a >= 0)
        return a;
    push(root);
    while (!stack.empty()) {
        Frame &f = stack.back();
        if (f.next == f.operands.size()) {
            stack.pop_back();
            continue;
        }
        NodeId d = f.operands[f.next++];
        int a = answer(d);
        if (a < 0) {
            push(d);
            --stack[stack.size() - 2].next; // ask again when it is known
        } else if (a == 1) {
            m_depends[f.id] = true;
            stack.pop_back();
        }
    }
    return m_depends[root];
}

bool Replay::known(NodeId id) const { return m_values.count(id) != 0; }

static bool is_result(Op op) {
    return op == Op::LoopOut || op == Op::IfOut || op == Op::CallOut || op == Op::ExternOut ||
           op == Op::PacketGet;
}

Value Replay::get(NodeId root) {
    std::vector<NodeId> stack{ root };
    while (!stack.empty()) {
        NodeId id = stack.back();
        if (known(id)) {
            stack.pop_back();
            continue;
        }
        if (auto it = m_leaves.find(id); it != m_leaves.end()) { // another instance's data
            m_values[id] = m_outer ? m_outer->direct(it->second) : Value::share(c, it->second);
            stack.pop_back();
            continue;
        }
        if (!own(id)) {
            // What a body computes from data of its instance alone lies outside of it, too
            if (m_outer && (!m_bound || !depends(id))) {
                m_values[id] = m_outer->get(id);
                stack.pop_back();
                continue;
            }
            if (!m_outer && !depends(id)) {
                m_values[id] = Value::share(c, id);
                stack.pop_back();
                continue;
            }
        }
        const Node n = node(id);
        bool ready = true;
        if (const AppliedOp *op = AdTracker::of(c).applied.find(id)) {
            for (const Value &v : op->inputs)
                if (!known(v.id())) {
                    stack.push_back(v.id());
                    ready = false;
                }
            if (ready)
                apply(*op);
            continue;
        }
        bool simple = !is_result(n.op) && n.op != Op::Phi && n.op != Op::Param &&
                      n.op != Op::Active && n.op != Op::Literal;
        if (simple)
            for (NodeId d : n.dep)
                if (d && g[d].op != Op::Address && !known(d)) {
                    stack.push_back(d);
                    ready = false;
                }
        // One construct may need the results of another, and so on: they wait here, not in nested calls
        if (is_result(n.op) && !m_outputs.count(n.dep[0]) && (!m_outer || own(n.dep[0])))
            for (NodeId d : inputs_of(n.dep[0]))
                if (!known(d)) {
                    stack.push_back(d);
                    ready = false;
                }
        if (!ready)
            continue;
        Value v = compute(id);
        m_values[id] = std::move(v);
        stack.pop_back();
    }
    return m_values[root];
}

void Replay::apply(const AppliedOp &op) {
    std::vector<Value> inputs;
    for (const Value &v : op.inputs)
        inputs.push_back(m_values[v.id()]);
    std::vector<Value> out = custom(op.op->again(), inputs);
    for (size_t k = 0; k < out.size(); ++k)
        m_values[op.outputs[k].id()] = out[k];
}

// The array behind an address, or what takes its place.
Value Replay::source(NodeId address) {
    if (auto it = m_leaves.find(address); it != m_leaves.end())
        return m_outer ? m_outer->direct_source(it->second) : Value::share(c, g[it->second].dep[0]);
    NodeId buffer = g[address].dep[0];
    if (auto it = m_memory.find(buffer); it != m_memory.end())
        return it->second;
    return m_outer ? m_outer->source(address) : Value::share(c, buffer);
}

Value Replay::direct(NodeId id) {
    if (auto it = m_values.find(id); it != m_values.end() && !m_bound)
        return it->second;
    return m_outer ? m_outer->direct(id) : Value::share(c, id);
}

Value Replay::direct_source(NodeId address) {
    NodeId buffer = g[address].dep[0];
    if (auto it = m_memory.find(buffer); it != m_memory.end() && !m_bound)
        return it->second;
    return m_outer ? m_outer->direct_source(address) : Value::share(c, buffer);
}

Value Replay::compute(NodeId id) {
    const Node n = node(id);
    auto at = [&](int i) -> const Value & { return m_values[n.dep[i]]; };
    switch (n.op) {
    case Op::Literal:
    case Op::Buffer:
    case Op::Address:
    case Op::Lane: return Value::share(c, id);
    case Op::Active: return literal(Type::Bool, 1);
    case Op::Cast: return cast(n.type, at(0));
    case Op::Bitcast: { // bits have no derivative; a barrier stays one
        const Node &from = node(n.dep[0]);
        if (is_float(n.type) && from.op == Op::Bitcast && node(from.dep[0]).type == n.type)
            return barrier(get(from.dep[0]));
        return bitcast(n.type, at(0).detached());
    }
    case Op::Param: {
        if (m_params.empty())
            throw InternalError("a parameter is replayed outside of its call");
        return m_params[uint32_t(n.imm)];
    }
    case Op::Phi: { // of a loop whose state was not set: invariant
        auto &r = static_cast<LoopRecord &>(*g.record_of(g.region(n.region).owner));
        return get(r.init[uint32_t(n.imm)]);
    }
    case Op::Gather: return gather(source(n.dep[0]), at(1), at(2));
    case Op::PacketGet: return outputs_of(n.dep[0])[n.imm];
    case Op::ArrayNew: return local_array(at(0), n.length);
    case Op::ArrayGet: return local_get(at(0), at(1), at(2));
    case Op::ArraySet: return local_set(at(0), at(1), at(2), at(3));
    case Op::LoopOut:
    case Op::IfOut:
    case Op::CallOut:
    case Op::ExternOut: return outputs_of(n.dep[0])[n.imm];
    case Op::ScatterInc:
        fail("a value of scatter_inc is needed again for a derivative, which would count twice; "
             "evaluate it first");
    default: break;
    }
    if (n.dep[2])
        return ternary(n.op, at(0), at(1), at(2));
    if (n.dep[1])
        return binary(n.op, at(0), at(1));
    return unary(n.op, at(0));
}

const std::vector<Value> &Replay::outputs_of(NodeId id) {
    auto it = m_outputs.find(id);
    if (it != m_outputs.end())
        return it->second;
    if (m_outer && !own(id))
        return m_outer->outputs_of(id);
    for (NodeId input : inputs_of(id))
        get(input);
    std::vector<Value> out;
    switch (g[id].op) {
    case Op::Loop: out = run_loop(id); break;
    case Op::If: out = run_if(id); break;
    case Op::Call: out = run_call(id); break;
    case Op::Extern: out = run_extern(id); break;
    case Op::Packet: {
        Value index = get(g[id].dep[1]), mask = get(g[id].dep[2]);
        out = gather_packet(source(g[id].dep[0]), index, uint32_t(g[id].imm), mask);
        break;
    }
    default: throw InternalError("no outputs to replay");
    }
    return m_outputs[id] = std::move(out);
}

// Values of this level that a nested region uses.
void Replay::collect(RegionId region, const std::vector<NodeId> &roots,
                     std::vector<NodeId> &out) const {
    std::vector<NodeId> stack = roots, operands;
    tsl::robin_set<NodeId> seen;
    while (!stack.empty()) {
        NodeId id = stack.back();
        stack.pop_back();
        if (!seen.insert(id).second)
            continue;
        if (!g.encloses(region, g[id].region)) {
            if (g[id].op != Op::Address)
                out.push_back(id);
            continue;
        }
        operands.clear();
        operands_of(c, id, node(id), operands);
        stack.insert(stack.end(), operands.begin(), operands.end());
    }
}

// What a construct needs of this level before it is entered.
std::vector<NodeId> Replay::inputs_of(NodeId id) const {
    std::vector<NodeId> out;
    auto add = [&](const std::vector<NodeId> &list) {
        out.insert(out.end(), list.begin(), list.end());
    };
    switch (g[id].op) {
    case Op::Loop: {
        auto &r = static_cast<LoopRecord &>(*g.record_of(id));
        std::vector<NodeId> roots = r.next;
        roots.push_back(r.condition);
        roots.insert(roots.end(), r.init.begin(), r.init.end());
        collect(r.head, roots, out);
        break;
    }
    case Op::If: {
        auto &r = static_cast<IfRecord &>(*g.record_of(id));
        collect(r.then_region, r.then_out, out);
        collect(r.else_region, r.else_out, out);
        out.push_back(g[id].dep[0]);
        break;
    }
    case Op::Call: {
        auto &r = static_cast<CallRecord &>(*g.record_of(id));
        add(r.captures);
        add(r.args);
        out.insert(out.end(), { g[id].dep[0], g[id].dep[1] });
        break;
    }
    case Op::Extern: {
        auto &r = static_cast<ExternRecord &>(*g.record_of(id));
        if (r.kind != ExternSite::Function)
            break;
        add(r.inputs);
        out.push_back(r.mask);
        break;
    }
    case Op::Packet: out.insert(out.end(), { g[id].dep[1], g[id].dep[2] }); break;
    default: break;
    }
    return out;
}

std::vector<Value> Replay::run_loop(NodeId id) {
    auto &r = static_cast<LoopRecord &>(*g.record_of(id));
    std::vector<Value> state;
    std::vector<Value *> pointers;
    for (NodeId i : r.init)
        state.push_back(get(i));
    for (Value &v : state)
        pointers.push_back(&v);
    auto inner = [&] {
        Replay p(c, r.head, this);
        for (size_t k = 0; k < state.size(); ++k)
            p.set(r.phi[k], state[k]);
        return p;
    };
    detail::loop(
        "replayed loop", pointers, [&] { return inner().get(r.condition); },
        [&] {
            Replay p = inner();
            std::vector<Value> next;
            for (NodeId x : r.next)
                next.push_back(p.get(x));
            for (size_t k = 0; k < state.size(); ++k)
                state[k] = next[k];
        });
    return state;
}

std::vector<Value> Replay::run_if(NodeId id) {
    auto &r = static_cast<IfRecord &>(*g.record_of(id));
    Value condition = get(g[id].dep[0]);
    auto branch = [&](RegionId region, const std::vector<NodeId> &outs) {
        return [&, region] {
            Replay p(c, region, this);
            std::vector<Value> v;
            for (NodeId o : outs)
                v.push_back(p.get(o));
            return v;
        };
    };
    return detail::if_("replayed conditional", condition, branch(r.then_region, r.then_out),
                       branch(r.else_region, r.else_out));
}

std::vector<Value> Replay::run_call(NodeId id) {
    auto &r = static_cast<CallRecord &>(*g.record_of(id));
    Value self = get(g[id].dep[0]), mask = get(g[id].dep[1]);
    std::vector<Value> args;
    std::vector<Value *> pointers;
    for (NodeId a : r.args)
        args.push_back(get(a));
    for (Value &v : args)
        pointers.push_back(&v);
    return detail::call("replayed call", self, mask, pointers, uint32_t(r.instances.size()),
                        [&](uint32_t i) -> std::optional<std::vector<Value>> {
                            const auto &instance = r.instances[i];
                            if (instance.body == ~0u)
                                return std::nullopt;
                            const auto &body = r.bodies[instance.body];
                            Replay p(c, r.region, this);
                            for (NodeId id : r.captures)
                                p.set(id, get(id));
                            p.begin_leaves();
                            p.set_params(args);
                            for (size_t j = 0; j < body.leaves.size(); ++j)
                                p.set_leaf(body.leaves[j], r.leaf(g, instance, j));
                            auto &originals = static_cast<AdTracker &>(*c.tracker).originals;
                            for_settled_uniforms(c, originals, r, instance,
                                                 [&](NodeId u, NodeId own) { p.set_leaf(u, own); });
                            std::vector<Value> out;
                            for (NodeId o : body.outputs)
                                out.push_back(p.get(o));
                            return out;
                        });
}

std::vector<Value> Replay::run_extern(NodeId id) {
    auto &r = static_cast<ExternRecord &>(*g.record_of(id));
    if (r.kind != ExternSite::Function)
        return {};
    if (r.text == "scatter_exch" || r.text == "scatter_cas")
        fail("a value of {} is needed again for a derivative, which would write twice; evaluate it "
             "first, outside of the loop or call",
             r.text);
    std::vector<Value> inputs;
    for (NodeId i : r.inputs)
        inputs.push_back(get(i).detached());
    Value mask = get(r.mask);
    auto *fn = reinterpret_cast<ExternFn>(g.buffer_of(g[r.fn].dep[0])->data());
    Value user = Value::share(mask.context(), g[r.user].dep[0]);
    return call_host(r.text, fn, user, inputs, r.out_types, mask);
}

} // namespace umbel::ad
