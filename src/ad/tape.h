// ad/tape.h: the graph of derivatives: nodes, weighted edges, traversal in both directions.
//
// A node stands for a differentiable value; an edge from an operand to a result carries the partial
// derivative as an ordinary recorded value. Traversing the graph therefore leaves nothing behind but
// recorded arithmetic, which is fused and compiled with the rest.
//
// References: a value refers to its node, a node to its operands through the edges that enter it. What no
// value depends on any more is gone.
#pragma once
#include "jit/array.h"
#include <algorithm>
#include <memory>
#include <string>

namespace umbel::ad {

using jit::Context;
using jit::GradId;
using jit::Type;
using jit::Value;

enum class Mode { Forward, Backward };

/// The sum of two gradients of a value, which may be a local array.
Value add_gradients(const Value &a, const Value &b);

/// What a traversal clears behind itself.
enum Clear : uint32_t {
    ClearNothing = 0,
    ClearEdges = 1,    // the edges that it passed
    ClearInput = 2,    // gradients of the nodes where it started
    ClearInterior = 4, // gradients of the nodes that are neither start nor end
    ClearAll = 7,
};

/// An operation with derivatives of its own; see ad/custom.h for the public form.
class Operation {
public:
    virtual ~Operation() = default;
    virtual const char *name() const = 0;
    virtual void forward() = 0;
    virtual void backward() = 0;
    std::vector<GradId> inputs, outputs;      // 0: carries no gradient, or is gone
    std::shared_ptr<struct ScopeState> scope; // in force when it was applied, and when it runs
};

/// A linear map that is no product with a weight: gathers, scatters, sums.
class Transfer {
public:
    virtual ~Transfer() = default;
    virtual Value forward(const Value &grad) = 0;
    virtual Value backward(const Value &grad) = 0;
    /// Adds directly to the gradient of the source and returns true, where that is cheaper.
    virtual bool backward_into(Value &, const Value &) { return false; }
};

struct Edge {
    GradId source = 0, target = 0;
    uint32_t next_in = 0, prev_in = 0;   // list of the target
    uint32_t next_out = 0, prev_out = 0; // list of the source
    Value weight;                        // not valid: 1
    Value mask;                          // valid: only lanes in it
    std::unique_ptr<Transfer> transfer;
    bool marked = false;    // waits for traversal
    uint8_t traversals = 0; // that it is part of; they may nest
};

/// What listings call a node: the name of an operation, which costs nothing, or words of their own.
class Label {
public:
    Label() = default;
    Label(const char *name) : m_name(name) {}
    Label(const std::string &own) : m_own(std::make_unique<std::string>(own)) {}
    std::string_view view() const { return m_own ? std::string_view(*m_own) : m_name; }

private:
    const char *m_name = "";
    std::unique_ptr<std::string> m_own;
};

struct TapeNode {
    uint32_t refs = 0;
    uint32_t in = 0, out = 0; // first edges
    uint32_t size = 0;
    Type type = Type::Void;
    bool inner = false; // stands for a value of a region that is being traced: one gradient a lane
    bool spread =
        false; // of size 1, but takes gradients of lanes as they are: its source sums them up
    bool partial = false; // some lanes of the gradient were masked off
    uint64_t seq = 0;
    Value grad;
    std::shared_ptr<Operation> operation; // a hub between inputs and outputs of a custom operation
    Label label;                          // for the listing of what is left
    bool mark = false; // says that a value of a body being traced depends on something followed
};

/// Restricts which values are followed, or how far traversals go; nested scopes stack up.
struct ScopeState {
    bool complement = true;  // followed: all but `ids` (true), or `ids` alone
    std::vector<GradId> ids; // sorted
    bool isolate = false;
    uint64_t boundary = 0; // nodes older than this lie outside of the isolation
    std::vector<std::pair<uint32_t, Mode>> postponed; // edges to traverse when the isolation ends

    bool follows(GradId id) const {
        if (ids.empty())
            return complement;
        return complement != std::binary_search(ids.begin(), ids.end(), id);
    }
};

/// The node's derivative ends here, also where a body that computes it is replayed with derivatives.
Value barrier(const Value &v);

class Tape {
public:
    explicit Tape(Context &c) : m_context(c), m_serial(next_serial()) {
        m_nodes.resize(1);
        m_edges.resize(1);
    }

    // ---- nodes; all functions that return an id give a reference
    GradId make_node(Type type, uint32_t size, bool inner, Label label = {});
    void retain(GradId id) { ++m_nodes[id].refs; }
    void release(GradId id);
    TapeNode &node(GradId id) { return m_nodes[id]; }
    /// Orders the node behind all others: what it depends on was not complete when it was made.
    void move_to_end(GradId id) { m_nodes[id].seq = m_seq++; }
    size_t live() const { return m_live; }
    std::string listing() const;
    std::string dot() const;

    // ---- edges
    /// Takes no references; the target keeps the source alive.
    uint32_t connect(GradId source, GradId target, Value weight = {}, Value mask = {},
                     std::unique_ptr<Transfer> transfer = nullptr);
    GradId make_hub(std::shared_ptr<Operation> operation);

    // ---- gradients
    /// `lanes`: of those that run the body being traced, also where the gradient is the same for all of them.
    void accumulate(GradId id, const Value &grad, bool lanes = false);
    void set_grad(GradId id, Value grad) { m_nodes[id].grad = std::move(grad); }
    /// What a lane adds to a sum over lanes: its gradient, or nothing where that is to be left out, see FiniteSums.
    Value summand(const Value &grad, const Value &mask);
    using NoteLanes = void (*)(const Value &lanes);
    struct LeftOut {
        NoteLanes note = nullptr; // null: nothing is left out
        Value in_bodies; // a number that is not 0 once lanes of loops, branches and calls were
        bool is_written = false; // whether they may have been
    } left_out;

    // ---- traversal
    /// Marks all edges that can be reached from the node against (Backward) or along (Forward) the flow.
    void enqueue(Mode mode, GradId id);
    /// Replaces nodes that no value refers to, and that have one edge in or one edge out, by edges with the
    /// product of the weights [Griewank 2008, ch. 9]; returns how many. Pays for a graph that is kept
    /// and traversed often: it shrinks, and each traversal is shorter.
    size_t eliminate_vertices();
    /// Whether each traversal starts with an elimination. Off: a graph that is traversed once gains
    /// nothing, as the products cost what the traversal saves.
    bool eliminate_before_traversal = false;
    /// Propagates gradients along the marked edges.
    void traverse(Mode mode, uint32_t clear);

    // ---- scopes
    /// Those of the calling thread: threads that share a context do not share what they suspend.
    std::vector<ScopeState> &scopes() const;
    bool follows(GradId id) const { return id && scopes().back().follows(id); }
    /// A node made inside a scope that follows a chosen few is followed, too.
    void note_new(GradId id);
    uint64_t sequence() const { return m_seq; }
    /// Ends the innermost isolation; what it postponed is traversed now, or postponed by the next one. `is_given_up`: nobody
    /// will traverse it, and gradients that wait there, of which some are missing, are dropped.
    void leave_isolation(bool is_given_up = false);
    Context &context() { return m_context; }

private:
    void remove_edge(uint32_t e);
    void propagate(Mode mode, uint32_t e);
    void leave_out(const Value &lanes);
    void tell_left_out();
    void postpone(Mode mode);
    ScopeState *isolation();
    void clear_gradients(Mode mode, uint32_t clear, const std::vector<uint32_t> &edges);

    static uint64_t next_serial();

    Context &m_context;
    uint64_t m_serial; // tells tapes apart, also from those that are gone
    std::vector<TapeNode> m_nodes;
    std::vector<Edge> m_edges;
    std::vector<GradId> m_free_nodes;
    std::vector<uint32_t> m_free_edges, m_todo;
    std::vector<GradId> m_dying;
    std::vector<GradId> m_starts; // where the next traversal begins
    /// Of the traversal that is under way, in its region: lanes whose gradients were left out.
    std::vector<Value> m_left_out;
    jit::RegionId m_traversed_region = 0;
    std::vector<std::pair<uint32_t, Mode>>
        m_outside; // enqueued, but beyond an isolation's boundary
    bool m_releasing = false;
    uint64_t m_seq = 1;
    size_t m_live = 0;
};

} // namespace umbel::ad
