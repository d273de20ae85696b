// ad/loop.cpp: derivatives of recorded loops.
//
// Forward: the loop again, with a tangent beside each piece of state. Memory: O(lanes).
//
// Backward, the first that fits:
//   accumulating  each differentiable state only gains terms that do not depend on differentiable state
//                 (s += f(...)): its adjoint is the same in every iteration, so the loop runs again in its
//                 own direction. Memory: O(lanes).
//   affine        at most three pieces of differentiable state, whose next values are affine in them with
//                 coefficients that do not depend on them, s' = A s + b: a first run finds the product of
//                 all A, a second one peels them off again from the adjoint by their inverses, iteration by
//                 iteration in the loop's own direction. Memory: O(lanes). Not where an A is singular.
//   recorded      the state at the head of each iteration is stored, then the iterations run in reverse.
//                 Memory: lanes x the largest number of iterations x the bytes of the state.
//   checkpoints   inside another recorded body, where the number of iterations is not known beforehand, or where
//                 recording takes too much: the state of few iterations is kept in local arrays, and that of
//                 the others computed again from the nearest one before. See backward_from_checkpoints.
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
    LoopRecord &record() const {
        return static_cast<LoopRecord &>(*c.graph.record_of(construct.id()));
    }
    size_t states() const { return record().init.size(); }
    uint32_t size() const { return construct.size(); }

    // State and its replay
    std::vector<Value> initial_state() const;
    Value replay_condition(const std::vector<Value> &state);
    std::vector<Value> replay_body(const std::vector<Value> &state);
    /// One iteration with derivatives: `run` propagates between state, inputs and next state.
    struct Iteration {
        std::vector<Value> state, inputs, next; // with gradients
        std::vector<Rewrite> writes;
    };
    /// Backward from the next state with these gradients, and from what is added to arrays.
    void run_iteration_backward(Iteration &it, const std::vector<Value> &gradients);
    bool writes_state(const std::vector<uint8_t> &active);
    Iteration iterate(Inside &inside, const std::vector<Value> &state,
                      const std::vector<uint8_t> &active, const std::vector<Value> *tangents,
                      const std::vector<Value> *input_tangents);

    std::vector<uint8_t> activity();
    bool accumulates(const std::vector<uint8_t> &active);
    bool affine(const std::vector<uint8_t> &active);
    using Matrix = std::vector<std::vector<Value>>; // by next state, by state; active state only
    Matrix jacobian(const std::vector<Value> &state, const std::vector<uint8_t> &active);
    bool backward_affine(const std::vector<uint8_t> &active);
    void backward_accumulating(const std::vector<uint8_t> &active);
    void backward_recorded(const std::vector<uint8_t> &active);
    void backward_from_checkpoints(const std::vector<uint8_t> &active);
    Value count_iterations();
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

// A region for trials, thrown away at the end, also by an exception.
struct Trial {
    Context &c;
    RegionId region;
    explicit Trial(Context &c) : c(c), region(c.enter("loop", true, false)) {}
    ~Trial() {
        c.leave();
        c.graph.discard_region(region);
    }
    /// State of which nothing is known: the initial one may be a constant, and fold what depends on it.
    std::vector<Value> state(const std::vector<Value> &like) const {
        std::vector<Value> out;
        for (const Value &v : like) {
            const Node n = v.node();
            out.push_back(Value::adopt(c, c.graph.make({ .op = Op::Phi,
                                                         .type = n.type,
                                                         .size = n.size,
                                                         .imm = uint64_t(region) << 32 | out.size(),
                                                         .length = n.length })));
        }
        return out;
    }
};

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
                                  const std::vector<uint8_t> &active,
                                  const std::vector<Value> *tangents,
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
    it.writes = replay_writes(replay, [](const Write &) { return true; });
    return it;
}

void LoopOp::run_iteration_backward(Iteration &it, const std::vector<Value> &gradients) {
    std::vector<Value> results = it.next, given = gradients;
    seed(it.writes, results, given);
    run_backward(tape, results, given);
}

// Whether what is added to arrays depends on differentiated state: its adjoint then changes on the way.
bool LoopOp::writes_state(const std::vector<uint8_t> &active) {
    Trial trial(c);
    for (size_t i = 0; i < m_writes.size(); ++i) {
        Inside nothing(c, tape, {}, {});
        Iteration it = iterate(nothing, trial.state(initial_state()), active, nullptr, nullptr);
        if (it.writes[i].value.grad_id())
            return true;
    }
    return false;
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
        Trial trial(c);
        Inside inside(c, tape, values, inputs);
        Iteration it = iterate(inside, trial.state(initial_state()), active, nullptr, nullptr);
        for (size_t k = 0; k < states(); ++k)
            if (!active[k] && it.next[k].grad_id()) {
                active[k] = 1;
                changed = true;
            }
    }
    return active;
}

// Whether d next_j / d state_k is 1 for j = k and 0 otherwise, for all active state.
bool LoopOp::accumulates(const std::vector<uint8_t> &active) {
    bool unit = true;
    Trial trial(c);
    for (size_t j = 0; j < states() && unit; ++j) {
        if (!active[j])
            continue;
        if (record().phi.size() && c.graph[record().phi[j]].length)
            unit = false;
        Inside inside(c, tape, values, inputs);
        Iteration it = iterate(inside, trial.state(initial_state()), active, nullptr, nullptr);
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
            unit =
                unit && g.is_literal() && g.literal_bits() == (k == j ? one[0].literal_bits() : 0);
        }
    }
    return unit;
}

void LoopOp::forward() {
    Fresh fresh(tracker);
    std::vector<uint8_t> active = activity();
    std::vector<Value> in = input_tangents(), state = initial_state(), tangents;
    Inside inside(c, tape, values, inputs);
    for (size_t k = 0; k < states(); ++k) {
        Value t = is_float(state[k].type()) ? literal(state[k].type(), 0) : literal(Type::F32, 0);
        for (size_t i = 0; i < values.size(); ++i)
            if (values[i].id() == record().init[k] && in[i].valid())
                t = in[i];
        if (state[k].node().length)
            fail("loop: derivatives of local arrays as loop state are not available; use arrays in "
                 "memory");
        tangents.push_back(t);
    }
    open_targets();
    detail::plain_loop(
        "forward derivative of a loop", pointers_to({ &state, &tangents }),
        [&] { return replay_condition(state); },
        [&] {
            Iteration it = iterate(inside, state, active, &tangents, &in);
            std::vector<Value> sources = it.inputs;
            sources.insert(sources.end(), it.state.begin(), it.state.end());
            run_forward(tape, sources, inside.memory());
            scatter_tangents(it.writes);
            for (size_t k = 0; k < states(); ++k) {
                state[k] = it.next[k].detached();
                if (active[k])
                    tangents[k] = grad_or_zero(it.next[k]);
            }
        });
    take(tangents);
    close_targets();
}

void LoopOp::backward() {
    Fresh fresh(tracker);
    for (NodeId id : record().init)
        if (c.graph[id].length)
            fail("loop: derivatives of local arrays as loop state are not available; use arrays in "
                 "memory");
    std::vector<uint8_t> active = activity();
    read_targets();
    bool stored = writes_state(active);
    if (!stored && accumulates(active))
        backward_accumulating(active);
    else if (stored || !affine(active) || !backward_affine(active))
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
        sum = add_gradients(sum, g);
}

static std::vector<Value> zeros_for(const std::vector<Value> &values) {
    std::vector<Value> out;
    for (const Value &v : values)
        out.push_back(zero_like(v));
    return out;
}

void LoopOp::backward_accumulating(const std::vector<uint8_t> &active) {
    std::vector<Value> grads = output_gradients(states()), state = initial_state();
    std::vector<Value> sums = zeros_for(values);
    Inside inside(c, tape, values, inputs);
    inside.take_over();
    detail::plain_loop(
        "adjoint of an accumulating loop", pointers_to({ &state, &sums }),
        [&] { return replay_condition(state); },
        [&] {
            Iteration it = iterate(inside, state, active, nullptr, nullptr);
            run_iteration_backward(it, grads);
            for (size_t k = 0; k < states(); ++k)
                state[k] = it.next[k].detached();
            for (size_t i = 0; i < values.size(); ++i)
                add_to(sums[i], grad_or_zero(it.inputs[i]));
        });
    give_results(inside, grads, sums);
}

// ---- affine loops

// With respect to the state alone: nothing may reach the gradients of the inputs on the way.
LoopOp::Matrix LoopOp::jacobian(const std::vector<Value> &state,
                                const std::vector<uint8_t> &active) {
    Inside nothing(c, tape, {}, {});
    Matrix rows;
    for (size_t j = 0; j < states(); ++j) {
        if (!active[j])
            continue;
        Iteration it = iterate(nothing, state, active, nullptr, nullptr);
        std::vector<Value> out(1, it.next[j]),
            one(1, cast(it.next[j].type(), literal(Type::Bool, 1))), row;
        run_backward(tape, out, one);
        for (size_t k = 0; k < states(); ++k)
            if (active[k])
                row.push_back(grad_or_zero(it.state[k]));
        rows.push_back(std::move(row));
    }
    return rows;
}

bool LoopOp::affine(const std::vector<uint8_t> &active) {
    size_t n = 0;
    Type type = Type::Void;
    for (size_t k = 0; k < states(); ++k) {
        if (!active[k])
            continue;
        ++n;
        Type t = c.graph[record().init[k]].type;
        if (type != Type::Void && type != t)
            return false;
        type = t;
    }
    if (n == 0 || n > 3 || type == Type::F16 ||
        c.region) // whether a matrix is singular shows only when it is computed
        return false;
    bool independent = true;
    Trial trial(c);
    std::vector<Value> state = trial.state(initial_state());
    Replay probe(c, trial.region);
    for (size_t k = 0; k < states(); ++k)
        if (active[k])
            probe.set(state[k].id(), state[k]);
    for (auto &row : jacobian(state, active))
        for (Value &v : row)
            independent = independent && !probe.depends(v.id());
    return independent;
}

namespace {

Value mul(const Value &a, const Value &b) { return binary(Op::Mul, a, b); }
Value sub(const Value &a, const Value &b) { return binary(Op::Sub, a, b); }
Value add(const Value &a, const Value &b) { return binary(Op::Add, a, b); }

using Matrix = std::vector<std::vector<Value>>;

Value determinant(const Matrix &m) {
    if (m.size() == 1)
        return m[0][0];
    if (m.size() == 2)
        return sub(mul(m[0][0], m[1][1]), mul(m[0][1], m[1][0]));
    auto minor = [&](int a, int b) { return sub(mul(m[1][a], m[2][b]), mul(m[1][b], m[2][a])); };
    return add(sub(mul(m[0][0], minor(1, 2)), mul(m[0][1], minor(0, 2))),
               mul(m[0][2], minor(0, 1)));
}

// x with x A = b, by Cramer's rule: row i of A replaced by b.
std::vector<Value> solve_left(const Matrix &a, const std::vector<Value> &b) {
    Value inverse = unary(Op::Rcp, determinant(a));
    std::vector<Value> x;
    for (size_t i = 0; i < a.size(); ++i) {
        Matrix replaced = a;
        replaced[i] = b;
        x.push_back(mul(determinant(replaced), inverse));
    }
    return x;
}

std::vector<Value> row_times(const std::vector<Value> &x, const Matrix &m) {
    std::vector<Value> out;
    for (size_t k = 0; k < m.size(); ++k) {
        Value sum = mul(x[0], m[0][k]);
        for (size_t j = 1; j < m.size(); ++j)
            sum = add(sum, mul(x[j], m[j][k]));
        out.push_back(sum);
    }
    return out;
}

} // namespace

// False where an iteration's matrix is singular (or nearly so) in some lane.
bool LoopOp::backward_affine(const std::vector<uint8_t> &active) {
    std::vector<size_t> which;
    for (size_t k = 0; k < states(); ++k)
        if (active[k])
            which.push_back(k);
    size_t n = which.size();
    Type type = c.graph[record().init[which[0]]].type;
    Value one = cast(type, literal(Type::Bool, 1));

    // The product of all matrices. Its inverse must be good to half of the type's digits on the way, and
    // its determinant within the range of the type: a contraction of many steps is not.
    bool single = type == Type::F32;
    auto number = [&](double x) { return cast(type, literal(Type::F64, to_bits(x))); };
    Value worst_condition = number(single ? 1e3 : 1e8), tiny = number(single ? 1e-30 : 1e-280),
          huge = number(single ? 1e30 : 1e280);
    std::vector<Value> state = initial_state(), product, size_of(1, one),
                       good(1, literal(Type::Bool, 1));
    for (size_t i = 0; i < n * n; ++i)
        product.push_back(i % (n + 1) == 0 ? one : literal(type, 0));
    auto as_matrix = [&](const std::vector<Value> &flat) {
        Matrix m(n);
        for (size_t i = 0; i < n * n; ++i)
            m[i / n].push_back(flat[i]);
        return m;
    };
    {
        detail::plain_loop(
            "product of an affine loop", pointers_to({ &state, &product, &size_of, &good }),
            [&] { return replay_condition(state); },
            [&] {
                Matrix a = jacobian(state, active), p = as_matrix(product);
                std::vector<Value> next;
                for (size_t j = 0; j < n; ++j)
                    for (Value &v : row_times(a[j], p))
                        next.push_back(v);
                size_of[0] = mul(size_of[0], unary(Op::Abs, determinant(a)));
                Value norm = literal(type, 0), power = one;
                for (Value &v : next)
                    norm = binary(Op::Max, norm, unary(Op::Abs, v));
                for (size_t j = 0; j < n; ++j)
                    power = mul(power, norm);
                Value fine = binary(Op::Lt, power, mul(worst_condition, size_of[0]));
                fine = binary(Op::And, fine, binary(Op::Lt, tiny, size_of[0]));
                good[0] =
                    binary(Op::And, good[0], binary(Op::And, fine, binary(Op::Lt, power, huge)));
                assign(state, replay_body(state));
                assign(product, next);
            });
    }
    Value singular = unary(Op::Not, good[0]);
    std::vector<NodeId> roots{ singular.id() };
    for (Value &v : product)
        roots.push_back(v.id());
    c.evaluate(roots);
    if (any(Mask(singular)))
        return false;

    // Peel the matrices off from the front: what is left of the product is each iteration's adjoint
    std::vector<Value> grads = output_gradients(states()), gradient;
    for (size_t k : which)
        gradient.push_back(grads[k].valid() ? grads[k] : literal(type, 0));
    std::vector<Value> first = row_times(gradient, as_matrix(product)), adjoint = first;
    std::vector<Value> sums = zeros_for(values);
    state = initial_state();
    Inside inside(c, tape, values, inputs);
    detail::plain_loop(
        "adjoint of an affine loop", pointers_to({ &state, &adjoint, &sums }),
        [&] { return replay_condition(state); },
        [&] {
            std::vector<Value> after = solve_left(jacobian(state, active), adjoint);
            Iteration it = iterate(inside, state, active, nullptr, nullptr);
            std::vector<Value> given(states());
            for (size_t i = 0; i < n; ++i)
                given[which[i]] = after[i];
            run_iteration_backward(it, given);
            for (size_t k = 0; k < states(); ++k)
                state[k] = it.next[k].detached();
            assign(adjoint, after);
            for (size_t i = 0; i < values.size(); ++i)
                add_to(sums[i], grad_or_zero(it.inputs[i]));
        });
    std::vector<Value> state_gradients(states());
    for (size_t i = 0; i < n; ++i)
        state_gradients[which[i]] = first[i];
    give_results(inside, state_gradients, sums);
    return true;
}

// How often each lane iterates.
Value LoopOp::count_iterations() {
    std::vector<Value> state = initial_state(), count(1, literal(Type::U32, 0, size()));
    detail::plain_loop(
        "iterations of a loop", pointers_to({ &state, &count }),
        [&] { return replay_condition(state); },
        [&] {
            assign(state, replay_body(state));
            count[0] = binary(Op::Add, count[0], literal(Type::U32, 1));
        });
    return count[0];
}

void LoopOp::backward_recorded(const std::vector<uint8_t> &active) {
    if (c.region)
        return backward_from_checkpoints(active);
    uint32_t lanes = size();
    Value count = count_iterations();
    uint32_t most = item(UInt32(jit::reduce(ReduceOp::Max, count)));
    if (most == 0)
        return give_results(*std::make_unique<Inside>(c, tape, values, inputs),
                            output_gradients(states()), zeros_for(values));

    // Store the state at the head of each iteration
    std::vector<Value> state = initial_state();
    uint64_t bytes_needed = 0;
    for (Value &v : state)
        bytes_needed += uint64_t(lanes) * most * bytes(v.type());
    if (bytes_needed > MaxRecordedBytes || uint64_t(lanes) * most > ~0u)
        return backward_from_checkpoints(active);
    std::vector<Value> saved, step(1, literal(Type::U32, 0, lanes));
    for (Value &v : state)
        saved.push_back(full(v.type(), 0, lanes * most));
    Value row = binary(Op::Mul, lane_index(lanes), literal(Type::U32, most));
    detail::plain_loop(
        "recording of a loop", pointers_to({ &state, &step }),
        [&] { return replay_condition(state); },
        [&] {
            Value at = binary(Op::Add, row, step[0]);
            for (size_t k = 0; k < states(); ++k)
                scatter(saved[k], state[k], at, literal(Type::Bool, 1));
            assign(state, replay_body(state));
            step[0] = binary(Op::Add, step[0], literal(Type::U32, 1));
        });
    c.evaluate({});

    // Run the iterations in reverse
    std::vector<Value> adjoint = output_gradients(states()), left(1, count);
    for (size_t k = 0; k < states(); ++k)
        if (!adjoint[k].valid())
            adjoint[k] = literal(is_float(state[k].type()) ? state[k].type() : Type::F32, 0);
    std::vector<Value> sums = zeros_for(values);
    Inside inside(c, tape, values, inputs);
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
            run_iteration_backward(it, adjoint);
            for (size_t k = 0; k < states(); ++k)
                if (active[k])
                    adjoint[k] = grad_or_zero(it.state[k]);
            for (size_t i = 0; i < values.size(); ++i)
                add_to(sums[i], grad_or_zero(it.inputs[i]));
        });
    give_results(inside, adjoint, sums);
}

// ---- checkpoints

namespace {

// States of every `step`-th iteration of a stretch, kept in local arrays of `Checkpoints::Length` elements.
struct Checkpoints {
    static constexpr uint32_t Length = 32;
    std::vector<Value> arrays;

    explicit Checkpoints(const std::vector<Value> &state) {
        for (const Value &v : state)
            arrays.push_back(local_array(literal(v.type(), 0), Length));
    }
    /// Keeps the state of iteration `i` of the stretch, if it is one of those.
    void keep(const Value &i, const Value &step, const std::vector<Value> &state) {
        Value slot = binary(Op::Div, i, step);
        Value due = binary(Op::Eq, binary(Op::Mul, slot, step), i);
        for (size_t k = 0; k < arrays.size(); ++k)
            arrays[k] = local_set(arrays[k], slot, state[k], due);
    }
    std::vector<Value> at(const Value &slot) const {
        std::vector<Value> out;
        for (const Value &a : arrays)
            out.push_back(local_get(a, slot, literal(Type::Bool, 1)));
        return out;
    }
};

Value number(uint32_t n) { return literal(Type::U32, n); }

// The least step of which Length cover n iterations; at least 1.
Value step_for(const Value &n) {
    Value whole =
        binary(Op::Div, add(n, number(Checkpoints::Length - 1)), number(Checkpoints::Length));
    return binary(Op::Max, whole, number(1));
}

} // namespace

// Two levels: `far` has L states of the whole loop, `near` L states of the stretch between two of these, which is run once
// more when the reverse loop arrives at its end. From there an iteration's own state is at most n / L^2 steps away.
// Up to L^2 = 1,024 iterations that is none: the loop runs four times in all, one of them with derivatives. For n of them the
// work is n (4 + n / 2 L^2), below n^1.5 until 4 L^4 = 4 million. Memory: 2 L states a lane that runs, none in arrays.
void LoopOp::backward_from_checkpoints(const std::vector<uint8_t> &active) {
    Value count = count_iterations(), far_step = step_for(count), near_step = step_for(far_step);
    auto advance = [&](std::vector<Value> &state, std::vector<Value> &i) {
        assign(state, replay_body(state));
        i[0] = add(i[0], number(1));
    };

    // States far apart
    std::vector<Value> state = initial_state(), i(1, literal(Type::U32, 0, size()));
    Checkpoints far(state);
    detail::plain_loop(
        "checkpoints of a loop", pointers_to({ &state, &i, &far.arrays }),
        [&] { return binary(Op::Lt, i[0], count); },
        [&] {
            far.keep(i[0], far_step, state);
            advance(state, i);
        });

    // The iterations in reverse
    std::vector<Value> adjoint = output_gradients(states()), left(1, count);
    for (size_t k = 0; k < states(); ++k)
        if (!adjoint[k].valid())
            adjoint[k] = literal(is_float(state[k].type()) ? state[k].type() : Type::F32, 0);
    std::vector<Value> sums = zeros_for(values);
    Checkpoints near(state);
    Inside inside(c, tape, values, inputs);
    inside.take_over();
    detail::plain_loop(
        "adjoint of a loop", pointers_to({ &left, &adjoint, &sums, &near.arrays }),
        [&] { return binary(Op::Ne, left[0], number(0)); },
        [&] {
            left[0] = sub(left[0], number(1));
            Value stretch = binary(Op::Div, left[0], far_step), first = mul(stretch, far_step);
            Value place = sub(left[0], first);

            // At the end of a stretch: its states
            Value is_last = binary(Op::Or, binary(Op::Eq, add(left[0], number(1)), count),
                                   binary(Op::Eq, add(place, number(1)), far_step));
            Value length = ternary(Op::Select, is_last, add(place, number(1)), number(0));
            std::vector<Value> s = far.at(stretch), j(1, literal(Type::U32, 0, size()));
            detail::plain_loop(
                "a stretch of a loop", pointers_to({ &s, &j, &near.arrays }),
                [&] { return binary(Op::Lt, j[0], length); },
                [&] {
                    near.keep(j[0], near_step, s);
                    advance(s, j);
                });

            // From the one before this iteration to this iteration
            Value slot = binary(Op::Div, place, near_step);
            std::vector<Value> before = near.at(slot);
            j[0] = mul(slot, near_step);
            detail::plain_loop(
                "towards an iteration", pointers_to({ &before, &j }),
                [&] { return binary(Op::Lt, j[0], place); }, [&] { advance(before, j); });

            Iteration it = iterate(inside, before, active, nullptr, nullptr);
            run_iteration_backward(it, adjoint);
            for (size_t k = 0; k < states(); ++k)
                if (active[k])
                    adjoint[k] = grad_or_zero(it.state[k]);
            for (size_t v = 0; v < values.size(); ++v)
                add_to(sums[v], grad_or_zero(it.inputs[v]));
        });
    give_results(inside, adjoint, sums);
}

} // namespace

std::shared_ptr<RecordedOp> make_loop_op(AdTracker &tracker, Value construct,
                                         std::vector<Value> inputs, std::vector<Value> outs,
                                         const std::vector<Collector::Written> &written) {
    return std::make_shared<LoopOp>(tracker, std::move(construct), std::move(inputs),
                                    std::move(outs), written);
}

} // namespace umbel::ad
