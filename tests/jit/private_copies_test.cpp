// tests/jit/private_copies_test.cpp: sums from inside loops, branches and calls.
#include "jit/control.h"
#include "jit/matvec.h"
#include "jit/private_copies.h"
#include "jit/stream.h"
#include "support/backend_fixture.h"
#include <cmath>

using namespace umbel;
using namespace umbel::jit;

namespace {

class PrivateCopiesTest : public test::BackendTest {};

constexpr uint32_t Lanes = 200'000, Steps = 3;

// Adds f(lane, step) to cell(lane) of the target in each step of a loop.
template <class F> void add_in_loop(Float32 &target, const UInt32 &lane, F f) {
    loop(
        std::tuple(UInt32(0u), lane), [](const auto &s) { return std::get<0>(s) < Steps; },
        [&](auto &s) {
            auto &[step, l] = s;
            f(target, l, step);
            step = step + 1u;
        });
}

template <class F> void expect_same_bits_for_any_threads(F run) {
    uint32_t before = Stream::thread_count();
    Stream::set_thread_count(1);
    std::vector<float> one = run();
    for (uint32_t n : { 2u, 4u }) {
        Stream::set_thread_count(n);
        EXPECT_TRUE(run() == one) << n << " threads";
    }
    Stream::set_thread_count(before);
}

TEST_P(PrivateCopiesTest, LoopsGiveTheSameBitsForAnyNumberOfThreads) {
    expect_same_bits_for_any_threads([] {
        Float32 target = opaque(zeros<float>(16));
        add_in_loop(target, arange<uint32_t>(Lanes), [](Float32 &t, UInt32 &lane, UInt32 &step) {
            scatter_add(t, sin(Float32(lane * 7u + step)), lane % 16u);
        });
        return target.read();
    });
}

struct Sum : Instance<Sum> {
    Float32 target = opaque(zeros<float>(4));
    float factor;
    explicit Sum(float f) : factor(f) {}
    virtual ~Sum() = default;
    void add(const UInt32 &lane) { scatter_add(target, cos(Float32(lane)) * factor, lane % 4u); }
};

TEST_P(PrivateCopiesTest, CallsGiveTheSameBitsForAnyNumberOfThreads) {
    expect_same_bits_for_any_threads([] {
        Sum a(1), b(2), c(3);
        UInt32 lane = arange<uint32_t>(Lanes);
        Pointer<Sum> p(select(lane % 3u == 0u, UInt32(a.id()),
                              select(lane % 3u == 1u, UInt32(b.id()), UInt32(c.id()))));
        call(p, [](Sum *s, const UInt32 &lane) { s->add(lane); }, lane);
        std::vector<float> all = a.target.read();
        for (Sum *s : { &b, &c })
            for (float v : s->target.read())
                all.push_back(v);
        return all;
    });
}

TEST_P(PrivateCopiesTest, SmallNumbersAreNotLost) {
    constexpr uint32_t Many = 1 << 21;
    Float32 target = opaque(zeros<float>(1));
    add_in_loop(target, arange<uint32_t>(Many), [](Float32 &t, UInt32 &lane, UInt32 &) {
        // A few large numbers among many small ones
        scatter_add(t, select(lane % 64u == 0u, Float32(1.f), Float32(1e-3f)), UInt32(0u));
    });
    double want = Steps * (Many / 64 * 1.0 + (Many - Many / 64) * double(1e-3f));
    // One sum in single precision is off by 1e-3. A block has up to 1,024 lanes, so 3,072 roundings, of 3e-8 on average,
    // and those of equal numbers have one sign for long
    EXPECT_NEAR(item(target), want, want * 5e-5);
}

TEST_P(PrivateCopiesTest, WhatIsInTheTargetStays) {
    Float32 target = copy(std::vector<float>{ 5, 7 });
    add_in_loop(target, arange<uint32_t>(Lanes), [](Float32 &t, UInt32 &lane, UInt32 &) {
        scatter_add(t, Float32(1.f), lane % 2u);
    });
    EXPECT_EQ(target.read(), (std::vector<float>{ 5 + 1.5f * Lanes, 7 + 1.5f * Lanes }));
}

// A kernel that also reads the target must see it.
TEST_P(PrivateCopiesTest, ArraysThatAreReadAreNotReplaced) {
    Float32 target = opaque(full(3.f, 8));
    UInt32 lane = arange<uint32_t>(Lanes);
    auto [step, l, seen] = loop(
        std::tuple(UInt32(0u), lane, Float32(0.f)),
        [](const auto &s) { return std::get<0>(s) < 1u; },
        [&](auto &s) {
            auto &[step, l, seen] = s;
            seen = gather(target, l % 8u);
            scatter_add(target, Float32(0.f), l % 8u);
            step = step + 1u;
        });
    eval(seen);
    EXPECT_EQ(item(seen, 0), 3.f);
    EXPECT_EQ(item(seen, Lanes - 1), 3.f);
}

TEST_P(PrivateCopiesTest, StoresAndExtremaInTheSameKernelAreKept) {
    Float32 sums = opaque(zeros<float>(2)), largest = opaque(zeros<float>(2)),
            stored = opaque(zeros<float>(Lanes));
    UInt32 lane = arange<uint32_t>(Lanes);
    add_in_loop(sums, lane, [&](Float32 &t, UInt32 &l, UInt32 &) {
        scatter_add(t, Float32(1.f), l % 2u);
        scatter_reduce(ReduceOp::Max, largest, Float32(l), l % 2u);
        scatter(stored, Float32(l), l);
    });
    EXPECT_EQ(sums.read(), (std::vector<float>{ 1.5f * Lanes, 1.5f * Lanes }));
    EXPECT_EQ(largest.read(), (std::vector<float>{ Lanes - 2.f, Lanes - 1.f }));
    EXPECT_EQ(item(stored, 777), 777.f);
}

// One large array, and none had copies: a number that all lanes add to was added to atomically.
TEST_P(PrivateCopiesTest, SmallTargetsHaveCopiesBesideLargeOnes) {
    constexpr uint32_t Large = 4 * Lanes;
    expect_same_bits_for_any_threads([] {
        Float32 small = opaque(zeros<float>(3)), large = opaque(zeros<float>(Large));
        add_in_loop(small, arange<uint32_t>(Lanes), [&](Float32 &t, UInt32 &lane, UInt32 &step) {
            scatter_add(t, sin(Float32(lane * 7u + step)), lane % 3u);
            scatter_add(large, Float32(1.f), lane);
        });
        EXPECT_EQ(item(large, Lanes - 1), float(Steps));
        return small.read();
    });
    PrivateCopies copies{ { { Type::F32, nullptr, Large, 0 }, { Type::F32, nullptr, 3, 1 } } };
    copies.choose(Lanes);
    ASSERT_EQ(copies.targets.size(), 1u);
    EXPECT_EQ(copies.targets[0].array, 1u);
    PrivateCopies large{ { { Type::F32, nullptr, Large, 0 } } };
    large.choose(Lanes);
    EXPECT_EQ(large.chunks(Lanes), 1u);
}

// Each block of lanes has sums of its own, which no other thread may touch.
TEST_P(PrivateCopiesTest, GradientsOfProductsMeetSumsInOneKernel) {
    constexpr uint32_t N = 16, Many = 1 << 18;
    for (int repetition = 0; repetition < 5; ++repetition) {
        Float32 gradient = opaque(zeros<float>(N * N)), sums = opaque(zeros<float>(2));
        UInt32 lane = arange<uint32_t>(Many);
        std::vector<Value> ones(N, opaque(full(1.f, Many)));
        Matrix a{ .stride = N, .rows = N, .columns = N };
        matvec_gradient(gradient, a, nullptr, NoBias, ones, ones);
        add_in_loop(sums, lane,
                    [](Float32 &t, UInt32 &l, UInt32 &) { scatter_add(t, Float32(1.f), l % 2u); });
        EXPECT_EQ(gradient.read(), std::vector<float>(N * N, float(Many)));
        EXPECT_EQ(sums.read(), std::vector<float>(2, 1.5f * Many));
    }
}

UMBEL_BACKENDS(PrivateCopiesTest)

} // namespace
