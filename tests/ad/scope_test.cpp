// tests/ad/scope_test.cpp: which values are followed, how far traversals go, and traversals inside loops.
#include "ad/matvec.h"
#include "support/gradient_check.h"

using namespace umbel::jit;
using namespace umbel::ad;
using namespace umbel::test;

namespace {

class Scopes : public AdTest {
protected:
    Float64 x = copy(List{ 2, 3 }), y = copy(List{ 5, 7 }), z = copy(List{ 11, 13 });
    void SetUp() override {
        for (Float64 *v : { &x, &y, &z })
            enable_grad(*v);
    }
    void TearDown() override {
        x = y = z = Float64();
        AdTest::TearDown();
    }
    // Which of x, y and z a product of all three depends on.
    std::string followed() {
        std::string out;
        for (Float64 *v : { &x, &y, &z })
            if (grad_enabled(*v * 2.0))
                out += v == &x ? "x" : v == &y ? "y" : "z";
        return out;
    }
};

TEST_P(Scopes, SuspendAndResumeNest) {
    EXPECT_EQ(followed(), "xyz");
    {
        SuspendGrad none;
        EXPECT_EQ(followed(), "");
        {
            ResumeGrad one({ &x });
            EXPECT_EQ(followed(), "x");
            {
                ResumeGrad two({ &y });
                EXPECT_EQ(followed(), "xy");
                SuspendGrad less({ &x });
                EXPECT_EQ(followed(), "y");
            }
            EXPECT_EQ(followed(), "x");
            ResumeGrad all;
            EXPECT_EQ(followed(), "xyz");
            SuspendGrad but({ &y });
            EXPECT_EQ(followed(), "xz");
            ResumeGrad again({ &y });
            EXPECT_EQ(followed(), "xyz");
        }
        EXPECT_EQ(followed(), "");
    }
    EXPECT_EQ(followed(), "xyz");
    SuspendGrad two({ &x, &z });
    EXPECT_EQ(followed(), "y");
    SuspendGrad constant({ &x }); // already: no change
    EXPECT_EQ(followed(), "y");
    Float64 plain = 1.0;
    SuspendGrad nothing({ &plain }); // carries no gradient: not the same as no arguments
    EXPECT_EQ(followed(), "y");
}

TEST_P(Scopes, ResultsOfFollowedValuesAreFollowed) {
    SuspendGrad none;
    ResumeGrad one({ &x });
    Float64 a = x * y, b = sin(a) + y;
    backward(b);
    List g = grad(x).read();
    EXPECT_NEAR(g[0], 5 * std::cos(10), 1e-12);
    EXPECT_EQ(grad(y).read(), (List{ 0, 0 }));
}

TEST_P(Scopes, SuspendedValuesStillHaveTheirNodes) {
    Float64 a = x * x;
    {
        SuspendGrad none;
        EXPECT_TRUE(grad_enabled(a));
        EXPECT_FALSE(grad_enabled(a * 2.0));
    }
    backward(a);
    EXPECT_EQ(grad(x).read(), (List{ 4, 6 }));
}

TEST_P(Scopes, ScopesHoldForMemoryAndControlFlow) {
    SuspendGrad none;
    ResumeGrad one({ &x });
    Float64 target = zeros<double>(2);
    scatter_add(target, y, arange<uint32_t>(2));
    EXPECT_FALSE(grad_enabled(target));
    EXPECT_FALSE(grad_enabled(gather(y, arange<uint32_t>(2))));
    EXPECT_FALSE(grad_enabled(sum(y)));
    FlagScope recorded(Flag::FlattenIfs, false);
    Float64 a = if_(x > 2.5, [&] { return x * y; }, [&] { return y * y; });
    Float64 w = a + gather(x * y, arange<uint32_t>(2));
    backward(w);
    EXPECT_EQ(grad(x).read(), (List{ 5, 14 }));
    EXPECT_EQ(grad(y).read(), (List{ 0, 0 }));
}

// ---- sums of finite numbers

TEST_P(Scopes, SumsForMatricesLeaveOutLanesThatAreNotFinite) {
    Float32 w = copy(std::vector<float>{ 2 }), in = copy(std::vector<float>{ 1, 0, 3 });
    enable_grad(w);
    static bool is_told;
    is_told = false;
    FiniteSums finite([](const Value &) { is_told = true; });
    Float32 out(matvec(w, Matrix{ 0, 1, 1, 1 }, Value(), NoBias, std::vector<Value>{ in })[0]);
    Float32 root = sqrt(out); // whose derivative is infinite at 0
    backward(root);
    EXPECT_NEAR(item(grad(w)), 0.5 / std::sqrt(2.) + 1.5 / std::sqrt(6.), 1e-6);
    EXPECT_TRUE(is_told);
}

// ---- isolation

TEST_P(Scopes, TraversalsGoOneStepBeyondAnIsolation) {
    Float64 a = x * x; // outside
    {
        IsolateGrad scope;
        Float64 b = a * a;
        backward(b);
        EXPECT_EQ(grad(a).read(), (List{ 8, 18 })); // has arrived, waits here
        EXPECT_EQ(grad(x).read(), (List{ 0, 0 }));
        Float64 c = a * 10.0;
        backward(c); // adds to it
        EXPECT_EQ(grad(a).read(), (List{ 18, 28 }));
    }
    EXPECT_EQ(grad(x).read(), (List{ 72, 168 }));
    EXPECT_EQ(grad(a).read(), (List{ 0, 0 }));
}

TEST_P(Scopes, IsolationsNest) {
    Float64 a = x * x;
    {
        IsolateGrad outer;
        Float64 b = a * 3.0;
        {
            IsolateGrad inner;
            Float64 c = b * b;
            backward(c);
            EXPECT_EQ(grad(b).read(), (List{ 24, 54 }));
            EXPECT_EQ(grad(a).read(), (List{ 0, 0 }));
        }
        EXPECT_EQ(grad(a).read(), (List{ 72, 162 }));
        EXPECT_EQ(grad(x).read(), (List{ 0, 0 }));
    }
    EXPECT_EQ(grad(x).read(), (List{ 288, 972 }));
}

TEST_P(Scopes, AnIsolationHoldsThroughOtherScopes) {
    Float64 a = x * x;
    {
        IsolateGrad isolated;
        SuspendGrad none;
        ResumeGrad all;
        Float64 b = a * a;
        backward(b);
        EXPECT_EQ(grad(x).read(), (List{ 0, 0 }));
    }
    EXPECT_EQ(grad(x).read(), (List{ 32, 108 }));
}

// Traversing what it postponed would spread a part of a gradient, and an error there would end the process.
TEST_P(Scopes, AnIsolationThatAnExceptionEndsSpreadsNothing) {
    Float64 a = x * x;
    try {
        IsolateGrad scope;
        Float64 b = a * a;
        backward(b);
        throw umbel::UserError("half of it");
    } catch (const umbel::UserError &) {
    }
    EXPECT_EQ(grad(a).read(), (List{ 0, 0 }));
    EXPECT_EQ(grad(x).read(), (List{ 0, 0 }));
    {
        IsolateGrad scope;
        Float64 b = a * a;
        backward(b);
    }
    EXPECT_EQ(grad(x).read(), (List{ 32, 108 }));
}

TEST_P(Scopes, AnIsolationThatNothingCrossesChangesNothing) {
    IsolateGrad scope;
    Float64 a = copy(List{ 1, 2 });
    enable_grad(a);
    Float64 b = a * a * a;
    backward(b);
    EXPECT_EQ(grad(a).read(), (List{ 3, 12 }));
}

TEST_P(Scopes, ForwardTraversalsArePostponedForward) {
    Float64 a = x * x; // an edge between nodes from outside
    Float64 b;
    {
        IsolateGrad scope;
        b = x * 10.0;
        forward(x);
        EXPECT_EQ(grad(b).read(), (List{ 10, 10 }));
        EXPECT_EQ(grad(a).read(), (List{ 0, 0 }));
    }
    EXPECT_EQ(grad(a).read(), (List{ 4, 6 }));
}

// ---- traversals inside recorded loops, as an integrator's adjoint makes them

struct Path {
    UInt32 i;
    Float64 weight;
    UMBEL_STRUCT(i, weight)
};

// sum over i of weight_i * table[(lane + i) % 8] * scale, weight_{i+1} = weight_i * 0.5: the adjoint
// replays the loop and propagates each term by itself.
template <class Fn> void replay(const UInt32 &steps, Fn &&term) {
    loop(
        Path{ 0u, 1.0 }, [&](const Path &p) { return p.i < steps; },
        [&](Path &p) {
            term(p);
            p.weight *= 0.5;
            p.i += 1u;
        });
}

TEST_P(Scopes, BackwardInsideARecordedLoopGathersAndSums) {
    const uint32_t n = 100;
    UInt32 lane = arange<uint32_t>(n), steps = lane % 6u; // some lanes do nothing
    List points = random_points(3, 8, 0.5, 2);
    List want(8, 0);
    double want_scale = 0;
    for (uint32_t l = 0; l < n; ++l)
        for (uint32_t i = 0; i < l % 6; ++i) {
            want[(l + i) % 8] += 3.0 * std::pow(0.5, i) * 2;
            want_scale += 3.0 * std::pow(0.5, i) * points[(l + i) % 8];
        }
    for (bool isolated : { false, true }) {
        Float64 base = copy(points), scale = opaque(2.0), uniform = opaque(1.0);
        enable_grad(base);
        enable_grad(scale);
        Float64 table = base * 1.0 + 0.0, gain = scale * 1.0 + 0.0;
        if (isolated) { // the parameters are computed, differentiably, before the loop
            table = sqrt(base * base);
            gain = exp(log(scale));
            eval(table, gain);
        } else {
            table = base;
            gain = scale;
        }
        {
            IsolateGrad isolate;
            SuspendGrad none;
            replay(steps, [&](Path &p) {
                ResumeGrad all;
                Float64 f = gather(table, (lane + p.i) % 8u) * gain * p.weight;
                f = f * 3.0; // the adjoint of the result
                backward(f);
            });
        }
        List got = grad(base).read();
        for (int i = 0; i < 8; ++i)
            EXPECT_NEAR(got[i], want[i], 1e-10) << isolated << " " << i;
        EXPECT_NEAR(item(grad(scale)), want_scale, 1e-10) << isolated;
    }
}

TEST_P(Scopes, ALoopAddsToAGradientThatIsThere) {
    Float64 table = copy(List{ 1, 2, 3 });
    enable_grad(table);
    set_grad(table, copy(List{ 100, 200, 300 }));
    {
        IsolateGrad isolate;
        SuspendGrad none;
        replay(UInt32(4u), [&](Path &p) {
            ResumeGrad all;
            Float64 f = gather(table, p.i % 3u) * 2.0;
            backward(f);
        });
    }
    EXPECT_EQ(grad(table).read(), (List{ 104, 202, 302 }));
}

// A value of one element a lane from outside, without a gather.
TEST_P(Scopes, LanesOfOuterValuesCollectTheirOwnGradients) {
    Float64 a = copy(List{ 1, 2, 3 });
    enable_grad(a);
    UInt32 steps = copy(std::vector<uint32_t>{ 0, 1, 3 });
    {
        IsolateGrad isolate;
        SuspendGrad none;
        replay(steps, [&](Path &p) {
            ResumeGrad all;
            Float64 f = a * a * p.weight;
            backward(f);
        });
    }
    EXPECT_EQ(grad(a).read(), (List{ 0, 4, 6 * 1.75 }));
}

// Members of instances get their gradients from calls that are differentiated inside the loop.
struct Medium : Instance<Medium> {
    Float64 density, texture;
    explicit Medium(double d) : density(opaque(d)), texture(copy(List{ d, d + 1, d + 2, d + 3 })) {}
    Float64 eval(const UInt32 &at, const Float64 &w) const {
        return density * gather(texture, at) * w;
    }
};

TEST_P(Scopes, CallsInsideAReplayedLoopGiveGradientsToMembers) {
    const uint32_t n = 60;
    Medium a(1), b(2);
    for (Medium *m : { &a, &b }) {
        enable_grad(m->density);
        enable_grad(m->texture);
    }
    UInt32 lane = arange<uint32_t>(n);
    Pointer<Medium> self((lane % 2u) + a.id());
    {
        IsolateGrad isolate;
        SuspendGrad none;
        replay(UInt32(3u), [&](Path &p) {
            ResumeGrad all;
            UInt32 at = (lane + p.i) % 4u;
            Float64 f = call(
                self, [](Medium *m, const UInt32 &at, const Float64 &w) { return m->eval(at, w); },
                at, p.weight);
            backward(f);
        });
    }
    for (Medium *m : { &a, &b }) {
        double d = m->id() == a.id() ? 1 : 2, density = 0;
        List texture(4, 0);
        for (uint32_t l = m->id() - a.id(); l < n; l += 2)
            for (uint32_t i = 0; i < 3; ++i) {
                density += (d + (l + i) % 4) * std::pow(0.5, i);
                texture[(l + i) % 4] += d * std::pow(0.5, i);
            }
        EXPECT_NEAR(item(grad(m->density)), density, 1e-10);
        List got = grad(m->texture).read();
        for (int i = 0; i < 4; ++i)
            EXPECT_NEAR(got[i], texture[i], 1e-10) << i;
    }
}

// Two operations of one iteration meet in the same gradients.
TEST_P(Scopes, SeveralConstructsInsideAReplayedLoopShareTheirGradients) {
    FlagScope recorded(Flag::FlattenIfs, false);
    Medium a(1), b(2);
    for (Medium *m : { &a, &b }) {
        enable_grad(m->density);
        enable_grad(m->texture);
    }
    UInt32 lane = arange<uint32_t>(8);
    Pointer<Medium> self(lane % 2u + a.id());
    auto eval_at = [&](const UInt32 &at, const Float64 &w) {
        return call(
            self, [](Medium *m, const UInt32 &at, const Float64 &w) { return m->eval(at, w); }, at,
            w);
    };
    {
        IsolateGrad isolate;
        SuspendGrad none;
        replay(UInt32(2u), [&](Path &p) {
            ResumeGrad all;
            Float64 f = eval_at(UInt32(0u), Float64(1.0)) + eval_at(UInt32(1u), Float64(10.0));
            f = f + if_(
                        lane < 4u, [&] { return a.density * gather(a.texture, UInt32(2u)); },
                        [&] { return a.density * 0.5; });
            f = f + gather(a.texture, UInt32(3u)) * a.density;
            backward(f);
            Float64 g = eval_at(UInt32(2u), p.weight * 0.0 + 100.0);
            backward(g);
        });
    }
    // a: density 1, texels 1, 2, 3, 4; four lanes a medium, two iterations
    EXPECT_EQ(item(grad(a.density)), 8 * (1 + 20 + 300) + 8 * 3 + 8 * 0.5 + 16 * 4);
    EXPECT_EQ(grad(a.texture).read(), (List{ 8, 80, 800 + 8, 16 }));
    EXPECT_EQ(item(grad(b.density)), 8 * (2 + 30 + 400));
    EXPECT_EQ(grad(b.texture).read(), (List{ 16, 160, 1600, 0 }));
}

TEST_P(Scopes, ConditionalsInsideAReplayedLoop) {
    FlagScope recorded(Flag::FlattenIfs, false);
    const uint32_t n = 40;
    Float64 table = copy(random_points(3, 4, 0.5, 2)), scale = opaque(2.0);
    List points = table.read();
    enable_grad(table);
    enable_grad(scale);
    UInt32 lane = arange<uint32_t>(n);
    {
        IsolateGrad isolate;
        SuspendGrad none;
        replay(UInt32(3u), [&](Path &p) {
            ResumeGrad all;
            UInt32 at = (lane + p.i) % 4u;
            Float64 f = if_(
                at < 2u, [&] { return gather(table, at) * scale * p.weight; },
                [&] { return gather(table, at ^ 1u) * p.weight; });
            backward(f);
        });
    }
    List want(4, 0);
    double want_scale = 0;
    for (uint32_t l = 0; l < n; ++l)
        for (uint32_t i = 0; i < 3; ++i) {
            uint32_t at = (l + i) % 4;
            if (at < 2) {
                want[at] += 2 * std::pow(0.5, i);
                want_scale += points[at] * std::pow(0.5, i);
            } else {
                want[at ^ 1] += std::pow(0.5, i);
            }
        }
    List got = grad(table).read();
    for (int i = 0; i < 4; ++i)
        EXPECT_NEAR(got[i], want[i], 1e-10) << i;
    EXPECT_NEAR(item(grad(scale)), want_scale, 1e-10);
}

// Forward: the tangent of a table is read inside the loop, and its effect leaves through memory.
TEST_P(Scopes, ForwardInsideARecordedLoop) {
    Float64 table = copy(List{ 1, 2, 3, 4 }), tangent = zeros<double>(3);
    enable_grad(table);
    set_grad(table, copy(List{ 1, 10, 100, 1000 }));
    UInt32 lane = arange<uint32_t>(3);
    struct Sum {
        UInt32 i;
        Float64 d;
        UMBEL_STRUCT(i, d)
    };
    {
        SuspendGrad none;
        Sum s = loop(
            Sum{ 0u, 0.0 }, [](const Sum &s) { return s.i < 2u; },
            [&](Sum &s) {
                ResumeGrad all;
                Float64 f = gather(table, lane + s.i) * 2.0;
                s.d += Float64(forward_to(f));
                s.i += 1u;
            });
        tangent = s.d;
    }
    EXPECT_EQ(tangent.read(), (List{ 22, 220, 2200 }));
}

UMBEL_BACKENDS(Scopes)

} // namespace
