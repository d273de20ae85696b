// tests/ad/control_test.cpp: derivatives of conditionals, calls and loops, alone and inside one another.
#include "support/gradient_check.h"
#include <pthread.h>

using namespace umbel::jit;
using namespace umbel::ad;
using namespace umbel::test;

namespace {

class Control : public AdTest {
protected:
    Control() { context.set(Flag::FlattenIfs, false); } // recorded, however small
    List lanes = random_points(1, 9, 0.5, 1.5), more = random_points(2, 9, 0.5, 1.5),
         table = random_points(3, 4, 0.5, 1.5);
    UInt32 lane = arange<uint32_t>(9);
    void TearDown() override {
        lane = UInt32();
        AdTest::TearDown();
    }
};

struct State {
    UInt32 i;
    Float64 a, b;
    UMBEL_STRUCT(i, a, b)
};
// `steps` may differ from lane to lane.
template <class Body>
State repeat(const UInt32 &steps, const Float64 &a, const Float64 &b, Body &&body) {
    return loop(
        State{ 0u, a, b }, [&](const State &s) { return s.i < steps; },
        [&](State &s) {
            body(s);
            s.i += 1u;
        });
}

// ---- long chains

void run_with_stack(size_t bytes, std::function<void()> fn) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, bytes);
    pthread_t thread;
    auto call = [](void *f) -> void * {
        (*static_cast<std::function<void()> *>(f))();
        return nullptr;
    };
    ASSERT_EQ(pthread_create(&thread, &attributes, call, &fn), 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
}

// Each conditional needs the result of the one before it.
TEST_P(Control, ChainsOfConditionalsInABodyNeedNoStack) {
    run_with_stack(256 << 10, [&] {
        ContextScope here(context);
        Float64 x = copy(lanes);
        enable_grad(x);
        State s = repeat(2u, x, x, [](State &s) {
            for (int i = 0; i < 400; ++i)
                s.a = if_(
                    s.a > 1.0, [&] { return Float64(s.a * 0.999); }, [&] { return s.a * 1.001; });
        });
        Float64 total = sum(s.a);
        backward(total);
        Float64 g(grad(x));
        for (double v : g.read())
            EXPECT_NEAR(v, 1, 1.3);
    });
}

// ---- evaluated, not recorded

TEST_P(Control, EvaluatedLoopsBranchesAndWritesHaveTheDerivativesOfRecordedOnes) {
    FlagScope loops(Flag::RecordLoops, false), ifs(Flag::RecordIfs, false);
    expect_gradient("evaluated loop",
                    [&](const Inputs &in) {
                        State s =
                            repeat(lane % 4u, in[0], in[1], [](State &s) { s.a = sin(s.a) * s.b; });
                        return s.a + s.b;
                    },
                    { lanes, more });
    expect_gradient("evaluated conditional",
                    [&](const Inputs &in) {
                        return if_((lane & 1u) == 0u, [&] { return in[0] * in[0]; },
                                   [&] { return sin(in[0]) * gather(in[1], lane & 3u); });
                    },
                    { lanes, table });
    expect_gradient("sums written by an evaluated loop",
                    [&](const Inputs &in) {
                        Float64 film = zeros<double>(9);
                        repeat(UInt32(2u), in[0], in[0],
                               [&](State &s) { scatter_add(film, s.a * s.a, lane); });
                        return film;
                    },
                    { lanes });
}

// ---- conditionals

TEST_P(Control, ConditionalsPassGradientsThroughTheBranchTaken) {
    for (bool flatten : { false, true }) {
        FlagScope scope(Flag::FlattenIfs, flatten);
        expect_gradient("if",
                        [&](const Inputs &in) {
                            return if_(
                                (lane & 1u) == 0u, [&] { return in[0] * sin(in[1]); },
                                [&] { return exp(in[0]) + gather(in[2], lane & 3u) * in[3]; });
                        },
                        { lanes, more, table, { 0.7 } });
        expect_gradient("two results",
                        [&](const Inputs &in) {
                            auto [u, v] = if_(
                                lane < 4u, [&] { return std::tuple(in[0] * in[0], in[1]); },
                                [&] { return std::tuple(in[1], in[0] * in[1]); });
                            return u * v + u;
                        },
                        { lanes, more });
        expect_gradient(
            "the same in both",
            [&](const Inputs &in) {
                return if_(lane < 4u, [&] { return in[0] * in[1]; }, [&] { return in[0] * in[1]; });
            },
            { lanes, more });
        expect_gradient(
            "untouched values",
            [&](const Inputs &in) {
                return if_(lane < 4u, [&] { return in[0]; }, [&] { return in[1]; }) * in[0];
            },
            { lanes, more });
        expect_gradient(
            "a constant in one branch",
            [&](const Inputs &in) {
                return if_(lane < 4u, [&] { return Float64(2.0); }, [&] { return in[0] * in[0]; });
            },
            { lanes });
    }
}

TEST_P(Control, AConditionMayDependOnWhatIsDifferentiated) {
    expect_gradient("if",
                    [&](const Inputs &in) {
                        return if_(
                            in[0] * in[0] > 1.0, [&] { return in[0] * 3.0; },
                            [&] { return sin(in[0]); });
                    },
                    { { 0.5, 0.7, 1.2, 1.4 } });
}

TEST_P(Control, SwitchesPassGradientsThroughTheFunctionChosen) {
    using F = std::function<Float64(const Float64 &)>;
    expect_gradient("switch",
                    [&](const Inputs &in) {
                        std::vector<F> functions{ [&](const Float64 &x) { return x * x * in[1]; },
                                                  [&](const Float64 &x) { return sin(x); },
                                                  [&](const Float64 &x) {
                                                      return x + gather(in[2], UInt32(1u));
                                                  } };
                        return switch_(lane % 4u, functions, in[0]) + in[0]; // 3: none, zero
                    },
                    { lanes, { 0.7 }, table });
}

// Evaluating what a body computed must not hide from derivatives what it was computed from.
TEST_P(Control, EvaluationBetweenRecordingAndDerivativeChangesNothing) {
    expect_gradient("if",
                    [&](const Inputs &in) {
                        Float64 y = if_(
                            lane < 4u, [&] { return in[0] * in[1]; }, [&] { return in[1] + 1.0; });
                        Float64 same = detach(in[0]) * detach(in[1]); // the node of the branch
                        eval(same, y);
                        return y * y;
                    },
                    { lanes, more });
    expect_gradient("loop",
                    [&](const Inputs &in) {
                        State s = repeat(UInt32(3u), in[0], Float64(0.0), [&](State &s) {
                            s.a = s.a * (in[0] * in[1]);
                            s.b += s.a;
                        });
                        Float64 same = detach(in[0]) * detach(in[1]);
                        eval(same, s.a, s.b);
                        return s.b;
                    },
                    { lanes, more });
}

// ---- calls

struct Material : Instance<Material> {
    virtual ~Material() = default;
    virtual Float64 eval(const Float64 &x, const UInt32 &at) const = 0;
};
struct Glossy : Material {
    Float64 rough, gain;
    Glossy(const Float64 &r, const Float64 &g) : rough(r), gain(g) {}
    Float64 eval(const Float64 &x, const UInt32 &) const override {
        return gain * pow(x, rough) + x;
    }
};
struct Textured : Material {
    Float64 texels;
    explicit Textured(const Float64 &t) : texels(t) {}
    Float64 eval(const Float64 &x, const UInt32 &at) const override {
        auto v = gather_packet<double, 2>(texels, at & 1u);
        return gather(texels, at) * x + v[0] * v[1];
    }
};
Float64 shade(const UInt32 &which, const Float64 &x, const UInt32 &at) {
    return call(
        Pointer<Material>(which),
        [](Material *m, const Float64 &x, const UInt32 &at) { return m->eval(x, at); }, x, at);
}

TEST_P(Control, CallsPassGradientsToArgumentsAndMembers) {
    expect_gradient("scalars and textures",
                    [&](const Inputs &in) {
                        Glossy a(in[1], in[2]), b(in[2] * 2.0, in[1]);
                        Textured c(in[3]), d(in[3] * in[3]);
                        return shade(lane % 5u, in[0], lane & 3u) * in[0]; // 0: nobody
                    },
                    { lanes, { 1.3 }, { 0.7 }, table });
}

TEST_P(Control, MaskedCallsGiveMaskedGradients) {
    expect_gradient(
        "masked",
        [&](const Inputs &in) {
            Glossy a(in[1], in[2]);
            Textured b(in[3]);
            return call_masked(
                Pointer<Material>(lane % 2u + 1u), lane != 3u,
                [](Material *m, const Float64 &x, const UInt32 &at) { return m->eval(x, at); },
                in[0], lane & 3u);
        },
        { lanes, { 1.3 }, { 0.7 }, table });
}

TEST_P(Control, BodiesMayCaptureValuesOfTheCaller) {
    struct Scale : Instance<Scale> {
        Float64 s;
        explicit Scale(const Float64 &s) : s(s) {}
    };
    expect_gradient("captures",
                    [&](const Inputs &in) {
                        Scale a(in[1]), b(in[1] * in[1]);
                        Float64 wide = in[2] * in[0];
                        return call(
                            Pointer<Scale>(lane % 2u + 1u),
                            [&](Scale *p, const Float64 &x) {
                                return p->s * x * wide + gather(in[2], lane % 9u) * in[3];
                            },
                            in[0]);
                    },
                    { lanes, { 1.3 }, more, { 0.4 } });
}

TEST_P(Control, ASharedTextureCollectsFromAllInstances) {
    expect_gradient("shared",
                    [&](const Inputs &in) {
                        Textured a(in[1]), b(in[1]);
                        Glossy c(in[2], in[2]);
                        return shade(lane % 3u + 1u, in[0], lane & 3u);
                    },
                    { lanes, table, { 0.7 } });
}

// A member that is a lane-sized array and is gathered from, too, is both.
TEST_P(Control, AnArgumentMayBeGatheredFrom) {
    struct Lookup : Material {
        Float64 t;
        explicit Lookup(const Float64 &t) : t(t) {}
        Float64 eval(const Float64 &x, const UInt32 &at) const override {
            return gather(t, at) * x;
        }
    };
    expect_gradient("both",
                    [&](const Inputs &in) {
                        Lookup a(in[0]), b(in[0] * in[0]);
                        return shade(lane % 2u + 1u, in[0], lane & 3u);
                    },
                    { lanes });
    expect_gradient("both, in a loop",
                    [&](const Inputs &in) {
                        Lookup a(in[0]), b(in[0] * in[0]);
                        State s = repeat(lane % 4u, in[0], 0.0, [&](State &s) {
                            s.b += shade((lane ^ s.i) % 3u, in[0], (lane + s.i) % 9u);
                            s.b += gather(in[0], s.i) * in[0];
                        });
                        return s.b;
                    },
                    { lanes });
}

TEST_P(Control, EvaluationOfMembersArithmeticChangesNothing) {
    expect_gradient("call",
                    [&](const Inputs &in) {
                        struct Square : Material {
                            Float64 s;
                            explicit Square(const Float64 &s) : s(s) {}
                            Float64 eval(const Float64 &x, const UInt32 &) const override {
                                return x * (s * s);
                            }
                        };
                        Square a(in[1]), b(in[2]);
                        Float64 y = shade(lane % 2u + 1u, in[0], lane);
                        Float64 same = detach(in[1]) * detach(in[1]),
                                other = detach(in[2]) * detach(in[2]);
                        eval(same, other, y);
                        return y;
                    },
                    { lanes, { 1.3 }, { 0.7 } });
}

TEST_P(Control, ThousandsOfInstancesCompileOnce) {
    const uint32_t count = 2000, n = 8000;
    std::vector<std::unique_ptr<Glossy>> all;
    for (uint32_t i = 0; i < count; ++i) {
        all.push_back(std::make_unique<Glossy>(opaque(1.0 + i * 1e-3), opaque(2.0)));
        enable_grad(all.back()->gain);
    }
    Float64 x = copy(random_points(5, n, 0.5, 1.5));
    UInt32 who = arange<uint32_t>(n) % count + 1u;
    context.set(Flag::History, true);
    Float64 y = shade(who, x, UInt32(0u));
    backward(y);
    List at = x.read();
    for (uint32_t i : { 0u, 777u, 1999u }) {
        double want = 0;
        for (uint32_t l = i; l < n; l += count)
            want += std::pow(at[l], 1.0 + i * 1e-3);
        EXPECT_NEAR(item(grad(all[i]->gain)), want, 1e-9) << i;
    }
    for (const KernelRecord &k : context.take_history())
        EXPECT_LE(k.functions, 2u) << k.name; // the method and its derivative
    context.set(Flag::History, false);
}

// ---- loops

TEST_P(Control, AccumulatingLoops) {
    for (bool uneven : { false, true }) {
        UInt32 steps = uneven ? lane % 5u : UInt32(4u); // some lanes do nothing
        expect_gradient("accumulating",
                        [&](const Inputs &in) {
                            State s = repeat(steps, in[0], in[1], [&](State &s) {
                                s.a += sin(in[0] * Float64(s.i)) * in[3];
                                s.b += gather(in[2], s.i & 3u) * in[1];
                            });
                            return s.a * s.b;
                        },
                        { lanes, more, table, { 0.7 } });
    }
}

TEST_P(Control, AffineLoops) {
    for (bool uneven : { false, true }) {
        UInt32 steps = uneven ? lane % 5u : UInt32(4u);
        expect_gradient("affine",
                        [&](const Inputs &in) {
                            State s = repeat(steps, in[0], in[1], [&](State &s) {
                                Float64 t = Float64(s.i) * 0.25 + 0.5, a = s.a;
                                s.a = s.a * t + s.b * 0.5 + in[3];
                                s.b = s.b * 1.5 - a * t * gather(in[2], s.i & 3u);
                            });
                            return s.a * s.b;
                        },
                        { lanes, more, table, { 0.7 } });
    }
}

TEST_P(Control, AffineLoopsWithSingularMatricesFallBackToRecording) {
    expect_gradient("singular",
                    [&](const Inputs &in) {
                        State s = repeat(UInt32(4u), in[0], in[1], [&](State &s) {
                            s.a = select(s.i == 2u, in[1], s.a * 0.5); // forgets its past
                            s.b = s.b * 1.5 + s.a;
                        });
                        return s.a + s.b;
                    },
                    { lanes, more });
}

// The product of all matrices leaves the range of the type long before the gradient does.
TEST_P(Control, AffineLoopsThatContractKeepTheirGradients) {
    Float32 x = copy(std::vector<float>{ 1, 2 }), c = opaque(1.f);
    enable_grad(x);
    enable_grad(c);
    auto [i, s] = loop(
        std::tuple<UInt32, Float32>(0u, x), [](const auto &s) { return std::get<0>(s) < 300u; },
        [&](auto &s) {
            auto &[i, v] = s;
            v = v * 0.5f + c;
            i += 1u;
        });
    backward(s);
    EXPECT_NEAR(item(grad(c)), 4, 1e-5); // 1 + 1/2 + 1/4 ... for each lane
    EXPECT_NEAR(item(grad(x)), 0, 1e-5);
}

TEST_P(Control, LoopsThatHaveToBeRecorded) {
    for (bool uneven : { false, true }) {
        UInt32 steps = uneven ? lane % 5u : UInt32(4u);
        expect_gradient("recorded",
                        [&](const Inputs &in) {
                            State s = repeat(steps, in[0], in[1], [&](State &s) {
                                s.b = s.b + s.a * s.a * in[3];
                                s.a = sin(s.a) * gather(in[2], s.i & 3u) + s.b * 0.1;
                            });
                            return s.a * s.b;
                        },
                        { lanes, more, table, { 0.7 } });
    }
}

TEST_P(Control, ALoopWithoutIterationsIsTheIdentity) {
    expect_gradient("none",
                    [&](const Inputs &in) {
                        State s = repeat(lane * 0u, in[0], in[1], [&](State &s) {
                            s.a = sin(s.a) * s.b;
                            s.b = s.b * s.b;
                        });
                        return s.a * s.b;
                    },
                    { lanes, more });
    expect_gradient("none, accumulating",
                    [&](const Inputs &in) {
                        State s = repeat(lane * 0u, in[0], in[1], [&](State &s) { s.a += in[1]; });
                        return s.a * s.b;
                    },
                    { lanes, more });
}

TEST_P(Control, ALoopMayEndByWhatIsDifferentiated) {
    expect_gradient("while",
                    [](const Inputs &in) {
                        State s = loop(
                            State{ 0u, in[0], 0.0 }, [](const State &s) { return s.a < 10.0; },
                            [](State &s) {
                                s.b += sin(s.a);
                                s.a = s.a * 1.7;
                            });
                        return s.b + s.a;
                    },
                    { lanes });
}

TEST_P(Control, InvariantAndUnusedStateOfALoop) {
    expect_gradient("state",
                    [&](const Inputs &in) {
                        State s = repeat(UInt32(3u), in[0], in[1],
                                         [&](State &s) { s.b = s.b * s.a; }); // a stays
                        return s.b;
                    },
                    { lanes, more });
    expect_gradient("swap",
                    [&](const Inputs &in) {
                        State s =
                            repeat(lane % 4u, in[0], in[1], [&](State &s) { std::swap(s.a, s.b); });
                        return s.a * s.a * s.b;
                    },
                    { lanes, more });
    expect_gradient("overwritten",
                    [&](const Inputs &in) {
                        State s =
                            repeat(lane % 4u, in[0], in[1], [&](State &s) { s.a = in[1] * 2.0; });
                        return s.a * s.b;
                    },
                    { lanes, more });
}

// What kind a loop is must not be read off constants that its state starts with.
TEST_P(Control, StateThatStartsAsAConstantIsStillAVariable) {
    expect_gradient("starts as one",
                    [&](const Inputs &in) {
                        State s = repeat(UInt32(3u), in[0], 1.0, [&](State &s) {
                            s.a = s.a * s.b;
                            s.b = s.b * 0.5;
                        });
                        return s.a;
                    },
                    { lanes });
    expect_gradient("first iteration differs",
                    [&](const Inputs &in) {
                        State s = repeat(UInt32(3u), 0.0, 1.0, [&](State &s) {
                            s.a = s.a + select(s.i == 0u, Float64(2.0), in[0] * s.b);
                            s.b = select(s.i == 0u, Float64(1.0), s.b * in[0]);
                        });
                        return s.a;
                    },
                    { lanes });
}

TEST_P(Control, UniformStateOfAWideLoop) {
    expect_gradient("uniform",
                    [&](const Inputs &in) {
                        State s = repeat(lane % 4u, in[0], in[1], [&](State &s) {
                            s.a = s.a * s.b;
                            s.b = sin(s.b);
                        });
                        return s.a + s.b;
                    },
                    { { 1.2 }, { 0.8 } });
    expect_gradient("all uniform",
                    [&](const Inputs &in) {
                        State s = repeat(UInt32(3u), in[0], in[1], [&](State &s) {
                            s.a = s.a * s.b + in[2];
                            s.b = sin(s.b);
                        });
                        return s.a + s.b;
                    },
                    { { 1.2 }, { 0.8 }, { 0.3 } });
}

TEST_P(Control, LoopsOfOtherPrecisions) {
    Float32 x = copy(std::vector<float>{ 0.5f, 0.7f });
    enable_grad(x);
    auto [i, a, b] = loop(
        std::tuple<UInt32, Float32, Float64>(0u, x, 0.0),
        [](const auto &s) { return std::get<0>(s) < 3u; },
        [](auto &s) {
            auto &[i, a, b] = s;
            b = b + Float64(a) * 2.0;
            a = a * a;
            i += 1u;
        });
    backward(b); // 2 (x + x^2 + x^4)
    std::vector<float> g = grad(x).read();
    EXPECT_NEAR(g[0], 2 * (1 + 2 * 0.5 + 4 * 0.125), 1e-5);
    EXPECT_NEAR(g[1], 2 * (1 + 2 * 0.7 + 4 * 0.343), 1e-5);
}

// ---- one inside another

Float64 branch(const Mask &m, const Float64 &x, const Float64 &t, const UInt32 &at) {
    return if_(m, [&] { return sin(x) * gather(t, at & 3u); }, [&] { return x * 0.5 + 0.1; });
}

TEST_P(Control, ConditionalsInLoops) {
    expect_gradient("recorded",
                    [&](const Inputs &in) {
                        State s = repeat(lane % 4u, in[0], in[1], [&](State &s) {
                            s.a = branch((lane ^ s.i) % 3u == 0u, s.a, in[2], s.i) + s.b * 0.2;
                            s.b = s.b * s.a;
                        });
                        return s.a + s.b;
                    },
                    { lanes, more, table });
    expect_gradient("accumulating",
                    [&](const Inputs &in) {
                        State s = repeat(UInt32(3u), 0.0, 1.0, [&](State &s) {
                            s.a +=
                                branch((lane ^ s.i) % 3u == 0u, in[0] * Float64(s.i), in[1], s.i);
                        });
                        return s.a;
                    },
                    { lanes, table });
}

TEST_P(Control, LoopsInConditionals) {
    expect_gradient("accumulating loop in if",
                    [&](const Inputs &in) {
                        return if_(
                            lane < 5u,
                            [&] {
                                State s = repeat(lane % 4u, in[0], 0.0, [&](State &s) {
                                    s.b += sin(in[0] * Float64(s.i)) * gather(in[1], s.i & 3u);
                                });
                                return s.b;
                            },
                            [&] { return in[0] * in[0]; });
                    },
                    { lanes, table });
}

TEST_P(Control, ConditionalsInConditionals) {
    expect_gradient("if in if",
                    [&](const Inputs &in) {
                        return if_(
                            lane < 6u,
                            [&] { return branch(lane < 3u, in[0] * in[0], in[1], lane) * in[0]; },
                            [&] { return branch(lane < 8u, in[0], in[1], lane + 1u); });
                    },
                    { lanes, table });
}

TEST_P(Control, CallsInLoops) {
    expect_gradient("recorded",
                    [&](const Inputs &in) {
                        Glossy a(in[1], in[2]);
                        Textured b(in[3]);
                        State s = repeat(lane % 4u, in[0], 0.0, [&](State &s) {
                            s.a = shade((lane ^ s.i) % 3u, s.a, s.i & 3u) * 0.7 + 0.2;
                            s.b += s.a;
                        });
                        return s.a * s.b;
                    },
                    { lanes, { 1.3 }, { 0.7 }, table });
    expect_gradient("accumulating",
                    [&](const Inputs &in) {
                        Glossy a(in[1], in[2]);
                        Textured b(in[3]);
                        State s = repeat(UInt32(3u), 0.0, 1.0, [&](State &s) {
                            s.a += shade((lane ^ s.i) % 3u, in[0], s.i & 3u);
                        });
                        return s.a;
                    },
                    { lanes, { 1.3 }, { 0.7 }, table });
}

TEST_P(Control, CallsInConditionalsAndConditionalsInCalls) {
    expect_gradient("call in if",
                    [&](const Inputs &in) {
                        Glossy a(in[1], in[2]);
                        Textured b(in[3]);
                        return if_(
                            lane < 6u, [&] { return shade(lane % 3u, in[0] * 2.0, lane & 3u); },
                            [&] { return in[0] * in[0]; });
                    },
                    { lanes, { 1.3 }, { 0.7 }, table });
    struct Forked : Material {
        Float64 s, t;
        Forked(const Float64 &s, const Float64 &t) : s(s), t(t) {}
        Float64 eval(const Float64 &x, const UInt32 &at) const override {
            return if_(at < 2u, [&] { return x * sin(s); }, [&] { return x + s * gather(t, at); });
        }
    };
    expect_gradient("if in call",
                    [&](const Inputs &in) {
                        Forked a(in[1], in[3]), b(in[2], in[3]);
                        return shade(lane % 3u, in[0], lane & 3u);
                    },
                    { lanes, { 1.3 }, { 0.7 }, table });
}

TEST_P(Control, LoopsInCalls) {
    struct Series : Material {
        Float64 s, t;
        Series(const Float64 &s, const Float64 &t) : s(s), t(t) {}
        Float64 eval(const Float64 &x, const UInt32 &at) const override {
            State r = repeat(at, 0.0, 0.0, [&](State &r) {
                r.a += sin(x * Float64(r.i)) * s + gather(t, r.i & 3u) * x;
            });
            return r.a;
        }
    };
    expect_gradient("accumulating loop in call",
                    [&](const Inputs &in) {
                        Series a(in[1], in[3]), b(in[2], in[3]);
                        return shade(lane % 3u, in[0], lane & 3u);
                    },
                    { lanes, { 1.3 }, { 0.7 }, table });
}

TEST_P(Control, CallsInCalls) {
    struct Coated : Instance<Coated> {
        Float64 k;
        explicit Coated(const Float64 &k) : k(k) {}
        Float64 eval(const Float64 &x, const UInt32 &at) const {
            return shade(at % 3u, x * k, at & 3u) * k;
        }
    };
    expect_gradient(
        "call in call",
        [&](const Inputs &in) {
            Glossy a(in[1], in[2]);
            Textured b(in[3]);
            Coated c(in[1]), d(in[2]);
            return call(
                Pointer<Coated>(lane % 2u + 1u),
                [](Coated *p, const Float64 &x, const UInt32 &at) { return p->eval(x, at); }, in[0],
                lane);
        },
        { lanes, { 1.3 }, { 0.7 }, table });
}

TEST_P(Control, LoopsInLoops) {
    expect_gradient("accumulating in accumulating",
                    [&](const Inputs &in) {
                        State s = repeat(UInt32(3u), 0.0, 0.0, [&](State &s) {
                            UInt32 outer = s.i;
                            State t = repeat(outer + 1u, 0.0, 0.0, [&](State &t) {
                                t.a += sin(in[0] * Float64(t.i + outer)) * gather(in[1], t.i & 3u);
                            });
                            s.a += t.a * in[0];
                        });
                        return s.a;
                    },
                    { lanes, table });
}

// x * 1 is the node of x, but not its place on the tape: each counted the other's gradient as its own.
TEST_P(Control, InputsOfOneValueAreToldApart) {
    expect_gradient(
        "loop",
        [&](const Inputs &in) {
            return repeat(UInt32(3u), in[0] * 1.0, 0.0, [&](State &s) { s.a *= in[0]; }).a;
        },
        { lanes });
    expect_gradient("if",
                    [&](const Inputs &in) {
                        Float64 same = in[0] * 1.0;
                        return if_(
                            lane < 4u, [&] { return in[0] * sin(same); }, [&] { return same; });
                    },
                    { lanes });
}

// What was computed of a value without its derivative, before a body uses both, has none in there either.
TEST_P(Control, WhatWasDetachedOutsideStaysSo) {
    Float64 x = copy(std::vector<double>{ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 });
    auto expect = [&](const char *what, auto &&body) {
        Float64 leaf = x;
        enable_grad(leaf);
        Float64 square = leaf * leaf, thrice = Float64(detach(square)) * 3.0;
        Float64 out = body(square, thrice);
        backward(out);
        std::vector<double> g = Float64(grad(leaf)).read();
        for (size_t i = 0; i < g.size(); ++i) // of 3 x^2 times x^2, the first of them a constant
            EXPECT_EQ(g[i], 6 * std::pow(i + 1.0, 3)) << what << ", " << i;
    };
    auto lane = arange<uint32_t>(10);
    expect("if", [&](const Float64 &a, const Float64 &b) {
        return if_(lane < 5u, [&] { return a * b; }, [&] { return b * a; });
    });
    expect("loop", [&](const Float64 &a, const Float64 &b) {
        return repeat(UInt32(1u), 0.0, 0.0, [&](State &s) { s.a += a * b; }).a;
    });
    expect("inner loop", [&](const Float64 &a, const Float64 &b) {
        return if_(
            lane < 20u,
            [&] { return repeat(UInt32(1u), 0.0, 0.0, [&](State &s) { s.a += a * b; }).a; },
            [&] { return a; });
    });
}

// The same of arrays that the body gathers from, backward and forward.
TEST_P(Control, WhatWasDetachedOfAnArrayStaysSo) {
    auto lane = arange<uint32_t>(10);
    Float64 x = Float64(lane) + 1.0;
    auto expect = [&](const char *what, auto &&body) {
        for (bool is_forward : { false, true }) {
            Float64 a = copy(x.read());
            enable_grad(a);
            Float64 out = body(a, Float64(detach(a)), Float64(detach(a)) * 3.0);
            is_forward ? forward(a) : backward(out);
            std::vector<double> g = Float64(grad(is_forward ? out : a)).read();
            for (size_t i = 0; i < g.size(); ++i) // a times a and three times that, both constants
                EXPECT_EQ(g[i], 4 * (i + 1.0)) << what << ", " << is_forward << ", " << i;
        }
    };
    expect("loop", [&](const Float64 &a, const Float64 &same, const Float64 &thrice) {
        return repeat(lane * 0u + 1u, 0.0, 0.0,
                      [&](State &s) { s.a += gather(a, lane) * same + a * thrice; })
            .a;
    });
    expect("call", [&](const Float64 &a, const Float64 &same, const Float64 &thrice) {
        std::vector<std::function<Float64(const Float64 &)>> f = {
            [&](const Float64 &v) { return gather(a, lane) * (same + thrice + v); },
            [&](const Float64 &v) { return (v + same + thrice) * gather(a, lane); }
        };
        return switch_(lane % 2u, f, x * 0.0);
    });
}

UMBEL_BACKENDS(Control)

} // namespace
