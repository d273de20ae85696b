// tests/ad/optimize_test.cpp: what long runs leave behind: nodes, memory, kernels.
#include "support/gradient_check.h"
#include <set>

using namespace umbel::jit;
using namespace umbel::ad;
using namespace umbel::test;

namespace {

class Optimization : public AdTest {
protected:
    Optimization() { context.set(Flag::Verify, false); }

    // What must not grow from step to step.
    struct Footprint {
        size_t nodes, capacity, tape;
        uint64_t bytes;
        bool operator==(const Footprint &) const = default;
    };
    Footprint footprint() {
        context.synchronize();
        return { context.graph.live_nodes(), context.graph.numbers(), live_nodes(),
                 memory_stats().in_use };
    }
    // Names of the kernels launched since the last call.
    void collect_kernels(std::set<std::string> &names, size_t &compiled) {
        for (const KernelRecord &k : context.take_history())
            if (k.name.rfind("kernel", 0) == 0) {
                compiled += names.insert(k.name).second;
            }
    }
};

// Each lane finds the root of its own equation: one kernel computes value, derivative and step.
TEST_P(Optimization, TenThousandStepsLeaveNothingBehind) {
    const uint32_t n = 64;
    List target = random_points(1, n, 0.1, 0.9);
    Float64 want = copy(target), x = copy(List(n, 0.5));
    context.set(Flag::History, true);
    std::set<std::string> names;
    size_t compiled = 0;
    Footprint early{};
    for (int step = 0; step < 10000; ++step) {
        enable_grad(x);
        Float64 error = sin(x) - want, loss = error * error;
        backward(loss);
        x = detach(x) - grad(x) * 0.3;
        error = loss = Float64();
        eval(x);
        if (step == 99)
            early = footprint();
        if (step % 1000 == 0)
            collect_kernels(names, compiled);
    }
    collect_kernels(names, compiled);
    context.set(Flag::History, false);
    Footprint late = footprint();
    EXPECT_EQ(early.nodes, late.nodes);
    EXPECT_EQ(early.capacity, late.capacity);
    EXPECT_EQ(early.tape, late.tape);
    EXPECT_EQ(early.bytes, late.bytes);
    EXPECT_EQ(late.tape, 0u) << listing();
    EXPECT_EQ(compiled, 1u);
    List got = x.read();
    for (uint32_t i = 0; i < n; ++i)
        EXPECT_NEAR(std::sin(got[i]), target[i], 1e-9) << i;
}

// Uniform parameters, momentum, a loop and a call in the loss.
struct Shape : Instance<Shape> {
    Float64 k;
    explicit Shape(double k) : k(opaque(k)) {}
};

TEST_P(Optimization, StepsWithControlFlowLeaveNothingBehind) {
    const uint32_t n = 256;
    Float64 at = copy(random_points(2, n, -1, 1)), want = sin(at * 1.3) + 0.4;
    eval(want);
    UInt32 lane = arange<uint32_t>(n);
    Shape first(1.0), second(1.0);
    Float64 bias = opaque(0.0);
    context.set(Flag::History, true);
    std::set<std::string> names;
    size_t compiled = 0, after_warm_up = 0;
    Footprint early{};
    for (int step = 0; step < 600; ++step) {
        for (Float64 *p : { &first.k, &second.k, &bias })
            enable_grad(*p);
        {
            Float64 y = call(
                Pointer<Shape>((lane & 1u) + 1u),
                [](Shape *s, const Float64 &x) { return sin(x * s->k); }, at);
            auto [i, sum] = loop(
                std::tuple<UInt32, Float64>(0u, 0.0),
                [](const auto &s) { return std::get<0>(s) < 4u; },
                [&](auto &s) {
                    auto &[i, sum] = s;
                    sum += bias * 0.25;
                    i += 1u;
                });
            Float64 error = y + sum - want, loss = error * error;
            backward(loss);
        }
        for (Float64 *p : { &first.k, &second.k, &bias })
            *p = detach(*p) - grad(*p) * (0.5 / n);
        eval(first.k, second.k, bias);
        if (step == 99)
            early = footprint();
        if (step % 100 == 99) {
            after_warm_up = compiled;
            collect_kernels(names, compiled);
        }
    }
    context.set(Flag::History, false);
    EXPECT_EQ(early, footprint());
    EXPECT_EQ(compiled, after_warm_up); // none in the last hundred
    EXPECT_LE(compiled, 4u);
    for (Float64 *p : { &first.k, &second.k, &bias })
        EXPECT_FALSE(grad_enabled(*p));
    EXPECT_NEAR(item(bias), 0.4, 1e-3);
    EXPECT_NEAR(item(first.k), 1.3, 1e-2);
    EXPECT_NEAR(item(second.k), 1.3, 1e-2);
}

// ---- memory of loops

// Bytes by which the peak exceeds what was in use before.
template <class F> uint64_t growth(F &&f) {
    synchronize();
    uint64_t before = memory_stats().in_use, peak = memory_stats().peak;
    f();
    synchronize();
    uint64_t after = memory_stats().peak;
    return after == peak ? 0 : after - before; // 0: less than tests before have used
}

constexpr uint32_t Lanes = 1 << 15, Array = Lanes * 8;

template <class Body> Float64 thousand(const Float64 &x, uint32_t steps, Body &&body) {
    auto [i, v] = loop(
        std::tuple<UInt32, Float64>(0u, x),
        [&](const auto &s) { return std::get<0>(s) < opaque(steps); },
        [&](auto &s) {
            auto &[i, v] = s;
            body(i, v);
            i += 1u;
        });
    return v;
}

TEST_P(Optimization, AForwardLoopOfAThousandIterationsKeepsMemoryPerLane) {
    uint64_t bytes = growth([&] {
        Float64 x = copy(List(Lanes, 0.5));
        enable_grad(x);
        Float64 y = thousand(x, 1000, [](UInt32 &, Float64 &v) { v = sin(v) * 1.0001 + 0.01; });
        forward(x);
        EXPECT_TRUE(std::isfinite(item(grad(y))));
    });
    EXPECT_LT(bytes, 30ull * Array);
}

TEST_P(Optimization, AReversedLoopThatAccumulatesKeepsMemoryPerLane) {
    uint64_t bytes = growth([&] {
        Float64 x = copy(List(Lanes, 0.5));
        enable_grad(x);
        Float64 y =
            thousand(Float64(0.0), 1000, [&](UInt32 &i, Float64 &v) { v += sin(x * Float64(i)); });
        backward(y);
        double want = 0;
        for (int i = 0; i < 1000; ++i)
            want += i * std::cos(0.5 * i);
        EXPECT_NEAR(item(grad(x)), want, 1e-6);
    });
    EXPECT_LT(bytes, 30ull * Array);
}

TEST_P(Optimization, AReversedAffineLoopKeepsMemoryPerLane) {
    uint64_t bytes = growth([&] {
        Float64 x = copy(List(Lanes, 0.5));
        enable_grad(x);
        Float64 y = thousand(x, 1000, [&](UInt32 &i, Float64 &v) {
            v = v * (Float64(i & 1u) * 0.02 + 0.99) + x * 0.001;
        });
        backward(y);
        double slope = 1;
        for (int i = 0; i < 1000; ++i)
            slope = slope * ((i & 1) * 0.02 + 0.99) + 0.001;
        EXPECT_NEAR(item(grad(x)), slope, 1e-9);
    });
    EXPECT_LT(bytes, 30ull * Array);
}

// Others store lanes x iterations x bytes of the state, as documented: here 12 bytes.
TEST_P(Optimization, AReversedLoopThatIsRecordedStoresItsState) {
    const uint32_t steps = 200;
    uint64_t bytes = growth([&] {
        Float64 x = copy(List(Lanes, 0.5));
        enable_grad(x);
        Float64 y = thousand(x, steps, [](UInt32 &, Float64 &v) { v = sin(v) * 1.0001 + 0.01; });
        backward(y);
        double v = 0.5, slope = 1;
        for (uint32_t i = 0; i < steps; ++i) {
            slope *= std::cos(v) * 1.0001;
            v = std::sin(v) * 1.0001 + 0.01;
        }
        EXPECT_NEAR(item(grad(x)), slope, 1e-9);
    });
    EXPECT_LT(bytes, 12ull * Lanes * steps * 5 / 4 + 40ull * Array);
    if (bytes) {
        EXPECT_GE(bytes, 12ull * Lanes * steps);
    }
}

UMBEL_BACKENDS(Optimization)

} // namespace
