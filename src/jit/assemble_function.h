// jit/assemble_function.h: orders, places and emits the live nodes of one function.
#pragma once
#include "jit/assemble.h"
#include <cstring>
#include <unordered_map>
#include <unordered_set>

namespace umbel::jit::assembling {

inline bool is_pure(Op op) {
    return is_elementwise(op) || op == Op::ArrayNew || op == Op::ArrayGet || op == Op::ArraySet ||
           op == Op::PacketGet;
}

struct FunctionRoots {
    std::vector<NodeId> effects, outputs; // effects first, in program order
};

class FunctionEmitter {
public:
    FunctionEmitter(Context &c, Assembly &out, RegionId function, const CallRecord *call,
                    uint32_t size, bool canonical)
        : c(c), g(c.graph), out(out), function(function), call(call), size(size),
          canonical(canonical) {}
    /// Data that all instances of the subroutine have in common: arguments of the kernel.
    std::unordered_set<NodeId> common;

    /// Emits the function; the outputs of the kernel are stored, those of a subroutine returned.
    Function run(const FunctionRoots &roots);

    std::vector<NodeId> leaves;   // data read, in order
    std::vector<NodeId> uniforms; // of the subroutine: values of the kernel used here, in order
    std::vector<DataField> fields;
    std::vector<NodeId> captures;                         // canonical form only
    std::vector<std::pair<CallRecord *, uint32_t>> calls; // sites to fill in afterwards

private:
    // How a node that this function meets gets its value.
    enum class Role { Local, Data, Capture };
    static bool is_data(const Node &n) {
        return n.op == Op::Address || (n.op == Op::Buffer && n.size == 1);
    }
    Role role(NodeId id) const {
        const Node &n = g[id];
        if (function == 0 || n.op == Op::Literal)
            return Role::Local;
        if (is_data(n))
            return common.count(id) ? Role::Local : Role::Data;
        if (g.region(n.region).function == function)
            return Role::Local;
        if (n.region == 0 && n.size == 1 &&
            (is_pure(n.op) || n.op == Op::Gather || n.op == Op::Packet || n.op == Op::Active))
            return Role::Local;
        return Role::Capture;
    }

    // An invariant Phi of this function's loops is its initial value. One of a caller's is a capture.
    NodeId resolve(NodeId id) const {
        while (g[id].op == Op::Phi && g.region(g[id].region).function == function) {
            auto &loop = static_cast<LoopRecord &>(*g.record_of(g.region(g[id].region).owner));
            size_t k = uint32_t(g[id].imm);
            if (!loop.invariant[k])
                break;
            id = loop.init[k];
        }
        return id;
    }

    template <class F> void for_each_operand(NodeId id, F &&f);
    void order(const FunctionRoots &roots);
    void place(const FunctionRoots &roots);
    void group_gathers(std::vector<NodeId> &list);
    void use(NodeId id, RegionId region);
    RegionId home_of(NodeId id) const;
    bool can_hoist(const Node &n) const { return n.op != Op::ArrayNew && n.op != Op::ArraySet; }

    void emit_region(RegionId region);
    void emit(NodeId id);
    void emit_loop(NodeId id);
    void emit_if(NodeId id);
    void emit_call(NodeId id);
    void emit_extern(NodeId id);
    uint32_t push(Inst inst) {
        fn.insts.push_back(inst);
        return uint32_t(fn.insts.size() - 1);
    }
    uint32_t value(NodeId id) {
        id = resolve(id);
        check(seen(id) && c.scratch[id].value != NoValue);
        return c.scratch[id].value;
    }
    bool seen(NodeId id) const { return c.scratch[id].epoch == c.epoch; }
    uint32_t argument(ArgKind kind, Type type, Binding binding, bool small = true);
    uint32_t argument_of(ArgKind kind, NodeId buffer);
    uint32_t data_leaf(NodeId id);
    uint32_t capture(NodeId id);

    Context &c;
    Graph &g;
    Assembly &out;
    RegionId function;
    const CallRecord *call;
    uint32_t size;
    bool canonical;
    Function fn;
    std::vector<NodeId> m_order;
    std::unordered_map<RegionId, std::vector<NodeId>> m_lists;
    std::unordered_map<NodeId, std::vector<NodeId>> m_readers; // of local arrays
};

// Calls f(operand, region of the use) for what must be computed before `id` can be.
template <class F> void FunctionEmitter::for_each_operand(NodeId id, F &&f) {
    const Node &n = g[id];
    if (role(id) != Role::Local)
        return;
    RegionId here = n.flags & Pinned ? n.region : c.scratch[id].late;
    switch (n.op) {
    case Op::Literal:
    case Op::Buffer:
    case Op::Address:
    case Op::Phi:
    case Op::Param:
    case Op::Active:
    case Op::Lane: return;
    case Op::Loop: {
        auto &loop = static_cast<LoopRecord &>(*g.record_of(id));
        for (size_t k = 0; k < loop.init.size(); ++k)
            if (loop.live[k] && !loop.invariant[k])
                f(loop.init[k], here);
        for (size_t k = 0; k < loop.init.size(); ++k)
            if (loop.live[k] && !loop.invariant[k])
                f(loop.phi[k], loop.head);
        f(loop.condition, loop.head);
        for (NodeId e : g.region(loop.head).effects)
            f(e, loop.head);
        for (NodeId e : g.region(loop.body).effects)
            f(e, loop.body);
        for (size_t k = 0; k < loop.init.size(); ++k)
            if (loop.live[k] && !loop.invariant[k])
                f(loop.next[k], loop.body);
        return;
    }
    case Op::If: {
        auto &branch = static_cast<IfRecord &>(*g.record_of(id));
        f(n.dep[0], here);
        for (NodeId e : g.region(branch.then_region).effects)
            f(e, branch.then_region);
        for (size_t k = 0; k < branch.then_out.size(); ++k)
            if (branch.live[k])
                f(branch.then_out[k], branch.then_region);
        for (NodeId e : g.region(branch.else_region).effects)
            f(e, branch.else_region);
        for (size_t k = 0; k < branch.else_out.size(); ++k)
            if (branch.live[k])
                f(branch.else_out[k], branch.else_region);
        return;
    }
    case Op::Call: {
        auto &record = static_cast<CallRecord &>(*g.record_of(id));
        f(n.dep[0], here);
        f(n.dep[1], here);
        for (size_t k = 0; k < record.live_param.size(); ++k)
            if (record.live_param[k])
                f(k < record.args.size() ? record.args[k] : record.captures[k - record.args.size()],
                  here);
        return;
    }
    case Op::Extern: {
        auto &e = static_cast<ExternRecord &>(*g.record_of(id));
        for (NodeId i : e.inputs)
            f(i, here);
        f(e.mask, here);
        return;
    }
    case Op::ArrayNew: f(n.dep[0], here); return; // the other one names its function
    default:
        for (NodeId d : n.dep)
            if (d && !(g[d].op == Op::Buffer && n.op == Op::Address))
                f(d, here);
    }
}

} // namespace umbel::jit::assembling
