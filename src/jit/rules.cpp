// jit/rules.cpp: simplification while recording: one line a rule, its law and its caveat beside it.
//
// Rules never change a result, not even the sign of a zero; NaN payloads are the exception.
#include "jit/interp/fold.h"
#include "jit/value.h"

namespace umbel::jit {

namespace {

constexpr uint64_t bit_mask(Type t) { return bits(t) == 64 ? ~0ull : (1ull << bits(t)) - 1; }

// Bits of the constant 1 in type t; 0 where there is none.
uint64_t one_bits(Type t) {
    switch (t) {
    case Type::F16: return 0x3c00;
    case Type::F32: return 0x3f800000;
    case Type::F64: return 0x3ff0000000000000;
    default: return 1;
    }
}
uint64_t sign_bit(Type t) { return 1ull << (bits(t) - 1); }

// 1 / x where that is exact: x is a power of two whose reciprocal is normal.
bool exact_reciprocal(Type t, uint64_t x, uint64_t &r) {
    if (t == Type::F32) {
        uint32_t e = uint32_t(x) >> 23 & 0xff;
        if ((x & 0x7fffff) || e < 1 || e > 253)
            return false;
        r = (x & 0x80000000) | uint64_t(254 - e) << 23;
        return true;
    }
    if (t == Type::F64) {
        uint64_t e = x >> 52 & 0x7ff;
        if ((x & 0xfffffffffffff) || e < 1 || e > 2045)
            return false;
        r = (x & sign_bit(t)) | (2046 - e) << 52;
        return true;
    }
    return false;
}

struct Rules {
    Context &c;
    Op op;
    Type t;
    NodeId a, b, d;

    const Node &n(NodeId i) const { return c.graph[i]; }
    Type ot() const { return n(a).type; } // operand type
    bool lit(NodeId i) const { return i && n(i).op == Op::Literal; }
    bool is(NodeId i, uint64_t bits) const { return lit(i) && n(i).imm == bits; }
    bool is_zero(NodeId i) const { return is(i, 0); } // +0 of floats, false
    bool is_neg_zero(NodeId i) const { return is_float(ot()) && is(i, sign_bit(ot())); }
    bool is_one(NodeId i) const { return is(i, one_bits(n(i).type)); }
    bool is_ones(NodeId i) const { return is(i, bit_mask(n(i).type)); }
    bool integral() const { return is_int(ot()) || ot() == Type::Bool; }
    uint32_t size() const {
        uint32_t s = n(a).size;
        for (NodeId i : { b, d })
            if (i && s == 1)
                s = n(i).size;
        return s;
    }

    // A result must keep the size of the operation: x + 0 with x of size 1 and 0 of size n stays.
    NodeId keep(NodeId i) {
        if (n(i).size != size()) {
            if (!lit(i))
                return 0;
            return c.graph.literal(n(i).type, n(i).imm, size());
        }
        c.graph.retain(i);
        return i;
    }
    NodeId constant(Type type, uint64_t v) {
        return c.graph.literal(type, v & bit_mask(type), size());
    }
    NodeId node(Op o, NodeId x, NodeId y = 0, NodeId z = 0) {
        Context &ctx = c;
        auto share = [&](NodeId i) { return Value::share(ctx, i); };
        Value r = !y   ? unary(o, share(x))
                  : !z ? binary(o, share(x), share(y))
                       : ternary(o, share(x), share(y), share(z));
        c.graph.retain(r.id());
        return r.id();
    }

    NodeId fold() {
        uint64_t in[3] = { n(a).imm, b ? n(b).imm : 0, d ? n(d).imm : 0 }, out;
        if (!lit(a) || (b && !lit(b)) || (d && !lit(d)) || !jit::fold(op, t, ot(), in, out))
            return 0;
        return c.graph.literal(t, out, size());
    }

    bool constant_select(NodeId i) const {
        return n(i).op == Op::Select && lit(n(i).dep[1]) && lit(n(i).dep[2]);
    }
    Value sum(NodeId x, NodeId y) {
        return binary(Op::Add, Value::share(c, x), Value::share(c, y));
    }

    NodeId apply();
};

#define RULE(cond, result)                                                                         \
    if (cond)                                                                                      \
        if (NodeId r = (result))                                                                   \
            return r;

NodeId Rules::apply() {
    RULE(true, fold());
    switch (op) {
    case Op::Add:
        if (lit(a))
            std::swap(a, b);
        RULE(integral() && is_zero(b), keep(a)); // x + 0 = x, not for floats: -0 + 0 is +0
        RULE(is_neg_zero(b), keep(a));           // x + -0 = x, floats
        RULE(constant_select(a) && constant_select(b) && n(a).dep[0] == n(b).dep[0],
             node(Op::Select, n(a).dep[0], // (m ? 1 : 2) + (m ? 3 : 4) = m ? 4 : 6
                  sum(n(a).dep[1], n(b).dep[1]).id(), sum(n(a).dep[2], n(b).dep[2]).id()));
        break;
    case Op::Sub:
        RULE(is_zero(b), keep(a));                  // x - 0 = x
        RULE(a == b && integral(), constant(t, 0)); // x - x = 0, not for floats: inf - inf is NaN
        break;
    case Op::Mul:
        if (lit(a))
            std::swap(a, b);
        RULE(is_one(b), keep(a));                // x * 1 = x
        RULE(integral() && is_zero(b), keep(b)); // x * 0 = 0, not for floats: inf * 0 is NaN
        RULE(is_float(t) && is(b, one_bits(t) | sign_bit(t)), node(Op::Neg, a)); // x * -1 = -x
        break;
    case Op::Div: {
        RULE(is_one(b), keep(a)); // x / 1 = x
        uint64_t inverse = 0;     // x / 2^k = x * 2^-k, exact
        RULE(lit(b) && exact_reciprocal(t, n(b).imm, inverse),
             node(Op::Mul, a, Value::adopt(c, c.graph.literal(t, inverse, n(b).size)).id()));
        break;
    }
    case Op::Mod:
        RULE(is_one(b), constant(t, 0)); // x % 1 = 0
        break;
    case Op::Fma:
        RULE(is_one(b), node(Op::Add, a, d)); // x * 1 + z = x + z
        RULE(is_one(a), node(Op::Add, b, d));
        RULE(integral() && is_zero(d), node(Op::Mul, a, b));
        RULE(integral() && (is_zero(a) || is_zero(b)), keep(d));
        RULE(is_neg_zero(d), node(Op::Mul, a, b)); // x * y + -0 = x * y, floats
        break;
    case Op::And:
        if (lit(a))
            std::swap(a, b);
        RULE(a == b || is_ones(b), keep(a)); // x & x = x & ~0 = x
        RULE(is_zero(b), keep(b));           // x & 0 = 0
        RULE(n(a).op == Op::And && (n(a).dep[0] == b || n(a).dep[1] == b), keep(a)); // (x & y) & y
        RULE(n(b).op == Op::And && (n(b).dep[0] == a || n(b).dep[1] == a), keep(b));
        break;
    case Op::Or:
        if (lit(a))
            std::swap(a, b);
        RULE(a == b || is_zero(b), keep(a)); // x | x = x | 0 = x
        RULE(is_ones(b), keep(b));           // x | ~0 = ~0
        break;
    case Op::Xor:
        if (lit(a))
            std::swap(a, b);
        RULE(is_zero(b), keep(a));          // x ^ 0 = x
        RULE(a == b, constant(t, 0));       // x ^ x = 0
        RULE(is_ones(b), node(Op::Not, a)); // x ^ ~0 = ~x
        break;
    case Op::Not:
        RULE(n(a).op == Op::Not, keep(n(a).dep[0])); // ~~x = x
        RULE(n(a).op == Op::Eq, node(Op::Ne, n(a).dep[0], n(a).dep[1]));
        RULE(n(a).op == Op::Ne, node(Op::Eq, n(a).dep[0], n(a).dep[1]));
        RULE(n(a).op == Op::Lt && !is_float(n(n(a).dep[0]).type), // not for floats: NaN
             node(Op::Le, n(a).dep[1], n(a).dep[0]));
        RULE(n(a).op == Op::Le && !is_float(n(n(a).dep[0]).type),
             node(Op::Lt, n(a).dep[1], n(a).dep[0]));
        break;
    case Op::Neg:
        RULE(n(a).op == Op::Neg, keep(n(a).dep[0])); // --x = x
        break;
    case Op::Abs:
        RULE(is_unsigned(t) || n(a).op == Op::Abs, keep(a));                 // ||x|| = |x|
        RULE(n(a).op == Op::Neg && is_float(t), node(Op::Abs, n(a).dep[0])); // |-x| = |x|
        break;
    case Op::Min:
    case Op::Max:
        RULE(a == b, keep(a)); // min(x, x) = x
        break;
    case Op::Shl:
    case Op::Shr:
    case Op::Rotl:
    case Op::Rotr:
        RULE(is_zero(b) || is_zero(a), keep(a)); // x << 0 = x, 0 << x = 0
        break;
    case Op::Eq:
    case Op::Le:
        RULE(a == b && !is_float(ot()), constant(t, 1)); // x == x, not for floats: NaN
        RULE(op == Op::Le && is_unsigned(ot()) && is_zero(a), constant(t, 1)); // 0 <= x
        break;
    case Op::Ne:
    case Op::Lt:
        RULE(a == b && (op == Op::Lt || !is_float(ot())), constant(t, 0));     // x < x, x != x
        RULE(op == Op::Lt && is_unsigned(ot()) && is_zero(b), constant(t, 0)); // x < 0
        break;
    case Op::Select:
        RULE(lit(a), keep(n(a).imm ? b : d));                          // true ? x : y = x
        RULE(b == d, keep(b));                                         // m ? x : x = x
        RULE(n(a).op == Op::Not, node(Op::Select, n(a).dep[0], d, b)); // !m ? x : y = m ? y : x
        if (t == Type::Bool) {
            RULE(is_ones(b) && is_zero(d), keep(a)); // m ? true : false = m
            RULE(is_zero(b) && is_ones(d), node(Op::Not, a));
            RULE(is_zero(d), node(Op::And, a, b)); // m ? x : false = m & x
            RULE(is_ones(b), node(Op::Or, a, d));  // m ? true : y = m | y
        }
        RULE(n(b).op == Op::Select && n(b).dep[0] == a, node(Op::Select, a, n(b).dep[1], d));
        RULE(n(d).op == Op::Select && n(d).dep[0] == a, node(Op::Select, a, b, n(d).dep[2]));
        break;
    case Op::Cast:
        RULE(ot() == t, keep(a)); // already of the type
        RULE(n(a).op == Op::Cast && is_int(t) && is_int(ot()) && n(n(a).dep[0]).type == t &&
                 bits(ot()) >= bits(t),
             keep(n(a).dep[0])); // there and back through a wider integer
        break;
    case Op::Bitcast:
        RULE(ot() == t, keep(a));
        RULE(n(a).op == Op::Bitcast && n(n(a).dep[0]).type == t, keep(n(a).dep[0]));
        break;
    default: break;
    }
    return 0;
}

} // namespace

NodeId simplify(Context &c, Op op, Type type, NodeId &a, NodeId &b, NodeId &d) {
    if (c.has(Flag::Simplify)) {
        // Most operations meet no literal and no rule: leave at once.
        const Graph &g = c.graph;
        bool literal = g[a].op == Op::Literal || (b && g[b].op == Op::Literal) ||
                       (d && g[d].op == Op::Literal);
        bool special = a == b || (op == Op::Add && g[a].op == Op::Select) || op == Op::Select ||
                       op == Op::Cast || op == Op::Bitcast || op == Op::Not || op == Op::Neg ||
                       op == Op::Abs || op == Op::And;
        if (literal || special) {
            Rules rules{ c, op, type, a, b, d };
            if (NodeId r = rules.apply())
                return r;
            a = rules.a;
            b = rules.b;
            d = rules.d;
        }
    }
    return 0;
}

} // namespace umbel::jit
