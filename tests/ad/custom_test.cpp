// tests/ad/custom_test.cpp: operations with derivatives of their author's.
#include "support/gradient_check.h"

using namespace umbel::jit;
using namespace umbel::ad;
using namespace umbel::test;

namespace {

class Custom : public AdTest {};

Float64 as(const Value &v) { return Float64(v); }

// (u, v) -> (u v, u + sin v): two inputs, two results
struct Pair : CustomOp {
    Float64 u, v;
    int *ran = nullptr;
    const char *name() const override { return "pair"; }
    std::vector<Value> eval(std::span<const Value> in) override {
        u = as(in[0]);
        v = as(in[1]);
        EXPECT_FALSE(grad_enabled(u));
        return { u * v, u + sin(v) };
    }
    void forward() override {
        Float64 du = as(grad_in(0)), dv = as(grad_in(1));
        set_grad_out(0, du * v + u * dv);
        set_grad_out(1, du + cos(v) * dv);
        count();
    }
    void backward() override {
        Float64 a = as(grad_out(0)), b = as(grad_out(1));
        set_grad_in(0, a * v + b);
        set_grad_in(1, a * u + b * cos(v));
        count();
    }
    void count() {
        if (ran)
            ++*ran;
    }
};

std::vector<Value> pair(const Float64 &u, const Float64 &v, int *ran = nullptr) {
    auto op = std::make_shared<Pair>();
    op->ran = ran;
    Value in[] = { u, v };
    return custom(op, in);
}

TEST_P(Custom, SeveralInputsAndResults) {
    List a = random_points(1, 9, 0.5, 2), b = random_points(2, 9, 0.5, 2);
    expect_gradient("both results",
                    [](const Inputs &in) {
                        auto out = pair(in[0] * in[0], in[1]);
                        return as(out[0]) * as(out[1]);
                    },
                    { a, b });
    expect_gradient("one result", [](const Inputs &in) { return as(pair(in[0], in[1])[1]); },
                    { a, b });
    expect_gradient("one input twice", [](const Inputs &in) { return as(pair(in[0], in[0])[0]); },
                    { a });
    expect_gradient("an input without gradient",
                    [](const Inputs &in) {
                        return as(pair(in[0], detach(in[0]) * 0.0 + 2.0)[0]) +
                               as(pair(Float64(3.0), in[0])[1]);
                    },
                    { a });
    expect_gradient("a uniform input", [](const Inputs &in) { return as(pair(in[0], in[1])[0]); },
                    { { 1.5 }, b });
    expect_gradient("one after another",
                    [](const Inputs &in) {
                        auto first = pair(in[0], in[1]);
                        auto second = pair(as(first[0]), as(first[1]));
                        return as(second[0]) + as(second[1]);
                    },
                    { a, b });
}

TEST_P(Custom, RunsOnceForAllItsResults) {
    Float64 u = copy(List{ 1, 2 }), v = copy(List{ 3, 4 });
    enable_grad(u);
    enable_grad(v);
    int ran = 0;
    auto out = pair(u, v, &ran);
    Float64 y = as(out[0]) + as(out[1]) * as(out[0]);
    backward(y, ClearInput | ClearInterior);
    EXPECT_EQ(ran, 1);
    clear_grad(u);
    clear_grad(v);
    forward(u);
    EXPECT_EQ(ran, 2);
}

TEST_P(Custom, IsForgottenWithItsResults) {
    Float64 u = copy(List{ 1, 2 });
    enable_grad(u);
    int ran = 0;
    auto op = std::make_shared<Pair>();
    op->ran = &ran;
    std::weak_ptr<Pair> watch = op;
    {
        Value in[] = { u, u };
        auto out = custom(std::move(op), in);
        EXPECT_NE(listing().find("pair"), std::string::npos) << listing();
        out[0] = Value(); // one result gone, the other still there
        Float64 y = as(out[1]);
        backward(y);
        EXPECT_EQ(ran, 1);
        EXPECT_NEAR(grad(u).read()[0], 1 + std::cos(1.0), 1e-14);
    }
    EXPECT_TRUE(watch.expired());
    EXPECT_EQ(live_nodes(), 1u) << listing();
}

// Without gradients the operation is just its eval.
TEST_P(Custom, CostsNothingWhereNothingIsFollowed) {
    Float64 u = copy(List{ 1, 2 });
    auto out = pair(u, u);
    EXPECT_FALSE(grad_enabled(out[0]));
    EXPECT_EQ(as(out[0]).read(), (List{ 1, 4 }));
    enable_grad(u);
    SuspendGrad none;
    EXPECT_FALSE(grad_enabled(pair(u, u)[0]));
}

// Reads a texture that it does not list among its inputs.
struct Lookup : CustomOp {
    const Float64 &texture; // while eval runs
    UInt32 at;
    uint32_t size = 0;
    size_t number = 0;
    explicit Lookup(const Float64 &t) : texture(t) {}
    const char *name() const override { return "lookup"; }
    std::vector<Value> eval(std::span<const Value> in) override {
        number = add_input(texture);
        at = UInt32(in[0]);
        size = texture.size();
        return { gather(detach(texture), at) * 2.0 };
    }
    void forward() override { set_grad_out(0, gather(as(grad_in(number)), at) * 2.0); }
    void backward() override {
        if (!needs_grad_in(number))
            return;
        Float64 g = zeros<double>(size);
        scatter_add(g, as(grad_out(0)) * 2.0, at);
        set_grad_in(number, g);
    }
};

TEST_P(Custom, ImplicitInputsGetTheirGradients) {
    List texture = random_points(4, 5, 0, 1);
    expect_gradient("lookup",
                    [](const Inputs &in) {
                        Value at[] = { copy(std::vector<uint32_t>{ 0, 3, 3, 1 }) };
                        Float64 t = in[0] * in[0];
                        Float64 r = as(custom(std::make_shared<Lookup>(t), at)[0]);
                        return r * r;
                    },
                    { texture });
    Float64 plain = copy(texture);
    Value at[] = { UInt32(2u) };
    EXPECT_FALSE(grad_enabled(custom(std::make_shared<Lookup>(plain), at)[0]));
}

// The author's adjoint of a loop: Newton's iteration for a root, differentiated at its fixed point.
struct CubeRoot : CustomOp {
    Float64 root;
    const char *name() const override { return "cube root"; }
    std::vector<Value> eval(std::span<const Value> in) override {
        Float64 a = as(in[0]);
        auto [i, x] = loop(
            std::tuple<UInt32, Float64>(0u, 1.0),
            [](const auto &s) { return std::get<0>(s) < 40u; },
            [&](auto &s) {
                auto &[i, x] = s;
                x = (x * 2.0 + a / (x * x)) / 3.0;
                i += 1u;
            });
        root = x;
        return { root };
    }
    Float64 slope() { return 1.0 / (3.0 * root * root); }
    void forward() override { set_grad_out(0, slope() * as(grad_in(0))); }
    void backward() override { set_grad_in(0, slope() * as(grad_out(0))); }
};

TEST_P(Custom, AnAuthorsAdjointReplacesThatOfALoop) {
    expect_gradient("cube root",
                    [](const Inputs &in) {
                        Value a[] = { in[0] };
                        return as(custom(std::make_shared<CubeRoot>(), a)[0]) * in[0];
                    },
                    { random_points(5, 9, 0.5, 4) });
}

// eval, forward and backward use differentiation themselves.
struct Nested : CustomOp {
    Value x;
    const char *name() const override { return "nested"; }
    static Float64 f(const Float64 &x) { return sin(x) * x; }
    std::vector<Value> eval(std::span<const Value> in) override {
        x = in[0];
        return { f(as(x)) };
    }
    void forward() override {
        Float64 v = as(x);
        enable_grad(v);
        Float64 y = f(v);
        set_grad(v, grad_in(0));
        forward_from(v);
        set_grad_out(0, grad(y));
    }
    void backward() override {
        Float64 v = as(x);
        enable_grad(v);
        Float64 y = f(v);
        set_grad(y, grad_out(0));
        backward_from(y);
        set_grad_in(0, grad(v));
    }
};

TEST_P(Custom, DerivativesMayTraverseATapeOfTheirOwn) {
    expect_gradient("nested",
                    [](const Inputs &in) {
                        Value a[] = { in[0] * 2.0 };
                        return as(custom(std::make_shared<Nested>(), a)[0]) * in[0];
                    },
                    { random_points(5, 9, 0.5, 4) });
}

// What is followed when the operation is applied is followed when its derivatives run.
struct ScopeProbe : CustomOp {
    const Float64 &a, &b;
    std::string *seen;
    ScopeProbe(const Float64 &a, const Float64 &b, std::string *seen) : a(a), b(b), seen(seen) {}
    const char *name() const override { return "probe"; }
    std::vector<Value> eval(std::span<const Value> in) override { return { in[0] }; }
    void look() {
        *seen = std::string(grad_enabled(a * 2.0) ? "a" : "") + (grad_enabled(b * 2.0) ? "b" : "");
    }
    void forward() override { look(); }
    void backward() override { look(); }
};

TEST_P(Custom, TheScopeOfItsApplicationIsReinstated) {
    Float64 a = copy(List{ 1 }), b = copy(List{ 2 });
    enable_grad(a);
    enable_grad(b);
    std::string seen;
    Float64 y;
    {
        SuspendGrad none;
        ResumeGrad only({ &a });
        Value in[] = { a };
        y = as(custom(std::make_shared<ScopeProbe>(a, b, &seen), in)[0]);
    }
    backward(y, ClearInput | ClearInterior);
    EXPECT_EQ(seen, "a");
    seen.clear();
    {
        SuspendGrad none;
        forward(a);
    }
    EXPECT_EQ(seen, "a");
}

TEST_P(Custom, ResultsThatAreIntegersCarryNoGradient) {
    struct Split : CustomOp {
        const char *name() const override { return "split"; }
        std::vector<Value> eval(std::span<const Value> in) override {
            Float64 v = as(in[0]);
            return { Int32(v), v - floor(v) };
        }
        void forward() override { set_grad_out(1, grad_in(0)); }
        void backward() override { set_grad_in(0, grad_out(1)); }
    };
    Float64 x = copy(List{ 1.5, 2.25 });
    enable_grad(x);
    Value in[] = { x };
    auto out = custom(std::make_shared<Split>(), in);
    EXPECT_FALSE(grad_enabled(out[0]));
    Float64 y = as(out[1]) * 3.0;
    backward(y);
    EXPECT_EQ(grad(x).read(), (List{ 3, 3 }));
}

TEST_P(Custom, AConstantResultHasOneDerivativeALane) {
    struct Weight : CustomOp { // 1, with the derivative of its input
        const char *name() const override { return "weight"; }
        std::vector<Value> eval(std::span<const Value>) override { return { Float64(1.0) }; }
        void forward() override { set_grad_out(0, grad_in(0)); }
        void backward() override { set_grad_in(0, grad_out(0)); }
    };
    Float64 x = copy(List{ 1, 2, 3 }), factor = copy(List{ 5, 6, 7 });
    enable_grad(x);
    Value in[] = { x };
    Float64 y = as(custom(std::make_shared<Weight>(), in)[0]) * factor;
    EXPECT_EQ(y.read(), (List{ 5, 6, 7 }));
    backward(y, ClearInput | ClearInterior);
    EXPECT_EQ(grad(x).read(), (List{ 5, 6, 7 }));
    clear_grad(x);
    set_grad(x, copy(List{ 1, 10, 100 }));
    enqueue(Mode::Forward, x);
    traverse(Mode::Forward);
    EXPECT_EQ(grad(y).read(), (List{ 5, 60, 700 }));
}

UMBEL_BACKENDS(Custom)

} // namespace
