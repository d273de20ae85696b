// jit/graph.cpp: storage of nodes and regions, value numbering.
#include "jit/graph.h"
#include "jit/available_memory.h"
#include <cstring>
#include <sys/mman.h>

namespace umbel::jit {

// ---- storage

// Zeroed memory, in large pages past the first 2 MiB: a page fault for every 64 nodes would cost more
// than recording them. Null where there is none.
static void *map_memory(size_t bytes) {
    void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return nullptr;
    constexpr size_t Large = 2 << 20;
    if (bytes > Large)
        madvise(static_cast<char *>(p) + Large, bytes - Large, MADV_HUGEPAGE); // a wish, no more
    return p;
}

static bool has_record(const Node &n) {
    return n.op == Op::Loop || n.op == Op::If || n.op == Op::Call || n.op == Op::Extern;
}

Graph::Graph() {
    m_regions.emplace_back();
    m_regions[0].open = true;
    m_regions[0].refs = 1;
    grow();
}

Graph::~Graph() {
    // What is still referenced now outlived its context by misuse; its records are freed here.
    for (uint32_t i = 1; i < m_used; ++i) {
        if (m_nodes[i].refs == 0)
            continue;
        if (has_record(m_nodes[i]))
            delete record_of(i);
    }
    munmap(m_nodes, size_t(m_reserved) * sizeof(Node));
    munmap(m_table, size_t(m_buckets) * sizeof(uint32_t));
}

void Graph::grow() {
    uint32_t capacity = m_capacity ? m_capacity * 2 : 4096;
    if (capacity > (1u << 30))
        throw DeviceError("more than 2^30 live nodes: evaluate intermediate results");
    if (capacity > m_reserved)
        reserve(capacity);
    m_dying.reserve(capacity); // destructors must not ask for memory
    m_capacity = capacity;
    if (capacity > m_buckets)
        rehash(m_buckets ? m_buckets * 4 : capacity);
}

static DeviceError no_memory(size_t bytes, uint32_t nodes) {
    return DeviceError(fmt::format("out of memory: cannot allocate {} bytes ({:.1f} MiB) to record "
                                   "{} operations; {}",
                                   bytes, double(bytes) / 0x1p20, nodes, memory_left()));
}

// Address space costs nothing until it is touched: as a rule, nodes never move.
void Graph::reserve(uint32_t least) {
    uint32_t count = std::max(least, 1u << 26);
    auto *nodes = static_cast<Node *>(map_memory(size_t(count) * sizeof(Node)));
    while (!nodes && count > least) { // a limit on address space
        count /= 2;
        nodes = static_cast<Node *>(map_memory(size_t(count) * sizeof(Node)));
    }
    if (!nodes)
        throw no_memory(size_t(count) * sizeof(Node), least);
    if (m_nodes) {
        std::memcpy(static_cast<void *>(nodes), m_nodes, size_t(m_used) * sizeof(Node));
        munmap(m_nodes, size_t(m_reserved) * sizeof(Node));
    }
    m_nodes = nodes;
    m_reserved = count;
}

void Graph::rehash(uint32_t buckets) {
    auto *table = static_cast<uint32_t *>(map_memory(size_t(buckets) * sizeof(uint32_t)));
    if (!table)
        throw no_memory(size_t(buckets) * sizeof(uint32_t), buckets);
    if (m_table)
        munmap(m_table, size_t(m_buckets) * sizeof(uint32_t));
    m_table = table;
    m_buckets = buckets;
    m_mask = buckets - 1;
    for (uint32_t i = 1; i < m_used; ++i) {
        Node &n = m_nodes[i];
        if (n.refs && (n.flags & Hashed)) {
            uint32_t b = hash(n) & m_mask;
            n.next = m_table[b];
            m_table[b] = i;
        }
    }
}

// ---- value numbering

// The bucket follows the operands' numbers, with a little spread: nodes that are made one after the other
// meet the same cache lines of the table, which a well-mixing hash would prevent. All of them count: thousands of nodes
// have a constant in common.
[[gnu::always_inline]] inline uint32_t
Graph::bucket(Op op, Type type, uint64_t imm, uint32_t length, uint32_t size, const NodeId *dep) {
    uint64_t h = (uint64_t(op) << 8 | uint64_t(type)) + imm * 0x9e3779b97f4a7c15ull;
    h ^= ((uint64_t(dep[0]) + dep[1]) * 0xd6e8feb86659fd93ull) ^
         (uint64_t(dep[2]) * 0xe7037ed1a0b428dbull) ^ (uint64_t(dep[3]) << 32);
    h += (uint64_t(length) << 20) + (uint64_t(size) << 3);
    h *= 0x9e3779b97f4a7c15ull;
    uint32_t near = dep[0] + dep[1] + dep[2] + dep[3];
    return near ? near + uint32_t(h >> 58) : uint32_t(h >> 32);
}

uint32_t Graph::hash(const Node &n) { return bucket(n.op, n.type, n.imm, n.length, n.size, n.dep); }

// a + b and b + a are one node. The order in which operands were given is kept, not sorted: ids differ
// from one tracing of a program to the next, its text must not.
[[gnu::always_inline]] static inline bool equal(const Node &n, const NodeKey &k) {
    bool same = n.dep[0] == k.dep[0] && n.dep[1] == k.dep[1];
    if (!same && commutes(k.op))
        same = n.dep[0] == k.dep[1] && n.dep[1] == k.dep[0];
    return same && n.op == k.op && n.type == k.type && n.dep[2] == k.dep[2] &&
           n.dep[3] == k.dep[3] && n.imm == k.imm && n.size == k.size && n.length == k.length;
}

// Equal, and not the arithmetic of a body that is closed or lies within what is being traced.
[[gnu::always_inline]] inline bool Graph::is_known(const Node &n, const NodeKey &k) const {
    return equal(n, k) && (!(n.flags & Inner) || is_in_sight(n));
}
[[gnu::noinline]] bool Graph::is_in_sight(const Node &inner) const {
    const Region &r = m_regions[inner.region];
    return r.open && r.depth <= m_regions[function].depth;
}

NodeId Graph::find(const NodeKey &k) const {
    for (NodeId i = m_table[bucket(k.op, k.type, k.imm, k.length, k.size, k.dep) & m_mask]; i;
         i = m_nodes[i].next)
        if (is_known(m_nodes[i], k))
            return i;
    return 0;
}

NodeId Graph::allocate() {
    NodeId id;
    if (m_free) {
        id = m_free;
        m_free = m_nodes[id].next;
    } else {
        if (m_used == m_capacity)
            grow();
        id = m_used++;
    }
    ++m_live;
    return id;
}

NodeId Graph::make(const NodeKey &k) {
    uint32_t h = bucket(k.op, k.type, k.imm, k.length, k.size, k.dep);
    bool reuse = number_values || k.op < Op::Neg || k.op > Op::Select; // leaves must be one node
    for (NodeId i = reuse ? m_table[h & m_mask] : 0; i; i = m_nodes[i].next) {
        if (is_known(m_nodes[i], k)) {
            ++m_nodes[i].refs;
            ++m_seq; // recording counts the same whether or not a node is alive already: see plain_if
            return i;
        }
    }
    // As a rule, all operands lie in the kernel itself; node 0 does, too.
    RegionId region = 0;
    bool is_simple = true; // operands lie in the kernel or in the very body that is being traced
    for (NodeId d : k.dep) {
        RegionId r = m_nodes[d].region;
        region |= r;
        is_simple &= r == 0 || r == function;
    }
    if (!is_simple || k.op == Op::Active || k.op == Op::Phi || k.op == Op::Param) [[unlikely]]
        region = region_of(k);
    NodeId id = allocate(); // may grow the table
    Node &n = m_nodes[id];
    n = { .op = k.op,
          .type = k.type,
          .flags = Hashed,
          .refs = 1,
          .dep = { k.dep[0], k.dep[1], k.dep[2], k.dep[3] },
          .imm = k.imm,
          .size = k.size,
          .region = region,
          .next = m_table[h & m_mask],
          .length = k.length,
          .seq = m_seq++ };
    m_table[h & m_mask] = id;
    if (function && region != function)
        region = keep_inside(n);
    for (NodeId d : k.dep)
        if (d)
            ++m_nodes[d].refs;
    if (region)
        ++m_regions[region].refs;
    return id;
}

// Arithmetic on lanes lies in the body that is being traced, whatever its operands. Returns the node's region.
[[gnu::noinline]] RegionId Graph::keep_inside(Node &n) {
    if (is_elementwise(n.op) && (n.region || n.size != 1) &&
        m_regions[n.region].depth < m_regions[function].depth) {
        n.region = function;
        n.flags |= Inner;
    }
    return n.region;
}

NodeId Graph::make_pinned(const NodeKey &k, RegionId region) {
    NodeId id = allocate();
    m_nodes[id] = { .op = k.op,
                    .type = k.type,
                    .flags = Pinned,
                    .refs = 1,
                    .dep = { k.dep[0], k.dep[1], k.dep[2], k.dep[3] },
                    .imm = k.imm,
                    .size = k.size,
                    .region = region,
                    .next = 0,
                    .length = k.length,
                    .seq = m_seq++ };
    for (NodeId d : k.dep)
        if (d)
            ++m_nodes[d].refs;
    if (region)
        ++m_regions[region].refs;
    return id;
}

NodeId Graph::literal(Type type, uint64_t bits, uint32_t size) {
    return make({ .op = Op::Literal, .type = type, .size = size, .imm = bits });
}

static Node evaluated(Type type, uint8_t flags, uint64_t imm, uint32_t size, uint64_t seq) {
    return { .op = Op::Buffer,
             .type = type,
             .flags = flags,
             .refs = 1,
             .dep = { 0, 0, 0, 0 },
             .imm = imm,
             .size = size,
             .region = 0,
             .next = 0,
             .length = 0,
             .seq = seq };
}

NodeId Graph::buffer(Type type, BufferRef buffer, uint32_t size) {
    NodeId id = allocate();
    m_nodes[id] = evaluated(type, 0, store_buffer(std::move(buffer)), size, m_seq++);
    return id;
}

NodeId Graph::single(Type type, uint64_t bits) {
    NodeId id = allocate();
    m_nodes[id] = evaluated(type, Single, bits, 1, m_seq++);
    return id;
}

NodeId Graph::fixed(Type type, uint64_t bits) {
    NodeId id = single(type, bits);
    m_nodes[id].flags |= Fixed;
    return id;
}

uint32_t Graph::store_buffer(BufferRef buffer) {
    if (m_free_buffers.empty()) {
        m_buffers.push_back(std::move(buffer));
        m_free_buffers.reserve(m_buffers.capacity()); // now, not in a destructor
        return uint32_t(m_buffers.size() - 1);
    }
    uint32_t slot = m_free_buffers.back();
    m_free_buffers.pop_back();
    m_buffers[slot] = std::move(buffer);
    return slot;
}

void Graph::move_to_memory(NodeId id) {
    Node &n = m_nodes[id];
    uint64_t width = bytes(n.type);
    BufferRef buffer = jit::allocate(width);
    std::memcpy(buffer->data(), &n.imm, width);
    n.imm = store_buffer(std::move(buffer));
    n.flags &= uint8_t(~(Single | Fixed));
}

void Graph::become_buffer(NodeId id, BufferRef buffer) {
    unlink(id);
    drop_operands(id);
    Node &n = m_nodes[id];
    n.op = Op::Buffer;
    n.flags = 0;
    n.imm = store_buffer(std::move(buffer));
    n.region = 0;
}

void Graph::unlink(NodeId id) {
    Node &n = m_nodes[id];
    if (!(n.flags & Hashed))
        return;
    uint32_t *link = &m_table[bucket(n.op, n.type, n.imm, n.length, n.size, n.dep) & m_mask];
    while (*link != id)
        link = &m_nodes[*link].next;
    *link = n.next;
    n.flags &= uint8_t(~Hashed);
}

// Gives up what the node refers to. Operands that die are queued, not visited recursively.
void Graph::drop_operands(NodeId id) {
    Node &n = m_nodes[id];
    NodeId dep[4] = { n.dep[0], n.dep[1], n.dep[2], n.dep[3] };
    std::memset(n.dep, 0, sizeof(n.dep));
    RegionId region = n.region;
    n.region = 0;
    if (n.op == Op::Buffer && !(n.flags & Single)) {
        m_buffers[n.imm].reset();
        m_free_buffers.push_back(uint32_t(n.imm));
    } else if (has_record(n) && n.imm) {
        std::unique_ptr<Record> record(record_of(id));
        n.imm = 0;
        for (auto *list : { &record->nodes, &record->data })
            for (NodeId d : *list)
                if (!(d & IsValue))
                    release(d);
        for (RegionId r : record->regions)
            discard_region(r);
    }
    for (NodeId d : dep)
        if (d)
            release(d);
    if (region)
        release_region(region);
}

void Graph::destroy(NodeId id) {
    m_dying.push_back(id);
    if (m_destroying)
        return;
    m_destroying = true;
    while (!m_dying.empty()) {
        NodeId i = m_dying.back();
        m_dying.pop_back();
        unlink(i);
        drop_operands(i);
        m_nodes[i].op = Op::Literal;
        m_nodes[i].flags = 0;
        m_nodes[i].next = m_free;
        m_free = i;
        --m_live;
    }
    m_destroying = false;
}

// ---- regions

RegionId Graph::open_region(RegionId parent, const char *kind, bool loop, bool function) {
    RegionId id;
    if (!m_free_regions.empty()) {
        id = m_free_regions.back();
        m_free_regions.pop_back();
    } else {
        id = RegionId(m_regions.size());
        m_regions.emplace_back();
        m_free_regions.reserve(m_regions.capacity());
    }
    const Region &p = m_regions[parent];
    Region r;
    r.parent = parent;
    r.function = function ? id : p.function;
    r.depth = p.depth + 1;
    r.loop_depth = function ? 0 : p.loop_depth + loop;
    r.refs = 1;
    r.open = true;
    r.kind = kind;
    m_regions[id] = std::move(r);
    ++m_regions[parent].refs; // a parent's number must not be reused while a child is alive
    return id;
}

void Graph::close_region(RegionId id) { m_regions[id].open = false; }

void Graph::discard_region(RegionId id) {
    m_regions[id].owner = 0;
    for (NodeId e : std::exchange(m_regions[id].effects, {}))
        release(e); // effects lie in the region: it lives at least as long as they do
    release_region(id);
}

void Graph::release_region(RegionId id) {
    while (--m_regions[id].refs == 0) {
        m_free_regions.push_back(id);
        id = m_regions[id].parent;
    }
}

bool Graph::encloses(RegionId outer, RegionId inner) const {
    while (m_regions[inner].depth > m_regions[outer].depth)
        inner = m_regions[inner].parent;
    return inner == outer;
}

RegionId Graph::common_ancestor(RegionId a, RegionId b) const {
    while (a != b) {
        if (m_regions[a].depth >= m_regions[b].depth)
            a = m_regions[a].parent;
        else
            b = m_regions[b].parent;
    }
    return a;
}

RegionId Graph::region_of(const NodeKey &k) const {
    if (k.op == Op::Active || k.op == Op::Phi || k.op == Op::Param)
        return RegionId(k.imm >> 32);
    RegionId region = 0;
    for (NodeId d : k.dep) {
        if (!d)
            continue;
        RegionId r = m_nodes[d].region;
        if (r == region || r == 0)
            continue;
        if (!m_regions[r].open)
            report_escape(k, r);
        if (m_regions[r].depth > m_regions[region].depth)
            region = r;
    }
    return region;
}

void Graph::report_escape(const NodeKey &k, RegionId region) const {
    fail("{}: an operand was computed inside a recorded {} and is used outside of it; make it part "
         "of "
         "the state that the {} returns",
         name(k.op), m_regions[region].kind, m_regions[region].kind);
}

} // namespace umbel::jit
