// jit/value.cpp: checked construction of element-wise operations.
#include "jit/value.h"
#include "jit/element_count.h"
#include "jit/interp/half.h"
#include <array>

namespace umbel::jit {

namespace {

constexpr bool is_accepted(Op op, Type t) {
    switch (op) {
    case Op::Neg:
    case Op::Abs:
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Div:
    case Op::Min:
    case Op::Max:
    case Op::Fma:
    case Op::Lt:
    case Op::Le: return is_number(t);
    case Op::Mod:
    case Op::MulHi:
    case Op::Shl:
    case Op::Shr:
    case Op::Rotl:
    case Op::Rotr:
    case Op::Popcount:
    case Op::Clz:
    case Op::Ctz: return is_int(t);
    case Op::Not:
    case Op::And:
    case Op::Or:
    case Op::Xor: return is_int(t) || t == Type::Bool;
    case Op::Sqrt:
    case Op::Rcp:
    case Op::Rsqrt:
    case Op::Floor:
    case Op::Ceil:
    case Op::Trunc:
    case Op::Round:
    case Op::Atan2:
    case Op::Pow: return is_float(t);
    case Op::Eq:
    case Op::Ne:
    case Op::Select: return t != Type::Void;
    default: return is_transcendental(op) && is_float(t);
    }
}

// The same as a bit for each type, by operation: recording asks for every node.
constexpr auto accepted_types = [] {
    std::array<uint32_t, size_t(Op::Select) + 1> types = {};
    for (size_t op = 0; op < types.size(); ++op)
        for (uint32_t t = 0; t < TypeCount; ++t)
            types[op] |= uint32_t(is_accepted(Op(op), Type(t))) << t;
    return types;
}();

[[noreturn, gnu::cold]] void report_operand(Op op, int number, const Value &v) {
    if (!v.valid())
        fail("{}: operand {} is an uninitialized value", name(op), number);
    fail("{}: operand {} belongs to another context (thread); evaluate it there and copy its data",
         name(op), number);
}

// Operand checks common to all operations: valid, of one context, readable now.
[[gnu::always_inline]] inline void check_operand(Op op, int number, const Value &v,
                                                 const Context &c) {
    if (!v.valid() || &v.context() != &c) [[unlikely]]
        report_operand(op, number, v);
    if (v.node().flags & Dirty) [[unlikely]]
        v.context().settle(v.id(), name(op));
}

[[noreturn]] void report_type(Op op, int number, Type t) {
    fail("{}: operand {} of type {} does not fit", name(op), number, name(t));
}

uint32_t common_size(Op op, uint32_t a, uint32_t b) {
    if (a == b || b == 1)
        return a;
    if (a == 1)
        return b;
    fail("{}: operand sizes {} and {} do not match (only a size of 1 broadcasts)", name(op), a, b);
}

NodeId finish(Context &c, Op op, Type t, NodeId a, NodeId b, NodeId d, uint32_t size,
              uint32_t length = 0) {
    if (length == 0)
        if (NodeId r = simplify(c, op, t, a, b, d))
            return r;
    return c.graph.make(
        { .op = op, .type = t, .size = size, .length = length, .dep = { a, b, d, 0 } });
}

} // namespace

bool accepts(Op op, Type t) {
    return op <= Op::Select && (accepted_types[size_t(op)] >> uint32_t(t) & 1);
}

uint16_t float_to_half(float f) { return half_from_float(f).bits; }
float half_to_float(uint16_t h) { return float_from_half(half{ h }); }

Value literal(Type type, uint64_t bits, uint64_t size) {
    Context &c = Context::current();
    return Value::adopt(c, c.graph.literal(type, bits, element_count(size)));
}

Value unary(Op op, const Value &a) {
    if (!a.valid())
        fail("{}: operand 1 is an uninitialized value", name(op));
    Context &c = a.context();
    check_operand(op, 1, a, c);
    Type t = a.type();
    if (!accepts(op, t))
        report_type(op, 1, t);
    if (a.grad_id()) [[unlikely]]
        return c.tracker->elementwise(op, t, std::array{ &a });
    return Value::adopt(c, finish(c, op, t, a.id(), 0, 0, a.size()));
}

Value binary(Op op, const Value &a, const Value &b) {
    if (!a.valid())
        fail("{}: operand 1 is an uninitialized value", name(op));
    Context &c = a.context();
    check_operand(op, 1, a, c);
    check_operand(op, 2, b, c);
    Type t = a.type();
    if (b.type() != t)
        fail("{}: operands have types {} and {}; convert one of them", name(op), name(t),
             name(b.type()));
    if (!accepts(op, t))
        report_type(op, 1, t);
    bool mask = op >= Op::Eq && op <= Op::Le;
    if ((a.grad_id() | b.grad_id()) && !mask) [[unlikely]]
        return c.tracker->elementwise(op, t, std::array{ &a, &b });
    uint32_t size = common_size(op, a.size(), b.size());
    return Value::adopt(c, finish(c, op, mask ? Type::Bool : t, a.id(), b.id(), 0, size));
}

Value ternary(Op op, const Value &a, const Value &b, const Value &d) {
    if (!a.valid())
        fail("{}: operand 1 is an uninitialized value", name(op));
    Context &c = a.context();
    check_operand(op, 1, a, c);
    check_operand(op, 2, b, c);
    check_operand(op, 3, d, c);
    Type t = b.type();
    if (d.type() != t || (op == Op::Fma && a.type() != t))
        fail("{}: operands have types {}, {} and {}; convert them to one", name(op), name(a.type()),
             name(t), name(d.type()));
    if (op == Op::Select && a.type() != Type::Bool)
        fail("Select: operand 1 must be a mask, not {}", name(a.type()));
    if (!accepts(op, t))
        report_type(op, 2, t);
    if (a.grad_id() | b.grad_id() | d.grad_id()) [[unlikely]]
        return c.tracker->elementwise(op, t, std::array{ &a, &b, &d });
    uint32_t length = b.node().length;
    if (length != d.node().length)
        fail("{}: local arrays of lengths {} and {} do not match", name(op), length,
             d.node().length);
    uint32_t size = common_size(op, common_size(op, a.size(), b.size()), d.size());
    return Value::adopt(c, finish(c, op, t, a.id(), b.id(), d.id(), size, length));
}

Value cast(Type type, const Value &a) {
    if (!a.valid())
        fail("Cast: the operand is an uninitialized value");
    Context &c = a.context();
    check_operand(Op::Cast, 1, a, c);
    auto ok = [](Type t) { return is_number(t) || t == Type::Bool; };
    if (!ok(type) || !ok(a.type()))
        fail("Cast: from {} to {} is not defined", name(a.type()), name(type));
    if (a.type() == type)
        return a;
    if (a.grad_id() && is_float(type)) [[unlikely]]
        return c.tracker->elementwise(Op::Cast, type, std::array{ &a });
    return Value::adopt(c, finish(c, Op::Cast, type, a.id(), 0, 0, a.size()));
}

Value bitcast(Type type, const Value &a) {
    if (!a.valid())
        fail("Bitcast: the operand is an uninitialized value");
    Context &c = a.context();
    check_operand(Op::Bitcast, 1, a, c);
    if (bits(type) != bits(a.type()))
        fail("Bitcast: {} and {} differ in width", name(a.type()), name(type));
    if (a.grad_id()) [[unlikely]]
        fail("Bitcast: the bits of a value that carries a gradient are not differentiable; "
             "detach() it");
    return Value::adopt(c, finish(c, Op::Bitcast, type, a.id(), 0, 0, a.size()));
}

Value lane_index(uint64_t size) {
    Context &c = Context::current();
    if (size == 1)
        return literal(Type::U32, 0);
    return Value::adopt(
        c, c.graph.make({ .op = Op::Lane, .type = Type::U32, .size = element_count(size) }));
}

} // namespace umbel::jit
