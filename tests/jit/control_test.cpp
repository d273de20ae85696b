// tests/jit/control_test.cpp: recorded and evaluated loops and conditionals.
#include "jit/control.h"
#include "support/backend_fixture.h"
#include <numeric>

using namespace umbel;
using namespace umbel::jit;
using umbel::test::occurrences;

namespace {

template <class T> std::vector<T> list(std::initializer_list<T> v) { return v; }

// Each test runs recorded and evaluated, on both backends.
struct Mode {
    const char *backend;
    bool recorded;
};
class ControlTest : public testing::TestWithParam<Mode> {
protected:
    ControlTest() : context(test::backend_named(GetParam().backend)), scope(context) {
        context.set(Flag::Verify, true);
        context.set(Flag::RecordLoops, GetParam().recorded);
        context.set(Flag::RecordIfs, GetParam().recorded);
    }
    void TearDown() override {
        context.evaluate({});
        context.synchronize();
        EXPECT_EQ(context.graph.live_nodes(), 0u);
    }
    Context context;
    ContextScope scope;
};

// What only recording shows: the program.
class RecordedTest : public test::BackendTest {};

// ---- loops

TEST_P(ControlTest, LanesLeaveALoopOnTheirOwn) {
    struct State {
        UInt32 n, steps;
        UMBEL_STRUCT(n, steps)
    };
    State s = loop(
        State{ arange<uint32_t>(30) + 1u, zeros<uint32_t>(30) },
        [](const State &s) { return s.n != 1u; },
        [](State &s) {
            s.n = select((s.n & 1u) == 0u, s.n >> 1u, 3u * s.n + 1u);
            s.steps += 1u;
        });
    auto got = s.steps.read();
    for (uint32_t i = 0; i < 30; ++i) {
        uint32_t n = i + 1, steps = 0;
        for (; n != 1; ++steps)
            n = n % 2 ? 3 * n + 1 : n / 2;
        EXPECT_EQ(got[i], steps) << i;
    }
}

TEST_P(ControlTest, StateVariablesMayChangePlaces) {
    struct State {
        UInt32 i, a, b;
        UMBEL_STRUCT(i, a, b)
    };
    State s = loop(
        State{ 0u, arange<uint32_t>(4), 100u + arange<uint32_t>(4) },
        [](const State &s) { return s.i < 3u + s.a * 0u; },
        [](State &s) {
            std::swap(s.a, s.b);
            s.i += 1u;
        });
    EXPECT_EQ(s.a.read(), list<uint32_t>({ 100, 101, 102, 103 }));
    EXPECT_EQ(s.b.read(), list<uint32_t>({ 0, 1, 2, 3 }));
}

TEST_P(ControlTest, LoopsNest) {
    UInt32 n = arange<uint32_t>(6);
    using State = std::tuple<UInt32, UInt32>; // i, sum
    State s = loop(
        State(0u, zeros<uint32_t>(6)), [&](const State &s) { return std::get<0>(s) < n; },
        [](State &outer) {
            auto &[i, sum] = outer;
            State inner = loop(
                State(0u, sum), [&](const State &t) { return std::get<0>(t) <= i; },
                [&](State &t) {
                    std::get<1>(t) += std::get<0>(t) * i;
                    std::get<0>(t) += 1u;
                },
                "inner");
            sum = std::get<1>(inner);
            i += 1u;
        });
    auto got = std::get<1>(s).read();
    for (uint32_t lane = 0; lane < 6; ++lane) {
        uint32_t sum = 0;
        for (uint32_t i = 0; i < lane; ++i)
            for (uint32_t j = 0; j <= i; ++j)
                sum += i * j;
        EXPECT_EQ(got[lane], sum);
    }
}

TEST_P(ControlTest, StructsTuplesArraysAndVectorsAreState) {
    struct Inner {
        Float32 x;
        std::array<Int32, 2> pair;
        UMBEL_STRUCT(x, pair)
    };
    struct State {
        Inner inner;
        std::vector<UInt32> list;
        std::tuple<Mask, Float64> mixed;
        int constant; // of the host: passed over
        UMBEL_STRUCT(inner, list, mixed, constant)
    };
    State s = loop(
        State{ { arange<float>(3), { Int32(0), Int32(1) } },
               { zeros<uint32_t>(3), UInt32(1u) },
               { Mask(false), Float64(1.0) },
               7 },
        [](const State &s) { return s.list[0] < 4u; },
        [](State &s) {
            s.inner.x *= 2.f;
            s.inner.pair = { s.inner.pair[1], s.inner.pair[0] + s.inner.pair[1] };
            s.list[0] += 1u;
            s.list[1] = s.list[1] * 3u;
            std::get<0>(s.mixed) = !std::get<0>(s.mixed);
            std::get<1>(s.mixed) /= 2.0;
        });
    EXPECT_EQ(s.inner.x.read(), list<float>({ 0, 16, 32 }));
    EXPECT_EQ(item(s.inner.pair[0]), 3);
    EXPECT_EQ(item(s.inner.pair[1]), 5);
    EXPECT_EQ(item(s.list[1]), 81u);
    EXPECT_FALSE(item(Mask(std::get<0>(s.mixed))));
    EXPECT_EQ(item(std::get<1>(s.mixed)), 1.0 / 16);
    EXPECT_EQ(s.constant, 7);
}

TEST_P(ControlTest, ALoopThatNoLaneEntersLeavesItsState) {
    UInt32 x = arange<uint32_t>(3);
    std::tuple<UInt32> s = loop(
        std::tuple<UInt32>(x), [](const auto &s) { return std::get<0>(s) > 5u; },
        [](auto &s) { std::get<0>(s) = UInt32(0u) * std::get<0>(s) + 1u; });
    EXPECT_EQ(std::get<0>(s).read(), list<uint32_t>({ 0, 1, 2 }));
}

TEST_P(ControlTest, SideEffectsHappenOncePerIterationAndActiveLane) {
    UInt32 visits = zeros<uint32_t>(4), total = zeros<uint32_t>(1), n = arange<uint32_t>(4);
    std::tuple<UInt32> s = loop(
        std::tuple<UInt32>(zeros<uint32_t>(4)), [&](const auto &s) { return std::get<0>(s) < n; },
        [&](auto &s) {
            scatter_add(visits, UInt32(1u), n);
            scatter_add(total, std::get<0>(s), UInt32(0u));
            std::get<0>(s) += 1u;
        });
    eval(std::get<0>(s));
    EXPECT_EQ(visits.read(), list<uint32_t>({ 0, 1, 2, 3 }));
    EXPECT_EQ(item(total), 0u + 0 + 1 + 0 + 1 + 2);
}

TEST_P(ControlTest, GathersInALoopFollowItsState) {
    UInt32 next = copy(list<uint32_t>({ 1, 2, 3, 3 })); // a list that ends in itself
    std::tuple<UInt32, UInt32> s = loop(
        std::tuple(arange<uint32_t>(4), zeros<uint32_t>(4)),
        [&](const auto &s) { return gather(next, std::get<0>(s)) != std::get<0>(s); },
        [&](auto &s) {
            std::get<0>(s) = gather(next, std::get<0>(s));
            std::get<1>(s) += 1u;
        });
    EXPECT_EQ(std::get<1>(s).read(), list<uint32_t>({ 3, 2, 1, 0 }));
}

// ---- conditionals

TEST_P(ControlTest, BranchesGiveStructs) {
    struct Pair {
        Float32 a;
        UInt32 b;
        UMBEL_STRUCT(a, b)
    };
    UInt32 n = arange<uint32_t>(4);
    Pair p = if_(
        n < 2u, [&] { return Pair{ sqrt(Float32(n)), n }; },
        [&] { return Pair{ Float32(n) * 10.f, n + 7u }; });
    EXPECT_EQ(p.a.read(), list<float>({ 0, 1, 20, 30 }));
    EXPECT_EQ(p.b.read(), list<uint32_t>({ 0, 1, 9, 10 }));
}

TEST_P(ControlTest, SideEffectsInBranchesRespectTheCondition) {
    UInt32 target = zeros<uint32_t>(6), sum = zeros<uint32_t>(2), n = arange<uint32_t>(6);
    if_(
        n % 3u == 0u,
        [&] {
            scatter(target, n + 10u, n);
            scatter_add(sum, n, UInt32(0u));
        },
        [&] { scatter_add(sum, n, UInt32(1u)); });
    EXPECT_EQ(target.read(), list<uint32_t>({ 10, 0, 0, 13, 0, 0 }));
    EXPECT_EQ(sum.read(), list<uint32_t>({ 3, 12 }));
}

TEST_P(ControlTest, ConditionalsNestInLoopsAndLoopsInConditionals) {
    UInt32 n = arange<uint32_t>(8), hits = zeros<uint32_t>(8);
    auto s = loop(
        std::tuple(zeros<uint32_t>(8), zeros<uint32_t>(8)),
        [&](const auto &s) { return std::get<0>(s) < n; },
        [&](auto &s) {
            auto &[i, sum] = s;
            sum += if_((i & 1u) == 0u,
                       [&] {
                           scatter_add(hits, UInt32(1u), n);
                           auto t = loop(
                               std::tuple(UInt32(0u), zeros<uint32_t>(8)),
                               [&](const auto &t) { return std::get<0>(t) < i; },
                               [&](auto &t) {
                                   std::get<1>(t) += n;
                                   std::get<0>(t) += 1u;
                               });
                           return std::get<1>(t);
                       },
                       [&] { return i; });
            i += 1u;
        });
    auto got = std::get<1>(s).read();
    auto hit = hits.read();
    for (uint32_t lane = 0; lane < 8; ++lane) {
        uint32_t sum = 0, h = 0;
        for (uint32_t i = 0; i < lane; ++i) {
            sum += i % 2 ? i : i * lane;
            h += i % 2 == 0;
        }
        EXPECT_EQ(got[lane], sum);
        EXPECT_EQ(hit[lane], h);
    }
}

TEST_P(ControlTest, AConstantConditionTracesOneBranch) {
    int traced = 0;
    UInt32 x = if_(
        Mask(true), [&] { return UInt32(1u); },
        [&] {
            ++traced;
            return UInt32(2u);
        });
    EXPECT_EQ(traced, 0);
    EXPECT_EQ(item(x), 1u);
}

INSTANTIATE_TEST_SUITE_P(Modes, ControlTest,
                         testing::Values(Mode{ "interp", true }, Mode{ "interp", false },
                                         Mode{ "llvm", true }, Mode{ "llvm", false }),
                         [](auto &info) {
                             return std::string(info.param.backend) +
                                    (info.param.recorded ? "_recorded" : "_evaluated");
                         });

// ---- what recording makes of it

TEST_P(RecordedTest, ALoopIsOneKernelWhateverItsLength) {
    context.set(Flag::History, true);
    auto s = loop(
        std::tuple(zeros<uint32_t>(5)), [](const auto &s) { return std::get<0>(s) < 1000u; },
        [](auto &s) { std::get<0>(s) += 1u; });
    EXPECT_EQ(std::get<0>(s).read(), std::vector<uint32_t>(5, 1000));
    EXPECT_EQ(context.take_history().size(), 1u);
}

struct Counted {
    UInt32 i, sum, invariant, constant, unread;
    UMBEL_STRUCT(i, sum, invariant, constant, unread)
};
Counted count_up() {
    UInt32 n = opaque(arange<uint32_t>(4));
    return loop(
        Counted{ 0u, zeros<uint32_t>(4), n, 3u, 5u }, [&](const Counted &s) { return s.i < n; },
        [](Counted &s) {
            s.sum += s.invariant * s.constant;
            s.unread = s.unread * 7u + s.i;
            s.i += 1u;
        });
}

TEST_P(RecordedTest, InvariantConstantAndUnreadStateIsRemoved) {
    EXPECT_EQ(count_up().sum.read(), list<uint32_t>({ 0, 3, 12, 27 }));
    EXPECT_EQ(occurrences(context.last_program_text(), "= Phi"), 2) << context.last_program_text();
}

TEST_P(RecordedTest, WithoutTheFlagAllStateStays) {
    FlagScope off(Flag::OptimizeLoops, false);
    EXPECT_EQ(count_up().sum.read(), list<uint32_t>({ 0, 3, 12, 27 }));
    EXPECT_EQ(occurrences(context.last_program_text(), "= Phi"), 5) << context.last_program_text();
}

TEST_P(RecordedTest, InvariantStateComesBackAsItWas) {
    Counted s = count_up();
    EXPECT_TRUE(s.constant.is_literal());
    EXPECT_TRUE(s.invariant.is_evaluated());
}

TEST_P(RecordedTest, InvariantCodeLeavesTheLoop) {
    Float32 x = opaque(arange<float>(4));
    auto trace = [&] {
        auto s = loop(
            std::tuple(UInt32(0u), zeros<float>(4)),
            [&](const auto &s) { return std::get<0>(s) < 5u; },
            [&](auto &s) {
                std::get<1>(s) += exp(x);
                std::get<0>(s) += 1u;
            });
        eval(std::get<1>(s));
        std::string text = context.last_program_text();
        return text.find("= Exp") < text.find("LoopBegin");
    };
    EXPECT_TRUE(trace());
}

TEST_P(ControlTest, LocalArraysAreLoopState) {
    // Each lane sorts five numbers by insertion.
    struct State {
        UInt32 i;
        LocalArray<uint32_t> a;
        UMBEL_STRUCT(i, a)
    };
    UInt32 lane = arange<uint32_t>(16);
    auto number = [&](const UInt32 &i) { return (lane * 7u + i * 5u + 3u) % 11u; };
    State s = loop(
        State{ 0u, LocalArray<uint32_t>(UInt32(0u) + lane * 0u, 5) },
        [](const State &s) { return s.i < 5u; },
        [&](State &s) {
            UInt32 x = number(s.i);
            struct Shift {
                UInt32 j;
                LocalArray<uint32_t> a;
                UMBEL_STRUCT(j, a)
            };
            Shift t = loop(
                Shift{ s.i, s.a },
                [&](const Shift &t) { return (t.j > 0u) & (t.a.get(t.j - 1u) > x); },
                [](Shift &t) {
                    t.a.set(t.j, t.a.get(t.j - 1u));
                    t.j -= 1u;
                });
            t.a.set(t.j, x);
            s.a = t.a;
            s.i += 1u;
        });
    std::vector<std::vector<uint32_t>> got;
    for (uint32_t k = 0; k < 5; ++k)
        got.push_back(s.a.get(UInt32(k)).read());
    for (uint32_t l = 0; l < 16; ++l) {
        std::vector<uint32_t> expected;
        for (uint32_t i = 0; i < 5; ++i)
            expected.push_back((l * 7 + i * 5 + 3) % 11);
        std::sort(expected.begin(), expected.end());
        for (uint32_t k = 0; k < 5; ++k)
            EXPECT_EQ(got[k][l], expected[k]) << "lane " << l << " element " << k;
    }
}

TEST_P(ControlTest, LocalArraysAreResultsOfConditionals) {
    LocalArray<uint32_t> a(UInt32(7u) + arange<uint32_t>(4) * 0u, 3);
    UInt32 lane = opaque(arange<uint32_t>(4));
    auto with = [&](uint32_t place, uint32_t value) {
        LocalArray<uint32_t> b = a;
        b.set(UInt32(place), lane * value);
        return b;
    };
    LocalArray<uint32_t> b =
        if_((lane & 1u) == 1u, [&] { return with(0, 10); }, [&] { return with(2, 100); });
    EXPECT_EQ(b.get(UInt32(0u)).read(), list<uint32_t>({ 7, 10, 7, 30 }));
    EXPECT_EQ(b.get(UInt32(1u)).read(), list<uint32_t>({ 7, 7, 7, 7 }));
    EXPECT_EQ(b.get(UInt32(2u)).read(), list<uint32_t>({ 0, 7, 200, 7 }));
}

TEST_P(RecordedTest, CheapConditionalsBecomeSelects) {
    Float32 x = opaque(arange<float>(4));
    auto run = [&] {
        if_(x > 1.f, [&] { return x * 2.f; }, [&] { return x + 1.f; }).read();
        return context.last_program_text();
    };
    EXPECT_EQ(run().find("IfBegin"), std::string::npos);
    FlagScope off(Flag::FlattenIfs, false);
    EXPECT_NE(run().find("IfBegin"), std::string::npos);
}

// Where nodes that exist already were not counted, a value that somebody held changed the program, and compiled it anew.
TEST_P(RecordedTest, WhatElseIsAliveDoesNotChangeAConditional) {
    Float32 x = opaque(arange<float>(4));
    auto chain = [&](int n) {
        Float32 v = x;
        for (int i = 0; i < n; ++i)
            v = v * (1 + 0.01f * float(i)) + 0.5f;
        return v;
    };
    auto run = [&](int n) {
        if_(x > 1.f, [&] { return chain(n); }, [&] { return x; }).read();
        return context.last_program_text();
    };
    int flat = 0;
    for (int n = 1; n < 30; ++n) {
        std::string alone = run(n);
        Float32 held = chain(n);
        EXPECT_EQ(run(n), alone) << n;
        flat += alone.find("IfBegin") == std::string::npos;
    }
    EXPECT_GT(flat, 3);
    EXPECT_LT(flat, 26);
}

TEST_P(RecordedTest, CodeOfOneBranchOnlyMovesIntoIt) {
    Float32 x = opaque(arange<float>(4)), source = opaque(arange<float>(4));
    Float32 dear = sin(exp(x)); // traced outside, needed in one branch
    Float32 r = if_(x > 1.f, [&] { return dear * gather(source, UInt32(x)); }, [&] { return x; });
    dear = Float32();
    r.read();
    std::string text = context.last_program_text();
    EXPECT_GT(text.find("= Sin"), text.find("IfBegin")) << text;
    EXPECT_LT(text.find("= Sin"), text.find("Else")) << text;
}

TEST_P(RecordedTest, UnreadResultsOfAConditionalDisappear) {
    FlagScope off(Flag::FlattenIfs, false);
    Float32 x = opaque(arange<float>(4));
    auto r = if_(
        x > 1.f, [&] { return std::tuple(x * 2.f, exp(x)); },
        [&] { return std::tuple(x, log(x)); });
    EXPECT_EQ(std::get<0>(r).read(), list<float>({ 0, 1, 4, 6 }));
    EXPECT_EQ(context.last_program_text().find("= Exp"), std::string::npos);
    EXPECT_EQ(occurrences(context.last_program_text(), "= Merge"), 1);
}

TEST_P(RecordedTest, DeepNestingIsNotWalkedRecursively) {
    UInt32 x = opaque(arange<uint32_t>(4));
    std::function<UInt32(int)> nest = [&](int depth) -> UInt32 {
        if (depth == 0)
            return x + 1u;
        auto s = loop(
            std::tuple(UInt32(0u), zeros<uint32_t>(4)),
            [](const auto &s) { return std::get<0>(s) < 1u; },
            [&](auto &s) {
                std::get<1>(s) += nest(depth - 1);
                std::get<0>(s) += 1u;
            });
        return std::get<1>(s);
    };
    EXPECT_EQ(nest(12).read(), list<uint32_t>({ 1, 2, 3, 4 }));
}

UMBEL_BACKENDS(RecordedTest)

} // namespace
