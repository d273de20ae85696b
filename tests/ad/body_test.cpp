// tests/ad/body_test.cpp: inside recorded bodies, detach, scopes and replace_grad mean what they mean outside.
#include "ad/applied.h"
#include "jit/datum.h"
#include "support/gradient_check.h"

using namespace umbel::jit;
using namespace umbel::ad;
using namespace umbel::test;

namespace {

class Bodies : public AdTest {
protected:
    Bodies() { context.set(Flag::FlattenIfs, false); }
    UInt32 lane = arange<uint32_t>(4);
    void TearDown() override {
        lane = UInt32();
        AdTest::TearDown();
    }

    using Body = std::function<Float64(const Float64 &x, const Float64 &table)>;

    // The body inside of each construct has the gradients that it has outside, in both directions.
    void expect_same_inside(const char *what, const Body &body) {
        std::vector<std::function<Float64(const Float64 &, const Float64 &)>> ways{
            [&](const Float64 &x, const Float64 &t) { return body(x, t); },
            [&](const Float64 &x, const Float64 &t) {
                return if_(lane < 9u, [&] { return body(x, t); }, [&] { return x; });
            },
            [&](const Float64 &x, const Float64 &t) {
                auto [i, sum] = loop(
                    std::tuple<UInt32, Float64>(0u, 0.0),
                    [](const auto &s) { return std::get<0>(s) < 1u; },
                    [&](auto &s) {
                        std::get<1>(s) += body(x, t);
                        std::get<0>(s) += 1u;
                    });
                return sum;
            },
            [&](const Float64 &x, const Float64 &t) { // the operand is a state
                auto [i, v, sum] = loop(
                    std::tuple<UInt32, Float64, Float64>(0u, x, 0.0),
                    [](const auto &s) { return std::get<0>(s) < 1u; },
                    [&](auto &s) {
                        std::get<2>(s) += body(std::get<1>(s), t);
                        std::get<0>(s) += 1u;
                    });
                return sum;
            },
            [&](const Float64 &x, const Float64 &t) {
                std::vector<std::function<Float64(const Float64 &)>> f{
                    [&](const Float64 &v) { return body(v, t); },
                    [&](const Float64 &v) { return body(v, t) * 1.0 + 0.0; }
                };
                return switch_(lane % 2u, f, x);
            },
            [&](const Float64 &x, const Float64 &t) { // one inside another
                return if_(
                    lane < 9u,
                    [&] {
                        std::vector<std::function<Float64(const Float64 &)>> f{
                            [&](const Float64 &v) {
                                return if_(v < 99.0, [&] { return body(v, t); }, [&] { return v; });
                            },
                            [&](const Float64 &v) { return body(v, t); }
                        };
                        return switch_(lane % 2u, f, x * 1.0);
                    },
                    [&] { return x; });
            },
        };
        List want_x, want_table, want_tangent;
        for (size_t w = 0; w < ways.size(); ++w) {
            SCOPED_TRACE(fmt::format("{}, way {}", what, w));
            Float64 x = copy(List{ 0.5, 1, 1.5, 2 }), table = copy(List{ 3, 4, 5 });
            enable_grad(x);
            enable_grad(table);
            Float64 y = ways[w](x, table);
            backward(y);
            List dx = grad(x).read(), dt = grad(table).read();
            clear_grad(x);
            clear_grad(table);
            y = ways[w](x, table);
            set_grad(x, Float64(1.0));
            set_grad(table, copy(List{ 1, 10, 100 }));
            enqueue(Mode::Forward, x);
            enqueue(Mode::Forward, table);
            traverse(Mode::Forward);
            List tangent = grad(y).read();
            if (w == 0) {
                want_x = dx;
                want_table = dt;
                want_tangent = tangent;
            }
            for (size_t i = 0; i < 4; ++i)
                EXPECT_NEAR(dx[i], want_x[i], 1e-12) << "backward, lane " << i;
            for (size_t i = 0; i < 3; ++i)
                EXPECT_NEAR(dt[i], want_table[i], 1e-12) << "backward, element " << i;
            for (size_t i = 0; i < 4; ++i)
                EXPECT_NEAR(tangent[i], want_tangent[i], 1e-12) << "forward, lane " << i;
        }
    }
};

TEST_P(Bodies, DetachEndsADerivative) {
    expect_same_inside("an input", [](const Float64 &x, const Float64 &) { return detach(x) * x; });
    expect_same_inside("an intermediate value", [](const Float64 &x, const Float64 &) {
        Float64 t = sin(x) * x;
        return detach(t) * t + detach(t * t) * x;
    });
    expect_same_inside("of an array", [&](const Float64 &x, const Float64 &t) {
        return gather(detach(t), lane % 3u) * x + gather(t, (lane + 1u) % 3u);
    });
    expect_same_inside("elements of an array", [&](const Float64 &x, const Float64 &t) {
        Float64 v = gather(t, lane % 3u);
        return detach(v) * v * x;
    });
}

TEST_P(Bodies, DisablingAGradientEndsADerivative) {
    expect_same_inside("disable", [](const Float64 &x, const Float64 &) {
        Float64 t = x * x;
        disable_grad(t);
        return t * x;
    });
}

TEST_P(Bodies, ScopesAreRespected) {
    expect_same_inside("suspended", [&](const Float64 &x, const Float64 &t) {
        Float64 a = x * x, b;
        {
            SuspendGrad none;
            b = a * x + gather(t, lane % 3u);
            b = if_(lane < 2u, [&] { return b * a; }, [&] { return x; });
        }
        return a * b + gather(t, lane % 3u);
    });
    expect_same_inside("a loop under suspension", [&](const Float64 &x, const Float64 &) {
        Float64 b;
        {
            SuspendGrad none;
            auto [i, v] = loop(
                std::tuple<UInt32, Float64>(0u, x),
                [](const auto &s) { return std::get<0>(s) < 2u; },
                [&](auto &s) {
                    std::get<1>(s) = std::get<1>(s) * x;
                    std::get<0>(s) += 1u;
                });
            b = v;
        }
        return b * x;
    });
    expect_same_inside("resumed", [&](const Float64 &x, const Float64 &) {
        Float64 a = x * x, b;
        {
            SuspendGrad none;
            ResumeGrad all;
            b = a * x;
        }
        return a * b;
    });
    expect_same_inside("one of two", [&](const Float64 &x, const Float64 &t) {
        SuspendGrad without({ &t });
        return gather(t, lane % 3u) * x;
    });
}

TEST_P(Bodies, ReplaceGradTakesTheDerivativesOfTheOther) {
    expect_same_inside("replace_grad", [](const Float64 &x, const Float64 &) {
        return replace_grad(x * x, sin(x)) * x;
    });
    expect_same_inside("with a constant's", [](const Float64 &x, const Float64 &) {
        return replace_grad(x * x, Float64(2.0)) * x;
    });
}

TEST_P(Bodies, ReductionsOfArraysFromOutsideCarryGradients) {
    expect_same_inside("sum", [](const Float64 &x, const Float64 &t) { return sum(t) * x; });
    expect_same_inside("prefix sum", [&](const Float64 &x, const Float64 &t) {
        return gather(Float64(cumsum(t)), lane % 3u) * x * maximum(t);
    });
}

TEST_P(Bodies, DetachedResultsCarryNoGradient) {
    Float64 x = copy(List{ 1, 2, 3, 4 });
    enable_grad(x);
    std::vector<std::function<std::tuple<Float64, Float64>(const Float64 &)>> f{
        [](const Float64 &v) { return std::tuple(v * v, detach(v) * 2.0); },
        [](const Float64 &v) { return std::tuple(v * 3.0, detach(v)); }
    };
    auto [a, b] = switch_(lane % 2u, f, x);
    EXPECT_TRUE(grad_enabled(a));
    EXPECT_FALSE(grad_enabled(b));
    auto [i, s, t] = loop(
        std::tuple<UInt32, Float64, Float64>(0u, x, 1.0),
        [](const auto &s) { return std::get<0>(s) < 3u; },
        [](auto &s) {
            auto &[i, v, w] = s;
            v = v * 2.0;
            w = w * 3.0 + Float64(i);
            i += 1u;
        });
    EXPECT_TRUE(grad_enabled(s));
    EXPECT_FALSE(grad_enabled(t));
}

// Only what depends on gradients may not be written.
TEST_P(Bodies, OtherValuesMayBeWritten) {
    Float64 x = copy(List{ 1, 2, 3, 4 }), film = zeros<double>(4);
    enable_grad(x);
    auto [i, v, w] = loop(
        std::tuple<UInt32, Float64, Float64>(0u, x, 1.0),
        [](const auto &s) { return std::get<0>(s) < 3u; },
        [&](auto &s) {
            auto &[i, v, w] = s;
            scatter_add(film, w, lane);
            scatter_add(film, detach(v) * 100.0, lane);
            v = v * 2.0;
            w = w + 1.0;
            i += 1u;
        });
    backward(v);
    EXPECT_EQ(grad(x).read(), (List{ 8, 8, 8, 8 }));
    EXPECT_EQ(film.read(), (List{ 706, 1406, 2106, 2806 }));
}

// An array that carries gradients may be added to: its derivative is what it was.
TEST_P(Bodies, AddingToAnArrayWithGradientsKeepsThem) {
    Float64 x = copy(List{ 1, 2, 3, 4 }), film = zeros<double>(4);
    enable_grad(x);
    scatter_add(film, x * x, lane);
    Float64 y = if_(
        lane < 2u,
        [&] {
            scatter_add(film, Float64(10.0), lane);
            return x;
        },
        [&] { return x * 2.0; });
    EXPECT_EQ(film.read(), (List{ 11, 14, 9, 16 }));
    Float64 z = film * 1.0 + y;
    backward(z);
    EXPECT_EQ(grad(x).read(), (List{ 3, 5, 8, 10 }));
}

// Arithmetic on members of another instance must not be taken for this one's, once it is evaluated.
struct Part : Instance<Part> {
    Float64 s;
    explicit Part(const Float64 &s) : s(s) {}
};

TEST_P(Bodies, MembersArithmeticThatIsEvaluatedStaysTheInstancesOwn) {
    for (bool differentiable : { false, true })
        for (int construct = 0; construct < 3; ++construct) {
            SCOPED_TRACE(fmt::format("{} {}", differentiable, construct));
            Float64 x = copy(List{ 1, 2, 3, 4 }), m = opaque(2.0), n = opaque(3.0);
            enable_grad(x);
            if (differentiable)
                enable_grad(n);
            Part a(m), b(n);
            auto shade = [&](const Float64 &x) {
                return call(
                    Pointer<Part>(lane % 2u + a.id()),
                    [](Part *p, const Float64 &x) { return (p->s * p->s) * x; }, x);
            };
            Float64 y = construct == 0 ? shade(x)
                        : construct == 1
                            ? if_(
                                  lane < 9u, [&] { return shade(x) * x; }, [&] { return x; })
                            : std::get<1>(loop(
                                  std::tuple<UInt32, Float64>(0u, 0.0),
                                  [](const auto &s) { return std::get<0>(s) < 1u; },
                                  [&](auto &s) {
                                      std::get<1>(s) += shade(x);
                                      std::get<0>(s) += 1u;
                                  }));
            Float64 first = detach(m) * detach(m), second = detach(n) * detach(n);
            eval(first);
            if (construct == 2)
                eval(second);
            backward(y);
            if (construct == 1)
                EXPECT_EQ(grad(x).read(), (List{ 8, 36, 24, 72 }));
            else
                EXPECT_EQ(grad(x).read(), (List{ 4, 9, 4, 9 }));
            if (differentiable) {
                EXPECT_EQ(item(grad(n)), construct == 1 ? 6.0 * 20 : 6.0 * 6);
            }
        }
}

// Numbers of the host, which records of instances hold by value.
struct Fixed : Instance<Fixed> {
    double s;
    mutable DatumNode node;
    explicit Fixed(double s) : s(s) {}
    Float64 number() const { return Float64(datum(Type::F64, to_bits(s), node)); }
};

TEST_P(Bodies, NumbersOfTheHostAreTheInstancesOwn) {
    for (bool within : { false, true }) {
        SCOPED_TRACE(within);
        Fixed a(2), b(3), c(5);
        Float64 x = copy(List{ 1, 2, 3, 4 });
        enable_grad(x);
        auto shade = [&](const Float64 &x) {
            return call(
                Pointer<Fixed>(lane % 3u + a.id()),
                [](Fixed *p, const Float64 &x) { return x * x * p->number(); }, x);
        };
        Float64 y =
            within ? if_(lane < 9u, [&] { return shade(x) * x; }, [&] { return x; }) : shade(x);
        backward(y);
        if (within)
            EXPECT_EQ(grad(x).read(), (List{ 6, 36, 135, 96 }));
        else
            EXPECT_EQ(grad(x).read(), (List{ 4, 12, 30, 16 }));
    }
}

// x -> x * x, and 1, with derivatives that neither has: `slope` times x, and x
struct Odd : RepeatableOp {
    double slope;
    Float64 x;
    explicit Odd(double slope) : slope(slope) {}
    const char *name() const override { return "odd"; }
    std::vector<Value> eval(std::span<const Value> in) override {
        x = Float64(in[0]);
        return { x * x, Float64(1.0) };
    }
    std::shared_ptr<CustomOp> again() const override { return std::make_shared<Odd>(slope); }
    void forward() override {
        Float64 dx(grad_in(0));
        set_grad_out(0, dx * x * slope);
        set_grad_out(1, dx * x);
    }
    void backward() override {
        set_grad_in(0, Float64(grad_out(0)) * x * slope + Float64(grad_out(1)) * x);
    }
};

std::vector<Value> odd(const Float64 &x, double slope) {
    Value in[] = { x };
    return custom(std::make_shared<Odd>(slope), in);
}

TEST_P(Bodies, CustomOperationsKeepTheirDerivatives) {
    expect_same_inside(
        "once", [](const Float64 &x, const Float64 &) { return Float64(odd(x * 3.0, 5)[0]) * x; });
    expect_same_inside("equal values, other derivatives", [](const Float64 &x, const Float64 &) {
        return Float64(odd(x, 5)[0]) + Float64(odd(x, 7)[0]) * 2.0 + x * x;
    });
    expect_same_inside("one after another, beside memory", [&](const Float64 &x, const Float64 &t) {
        Float64 v = Float64(odd(gather(t, lane % 3u), 5)[0]);
        return Float64(odd(v * x, 3)[0]) * gather(t, lane % 2u);
    });
    expect_same_inside("a constant",
                       [](const Float64 &x, const Float64 &) { return Float64(odd(x, 5)[1]) * x; });
    expect_same_inside("without derivatives", [](const Float64 &x, const Float64 &) {
        return Float64(odd(detach(x), 5)[0]) * x;
    });
}

TEST_P(Bodies, CustomOperationsOfLoopsThatGoRound) {
    Float64 x = copy(List{ 0.5, 1, 1.5, 2 });
    enable_grad(x);
    auto round = [&](const Float64 &v) { // v <- v^2 / 4, with four times its derivative
        return std::get<1>(loop(
            std::tuple<UInt32, Float64>(0u, v), [](const auto &s) { return std::get<0>(s) < 3u; },
            [](auto &s) {
                std::get<1>(s) = Float64(odd(std::get<1>(s), 8)[0]) * 0.25;
                std::get<0>(s) += 1u;
            }));
    };
    Float64 y = round(x);
    backward(y);
    List got = grad(x).read(), at = x.read();
    for (size_t i = 0; i < got.size(); ++i) {
        double v = at[i], slope = 1;
        for (int k = 0; k < 3; ++k) {
            slope *= 8 * v * 0.25;
            v = v * v * 0.25;
        }
        EXPECT_NEAR(got[i], slope, 1e-12);
    }
}

TEST_P(Bodies, CustomOperationsThatCannotBeAppliedAgainAreRefused) {
    struct Once : CustomOp {
        const char *name() const override { return "odd"; }
        std::vector<Value> eval(std::span<const Value> in) override { return { in[0] }; }
        void forward() override {}
        void backward() override {}
    };
    Float64 x = copy(List{ 0.5, 1, 1.5, 2 });
    enable_grad(x);
    auto apply = [&] {
        return if_(
            lane < 2u,
            [&] {
                Value in[] = { x };
                return Float64(custom(std::make_shared<Once>(), in)[0]);
            },
            [&] { return x; });
    };
    try {
        apply();
        ADD_FAILURE() << "not refused";
    } catch (const umbel::UserError &e) {
        EXPECT_NE(std::string(e.what()).find("odd: a custom operation inside a recorded body"),
                  std::string::npos)
            << e.what();
    }
}

UMBEL_BACKENDS(Bodies)

} // namespace
