// ad/recipes.h: what the tape remembers for derivatives of gradients.
#pragma once
#include "ad/tape.h"
#include <unordered_map>

namespace umbel::ad {

/// How the weights of the edges into a node were made, to make them again with derivatives of their own.
struct Recipe {
    jit::Op op = jit::Op::Literal; // none is known
    bool varies = false;           // there is one, but nobody has written it down
    Value operands[3];             // without gradients; these are their edges':
    uint32_t edges[3] = { 0, 0, 0 };
};

/// Further flags of Tape::traverse.
enum : uint32_t {
    NoteGradients = 1 << 16, // what it computes goes onto the tape, see ad/higher_order.cpp
    Abandon = 1 << 17,       // nothing is propagated after all
};

struct HigherOrder {
    // ---- by node of the tape
    std::vector<Recipe> recipes;
    /// That of a node; of a new one, it is empty.
    Recipe &recipe(GradId id) {
        if (recipes.size() <= id)
            recipes.resize(id + id / 2 + 16);
        return recipes[id];
    }
    void set(GradId id, Recipe r) { recipe(id) = std::move(r); }
    void set_varying(GradId id) {
        Recipe r;
        r.varies = true;
        set(id, std::move(r));
    }
    void forget(GradId id) {
        if (id < recipes.size() && (recipes[id].op != jit::Op::Literal || recipes[id].varies))
            Recipe gone = std::exchange(recipes[id], {});
    }
    Recipe find(GradId id) const { return id < recipes.size() ? recipes[id] : Recipe(); }

    // ---- a traversal whose gradients are noted
    bool noting = false;
    std::vector<GradId> from, to; // where it begins, with `seeds`, and is to lead
    std::vector<Value> seeds, results;

    // ---- gradients that are numbers
    // Nodes of the compiler's graph that were handed out as gradients, and those that were detached, with their
    // sequence numbers: nothing keeps them alive
    std::unordered_map<jit::NodeId, uint64_t> gradients, constants;
    uint64_t last_gradient = 0;      // what is older on the tape was there when it was computed
    uint64_t traversed = 0;          // when the last traversal ended
    uint64_t traversal_began = 0;    // in the compiler's graph
    uint64_t oldest_reached = ~0ull; // by `enqueue`, of what does not depend on anything
    uint32_t depth = 0;              // of traversals

    /// Of a gradient that `grad` returns: the value, or an equal one that nothing else is.
    Value as_number(const Value &g);
    void note_constant(const Value &v);
    /// After `enqueue` of y: an error where y is computed from a gradient, and depends on what was followed when
    /// that was computed.
    void refuse_dropped(Tape &tape, const Value &y);
};

} // namespace umbel::ad
