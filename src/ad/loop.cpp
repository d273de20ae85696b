// ad/loop.cpp: derivatives of recorded loops.
//
// Forward: the loop again, with a tangent beside each piece of state. Memory: O(lanes).
//
// Backward, the first that fits:
//   accumulating  each differentiable state only gains terms that do not depend on differentiable state
//                 (s += f(...)): its adjoint is the same in every iteration, so the loop runs again in its
//                 own direction. Memory: O(lanes).
//   recorded      the state at the head of each iteration is stored, then the iterations run in reverse.
//                 Memory: lanes x the largest number of iterations x the bytes of the state.
#include "ad/control.h"

namespace umbel::ad {

using namespace jit;

namespace {

constexpr uint64_t MaxRecordedBytes = 8ull << 30;

class LoopOp final : public RecordedOp {
public:
    using RecordedOp::RecordedOp;
    const char *name() const override { return "loop"; }
    void forward() override;
    void backward() override;

private:
    LoopRecord &record() const { return static_cast<LoopRecord &>(*c.graph.record_of(construct.id())); }
    size_t states() const { return record().init.size(); }
    uint32_t size() const { return construct.size(); }

    // State and its replay
    std::vector<Value> initial_state() const;
    Value replay_condition(const std::vector<Value> &state);
    std::vector<Value> replay_body(const std::vector<Value> &state);
    /// One iteration with derivatives: `run` propagates between state, inputs and next state.
    struct Iteration {
        std::vector<Value> state, inputs, next; // with gradients
    };
    Iteration iterate(Inside &inside, const std::vector<Value> &state, const std::vector<uint8_t> &active,
                      const std::vector<Value> *tangents, const std::vector<Value> *input_tangents);

    std::vector<uint8_t> activity();
    bool accumulates(const std::vector<uint8_t> &active);
    void backward_accumulating(const std::vector<uint8_t> &active);
    void backward_recorded(const std::vector<uint8_t> &active);
    void give_results(Inside &inside, const std::vector<Value> &state_gradients,
                      const std::vector<Value> &input_gradients);
};

std::vector<Value *> pointers_to(std::initializer_list<std::vector<Value> *> lists) {
    std::vector<Value *> out;
    for (auto *list : lists)
        for (Value &v : *list)
            out.push_back(&v);
    return out;
}

// In place: the loop holds pointers to the elements.
void assign(std::vector<Value> &to, const std::vector<Value> &from) {
    std::copy(from.begin(), from.end(), to.begin());
}

std::vector<Value> LoopOp::initial_state() const {
    std::vector<Value> out;
    for (NodeId id : record().init)
        out.push_back(Value::share(c, id));
    return out;
}

Value LoopOp::replay_condition(const std::vector<Value> &state) {
    LoopRecord &r = record();
    Replay replay(c, r.head);
    for (size_t k = 0; k < state.size(); ++k)
        replay.set(r.phi[k], state[k]);
    return replay.get(r.condition);
}

std::vector<Value> LoopOp::replay_body(const std::vector<Value> &state) {
    LoopRecord &r = record();
    Replay replay(c, r.head);
    for (size_t k = 0; k < state.size(); ++k)
        replay.set(r.phi[k], state[k]);
    std::vector<Value> next;
    for (NodeId id : r.next)
        next.push_back(replay.get(id));
    return next;
}

LoopOp::Iteration LoopOp::iterate(Inside &inside, const std::vector<Value> &state,
                                  const std::vector<uint8_t> &active, const std::vector<Value> *tangents,
                                  const std::vector<Value> *input_tangents) {
    LoopRecord &r = record();
    Iteration it;
    Replay replay(c, r.head);
    it.inputs = inside.enter(replay, input_tangents);
    for (size_t k = 0; k < state.size(); ++k) {
        Value v = state[k].detached();
        if (active[k]) {
            inside.enable_inner(v);
            if (tangents)
                tape.set_grad(v.grad_id(), (*tangents)[k]);
        }
        replay.set(r.phi[k], v);
        it.state.push_back(std::move(v));
    }
    for (NodeId id : r.next)
        it.next.push_back(replay.get(id));
    return it;
}

// State that depends on differentiable inputs: the rest needs no derivatives.
std::vector<uint8_t> LoopOp::activity() {
    LoopRecord &r = record();
    std::vector<uint8_t> active(states(), 0);
    for (size_t k = 0; k < states(); ++k)
        for (size_t i = 0; i < values.size(); ++i)
            if (inputs[i] && values[i].id() == r.init[k])
                active[k] = 1;
    for (bool changed = true; changed;) {
        changed = false;
        RegionId region = c.enter("loop", true, false); // a trial, thrown away
        {
            Inside inside(c, tape, values);
            Iteration it = iterate(inside, initial_state(), active, nullptr, nullptr);
            for (size_t k = 0; k < states(); ++k)
                if (!active[k] && it.next[k].grad_id()) {
                    active[k] = 1;
                    changed = true;
                }
        }
        c.leave();
        c.graph.discard_region(region);
    }
    return active;
}

// Whether d next_j / d state_k is 1 for j = k and 0 otherwise, for all active state.
bool LoopOp::accumulates(const std::vector<uint8_t> &active) {
    bool unit = true;
    RegionId region = c.enter("loop", true, false);
    for (size_t j = 0; j < states() && unit; ++j) {
        if (!active[j])
            continue;
        if (record().phi.size() && c.graph[record().phi[j]].length)
            unit = false;
        Inside inside(c, tape, values);
        Iteration it = iterate(inside, initial_state(), active, nullptr, nullptr);
        if (!it.next[j].grad_id()) {
            unit = false; // overwritten: its adjoint ends here
            break;
        }
        std::vector<Value> one(1, cast(it.next[j].type(), literal(Type::Bool, 1)));
        std::vector<Value> out(1, it.next[j]);
        run_backward(tape, out, one);
        for (size_t k = 0; k < states(); ++k) {
            if (!active[k])
                continue;
            Value g = grad_or_zero(it.state[k]);
            unit = unit && g.is_literal() && g.literal_bits() == (k == j ? one[0].literal_bits() : 0);
        }
    }
    c.leave();
    c.graph.discard_region(region);
    return unit;
}

void LoopOp::forward() {
    Fresh fresh(tracker);
    std::vector<uint8_t> active = activity();
    std::vector<Value> in = input_tangents(), state = initial_state(), tangents;
    Inside inside(c, tape, values);
    for (size_t k = 0; k < states(); ++k) {
        Value t = is_float(state[k].type()) ? literal(state[k].type(), 0) : literal(Type::F32, 0);
        for (size_t i = 0; i < values.size(); ++i)
            if (values[i].id() == record().init[k] && in[i].valid())
                t = in[i];
        if (state[k].node().length)
            fail("loop: derivatives of local arrays as loop state are not available; use arrays in memory");
        tangents.push_back(t);
    }
    detail::plain_loop(
        "forward derivative of a loop", pointers_to({ &state, &tangents }),
        [&] { return replay_condition(state); },
        [&] {
            Iteration it = iterate(inside, state, active, &tangents, &in);
            std::vector<Value> sources = it.inputs;
            sources.insert(sources.end(), it.state.begin(), it.state.end());
            run_forward(tape, sources, inside.memory());
            for (size_t k = 0; k < states(); ++k) {
                state[k] = it.next[k].detached();
                if (active[k])
                    tangents[k] = grad_or_zero(it.next[k]);
            }
        });
    take(tangents);
}

void LoopOp::backward() {
    Fresh fresh(tracker);
    for (NodeId id : record().init)
        if (c.graph[id].length)
            fail("loop: derivatives of local arrays as loop state are not available; use arrays in memory");
    std::vector<uint8_t> active = activity();
    if (accumulates(active))
        backward_accumulating(active);
    else
        backward_recorded(active);
}

void LoopOp::give_results(Inside &inside, const std::vector<Value> &state_gradients,
                          const std::vector<Value> &input_gradients) {
    std::vector<Value> in = input_gradients;
    give(inside, in);
    for (size_t k = 0; k < states(); ++k)
        for (size_t i = 0; i < values.size(); ++i)
            if (values[i].id() == record().init[k] && state_gradients[k].valid())
                set_grad_in(i, state_gradients[k]);
}

static void add_to(Value &sum, const Value &g) {
    if (!(g.is_literal() && g.literal_bits() == 0))
        sum = binary(Op::Add, sum, g);
}

static std::vector<Value> zeros_for(const std::vector<Value> &values) {
    std::vector<Value> out;
    for (const Value &v : values)
        out.push_back(literal(v.type(), 0));
    return out;
}

void LoopOp::backward_accumulating(const std::vector<uint8_t> &active) {
    std::vector<Value> grads = output_gradients(states()), state = initial_state();
    std::vector<Value> sums = zeros_for(values);
    Inside inside(c, tape, values);
    detail::plain_loop(
        "adjoint of an accumulating loop", pointers_to({ &state, &sums }),
        [&] { return replay_condition(state); },
        [&] {
            Iteration it = iterate(inside, state, active, nullptr, nullptr);
            run_backward(tape, it.next, grads);
            for (size_t k = 0; k < states(); ++k)
                state[k] = it.next[k].detached();
            for (size_t i = 0; i < values.size(); ++i)
                add_to(sums[i], grad_or_zero(it.inputs[i]));
        });
    give_results(inside, grads, sums);
}

void LoopOp::backward_recorded(const std::vector<uint8_t> &active) {
    if (c.region)
        fail("loop: the reverse derivative of a loop inside a recorded {} would have to store its "
             "iterations; supply an adjoint as a custom operation",
             c.graph.region(c.region).kind);
    // How often each lane iterates
    uint32_t lanes = size();
    std::vector<Value> state = initial_state(), count(1, literal(Type::U32, 0, lanes));
    detail::plain_loop(
        "iterations of a loop", pointers_to({ &state, &count }), [&] { return replay_condition(state); },
        [&] {
            assign(state, replay_body(state));
            count[0] = binary(Op::Add, count[0], literal(Type::U32, 1));
        });
    uint32_t most = item(UInt32(jit::reduce(ReduceOp::Max, count[0])));
    if (most == 0)
        return give_results(*std::make_unique<Inside>(c, tape, values), output_gradients(states()),
                            zeros_for(values));

    // Store the state at the head of each iteration
    state = initial_state();
    uint64_t bytes_needed = 0;
    for (Value &v : state)
        bytes_needed += uint64_t(lanes) * most * bytes(v.type());
    if (bytes_needed > MaxRecordedBytes || uint64_t(lanes) * most > ~0u)
        fail("loop: storing {} iterations of {} lanes for the reverse derivative takes {} MB; lower the "
             "number of lanes, or supply an adjoint as a custom operation",
             most, lanes, bytes_needed >> 20);
    std::vector<Value> saved, step(1, literal(Type::U32, 0, lanes));
    for (Value &v : state)
        saved.push_back(full(v.type(), 0, lanes * most));
    Value row = binary(Op::Mul, lane_index(lanes), literal(Type::U32, most));
    detail::plain_loop(
        "recording of a loop", pointers_to({ &state, &step }), [&] { return replay_condition(state); },
        [&] {
            Value at = binary(Op::Add, row, step[0]);
            for (size_t k = 0; k < states(); ++k)
                scatter(saved[k], state[k], at, literal(Type::Bool, 1));
            assign(state, replay_body(state));
            step[0] = binary(Op::Add, step[0], literal(Type::U32, 1));
        });
    c.evaluate({});

    // Run the iterations in reverse
    std::vector<Value> adjoint = output_gradients(states()), left(1, count[0]);
    for (size_t k = 0; k < states(); ++k)
        if (!adjoint[k].valid())
            adjoint[k] = literal(is_float(state[k].type()) ? state[k].type() : Type::F32, 0);
    std::vector<Value> sums = zeros_for(values);
    Inside inside(c, tape, values);
    detail::plain_loop(
        "adjoint of a loop", pointers_to({ &left, &adjoint, &sums }),
        [&] { return binary(Op::Ne, left[0], literal(Type::U32, 0)); },
        [&] {
            left[0] = binary(Op::Sub, left[0], literal(Type::U32, 1));
            Value at = binary(Op::Add, row, left[0]);
            std::vector<Value> before;
            for (size_t k = 0; k < states(); ++k)
                before.push_back(gather(saved[k], at, literal(Type::Bool, 1)));
            Iteration it = iterate(inside, before, active, nullptr, nullptr);
            run_backward(tape, it.next, adjoint);
            for (size_t k = 0; k < states(); ++k)
                if (active[k])
                    adjoint[k] = grad_or_zero(it.state[k]);
            for (size_t i = 0; i < values.size(); ++i)
                add_to(sums[i], grad_or_zero(it.inputs[i]));
        });
    give_results(inside, adjoint, sums);
}

} // namespace

std::shared_ptr<RecordedOp> make_loop_op(AdTracker &tracker, Value construct, std::vector<Value> inputs,
                                         std::vector<Value> outs) {
    return std::make_shared<LoopOp>(tracker, std::move(construct), std::move(inputs), std::move(outs));
}

} // namespace umbel::ad
