// tests/jit/introspection_test.cpp: history, programs as text and drawing, statistics, the checking mode.
#include "jit/control.h"
#include "jit/place.h"
#include "support/backend_fixture.h"
#include <cmath>

using namespace umbel;
using namespace umbel::jit;
using umbel::test::occurrences;

namespace {

class IntrospectionTest : public test::BackendTest {};

TEST_P(IntrospectionTest, TheHistoryTellsNameSizeTimesAndHits) {
    context.set(Flag::History, true);
    auto run = [] {
        Float32 x = arange<float>(100000);
        for (int i = 0; i < 20; ++i)
            x = sin(x) + 0.0625f;
        eval(x);
    };
    run();
    run();
    auto r = context.take_history();
    ASSERT_EQ(r.size(), 2u);
    EXPECT_EQ(r[0].name.rfind("kernel_", 0), 0u);
    EXPECT_EQ(r[0].name, r[1].name);
    EXPECT_EQ(r[0].backend, context.backend().name());
    EXPECT_EQ(r[0].size, 100000u);
    EXPECT_EQ(r[0].outputs, 1u);
    EXPECT_EQ(r[0].functions, 1u);
    EXPECT_GT(r[0].operations, 40u);
    EXPECT_GT(r[0].codegen_seconds, 0);
    EXPECT_GT(r[0].backend_seconds, 0);
    EXPECT_GT(r[0].run_seconds, 0);
    EXPECT_FALSE(r[0].memory_hit);
    EXPECT_TRUE(r[1].memory_hit);
    EXPECT_EQ(r[1].backend_seconds, 0);
    EXPECT_GT(r[0].code_bytes, 0u);
    EXPECT_TRUE(context.take_history().empty());
}

TEST_P(IntrospectionTest, TheHistoryListsAlgorithms) {
    context.set(Flag::History, true);
    Float32 x = opaque(arange<float>(1000));
    context.take_history();
    sum(x);
    sort_permutation(x);
    auto r = context.take_history();
    ASSERT_EQ(r.size(), 2u);
    EXPECT_EQ(r[0].name, "reduce");
    EXPECT_EQ(r[1].name, "sort_permutation");
    EXPECT_EQ(r[1].size, 1000u);
}

TEST_P(IntrospectionTest, NothingIsRecordedWithoutTheFlag) {
    sqrt(arange<float>(10)).read();
    EXPECT_TRUE(context.take_history().empty());
}

TEST_P(IntrospectionTest, TheProgramIsTextOfOneLineAnInstruction) {
    Float32 x = opaque(arange<float>(4));
    (x * 2.f + 1.f).read();
    EXPECT_EQ(context.last_program_text(), "arg 0: input f32\n"
                                           "arg 1: output f32\n"
                                           "kernel:\n"
                                           "    %0 = LoadLane f32 arg 0\n"
                                           "    %1 = Literal uniform f32 2\n"
                                           "    %2 = Mul f32 %0, %1\n"
                                           "    %3 = Literal uniform f32 1\n"
                                           "    %4 = Add f32 %2, %3\n"
                                           "    StoreLane %4, arg 1\n");
}

TEST_P(IntrospectionTest, TheProgramIsADrawing) {
    UInt32 n = opaque(arange<uint32_t>(4));
    auto s = loop(
        std::tuple(UInt32(0u), n), [&](const auto &s) { return std::get<0>(s) < n; },
        [](auto &s) {
            std::get<1>(s) = std::get<1>(s) * 3u;
            std::get<0>(s) += 1u;
        });
    std::get<1>(s).read();
    std::string dot = context.last_program().dot();
    EXPECT_EQ(dot.rfind("digraph", 0), 0u);
    EXPECT_NE(dot.find("Mul"), std::string::npos);
    EXPECT_NE(dot.find("->"), std::string::npos);
    EXPECT_EQ(occurrences(dot, "{"), occurrences(dot, "}"));
}

TEST_P(IntrospectionTest, StatisticsCountNodesAndMemory) {
    uint64_t before = memory_stats().in_use;
    EXPECT_EQ(context.graph.live_nodes(), 0u);
    {
        Float32 x = opaque(zeros<float>(1 << 20)), y = x + 1.f;
        context.synchronize();
        EXPECT_EQ(context.graph.live_nodes(), 3u); // x, 1, x + 1
        EXPECT_GE(memory_stats().in_use, before + (4u << 20));
    }
    EXPECT_EQ(context.graph.live_nodes(), 0u);
    EXPECT_EQ(memory_stats().in_use, before);
}

TEST_P(IntrospectionTest, ValueNumberingCanBeTurnedOff) {
    FlagScope off(Flag::ValueNumbering, false);
    Float32 x = opaque(arange<float>(4)), a = x * 3.f, b = x * 3.f;
    EXPECT_NE(a.id(), b.id());
    EXPECT_EQ(item(sum(a - b)), 0.f);
}

UMBEL_BACKENDS(IntrospectionTest)

// ---- the checking mode

class CheckingTest : public testing::Test {
protected:
    CheckingTest() : context(checking_backend()), scope(context) {
        context.set(Flag::Verify, true);
    }
    std::string complaint(const Value &v) {
        return test::user_error([&] {
            eval(v);
            context.synchronize();
        });
    }
    Context context;
    ContextScope scope;
};

TEST_F(CheckingTest, GathersOutOfRangeAreNamed) {
    Float32 source = copy(std::vector<float>{ 1, 2, 3 });
    std::string m = complaint(gather(source, arange<uint32_t>(10) * 2u));
    EXPECT_NE(m.find("kernel_"), std::string::npos) << m;
    EXPECT_NE(m.find("Gather"), std::string::npos) << m;
    EXPECT_NE(m.find("index 4 is out of range"), std::string::npos) << m;
    EXPECT_NE(m.find("3 elements"), std::string::npos) << m;
}

TEST_F(CheckingTest, ScattersOutOfRangeAreNamedAndSkipped) {
    UInt32 target = opaque(zeros<uint32_t>(4));
    scatter(target, UInt32(1u), arange<uint32_t>(6));
    std::string m = complaint(UInt32(1u) + arange<uint32_t>(6));
    EXPECT_NE(m.find("Scatter"), std::string::npos) << m;
    EXPECT_NE(m.find("index 4"), std::string::npos) << m;
    EXPECT_EQ(item(sum(target)), 4u);
}

TEST_F(CheckingTest, LanesOutsideTheMaskMayHaveAnyIndex) {
    Float32 source = copy(std::vector<float>{ 1, 2, 3 });
    UInt32 index = arange<uint32_t>(10);
    EXPECT_EQ(item(sum(gather(source, index, index < 3u))), 6.f);
}

TEST_F(CheckingTest, TheOriginOfANaNIsNamed) {
    Float32 x = copy(std::vector<float>{ 4, -1, 9 });
    std::string m = complaint(sqrt(x) * 2.f + 1.f);
    EXPECT_NE(m.find("Sqrt"), std::string::npos) << m;
    EXPECT_NE(m.find("NaN"), std::string::npos) << m;
    EXPECT_EQ(m.find("Mul"), std::string::npos) << m;
}

TEST_F(CheckingTest, SumsOutOfRangeAreNamedAndSkipped) {
    UInt32 target = opaque(zeros<uint32_t>(4));
    scatter(target, UInt32(1u), arange<uint32_t>(6), Mask(true), ReduceOp::Add);
    std::string m = complaint(UInt32(1u) + arange<uint32_t>(6));
    EXPECT_NE(m.find("Scatter"), std::string::npos) << m;
    EXPECT_NE(m.find("index 4"), std::string::npos) << m;
    EXPECT_EQ(item(sum(target)), 4u);
}

TEST_F(CheckingTest, AccessesAreNamedByTheirPlacesAndAreNotOneThen) {
    static int line;
    set_find_place([] { return fmt::format("script:{}", line); });
    Float32 source = copy(std::vector<float>{ 1, 2, 3, 4 });
    line = 1;
    Float32 a = gather(source, arange<uint32_t>(10) & 3u);
    line = 2;
    Float32 b = gather(source, arange<uint32_t>(10));
    std::vector<Value> c = gather_packet(source, arange<uint32_t>(10) & 1u, 2, Mask(true));
    line = 3;
    Float32 d = gather(source, arange<uint32_t>(10));
    set_find_place(nullptr);
    EXPECT_NE(b.id(), d.id());
    std::string m = complaint(a + b + Float32(c[0]));
    EXPECT_EQ(m.find("script:1"), std::string::npos) << m;
    EXPECT_NE(m.find("script:2: kernel "), std::string::npos) << m;
    m = complaint(d);
    EXPECT_NE(m.find("script:3: kernel "), std::string::npos) << m;
}

} // namespace
