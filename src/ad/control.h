// ad/control.h: operations on the tape that stand for recorded control flow.
#pragma once
#include "ad/ad.h"
#include "ad/replay.h"
#include "ad/tracker.h"
#include <unordered_set>

namespace umbel::ad {

/// The inputs of a construct while it is traced again with derivatives.
class Inside {
public:
    /// `nodes`: those of the inputs on the tape.
    Inside(Context &c, Tape &tape, const std::vector<Value> &inputs,
           const std::vector<GradId> &nodes);

    /// Fresh stand-ins for the lanes of the region that is being traced, set in `replay`; of all inputs,
    /// or of those in `which`.
    std::vector<Value> enter(Replay &replay, const std::vector<Value> *tangents = nullptr,
                             const std::vector<size_t> *which = nullptr);
    bool is_input(jit::NodeId id) const;
    void enable_inner(Value &v);
    /// Whether a gradient of input i belongs to a lane of the region around this one.
    bool inner(size_t i) const { return m_inputs[i].inner; }
    /// Whether another input with the same value stands for its lanes; this one for its memory.
    bool shadowed(size_t i) const {
        return !m_inputs[i].inner && m_inner.count(m_inputs[i].value.id()) != 0;
    }
    /// Inside of a region, gradients in memory are added to in place: from here to `give_back` they are
    /// ours. Sums of arrays that the region writes to could not be read there.
    void take_over();
    bool give_back(size_t i);
    void set_memory_tangent(size_t i, const Value &tangent);
    /// What was scattered to the gradient of input i; not valid: nothing.
    Value memory_gradient(size_t i);
    Value memory_of(size_t i) {
        return m_inputs[i].memory.valid() ? m_inputs[i].memory : m_inputs[i].value;
    }
    std::vector<Value> memory(const std::vector<size_t> *which = nullptr) const;

private:
    struct Input {
        Value value;  // without gradient
        Value memory; // as an array that is gathered from: gradients are scattered to its node
        GradId node = 0;
        bool inner = false;
    };
    bool m_taken = false;
    std::unordered_set<jit::NodeId> m_inner;
    Context &c;
    Tape &tape;
    std::vector<Input> m_inputs;
};

/// A recorded construct as one operation.
class RecordedOp : public CustomOp {
public:
    RecordedOp(AdTracker &tracker, Value construct, std::vector<Value> inputs,
               std::vector<Value> outs, const std::vector<Collector::Written> &written);
    ~RecordedOp() override;
    std::vector<Value> eval(std::span<const Value>) override { return m_outs; }

    /// Custom operations inside, which replays apply again.
    std::vector<std::shared_ptr<AppliedOp>> m_applied;

protected:
    /// By number of the construct's output; not valid: none.
    std::vector<Value> output_gradients(size_t count);
    std::vector<Value> input_tangents();
    /// Adds gradients, one a lane, and those that were scattered, to the inputs.
    void give(Inside &region, const std::vector<Value> &lanes);
    /// Sets tangents of the outputs, given by number.
    void take(const std::vector<Value> &tangents);

    /// An addition to an array outside, in a body: of a region, or of a call.
    struct Write {
        size_t target; // number among the arrays written to
        jit::RegionId region;
        size_t body;
        Value value, index, mask;
        struct Guard { // a conditional around it in the body, which a replay takes apart
            jit::RegionId region;
            Value condition;
            bool positive;
        };
        std::vector<Guard> guards;
    };
    /// Its operands once more; the value with derivatives.
    struct Rewrite {
        size_t target;
        Value value, index, mask;
    };
    template <class Which> std::vector<Rewrite> replay_writes(Replay &replay, Which &&which) {
        std::vector<Rewrite> out;
        for (const Write &w : m_writes)
            if (which(w))
                out.push_back(replay_write(replay, w));
        return out;
    }
    /// Before the derivative of the construct is traced: gradients of the arrays as memory, or zeros
    /// for their tangents. Afterwards the tangents are set.
    void read_targets();
    void open_targets();
    void close_targets();
    /// Appends the values written and their gradients.
    void seed(const std::vector<Rewrite> &writes, std::vector<Value> &values,
              std::vector<Value> &gradients);
    void scatter_tangents(const std::vector<Rewrite> &writes);

    AdTracker &tracker;
    Tape &tape;
    Context &c;
    Value construct;                // the Loop, If or Call
    std::vector<Value> values;      // inputs, without gradients
    std::vector<Value> m_outs;      // results that this operation stands for ...
    std::vector<uint64_t> m_number; // ... and their numbers in the construct
    std::vector<Write> m_writes;

private:
    void remember_originals();
    void find_writes(const std::vector<Collector::Written> &written);
    void find_writes_in(const std::vector<jit::NodeId> &effects,
                        const std::vector<Collector::Written> &written, Write place);
    Rewrite replay_write(Replay &replay, const Write &w);
    std::vector<Value> m_targets; // gradients or tangents of the arrays written to
    std::vector<jit::NodeId> m_remembered;
};

/// Derivatives run outside of whatever body is being traced, with everything followed.
struct Fresh {
    AdTracker &t;
    std::vector<Collector *> saved;
    ResumeGrad resume;
    explicit Fresh(AdTracker &t) : t(t), saved(std::exchange(t.collectors, {})) {}
    ~Fresh() { t.collectors = saved; }
};

/// Whether bodies gather from the input, and do nothing else: what they compute with is a copy.
bool is_array(const Value &input);
/// A literal 0, or a local array of zeros.
Value zero_like(const Value &v);
/// The gradient of a value of the region being traced; zero where none has arrived.
Value grad_or_zero(const Value &v);
/// Propagates inside a region: backward from results with these gradients ...
void run_backward(Tape &tape, std::vector<Value> &outputs, const std::vector<Value> &gradients);
/// ... or forward from inputs that have theirs.
void run_forward(Tape &tape, const std::vector<Value> &inputs, const std::vector<Value> &memory);

std::shared_ptr<RecordedOp> make_call_op(AdTracker &tracker, Value construct,
                                         std::vector<Value> inputs, std::vector<Value> outs,
                                         const std::vector<Collector::Written> &written);
std::shared_ptr<RecordedOp> make_loop_op(AdTracker &tracker, Value construct,
                                         std::vector<Value> inputs, std::vector<Value> outs,
                                         const std::vector<Collector::Written> &written);

} // namespace umbel::ad
