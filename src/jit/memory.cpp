// jit/memory.cpp: gathers, scatters, local arrays, messages: operations that touch memory.
#include "jit/array.h"
#include "jit/array_device.h"
#include "jit/exchange.h"
#include "jit/host_call.h"
#include "jit/host_pointer.h"
#include "jit/launch.h"
#include "jit/place.h"
#include "jit/rebuild.h"
#include "jit/record.h"
#include "jit/state_access.h"
#include "jit/unset_array.h"
#include <algorithm>
#include <atomic>
#include <numeric>

namespace umbel::jit {

namespace {

Context &check_args(const char *what, std::initializer_list<const Value *> values,
                    Context *c = nullptr) {
    int number = 0;
    for (const Value *v : values) {
        ++number;
        if (!v->valid())
            fail("{}: operand {} is an uninitialized value", what, number);
        if (c && &v->context() != c)
            fail("{}: operand {} belongs to another context (thread)", what, number);
        c = &v->context();
    }
    for (const Value *v : values)
        if (v->node().flags & Dirty)
            c->settle(v->id(), what);
    return *c;
}

uint32_t broadcast(const char *what, std::initializer_list<uint32_t> sizes) {
    uint32_t size = 1;
    for (uint32_t s : sizes) {
        if (size != 1 && s != 1 && s != size)
            fail("{}: sizes {} and {} do not match (only a size of 1 broadcasts)", what, size, s);
        if (s != 1)
            size = s;
    }
    return size;
}

// The size of an operation under the masks of evaluated control flow, which are as wide as it is.
uint32_t width(const char *what, Context &c, std::initializer_list<uint32_t> sizes) {
    uint32_t size = broadcast(what, sizes);
    return c.masks.empty() ? size : broadcast(what, { size, c.graph[c.masks.back()].size });
}

void check_type(const char *what, const char *role, const Value &v, Type t) {
    if (v.type() != t)
        fail("{}: the {} has type {}, not {}", what, role, name(v.type()), name(t));
}

void check_memory(const char *what, const Value &array) {
    if (array.node().op == Op::Phi)
        throw StateAccess(
            fmt::format("{}: the array is part of the state of the loop that is being recorded; "
                        "access one that exists before it and is not part of its state",
                        what),
            array.id());
}

// The address of an evaluated array as a node; evaluates it if need be.
Value address_of(Context &c, const Value &array) {
    Value data = opaque(array);
    return Value::adopt(
        c, c.graph.make({ .op = Op::Address, .type = Type::Ptr, .dep = { data.id(), 0, 0, 0 } }));
}

// A gather under the mask of an enclosing region reads the same, for lanes of this one: reuse it.
NodeId find_in_enclosing(Context &c, NodeKey key, const Value &mask) {
    if (!mask.is_literal())
        return 0;
    for (RegionId r = c.region; r != 0;) {
        r = c.graph.region(r).parent;
        if (c.graph.region(r).function != c.graph.region(c.region).function)
            break;
        NodeId active =
            c.graph.find({ .op = Op::Active, .type = Type::Bool, .imm = uint64_t(r) << 32 });
        if (!active)
            continue;
        key.dep[2] = active;
        if (NodeId id = c.graph.find(key))
            return id;
    }
    return 0;
}

} // namespace

Value gather(const Value &source, const Value &index, const Value &mask) {
    Context &c = check_args("gather", { &source, &index, &mask });
    check_type("gather", "index", index, Type::U32);
    check_type("gather", "mask", mask, Type::Bool);
    if (source.node().length)
        fail("gather: the source is a local array; use its get()");
    check_memory("gather", source);
    if (source.grad_id()) [[unlikely]]
        return c.tracker->gather(source, index, mask);
    uint32_t size = width("gather", c, { index.size(), mask.size() });
    Value zero = literal(source.type(), 0);
    if (mask.is_literal() && !mask.literal_bits())
        return full(source.type(), 0, size);

    // Sources that need no memory
    if (source.is_literal()) {
        Value v = literal(source.type(), source.literal_bits(), size);
        return mask.is_literal() ? v : ternary(Op::Select, mask, v, zero);
    }
    if (source.node().op == Op::Lane)
        return mask.is_literal() && size == index.size() ? index
                                                         : ternary(Op::Select, mask, index, zero);

    Value array = outside(source);
    if (array.node().region && array.size() != 1)
        fail("gather: the source is computed in the loop or call that is being recorded; gather "
             "from an "
             "array that exists before it");
    Value address = address_of(c, array);
    Value active = Value::adopt(c, c.effective_mask(mask.id()));
    NodeKey key{ .op = Op::Gather,
                 .type = source.type(),
                 .size = size,
                 .imm = place_bits(c),
                 .dep = { address.id(), index.id(), active.id(), 0 } };
    if (NodeId id = find_in_enclosing(c, key, mask))
        return Value::share(c, id);
    return Value::adopt(c, c.graph.make(key));
}

std::vector<Value> gather_packet(const Value &source, const Value &index, uint32_t n,
                                 const Value &mask) {
    Context &c = check_args("gather_packet", { &source, &index, &mask });
    check_type("gather_packet", "index", index, Type::U32);
    check_type("gather_packet", "mask", mask, Type::Bool);
    if (n == 0 || n > 64)
        fail("gather_packet: {} elements a lane; 1 to 64 are possible", n);
    if (source.size() % n)
        fail("gather_packet: the source has {} elements, not a multiple of {}", source.size(), n);
    if (n == 1)
        return { gather(source, index, mask) };
    check_memory("gather_packet", source);
    if (source.grad_id()) [[unlikely]]
        return c.tracker->gather_packet(source, index, n, mask);
    uint32_t size = width("gather_packet", c, { index.size(), mask.size() });
    Value address = address_of(c, source);
    Value active = Value::adopt(c, c.effective_mask(mask.id()));
    NodeKey key{ .op = Op::Packet,
                 .type = source.type(),
                 .size = size,
                 .imm = n | place_bits(c),
                 .dep = { address.id(), index.id(), active.id(), 0 } };
    NodeId found = find_in_enclosing(c, key, mask);
    Value packet = found ? Value::share(c, found) : Value::adopt(c, c.graph.make(key));
    std::vector<Value> out;
    for (uint32_t i = 0; i < n; ++i)
        out.push_back(Value::adopt(c, c.graph.make({ .op = Op::PacketGet,
                                                     .type = source.type(),
                                                     .size = size,
                                                     .imm = i,
                                                     .dep = { packet.id(), 0, 0, 0 } })));
    return out;
}

// ---- writing

// Makes the target's buffer exclusively ours: other values that share or read it keep what they saw.
static void own_target(Context &c, Value &target, const char *what) {
    if (!target.is_evaluated())
        target = opaque(target);
    bool dirty = target.node().flags & Dirty;
    uint32_t exclusive = 1;
    if (dirty) // on the list of such buffers; an Address too, unless all its effects were dropped
        exclusive +=
            1 + bool(c.graph.find(
                    { .op = Op::Address, .type = Type::Ptr, .dep = { target.id(), 0, 0, 0 } }));
    if (target.node().refs <= exclusive && !c.graph.buffer_of(target.id())->borrowed())
        return;
    if (dirty)
        c.settle(target.id(), what);
    if (target.node().refs == 1 && !c.graph.buffer_of(target.id())->borrowed())
        return;
    uint32_t size = target.size();
    uint64_t width = bytes(target.type());
    BufferRef fresh = allocate(size * width);
    auto *device = dynamic_cast<ArrayDevice *>(c.backend().device());
    auto copy = [=](const Task &t) {
        if (!device)
            std::memcpy(t.data(1), t.data(0), t.size * width);
        else if (t.size)
            device->copy(t.arrays[1].buffer->device_address(*device, true),
                         t.arrays[0].buffer->device_address(*device), t.size * width);
    };
    launch_algorithm(
        c, "copy", size,
        { { c.graph.buffer_of(target.id()), target.type(), size, TaskArray::Lane, 1, target.id() },
          { fresh, target.type(), size, TaskArray::Write } },
        {}, copy, device != nullptr);
    target = Value::adopt(c, c.graph.buffer(target.type(), fresh, size));
}

// Whether a function of the host changes the array: by adding to it at the end, or, as atomic exchanges do, at its address.
// What it does behind other pointers is its own: arrays know nothing of it.
static bool writes_to(Graph &g, NodeId call, NodeId array) {
    auto &r = static_cast<ExternRecord &>(*g.record_of(call));
    return (r.user && g[r.user].dep[0] == array) ||
           std::find(r.targets.begin(), r.targets.end(), array) != r.targets.end();
}

namespace {

/// An index as base * step + offset, as far as it is written down that way. Step 0: the same in all lanes.
struct Cells {
    NodeId base;
    uint64_t step = 1;
    uint32_t offset = 0;
};

Cells cells_of(Graph &g, NodeId index) {
    Cells c{ index };
    for (;;) {
        const Node &n = g[c.base];
        if (n.op == Op::Literal)
            return { c.base, 0, uint32_t(c.offset + c.step * n.imm) };
        auto is_number = [&](int i) { return g[n.dep[i]].op == Op::Literal; };
        bool commutes = n.op == Op::Add || n.op == Op::Mul || n.op == Op::Fma;
        bool known = commutes || n.op == Op::Sub || n.op == Op::Shl;
        int of = commutes && is_number(0) ? 1 : 0; // the operand that varies
        if (!known || !is_number(1 - of) || (n.op == Op::Fma && !is_number(2)))
            return c;
        uint64_t k = uint32_t(g[n.dep[1 - of]].imm), factor = 1;
        uint32_t more = 0;
        switch (n.op) {
        case Op::Add: more = uint32_t(k); break;
        case Op::Sub: more = uint32_t(0 - k); break;
        case Op::Shl: factor = uint64_t(1) << (k & 31); break;
        case Op::Fma: more = uint32_t(g[n.dep[2]].imm); [[fallthrough]];
        default: factor = k; break;
        }
        if (c.step * factor > 0xffffffffu)
            return c;
        c = { n.dep[of], c.step * factor, uint32_t(c.offset + c.step * more) };
    }
}

// Whether no lane of the one touches what any lane of the other does: other remainders, or other ranges. Indices of arrays do not
// wrap around.
bool are_apart(Graph &g, NodeId first, NodeId second, uint32_t size) {
    const Cells a = cells_of(g, first), b = cells_of(g, second);
    uint64_t step = std::gcd(a.step, b.step);
    int64_t apart = int32_t(a.offset - b.offset);
    if (step == 0 ? apart != 0 : apart % int64_t(step) != 0)
        return true;
    auto is_range = [&](const Cells &c) { return c.step == 0 || g[c.base].op == Op::Lane; };
    auto last = [&](const Cells &c) { return c.offset + c.step * (size - 1); };
    return is_range(a) && is_range(b) && size && last(a) <= 0xffffffffu && last(b) <= 0xffffffffu &&
           (last(a) < b.offset || last(b) < a.offset);
}

} // namespace

// Effects that are no ReduceOp. Ranks need not be in any order; what exchanges find depends on it.
enum : uint32_t { Increment = ~0u, Exchange = ~0u - 1 };

// The effects on an array that a pending one stands for: itself, or those of its bodies.
static void find_writes(Graph &g, NodeId effect, NodeId array, std::vector<NodeId> &out) {
    auto look_in = [&](const std::vector<NodeId> &effects) {
        for (NodeId e : effects)
            find_writes(g, e, array, out);
    };
    const Node &n = g[effect];
    bool writes = false;
    switch (n.op) {
    case Op::Scatter:
    case Op::ScatterInc: writes = g[n.dep[0]].dep[0] == array; break;
    case Op::Extern: writes = writes_to(g, effect, array); break;
    case Op::Call:
        for (auto &body : static_cast<CallRecord &>(*g.record_of(effect)).bodies)
            look_in(body.effects);
        break;
    case Op::Loop:
    case Op::If:
        for (RegionId r : g.record_of(effect)->regions)
            look_in(g.region(r).effects);
        break;
    default: break;
    }
    if (writes)
        out.push_back(effect);
}

namespace {

/// An effect about to be recorded: what must be known of it to tell whether it can share a kernel with earlier ones.
struct NewEffect {
    NodeId target;
    uint32_t size, kind; // a ReduceOp, or one of those above
    NodeId index = 0;
    const Value *mask = nullptr;
};

// Whether each lane's own order of the two is enough, as nobody can tell in which order lanes do them.
bool may_interleave(Context &c, NodeId earlier, const NewEffect &now) {
    Graph &g = c.graph;
    const Node &n = g[earlier];
    if (n.op == Op::ScatterInc)
        return now.kind == Increment;
    if (n.op == Op::Extern) // sums at the end of the kernel
        return now.kind == uint32_t(ReduceOp::Add) &&
               static_cast<ExternRecord &>(*g.record_of(earlier)).effect;
    if (uint32_t(n.imm) != now.kind)
        return false;
    if (now.kind != uint32_t(ReduceOp::Store) || are_apart(g, n.dep[1], now.index, now.size))
        return true;
    if (n.dep[1] != now.index)
        return false;
    // A cell for each lane alone, or all that the first wrote to is written again
    Cells cells = cells_of(g, now.index);
    bool own = g[cells.base].op == Op::Lane && cells.step &&
               cells.offset + cells.step * (uint64_t(now.size) - 1) <= 0xffffffffu;
    return own || (c.region == 0 && (n.dep[3] == now.mask->id() ||
                                     (now.mask->is_literal() && now.mask->literal_bits())));
}

} // namespace

// Pending effects on the same target that would not run before this one must come first: those of another
// size, and, as reductions of the top level follow their kernel, those of another kind. Lanes of a kernel run in any order: of two
// stores, one lane may do its second before another does its first, where they meet in a cell; and so may loops in a row.
static void order_effects(Context &c, const NewEffect &now) {
    if (!(c.graph[now.target].flags & Dirty))
        return;
    std::vector<NodeId> writes;
    for (NodeId e : c.graph.region(0).effects) {
        writes.clear();
        find_writes(c.graph, e, now.target, writes);
        for (NodeId w : writes) {
            Op op = c.graph[w].op;
            bool direct = w == e && op != Op::Extern;
            bool one_kernel = c.region ? !direct : direct && op == Op::Scatter;
            if (one_kernel && c.graph[e].size == now.size && may_interleave(c, w, now))
                continue;
            // What stays behind are effects of the bodies being recorded, which come later anyway
            c.evaluate({});
            return;
        }
    }
}

// Reductions of all lanes into one cell keep copies of the target: it must not be large.
constexpr uint32_t UniformTarget = 1 << 16;

// The value in all `size` lanes; the rules would fold it back.
static Value expand(Context &c, const Value &v, uint32_t size) {
    if (v.size() == size)
        return v;
    Value all = literal(Type::Bool, 1, size);
    return Value::adopt(c, c.graph.make({ .op = Op::Select,
                                          .type = v.type(),
                                          .size = size,
                                          .dep = { all.id(), v.id(), v.id(), 0 } }));
}

void scatter(Value &target, const Value &value, const Value &index, const Value &mask,
             ReduceOp op) {
    if (!target.valid())
        fail("scatter: the target is an uninitialized value");
    Context &c = check_args("scatter", { &value, &index, &mask }, &target.context());
    check_type("scatter", "index", index, Type::U32);
    check_type("scatter", "mask", mask, Type::Bool);
    check_type("scatter", "value", value, target.type());
    check_memory("scatter", target);
    target = outside(target);
    if (target.node().length || target.node().region)
        fail("scatter: the target must be an array that exists outside of the recorded {}",
             c.graph.region(target.node().region).kind);
    if ((op == ReduceOp::And || op == ReduceOp::Or) && is_float(target.type()))
        fail("scatter: {} is not defined for {}", name(op), name(target.type()));
    if (op != ReduceOp::Store && op != ReduceOp::And && op != ReduceOp::Or &&
        target.type() == Type::Bool)
        fail("scatter: {} is not defined for masks", name(op));
    if (mask.is_literal() && !mask.literal_bits())
        return;
    if (target.grad_id() | value.grad_id()) [[unlikely]]
        return c.tracker->scatter(target, value, index, mask, op);
    uint32_t size = width("scatter", c, { index.size(), value.size(), mask.size() });
    uint32_t kind = uint32_t(op);
    order_effects(c, { target.id(), size, kind, index.id(), &mask });
    own_target(c, target, "scatter");
    Value address = address_of(c, target);
    // At the top level, reductions run in lane order after the kernel: no atomics, the same bits always. The checking mode looks
    // at what kernels do.
    bool ordered = c.region == 0 && op != ReduceOp::Store && &c.backend() != &checking_backend();
    Value active = mask, at = index;
    if (!ordered || !c.masks.empty())
        active = Value::adopt(c, c.effective_mask(mask.id()));
    if (ordered) {
        if (target.size() > UniformTarget)
            at = expand(c, index, size);
        if (!active.is_literal())
            active = expand(c, active, size);
    }
    NodeId effect =
        c.graph.make_pinned({ .op = Op::Scatter,
                              .type = Type::Void,
                              .size = size,
                              .imm = kind | place_bits(c),
                              .dep = { address.id(), at.id(), value.id(), active.id() } },
                            c.region);
    if (ordered)
        c.graph[effect].flags |= Ordered;
    c.mark_dirty(target.id());
    c.add_effect(effect);
}

Value scatter_inc(Value &target, const Value &index, const Value &mask) {
    if (!target.valid())
        fail("scatter_inc: the target is an uninitialized value");
    Context &c = check_args("scatter_inc", { &index, &mask }, &target.context());
    check_type("scatter_inc", "target", target, Type::U32);
    check_memory("scatter_inc", target);
    check_type("scatter_inc", "index", index, Type::U32);
    check_type("scatter_inc", "mask", mask, Type::Bool);
    uint32_t size = width("scatter_inc", c, { index.size(), mask.size() });
    order_effects(c, { target.id(), size, Increment });
    own_target(c, target, "scatter_inc");
    Value address = address_of(c, target);
    Value active = Value::adopt(c, c.effective_mask(mask.id()));
    NodeId effect = c.graph.make_pinned({ .op = Op::ScatterInc,
                                          .type = Type::U32,
                                          .size = size,
                                          .imm = place_bits(c),
                                          .dep = { address.id(), index.id(), active.id(), 0 } },
                                        c.region);
    c.mark_dirty(target.id());
    Value result = Value::share(c, effect);
    c.add_effect(effect);
    return result;
}

// ---- local arrays

static Value make_array(Context &c, const Value &initial, uint32_t length, bool is_unset) {
    if (length == 0 || length > 65536)
        fail("local_array: a length of {}; 1 to 65536 is possible", length);
    // Made in a callee from the caller's values, it is still the callee's own
    Value home;
    if (RegionId function = c.graph.region(c.region).function)
        home = Value::adopt(
            c, c.graph.make(
                   { .op = Op::Active, .type = Type::Bool, .imm = uint64_t(function) << 32 }));
    return Value::adopt(
        c, c.graph.make({ .op = Op::ArrayNew,
                          .type = initial.type(),
                          .size = initial.size(),
                          .imm = is_unset,
                          .length = length,
                          .dep = { initial.id(), home.valid() ? home.id() : 0, 0, 0 } }));
}

Value local_array(const Value &initial, uint32_t length) {
    Context &c = check_args("local_array", { &initial });
    if (initial.grad_id()) [[unlikely]]
        return c.tracker->local_array(initial, length);
    return make_array(c, initial, length, false);
}

Value unset_array(Type type, uint32_t length) {
    return make_array(Context::current(), literal(type, 0), length, true);
}

Value local_get(const Value &array, const Value &index, const Value &mask) {
    Context &c = check_args("local_get", { &array, &index, &mask });
    if (!array.node().length)
        fail("local_get: operand 1 is not a local array");
    check_type("local_get", "index", index, Type::U32);
    check_type("local_get", "mask", mask, Type::Bool);
    if (array.grad_id()) [[unlikely]]
        return c.tracker->local_get(array, index, mask);
    uint32_t size = width("local_get", c, { array.size(), index.size(), mask.size() });
    Value active = Value::adopt(c, c.effective_mask(mask.id()));
    return Value::adopt(c, c.graph.make({ .op = Op::ArrayGet,
                                          .type = array.type(),
                                          .size = size,
                                          .imm = place_bits(c),
                                          .dep = { array.id(), index.id(), active.id(), 0 } }));
}

Value local_set(const Value &array, const Value &index, const Value &value, const Value &mask) {
    Context &c = check_args("local_set", { &array, &index, &value, &mask });
    if (!array.node().length)
        fail("local_set: operand 1 is not a local array");
    check_type("local_set", "index", index, Type::U32);
    check_type("local_set", "value", value, array.type());
    check_type("local_set", "mask", mask, Type::Bool);
    if (array.grad_id() | value.grad_id()) [[unlikely]]
        return c.tracker->local_set(array, index, value, mask);
    uint32_t size =
        width("local_set", c, { array.size(), index.size(), value.size(), mask.size() });
    Value active = Value::adopt(c, c.effective_mask(mask.id()));
    return Value::adopt(
        c, c.graph.make({ .op = Op::ArraySet,
                          .type = array.type(),
                          .size = size,
                          .imm = place_bits(c),
                          .length = array.node().length,
                          .dep = { array.id(), index.id(), value.id(), active.id() } }));
}

// ---- host functions and messages

static Value make_extern(Context &c, std::unique_ptr<ExternRecord> record,
                         std::span<const Value> inputs, const Value &mask, bool effect = true) {
    Value active = Value::adopt(c, c.effective_mask(mask.id()));
    uint32_t size = active.size();
    record->mask = active.id();
    record->nodes.push_back(active.id());
    const char *what = record->kind == ExternSite::Print    ? "print"
                       : record->kind == ExternSite::Assert ? "assert_lanes"
                                                            : record->text.c_str();
    for (const Value &v : inputs) {
        check_args(what, { &v }, &c);
        size = broadcast(what, { size, v.size() });
        record->inputs.push_back(v.id());
        record->nodes.push_back(v.id());
    }
    for (NodeId id : { record->fn, record->user })
        if (id)
            record->nodes.push_back(id);
    for (NodeId id : record->nodes)
        c.graph.retain(id);
    NodeId id = c.graph.make_pinned({ .op = Op::Extern,
                                      .type = Type::Void,
                                      .size = size,
                                      .imm = reinterpret_cast<uint64_t>(record.release()) },
                                    c.region);
    Value result = Value::share(c, id);
    if (effect)
        c.add_effect(id);
    else
        c.graph.release(id);
    return result;
}

// ---- atomic exchanges: a host function, so that both backends have the same

// The frame: indices, values, for Compare what to compare with; then room for what was there.
template <class T, bool Compare>
static void exchange_packet(void *target, uint64_t, uint32_t lanes, const int32_t *mask,
                            void *frame) {
    auto *bytes = static_cast<uint8_t *>(frame);
    auto *index = bytes, *value = index + lanes * sizeof(uint32_t),
         *compare = value + lanes * sizeof(T),
         *before = Compare ? compare + lanes * sizeof(T) : compare;
    for (uint32_t k = 0; k < lanes; ++k) {
        T old = 0;
        if (mask[k]) {
            uint32_t i;
            T fresh;
            std::memcpy(&i, index + k * sizeof(i), sizeof(i));
            std::memcpy(&fresh, value + k * sizeof(T), sizeof(T));
            std::atomic_ref<T> element(static_cast<T *>(target)[i]);
            if constexpr (Compare) {
                std::memcpy(&old, compare + k * sizeof(T), sizeof(T));
                element.compare_exchange_strong(old, fresh); // leaves in `old` what was there
            } else {
                old = element.exchange(fresh);
            }
        }
        std::memcpy(before + k * sizeof(T), &old, sizeof(T));
    }
}

static ExternFn exchange_function(size_t size, bool compare) {
    switch (size) {
    case 1: return compare ? exchange_packet<uint8_t, true> : exchange_packet<uint8_t, false>;
    case 2: return compare ? exchange_packet<uint16_t, true> : exchange_packet<uint16_t, false>;
    case 4: return compare ? exchange_packet<uint32_t, true> : exchange_packet<uint32_t, false>;
    default: return compare ? exchange_packet<uint64_t, true> : exchange_packet<uint64_t, false>;
    }
}

static Type bits_of(Type t) { // floats are compared by their bits, too
    size_t n = bytes(t);
    return n == 1 ? Type::U8 : n == 2 ? Type::U16 : n == 4 ? Type::U32 : Type::U64;
}

static Value exchange(const char *what, Value &target, const Value *compare, const Value &value,
                      const Value &index, const Value &mask) {
    if (!target.valid())
        fail("{}: the target is an uninitialized value", what);
    Context &c = check_args(what, { &value, &index, &mask }, &target.context());
    check_memory(what, target);
    check_type(what, "index", index, Type::U32);
    check_type(what, "mask", mask, Type::Bool);
    check_type(what, "value", value, target.type());
    if (compare)
        check_type(what, "value to compare with", *compare, target.type());
    if (target.type() == Type::Bool)
        fail("{}: not defined for masks; use an array of integers", what);
    target = outside(target);
    if (target.node().length || target.node().region)
        fail("{}: the target must be an array that exists outside of the recorded {}", what,
             c.graph.region(target.node().region).kind);
    if (target.grad_id() | value.grad_id())
        fail("{}: has no derivative; detach() the target and the value", what);
    uint32_t size =
        width(what, c, { index.size(), value.size(), mask.size(), compare ? compare->size() : 1 });
    order_effects(c, { target.id(), size, Exchange });
    own_target(c, target, what);
    Type bits = bits_of(target.type());
    auto raw = [&](const Value &v) { return bitcast(bits, v); };
    std::vector<Value> inputs{ expand(c, index, size), raw(value) };
    if (compare)
        inputs.push_back(raw(*compare));
    auto function = reinterpret_cast<void *>(exchange_function(bytes(target.type()), compare));
    Value holder = Value::adopt(c, c.graph.buffer(Type::U8, borrow(function, 1, {}), 1));
    Value fn = address_of(c, holder), address = address_of(c, target);
    auto record = std::make_unique<ExternRecord>();
    record->text = what;
    record->fn = fn.id();
    record->user = address.id();
    record->out_types = { bits };
    Value site = make_extern(c, std::move(record), inputs, mask);
    c.mark_dirty(target.id());
    Value before = Value::adopt(c, c.graph.make({ .op = Op::ExternOut,
                                                  .type = bits,
                                                  .size = site.size(),
                                                  .dep = { site.id(), 0, 0, 0 } }));
    return before;
}

Value scatter_exchange(Value &target, const Value &value, const Value &index, const Value &mask) {
    Value before = exchange("scatter_exch", target, nullptr, value, index, mask);
    return bitcast(target.type(), before);
}

Swapped scatter_compare_exchange(Value &target, const Value &compare, const Value &value,
                                 const Value &index, const Value &mask) {
    Value before = exchange("scatter_cas", target, &compare, value, index, mask);
    Value same = binary(Op::Eq, before, bitcast(bits_of(target.type()), compare));
    return { bitcast(target.type(), before), binary(Op::And, same, mask) };
}

void print(std::string format, std::span<const Value> args, const Value &mask) {
    Context &c = check_args("print", { &mask });
    auto record = std::make_unique<ExternRecord>();
    record->kind = ExternSite::Print;
    record->text = std::move(format);
    make_extern(c, std::move(record), args, mask);
}

void assert_lanes(const Mask &condition, std::string message, const Mask &mask) {
    Context &c = check_args("assert_lanes", { &condition, &mask });
    if (condition.is_literal() && condition.literal_bits())
        return;
    auto record = std::make_unique<ExternRecord>();
    record->kind = ExternSite::Assert;
    record->text = std::move(message);
    make_extern(c, std::move(record), std::array<Value, 1>{ condition }, mask);
}

Value host_pointer(void *p, std::shared_ptr<void> owner) {
    // Bound at launch, so that the program does not depend on it
    Context &c = Context::current();
    std::function<void()> keep; // the buffer's handle holds the owner
    if (owner)
        keep = [owner] {};
    return Value::adopt(c, c.graph.buffer(Type::U8, borrow(p, 0, std::move(keep)), 1));
}

std::vector<Value> call_host(std::string name, ExternFn fn, const Value &user,
                             std::span<const Value> inputs, std::span<const Type> outputs,
                             const Value &mask, bool effect) {
    Context &c = check_args("call_host", { &mask, &user });
    Value f = address_of(c, host_pointer(reinterpret_cast<void *>(fn))), u = address_of(c, user);
    auto record = std::make_unique<ExternRecord>();
    record->text = std::move(name);
    record->fn = f.id();
    record->user = u.id();
    record->out_types.assign(outputs.begin(), outputs.end());
    Value site = make_extern(c, std::move(record), inputs, mask, effect);
    std::vector<Value> out;
    for (size_t k = 0; k < outputs.size(); ++k)
        out.push_back(Value::adopt(c, c.graph.make({ .op = Op::ExternOut,
                                                     .type = outputs[k],
                                                     .size = site.size(),
                                                     .imm = k,
                                                     .dep = { site.id(), 0, 0, 0 } })));
    return out;
}

std::vector<Value> call_host(std::string name, ExternFn fn, void *user,
                             std::span<const Value> inputs, std::span<const Type> outputs,
                             const Value &mask, bool effect) {
    return call_host(std::move(name), fn, host_pointer(user), inputs, outputs, mask, effect);
}

// Pending effects on the target must be sums, as this one: all others come first.
static void order_sums(Context &c, const Value &target) {
    if (!(target.node().flags & Dirty))
        return;
    for (NodeId e : c.graph.region(0).effects) {
        const Node &n = c.graph[e];
        bool sum = n.op == Op::Extern ||
                   (n.op == Op::Scatter &&
                    (ReduceOp(n.imm) == ReduceOp::Add || c.graph[n.dep[0]].dep[0] != target.id()));
        if (!sum) {
            c.settle(target.id(), "call_host");
            return;
        }
    }
}

void call_host_adding(std::string name, ExternFn fn, std::shared_ptr<HostEffect> effect,
                      std::span<Value *const> targets, std::span<const Value> inputs,
                      const Value &mask) {
    Context &c = check_args("call_host", { &mask });
    auto record = std::make_unique<ExternRecord>();
    record->text = std::move(name);
    std::vector<Value> addresses;
    for (Value *t : targets) {
        order_sums(c, *t);
        own_target(c, *t, "call_host");
        addresses.push_back(address_of(c, *t));
        record->targets.push_back(t->id());
        record->nodes.push_back(addresses.back().id());
    }
    Value f = address_of(c, host_pointer(reinterpret_cast<void *>(fn)));
    Value u = address_of(c, host_pointer(effect.get()));
    record->fn = f.id();
    record->user = u.id();
    record->effect = std::move(effect);
    make_extern(c, std::move(record), inputs, mask, true);
    for (Value *t : targets)
        c.mark_dirty(t->id());
}

} // namespace umbel::jit
