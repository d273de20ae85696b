// tests/ad/nested_loop_test.cpp: reverse derivatives of loops inside other recorded bodies.
#include "support/gradient_check.h"

using namespace umbel::jit;
using namespace umbel::ad;
using namespace umbel::test;

namespace {

class NestedLoop : public AdTest {};

struct State {
    Float64 s, p;
    UInt32 i, n;
    UMBEL_STRUCT(s, p, i, n)
};

// s <- 0.6 sin(s) + p cos(s), n times: of no kind that runs forward.
State inner(const Float64 &s, const Float64 &p, const UInt32 &n) {
    return loop(
        State{ s, p, UInt32(0u), n }, [](const State &x) { return x.i < x.n; },
        [](State &x) {
            x.s = sin(x.s) * 0.6 + x.p * cos(x.s);
            x.i = x.i + 1u;
        });
}

Float64 nest(const Float64 &x, const Float64 &p, const UInt32 &outer, const UInt32 &times) {
    State end = loop(
        State{ x, p, UInt32(0u), outer }, [](const State &a) { return a.i < a.n; },
        [&](State &a) {
            Float64 s = inner(a.s * 1.1, a.p, times + a.i).s;
            a.s = s * s + a.s * 0.3;
            a.i = a.i + 1u;
        });
    return end.s;
}

std::vector<List> points() { return { { 0.3, 0.7, -0.4, 0.9 }, { 0.5, 0.2, 0.8, -0.3 } }; }

TEST_P(NestedLoop, MatchesDifferences) {
    for (uint32_t times : { 0u, 1u, 33u, 70u })
        expect_lanewise(
            "a loop in a loop",
            [&](const Inputs &in) {
                return nest(in[0], in[1], UInt32(3u), UInt32(opaque(UInt32(times))));
            },
            points());
}

// Lanes iterate as often as they like.
TEST_P(NestedLoop, LanesMayDiffer) {
    expect_lanewise(
        "lanes that differ",
        [&](const Inputs &in) {
            UInt32 lane = arange<uint32_t>(4);
            return nest(in[0], in[1], lane, lane * 23u + 1u);
        },
        points());
}

// Beyond 1,024 iterations a state is computed from one that is several steps back.
TEST_P(NestedLoop, LongOnesAreComputedAgain) {
    List x{ 0.3, 0.7 }, p{ 0.9, 0.95 };
    auto f = [](const Float64 &x, const Float64 &p, const UInt32 &n) {
        // Slow enough that the first iterations still count in the end
        State end = loop(
            State{ x, p, UInt32(0u), UInt32(1u) }, [](const State &a) { return a.i < a.n; },
            [&](State &a) {
                a.s =
                    loop(
                        State{ a.s, a.p, UInt32(0u), n }, [](const State &b) { return b.i < b.n; },
                        [](State &b) {
                            b.s = b.s + sin(b.s) * b.p * 1e-3;
                            b.i = b.i + 1u;
                        })
                        .s;
                a.i = a.i + 1u;
            });
        return end.s;
    };
    for (uint32_t n : { 1024u, 1500u })
        expect_lanewise(
            "a long loop in a loop",
            [&](const Inputs &in) { return f(in[0], in[1], UInt32(opaque(UInt32(n)))); }, { x, p });
}

TEST_P(NestedLoop, WorksInConditionals) {
    expect_lanewise(
        "a loop in a conditional",
        [&](const Inputs &in) {
            return if_(
                in[0] > 0.0, [&] { return inner(in[0], in[1], UInt32(5u)).s; },
                [&] { return in[0] * in[1]; });
        },
        points());
}

// Arrays that the inner loop reads get their gradients in memory.
TEST_P(NestedLoop, ArraysThatItReadsHaveGradients) {
    List table{ 0.2, 0.5, 0.9, 0.4, 0.7 };
    auto f = [](const Float64 &t) {
        Float64 x = linspace(0.1, 0.8, 8);
        State end = loop(
            State{ x, x, UInt32(0u), UInt32(3u) }, [](const State &a) { return a.i < a.n; },
            [&](State &a) {
                a.s = loop(
                          State{ a.s, a.s, UInt32(0u), UInt32(4u) },
                          [](const State &b) { return b.i < b.n; },
                          [&](State &b) {
                              Float64 e(gather(t, (b.i + a.i) % 5u, Mask(true)));
                              b.s = sin(b.s) * e + b.s * b.s * 0.2;
                              b.i = b.i + 1u;
                          })
                          .s;
                a.i = a.i + 1u;
            });
        return sum(end.s);
    };
    Float64 t = copy(table);
    enable_grad(t);
    Float64 y = f(t);
    backward(y);
    List got = grad(t).read();
    for (size_t k = 0; k < table.size(); ++k) {
        auto at = [&](double step) {
            List moved = table;
            moved[k] += step;
            return item(f(Float64(copy(moved))));
        };
        EXPECT_NEAR(got[k], (at(1e-5) - at(-1e-5)) / 2e-5, 1e-7);
    }
}

UMBEL_BACKENDS(NestedLoop)

} // namespace
