// jit/assemble_liveness.h: which state, outputs and inputs of loops, branches and calls matter.
#pragma once
#include "jit/assemble_function.h"

namespace umbel::jit::assembling {

class Liveness {
public:
    Liveness(Context &c) : c(c), g(c.graph) {}

    void root(NodeId id, RegionId function) { visit(id, function); }
    void run() {
        while (!m_stack.empty()) {
            auto [id, function] = m_stack.back();
            m_stack.pop_back();
            expand(id, function);
        }
    }
    void whole_body(const CallRecord &call, const CallRecord::Body &body) {
        for (NodeId o : body.outputs)
            visit(o, call.region);
        for (NodeId e : body.effects)
            visit(e, call.region);
    }

private:
    bool marked(NodeId id) {
        if (c.scratch[id].epoch == c.epoch)
            return true;
        c.scratch[id].epoch = c.epoch;
        return false;
    }

    // `function` sees `id`. A node of another function is a constant there, or comes as a parameter.
    void visit(NodeId id, RegionId function) {
        const Node &n = g[id];
        if (n.op == Op::Literal || n.op == Op::Buffer || n.op == Op::Address) {
            if (n.op != Op::Buffer || n.size == 1 || function == 0)
                return;
        }
        RegionId home = g.region(n.region).function;
        if (home != function) {
            if (n.region == 0 && n.size == 1 &&
                (is_pure(n.op) || n.op == Op::Gather || n.op == Op::Packet || n.op == Op::Active))
                return expand_foreign(id, function);
            return capture(id, function);
        }
        if (!marked(id))
            m_stack.push_back({ id, function });
    }

    // Uniform expressions are recomputed in the subroutine; only what they capture matters here.
    void expand_foreign(NodeId id, RegionId function) {
        if (m_foreign.insert({ uint64_t(function) << 32 | id, 1 }).second)
            m_stack.push_back({ id, function });
    }

    void capture(NodeId id, RegionId function) {
        NodeId owner = g.region(function).owner;
        if (!owner)
            return; // a single body is being made canonical: what it captures is not our business
        auto &call = static_cast<CallRecord &>(*g.record_of(owner));
        prepare(call);
        for (size_t k = 0; k < call.captures.size(); ++k)
            if (call.captures[k] == id)
                call.live_param[call.args.size() + k] = 1;
        visit(id, g.region(g.region(function).parent).function);
    }

    void prepare(CallRecord &call) {
        if (call.epoch == c.epoch)
            return;
        call.epoch = c.epoch;
        bool all = !c.has(Flag::OptimizeCalls);
        call.live_out.assign(call.out_types.size(), 0);
        call.live_param.assign(call.args.size() + call.captures.size(), 0);
        if (all) {
            for (size_t k = 0; k < call.live_out.size(); ++k)
                live_output(call, k);
            for (size_t k = 0; k < call.args.size(); ++k)
                live_param(call, k);
        }
    }
    void live_output(CallRecord &call, size_t k) {
        if (call.live_out[k])
            return;
        call.live_out[k] = 1;
        for (auto &body : call.bodies)
            visit(body.outputs[k], call.region);
    }
    void live_param(CallRecord &call, size_t k) {
        if (call.live_param[k])
            return;
        call.live_param[k] = 1;
        visit(call.args[k], g.region(g.region(call.region).parent).function);
    }
    void live_state(LoopRecord &loop, size_t k, RegionId function) {
        if (loop.live[k])
            return;
        loop.live[k] = 1;
        visit(loop.init[k], function);
        visit(loop.phi[k], function);
        visit(loop.next[k], function);
    }
    void effects(const std::vector<NodeId> &list, RegionId function) {
        for (NodeId e : list)
            visit(e, function);
    }

    void expand(NodeId id, RegionId function) {
        const Node &n = g[id];
        switch (n.op) {
        case Op::Phi: {
            NodeId owner = g.region(n.region).owner;
            if (!owner)
                fail("a value of a recorded loop is evaluated while the loop is being traced");
            auto &loop = static_cast<LoopRecord &>(*g.record_of(owner));
            size_t k = uint32_t(n.imm);
            visit(owner, function);
            if (loop.invariant[k])
                visit(loop.init[k], function);
            else
                live_state(loop, k, function);
            return;
        }
        case Op::LoopOut: {
            auto &loop = static_cast<LoopRecord &>(*g.record_of(n.dep[0]));
            visit(n.dep[0], function);
            prepare_loop(loop, function);
            live_state(loop, n.imm, function);
            return;
        }
        case Op::Loop: {
            auto &loop = static_cast<LoopRecord &>(*g.record_of(id));
            prepare_loop(loop, function);
            visit(loop.condition, function);
            effects(g.region(loop.head).effects, function);
            effects(g.region(loop.body).effects, function);
            return;
        }
        case Op::If: {
            auto &branch = static_cast<IfRecord &>(*g.record_of(id));
            prepare_if(branch);
            visit(n.dep[0], function);
            effects(g.region(branch.then_region).effects, function);
            effects(g.region(branch.else_region).effects, function);
            return;
        }
        case Op::IfOut: {
            auto &branch = static_cast<IfRecord &>(*g.record_of(n.dep[0]));
            prepare_if(branch);
            visit(n.dep[0], function);
            branch.live[n.imm] = 1;
            visit(branch.then_out[n.imm], function);
            visit(branch.else_out[n.imm], function);
            return;
        }
        case Op::Call: {
            auto &call = static_cast<CallRecord &>(*g.record_of(id));
            prepare(call);
            visit(n.dep[0], function);
            visit(n.dep[1], function);
            for (auto &body : call.bodies)
                effects(body.effects, call.region);
            return;
        }
        case Op::CallOut: {
            auto &call = static_cast<CallRecord &>(*g.record_of(n.dep[0]));
            prepare(call);
            visit(n.dep[0], function);
            live_output(call, n.imm);
            return;
        }
        case Op::Param: {
            NodeId owner = g.region(n.region).owner;
            if (owner) { // absent while a single body is made canonical
                auto &call = static_cast<CallRecord &>(*g.record_of(owner));
                prepare(call);
                live_param(call, uint32_t(n.imm));
            }
            return;
        }
        case Op::Extern: {
            auto &e = static_cast<ExternRecord &>(*g.record_of(id));
            for (NodeId i : e.inputs)
                visit(i, function);
            visit(e.mask, function);
            return;
        }
        default:
            for (NodeId d : n.dep)
                if (d)
                    visit(d, function);
        }
    }

    void prepare_loop(LoopRecord &loop, RegionId function) {
        if (loop.epoch == c.epoch)
            return;
        loop.epoch = c.epoch;
        loop.live.assign(loop.init.size(), 0);
        if (!c.has(Flag::OptimizeLoops))
            for (size_t k = 0; k < loop.init.size(); ++k)
                live_state(loop, k, function);
    }
    void prepare_if(IfRecord &branch) {
        if (branch.epoch == c.epoch)
            return;
        branch.epoch = c.epoch;
        branch.live.assign(branch.then_out.size(), 0);
    }

    Context &c;
    Graph &g;
    std::vector<std::pair<NodeId, RegionId>> m_stack;
    std::unordered_map<uint64_t, char> m_foreign;
};

} // namespace umbel::jit::assembling
