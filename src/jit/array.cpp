// jit/array.cpp: making arrays, reading them back, algorithms over whole arrays.
#include "jit/array.h"
#include "jit/element_count.h"
#include "jit/launch.h"
#include "jit/rebuild.h"
#include "jit/recorded_algorithm.h"
#include "jit/recording.h"

namespace umbel::jit {

namespace {

Context &need(const char *what, const Value &v) {
    if (!v.valid())
        fail("{}: the operand is an uninitialized value", what);
    if (v.node().length)
        fail("{}: a local array is no operand; use its elements", what);
    return v.context();
}

// The evaluated operand of an algorithm.
BufferRef operand(const char *what, const Value &v) {
    Context &c = need(what, v);
    Value whole = outside(v);
    if (whole.node().region)
        fail("{}: the operand is computed inside a recorded {}, where whole arrays do not exist",
             what, c.graph.region(v.node().region).kind);
    return c.data(whole.id());
}

// Whether algorithms can be kernels of recorded code: not inside of a body that is traced, which they would become part of.
bool has_device(Context &c) { return c.backend().device() && c.region == 0; }

// Those whose result has as many elements as the data says, or is a number of the host, are not while launches are recorded, to be
// replayed with other arrays.
bool runs_on_device(Context &c) { return has_device(c) && !Recorder::of(c); }

// The same as a value, for kernels. Who asks for derivatives has been served before.
Value whole_operand(const char *what, const Value &v) {
    operand(what, v);
    return outside(v).detached();
}

// The same as an array of a task.
TaskArray lanes_of(const char *what, const Value &v) {
    BufferRef buffer = operand(what, v);
    return { std::move(buffer), v.type(), v.size(),
             TaskArray::Lane,   1,        v.is_evaluated() ? v.id() : 0 };
}

// A result, made by a task: an element for each `run` lanes.
Value result(Context &c, Type t, uint32_t size, uint64_t run, std::vector<TaskArray> &arrays) {
    BufferRef buffer = allocate(uint64_t(size) * bytes(t));
    arrays.push_back({ buffer, t, size, TaskArray::Write, run });
    return Value::adopt(c, c.graph.buffer(t, buffer, size));
}

void need_reducible(const char *what, ReduceOp op, Type t) {
    bool logic = op == ReduceOp::And || op == ReduceOp::Or;
    if (t == Type::Bool ? !logic : !is_number(t) || (logic && is_float(t)))
        fail("{}: {} is not defined for {}", what, name(op), name(t));
}

} // namespace

// ---- making and reading

uint32_t element_count(uint64_t n) {
    if (n > 0xffffffffu)
        fail("an array of {} elements; 2^32 - 1 are possible", n);
    return uint32_t(n);
}

Value full(Type type, uint64_t bits, uint64_t size) { return literal(type, bits, size); }

Value copy_from(Type type, const void *data, uint64_t size) {
    Context &c = Context::current();
    uint64_t n = uint64_t(element_count(size)) * bytes(type);
    if (size == 1) {
        uint64_t element = 0;
        std::memcpy(&element, data, n);
        return Value::adopt(c, c.graph.single(type, element));
    }
    BufferRef buffer = allocate(n);
    if (n)
        std::memcpy(buffer->data(), data, n);
    return Value::adopt(c, c.graph.buffer(type, buffer, uint32_t(size)));
}

Value borrow_from(Type type, void *data, uint64_t size, std::function<void()> on_release) {
    Context &c = Context::current();
    if (reinterpret_cast<uintptr_t>(data) % bytes(type))
        fail("borrow_from: memory at {} is not aligned for {}", data, name(type));
    uint32_t count = element_count(size);
    BufferRef buffer = borrow(data, uint64_t(count) * bytes(type), std::move(on_release));
    return Value::adopt(c, c.graph.buffer(type, buffer, count));
}

Value constant_table(Type type, const void *data, uint64_t size) {
    Context &c = Context::current();
    Context::LiveNode &known = c.constant_tables[data];
    if (c.is_live(known))
        return Value::share(c, known.node);
    Value table = borrow_from(type, const_cast<void *>(data), size, [] {});
    known = { table.id(), table.node().seq };
    return table;
}

Value opaque(const Value &v) {
    Context &c = need("opaque", v);
    if (v.is_evaluated())
        return v;
    if (v.is_literal()) { // a fresh node: the literal itself stays a constant for others
        auto keep_gradient = [&](Value r) {
            if (!v.grad_id())
                return r;
            c.tracker->retain(v.grad_id());
            return Value::attach(std::move(r), v.grad_id());
        };
        if (v.size() == 1)
            return keep_gradient(Value::adopt(c, c.graph.single(v.type(), v.literal_bits())));
        return keep_gradient(Value::adopt(c, c.graph.buffer(v.type(), c.data(v.id()), v.size())));
    }
    Value whole = outside(v);
    c.evaluate(std::array{ whole.id() });
    return whole;
}

void eval(std::span<const Value *const> values) {
    Context *c = nullptr;
    std::vector<NodeId> roots;
    std::vector<Value> whole;
    for (const Value *v : values) {
        Context &vc = need("eval", *v);
        if (c && c != &vc)
            fail("eval: values of two contexts (threads)");
        c = &vc;
        whole.push_back(outside(*v));
        roots.push_back(whole.back().id());
    }
    (c ? *c : Context::current()).evaluate(roots);
}

void schedule(const Value &v) { need("schedule", v).schedule(outside(v).id()); }

void synchronize() { Context::current().synchronize(); }

void read(const Value &v, void *out, uint64_t first, uint64_t count) {
    Context &c = need("read", v);
    if (first > v.size() || count > v.size() - first)
        fail("read: {} elements from number {} on, of an array of {}", count, first, v.size());
    size_t width = bytes(v.type());
    if (v.is_literal()) {
        for (uint64_t i = 0; i < count; ++i) {
            uint64_t imm = v.literal_bits();
            std::memcpy(static_cast<char *>(out) + i * width, &imm, width);
        }
        return;
    }
    about_to_read(c, "read");
    if (c.graph.is_single(v.id())) {
        std::memcpy(out, &v.node().imm, count * width);
        return;
    }
    BufferRef buffer = operand("read", v);
    c.synchronize();
    refuse_lost(buffer);
    if (count)
        std::memcpy(out, static_cast<const char *>(buffer->data()) + first * width, count * width);
}

// ---- algorithms

Value reduce(ReduceOp op, const Value &v) {
    Context &c = need("reduce", v);
    need_reducible("reduce", op, v.type());
    if (v.grad_id()) [[unlikely]]
        return c.tracker->reduce(op, v);
    if (has_device(c) && v.size())
        return recorded::reduce(op, whole_operand("reduce", v));
    std::vector<TaskArray> arrays = { lanes_of("reduce", v) };
    Type t = v.type();
    Value r = result(c, t, 1, 0, arrays);
    launch_algorithm(c, "reduce", v.size(), std::move(arrays), { uint64_t(t), uint64_t(op) },
                     [=](const Task &k) { reduce(t, op, k.data(0), k.size, k.data(1)); });
    return r;
}

Value block_reduce(ReduceOp op, const Value &v, uint32_t block) {
    Context &c = need("block_reduce", v);
    need_reducible("block_reduce", op, v.type());
    if (block == 0)
        fail("block_reduce: a block size of 0");
    if (v.grad_id()) [[unlikely]]
        return c.tracker->block_reduce(op, v, block);
    if (has_device(c))
        return recorded::block_reduce(op, whole_operand("block_reduce", v), block);
    std::vector<TaskArray> arrays = { lanes_of("block_reduce", v) };
    Type t = v.type();
    uint64_t n = v.size();
    Value r = result(c, t, uint32_t((n + block - 1) / block), block, arrays);
    launch_algorithm(
        c, "block_reduce", n, std::move(arrays), { uint64_t(t), uint64_t(op), block },
        [=](const Task &k) { block_reduce(t, op, k.data(0), k.size, block, k.data(1)); });
    return r;
}

Value prefix_sum(const Value &v, bool exclusive, uint32_t block) {
    Context &c = need("prefix_sum", v);
    need_reducible("prefix_sum", ReduceOp::Add, v.type());
    if (v.grad_id()) [[unlikely]]
        return c.tracker->prefix_sum(v, exclusive, block);
    if (has_device(c))
        return recorded::prefix_sum(whole_operand("prefix_sum", v), exclusive, block);
    std::vector<TaskArray> arrays = { lanes_of("prefix_sum", v) };
    Type t = v.type();
    uint64_t n = v.size();
    Value r = result(c, t, uint32_t(n), 1, arrays);
    launch_algorithm(c, "prefix_sum", n, std::move(arrays), { uint64_t(t), exclusive, block },
                     [=](const Task &k) {
                         uint64_t run = block ? block : std::max<uint64_t>(k.size, 1);
                         prefix_sum(t, k.data(0), k.size, run, exclusive, k.data(1));
                     });
    return r;
}

Value dot(const Value &a, const Value &b) {
    Context &c = need("dot", a);
    if (&need("dot", b) != &c)
        fail("dot: operand 2 belongs to another context (thread)");
    if (a.type() != b.type() || !is_number(a.type()))
        fail("dot: operands of types {} and {}", name(a.type()), name(b.type()));
    if (a.size() != b.size() && a.size() != 1 && b.size() != 1)
        fail("dot: operand sizes {} and {} do not match (only a size of 1 broadcasts)", a.size(),
             b.size());
    if (a.grad_id() | b.grad_id()) [[unlikely]]
        return c.tracker->dot(a, b);
    if (a.size() != b.size()) // one of them broadcasts
        return reduce(ReduceOp::Add, binary(Op::Mul, a, b));
    if (has_device(c) && a.size())
        return recorded::dot(whole_operand("dot", a), whole_operand("dot", b));
    std::vector<TaskArray> arrays = { lanes_of("dot", a), lanes_of("dot", b) };
    Type t = a.type();
    Value r = result(c, t, 1, 0, arrays);
    launch_algorithm(c, "dot", a.size(), std::move(arrays), { uint64_t(t) },
                     [=](const Task &k) { dot(t, k.data(0), k.data(1), k.size, k.data(2)); });
    return r;
}

Value compress(const Value &mask) {
    Context &c = need("compress", mask);
    if (mask.type() != Type::Bool)
        fail("compress: the operand has type {}, not bool", name(mask.type()));
    if (runs_on_device(c))
        return recorded::compress(whole_operand("compress", mask));
    AlgorithmTask task;
    task.name = "compress";
    task.size = mask.size();
    task.arrays = { lanes_of("compress", mask) };
    BufferRef out = allocate(uint64_t(mask.size()) * 4);
    task.arrays.push_back({ out, Type::U32, mask.size(), TaskArray::Write });
    task.function = [](const Task &k) {
        const_cast<Task &>(k).arrays[1].size =
            compress(k.data<uint8_t>(0), k.size, k.data<uint32_t>(1));
    };
    run_now(c, task); // the size of the result depends on the data
    return Value::adopt(c, c.graph.buffer(Type::U32, out, uint32_t(task.arrays[1].size)));
}

Value sort_permutation(const Value &keys, bool descending) {
    Context &c = need("sort_permutation", keys);
    if (!is_number(keys.type()))
        fail("sort_permutation: keys of type {}", name(keys.type()));
    if (has_device(c) && keys.size())
        return recorded::sort_permutation(whole_operand("sort_permutation", keys), descending);
    std::vector<TaskArray> arrays = { lanes_of("sort_permutation", keys) };
    Type t = keys.type();
    uint64_t n = keys.size();
    Value r = result(c, Type::U32, uint32_t(n), 1, arrays);
    launch_algorithm(c, "sort_permutation", n, std::move(arrays), { uint64_t(t), descending },
                     [=](const Task &k) {
                         sort_permutation(t, k.data(0), k.size, descending, k.data<uint32_t>(1));
                     });
    return r;
}

Value recorded_size(const Value &v) {
    Context &c = need("size", v);
    if (!Recorder::of(c))
        return literal(Type::U32, v.size());
    std::vector<TaskArray> arrays = { lanes_of("size", v) };
    Value r = result(c, Type::U32, 1, 0, arrays);
    launch_algorithm(c, "size", v.size(), std::move(arrays), {},
                     [](const Task &k) { *k.data<uint32_t>(1) = uint32_t(k.size); });
    return r;
}

bool any(const Mask &m) {
    if (m.is_literal())
        return m.size() && m.literal_bits();
    return item(Mask(reduce(ReduceOp::Or, m)));
}

bool all(const Mask &m) {
    if (m.is_literal())
        return !m.size() || m.literal_bits();
    return item(Mask(reduce(ReduceOp::And, m)));
}

uint32_t count(const Mask &m) {
    if (m.is_literal())
        return m.literal_bits() ? m.size() : 0;
    if (runs_on_device(m.context()))
        return recorded::count(whole_operand("count", m));
    about_to_read(m.context(), "count");
    BufferRef in = operand("count", m);
    m.context().synchronize();
    uint64_t n = 0;
    run_in_arena([&] { n = count(static_cast<const uint8_t *>(in->data()), m.size()); });
    return uint32_t(n);
}

} // namespace umbel::jit
