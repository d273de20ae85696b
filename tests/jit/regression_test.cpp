// tests/jit/regression_test.cpp: bugs that random programs found, each as the smallest program that shows it.
#include "support/backend_fixture.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace umbel::jit;

namespace {

using U32s = std::vector<uint32_t>;

class Regression : public umbel::test::BackendTest {};

struct Count {
    UInt32 i;
    UMBEL_STRUCT(i)
};

// ---- recording

TEST_P(Regression, LoopMayOverwriteStateThatItNeverReads) {
    struct State {
        UInt32 i;
        Float32 last;
        UMBEL_STRUCT(i, last)
    };
    State s = loop(
        State{ 0u, copy(std::vector<float>{ 1, 2, 3 }) },
        [](const State &s) { return s.i < arange<uint32_t>(3); },
        [](State &s) { // the first tracing leaves no reference to the state's Phi
            s.last = 7.f;
            s.i += 1u;
        });
    EXPECT_EQ(s.last.read(), (std::vector<float>{ 1, 7, 7 }));
}

TEST_P(Regression, EqualCodeWithOtherParametersIsAnotherSubroutine) {
    using One = std::function<UInt32(const UInt32 &)>;
    using Two = std::function<UInt32(const UInt32 &, const UInt32 &)>;
    UInt32 k = opaque(5u), lane = arange<uint32_t>(4), index = opaque(lane % 2u);
    auto constant = [&](auto &&...) { return k * 2u; };
    UInt32 a = switch_<UInt32, UInt32>(
        index, std::vector<One>{ [](const UInt32 &x) { return x + 1u; }, constant }, lane);
    UInt32 b = switch_<UInt32, UInt32, UInt32>(
        index, std::vector<Two>{ [](const UInt32 &x, const UInt32 &y) { return x * y; }, constant },
        lane, lane + 3u);
    EXPECT_EQ((a + b * 100u).read(), (U32s{ 1, 1010, 1003, 1010 }));
}

TEST_P(Regression, LocalArrayOfACalleeMayStartWithValuesOfTheCaller) {
    using Fn = std::function<Float32(const UInt32 &)>;
    Float32 x = opaque(arange<float>(4));
    std::vector<Fn> functions{ [&](const UInt32 &i) {
                                  LocalArray<float> a(x, 2);
                                  a.set(i, Float32(9.f));
                                  return a.get(UInt32(0u)) + a.get(UInt32(1u));
                              },
                               [&](const UInt32 &) { return x; } };
    UInt32 lane = opaque(arange<uint32_t>(4));
    Float32 r = switch_<Float32, UInt32>(lane % 2u, functions, lane % 2u);
    EXPECT_EQ(r.read(), (std::vector<float>{ 9, 1, 11, 3 }));
}

TEST_P(Regression, LocalArrayWrittenInALoopsConditionStaysAsItWasWhereTheLoopEnds) {
    struct State {
        UInt32 i;
        LocalArray<uint32_t> a;
        UMBEL_STRUCT(i, a)
    };
    UInt32 lane = opaque(arange<uint32_t>(3));
    for (bool motion : { true, false }) { // into the body, or where it was written
        FlagScope scope(Flag::CodeMotion, motion);
        LocalArray<uint32_t> next;
        State s = loop(
            State{ 0u, LocalArray<uint32_t>(UInt32(0u), 2) },
            [&](const State &s) {
                next = s.a;
                next.set(UInt32(0u), s.i + 7u);
                return s.i < lane;
            },
            [&](State &s) {
                s.a = next;
                s.i += 1u;
            });
        next = {};
        EXPECT_EQ(s.a.get(UInt32(0u)).read(), (U32s{ 0, 7, 8 })) << motion;
    }
}

TEST_P(Regression, LocalArrayThatAConditionalReturnsTwiceIsTwoArrays) {
    struct Two {
        LocalArray<uint32_t> a, b;
        UMBEL_STRUCT(a, b)
    };
    LocalArray<uint32_t> a(UInt32(5u) + arange<uint32_t>(4) * 0u, 2);
    UInt32 lane = opaque(arange<uint32_t>(4));
    Two two = if_((a.get(lane & 1u) + lane) % 2u == 1u,
                  [&] {
                      LocalArray<uint32_t> b = a;
                      b.set(UInt32(0u), lane * 10u);
                      return Two{ b, b };
                  },
                  [&] { return Two{ a, a }; });
    two.a.set(UInt32(0u), lane + 100u);
    EXPECT_EQ((two.a.get(UInt32(0u)) + two.b.get(UInt32(0u)) * 1000u).read(),
              (U32s{ 100, 5101, 20102, 5103 }));
}

TEST_P(Regression, SumsInAnEvaluatedLoopAreThoseOfAllElements) {
    FlagScope loops(Flag::RecordLoops, false), ifs(Flag::RecordIfs, false);
    UInt32 many = opaque(arange<uint32_t>(5000)), lane = opaque(arange<uint32_t>(3));
    Count c = loop(
        Count{ UInt32(0u) + lane * 0u }, [&](const Count &c) { return c.i < lane; },
        [&](Count &c) {
            c.i += sum(many) - (5000u * 4999u / 2u - 1u);
            c.i += UInt32(count(many < 3u)) - 3u;
        });
    EXPECT_EQ(c.i.read(), (U32s{ 0, 1, 2 }));
}

TEST_P(Regression, ScatterAfterOneThatWasDroppedLeavesCopiesAlone) {
    struct Thing : Instance<Thing> {};
    Thing a, b;
    UInt32 target = opaque(full(5u, 3)), lane = arange<uint32_t>(3);
    auto write = [&](Thing *, const UInt32 &x) {
        scatter(target, x, x);
        return x;
    };
    call_masked(Pointer<Thing>(&a), Mask(false), write, lane); // traced, for the types alone
    UInt32 before = target;
    call(Pointer<Thing>(opaque(lane % 2u + 1u)), write, lane);
    EXPECT_EQ(before.read(), (U32s{ 5, 5, 5 }));
    EXPECT_EQ(target.read(), (U32s{ 0, 1, 2 }));
}

TEST_P(Regression, CallOfAConstantInstanceUnderAFalseMaskGivesZeros) {
    struct Thing : Instance<Thing> {};
    Thing a, b;
    Float32 r = call_masked(
        Pointer<Thing>(&a), Mask(false), [](Thing *, const Float32 &x) { return x + 1.f; },
        Float32(1.f));
    EXPECT_EQ(r.read(), (std::vector<float>{ 0 }));
}

TEST_P(Regression, CapturedScalarMayBeEvaluatedBeforeItsCall) {
    Count s = loop(
        Count{ 0u }, [](const Count &s) { return s.i < opaque(3u); }, [](Count &s) { s.i += 1u; });
    using Fn = std::function<UInt32(const UInt32 &)>;
    UInt32 lane = arange<uint32_t>(2);
    UInt32 r = switch_<UInt32, UInt32>(opaque(lane),
                                       std::vector<Fn>{ [&](const UInt32 &x) { return x + s.i; },
                                                        [](const UInt32 &x) { return x * 8u; } },
                                       lane);
    EXPECT_EQ(s.i.read(), (U32s{ 3 }));
    EXPECT_EQ(r.read(), (U32s{ 3, 8 }));
}

TEST_P(Regression, WideResultDoesNotTakeThePlaceOfThePacketItReads) {
    constexpr uint32_t Lanes = 64;
    Array<int16_t> source = copy(std::vector<int16_t>{ -1, -2, -3, -4, 5, 6, 7, 8 });
    auto packet = gather_packet<int16_t, 4>(source, opaque(arange<uint32_t>(Lanes) / 32u));
    std::vector<int64_t> r = Int64(packet[0]).read(); // as large as the four elements together
    for (uint32_t i = 0; i < Lanes; ++i)
        EXPECT_EQ(r[i], i < 32 ? -1 : 5) << i;
}

TEST_P(Regression, GatherMovedIntoABranchOfACalleeReadsNothingOutsideIt) {
    struct Thing : Instance<Thing> {};
    Thing a, b;
    UInt32 source = copy(U32s{ 5, 7, 9 }), t = zeros<uint32_t>(20), lane = arange<uint32_t>(20);
    call(
        Pointer<Thing>(opaque(lane % 3u)),
        [&](Thing *, const UInt32 &i) {
            UInt32 element =
                gather(source, i % 3u); // used in the branch alone, and so is its address
            if_(i % 4u == 1u, [&] { scatter(t, element, i); }, [] {});
        },
        lane);
    U32s expected(20, 0);
    for (uint32_t i = 1; i < 20; i += 4)
        expected[i] = i % 3 ? 5 + 2 * (i % 3) : 0;
    EXPECT_EQ(t.read(), expected);
}

// ---- side effects

TEST_P(Regression, EffectsOfALoopRunOnceThoughItsResultIsReadLater) {
    UInt32 counts = zeros<uint32_t>(2), lane = arange<uint32_t>(2);
    Count s = loop(
        Count{ 0u }, [&](const Count &s) { return s.i < lane + 1u; },
        [&](Count &s) {
            scatter_add(counts, UInt32(1u), lane);
            s.i += 1u;
        });
    EXPECT_EQ(counts.read(), (U32s{ 1, 2 }));
    EXPECT_EQ(s.i.read(), (U32s{ 1, 2 }));
    EXPECT_EQ(counts.read(), (U32s{ 1, 2 }));
}

TEST_P(Regression, EffectsOfABranchRunOnceThoughItsResultIsReadLater) {
    UInt32 counts = zeros<uint32_t>(2), lane = arange<uint32_t>(2);
    UInt32 r = if_(
        lane < 1u,
        [&] {
            scatter_add(counts, UInt32(1u), lane);
            return lane + 5u;
        },
        [&] { return lane * 3u; });
    EXPECT_EQ(counts.read(), (U32s{ 1, 0 }));
    EXPECT_EQ(r.read(), (U32s{ 5, 3 }));
    EXPECT_EQ(counts.read(), (U32s{ 1, 0 }));
}

TEST_P(Regression, EffectsOfACallRunOnceThoughItsResultIsReadLater) {
    struct Thing : Instance<Thing> {
        UInt32 k;
        explicit Thing(uint32_t k) : k(opaque(k)) {}
    };
    Thing a(10), b(20);
    UInt32 counts = zeros<uint32_t>(3), lane = arange<uint32_t>(3);
    UInt32 r = call(
        Pointer<Thing>(lane),
        [&](Thing *t, const UInt32 &i) {
            scatter_add(counts, UInt32(1u), i);
            return t->k + i;
        },
        lane);
    EXPECT_EQ(counts.read(), (U32s{ 0, 1, 1 }));
    EXPECT_EQ(r.read(), (U32s{ 0, 11, 22 }));
    EXPECT_EQ(counts.read(), (U32s{ 0, 1, 1 }));
}

TEST_P(Regression, NumbersOfScatterIncComeFromTheOneTimeItRan) {
    UInt32 counter = zeros<uint32_t>(1);
    UInt32 rank = scatter_inc(counter, zeros<uint32_t>(3));
    EXPECT_EQ(counter.read(), (U32s{ 3 }));
    U32s ranks = rank.read();
    std::sort(ranks.begin(), ranks.end());
    EXPECT_EQ(ranks, (U32s{ 0, 1, 2 }));
    EXPECT_EQ(counter.read(), (U32s{ 3 }));
}

TEST_P(Regression, NumbersOfScatterIncLeaveALoopThatRunsOnce) {
    UInt32 counter = zeros<uint32_t>(1), lane = arange<uint32_t>(4);
    struct State {
        UInt32 i, rank;
        UMBEL_STRUCT(i, rank)
    };
    State s = loop(
        State{ 0u, zeros<uint32_t>(4) },
        [&](const State &s) { return s.i < 1u + (lane & UInt32(0u)); },
        [&](State &s) {
            s.rank = scatter_inc(counter, zeros<uint32_t>(4));
            s.i += 1u;
        });
    EXPECT_EQ(counter.read(), (U32s{ 4 }));
    U32s ranks = s.rank.read();
    std::sort(ranks.begin(), ranks.end());
    EXPECT_EQ(ranks, (U32s{ 0, 1, 2, 3 }));
    EXPECT_EQ(counter.read(), (U32s{ 4 }));
}

TEST_P(Regression, ReductionsOfTheTopLevelComeBeforeALoopThatFollowsThem) {
    UInt32 t = zeros<uint32_t>(2), lane = arange<uint32_t>(2);
    scatter_add(t, UInt32(5u), lane); // carried out after its kernel: the loop must not share it
    loop(
        Count{ 0u }, [&](const Count &s) { return s.i < 1u + lane; },
        [&](Count &s) {
            scatter_reduce(ReduceOp::Mul, t, UInt32(3u), lane);
            s.i += 1u;
        });
    EXPECT_EQ(t.read(), (U32s{ 15, 45 }));
}

TEST_P(Regression, ArrayWrittenInOneBranchStaysPendingWhenTheOtherEvaluates) {
    UInt32 t = zeros<uint32_t>(2), lane = arange<uint32_t>(2), unrelated = lane * 7u;
    if_(lane < 1u, [&] { scatter(t, UInt32(9u), lane); }, [&] { eval(unrelated); });
    EXPECT_EQ(t.read(), (U32s{ 9, 0 }));
}

TEST_P(Regression, ArrayWrittenBeforeAndInALoopStaysPendingWhenTheLoopEvaluates) {
    UInt32 t = zeros<uint32_t>(2), lane = arange<uint32_t>(2), unrelated = lane * 7u;
    scatter(t, UInt32(1u), lane);
    loop(
        Count{ 0u }, [&](const Count &s) { return s.i < 1u + lane; },
        [&](Count &s) {
            scatter(t, s.i + 2u, lane);
            eval(unrelated);
            s.i += 1u;
        });
    EXPECT_EQ(t.read(), (U32s{ 2, 3 }));
}

TEST_P(Regression, ReductionReadsAValueThatIsAnOutputOfItsKernel) {
    UInt32 lane = arange<uint32_t>(4), x = lane * 3u, t = zeros<uint32_t>(4);
    scatter_add(t, x, (lane + 1u) % 4u);
    EXPECT_EQ(x.read(), (U32s{ 0, 3, 6, 9 }));
    EXPECT_EQ(t.read(), (U32s{ 9, 0, 3, 6 }));
}

TEST_P(Regression, ScatteredExtremaKeepTheTargetWhereTheValueIsNaN) {
    float nan = std::numeric_limits<float>::quiet_NaN();
    for (bool in_loop : { false, true }) {
        Float32 t = copy(std::vector<float>{ 1, nan, -0.f }),
                v = copy(std::vector<float>{ nan, 1, 0 });
        UInt32 lane = arange<uint32_t>(3);
        if (in_loop)
            loop(
                Count{ 0u }, [&](const Count &s) { return s.i < 1u + (lane & UInt32(0u)); },
                [&](Count &s) {
                    scatter_reduce(ReduceOp::Max, t, v, lane);
                    s.i += 1u;
                });
        else
            scatter_reduce(ReduceOp::Max, t, v, lane);
        std::vector<float> r = t.read();
        EXPECT_EQ(r[0], 1);
        EXPECT_TRUE(std::isnan(r[1]));
        EXPECT_TRUE(r[2] == 0 && std::signbit(r[2]));
    }
}

// ---- arithmetic

// NVIDIA's assembler takes absolute values to be at least 0, and converted this one as if it were.
TEST_P(Regression, TheLeastIntegerIsItsOwnAbsoluteValue) {
    Int32 x = copy(std::vector<int32_t>{ std::numeric_limits<int32_t>::min(), -5 });
    Int64 y = copy(std::vector<int64_t>{ std::numeric_limits<int64_t>::min(), -5 });
    EXPECT_EQ(Float32(UInt64(abs(x))).read(), (std::vector<float>{ 0x1p64f, 5 }));
    EXPECT_EQ(Float32(UInt64(abs(y))).read(), (std::vector<float>{ 0x1p63f, 5 }));
    EXPECT_EQ(UInt32(abs(x) < Int32(0)).read(), (U32s{ 1, 0 }));
}

// NVIDIA's driver took it for the integer 1.
TEST_P(Regression, TheLeastFloatOrNothingBecomesADouble) {
    Mask m = UInt32(copy(std::vector<uint32_t>{ 1, 0 })) != 0u;
    float least = std::numeric_limits<float>::denorm_min();
    EXPECT_EQ(Float64(select(m, Float32(least), Float32(0.f))).read(),
              (std::vector<double>{ least, 0 }));
}

// ---- evaluated modes

TEST_P(Regression, EvaluatedCallsOfFewAmongManyInstancesLaunchFewKernels) {
    FlagScope evaluated(Flag::RecordCalls, false), history(Flag::History, true);
    struct Thing : Instance<Thing> {};
    std::vector<Thing> things(500);
    Pointer<Thing> p(copy(std::vector<uint32_t>{ 7, 0, 400, 7 }));
    context.take_history();
    UInt32 r = call(
        p, [](Thing *, const UInt32 &i) { return i * 2u + 1u; },
        UInt32(copy(std::vector<uint32_t>{ 1, 2, 3, 4 })));
    EXPECT_EQ(r.read(), (U32s{ 3, 0, 7, 9 }));
    EXPECT_LT(context.take_history().size(), 500u); // each instance had several of its own
}

TEST_P(Regression, EvaluatedCallThatReachesNobodyHasNoEffect) {
    FlagScope evaluated(Flag::RecordCalls, false);
    struct Thing : Instance<Thing> {};
    Thing a, b;
    UInt32 t = zeros<uint32_t>(1);
    call(
        Pointer<Thing>(opaque(0u)),
        [&](Thing *, const UInt32 &i) { scatter_add(t, UInt32(1u), i); }, UInt32(0u));
    EXPECT_EQ(t.read(), (U32s{ 0 }));
}

TEST_P(Regression, GatherOfOneElementUnderAWideEvaluatedMaskIsWide) {
    FlagScope evaluated(Flag::RecordIfs, false);
    UInt32 source = opaque(46u), lane = arange<uint32_t>(2);
    UInt32 r =
        if_(lane == 1u, [&] { return gather(source, UInt32(0u)); }, [&] { return UInt32(8u); });
    EXPECT_EQ(r.read(), (U32s{ 8, 46 }));
}

UMBEL_BACKENDS(Regression)

} // namespace
