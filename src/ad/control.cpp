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
#include <algorithm>
#include <unordered_set>

namespace umbel::ad {

using namespace jit;

// ---- stand-ins

Inside::Inside(Context &c, Tape &tape, const std::vector<Value> &inputs,
               const std::vector<GradId> &nodes)
    : c(c), tape(tape) {
    for (size_t k = 0; k < inputs.size(); ++k) {
        const Value &v = inputs[k];
        Input i;
        i.value = v;
        i.node = nodes[k];
        i.inner = i.node && tape.node(i.node).inner;
        if (i.inner)
            m_inner.insert(v.id());
        NodeKey address{ .op = Op::Address, .type = Type::Ptr, .dep = { v.id(), 0, 0, 0 } };
        if (!i.inner && v.is_evaluated() && c.graph.find(address)) {
            GradId id = tape.make_node(v.type(), v.size(), false, "gradient of an array");
            i.memory = Value::attach(v.detached(), id);
        }
        m_inputs.push_back(std::move(i));
    }
}

// Fresh nodes for the lanes of the region that is being traced.
std::vector<Value> Inside::enter(Replay &replay, const std::vector<Value> *tangents,
                                 const std::vector<size_t> *which) {
    std::vector<Value> lanes(m_inputs.size());
    for (const Input &in : m_inputs)
        if (NodeId source = source_of_copy(c.graph, in.value.id()); source && !is_input(source))
            replay.keep(source);
    for (size_t n = 0; n < (which ? which->size() : m_inputs.size()); ++n) {
        size_t i = which ? (*which)[n] : n;
        Input &in = m_inputs[i];
        Value lane = in.value.detached();
        enable_inner(lane);
        if (tangents && (*tangents)[i].valid())
            tape.set_grad(lane.grad_id(), (*tangents)[i]);
        if (!shadowed(i) && !(in.memory.valid() && is_array(in.value)))
            replay.set(in.value.id(), lane);
        if (in.memory.valid()) {
            if (tangents && (*tangents)[i].valid())
                tape.set_grad(in.memory.grad_id(), (*tangents)[i]);
            replay.set_memory(in.value.id(), in.memory);
        }
        lanes[i] = std::move(lane);
    }
    return lanes;
}

bool is_array(const Value &input) { return input.is_evaluated() && input.size() != 1; }

bool Inside::is_input(NodeId id) const {
    return std::any_of(m_inputs.begin(), m_inputs.end(),
                       [&](const Input &i) { return i.value.id() == id; });
}

std::vector<Value> Inside::memory(const std::vector<size_t> *which) const {
    std::vector<Value> out;
    for (size_t n = 0; n < (which ? which->size() : m_inputs.size()); ++n)
        out.push_back(m_inputs[which ? (*which)[n] : n].memory);
    return out;
}

void Inside::enable_inner(Value &v) {
    v = Value::attach(v.detached(), tape.make_node(v.type(), v.size(), true, "stand-in"));
}

void Inside::take_over() {
    if (!c.region)
        return;
    m_taken = true;
    for (Input &i : m_inputs)
        if (i.memory.valid() && i.node)
            tape.node(i.memory.grad_id()).grad = std::move(tape.node(i.node).grad);
}

bool Inside::give_back(size_t i) {
    if (!m_taken || !m_inputs[i].memory.valid() || !m_inputs[i].node)
        return false;
    tape.node(m_inputs[i].node).grad = std::move(tape.node(m_inputs[i].memory.grad_id()).grad);
    return true;
}

void Inside::set_memory_tangent(size_t i, const Value &tangent) {
    if (m_inputs[i].memory.valid())
        tape.set_grad(m_inputs[i].memory.grad_id(), tangent);
}

Value Inside::memory_gradient(size_t i) {
    return m_inputs[i].memory.valid() ? tape.node(m_inputs[i].memory.grad_id()).grad : Value();
}

Value zero_like(const Value &v) {
    Value zero = literal(v.type(), 0);
    return v.node().length ? local_array(zero, v.node().length) : zero;
}

Value grad_or_zero(const Value &v) {
    Value g = v.grad_id() ? AdTracker::of(v.context()).tape.node(v.grad_id()).grad : Value();
    return g.valid() ? g : zero_like(v);
}

// Propagates inside a region: backward from results with these gradients.
void run_backward(Tape &tape, std::vector<Value> &outputs, const std::vector<Value> &gradients) {
    for (size_t k = 0; k < outputs.size(); ++k)
        if (outputs[k].grad_id() && gradients[k].valid())
            tape.accumulate(outputs[k].grad_id(), gradients[k]);
    for (Value &v : outputs)
        if (v.grad_id())
            tape.enqueue(Mode::Backward, v.grad_id());
    tape.traverse(Mode::Backward, ClearEdges);
}

void run_forward(Tape &tape, const std::vector<Value> &inputs, const std::vector<Value> &memory) {
    for (auto *list : { &inputs, &memory })
        for (const Value &v : *list)
            if (v.grad_id())
                tape.enqueue(Mode::Forward, v.grad_id());
    tape.traverse(Mode::Forward,
                  ClearEdges); // a result may be another one's operand: keep its gradient
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
        read_targets();
        Inside region(c, tape, values, inputs);
        region.take_over();
        auto branch = [&](RegionId id, const std::vector<NodeId> &outs) {
            return [&, id] {
                Replay replay(c, id);
                std::vector<Value> lanes = region.enter(replay), results, given = grads;
                for (NodeId o : outs)
                    results.push_back(replay.get(o));
                seed(writes_of(replay, id), results, given);
                run_backward(tape, results, given);
                std::vector<Value> out;
                for (Value &v : lanes)
                    out.push_back(grad_or_zero(v));
                return out;
            };
        };
        std::vector<Value> in =
            detail::plain_if("derivative of a conditional", condition(),
                             branch(r.then_region, r.then_out), branch(r.else_region, r.else_out));
        give(region, in);
    }

    void forward() override {
        Fresh fresh(tracker);
        auto &r = static_cast<IfRecord &>(*c.graph.record_of(construct.id()));
        std::vector<Value> tangents = input_tangents();
        open_targets();
        Inside region(c, tape, values, inputs);
        auto branch = [&](RegionId id, const std::vector<NodeId> &outs) {
            return [&, id] {
                Replay replay(c, id);
                std::vector<Value> lanes = region.enter(replay, &tangents), results, out;
                for (NodeId o : outs)
                    results.push_back(replay.get(o));
                std::vector<Rewrite> writes = writes_of(replay, id);
                run_forward(tape, lanes, region.memory());
                scatter_tangents(writes);
                for (size_t k = 0; k < results.size(); ++k)
                    out.push_back(is_float(results[k].type()) ? grad_or_zero(results[k])
                                                              : results[k].detached());
                return out;
            };
        };
        std::vector<Value> out =
            detail::plain_if("derivative of a conditional", condition(),
                             branch(r.then_region, r.then_out), branch(r.else_region, r.else_out));
        take(out);
        close_targets();
    }

private:
    std::vector<Rewrite> writes_of(Replay &replay, RegionId region) {
        return replay_writes(replay, [&](const Write &w) { return w.region == region; });
    }
    Value condition() { return Value::share(c, c.graph[construct.id()].dep[0]); }
};

// ---- common parts

RecordedOp::RecordedOp(AdTracker &tracker, Value construct, std::vector<Value> inputs,
                       std::vector<Value> outs, const std::vector<Collector::Written> &written)
    : tracker(tracker), tape(tracker.tape), c(construct.context()), construct(std::move(construct)),
      values(std::move(inputs)), m_outs(std::move(outs)) {
    for (const Value &v : m_outs)
        m_number.push_back(c.graph[v.id()].imm);
    // Only ids are needed of the inputs' gradients: the edges of the tape keep them alive
    for (Value &v : values)
        v = v.detached();
    for (const Collector::Written &w : written)
        if (std::find(m_written.begin(), m_written.end(), w.node) == m_written.end())
            m_written.push_back(w.node);
    find_writes(written);
    remember_originals();
}

RecordedOp::~RecordedOp() {
    for (NodeId id : m_remembered)
        tracker.originals.forget(id);
}

// Arithmetic of a body that depends on nothing but values from outside floats outside, too, and may be
// evaluated there before a derivative asks for it.
void RecordedOp::remember_originals() {
    Graph &g = c.graph;
    Replay probe(c, 0);
    uint64_t first = ~0ull;
    for (const Value &v : values) {
        probe.set(v.id(), v);
        first = std::min(first, v.node().seq);
    }
    std::vector<NodeId> stack{ construct.id() };
    tsl::robin_set<NodeId> seen;
    while (!stack.empty()) { // instances compute the same from data of their own
        NodeId id = stack.back();
        stack.pop_back();
        const Node &n = g[id];
        if ((n.region == 0 && id != construct.id()) || !seen.insert(id).second)
            continue;
        operands_of(c, id, n, stack);
        if (n.op != Op::Call)
            continue;
        for (auto &b : static_cast<CallRecord &>(*g.record_of(id)).bodies)
            for (NodeId leaf : b.leaves) {
                probe.set(leaf, Value::share(c, leaf));
                first = std::min(first, g[leaf].seq);
            }
    }
    seen.clear();
    operands_of(c, construct.id(), g[construct.id()], stack);
    for (const Write &w : m_writes) {
        for (const Value *v : { &w.value, &w.index, &w.mask })
            stack.push_back(v->id());
        for (const Write::Guard &guard : w.guards)
            stack.push_back(guard.condition.id());
    }
    while (!stack.empty()) {
        NodeId id = stack.back();
        stack.pop_back();
        if (!seen.insert(id).second)
            continue;
        const Node &n = g[id];
        if (n.region == 0) {
            if (n.op == Op::Literal || n.op == Op::Buffer || n.op == Op::Address || n.seq < first ||
                !probe.depends(id))
                continue;
            tracker.originals.remember(c, id);
            m_remembered.push_back(id);
        }
        operands_of(c, id, n, stack);
    }
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
        if (!region.give_back(i))
            if (Value m = region.memory_gradient(i); m.valid())
                set_grad_in(i, m);
        if (lanes[i].valid() && !(lanes[i].is_literal() && lanes[i].literal_bits() == 0))
            set_grad_in(i, lanes[i]);
    }
}

void RecordedOp::take(const std::vector<Value> &tangents) {
    for (size_t k = 0; k < m_outs.size(); ++k)
        if (outputs[k])
            set_grad_out(k, tangents[m_number[k]]);
}

// ---- the tracker's side

// Evaluated control flow runs operation by operation: each goes onto the tape as it does elsewhere. A traversal
// inside must not take down what other lanes or iterations still need.
template <class Fn> static auto run_evaluated(Fn &&fn) {
    IsolateGrad isolate;
    return fn();
}

// Turns the results of a body that was traced without derivatives into results with derivatives: those
// that `depends` tells to depend on something that is followed.
std::vector<Value> AdTracker::differentiate(const char *name, std::vector<Value> outs,
                                            const std::vector<uint8_t> &depends,
                                            Collector &collector, uint64_t since) {
    if (tracing_body()) { // an outer body: what we read, it reads
        for (const Value &v : collector.values)
            collectors.back()->note(v, true);
        for (const Collector::Written &w : collector.written)
            collectors.back()->note_written(w);
        for (const std::shared_ptr<AppliedOp> &op : collector.applied)
            collectors.back()->applied.push_back(op);
        for (size_t k = 0; k < outs.size(); ++k)
            if (depends[k])
                outs[k] = marked(outs[k]);
        return outs;
    }
    if (collector.values.empty())
        return outs;
    if (!collector.written.empty() && c.region)
        fail("scatter: values that carry gradients are added to an array inside a recorded body "
             "inside another one, where that is not differentiable; detach them, or return them "
             "from the body");

    // Results of the construct depend on its inputs as a whole; others are plain arithmetic
    NodeId node = 0;
    std::vector<Value> mine;
    std::vector<size_t> where;
    for (size_t k = 0; k < outs.size(); ++k) {
        const Node &n = outs[k].node();
        bool out = n.op == Op::LoopOut || n.op == Op::IfOut || n.op == Op::CallOut;
        if (!out || !depends[k] || c.graph[n.dep[0]].seq < since || (node && n.dep[0] != node))
            continue;
        node = n.dep[0];
        mine.push_back(outs[k]);
        where.push_back(k);
    }
    if (!node && !collector.written.empty())
        node = last_construct(since);
    std::vector<Value> with_derivatives;
    if (node) {
        Value construct = Value::share(c, node);
        std::shared_ptr<RecordedOp> op;
        switch (c.graph[node].op) {
        case Op::If:
            op =
                std::make_shared<IfOp>(*this, construct, collector.values, mine, collector.written);
            break;
        case Op::Call:
            op = make_call_op(*this, construct, collector.values, mine, collector.written);
            break;
        default:
            op = make_loop_op(*this, construct, collector.values, mine, collector.written);
            break;
        }
        op->m_applied = collector.applied;
        with_derivatives = custom(op, collector.values);
    }
    Replay replay(c, 0);
    for (const Value &v : collector.values)
        replay.set(v.id(), v);
    for (size_t j = 0; j < where.size(); ++j)
        replay.set(outs[where[j]].id(), with_derivatives[j]);
    for (size_t k = 0; k < outs.size(); ++k)
        if (depends[k])
            outs[k] = replay.get(outs[k].id());
    return outs;
}

// The construct that was just traced, for its effects.
NodeId AdTracker::last_construct(uint64_t since) const {
    const std::vector<NodeId> &effects = c.graph.region(c.region).effects;
    for (auto it = effects.rbegin(); it != effects.rend(); ++it)
        if (Op op = c.graph[*it].op; op == Op::Loop || op == Op::If || op == Op::Call)
            return c.graph[*it].seq >= since ? *it : 0;
    return 0;
}

// A replay of the body around it would have to carry out the derivative's own effects.
void AdTracker::refuse_nested_writes(const char *name, const Collector &collector) const {
    if (tracing_body() && !collector.written.empty())
        fail(
            "scatter: values that carry gradients are added to an array inside a {} inside another "
            "recorded body, where that is not differentiable; detach them, or return them",
            name);
}

// The results of a body as primal values; notes which of them depend on something that is followed.
void AdTracker::strip(std::vector<Value> &values, std::vector<uint8_t> &depends) {
    for (size_t k = 0; k < values.size(); ++k) {
        depends[k] |= attached(values[k]);
        values[k] = primal(values[k]);
    }
}

std::vector<Value> AdTracker::if_(const char *name, const Value &condition,
                                  const detail::Branch &then_branch,
                                  const detail::Branch &else_branch) {
    if (suspended() && !tracing_body())
        return detail::plain_if(name, condition, then_branch, else_branch);
    if (!c.has(Flag::RecordIfs) && c.region == 0)
        return run_evaluated(
            [&] { return detail::plain_if(name, condition.detached(), then_branch, else_branch); });
    Collector collector(tape);
    std::vector<uint8_t> depends;
    uint64_t since = c.graph.sequence();
    auto plain = [&](const detail::Branch &branch) {
        return [&] {
            std::vector<Value> out = branch();
            depends.resize(std::max(depends.size(), out.size()));
            strip(out, depends);
            return out;
        };
    };
    std::vector<Value> outs = collect(*this, collector, [&] {
        return detail::plain_if(name, condition.detached(), plain(then_branch), plain(else_branch));
    });
    return differentiate(name, std::move(outs), depends, collector, since);
}

std::vector<Value> AdTracker::call(const char *name, const Value &id, const Value &mask,
                                   const std::vector<Value *> &args, uint32_t instances,
                                   const detail::Callee &callee) {
    if (suspended() && !tracing_body())
        return detail::plain_call(name, id, mask, args, instances, callee);
    std::vector<Value> saved;
    for (Value *v : args)
        saved.push_back(*v);
    // All lanes call the same: that is no construct, but the operations of the callee
    uint64_t known =
        id.is_literal() && mask.is_literal() && mask.literal_bits() ? id.literal_bits() : 0;
    if (known && known <= instances) {
        auto out = callee(uint32_t(known - 1));
        for (size_t k = 0; k < args.size(); ++k)
            *args[k] = saved[k];
        if (out)
            return *out;
    }
    if (!c.has(Flag::RecordCalls) && c.region == 0)
        return run_evaluated(
            [&] { return detail::plain_call(name, id, mask, args, instances, callee); });
    Collector collector(tape);
    std::vector<uint8_t> depends;
    uint64_t since = c.graph.sequence();
    auto plain = [&](uint32_t i) {
        for (size_t k = 0; k < args.size(); ++k)
            if (attached(saved[k]))
                *args[k] = marked(*args[k]);
        auto out = callee(i);
        if (out) {
            depends.resize(std::max(depends.size(), out->size()));
            strip(*out, depends);
        }
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
    refuse_nested_writes("call", collector);
    return differentiate(name, std::move(outs), depends, collector, since);
}

// State that turns out to depend on what is followed was not marked as such while the body was traced. It is traced
// again then: what the body computes from that state depends on it, too.
void AdTracker::loop(const char *name, const std::vector<Value *> &state,
                     const detail::Condition &condition, const detail::Body &body) {
    if (suspended() && !tracing_body())
        return detail::plain_loop(name, state, condition, body);
    if (!c.has(Flag::RecordLoops) && c.region == 0)
        return run_evaluated([&] { detail::plain_loop(name, state, condition, body); });
    struct Again {};
    uint64_t since = c.graph.sequence();
    std::vector<Value> outs, initial;
    std::vector<uint8_t> depends;
    for (Value *v : state) {
        initial.push_back(*v);
        depends.push_back(attached(*v));
    }
    auto mark = [&](const std::vector<uint8_t> &known) {
        for (size_t k = 0; k < state.size(); ++k)
            if (known[k])
                *state[k] = marked(*state[k]);
    };
    auto trace = [&] {
        const std::vector<uint8_t> known = depends;
        for (Value *v : state)
            *v = primal(*v);
        detail::plain_loop(
            name, state,
            [&] {
                mark(known);
                return condition().detached();
            },
            [&] {
                mark(known);
                body();
                outs.clear();
                for (Value *v : state)
                    outs.push_back(*v);
                strip(outs, depends);
                for (size_t k = 0; k < state.size(); ++k)
                    *state[k] = outs[k];
                if (depends != known)
                    throw Again();
            });
    };
    std::vector<Collector::Written> written; // by a trace that was given up: handles have its nodes
    struct Held {
        Tape &tape;
        std::vector<Collector::Written> &list;
        ~Held() {
            for (const Collector::Written &w : list)
                tape.release(w.node);
        }
    } held{ tape, written };
    for (bool done = false; !done;) {
        Collector collector(tape);
        for (const Collector::Written &w : written)
            collector.note_written(w);
        try {
            collect(*this, collector, [&] {
                trace();
                return 0;
            });
            done = true;
        } catch (const Again &) {
            std::swap(written, collector.written);
            for (size_t k = 0; k < state.size(); ++k)
                *state[k] = initial[k];
            continue;
        }
        outs.clear();
        for (Value *v : state)
            outs.push_back(v->detached());
        initial.clear();
        refuse_nested_writes("loop", collector);
        outs = differentiate(name, std::move(outs), depends, collector, since);
    }
    for (size_t k = 0; k < state.size(); ++k)
        *state[k] = outs[k];
}

} // namespace umbel::ad
