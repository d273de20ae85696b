// ad/call.cpp: derivatives of recorded calls.
//
// The derivative of a call is a call: of bodies that replay the original ones with derivatives. Where
// gradients go depends on what an input is to the bodies:
//   uniform  one value for all lanes, mostly a member of an instance: summed into a cell in memory
//   lanes    an argument, or a value of the caller that bodies capture: a result, one a lane
//   memory   an array that bodies gather from: scattered to
#include "ad/control.h"
#include <algorithm>
#include <unordered_map>

namespace umbel::ad {

using namespace jit;

namespace {

enum class Kind { Uniform, Lanes, Memory };

class CallOp final : public RecordedOp {
public:
    CallOp(AdTracker &tracker, Value construct, std::vector<Value> inputs, std::vector<Value> outs,
           const std::vector<Collector::Written> &written);
    const char *name() const override { return "call"; }
    void backward() override { Run(*this, true).go(); }
    void forward() override { Run(*this, false).go(); }

private:
    CallRecord &record() const {
        return static_cast<CallRecord &>(*c.graph.record_of(construct.id()));
    }
    std::vector<size_t> reached_by(const std::vector<NodeId> &roots, std::vector<uint8_t> &by_lane);
    Value user_mask();
    std::vector<size_t> used_by(const CallRecord::Body &body, const CallRecord::Instance &instance);

    // One traversal's pass through the call.
    struct Run {
        Run(CallOp &op, bool reverse);
        void go();

    private:
        std::optional<std::vector<Value>> trace(uint32_t i);
        /// Returns the parameters.
        std::vector<Value> bind(Replay &replay, const std::vector<size_t> &used,
                                std::vector<Value> &lanes);
        void bind_leaf(Replay &replay, const std::vector<Value> &lanes, NodeId leaf, NodeId actual);
        std::vector<Value> collect_gradients(const std::vector<size_t> &used,
                                             const std::vector<Value> &lanes);
        /// Passed as an argument of the derivative; other tangents are read as they are.
        bool tangent_is_argument(size_t j) const {
            return op.m_kinds[j] == Kind::Lanes || grads[j].node().region != 0;
        }
        bool in_cell(size_t j) const { return op.m_kinds[j] == Kind::Uniform && !region.inner(j); }
        bool is_result(size_t j) const { return op.m_kinds[j] != Kind::Memory && !in_cell(j); }

        CallOp &op;
        Context &c;
        Tape &tape;
        CallRecord &r;
        bool reverse;
        std::vector<Value> grads; // of the results, or tangents of the inputs
        Inside region;
        std::vector<Value> cells;
        std::vector<Value> args;                // of the call, gradients, lanes that bodies capture
        std::vector<size_t> grad_arg, lane_arg; // numbers in args; 0: none. args[0] stands for none
    };

    std::vector<Kind> m_kinds;
    std::unordered_multimap<NodeId, size_t> m_index; // inputs by node
    std::vector<std::vector<size_t>> m_fixed;        // by body: inputs that all its instances use
};

// ---- the inputs

CallOp::CallOp(AdTracker &tracker, Value construct, std::vector<Value> inputs,
               std::vector<Value> outs, const std::vector<Collector::Written> &written)
    : RecordedOp(tracker, std::move(construct), std::move(inputs), std::move(outs), written) {
    for (size_t i = 0; i < values.size(); ++i)
        m_index.emplace(values[i].id(), i);
    std::vector<uint8_t> by_lane(values.size(), 0);
    for (size_t b = 0; b < record().bodies.size(); ++b) {
        std::vector<NodeId> roots = record().bodies[b].outputs;
        for (const Write &w : m_writes)
            if (w.body == b)
                roots.insert(roots.end(), { w.value.id(), w.index.id(), w.mask.id() });
        m_fixed.push_back(reached_by(roots, by_lane));
    }
    for (NodeId id : record().args)
        for (auto [it, end] = m_index.equal_range(id); it != end; ++it)
            by_lane[it->second] = 1;
    for (size_t i = 0; i < values.size(); ++i)
        m_kinds.push_back(values[i].size() == 1 && values[i].node().region == 0 ? Kind::Uniform
                          : by_lane[i]                                          ? Kind::Lanes
                                                                                : Kind::Memory);
}

// Inputs that a body reaches: captures and what those are computed from, members of instances that it
// calls in turn, and data of the instance that it was traced with, which may be any of the others. Marks
// those that it uses other than to gather from.
std::vector<size_t> CallOp::reached_by(const std::vector<NodeId> &roots,
                                       std::vector<uint8_t> &by_lane) {
    Graph &g = c.graph;
    Replay probe(c, 0);
    for (const Value &v : values)
        probe.set(v.id(), v);
    tsl::robin_set<NodeId> seen;
    std::vector<NodeId> stack = roots, operands;
    std::vector<size_t> found;
    auto note = [&](NodeId id, bool lane) {
        for (auto [it, end] = m_index.equal_range(id); it != end; ++it) {
            found.push_back(it->second);
            if (lane && !is_array(values[it->second]))
                by_lane[it->second] = 1;
        }
    };
    for (NodeId id : roots)
        note(id, true);
    while (!stack.empty()) {
        NodeId id = stack.back();
        stack.pop_back();
        if (!seen.insert(id).second)
            continue;
        const Node &n = g[id];
        if (n.region == 0 && n.op != Op::Address && !probe.depends(id))
            continue;
        operands.clear();
        operands_of(c, id, n, operands);
        for (NodeId d : operands)
            note(d, n.op != Op::Address);
        stack.insert(stack.end(), operands.begin(), operands.end());
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

// Thousands of instances have members of their own: each body gets stand-ins for what it uses alone.
std::vector<size_t> CallOp::used_by(const CallRecord::Body &body,
                                    const CallRecord::Instance &instance) {
    std::vector<size_t> used = m_fixed[instance.body];
    for (size_t j = 0; j < body.leaves.size(); ++j) {
        NodeId id = record().data[instance.first + j];
        if (id & IsValue)
            continue;
        if (c.graph[id].op == Op::Address)
            id = c.graph[id].dep[0];
        for (auto [it, end] = m_index.equal_range(id); it != end; ++it)
            used.push_back(it->second);
    }
    for (NodeId id : record().args)
        for (auto [it, end] = m_index.equal_range(id); it != end; ++it)
            used.push_back(it->second);
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    return used;
}

// The mask without `Active` of the region where the call was traced: that is added again.
Value CallOp::user_mask() {
    Replay replay(c, 0);
    for (RegionId r = 0; r <= c.region; ++r)
        if (NodeId a =
                c.graph.find({ .op = Op::Active, .type = Type::Bool, .imm = uint64_t(r) << 32 }))
            replay.set(a, literal(Type::Bool, 1));
    return replay.get(c.graph[construct.id()].dep[1]);
}

// ---- one pass

CallOp::Run::Run(CallOp &op, bool reverse)
    : op(op), c(op.c), tape(op.tape), r(op.record()), reverse(reverse),
      grads(reverse ? op.output_gradients(r.out_types.size()) : op.input_tangents()),
      region(c, tape, op.values, op.inputs), cells(op.values.size()) {
    size_t n = op.values.size();
    for (NodeId a : r.args)
        args.push_back(Value::share(c, a));
    grad_arg.assign(grads.size(), 0);
    lane_arg.assign(n, 0);
    for (size_t k = 0; k < grads.size(); ++k) {
        if (!grads[k].valid())
            continue;
        if (reverse || tangent_is_argument(k)) {
            grad_arg[k] = args.size();
            args.push_back(grads[k]);
        } else if (grads[k].size() != 1 || op.m_kinds[k] == Kind::Uniform) {
            grads[k] = opaque(grads[k]); // data that the bodies read
        }
    }
    for (size_t j = 0; j < n; ++j)
        if (op.m_kinds[j] == Kind::Lanes) {
            lane_arg[j] = args.size();
            args.push_back(op.values[j].detached());
        }
    if (!reverse)
        return;
    // In a region around this one, cells that are there are added to in place
    region.take_over();
    for (size_t j = 0; j < n && c.region; ++j)
        if (in_cell(j) && op.inputs[j])
            cells[j] = std::move(tape.node(op.inputs[j]).grad);
}

void CallOp::Run::go() {
    Fresh fresh(op.tracker);
    if (reverse)
        op.read_targets();
    else
        op.open_targets();
    std::vector<Value *> pointers;
    for (Value &v : args)
        pointers.push_back(&v);
    Value self = Value::share(c, c.graph[op.construct.id()].dep[0]);
    std::vector<Value> out =
        detail::plain_call("derivative of a call", self, op.user_mask(), pointers,
                           uint32_t(r.instances.size()), [&](uint32_t i) { return trace(i); });
    if (!reverse) {
        op.take(out);
        return op.close_targets();
    }
    std::vector<Value> in(op.values.size());
    for (size_t j = 0, k = 0; j < in.size(); ++j) {
        if (is_result(j))
            in[j] = out[k++];
        else if (in_cell(j) && c.region && op.inputs[j])
            tape.set_grad(op.inputs[j], cells[j]);
        else
            in[j] = cells[j];
    }
    op.give(region, in);
}

// The body of instance i with derivatives.
std::optional<std::vector<Value>> CallOp::Run::trace(uint32_t i) {
    const auto &instance = r.instances[i];
    if (instance.body == ~0u)
        return std::nullopt;
    const auto &body = r.bodies[instance.body];
    std::vector<size_t> used = op.used_by(body, instance);
    std::vector<Value> given(grads.size());
    for (size_t k = 0; k < grads.size(); ++k)
        if (grads[k].valid())
            given[k] = grad_arg[k] ? args[grad_arg[k]] : grads[k];

    // Stand-ins for arguments, for captured values, for the instance's data. A captured value may be
    // computed from what is data of the instance that was traced: not from that of this one.
    Replay outside(c, 0), replay(c, r.region, &outside);
    std::vector<Value> lanes = region.enter(outside, reverse ? nullptr : &given, &used);
    replay.set_params(bind(outside, used, lanes));
    for (NodeId id : r.captures)
        replay.set(id, outside.get(id));
    replay.begin_leaves();
    for (size_t j = 0; j < body.leaves.size(); ++j)
        bind_leaf(replay, lanes, body.leaves[j], r.leaf(c.graph, instance, j));
    for_settled_uniforms(c, op.tracker.originals, r, instance,
                         [&](NodeId u, NodeId own) { replay.set(u, Value::share(c, own)); });

    std::vector<Value> results, out;
    for (NodeId o : body.outputs)
        results.push_back(replay.get(o));
    std::vector<Rewrite> writes =
        op.replay_writes(replay, [&](const Write &w) { return w.body == instance.body; });
    if (reverse) {
        std::vector<Value> from = results;
        op.seed(writes, from, given);
        run_backward(tape, from, given);
        return collect_gradients(used, lanes);
    }
    run_forward(tape, lanes, region.memory(&used));
    op.scatter_tangents(writes);
    for (Value &v : results)
        out.push_back(is_float(v.type()) ? grad_or_zero(v) : v.detached());
    return out;
}

std::vector<Value> CallOp::Run::bind(Replay &replay, const std::vector<size_t> &used,
                                     std::vector<Value> &lanes) {
    std::vector<Value> params(args.begin(), args.begin() + long(r.args.size()));
    for (size_t j : used) {
        if (!reverse && grads[j].valid() && !grad_arg[j])
            region.set_memory_tangent(j, grads[j]);
        else if (!reverse && grads[j].valid() && grads[j].node().region == 0)
            region.set_memory_tangent(j, grads[j].size() == 1 ? grads[j] : opaque(grads[j]));
        if (op.m_kinds[j] == Kind::Memory || region.shadowed(j))
            continue;
        GradId id = lanes[j].grad_id();
        auto with_gradient = [&](const Value &v) {
            tape.retain(id);
            return Value::attach(v.detached(), id);
        };
        // As this function sees it
        replay.set(op.values[j].id(), lane_arg[j] ? with_gradient(args[lane_arg[j]]) : lanes[j]);
        for (size_t k = 0; k < r.args.size(); ++k)
            if (r.args[k] == op.values[j].id())
                params[k] = with_gradient(params[k]);
    }
    return params;
}

void CallOp::Run::bind_leaf(Replay &replay, const std::vector<Value> &lanes, NodeId leaf,
                            NodeId actual) {
    const Graph &g = c.graph;
    bool address = g[leaf].op == Op::Address;
    NodeId node = address ? g[actual].dep[0] : actual;
    for (auto [it, end] = op.m_index.equal_range(node); it != end; ++it) {
        size_t j = it->second;
        if (address ? region.inner(j) : region.shadowed(j))
            continue;
        if (address)
            replay.set_memory(g[leaf].dep[0], region.memory_of(j));
        else
            replay.set(leaf, lanes[j]);
        return;
    }
    if (address)
        replay.set_memory(g[leaf].dep[0], Value::share(c, node));
    else
        replay.set(leaf, Value::share(c, node));
}

std::vector<Value> CallOp::Run::collect_gradients(const std::vector<size_t> &used,
                                                  const std::vector<Value> &lanes) {
    for (size_t j : used) {
        if (!in_cell(j))
            continue;
        Value gradient = tape.node(lanes[j].grad_id()).grad;
        if (!gradient.valid())
            continue;
        if (!cells[j].valid())
            cells[j] = full(op.values[j].type(), 0, 1);
        Value all = literal(Type::Bool, 1);
        scatter(cells[j], tape.summand(gradient, all), literal(Type::U32, 0), all, ReduceOp::Add);
    }
    std::vector<Value> out;
    for (size_t j = 0; j < op.values.size(); ++j)
        if (is_result(j))
            out.push_back(lanes[j].valid() ? grad_or_zero(lanes[j])
                                           : literal(op.values[j].type(), 0));
    return out;
}

} // namespace

std::shared_ptr<RecordedOp> make_call_op(AdTracker &tracker, Value construct,
                                         std::vector<Value> inputs, std::vector<Value> outs,
                                         const std::vector<Collector::Written> &written) {
    return std::make_shared<CallOp>(tracker, std::move(construct), std::move(inputs),
                                    std::move(outs), written);
}

} // namespace umbel::ad
