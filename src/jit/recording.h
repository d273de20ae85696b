// jit/recording.h: what a stretch of a program launches, to be launched again with other data.
//
//     Recorder recorder(context, { x });          // from here on, launches are noted
//     Float32 y = f(x);
//     auto recording = recorder.finish({ &y, 1 });
//     Value z = recording->replay({ &x2, 1 })[0];  // f(x2), without tracing f
//
// Launches know their arrays by slots: inputs, results of earlier launches, and constants: arrays that the stretch made
// from numbers of the host, or found. Literals are part of kernels. A launch of lanes that no array fixes has a size that
// is some ratio of another array's, or a constant; one recording cannot tell, a second one with inputs of other sizes can:
// see `generalize`.
#pragma once
#include "jit/task.h"
#include "jit/value.h"
#include <span>
#include <unordered_map>

namespace umbel::jit {

class Recording {
public:
    ~Recording();
    /// Launches all of it. `inputs`: evaluated values of the same types as those that were recorded, in that order.
    std::vector<Value> replay(std::span<const Value> inputs) const;

    /// Whether inputs of these sizes can be replayed: they are those that were recorded, or sizes are understood.
    bool covers(std::span<const Value> inputs) const;
    /// Whether an array that it found, and that is no input, has been given up by everybody else: replaced, most likely.
    bool stale() const;
    /// Learns from a recording of the same stretch with inputs of other sizes how sizes depend on those of the inputs.
    /// False if the two do different things: then neither is of use for sizes that it was not recorded with.
    bool generalize(const Recording &other);

    size_t launches() const { return m_steps.size(); }
    Context &context() const { return m_context; }

private:
    friend class Recorder;
    struct Ratio { // of a slot's size
        uint32_t slot;
        uint64_t numerator, denominator;
        bool operator==(const Ratio &) const = default;
    };
    struct Size {
        uint64_t recorded = 0;
        std::vector<Ratio> ratios; // each fits; none: constant
        bool constant = true;      // may be
    };
    struct Slot {
        enum Kind : uint8_t { Input, Result, Constant } kind;
        Type type;
        uint64_t size;          // as recorded
        uint32_t last_step = 0; // that uses it
        bool keep = false;      // it is an output
        Value value;            // Constant
        std::vector<char>
            contents;         // of a Constant that is written to: each replay starts with these
        bool foreign = false; // Constant: somebody else has it, and may replace it
    };
    struct Used { // a single element that is part of a launch's data; no reference
        NodeId node;
        uint32_t seq; // the low half of it: scenes have millions of these
        auto operator<=>(const Used &) const = default;
    };
    struct Step {
        std::shared_ptr<Task> task; // without arrays
        std::vector<uint32_t> slots;
        bool waits; // its result's size depends on data
        Size size;
    };
    struct Output {
        uint32_t slot; // ~0u: a literal
        Type type;
        uint64_t bits;
        Size size;
    };

    explicit Recording(Context &c) : m_context(c) {}
    Recording(const Recording &) = delete;
    uint64_t size_of(const Size &size, const std::vector<uint64_t> &slots) const;
    static bool merge(Size &size, const Size &other);
    bool is_valid(const Used &u) const {
        const Node &n = m_context.graph[u.node];
        return n.refs && uint32_t(n.seq) == u.seq && n.flags & Single;
    }

    Context &m_context;
    std::vector<Slot> m_slots; // inputs first
    std::vector<Used> m_used;
    std::vector<Step> m_steps;
    std::vector<Output> m_outputs;
    size_t m_inputs = 0;
    std::vector<bool> m_varied; // inputs that had other sizes in recordings that it has learnt from
    bool m_general = false, m_waits = false;
};

/// Notes the launches of a context while it exists. Inputs are never written to meanwhile: who writes gets a copy.
class Recorder {
public:
    /// `inputs` are evaluated, and distinct. Pending effects are carried out first. With `found`, arrays that are neither
    /// inputs nor made meanwhile may be read; without, that is an error.
    Recorder(Context &context, std::span<const Value> inputs, bool found);
    ~Recorder();
    Recorder(const Recorder &) = delete;

    /// Evaluates the outputs and ends the recording.
    std::shared_ptr<Recording> finish(std::span<const Value> outputs);

    /// The calling thread's, for a context; null where nothing is recorded.
    static Recorder *of(const Context &c);

    // ---- called by what launches
    void launched(const Task &task, bool waits);
    /// The element that this node holds is part of the data of a launch to come.
    void used(NodeId single);
    /// The value's array is the target of effects that are about to run.
    void written(NodeId id);

private:
    uint32_t slot_of(const TaskArray &array);
    uint32_t constant(NodeId id);
    bool is_found(NodeId id) const;
    static void drop_repeated(std::vector<Recording::Used> &list);
    Recording::Size describe(uint64_t size, std::span<const uint32_t> preferred) const;

    Context &m_context;
    std::shared_ptr<Recording> m_recording;
    std::unordered_map<const Buffer *, uint32_t> m_known;
    std::vector<BufferRef> m_kept; // by slot: addresses must stay distinct
    std::vector<Value> m_inputs;
    std::vector<Recording::Used> m_made; // as m_used, by the stretch itself
    size_t m_most_used = 1024;           // before repeated elements are dropped
    uint64_t m_start;
    bool m_found;
};

/// Call where contents are about to be read: a UserError while launches are recorded.
void about_to_read(const Context &c, const char *what);
/// The number of elements, u32; while launches are recorded, that of the array in each replay.
Value recorded_size(const Value &v);
/// Forgets the kernels that are in memory, as a recording must then; how often that was done.
void flush_kernels();
uint64_t flushed_kernels();

} // namespace umbel::jit
