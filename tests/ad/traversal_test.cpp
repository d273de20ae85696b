// tests/ad/traversal_test.cpp: starting, steering and clearing up after traversals; what is left behind.
#include "support/gradient_check.h"

using namespace umbel::jit;
using namespace umbel::ad;
using namespace umbel::test;

namespace {

class Traversal : public AdTest {};

// x -> u -> y, with u interior
struct Chain {
    Float64 x, u, y;
    Chain() : x(copy(List{ 1, 2, 3 })) {
        enable_grad(x);
        u = x * x;
        y = sin(u) * 2.0;
    }
};

double slope(double x) { return 4 * x * std::cos(x * x); }
void expect_slopes(const Float64 &g) {
    List got = g.read();
    for (int i = 0; i < 3; ++i)
        EXPECT_NEAR(got[i], slope(i + 1), 1e-12);
}

// ---- values

TEST_P(Traversal, GradientsStartOutAsZeros) {
    Float64 x = copy(List{ 1, 2, 3 });
    EXPECT_FALSE(grad_enabled(x));
    EXPECT_EQ(grad(x).read(), (List{ 0, 0, 0 }));
    enable_grad(x);
    EXPECT_TRUE(grad_enabled(x));
    EXPECT_EQ(grad(x).read(), (List{ 0, 0, 0 }));
}

TEST_P(Traversal, SetAccumulateAndClear) {
    Float64 x = copy(List{ 1, 2, 3 });
    enable_grad(x);
    set_grad(x, Float64(2.0)); // broadcasts
    EXPECT_EQ(grad(x).read(), (List{ 2, 2, 2 }));
    accumulate_grad(x, copy(List{ 1, 2, 3 }));
    EXPECT_EQ(grad(x).read(), (List{ 3, 4, 5 }));
    set_grad(x, copy(List{ 7, 8, 9 }));
    EXPECT_EQ(grad(x).read(), (List{ 7, 8, 9 }));
    clear_grad(x);
    EXPECT_EQ(grad(x).read(), (List{ 0, 0, 0 }));
}

TEST_P(Traversal, EnablingTwiceIsEnablingOnce) {
    Float64 x = copy(List{ 1 });
    enable_grad(x);
    GradId id = x.grad_id();
    enable_grad(x);
    EXPECT_EQ(x.grad_id(), id);
}

TEST_P(Traversal, DisabledAndDetachedValuesAreConstants) {
    Float64 x = copy(List{ 2, 3 });
    enable_grad(x);
    Float64 y = x * detach(x);
    EXPECT_EQ(detach(x).id(), x.id()); // the same recorded value
    backward(y);
    EXPECT_EQ(grad(x).read(), (List{ 2, 3 }));
    disable_grad(x);
    EXPECT_FALSE(grad_enabled(x * x));
}

TEST_P(Traversal, GradientsCarryNoGradients) {
    Chain c;
    backward(c.y);
    EXPECT_FALSE(grad_enabled(grad(c.x)));
}

TEST_P(Traversal, ReplaceGradTakesTheValueOfOneAndTheDerivativesOfTheOther) {
    Float64 a = copy(List{ 10, 20 }), x = copy(List{ 2, 3 });
    enable_grad(a);
    enable_grad(x);
    Float64 y = replace_grad(a, x * x);
    EXPECT_EQ(y.read(), (List{ 10, 20 }));
    y = y * 2.0;
    backward(y);
    EXPECT_EQ(grad(x).read(), (List{ 8, 12 }));
    EXPECT_EQ(grad(a).read(), (List{ 0, 0 }));

    // As in a detached sampling strategy: value 1, derivative of the ratio
    Float64 f = x * x, ratio = replace_grad(Float64(1.0), f / detach(f));
    EXPECT_EQ(ratio.size(), 2u);
    backward(ratio);
    List g = grad(x).read();
    EXPECT_NEAR(g[0], 8 + 2.0 / 2, 1e-14); // adds to what was there
    EXPECT_NEAR(g[1], 12 + 2.0 / 3, 1e-14);

    Float64 plain = replace_grad(x, Float64(1.0));
    EXPECT_FALSE(grad_enabled(plain));
}

TEST_P(Traversal, ReplaceGradOfAWideValueWithAUniformDerivative) {
    Float64 u = opaque(3.0);
    enable_grad(u);
    Float64 y = replace_grad(copy(List{ 1, 2, 3 }), u * u) * copy(List{ 1, 10, 100 });
    EXPECT_EQ(y.read(), (List{ 1, 20, 300 }));
    backward(y);
    EXPECT_EQ(item(grad(u)), 6 * 111);
}

// ---- directions

TEST_P(Traversal, BackwardReachesAllInputsAndForwardAllResults) {
    Float64 a = copy(List{ 2, 3 }), b = copy(List{ 5, 7 });
    enable_grad(a);
    enable_grad(b);
    {
        Float64 y = a * b + a;
        backward(y);
        EXPECT_EQ(grad(a).read(), (List{ 6, 8 }));
        EXPECT_EQ(grad(b).read(), (List{ 2, 3 }));
    }
    clear_grad(a);
    clear_grad(b);
    Float64 y = a * b, z = a * a;
    forward(a);
    EXPECT_EQ(grad(y).read(), (List{ 5, 7 }));
    EXPECT_EQ(grad(z).read(), (List{ 4, 6 }));
}

TEST_P(Traversal, FromVariantsUseTheGradientThatIsThere) {
    Chain c;
    set_grad(c.y, copy(List{ 1, 10, 100 }));
    backward_from(c.y);
    List g = grad(c.x).read();
    for (int i = 0; i < 3; ++i)
        EXPECT_NEAR(g[i], slope(i + 1) * std::pow(10, i), 1e-10);
    Chain d;
    set_grad(d.x, copy(List{ 1, 10, 100 }));
    forward_from(d.x);
    g = grad(d.y).read();
    for (int i = 0; i < 3; ++i)
        EXPECT_NEAR(g[i], slope(i + 1) * std::pow(10, i), 1e-10);
}

// Only what lies between results with gradients and x is traversed: a does not take part.
TEST_P(Traversal, BackwardToOneInputLeavesOthersAlone) {
    Float64 x = copy(List{ 2, 3 }), a = copy(List{ 5, 7 });
    enable_grad(x);
    enable_grad(a);
    Float64 u = a * a, y = x * u, z = x * x;
    set_grad(y, Float64(1.0));
    set_grad(z, Float64(10.0));
    EXPECT_EQ(Float64(backward_to(x)).read(), (List{ 25 + 40, 49 + 60 }));
    EXPECT_EQ(grad(a).read(), (List{ 0, 0 }));
    EXPECT_EQ(grad(u).read(), (List{ 0, 0 }));
}

TEST_P(Traversal, ForwardToOneResultLeavesOthersAlone) {
    Float64 x = copy(List{ 2, 3 }), a = copy(List{ 5, 7 });
    enable_grad(x);
    enable_grad(a);
    Float64 y = x * a, z = x * x;
    set_grad(x, Float64(1.0));
    set_grad(a, Float64(100.0));
    EXPECT_EQ(Float64(forward_to(y)).read(), (List{ 205, 307 }));
    EXPECT_EQ(grad(z).read(), (List{ 0, 0 }));
}

TEST_P(Traversal, SeveralStartsAreOneTraversal) {
    Float64 x = copy(List{ 2 });
    enable_grad(x);
    Float64 y = x * x, z = y * x; // y is a start and lies on z's way
    set_grad(y, Float64(100.0));
    set_grad(z, Float64(1.0));
    enqueue(Mode::Backward, y);
    enqueue(Mode::Backward, z);
    traverse(Mode::Backward);
    EXPECT_EQ(item(grad(x)), 100 * 4 + 12);
}

TEST_P(Traversal, AGraphWithManyPathsIsPassedOncePerEdge) {
    Float64 x = copy(List{ 0.5 });
    enable_grad(x);
    Float64 y = x;
    for (int i = 0; i < 60; ++i) // 2^60 paths
        y = (y + y) * 0.5;
    backward(y);
    EXPECT_EQ(item(grad(x)), 1);
}

TEST_P(Traversal, ALongChainNeedsNoStack) {
    Float64 x = copy(List{ 0.5 });
    enable_grad(x);
    {
        Float64 y = x;
        for (int i = 0; i < 200000; ++i)
            y = y * 1.0000001 + 1e-9;
    } // dies here, node after node
    EXPECT_EQ(live_nodes(), 1u);
}

// ---- flags

TEST_P(Traversal, DefaultFlagsLeaveTheGradientOfTheInputsAlone) {
    Chain c;
    backward(c.y);
    expect_slopes(grad(c.x));
    EXPECT_EQ(grad(c.y).read(), (List{ 0, 0, 0 }));
    EXPECT_EQ(grad(c.u).read(), (List{ 0, 0, 0 }));
    EXPECT_EQ(dot().find("->"), std::string::npos) << dot();
    EXPECT_EQ(live_nodes(), 3u); // those of x, u and y, whose values are alive
}

TEST_P(Traversal, ClearNothingKeepsGraphAndGradients) {
    Chain c;
    backward(c.y, ClearNothing);
    expect_slopes(grad(c.x));
    EXPECT_EQ(grad(c.y).read(), (List{ 1, 1, 1 }));
    EXPECT_NEAR(grad(c.u).read()[0], 2 * std::cos(1.0), 1e-12);
    EXPECT_NE(dot().find("->"), std::string::npos);
}

TEST_P(Traversal, EachFlagClearsItsPart) {
    for (uint32_t clear = 0; clear <= ClearAll; ++clear) {
        Chain c;
        backward(c.y, clear);
        expect_slopes(grad(c.x));
        EXPECT_EQ(grad(c.y).read()[0] == 0, (clear & ClearInput) != 0) << clear;
        EXPECT_EQ(grad(c.u).read()[0] == 0, (clear & ClearInterior) != 0) << clear;
        EXPECT_EQ(dot().find("->") == std::string::npos, (clear & ClearEdges) != 0) << clear;
    }
    for (uint32_t clear = 0; clear <= ClearAll; ++clear) {
        Chain c;
        forward(c.x, clear);
        expect_slopes(grad(c.y));
        EXPECT_EQ(grad(c.x).read()[0] == 0, (clear & ClearInput) != 0) << clear;
        EXPECT_EQ(grad(c.u).read()[0] == 0, (clear & ClearInterior) != 0) << clear;
        EXPECT_EQ(dot().find("->") == std::string::npos, (clear & ClearEdges) != 0) << clear;
    }
}

TEST_P(Traversal, AKeptGraphCanBeTraversedAgain) {
    Chain c;
    for (int i = 0; i < 3; ++i) {
        clear_grad(c.x);
        backward(c.y, ClearInput | ClearInterior);
        expect_slopes(grad(c.x));
        clear_grad(c.x);
        forward(c.x, ClearInput | ClearInterior);
        expect_slopes(grad(c.y));
        clear_grad(c.y);
    }
}

// ---- vertex elimination: the same derivatives from fewer nodes

TEST_P(Traversal, EliminatedVerticesChangeNoDerivative) {
    tape().eliminate_before_traversal = true;
    std::vector<List> points = { random_points(1, 9, 0.5, 2),
                                 random_points(2, 9, 0.5, 2),
                                 { 0.7 } };
    expect_gradient(
        "eliminated",
        [](const Inputs &in) {
            Mask even = (arange<uint32_t>(9) & 1u) == 0u;
            Float64 u = in[0] * in[1], v = exp(sin(u) * 0.5), w = select(even, v * v, v + in[2]);
            return sqrt(w * w + 1.0) * max(v, in[1] - 2.0) + log(w + 2.0);
        },
        points);
    Float64 x = copy(List{ 1, 2, 3 });
    enable_grad(x);
    {
        Float64 y = sin(cos(exp(sin(x)))) * 2.0 + 1.0;
        size_t before = live_nodes();
        EXPECT_GE(tape().eliminate_vertices(), 4u);
        EXPECT_LT(live_nodes(), before);
        Float64 u = sin(x);
        backward(y);
    }
    List g = grad(x).read();
    for (int i = 0; i < 3; ++i) {
        double a = std::sin(i + 1), b = std::exp(a), c = std::cos(b);
        EXPECT_NEAR(g[i], 2 * std::cos(c) * -std::sin(b) * b * std::cos(i + 1), 1e-12);
    }
}

// ---- what is left behind

TEST_P(Traversal, TheTapeIsEmptyAfterABackwardPass) {
    Float64 x = copy(List{ 1, 2, 3 });
    enable_grad(x);
    {
        Float64 loss = sum(sin(x) * x);
        backward(loss);
    }
    EXPECT_EQ(live_nodes(), 1u); // x's own
    disable_grad(x);
    EXPECT_EQ(live_nodes(), 0u);
    EXPECT_EQ(listing(), "");
    EXPECT_EQ(grad(x).read(), (List{ 0, 0, 0 }));
}

TEST_P(Traversal, WhatNoValueDependsOnIsGone) {
    Float64 x = copy(List{ 1, 2, 3 });
    enable_grad(x);
    {
        Float64 y = sin(x) * exp(x);
    }
    EXPECT_EQ(live_nodes(), 1u) << listing();
}

TEST_P(Traversal, TheListingNamesWhatIsLeftAndWhoMadeIt) {
    Float64 x = copy(List{ 1, 2, 3 });
    enable_grad(x, "albedo");
    int line = __LINE__ - 1;
    Float64 y = sin(x);
    std::string text = listing();
    EXPECT_NE(text.find("albedo"), std::string::npos) << text;
    EXPECT_NE(text.find("traversal_test.cpp:" + std::to_string(line)), std::string::npos) << text;
    EXPECT_NE(text.find("3 x f64"), std::string::npos) << text;
    EXPECT_NE(text.find("Sin"), std::string::npos) << text;
    EXPECT_EQ(occurrences(text, "\n"), 2) << text;
}

TEST_P(Traversal, TheDrawingHasNodesAndEdges) {
    Float64 x = copy(List{ 1, 2, 3 });
    enable_grad(x, "albedo");
    Float64 y = sin(x) + gather(x, UInt32(0u));
    std::string text = dot();
    EXPECT_EQ(text.find("digraph"), 0u) << text;
    EXPECT_EQ(occurrences(text, " -> "), 4) << text;
    EXPECT_NE(text.find("albedo"), std::string::npos) << text;
    EXPECT_EQ(text.substr(text.size() - 2), "}\n");
}

// A value without a node costs nothing: no tracker is made, nothing is noted.
TEST_P(Traversal, ValuesWithoutGradientsLeaveNoTrace) {
    Context fresh(backend_named(GetParam()));
    ContextScope scope(fresh);
    Float64 x = copy(List{ 1, 2, 3 }), y = sin(x) * x;
    EXPECT_EQ(y.grad_id(), 0u);
    EXPECT_EQ(fresh.tracker, nullptr);
}

TEST_P(Traversal, ContextsHaveTapesOfTheirOwn) {
    Float64 x = copy(List{ 1 });
    enable_grad(x);
    Context other(backend_named(GetParam()));
    ContextScope scope(other);
    EXPECT_EQ(live_nodes(), 0u);
    Float64 y = copy(List{ 2 });
    enable_grad(y);
    Float64 z = y * y;
    backward(z);
    EXPECT_EQ(item(grad(y)), 4);
    EXPECT_EQ(live_nodes(), 2u);
}

UMBEL_BACKENDS(Traversal)

} // namespace
