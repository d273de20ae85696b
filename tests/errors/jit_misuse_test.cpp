// tests/errors/jit_misuse_test.cpp: misuse of the array library throws errors that name call and operand.
#include "jit/control.h"
#include "support/backend_fixture.h"

using namespace umbel;
using namespace umbel::jit;

namespace {

class JitMisuse : public test::BackendTest {
protected:
    // f must throw a UserError that contains all `parts`, and leave the context usable.
    template <class F> void expect_error(std::initializer_list<const char *> parts, F &&f) {
        std::string message = test::user_error(f);
        for (const char *part : parts)
            EXPECT_NE(message.find(part), std::string::npos)
                << "\"" << part << "\" is not in: " << message;
        EXPECT_EQ(context.region, 0u) << message;
        EXPECT_TRUE(context.masks.empty()) << message;
        EXPECT_EQ(item(sum(arange<uint32_t>(4) + 1u)), 10u) << message;
    }
    Float32 three = arange<float>(3), two = arange<float>(2);
    UInt32 lanes = arange<uint32_t>(3), pair = arange<uint32_t>(2);

    void TearDown() override {
        three = two = Float32();
        lanes = pair = UInt32();
        BackendTest::TearDown();
    }
};

// ---- sizes

TEST_P(JitMisuse, SizesMustMatch) {
    expect_error({ "Add", "3", "2", "do not match" }, [&] { three + two; });
    expect_error({ "Lt", "3 and 2" }, [&] { three < two; });
    expect_error({ "Fma", "sizes" }, [&] { fma(three, three, two); });
    expect_error({ "Select", "sizes" }, [&] { select(pair == 0u, three, three); });
    expect_error({ "gather", "sizes 3 and 2" }, [&] { gather(three, lanes, pair == 0u); });
    expect_error({ "gather_packet", "sizes" }, [&] { gather_packet(three, lanes, 3, pair == 0u); });
    expect_error({ "scatter", "sizes 3 and 2" }, [&] { scatter(three, two, lanes); });
    expect_error({ "scatter_inc", "sizes" }, [&] { scatter_inc(lanes, lanes, pair == 0u); });
    expect_error({ "dot", "" }, [&] { dot(three, two); });
    expect_error({ "print", "sizes" }, [&] { print("{}", pair == 0u, three); });
    expect_error({ "assert", "sizes" }, [&] { assert_lanes(lanes == 0u, "no", pair == 0u); });
    LocalArray<float> a(three, 4);
    expect_error({ "local_get", "sizes 3 and 2" }, [&] { a.get(pair); });
    expect_error({ "local_set", "sizes" }, [&] { a.set(lanes, two); });
    expect_error({ "Add" }, [&] { three + copy(std::vector<float>{}); });
}

TEST_P(JitMisuse, SizesOfControlFlowMustMatch) {
    expect_error({ "walk", "sizes 3 and 2" }, [&] {
        loop(
            std::tuple(three, two), [](const auto &s) { return std::get<0>(s) < 1.f; },
            [](auto &s) {
                std::get<0>(s) += 1.f;
                std::get<1>(s) += 1.f;
            },
            "walk");
    });
    expect_error({ "walk", "sizes" }, [&] {
        loop(
            std::tuple(three), [&](const auto &) { return two < 1.f; },
            [](auto &s) { std::get<0>(s) += 1.f; }, "walk");
    });
    expect_error({ "choose", "sizes" }, [&] {
        if_(three > 1.f, [&] { return exp(two); }, [&] { return log(two); }, "choose");
    });
    expect_error({ "loop", "sizes" }, [&] { // an effect of another size
        UInt32 target = zeros<uint32_t>(2);
        loop(
            std::tuple(lanes), [](const auto &s) { return std::get<0>(s) < 1u; },
            [&](auto &s) {
                scatter_add(target, pair, pair);
                std::get<0>(s) += 1u;
            });
    });
}

// ---- types

TEST_P(JitMisuse, TypesMustFit) {
    Value f = three, u = lanes, m = lanes == 0u;
    expect_error({ "Add", "f32 and u32" }, [&] { binary(Op::Add, f, u); });
    expect_error({ "Sin", "operand 1", "u32" }, [&] { unary(Op::Sin, u); });
    expect_error({ "Add", "operand 1", "bool" }, [&] { binary(Op::Add, m, m); });
    expect_error({ "And", "operand 1", "f32" }, [&] { binary(Op::And, f, f); });
    expect_error({ "Mod", "f32" }, [&] { binary(Op::Mod, f, f); });
    expect_error({ "Select", "operand 1", "mask", "u32" }, [&] { ternary(Op::Select, u, f, f); });
    expect_error({ "Select", "f32 and u32" }, [&] { ternary(Op::Select, m, f, u); });
    expect_error({ "Fma", "f32, f32 and u32" }, [&] { ternary(Op::Fma, f, f, u); });
    expect_error({ "Bitcast", "f32", "u64" }, [&] { bitcast(Type::U64, f); });
    expect_error({ "Cast", "ptr" }, [&] { cast(Type::Ptr, f); });
    expect_error({ "u32", "f32" }, [&] { Float32 wrong(u); });
    expect_error({ "gather", "index", "f32" }, [&] { gather(f, f, m); });
    expect_error({ "gather", "mask", "u32" }, [&] { gather(f, u, u); });
    expect_error({ "gather_packet", "index", "f32" }, [&] { gather_packet(f, f, 3, m); });
    expect_error({ "scatter", "value", "u32", "f32" }, [&] { scatter(f, u, u, m); });
    expect_error({ "scatter", "and", "f32" }, [&] { scatter(f, f, u, m, ReduceOp::And); });
    expect_error({ "scatter", "add", "mask" }, [&] { scatter(m, m, u, m, ReduceOp::Add); });
    expect_error({ "scatter_inc", "target", "f32" }, [&] { scatter_inc(f, u, m); });
    expect_error({ "reduce", "add", "bool" }, [&] { reduce(ReduceOp::Add, m); });
    expect_error({ "reduce", "or", "f32" }, [&] { reduce(ReduceOp::Or, f); });
    expect_error({ "prefix_sum", "bool" }, [&] { prefix_sum(m, false); });
    expect_error({ "dot", "f32 and u32" }, [&] { dot(f, u); });
    expect_error({ "compress", "u32" }, [&] { compress(u); });
    expect_error({ "sort_permutation", "bool" }, [&] { sort_permutation(m); });
    expect_error({ "local_get", "operand 1" }, [&] { local_get(f, u, m); });
    expect_error({ "local_set", "value", "u32" }, [&] { local_set(local_array(f, 2), u, u, m); });
}

struct Loose { // a state variable whose type C++ does not check
    Value v;
    UInt32 i;
    UMBEL_STRUCT(v, i)
};

TEST_P(JitMisuse, LoopStateMustKeepItsType) {
    expect_error({ "march", "state variable 1", "f32", "u32" }, [&] {
        loop(
            Loose{ three, lanes }, [](const Loose &s) { return s.i < 2u; },
            [](Loose &s) {
                s.v = s.i;
                s.i += 1u;
            },
            "march");
    });
    context.set(Flag::RecordLoops, false);
    expect_error({ "march", "state variable 1", "f32", "u32" }, [&] {
        loop(
            Loose{ three, lanes }, [](const Loose &s) { return s.i < 2u; },
            [](Loose &s) {
                s.v = s.i;
                s.i += 1u;
            },
            "march");
    });
}

TEST_P(JitMisuse, ConditionsMustBeMasks) {
    expect_error({ "loop", "condition", "u32" },
                 [&] { detail::loop("loop", {}, [&]() -> Value { return lanes; }, [] {}); });
    expect_error({ "if", "condition", "u32" }, [&] {
        detail::if_(
            "if", lanes, [] { return std::vector<Value>(); }, [] { return std::vector<Value>(); });
    });
    expect_error({ "if", "condition" }, [&] {
        detail::if_(
            "if", Value(), [] { return std::vector<Value>(); },
            [] { return std::vector<Value>(); });
    });
}

TEST_P(JitMisuse, BranchesMustAgree) {
    auto one = [&](Value v) { return [v] { return std::vector<Value>{ v }; }; };
    auto both = [&](bool recorded) {
        context.set(Flag::RecordIfs, recorded);
        expect_error({ "choose", "result 1", "f32", "u32" },
                     [&] { detail::if_("choose", lanes > 1u, one(three), one(lanes)); });
        expect_error({ "choose", "1 and 0 values" }, [&] {
            detail::if_("choose", lanes > 1u, one(three), [] { return std::vector<Value>(); });
        });
        expect_error({ "choose", "result 1", "uninitialized" },
                     [&] { detail::if_("choose", lanes > 1u, one(three), one(Value())); });
        expect_error({ "choose", "result 1", "uninitialized" },
                     [&] { detail::if_("choose", lanes > 1u, one(Value()), one(three)); });
    };
    both(true);
    both(false);
}

// ---- uninitialized values

TEST_P(JitMisuse, UninitializedValuesAreNamed) {
    Float32 nothing;
    UInt32 no_index;
    Mask no_mask;
    expect_error({ "Add", "operand 2", "uninitialized" }, [&] { three + nothing; });
    expect_error({ "Mul", "operand 1", "uninitialized" }, [&] { nothing *three; });
    expect_error({ "Sin", "operand 1", "uninitialized" }, [&] { sin(nothing); });
    expect_error({ "Select", "operand 1", "uninitialized" },
                 [&] { select(no_mask, three, three); });
    expect_error({ "Cast", "uninitialized" }, [&] { UInt32 u(nothing); });
    expect_error({ "Bitcast", "uninitialized" }, [&] { reinterpret<uint32_t>(nothing); });
    expect_error({ "gather", "operand 1", "uninitialized" }, [&] { gather(nothing, lanes); });
    expect_error({ "gather", "operand 2", "uninitialized" }, [&] { gather(three, no_index); });
    expect_error({ "scatter", "target", "uninitialized" }, [&] { scatter(nothing, three, lanes); });
    expect_error({ "scatter", "uninitialized" }, [&] { scatter(three, nothing, lanes); });
    expect_error({ "reduce", "uninitialized" }, [&] { sum(nothing); });
    expect_error({ "read", "uninitialized" }, [&] { item(nothing); });
    expect_error({ "eval", "uninitialized" }, [&] { eval(three, nothing); });
    expect_error({ "opaque", "uninitialized" }, [&] { opaque(nothing); });
    expect_error({ "loop", "state variable 2", "uninitialized" }, [&] {
        loop(
            std::tuple(lanes, nothing), [](const auto &s) { return std::get<0>(s) < 1u; },
            [](auto &) {});
    });
    expect_error({ "loop", "state variable 1", "uninitialized" }, [&] {
        loop(
            std::tuple(three), [](const auto &s) { return std::get<0>(s) < 1.f; },
            [](auto &s) { std::get<0>(s) = Float32(); });
    });
    expect_error({ "print", "uninitialized" }, [&] { print("{}", true, nothing); });
}

// ---- contexts

TEST_P(JitMisuse, ValuesOfAnotherContextAreRefused) {
    Context other(interp_backend());
    Float32 foreign;
    UInt32 foreign_index;
    Mask foreign_mask;
    {
        ContextScope scope(other);
        foreign = arange<float>(3);
        foreign_index = arange<uint32_t>(3);
        foreign_mask = foreign_index == 1u;
    }
    expect_error({ "Add", "operand 2", "context" }, [&] { three + foreign; });
    expect_error({ "Select", "operand 3", "context" }, [&] { select(lanes > 1u, three, foreign); });
    expect_error({ "gather", "operand 2", "context" }, [&] { gather(three, foreign_index); });
    expect_error({ "scatter", "context" }, [&] { scatter(foreign, three, lanes); });
    expect_error({ "scatter", "context" }, [&] { scatter(three, foreign, lanes); });
    expect_error({ "scatter_inc", "context" }, [&] { scatter_inc(foreign_index, lanes); });
    expect_error({ "dot", "context" }, [&] { dot(three, foreign); });
    expect_error({ "eval", "context" }, [&] { eval(three, foreign); });
    expect_error({ "print", "context" }, [&] { print("{}", true, foreign); });
    expect_error({ "loop", "state variable 2", "context" }, [&] {
        loop(
            std::tuple(three, foreign), [](const auto &s) { return std::get<0>(s) < 1.f; },
            [](auto &) {});
    });
    expect_error({ "loop", "condition", "context" }, [&] {
        loop(
            std::tuple(three), [&](const auto &) { return foreign_mask; },
            [](auto &s) { std::get<0>(s) += 1.f; });
    });
    expect_error({ "loop", "state variable 1", "context" }, [&] {
        loop(
            std::tuple(three), [&](const auto &s) { return std::get<0>(s) < 1.f; },
            [&](auto &s) { std::get<0>(s) = foreign; });
    });
    expect_error({ "if", "result 1", "context" },
                 [&] { if_(lanes > 1u, [&] { return three; }, [&] { return foreign; }); });
}

// ---- what may not happen while recording

TEST_P(JitMisuse, ValuesDoNotLeaveTheirRegion) {
    Float32 leaked;
    auto leak_from_loop = [&] {
        auto s = loop(
            std::tuple(three), [](const auto &s) { return std::get<0>(s) < 1.f; },
            [&](auto &s) {
                leaked = std::get<0>(s) * 2.f;
                std::get<0>(s) += 1.f;
            });
        return std::get<0>(s);
    };
    Float32 result = leak_from_loop();
    expect_error({ "Add", "inside a recorded loop", "state" }, [&] { leaked + 1.f; });
    expect_error({ "eval", "loop" }, [&] { eval(leaked); });
    expect_error({ "read", "loop" }, [&] { item(leaked); });
    leaked = Float32();

    UInt32 source = opaque(lanes), from_branch;
    UInt32 r = if_(
        lanes > 1u,
        [&] {
            from_branch = gather(source, lanes * 0u);
            return from_branch;
        },
        [&] { return lanes; });
    expect_error({ "Add", "inside a recorded conditional" }, [&] { from_branch + 1u; });
}

TEST_P(JitMisuse, NothingIsEvaluatedInsideARecordedLoop) {
    auto in_loop = [&](auto &&use) {
        loop(
            std::tuple(lanes), [](const auto &s) { return std::get<0>(s) < 2u; },
            [&](auto &s) {
                use(std::get<0>(s));
                std::get<0>(s) += 1u;
            });
    };
    expect_error({ "eval", "loop" }, [&] { in_loop([](UInt32 &i) { eval(i); }); });
    expect_error({ "read", "loop" }, [&] { in_loop([](UInt32 &i) { item(i); }); });
    expect_error({ "reduce", "loop" }, [&] { in_loop([](UInt32 &i) { sum(i); }); });
    expect_error({ "reduce", "loop" }, [&] { in_loop([](UInt32 &i) { any(i > 1u); }); });
    expect_error({ "compress", "loop" }, [&] { in_loop([](UInt32 &i) { compress(i > 1u); }); });
    expect_error({ "gather", "loop" }, [&] { in_loop([](UInt32 &i) { i = gather(i, i); }); });
    expect_error({ "scatter", "loop" }, [&] { in_loop([](UInt32 &i) { scatter(i, i, i); }); });
    in_loop([](UInt32 &) { any(arange<uint32_t>(4) > 2u); }); // of the outside: allowed
}

TEST_P(JitMisuse, AnArrayIsNotReadWhereItIsWritten) {
    UInt32 target = opaque(zeros<uint32_t>(3));
    expect_error({ "gather", "loop", "race" }, [&] {
        loop(
            std::tuple(lanes), [](const auto &s) { return std::get<0>(s) < 2u; },
            [&](auto &s) {
                scatter_add(target, lanes, lanes);
                std::get<0>(s) += gather(target, lanes) + 1u;
            });
    });
    expect_error({ "Add", "conditional", "race" }, [&] {
        if_(
            lanes > 1u,
            [&] {
                scatter(target, lanes, lanes);
                return target + 1u;
            },
            [&] { return lanes; });
    });
    EXPECT_EQ(item(sum(target)), 0u);
}

// ---- calls

struct Thing : Instance<Thing> {
    int kind;
    explicit Thing(int k) : kind(k) {}
};
struct Nobody : Instance<Nobody> {};
struct Loner : Instance<Loner> {
    Pointer<Loner> other;
    UInt32 visit(const UInt32 &x) const {
        return call(other, [](Loner *l, const UInt32 &x) { return l->visit(x) + 1u; }, x);
    }
};

TEST_P(JitMisuse, CallsCheckArgumentsAndResults) {
    Thing a(0), b(1);
    Pointer<Thing> p(opaque(lanes % 2u + 1u));
    auto calling = [&](auto &&body) {
        return [&, body] {
            detail::call("shade", p, Mask(true), {}, 2,
                         [&](uint32_t i) -> std::optional<std::vector<Value>> { return body(i); });
        };
    };
    using Values = std::vector<Value>;
    expect_error({ "shade", "result 1", "instance 2", "u32", "f32" }, calling([&](uint32_t i) {
                     return i ? Values{ UInt32(1u) } : Values{ Float32(1.f) };
                 }));
    expect_error({ "shade", "instance 2", "2 values" }, calling([&](uint32_t i) {
                     return i ? Values{ UInt32(1u), UInt32(1u) } : Values{ UInt32(1u) };
                 }));
    expect_error({ "shade", "result 1", "instance 1", "uninitialized" },
                 calling([&](uint32_t) { return Values{ Value() }; }));
    expect_error({ "shade", "result 1", "local array" },
                 calling([&](uint32_t) { return Values{ local_array(Float32(1.f), 2) }; }));
    expect_error({ "call", "sizes 3 and 2" },
                 [&] { call(p, [](Thing *, const Float32 &x) { return x; }, two); });
    expect_error({ "call", "sizes 3 and 2" }, [&] {
        call_masked(
            p, pair == 0u, [](Thing *t, const Float32 &x) { return x * float(t->kind); }, three);
    });
    expect_error({ "call", "sizes" }, [&] { // a captured value of another size
        call(
            p, [&](Thing *t, const Float32 &x) { return x + sum(two) + two * float(t->kind + 2); },
            Float32(1.f));
    });
    expect_error({ "call", "argument 1", "uninitialized" },
                 [&] { call(p, [](Thing *, const Float32 &x) { return x; }, Float32()); });
    expect_error({ "call", "no instance" }, [&] {
        call(Pointer<Nobody>(lanes), [](Nobody *, const Float32 &x) { return x; }, three);
    });
    expect_error({ "switch", "no functions" }, [&] {
        switch_(lanes, std::vector<std::function<Float32(const Float32 &)>>{}, three);
    });
    Context other(interp_backend());
    Float32 foreign;
    {
        ContextScope scope(other);
        foreign = arange<float>(3);
    }
    expect_error({ "call", "argument 1", "context" },
                 [&] { call(p, [](Thing *, const Float32 &x) { return x; }, foreign); });
}

TEST_P(JitMisuse, ValuesDoNotLeaveACall) {
    Thing a(0), b(1);
    Pointer<Thing> p(opaque(lanes % 2u + 1u));
    Float32 leaked;
    Float32 r = call(
        p,
        [&](Thing *t, const Float32 &x) {
            leaked = x * float(t->kind + 2);
            return leaked;
        },
        opaque(three));
    expect_error({ "Add", "inside a recorded call" }, [&] { leaked + 1.f; });
}

TEST_P(JitMisuse, AnInstanceThatReachesItselfIsAnError) {
    Loner a, b;
    a.other = b.other = Pointer<Loner>(opaque(UInt32(1u)));
    expect_error({ "call", "deep" }, [&] {
        call(
            Pointer<Loner>(opaque(lanes)), [](Loner *l, const UInt32 &x) { return l->visit(x); },
            lanes);
    });
}

// ---- other arguments

TEST_P(JitMisuse, NumbersOutOfRangeAreNamed) {
    expect_error({ "read", "2 elements from number 2", "array of 3" }, [&] {
        float out[2];
        read(three, out, 2, 2);
    });
    expect_error({ "block_reduce", "0" }, [&] { block_sum(three, 0); });
    expect_error({ "gather_packet", "65" }, [&] { gather_packet(three, lanes, 65, Mask(true)); });
    expect_error({ "gather_packet", "3 elements", "multiple of 2" },
                 [&] { gather_packet(three, lanes, 2, Mask(true)); });
    expect_error({ "local_array", "0" }, [&] { LocalArray<float>(three, 0); });
    alignas(8) char memory[64] = {};
    expect_error({ "borrow_from", "aligned", "f32" },
                 [&] { borrow_from(Type::F32, memory + 1, 2, {}); });
    LocalArray<float> a(three, 4);
    expect_error({ "gather", "local array" },
                 [&] { gather(static_cast<const Value &>(a), lanes, Mask(true)); });
    expect_error({ "eval", "local array" }, [&] { eval(a); });
    expect_error({ "reduce", "local array" }, [&] { reduce(ReduceOp::Add, a); });
}

UMBEL_BACKENDS(JitMisuse)

} // namespace
