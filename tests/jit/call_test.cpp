// tests/jit/call_test.cpp: polymorphic calls: dispatch, and what the compiler makes of them.
#include "jit/control.h"
#include "support/backend_fixture.h"

using namespace umbel;
using namespace umbel::jit;
using umbel::test::occurrences;

namespace {

template <class T> std::vector<T> list(std::initializer_list<T> v) { return v; }

struct Mode {
    const char *backend;
    bool recorded;
};
// Results that must not depend on how calls are carried out.
class CallTest : public testing::TestWithParam<Mode> {
protected:
    CallTest() : context(test::backend_named(GetParam().backend)), scope(context) {
        context.set(Flag::Verify, true);
        context.set(Flag::RecordCalls, GetParam().recorded);
    }
    void TearDown() override {
        context.evaluate({});
        context.synchronize();
        EXPECT_EQ(context.graph.live_nodes(), 0u);
    }
    Context context;
    ContextScope scope;
};
// What only the program of a recorded call shows.
class RecordedCallTest : public test::BackendTest {};

// ---- a small class hierarchy

struct Result {
    Float32 value;
    UInt32 kind, common;
    UMBEL_STRUCT(value, kind, common)
};

struct Node : Instance<Node> {
    virtual Result eval(const Float32 &x, const UInt32 &n) const = 0;
    virtual void visit(UInt32 &counts, const UInt32 &by) const = 0;
    virtual Float32 repeat(const Float32 &x, const UInt32 &n) const = 0;
};

struct Scale : Node {
    Float32 factor;
    explicit Scale(float f) : factor(opaque(f)) {}
    Result eval(const Float32 &x, const UInt32 &n) const override {
        return { x * factor, UInt32(1u), n + 1u };
    }
    void visit(UInt32 &counts, const UInt32 &by) const override {
        scatter_add(counts, by, UInt32(0u));
    }
    Float32 repeat(const Float32 &x, const UInt32 &n) const override {
        auto s = loop(
            std::tuple(UInt32(0u), x), [&](const auto &s) { return std::get<0>(s) < n; },
            [&](auto &s) {
                std::get<1>(s) *= factor;
                std::get<0>(s) += 1u;
            });
        return std::get<1>(s);
    }
};

struct Table : Node {
    Float32 entries;
    explicit Table(std::vector<float> e) : entries(copy(e)) {}
    Result eval(const Float32 &, const UInt32 &n) const override {
        return { gather(entries, n % UInt32(entries.size())), UInt32(2u), n + 1u };
    }
    void visit(UInt32 &counts, const UInt32 &by) const override {
        scatter_add(counts, by * 2u, UInt32(1u));
    }
    Float32 repeat(const Float32 &x, const UInt32 &n) const override { return x + Float32(n); }
};

// Calls from a callee, also inside a loop. A class of its own: an instance that can reach itself through a
// call would be traced for ever.
struct Chain : Instance<Chain> {
    Pointer<Node> next;
    explicit Chain(const Node &n) : next(UInt32(opaque(n.id()))) {}
    Float32 eval(const Float32 &x, const UInt32 &n) const {
        return call(
                   next,
                   [](Node *p, const Float32 &x, const UInt32 &n) { return p->eval(x, n).value; },
                   x, n) +
               100.f;
    }
    Float32 repeat(const Float32 &x, const UInt32 &n) const {
        auto s = loop(
            std::tuple(UInt32(0u), x), [&](const auto &s) { return std::get<0>(s) < n; },
            [&](auto &s) {
                std::get<1>(s) = call(
                    next, [](Node *p, const Float32 &x) { return p->repeat(x, UInt32(2u)); },
                    std::get<1>(s));
                std::get<0>(s) += 1u;
            });
        return std::get<1>(s);
    }
};

Result eval_all(const Pointer<Node> &p, const Float32 &x, const UInt32 &n) {
    return call(p, [](Node *p, const Float32 &x, const UInt32 &n) { return p->eval(x, n); }, x, n);
}

// ---- results

TEST_P(CallTest, EachLaneReachesItsInstance) {
    Scale a(2), b(3);
    Table t({ 5, 6, 7 });
    Pointer<Node> p(copy(list<uint32_t>({ a.id(), b.id(), t.id(), 0, t.id(), 99 })));
    Result r = eval_all(p, arange<float>(6) + 1.f, arange<uint32_t>(6));
    EXPECT_EQ(r.value.read(), list<float>({ 2, 6, 7, 0, 6, 0 }));
    EXPECT_EQ(r.kind.read(), list<uint32_t>({ 1, 1, 2, 0, 2, 0 }));
    EXPECT_EQ(r.common.read(), list<uint32_t>({ 1, 2, 3, 0, 5, 0 }));
}

TEST_P(CallTest, AMaskKeepsLanesFromCalling) {
    Scale a(2), b(3);
    Pointer<Node> p(copy(list<uint32_t>({ a.id(), b.id(), a.id() })));
    Mask mask = copy(list<bool>({ true, false, true }));
    Float32 v = call_masked(
        p, mask, [](Node *p, const Float32 &x) { return p->eval(x, UInt32(0u)).value; },
        arange<float>(3) + 1.f);
    EXPECT_EQ(v.read(), list<float>({ 2, 0, 6 }));
}

TEST_P(CallTest, NullReferencesGiveZeros) {
    Scale a(2), b(3);
    Pointer<Node> null, some(&a);
    EXPECT_EQ(item(eval_all(null, 5.f, 1u).value), 0.f);
    EXPECT_EQ(item(eval_all(some, 5.f, 1u).value), 10.f);
}

TEST_P(CallTest, AMaskOfNoLaneGivesZeros) {
    Scale a(2), b(3);
    auto value = [](Node *p, const Float32 &x) { return p->eval(x, UInt32(0u)).value; };
    EXPECT_EQ(item(call_masked(Pointer<Node>(&a), Mask(false), value, Float32(1.f))), 0.f);
    Pointer<Node> p(copy(list<uint32_t>({ a.id(), b.id() })));
    Float32 none = call_masked(p, Mask(false), value, full(1.f, 2));
    EXPECT_EQ(item(sum(none)), 0.f);
}

TEST_P(CallTest, AReferenceToAnInstanceThatIsGoneCallsNothing) {
    Scale a(2);
    auto b = std::make_unique<Scale>(3.f);
    Pointer<Node> gone(b.get());
    b.reset();
    EXPECT_EQ(item(eval_all(gone, 5.f, 1u).value), 0.f);
}

TEST_P(CallTest, FreedNumbersAreUsedAgain) {
    auto a = std::make_unique<Scale>(2.f);
    Scale b(3);
    uint32_t id = a->id();
    a.reset();
    Pointer<Node> p(copy(list<uint32_t>({ id, b.id() })));
    EXPECT_EQ(eval_all(p, 1.f, 0u).value.read(), list<float>({ 0, 3 }));
    Scale c(5);
    EXPECT_EQ(c.id(), id);
    EXPECT_EQ(eval_all(p, 1.f, 0u).value.read(), list<float>({ 5, 3 }));
}

TEST_P(CallTest, CalleesHaveSideEffectsAndVoidCallsWork) {
    Scale a(2), b(3);
    Table t({ 1 });
    UInt32 counts = zeros<uint32_t>(3);
    UInt32 lane = arange<uint32_t>(300);
    Pointer<Node> p(select(lane % 3u == 0u, UInt32(a.id()),
                           select(lane % 3u == 1u, UInt32(b.id()), UInt32(t.id()))));
    call(p, [&](Node *p, const UInt32 &by) { p->visit(counts, by); }, opaque(full(1u, 300)));
    EXPECT_EQ(counts.read(), list<uint32_t>({ 200, 200, 0 }));
}

TEST_P(CallTest, LoopsRunInCallees) {
    Scale a(2), b(3);
    Table t({ 1 });
    Pointer<Node> p(copy(list<uint32_t>({ a.id(), b.id(), t.id(), a.id() })));
    UInt32 n = copy(list<uint32_t>({ 3, 2, 7, 0 }));
    Float32 v = call(
        p, [](Node *p, const Float32 &x, const UInt32 &n) { return p->repeat(x, n); }, full(1.f, 4),
        n);
    EXPECT_EQ(v.read(), list<float>({ 8, 9, 8, 1 }));
}

TEST_P(CallTest, CalleesCallOthersAlsoInLoops) {
    Scale a(2), b(3);
    Table t({ 1 });
    Chain c(a), d(b), e(t);
    Pointer<Chain> p(copy(list<uint32_t>({ c.id(), d.id(), 0, e.id() })));
    Float32 x = full(1.f, 4);
    UInt32 n = arange<uint32_t>(4) + 1u;
    Float32 once =
        call(p, [](Chain *p, const Float32 &x, const UInt32 &n) { return p->eval(x, n); }, x, n);
    EXPECT_EQ(once.read(), list<float>({ 102, 103, 0, 101 }));
    Float32 often =
        call(p, [](Chain *p, const Float32 &x, const UInt32 &n) { return p->repeat(x, n); }, x, n);
    EXPECT_EQ(often.read(), list<float>({ 4, 81, 0, 9 }));
}

TEST_P(CallTest, CallsInALoopFollowItsState) {
    Scale a(2), b(3);
    UInt32 lane = arange<uint32_t>(4);
    auto s = loop(
        std::tuple(UInt32(0u), full(1.f, 4)), [&](const auto &s) { return std::get<0>(s) < lane; },
        [&](auto &s) {
            auto &[i, x] = s;
            Pointer<Node> p(select((i & 1u) == 0u, UInt32(a.id()), UInt32(b.id())));
            x = eval_all(p, x, i).value;
            i += 1u;
        });
    EXPECT_EQ(std::get<1>(s).read(), list<float>({ 1, 2, 6, 12 }));
}

TEST_P(CallTest, SwitchChoosesAFunction) {
    using Fn = std::function<Float32(const Float32 &)>;
    std::vector<Fn> functions{ [](const Float32 &x) { return x * 2.f; },
                               [](const Float32 &x) { return x + 10.f; },
                               [](const Float32 &x) { return sqrt(x); } };
    Float32 x = arange<float>(5);
    UInt32 which = copy(list<uint32_t>({ 0, 1, 7, 1, 2 }));
    EXPECT_EQ(switch_(which, functions, x).read(), list<float>({ 0, 11, 0, 13, 2 }));
    EXPECT_EQ(switch_(UInt32(2u), functions, x * x).read(), list<float>({ 0, 1, 2, 3, 4 }));
}

INSTANTIATE_TEST_SUITE_P(Modes, CallTest,
                         testing::Values(Mode{ "interp", true }, Mode{ "interp", false },
                                         Mode{ "llvm", true }, Mode{ "llvm", false }),
                         [](auto &info) {
                             return std::string(info.param.backend) +
                                    (info.param.recorded ? "_recorded" : "_evaluated");
                         });

// ---- what the compiler makes of a recorded call

TEST_P(RecordedCallTest, ValuesOfTheCallerAreCaptured) {
    Scale a(2), b(3);
    Float32 outside = opaque(arange<float>(3)) + 1.f;
    Pointer<Node> p(copy(list<uint32_t>({ b.id(), a.id(), 0 })));
    Float32 v = call(
        p, [&](Node *p, const Float32 &x) { return p->eval(x, UInt32(0u)).value + outside; },
        full(10.f, 3));
    EXPECT_EQ(v.read(), list<float>({ 31, 22, 0 }));
}

// What a kernel has computed for instances need not come to the host to be told to them.
TEST_P(RecordedCallTest, NumbersOfInstancesStayOnADevice) {
    Float32 seeds = opaque(arange<float>(3));
    Scale a(1.f), b(1.f);
    a.factor = Float32(reduce(ReduceOp::Add, seeds));
    b.factor = a.factor * 2.f + opaque(1.f);
    eval(a.factor, b.factor);
    Pointer<Node> p(copy(list<uint32_t>({ a.id(), b.id(), a.id(), b.id() })));
    Float32 y = eval_all(p, Float32(10.f), UInt32(0u)).value;
    eval(y);
    context.synchronize();
    if (context.backend().device()) {
        for (const Float32 &v : { a.factor, b.factor })
            EXPECT_TRUE(context.graph.buffer_of(v.id())->is_on_device());
    }
    EXPECT_EQ(y.read(), list<float>({ 30, 70, 30, 70 }));
}

TEST_P(RecordedCallTest, NumbersOfManyInstancesAreOfAllWidths) {
    struct Mixed : Instance<Mixed> {
        Value byte, half, word, wide;
    };
    constexpr uint32_t Count = 200;
    UInt32 one = opaque(1u);
    std::vector<std::unique_ptr<Mixed>> things;
    std::vector<uint32_t> ids;
    std::vector<double> want;
    for (uint32_t i = 0; i < Count; ++i) {
        auto &t = *things.emplace_back(std::make_unique<Mixed>());
        UInt32 n = opaque(i) * one; // data: one program for all
        t.byte = cast(Type::U8, n);
        t.half = cast(Type::I16, n + 1000u);
        t.word = cast(Type::F32, n + 2000u);
        t.wide = cast(Type::F64, n + 3000u);
        eval(t.byte, t.half, t.word, t.wide);
        ids.push_back(t.id());
        want.push_back(i + 1e3 * (1000 + i) + 1e6 * (2000 + i) + 1e9 * (3000 + i));
    }
    Float64 y = call(Pointer<Mixed>(copy(ids)), [](Mixed *t) {
        return Float64(cast(Type::F64, t->byte)) + Float64(cast(Type::F64, t->half)) * 1e3 +
               Float64(cast(Type::F64, t->word)) * 1e6 + Float64(t->wide) * 1e9;
    });
    EXPECT_EQ(y.read(), want);
}

TEST_P(RecordedCallTest, ConstantsPropagateIntoCallees) {
    Scale a(2);
    Table t({ 1 });
    Pointer<Node> p(copy(list<uint32_t>({ a.id(), t.id() })));
    bool literal = true;
    auto run = [&] {
        return call(
            p,
            [&](Node *p, const Float32 &x, const UInt32 &n) {
                literal = literal && n.is_literal();
                return p->eval(x, n).value;
            },
            opaque(arange<float>(2)), UInt32(1u));
    };
    EXPECT_EQ(run().read(), list<float>({ 0, 1 }));
    EXPECT_TRUE(literal);
    FlagScope off(Flag::OptimizeCalls, false);
    literal = true;
    run().read();
    EXPECT_FALSE(literal);
}

TEST_P(RecordedCallTest, UnusedInputsAndOutputsDisappear) {
    Scale a(2);
    Table t({ 1 });
    Pointer<Node> p(copy(list<uint32_t>({ a.id(), t.id() })));
    UInt32 n = opaque(arange<uint32_t>(2));
    Float32 x = exp(opaque(arange<float>(2)));
    {
        Result r = eval_all(p, x, n);
        r.kind.read(); // needs neither x nor n
        const CallSite &site = context.last_program().calls.at(0);
        EXPECT_EQ(site.args.size(), 0u) << context.last_program_text();
        EXPECT_EQ(site.out_types.size(), 1u);
        EXPECT_EQ(context.last_program_text().find("= Exp"), std::string::npos);
    }
    FlagScope off(Flag::OptimizeCalls, false);
    Result r = eval_all(p, x, n);
    r.kind.read();
    EXPECT_EQ(context.last_program().calls.at(0).args.size(), 2u);
    EXPECT_EQ(context.last_program().calls.at(0).out_types.size(), 3u);
}

TEST_P(RecordedCallTest, ResultsCommonToAllInstancesMoveOut) {
    Scale a(2);
    Table t({ 1 });
    Pointer<Node> p(copy(list<uint32_t>({ a.id(), t.id(), 0 })));
    Result r = eval_all(p, opaque(arange<float>(3)), opaque(arange<uint32_t>(3)));
    EXPECT_EQ(r.common.read(), list<uint32_t>({ 1, 2, 0 }));
    EXPECT_EQ(context.last_program().calls.size(), 0u) << context.last_program_text();
}

TEST_P(RecordedCallTest, AThousandInstancesOfAClassAreOneSubroutine) {
    std::vector<std::unique_ptr<Node>> nodes;
    std::vector<uint32_t> ids;
    for (int i = 0; i < 1000; ++i) {
        nodes.push_back(std::make_unique<Scale>(float(i)));
        ids.push_back(nodes.back()->id());
    }
    Pointer<Node> p(copy(ids));
    auto v = eval_all(p, full(2.f, 1000), arange<uint32_t>(1000)).value.read();
    for (int i = 0; i < 1000; ++i)
        ASSERT_EQ(v[size_t(i)], 2.f * float(i));
    EXPECT_EQ(context.last_program().functions.size(), 2u);
    nodes.push_back(std::make_unique<Table>(std::vector<float>{ 1, 2 }));
    eval_all(p, full(2.f, 1000), arange<uint32_t>(1000)).value.read();
    EXPECT_EQ(context.last_program().functions.size(), 3u);
}

TEST_P(RecordedCallTest, WithoutMergingEachInstanceHasItsSubroutine) {
    FlagScope off(Flag::MergeFunctions, false);
    Scale a(1), b(2), c(3);
    Pointer<Node> p(copy(list<uint32_t>({ a.id(), b.id(), c.id() })));
    EXPECT_EQ(eval_all(p, 1.f, 0u).value.read(), list<float>({ 1, 2, 3 }));
    EXPECT_EQ(context.last_program().functions.size(), 4u);
}

TEST_P(RecordedCallTest, ChangingAMemberCompilesNothing) {
    context.set(Flag::History, true);
    Scale a(2), b(3);
    Table t({ 1, 2 });
    Pointer<Node> p(copy(list<uint32_t>({ a.id(), b.id(), t.id() })));
    auto run = [&] {
        return eval_all(p, opaque(full(1.f, 3)), opaque(arange<uint32_t>(3))).value.read();
    };
    EXPECT_EQ(run(), list<float>({ 2, 3, 1 }));
    context.take_history();
    a.factor = opaque(7.f);
    t.entries =
        copy(list<float>({ 8, 9 })); // its size is a constant of its code, its contents are not
    EXPECT_EQ(run(), list<float>({ 7, 3, 8 }));
    for (const KernelRecord &r : context.take_history())
        EXPECT_TRUE(r.memory_hit || r.backend == "builtin") << r.name;
}

TEST_P(RecordedCallTest, MoreInstancesCompileNothing) {
    context.set(Flag::History, true);
    std::vector<std::unique_ptr<Node>> nodes;
    auto run = [&](uint32_t n) {
        while (nodes.size() < n)
            nodes.push_back(std::make_unique<Scale>(float(nodes.size())));
        Pointer<Node> p(opaque(arange<uint32_t>(64) % n + 1u));
        eval_all(p, opaque(full(1.f, 64)), UInt32(0u)).value.read();
    };
    run(3);
    context.take_history();
    run(40);
    for (const KernelRecord &r : context.take_history())
        EXPECT_TRUE(r.functions < 2 || r.memory_hit) << r.name << "\n"
                                                     << context.last_program_text();
}

TEST_P(RecordedCallTest, OneMoreInstanceCompilesNothingWhereResultsMovedOut) {
    context.set(Flag::History, true);
    std::vector<std::unique_ptr<Node>> nodes;
    auto run = [&](uint32_t n) {
        while (nodes.size() < n)
            nodes.push_back(std::make_unique<Scale>(float(nodes.size())));
        Pointer<Node> p(opaque(arange<uint32_t>(64) % n + 1u));
        Result r = eval_all(p, opaque(full(1.f, 64)), opaque(arange<uint32_t>(64)));
        eval(p);
        context.take_history();
        eval(r.value, r.common);
        EXPECT_EQ(context.last_program().calls.at(0).out_types.size(), 1u); // the other moved out
        EXPECT_EQ(r.common.read().at(63), 64u);
        uint32_t compiled = 0;
        for (const KernelRecord &k : context.take_history())
            compiled += !k.memory_hit && k.backend != "builtin";
        return compiled;
    };
    run(100); // compiled now, or by another test
    EXPECT_EQ(run(101), 0u) << context.last_program_text();
}

TEST_P(RecordedCallTest, ResultsOfCallsInAllCalleesMoveOutOfBoth) {
    Scale a(2);
    Table t({ 1 });
    Chain c(a), d(t);
    Pointer<Chain> p(copy(list<uint32_t>({ c.id(), d.id(), 0 })));
    Pointer<Node> q(copy(list<uint32_t>({ a.id(), 0, t.id() })));
    auto common = [](Chain *, const UInt32 &next, const UInt32 &n) {
        return eval_all(Pointer<Node>(next), Float32(1.f), n).common;
    };
    UInt32 r = call(p, common, UInt32(q), opaque(arange<uint32_t>(3) + 5u));
    EXPECT_EQ(r.read(), list<uint32_t>({ 6, 0, 0 }));
    EXPECT_EQ(context.last_program().calls.size(), 0u) << context.last_program_text();
}

// The nodes that callees compute from members are evaluated behind the call's back, in some instances.
TEST_P(RecordedCallTest, MembersMayBeEvaluatedBetweenTracingAndRunning) {
    Scale a(2), b(3), d(4);
    for (Scale *s : { &a, &b, &d })
        s->factor = sqrt(s->factor * s->factor) + 1.f; // recorded, not evaluated
    Pointer<Node> p(copy(list<uint32_t>({ a.id(), b.id(), d.id(), a.id() })));
    auto run = [&](std::vector<Scale *> evaluated) {
        Float32 v = eval_all(p, opaque(full(1.f, 4)), opaque(arange<uint32_t>(4))).value;
        for (Scale *s : evaluated)
            eval(s->factor);
        return v.read();
    };
    EXPECT_EQ(run({ &b }), list<float>({ 3, 4, 5, 3 }));
    EXPECT_EQ(run({ &a }), list<float>({ 3, 4, 5, 3 }));
    EXPECT_EQ(run({ &d }), list<float>({ 3, 4, 5, 3 }));
}

TEST_P(RecordedCallTest, ConstantsStayConstantsWhenTheyAreEvaluated) {
    Scale a(2);
    Table t({ 1 });
    Pointer<Node> p(copy(list<uint32_t>({ a.id(), t.id() })));
    Float32 one = 1.f,
            v = call(
                p, [](Node *p, const Float32 &x) { return p->eval(x + 1.f, UInt32(0u)).value; },
                opaque(arange<float>(2)));
    Float32 bins = zeros<float>(2);
    eval(one);
    scatter_add(bins, one, UInt32(1u));
    EXPECT_EQ(bins.read(), list<float>({ 0, 1 }));
    EXPECT_TRUE(one.is_literal());
    EXPECT_EQ(v.read(), list<float>({ 2, 1 }));
}

TEST_P(RecordedCallTest, TheOnlyInstanceIsCalledDirectly) {
    Scale a(2);
    Pointer<Node> p(copy(list<uint32_t>({ a.id(), 0 })));
    EXPECT_EQ(eval_all(p, full(1.f, 2), UInt32(0u)).value.read(), list<float>({ 2, 0 }));
    EXPECT_EQ(context.last_program().calls.size(), 0u);
}

TEST_P(RecordedCallTest, ACallIsOneKernel) {
    context.set(Flag::History, true);
    Scale a(2), b(3);
    Table t({ 1 });
    Pointer<Node> p(opaque(arange<uint32_t>(100) % 4u));
    Float32 x = opaque(arange<float>(100));
    context.take_history();
    Result r = eval_all(p, x, UInt32(0u));
    eval(r.value, r.kind, r.common);
    EXPECT_EQ(context.take_history().size(), 1u);
}

UMBEL_BACKENDS(RecordedCallTest)

} // namespace
