// tests/ad/body_write_test.cpp: arrays that recorded bodies add to.
#include "support/gradient_check.h"

using namespace umbel::jit;
using namespace umbel::ad;
using namespace umbel::test;

namespace {

class BodyWrites : public AdTest {
protected:
    BodyWrites() { context.set(Flag::FlattenIfs, false); }
    void TearDown() override {
        lane = UInt32();
        AdTest::TearDown();
    }
    UInt32 lane = arange<uint32_t>(6);
    List x = random_points(1, 6, 0.5, 2), y = random_points(2, 6, 0.5, 2),
         film = random_points(3, 4, 0.5, 2);
    // Different weights for the elements, so that a wrong place shows.
    static Float64 weighted(const Float64 &film) {
        return film * film * (Float64(arange<uint32_t>(film.size())) + 1.0);
    }
    template <class Body> static void three_times(Body &&body) {
        loop(
            std::tuple<UInt32>(0u), [](const auto &s) { return std::get<0>(s) < 3u; },
            [&](auto &s) {
                body(std::get<0>(s));
                std::get<0>(s) += 1u;
            });
    }
};

TEST_P(BodyWrites, LoopsAddToArrays) {
    expect_gradient("loop without other results",
                    [&](const Inputs &in) {
                        Float64 film = zeros<double>(4);
                        three_times([&](const UInt32 &i) {
                            scatter_add(film, in[0] * in[0] * (Float64(i) + 1.0), (lane + i) % 4u);
                        });
                        return weighted(film);
                    },
                    { x });
    expect_gradient("loop with a sum beside it",
                    [&](const Inputs &in) {
                        Float64 film = zeros<double>(4);
                        auto [i, sum] = loop(
                            std::tuple<UInt32, Float64>(0u, 0.0),
                            [](const auto &s) { return std::get<0>(s) < 3u; },
                            [&](auto &s) {
                                auto &[i, sum] = s;
                                Float64 v = sin(in[0] * (Float64(i) + 1.0));
                                scatter_add(film, v * in[1], (lane + i) % 4u, lane != 2u);
                                sum += v;
                                i += 1u;
                            });
                        return gather(weighted(film), lane % 4u) * sum;
                    },
                    { x, y });
}

TEST_P(BodyWrites, LoopsAddStateThatChanges) {
    expect_gradient("powers",
                    [&](const Inputs &in) {
                        Float64 film = zeros<double>(4);
                        auto [i, power] = loop(
                            std::tuple<UInt32, Float64>(0u, 1.0),
                            [&](const auto &s) { return std::get<0>(s) < 2u + lane % 3u; },
                            [&](auto &s) {
                                auto &[i, power] = s;
                                scatter_add(film, power * in[1], (lane + i) % 4u);
                                power = power * in[0];
                                i += 1u;
                            });
                        return gather(weighted(film), lane % 4u) + power;
                    },
                    { x, y });
    expect_gradient("affine state, other values written",
                    [&](const Inputs &in) {
                        Float64 film = zeros<double>(4);
                        auto [i, v] = loop(
                            std::tuple<UInt32, Float64>(0u, in[0]),
                            [](const auto &s) { return std::get<0>(s) < 3u; },
                            [&](auto &s) {
                                auto &[i, v] = s;
                                scatter_add(film, in[1] * in[1], (lane + i) % 4u);
                                v = v * 1.5 + in[1];
                                i += 1u;
                            });
                        return gather(weighted(film), lane % 4u) * v;
                    },
                    { x, y });
}

TEST_P(BodyWrites, WhatWasThereKeepsItsDerivative) {
    expect_gradient("twice in one loop, once before and after",
                    [&](const Inputs &in) {
                        Float64 film = in[1] * in[1];
                        scatter_add(film, in[0], lane % 4u);
                        three_times([&](const UInt32 &i) {
                            scatter_add(film, in[0] * in[0], (lane + i) % 4u);
                            scatter_add(film, sin(in[0]), lane / 2u);
                        });
                        three_times([&](const UInt32 &) { scatter_add(film, in[0], lane % 4u); });
                        scatter_add(film, in[0] * 3.0, lane % 3u);
                        return weighted(film);
                    },
                    { x, film });
}

TEST_P(BodyWrites, BranchesAddToArrays) {
    expect_gradient("both branches",
                    [&](const Inputs &in) {
                        Float64 film = zeros<double>(4), other = zeros<double>(2);
                        Float64 r = if_(
                            lane < 4u,
                            [&] {
                                scatter_add(film, in[0] * in[0], lane % 3u);
                                return in[1];
                            },
                            [&] {
                                scatter_add(film, exp(in[0]), lane % 2u);
                                scatter_add(other, in[0] * in[1], lane % 2u);
                                return in[0] * 2.0;
                            });
                        return gather(weighted(film), lane % 4u) * r +
                               gather(weighted(other), lane % 2u);
                    },
                    { x, y });
}

// Indices of lanes that do not take a branch may be anything.
TEST_P(BodyWrites, BranchesInsideLoopsAddToArrays) {
    UInt32 far = select(lane < 4u, lane, UInt32(1000000000u));
    expect_gradient("nested",
                    [&](const Inputs &in) {
                        Float64 film = zeros<double>(4);
                        three_times([&](const UInt32 &i) {
                            if_(
                                far < 4u,
                                [&] {
                                    Float64 t = gather(in[1], far) * in[0];
                                    if_(
                                        i != 1u,
                                        [&] {
                                            scatter_add(film, t * t, far);
                                            return UInt32(0u);
                                        },
                                        [&] { return UInt32(1u); });
                                    return UInt32(0u);
                                },
                                [&] {
                                    scatter_add(film, in[0], i);
                                    return UInt32(1u);
                                });
                        });
                        return weighted(film);
                    },
                    { x, film });
}

struct Splat : Instance<Splat> {
    Float64 scale;
    Float64 *film;
    Splat(Float64 scale, Float64 *film) : scale(std::move(scale)), film(film) {}
    Float64 add(const Float64 &v, const UInt32 &at) const {
        scatter_add(*film, v * v * scale, at);
        return v * scale;
    }
};

TEST_P(BodyWrites, CallsAddToArrays) {
    expect_gradient(
        "members, arguments and values of the caller",
        [&](const Inputs &in) {
            Float64 film = zeros<double>(4);
            Splat a(gather(in[1], 0u), &film), b(gather(in[1], 1u), &film);
            Pointer<Splat> which(select(lane < 3u, UInt32(a.id()), UInt32(b.id())));
            Float64 r = call(
                which, [&](Splat *s, const Float64 &v, const UInt32 &at) { return s->add(v, at); },
                in[0], lane % 4u);
            return gather(weighted(film), lane % 4u) + r;
        },
        { x, film });
    expect_gradient("functions that differ",
                    [&](const Inputs &in) {
                        Float64 film = zeros<double>(4);
                        std::vector<std::function<Float64(const Float64 &)>> f{
                            [&](const Float64 &v) {
                                scatter_add(film, v * 2.0, UInt32(v) % 4u);
                                return v;
                            },
                            [&](const Float64 &v) { return sin(v); },
                            [&](const Float64 &v) {
                                scatter_add(film, v * v, UInt32(v * 2.0) % 4u);
                                return v * v;
                            }
                        };
                        Float64 r = switch_(lane % 3u, f, in[0]);
                        return gather(weighted(film), lane % 4u) + r;
                    },
                    { x });
}

TEST_P(BodyWrites, TheArrayHoldsWhatWasAdded) {
    Float64 v = copy(List{ 1, 2, 3, 4, 5, 6 }), film = zeros<double>(3);
    enable_grad(v);
    three_times([&](const UInt32 &) { scatter_add(film, v, lane % 3u); });
    EXPECT_TRUE(grad_enabled(film));
    EXPECT_EQ(film.read(), (List{ 15, 21, 27 }));
    backward(film);
    EXPECT_EQ(grad(v).read(), (List(6, 3)));
}

UMBEL_BACKENDS(BodyWrites)

} // namespace
