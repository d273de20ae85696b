// tests/jit/value_test.cpp: value numbering, simplification, folding, broadcasting, element-wise results.
#include "jit/array.h"
#include "support/backend_fixture.h"
#include <cmath>
#include <limits>

using namespace umbel;
using namespace umbel::jit;

namespace {

class ValueTest : public test::BackendTest {};

template <class T> std::vector<T> list(std::initializer_list<T> v) { return v; }

// ---- value numbering

TEST_P(ValueTest, EqualExpressionsAreOneNode) {
    Float32 a = copy(list<float>({ 1, 2 })), b = copy(list<float>({ 3, 4 }));
    EXPECT_EQ((a + b).id(), (a + b).id());
    Float32 sum = a + b, product = a * b;
    EXPECT_EQ(sum.id(), (b + a).id());
    EXPECT_EQ(product.id(), (b * a).id());
    EXPECT_EQ(sin(sum * product).id(), sin(product * sum).id());
    Float32 difference = a - b;
    EXPECT_NE(difference.id(), (b - a).id());
    Mask less = a < b;
    EXPECT_EQ(less.id(), (b > a).id());
    EXPECT_NE(less.id(), (b < a).id());
}

TEST_P(ValueTest, LiteralsOfOneTypeAndValueAreOneNode) {
    UInt32 one = 1u;
    EXPECT_EQ(one.id(), UInt32(1u).id());
    EXPECT_NE(one.id(), Int32(1).id());
    EXPECT_NE(one.id(), full(1u, 2).id());
    EXPECT_NE(Float32(0.f).id(), Float32(-0.f).id());
}

TEST_P(ValueTest, EvaluatedArraysAreNeverMerged) {
    UInt32 a = copy(list<uint32_t>({ 1, 2 })), b = copy(list<uint32_t>({ 1, 2 }));
    EXPECT_NE(a.id(), b.id());
}

// ---- simplification: one line a rule

TEST_P(ValueTest, EachRuleGivesTheSimplerNode) {
    Float32 f = copy(list<float>({ 1, 2 }));
    Float64 g = copy(list<double>({ 1, 2 }));
    UInt32 u = copy(list<uint32_t>({ 1, 2 })), w = copy(list<uint32_t>({ 3, 4 }));
    Int32 i = copy(list<int32_t>({ 1, -2 })), j = copy(list<int32_t>({ 5, 6 }));
    Mask m = copy(list<bool>({ true, false })), k = copy(list<bool>({ true, true }));
    UInt32 none = full(0u, 2), ones = full(~0u, 2);
    Mask no = full(false, 2), yes = full(true, 2);
    struct Rule {
        const char *law;
        Value made, expected;
    } rules[] = {
        { "x + 0 = x", u + 0u, u },
        { "0 + x = x", 0u + u, u },
        { "x + -0 = x, floats", f + -0.f, f },
        { "x - 0 = x", u - 0u, u },
        { "x - 0 = x, floats", f - 0.f, f },
        { "x - x = 0", u - u, none },
        { "x * 1 = x", u * 1u, u },
        { "1 * x = x", 1.f * f, f },
        { "x * 0 = 0", u * 0u, none },
        { "x * -1 = -x, floats", f * -1.f, -f },
        { "x / 1 = x", f / 1.f, f },
        { "x / 2^k = x * 2^-k", f / 4.f, f * 0.25f },
        { "x / 2^k = x * 2^-k, f64", g / -8.0, g * -0.125 },
        { "x % 1 = 0", u % 1u, none },
        { "x * 1 + z = x + z", fma(f, Float32(1.f), f), f + f },
        { "1 * y + z = y + z", fma(Float32(1.f), f, f), f + f },
        { "x * y + 0 = x * y", fma(u, w, UInt32(0u)), u * w },
        { "x * 0 + z = z", fma(u, UInt32(0u), w), w },
        { "x * y + -0 = x * y, floats", fma(f, f, Float32(-0.f)), f * f },
        { "x & x = x", u & u, u },
        { "x & ~0 = x", u & ~0u, u },
        { "x & 0 = 0", u & 0u, none },
        { "(x & y) & y = x & y", (u & w) & w, u & w },
        { "y & (x & y) = x & y", w & (u & w), u & w },
        { "x | x = x", u | u, u },
        { "x | 0 = x", u | 0u, u },
        { "x | ~0 = ~0", u | ~0u, ones },
        { "m | true = true", m | true, yes },
        { "x ^ 0 = x", u ^ 0u, u },
        { "x ^ x = 0", u ^ u, none },
        { "x ^ ~0 = ~x", u ^ ~0u, ~u },
        { "~~x = x", ~~u, u },
        { "!(x == y) = x != y", !(f == 2.f), f != 2.f },
        { "!(x != y) = x == y", !(u != w), u == w },
        { "!(x < y) = y <= x", !(i < j), j <= i },
        { "!(x <= y) = y < x", !(i <= j), j < i },
        { "--x = x", -(-f), f },
        { "||x|| = |x|", abs(abs(i)), abs(i) },
        { "|x| = x, unsigned", abs(u), u },
        { "|-x| = |x|, floats", abs(-f), abs(f) },
        { "min(x, x) = x", min(f, f), f },
        { "max(x, x) = x", max(u, u), u },
        { "x << 0 = x", u << 0u, u },
        { "x >> 0 = x", i >> 0, i },
        { "0 << x = 0", none << u, none },
        { "rotl(x, 0) = x", rotl(u, UInt32(0u)), u },
        { "x == x = true", u == u, yes },
        { "x <= x = true", i <= i, yes },
        { "0 <= x = true, unsigned", UInt32(0u) <= u, yes },
        { "x < x = false", f < f, no },
        { "x != x = false", u != u, no },
        { "x < 0 = false, unsigned", u < 0u, no },
        { "true ? x : y = x", select(Mask(true), u, w), u },
        { "false ? x : y = y", select(Mask(false), u, w), w },
        { "m ? x : x = x", select(m, u, u), u },
        { "!m ? x : y = m ? y : x", select(!m, u, w), select(m, w, u) },
        { "m ? true : false = m", select(m, Mask(true), Mask(false)), m },
        { "m ? false : true = !m", select(m, Mask(false), Mask(true)), !m },
        { "m ? x : false = m & x", select(m, k, Mask(false)), m & k },
        { "m ? true : y = m | y", select(m, Mask(true), k), m | k },
        { "m ? (m ? x : y) : z = m ? x : z", select(m, select(m, u, w), none), select(m, u, none) },
        { "m ? x : (m ? y : z) = m ? x : z", select(m, u, select(m, w, none)), select(m, u, none) },
        { "T(x) = x for x of T", cast(Type::U32, u), u },
        { "there and back through a wider integer", UInt32(UInt64(u)), u },
        { "bits as they are", bitcast(Type::U32, u), u },
        { "bits there and back", reinterpret<uint32_t>(reinterpret<float>(u)), u },
    };
    for (const Rule &r : rules)
        EXPECT_EQ(r.made.id(), r.expected.id()) << r.law;
}

TEST_P(ValueTest, RulesAreLeftAloneWithoutTheFlag) {
    FlagScope off(Flag::Simplify, false);
    UInt32 u = copy(list<uint32_t>({ 1, 2 }));
    UInt32 v = u + 0u;
    EXPECT_NE(v.id(), u.id());
    EXPECT_FALSE((UInt32(1u) + 2u).is_literal());
    EXPECT_EQ(v.read(), u.read());
}

// NaN, infinities and -0 are why these laws are no rules.
TEST_P(ValueTest, LawsThatFailForSomeFloatsAreNotApplied) {
    constexpr float inf = std::numeric_limits<float>::infinity(), nan = NAN;
    std::vector<float> values{ 0.f, -0.f, 1.f, -1.f, inf, -inf, nan, 1e-45f };
    Float32 x = copy(values);
    EXPECT_NE((x + 0.f).id(), x.id()); // -0 + 0 is +0
    EXPECT_FALSE((x * 0.f).is_literal());
    EXPECT_FALSE((x - x).is_literal());
    EXPECT_FALSE((x == x).is_literal());
    EXPECT_FALSE((x != x).is_literal());
    Mask not_less = !(x < 1.f);
    EXPECT_NE(not_less.id(), (Float32(1.f) <= x).id());
    Float32 small = x / 1e38f; // the reciprocal of 1e38 is not exact
    EXPECT_EQ(small.node().op, Op::Div);

    auto bits = [](const Float32 &v) { return reinterpret<uint32_t>(v).read(); };
    auto sum = bits(x + 0.f), neutral = bits(x + -0.f), less = bits(x - 0.f),
         quarter = bits(x / 4.f);
    auto minus = bits(x * -1.f);
    Mask equal = x == x;
    auto self = equal.read(), above = not_less.read();
    for (size_t i = 0; i < values.size(); ++i) {
        if (!std::isnan(values[i])) {
            EXPECT_EQ(sum[i], uint32_t(to_bits(values[i] + 0.f))) << values[i];
            EXPECT_EQ(neutral[i], uint32_t(to_bits(values[i]))) << values[i];
            EXPECT_EQ(less[i], uint32_t(to_bits(values[i]))) << values[i];
            EXPECT_EQ(quarter[i], uint32_t(to_bits(values[i] / 4.f))) << values[i];
            EXPECT_EQ(minus[i], uint32_t(to_bits(-values[i]))) << values[i];
        }
        EXPECT_EQ(self[i], !std::isnan(values[i]));
        EXPECT_EQ(above[i], !(values[i] < 1.f)) << values[i];
    }
}

// ---- constant folding

template <class T> std::vector<uint64_t> interesting() {
    std::vector<uint64_t> v;
    if constexpr (std::is_same_v<T, bool>) {
        v = { 0, 1 };
    } else if constexpr (std::is_same_v<T, half>) {
        v = { 0x0000, 0x8000, 0x3c00, 0xc000, 0x7bff, 0x7c00, 0x0001, 0x3555 };
    } else if constexpr (std::is_floating_point_v<T>) {
        using L = std::numeric_limits<T>;
        for (T x : { T(0), T(-0.0), T(1), T(-2), T(0.7), T(-17.3), L::max(), L::infinity(),
                     L::denorm_min() })
            v.push_back(to_bits(x));
    } else {
        using L = std::numeric_limits<T>;
        for (T x : { T(0), T(1), T(2), T(7), T(-1), T(-5), L::max(), L::min() })
            v.push_back(to_bits(x));
    }
    return v;
}

bool is_nan(Type t, uint64_t bits) {
    return t == Type::F16   ? (bits & 0x7fff) > 0x7c00
           : t == Type::F32 ? (bits & 0x7fffffff) > 0x7f800000
           : t == Type::F64 ? (bits & ~(1ull << 63)) > 0x7ff0000000000000
                            : false;
}

// All operations on all pairs of interesting values: as literals, which fold, and as data, which do not.
template <class T> void expect_folding_equals_execution() {
    constexpr Type t = type_of_v<T>;
    auto values = interesting<T>();
    std::vector<uint64_t> as, bs;
    for (uint64_t a : values)
        for (uint64_t b : values) {
            as.push_back(a);
            bs.push_back(b);
        }
    uint32_t n = uint32_t(as.size());
    auto data = [&](const std::vector<uint64_t> &v) {
        std::vector<uint8_t> bytes_of(n * bytes(t));
        for (uint32_t i = 0; i < n; ++i)
            std::memcpy(&bytes_of[i * bytes(t)], &v[i], bytes(t));
        return copy_from(t, bytes_of.data(), n);
    };
    Value x = data(as), y = data(bs), m = binary(Op::Eq, y, literal(t, values[0]));
    std::vector<Value> executed;
    std::vector<std::vector<Value>> folded;
    std::vector<std::string> names;
    auto add = [&](std::string name, auto &&apply) {
        executed.push_back(apply(x, y, m));
        names.push_back(std::move(name));
        std::vector<Value> f;
        for (uint32_t i = 0; i < n; ++i) {
            Value a = literal(t, as[i]), b = literal(t, bs[i]);
            f.push_back(apply(a, b, binary(Op::Eq, b, literal(t, values[0]))));
            EXPECT_TRUE(f.back().is_literal()) << names.back();
        }
        folded.push_back(std::move(f));
    };
    for (int o = int(Op::Neg); o <= int(Op::Pow); ++o) {
        Op op = Op(o);
        if (op == Op::Cast || op == Op::Bitcast || !accepts(op, t))
            continue;
        if (operands(op) == 1)
            add(name(op),
                [op](const Value &a, const Value &, const Value &) { return unary(op, a); });
        else
            add(name(op),
                [op](const Value &a, const Value &b, const Value &) { return binary(op, a, b); });
    }
    if (is_number(t))
        add("Fma", [](const Value &a, const Value &b, const Value &) {
            return ternary(Op::Fma, a, b, a);
        });
    add("Select", [](const Value &a, const Value &b, const Value &m) {
        return ternary(Op::Select, m, a, b);
    });
    for (int to = int(Type::Bool); to <= int(Type::F64); ++to)
        add(std::string("Cast to ") + name(Type(to)),
            [to](const Value &a, const Value &, const Value &) { return cast(Type(to), a); });

    std::vector<const Value *> all;
    for (const Value &v : executed)
        all.push_back(&v);
    eval(std::span<const Value *const>(all));
    for (size_t k = 0; k < executed.size(); ++k)
        for (uint32_t i = 0; i < n; ++i) {
            uint64_t got = 0, expected = folded[k][i].literal_bits();
            read(executed[k], &got, i, 1);
            Type type = executed[k].type();
            if (is_nan(type, got) && is_nan(type, expected))
                continue;
            ASSERT_EQ(got, expected)
                << names[k] << " of " << name(t) << " " << std::hex << as[i] << " and " << bs[i];
        }
}

TEST_P(ValueTest, FoldingBoolEqualsExecution) { expect_folding_equals_execution<bool>(); }
TEST_P(ValueTest, FoldingI8EqualsExecution) { expect_folding_equals_execution<int8_t>(); }
TEST_P(ValueTest, FoldingU8EqualsExecution) { expect_folding_equals_execution<uint8_t>(); }
TEST_P(ValueTest, FoldingI16EqualsExecution) { expect_folding_equals_execution<int16_t>(); }
TEST_P(ValueTest, FoldingU16EqualsExecution) { expect_folding_equals_execution<uint16_t>(); }
TEST_P(ValueTest, FoldingI32EqualsExecution) { expect_folding_equals_execution<int32_t>(); }
TEST_P(ValueTest, FoldingU32EqualsExecution) { expect_folding_equals_execution<uint32_t>(); }
TEST_P(ValueTest, FoldingI64EqualsExecution) { expect_folding_equals_execution<int64_t>(); }
TEST_P(ValueTest, FoldingU64EqualsExecution) { expect_folding_equals_execution<uint64_t>(); }
TEST_P(ValueTest, FoldingF16EqualsExecution) { expect_folding_equals_execution<half>(); }
TEST_P(ValueTest, FoldingF32EqualsExecution) { expect_folding_equals_execution<float>(); }
TEST_P(ValueTest, FoldingF64EqualsExecution) { expect_folding_equals_execution<double>(); }

// ---- sizes

TEST_P(ValueTest, ASizeOfOneBroadcasts) {
    Float32 x = arange<float>(5), one = opaque(2.f);
    EXPECT_EQ((x * 3.f).size(), 5u);
    EXPECT_EQ((one * x).size(), 5u);
    EXPECT_EQ((one + 1.f).size(), 1u);
    EXPECT_EQ(full(1.f, 5).size(), 5u);
    EXPECT_EQ((one * x + 1.f).read(), list<float>({ 1, 3, 5, 7, 9 }));
    EXPECT_EQ(select(one > 1.f, x, Float32(0.f)).read(), x.read());
    EXPECT_EQ((full(1.f, 3) + full(2.f, 3)).read(), list<float>({ 3, 3, 3 }));
    EXPECT_EQ((one + full(0.f, 4)).read(), list<float>({ 2, 2, 2, 2 }));
}

TEST_P(ValueTest, EmptyArraysStayEmpty) {
    Float32 x = copy(std::vector<float>{});
    Float32 y = sqrt(x) + 1.f;
    EXPECT_EQ(y.size(), 0u);
    EXPECT_TRUE(y.read().empty());
    EXPECT_EQ(item(sum(y)), 0.f);
}

// ---- element-wise results that folding does not show

TEST_P(ValueTest, BitsAreCountedAndRotated) {
    UInt32 x = copy(list<uint32_t>({ 0, 1, 0xf0, 0x80000000 }));
    EXPECT_EQ(popcount(x).read(), list<uint32_t>({ 0, 1, 4, 1 }));
    EXPECT_EQ(clz(x).read(), list<uint32_t>({ 32, 31, 24, 0 }));
    EXPECT_EQ(ctz(x).read(), list<uint32_t>({ 32, 0, 4, 31 }));
    EXPECT_EQ(rotl(x, UInt32(1u)).read(), list<uint32_t>({ 0, 2, 0x1e0, 1 }));
    EXPECT_EQ(rotr(x, UInt32(33u)).read(), list<uint32_t>({ 0, 0x80000000, 0x78, 0x40000000 }));
}

TEST_P(ValueTest, WideProductsLoseNothing) {
    UInt32 x = copy(list<uint32_t>({ 0xffffffff, 3 }));
    EXPECT_EQ(mul_wide(x, x).read(), list<uint64_t>({ 0xfffffffe00000001, 9 }));
    EXPECT_EQ(mul_hi(x, x).read(), list<uint32_t>({ 0xfffffffe, 0 }));
    Int32 y = copy(list<int32_t>({ -2, 0x7fffffff }));
    EXPECT_EQ(mul_wide(y, y).read(), list<int64_t>({ 4, 0x3fffffff00000001 }));
    EXPECT_EQ(mul_hi(y, Int32(3)).read(), list<int32_t>({ -1, 1 }));
}

TEST_P(ValueTest, ClampKeepsToItsBounds) {
    Float32 x = copy(list<float>({ -2, 0.25, 9 }));
    EXPECT_EQ(clamp(x, Float32(0.f), Float32(1.f)).read(), list<float>({ 0, 0.25, 1 }));
}

TEST_P(ValueTest, HalvesAreReadAsBitsAndComputedThroughFloats) {
    Float16 h(copy(list<float>({ 1, 0.5, 65536 })));
    auto bits = (h * Float16(2.f)).read();
    EXPECT_EQ(bits[0].bits, 0x4000);
    EXPECT_EQ(bits[1].bits, 0x3c00);
    EXPECT_EQ(bits[2].bits, 0x7c00);
    EXPECT_EQ(Float32(h).read()[1], 0.5f);
}

TEST_P(ValueTest, ALongChainIsRecordedRunAndFreedWithoutRecursion) {
    // What compiling takes is the subject of bench/jit
    uint32_t n = std::string(GetParam()) == "interp" ? 200000 : 5000;
    UInt32 x = opaque(1u) + arange<uint32_t>(3), step = opaque(3u);
    for (uint32_t i = 0; i < n; ++i)
        x = i % 2 ? x * step : x + step;
    uint32_t expected = 2;
    for (uint32_t i = 0; i < n; ++i)
        expected = i % 2 ? expected * 3 : expected + 3;
    EXPECT_EQ(item(x, 1), expected);
    UInt32 unused = opaque(1u);
    for (uint32_t i = 0; i < 1000000; ++i)
        unused = unused * step + step;
}

UMBEL_BACKENDS(ValueTest)

} // namespace
