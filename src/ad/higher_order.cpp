// ad/higher_order.cpp: gradients that have derivatives, and an error for those that have none.
//
// The weight of an edge is a number. Where gradients are to be differentiated again, a traversal makes the
// weights once more, from operands that carry derivatives, and what it computes from them goes onto the
// tape like anything else: derivatives of any order, forward and backward, are traversals of that.
//
// What `grad` returns after an ordinary traversal is a number: of f + |grad f|^2 only the first term would be
// differentiated. So the node of each such number is remembered, and a traversal that starts at what is
// computed from one is refused, if it leads to what was followed when the number was computed.
#include "ad/higher_order.h"
#include "ad/tracker.h"
#include <algorithm>
#include <unordered_set>

namespace umbel::ad {

using namespace jit;

// ---- gradients that are numbers

// Entries of nodes that are gone, or whose number another one has.
static void forget_the_dead(const Graph &g, std::unordered_map<NodeId, uint64_t> &nodes) {
    if (nodes.size() < 256 || (nodes.size() & (nodes.size() - 1)) != 0)
        return;
    std::erase_if(nodes, [&](const auto &entry) {
        return g[entry.first].refs == 0 || g[entry.first].seq != entry.second;
    });
}

// What is computed from a gradient is to be told from what is computed from equal values: unless it is data
// already, it gets a node that nothing else has.
Value HigherOrder::as_number(const Value &g) {
    if (g.is_literal() || g.context().region || depth)
        return g;
    bool data = g.is_evaluated() || g.node().flags & Dirty;
    if (data && g.node().seq < traversal_began)
        return g;
    Value number = data ? g : barrier(g);
    forget_the_dead(g.context().graph, gradients);
    gradients[number.id()] = number.node().seq;
    last_gradient = traversed;
    return number;
}

void HigherOrder::note_constant(const Value &v) {
    if (gradients.empty() || v.is_literal())
        return;
    forget_the_dead(v.context().graph, constants);
    constants[v.id()] = v.node().seq;
}

void HigherOrder::refuse_dropped(Tape &tape, const Value &y) {
    uint64_t oldest = std::exchange(oldest_reached, ~0ull);
    const Graph &g = y.context().graph;
    if (gradients.empty() || y.context().region || depth || oldest >= last_gradient)
        return;
    auto listed = [&](const std::unordered_map<NodeId, uint64_t> &nodes, NodeId id) {
        auto it = nodes.find(id);
        return it != nodes.end() && it->second == g[id].seq;
    };
    std::vector<NodeId> stack{ y.id() };
    std::unordered_set<NodeId> seen;
    while (!stack.empty()) {
        NodeId id = stack.back();
        stack.pop_back();
        if (!seen.insert(id).second || listed(constants, id))
            continue;
        if (listed(gradients, id)) {
            tape.traverse(Mode::Backward, Abandon);
            fail("backward: the value is computed from a gradient, whose derivative would be "
                 "missing: "
                 "what grad() returns is a number. Use gradient() for one that has derivatives, or "
                 "detach() where the gradient is meant as a constant");
        }
        operands_of(y.context(), id, g[id], stack);
    }
}

// ---- the public functions

static Value shaped(const Value &g, const Value &like) {
    if (!g.valid())
        return literal(like.type(), 0, like.size());
    Value out = like.size() == 1 && g.size() != 1 ? reduce(ReduceOp::Add, g) : g;
    return out.size() == like.size() || out.node().length
               ? out
               : binary(Op::Add, out, literal(like.type(), 0, like.size()));
}

static std::vector<Value> propagate_noted(Tape &t, Mode mode, const std::vector<GradId> &from,
                                          const std::vector<Value> &seeds,
                                          const std::vector<GradId> &to) {
    Context &c = t.context();
    HigherOrder &higher = AdTracker::of(c).higher;
    if (c.region)
        fail("gradient: inside a recorded {}; use backward and grad there",
             c.graph.region(c.region).kind);
    for (const ScopeState &s : t.scopes())
        if (s.isolate)
            fail("gradient: inside a scope that isolates gradients; use backward and grad there");
    struct Noting {
        HigherOrder &higher;
        ~Noting() {
            higher.noting = false;
            higher.from.clear();
            higher.to.clear();
            std::vector<Value> seeds = std::move(higher.seeds), results = std::move(higher.results);
        }
    } noting{ higher };
    higher.noting = true;
    higher.from = from;
    higher.to = to;
    higher.seeds = seeds;
    for (GradId n : from)
        t.enqueue(mode, n);
    higher.oldest_reached = ~0ull;
    t.traverse(mode, NoteGradients);
    return std::move(higher.results);
}

// `given`: an operand for each of `of`; 1 where there is none.
static std::vector<Value> derivatives(Mode mode, const char *what, std::span<const Value> of,
                                      std::span<const Value> given, std::span<const Value> by) {
    if (of.empty() || by.empty())
        return std::vector<Value>(by.size());
    Tape &t = AdTracker::of(of[0].context()).tape;
    std::vector<GradId> from, to;
    std::vector<Value> seeds;
    auto check_value = [&](const Value &v) {
        if (!v.valid())
            fail("{}: an operand is an uninitialized value", what);
        if (!is_float(v.type()))
            fail("{}: only float values have derivatives, not {}", what, name(v.type()));
        if (v.grad_id() && t.node(v.grad_id()).mark)
            throw InsideBody(fmt::format("{}: inside a recorded body that is differentiated as a "
                                         "whole",
                                         what));
    };
    for (size_t k = 0; k < of.size(); ++k) {
        check_value(of[k]);
        Value seed = k < given.size() && given[k].valid()
                         ? given[k]
                         : cast(of[k].type(), literal(Type::Bool, 1));
        if (seed.type() != of[k].type() || (seed.size() != 1 && seed.size() != of[k].size()))
            fail("{}: operand {} has {} elements of type {}, what is given for it {} of type {}",
                 what, k, of[k].size(), name(of[k].type()), seed.size(), name(seed.type()));
        if (!t.follows(of[k].grad_id()))
            continue;
        from.push_back(of[k].grad_id());
        seeds.push_back(seed.size() == of[k].size()
                            ? seed
                            : binary(Op::Add, seed, literal(seed.type(), 0, of[k].size())));
    }
    std::vector<size_t> where;
    for (size_t k = 0; k < by.size(); ++k) {
        check_value(by[k]);
        if (!t.follows(by[k].grad_id()))
            continue;
        to.push_back(by[k].grad_id());
        where.push_back(k);
    }
    std::vector<Value> found = propagate_noted(t, mode, from, seeds, to), out(by.size());
    for (size_t i = 0; i < where.size(); ++i)
        out[where[i]] = found[i];
    for (size_t k = 0; k < by.size(); ++k)
        out[k] = shaped(out[k], by[k]);
    return out;
}

std::vector<Value> gradient(std::span<const Value> y, std::span<const Value> x,
                            std::span<const Value> weights) {
    return derivatives(Mode::Backward, "gradient", y, weights, x);
}

std::vector<Value> tangent(std::span<const Value> x, std::span<const Value> y,
                           std::span<const Value> directions) {
    return derivatives(Mode::Forward, "tangent", x, directions, y);
}

} // namespace umbel::ad
