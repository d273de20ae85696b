// tests/jit/llvm_flow_test.cpp: loops, conditionals, local arrays, calls and long programs,
// compiled; random programs against the interpreter.
#include "llvm_support.h"
#include <numeric>

using namespace umbel;
using namespace umbel::jit;
using namespace umbel::jit::llvm_tests;

namespace {

// ---- control flow

/// Lanes iterate Collatz's rule until they reach 1; a branch in a loop.
TEST(BackendLlvm, LoopsRunUntilTheLastLaneLeaves) {
    at_every_width([] {
        size_t n = 333;
        Writer w;
        Writer::V one = w.lit(1u), start = w.op(Op::Add, w.lane(), one), none = w.lit(0u);
        w.add(Op::LoopBegin, Type::Void);
        Writer::V x = w.add(Op::Phi, Type::U32, { start, 0 }),
                  steps = w.add(Op::Phi, Type::U32, { none, 0 });
        w.add(Op::LoopWhile, Type::Void, { w.op(Op::Ne, x, one) });
        Writer::V odd = w.op(Op::Eq, w.op(Op::And, x, one), one);
        w.add(Op::IfBegin, Type::Void, { odd });
        Writer::V up = w.op(Op::Add, w.op(Op::Mul, x, w.lit(3u)), one);
        w.add(Op::Else, Type::Void);
        Writer::V down = w.op(Op::Shr, x, one);
        w.add(Op::EndIf, Type::Void);
        Writer::V next = w.add(Op::Merge, Type::U32, { odd, up, down });
        Writer::V more = w.op(Op::Add, steps, one);
        w.add(Op::LoopEnd, Type::Void);
        w.f().insts[x].arg[1] = next;
        w.f().insts[steps].arg[1] = more;
        uint32_t out = w.output(steps, n);
        w.run(n);
        for (uint32_t i = 0; i < n; ++i) {
            uint32_t want = 0;
            for (uint64_t v = i + 1; v != 1; v = v % 2 ? 3 * v + 1 : v / 2)
                ++want;
            ASSERT_EQ(w.get<uint32_t>(out, i), want) << i;
        }
    });
}

/// Values of all sizes move with their lanes, and are found again behind the loop; several batches, and parts of one.
TEST(BackendLlvm, LanesThatChangePacketsKeepWhatIsTheirs) {
    Setting all("UMBEL_REGROUP_WEIGHT", "1");
    for (const char *weight : { "5", "1000" }) { // the loop's body in units of its own, and not
        Setting units("UMBEL_UNIT_WEIGHT", weight);
        at_every_width([] {
            for (size_t n : { 1, 15, 333, 2000 }) {
                Writer w;
                Writer::V lane = w.lane(), one = w.lit(1u);
                Writer::V byte = w.cast(lane, Type::U8), half = w.cast(lane, Type::I16),
                          wide =
                              w.op(Op::Mul, w.cast(lane, Type::U64), w.lit(uint64_t(0x100000001))),
                          real = w.op(Op::Mul, w.cast(lane, Type::F64), w.lit(0.1)),
                          odd = w.op(Op::Eq, w.op(Op::And, lane, one), one);
                // Of a record that is read before the loop, parts are asked for inside and behind it
                std::vector<uint32_t> table(4 * n);
                std::iota(table.begin(), table.end(), 7u);
                Writer::V records = w.pointer(table),
                          record = w.add(Op::Packet, Type::U32, { records, lane, w.active() }, 4);
                Writer::V start = w.op(Op::Add, lane, one), none = w.lit(uint64_t(0)),
                          nothing = w.lit(0.0);
                w.add(Op::LoopBegin, Type::Void);
                Writer::V x = w.add(Op::Phi, Type::U32, { start, 0 }),
                          sum = w.add(Op::Phi, Type::U64, { none, 0 }),
                          flips = w.add(Op::Phi, Type::Bool, { odd, 0 }),
                          total = w.add(Op::Phi, Type::F64, { nothing, 0 });
                w.add(Op::LoopWhile, Type::Void, { w.op(Op::Ne, x, one) });
                Writer::V is_odd = w.op(Op::Eq, w.op(Op::And, x, one), one);
                Writer::V next = w.select(is_odd, w.op(Op::Add, w.op(Op::Mul, x, w.lit(3u)), one),
                                          w.op(Op::Shr, x, one));
                Writer::V part = w.cast(w.add(Op::PacketGet, Type::U32, { record }, 1), Type::U64);
                Writer::V small = w.op(
                    Op::Add, part, w.op(Op::Add, w.cast(byte, Type::U64), w.cast(half, Type::U64)));
                w.f().insts[x].arg[1] = next;
                w.f().insts[sum].arg[1] = w.op(Op::Add, w.op(Op::Xor, sum, wide), small);
                w.f().insts[flips].arg[1] = w.op(Op::Xor, flips, w.op(Op::Ne, odd, is_odd));
                w.f().insts[total].arg[1] = w.op(Op::Add, total, real);
                w.add(Op::LoopEnd, Type::Void);
                uint32_t sums = w.output(sum, n), flags = w.output(w.op(Op::Xor, flips, odd), n),
                         totals = w.output(w.op(Op::Sub, total, real), n),
                         bytes = w.output(byte, n),
                         rest = w.output(w.add(Op::PacketGet, Type::U32, { record }, 3), n);
                w.run(n);
                for (uint32_t i = 0; i < n; ++i) {
                    uint64_t s = 0;
                    bool o = i & 1, f = o;
                    double t = 0, r = i * 0.1;
                    for (uint64_t v = i + 1; v != 1; v = v % 2 ? 3 * v + 1 : v / 2) {
                        s = (s ^ i * 0x100000001ull) + 4 * i + 8 + uint8_t(i) +
                            uint64_t(int16_t(i));
                        f ^= o != (v % 2 == 1);
                        t += r;
                    }
                    ASSERT_EQ(w.get<uint64_t>(sums, i), s) << i << " of " << n;
                    ASSERT_EQ(w.get<uint8_t>(flags, i), f != o) << i << " of " << n;
                    ASSERT_EQ(w.get<double>(totals, i), t - r) << i << " of " << n;
                    ASSERT_EQ(w.get<uint8_t>(bytes, i), uint8_t(i)) << i << " of " << n;
                    ASSERT_EQ(w.get<uint32_t>(rest, i), 4 * i + 10) << i << " of " << n;
                }
            }
        });
    }
}

TEST(BackendLlvm, PhisChangePlacesAtOnce) {
    at_every_width([] {
        Writer w;
        Writer::V l = w.lane(), z = w.lit(0u), c = w.lit(100u);
        Writer::V array_a = w.add(Op::ArrayNew, Type::U32, { l }, 0, 3);
        Writer::V array_b = w.add(Op::ArrayNew, Type::U32, { c }, 0, 3);
        w.add(Op::LoopBegin, Type::Void);
        Writer::V a = w.add(Op::Phi, Type::U32, { l, 0 }), b = w.add(Op::Phi, Type::U32, { c, 0 });
        Writer::V i = w.add(Op::Phi, Type::U32, { z, 0 });
        Writer::V pa = w.add(Op::Phi, Type::U32, { array_a, 0 }, 0, 3),
                  pb = w.add(Op::Phi, Type::U32, { array_b, 0 }, 0, 3);
        w.f().insts[a].arg[1] = b;
        w.f().insts[b].arg[1] = a;
        w.f().insts[pa].arg[1] = pb;
        w.f().insts[pb].arg[1] = pa;
        w.add(Op::LoopWhile, Type::Void, { w.op(Op::Lt, i, w.op(Op::And, l, w.lit(3u))) });
        w.f().insts[i].arg[1] = w.op(Op::Add, i, w.lit(1u));
        w.add(Op::LoopEnd, Type::Void);
        uint32_t out = w.output(a, 50);
        uint32_t out_array =
            w.output(w.add(Op::ArrayGet, Type::U32, { pa, w.lit(2u), w.active() }), 50);
        w.run(50);
        for (uint32_t k = 0; k < 50; ++k) {
            EXPECT_EQ(w.get<uint32_t>(out, k), k % 2 ? 100 : k);
            EXPECT_EQ(w.get<uint32_t>(out_array, k), k % 2 ? 100 : k);
        }
    });
}

TEST(BackendLlvm, LocalArraysAreSortedPerLane) {
    at_every_width([] {
        for (Type t : { Type::U8, Type::F16, Type::F32, Type::F64, Type::Bool }) {
            if (t == Type::F16 && !has_half())
                continue;
            // Insertion of keys into an array by index, read back; out of range is ignored.
            const uint32_t length = 11;
            size_t n = 77;
            Writer w;
            Writer::V l = w.lane(), one = w.lit(1u), zero = w.lit(0u);
            Writer::V array = w.add(Op::ArrayNew, t, { w.zero(t) }, 0, length);
            w.add(Op::LoopBegin, Type::Void);
            Writer::V i = w.add(Op::Phi, Type::U32, { zero, 0 }),
                      a = w.add(Op::Phi, t, { array, 0 }, 0, length);
            w.add(Op::LoopWhile, Type::Void, { w.op(Op::Lt, i, w.op(Op::And, l, w.lit(15u))) });
            // a[(3 i + lane) % 13] = i + 1
            Writer::V k = w.op(Op::Mod, w.op(Op::Add, w.op(Op::Mul, i, w.lit(3u)), l), w.lit(13u));
            Writer::V next = w.add(
                Op::ArraySet, t, { a, k, w.cast(w.op(Op::Add, i, one), t), w.active() }, 0, length);
            Writer::V more = w.op(Op::Add, i, one);
            w.add(Op::LoopEnd, Type::Void);
            w.f().insts[i].arg[1] = more;
            w.f().insts[a].arg[1] = next;
            std::vector<uint32_t> outs;
            for (uint32_t e = 0; e < length + 1; ++e)
                outs.push_back(w.output(w.add(Op::ArrayGet, t, { a, w.lit(e), w.active() }), n));
            outs.push_back(w.output(
                w.add(Op::ArrayGet, t, { a, w.op(Op::Mod, l, w.lit(13u)), w.active() }), n));
            w.run(n);
            for (uint32_t lane = 0; lane < n; ++lane) {
                uint64_t want[13] = {};
                for (uint32_t j = 0; j < (lane & 15); ++j)
                    if (uint32_t at = (3 * j + lane) % 13; at < length) {
                        uint64_t x = j + 1;
                        ASSERT_TRUE(fold(Op::Cast, t, Type::U64, &x, want[at]));
                    }
                for (uint32_t e = 0; e < length + 1; ++e)
                    ASSERT_EQ(w.get_bits(outs[e], lane), want[e])
                        << name(t) << " " << e << " lane " << lane;
                ASSERT_EQ(w.get_bits(outs[length + 1], lane), want[lane % 13])
                    << name(t) << " lane " << lane;
            }
        }
    });
}

// ---- calls

/// `count` functions f_k(x, m) = (x * (k + 1) + data, !m); ids past the last call nothing.
void check_calls(uint32_t count) {
    size_t n = 200;
    Writer w;
    Writer::V id = w.op(Op::Mod, w.op(Op::Mul, w.lane(), w.lit(7u)), w.lit(count + 3));
    Writer::V x = w.cast(w.lane(), Type::F32), m = w.op(Op::Lt, w.lane(), w.lit(50u));
    CallSite site;
    // Ids 1 ... count + 1; the last one has no callee.
    std::vector<uint32_t> table = { count + 1, 0 };
    std::vector<double> data(1);
    for (uint32_t k = 0; k < count; ++k) {
        site.callees.push_back(k + 1);
        table.insert(table.end(), { k, 8 * (k + 1) });
        data.push_back(1000.0 * k);
    }
    table.insert(table.end(), { ~0u, 0 });
    site.args = { x, m };
    site.out_types = { Type::F32, Type::Bool };
    site.table = w.arg(ArgKind::CallTable, table);
    site.data = w.arg(ArgKind::CallData, data);
    w.program.calls.push_back(site);
    Writer::V mask =
        w.op(Op::And, w.op(Op::Ne, w.op(Op::And, w.lane(), w.lit(15u)), w.lit(4u)), w.active());
    Writer::V call = w.add(Op::Call, Type::Void, { id, mask }, 0);
    uint32_t out = w.output(w.add(Op::CallOut, Type::F32, { call }, 0), n);
    uint32_t out_mask = w.output(w.add(Op::CallOut, Type::Bool, { call }, 1), n);
    for (uint32_t k = 0; k < count; ++k) {
        w.begin_function({ Type::F32, Type::Bool }, 8);
        Writer::V p = w.add(Op::Param, Type::F32, {}, 0), q = w.add(Op::Param, Type::Bool, {}, 1);
        Writer::V d = w.cast(w.add(Op::Data, Type::F64, {}, 0), Type::F32);
        Writer::V r = w.op(Op::Add, w.op(Op::Mul, p, w.lit(float(k + 1))), d);
        w.f().outputs = { r, w.op(Op::Not, q) };
    }
    w.run(n);
    for (uint32_t i = 0; i < n; ++i) {
        uint32_t id_of = i * 7 % (count + 3);
        bool called = id_of >= 1 && id_of <= count && i % 16 != 4;
        ASSERT_EQ(w.get<float>(out, i),
                  called ? float(i) * float(id_of) + 1000.f * float(id_of - 1) : 0.f)
            << i;
        ASSERT_EQ(w.get<uint8_t>(out_mask, i), called && i >= 50) << i;
    }
}

TEST(BackendLlvm, CallsReachTheRightFunctionWithItsData) {
    at_every_width([] {
        for (uint32_t count : { 1u, 2u, 8u, 12u })
            check_calls(count);
    });
}

void host_square(void *user, uint64_t first, uint32_t lanes, const int32_t *mask, void *frame) {
    float *in = static_cast<float *>(frame), *out = in + lanes;
    for (uint32_t l = 0; l < lanes; ++l)
        if (mask[l]) {
            out[l] = in[l] * in[l] + float(first + l);
            __atomic_fetch_add(static_cast<uint32_t *>(user), 1, __ATOMIC_RELAXED);
        }
}

TEST(BackendLlvm, HostFunctionsSeeActiveLanesOnly) {
    at_every_width([] {
        size_t n = 50;
        Writer w;
        uint32_t calls = 0;
        uint32_t fn = w.arg(ArgKind::Pointer, Type::U8, 0, reinterpret_cast<void *>(&host_square));
        uint32_t user = w.arg(ArgKind::Pointer, Type::U32, 1, &calls);
        ExternSite site;
        site.fn = w.add(Op::ArgPtr, Type::Ptr, {}, fn);
        site.user = w.add(Op::ArgPtr, Type::Ptr, {}, user);
        site.mask = w.op(Op::And, w.op(Op::Lt, w.lane(), w.lit(20u)), w.active());
        site.inputs = { w.cast(w.lane(), Type::F32) };
        site.in_types = { Type::F32 };
        site.out_types = { Type::F32 };
        w.program.externs.push_back(site);
        Writer::V call = w.add(Op::Extern, Type::Void);
        uint32_t out = w.output(w.add(Op::ExternOut, Type::F32, { call }, 0), n);
        w.run(n);
        EXPECT_EQ(calls, 20u);
        for (uint32_t i = 0; i < 20; ++i)
            EXPECT_EQ(w.get<float>(out, i), float(i * i + i));
    });
}

TEST(BackendLlvm, PrintsAndFailedAssertionsReachTheLog) {
    at_every_width([] {
        Writer w;
        ExternSite print;
        print.kind = ExternSite::Print;
        print.text = "{}";
        print.mask =
            w.op(Op::And, w.op(Op::Eq, w.op(Op::Mod, w.lane(), w.lit(9u)), w.lit(4u)), w.active());
        print.inputs = { w.op(Op::Mul, w.lane(), w.lit(2u)) };
        print.in_types = { Type::U32 };
        ExternSite assertion;
        assertion.kind = ExternSite::Assert;
        assertion.text = "small";
        assertion.mask = w.active();
        assertion.inputs = { w.op(Op::Lt, w.lane(), w.lit(17u)) };
        assertion.in_types = { Type::Bool };
        w.program.externs = { print, assertion };
        w.add(Op::Extern, Type::Void, {}, 0);
        w.add(Op::Extern, Type::Void, {}, 1);
        w.run(21);
        EXPECT_EQ(w.log.printed,
                  (std::vector<std::pair<uint64_t, uint32_t>>{ { 4, 8 }, { 13, 26 } }));
        EXPECT_EQ(w.log.failed, (std::vector<uint64_t>{ 17, 18, 19, 20 }));
    });
}

// ---- random programs against the interpreter

/// Grows a random function: arithmetic, memory, loops, conditionals, local arrays and calls.
class Grower {
public:
    using V = uint32_t;
    Grower(Writer &w, uint64_t seed) : m_w(w), m_random(seed) {}

    void kernel(uint32_t size, size_t lanes) {
        V l = m_w.lane();
        std::vector<uint64_t> data;
        for (size_t i = 0; i < lanes; ++i)
            data.push_back(m_random());
        for (Type t : { Type::U32, Type::I64, Type::F32, Type::F64, Type::U16 })
            if (is_float(t)) {
                std::vector<uint64_t> x = edges(t), y;
                for (size_t i = 0; i < lanes; ++i)
                    y.push_back(x[m_random() % x.size()]);
                m_values.push_back(m_w.input_bits(t, y));
            } else {
                m_values.push_back(m_w.input_bits(t, data));
            }
        m_values.push_back(l);
        m_values.push_back(m_w.scalar(uint32_t(m_random())));
        m_values.push_back(m_w.scalar(1.25f));
        m_values.push_back(m_w.lit(3u));
        m_values.push_back(m_w.lit(0.5f));
        m_values.push_back(m_w.lit(true));
        m_source =
            m_w.pointer(std::vector<uint32_t>{ 5, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3 });
        m_target = m_w.pointer(std::vector<uint32_t>(16, 0));
        plan_calls();
        grow(size, 0);
        // Everything visible is a result.
        for (size_t k = 0; k < m_values.size() && k < 400; ++k)
            outputs.push_back(m_w.output(m_values[m_values.size() - 1 - k], lanes));
        grow_callees(size / 4);
    }

    std::vector<uint32_t> outputs;

private:
    uint32_t below(uint32_t n) { return uint32_t(m_random() % n); }

    V pick(Type t) {
        for (int tries = 0; tries < 12; ++tries)
            if (V v = m_values[below(uint32_t(m_values.size()))]; m_w.type(v) == t)
                return v;
        for (V v : m_values)
            if (m_w.type(v) == t)
                return v;
        V z = m_w.zero(t);
        m_values.push_back(z);
        return z;
    }
    Type any_type() {
        constexpr Type t[] = { Type::U32, Type::U32, Type::F32,  Type::F32,
                               Type::I64, Type::F64, Type::Bool, Type::U16 };
        return t[below(8)];
    }

    void arithmetic() {
        Type t = any_type();
        constexpr Op ops[] = { Op::Add, Op::Sub,  Op::Mul,   Op::Min,      Op::Max,  Op::And,
                               Op::Or,  Op::Xor,  Op::Shl,   Op::Shr,      Op::Rotl, Op::Neg,
                               Op::Abs, Op::Sqrt, Op::Floor, Op::Popcount, Op::Eq,   Op::Lt,
                               Op::Le,  Op::Fma,  Op::Not,   Op::Div,      Op::Mod,  Op::Exp2,
                               Op::Sin, Op::Ne };
        Op op = ops[below(sizeof ops / sizeof *ops)];
        if (below(8) == 0) {
            Type to = any_type();
            m_values.push_back(m_w.cast(pick(t), to));
        } else if (below(8) == 0) {
            V m = pick(Type::Bool), a = pick(t);
            m_values.push_back(m_w.select(m, a, pick(t)));
        } else if (has(op, t)) {
            V a = pick(t);
            m_values.push_back(operands(op) == 1   ? m_w.op(op, a)
                               : operands(op) == 2 ? m_w.op(op, a, pick(t))
                                                   : m_w.add(op, t, { a, pick(t), pick(t) }));
        }
    }

    V masked() { return m_w.op(Op::And, pick(Type::Bool), m_w.active()); }
    V index16() { return m_w.op(Op::And, pick(Type::U32), m_w.lit(15u)); }

    void memory() {
        if (m_in_callee)
            return;
        V k = index16(), m = masked();
        switch (below(4)) {
        case 0: m_values.push_back(m_w.add(Op::Gather, Type::U32, { m_source, k, m })); break;
        case 1: {
            V quarter = m_w.op(Op::And, k, m_w.lit(3u));
            V p = m_w.add(Op::Packet, Type::U32, { m_source, quarter, m }, 4);
            for (uint32_t e = 0; e < 4; e += 1 + below(2))
                m_values.push_back(m_w.add(Op::PacketGet, Type::U32, { p }, e));
            break;
        }
        default: // integer sums do not depend on the order
            m_w.add(Op::Scatter, Type::Void, { m_target, k, pick(Type::U32), m },
                    uint64_t(ReduceOp::Add));
        }
    }

    void array() {
        if (m_arrays.empty() || below(4) == 0) {
            m_arrays.push_back(m_w.add(Op::ArrayNew, Type::F32, { pick(Type::F32) }, 0, 5));
            return;
        }
        V a = m_arrays[below(uint32_t(m_arrays.size()))];
        V k = below(3) ? m_w.op(Op::And, pick(Type::U32), m_w.lit(7u)) : m_w.lit(below(6)),
          m = masked();
        switch (below(5)) {
        case 0:
        case 1:
            m_arrays.push_back(
                m_w.add(Op::ArraySet, Type::F32, { a, k, pick(Type::F32), m }, 0, 5));
            break;
        case 2:
            m_arrays.push_back(
                m_w.select(pick(Type::Bool), a, m_arrays[below(uint32_t(m_arrays.size()))]));
            break;
        default: m_values.push_back(m_w.add(Op::ArrayGet, Type::F32, { a, k, m }));
        }
    }

    void loop(uint32_t size, uint32_t depth) {
        std::vector<V> initial;
        uint32_t count = below(4);
        for (uint32_t k = 0; k < count; ++k)
            initial.push_back(pick(any_type()));
        V zero = m_w.lit(0u), limit = m_w.op(Op::And, pick(Type::U32), m_w.lit(3u));
        V array =
            m_arrays.empty() || below(2) ? NoValue : m_arrays[below(uint32_t(m_arrays.size()))];
        m_w.add(Op::LoopBegin, Type::Void);
        std::vector<V> phis;
        V i = m_w.add(Op::Phi, Type::U32, { zero, 0 });
        for (V v : initial)
            phis.push_back(m_w.add(Op::Phi, m_w.type(v), { v, 0 }));
        V phi_array = array == NoValue ? NoValue : m_w.add(Op::Phi, Type::F32, { array, 0 }, 0, 5);
        size_t values = m_values.size(), arrays = m_arrays.size();
        m_values.insert(m_values.end(), phis.begin(), phis.end());
        m_values.push_back(i);
        if (phi_array != NoValue)
            m_arrays.push_back(phi_array);
        grow(below(3), depth + 1);
        V go = m_w.op(Op::Lt, i, limit);
        m_w.add(Op::LoopWhile, Type::Void, { go });
        grow(size, depth + 1);
        m_w.f().insts[i].arg[1] = m_w.op(Op::Add, i, m_w.lit(1u));
        for (V p : phis)
            m_w.f().insts[p].arg[1] = pick(m_w.type(p));
        if (phi_array != NoValue)
            m_w.f().insts[phi_array].arg[1] =
                m_arrays[arrays + below(uint32_t(m_arrays.size() - arrays))];
        m_w.add(Op::LoopEnd, Type::Void);
        m_values.resize(values);
        m_arrays.resize(arrays);
        m_values.insert(m_values.end(), phis.begin(), phis.end());
        m_values.push_back(i);
        if (phi_array != NoValue)
            m_arrays.push_back(phi_array);
    }

    void conditional(uint32_t size, uint32_t depth) {
        V c = pick(Type::Bool);
        size_t values = m_values.size(), arrays = m_arrays.size();
        m_w.add(Op::IfBegin, Type::Void, { c });
        grow(size, depth + 1);
        std::vector<V> left = m_values, left_arrays = m_arrays;
        m_values.resize(values);
        m_arrays.resize(arrays);
        m_w.add(Op::Else, Type::Void);
        grow(below(2) * size / 2, depth + 1);
        std::vector<V> right = m_values, right_arrays = m_arrays;
        m_values.resize(values);
        m_arrays.resize(arrays);
        // The conditional's mask must be read before literals are added to the list, so pair by
        // type here.
        std::vector<std::pair<V, V>> pairs;
        for (int tries = 0; tries < 6; ++tries) {
            V a = left[left.size() - 1 - below(std::min<uint32_t>(8, uint32_t(left.size())))];
            V b = right[right.size() - 1 - below(std::min<uint32_t>(8, uint32_t(right.size())))];
            if (m_w.type(a) == m_w.type(b))
                pairs.push_back({ a, b });
        }
        m_w.add(Op::EndIf, Type::Void);
        for (auto [a, b] : pairs)
            m_values.push_back(m_w.add(Op::Merge, m_w.type(a), { c, a, b }));
        if (!left_arrays.empty() && !right_arrays.empty())
            m_arrays.push_back(m_w.add(Op::Merge, Type::F32,
                                       { c, left_arrays.back(), right_arrays.back() }, 0, 5));
    }

    void plan_calls() {
        m_table = m_w.arg(ArgKind::CallTable, std::vector<uint32_t>{ 3, 0, 0, 4, 1, 8, 0, 12 });
        m_data = m_w.arg(ArgKind::CallData, std::vector<uint32_t>{ 0, 17, 0x40400000, 23 });
    }

    void call() {
        if (m_in_callee)
            return;
        CallSite site;
        site.callees = { 1, 2 };
        site.args = { pick(Type::F32), pick(Type::U32), pick(Type::Bool) };
        site.out_types = { Type::F32, Type::U32, Type::Bool };
        site.table = m_table;
        site.data = m_data;
        V id = m_w.op(Op::And, pick(Type::U32), m_w.lit(3u)), m = masked();
        m_w.program.calls.push_back(site);
        V c = m_w.add(Op::Call, Type::Void, { id, m }, m_w.program.calls.size() - 1);
        for (uint32_t k = 0; k < 3; ++k)
            m_values.push_back(m_w.add(Op::CallOut, site.out_types[k], { c }, k));
    }

    void grow_callees(uint32_t size) {
        m_in_callee = true;
        for (int k = 0; k < 2; ++k) {
            m_w.begin_function({ Type::F32, Type::U32, Type::Bool }, 4);
            m_values.clear();
            m_arrays.clear();
            for (uint32_t p = 0; p < 3; ++p)
                m_values.push_back(m_w.add(Op::Param, m_w.f().params[p], {}, p));
            m_values.push_back(m_w.add(Op::Data, k ? Type::F32 : Type::U32, {}, 0));
            m_values.push_back(m_w.lane());
            grow(size, 1);
            m_w.f().outputs = { pick(Type::F32), pick(Type::U32), pick(Type::Bool) };
        }
    }

    void grow(uint32_t size, uint32_t depth) {
        while (size-- > 0)
            switch (uint32_t k = below(40)) {
            case 0:
            case 1:
                if (depth < 3)
                    loop(2 + below(12), depth);
                break;
            case 2:
            case 3:
                if (depth < 3)
                    conditional(1 + below(12), depth);
                break;
            case 4: call(); break;
            case 5:
            case 6: memory(); break;
            case 7:
            case 8:
            case 9: array(); break;
            default: (void)k; arithmetic();
            }
    }

    Writer &m_w;
    std::mt19937_64 m_random;
    std::vector<V> m_values, m_arrays;
    V m_source = 0, m_target = 0;
    uint32_t m_table = 0, m_data = 0;
    bool m_in_callee = false;
};

void compare_with_interpreter(uint64_t seed, uint32_t size) {
    size_t lanes = 1 + seed * 37 % 100;
    Writer interpreted;
    Grower grower(interpreted, seed);
    grower.kernel(size, lanes);
    if (std::getenv("UMBEL_TEST_PRINT"))
        fputs(interpreted.program.text().c_str(), stderr);
    Writer compiled;
    compiled.program = interpreted.program;
    compiled.memory = interpreted.memory;
    compiled.fixed = interpreted.fixed;
    interpreted.run(*interpreted.compile(interp_backend()), lanes);
    compiled.run(*compiled.compile(), lanes);
    for (size_t a = 0; a < compiled.memory.size(); ++a) {
        Type t = compiled.program.args[a].type;
        for (size_t i = 0; i < compiled.memory[a].size() / bytes(t) - Pad; ++i)
            ASSERT_TRUE(
                same(t, compiled.get_bits(uint32_t(a), i), interpreted.get_bits(uint32_t(a), i)))
                << "seed " << seed << " argument " << a << " (" << name(t) << ") element " << i
                << std::hex << ": " << compiled.get_bits(uint32_t(a), i) << ", interpreter "
                << interpreted.get_bits(uint32_t(a), i);
    }
}

/// Seeds from `first`; UMBEL_TEST_PROGRAMS asks for more than the usual number, UMBEL_TEST_SEED for
/// one, UMBEL_TEST_PRINT for the programs' text.
std::vector<uint64_t> seeds(uint64_t first, uint64_t usual) {
    if (const char *one = std::getenv("UMBEL_TEST_SEED"))
        return { std::strtoull(one, nullptr, 10) };
    const char *count = std::getenv("UMBEL_TEST_PROGRAMS");
    std::vector<uint64_t> v(count ? std::strtoull(count, nullptr, 10) : usual);
    std::iota(v.begin(), v.end(), first);
    return v;
}

TEST(BackendLlvm, RandomProgramsAgreeWithTheInterpreter) {
    on_every_cpu([] {
        for (uint64_t seed : seeds(0, 12))
            ASSERT_NO_FATAL_FAILURE(compare_with_interpreter(seed, 60));
    });
}

TEST(BackendLlvm, CutProgramsAgreeWithTheInterpreter) {
    on_every_cpu([] {
        Setting modules("UMBEL_MODULE_WEIGHT", "60");
        for (const char *weight : { "5", "40" }) {
            Setting units("UMBEL_UNIT_WEIGHT", weight);
            for (uint64_t seed : seeds(1000, 3))
                ASSERT_NO_FATAL_FAILURE(compare_with_interpreter(seed, 80));
        }
    });
}

TEST(BackendLlvm, LanesThatChangePacketsAgreeWithTheInterpreter) {
    on_every_cpu([] {
        Setting all("UMBEL_REGROUP_WEIGHT", "1");
        for (const char *weight : { "20", "100000" }) {
            Setting units("UMBEL_UNIT_WEIGHT", weight);
            for (uint64_t seed : seeds(3000, 6))
                ASSERT_NO_FATAL_FAILURE(compare_with_interpreter(seed, 80));
        }
    });
}

TEST(BackendLlvm, CalleesInThePlaceOfTheirCallsAgreeWithTheInterpreter) {
    on_every_cpu([] {
        for (const char *weight : { "1", "100000" }) { // none and all that are called in one place
            Setting inlined("UMBEL_INLINE_WEIGHT", weight);
            for (uint64_t seed : seeds(2000, 4))
                ASSERT_NO_FATAL_FAILURE(compare_with_interpreter(seed, 80));
        }
    });
}

TEST(BackendLlvm, CompilesLongChains) {
    size_t n = 40;
    Writer w;
    Writer::V x = w.cast(w.lane(), Type::F32), a = w.scalar(0.999f), y = x;
    for (int k = 0; k < 20000; ++k)
        y = w.add(Op::Fma, Type::F32, { y, a, x });
    uint32_t out = w.output(y, n);
    w.run(n);
    for (size_t i = 0; i < n; ++i) {
        float want = float(i);
        for (int k = 0; k < 20000; ++k)
            want = std::fma(want, 0.999f, float(i));
        ASSERT_EQ(w.get<float>(out, i), want);
    }
}

} // namespace
