// tests/jit/math_test.cpp: functions keep to their bounds and the C standard's corners.
//
// Doubles are compared with quadruple precision, singles with the C library's doubles, whose own
// error is 2^-28 of an ulp there. Arguments: all exponents with random mantissas, ranges where a
// function is at its most delicate, and both neighbours of every special value.
#include "jit/math.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <quadmath.h>
#include <string>
#include <utility>
#include <vector>

namespace umbel::jit {
namespace {

using Quad = __float128;

#ifndef UMBEL_MATH_TEST_DENSITY
#define UMBEL_MATH_TEST_DENSITY 1 // raise for an overnight search
#endif

// ---- arguments

struct Random {
    uint64_t state;
    uint64_t bits() { // splitmix64
        uint64_t z = (state += 0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    double unit() { return double(bits() >> 11) * 0x1p-53; }
};

struct Range {
    double from, to;
};

template <class S> std::vector<S> special_values() {
    using L = std::numeric_limits<S>;
    std::vector<S> v = { 0, L::denorm_min(), L::min(), L::max(), L::infinity(), L::quiet_NaN() };
    for (double x : { 0.25,
                      0.5,
                      0.70710678118654752,
                      1.0,
                      1.4142135623730951,
                      1.5,
                      2.0,
                      2.5,
                      3.0,
                      4.0,
                      5.0,
                      8.0,
                      18.0,
                      20.0,
                      24.0,
                      88.722839,
                      103.97,
                      126.0,
                      127.0,
                      128.0,
                      149.0,
                      150.0,
                      709.782712893384,
                      745.1332191019411,
                      1022.0,
                      1023.0,
                      1024.0,
                      1074.0,
                      1075.0,
                      1e5,
                      1e9,
                      0x1p60,
                      0x1p500,
                      0x1p1000,
                      0x1p-149,
                      0x1p-1022,
                      0x1p-1074 })
        v.push_back(S(x));
    for (int k = 1; k < 400; ++k)
        v.push_back(S(k * 1.57079632679489661923));
    size_t n = v.size();
    for (size_t i = 0; i < n; ++i) {
        v.push_back(std::nextafter(v[i], S(0)));
        v.push_back(std::nextafter(v[i], L::infinity()));
    }
    n = v.size();
    for (size_t i = 0; i < n; ++i)
        v.push_back(-v[i]);
    return v;
}

template <class S> std::vector<S> arguments(const std::vector<Range> &ranges, int per_exponent) {
    using Bits = typename math::Format<S>::Bits;
    constexpr int Mantissa = math::Format<S>::Mantissa, Width = math::Format<S>::Width;
    std::vector<S> v = special_values<S>();
    Random random{ 1 };
    per_exponent *= UMBEL_MATH_TEST_DENSITY;
    int exponents = (1 << (Width - 1 - Mantissa)) - 1;
    for (int e = 0; e < exponents; ++e)
        for (int i = 0; i < per_exponent; ++i) {
            Bits fraction = Bits(random.bits()) & ((Bits(1) << Mantissa) - 1);
            Bits sign = Bits(i & 1) << (Width - 1);
            v.push_back(std::bit_cast<S>(Bits(sign | (Bits(e) << Mantissa) | fraction)));
        }
    for (const Range &r : ranges)
        for (int i = 0; i < per_exponent * exponents / 4; ++i)
            v.push_back(S(r.from + (r.to - r.from) * random.unit()));
    return v;
}

// ---- errors

/// Distance of y from the exact r in units of r's last place; huge where the kind of number
/// differs.
template <class S, class R> double ulp_error(S y, R r, bool or_ulp_of_one = false) {
    using L = std::numeric_limits<S>;
    const double Wrong = 1e30;
    if (r != r || std::isnan(y))
        return r != r && std::isnan(y) ? 0 : Wrong;
    bool negative = r < 0 || (r == 0 && std::signbit(double(r)));
    if (std::signbit(y) != negative && (y == 0 || r == 0))
        return Wrong;
    // Infinity stands for the next number after the largest
    Quad next = Quad(L::max()) * (1 + Quad(L::epsilon()) / 2);
    Quad exact = Quad(r), got = std::isinf(y) ? (y > 0 ? next : -next) : Quad(y);
    Quad size = fabsq(exact);
    if (size >= next)
        return got == (exact > 0 ? next : -next) ? 0 : Wrong;
    int e;
    frexpq(size, &e);
    int least = std::ilogb(L::denorm_min());
    Quad ulp = ldexpq(1, size == 0 ? least : std::max(e - L::digits, least));
    Quad error = fabsq(got - exact);
    double in_ulp = double(error / ulp);
    return or_ulp_of_one ? std::min(in_ulp, double(error / Quad(L::epsilon()))) : in_ulp;
}

double bound(Op op, bool single) {
    for (const math::Bound &b : math::bounds)
        if (b.op == op)
            return single ? b.f32 : b.f64;
    return 0;
}

template <class S, class Fn, class Ref>
void expect_bound(Op op, const std::vector<Range> &ranges, int per_exponent, Fn fn, Ref ref) {
    double worst = -1;
    S at = 0;
    for (S x : arguments<S>(ranges, per_exponent)) {
        double e = ulp_error(fn(x), ref(x), op == Op::Lgamma && x < S(-0.5));
        if (e > worst)
            worst = e, at = x;
    }
    testing::Test::RecordProperty("ulp", std::to_string(worst));
    EXPECT_LE(worst, bound(op, sizeof(S) == 4))
        << name(op) << " at " << std::hexfloat << at << " gives " << fn(at);
}

/// Solves erf(y) = x by Newton's method on the smaller of erf and erfc.
Quad erfinvq(Quad x) {
    Quad a = fabsq(x);
    if (!(a < 1))
        return a == 1 ? x * Quad(INFINITY) : Quad(NAN);
    if (a == 0)
        return x;
    Quad y = math::erfinv(double(a));
    if (!(double(y) > 0 && double(y) < 10)) // no first guess: let the comparison fail
        return NAN;
    for (int i = 0; i < 3; ++i) {
        Quad miss = a < Quad(0.5) ? erfq(y) - a : (1 - a) - erfcq(y);
        y -= miss * expq(y * y) * (sqrtq(acosq(-1)) / 2);
    }
    return x < 0 ? -y : y;
}

// Two tests a function: its claim, then what it is compared with.
#define MATH_TEST(Name, fn, quad, twice, ...)                                                      \
    TEST(Math, Name##InSinglePrecisionKeepsToItsBound) {                                           \
        expect_bound<float>(                                                                       \
            Op::Name, __VA_ARGS__, 600, [](float x) { return math::fn(x); },                       \
            [](double x) { return double(twice(x)); });                                            \
    }                                                                                              \
    TEST(Math, Name##InDoublePrecisionKeepsToItsBound) {                                           \
        expect_bound<double>(                                                                      \
            Op::Name, __VA_ARGS__, 16, [](double x) { return math::fn(x); },                       \
            [](double x) { return quad(Quad(x)); });                                               \
    }

using Ranges = std::vector<Range>;
MATH_TEST(Sin, sin, sinq, std::sin,
          (Ranges{ { -4, 4 }, { -1e3, 1e3 }, { 5e4, 2e5 }, { 5e8, 2e9 } }))
MATH_TEST(Cos, cos, cosq, std::cos,
          (Ranges{ { -4, 4 }, { -1e3, 1e3 }, { 5e4, 2e5 }, { 5e8, 2e9 } }))
MATH_TEST(Tan, tan, tanq, std::tan,
          (Ranges{ { -4, 4 }, { -1e3, 1e3 }, { 5e4, 2e5 }, { 5e8, 2e9 } }))
MATH_TEST(Asin, asin, asinq, std::asin, (Ranges{ { -1, 1 }, { 0.45, 0.6 }, { 0.999, 1 } }))
MATH_TEST(Acos, acos, acosq, std::acos, (Ranges{ { -1, 1 }, { 0.45, 0.6 }, { 0.999, 1 } }))
MATH_TEST(Atan, atan, atanq, std::atan, (Ranges{ { -4, 4 }, { 0.5, 1.5 } }))
MATH_TEST(Sinh, sinh, sinhq, std::sinh, (Ranges{ { -4, 4 }, { 80, 90 }, { 700, 711 } }))
MATH_TEST(Cosh, cosh, coshq, std::cosh, (Ranges{ { -4, 4 }, { 80, 90 }, { 700, 711 } }))
MATH_TEST(Tanh, tanh, tanhq, std::tanh, (Ranges{ { -4, 4 }, { 0, 0.5 }, { 5, 25 } }))
MATH_TEST(Asinh, asinh, asinhq, std::asinh, (Ranges{ { -4, 4 }, { 0, 100 } }))
MATH_TEST(Acosh, acosh, acoshq, std::acosh, (Ranges{ { 0.5, 4 }, { 1, 1.1 }, { 1, 100 } }))
MATH_TEST(Atanh, atanh, atanhq, std::atanh, (Ranges{ { -1, 1 }, { 0, 0.2 }, { 0.99, 1 } }))
MATH_TEST(Exp, exp, expq, std::exp, (Ranges{ { -2, 2 }, { -110, 90 }, { -750, 710 } }))
MATH_TEST(Exp2, exp2, exp2q, std::exp2, (Ranges{ { -2, 2 }, { -151, 129 }, { -1080, 1025 } }))
MATH_TEST(Log, log, logq, std::log, (Ranges{ { 0.5, 2 }, { 0.99, 1.01 }, { 0, 100 } }))
MATH_TEST(Log2, log2, log2q, std::log2, (Ranges{ { 0.5, 2 }, { 0.99, 1.01 }, { 0, 100 } }))
MATH_TEST(Cbrt, cbrt, cbrtq, std::cbrt, (Ranges{ { -8, 8 }, { 0, 1000 } }))
MATH_TEST(Erf, erf, erfq, std::erf, (Ranges{ { -7, 7 }, { 0.8, 1.2 }, { 0, 0.01 } }))
MATH_TEST(Erfinv, erfinv, erfinvq, math::erfinv,
          (Ranges{ { -1, 1 }, { 0.99, 1 }, { 0.999999, 1 } }))
MATH_TEST(Lgamma, lgamma, lgammaq, std::lgamma,
          (Ranges{ { 0, 10 }, { 0.9, 1.1 }, { 1.9, 2.1 }, { -4, 0 }, { -20, 0 }, { -60, 60 } }))

// ---- two arguments

template <class S, class Fn, class Ref>
void expect_bound2(Op op, const std::vector<std::pair<S, S>> &pairs, Fn fn, Ref ref) {
    double worst = -1;
    std::pair<S, S> at;
    for (auto [a, b] : pairs) {
        double e = ulp_error(fn(a, b), ref(a, b));
        if (e > worst)
            worst = e, at = { a, b };
    }
    testing::Test::RecordProperty("ulp", std::to_string(worst));
    EXPECT_LE(worst, bound(op, sizeof(S) == 4))
        << name(op) << " at " << std::hexfloat << at.first << ", " << at.second << " gives "
        << fn(at.first, at.second);
}

template <class S> std::vector<std::pair<S, S>> pairs(bool for_pow, int count) {
    std::vector<S> v = { 0,   1,    2,    3,      4,          5,      0.5,   0.25,
                         1.5, 1e-3, 1e30, 0x1p24, 0x1p24 + 2, 0x1p53, 0x1p70 };
    using L = std::numeric_limits<S>;
    for (S x : { L::denorm_min(), L::min(), L::max(), L::infinity(), L::quiet_NaN(),
                 std::nextafter(S(1), S(0)), std::nextafter(S(1), S(2)) })
        v.push_back(x);
    for (size_t i = 0, n = v.size(); i < n; ++i)
        v.push_back(-v[i]);
    std::vector<std::pair<S, S>> p;
    for (S a : v)
        for (S b : v)
            p.push_back({ a, b });

    Random random{ 2 };
    count *= UMBEL_MATH_TEST_DENSITY;
    std::vector<S> all = arguments<S>({}, count / 1000 + 1);
    for (int i = 0; i < count; ++i) {
        S a = all[random.bits() % all.size()], b = all[random.bits() % all.size()];
        p.push_back({ a, b });
        S u = S(8 * random.unit() - 4), w = S(8 * random.unit() - 4);
        p.push_back({ u, w });
        if (!for_pow)
            continue;
        // Exponents that bring the result anywhere between the smallest and the largest number
        S base = std::fabs(a), range = S(L::max_exponent + L::digits);
        p.push_back({ base, S((2 * random.unit() - 1) * range) / S(std::log2(base)) });
        S close = 1 + u * S(0x1p-12);
        p.push_back({ close, S((2 * random.unit() - 1) * range) / S(std::log2(close)) });
        p.push_back({ u, std::trunc(16 * w) });
    }
    return p;
}

TEST(Math, Atan2InSinglePrecisionKeepsToItsBound) {
    expect_bound2<float>(
        Op::Atan2, pairs<float>(false, 200000), [](float y, float x) { return math::atan2(y, x); },
        [](double y, double x) { return std::atan2(y, x); });
}
TEST(Math, Atan2InDoublePrecisionKeepsToItsBound) {
    expect_bound2<double>(
        Op::Atan2, pairs<double>(false, 30000),
        [](double y, double x) { return math::atan2(y, x); },
        [](Quad y, Quad x) { return atan2q(y, x); });
}
TEST(Math, PowInSinglePrecisionKeepsToItsBound) {
    expect_bound2<float>(
        Op::Pow, pairs<float>(true, 200000), [](float x, float y) { return math::pow(x, y); },
        [](double x, double y) { return std::pow(x, y); });
}
TEST(Math, PowInDoublePrecisionKeepsToItsBound) {
    expect_bound2<double>(
        Op::Pow, pairs<double>(true, 20000), [](double x, double y) { return math::pow(x, y); },
        [](Quad x, Quad y) { return powq(x, y); });
}

// ---- particular values

TEST(Math, HugeAnglesCloseToMultiplesOfHalfPiAreReduced) {
    // The double closest to a multiple of pi / 2, and singles that come close
    for (double x : { 0x1.6ac5b262ca1ffp849, 1e22, 1e300, 0x1.fffffffffffffp1023 }) {
        EXPECT_LE(ulp_error(math::sin(x), sinq(x)), bound(Op::Sin, false)) << x;
        EXPECT_LE(ulp_error(math::cos(x), cosq(x)), bound(Op::Cos, false)) << x;
        EXPECT_LE(ulp_error(math::tan(x), tanq(x)), bound(Op::Tan, false)) << x;
    }
    for (float x : { 16367173.f * 0x1p72f, 1e38f, 0x1.fffffep127f }) {
        EXPECT_LE(ulp_error(math::sin(x), sinq(x)), bound(Op::Sin, true)) << x;
        EXPECT_LE(ulp_error(math::cos(x), cosq(x)), bound(Op::Cos, true)) << x;
        EXPECT_LE(ulp_error(math::tan(x), tanq(x)), bound(Op::Tan, true)) << x;
    }
}

template <class S> void expect_exact_powers() {
    using L = std::numeric_limits<S>;
    for (int k = L::min_exponent - L::digits; k < L::max_exponent; ++k) {
        S p = std::ldexp(S(1), k);
        EXPECT_EQ(math::exp2(S(k)), p);
        EXPECT_EQ(math::log2(p), S(k));
        EXPECT_EQ(math::pow(S(2), S(k)), p);
    }
    for (int k = -200; k <= 200; ++k) {
        EXPECT_EQ(math::cbrt(S(k) * k * k), S(k));
        EXPECT_EQ(math::pow(S(k), S(2)), S(k) * k);
        EXPECT_EQ(math::pow(S(k), S(1)), S(k));
    }
    EXPECT_EQ(math::exp(S(0)), 1);
    EXPECT_EQ(math::cos(S(0)), 1);
    EXPECT_EQ(math::cosh(S(0)), 1);
    EXPECT_EQ(math::lgamma(S(1)), 0);
    EXPECT_EQ(math::lgamma(S(2)), 0);
}
TEST(Math, WholePowersAndRootsAreExactInSinglePrecision) { expect_exact_powers<float>(); }
TEST(Math, WholePowersAndRootsAreExactInDoublePrecision) { expect_exact_powers<double>(); }

// ---- lanes

// A packet with just the vocabulary of jit/math_scalar.h: what compiled code does, in plain C++.
// Its lanes take rare and common paths together.
constexpr int W = 4;
template <class T> struct Lanes {
    T v[W];
    Lanes(T a) {
        for (T &x : v)
            x = a;
    }
    template <class Fn> static Lanes make(Fn fn) {
        Lanes r(T(0));
        for (int i = 0; i < W; ++i)
            r.v[i] = fn(i);
        return r;
    }
};

#define LANES_BINARY(op)                                                                           \
    template <class T> Lanes<T> operator op(Lanes<T> a, Lanes<T> b) {                              \
        return Lanes<T>::make([&](int i) { return T(a.v[i] op b.v[i]); });                         \
    }
#define LANES_COMPARE(op)                                                                          \
    template <class T> Lanes<bool> operator op(Lanes<T> a, Lanes<T> b) {                           \
        return Lanes<bool>::make([&](int i) { return a.v[i] op b.v[i]; });                         \
    }
#define LANES_SHIFT(op)                                                                            \
    template <class T> Lanes<T> operator op(Lanes<T> a, int b) {                                   \
        return Lanes<T>::make([&](int i) { return T(a.v[i] op b); });                              \
    }
#define LANES_FUNCTION(fn)                                                                         \
    template <class T> auto fn(Lanes<T> a) {                                                       \
        return Lanes<decltype(math::fn(T()))>::make([&](int i) { return math::fn(a.v[i]); });      \
    }
// clang-format off
LANES_BINARY(+) LANES_BINARY(-) LANES_BINARY(*) LANES_BINARY(/)
LANES_BINARY(&) LANES_BINARY(|) LANES_BINARY(^) LANES_BINARY(<<) LANES_BINARY(>>)
LANES_SHIFT(<<) LANES_SHIFT(>>)
LANES_COMPARE(<) LANES_COMPARE(<=) LANES_COMPARE(==) LANES_COMPARE(!=)
LANES_FUNCTION(sqrt) LANES_FUNCTION(abs) LANES_FUNCTION(floor) LANES_FUNCTION(round_even)
LANES_FUNCTION(to_bits) LANES_FUNCTION(as_signed) LANES_FUNCTION(as_unsigned)
LANES_FUNCTION(to_double) LANES_FUNCTION(to_single)
template <class T> Lanes<T> operator-(Lanes<T> a) {
    return Lanes<T>::make([&](int i) { return -a.v[i]; });
}
// clang-format on
template <class T> Lanes<bool> operator!(Lanes<T> a) {
    return Lanes<bool>::make([&](int i) { return !a.v[i]; });
}
template <class T> Lanes<T> fma(Lanes<T> a, Lanes<T> b, Lanes<T> c) {
    return Lanes<T>::make([&](int i) { return math::fma(a.v[i], b.v[i], c.v[i]); });
}
template <class T> Lanes<T> min(Lanes<T> a, Lanes<T> b) {
    return Lanes<T>::make([&](int i) { return math::min(a.v[i], b.v[i]); });
}
template <class T> Lanes<T> max(Lanes<T> a, Lanes<T> b) {
    return Lanes<T>::make([&](int i) { return math::max(a.v[i], b.v[i]); });
}
template <class T> Lanes<T> mul_hi(Lanes<T> a, Lanes<T> b) {
    return Lanes<T>::make([&](int i) { return math::mul_hi(a.v[i], b.v[i]); });
}
template <class T> Lanes<T> select(Lanes<bool> m, Lanes<T> a, Lanes<T> b) {
    return Lanes<T>::make([&](int i) { return m.v[i] ? a.v[i] : b.v[i]; });
}
template <class F> F from_bits(math::UInt<F> a) {
    using S = math::Scalar<F>;
    return F::make([&](int i) { return std::bit_cast<S>(a.v[i]); });
}
template <size_t N, class T> auto lookup(const uint32_t (&table)[N], Lanes<T> at) {
    return Lanes<std::make_unsigned_t<T>>::make([&](int i) {
        EXPECT_GE(at.v[i], 0);
        EXPECT_LT(at.v[i], T(N));
        return table[at.v[i]];
    });
}
template <class T, class Fn> Lanes<T> if_any(Lanes<bool> m, Lanes<T> otherwise, Fn fn) {
    bool any = false;
    for (bool b : m.v)
        any |= b;
    return any ? select(m, fn(), otherwise) : otherwise;
}

template <class S, class Fn, class Scalar> void expect_same_bits(Op op, Fn fn, Scalar scalar) {
    // A stride that mixes special values, exponents and signs in a packet
    std::vector<S> x = arguments<S>({ { -4, 4 }, { -40, 40 } }, sizeof(S) == 4 ? 20 : 2);
    for (size_t i = 0; i < x.size(); i += W) {
        auto at = [&](int k) { return x[(i + k) * 7919 % x.size()]; };
        auto y = fn(Lanes<S>::make(at), Lanes<S>::make([&](int k) { return at(k + W); }));
        for (int k = 0; k < W; ++k) {
            S want = scalar(at(k), at(k + W));
            if (std::isnan(want) && std::isnan(y.v[k]))
                continue;
            ASSERT_EQ(math::to_bits(y.v[k]), math::to_bits(want))
                << name(op) << " at " << std::hexfloat << at(k) << ", " << at(k + W);
        }
    }
}

template <class S> void expect_all_same_bits() {
#define CHECK1(Name, fn)                                                                           \
    expect_same_bits<S>(                                                                           \
        Op::Name, [](auto x, auto) { return math::fn(x); }, [](S x, S) { return math::fn(x); });
#define CHECK2(Name, fn)                                                                           \
    expect_same_bits<S>(                                                                           \
        Op::Name, [](auto x, auto y) { return math::fn(x, y); },                                   \
        [](S x, S y) { return math::fn(x, y); });
    // clang-format off
    CHECK1(Sin, sin) CHECK1(Cos, cos) CHECK1(Tan, tan)
    CHECK1(Asin, asin) CHECK1(Acos, acos) CHECK1(Atan, atan) CHECK2(Atan2, atan2)
    CHECK1(Sinh, sinh) CHECK1(Cosh, cosh) CHECK1(Tanh, tanh)
    CHECK1(Asinh, asinh) CHECK1(Acosh, acosh) CHECK1(Atanh, atanh)
    CHECK1(Exp, exp) CHECK1(Exp2, exp2) CHECK1(Log, log) CHECK1(Log2, log2)
    CHECK1(Cbrt, cbrt) CHECK2(Pow, pow)
    CHECK1(Erf, erf) CHECK1(Erfinv, erfinv) CHECK1(Lgamma, lgamma)
    // clang-format on
}

} // namespace

template <> struct math::Traits<Lanes<float>> {
    using S = float;
    using I = Lanes<int32_t>;
    using U = Lanes<uint32_t>;
    using M = Lanes<bool>;
};
template <> struct math::Traits<Lanes<double>> {
    using S = double;
    using I = Lanes<int64_t>;
    using U = Lanes<uint64_t>;
    using M = Lanes<bool>;
};

namespace {

TEST(Math, PacketsGiveTheBitsOfScalarsInSinglePrecision) { expect_all_same_bits<float>(); }
TEST(Math, PacketsGiveTheBitsOfScalarsInDoublePrecision) { expect_all_same_bits<double>(); }

TEST(Math, EveryTranscendentalOperationHasABound) {
    for (int i = 0; i < OpCount; ++i)
        if (Op op = Op(i); is_transcendental(op) || op == Op::Atan2 || op == Op::Pow) {
            EXPECT_GT(bound(op, true), 0) << name(op);
            EXPECT_LE(bound(op, true), 4) << name(op);
            EXPECT_GT(bound(op, false), 0) << name(op);
            EXPECT_LE(bound(op, false), 4) << name(op);
        }
}

} // namespace
} // namespace umbel::jit
