// jit/call.cpp: polymorphic calls: tracing of all instances, separation of code and data, hoisting.
#include "jit/assemble.h"
#include "jit/control.h"
#include "jit/rebuild.h"
#include <numeric>
#include <tsl/robin_map.h>
#include <unordered_map>
#include <xxhash.h>

namespace umbel::jit {

namespace {

struct Traced { // what one instance returned
    std::vector<Value> outputs, effects;
};

uint32_t broadcast(const char *name, uint32_t a, uint32_t b) {
    if (a != 1 && b != 1 && a != b)
        fail("{}: sizes {} and {} of its values do not match", name, a, b);
    return a == 1 ? b : a;
}

class CallTracer {
public:
    CallTracer(Context &c, const char *name, const Value &id, const Value &mask,
               const std::vector<Value *> &args, uint32_t instances, const detail::Callee &callee)
        : c(c), g(c.graph), m_name(name), m_id(id), m_mask(mask), m_args(args), m_count(instances),
          m_callee(callee) {
        for (Value *v : args)
            m_saved.push_back(*v);
    }

    std::vector<Value> record();
    std::vector<Value> evaluate();
    /// All lanes call instance number i (from 0), or none.
    std::vector<Value> direct(uint32_t i, const Mask &condition);
    /// Zeros of the types that the instances return.
    std::vector<Value> nothing();

private:
    class Groups;
    void bind_parameters();
    /// Gives up all that the record would own.
    void disown() {
        m_owned.clear();
        for (auto *list : { &m_record->nodes, &m_record->data })
            for (NodeId id : std::exchange(*list, {}))
                if (!(id & IsValue))
                    g.release(id);
    }
    void restore_args() {
        for (size_t k = 0; k < m_args.size(); ++k)
            *m_args[k] = m_saved[k];
    }
    std::vector<Value> zeros_like(const std::vector<Value> &v) const {
        std::vector<Value> out;
        for (const Value &x : v)
            out.push_back(literal(x.type(), 0));
        return out;
    }
    void check_outputs(uint32_t i, const std::vector<Value> &out);
    void add_instance(uint32_t i, const Traced &traced);
    void add_data(std::span<const NodeId> found, bool by_value);
    bool match(const Traced &traced, uint32_t body);
    void count_uses(const CallRecord::Body &body);
    /// Computed in the body, from what it takes from outside and from data.
    bool is_local(const Node &n) const {
        return g.region(n.region).function == m_record->region || (n.region == 0 && n.size == 1);
    }
    static bool is_data(const Node &n) {
        return (n.op == Op::Buffer && n.size == 1) || n.op == Op::Address;
    }
    static bool is_matched(Op op) {
        return is_elementwise(op) || op == Op::Gather || op == Op::Packet || op == Op::PacketGet;
    }
    Value hoist(NodeId output);
    UInt32 instance_count();
    std::vector<Value> finish(uint32_t size);

    Context &c;
    Graph &g;
    const char *m_name;
    Value m_id, m_mask;
    const std::vector<Value *> &m_args;
    uint32_t m_count;
    const detail::Callee &m_callee;
    std::vector<Value> m_saved; // the actual arguments
    std::unique_ptr<CallRecord> m_record = std::make_unique<CallRecord>();
    std::vector<Value> m_owned;  // references that the record will take
    std::vector<Value> m_common; // outputs that have been the same for all instances so far
    std::unordered_map<std::string, uint32_t> m_bodies;
    std::vector<std::pair<NodeId, NodeId>> m_pairs;
    std::vector<NodeId> m_found; // by match(): leaves, then uniforms
    std::vector<std::optional<tsl::robin_map<NodeId, uint32_t>>> m_uses; // of nodes, by body
    uint32_t m_size = 1;
};

void CallTracer::bind_parameters() {
    bool propagate = c.has(Flag::OptimizeCalls);
    for (size_t k = 0; k < m_args.size(); ++k) {
        const Value &v = m_saved[k];
        if (v.node().length)
            fail("{}: argument {} is a local array; pass its elements", m_name, k + 1);
        m_record->args.push_back(v.id());
        m_owned.push_back(v);
        if (v.is_literal() && propagate) { // constants go in
            *m_args[k] = Value::adopt(c, g.literal(v.type(), v.literal_bits()));
            continue;
        }
        size_t first = 0; // a value passed twice is one parameter
        while (m_saved[first].id() != v.id())
            ++first;
        *m_args[k] = Value::adopt(c, g.make({ .op = Op::Param,
                                              .type = v.type(),
                                              .size = m_size,
                                              .imm = uint64_t(m_record->region) << 32 | first }));
    }
}

void CallTracer::check_outputs(uint32_t i, const std::vector<Value> &out) {
    for (size_t k = 0; k < out.size(); ++k) {
        if (!out[k].valid())
            fail("{}: result {} of instance {} is uninitialized", m_name, k + 1, i + 1);
        if (out[k].node().length)
            fail("{}: result {} of instance {} is a local array; return its elements", m_name,
                 k + 1, i + 1);
    }
    if (m_record->bodies.empty() && m_common.empty()) {
        for (const Value &v : out)
            m_record->out_types.push_back(v.type());
        m_common = out;
        return;
    }
    if (out.size() != m_record->out_types.size())
        fail("{}: instance {} returns {} values, those before it {}", m_name, i + 1, out.size(),
             m_record->out_types.size());
    for (size_t k = 0; k < out.size(); ++k) {
        if (out[k].type() != m_record->out_types[k])
            fail("{}: result {} of instance {} has type {}, those before it {}", m_name, k + 1,
                 i + 1, name(out[k].type()), name(m_record->out_types[k]));
        if (m_common[k].valid() && m_common[k].id() != out[k].id())
            m_common[k] = Value();
    }
}

// How often the body names each of its nodes; nothing where it holds what match() does not know.
void CallTracer::count_uses(const CallRecord::Body &body) {
    tsl::robin_map<NodeId, uint32_t> &uses = m_uses.emplace_back().emplace();
    c.begin_walk();
    std::vector<NodeId> stack;
    auto meet = [&](NodeId id) {
        ++uses[id];
        if (c.scratch[id].epoch == c.epoch)
            return;
        c.scratch[id].epoch = c.epoch;
        if (is_local(g[id]) && g[id].op != Op::Literal && g[id].op != Op::Param &&
            g[id].op != Op::Active && !is_data(g[id]))
            stack.push_back(id);
    };
    for (NodeId id : body.outputs)
        meet(id);
    while (!stack.empty()) {
        const Node n = g[stack.back()];
        stack.pop_back();
        if (!is_matched(n.op))
            return m_uses.back().reset();
        for (NodeId d : n.dep)
            if (d)
                meet(d);
    }
}

// Whether the trace is that of a known body with other data, and with which: both are walked side by side.
// Nodes that both have in common are passed over, so this costs what the instances differ in. Where such a
// node names one in whose place this instance has another, the bodies differ. False tells nothing else.
bool CallTracer::match(const Traced &traced, uint32_t number) {
    const CallRecord::Body &body = m_record->bodies[number];
    if (!traced.effects.empty() || !body.effects.empty() || !m_uses[number])
        return false;
    const tsl::robin_map<NodeId, uint32_t> &uses = *m_uses[number];
    c.begin_walk();
    uint32_t epoch = c.epoch;
    std::vector<std::pair<NodeId, NodeId>> &pairs =
        m_pairs; // of the body, of the instance, where they differ
    pairs.clear();
    auto meet = [&](NodeId a, NodeId b) { // false: the body's node has another counterpart already
        NodeScratch &s = c.scratch[a];
        if (s.epoch == epoch) {
            ++s.order; // times that it was named
            return s.value == b;
        }
        s = { epoch, b, 0, 1 };
        if (a != b)
            pairs.emplace_back(a, b);
        return true;
    };
    for (size_t k = 0; k < body.outputs.size(); ++k)
        if (!meet(body.outputs[k], traced.outputs[k].id()))
            return false;
    for (size_t next = 0; next < pairs.size(); ++next) {
        auto [a, b] = pairs[next];
        const Node &m = g[a], &n = g[b];
        if (m.op != n.op || m.type != n.type || m.size != n.size || m.length != n.length ||
            m.region != n.region || !is_local(m))
            return false;
        if (is_data(m)) {
            // Or evaluated since the body was traced: then it hides other data
            if (std::find(body.leaves.begin(), body.leaves.end(), a) == body.leaves.end())
                return false;
            continue;
        }
        if (!is_matched(m.op) || m.imm != n.imm)
            return false;
        for (int i = 0; i < 4; ++i)
            if (!m.dep[i] != !n.dep[i] || (m.dep[i] && !meet(m.dep[i], n.dep[i])))
                return false;
    }
    auto counterpart = [&](NodeId id) {
        return c.scratch[id].epoch == epoch ? c.scratch[id].value : id;
    };
    for (auto [a, b] : pairs)
        if (auto it = uses.find(a); it == uses.end() || it->second != c.scratch[a].order)
            return false;
    m_found.clear();
    for (auto *list : { &body.leaves, &body.uniforms })
        for (NodeId id : *list)
            m_found.push_back(counterpart(id));
    return true;
}

// Owns an instance's data: leaves of a body, then uniforms.
void CallTracer::add_data(std::span<const NodeId> found, bool by_value) {
    CallRecord &r = *m_record;
    bool first_values = r.values.empty();
    for (NodeId id : found)
        if (by_value && g.is_fixed(id)) {
            r.data.push_back(uint32_t(r.values.size()) | IsValue);
            r.values.push_back(g[id].imm);
        } else {
            r.data.push_back(id);
            g.retain(id);
        }
    if (r.data.size() == found.size()) // as a rule, all have as much
        r.data.reserve(found.size() * m_count);
    if (first_values) // likewise: room that doubles would take twice as much while it is moved
        r.values.reserve(r.values.size() * m_count);
}

// Instances whose traces differ in data alone share a body.
void CallTracer::add_instance(uint32_t i, const Traced &traced) {
    CallRecord &r = *m_record;
    CallRecord::Instance &instance = r.instances[i];
    instance.first = uint32_t(r.data.size());
    constexpr size_t MostTried = 4; // the latest
    for (size_t k = r.bodies.size(), tried = 0;
         c.has(Flag::MergeFunctions) && k-- > 0 && tried < MostTried; ++tried)
        if (match(traced, uint32_t(k))) {
            instance.body = uint32_t(k);
            return add_data(m_found, true);
        }
    CallRecord::Body body;
    for (const Value &v : traced.outputs)
        body.outputs.push_back(v.id());
    for (const Value &e : traced.effects)
        body.effects.push_back(e.id());
    if (!body.effects.empty())
        r.effects = true;
    CanonicalBody canonical = canonicalize(c, r, body);
    if (!c.has(Flag::MergeFunctions))
        canonical.bytes += fmt::format("#{}", i);

    auto [it, fresh] = m_bodies.emplace(std::move(canonical.bytes), uint32_t(r.bodies.size()));
    instance.body = it->second;
    m_found = canonical.leaves;
    m_found.insert(m_found.end(), canonical.uniforms.begin(), canonical.uniforms.end());
    add_data(m_found, !fresh); // where it is fresh, the nodes are those of the body
    if (!fresh)
        return;
    for (NodeId id : canonical.captures) {
        if (g[id].length)
            fail("{}: an instance uses a local array of the caller; pass its elements", m_name);
        if (std::find(r.captures.begin(), r.captures.end(), id) == r.captures.end()) {
            r.captures.push_back(id);
            m_owned.push_back(Value::share(c, id));
        }
    }
    body.leaves = std::move(canonical.leaves);
    body.uniforms = std::move(canonical.uniforms);
    m_owned.insert(m_owned.end(), traced.outputs.begin(), traced.outputs.end());
    m_owned.insert(m_owned.end(), traced.effects.begin(), traced.effects.end());
    count_uses(body);
    r.bodies.push_back(std::move(body));
}

// The output as an expression of the caller, where it consists of arithmetic on arguments alone.
Value CallTracer::hoist(NodeId output) {
    return rebuild(c, output, [&](NodeId id) {
        const Node &n = g[id];
        if (g.region(n.region).function != m_record->region)
            return Value::share(c, id);
        return n.op == Op::Param ? m_saved[uint32_t(n.imm)] : Value();
    });
}

// As data, so that another instance is no other program. One node while anything uses it: results of
// calls inside several callees would not be common to them otherwise.
UInt32 CallTracer::instance_count() {
    Context::LiveNode &known = c.instance_counts[m_count];
    if (c.is_live(known))
        return UInt32(Value::share(c, known.node));
    UInt32 count = opaque(UInt32(m_count));
    known = { count.id(), g[count.id()].seq };
    return count;
}

std::vector<Value> CallTracer::record() {
    m_size = broadcast(m_name, m_id.size(), m_mask.size());
    for (const Value &v : m_saved)
        m_size = broadcast(m_name, m_size, v.size());
    std::vector<NodeId> masks = std::exchange(c.masks, {}); // the call's own mask covers them
    RegionId outside = c.region;
    m_record->region = c.enter("call", false, true);
    m_record->instances.resize(m_count);
    auto clean_up = [&] {
        restore_args();
        while (c.region != outside)
            c.leave();
        c.masks = masks;
    };
    try {
        bind_parameters();
        std::vector<Value> params;
        for (Value *v : m_args)
            params.push_back(*v);
        for (uint32_t i = 0; i < m_count; ++i) {
            for (size_t k = 0; k < m_args.size(); ++k)
                *m_args[k] = params[k];
            auto outputs = m_callee(i);
            std::vector<NodeId> effects = std::exchange(g.region(m_record->region).effects, {});
            if (!outputs)
                continue;
            Traced traced{ std::move(*outputs), {} };
            for (NodeId e : effects)
                traced.effects.push_back(Value::adopt(c, e));
            for (const Value &e : traced.effects)
                m_size = broadcast(m_name, m_size, e.size());
            check_outputs(i, traced.outputs);
            add_instance(i, traced);
        }
        for (NodeId id : m_record->captures)
            m_size = broadcast(m_name, m_size, g[id].size);
    } catch (...) {
        clean_up();
        disown();
        m_common.clear();
        g.discard_region(m_record->region);
        throw;
    }
    clean_up();
    return finish(m_size);
}

std::vector<Value> CallTracer::finish(uint32_t size) {
    CallRecord &r = *m_record;
    bool complete = true; // every id calls something
    for (auto &i : r.instances)
        complete = complete && i.body != ~0u;

    // Results common to all instances move out
    std::optional<Mask> called;
    std::vector<Value> out(r.out_types.size());
    bool remaining = r.effects;
    for (size_t k = 0; k < out.size(); ++k) {
        if (complete && m_common[k].valid() && c.has(Flag::OptimizeCalls) && c.hoist_results)
            if (Value v = hoist(m_common[k].id()); v.valid()) {
                if (!called)
                    called =
                        Mask(m_mask) & (UInt32(m_id) != 0u) & (UInt32(m_id) <= instance_count());
                out[k] = ternary(Op::Select, *called, v, literal(v.type(), 0));
                Value zero = literal(v.type(), 0);
                m_owned.push_back(zero);
                for (auto &b : r.bodies)
                    b.outputs[k] = zero.id();
                continue;
            }
        remaining = true;
    }
    m_common.clear();
    if (!remaining || r.bodies.empty()) {
        disown();
        g.discard_region(r.region);
        return out;
    }

    // The node
    XXH3_state_t *hash = XXH3_createState();
    XXH3_128bits_reset(hash);
    for (auto &[bytes, index] : m_bodies) { // order does not matter: each is hashed with its number
        XXH3_128bits_update(hash, &index, sizeof(index));
    }
    std::vector<std::string_view> ordered(m_bodies.size());
    for (auto &[bytes, index] : m_bodies)
        ordered[index] = bytes;
    for (auto bytes : ordered)
        XXH3_128bits_update(hash, bytes.data(), bytes.size());
    for (auto &i : r.instances) {
        XXH3_128bits_update(hash, &i.body, sizeof(i.body));
        for (size_t k = 0; i.body != ~0u && k < r.bodies[i.body].leaves.size(); ++k) {
            NodeId id = r.data[i.first + k];
            uint64_t datum = id & IsValue     ? r.values[id & ~IsValue]
                             : g.is_fixed(id) ? g[id].imm
                                              : id;
            XXH3_128bits_update(hash, &datum, sizeof(datum));
        }
    }
    XXH128_hash_t h = XXH3_128bits_digest(hash);
    XXH3_freeState(hash);
    r.signature = { h.low64, h.high64 };
    for (const Value &v : m_owned) {
        r.nodes.push_back(v.id());
        g.retain(v.id());
    }
    m_owned.clear();
    r.regions = { r.region };
    Value mask = Value::adopt(c, c.effective_mask(m_mask.id()));
    Value node =
        Value::adopt(c, g.make_pinned({ .op = Op::Call,
                                        .type = Type::Void,
                                        .size = size,
                                        .imm = reinterpret_cast<uint64_t>(m_record.release()),
                                        .dep = { m_id.id(), mask.id(), 0, 0 } },
                                      c.region));
    g.region(r.region).owner = node.id();
    if (r.effects) {
        g.retain(node.id());
        c.add_effect(node.id());
    }
    for (size_t k = 0; k < out.size(); ++k)
        if (!out[k].valid())
            out[k] = Value::adopt(c, g.make({ .op = Op::CallOut,
                                              .type = r.out_types[k],
                                              .size = size,
                                              .imm = k,
                                              .dep = { node.id(), 0, 0, 0 } }));
    return out;
}

std::vector<Value> CallTracer::direct(uint32_t i, const Mask &condition) {
    std::vector<Value> shape;
    bool exists = true;
    std::vector<Value> results = detail::if_(
        m_name, condition,
        [&] {
            auto out = m_callee(i);
            exists = out.has_value();
            shape = exists ? *out : std::vector<Value>();
            return shape;
        },
        [&] { return zeros_like(shape); });
    return exists ? results : nothing();
}

std::vector<Value> CallTracer::nothing() {
    for (uint32_t i = 0; i < m_count; ++i) {
        RegionId r = c.enter("call", false, true); // traced for the types alone
        std::optional<std::vector<Value>> out;
        try {
            out = m_callee(i);
        } catch (...) {
            c.leave();
            g.discard_region(r);
            throw;
        }
        c.leave();
        std::vector<Value> zeros;
        if (out)
            zeros = zeros_like(*out);
        bool found = out.has_value();
        out.reset();
        g.discard_region(r);
        if (found)
            return zeros;
    }
    return {};
}

/// Lanes of each instance, in their order: one sort and one wait, however many instances there are.
class CallTracer::Groups {
public:
    /// `instance`: from 1, or 0 for lanes that call none.
    Groups(const UInt32 &instance, uint32_t instances) {
        Type shortest = instances < 1u << 8    ? Type::U8
                        : instances < 1u << 16 ? Type::U16
                                               : Type::U32;
        m_order =
            UInt32(sort_permutation(cast(shortest, instance))); // in as many rounds as it has bits
        UInt32 counts(full(Type::U32, 0, instances + 1));
        scatter_reduce(ReduceOp::Add, counts, UInt32(1u), instance, Mask(true));
        m_count = counts.read();
        m_first.resize(m_count.size());
        std::exclusive_scan(m_count.begin(), m_count.end(), m_first.begin(), 0u);
    }
    uint32_t size(uint32_t instance) const { return m_count[instance]; }
    UInt32 lanes(uint32_t instance) const {
        return gather(m_order, UInt32(lane_index(size(instance))) + opaque(m_first[instance]),
                      Mask(true));
    }

private:
    UInt32 m_order;
    std::vector<uint32_t> m_count, m_first;
};

// Lanes are grouped by instance; each group is gathered, computed by kernels of its own, scattered back.
std::vector<Value> CallTracer::evaluate() {
    uint32_t size = broadcast(m_name, m_id.size(), m_mask.size());
    for (const Value &v : m_saved)
        size = broadcast(m_name, size, v.size());
    Mask mask(m_mask);
    if (!c.masks.empty())
        mask = mask & Mask(Value::share(c, c.masks.back()));
    std::vector<NodeId> masks = std::exchange(c.masks, {});
    struct Restore {
        CallTracer &t;
        std::vector<NodeId> &masks;
        ~Restore() {
            t.restore_args();
            t.c.masks = masks;
        }
    } restore{ *this, masks };
    std::vector<Value> results;
    bool known = false;
    if (mask.size() != size)
        mask = mask & Mask(literal(Type::Bool, 1, size));
    UInt32 instance = select(mask & (UInt32(m_id) <= opaque(m_count)), UInt32(m_id), UInt32(0u));
    Groups groups(instance, m_count);
    for (uint32_t i = 0; i < m_count; ++i) {
        if (groups.size(i + 1) == 0) // also because effects of size 1 would run
            continue;
        if (m_args.empty()) { // what it computes with is all of the lanes', as it found it
            Mask here = instance == opaque(i + 1); // one kernel for all of them
            c.masks = { here.id() };
            auto out = m_callee(i);
            c.masks.clear();
            if (!out)
                continue;
            if (!known)
                results = zeros_like(*out);
            known = true;
            for (size_t k = 0; k < out->size(); ++k)
                results[k] = ternary(Op::Select, here, (*out)[k], results[k]);
            for (const Value &v : results)
                c.schedule(v.id());
            c.evaluate({});
            continue;
        }
        UInt32 lanes = groups.lanes(i + 1);
        for (size_t k = 0; k < m_args.size(); ++k)
            *m_args[k] = m_saved[k].size() == 1 ? m_saved[k]
                                                : gather(m_saved[k], lanes, literal(Type::Bool, 1));
        auto out = m_callee(i);
        if (!out)
            continue;
        if (!known) {
            for (const Value &v : *out)
                results.push_back(full(v.type(), 0, size));
            known = true;
        }
        for (size_t k = 0; k < out->size(); ++k)
            scatter(results[k], (*out)[k], lanes, literal(Type::Bool, 1));
        c.evaluate({});
    }
    return known ? results : nothing();
}

} // namespace

std::vector<Value> detail::call(const char *name, const Value &id, const Value &mask,
                                const std::vector<Value *> &args, uint32_t instances,
                                const Callee &callee) {
    if (!id.valid() || id.type() != Type::U32)
        fail("{}: the instance must be an array of u32", name);
    if (!mask.valid() || mask.type() != Type::Bool)
        fail("{}: the mask must be an array of bool", name);
    Context &c = id.context();
    if (&mask.context() != &c)
        fail("{}: the mask belongs to another context (thread)", name);
    for (const Value *v : { &id, &mask })
        if (v->node().flags & Dirty)
            c.settle(v->id(), name);

    // All instances are traced: one that leads back to itself would be traced for ever
    constexpr int MaxDepth = 64;
    thread_local int depth = 0;
    struct Level {
        Level() { ++depth; }
        ~Level() { --depth; }
    } level;
    if (depth > MaxDepth)
        fail("{}: calls nest more than {} deep; an instance seems to reach itself through a call",
             name, MaxDepth);
    int number = 0;
    for (const Value *v : args) {
        ++number;
        if (!v->valid())
            fail("{}: argument {} is an uninitialized value", name, number);
        if (&v->context() != &c)
            fail("{}: argument {} belongs to another context (thread)", name, number);
        if (v->node().flags & Dirty)
            c.settle(v->id(), name);
    }
    if (c.tracker && c.tracker->following()) [[unlikely]]
        return c.tracker->call(name, id, mask, args, instances, callee);
    return plain_call(name, id, mask, args, instances, callee);
}

std::vector<Value> detail::plain_call(const char *name, const Value &id, const Value &mask,
                                      const std::vector<Value *> &args, uint32_t instances,
                                      const Callee &callee) {
    Context &c = id.context();
    CallTracer tracer(c, name, id, mask, args, instances, callee);

    // Known at once: no lane calls, or all call the same
    if (mask.is_literal() && !mask.literal_bits())
        return tracer.nothing();
    if (id.is_literal()) {
        uint64_t i = id.literal_bits();
        if (i == 0 || i > instances)
            return tracer.nothing();
        return tracer.direct(uint32_t(i - 1), Mask(mask));
    }
    if (instances == 1 && c.has(Flag::OptimizeCalls))
        return tracer.direct(0, Mask(mask) & (UInt32(id) == 1u));
    if (!c.has(Flag::RecordCalls) && c.region == 0)
        return tracer.evaluate();
    return tracer.record();
}

} // namespace umbel::jit
