// jit/assemble.cpp: liveness, code placement and emission, in this order.
//
//   1. live     from the roots, through loops, branches and calls: which state, outputs and inputs matter
//   2. order    each function's live nodes, operands first, in an order that follows from the program's
//               structure alone: tracing the same program again gives the same text
//   3. place    each floating node in a region: out of loops, into branches
//   4. emit     instructions region by region
//
// All walks use explicit stacks: programs may be a million operations deep.
#include "jit/assemble.h"
#include <cstring>
#include <unordered_map>

namespace umbel::jit {

namespace {

bool is_pure(Op op) {
    return (op >= Op::Neg && op <= Op::Select) || op == Op::ArrayNew || op == Op::ArrayGet ||
           op == Op::ArraySet || op == Op::PacketGet;
}
bool is_elementwise(Op op) { return op >= Op::Neg && op <= Op::Select; }

// ---- 1. liveness

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

// ---- 2 to 4: one function

struct FunctionRoots {
    std::vector<NodeId> effects, outputs; // effects first, in program order
};

class FunctionEmitter {
public:
    FunctionEmitter(Context &c, Assembly &out, RegionId function, const CallRecord *call,
                    uint32_t size, bool canonical)
        : c(c), g(c.graph), out(out), function(function), call(call), size(size),
          canonical(canonical) {}

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
    Role role(NodeId id) const {
        const Node &n = g[id];
        if (function == 0 || n.op == Op::Literal)
            return Role::Local;
        if (n.op == Op::Address || (n.op == Op::Buffer && n.size == 1))
            return Role::Data;
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
    uint32_t pointer_argument(NodeId address);
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

// ---- 4. emit

uint32_t FunctionEmitter::argument(ArgKind kind, Type type, Binding binding, bool small) {
    out.program.args.push_back({ kind, type, uint8_t(small) });
    out.bindings.push_back(binding);
    return uint32_t(out.bindings.size() - 1);
}

uint32_t FunctionEmitter::pointer_argument(NodeId address) {
    NodeId buffer = g[address].dep[0];
    for (size_t i = 0; i < out.bindings.size(); ++i) // few pointers a kernel: a scan will do
        if (out.bindings[i].node == buffer && out.program.args[i].kind == ArgKind::Pointer)
            return uint32_t(i);
    return argument(ArgKind::Pointer, g[buffer].type, { .node = buffer },
                    g[buffer].size < (1u << 31));
}

uint32_t FunctionEmitter::data_leaf(NodeId id) {
    Type type = g[id].op == Op::Address ? Type::Ptr : g[id].type;
    uint32_t align = uint32_t(bytes(type));
    fn.data_bytes = (fn.data_bytes + align - 1) / align * align;
    uint32_t offset = fn.data_bytes;
    fn.data_bytes += align;
    fields.push_back({ offset, uint32_t(leaves.size()), type });
    leaves.push_back(id);
    return push({ .op = Op::Data, .type = type, .imm = offset });
}

uint32_t FunctionEmitter::capture(NodeId id) {
    uint32_t k = 0;
    if (canonical) {
        k = uint32_t(std::find(captures.begin(), captures.end(), id) - captures.begin());
        if (k == captures.size())
            captures.push_back(id);
        k += 1u << 16; // apart from the arguments; the bytes name the captured node below
        return push({ .op = Op::Param,
                      .type = g[id].type,
                      .length = g[id].length,
                      .imm = uint64_t(id) << 32 | k });
    }
    uint32_t number = 0; // live parameters are numbered without gaps
    for (size_t i = 0; i < call->captures.size() + call->args.size(); ++i) {
        if (i >= call->args.size() && call->captures[i - call->args.size()] == id)
            return push(
                { .op = Op::Param, .type = g[id].type, .length = g[id].length, .imm = number });
        number += call->live_param[i];
    }
    throw InternalError("a captured value is missing from its call");
}

void FunctionEmitter::emit_region(RegionId region) {
    auto it = m_lists.find(region);
    if (it != m_lists.end())
        for (NodeId id : it->second)
            emit(id);
}

void FunctionEmitter::emit(NodeId id) {
    const Node n = g[id];
    uint32_t v = NoValue;
    Inst inst{ .op = n.op, .type = n.type, .length = n.length };
    switch (role(id)) {
    case Role::Data: c.scratch[id].value = data_leaf(id); return;
    case Role::Capture:
        if (n.size == 1 && n.region == 0) // may be evaluated later too, and is data then
            uniforms.push_back(id);
        c.scratch[id].value = capture(id);
        return;
    case Role::Local: break;
    }
    if (function && n.op != Op::Literal && g.region(n.region).function != function)
        uniforms.push_back(id);
    switch (n.op) {
    case Op::Literal:
        inst.imm = n.imm;
        inst.uniform = function == 0;
        v = push(inst);
        break;
    case Op::Buffer:
        if (n.size == 1)
            v = push({ .op = Op::LoadScalar,
                       .type = n.type,
                       .uniform = 1,
                       .imm = argument(ArgKind::Scalar, n.type, { .node = id }) });
        else
            v = push({ .op = Op::LoadLane,
                       .type = n.type,
                       .imm = argument(ArgKind::Input, n.type, { .node = id }) });
        break;
    case Op::Address:
        v = push(
            { .op = Op::ArgPtr, .type = Type::Ptr, .uniform = 1, .imm = pointer_argument(id) });
        break;
    case Op::Phi: return; // with its loop
    case Op::Param: {
        uint32_t k = uint32_t(n.imm), number = k;
        if (!canonical) {
            number = 0;
            for (uint32_t i = 0; i < k; ++i)
                number += call->live_param[i];
        }
        inst.imm = number;
        v = push(inst);
        break;
    }
    case Op::Active: v = push(inst); break;
    case Op::Lane: v = push(inst); break;
    case Op::Loop: emit_loop(id); return;
    case Op::If: emit_if(id); return;
    case Op::Call: emit_call(id); return;
    case Op::Extern: emit_extern(id); return;
    case Op::LoopOut: {
        auto &loop = static_cast<LoopRecord &>(*g.record_of(n.dep[0]));
        v = value(loop.phi[n.imm]);
        break;
    }
    case Op::IfOut: return; // with its conditional
    case Op::CallOut: {
        auto &record = static_cast<CallRecord &>(*g.record_of(n.dep[0]));
        inst.arg[0] = value(n.dep[0]);
        for (uint64_t k = 0; k < n.imm; ++k)
            inst.imm += record.live_out[k];
        v = push(inst);
        break;
    }
    default: {
        bool uniform = function == 0 && is_elementwise(n.op) && c.scratch[id].late == 0;
        for (int i = 0; i < 4; ++i) {
            if (!n.dep[i] || (n.op == Op::ArrayNew && i > 0))
                continue;
            inst.arg[i] = value(n.dep[i]);
            uniform = uniform && fn.insts[inst.arg[i]].uniform;
        }
        // Moved into a branch or a loop's body, a gather loses the lanes outside, which may have no
        // address there, and so does a write, which may happen in place.
        int mask = n.op == Op::Gather || n.op == Op::Packet ? 2 : n.op == Op::ArraySet ? 3 : -1;
        if (mask >= 0 && c.scratch[id].late != home_of(n.dep[mask])) {
            uint32_t active = push({ .op = Op::Active, .type = Type::Bool });
            inst.arg[mask] = push({ .op = Op::And,
                                    .type = Type::Bool,
                                    .arg = { inst.arg[mask], active, NoValue, NoValue } });
        }
        inst.imm = n.imm;
        inst.uniform = uniform;
        v = push(inst);
    }
    }
    c.scratch[id].value = v;
}

void FunctionEmitter::emit_loop(NodeId id) {
    auto &loop = static_cast<LoopRecord &>(*g.record_of(id));
    push({ .op = Op::LoopBegin, .type = Type::Void });
    std::vector<std::pair<uint32_t, NodeId>> phis;
    for (size_t k = 0; k < loop.init.size(); ++k) {
        if (!loop.live[k] || loop.invariant[k])
            continue;
        const Node &p = g[loop.phi[k]];
        uint32_t v = push({ .op = Op::Phi,
                            .type = p.type,
                            .length = p.length,
                            .arg = { value(loop.init[k]), NoValue, NoValue, NoValue } });
        c.scratch[loop.phi[k]].value = v;
        phis.push_back({ v, loop.next[k] });
    }
    emit_region(loop.head);
    push({ .op = Op::LoopWhile,
           .type = Type::Void,
           .arg = { value(loop.condition), NoValue, NoValue, NoValue } });
    emit_region(loop.body);
    for (auto [v, next] : phis)
        fn.insts[v].arg[1] = value(next);
    push({ .op = Op::LoopEnd, .type = Type::Void });
    c.scratch[id].value = 0; // a loop has no value of its own
}

void FunctionEmitter::emit_if(NodeId id) {
    auto &branch = static_cast<IfRecord &>(*g.record_of(id));
    uint32_t condition = value(g[id].dep[0]);
    push(
        { .op = Op::IfBegin, .type = Type::Void, .arg = { condition, NoValue, NoValue, NoValue } });
    emit_region(branch.then_region);
    push({ .op = Op::Else, .type = Type::Void });
    emit_region(branch.else_region);
    push({ .op = Op::EndIf, .type = Type::Void });
    for (size_t k = 0; k < branch.then_out.size(); ++k) {
        if (!branch.live[k])
            continue;
        const Node &t = g[branch.then_out[k]];
        uint32_t v = push({ .op = Op::Merge,
                            .type = t.type,
                            .length = t.length,
                            .arg = { condition, value(branch.then_out[k]),
                                     value(branch.else_out[k]), NoValue } });
        NodeId result = g.find({ .op = Op::IfOut,
                                 .type = t.type,
                                 .size = g[id].size,
                                 .imm = k,
                                 .length = t.length,
                                 .dep = { id, 0, 0, 0 } });
        if (result && seen(result))
            c.scratch[result].value = v;
    }
    c.scratch[id].value = 0;
}

void FunctionEmitter::emit_call(NodeId id) {
    auto &record = static_cast<CallRecord &>(*g.record_of(id));
    CallSite site;
    for (size_t k = 0; k < record.live_param.size(); ++k)
        if (record.live_param[k])
            site.args.push_back(value(
                k < record.args.size() ? record.args[k] : record.captures[k - record.args.size()]));
    for (size_t k = 0; k < record.out_types.size(); ++k)
        if (record.live_out[k])
            site.out_types.push_back(record.out_types[k]);
    if (!canonical) {
        site.table = argument(ArgKind::CallTable, Type::U32, { .call = &record });
        site.data = argument(ArgKind::CallData, Type::U8, { .call = &record });
    }
    uint32_t number = uint32_t(out.program.calls.size());
    Inst inst{ .op = Op::Call,
               .type = Type::Void,
               .arg = { value(g[id].dep[0]), value(g[id].dep[1]), NoValue, NoValue },
               .imm = number };
    out.program.calls.push_back(std::move(site));
    calls.push_back({ &record, number });
    c.scratch[id].value = push(inst);
}

void FunctionEmitter::emit_extern(NodeId id) {
    auto &record = static_cast<ExternRecord &>(*g.record_of(id));
    ExternSite site;
    site.kind = record.kind;
    site.text = record.text;
    auto pointer = [&](NodeId address) { // never instance data: the same for the whole kernel
        uint32_t arg = canonical ? address : pointer_argument(address);
        return push({ .op = Op::ArgPtr, .type = Type::Ptr, .uniform = function == 0, .imm = arg });
    };
    if (record.fn)
        site.fn = pointer(record.fn);
    if (record.user)
        site.user = pointer(record.user);
    site.mask = value(record.mask);
    for (NodeId i : record.inputs) {
        site.inputs.push_back(value(i));
        site.in_types.push_back(g[i].type);
    }
    site.out_types = record.out_types;
    out.program.externs.push_back(std::move(site));
    c.scratch[id].value =
        push({ .op = Op::Extern, .type = Type::Void, .imm = out.program.externs.size() - 1 });
}

Function FunctionEmitter::run(const FunctionRoots &roots) {
    order(roots);
    place(roots);
    emit_region(function);
    for (size_t k = 0; k < roots.outputs.size(); ++k) {
        uint32_t v = value(roots.outputs[k]);
        if (function == 0) {
            uint32_t arg =
                argument(ArgKind::Output, g[roots.outputs[k]].type, { .output = uint32_t(k) });
            push({ .op = Op::StoreLane,
                   .type = Type::Void,
                   .arg = { v, NoValue, NoValue, NoValue },
                   .imm = arg });
        } else {
            fn.outputs.push_back(v);
        }
    }
    return std::move(fn);
}

} // namespace

// ---- whole kernels

static void begin_epoch(Context &c) {
    if (c.scratch.size() < c.graph.capacity())
        c.scratch.resize(c.graph.capacity());
    ++c.epoch;
}

Assembly assemble(Context &c, const std::vector<NodeId> &outputs,
                  const std::vector<NodeId> &effects, uint32_t size) {
    Assembly out;
    Graph &g = c.graph;

    // Liveness of everything, subroutines included
    begin_epoch(c);
    Liveness live(c);
    for (NodeId e : effects)
        live.root(e, 0);
    for (NodeId o : outputs)
        live.root(o, 0);
    live.run();
    uint32_t live_epoch = c.epoch;
    (void)live_epoch;

    // The kernel
    std::vector<std::pair<CallRecord *, uint32_t>> pending;
    out.program.functions.resize(1);
    begin_epoch(c);
    {
        FunctionEmitter entry(c, out, 0, nullptr, size, false);
        out.program.functions[0] = entry.run({ effects, outputs });
        pending = std::move(entry.calls);
    }

    // Its subroutines, and theirs
    std::unordered_map<std::string, uint32_t> known;
    for (size_t i = 0; i < pending.size(); ++i) {
        auto [record, number] = pending[i];
        if (out.layouts.size() <= number)
            out.layouts.resize(number + 1);
        CallLayout layout{ record, {}, {}, {} };
        for (auto &body : record->bodies) {
            FunctionRoots roots;
            roots.effects = body.effects;
            for (size_t k = 0; k < record->out_types.size(); ++k)
                if (record->live_out[k])
                    roots.outputs.push_back(body.outputs[k]);
            begin_epoch(c);
            FunctionEmitter emitter(c, out, record->region, record, size, false);
            Function fn = emitter.run(roots);
            for (size_t k = 0; k < record->live_param.size(); ++k)
                if (record->live_param[k])
                    fn.params.push_back(
                        g[k < record->args.size() ? record->args[k]
                                                  : record->captures[k - record->args.size()]]
                            .type);

            // Identical subroutines become one
            std::string key(reinterpret_cast<const char *>(fn.insts.data()),
                            fn.insts.size() * sizeof(Inst));
            key.append(reinterpret_cast<const char *>(fn.outputs.data()), fn.outputs.size() * 4);
            key.append(reinterpret_cast<const char *>(fn.params.data()), fn.params.size());
            uint32_t index = uint32_t(out.program.functions.size());
            bool merge = c.has(Flag::MergeFunctions) && emitter.calls.empty();
            auto it = merge ? known.find(key) : known.end();
            if (it != known.end()) {
                index = it->second;
            } else {
                out.program.functions.push_back(std::move(fn));
                if (merge)
                    known.emplace(std::move(key), index);
                pending.insert(pending.end(), emitter.calls.begin(), emitter.calls.end());
            }
            auto &callees = out.program.calls[number].callees;
            auto pos = std::find(callees.begin(), callees.end(), index);
            layout.callee.push_back(uint32_t(pos - callees.begin()));
            if (pos == callees.end())
                callees.push_back(index);

            // Its data, by number of the leaf in the canonical order
            for (DataField &f : emitter.fields) {
                NodeId id = emitter.leaves[f.leaf];
                auto leaf = std::find(body.leaves.begin(), body.leaves.end(), id);
                f.leaf = uint32_t(leaf - body.leaves.begin());
                if (leaf != body.leaves.end())
                    continue;
                // Evaluated since the call was traced: so must be what other instances have in its place
                auto uniform = std::find(body.uniforms.begin(), body.uniforms.end(), id);
                check(uniform != body.uniforms.end());
                size_t k = size_t(uniform - body.uniforms.begin());
                f.leaf += uint32_t(k);
                for (auto &instance : record->instances)
                    if (instance.body == layout.fields.size() &&
                        g[instance.uniforms[k]].op != Op::Buffer)
                        out.unready.push_back(instance.uniforms[k]);
            }
            layout.fields.push_back(std::move(emitter.fields));
            layout.data_bytes.push_back(out.program.functions[index].data_bytes);
        }
        out.layouts[number] = std::move(layout);
    }
    return out;
}

CanonicalBody canonicalize(Context &c, const CallRecord &call, const CallRecord::Body &body) {
    begin_epoch(c);
    Liveness live(c);
    live.whole_body(call, body);
    live.run();
    begin_epoch(c);
    Assembly scrap;
    FunctionEmitter emitter(c, scrap, call.region, &call, 0, true);
    Function fn = emitter.run({ body.effects, body.outputs });
    CanonicalBody result;
    result.leaves = std::move(emitter.leaves);
    result.uniforms = std::move(emitter.uniforms);
    result.captures = std::move(emitter.captures);
    auto append = [&](const void *p, size_t n) {
        result.bytes.append(static_cast<const char *>(p), n);
    };
    append(fn.insts.data(), fn.insts.size() * sizeof(Inst));
    append(fn.outputs.data(), fn.outputs.size() * 4);
    for (auto &site : scrap.program.calls)
        append(site.args.data(), site.args.size() * 4);
    for (auto &[record, number] : emitter.calls)
        append(record->signature.data(), sizeof(record->signature));
    for (auto &site : scrap.program.externs) {
        append(site.text.data(), site.text.size());
        append(&site.kind, 1);
        append(&site.fn, 12);
        append(site.inputs.data(), site.inputs.size() * 4);
    }
    return result;
}

} // namespace umbel::jit
