// tests/jit/datum_test.cpp: numbers of the host that are nodes only while a program uses them.
#include "jit/datum.h"
#include "support/backend_fixture.h"

using namespace umbel;
using namespace umbel::jit;

namespace {

struct Number {
    float value;
    mutable DatumNode node;
    operator Float32() const { return Float32(datum(Type::F32, to_bits(value), node)); }
};
struct Thing : Instance<Thing> {
    Number a, b;
    Thing(float a, float b) : a{ a, {} }, b{ b, {} } {}
    Float32 eval(const Float32 &x) const { return sin(x * a) * b + Float32(a); }
    float expected(float x) const { return std::sin(x * a.value) * b.value + a.value; }
};

class Data : public test::BackendTest {
protected:
    static std::vector<std::unique_ptr<Thing>> things(size_t n) {
        std::vector<std::unique_ptr<Thing>> all;
        for (size_t i = 0; i < n; ++i)
            all.push_back(std::make_unique<Thing>(0.5f + float(i % 7), 1.f / float(i + 1)));
        return all;
    }
    static UInt32 ids(const std::vector<std::unique_ptr<Thing>> &all) {
        std::vector<uint32_t> list;
        for (auto &t : all)
            list.push_back(t->id());
        return copy(list);
    }
    static Float32 ask(const UInt32 &ids, const Float32 &x) {
        return call(Pointer<Thing>(ids), [&](Thing *t) { return t->eval(x); });
    }
};

TEST_P(Data, AreOneNodeWhileUsedAndNoneAfterwards) {
    Number n{ 2, {} };
    size_t before = context.graph.live_nodes();
    {
        Float32 a = n, b = n;
        EXPECT_EQ(a.id(), b.id());
        EXPECT_EQ(context.graph.live_nodes(), before + 1);
        EXPECT_EQ((a + b).read()[0], 4);
    }
    EXPECT_EQ(context.graph.live_nodes(), before);
    Float32 other = opaque(5.f); // where the node was
    EXPECT_EQ(Float32(n).read()[0], 2);
    n.value = 3;
    EXPECT_EQ(Float32(n).read()[0], 3);
}

TEST_P(Data, AreNoPartOfThePrograms) {
    Float32 x = copy(std::vector<float>{ 1, 2 });
    auto text = [&](float a, float b) {
        Thing one(a, 1), two(b, 1);
        ask(copy(std::vector<uint32_t>{ one.id(), two.id() }), x).read();
        return context.last_program_text();
    };
    EXPECT_EQ(text(1, 2), text(3, 3)) << "equal numbers are another program";
}

TEST_P(Data, OfManyInstancesTakeNoNodes) {
    auto nodes_while_traced = [&](size_t n) {
        auto all = things(n);
        UInt32 list = ids(all);
        Float32 x = copy(std::vector<float>(n, 0.75f));
        Float32 y = ask(list, x);
        size_t nodes = context.graph.live_nodes();
        auto v = y.read();
        EXPECT_EQ(context.last_program().functions.size(), 2u);
        for (size_t i = 0; i < n; ++i)
            EXPECT_NEAR(v[i], all[i]->expected(0.75f), 1e-5f);
        return nodes;
    };
    size_t few = nodes_while_traced(3);
    EXPECT_EQ(nodes_while_traced(500), few);
}

TEST_P(Data, OfInstancesAreReadWhenTraced) {
    auto all = things(4);
    UInt32 list = ids(all);
    Float32 y = ask(list, opaque(0.5f));
    float expected = all[2]->expected(0.5f);
    all[2]->a.value = 100; // of later programs
    EXPECT_NEAR(y.read()[2], expected, 1e-5f);
    EXPECT_NEAR(ask(list, opaque(0.5f)).read()[2], all[2]->expected(0.5f), 1e-3f);
}

TEST_P(Data, CallsWithinCallsHaveTheirOwn) {
    auto all = things(5);
    UInt32 list = ids(all);
    Float32 y = call(Pointer<Thing>(list), [&](Thing *t) {
        Float32 x = t->eval(opaque(0.25f));
        return ask(list, x);
    });
    auto v = y.read();
    for (size_t i = 0; i < all.size(); ++i)
        EXPECT_NEAR(v[i], all[i]->expected(all[i]->expected(0.25f)), 1e-4f);
}

UMBEL_BACKENDS(Data)

} // namespace
