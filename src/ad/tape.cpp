// ad/tape.cpp: storage of the graph of derivatives and the propagation along its edges.
#include "ad/derivatives.h"
#include "ad/tracker.h"
#include <algorithm>
#include <atomic>
#include <map>
#include <unordered_set>

namespace umbel::ad {

using namespace jit;

// ---- nodes

GradId Tape::make_node(Type type, uint32_t size, bool inner, Label label) {
    GradId id;
    if (m_free_nodes.empty()) {
        id = GradId(m_nodes.size());
        m_nodes.emplace_back();
    } else {
        id = m_free_nodes.back();
        m_free_nodes.pop_back();
    }
    TapeNode &n = m_nodes[id];
    n.refs = 1;
    n.size = size;
    n.type = type;
    n.inner = inner;
    n.seq = m_seq++;
    n.label = std::move(label);
    ++m_live;
    note_new(id);
    return id;
}

void Tape::release(GradId id) {
    if (--m_nodes[id].refs)
        return;
    m_dying.push_back(id);
    if (m_releasing)
        return;
    m_releasing = true; // long chains die one by one, not recursively
    while (!m_dying.empty()) {
        GradId i = m_dying.back();
        m_dying.pop_back();
        while (m_nodes[i].in)
            remove_edge(m_nodes[i].in);
        while (m_nodes[i].out) // an edge to a living target holds a reference: none is left
            remove_edge(m_nodes[i].out);
        Value grad = std::move(m_nodes[i].grad);
        auto operation = std::move(m_nodes[i].operation);
        if (m_context.tracker)
            AdTracker::of(m_context).higher.forget(i);
        m_nodes[i] = TapeNode();
        m_free_nodes.push_back(i);
        --m_live;
    }
    m_releasing = false;
}

std::string Tape::listing() const {
    std::string out;
    for (size_t i = 1; i < m_nodes.size(); ++i) {
        const TapeNode &n = m_nodes[i];
        if (!n.refs)
            continue;
        out +=
            fmt::format("g{}: {} x {}, {} references{}{}{}{}\n", i, n.size, name(n.type), n.refs,
                        n.operation ? ", operation " : "", n.operation ? n.operation->name() : "",
                        n.label.view().empty() ? "" : ", ", n.label.view());
    }
    return out;
}

std::string Tape::dot() const {
    std::string out = "digraph derivatives {\n    node [shape=box, fontname=monospace];\n";
    for (size_t i = 1; i < m_nodes.size(); ++i)
        if (m_nodes[i].refs)
            out += fmt::format("    g{} [label=\"g{} {}\\n{} x {}\"];\n", i, i,
                               m_nodes[i].operation ? m_nodes[i].operation->name()
                                                    : m_nodes[i].label.view(),
                               m_nodes[i].size, name(m_nodes[i].type));
    for (const Edge &e : m_edges)
        if (e.source)
            out += fmt::format("    g{} -> g{}{};\n", e.source, e.target,
                               e.transfer       ? " [style=bold]"
                               : e.mask.valid() ? " [style=dashed]"
                                                : "");
    return out + "}\n";
}

// ---- edges

uint32_t Tape::connect(GradId source, GradId target, Value weight, Value mask,
                       std::unique_ptr<Transfer> transfer) {
    uint32_t id;
    if (m_free_edges.empty()) {
        id = uint32_t(m_edges.size());
        m_edges.emplace_back();
    } else {
        id = m_free_edges.back();
        m_free_edges.pop_back();
    }
    Edge &e = m_edges[id];
    e.source = source;
    e.target = target;
    e.weight = std::move(weight);
    e.mask = std::move(mask);
    e.transfer = std::move(transfer);
    e.prev_in = e.prev_out = 0;
    e.next_in = std::exchange(m_nodes[target].in, id);
    e.next_out = std::exchange(m_nodes[source].out, id);
    if (e.next_in)
        m_edges[e.next_in].prev_in = id;
    if (e.next_out)
        m_edges[e.next_out].prev_out = id;
    e.marked = false;
    retain(source);
    return id;
}

GradId Tape::make_hub(std::shared_ptr<Operation> operation) {
    GradId id = make_node(Type::Void, 1, false);
    m_nodes[id].operation = std::move(operation);
    return id;
}

void Tape::remove_edge(uint32_t id) {
    Edge &e = m_edges[id];
    (e.prev_in ? m_edges[e.prev_in].next_in : m_nodes[e.target].in) = e.next_in;
    (e.prev_out ? m_edges[e.prev_out].next_out : m_nodes[e.source].out) = e.next_out;
    if (e.next_in)
        m_edges[e.next_in].prev_in = e.prev_in;
    if (e.next_out)
        m_edges[e.next_out].prev_out = e.prev_out;
    GradId source = std::exchange(e.source, 0), target = std::exchange(e.target, 0);
    if (auto &operation = m_nodes[source].operation) // the output of a custom operation is gone
        std::replace(operation->outputs.begin(), operation->outputs.end(), target, GradId(0));
    // Its values die at the end, when the graph is consistent again
    Value weight = std::move(e.weight), mask = std::move(e.mask);
    std::unique_ptr<Transfer> transfer = std::move(e.transfer);
    e.marked = false;
    e.traversals = 0;
    m_free_edges.push_back(id);
    release(source);
}

// ---- gradients

// Local arrays have no sum: element by element.
Value add_gradients(const Value &a, const Value &b) {
    uint32_t length = a.node().length;
    if (!length)
        return binary(Op::Add, a, b);
    Value sum = a, all = literal(Type::Bool, 1);
    for (uint32_t i = 0; i < length; ++i) {
        Value at = literal(Type::U32, i);
        sum =
            local_set(sum, at, binary(Op::Add, local_get(a, at, all), local_get(b, at, all)), all);
    }
    return sum;
}

// Arithmetic on gradients may make nodes: no reference into the tape outlives it.
void Tape::accumulate(GradId id, const Value &g, bool lanes) {
    Value grad = g, sum = std::move(m_nodes[id].grad);
    const bool inner = m_nodes[id].inner;
    const uint32_t size = m_nodes[id].size;
    const Type type = m_nodes[id].type;
    auto finish = [&] { m_nodes[id].grad = std::move(sum); };
    if (grad.node().length) { // a local array's lanes are its own wherever it is
        sum = sum.valid() ? add_gradients(sum, grad) : grad;
        return finish();
    }
    auto total = [](const Value &v) { return v.size() == 1 ? v : reduce(ReduceOp::Add, v); };
    bool outside = grad.node().region == 0 && !lanes;
    if (m_nodes[id].spread && (!outside || (sum.valid() && sum.size() != grad.size()))) {
        m_nodes[id].spread = false; // lanes of two sizes have no sum but that of their totals
        if (sum.valid())
            sum = total(sum);
    }
    if (size == 1 && !inner && !m_nodes[id].spread && (grad.size() != 1 || !outside)) {
        if (outside && m_context.region) {
            grad = total(grad);
        } else {
            // Lanes meet in memory: no kernel of its own for each sum
            if (!sum.valid())
                sum = literal(type, 0);
            Value all = literal(Type::Bool, 1);
            scatter(sum, summand(grad, all), literal(Type::U32, 0), all, ReduceOp::Add);
            return finish();
        }
    }
    if (!inner && size != 1 && !outside) {
        if (!sum.valid())
            sum = full(type, 0, size);
        Value all = literal(Type::Bool, 1);
        scatter(sum, summand(grad, all), lane_index(size), all, ReduceOp::Add);
        return finish();
    }
    sum = sum.valid() ? add_gradients(sum, grad) : grad;
    finish();
}

static bool is_finite_literal(const Value &v) {
    if (!v.is_literal())
        return false;
    uint64_t exponent = v.type() == Type::F64   ? 0x7ffull << 52
                        : v.type() == Type::F32 ? 0xffull << 23
                                                : 0x1full << 10;
    return (v.literal_bits() & exponent) != exponent;
}

// One such lane would spoil what all others have added.
Value Tape::summand(const Value &grad, const Value &mask) {
    if (!left_out.note || grad.node().length || is_finite_literal(grad))
        return grad;
    Type type = grad.type();
    uint64_t infinity = type == Type::F64   ? 0x7ffull << 52
                        : type == Type::F32 ? 0xffull << 23
                                            : 0x1full << 10;
    Value finite = binary(Op::Lt, unary(Op::Abs, grad), literal(type, infinity));
    Value lanes = binary(Op::And, mask, unary(Op::Not, finite));
    // In a body, told once for all sums of its traversal. Elsewhere at once: what is computed may be evaluated before its end
    if (m_context.region && m_traversed_region == m_context.region)
        m_left_out.push_back(std::move(lanes));
    else
        leave_out(lanes);
    return ternary(Op::Select, finite, grad, literal(type, 0));
}

// In bodies, calls of the host would make others of those that are the same, and keep them from standing where they are called.
void Tape::leave_out(const Value &lanes) {
    if (!m_context.region)
        return left_out.note(lanes);
    left_out.is_written = true;
    scatter(left_out.in_bodies, literal(Type::U32, 1), literal(Type::U32, 0), lanes, ReduceOp::Max);
}

void Tape::tell_left_out() {
    std::map<uint32_t, Value> of_size;
    for (Value &lanes : std::exchange(m_left_out, {})) {
        Value &all = of_size[lanes.size()];
        all = all.valid() ? binary(Op::Or, all, lanes) : lanes;
    }
    for (auto &[size, lanes] : of_size)
        leave_out(lanes);
}

// The weight of an edge as a value with derivatives: made again from operands that have theirs.
static Value noted_weight(Tape &tape, uint32_t edge, GradId target,
                          const std::vector<Edge> &edges) {
    const Recipe recipe = AdTracker::of(tape.context()).higher.find(target);
    Value operands[3];
    const Value *pointers[3] = {};
    size_t count = 0;
    for (; count < 3 && recipe.operands[count].valid(); ++count) {
        operands[count] = recipe.operands[count];
        pointers[count] = &operands[count];
    }
    tape.retain(target);
    Value result = Value::attach(
        apply_op(recipe.op, tape.node(target).type, { operands, count }).detached(), target);
    int wanted = 0;
    for (size_t k = 0; k < count; ++k) {
        uint32_t e = recipe.edges[k];
        if (!e)
            continue;
        if (edges[e].target != target)
            fail("gradient: an earlier traversal has taken down what an operand of {} depends on",
                 tape.node(target).label.view());
        tape.retain(edges[e].source);
        operands[k] = Value::attach(std::move(operands[k]), edges[e].source);
        if (e == edge)
            wanted = int(k);
    }
    return partial(recipe.op, wanted, pointers, result).weight;
}

void Tape::propagate(Mode mode, uint32_t id) {
    GradId from = mode == Mode::Forward ? m_edges[id].source : m_edges[id].target;
    GradId to = mode == Mode::Forward ? m_edges[id].target : m_edges[id].source;
    if (!m_nodes[from].grad.valid())
        return;
    Value grad = m_nodes[from].grad;
    Transfer *transfer = m_edges[id].transfer.get();
    Value mask = m_edges[id].mask;
    bool partial = m_nodes[from].partial || m_nodes[from].inner;
    m_nodes[to].partial |= partial || mask.valid();
    if (transfer) {
        if (mode == Mode::Backward) {
            Value into = std::move(m_nodes[to].grad);
            bool done = transfer->backward_into(into, grad);
            m_nodes[to].grad = std::move(into);
            if (done)
                return;
            grad = transfer->backward(grad);
        } else {
            grad = transfer->forward(grad);
        }
        if (!grad.valid())
            return;
    } else {
        if (grad.type() != m_nodes[to].type) // a cast between precisions
            grad = cast(m_nodes[to].type, grad);
        Value weight = m_edges[id].weight;
        if (weight.valid() && !weight.is_literal() && AdTracker::of(m_context).higher.noting)
            weight = noted_weight(*this, id, m_edges[id].target, m_edges);
        if (weight.valid()) {
            Value product = binary(Op::Mul, grad, weight);
            // Where a branch was not taken its derivative may well be infinite, and counts for nothing
            if (partial && !is_finite_literal(weight))
                product = ternary(Op::Select, binary(Op::Ne, grad, literal(grad.type(), 0)),
                                  product, literal(grad.type(), 0));
            grad = product;
        }
        if (mask.valid())
            grad = ternary(Op::Select, mask, grad, literal(grad.type(), 0));
    }
    if (mode == Mode::Forward && m_nodes[to].size == 1 && grad.size() != 1) {
        Value sum = m_nodes[to].grad;
        sum = sum.valid() ? add_gradients(sum, grad) : grad;
        m_nodes[to].grad = std::move(sum);
    } else {
        accumulate(to, grad, m_context.region && m_nodes[from].inner);
    }
}

// ---- vertex elimination

size_t Tape::eliminate_vertices() {
    std::vector<GradId> order;
    for (GradId n = 1; n < m_nodes.size(); ++n)
        if (m_nodes[n].refs && m_nodes[n].in && m_nodes[n].out && !m_nodes[n].operation)
            order.push_back(n);
    std::sort(order.begin(), order.end(),
              [&](GradId a, GradId b) { return m_nodes[a].seq < m_nodes[b].seq; });
    size_t removed = 0;
    for (GradId v : order) {
        std::vector<uint32_t> in, out;
        bool plain = !m_nodes[v].grad.valid();
        auto check_edge = [&](uint32_t e, GradId other) {
            // Sums over lanes and conversions happen at nodes: those must stay
            plain = plain && !m_edges[e].transfer && !m_edges[e].marked &&
                    !m_nodes[other].operation && m_nodes[other].size == m_nodes[v].size &&
                    m_nodes[other].type == m_nodes[v].type &&
                    m_nodes[other].inner == m_nodes[v].inner;
        };
        for (uint32_t e = m_nodes[v].in; e; e = m_edges[e].next_in) {
            in.push_back(e);
            check_edge(e, m_edges[e].source);
        }
        for (uint32_t e = m_nodes[v].out; e; e = m_edges[e].next_out) {
            out.push_back(e);
            check_edge(e, m_edges[e].target);
        }
        // Held by its out-edges alone: no value asks for its gradient
        if (!plain || m_nodes[v].refs != out.size() || (in.size() > 1 && out.size() > 1))
            continue;
        auto combine = [](Op op, const Value &a, const Value &b) {
            return !a.valid() ? b : !b.valid() ? a : binary(op, a, b);
        };
        for (uint32_t i : in)
            for (uint32_t o : out) {
                Value weight = combine(Op::Mul, m_edges[i].weight, m_edges[o].weight);
                Value mask = combine(Op::And, m_edges[i].mask, m_edges[o].mask);
                AdTracker::of(m_context).higher.forget(m_edges[o].target); // of other operands
                connect(m_edges[i].source, m_edges[o].target, std::move(weight), std::move(mask));
            }
        for (uint32_t o : out)
            remove_edge(o); // the last one takes the node and its in-edges along
        ++removed;
    }
    return removed;
}

// ---- traversal

ScopeState *Tape::isolation() {
    std::vector<ScopeState> &all = scopes();
    for (auto it = all.rbegin(); it != all.rend(); ++it)
        if (it->isolate)
            return &*it;
    return nullptr;
}

// Edges that a traversal around this one is going to pass stay marked, and are left to it.
void Tape::enqueue(Mode mode, GradId id) {
    if (eliminate_before_traversal && m_todo.empty())
        eliminate_vertices();
    ScopeState *isolated = isolation();
    uint64_t &oldest = AdTracker::of(m_context).higher.oldest_reached;
    retain(id);
    m_starts.push_back(id);
    std::vector<GradId> stack{ id };
    while (!stack.empty()) {
        GradId n = stack.back();
        stack.pop_back();
        bool backward = mode == Mode::Backward;
        if (backward && !m_nodes[n].in)
            oldest = std::min(oldest, m_nodes[n].seq);
        for (uint32_t e = backward ? m_nodes[n].in : m_nodes[n].out; e;
             e = backward ? m_edges[e].next_in : m_edges[e].next_out) {
            if (m_edges[e].marked)
                continue;
            m_edges[e].marked = true;
            // Across an isolation boundary only one step is taken
            if (isolated && m_nodes[m_edges[e].target].seq < isolated->boundary)
                m_outside.emplace_back(e, mode);
            else
                m_todo.push_back(e);
            stack.push_back(backward ? m_edges[e].source : m_edges[e].target);
        }
    }
}

// What lies beyond an isolation waits for its end. Only tangents that others have brought to the boundary
// are read from inside: what leads there is not run again.
void Tape::postpone(Mode mode) {
    ScopeState *isolated = isolation();
    for (auto [e, enqueued] : std::exchange(m_outside, {})) {
        if (mode == Mode::Forward && enqueued == Mode::Backward) {
            m_edges[e].marked = false;
            continue;
        }
        retain(m_edges[e].source);
        retain(m_edges[e].target);
        isolated->postponed.emplace_back(e, mode);
    }
}

// Whether a node's label is that of an operation, not one that a variable was given.
static bool is_operation(std::string_view label) {
    static const std::unordered_set<std::string_view> names = [] {
        std::unordered_set<std::string_view> all{ "Scatter", "ArraySet" };
        for (int op = 0; op < OpCount; ++op)
            all.insert(name(Op(op)));
        return all;
    }();
    return names.count(label) != 0;
}

// ---- traversals whose gradients are noted, see ad/higher_order.cpp

// Those of the edges, in the order of a traversal, that lead to one of the nodes.
static std::vector<uint32_t> leading_to(const std::vector<TapeNode> &nodes,
                                        const std::vector<Edge> &edges, Mode mode,
                                        const std::vector<uint32_t> &todo,
                                        const HigherOrder &higher) {
    std::unordered_set<GradId> leads(higher.to.begin(), higher.to.end());
    std::vector<uint32_t> out;
    for (auto it = todo.rbegin(); it != todo.rend(); ++it) {
        const Edge &e = edges[*it];
        GradId from = mode == Mode::Backward ? e.target : e.source;
        if (!leads.count(mode == Mode::Backward ? e.source : e.target))
            continue;
        leads.insert(from);
        out.push_back(*it);
    }
    std::reverse(out.begin(), out.end());
    auto need_whole = [&](GradId n) { // what made it is gone, unless it was never computed
        if (!nodes[n].in && !nodes[n].operation && is_operation(nodes[n].label.view()))
            fail("gradient: an earlier traversal has taken down what a result of {} depends on; "
                 "keep "
                 "it with the flags ClearInput | ClearInterior",
                 nodes[n].label.view());
    };
    for (uint32_t e : todo)
        need_whole(edges[e].source);
    for (GradId n : mode == Mode::Backward ? higher.from : higher.to)
        need_whole(n);
    return out;
}

// Gradients that are there already, put aside until the end.
struct Aside {
    std::vector<TapeNode> &all;
    std::vector<GradId> nodes;
    std::vector<Value> saved;
    Aside(std::vector<TapeNode> &all, const std::vector<GradId> &touched, const HigherOrder &higher)
        : all(all), nodes(touched) {
        for (auto *list : { &higher.from, &higher.to })
            nodes.insert(nodes.end(), list->begin(), list->end());
        std::sort(nodes.begin(), nodes.end());
        nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
        for (GradId n : nodes)
            saved.push_back(std::move(all[n].grad));
    }
    ~Aside() {
        for (size_t i = 0; i < nodes.size(); ++i)
            std::swap(all[nodes[i]].grad, saved[i]); // what is in `saved` dies at the end
    }
};

// An error where the derivative of the edge's weight is not known.
static void need_recipe(const std::vector<TapeNode> &nodes, const Edge &e, uint32_t id,
                        const HigherOrder &higher) {
    for (GradId n : { e.source, e.target })
        if (nodes[n].operation)
            fail(
                "gradient: a {} stands between the value and what it depends on; its derivative is "
                "not one that can be differentiated again",
                nodes[n].operation->name());
    Recipe recipe = higher.find(e.target);
    auto *at = std::find(recipe.edges, recipe.edges + 3, id);
    bool known = e.transfer ? !recipe.varies
                            : !e.weight.valid() || e.weight.is_literal() ||
                                  (recipe.op != Op::Literal && at != recipe.edges + 3);
    if (!known)
        fail("gradient: the derivative of {} is not one that can be differentiated again",
             nodes[e.target].label.view());
}

void Tape::traverse(Mode mode, uint32_t clear) {
    std::vector<uint32_t> todo = std::exchange(m_todo, {});
    std::vector<GradId> starts = std::exchange(m_starts, {});
    postpone(mode);
    HigherOrder &higher = AdTracker::of(m_context).higher;
    auto target_seq = [&](uint32_t e) { return m_nodes[m_edges[e].target].seq; };
    auto source_seq = [&](uint32_t e) { return m_nodes[m_edges[e].source].seq; };
    if (mode == Mode::Backward)
        std::sort(todo.begin(), todo.end(), [&](uint32_t a, uint32_t b) {
            return std::pair(target_seq(a), source_seq(a)) >
                   std::pair(target_seq(b), source_seq(b));
        });
    else
        std::sort(todo.begin(), todo.end(), [&](uint32_t a, uint32_t b) {
            return std::pair(source_seq(a), target_seq(a)) <
                   std::pair(source_seq(b), target_seq(b));
        });
    std::vector<GradId> touched;
    for (uint32_t e : todo) { // nothing on the way may die while we work
        for (GradId n : { m_edges[e].source, m_edges[e].target }) {
            retain(n);
            touched.push_back(n);
        }
        ++m_edges[e].traversals;
    }
    struct Finish {
        Tape &t;
        std::vector<uint32_t> &todo;
        std::vector<GradId> &touched, &starts;
        HigherOrder &higher;
        bool clear = false;
        ~Finish() {
            if (--higher.depth == 0)
                higher.traversed = t.m_seq;
            for (uint32_t e : todo) {
                t.m_edges[e].marked = false;
                bool last = --t.m_edges[e].traversals == 0; // one around this may still need it
                if (clear && last)
                    t.remove_edge(e);
            }
            for (auto *list : { &touched, &starts })
                for (GradId n : *list)
                    t.release(n);
        }
    } finish{ *this, todo, touched, starts, higher };
    if (higher.depth++ == 0)
        higher.traversal_began = m_context.graph.sequence();
    if (clear & Abandon)
        return;
    if (clear & NoteGradients) {
        std::vector<uint32_t> leading = leading_to(m_nodes, m_edges, mode, todo, higher);
        for (uint32_t e : leading)
            need_recipe(m_nodes, m_edges[e], e, higher);
        Aside aside(m_nodes, touched, higher);
        for (size_t k = 0; k < higher.from.size(); ++k)
            accumulate(higher.from[k], higher.seeds[k]);
        for (uint32_t e : leading)
            propagate(mode, e);
        for (GradId n : higher.to)
            higher.results.push_back(m_nodes[n].grad);
        return;
    }

    struct LeftOut { // traversals nest, as regions do
        Tape &t;
        std::vector<Value> lanes = std::exchange(t.m_left_out, {});
        jit::RegionId region = std::exchange(t.m_traversed_region, t.m_context.region);
        ~LeftOut() {
            t.m_left_out = std::move(lanes);
            t.m_traversed_region = region;
        }
    } left_out{ *this };

    // Along the edges; a custom operation runs once, when all that it waits for is there
    std::unordered_set<GradId> ran;
    for (uint32_t e : todo) {
        m_edges[e].marked = false;
        GradId source = m_edges[e].source, target = m_edges[e].target;
        bool from_hub = m_nodes[source].operation != nullptr,
             to_hub = m_nodes[target].operation != nullptr;
        if (!from_hub && !to_hub) {
            propagate(mode, e);
            continue;
        }
        GradId hub = from_hub ? source : target;
        bool run_now = mode == Mode::Backward ? to_hub : from_hub;
        if (run_now && ran.insert(hub).second) {
            std::shared_ptr<Operation> operation = m_nodes[hub].operation;
            struct Reinstate { // what was followed when the operation was applied
                std::vector<ScopeState> &scopes;
                Reinstate(std::vector<ScopeState> &s, const ScopeState &state) : scopes(s) {
                    scopes.push_back(state);
                }
                ~Reinstate() { scopes.pop_back(); }
            } reinstate(scopes(), operation->scope ? *operation->scope : ScopeState());
            if (mode == Mode::Forward)
                operation->forward();
            else
                operation->backward();
        }
    }

    tell_left_out();
    if (clear & (ClearInterior | ClearInput))
        clear_gradients(mode, clear, todo);
    finish.clear = clear & ClearEdges;
}

// A node is an end if the traversal enters it and does not leave it. What lies outside of an isolation, or
// of the body that is being traced, keeps its gradient: others, or another iteration, may read it.
void Tape::clear_gradients(Mode mode, uint32_t clear, const std::vector<uint32_t> &todo) {
    ScopeState *isolated = isolation();
    auto outside = [&](const TapeNode &n) {
        return (isolated && n.seq < isolated->boundary) || (m_context.region && !n.inner);
    };
    std::vector<GradId> entered, left;
    for (uint32_t e : todo) {
        left.push_back(mode == Mode::Forward ? m_edges[e].source : m_edges[e].target);
        entered.push_back(mode == Mode::Forward ? m_edges[e].target : m_edges[e].source);
    }
    std::sort(entered.begin(), entered.end());
    std::sort(left.begin(), left.end());
    auto in = [](const std::vector<GradId> &v, GradId n) {
        return std::binary_search(v.begin(), v.end(), n);
    };
    left.erase(std::unique(left.begin(), left.end()), left.end());
    std::vector<GradId> waiting; // part of what they give is postponed
    for (const ScopeState &s : scopes())
        for (auto [e, m] : s.postponed)
            waiting.push_back(m == Mode::Forward ? m_edges[e].source : m_edges[e].target);
    std::sort(waiting.begin(), waiting.end());
    for (GradId n : left) {
        if (in(waiting, n) || outside(m_nodes[n]))
            continue;
        bool interior = in(entered, n);
        if ((interior && (clear & ClearInterior)) || (!interior && (clear & ClearInput)))
            m_nodes[n].grad = Value();
    }
}

// ---- scopes

uint64_t Tape::next_serial() {
    static std::atomic<uint64_t> count = 0;
    return ++count;
}

// The tape that this thread asked for last, at a fixed place: it is asked for at each operation.
[[gnu::tls_model("initial-exec")]] static constinit thread_local uint64_t t_tape = 0;
[[gnu::tls_model("initial-exec")]] static constinit thread_local std::vector<ScopeState> *t_scopes =
    nullptr;

std::vector<ScopeState> &Tape::scopes() const {
    if (t_tape == m_serial) [[likely]]
        return *t_scopes;
    struct Stack {
        uint64_t tape;
        std::unique_ptr<std::vector<ScopeState>> scopes;
    };
    thread_local std::vector<Stack> stacks; // one a backend, save in tests
    auto found = std::find_if(stacks.begin(), stacks.end(),
                              [&](const Stack &s) { return s.tape == m_serial; });
    if (found == stacks.end())
        found =
            stacks.insert(found, Stack{ m_serial, std::make_unique<std::vector<ScopeState>>(1) });
    t_tape = m_serial;
    t_scopes = found->scopes.get();
    return *t_scopes;
}

void Tape::leave_isolation(bool is_given_up) {
    auto postponed = std::move(scopes().back().postponed);
    scopes().pop_back();
    if (is_given_up) {
        std::vector<GradId> all;
        for (auto [e, mode] : postponed) {
            Edge &edge = m_edges[e];
            edge.marked = false;
            if (mode == Mode::Backward)
                m_nodes[edge.target].grad = Value();
            all.insert(all.end(), { edge.source, edge.target });
        }
        for (GradId id : all)
            release(id);
        return;
    }
    ScopeState *outer = isolation();
    std::vector<GradId> held;
    for (Mode mode : { Mode::Backward, Mode::Forward }) {
        for (auto [e, m] : postponed) {
            if (m != mode)
                continue;
            if (outer && m_nodes[m_edges[e].target].seq < outer->boundary) {
                outer->postponed.emplace_back(e, mode);
                continue;
            }
            held.push_back(m_edges[e].source);
            held.push_back(m_edges[e].target);
            m_todo.push_back(e);
        }
        if (!m_todo.empty())
            traverse(mode, ClearAll);
    }
    for (GradId id : held)
        release(id);
}

void Tape::note_new(GradId id) {
    ScopeState &s = scopes().back();
    auto at = std::lower_bound(s.ids.begin(), s.ids.end(), id);
    if (!s.complement)
        s.ids.insert(at, id);
    else if (at != s.ids.end() && *at == id)
        s.ids.erase(at); // the number of a node that is gone
}

} // namespace umbel::ad
