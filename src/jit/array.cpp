// jit/array.cpp: making arrays, reading them back, algorithms over whole arrays.
#include "jit/array.h"

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
    if (v.node().region)
        fail("{}: the operand is computed inside a recorded {}, where whole arrays do not exist",
             what, c.graph.region(v.node().region).kind);
    return c.data(v.id());
}

Value result(Context &c, Type t, uint32_t size, BufferRef &buffer) {
    buffer = allocate(uint64_t(size) * bytes(t));
    return Value::adopt(c, c.graph.buffer(t, buffer, size));
}

void need_reducible(const char *what, ReduceOp op, Type t) {
    bool logic = op == ReduceOp::And || op == ReduceOp::Or;
    if (t == Type::Bool ? !logic : !is_number(t) || (logic && is_float(t)))
        fail("{}: {} is not defined for {}", what, name(op), name(t));
}

} // namespace

// ---- making and reading

Value full(Type type, uint64_t bits, uint32_t size) { return literal(type, bits, size); }

Value copy_from(Type type, const void *data, uint32_t size) {
    Context &c = Context::current();
    uint64_t n = uint64_t(size) * bytes(type);
    BufferRef buffer = allocate(n);
    if (n)
        std::memcpy(buffer->data(), data, n);
    return Value::adopt(c, c.graph.buffer(type, buffer, size));
}

Value borrow_from(Type type, void *data, uint32_t size, std::function<void()> on_release) {
    Context &c = Context::current();
    if (reinterpret_cast<uintptr_t>(data) % bytes(type))
        fail("borrow_from: memory at {} is not aligned for {}", data, name(type));
    return Value::adopt(
        c, c.graph.buffer(type, borrow(data, uint64_t(size) * bytes(type), std::move(on_release)),
                          size));
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
        if (v.size() == 1) {
            uint64_t data = v.literal_bits();
            return keep_gradient(copy_from(v.type(), &data, 1));
        }
        return keep_gradient(Value::adopt(c, c.graph.buffer(v.type(), c.data(v.id()), v.size())));
    }
    c.evaluate(std::array{ v.id() });
    return v;
}

void eval(std::span<const Value *const> values) {
    Context *c = nullptr;
    std::vector<NodeId> roots;
    for (const Value *v : values) {
        Context &vc = need("eval", *v);
        if (c && c != &vc)
            fail("eval: values of two contexts (threads)");
        c = &vc;
        roots.push_back(v->id());
    }
    (c ? *c : Context::current()).evaluate(roots);
}

void schedule(const Value &v) { need("schedule", v).schedule(v.id()); }

void synchronize() { Context::current().synchronize(); }

void read(const Value &v, void *out, uint32_t first, uint32_t count) {
    Context &c = need("read", v);
    if (uint64_t(first) + count > v.size())
        fail("read: elements {} to {} of an array of {}", first, uint64_t(first) + count, v.size());
    size_t width = bytes(v.type());
    if (v.is_literal()) {
        for (uint32_t i = 0; i < count; ++i) {
            uint64_t imm = v.literal_bits();
            std::memcpy(static_cast<char *>(out) + i * width, &imm, width);
        }
        return;
    }
    BufferRef buffer = operand("read", v);
    c.synchronize();
    if (count)
        std::memcpy(out, static_cast<const char *>(buffer->data()) + first * width, count * width);
}

// ---- algorithms

Value reduce(ReduceOp op, const Value &v) {
    Context &c = need("reduce", v);
    need_reducible("reduce", op, v.type());
    if (v.grad_id()) [[unlikely]]
        return c.tracker->reduce(op, v);
    BufferRef in = operand("reduce", v), out;
    Type t = v.type();
    uint64_t n = v.size();
    Value r = result(c, t, 1, out);
    c.launch_algorithm("reduce", n, [=] { reduce(t, op, in->data(), n, out->data()); });
    return r;
}

Value block_reduce(ReduceOp op, const Value &v, uint32_t block) {
    Context &c = need("block_reduce", v);
    need_reducible("block_reduce", op, v.type());
    if (block == 0)
        fail("block_reduce: a block size of 0");
    if (v.grad_id()) [[unlikely]]
        return c.tracker->block_reduce(op, v, block);
    BufferRef in = operand("block_reduce", v), out;
    Type t = v.type();
    uint64_t n = v.size();
    Value r = result(c, t, uint32_t((n + block - 1) / block), out);
    c.launch_algorithm("block_reduce", n,
                       [=] { block_reduce(t, op, in->data(), n, block, out->data()); });
    return r;
}

Value prefix_sum(const Value &v, bool exclusive, uint32_t block) {
    Context &c = need("prefix_sum", v);
    need_reducible("prefix_sum", ReduceOp::Add, v.type());
    if (v.grad_id()) [[unlikely]]
        return c.tracker->prefix_sum(v, exclusive, block);
    BufferRef in = operand("prefix_sum", v), out;
    Type t = v.type();
    uint64_t n = v.size(), run = block ? block : std::max<uint64_t>(n, 1);
    Value r = result(c, t, uint32_t(n), out);
    c.launch_algorithm("prefix_sum", n,
                       [=] { prefix_sum(t, in->data(), n, run, exclusive, out->data()); });
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
    BufferRef x = operand("dot", a), y = operand("dot", b), out;
    Type t = a.type();
    uint64_t n = a.size();
    Value r = result(c, t, 1, out);
    c.launch_algorithm("dot", n, [=] { dot(t, x->data(), y->data(), n, out->data()); });
    return r;
}

Value compress(const Value &mask) {
    Context &c = need("compress", mask);
    if (mask.type() != Type::Bool)
        fail("compress: the operand has type {}, not bool", name(mask.type()));
    BufferRef in = operand("compress", mask);
    c.synchronize(); // the size of the result depends on the data
    uint64_t n = mask.size(), found = 0;
    BufferRef out = allocate(n * 4);
    run_in_arena([&] {
        found = compress(static_cast<const uint8_t *>(in->data()), n,
                         static_cast<uint32_t *>(out->data()));
    });
    return Value::adopt(c, c.graph.buffer(Type::U32, out, uint32_t(found)));
}

Value sort_permutation(const Value &keys, bool descending) {
    Context &c = need("sort_permutation", keys);
    if (!is_number(keys.type()))
        fail("sort_permutation: keys of type {}", name(keys.type()));
    BufferRef in = operand("sort_permutation", keys), out;
    Type t = keys.type();
    uint64_t n = keys.size();
    Value r = result(c, Type::U32, uint32_t(n), out);
    c.launch_algorithm("sort_permutation", n, [=] {
        sort_permutation(t, in->data(), n, descending, static_cast<uint32_t *>(out->data()));
    });
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
    BufferRef in = operand("count", m);
    m.context().synchronize();
    uint64_t n = 0;
    run_in_arena([&] { n = count(static_cast<const uint8_t *>(in->data()), m.size()); });
    return uint32_t(n);
}

} // namespace umbel::jit
