// jit/graph.h: the recorded program: nodes, value numbering, reference counts, regions.
//
// A node is an operation and the ids of its operands. Making one is the hottest path of the compiler, so
// nodes live in one flat array of cache-line records. Equal pure nodes are one node (value numbering).
//
// Pure nodes float: they belong to no place of the program until a kernel is assembled, so an expression
// that is invariant in a loop, or common to several branches, is found equal whoever traced it. What a
// node cannot leave is its `region`: the innermost loop, branch or subroutine that one of its operands
// stems from. Memory operations are pinned to a region by the mask `Active` of that region.
//
// The body of a call is the exception: what it computes for lanes stays in it (`Inner`), also where all
// operands stem from outside. Only the lanes that call it compute it then, and bodies differ in nothing
// but data. Uniform values stay outside: every body that needs one computes it from data of its own.
#pragma once
#include "jit/buffer.h"
#include "jit/error.h"
#include "jit/op.h"
#include "jit/type.h"
#include <memory>
#include <vector>

namespace umbel::jit {

using NodeId = uint32_t;   // 0: none
using RegionId = uint32_t; // 0: the kernel itself

enum NodeFlag : uint8_t {
    Hashed = 1,  // in the value numbering table
    Dirty = 2,   // Buffer: side effects on it wait for evaluation
    Ordered = 8, // Scatter: carried out after the kernel, in lane order
    Pinned = 4,  // has side effects or a record: stays where it was traced, equal to no other
    Inner = 16,  // arithmetic of a body: in its region whatever its operands
    Single = 32, // Buffer: one element, in the node itself until its memory is asked for
    Fixed = 64,  // Single: and nobody will ever replace it by another
};

struct alignas(64) Node {
    Op op;
    Type type;
    uint8_t flags;
    uint32_t refs;
    NodeId dep[4];
    uint64_t imm; // literal or Single bits, number of an output, slot of a buffer, Record*
    uint32_t size;
    RegionId region;
    NodeId next;     // in the chain of the hash bucket
    uint32_t length; // of a local array; 0: a plain value
    uint64_t seq;    // creation order; operands come before their users
};
static_assert(sizeof(Node) == 64);

/// Set in a number among the data of a record: of a value of its own, not of a node.
constexpr NodeId IsValue = 1u << 31;

/// What a Loop, If, Call or Extern node holds besides operands. `nodes` and `data` are references that it owns.
struct Record {
    virtual ~Record() = default;
    std::vector<NodeId> nodes;
    std::vector<NodeId> data; // of the instances of a call; some are `IsValue`
    std::vector<RegionId> regions;
};

struct Region {
    RegionId parent = 0, function = 0; // function: the subroutine's outermost region
    uint32_t depth = 0, loop_depth = 0;
    uint32_t refs = 0; // nodes that lie in it, and the record that owns it
    NodeId owner = 0;  // the Loop, If or Call that the region belongs to; no reference
    bool open = false;
    const char *kind = "kernel";
    std::vector<NodeId> effects; // pinned side effects in program order; owned references
};

/// The description of a node before it is made.
struct NodeKey {
    Op op;
    Type type;
    uint32_t size = 1;
    uint64_t imm = 0;
    uint32_t length = 0;
    NodeId dep[4] = { 0, 0, 0, 0 };
};

class Graph {
public:
    Graph();
    ~Graph();
    Graph(const Graph &) = delete;

    const Node &operator[](NodeId id) const { return m_nodes[id]; }
    Node &operator[](NodeId id) { return m_nodes[id]; }

    /// A node equal to `key`, an existing one where there is; the caller gets a reference.
    /// Takes no references of the caller's away. The region follows from the operands.
    NodeId make(const NodeKey &key);
    /// A pinned node in region `region`, equal to no other.
    NodeId make_pinned(const NodeKey &key, RegionId region);
    /// The existing node equal to `key`, or 0; no reference is taken.
    NodeId find(const NodeKey &key) const;
    NodeId literal(Type type, uint64_t bits, uint32_t size = 1);
    NodeId buffer(Type type, BufferRef buffer, uint32_t size);
    /// A Buffer of one element. Scenes have millions of them.
    NodeId single(Type type, uint64_t bits);
    /// The same, for good: records of instances need no node of it.
    NodeId fixed(Type type, uint64_t bits);

    void retain(NodeId id) { ++m_nodes[id].refs; }
    void release(NodeId id) {
        if (--m_nodes[id].refs == 0)
            destroy(id);
    }

    /// Turns an evaluated node into a Buffer in place: all handles on it see the data from now on.
    void become_buffer(NodeId id, BufferRef buffer);
    BufferRef buffer_of(NodeId id) {
        if (m_nodes[id].flags & Single) [[unlikely]]
            move_to_memory(id);
        return m_buffers[m_nodes[id].imm];
    }
    /// Whether this is a Buffer whose element `imm` holds.
    bool is_single(NodeId id) const { return m_nodes[id].flags & Single; }
    bool is_fixed(NodeId id) const {
        return (m_nodes[id].flags & (Single | Fixed)) == (Single | Fixed);
    }
    Record *record_of(NodeId id) const { return reinterpret_cast<Record *>(m_nodes[id].imm); }

    RegionId open_region(RegionId parent, const char *kind, bool loop, bool function);
    void close_region(RegionId id);
    void release_region(RegionId id);
    /// The owner gives the region up: its effects are dropped, its number is free once no node uses it.
    void discard_region(RegionId id);
    Region &region(RegionId id) { return m_regions[id]; }
    const Region &region(RegionId id) const { return m_regions[id]; }
    /// Whether `inner` is `outer` or lies in it.
    bool encloses(RegionId outer, RegionId inner) const;
    RegionId common_ancestor(RegionId a, RegionId b) const;

    /// The outermost region of the body being traced: arithmetic on lanes that is made now lies in it.
    RegionId function = 0;

    /// Whether equal operations become one node; off only to measure what that gains.
    bool number_values = true;

    uint64_t sequence() const { return m_seq; }
    size_t live_nodes() const { return m_live; }
    /// One more than the greatest number of a node so far.
    size_t numbers() const { return m_used; }

private:
    static uint32_t hash(const Node &n);
    static uint32_t bucket(Op op, Type type, uint64_t imm, uint32_t length, uint32_t size,
                           const NodeId *dep);
    NodeId allocate();
    void grow();
    void reserve(uint32_t least);
    void rehash(uint32_t buckets);
    void unlink(NodeId id);
    void destroy(NodeId id);
    void drop_operands(NodeId id);
    void move_to_memory(NodeId id);
    RegionId region_of(const NodeKey &key) const;
    bool is_known(const Node &n, const NodeKey &key) const;
    bool is_in_sight(const Node &inner) const;
    RegionId keep_inside(Node &n);
    [[noreturn]] void report_escape(const NodeKey &key, RegionId region) const;

    Node *m_nodes = nullptr;
    uint32_t m_capacity = 0, m_used = 1, m_free = 0;
    uint32_t m_reserved = 0;     // nodes that the address space set aside has room for
    uint32_t *m_table = nullptr; // buckets: first node of the chain
    uint32_t m_buckets = 0, m_mask = 0;
    uint64_t m_seq = 1;
    size_t m_live = 0;
    uint32_t store_buffer(BufferRef buffer);

    std::vector<BufferRef> m_buffers; // of Buffer nodes, by slot
    std::vector<uint32_t> m_free_buffers;
    std::vector<Region> m_regions;
    std::vector<RegionId> m_free_regions;
    std::vector<NodeId> m_dying; // explicit stack of destroy()
    bool m_destroying = false;
};

} // namespace umbel::jit
