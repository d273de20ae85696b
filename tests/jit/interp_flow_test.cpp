// tests/jit/interp_flow_test.cpp: the interpreter's control flow, memory, calls, checks and plans.
#include "interp_support.h"
#include "jit/interp/plan.h"
#include <cmath>
#include <gtest/gtest.h>
#include <thread>

using namespace umbel::jit;
using namespace umbel::jit::testing;

namespace {

constexpr Type U32 = Type::U32, F32 = Type::F32, Bool = Type::Bool;

} // namespace

// ---- lanes and uniform values

TEST(Interp, TailsOfAnySizeStayWithinTheirArrays) {
    for (size_t n : { 1, 15, 16, 17, 63, 1000, 1023, 1024, 1025, 3000 }) {
        std::vector<float> a(n);
        std::vector<float> out(n + 8, -1.f);
        for (size_t i = 0; i < n; ++i)
            a[i] = float(i);
        Builder b;
        b.output(b.add(Op::Add, F32, { b.input(a), b.lit(0.5f) }), out);
        b.run(n);
        for (size_t i = 0; i < n; ++i)
            ASSERT_EQ(out[i], float(i) + 0.5f);
        for (size_t i = n; i < n + 8; ++i)
            ASSERT_EQ(out[i], -1.f) << "element past the end, n = " << n;
    }
}

TEST(Interp, RangesOfALaunchMayRunApart) {
    size_t n = 5000;
    std::vector<uint32_t> out(n);
    Builder b;
    b.output(b.add(Op::Mul, U32, { b.lane(), b.lit(3u) }), out);
    auto kernel = b.compile();
    Launch launch{ b.pointers.data(), b.sizes.data(), n, nullptr };
    kernel->run(launch, 4096, 5000);
    kernel->run(launch, 0, 2048);
    kernel->run(launch, 2048, 4096);
    for (size_t i = 0; i < n; ++i)
        ASSERT_EQ(out[i], 3 * i);
}

TEST(Interp, UniformValuesAreComputedOnceAndBroadcast) {
    size_t n = 1500;
    float x = 2;
    std::vector<float> out(n), other(n);
    Builder b;
    Value u =
        b.add(Op::Fma, F32, { b.scalar(x), b.lit(3.f), b.lit(1.f) }); // 7, of uniform operands only
    b.output(u, out);
    b.output(b.add(Op::Mul, F32, { b.add(Op::Cast, F32, { b.lane() }), u }), other);
    Plan plan = make_plan(b.program, "uniform", false);
    EXPECT_EQ(plan.functions[0].uniform_steps.size(), 2u); // the load and the fma
    b.run(n);
    for (size_t i = 0; i < n; ++i) {
        ASSERT_EQ(out[i], 7.f);
        ASSERT_EQ(other[i], 7.f * float(i));
    }
}

// ---- loops and conditionals

TEST(Interp, LanesLeaveALoopAtTheirOwnIteration) {
    size_t n = 2500;
    std::vector<uint32_t> steps(n), last(n);
    Builder b;
    Value start = b.add(Op::Add, U32, { b.lane(), b.lit(1u) });
    Value zero = b.lit(0u);
    b.add(Op::LoopBegin, Type::Void);
    Value x = b.phi(U32, start), count = b.phi(U32, zero);
    b.add(Op::LoopWhile, Type::Void, { b.add(Op::Ne, Bool, { x, b.lit(1u) }) });
    // Collatz
    Value odd = b.add(Op::Eq, Bool, { b.add(Op::And, U32, { x, b.lit(1u) }), b.lit(1u) });
    Value up = b.add(Op::Fma, U32, { x, b.lit(3u), b.lit(1u) });
    Value down = b.add(Op::Shr, U32, { x, b.lit(1u) });
    b.next(x, b.add(Op::Select, U32, { odd, up, down }));
    b.next(count, b.add(Op::Add, U32, { count, b.lit(1u) }));
    b.add(Op::LoopEnd, Type::Void);
    b.output(count, steps);
    b.output(x, last);
    b.run(n);
    for (uint32_t i = 0; i < n; ++i) {
        uint32_t v = i + 1, c = 0;
        for (; v != 1; ++c)
            v = v & 1 ? 3 * v + 1 : v >> 1;
        ASSERT_EQ(steps[i], c) << i;
        ASSERT_EQ(last[i], 1u);
    }
}

TEST(Interp, NestedLoopsRestartTheInnerOne) {
    size_t n = 1100;
    std::vector<uint32_t> out(n);
    Builder b;
    Value limit = b.add(Op::Mod, U32, { b.lane(), b.lit(7u) });
    Value zero = b.lit(0u), one = b.lit(1u);
    b.add(Op::LoopBegin, Type::Void);
    Value i = b.phi(U32, zero), sum = b.phi(U32, zero);
    b.add(Op::LoopWhile, Type::Void, { b.add(Op::Lt, Bool, { i, limit }) });
    Value outside = b.add(Op::Mul, U32, { i, b.lit(10u) }); // used inside the inner loop
    b.add(Op::LoopBegin, Type::Void);
    Value j = b.phi(U32, zero), inner = b.phi(U32, sum);
    b.add(Op::LoopWhile, Type::Void, { b.add(Op::Le, Bool, { j, i }) });
    Value term = b.add(Op::Add, U32, { b.add(Op::Mul, U32, { outside, j }), b.lane() });
    b.next(inner, b.add(Op::Add, U32, { inner, term }));
    b.next(j, b.add(Op::Add, U32, { j, one }));
    b.add(Op::LoopEnd, Type::Void);
    b.next(sum, inner);
    b.next(i, b.add(Op::Add, U32, { i, one }));
    b.add(Op::LoopEnd, Type::Void);
    b.output(sum, out);
    b.run(n);
    for (uint32_t lane = 0; lane < n; ++lane) {
        uint32_t want = 0;
        for (uint32_t p = 0; p < lane % 7; ++p)
            for (uint32_t q = 0; q <= p; ++q)
                want += p * 10 * q + lane;
        ASSERT_EQ(out[lane], want) << lane;
    }
}

TEST(Interp, PhisChangeAllAtOnce) {
    size_t n = 300;
    std::vector<uint32_t> first(n), second(n), third(n);
    Builder b;
    Value zero = b.lit(0u);
    Value rounds = b.lane();
    b.add(Op::LoopBegin, Type::Void);
    Value k = b.phi(U32, zero), x = b.phi(U32, zero);
    Value y = b.phi(U32, rounds), z = b.phi(U32, zero);
    b.add(Op::LoopWhile, Type::Void, { b.add(Op::Lt, Bool, { k, rounds }) });
    b.next(k, b.add(Op::Add, U32, { k, b.lit(1u) }));
    b.next(x, y); // rotate: x <- y <- z <- x + 1
    b.next(y, z);
    b.next(z, b.add(Op::Add, U32, { x, b.lit(1u) }));
    b.add(Op::LoopEnd, Type::Void);
    b.output(x, first);
    b.output(y, second);
    b.output(z, third);
    b.run(n);
    for (uint32_t i = 0; i < n; ++i) {
        uint32_t p = 0, q = i, r = 0;
        for (uint32_t t = 0; t < i; ++t) {
            uint32_t s = p + 1;
            p = q, q = r, r = s;
        }
        ASSERT_EQ(first[i], p) << i;
        ASSERT_EQ(second[i], q) << i;
        ASSERT_EQ(third[i], r) << i;
    }
}

TEST(Interp, ConditionalsRunEachBranchForItsLanes) {
    // Blocks where all, none and some lanes take the branch.
    for (uint32_t threshold : { 0u, 700u, 5000u }) {
        size_t n = 3000;
        std::vector<uint32_t> out(n), written(n);
        Builder b;
        Value array = b.pointer(written);
        Value lane = b.lane(), cond = b.add(Op::Lt, Bool, { lane, b.lit(threshold) });
        b.add(Op::IfBegin, Type::Void, { cond });
        Value yes = b.add(Op::Add, U32, { lane, b.lit(100u) });
        Value inner = b.add(Op::Eq, Bool, { b.add(Op::And, U32, { lane, b.lit(1u) }), b.lit(0u) });
        b.add(Op::IfBegin, Type::Void, { inner });
        Value even = b.add(Op::Mul, U32, { yes, b.lit(2u) });
        b.add(Op::Else, Type::Void);
        b.add(Op::EndIf, Type::Void);
        Value merged = b.add(Op::Merge, U32, { inner, even, yes });
        b.add(Op::Else, Type::Void);
        Value no = b.add(Op::Sub, U32, { lane, b.lit(1u) });
        b.add(Op::Scatter, Type::Void, { array, lane, no, b.active() });
        b.add(Op::EndIf, Type::Void);
        b.output(b.add(Op::Merge, U32, { cond, merged, no }), out);
        b.run(n);
        for (uint32_t i = 0; i < n; ++i) {
            uint32_t want = i < threshold ? (i & 1 ? i + 100 : 2 * (i + 100)) : i - 1;
            ASSERT_EQ(out[i], want) << i;
            ASSERT_EQ(written[i], i < threshold ? 0 : i - 1) << i;
        }
    }
}

TEST(Interp, InactiveLanesNeverTouchMemoryOrTrap) {
    size_t n = 1000;
    std::vector<int32_t> out(n), few = { 10, 20, 30 };
    Builder b;
    Value array = b.pointer(few), seven = b.lit(7);
    Value lane = b.lane(), cond = b.add(Op::Lt, Bool, { lane, b.lit(3u) });
    b.add(Op::IfBegin, Type::Void, { cond });
    Value x = b.add(Op::Gather, Type::I32, { array, lane, b.active() });
    Value null = b.add(Op::Bitcast, Type::Ptr, { b.lit(uint64_t(0)) });
    Value nothing = b.add(Op::Gather, Type::I32, { null, lane, b.lit(false) });
    Value q = b.add(Op::Div, Type::I32, { x, nothing }); // a division by 0 gives -1
    Value sum = b.add(Op::Add, Type::I32, { x, q });
    b.add(Op::Else, Type::Void);
    b.add(Op::EndIf, Type::Void);
    b.output(b.add(Op::Merge, Type::I32, { cond, sum, seven }), out);
    b.run(n);
    for (size_t i = 0; i < n; ++i)
        ASSERT_EQ(out[i], i < 3 ? few[i] - 1 : 7);
}

// ---- memory

TEST(Interp, GathersAndPacketsReadUnderTheirMask) {
    size_t n = 777;
    std::vector<uint32_t> index(n);
    std::vector<double> table(64), plain(n), p0(n), p2(n);
    for (size_t i = 0; i < table.size(); ++i)
        table[i] = 100.0 + double(i);
    for (size_t i = 0; i < n; ++i)
        index[i] = i % 5 == 4 ? 0x7fffffff : uint32_t(i * 7 % 21);
    Builder b;
    Value array = b.pointer(table), at = b.input(index);
    Value mask = b.add(Op::Lt, Bool, { at, b.lit(21u) });
    b.output(b.add(Op::Gather, Type::F64, { array, at, mask }), plain);
    Value packet = b.add(Op::Packet, Type::F64, { array, at, mask }, 3);
    Value first = b.add(Op::PacketGet, Type::F64, { packet }, 0);
    Value third = b.add(Op::PacketGet, Type::F64, { packet }, 2);
    b.output(first, p0);
    b.output(third, p2);
    b.run(n);
    for (size_t i = 0; i < n; ++i) {
        bool m = index[i] < 21;
        ASSERT_EQ(plain[i], m ? table[index[i]] : 0.0);
        ASSERT_EQ(p0[i], m ? table[3 * index[i]] : 0.0);
        ASSERT_EQ(p2[i], m ? table[3 * index[i] + 2] : 0.0);
    }
}

TEST(Interp, UniformGathersAndPacketsAreReadOnce) {
    size_t n = 70;
    std::vector<float> table = { 1, 2, 3, 4, 5, 6 }, out(n);
    Builder b;
    Value array = b.pointer(table), yes = b.lit(true);
    Value g = b.add(Op::Gather, F32, { array, b.lit(4u), yes });
    Value p = b.add(Op::Packet, F32, { array, b.lit(1u), yes }, 2);
    Value e = b.add(Op::PacketGet, F32, { p }, 1);
    for (Value v : { g, p, e })
        b.program.functions[0].insts[v].uniform = 1;
    b.output(b.add(Op::Add, F32, { g, e }), out);
    EXPECT_EQ(make_plan(b.program, "", false).functions[0].steps.size(), 2u); // store, end
    b.run(n);
    for (float x : out)
        ASSERT_EQ(x, 9.f);
}

template <class T> class InterpScatter : public ::testing::Test {};
using ScatterTypes = ::testing::Types<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t,
                                      int64_t, uint64_t, float, double>;
TYPED_TEST_SUITE(InterpScatter, ScatterTypes);

TYPED_TEST(InterpScatter, ReductionsFromTwoThreadsLoseNothing) {
    using T = TypeParam;
    constexpr Type t = type_of_v<T>;
    size_t n = 1 << 14, cells = 5;
    std::vector<T> value(n);
    for (size_t i = 0; i < n; ++i)
        value[i] = T(i % 100 < 97 ? i % 100 : 1);
    for (ReduceOp op : { ReduceOp::Add, ReduceOp::Mul, ReduceOp::Min, ReduceOp::Max, ReduceOp::And,
                         ReduceOp::Or }) {
        if (!std::is_integral_v<T> && (op == ReduceOp::And || op == ReduceOp::Or))
            continue;
        T init = op == ReduceOp::Mul ? T(3) : op == ReduceOp::And ? T(127) : T(50);
        std::vector<T> target(cells, init), want(cells, init);
        Builder b;
        Value array = b.pointer(target), x = b.input(value);
        if (op == ReduceOp::Mul) // few factors, so that floats stay exact
            x = b.add(Op::Select, t,
                      { b.add(Op::Lt, Bool, { b.lane(), b.lit(9u) }), b.lit(T(2)), b.lit(T(1)) });
        Value index = b.add(Op::Mod, U32, { b.lane(), b.lit(uint32_t(cells)) });
        Value mask = b.add(Op::Ne, Bool, { index, b.lit(4u) });
        b.add(Op::Scatter, Type::Void, { array, index, x, mask }, uint64_t(op));
        auto kernel = b.compile();
        Launch launch{ b.pointers.data(), b.sizes.data(), n, nullptr };
        std::thread other([&] { kernel->run(launch, 0, n / 2); });
        kernel->run(launch, n / 2, n);
        other.join();
        for (size_t i = 0; i < n; ++i) {
            T v = op == ReduceOp::Mul ? T(i < 9 ? 2 : 1) : value[i], &w = want[i % cells];
            if (i % cells == 4)
                continue;
            if constexpr (std::is_integral_v<T>)
                w = op == ReduceOp::And ? T(w & v) : op == ReduceOp::Or ? T(w | v) : w;
            w = op == ReduceOp::Add   ? T(w + v)
                : op == ReduceOp::Mul ? T(w * v)
                : op == ReduceOp::Min ? std::min(w, v)
                : op == ReduceOp::Max ? std::max(w, v)
                                      : w;
        }
        for (size_t c = 0; c < cells; ++c)
            ASSERT_EQ(target[c], want[c]) << name(op) << " cell " << c;
    }
}

TEST(Interp, ScatteredHalfsAddUp) {
    size_t n = 1024;
    std::vector<half> target(1, half{ 0 });
    Builder b;
    b.add(Op::Scatter, Type::Void,
          { b.pointer(target), b.lit(0u), b.lit(half{ 0x3c00 }), b.active() },
          uint64_t(ReduceOp::Add));
    b.run(n);
    EXPECT_EQ(target[0].bits, 0x6400); // 1024
}

TEST(Interp, StoresHappenInLaneOrder) {
    size_t n = 2000;
    std::vector<uint32_t> target(3);
    Builder b;
    Value lane = b.lane();
    b.add(Op::Scatter, Type::Void,
          { b.pointer(target), b.add(Op::Mod, U32, { lane, b.lit(3u) }), lane, b.active() });
    b.run(n);
    EXPECT_EQ(target, (std::vector<uint32_t>{ 1998, 1999, 1997 }));
}

TEST(Interp, ScatterIncGivesEachLaneItsOwnNumber) {
    size_t n = 1 << 14;
    std::vector<uint32_t> counter(2), slot(n);
    Builder b;
    Value even = b.add(Op::Eq, Bool, { b.add(Op::And, U32, { b.lane(), b.lit(1u) }), b.lit(0u) });
    b.output(b.add(Op::ScatterInc, U32, { b.pointer(counter), b.lit(1u), even }), slot);
    auto kernel = b.compile();
    Launch launch{ b.pointers.data(), b.sizes.data(), n, nullptr };
    std::thread other([&] { kernel->run(launch, 0, n / 2); });
    kernel->run(launch, n / 2, n);
    other.join();
    EXPECT_EQ(counter, (std::vector<uint32_t>{ 0, uint32_t(n / 2) }));
    std::vector<int> seen(n / 2);
    for (size_t i = 0; i < n; i += 2)
        ++seen[slot[i]];
    for (int s : seen)
        ASSERT_EQ(s, 1);
}

// ---- local arrays

TEST(Interp, ArraysKeepTheirOldVersionsWhereTheseAreReadAgain) {
    size_t n = 600;
    std::vector<float> was(n), is(n), past(n), chosen(n);
    Builder b;
    Value lane = b.lane(), m = b.active(), zero = b.lit(0u);
    Value old = b.add(Op::ArrayNew, F32, { b.lit(1.5f) }, 0, 4);
    Value index = b.add(Op::Mod, U32, { lane, b.lit(5u) }); // 4 is out of range
    Value set = b.add(Op::ArraySet, F32, { old, index, b.add(Op::Cast, F32, { lane }), m }, 0, 4);
    Value odd = b.add(Op::Eq, Bool, { b.add(Op::And, U32, { lane, b.lit(1u) }), b.lit(1u) });
    Value pick = b.add(Op::Select, F32, { odd, set, old }, 0, 4);
    b.output(b.add(Op::ArrayGet, F32, { old, index, m }), was);
    b.output(b.add(Op::ArrayGet, F32, { set, zero, m }), is);
    b.output(b.add(Op::ArrayGet, F32, { set, index, m }), past);
    b.output(b.add(Op::ArrayGet, F32, { pick, zero, m }), chosen);
    b.run(n);
    for (size_t i = 0; i < n; ++i) {
        ASSERT_EQ(was[i], i % 5 == 4 ? 0.f : 1.5f);
        ASSERT_EQ(is[i], i % 5 == 0 ? float(i) : 1.5f);
        ASSERT_EQ(past[i], i % 5 == 4 ? 0.f : float(i));
        ASSERT_EQ(chosen[i], i % 10 == 5 ? float(i) : 1.5f);
    }
}

TEST(Interp, ArraysCarriedByALoopAreWrittenInPlace) {
    size_t n = 1300;
    uint32_t length = 16;
    std::vector<uint32_t> out(n);
    Builder b;
    Value zero = b.lit(0u), one = b.lit(1u), limit = b.add(Op::Mod, U32, { b.lane(), b.lit(17u) });
    Value fresh = b.add(Op::ArrayNew, U32, { one }, 0, length);
    b.add(Op::LoopBegin, Type::Void);
    Value i = b.phi(U32, zero), array = b.phi(U32, fresh, length);
    b.add(Op::LoopWhile, Type::Void, { b.add(Op::Lt, Bool, { i, limit }) });
    Value m = b.active();
    Value before = b.add(Op::ArrayGet, U32, { array, b.add(Op::Sub, U32, { i, one }), m });
    Value next = b.add(
        Op::ArraySet, U32,
        { array, i, b.add(Op::Add, U32, { before, b.add(Op::Add, U32, { i, b.lane() }) }), m }, 0,
        length);
    b.next(array, next);
    b.next(i, b.add(Op::Add, U32, { i, one }));
    b.add(Op::LoopEnd, Type::Void);
    Value sum = zero;
    for (uint32_t k = 0; k < length; ++k)
        sum = b.add(Op::Add, U32,
                    { sum, b.add(Op::ArrayGet, U32, { array, b.lit(k), b.lit(true) }) });
    b.output(sum, out);
    Plan plan = make_plan(b.program, "", false);
    for (const Step &s : plan.functions[0].steps) {
        if (s.kind == StepKind::ArraySet) {
            EXPECT_EQ(s.d, s.a) << "the set copies the array";
        }
        EXPECT_NE(s.kind, StepKind::SelectArray) << "the array is copied at the loop's end";
    }
    b.run(n);
    for (uint32_t lane = 0; lane < n; ++lane) {
        uint32_t a[16], total = 0;
        std::fill_n(a, 16, 1u);
        for (uint32_t k = 0; k < lane % 17; ++k)
            if (k < 16)
                a[k] = (k ? a[k - 1] : 0) + k + lane;
        for (uint32_t x : a)
            total += x;
        ASSERT_EQ(out[lane], total) << lane;
    }
}

TEST(Interp, ArrayPhisSwapAndMerge) {
    size_t n = 200;
    std::vector<uint32_t> out(n);
    Builder b;
    Value zero = b.lit(0u), one = b.lit(1u), lane = b.lane(), yes = b.lit(true);
    Value p = b.add(Op::ArrayNew, U32, { lane }, 0, 2),
          q = b.add(Op::ArrayNew, U32, { b.lit(1000u) }, 0, 2);
    b.add(Op::LoopBegin, Type::Void);
    Value i = b.phi(U32, zero), x = b.phi(U32, p, 2), y = b.phi(U32, q, 2);
    b.add(Op::LoopWhile, Type::Void, { b.add(Op::Lt, Bool, { i, lane }) });
    Value third = b.add(Op::Eq, Bool, { b.add(Op::Mod, U32, { i, b.lit(3u) }), zero });
    b.add(Op::IfBegin, Type::Void, { third });
    Value set = b.add(Op::ArraySet, U32, { x, one, i, b.active() }, 0, 2);
    b.add(Op::Else, Type::Void);
    b.add(Op::EndIf, Type::Void);
    Value merged = b.add(Op::Merge, U32, { third, set, x }, 0, 2);
    b.next(x, y);
    b.next(y, merged);
    b.next(i, b.add(Op::Add, U32, { i, one }));
    b.add(Op::LoopEnd, Type::Void);
    Value v = b.add(Op::ArrayGet, U32, { x, one, yes }),
          w = b.add(Op::ArrayGet, U32, { y, zero, yes });
    b.output(b.add(Op::Fma, U32, { v, b.lit(100000u), w }), out);
    b.run(n);
    for (uint32_t l = 0; l < n; ++l) {
        uint32_t xs[2] = { l, l }, ys[2] = { 1000, 1000 };
        for (uint32_t k = 0; k < l; ++k) {
            if (k % 3 == 0)
                xs[1] = k;
            std::swap(xs, ys);
        }
        ASSERT_EQ(out[l], xs[1] * 100000u + ys[0]) << l;
    }
}

// ---- calls

namespace {

/// Two callees: a * x + offset (from the record) and the sum of 0..x; ids 1..4, two instances each.
struct CallFixture : Builder {
    std::vector<uint32_t> table = { 5,         0,  /* 1 */ 0, 0,  /* 2 */ 1,   16,
                                    /* 3 */ 0, 32, /* 4 */ 1, 48, /* 5 */ ~0u, 0 };
    std::vector<uint8_t> data = std::vector<uint8_t>(64);
    uint32_t scale[4] = { 10, 20, 30, 40 };
    std::vector<uint32_t> side;
    uint32_t table_arg, data_arg, side_arg;

    explicit CallFixture(size_t n) : side(n) {
        for (int k = 0; k < 4; ++k)
            std::memcpy(&data[size_t(16 * k) + 4], &scale[k], 4);
        table_arg = arg(ArgKind::CallTable, U32, table.data(), table.size());
        data_arg = arg(ArgKind::CallData, U32, data.data(), data.size());
        side_arg = arg(ArgKind::Pointer, U32, side.data(), side.size());

        begin_function({ U32 }, 8); // 1
        Value x = add(Op::Param, U32, {}, 0), s = add(Op::Data, U32, {}, 4);
        Value y = add(Op::Fma, U32, { s, x, lit(1u) });
        f().outputs = { y, lit(77u) };

        begin_function({ U32 }, 8); // 2: a loop, a scatter at its lane, reads its parameter late
        Value zero = lit(0u), one = lit(1u);
        add(Op::LoopBegin, Type::Void);
        Value i = phi(U32, zero), sum = phi(U32, zero);
        Value limit = add(Op::Param, U32, {}, 0);
        add(Op::LoopWhile, Type::Void, { add(Op::Lt, Bool, { i, limit }) });
        next(i, add(Op::Add, U32, { i, one }));
        next(sum, add(Op::Add, U32, { sum, i }));
        add(Op::LoopEnd, Type::Void);
        Value target = add(Op::ArgPtr, Type::Ptr, {}, side_arg);
        add(Op::Scatter, Type::Void, { target, lane(), sum, active() });
        f().outputs = { sum, add(Op::Data, U32, {}, 4) };
        back_to_kernel();
    }
    Value call(Value id, Value x, Value mask, std::vector<uint32_t> callees = { 1, 2 }) {
        CallSite site;
        site.callees = std::move(callees);
        site.args = { x };
        site.out_types = { U32, U32 };
        site.table = table_arg;
        site.data = data_arg;
        program.calls.push_back(site);
        return add(Op::Call, Type::Void, { id, mask }, program.calls.size() - 1);
    }
    std::pair<uint32_t, uint32_t> expected(uint32_t id, uint32_t x, bool mask) const {
        if (!mask || id == 0 || id > 4)
            return { 0, 0 };
        return id & 1 ? std::pair(scale[id - 1] * x + 1, 77u)
                      : std::pair(x * (x - 1) / 2, scale[id - 1]);
    }
};

} // namespace

TEST(Interp, CallsReachTheCalleeAndRecordOfEachLane) {
    size_t n = 3000;
    CallFixture b(n);
    std::vector<uint32_t> first(n), second(n);
    Value lane = b.lane();
    Value id =
        b.add(Op::Mod, U32, { lane, b.lit(8u) }); // 5 calls nothing, 6 and 7 are past the table
    Value x = b.add(Op::Mod, U32, { lane, b.lit(11u) });
    Value mask = b.add(Op::Ne, Bool, { b.add(Op::Mod, U32, { lane, b.lit(3u) }), b.lit(0u) });
    Value c = b.call(id, x, mask);
    b.output(b.add(Op::CallOut, U32, { c }, 0), first);
    b.output(b.add(Op::CallOut, U32, { c }, 1), second);
    b.run(n);
    for (uint32_t i = 0; i < n; ++i) {
        auto [p, q] = b.expected(i % 8, i % 11, i % 3 != 0);
        ASSERT_EQ(first[i], p) << i;
        ASSERT_EQ(second[i], q) << i;
        bool scatters = i % 3 && (i % 8 == 2 || i % 8 == 4);
        ASSERT_EQ(b.side[i], scatters ? first[i] : 0) << i;
    }
}

TEST(Interp, CalleesMayCallOthersFromWithinABranch) {
    size_t n = 2000;
    CallFixture b(n);
    // Function 3 calls 1 and 2 for even arguments.
    b.begin_function({ U32, U32 }, 0);
    Value id = b.add(Op::Param, U32, {}, 0), x = b.add(Op::Param, U32, {}, 1);
    Value even = b.add(Op::Eq, Bool, { b.add(Op::And, U32, { x, b.lit(1u) }), b.lit(0u) });
    b.add(Op::IfBegin, Type::Void, { even });
    Value c = b.call(id, x, b.active());
    Value inner = b.add(Op::Add, U32, { b.add(Op::CallOut, U32, { c }, 0), b.lane() });
    b.add(Op::Else, Type::Void);
    Value other = b.add(Op::Mul, U32, { x, b.lit(5u) });
    b.add(Op::EndIf, Type::Void);
    b.f().outputs = { b.add(Op::Merge, U32, { even, inner, other }) };
    b.back_to_kernel();

    std::vector<uint32_t> out(n), table = { 1, 0, 0, 0 };
    uint32_t outer_table = b.arg(ArgKind::CallTable, U32, table.data(), table.size());
    Value lane = b.lane();
    Value which = b.add(Op::Mod, U32, { lane, b.lit(5u) }),
          arg = b.add(Op::Mod, U32, { lane, b.lit(9u) });
    Value calling = b.add(Op::Lt, Bool, { b.lit(100u), lane });
    CallSite site;
    site.callees = { 3 };
    site.args = { which, arg };
    site.out_types = { U32 };
    site.table = outer_table;
    site.data = b.data_arg;
    b.program.calls.push_back(site);
    Value call = b.add(Op::Call, Type::Void, { b.lit(1u), calling }, b.program.calls.size() - 1);
    b.output(b.add(Op::CallOut, U32, { call }, 0), out);
    b.run(n);
    for (uint32_t i = 0; i < n; ++i) {
        uint32_t v = i % 9, want = v & 1 ? v * 5 : b.expected(i % 5, v, true).first + i;
        ASSERT_EQ(out[i], i > 100 ? want : 0) << i;
    }
}

// ---- host functions

namespace {

struct HostCalls {
    std::vector<uint64_t> lanes;
};

void host_function(void *user, uint64_t first, uint32_t lanes, const int32_t *mask, void *frame) {
    auto *calls = static_cast<HostCalls *>(user);
    auto *x = static_cast<uint8_t *>(frame);
    auto *y = reinterpret_cast<double *>(x + lanes);
    auto *sum = reinterpret_cast<double *>(y + lanes);
    auto *flag = reinterpret_cast<uint8_t *>(sum + lanes);
    for (uint32_t i = 0; i < lanes; ++i)
        if (mask[i]) {
            calls->lanes.push_back(first + i);
            sum[i] = x[i] + y[i];
            flag[i] = x[i] > 3;
        }
}

} // namespace

TEST(Interp, HostFunctionsGetTheirFrameAndMask) {
    size_t n = 1030;
    HostCalls calls;
    uint64_t fn = reinterpret_cast<uint64_t>(&host_function),
             user = reinterpret_cast<uint64_t>(&calls);
    std::vector<uint8_t> x(n);
    std::vector<double> y(n), sum(n);
    std::vector<uint32_t> flag(n);
    for (size_t i = 0; i < n; ++i) {
        x[i] = uint8_t(i % 7);
        y[i] = double(i) / 4;
    }
    Builder b;
    Value a = b.input(x), c = b.input(y);
    ExternSite site;
    site.fn = b.add(Op::Bitcast, Type::Ptr, { b.scalar(fn) });
    site.user = b.add(Op::Bitcast, Type::Ptr, { b.scalar(user) });
    site.mask = b.add(Op::Ne, Bool, { a, b.lit(uint8_t(2)) });
    site.inputs = { a, c };
    site.in_types = { Type::U8, Type::F64 };
    site.out_types = { Type::F64, Bool };
    b.program.externs.push_back(site);
    Value e = b.add(Op::Extern, Type::Void, {}, 0);
    b.output(b.add(Op::ExternOut, Type::F64, { e }, 0), sum);
    b.output(b.add(Op::Cast, U32, { b.add(Op::ExternOut, Bool, { e }, 1) }), flag);
    b.run(n);
    size_t called = 0;
    for (size_t i = 0; i < n; ++i)
        if (x[i] != 2) {
            ASSERT_EQ(calls.lanes[called++], i);
            ASSERT_EQ(sum[i], x[i] + y[i]);
            ASSERT_EQ(flag[i], x[i] > 3);
        }
    EXPECT_EQ(calls.lanes.size(), called);
}

TEST(Interp, PrintAndAssertReportTheActiveLanesOfTheirMask) {
    size_t n = 2000;
    for (bool in_callee : { false, true }) {
        CallFixture b(n);
        Log log;
        auto sites = [&](Value x) {
            ExternSite print;
            print.kind = ExternSite::Print;
            print.mask =
                b.add(Op::Eq, Bool, { b.add(Op::Mod, U32, { x, b.lit(100u) }), b.lit(0u) });
            print.inputs = { b.add(Op::Cast, F32, { x }) };
            print.in_types = { F32 };
            ExternSite assertion;
            assertion.kind = ExternSite::Assert;
            assertion.mask = b.active();
            assertion.inputs = { b.add(Op::Ne, Bool, { x, b.lit(1234u) }) };
            assertion.in_types = { Bool };
            b.program.externs = { print, assertion };
            b.add(Op::Extern, Type::Void, {}, 0);
            b.add(Op::Extern, Type::Void, {}, 1);
        };
        if (in_callee) {
            uint32_t callee = b.begin_function({ U32 }, 8);
            sites(b.add(Op::Param, U32, {}, 0));
            b.f().outputs = { b.lit(1u), b.lit(2u) };
            b.back_to_kernel();
            Value even =
                b.add(Op::Eq, Bool, { b.add(Op::And, U32, { b.lane(), b.lit(1u) }), b.lit(0u) });
            b.call(b.lit(1u), b.lane(), even, { callee });
        } else {
            sites(b.lane());
        }
        b.run(n, &log);
        EXPECT_EQ(log.failed, (std::vector<uint64_t>{ 1234 }));
        ASSERT_EQ(log.printed.size(), 20u);
        for (size_t i = 0; i < 20; ++i) {
            EXPECT_EQ(log.printed[i], 100 * i);
            EXPECT_EQ(log.values[i], float(100 * i));
        }
    }
}

// ---- checking mode

namespace {

void expect_one_error(const Log &log, std::initializer_list<const char *> parts) {
    ASSERT_EQ(log.errors.size(), 1u);
    for (const char *part : parts)
        EXPECT_NE(log.errors[0].find(part), std::string::npos)
            << log.errors[0] << "\nlacks: " << part;
}

} // namespace

TEST(InterpChecks, AnIndexOutOfRangeIsReportedOnceAndSkipped) {
    size_t n = 3000;
    std::vector<float> table(10, 2.f), out(n);
    Builder b;
    Value array = b.pointer(table), lane = b.lane();
    Value index =
        b.add(Op::Select, U32, { b.add(Op::Lt, Bool, { lane, b.lit(57u) }), b.lit(9u), lane });
    b.output(b.add(Op::Gather, F32, { array, index, b.active() }), out);
    Log log;
    b.run(n, &log, checking_backend());
    expect_one_error(log, { "kernel test", "instruction 7", "Gather f32", "lane 57", "index 57",
                            "10 elements" });
    EXPECT_EQ(out[56], 2.f);
    EXPECT_EQ(out[57], 0.f);
}

TEST(InterpChecks, ScattersPacketsAndCountersAreCheckedToo) {
    size_t n = 100;
    std::vector<uint32_t> table(8, 1), out(n);
    auto run = [&](auto body, std::initializer_list<const char *> parts) {
        Builder b;
        Value array = b.pointer(table), lane = b.lane();
        body(b, array, lane, b.active());
        Log log;
        b.run(n, &log, checking_backend());
        expect_one_error(log, parts);
    };
    run([&](Builder &b, Value a, Value i,
            Value m) { b.add(Op::Scatter, Type::Void, { a, i, i, m }); },
        { "Scatter u32", "lane 8", "index 8", "8 elements" });
    run([&](Builder &b, Value a, Value i, Value m) { b.add(Op::ScatterInc, U32, { a, i, m }); },
        { "ScatterInc", "lane 8" });
    run(
        [&](Builder &b, Value a, Value i, Value m) {
            Value p = b.add(Op::Packet, U32, { a, i, m }, 3);
            b.output(b.add(Op::PacketGet, U32, { p }, 1), out);
        },
        { "Packet u32", "lane 2", "index 2", "read 3 at a time" });
    run(
        [&](Builder &b, Value, Value i, Value m) {
            Value local = b.add(Op::ArrayNew, U32, { i }, 0, 5);
            b.output(b.add(Op::ArrayGet, U32, { local, i, m }), out);
        },
        { "ArrayGet u32", "lane 5", "index 5", "a local array has 5 elements" });
}

TEST(InterpChecks, TheFirstNanIsTracedToItsOrigin) {
    size_t n = 1000;
    std::vector<float> x(n, 1.f), out(n);
    x[600] = -1;
    x[700] = NAN; // handed in: nobody's fault here
    Builder b;
    Value root = b.add(Op::Sqrt, F32, { b.input(x) });
    b.output(b.add(Op::Add, F32, { root, b.lit(1.f) }), out);
    Log log;
    b.run(n, &log, checking_backend());
    expect_one_error(log, { "instruction 1", "Sqrt f32", "lane 600", "NaN" });
}

TEST(InterpChecks, AValueFromABranchNotTakenIsReported) {
    size_t n = 100;
    std::vector<uint32_t> out(n);
    Builder b;
    Value lane = b.lane(), cond = b.add(Op::Lt, Bool, { lane, b.lit(40u) });
    b.add(Op::IfBegin, Type::Void, { cond });
    Value inside = b.add(Op::Add, U32, { lane, b.lit(1u) });
    b.add(Op::Else, Type::Void);
    b.add(Op::EndIf, Type::Void);
    b.output(b.add(Op::Add, U32, { inside, lane }), out); // breaks the rule: no Merge
    Log log;
    b.run(n, &log, checking_backend());
    expect_one_error(log, { "Add u32", "lane 40", "did not compute" });
}

TEST(InterpChecks, CorrectProgramsRunInSilenceWithTheSameResults) {
    size_t n = 2100;
    CallFixture b(n);
    std::vector<uint32_t> out(n);
    Value lane = b.lane(), zero = b.lit(0u), one = b.lit(1u);
    Value fresh = b.add(Op::ArrayNew, U32, { lane }, 0, 4);
    b.add(Op::LoopBegin, Type::Void);
    Value i = b.phi(U32, zero), array = b.phi(U32, fresh, 4), swap_a = b.phi(U32, lane),
          swap_b = b.phi(U32, zero);
    b.add(Op::LoopWhile, Type::Void,
          { b.add(Op::Lt, Bool, { i, b.add(Op::And, U32, { lane, b.lit(3u) }) }) });
    Value m = b.active(), odd = b.add(Op::Eq, Bool, { b.add(Op::And, U32, { i, one }), one });
    b.add(Op::IfBegin, Type::Void, { odd });
    Value c = b.call(b.add(Op::Add, U32, { i, one }), swap_a, b.active());
    Value then = b.add(Op::CallOut, U32, { c }, 0);
    b.add(Op::Else, Type::Void);
    Value other = b.add(Op::Mul, U32, { swap_b, b.lit(3u) });
    b.add(Op::EndIf, Type::Void);
    Value merged = b.add(Op::Merge, U32, { odd, then, other });
    b.next(array, b.add(Op::ArraySet, U32, { array, i, merged, m }, 0, 4));
    b.next(swap_a, swap_b);
    b.next(swap_b, swap_a);
    b.next(i, b.add(Op::Add, U32, { i, one }));
    b.add(Op::LoopEnd, Type::Void);
    Value sum =
        b.add(Op::Add, U32, { swap_a, b.add(Op::ArrayGet, U32, { array, one, b.lit(true) }) });
    b.output(sum, out);
    Log log;
    b.run(n, &log, checking_backend());
    EXPECT_TRUE(log.errors.empty()) << log.errors[0];
    std::vector<uint32_t> checked = out;
    std::fill(out.begin(), out.end(), 0);
    b.run(n);
    EXPECT_EQ(out, checked);
}
