// ad/tracker.h: notes operations on the tape as they are recorded.
#pragma once
#include "ad/applied.h"
#include "ad/recipes.h"
#include "ad/replay.h"
#include "ad/tape.h"
#include "jit/control.h"
#include <unordered_map>

namespace umbel::ad {

/// Values with gradients that a body reads from outside while it is traced: its implicit inputs.
///
/// What the body computes from them carries a mark in the place of a gradient, so that `detach` and scopes
/// mean inside what they mean outside.
struct Collector {
    explicit Collector(Tape &tape);
    ~Collector();
    Collector(const Collector &) = delete;

    Tape &tape;
    GradId mark;
    std::vector<Value> values;        // with their gradient ids; one for each pair of node and id
    std::vector<jit::NodeId> sources; // of each: what it is a copy of; 0: it is none
    bool asked = false;               // the body, or one inside, has acted on what carries a mark
    /// Arrays of the surroundings that the body adds to, with the nodes of what they are afterwards.
    struct Written {
        jit::NodeId buffer;
        GradId node;
    };
    std::vector<Written> written;
    std::vector<std::shared_ptr<AppliedOp>> applied; // custom operations of the body
    void note_written(const Written &w);
    /// Notes the value and returns what the body is to compute with, without gradient: a copy of it, for what is computed of the
    /// same node elsewhere does not have the derivative. `as_is`: an array to be read anywhere, or a copy already.
    Value note(const Value &v, bool as_is = false);

private:
    Value take(Value noted, jit::NodeId source);
};

/// The node that an input is a copy of, which bodies may use, too, without its derivative; 0: it is none.
jit::NodeId source_of_copy(const jit::Graph &g, jit::NodeId input);

class AdTracker final : public jit::Tracker {
public:
    explicit AdTracker(Context &c) : tape(c), c(c) {}

    void retain(GradId id) override { tape.retain(id); }
    void release(GradId id) override { tape.release(id); }
    bool following() const override { return tape.live() != 0; }

    Value elementwise(jit::Op op, Type type, std::span<const Value *const> operands) override;
    Value gather(const Value &source, const Value &index, const Value &mask) override;
    std::vector<Value> gather_packet(const Value &source, const Value &index, uint32_t n,
                                     const Value &mask) override;
    void scatter(Value &target, const Value &value, const Value &index, const Value &mask,
                 jit::ReduceOp op) override;
    Value local_array(const Value &initial, uint32_t length) override;
    Value local_get(const Value &array, const Value &index, const Value &mask) override;
    Value local_set(const Value &array, const Value &index, const Value &value,
                    const Value &mask) override;
    Value reduce(jit::ReduceOp op, const Value &v) override;
    Value block_reduce(jit::ReduceOp op, const Value &v, uint32_t block) override;
    Value prefix_sum(const Value &v, bool exclusive, uint32_t block) override;
    Value dot(const Value &a, const Value &b) override;
    void loop(const char *name, const std::vector<Value *> &state,
              const jit::detail::Condition &condition, const jit::detail::Body &body) override;
    std::vector<Value> if_(const char *name, const Value &condition,
                           const jit::detail::Branch &then_branch,
                           const jit::detail::Branch &else_branch) override;
    std::vector<Value> call(const char *name, const Value &id, const Value &mask,
                            const std::vector<Value *> &args, uint32_t instances,
                            const jit::detail::Callee &callee) override;

    /// The context's tracker, made on first use.
    static AdTracker &of(Context &c);

    Originals originals; // before the tape, whose operations forget theirs
    AppliedOps applied;
    HigherOrder higher; // and whose nodes forget their recipes
    Tape tape;
    std::vector<Collector *> collectors; // of bodies being traced, innermost last

    /// The operand as the primal computation sees it; a body's surroundings are noted on the way.
    Value primal(const Value &v, bool is_array = false);
    bool tracing_body() const { return !collectors.empty(); }
    /// The body does something that depends on what is marked.
    void note_asked();
    /// With the mark of the body that is being traced.
    Value marked(const Value &v);

private:
    /// False where operands are only to be noted as implicit inputs, or are not followed.
    bool follow(std::span<const Value *const> operands);
    /// The result of an operation that is not followed; marked where a body computes it.
    Value unfollowed(const Value &result, std::span<const Value *const> operands);
    bool attached(const Value &v) const { return tape.follows(v.grad_id()); }
    /// Whether nothing is followed: bodies are then traced as they are.
    bool suspended() const;
    void strip(std::vector<Value> &values, std::vector<uint8_t> &depends);
    std::vector<Value> differentiate(const char *name, std::vector<Value> outputs,
                                     const std::vector<uint8_t> &depends, Collector &collector,
                                     uint64_t since);
    /// The result as a node that depends on `source` through a linear map.
    /// `whole`: of the array as such, not of lanes of the region that is being traced.
    Value linear(const Value &result, const Value &source, std::unique_ptr<Transfer> transfer,
                 bool whole = false);
    template <class Fn> Value outside(const char *what, const Value &v, Fn &&fn);
    void add_in_body(Value &target, const Value &value, const Value &index, const Value &mask);
    void refuse_nested_writes(const char *name, const Collector &collector) const;
    jit::NodeId last_construct(uint64_t since) const;

    Context &c;
};

/// Traces `body` with values of its surroundings noted in `collector` instead of followed.
template <class Fn> auto collect(AdTracker &t, Collector &collector, Fn &&body) {
    struct Scope {
        AdTracker &t;
        Scope(AdTracker &t, Collector &c) : t(t) { t.collectors.push_back(&c); }
        ~Scope() { t.collectors.pop_back(); }
    } scope(t, collector);
    return body();
}

} // namespace umbel::ad
