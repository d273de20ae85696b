// ad/control.cpp: derivatives of recorded conditionals, calls and loops.
//
// A body is traced once, without derivatives; the values with gradients that it reads are noted. The
// construct as a whole becomes one operation on the tape. When a traversal reaches it, its body is
// replayed inside a new construct, this time with derivatives, which run forward or backward in there.
//
// Inside a region a gradient belongs to a lane. Gradients leave it as results, one a lane, or through
// memory: those of arrays that were gathered from are scattered, those of uniform values of instances
// are summed into one cell.
#include "ad/control.h"
#include "ad/ad.h"
#include "ad/tracker.h"

namespace umbel::ad {

using namespace jit;

// ---- stand-ins

Inside::Inside(Context &c, Tape &tape, const std::vector<Value> &inputs) : c(c), tape(tape) {
    for (const Value &v : inputs) {
        Input i;
        i.value = v;
        NodeKey address{ .op = Op::Address, .type = Type::Ptr, .dep = { v.id(), 0, 0, 0 } };
        if (v.is_evaluated() && c.graph.find(address)) {
            GradId id = tape.make_node(v.type(), v.size(), false, "gradient of an array");
            i.memory = Value::attach(v.detached(), id);
        }
        m_inputs.push_back(std::move(i));
    }
}

// Fresh nodes for the lanes of the region that is being traced.
std::vector<Value> Inside::enter(Replay &replay, const std::vector<Value> *tangents) {
    std::vector<Value> lanes;
    for (size_t i = 0; i < m_inputs.size(); ++i) {
        Input &in = m_inputs[i];
        Value lane = in.value.detached();
        enable_inner(lane);
        if (tangents && (*tangents)[i].valid())
            tape.set_grad(lane.grad_id(), (*tangents)[i]);
        replay.set(in.value.id(), lane);
        if (in.memory.valid()) {
            if (tangents && (*tangents)[i].valid())
                tape.set_grad(in.memory.grad_id(), (*tangents)[i]);
            replay.set_memory(in.value.id(), in.memory);
        }
        lanes.push_back(std::move(lane));
    }
    return lanes;
}

void Inside::enable_inner(Value &v) {
    v = Value::attach(v.detached(), tape.make_node(v.type(), v.size(), true, "stand-in"));
}

Value Inside::memory_gradient(size_t i) {
    return m_inputs[i].memory.valid() ? tape.node(m_inputs[i].memory.grad_id()).grad : Value();
}

Value grad_or_zero(const Value &v) {
    Value g = v.grad_id() ? AdTracker::of(v.context()).tape.node(v.grad_id()).grad : Value();
    return g.valid() ? g : literal(v.type(), 0);
}

// Propagates inside a region: backward from results with these gradients.
void run_backward(Tape &tape, std::vector<Value> &outputs, const std::vector<Value> &gradients) {
    for (size_t k = 0; k < outputs.size(); ++k)
        if (outputs[k].grad_id() && gradients[k].valid())
            tape.accumulate(outputs[k].grad_id(), gradients[k]);
    for (Value &v : outputs)
        if (v.grad_id())
            tape.enqueue(Mode::Backward, v.grad_id());
    tape.traverse(Mode::Backward, ClearEdges | ClearInterior);
}

void run_forward(Tape &tape, const std::vector<Value> &inputs, const std::vector<Value> &memory) {
    for (auto *list : { &inputs, &memory })
        for (const Value &v : *list)
            if (v.grad_id())
                tape.enqueue(Mode::Forward, v.grad_id());
    tape.traverse(Mode::Forward, ClearEdges | ClearInterior);
}

// ---- conditionals

class IfOp final : public RecordedOp {
public:
    using RecordedOp::RecordedOp;
    const char *name() const override { return "conditional"; }

    void backward() override {
        Fresh fresh(tracker);
        auto &r = static_cast<IfRecord &>(*c.graph.record_of(construct.id()));
        std::vector<Value> grads = output_gradients(r.then_out.size());
        Inside region(c, tape, values);
        auto branch = [&](RegionId id, const std::vector<NodeId> &outs) {
            return [&, id] {
                Replay replay(c, id);
                std::vector<Value> lanes = region.enter(replay), results;
                for (NodeId o : outs)
                    results.push_back(replay.get(o));
                run_backward(tape, results, grads);
                std::vector<Value> out;
                for (Value &v : lanes)
                    out.push_back(grad_or_zero(v));
                return out;
            };
        };
        std::vector<Value> in = detail::plain_if("derivative of a conditional", condition(),
                                                 branch(r.then_region, r.then_out),
                                                 branch(r.else_region, r.else_out));
        give(region, in);
    }

    void forward() override {
        Fresh fresh(tracker);
        auto &r = static_cast<IfRecord &>(*c.graph.record_of(construct.id()));
        std::vector<Value> tangents = input_tangents();
        Inside region(c, tape, values);
        auto branch = [&](RegionId id, const std::vector<NodeId> &outs) {
            return [&, id] {
                Replay replay(c, id);
                std::vector<Value> lanes = region.enter(replay, &tangents), results, out;
                for (NodeId o : outs)
                    results.push_back(replay.get(o));
                run_forward(tape, lanes, region.memory());
                for (size_t k = 0; k < results.size(); ++k)
                    out.push_back(is_float(results[k].type()) ? grad_or_zero(results[k])
                                                              : results[k].detached());
                return out;
            };
        };
        std::vector<Value> out = detail::plain_if("derivative of a conditional", condition(),
                                                  branch(r.then_region, r.then_out),
                                                  branch(r.else_region, r.else_out));
        take(out);
    }

private:
    Value condition() { return Value::share(c, c.graph[construct.id()].dep[0]); }
};

// ---- calls

class CallOp final : public RecordedOp {
public:
    using RecordedOp::RecordedOp;
    const char *name() const override { return "call"; }

    void backward() override { run(true); }
    void forward() override { run(false); }

private:
    // Gradients of uniform values meet in one cell each; those of lanes are results.
    bool uniform(size_t i) const { return values[i].size() == 1 && values[i].node().region == 0; }

    void run(bool reverse) {
        Fresh fresh(tracker);
        Graph &g = c.graph;
        auto &r = static_cast<CallRecord &>(*g.record_of(construct.id()));
        std::vector<Value> grads = reverse ? output_gradients(r.out_types.size()) : input_tangents();
        Inside region(c, tape, values);
        std::vector<Value> cells(values.size());
        std::vector<Value> args;
        for (NodeId a : r.args)
            args.push_back(Value::share(c, a));
        size_t plain_args = args.size();
        for (Value &v : grads)
            args.push_back(v.valid() ? v : literal(Type::F32, 0));
        // Lane values that the bodies capture come in as arguments, too
        size_t lane_first = args.size();
        for (const Value &v : values)
            args.push_back(v.detached());
        std::vector<Value *> pointers;
        for (Value &v : args)
            pointers.push_back(&v);
        Value self = Value::share(c, g[construct.id()].dep[0]);
        Value mask = user_mask(g[construct.id()].dep[1]);

        auto callee = [&](uint32_t i) -> std::optional<std::vector<Value>> {
            const auto &instance = r.instances[i];
            if (instance.body == ~0u)
                return std::nullopt;
            const auto &body = r.bodies[instance.body];
            std::vector<Value> given(grads.size());
            for (size_t k = 0; k < grads.size(); ++k)
                if (grads[k].valid())
                    given[k] = args[plain_args + k];

            // Stand-ins for arguments, for captured values, for the instance's data
            Replay replay(c, r.region);
            std::vector<Value> lanes = region.enter(replay, reverse ? nullptr : &given);
            std::vector<Value> params(args.begin(), args.begin() + long(plain_args));
            for (size_t j = 0; j < values.size(); ++j) {
                Value v = uniform(j) ? lanes[j] : args[lane_first + j]; // as this function sees it
                if (!uniform(j)) {
                    tape.retain(lanes[j].grad_id());
                    v = Value::attach(v.detached(), lanes[j].grad_id());
                }
                replay.set(values[j].id(), v);
                for (size_t k = 0; k < plain_args; ++k)
                    if (r.args[k] == values[j].id()) {
                        tape.retain(lanes[j].grad_id());
                        params[k] = Value::attach(params[k].detached(), lanes[j].grad_id());
                    }
            }
            replay.set_params(params);
            for (size_t j = 0; j < body.leaves.size(); ++j)
                bind_leaf(replay, region, lanes, body.leaves[j], instance.leaves[j]);

            std::vector<Value> results, out;
            for (NodeId o : body.outputs)
                results.push_back(replay.get(o));
            if (!reverse) {
                run_forward(tape, lanes, region.memory());
                for (Value &v : results)
                    out.push_back(is_float(v.type()) ? grad_or_zero(v) : v.detached());
                return out;
            }
            run_backward(tape, results, given);
            for (size_t j = 0; j < values.size(); ++j) {
                Value gradient = tape.node(lanes[j].grad_id()).grad;
                if (!uniform(j)) {
                    out.push_back(gradient.valid() ? gradient : literal(values[j].type(), 0));
                } else if (gradient.valid()) {
                    if (!cells[j].valid())
                        cells[j] = full(values[j].type(), 0, 1);
                    scatter(cells[j], gradient, literal(Type::U32, 0), literal(Type::Bool, 1),
                            ReduceOp::Add);
                }
            }
            return out;
        };
        std::vector<Value> out = detail::plain_call("derivative of a call", self, mask, pointers,
                                                    uint32_t(r.instances.size()), callee);
        if (!reverse)
            return take(out);
        std::vector<Value> in(values.size());
        for (size_t j = 0, k = 0; j < values.size(); ++j)
            in[j] = uniform(j) ? cells[j] : out[k++];
        give(region, in);
    }

    void bind_leaf(Replay &replay, Inside &region, const std::vector<Value> &lanes, NodeId leaf,
                   NodeId actual) {
        Graph &g = c.graph;
        bool address = g[leaf].op == Op::Address;
        NodeId node = address ? g[actual].dep[0] : actual;
        for (size_t j = 0; j < values.size(); ++j) {
            if (values[j].id() != node)
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

    // The mask without `Active` of the region where the call was traced: that is added again.
    Value user_mask(NodeId mask) {
        Replay replay(c, 0);
        for (RegionId r = 0; r <= c.region; ++r)
            if (NodeId a = c.graph.find({ .op = Op::Active, .type = Type::Bool, .imm = uint64_t(r) << 32 }))
                replay.set(a, literal(Type::Bool, 1));
        return replay.get(mask);
    }
};

// ---- common parts

RecordedOp::RecordedOp(AdTracker &tracker, Value construct, std::vector<Value> inputs,
                       std::vector<Value> outs)
    : tracker(tracker), tape(tracker.tape), c(construct.context()), construct(std::move(construct)),
      values(std::move(inputs)), m_outs(std::move(outs)) {
    for (const Value &v : m_outs)
        m_number.push_back(c.graph[v.id()].imm);
    // Only ids are needed of the inputs' gradients: the edges of the tape keep them alive
    for (Value &v : values)
        v = v.detached();
}

std::vector<Value> RecordedOp::output_gradients(size_t count) {
    std::vector<Value> grads(count);
    for (size_t k = 0; k < m_outs.size(); ++k)
        if (outputs[k])
            grads[m_number[k]] = tape.node(outputs[k]).grad;
    return grads;
}

std::vector<Value> RecordedOp::input_tangents() {
    std::vector<Value> out;
    for (GradId id : inputs)
        out.push_back(id ? tape.node(id).grad : Value());
    return out;
}

void RecordedOp::give(Inside &region, const std::vector<Value> &lanes) {
    for (size_t i = 0; i < values.size(); ++i) {
        if (lanes[i].valid() && !(lanes[i].is_literal() && lanes[i].literal_bits() == 0))
            set_grad_in(i, lanes[i]);
        if (Value m = region.memory_gradient(i); m.valid())
            set_grad_in(i, m);
    }
}

void RecordedOp::take(const std::vector<Value> &tangents) {
    for (size_t k = 0; k < m_outs.size(); ++k)
        if (outputs[k])
            set_grad_out(k, tangents[m_number[k]]);
}

// ---- the tracker's side

namespace {

class EvaluatedOp final : public CustomOp {
public:
    EvaluatedOp(std::string what, std::vector<Value> outs) : m_what(std::move(what)), m_outs(std::move(outs)) {}
    const char *name() const override { return m_what.c_str(); }
    std::vector<Value> eval(std::span<const Value>) override { return std::move(m_outs); }
    void forward() override { refuse(); }
    void backward() override { refuse(); }

private:
    [[noreturn]] void refuse() {
        fail("{}: derivatives need the recorded form; turn Flag::RecordLoops, RecordIfs and RecordCalls on",
             m_what);
    }
    std::string m_what;
    std::vector<Value> m_outs;
};

} // namespace

// Turns the results of a body that was traced without derivatives into results with derivatives.
std::vector<Value> AdTracker::differentiate(const char *name, std::vector<Value> outs,
                                            Collector &collector, uint64_t since, bool evaluated) {
    if (!collectors.empty()) { // an outer body: what we read, it reads
        for (const Value &v : collector.values)
            collectors.back()->note(v);
        return outs;
    }
    if (collector.values.empty())
        return outs;
    if (evaluated) {
        std::vector<Value> inputs = collector.values;
        return custom(std::make_shared<EvaluatedOp>(std::string("evaluated ") + name, std::move(outs)), inputs);
    }

    // Results of the construct depend on its inputs as a whole; others are plain arithmetic
    NodeId node = 0;
    std::vector<Value> mine;
    std::vector<size_t> where;
    for (size_t k = 0; k < outs.size(); ++k) {
        const Node &n = outs[k].node();
        bool out = n.op == Op::LoopOut || n.op == Op::IfOut || n.op == Op::CallOut;
        if (!out || c.graph[n.dep[0]].seq < since || (node && n.dep[0] != node))
            continue;
        node = n.dep[0];
        mine.push_back(outs[k]);
        where.push_back(k);
    }
    std::vector<Value> with_derivatives;
    if (node) {
        Value construct = Value::share(c, node);
        std::shared_ptr<RecordedOp> op;
        switch (c.graph[node].op) {
            case Op::If: op = std::make_shared<IfOp>(*this, construct, collector.values, mine); break;
            case Op::Call: op = std::make_shared<CallOp>(*this, construct, collector.values, mine); break;
            default: op = make_loop_op(*this, construct, collector.values, mine); break;
        }
        with_derivatives = custom(op, collector.values);
    }
    Replay replay(c, 0);
    for (const Value &v : collector.values)
        replay.set(v.id(), v);
    for (size_t j = 0; j < where.size(); ++j)
        replay.set(outs[where[j]].id(), with_derivatives[j]);
    for (Value &v : outs)
        v = replay.get(v.id());
    return outs;
}

std::vector<Value> AdTracker::if_(const char *name, const Value &condition,
                                  const detail::Branch &then_branch, const detail::Branch &else_branch) {
    if (suspended())
        return detail::plain_if(name, condition, then_branch, else_branch);
    Collector collector;
    uint64_t since = c.graph.sequence();
    auto plain = [&](const detail::Branch &branch) {
        return [&] {
            std::vector<Value> out = branch();
            for (Value &v : out)
                v = primal(v);
            return out;
        };
    };
    std::vector<Value> outs = collect(*this, collector, [&] {
        return detail::plain_if(name, condition.detached(), plain(then_branch), plain(else_branch));
    });
    return differentiate(name, std::move(outs), collector, since,
                         !c.has(Flag::RecordIfs) && c.region == 0);
}

std::vector<Value> AdTracker::call(const char *name, const Value &id, const Value &mask,
                                   const std::vector<Value *> &args, uint32_t instances,
                                   const detail::Callee &callee) {
    if (suspended())
        return detail::plain_call(name, id, mask, args, instances, callee);
    Collector collector;
    uint64_t since = c.graph.sequence();
    std::vector<Value> saved;
    for (Value *v : args)
        saved.push_back(*v);
    auto plain = [&](uint32_t i) {
        auto out = callee(i);
        if (out)
            for (Value &v : *out)
                v = primal(v);
        return out;
    };
    bool hoist = std::exchange(c.hoist_results, false);
    std::vector<Value> outs;
    try {
        outs = collect(*this, collector, [&] {
            for (Value *v : args)
                *v = primal(*v);
            return detail::plain_call(name, id, mask, args, instances, plain);
        });
    } catch (...) {
        c.hoist_results = hoist;
        throw;
    }
    c.hoist_results = hoist;
    for (size_t k = 0; k < args.size(); ++k)
        *args[k] = saved[k];
    return differentiate(name, std::move(outs), collector, since,
                         !c.has(Flag::RecordCalls) && c.region == 0);
}

void AdTracker::loop(const char *name, const std::vector<Value *> &state,
                     const detail::Condition &condition, const detail::Body &body) {
    if (suspended())
        return detail::plain_loop(name, state, condition, body);
    Collector collector;
    uint64_t since = c.graph.sequence();
    collect(*this, collector, [&] {
        for (Value *v : state)
            *v = primal(*v);
        detail::plain_loop(
            name, state, [&] { return condition().detached(); },
            [&] {
                body();
                for (Value *v : state)
                    *v = primal(*v);
            });
        return 0;
    });
    std::vector<Value> outs;
    for (Value *v : state)
        outs.push_back(*v);
    outs = differentiate(name, std::move(outs), collector, since,
                         !c.has(Flag::RecordLoops) && c.region == 0);
    for (size_t k = 0; k < state.size(); ++k)
        *state[k] = outs[k];
}

} // namespace umbel::ad
