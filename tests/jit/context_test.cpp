// tests/jit/context_test.cpp: contexts, threads, flags, and that nothing is left behind.
#include "jit/control.h"
#include "support/backend_fixture.h"
#include <thread>

using namespace umbel;
using namespace umbel::jit;

namespace {

class ContextTest : public test::BackendTest {};

struct Body : Instance<Body> {
    Float32 scale;
    bool invert;
    Body(float s, bool invert) : scale(opaque(s)), invert(invert) {}
    Float32 apply(const Float32 &x) const { return invert ? rcp(x + 1.f) * scale : x * scale; }
};

// A bit of everything: calls, loops, conditionals, gathers, scatters, reductions.
std::vector<float> everything(const std::vector<Body *> &bodies, float seed) {
    constexpr uint32_t n = 64;
    Float32 x = arange<float>(n) + opaque(seed);
    Pointer<Body> p(arange<uint32_t>(n) % uint32_t(bodies.size() + 1));
    x = call(p, [](Body *b, const Float32 &x) { return b->apply(x); }, x);
    auto s = loop(
        std::tuple(UInt32(0u), x),
        [](const auto &s) { return (std::get<0>(s) < 5u) & (std::get<1>(s) < 1e3f); },
        [](auto &s) {
            std::get<1>(s) = fma(std::get<1>(s), Float32(1.5f), Float32(0.5f));
            std::get<0>(s) += 1u;
        });
    x = std::get<1>(s);
    Float32 bins = zeros<float>(8);
    if_(x > 3.f, [&] { scatter_add(bins, Float32(1.f), arange<uint32_t>(n) % 8u); }, [] {});
    x = x + gather(bins, UInt32(clamp(x, Float32(0.f), Float32(7.f))));
    return { item(sum(x)), item(maximum(x)), item(sum(bins)) };
}

TEST_P(ContextTest, TenThousandRoundsLeaveNothingBehind) {
    Body a(2, false), b(3, true);
    std::vector<Body *> bodies{ &a, &b };
    std::vector<float> first = everything(bodies, 0);
    uint64_t in_use = 0, buffers = 0;
    size_t nodes = 0, capacity = 0;
    for (int i = 0; i < 10000; ++i) {
        auto result = everything(bodies, 0);
        ASSERT_EQ(result, first) << "round " << i;
        if (i == 100) {
            in_use = memory_stats().in_use;
            buffers = memory_stats().buffers;
            nodes = context.graph.live_nodes();
            capacity = context.graph.numbers();
        }
    }
    EXPECT_EQ(context.graph.live_nodes(), nodes);
    EXPECT_EQ(nodes, 2u) << "the two instances' members";
    EXPECT_EQ(context.graph.numbers(), capacity);
    EXPECT_EQ(memory_stats().in_use, in_use);
    EXPECT_EQ(memory_stats().buffers, buffers);
}

TEST_P(ContextTest, EveryFlagKeepsTheResults) {
    Body a(2, false), b(3, true);
    std::vector<Body *> bodies{ &a, &b };
    std::vector<float> expected = everything(bodies, 1);
    for (uint32_t bit = 0; bit < 14; ++bit) {
        bool on = context.has(Flag(1u << bit));
        FlagScope scope(Flag(1u << bit), !on);
        EXPECT_EQ(everything(bodies, 1), expected) << "flag " << bit;
    }
}

TEST_P(ContextTest, FlagsComeBackAtTheEndOfTheirScope) {
    EXPECT_TRUE(context.has(Flag::FlattenIfs));
    {
        FlagScope off(Flag::FlattenIfs, false);
        EXPECT_FALSE(context.has(Flag::FlattenIfs));
    }
    EXPECT_TRUE(context.has(Flag::FlattenIfs));
}

TEST_P(ContextTest, ContextsNestAndAreIndependent) {
    UInt32 x = arange<uint32_t>(3);
    {
        Context other(interp_backend());
        ContextScope inner(other);
        EXPECT_EQ(&Context::current(), &other);
        UInt32 y = arange<uint32_t>(3) + 1u;
        EXPECT_EQ(&y.context(), &other);
        EXPECT_EQ(item(y, 2), 3u);
    }
    EXPECT_EQ(&Context::current(), &context);
    EXPECT_EQ(item(x, 2), 2u);
}

TEST_P(ContextTest, SeveralThreadsTraceAtOnce) {
    auto work = [&](float seed, std::vector<float> &out) {
        Context mine(context.backend());
        ContextScope scope(mine);
        Body a(2, false), b(3, true);
        for (int i = 0; i < 50; ++i)
            out = everything({ &a, &b }, seed);
    };
    std::vector<std::vector<float>> together(4), alone(4);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] { work(float(t), together[size_t(t)]); });
    for (auto &t : threads)
        t.join();
    for (int t = 0; t < 4; ++t) {
        work(float(t), alone[size_t(t)]);
        EXPECT_EQ(together[size_t(t)], alone[size_t(t)]) << t;
    }
}

TEST_P(ContextTest, AnEvaluatedLoopThatThrowsLeavesTheStateAsItWas) {
    context.set(Flag::RecordLoops, false);
    UInt32 x = arange<uint32_t>(3);
    EXPECT_THROW(loop(
                     std::tuple(x), [](const auto &s) { return std::get<0>(s) < 3u; },
                     [](auto &) { throw std::runtime_error("stop"); }),
                 std::runtime_error);
    EXPECT_TRUE(context.masks.empty());
    EXPECT_EQ(item(sum(x)), 3u);
}

TEST_P(ContextTest, ABodyThatThrowsLeavesNothingRecorded) {
    UInt32 x = arange<uint32_t>(3), target = zeros<uint32_t>(3);
    auto thrower = [&](auto &) {
        scatter_add(target, x, x);
        throw std::runtime_error("stop");
    };
    EXPECT_THROW(loop(
                     std::tuple(x), [](const auto &s) { return std::get<0>(s) < 3u; }, thrower),
                 std::runtime_error);
    EXPECT_THROW(if_(
                     x > 1u,
                     [&]() -> UInt32 {
                         scatter_add(target, x, x);
                         throw std::runtime_error("stop");
                     },
                     [&] { return x; }),
                 std::runtime_error);
    Body a(1, false), b(2, true);
    EXPECT_THROW(call(
                     Pointer<Body>(x),
                     [&](Body *, const UInt32 &x) -> UInt32 {
                         scatter_add(target, x, x);
                         throw std::runtime_error("stop");
                     },
                     x),
                 std::runtime_error);
    EXPECT_EQ(context.region, 0u);
    EXPECT_EQ(item(sum(target)), 0u);
}

UMBEL_BACKENDS(ContextTest)

// ---- backends by name

TEST(DefaultContext, TheEnvironmentNamesItsBackend) {
    auto backend = [](const char *value) {
        std::string name;
        setenv("UMBEL_BACKEND", value, 1);
        std::thread([&] {
            try {
                name = Context::current().backend().name();
                EXPECT_EQ(item(sum(arange<uint32_t>(5))), 10u);
            } catch (const UserError &e) {
                name = e.what();
            }
        }).join();
        unsetenv("UMBEL_BACKEND");
        return name;
    };
    EXPECT_EQ(backend("interp"), interp_backend().name());
    EXPECT_EQ(backend("check"), checking_backend().name());
    EXPECT_EQ(backend("llvm"), llvm_backend().name());
    EXPECT_NE(backend("gpu").find("UMBEL_BACKEND=gpu"), std::string::npos);
}

// Kernels keep memory for each thread, which is gone when the thread's context goes.
TEST(DefaultContext, AThreadMayEndBeforeItsKernels) {
    setenv("UMBEL_BACKEND", "interp", 1);
    for (int i = 0; i < 500; ++i) {
        uint32_t first = 0;
        std::thread([&] {
            Context::current();
            first = item(sum(arange<uint32_t>(1000))); // on this thread
            UInt32 numbers = arange<uint32_t>(1 << 16);
            eval(numbers); // too many to compute them at once
        }).join();
        ASSERT_EQ(first, 499500u);
    }
    unsetenv("UMBEL_BACKEND");
}

TEST(DefaultContext, TheBackendMayChangeBetweenEvaluations) {
    Context context(interp_backend());
    ContextScope scope(context);
    context.set(Flag::History, true);
    Float32 x = opaque(arange<float>(10)), a = sqrt(x), b = x * 2.f;
    context.take_history();
    eval(a);
    context.set_backend(llvm_backend());
    eval(b);
    auto r = context.take_history();
    ASSERT_EQ(r.size(), 2u);
    EXPECT_EQ(r[0].backend, interp_backend().name());
    EXPECT_EQ(r[1].backend, llvm_backend().name());
    EXPECT_EQ(item(a + b, 4), 10.f);
}

} // namespace
