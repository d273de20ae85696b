// ad/tracker.cpp: element-wise operations, memory and reductions on the tape.
#include "ad/tracker.h"
#include "ad/derivatives.h"
#include "jit/rebuild.h"
#include <algorithm>

namespace umbel::ad {

using namespace jit;

AdTracker &AdTracker::of(Context &c) {
    if (!c.tracker)
        c.tracker = std::make_unique<AdTracker>(c);
    return static_cast<AdTracker &>(*c.tracker);
}

Collector::Collector(Tape &tape)
    : tape(tape), mark(tape.make_node(Type::Void, 1, true, "computed inside a recorded body")) {
    tape.node(mark).mark = true;
}

Collector::~Collector() {
    tape.release(mark);
    for (const Written &w : written)
        tape.release(w.node);
}

void Collector::note_written(const Written &w) {
    for (const Written &known : written)
        if (known.buffer == w.buffer && known.node == w.node)
            return;
    tape.retain(w.node);
    written.push_back(w);
}

Value Collector::note(const Value &v, bool as_is) {
    Context &c = v.context();
    as_is |= v.size() == 1; // instances are told apart by their data, which stay what they are
    bool ambiguous = false;
    for (size_t k = 0; k < values.size(); ++k) {
        const Value &known = values[k];
        bool same = known.id() == v.id() || v.is_literal() || (!as_is && sources[k] == v.id());
        if (known.grad_id() == v.grad_id() && same && (as_is || sources[k]))
            return known.detached();
        ambiguous |= known.id() == v.id() && !v.is_literal();
    }
    if (v.is_literal())
        return take(opaque(v), 0); // keeps the gradient
    if (as_is && !ambiguous)
        return take(v, 0);
    // A node that nothing else has or will find: what was computed before is not to be computed again by the derivative. One barrier
    // alone is what bodies see of what they detach.
    OutsideScope scope(c, c.graph.region(v.node().region).function);
    bool before = std::exchange(c.graph.number_values, false);
    Value copy = barrier(barrier(v));
    c.graph.number_values = before;
    tape.retain(v.grad_id());
    return take(Value::attach(std::move(copy), v.grad_id()), v.id());
}

NodeId source_of_copy(const Graph &g, NodeId input) {
    for (int bitcasts = 0; bitcasts < 4; ++bitcasts) { // two barriers
        if (g[input].op != Op::Bitcast)
            return 0;
        input = g[input].dep[0];
    }
    return input;
}

Value Collector::take(Value noted, NodeId source) {
    // Instances are told apart by evaluated data: a uniform value must be such
    if (noted.size() == 1 && noted.node().region == 0 && !noted.is_evaluated())
        noted.context().evaluate(std::array{ noted.id() });
    values.push_back(noted);
    sources.push_back(source);
    return noted.detached();
}

// Replays follow nodes, not handles: where a body uses a value without its derivative, the node must be
// another one. The bits of a float have none; the rules would see through the pair.
Value barrier(const Value &v) {
    if (!v.valid() || !is_float(v.type()) || v.is_literal() || v.node().length)
        return v.detached();
    Context &c = v.context();
    Type bits = v.type() == Type::F64 ? Type::U64 : v.type() == Type::F32 ? Type::U32 : Type::U16;
    Value b = Value::adopt(
        c, c.graph.make(
               { .op = Op::Bitcast, .type = bits, .size = v.size(), .dep = { v.id(), 0, 0, 0 } }));
    return Value::adopt(
        c,
        c.graph.make(
            { .op = Op::Bitcast, .type = v.type(), .size = v.size(), .dep = { b.id(), 0, 0, 0 } }));
}

Value AdTracker::primal(const Value &v, bool is_array) {
    GradId id = v.grad_id();
    if (collectors.empty() || !id)
        return v.detached();
    if (!tape.follows(id))
        return barrier(v);
    if (tape.node(id).mark)
        return v.detached();
    Value seen = collectors.front()->note(v, is_array); // outside of all bodies: one copy for all
    for (size_t k = 1; k < collectors.size(); ++k) {
        tape.retain(id);
        collectors[k]->note(Value::attach(Value(seen), id), true);
    }
    return seen;
}

void AdTracker::note_asked() {
    for (Collector *c : collectors)
        c->asked = true;
}

Value AdTracker::marked(const Value &v) {
    tape.retain(collectors.back()->mark);
    return Value::attach(v.detached(), collectors.back()->mark);
}

Value AdTracker::unfollowed(const Value &result, std::span<const Value *const> operands) {
    if (collectors.empty() || !is_float(result.type()))
        return result;
    for (const Value *v : operands)
        if (attached(*v))
            return marked(result);
    return result;
}

bool AdTracker::follow(std::span<const Value *const> operands) {
    bool any = false;
    for (const Value *v : operands)
        any = any || tape.follows(v->grad_id());
    return any && collectors.empty();
}

bool AdTracker::suspended() const {
    const ScopeState &s = tape.scopes().back();
    return !s.complement && s.ids.empty();
}

Value apply_op(Op op, Type type, std::span<const Value> v) {
    if (op == Op::Cast)
        return cast(type, v[0]);
    return v.size() == 1   ? unary(op, v[0])
           : v.size() == 2 ? binary(op, v[0], v[1])
                           : ternary(op, v[0], v[1], v[2]);
}

Value AdTracker::elementwise(Op op, Type type, std::span<const Value *const> operands) {
    // No heap and no moves: this is as hot as recording
    const size_t count = operands.size();
    auto without = [&](size_t i) { return i < count ? primal(*operands[i]) : Value(); };
    Value plain[3] = { without(0), without(1), without(2) };
    Value result = apply_op(op, type, { plain, count });
    bool followed[3] = {}, any = false;
    const ScopeState &scope = tape.scopes().back();
    for (size_t i = 0; i < count; ++i) {
        GradId id = operands[i]->grad_id();
        followed[i] = id && scope.follows(id);
        any |= followed[i];
    }
    if (!any || !collectors.empty())
        return op >= Op::Floor && op <= Op::Round ? result : unfollowed(result, operands);
    if (result.node().length && op == Op::Select)
        fail("Select: local arrays that carry gradients cannot be selected from; select their "
             "elements");
    const Value *pointers[3] = {};
    for (size_t i = 0; i < count; ++i)
        pointers[i] = &plain[i];
    GradId id = 0;
    uint32_t edges[3] = {};
    bool weighted = false;
    for (size_t i = 0; i < count; ++i) {
        if (!followed[i])
            continue;
        Partial p = partial(op, int(i), pointers, result);
        if (p.zero || (p.mask.is_literal() && !p.mask.literal_bits()))
            continue;
        if (!id)
            id = tape.make_node(result.type(), result.size(), c.region != 0, name(op));
        weighted |= p.weight.valid() && !p.weight.is_literal();
        edges[i] = tape.connect(operands[i]->grad_id(), id, std::move(p.weight), std::move(p.mask));
    }
    if (weighted && c.region == 0) {
        Recipe &recipe = higher.recipe(id);
        recipe.op = op;
        for (size_t i = 0; i < count; ++i) {
            recipe.operands[i] = std::move(plain[i]);
            recipe.edges[i] = edges[i];
        }
    }
    return id ? Value::attach(std::move(result), id) : result;
}

Value AdTracker::linear(const Value &result, const Value &source,
                        std::unique_ptr<Transfer> transfer, bool whole) {
    GradId id = tape.make_node(result.type(), result.size(), c.region != 0 && !whole,
                               name(result.node().op));
    tape.connect(source.grad_id(), id, {}, {}, std::move(transfer));
    return Value::attach(result, id);
}

// ---- memory

namespace {

Value truth() { return literal(Type::Bool, 1); }
Value zero_of(Type t) { return literal(t, 0); }

struct GatherTransfer final : Transfer {
    Value index, mask;
    Type type;
    uint32_t size;
    Value forward(const Value &g) override {
        if (g.size() == 1 && size != 1)
            return ternary(Op::Select, mask, g, zero_of(type));
        return jit::gather(g, index, mask);
    }
    Value backward(const Value &) override { return {}; }
    bool backward_into(Value &into, const Value &g) override {
        if (!into.valid())
            into = full(type, 0, size);
        else if (into.size() != size)
            into = binary(Op::Add, into, full(type, 0, size));
        jit::scatter(into, AdTracker::of(Context::current()).tape.summand(g, mask), index, mask,
                     ReduceOp::Add);
        return true;
    }
};

// What a scatter leaves of the target, and what it takes from the value.
struct KeptTransfer final : Transfer {
    Value index, mask;
    uint32_t target_size;
    Value clear(Value g) { // entries that were overwritten; g may be one number for all
        Value copy = binary(Op::Add, g, full(g.type(), 0, target_size));
        jit::scatter(copy, zero_of(g.type()), index, mask, ReduceOp::Store);
        return copy;
    }
    Value forward(const Value &g) override { return clear(g); }
    Value backward(const Value &g) override { return clear(g); }
};
struct WrittenTransfer final : Transfer {
    Value index, mask, weight; // not valid: 1
    ReduceOp op;
    Type type;
    uint32_t target_size;
    Value scaled(const Value &g) { return weight.valid() ? binary(Op::Mul, g, weight) : g; }
    Value forward(const Value &g) override {
        Value out = full(type, 0, target_size);
        jit::scatter(out, scaled(g), index, mask,
                     op == ReduceOp::Store ? ReduceOp::Store : ReduceOp::Add);
        return out;
    }
    Value backward(const Value &g) override {
        Value full_grad =
            g.size() == target_size ? g : binary(Op::Add, g, full(type, 0, target_size));
        return scaled(jit::gather(full_grad, index, mask));
    }
};

// The masks of evaluated control flow are gone when the derivative is computed.
template <class T> std::unique_ptr<T> with(const Value &index, const Value &mask) {
    auto t = std::make_unique<T>();
    t->index = index.detached();
    t->mask = mask.detached();
    Context &c = index.context();
    if (!c.masks.empty())
        t->mask = binary(Op::And, t->mask, Value::share(c, c.masks.back()));
    return t;
}

Value equal(const Value &a, const Value &b) { return binary(Op::Eq, a, b); }
Value divide(const Value &a, const Value &b) { return binary(Op::Div, a, b); }
Value one_of(Type t) { return cast(t, truth()); }

// Whether a lane's value is the one that a store is to leave in its cell: the last lane's is. Decided once, for the value
// and its derivative: threads may store in another order the next time.
Value survives(const Value &value, const Value &index, const Value &mask, uint32_t target_size) {
    uint32_t lanes = std::max({ value.size(), index.size(), mask.size() });
    if (lanes == 1)
        return mask;
    Value owner = full(Type::U32, 0, target_size), lane = lane_index(lanes);
    jit::scatter(owner, lane, index, mask, ReduceOp::Max);
    return binary(Op::And, mask, equal(jit::gather(owner, index, mask), lane));
}

// The derivative of a product of many factors with respect to one of them: the product of the others,
// without a division by zero. `zeros` is how many factors are 0, `rest` the product of all that are not.
Value others(const Value &factor, const Value &zeros, const Value &rest) {
    Type t = factor.type();
    Value alone = ternary(Op::Select, equal(zeros, one_of(t)), rest, zero_of(t));
    Value none = ternary(Op::Select, equal(zeros, zero_of(t)), divide(rest, factor), zero_of(t));
    return ternary(Op::Select, equal(factor, zero_of(t)), alone, none);
}
Value is_zero(const Value &v) { return cast(v.type(), equal(v, zero_of(v.type()))); }
Value without_zeros(const Value &v) {
    return ternary(Op::Select, equal(v, zero_of(v.type())), one_of(v.type()), v);
}

} // namespace

// An array that is not followed in a body: elements without derivative, not a copy of the array.
Value AdTracker::gather(const Value &source, const Value &index, const Value &mask) {
    if (tracing_body() && !attached(source))
        return barrier(jit::gather(source.detached(), index, mask));
    Value result = jit::gather(primal(source, true), index, mask);
    if (!follow(std::array{ &source }))
        return unfollowed(result, std::array{ &source });
    auto t = with<GatherTransfer>(index, mask);
    t->type = source.type();
    t->size = source.size();
    Value v = linear(result, source, std::move(t));
    // One element for all lanes: its gradients go to the source directly
    tape.node(v.grad_id()).spread = v.size() == 1 && c.region == 0;
    return v;
}

std::vector<Value> AdTracker::gather_packet(const Value &source, const Value &index, uint32_t n,
                                            const Value &mask) {
    bool stop = tracing_body() && !attached(source);
    std::vector<Value> out =
        jit::gather_packet(stop ? source.detached() : primal(source, true), index, n, mask);
    if (!follow(std::array{ &source })) {
        for (Value &v : out)
            v = stop ? barrier(v) : unfollowed(v, std::array{ &source });
        return out;
    }
    Value plain = index.detached();
    for (uint32_t i = 0; i < n; ++i) {
        Value at = ternary(Op::Fma, plain, literal(Type::U32, n), literal(Type::U32, i));
        auto t = with<GatherTransfer>(at, mask);
        t->type = source.type();
        t->size = source.size();
        out[i] = linear(out[i], source, std::move(t));
    }
    return out;
}

void AdTracker::scatter(Value &target, const Value &value, const Value &index, const Value &mask,
                        ReduceOp op) {
    if (tracing_body() && op != ReduceOp::Add && attached(value))
        fail("scatter: {} of values that carry gradients inside a recorded body is not "
             "differentiable, only add is; detach them, or return them from the body",
             name(op));
    if (tracing_body() && op != ReduceOp::Add && attached(target))
        fail("scatter: {} changes an array that carries gradients inside a recorded body, which is "
             "not differentiable; detach it",
             name(op));
    if (tracing_body() && attached(value))
        return add_in_body(target, value, index, mask);
    Value before = target, plain = target.detached();
    target = Value(); // the target must not look shared, or it would be copied
    bool followed = follow(std::array<const Value *, 2>{ &before, &value });
    bool linear = op == ReduceOp::Store || op == ReduceOp::Add;
    if (followed && !linear && c.region)
        fail("scatter: {} of values that carry gradients inside a recorded {} is not "
             "differentiable; "
             "detach them",
             name(op), c.graph.region(c.region).kind);
    GradId old = before.grad_id();
    Type type = plain.type();
    uint32_t size = plain.size();
    if (old)
        tape.retain(old);
    before = followed && !linear ? plain : Value(); // the weights are in terms of the old elements
    Value survivors = mask.detached();
    if (followed && op == ReduceOp::Store && !c.region)
        survivors = survives(value, index.detached(), survivors, size);
    jit::scatter(plain, value.detached(), index, survivors, op);
    target = plain;
    plain = Value();
    if (tracing_body() && tape.follows(old)) { // adding changes nothing about its derivative
        tape.retain(old);
        target = Value::attach(std::move(target), old);
    }
    if (followed) {
        // Weights of what was there and of what was written; not valid: 1
        Value kept, written, v = value.detached();
        auto at = [&](const Value &cells) { return jit::gather(cells, index, mask); };
        if (op == ReduceOp::Min || op == ReduceOp::Max) { // shared among those that attain it
            kept = cast(type, equal(before, target));
            written = cast(type, equal(v, at(target)));
            Value count = kept;
            jit::scatter(count, written, index, mask, ReduceOp::Add);
            kept = divide(kept, count);
            written = ternary(Op::Select, mask, divide(written, at(count)), zero_of(type));
        } else if (op == ReduceOp::Mul) {
            Value zeros = is_zero(before), rest = without_zeros(before);
            jit::scatter(zeros, is_zero(v), index, mask, ReduceOp::Add);
            jit::scatter(rest, without_zeros(v), index, mask, ReduceOp::Mul);
            kept = others(before, zeros, rest);
            written = others(v, at(zeros), at(rest));
        }
        before = Value();
        GradId id = tape.make_node(type, size, c.region != 0, "Scatter");
        if (tape.follows(old)) {
            if (op == ReduceOp::Store) {
                auto t = with<KeptTransfer>(index, mask);
                t->target_size = size;
                tape.connect(old, id, {}, {}, std::move(t));
            } else {
                tape.connect(old, id, kept);
            }
        }
        if (tape.follows(value.grad_id())) {
            auto t = with<WrittenTransfer>(index, survivors);
            t->op = op;
            t->weight = written;
            t->type = type;
            t->target_size = size;
            tape.connect(value.grad_id(), id, {}, {}, std::move(t));
        }
        if (op == ReduceOp::Mul)
            higher.set_varying(id);
        target = Value::attach(std::move(target), id);
    }
    if (old)
        tape.release(old);
}

// The construct that the body belongs to becomes an operation when it is complete. What the array is
// afterwards has a node already: the caller's handle is changed here and now.
void AdTracker::add_in_body(Value &target, const Value &value, const Value &index,
                            const Value &mask) {
    GradId old = tape.follows(target.grad_id()) ? target.grad_id() : 0;
    if (old)
        tape.retain(old);
    Value plain = target.detached();
    target = Value(); // not shared, see above
    jit::scatter(plain, primal(value), index, mask, ReduceOp::Add);
    GradId node = old;
    bool ours = false; // written to before by this body or one around it
    for (const Collector *c : collectors)
        for (const Collector::Written &w : c->written)
            ours = ours || w.node == old;
    if (!ours) {
        node = tape.make_node(plain.type(), plain.size(), false, "Scatter");
        if (old) {
            tape.connect(old, node);
            tape.release(old);
        }
    }
    collectors.back()->note_written({ plain.id(), node });
    target = Value::attach(std::move(plain), node);
}

// ---- local arrays: their gradients are local arrays

namespace {

struct LocalNewTransfer final : Transfer {
    uint32_t length;
    Value forward(const Value &g) override { return jit::local_array(g, length); }
    Value backward(const Value &g) override {
        Value sum;
        for (uint32_t i = 0; i < length; ++i) {
            Value e = jit::local_get(g, literal(Type::U32, i), truth());
            sum = sum.valid() ? binary(Op::Add, sum, e) : e;
        }
        return sum;
    }
};
struct LocalGetTransfer final : Transfer {
    Value index, mask;
    uint32_t length;
    Value forward(const Value &g) override { return jit::local_get(g, index, mask); }
    Value backward(const Value &) override { return {}; }
    bool backward_into(Value &into, const Value &g) override {
        if (!into.valid())
            into = jit::local_array(zero_of(g.type()), length);
        into = jit::local_set(into, index, binary(Op::Add, jit::local_get(into, index, mask), g),
                              mask);
        return true;
    }
};
struct LocalKeptTransfer final : Transfer {
    Value index, mask;
    Value forward(const Value &g) override {
        return jit::local_set(g, index, zero_of(g.type()), mask);
    }
    Value backward(const Value &) override { return {}; }
    bool backward_into(Value &into, const Value &g) override {
        Value kept = forward(g);
        if (!into.valid()) {
            into = kept;
            return true;
        }
        for (uint32_t i = 0; i < kept.node().length;
             ++i) { // element by element: arrays have no sum
            Value at = literal(Type::U32, i);
            Value sum = binary(Op::Add, jit::local_get(into, at, truth()),
                               jit::local_get(kept, at, truth()));
            into = jit::local_set(into, at, sum, truth());
        }
        return true;
    }
};
struct LocalWrittenTransfer final : Transfer {
    Value index, mask;
    uint32_t length;
    Value forward(const Value &g) override {
        return jit::local_set(jit::local_array(zero_of(g.type()), length), index, g, mask);
    }
    Value backward(const Value &g) override { return jit::local_get(g, index, mask); }
};

} // namespace

Value AdTracker::local_array(const Value &initial, uint32_t length) {
    Value result = jit::local_array(primal(initial), length);
    if (!follow(std::array{ &initial }))
        return unfollowed(result, std::array{ &initial });
    auto t = std::make_unique<LocalNewTransfer>();
    t->length = length;
    return linear(result, initial, std::move(t));
}

Value AdTracker::local_get(const Value &array, const Value &index, const Value &mask) {
    Value result = jit::local_get(primal(array), index, mask);
    if (!follow(std::array{ &array }))
        return tracing_body() && !attached(array) ? barrier(result)
                                                  : unfollowed(result, std::array{ &array });
    auto t = with<LocalGetTransfer>(index, mask);
    t->length = array.node().length;
    return linear(result, array, std::move(t));
}

Value AdTracker::local_set(const Value &array, const Value &index, const Value &value,
                           const Value &mask) {
    Value result = jit::local_set(primal(array), index, primal(value), mask);
    if (!follow(std::array{ &array, &value }))
        return unfollowed(result, std::array{ &array, &value });
    GradId id = tape.make_node(result.type(), result.size(), c.region != 0, "ArraySet");
    if (tape.follows(array.grad_id()))
        tape.connect(array.grad_id(), id, {}, {}, with<LocalKeptTransfer>(index, mask));
    if (tape.follows(value.grad_id())) {
        auto t = with<LocalWrittenTransfer>(index, mask);
        t->length = array.node().length;
        tape.connect(value.grad_id(), id, {}, {}, std::move(t));
    }
    return Value::attach(std::move(result), id);
}

// ---- reductions

namespace {

// Sum over runs of `block` elements; the gradient of each element is that of its run.
struct SumTransfer final : Transfer {
    uint32_t size, block;
    Value forward(const Value &g) override {
        Value all = g.size() == size ? g : binary(Op::Add, g, full(g.type(), 0, size));
        return block == size ? jit::reduce(ReduceOp::Add, all)
                             : jit::block_reduce(ReduceOp::Add, all, block);
    }
    Value backward(const Value &g) override {
        if (block == size || g.size() == 1)
            return size == 1 ? g : binary(Op::Add, g, full(g.type(), 0, size));
        return jit::gather(g, binary(Op::Div, lane_index(size), literal(Type::U32, block)),
                           truth());
    }
};

// Products, least and greatest elements of groups; `combine` reduces each group, `spread` gives each
// element what belongs to its group.
struct WeightedSum final : Transfer {
    std::function<Value(ReduceOp, const Value &)> combine;
    std::function<Value(const Value &)> spread;
    Value weight;

    void weigh(ReduceOp op, const Value &v, const Value &result) {
        if (op == ReduceOp::Mul) {
            Value zeros = combine(ReduceOp::Add, is_zero(v));
            Value rest = combine(ReduceOp::Mul, without_zeros(v));
            weight = others(v, spread(zeros), spread(rest));
        } else { // shared among the elements that attain it
            Value attained = cast(v.type(), equal(v, spread(result)));
            weight = divide(attained, spread(combine(ReduceOp::Add, attained)));
        }
    }
    Value forward(const Value &g) override {
        return combine(ReduceOp::Add, binary(Op::Mul, g, weight));
    }
    Value backward(const Value &g) override { return binary(Op::Mul, spread(g), weight); }
};

// A prefix sum's gradient is the sum over all later elements of the run: the total less what came before.
struct PrefixTransfer final : Transfer {
    uint32_t size, block;
    bool exclusive;
    Value expand(const Value &g) {
        return g.size() == size ? g : binary(Op::Add, g, full(g.type(), 0, size));
    }
    Value forward(const Value &g) override { return jit::prefix_sum(expand(g), exclusive, block); }
    Value backward(const Value &grad) override {
        Value lane = lane_index(size), run = literal(Type::U32, block ? block : size);
        // Reverse each run, sum, reverse back
        Value first = binary(Op::Mul, binary(Op::Div, lane, run), run);
        Value end = binary(Op::Min, binary(Op::Add, first, run), literal(Type::U32, size));
        Value mirror = binary(Op::Sub, binary(Op::Sub, binary(Op::Add, first, end), lane),
                              literal(Type::U32, 1));
        Value reversed = jit::gather(expand(grad), mirror, truth());
        return jit::gather(jit::prefix_sum(reversed, exclusive, block), mirror, truth());
    }
};

} // namespace

// A body that reduces an array of its surroundings does so outside.
template <class Fn> Value AdTracker::outside(const char *what, const Value &v, Fn &&fn) {
    if (tape.node(v.grad_id()).mark)
        fail("{}: of a value with gradients that the recorded body computes itself; compute it "
             "before",
             what);
    struct Scope {
        AdTracker &t;
        std::vector<Collector *> saved;
        ~Scope() { t.collectors = std::move(saved); }
    } scope{ *this, std::exchange(collectors, {}) };
    OutsideScope recorded(c);
    return fn(jit::outside(v));
}

Value AdTracker::reduce(ReduceOp op, const Value &v) {
    if (tracing_body() && attached(v))
        return outside("reduce", v, [&](const Value &v) { return reduce(op, v); });
    Value plain = v.detached(), result = jit::reduce(op, plain);
    if (!follow(std::array{ &v }))
        return result;
    if (op == ReduceOp::Add) {
        auto t = std::make_unique<SumTransfer>();
        t->size = t->block = v.size();
        return linear(result, v, std::move(t), true);
    }
    auto t = std::make_unique<WeightedSum>();
    t->combine = [](ReduceOp o, const Value &x) { return jit::reduce(o, x); };
    t->spread = [](const Value &x) { return x; };
    t->weigh(op, plain, result);
    Value out = linear(result, v, std::move(t), true);
    if (op == ReduceOp::Mul)
        higher.set_varying(out.grad_id());
    return out;
}

Value AdTracker::block_reduce(ReduceOp op, const Value &v, uint32_t block) {
    if (tracing_body() && attached(v))
        return outside("block_reduce", v,
                       [&](const Value &v) { return block_reduce(op, v, block); });
    Value plain = v.detached(), result = jit::block_reduce(op, plain, block);
    if (!follow(std::array{ &v }))
        return result;
    uint32_t size = v.size();
    if (op == ReduceOp::Add) {
        auto t = std::make_unique<SumTransfer>();
        t->size = size;
        t->block = block;
        return linear(result, v, std::move(t), true);
    }
    auto t = std::make_unique<WeightedSum>();
    t->combine = [=](ReduceOp o, const Value &x) {
        return jit::block_reduce(
            o, x.size() == size ? x : binary(Op::Add, x, full(x.type(), 0, size)), block);
    };
    t->spread = [=](const Value &x) {
        Value run = binary(Op::Div, lane_index(size), literal(Type::U32, block));
        return x.size() == 1 ? x : jit::gather(x, run, truth());
    };
    t->weigh(op, plain, result);
    Value out = linear(result, v, std::move(t), true);
    if (op == ReduceOp::Mul)
        higher.set_varying(out.grad_id());
    return out;
}

Value AdTracker::prefix_sum(const Value &v, bool exclusive, uint32_t block) {
    if (tracing_body() && attached(v))
        return outside("prefix_sum", v,
                       [&](const Value &v) { return prefix_sum(v, exclusive, block); });
    Value result = jit::prefix_sum(v.detached(), exclusive, block);
    if (!follow(std::array{ &v }))
        return result;
    auto t = std::make_unique<PrefixTransfer>();
    t->size = v.size();
    t->block = block;
    t->exclusive = exclusive;
    return linear(result, v, std::move(t), true);
}

Value AdTracker::dot(const Value &a, const Value &b) {
    return jit::reduce(ReduceOp::Add, binary(Op::Mul, a, b));
}

} // namespace umbel::ad
