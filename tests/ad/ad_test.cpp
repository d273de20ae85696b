// tests/ad/ad_test.cpp: derivatives against central differences, forward and in reverse.
#include "ad/ad.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace umbel::jit;
using namespace umbel::ad;

namespace {

class Derivatives : public testing::TestWithParam<const char *> {
protected:
    Derivatives()
        : context(std::string(GetParam()) == "llvm" ? llvm_backend() : interp_backend()),
          scope(context) {}
    ~Derivatives() override { EXPECT_EQ(live_nodes(), 0u) << listing(); }
    Context context;
    ContextScope scope;
};

using Function = std::function<Float64(const Float64 &)>;

// f over lanes, by central differences, forward and in reverse.
void expect_derivative(const char *what, const Function &f, const std::vector<double> &points,
                       double tolerance = 1e-6) {
    std::vector<double> plus, minus, expected;
    const double h = 1e-5;
    for (double x : points) {
        plus.push_back(x + h);
        minus.push_back(x - h);
    }
    std::vector<double> a = f(copy(plus)).read(), b = f(copy(minus)).read();
    for (size_t i = 0; i < points.size(); ++i)
        expected.push_back((a[i] - b[i]) / (2 * h));
    {
        Float64 x = copy(points);
        enable_grad(x);
        Float64 y = f(x);
        backward(y);
        std::vector<double> g = grad(x).read();
        for (size_t i = 0; i < points.size(); ++i)
            EXPECT_NEAR(g[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i])))
                << what << " backward at " << points[i];
    }
    {
        Float64 x = copy(points);
        enable_grad(x);
        Float64 y = f(x);
        forward(x);
        std::vector<double> g = grad(y).read();
        for (size_t i = 0; i < points.size(); ++i)
            EXPECT_NEAR(g[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i])))
                << what << " forward at " << points[i];
    }
}

TEST_P(Derivatives, ElementwiseAgreesWithDifferences) {
    std::vector<double> any{ -1.7, -0.6, 0.3, 1.2, 2.9 }, positive{ 0.2, 0.7, 1.3, 2.5, 5.1 },
        unit{ -0.8, -0.3, 0.1, 0.45, 0.9 }, above{ 1.2, 1.9, 3.3, 4.1, 9.0 };
    expect_derivative("neg", [](auto &x) { return -x; }, any);
    expect_derivative("abs", [](auto &x) { return abs(x); }, any);
    expect_derivative("sqrt", [](auto &x) { return sqrt(x); }, positive);
    expect_derivative("rcp", [](auto &x) { return rcp(x); }, any);
    expect_derivative("rsqrt", [](auto &x) { return rsqrt(x); }, positive);
    expect_derivative("sin", [](auto &x) { return sin(x); }, any);
    expect_derivative("cos", [](auto &x) { return cos(x); }, any);
    expect_derivative("tan", [](auto &x) { return tan(x); }, unit);
    expect_derivative("asin", [](auto &x) { return asin(x); }, unit);
    expect_derivative("acos", [](auto &x) { return acos(x); }, unit);
    expect_derivative("atan", [](auto &x) { return atan(x); }, any);
    expect_derivative("sinh", [](auto &x) { return sinh(x); }, any);
    expect_derivative("cosh", [](auto &x) { return cosh(x); }, any);
    expect_derivative("tanh", [](auto &x) { return tanh(x); }, any);
    expect_derivative("asinh", [](auto &x) { return asinh(x); }, any);
    expect_derivative("acosh", [](auto &x) { return acosh(x); }, above);
    expect_derivative("atanh", [](auto &x) { return atanh(x); }, unit);
    expect_derivative("exp", [](auto &x) { return exp(x); }, any);
    expect_derivative("exp2", [](auto &x) { return exp2(x); }, any);
    expect_derivative("log", [](auto &x) { return log(x); }, positive);
    expect_derivative("log2", [](auto &x) { return log2(x); }, positive);
    expect_derivative("cbrt", [](auto &x) { return cbrt(x); }, any);
    expect_derivative("erf", [](auto &x) { return erf(x); }, any);
    expect_derivative("erfinv", [](auto &x) { return erfinv(x); }, unit);
    expect_derivative("lgamma", [](auto &x) { return lgamma(x); }, { -2.3, -0.4, 0.6, 1.7, 12.5 });
    expect_derivative("mul", [](auto &x) { return x * x * 3.0; }, any);
    expect_derivative("div", [](auto &x) { return (x + 1.0) / (x * x + 2.0); }, any);
    expect_derivative("min", [](auto &x) { return min(x * x, x + 1.0); }, any);
    expect_derivative("max", [](auto &x) { return max(x * x, x + 1.0); }, any);
    expect_derivative("atan2", [](auto &x) { return atan2(x, x * x + 1.0); }, any);
    expect_derivative("pow", [](auto &x) { return pow(x, x * 0.5 + 1.0); }, positive);
    expect_derivative("fma", [](auto &x) { return fma(x, x, x); }, any);
    expect_derivative("select", [](auto &x) { return select(x < 0.5, x * x, sin(x)); }, any);
    expect_derivative("cast", [](auto &x) { return Float64(Float32(x)) * 2.0; }, any, 1e-2);
    expect_derivative("floor", [](auto &x) { return x * floor(x); }, any);
}

TEST_P(Derivatives, GatherScattersItsGradient) {
    Float64 table = copy(std::vector<double>{ 1, 2, 3, 4 });
    enable_grad(table);
    UInt32 index = copy(std::vector<uint32_t>{ 0, 1, 1, 3, 3, 3 });
    Float64 y = gather(table, index) * copy(std::vector<double>{ 1, 2, 3, 4, 5, 6 });
    backward(y);
    EXPECT_EQ(grad(table).read(), (std::vector<double>{ 1, 5, 0, 15 }));
}

TEST_P(Derivatives, ScatterGathersItsGradient) {
    Float64 v = copy(std::vector<double>{ 1, 2, 3 }), target = zeros<double>(4);
    enable_grad(v);
    scatter_add(target, v * v, copy(std::vector<uint32_t>{ 0, 2, 2 }));
    Float64 y = target * copy(std::vector<double>{ 1, 10, 100, 1000 });
    backward(y);
    EXPECT_EQ(grad(v).read(), (std::vector<double>{ 2, 400, 600 }));
}

TEST_P(Derivatives, ReductionsAndPrefixSums) {
    std::vector<double> at{ 0.5, 1.5, -2.0, 3.0, 0.25 };
    Float64 w = copy(std::vector<double>{ 1, 2, 3, 4, 5 });
    auto gradient = [&](auto &&f) {
        Float64 x = copy(at);
        enable_grad(x);
        Float64 y = f(x);
        backward(y);
        return grad(x).read();
    };
    using List = std::vector<double>;
    EXPECT_EQ(gradient([](auto &x) { return sum(x * x); }), (List{ 1, 3, -4, 6, 0.5 }));
    EXPECT_EQ(gradient([](auto &x) { return maximum(x); }), (List{ 0, 0, 0, 1, 0 }));
    EXPECT_EQ(gradient([](auto &x) { return prod(x); }),
              (List{ -2.25, -0.75, 0.5625, -0.375, -4.5 }));
    EXPECT_EQ(gradient([&](auto &x) { return dot(x, w); }), (List{ 1, 2, 3, 4, 5 }));
    EXPECT_EQ(gradient([&](auto &x) { return cumsum(x) * w; }), (List{ 15, 14, 12, 9, 5 }));
    EXPECT_EQ(gradient([&](auto &x) { return prefix_sum(x) * w; }), (List{ 14, 12, 9, 5, 0 }));
    Float64 v = copy(List{ 1, 10, 100 });
    EXPECT_EQ(gradient([&](auto &x) { return block_sum(x, 2) * v; }), (List{ 1, 1, 10, 10, 100 }));
}

TEST_P(Derivatives, BroadcastValueSumsItsGradient) {
    Float64 s = 2.0;
    enable_grad(s);
    Float64 y = s * s * copy(std::vector<double>{ 1, 2, 3 });
    backward(y);
    EXPECT_EQ(grad(s).read(), (std::vector<double>{ 24 }));
}

TEST_P(Derivatives, ConditionalAgreesWithDifferences) {
    FlagScope recorded(Flag::FlattenIfs, false);
    Float64 table = copy(std::vector<double>{ 1.5, 2.5 });
    expect_derivative("if",
                      [&](auto &x) {
                          return if_(
                              x < 1.0, [&] { return x * x * gather(table, UInt32(0u)); },
                              [&] { return sin(x) * x; });
                      },
                      { -1.7, -0.6, 0.3, 1.2, 2.9 });
}

TEST_P(Derivatives, LoopsAgreeWithDifferences) {
    struct State {
        UInt32 i;
        Float64 x, sum;
        UMBEL_STRUCT(i, x, sum)
    };
    expect_derivative("multiplying loop",
                      [&](auto &x) {
                          State s = loop(
                              State{ 0u, x, 0.0 }, [](const State &s) { return s.i < 5u; },
                              [](State &s) {
                                  s.sum = s.sum + s.x;
                                  s.x = sin(s.x) * 1.1;
                                  s.i += 1u;
                              });
                          return s.sum * s.x;
                      },
                      { -1.7, -0.6, 0.3, 1.2, 2.9 });
    expect_derivative("affine loop",
                      [&](auto &x) {
                          State s = loop(
                              State{ 0u, x, 0.0 }, [](const State &s) { return s.i < 6u; },
                              [&](State &s) {
                                  Float64 t = Float64(s.i) * 0.1 + 0.5;
                                  s.sum = s.sum + s.x * t * sin(x);
                                  s.x = s.x * t + x;
                                  s.i += 1u;
                              });
                          return s.sum * s.x;
                      },
                      { -1.7, -0.6, 0.3, 1.2, 2.9 });
    expect_derivative("accumulating loop",
                      [&](auto &x) {
                          auto [i, sum] = loop(
                              std::tuple<UInt32, Float64>(0u, 0.0),
                              [](auto &s) { return std::get<0>(s) < 7u; },
                              [&](auto &s) {
                                  auto &[i, sum] = s;
                                  sum += sin(x * Float64(i));
                                  i += 1u;
                              });
                          return sum;
                      },
                      { -1.7, -0.6, 0.3, 1.2, 2.9 });
}

struct Curve : Instance<Curve> {
    virtual Float64 eval(const Float64 &x) const = 0;
};
struct Power : Curve {
    Float64 a;
    explicit Power(double v) : a(opaque(v)) {}
    Float64 eval(const Float64 &x) const override { return a * x * x; }
};
struct Wave : Curve {
    Float64 b;
    explicit Wave(double v) : b(opaque(v)) {}
    Float64 eval(const Float64 &x) const override { return sin(b * x); }
};

TEST_P(Derivatives, CallsAgreeWithDifferences) {
    Power p(1.5), q(0.5);
    Wave w(2.0);
    Pointer<Curve> self(copy(std::vector<uint32_t>{ p.id(), w.id(), q.id(), w.id(), p.id() }));
    expect_derivative("call",
                      [&](auto &x) {
                          return call(
                              self, [](Curve *c, const Float64 &x) { return c->eval(x); }, x);
                      },
                      { -1.7, -0.6, 0.3, 1.2, 2.9 });
}

TEST_P(Derivatives, MembersOfInstancesGetGradients) {
    Power p(1.5), q(0.5);
    Wave w(2.0);
    enable_grad(p.a);
    enable_grad(q.a);
    enable_grad(w.b);
    Pointer<Curve> self(copy(std::vector<uint32_t>{ p.id(), w.id(), q.id(), w.id(), p.id() }));
    Float64 x = copy(std::vector<double>{ 1, 2, 3, 4, 5 });
    Float64 y = call(self, [](Curve *c, const Float64 &x) { return c->eval(x); }, x);
    backward(y);
    EXPECT_DOUBLE_EQ(item(grad(p.a)), 26);
    EXPECT_DOUBLE_EQ(item(grad(q.a)), 9);
    EXPECT_NEAR(item(grad(w.b)), 2 * std::cos(4) + 4 * std::cos(8), 1e-12);
}

struct Cube : CustomOp {
    Value x;
    const char *name() const override { return "cube"; }
    std::vector<Value> eval(std::span<const Value> in) override {
        x = in[0];
        Float64 v(in[0]);
        return { v * v * v };
    }
    Value slope() { return Float64(3.0) * Float64(x) * Float64(x); }
    void forward() override { set_grad_out(0, binary(Op::Mul, slope(), grad_in(0))); }
    void backward() override { set_grad_in(0, binary(Op::Mul, slope(), grad_out(0))); }
};

TEST_P(Derivatives, CustomOperationSuppliesItsOwn) {
    expect_derivative("custom",
                      [](auto &x) {
                          Value in[] = { x * 2.0 };
                          return Float64(custom(std::make_shared<Cube>(), in)[0]) + x;
                      },
                      { -1.7, -0.6, 0.3, 1.2, 2.9 });
}

TEST_P(Derivatives, ScopesDecideWhatIsFollowed) {
    Float64 x = copy(std::vector<double>{ 2, 3 }), y = copy(std::vector<double>{ 5, 7 });
    enable_grad(x);
    enable_grad(y);
    Float64 a, b;
    {
        SuspendGrad none;
        a = x * y;
        ResumeGrad only({ &x });
        b = x * y;
    }
    EXPECT_FALSE(grad_enabled(a));
    backward(b);
    EXPECT_EQ(grad(x).read(), (std::vector<double>{ 5, 7 }));
    EXPECT_EQ(grad(y).read(), (std::vector<double>{ 0, 0 }));
}

INSTANTIATE_TEST_SUITE_P(Backends, Derivatives, testing::Values("interp", "llvm"),
                         [](auto &info) { return std::string(info.param); });

} // namespace
