// tests/jit/interp_test.cpp: the interpreter against plain C++, operation by operation.
#include "interp_support.h"
#include "jit/interp/fold.h"
#include "jit/interp/half.h"
#include "jit/interp/loops.h"
#include "jit/math.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace umbel::jit;
using namespace umbel::jit::testing;

namespace {

// ---- support: edge values and comparison of bits

float to_float(half h) {
    return float(__builtin_bit_cast(_Float16, h)); // the compiler's conversion, not ours
}
half to_half(float x) { return __builtin_bit_cast(half, _Float16(x)); }

template <class T>
constexpr bool FloatLike = std::is_floating_point_v<T> || std::is_same_v<T, half>;

template <class T> std::vector<T> edge_values() {
    if constexpr (std::is_same_v<T, bool>) {
        return { false, true };
    } else if constexpr (std::is_same_v<T, half>) {
        std::vector<half> v;
        for (uint16_t b :
             { 0x0000, 0x8000, 0x0001, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x3c01, 0x4248, 0x7bff,
               0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x3555, 0xb7ff, 0x5640, 0xd801, 0x3800 })
            v.push_back(half{ b });
        return v;
    } else if constexpr (std::is_floating_point_v<T>) {
        using L = std::numeric_limits<T>;
        return { T(0),
                 -T(0),
                 T(1),
                 T(-1),
                 T(0.5),
                 T(-0.5),
                 T(1.5),
                 T(2.5),
                 T(-2.5),
                 T(3.14159265358979),
                 T(1e-3),
                 T(-7.25),
                 T(1234567.75),
                 L::max(),
                 L::lowest(),
                 L::min(),
                 L::denorm_min(),
                 L::infinity(),
                 -L::infinity(),
                 L::quiet_NaN(),
                 T(2147483648.0),
                 T(-2147483904.0),
                 T(4294967296.0),
                 T(1e19),
                 T(-1e19),
                 T(127.9),
                 T(-128.9),
                 T(255.5),
                 T(65535.5),
                 T(0.99) };
    } else {
        using L = std::numeric_limits<T>;
        std::vector<T> v = { T(0),
                             T(1),
                             T(2),
                             T(3),
                             T(5),
                             T(7),
                             T(8),
                             T(17),
                             T(31),
                             T(33),
                             T(63),
                             T(100),
                             L::max(),
                             T(L::max() - 1),
                             L::min(),
                             T(L::min() + 1),
                             T(-1),
                             T(-2),
                             T(-7),
                             T(L::max() / 2),
                             T(L::max() / 3),
                             T(0x5a5a5a5a5a5a5a5a) };
        return v;
    }
}

template <class T> bool same_bits(T a, T b) {
    if constexpr (std::is_same_v<T, half>)
        return a.bits == b.bits || (std::isnan(to_float(a)) && std::isnan(to_float(b)));
    else if constexpr (std::is_floating_point_v<T>)
        return bits_of(a) == bits_of(b) || (std::isnan(a) && std::isnan(b));
    else
        return a == b;
}

template <class T> std::string show(T x) {
    if constexpr (std::is_same_v<T, half>)
        return std::to_string(to_float(x));
    else
        return std::to_string(x);
}

// vector<bool> has no bytes to point to.
template <class T> using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <class R, class A>
void check_fold(Op op, std::initializer_list<uint64_t> operands, R want, const std::string &what) {
    uint64_t got = 0;
    std::vector<uint64_t> bits(operands);
    ASSERT_TRUE(fold(op, type_of_v<R>, type_of_v<A>, bits.data(), got)) << what;
    R value;
    std::memcpy(&value, &got, sizeof(R));
    EXPECT_TRUE(same_bits(value, want))
        << what << " folds to " << show(value) << ", not " << show(want);
}

/// Runs an operation over all combinations of edge values, in each shape of operands, and folds it.
template <class R, class A, class Ref> void check_unary(Op op, Ref ref) {
    auto edges = edge_values<A>();
    std::vector<Stored<A>> a;
    for (int i = 0; i < 40; ++i)
        a.insert(a.end(), edges.begin(), edges.end());
    std::vector<Stored<R>> out(a.size());
    Builder b;
    Value x = b.add(Op::LoadLane, type_of_v<A>, {},
                    b.arg(ArgKind::Input, type_of_v<A>, a.data(), a.size()));
    b.add(Op::StoreLane, type_of_v<R>, { b.add(op, type_of_v<R>, { x }) },
          b.arg(ArgKind::Output, type_of_v<R>, out.data(), out.size()));
    b.run(a.size());
    for (size_t i = 0; i < a.size(); ++i) {
        R want = ref(A(a[i]));
        std::string what = std::string(name(op)) + " " + name(type_of_v<A>) + " " + show(A(a[i]));
        ASSERT_TRUE(same_bits(R(out[i]), want))
            << what << " gives " << show(R(out[i])) << ", not " << show(want);
        if (i < edges.size())
            check_fold<R, A>(op, { bits_of(A(a[i])) }, want, what);
    }
}

template <class R, class A, class Ref> void check_binary(Op op, Ref ref) {
    auto edges = edge_values<A>();
    std::vector<Stored<A>> a, c;
    for (A x : edges)
        for (A y : edges) {
            a.push_back(x);
            c.push_back(y);
        }
    size_t n = a.size(), e = edges.size();
    std::vector<Stored<R>> both(n), right(n * e), left(n * e);
    Builder b;
    Value x =
        b.add(Op::LoadLane, type_of_v<A>, {}, b.arg(ArgKind::Input, type_of_v<A>, a.data(), n));
    Value y =
        b.add(Op::LoadLane, type_of_v<A>, {}, b.arg(ArgKind::Input, type_of_v<A>, c.data(), n));
    auto out = [&](Value v, Stored<R> *p) {
        b.add(Op::StoreLane, type_of_v<R>, { v }, b.arg(ArgKind::Output, type_of_v<R>, p, n));
    };
    out(b.add(op, type_of_v<R>, { x, y }), both.data());
    for (size_t k = 0; k < e; ++k) {
        Value u = b.lit(A(edges[k]));
        out(b.add(op, type_of_v<R>, { x, u }), &right[k * n]);
        out(b.add(op, type_of_v<R>, { u, y }), &left[k * n]);
    }
    b.run(n);
    for (size_t i = 0; i < n; ++i) {
        A xv = A(a[i]), yv = A(c[i]);
        R want = ref(xv, yv);
        std::string what =
            std::string(name(op)) + " " + name(type_of_v<A>) + " " + show(xv) + ", " + show(yv);
        ASSERT_TRUE(same_bits(R(both[i]), want))
            << what << " gives " << show(R(both[i])) << ", not " << show(want);
        check_fold<R, A>(op, { bits_of(xv), bits_of(yv) }, want, what);
        for (size_t k = 0; k < e; ++k) {
            ASSERT_TRUE(same_bits(R(right[k * n + i]), R(ref(xv, edges[k]))))
                << what << " right uniform";
            ASSERT_TRUE(same_bits(R(left[k * n + i]), R(ref(edges[k], yv))))
                << what << " left uniform";
        }
    }
}

// ---- references

using Big = __int128;

template <class T> T wrap(Big x) { return T(std::make_unsigned_t<T>((unsigned __int128)x)); }
template <class T> constexpr int Width = 8 * int(sizeof(T));

template <class T> void check_integer_ops() {
    using U = std::make_unsigned_t<T>;
    auto shift = [](T b) { return int(U(b) % U(Width<T>)); };
    check_unary<T, T>(Op::Neg, [](T a) { return wrap<T>(-Big(a)); });
    check_unary<T, T>(Op::Abs, [](T a) { return wrap<T>(a < 0 ? -Big(a) : Big(a)); });
    check_unary<T, T>(Op::Not, [](T a) { return T(~a); });
    check_unary<T, T>(Op::Popcount, [](T a) {
        int n = 0;
        for (int i = 0; i < Width<T>; ++i)
            n += U(a) >> i & 1;
        return T(n);
    });
    check_unary<T, T>(Op::Clz, [](T a) {
        int n = 0;
        while (n < Width<T> && !(U(a) >> (Width<T> - 1 - n) & 1))
            ++n;
        return T(n);
    });
    check_unary<T, T>(Op::Ctz, [](T a) {
        int n = 0;
        while (n < Width<T> && !(U(a) >> n & 1))
            ++n;
        return T(n);
    });
    check_binary<T, T>(Op::Add, [](T a, T b) { return wrap<T>(Big(a) + b); });
    check_binary<T, T>(Op::Sub, [](T a, T b) { return wrap<T>(Big(a) - b); });
    check_binary<T, T>(Op::Mul, [](T a, T b) { return T(U((unsigned __int128)U(a) * U(b))); });
    check_binary<T, T>(Op::Div, [](T a, T b) { return b == 0 ? T(~T(0)) : wrap<T>(Big(a) / b); });
    check_binary<T, T>(Op::Mod, [](T a, T b) { return b == 0 ? a : wrap<T>(Big(a) % b); });
    check_binary<T, T>(Op::MulHi, [](T a, T b) {
        if (std::is_signed_v<T>)
            return T((Big(a) * Big(b)) >> Width<T>);
        return T(((unsigned __int128)a * (unsigned __int128)b) >> Width<T>);
    });
    check_binary<T, T>(Op::Min, [](T a, T b) { return a < b ? a : b; });
    check_binary<T, T>(Op::Max, [](T a, T b) { return a > b ? a : b; });
    check_binary<T, T>(Op::And, [](T a, T b) { return T(a & b); });
    check_binary<T, T>(Op::Or, [](T a, T b) { return T(a | b); });
    check_binary<T, T>(Op::Xor, [](T a, T b) { return T(a ^ b); });
    check_binary<T, T>(Op::Shl, [&](T a, T b) { return wrap<T>(Big(U(a)) << shift(b)); });
    check_binary<T, T>(Op::Shr, [&](T a, T b) { return wrap<T>(Big(a) >> shift(b)); });
    check_binary<T, T>(Op::Rotl, [&](T a, T b) {
        U u = U(a);
        for (int i = 0; i < shift(b); ++i)
            u = U(U(u << 1) | U(u >> (Width<T> - 1)));
        return T(u);
    });
    check_binary<T, T>(Op::Rotr, [&](T a, T b) {
        U u = U(a);
        for (int i = 0; i < shift(b); ++i)
            u = U(U(u >> 1) | U(u << (Width<T> - 1)));
        return T(u);
    });
    check_binary<bool, T>(Op::Eq, [](T a, T b) { return a == b; });
    check_binary<bool, T>(Op::Ne, [](T a, T b) { return a != b; });
    check_binary<bool, T>(Op::Lt, [](T a, T b) { return a < b; });
    check_binary<bool, T>(Op::Le, [](T a, T b) { return a <= b; });
}

// f16: through float. C is the type of the computation.
template <class T, class C> void check_float_ops(C (*from)(T), T (*to)(C)) {
    constexpr int Digits = std::is_same_v<T, half> ? 15 : Width<T> - 1;
    auto one = [&](Op op, C (*fn)(C)) {
        check_unary<T, T>(op, [&](T a) { return to(fn(from(a))); });
    };
    auto flip = [&](Op op, bool clear) {
        check_unary<T, T>(op, [&](T a) {
            uint64_t sign = uint64_t(1) << Digits,
                     b = clear ? bits_of(a) & ~sign : bits_of(a) ^ sign;
            T r;
            std::memcpy(&r, &b, sizeof(T));
            return r;
        });
    };
    flip(Op::Neg, false);
    flip(Op::Abs, true);
    one(Op::Sqrt, [](C a) { return std::sqrt(a); });
    one(Op::Rcp, [](C a) { return C(1) / a; });
    one(Op::Rsqrt, [](C a) { return C(1) / std::sqrt(a); });
    one(Op::Floor, [](C a) { return std::floor(a); });
    one(Op::Ceil, [](C a) { return std::ceil(a); });
    one(Op::Trunc, [](C a) { return std::trunc(a); });
    one(Op::Round, [](C a) { return std::nearbyint(a); });
    auto two = [&](Op op, C (*fn)(C, C)) {
        check_binary<T, T>(op, [&](T a, T b) { return to(fn(from(a), from(b))); });
    };
    two(Op::Add, [](C a, C b) { return a + b; });
    two(Op::Sub, [](C a, C b) { return a - b; });
    two(Op::Mul, [](C a, C b) { return a * b; });
    two(Op::Div, [](C a, C b) { return a / b; });
    two(Op::Min, [](C a, C b) { return a < b ? a : b; });
    two(Op::Max, [](C a, C b) { return a > b ? a : b; });
    check_binary<bool, T>(Op::Eq, [&](T a, T b) { return from(a) == from(b); });
    check_binary<bool, T>(Op::Ne, [&](T a, T b) { return from(a) != from(b); });
    check_binary<bool, T>(Op::Lt, [&](T a, T b) { return from(a) < from(b); });
    check_binary<bool, T>(Op::Le, [&](T a, T b) { return from(a) <= from(b); });
}

template <class T> T identity(T x) { return x; }

template <class A, class R> R cast_reference(A a) {
    if constexpr (std::is_same_v<A, half> && std::is_same_v<R, half>)
        return a;
    else if constexpr (std::is_same_v<A, half>)
        return cast_reference<float, R>(to_float(a));
    else if constexpr (std::is_same_v<R, bool>)
        return a != A(0);
    else if constexpr (std::is_same_v<R, half>)
        return __builtin_bit_cast(half, _Float16(a));
    else if constexpr (std::is_floating_point_v<A> && std::is_integral_v<R>) {
        using L = std::numeric_limits<R>;
        if (std::isnan(a))
            return 0;
        long double x = std::trunc((long double)a);
        return x > (long double)L::max() ? L::max() : x < (long double)L::min() ? L::min() : R(x);
    } else if constexpr (std::is_integral_v<A> && std::is_integral_v<R>)
        return wrap<R>(Big(a));
    else
        return R(a);
}

template <class A, class R> void check_cast() {
    check_unary<R, A>(Op::Cast, [](A a) { return cast_reference<A, R>(a); });
}
template <class A, class... R> void check_casts_from() { (check_cast<A, R>(), ...); }
template <class A> void check_all_casts_from() {
    check_casts_from<A, bool, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t,
                     uint64_t, half, float, double>();
}

} // namespace

// ---- operation by operation

TEST(InterpOps, Integers8AgreeWithTheReference) {
    check_integer_ops<int8_t>();
    check_integer_ops<uint8_t>();
}
TEST(InterpOps, Integers16AgreeWithTheReference) {
    check_integer_ops<int16_t>();
    check_integer_ops<uint16_t>();
}
TEST(InterpOps, Integers32AgreeWithTheReference) {
    check_integer_ops<int32_t>();
    check_integer_ops<uint32_t>();
}
TEST(InterpOps, Integers64AgreeWithTheReference) {
    check_integer_ops<int64_t>();
    check_integer_ops<uint64_t>();
}
TEST(InterpOps, F32AgreesWithTheReference) { check_float_ops<float, float>(identity, identity); }
TEST(InterpOps, F64AgreesWithTheReference) { check_float_ops<double, double>(identity, identity); }
TEST(InterpOps, F16GoesThroughF32AndRoundsOnce) { check_float_ops<half, float>(to_float, to_half); }

TEST(InterpOps, MasksAgreeWithTheReference) {
    check_unary<bool, bool>(Op::Not, [](bool a) { return !a; });
    check_binary<bool, bool>(Op::And, [](bool a, bool b) { return a && b; });
    check_binary<bool, bool>(Op::Or, [](bool a, bool b) { return a || b; });
    check_binary<bool, bool>(Op::Xor, [](bool a, bool b) { return a != b; });
    check_binary<bool, bool>(Op::Eq, [](bool a, bool b) { return a == b; });
    check_binary<bool, bool>(Op::Ne, [](bool a, bool b) { return a != b; });
}

TEST(InterpOps, CastsSaturateWrapAndRoundOnce) {
    check_all_casts_from<bool>();
    check_all_casts_from<int8_t>();
    check_all_casts_from<uint8_t>();
    check_all_casts_from<int16_t>();
    check_all_casts_from<uint16_t>();
    check_all_casts_from<int32_t>();
    check_all_casts_from<uint32_t>();
    check_all_casts_from<int64_t>();
    check_all_casts_from<uint64_t>();
    check_all_casts_from<half>();
    check_all_casts_from<float>();
    check_all_casts_from<double>();
}

TEST(InterpOps, BitcastKeepsTheBits) {
    check_unary<uint32_t, float>(Op::Bitcast, [](float a) { return uint32_t(bits_of(a)); });
    check_unary<double, int64_t>(Op::Bitcast,
                                 [](int64_t a) { return __builtin_bit_cast(double, a); });
    check_unary<uint16_t, half>(Op::Bitcast, [](half a) { return a.bits; });
    check_unary<int8_t, uint8_t>(Op::Bitcast, [](uint8_t a) { return int8_t(a); });
}

TEST(InterpOps, HalfConversionsAreExactForAllBits) {
    for (uint32_t b = 0; b < 65536; ++b) {
        half h{ uint16_t(b) };
        float want = to_float(h), got = float_from_half(h);
        ASSERT_TRUE(same_bits(got, want)) << b;
        ASSERT_TRUE(same_bits(half_from_float(got), h)) << b;
        // Halfway to the neighbour and just beside it.
        if ((b & 0x7fff) < 0x7c00)
            for (int step : { -1, 0, 1 }) {
                float other = to_float(half{ uint16_t(b + 1) });
                float middle =
                    std::isinf(other) ? std::copysign(65520.f, other) : (want + other) / 2;
                float x = __builtin_bit_cast(float, uint32_t(bits_of(middle)) + step);
                ASSERT_TRUE(same_bits(half_from_float(x), to_half(x))) << x;
                for (double d :
                     { std::nextafter(double(x), 1e300), std::nextafter(double(x), -1e300) })
                    ASSERT_TRUE(
                        same_bits(half_from_double(d), __builtin_bit_cast(half, _Float16(d))))
                        << d;
            }
    }
}

template <class T, class C> void check_fma(C (*from)(T), T (*to)(C)) {
    auto edges = edge_values<T>();
    size_t e = edges.size(), n = e * e * e;
    std::vector<T> a, b2, c;
    for (T x : edges)
        for (T y : edges)
            for (T z : edges) {
                a.push_back(x);
                b2.push_back(y);
                c.push_back(z);
            }
    auto reference = [&](T x, T y, T z) {
        if constexpr (std::is_integral_v<T>)
            return T(std::make_unsigned_t<T>((unsigned __int128)x * (unsigned __int128)y +
                                             (unsigned __int128)z));
        else
            return to(std::fma(from(x), from(y), from(z)));
    };
    // Each operand uniform or not.
    for (int shape = 0; shape < 7; ++shape) {
        T u = edges[10];
        Builder b;
        std::vector<T> out(n);
        Value x = shape & 1 ? b.lit(u) : b.input(a);
        Value y = shape & 2 ? b.lit(u) : b.input(b2);
        Value z = shape & 4 ? b.lit(u) : b.input(c);
        b.output(b.add(Op::Fma, type_of_v<T>, { x, y, z }), out);
        b.run(n);
        for (size_t i = 0; i < n; ++i) {
            T want = reference(shape & 1 ? u : a[i], shape & 2 ? u : b2[i], shape & 4 ? u : c[i]);
            ASSERT_TRUE(same_bits(out[i], want))
                << name(type_of_v<T>) << " shape " << shape << ": " << show(a[i]) << " * "
                << show(b2[i]) << " + " << show(c[i]) << " gives " << show(out[i]) << ", not "
                << show(want);
            if (shape == 0 && i % 7 == 0)
                check_fold<T, T>(Op::Fma, { bits_of(a[i]), bits_of(b2[i]), bits_of(c[i]) }, want,
                                 "fma");
        }
    }
}

TEST(InterpOps, FmaRoundsOnceAndIntegersWrap) {
    check_fma<float, float>(identity, identity);
    check_fma<double, double>(identity, identity);
    check_fma<half, float>(to_float, to_half);
    check_fma<int8_t, int8_t>(identity, identity);
    check_fma<uint16_t, uint16_t>(identity, identity);
    check_fma<int32_t, int32_t>(identity, identity);
    check_fma<uint64_t, uint64_t>(identity, identity);
}

template <class T> void check_select() {
    auto edges = edge_values<T>();
    size_t n = 500;
    std::vector<uint8_t> m(n);
    std::vector<T> a(n), c(n);
    for (size_t i = 0; i < n; ++i) {
        m[i] = i % 3 == 1;
        a[i] = edges[i % edges.size()];
        c[i] = edges[i * 7 % edges.size()];
    }
    for (int shape = 0; shape < 7; ++shape) {
        Builder b;
        std::vector<T> out(n);
        Value x = shape & 1 ? b.lit(true)
                            : b.add(Op::LoadLane, Type::Bool, {},
                                    b.arg(ArgKind::Input, Type::Bool, m.data(), n));
        Value y = shape & 2 ? b.lit(edges[3]) : b.input(a);
        Value z = shape & 4 ? b.lit(edges[4]) : b.input(c);
        b.output(b.add(Op::Select, type_of_v<T>, { x, y, z }), out);
        b.run(n);
        for (size_t i = 0; i < n; ++i) {
            T yes = shape & 2 ? edges[3] : a[i], no = shape & 4 ? edges[4] : c[i];
            ASSERT_EQ(bits_of(out[i]), bits_of((shape & 1) || m[i] ? yes : no)) << i;
        }
    }
}

TEST(InterpOps, SelectPicksBits) {
    check_select<int8_t>();
    check_select<uint16_t>();
    check_select<half>();
    check_select<float>();
    check_select<double>();
}

TEST(InterpOps, FoldRefusesWhatIsNotPure) {
    uint64_t operands[4] = {}, result;
    EXPECT_FALSE(fold(Op::Gather, Type::F32, Type::Ptr, operands, result));
    EXPECT_FALSE(fold(Op::Lane, Type::U32, Type::Void, operands, result));
    EXPECT_FALSE(fold(Op::Sqrt, Type::U32, Type::U32, operands, result));
    EXPECT_FALSE(fold(Op::Mod, Type::F32, Type::F32, operands, result));
}

// ---- transcendental functions and the tables of other CPUs

namespace {

template <class T> T transcendental(Op op, T x) {
    switch (op) {
    case Op::Sin: return math::sin(x);
    case Op::Cos: return math::cos(x);
    case Op::Tan: return math::tan(x);
    case Op::Asin: return math::asin(x);
    case Op::Acos: return math::acos(x);
    case Op::Atan: return math::atan(x);
    case Op::Sinh: return math::sinh(x);
    case Op::Cosh: return math::cosh(x);
    case Op::Tanh: return math::tanh(x);
    case Op::Asinh: return math::asinh(x);
    case Op::Acosh: return math::acosh(x);
    case Op::Atanh: return math::atanh(x);
    case Op::Exp: return math::exp(x);
    case Op::Exp2: return math::exp2(x);
    case Op::Log: return math::log(x);
    case Op::Log2: return math::log2(x);
    case Op::Cbrt: return math::cbrt(x);
    case Op::Erf: return math::erf(x);
    case Op::Erfinv: return math::erfinv(x);
    default: return math::lgamma(x);
    }
}

} // namespace

TEST(InterpOps, TranscendentalFunctionsAreThoseOfTheMathLibrary) {
    for (int op = int(Op::Sin); op <= int(Op::Lgamma); ++op) {
        check_unary<float, float>(Op(op), [&](float a) { return transcendental(Op(op), a); });
        check_unary<double, double>(Op(op), [&](double a) { return transcendental(Op(op), a); });
        check_unary<half, half>(
            Op(op), [&](half a) { return to_half(transcendental(Op(op), to_float(a))); });
    }
    check_binary<float, float>(Op::Atan2, [](float a, float b) { return math::atan2(a, b); });
    check_binary<double, double>(Op::Atan2, [](double a, double b) { return math::atan2(a, b); });
    check_binary<float, float>(Op::Pow, [](float a, float b) { return math::pow(a, b); });
    check_binary<double, double>(Op::Pow, [](double a, double b) { return math::pow(a, b); });
    check_binary<half, half>(
        Op::Pow, [](half a, half b) { return to_half(math::pow(to_float(a), to_float(b))); });
}

namespace {

bool same_elements(Type t, const std::byte *a, const std::byte *b, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        uint64_t x = 0, y = 0;
        std::memcpy(&x, a + i * bytes(t), bytes(t));
        std::memcpy(&y, b + i * bytes(t), bytes(t));
        bool nans =
            t == Type::F16   ? (x & 0x7fff) > 0x7c00 && (y & 0x7fff) > 0x7c00
            : t == Type::F32 ? (x & 0x7fffffff) > 0x7f800000 && (y & 0x7fffffff) > 0x7f800000
            : t == Type::F64 ? (x << 1) > 0xffe0000000000000 && (y << 1) > 0xffe0000000000000
                             : false;
        if (x != y && !nans)
            return false;
    }
    return true;
}

} // namespace

TEST(InterpOps, TheTablesOfAllCpusGiveTheSameBits) {
    constexpr size_t N = 331;
    std::mt19937_64 random(7);
    alignas(64) static uint64_t a[3][N];
    for (auto &operand : a)
        for (uint64_t &x : operand)
            x = random();
    // Exponents of random bits are extreme as f32 and f64; make half of them ordinary.
    for (size_t k = 0; k < 3; ++k)
        for (size_t i = 0; i < N; i += 2)
            a[k][i] = (a[k][i] & 0x807fffff807fffff) | 0x3f0000003f000000 | (i % 32) << 23;
    int compared = 0;
    auto compare = [&](LoopFn base, LoopFn other, Type t, const char *what) {
        if (!other || base == other)
            return;
        alignas(64) static std::byte x[8 * N], y[8 * N];
        for (size_t n : { size_t(1), N }) {
            base(x, a[0], a[1], a[2], n);
            other(y, a[0], a[1], a[2], n);
            EXPECT_TRUE(same_elements(t, x, y, n)) << what << " " << name(t);
            ++compared;
        }
    };
    const LoopTable &base = *loops_base();
    for (const LoopTable *other : { loops_v3(), loops_v4() }) {
        if (!other)
            continue;
        for (int t = 0; t < TypeCount; ++t) {
            for (int op = 0; op < OpCount; ++op) {
                bool comparison =
                    Op(op) == Op::Eq || Op(op) == Op::Ne || Op(op) == Op::Lt || Op(op) == Op::Le;
                compare(base.unary[op][t], other->unary[op][t], Type(t), name(Op(op)));
                for (int s = 0; s < 3; ++s)
                    compare(base.binary[op][t][s], other->binary[op][t][s],
                            comparison ? Type::Bool : Type(t), name(Op(op)));
            }
            for (int s = 0; s < 8; ++s) {
                compare(base.fma[t][s], other->fma[t][s], Type(t), "Fma");
                compare(base.select[t][s], other->select[t][s], Type(t), "Select");
            }
            for (int from = 0; from < TypeCount; ++from)
                compare(base.cast[from][t], other->cast[from][t], Type(t), "Cast");
        }
    }
    RecordProperty("compared", compared);
}
