// tests/ad/higher_order_test.cpp: derivatives of gradients, and gradients whose derivatives would be missing.
#include "ad/higher_order.h"
#include "support/gradient_check.h"

using namespace umbel::jit;
using namespace umbel::ad;
using namespace umbel::test;

namespace {

class HigherOrder : public AdTest {};

using Map = std::function<Float64(const Float64 &)>;

List points() { return { 0.3, 0.7, 0.55, 0.9 }; }

// H v of the sum of f, by differences of its gradient, which an ordinary traversal computes.
List product_by_differences(const Map &f, const List &at, const List &v) {
    auto slope = [&](double step) {
        List moved = at;
        for (size_t i = 0; i < at.size(); ++i)
            moved[i] += step * v[i];
        Float64 x = copy(moved);
        enable_grad(x);
        Float64 y = f(x);
        backward(y);
        return grad(x).read();
    };
    const double h = 1e-5;
    List up = slope(h), down = slope(-h), out;
    for (size_t i = 0; i < at.size(); ++i)
        out.push_back((up[i] - down[i]) / (2 * h));
    return out;
}

void expect_product(const char *what, const Map &f, const List &at = points()) {
    List v;
    for (size_t i = 0; i < at.size(); ++i)
        v.push_back(0.5 + 0.3 * double(i));
    List expected = product_by_differences(f, at, v);
    List forward_over_reverse = hessian_product(f, Float64(copy(at)), Float64(copy(v))).read();
    // Reverse over reverse
    Float64 x = copy(at);
    enable_grad(x);
    Float64 weighted = gradient(f(x), x) * Float64(copy(v));
    List reverse = gradient(weighted, x).read();
    for (size_t i = 0; i < at.size(); ++i) {
        EXPECT_NEAR(forward_over_reverse[i], expected[i], 1e-6 * (1 + std::abs(expected[i])))
            << what << ", lane " << i;
        EXPECT_NEAR(reverse[i], expected[i], 1e-6 * (1 + std::abs(expected[i])))
            << what << ", lane " << i;
    }
}

TEST_P(HigherOrder, OperationsMatchDifferences) {
    expect_product("polynomial", [](const Float64 &x) { return x * x * x - x * 2.0; });
    expect_product("sin", [](const Float64 &x) { return sin(x * x) * exp(x); });
    expect_product("quotient", [](const Float64 &x) { return log(x) / (x + 1.5); });
    expect_product("roots", [](const Float64 &x) { return sqrt(x) + rsqrt(x + 0.5) * cbrt(x); });
    expect_product("trigonometry", [](const Float64 &x) {
        return tan(x) + asin(x * 0.5) * acos(x * 0.3) + atan(x);
    });
    expect_product("hyperbolic",
                   [](const Float64 &x) { return tanh(x) * sinh(x) + cosh(x) * asinh(x); });
    expect_product("pow", [](const Float64 &x) { return pow(x, 2.5) + pow(Float64(1.3), x); });
    expect_product("fma and select", [](const Float64 &x) {
        return select(x > 0.6, fma(x, x, sin(x)), max(x * x * x, exp(x)));
    });
    expect_product("erf", [](const Float64 &x) { return erf(x) * rcp(x); });
}

TEST_P(HigherOrder, MemoryAndSumsMatchDifferences) {
    expect_product("gather", [](const Float64 &x) {
        UInt32 at = copy(std::vector<uint32_t>{ 2, 0, 2, 3, 1, 1 });
        Float64 e(gather(x, at, Mask(true)));
        return Float64(sum(e * e * e)) * Float64(sum(x));
    });
    expect_product("scatter_add", [](const Float64 &x) {
        Float64 bins(full(Type::F64, 0, 2));
        Value target = bins;
        UInt32 at = copy(std::vector<uint32_t>{ 1, 0, 1, 1 });
        scatter(target, x * x, at, Mask(true), ReduceOp::Add);
        Float64 b(target);
        return sum(b * b);
    });
    expect_product("prefix sum", [](const Float64 &x) {
        Float64 p(prefix_sum(Value(x), false, 0));
        return sum(p * p * x);
    });
    expect_product("number for all lanes", [](const Float64 &x) {
        Float64 total = sum(x * x);
        return sum(sin(x * total));
    });
}

TEST_P(HigherOrder, ThirdDerivativesAreDerivativesOfSecondOnes) {
    Float64 x = copy(List{ 0.4, 0.8 });
    enable_grad(x);
    Float64 y = sin(x) * x;
    Float64 first = gradient(y, x), second = gradient(first, x), third = gradient(second, x);
    List got = third.read(), at{ 0.4, 0.8 };
    for (int i = 0; i < 2; ++i)
        EXPECT_NEAR(got[i], -3 * std::sin(at[i]) - at[i] * std::cos(at[i]), 1e-12);
}

// |grad f|^2 = (cos x)^2: together with f = sin x the slope is cos x - 2 cos x sin x.
TEST_P(HigherOrder, PenaltiesOnGradientsAreWholeOnes) {
    Float64 x = copy(points());
    enable_grad(x);
    Float64 f = sin(x), g = gradient(f, x), loss = f + g * g;
    backward(loss);
    List got = grad(x).read();
    for (size_t i = 0; i < got.size(); ++i) {
        double at = points()[i];
        EXPECT_NEAR(got[i], std::cos(at) * (1 - 2 * std::sin(at)), 1e-12);
    }
}

TEST_P(HigherOrder, GradientsThatAreThereStay) {
    Float64 x = copy(points());
    enable_grad(x);
    set_grad(x, Float64(7.0));
    Float64 y = x * x;
    gradient(y, x);
    EXPECT_EQ(grad(x).read(), (List{ 7, 7, 7, 7 }));
}

TEST_P(HigherOrder, NothingIsLeftBehind) {
    {
        Float64 x = copy(points());
        enable_grad(x);
        Float64 y = exp(x * x), g = gradient(y, x), h = gradient(g * g, x);
        h.read();
    }
    EXPECT_EQ(live_nodes(), 0u) << listing();
}

TEST_P(HigherOrder, WeightsOfResultsHaveDerivativesToo) {
    Float64 x = copy(points()), w = copy(points());
    enable_grad(x);
    enable_grad(w);
    Float64 y = x * x * x;
    Value ys[] = { y }, xs[] = { x }, ws[] = { w };
    Float64 g(gradient(ys, xs, ws)[0]); // 3 x^2 w
    List by_w = gradient(g, w).read(), by_x = gradient(g, x).read();
    for (size_t i = 0; i < by_w.size(); ++i) {
        double at = points()[i];
        EXPECT_NEAR(by_w[i], 3 * at * at, 1e-12);
        EXPECT_NEAR(by_x[i], 6 * at * at, 1e-12);
    }
}

// ---- what would be missing

template <class F> std::string message_of(F &&f) {
    try {
        f();
    } catch (const umbel::UserError &e) {
        return e.what();
    }
    return "";
}

TEST_P(HigherOrder, NumbersThatWouldDropATermAreRefused) {
    for (uint32_t flags : { uint32_t(ClearAll), uint32_t(ClearInput | ClearInterior) }) {
        Float64 x = copy(points());
        enable_grad(x);
        Float64 f = sin(x);
        backward(f, flags);
        Float64 g = grad(x), loss = f + g * g;
        std::string message = message_of([&] { backward(loss); });
        EXPECT_NE(message.find("gradient()"), std::string::npos) << message;
        Float64 other = x * x; // the tape stays usable
        clear_grad(x);
        backward(other);
        EXPECT_NEAR(grad(x).read()[0], 0.6, 1e-12);
    }
}

TEST_P(HigherOrder, GradientsThatAreMeantAsConstantsAreNot) {
    Float64 x = copy(points());
    enable_grad(x);
    Float64 f = sin(x);
    backward(f, ClearInput | ClearInterior);
    Float64 g = detach(grad(x)), loss = f * g;
    clear_grad(x);
    backward(loss);
    EXPECT_NEAR(grad(x).read()[0], std::cos(0.3) * std::cos(0.3), 1e-12);
}

// The gradient of sin is the very node that cos has.
TEST_P(HigherOrder, ValuesThatEqualAGradientAreNotTakenForOne) {
    Float64 x = copy(points());
    enable_grad(x);
    Float64 f = sin(x);
    backward(f);
    grad(x).read();
    Float64 c = cos(x);
    clear_grad(x);
    backward(c);
    EXPECT_NEAR(grad(x).read()[0], -std::sin(0.3), 1e-12);
}

TEST_P(HigherOrder, StepsOfAnOptimizationAreFree) {
    Float64 x = copy(points()), momentum(0.0);
    for (int i = 0; i < 5; ++i) {
        enable_grad(x);
        Float64 loss = x * x;
        backward(loss);
        momentum = 0.9 * momentum + grad(x);
        x = detach(x) - 0.05 * momentum;
        eval(x, momentum);
    }
    EXPECT_LT(std::abs(x.read()[0]), 0.3);
}

TEST_P(HigherOrder, WhatCannotBeDifferentiatedAgainSaysSo) {
    Float64 x = copy(points());
    enable_grad(x);
    struct State {
        Float64 s;
        UInt32 i;
        UMBEL_STRUCT(s, i)
    };
    State end = loop(
        State{ x, UInt32(0u) }, [](const State &s) { return s.i < 3u; },
        [](State &s) {
            s.s = s.s * s.s;
            s.i = s.i + 1u;
        });
    std::string message = message_of([&] { gradient(end.s, x); });
    EXPECT_NE(message.find("loop"), std::string::npos) << message;
    Float64 product(reduce(ReduceOp::Mul, x));
    message = message_of([&] { gradient(product, x); });
    EXPECT_NE(message.find("is not one that can be differentiated again"), std::string::npos)
        << message;
    Float64 y = sin(x);
    backward(y);
    message = message_of([&] { gradient(y, x); });
    EXPECT_NE(message.find("taken down"), std::string::npos) << message;
}

UMBEL_BACKENDS(HigherOrder)

} // namespace
