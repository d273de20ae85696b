// tests/errors/ad_misuse_test.cpp: misuse of differentiation throws errors that say what and where.
#include "support/gradient_check.h"

using namespace umbel;
using namespace umbel::jit;
using namespace umbel::ad;

namespace {

class AdMisuse : public test::AdTest {
protected:
    // f must throw a UserError that contains all `parts`, and leave the context usable.
    template <class F> void expect_error(std::initializer_list<const char *> parts, F &&f) {
        std::string message = test::user_error(f);
        for (const char *part : parts)
            EXPECT_NE(message.find(part), std::string::npos)
                << "\"" << part << "\" is not in: " << message;
        EXPECT_EQ(context.region, 0u) << message;
        EXPECT_TRUE(context.masks.empty()) << message;
        Float64 v = copy(test::List{ 1, 2, 3 });
        enable_grad(v);
        Float64 w = v * v;
        backward(w);
        EXPECT_EQ(grad(v).read(), (test::List{ 2, 4, 6 })) << message;
    }
    Float64 x = copy(test::List{ 1, 2, 3 });
    UInt32 lane = arange<uint32_t>(3);

    void SetUp() override { enable_grad(x); }
    void TearDown() override {
        x = Float64();
        lane = UInt32();
        AdTest::TearDown();
    }
};

// ---- values

TEST_P(AdMisuse, OnlyFloatsHaveDerivatives) {
    Mask m = lane == 0u;
    expect_error({ "enable_grad", "float", "u32" }, [&] { enable_grad(lane); });
    expect_error({ "enable_grad", "bool" }, [&] { enable_grad(m); });
    expect_error({ "grad", "float", "u32" }, [&] { grad(lane); });
    expect_error({ "backward", "u32" }, [&] { backward(lane); });
    expect_error({ "replace_grad", "u32" }, [&] { replace_grad(lane, lane); });
}

TEST_P(AdMisuse, UninitializedValues) {
    Float64 none;
    expect_error({ "enable_grad", "uninitialized" }, [&] { enable_grad(none); });
    expect_error({ "grad", "uninitialized" }, [&] { grad(none); });
    expect_error({ "set_grad", "uninitialized" }, [&] { set_grad(x, none); });
    expect_error({ "backward", "uninitialized" }, [&] { backward(none); });
    expect_error({ "replace_grad", "uninitialized" }, [&] { replace_grad(x, none); });
}

TEST_P(AdMisuse, GradientsMustFitTheirValue) {
    Float64 two = copy(test::List{ 1, 2 });
    Float32 single = copy(std::vector<float>{ 1, 2, 3 });
    expect_error({ "set_grad", "size 2", "size 3" }, [&] { set_grad(x, two); });
    expect_error({ "accumulate_grad", "size 2", "size 3" }, [&] { accumulate_grad(x, two); });
    expect_error({ "set_grad", "f32", "f64" }, [&] { set_grad(x, single); });
    expect_error({ "replace_grad", "f64", "f32" }, [&] { replace_grad(x, single); });
    expect_error({ "replace_grad", "3 and 2" }, [&] { replace_grad(x, two); });
}

TEST_P(AdMisuse, ValuesThatDependOnNothing) {
    Float64 constant = copy(test::List{ 1, 2, 3 });
    const char *why = "does not depend on anything that gradients are enabled for";
    expect_error({ "backward:", why }, [&] { backward(constant); });
    expect_error({ "backward_from:", why }, [&] { backward_from(constant); });
    expect_error({ "backward_to:", why }, [&] { backward_to(constant); });
    expect_error({ "forward:", why }, [&] { forward(constant); });
    expect_error({ "forward_to:", why }, [&] { forward_to(constant); });
    expect_error({ "enqueue:", why }, [&] { enqueue(Mode::Backward, constant); });
    expect_error({ "set_grad:", why }, [&] { set_grad(constant, constant); });
    Float64 rounded = floor(x); // a chain that ends
    expect_error({ "backward:", why }, [&] { backward(rounded); });
}

// ---- operations that have no derivative

TEST_P(AdMisuse, BitsOfAValueWithAGradient) {
    expect_error({ "Bitcast", "not differentiable", "detach" },
                 [&] { reinterpret<uint64_t>(x * 2.0); });
    EXPECT_EQ(reinterpret<uint64_t>(detach(x)).size(), 3u);
}

TEST_P(AdMisuse, SelectingLocalArraysWithGradients) {
    LocalArray<double> a(x, 2), b(x * 2.0, 2);
    expect_error({ "Select", "local arrays", "select their elements" },
                 [&] { ternary(Op::Select, lane == 0u, a, b); });
}

struct Nothing : CustomOp {
    const char *name() const override { return "my sampler"; }
    std::vector<Value> eval(std::span<const Value> in) override { return { in[0] }; }
    void forward() override {}
    void backward() override {}
};

TEST_P(AdMisuse, CustomOperationsInsideARecordedBody) {
    FlagScope recorded(Flag::FlattenIfs, false);
    expect_error({ "my sampler", "recorded body", "RepeatableOp" }, [&] {
        if_(
            lane == 0u,
            [&] {
                Value in[] = { x };
                return Float64(custom(std::make_shared<Nothing>(), in)[0]);
            },
            [&] { return x * 2.0; });
    });
}

// ---- control flow

TEST_P(AdMisuse, LocalArraysAsStateOfALoop) {
    LocalArray<double> a(x, 2);
    auto [i, end] = loop(
        std::tuple<UInt32, LocalArray<double>>(0u, a),
        [](const auto &s) { return std::get<0>(s) < 2u; },
        [&](auto &s) {
            auto &[i, v] = s;
            v.set(i, v.get(i) * 2.0);
            i += 1u;
        });
    Float64 y = end.get(0u);
    a = end = LocalArray<double>();
    expect_error({ "local arrays as loop state" }, [&] { backward(y); });
}

TEST_P(AdMisuse, StoringGradientsInsideARecordedBody) {
    Float64 film = zeros<double>(3);
    expect_error({ "scatter", "store", "recorded body", "detach" }, [&] {
        loop(
            std::tuple<UInt32>(0u), [](const auto &s) { return std::get<0>(s) < 2u; },
            [&](auto &s) {
                scatter(film, x * x, lane);
                std::get<0>(s) += 1u;
            });
    });
    expect_error({ "scatter", "max", "recorded body", "detach" }, [&] {
        if_(
            lane == 0u,
            [&] {
                scatter_reduce(ReduceOp::Max, film, x * x, lane);
                return x;
            },
            [&] { return x * 2.0; });
    });
    EXPECT_EQ(film.read(), (test::List{ 0, 0, 0 }));
}

// The state that is written depends on x only from the second iteration on.
TEST_P(AdMisuse, StoringStateThatDependsOnGradientsLater) {
    Float64 film = zeros<double>(3);
    expect_error({ "scatter", "recorded body", "detach" }, [&] {
        loop(
            std::tuple<UInt32, Float64>(0u, 1.0), [](const auto &s) { return std::get<0>(s) < 2u; },
            [&](auto &s) {
                scatter(film, std::get<1>(s), lane);
                std::get<1>(s) = x;
                std::get<0>(s) += 1u;
            });
    });
}

TEST_P(AdMisuse, AddingGradientsInsideALoopInsideABranch) {
    Float64 film = zeros<double>(3);
    expect_error({ "scatter", "inside a loop inside another recorded body", "detach" }, [&] {
        if_(
            lane == 0u,
            [&] {
                loop(
                    std::tuple<UInt32>(0u), [](const auto &s) { return std::get<0>(s) < 2u; },
                    [&](auto &s) {
                        scatter_add(film, x * x, lane);
                        std::get<0>(s) += 1u;
                    });
                return x;
            },
            [&] { return x * 2.0; });
    });
    EXPECT_EQ(film.read(), (test::List{ 0, 0, 0 }));
}

TEST_P(AdMisuse, DerivativesInsideABodyThatIsDifferentiated) {
    auto inside = [&](auto fn) {
        expect_error({ "differentiated as a whole", "SuspendGrad", "ResumeGrad" }, [&] {
            loop(
                std::tuple<UInt32>(0u), [](const auto &s) { return std::get<0>(s) < 2u; },
                [&](auto &s) {
                    fn();
                    std::get<0>(s) += 1u;
                });
        });
    };
    inside([&] {
        Float64 y = x * x;
        backward(y);
    });
    inside([&] { grad(x * x); });
    inside([&] {
        Float64 y(lane);
        enable_grad(y);
    });
}

TEST_P(AdMisuse, ReducingWhatABodyComputes) {
    expect_error({ "reduce", "recorded body", "compute it before" }, [&] {
        FlagScope recorded(Flag::FlattenIfs, false);
        if_(lane == 0u, [&] { return sum(x * x); }, [&] { return x; });
    });
}

// A value that counts lanes would count them twice.
TEST_P(AdMisuse, RanksInsideADifferentiatedBody) {
    FlagScope recorded(Flag::FlattenIfs, false);
    UInt32 counter = zeros<uint32_t>(1);
    Float64 y = if_(
        lane < 2u,
        [&] {
            UInt32 rank = scatter_inc(counter, UInt32(0u));
            return x * Float64(rank);
        },
        [&] { return x; });
    expect_error({ "scatter_inc", "twice", "evaluate it first" }, [&] { backward(y); });
    eval(counter);
}

// What is wrong in a custom operation names the operation.
struct Short : CustomOp {
    const char *name() const override { return "short"; }
    std::vector<Value> eval(std::span<const Value> in) override { return { in[0] }; }
    void forward() override { fail("short: no forward derivative"); }
    void backward() override { fail("short: no reverse derivative"); }
};

TEST_P(AdMisuse, ErrorsOfCustomOperationsLeaveTheTapeUsable) {
    Value in[] = { x };
    Float64 y(custom(std::make_shared<Short>(), in)[0]);
    expect_error({ "short: no reverse derivative" }, [&] { backward(y); });
    expect_error({ "short: no forward derivative" }, [&] { forward(x); });
}

UMBEL_BACKENDS(AdMisuse)

} // namespace
