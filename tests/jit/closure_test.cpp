// tests/jit/closure_test.cpp: bodies of calls that use values from outside: what they compute stays in them.
#include "jit/rebuild.h"
#include "support/backend_fixture.h"

using namespace umbel;
using namespace umbel::jit;

namespace {

struct Material : Instance<Material> {
    virtual ~Material() = default;
    virtual Float32 shade(const Float32 &x) const = 0;
};
struct Shiny : Material {
    Float32 gloss;
    explicit Shiny(float g) : gloss(opaque(g)) {}
    Float32 shade(const Float32 &x) const override { return sin(x * gloss) + gloss; }
};
struct Dull : Material {
    Float32 shade(const Float32 &x) const override { return sqrt(x); }
};

class Closures : public test::BackendTest {
protected:
    // As a renderer calls: no arguments, all operands come from around the call.
    template <class Fn> Float32 ask(const UInt32 &ids, Fn &&fn) {
        return call(Pointer<Material>(ids), [&](Material *m) { return fn(*m); });
    }
    size_t count(size_t function, Op op) {
        size_t n = 0;
        for (const Inst &i : context.last_program().functions.at(function).insts)
            n += i.op == op;
        return n;
    }
    size_t functions() { return context.last_program().functions.size(); }
    static std::vector<float> numbers(uint32_t n) {
        std::vector<float> v(n);
        for (uint32_t i = 0; i < n; ++i)
            v[i] = 0.25f * float(i + 1);
        return v;
    }
};

TEST_P(Closures, ComputeInTheirLanesAlone) {
    Shiny a(2);
    Dull b;
    Float32 x = copy(numbers(4));
    auto v = ask(copy(std::vector<uint32_t>{ a.id(), b.id(), 0, a.id() }), [&](Material &m) {
                 return m.shade(x + 1.f);
             }).read();
    EXPECT_FLOAT_EQ(v[0], std::sin(2.5f) + 2);
    EXPECT_FLOAT_EQ(v[1], std::sqrt(1.5f));
    EXPECT_EQ(v[2], 0);
    EXPECT_FLOAT_EQ(v[3], std::sin(4.f) + 2);
    ASSERT_EQ(functions(), 3u) << context.last_program_text();
    EXPECT_EQ(count(0, Op::Sin) + count(0, Op::Sqrt) + count(0, Op::Add), 0u)
        << context.last_program_text();
    EXPECT_EQ(count(1, Op::Sin) + count(2, Op::Sin), 1u);
    EXPECT_EQ(count(1, Op::Sqrt) + count(2, Op::Sqrt), 1u);
}

TEST_P(Closures, OfAThousandInstancesAreOneSubroutine) {
    std::vector<std::unique_ptr<Material>> all;
    std::vector<uint32_t> ids;
    for (uint32_t i = 0; i < 1000; ++i) {
        all.push_back(std::make_unique<Shiny>(float(i)));
        ids.push_back(all.back()->id());
    }
    Float32 x = copy(numbers(1000));
    auto v = ask(copy(ids), [&](Material &m) { return m.shade(x * x); }).read();
    for (uint32_t i = 0; i < 1000; ++i) {
        float t = 0.25f * float(i + 1);
        ASSERT_NEAR(v[i], std::sin(t * t * float(i)) + float(i), 2e-3f) << i;
    }
    EXPECT_EQ(functions(), 2u) << context.last_program_text();
}

TEST_P(Closures, TakeWhatTheCallerNeedsAnyway) {
    Shiny a(2), b(3);
    Float32 x = sin(copy(numbers(4)));
    Float32 y =
        x + ask(copy(std::vector<uint32_t>{ 1, 2, 2, 1 }), [&](Material &m) { return m.shade(x); });
    y.read();
    EXPECT_EQ(count(0, Op::Sin), 1u);
    EXPECT_EQ(count(1, Op::Sin), 1u) << "its own, not the caller's";
}

TEST_P(Closures, LeaveNothingThatTheCallerFindsAgain) {
    Shiny a(2), b(3);
    Float32 x = copy(numbers(4)), inside;
    Float32 y = ask(copy(std::vector<uint32_t>{ 1, 2, 0, 1 }),
                    [&](Material &m) { return m.shade(sqrt(x)); });
    Float32 z = sqrt(x) * 2.f; // known to the bodies, which are closed
    auto v = (y * 0.f + z).read();
    for (size_t i = 0; i < 4; ++i)
        EXPECT_FLOAT_EQ(v[i], 2 * std::sqrt(0.25f * float(i + 1)));
    EXPECT_EQ(count(0, Op::Sqrt), 1u);
}

// What a call inside a call shares with the body around it is computed there once.
TEST_P(Closures, MayNest) {
    Shiny a(2), b(3);
    Float32 x = copy(numbers(6));
    UInt32 outer = copy(std::vector<uint32_t>{ 1, 2, 1, 2, 0, 1 }),
           inner = copy(std::vector<uint32_t>{ 2, 2, 1, 0, 1, 1 });
    auto v = ask(outer, [&](Material &m) {
                 Float32 t = x + 1.f;
                 return m.shade(t) + ask(inner, [&](Material &n) { return n.shade(t * 2.f); });
             }).read();
    auto shiny = [](float gloss, float x) { return std::sin(x * gloss) + gloss; };
    float gloss[] = { 0, 2, 3 };
    uint32_t o[] = { 1, 2, 1, 2, 0, 1 }, n[] = { 2, 2, 1, 0, 1, 1 };
    for (size_t i = 0; i < 6; ++i) {
        float t = 0.25f * float(i + 1) + 1;
        float want = (n[i] ? shiny(gloss[n[i]], 2 * t) : 0) + shiny(gloss[o[i]], t);
        EXPECT_NEAR(v[i], o[i] ? want : 0, 1e-5f) << i;
    }
    EXPECT_EQ(count(0, Op::Sin), 0u);
}

TEST_P(Closures, RunLoopsAndBranchesOverOutsideValues) {
    Shiny a(0.5f), b(0.25f);
    Float32 x = copy(numbers(4));
    auto v = ask(copy(std::vector<uint32_t>{ 1, 2, 1, 2 }), [&](Material &m) {
                 auto [i, sum] = loop(
                     std::tuple<UInt32, Float32>(0u, 0.f),
                     [](const auto &s) { return std::get<0>(s) < 3u; },
                     [&](auto &s) {
                         std::get<1>(s) += m.shade(x * x);
                         std::get<0>(s) += 1u;
                     });
                 return if_(x > 0.6f, [&] { return sum; }, [&] { return sqrt(x + 1.f); });
             }).read();
    for (size_t i = 0; i < 4; ++i) {
        float t = 0.25f * float(i + 1), g = i % 2 ? 0.25f : 0.5f;
        EXPECT_NEAR(v[i], t > 0.6f ? 3 * (std::sin(t * t * g) + g) : std::sqrt(t + 1), 1e-5f) << i;
    }
}

TEST_P(Closures, MakeWholeArraysOutside) {
    Shiny a(2), b(3);
    Float32 table = copy(numbers(4));
    UInt32 lane = arange<uint32_t>(4);
    auto v = ask(copy(std::vector<uint32_t>{ 1, 2, 1, 2 }), [&](Material &m) {
                 Float32 doubled = table * 2.f;
                 return gather(doubled, 3u - lane) + sum(doubled) + m.shade(Float32(0.f));
             }).read();
    for (size_t i = 0; i < 4; ++i)
        EXPECT_FLOAT_EQ(v[i], 0.5f * float(4 - i) + 5 + (i % 2 ? 3 : 2));
}

TEST_P(Closures, HaveTheirSharedDataAsArguments) {
    Float32 shared = opaque(4.f), table = copy(numbers(8));
    struct Mixed : Material {
        Float32 own, shared, table;
        Mixed(float o, const Float32 &s, const Float32 &t) : own(opaque(o)), shared(s), table(t) {}
        Float32 shade(const Float32 &x) const override {
            return x * own + shared * gather(table, UInt32(x));
        }
    };
    Mixed a(1, shared, table), b(2, shared, table), c(3, shared, table);
    Float32 x = copy(std::vector<float>{ 1, 2, 3, 4 });
    auto v = ask(copy(std::vector<uint32_t>{ 1, 2, 3, 1 }), [&](Material &m) {
                 return m.shade(x);
             }).read();
    float own[] = { 1, 2, 3, 1 };
    for (size_t i = 0; i < 4; ++i)
        EXPECT_FLOAT_EQ(v[i], float(i + 1) * own[i] + float(i + 2));
    EXPECT_EQ(count(1, Op::Data), 1u) << context.last_program_text();
    EXPECT_EQ(count(1, Op::ArgPtr), 1u);
}

// The first one's member is a value of the caller, too: there it stays what it is for all.
TEST_P(Closures, MayShareOneInstancesData) {
    Shiny a(2), b(3), c(4);
    Float32 x = copy(numbers(6)), gloss = a.gloss;
    auto v = ask(copy(std::vector<uint32_t>{ 1, 2, 3, 1, 2, 3 }), [&](Material &m) {
                 Float32 all = sqrt(x * gloss); // one node for all instances
                 return m.shade(x) + all;
             }).read();
    for (size_t i = 0; i < 6; ++i) {
        float t = 0.25f * float(i + 1), own = float(i % 3 + 2);
        EXPECT_NEAR(v[i], std::sin(t * own) + own + std::sqrt(2 * t), 1e-5f) << i;
    }
}

TEST_P(Closures, ValuesOfABodyDoNotEscape) {
    Shiny a(2), b(3);
    Float32 x = copy(numbers(2)), inside;
    ask(copy(std::vector<uint32_t>{ 1, 2 }), [&](Material &m) { return inside = m.shade(x); });
    std::string error = test::user_error([&] { inside + 1.f; });
    EXPECT_NE(error.find("computed inside a recorded call"), std::string::npos) << error;
}

UMBEL_BACKENDS(Closures)

} // namespace
