// jit/context.h: a thread's recording state: its graph, its backend, its flags, its stream of kernels.
#pragma once
#include "jit/backend.h"
#include "jit/graph.h"
#include "jit/stream.h"
#include "jit/tracker.h"
#include "jit/zeroed_array.h"
#include <map>
#include <span>
#include <string>
#include <unordered_map>

namespace umbel::jit {

/// Optimizations and modes, each of which can be turned off to measure it.
enum class Flag : uint32_t {
    ValueNumbering = 1 << 0, // equal nodes are one
    Simplify = 1 << 1,       // algebraic rules and constant folding
    RecordLoops = 1 << 2,    // off: evaluated, an iteration at a time
    RecordIfs = 1 << 3,      // off: both branches evaluated and selected from
    RecordCalls = 1 << 4,    // off: lanes grouped by instance, a kernel for each
    OptimizeLoops = 1 << 5,  // drop invariant and unread state
    OptimizeCalls = 1 << 6,  // constants into callees; drop unused inputs and outputs; hoist
    MergeFunctions = 1 << 7, // identical subroutines become one
    CodeMotion = 1 << 8,     // invariant code out of loops, one-sided code into branches
    FlattenIfs = 1 << 9,     // cheap conditionals become selects
    KernelCache = 1 << 10,   // in memory and on disk
    History = 1 << 11,       // record each launch; see kernel_history()
    Async = 1 << 12,         // off: every evaluation waits for its kernels
    Verify = 1 << 13,        // check each assembled program
    // In programs without double precision, sums of products may be rounded once, quotients and roots be off by 2 units in the
    // last place. Where it gains something: on GPUs
    FastMath = 1 << 14,
};
constexpr uint32_t DefaultFlags = (1u << 13) - 1 - uint32_t(Flag::History);

/// One launch of a kernel or of a built-in algorithm.
struct KernelRecord {
    std::string name; // kernel_<hash> or the algorithm's name
    std::string backend;
    uint64_t size = 0; // lanes
    uint32_t operations = 0, functions = 0, inputs = 0, outputs = 0;
    double codegen_seconds = 0; // from graph to program
    double backend_seconds = 0; // from program to machine code; 0 on a hit
    double run_seconds = 0;
    bool memory_hit = false, disk_hit = false;
    size_t code_bytes = 0;
    KernelResources resources = {}; // of kernels of devices
};

struct NodeScratch { // per node, for assembly; valid where epoch matches
    uint32_t epoch = 0, value = 0;
    RegionId late = 0;
    uint32_t order = 0;
};

class Context {
public:
    explicit Context(Backend &backend);
    ~Context();
    Context(const Context &) = delete;

    /// The calling thread's context; made on first use, with the backend named by UMBEL_BACKEND
    /// (default llvm).
    static Context &current();

    bool has(Flag f) const { return m_flags & uint32_t(f); }
    uint32_t flags() const { return m_flags; }
    void set(Flag f, bool on) {
        m_flags = on ? m_flags | uint32_t(f) : m_flags & ~uint32_t(f);
        graph.number_values = has(Flag::ValueNumbering);
    }

    Backend &backend() const { return *m_backend; }
    /// Takes effect with the next evaluation.
    void set_backend(Backend &b) { m_backend = &b; }

    // ---- recording
    Graph graph;
    /// Follows values that carry gradients; null until the first one does.
    std::unique_ptr<Tracker> tracker;
    RegionId region = 0;       // being traced
    std::vector<NodeId> masks; // innermost last; memory operations respect it
    /// Mask of the lanes that run the current region; a new reference.
    NodeId active_mask();
    /// `mask` and the current mask; a new reference.
    NodeId effective_mask(NodeId mask);
    /// Appends a pinned side effect to the current region; takes over the reference.
    void add_effect(NodeId id);
    /// Marks a buffer as the target of pending side effects.
    void mark_dirty(NodeId buffer);
    /// Opens a region inside the current one and enters it. `sibling`: of the same conditional as the one
    /// before, whose effects are still pending.
    RegionId enter(const char *kind, bool loop, bool function, bool sibling = false);
    /// Closes the current region and returns to its parent.
    void leave();

    /// Whether results common to all instances leave a call.
    bool hoist_results = true;

    // ---- evaluation
    /// Computes these nodes and all pending side effects.
    void evaluate(std::span<const NodeId> roots);
    /// Marks a node for the next evaluation.
    void schedule(NodeId id);
    /// The node's array, evaluated if need be.
    BufferRef data(NodeId id);
    /// Reads of a buffer with pending side effects see them: evaluates first.
    void settle(NodeId buffer, const char *what);
    void synchronize() { m_stream.synchronize(); }
    /// The same at the end of a thread: other threads run what is left, as this one's variables are gone. Errors have no hearer.
    void finish() noexcept;
    Stream &stream() { return m_stream; }
    void enqueue(std::string name, std::function<void()> job, bool small = false);

    // ---- instances of classes for polymorphic calls
    struct Registry {
        std::vector<void *> instances; // id - 1; null where free
        std::vector<uint32_t> free;
    };
    std::map<std::string, Registry, std::less<>> registries;
    struct LiveNode { // no reference: the node is gone where `seq` is another
        NodeId node = 0;
        uint64_t seq = 0;
    };
    std::unordered_map<uint32_t, LiveNode> instance_counts; // as values, by number
    std::unordered_map<const void *, LiveNode>
        constant_tables; // arrays in memory that never changes
    bool is_live(const LiveNode &n) const {
        return n.node && graph[n.node].refs && graph[n.node].seq == n.seq;
    }

    // ---- introspection
    std::vector<KernelRecord> take_history();
    void record_launch(KernelRecord record);
    std::string last_program_text() const { return m_last_program.text(); }
    const Program &last_program() const { return m_last_program; }

    // ---- scratch space of walks over the graph
    ZeroedArray<NodeScratch> scratch;
    uint32_t epoch = 0;
    /// A new epoch, with scratch space for every node that there is.
    void begin_walk() {
        if (size_t count = graph.numbers(); scratch.size() < count)
            scratch =
                ZeroedArray<NodeScratch>(count + count / 2); // marks of former epochs are void
        ++epoch;
    }

private:
    struct Group { // what one kernel is to do
        std::vector<NodeId> outputs, effects;
        std::vector<NodeId>
            ordered; // reductions into memory, carried out in the order of lanes ...
        std::vector<NodeId> operands; // ... and what they need that is no output
    };
    void evaluate_group(uint32_t size, Group &group);
    BufferRef elements(NodeId id);
    struct BlockScatter collect_scatters(const Group &group, const std::vector<BufferRef> &results,
                                         std::vector<BufferRef> &keep);
    void launch_uniform_scatter(NodeId effect);
    void launch_ordered_scatter(NodeId effect);
    void clear_dirty();
    struct DirtyBuffer {
        NodeId node;
        uint64_t seq; // when it was last written to
    };
    std::vector<DirtyBuffer> m_dirty; // owned references
    uint64_t m_traced_since = 0;      // when the outermost open region was entered

    Backend *m_backend;
    uint32_t m_flags = DefaultFlags;
    std::vector<NodeId> m_scheduled;
    Program m_last_program;
    std::shared_ptr<struct History> m_history;
    Stream m_stream; // last: drained before the rest goes
};

/// Makes `context` the calling thread's current one while in scope.
class ContextScope {
public:
    explicit ContextScope(Context &context);
    ~ContextScope();

private:
    Context *m_previous;
};

/// Turns a flag on or off while in scope, in the current context.
class FlagScope {
public:
    FlagScope(Flag flag, bool on)
        : m_context(Context::current()), m_flag(flag), m_before(m_context.has(flag)) {
        m_context.set(flag, on);
    }
    ~FlagScope() { m_context.set(m_flag, m_before); }

private:
    Context &m_context;
    Flag m_flag;
    bool m_before;
};

} // namespace umbel::jit
