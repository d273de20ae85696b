// tests/ad/elementwise_test.cpp: every operation that goes lane by lane against differences.
#include "support/gradient_check.h"

using namespace umbel::jit;
using namespace umbel::ad;
using namespace umbel::test;

namespace {

struct Case {
    Op op;
    std::vector<std::pair<double, double>> ranges; // an interval for each operand
    // Points where the function has a kink or a pole, or is about to
    bool (*avoid)(double a, double b) = nullptr;
};

bool near_zero(double a, double) { return std::abs(a) < 0.1; }
bool small_divisor(double, double b) { return std::abs(b) < 0.2; }
bool close(double a, double b) { return std::abs(a - b) < 0.01; }
bool near_integer(double a, double) { return std::abs(a - std::round(a)) < 0.01; }
bool near_half(double a, double) { return near_integer(a + 0.5, 0); }
bool near_pole(double a, double) { return a < 0.2 && std::abs(a - std::round(a)) < 0.15; }
bool near_origin(double a, double b) { return a * a + b * b < 0.2; }

const std::vector<Case> &cases() {
    static const std::vector<Case> list = {
        { Op::Neg, { { -4, 4 } } },
        { Op::Abs, { { -4, 4 } }, near_zero },
        { Op::Sqrt, { { 0.1, 9 } } },
        { Op::Rcp, { { -4, 4 } }, [](double a, double) { return std::abs(a) < 0.2; } },
        { Op::Rsqrt, { { 0.1, 9 } } },
        { Op::Floor, { { -4, 4 } }, near_integer },
        { Op::Ceil, { { -4, 4 } }, near_integer },
        { Op::Trunc, { { -4, 4 } }, near_integer },
        { Op::Round, { { -4, 4 } }, near_half },
        { Op::Sin, { { -9, 9 } } },
        { Op::Cos, { { -9, 9 } } },
        { Op::Tan, { { -1.4, 1.4 } } },
        { Op::Asin, { { -0.9, 0.9 } } },
        { Op::Acos, { { -0.9, 0.9 } } },
        { Op::Atan, { { -6, 6 } } },
        { Op::Sinh, { { -4, 4 } } },
        { Op::Cosh, { { -4, 4 } } },
        { Op::Tanh, { { -4, 4 } } },
        { Op::Asinh, { { -6, 6 } } },
        { Op::Acosh, { { 1.2, 9 } } },
        { Op::Atanh, { { -0.9, 0.9 } } },
        { Op::Exp, { { -6, 6 } } },
        { Op::Exp2, { { -6, 6 } } },
        { Op::Log, { { 0.1, 9 } } },
        { Op::Log2, { { 0.1, 9 } } },
        { Op::Cbrt, { { -8, 8 } }, [](double a, double) { return std::abs(a) < 0.2; } },
        { Op::Erf, { { -2.5, 2.5 } } },
        { Op::Erfinv, { { -0.9, 0.9 } } },
        { Op::Lgamma, { { -4, 20 } }, near_pole },
        { Op::Add, { { -4, 4 }, { -4, 4 } } },
        { Op::Sub, { { -4, 4 }, { -4, 4 } } },
        { Op::Mul, { { -4, 4 }, { -4, 4 } } },
        { Op::Div, { { -4, 4 }, { -4, 4 } }, small_divisor },
        { Op::Min, { { -4, 4 }, { -4, 4 } }, close },
        { Op::Max, { { -4, 4 }, { -4, 4 } }, close },
        { Op::Atan2, { { -4, 4 }, { -4, 4 } }, near_origin },
        { Op::Pow, { { 0.2, 4 }, { -3, 3 } } },
        { Op::Fma, { { -4, 4 }, { -4, 4 }, { -4, 4 } } },
    };
    return list;
}

std::vector<List> points_of(const Case &c, size_t n) {
    std::mt19937_64 rng(uint64_t(c.op) + 1);
    std::vector<List> points(c.ranges.size());
    while (points[0].size() < n) {
        List p;
        for (auto [low, high] : c.ranges)
            p.push_back(std::uniform_real_distribution<double>(low, high)(rng));
        // The angle jumps where its ray crosses the negative axis
        bool jump = c.op == Op::Atan2 && p[1] < 0 && std::abs(p[0]) < 0.01;
        if (jump || (c.avoid && c.avoid(p[0], p.size() > 1 ? p[1] : 0)))
            continue;
        for (size_t k = 0; k < p.size(); ++k)
            points[k].push_back(p[k]);
    }
    return points;
}

Value compute(Op op, const std::vector<Value> &v) {
    return v.size() == 1   ? unary(op, v[0])
           : v.size() == 2 ? binary(op, v[0], v[1])
                           : ternary(op, v[0], v[1], v[2]);
}

class Elementwise : public AdTest {};

TEST_P(Elementwise, DerivativesAgreeWithDifferencesAtAThousandPoints) {
    for (const Case &c : cases()) {
        if (HasFailure())
            break;
        expect_lanewise(
            name(c.op),
            [&](const Inputs &in) { return Float64(compute(c.op, { in.begin(), in.end() })); },
            points_of(c, 1000));
    }
}

TEST_P(Elementwise, TheTableAboveHasEveryFloatOperation) {
    for (int i = int(Op::Neg); i <= int(Op::Select); ++i) {
        Op op = Op(i);
        bool known = op == Op::Cast || op == Op::Bitcast || op == Op::Select || op == Op::Eq ||
                     op == Op::Ne || op == Op::Lt || op == Op::Le; // tested below; masks; refused
        for (const Case &c : cases())
            known = known || c.op == op;
        EXPECT_EQ(known || !accepts(op, Type::F64), true) << name(op);
    }
}

// The same formulas in single and half precision: against those of double precision.
TEST_P(Elementwise, SinglePrecisionAgreesWithDouble) {
    for (const Case &c : cases()) {
        if (HasFailure())
            break;
        std::vector<List> points = points_of(c, 100);
        std::vector<List> rounded = points;
        for (List &l : rounded)
            for (double &x : l)
                x = double(float(x));
        Inputs in = enabled(rounded);
        std::vector<Value> single;
        for (const List &l : rounded) {
            Float32 x(copy(l));
            enable_grad(x);
            single.push_back(x);
        }
        Float64 y(compute(c.op, { in.begin(), in.end() }));
        Value z = compute(c.op, single);
        EXPECT_EQ(grad_enabled(y), grad_enabled(z));
        if (!grad_enabled(y))
            continue; // steps
        backward(y);
        backward(z);
        for (size_t k = 0; k < in.size(); ++k) {
            List want = grad(in[k]).read();
            std::vector<float> got = Float32(grad(single[k])).read();
            for (size_t i = 0; i < want.size(); ++i)
                EXPECT_NEAR(got[i], want[i], 2e-5 * std::max(1.0, std::abs(want[i])))
                    << name(c.op) << " at " << rounded[0][i];
        }
    }
}

TEST_P(Elementwise, HalfPrecisionCarriesGradients) {
    Float16 x(copy(List{ 0.5, 1, 2 }));
    enable_grad(x);
    Float16 y = x * x + sin(x);
    backward(y);
    std::vector<float> g = Float32(grad(x)).read();
    for (int i = 0; i < 3; ++i) {
        double at = 0.5 * (1 << i);
        EXPECT_NEAR(g[i], 2 * at + std::cos(at), 4e-3) << at;
    }
}

// ---- select and casts

TEST_P(Elementwise, SelectPassesTheGradientToTheChosenSide) {
    std::vector<List> points = { random_points(1, 1000, -4, 4), random_points(2, 1000, -4, 4) };
    UInt32 lane = arange<uint32_t>(1000);
    Mask even = (lane & 1u) == 0u;
    expect_lanewise(
        "select", [&](const Inputs &in) { return select(even, in[0] * in[0], sin(in[1])); },
        points);
    Float64 x = copy(List{ 1, 2, 3 });
    enable_grad(x);
    Float64 y = select(x < 2.5, x * 2.0, Float64(7.0));
    backward(y);
    EXPECT_EQ(grad(x).read(), (List{ 2, 2, 0 }));
}

// A NaN in the arm that is not taken does not reach the gradient of the arm that is, nor of its own operand.
TEST_P(Elementwise, SelectKeepsNaNsOutOfTheOtherSide) {
    Float64 x = copy(List{ -4, 4 });
    enable_grad(x);
    Float64 y = select(x > 0.0, x * x, x * 3.0) + select(x > 0.0, sqrt(max(x, 1.0)), Float64(0.0));
    backward(y);
    EXPECT_EQ(grad(x).read(), (List{ 3, 8.25 }));
}

TEST_P(Elementwise, CastsBetweenPrecisionsConvertTheGradient) {
    Float32 x = copy(std::vector<float>{ 1, 2, 3 });
    enable_grad(x);
    Float64 y = Float64(x) * copy(List{ 1.0 / 3, 2, 1e-3 });
    backward(y);
    EXPECT_EQ(grad(x).read(), (std::vector<float>{ float(1.0 / 3), 2, 1e-3f }));

    Float64 d = copy(List{ 1, 2, 3 });
    enable_grad(d);
    Float32 f = Float32(d) * 3.f;
    forward(d);
    EXPECT_EQ(grad(f).read(), (std::vector<float>{ 3, 3, 3 }));

    Float16 h(copy(List{ 1, 2, 3 }));
    enable_grad(h);
    Float32 g = Float32(h) * 0.5f;
    backward(g);
    EXPECT_EQ(Float32(grad(h)).read(), (std::vector<float>{ 0.5, 0.5, 0.5 }));
}

TEST_P(Elementwise, IntegersAndMasksEndAChain) {
    Float64 x = copy(List{ 1.5, 2.5 });
    enable_grad(x);
    EXPECT_FALSE(grad_enabled(Int32(x)));
    EXPECT_FALSE(grad_enabled(x < 2.0));
    EXPECT_FALSE(grad_enabled(x == x));
    EXPECT_FALSE(grad_enabled(Float64(Int32(x))));
    EXPECT_FALSE(grad_enabled(floor(x)));
}

// ---- subgradients

double slope(const std::function<Float64(const Float64 &)> &f, double at) {
    Float64 x = copy(List{ at });
    enable_grad(x);
    Float64 y = f(x);
    if (!grad_enabled(y))
        return 0;
    backward(y);
    return item(grad(x));
}

TEST_P(Elementwise, KinksHaveTheDocumentedSlopes) {
    EXPECT_EQ(slope([](auto &x) { return abs(x); }, 0.0), 1);
    EXPECT_EQ(slope([](auto &x) { return abs(x); }, -2.0), -1);
    for (double at : { -1.0, 0.0, 0.5, 1.0 }) {
        EXPECT_EQ(slope([](auto &x) { return floor(x) + ceil(x) + trunc(x) + round(x) + x; }, at),
                  1);
    }
    EXPECT_EQ(slope([](auto &x) { return clamp(x, Float64(0.0), Float64(1.0)); }, -0.5), 0);
    EXPECT_EQ(slope([](auto &x) { return clamp(x, Float64(0.0), Float64(1.0)); }, 0.5), 1);
    EXPECT_EQ(slope([](auto &x) { return clamp(x, Float64(0.0), Float64(1.0)); }, 1.5), 0);
}

// min(a, b) is a < b ? a : b, so a tie is b's; max likewise.
TEST_P(Elementwise, ATieOfMinAndMaxBelongsToTheSecondOperand) {
    for (Op op : { Op::Min, Op::Max }) {
        Float64 a = copy(List{ 1, 2, 3 }), b = copy(List{ 3, 2, 1 });
        enable_grad(a);
        enable_grad(b);
        Float64 y(binary(op, a, b));
        backward(y);
        List less{ 1, 0, 0 }, more{ 0, 0, 1 };
        EXPECT_EQ(grad(a).read(), op == Op::Min ? less : more) << name(op);
        List rest_less{ 0, 1, 1 }, rest_more{ 1, 1, 0 };
        EXPECT_EQ(grad(b).read(), op == Op::Min ? rest_less : rest_more) << name(op);
    }
}

TEST_P(Elementwise, PowerOfANegativeBaseHasASlopeInTheBaseAlone) {
    Float64 x = copy(List{ -2, -1, 0, 2 }), y = copy(List{ 3, 2, 2, 3 });
    enable_grad(x);
    enable_grad(y);
    Float64 z = pow(x, y);
    backward(z);
    EXPECT_EQ(grad(x).read(), (List{ 12, -2, 0, 12 }));
    List g = grad(y).read();
    EXPECT_EQ((List{ g[0], g[1], g[2] }), (List{ 0, 0, 0 }));
    EXPECT_NEAR(g[3], 8 * std::log(2), 1e-14);
}

// pow(x, 2) at 0 must not be 0 * inf, and a constant exponent must not cost a logarithm.
TEST_P(Elementwise, PowerWithAConstantExponent) {
    EXPECT_EQ(slope([](auto &x) { return pow(x, Float64(2.0)); }, 0.0), 0);
    EXPECT_EQ(slope([](auto &x) { return pow(x, Float64(1.0)); }, 0.0), 1);
    EXPECT_EQ(slope([](auto &x) { return pow(x, Float64(3.0)); }, -2.0), 12);
    EXPECT_NEAR(slope([](auto &x) { return pow(x, Float64(2.5)); }, 2.0), 2.5 * std::pow(2, 1.5),
                1e-13);
}

// ---- broadcasting

TEST_P(Elementwise, BroadcastOperandsSumTheirGradients) {
    List wide = random_points(5, 7, 0.5, 2);
    expect_gradient("one with many", [](const Inputs &in) { return in[0] * sin(in[1]) / in[1]; },
                    { { 1.3 }, wide });
    expect_gradient("many with one", [](const Inputs &in) { return pow(in[0], in[1]); },
                    { wide, { 1.3 } });
    expect_gradient("fma", [](const Inputs &in) { return fma(in[0], in[1], in[2]); },
                    { wide, { 1.3 }, { 0.2 } });
    expect_gradient("select",
                    [](const Inputs &in) { return select(in[0] > 1.0, in[1], in[2] * in[0]); },
                    { wide, { 1.3 }, { 0.2 } });
    expect_gradient("atan2 and min",
                    [](const Inputs &in) { return atan2(in[0], in[1]) + min(in[0], in[1]); },
                    { wide, { 1.31 } });
    expect_gradient("one alone", [](const Inputs &in) { return in[0] * in[0]; }, { { 1.5 } });
    // A chain of uniform values, used by many lanes at two places
    expect_gradient("uniform chain",
                    [](const Inputs &in) {
                        Float64 u = exp(in[0]) * in[1];
                        return u * in[2] + sin(u) + in[2] * in[2];
                    },
                    { { 0.3 }, { 1.2 }, wide });
}

TEST_P(Elementwise, AWideUseOfAUniformTangentStaysRight) {
    Float64 u = opaque(2.0), x = copy(List{ 1, 2, 3 });
    enable_grad(u);
    Float64 y = u * u * x;
    forward(u);
    EXPECT_EQ(grad(y).read(), (List{ 4, 8, 12 }));
}

TEST_P(Elementwise, AConstantWithAGradientIsAVariableOfItsOwn) {
    Float64 a = 2.0, b = 2.0;
    enable_grad(a);
    enable_grad(b);
    Float64 y = a * a * b;
    backward(y);
    EXPECT_EQ(item(grad(a)), 8);
    EXPECT_EQ(item(grad(b)), 4);
}

// Weights are recorded values: the derivative of sin and the cosine next to it are one operation.
TEST_P(Elementwise, DerivativesAreValueNumberedWithThePrimal) {
    Float64 x = copy(random_points(3, 100, -1, 1));
    enable_grad(x);
    Float64 y = sin(x) + cos(x);
    backward(y);
    Float64 g = grad(x), primal = detach(y);
    x = y = Float64();
    eval(primal, g);
    std::string text = context.last_program_text();
    EXPECT_EQ(occurrences(text, "Sin"), 1) << text;
    EXPECT_EQ(occurrences(text, "Cos"), 1) << text;
}

UMBEL_BACKENDS(Elementwise)

} // namespace
