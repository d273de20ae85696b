// tests/jit/algorithm_test.cpp: array algorithms against plain loops, all types, sizes, threads.
// threads.
#include "jit/algorithm.h"
#include "jit/error.h"
#include "jit/stream.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <vector>

namespace umbel::jit {
namespace {

using f16 = _Float16;
const uint64_t Sizes[] = { 0, 1, 2, 63, 64, 65, 1000, (1 << 20) + 3 };
const ReduceOp Ops[] = { ReduceOp::Add, ReduceOp::Mul, ReduceOp::Min,
                         ReduceOp::Max, ReduceOp::And, ReduceOp::Or };

// ---- Support

template <class T>
constexpr bool is_float_v = std::is_floating_point_v<T> || std::is_same_v<T, f16>;
template <class T> constexpr Type TypeOf = type_of_v<T>;
template <> constexpr Type TypeOf<f16> = Type::F16;

template <class F> void for_number_types(F f) {
    f.template operator()<int8_t>();
    f.template operator()<uint8_t>();
    f.template operator()<int16_t>();
    f.template operator()<uint16_t>();
    f.template operator()<int32_t>();
    f.template operator()<uint32_t>();
    f.template operator()<int64_t>();
    f.template operator()<uint64_t>();
    f.template operator()<f16>();
    f.template operator()<float>();
    f.template operator()<double>();
}

// Runs with 1, 2 and 7 threads, and checks that `out` has the same bytes each time.
template <class T, class F> void with_threads(std::vector<T> &out, F f) {
    std::vector<T> start = out, first;
    for (uint32_t threads : { 1, 2, 7 }) {
        Stream::set_thread_count(threads);
        out = start;
        run_in_arena(f);
        if (threads == 1)
            first = out;
        else
            ASSERT_TRUE(out.empty() ||
                        !std::memcmp(out.data(), first.data(), out.size() * sizeof(T)))
                << threads << " threads give other bits than one";
    }
    Stream::set_thread_count(0);
}

// Fixed random numbers (SplitMix64).
struct Random {
    uint64_t state;
    uint64_t operator()() {
        uint64_t z = state += 0x9e3779b97f4a7c15ull;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return z ^ (z >> 31);
    }
};

// Integers: any bits. Floats: multiples of 1/64 in [-1, 1).
template <class T> std::vector<T> random_values(uint64_t n, uint64_t seed) {
    Random random{ seed };
    std::vector<T> v(n);
    for (T &x : v) {
        if constexpr (is_float_v<T>)
            x = T((double(random() % 128) - 64) / 64);
        else
            x = T(random());
    }
    return v;
}

bool has_op(Type t, ReduceOp op) {
    return !is_float(t) || (op != ReduceOp::And && op != ReduceOp::Or);
}

template <class T> T apply(ReduceOp op, T a, T b) {
    switch (op) {
    case ReduceOp::Store: return b;
    case ReduceOp::Min: return b < a ? b : a;
    case ReduceOp::Max: return b > a ? b : a;
    default: break;
    }
    if constexpr (is_float_v<T>) {
        return op == ReduceOp::Add ? T(a + b) : T(a * b);
    } else {
        uint64_t x = uint64_t(a), y = uint64_t(b);
        return T(op == ReduceOp::Add   ? x + y
                 : op == ReduceOp::Mul ? x * y
                 : op == ReduceOp::And ? x & y
                                       : x | y);
    }
}

template <class T> T identity_of(ReduceOp op) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    switch (op) {
    case ReduceOp::Mul: return T(1);
    case ReduceOp::Min: return is_float_v<T> ? T(inf) : std::numeric_limits<T>::max();
    case ReduceOp::Max: return is_float_v<T> ? T(-inf) : std::numeric_limits<T>::lowest();
    case ReduceOp::And: return is_float_v<T> ? T(0) : T(~uint64_t(0));
    default: return T(0);
    }
}

// Reduction in the order of elements; sums and products of floats in f64.
template <class T> T reduce_reference(ReduceOp op, const T *in, uint64_t n) {
    if constexpr (is_float_v<T>) {
        double result = double(identity_of<double>(op));
        for (uint64_t i = 0; i < n; ++i)
            result = apply<double>(op, result, double(in[i]));
        return T(result);
    } else {
        T result = identity_of<T>(op);
        for (uint64_t i = 0; i < n; ++i)
            result = apply<T>(op, result, in[i]);
        return result;
    }
}

// Equal; products of many floats may differ in rounding.
template <class T> void expect_same(T a, T b, double tolerance = 0) {
    if constexpr (is_float_v<T>) {
        if (tolerance > 0 && std::isfinite(double(b))) {
            EXPECT_LE(std::abs(double(a) - double(b)),
                      tolerance * std::max(1.0, std::abs(double(b))));
            return;
        }
        EXPECT_EQ(double(a), double(b));
    } else {
        EXPECT_EQ(a, b);
    }
}

// ---- reduce, block_reduce, dot

TEST(Reduce, MatchesALoopForAllTypesOpsAndSizes) {
    for_number_types([]<class T> {
        for (ReduceOp op : Ops) {
            if (!has_op(TypeOf<T>, op))
                continue;
            for (uint64_t n : Sizes) {
                SCOPED_TRACE(fmt::format("{} {} n = {}", name(op), name(TypeOf<T>), n));
                std::vector<T> in = random_values<T>(n, n + 1);
                if (op == ReduceOp::Mul) // near 1, else all products are 0
                    for (uint64_t i = 0; i < n; ++i)
                        in[i] = !is_float_v<T>   ? T(uint64_t(in[i]) | 1)
                                : i % 1000 == 10 ? T(2)
                                : i % 1000 == 50 ? T(-0.5)
                                                 : T(1);
                std::vector<T> out(1);
                with_threads(out, [&] { reduce(TypeOf<T>, op, in.data(), n, out.data()); });
                // Multiples of 1/64 add up without rounding in f64.
                expect_same(out[0], reduce_reference(op, in.data(), n));
            }
        }
    });
}

TEST(Reduce, SumOfFloatsIsRoundedOnceInEffect) {
    uint64_t n = (1 << 20) + 3;
    std::vector<float> in(n), out(1);
    Random random{ 5 };
    double exact = 0;
    for (float &x : in) {
        x = std::ldexp(float(random() >> 40), -30);
        exact += x;
    }
    reduce(Type::F32, ReduceOp::Add, in.data(), n, out.data());
    EXPECT_EQ(out[0], float(exact));
}

TEST(Reduce, MinAndMaxPassOverNaNs) {
    float nan = std::numeric_limits<float>::quiet_NaN(),
          inf = std::numeric_limits<float>::infinity();
    for (uint64_t n : { 1, 2, 64, 65, 100000 }) {
        std::vector<float> in(n, nan);
        float low, high;
        reduce(Type::F32, ReduceOp::Min, in.data(), n, &low);
        EXPECT_EQ(low, inf);
        in[n / 2] = 3;
        reduce(Type::F32, ReduceOp::Min, in.data(), n, &low);
        reduce(Type::F32, ReduceOp::Max, in.data(), n, &high);
        EXPECT_EQ(low, 3);
        EXPECT_EQ(high, 3);
    }
}

TEST(Reduce, HalfPrecisionKeepsSpecialValues) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
        f16 x = std::bit_cast<f16>(uint16_t(bits)), out;
        std::vector<f16> in(64, f16(0));
        in[bits % 64] = x;
        reduce(Type::F16, ReduceOp::Add, in.data(), 64, &out);
        if (x != x)
            ASSERT_TRUE(out != out) << bits;
        else
            ASSERT_EQ(float(out), float(x)) << bits;
    }
}

TEST(Reduce, OfBoolsIsAllOrAny) {
    for (uint64_t n : Sizes)
        for (int kind = 0; kind < 3; ++kind) { // all false, all true, one differs
            std::vector<uint8_t> in(n, kind == 1), out(1);
            if (kind == 2 && n)
                in[n / 2] = 1;
            reduce(Type::Bool, ReduceOp::Or, in.data(), n, out.data());
            EXPECT_EQ(out[0], n > 0 && kind > 0);
            if (kind == 2 && n)
                std::transform(in.begin(), in.end(), in.begin(), [](uint8_t x) { return !x; });
            reduce(Type::Bool, ReduceOp::And, in.data(), n, out.data());
            EXPECT_EQ(out[0], n == 0 || kind == 1);
        }
}

TEST(Reduce, UnknownCombinationsAreErrors) {
    float x = 0;
    EXPECT_THROW(reduce(Type::F32, ReduceOp::And, &x, 1, &x), InternalError);
    EXPECT_THROW(reduce(Type::Bool, ReduceOp::Add, &x, 1, &x), InternalError);
    EXPECT_THROW(reduce(Type::F32, ReduceOp::Store, &x, 1, &x), InternalError);
    EXPECT_THROW(reduce(Type::Ptr, ReduceOp::Add, &x, 1, &x), InternalError);
    EXPECT_THROW(block_reduce(Type::F32, ReduceOp::Add, &x, 1, 0, &x), InternalError);
    EXPECT_THROW(prefix_sum(Type::Bool, &x, 1, 1, false, &x), InternalError);
    EXPECT_THROW(sort_permutation(Type::Void, &x, 1, false, (uint32_t *)&x), InternalError);
}

TEST(BlockReduce, MatchesALoopForAllTypesAndBlocks) {
    for_number_types([]<class T> {
        for (ReduceOp op : { ReduceOp::Add, ReduceOp::Max })
            for (uint64_t n : Sizes)
                for (uint64_t block : { 1, 3, 16, 64, 1000, 16384, 20000, 1 << 22 }) {
                    if (n > 1000 && block < 1000 && sizeof(T) != 4)
                        continue; // saves time
                    SCOPED_TRACE(fmt::format("{} {} n = {} block = {}", name(op), name(TypeOf<T>),
                                             n, block));
                    std::vector<T> in = random_values<T>(n, n + 1), out((n + block - 1) / block);
                    with_threads(
                        out, [&] { block_reduce(TypeOf<T>, op, in.data(), n, block, out.data()); });
                    for (uint64_t b = 0; b < out.size(); ++b) {
                        T expected =
                            reduce_reference(op, &in[b * block], std::min(block, n - b * block));
                        if (out[b] != expected)
                            FAIL() << "run " << b;
                    }
                }
    });
}

TEST(Dot, MatchesALoopForAllTypesAndSizes) {
    for_number_types([]<class T> {
        for (uint64_t n : Sizes) {
            SCOPED_TRACE(fmt::format("{} n = {}", name(TypeOf<T>), n));
            std::vector<T> a = random_values<T>(n, 1), b = random_values<T>(n, 2), out(1);
            with_threads(out, [&] { dot(TypeOf<T>, a.data(), b.data(), n, out.data()); });
            if constexpr (is_float_v<T>) {
                double sum = 0;
                for (uint64_t i = 0; i < n; ++i)
                    sum += double(a[i]) * double(b[i]);
                EXPECT_EQ(double(out[0]), double(T(sum)));
            } else {
                uint64_t sum = 0;
                for (uint64_t i = 0; i < n; ++i)
                    sum += uint64_t(a[i]) * uint64_t(b[i]);
                EXPECT_EQ(out[0], T(sum));
            }
        }
    });
}

// ---- prefix_sum

TEST(PrefixSum, MatchesALoopForAllTypesAndBlocks) {
    for_number_types([]<class T> {
        using A = std::conditional_t<is_float_v<T>, double, uint64_t>;
        for (uint64_t n : Sizes)
            for (uint64_t block :
                 { uint64_t(1), uint64_t(7), uint64_t(64), uint64_t(20000), n + 1 })
                for (bool exclusive : { false, true }) {
                    if (n > 1000 && block < 1000 && sizeof(T) != 4)
                        continue; // saves time
                    SCOPED_TRACE(fmt::format("{} n = {} block = {} exclusive = {}", name(TypeOf<T>),
                                             n, block, exclusive));
                    std::vector<T> in = random_values<T>(n, n + 1), out(n), in_place = in;
                    with_threads(out, [&] {
                        prefix_sum(TypeOf<T>, in.data(), n, block, exclusive, out.data());
                    });
                    prefix_sum(TypeOf<T>, in_place.data(), n, block, exclusive, in_place.data());
                    A sum = 0;
                    for (uint64_t i = 0; i < n; ++i) {
                        A before = i % block ? sum : A(0);
                        sum = A(before + A(in[i]));
                        T expected = T(exclusive ? before : sum);
                        if (out[i] != expected || in_place[i] != expected)
                            FAIL() << "element " << i;
                    }
                }
    });
}

TEST(PrefixSum, OfNonnegativeFloatsNeverDecreasesAndExclusiveIsTheSameMoved) {
    uint64_t n = 300007;
    Random random{ 9 };
    std::vector<double> in(n), inclusive(n), exclusive(n);
    for (double &x : in)
        x = std::ldexp(double(random() >> 11), -int(random() % 60));
    prefix_sum(Type::F64, in.data(), n, n, false, inclusive.data());
    prefix_sum(Type::F64, in.data(), n, n, true, exclusive.data());
    EXPECT_EQ(exclusive[0], 0);
    for (uint64_t i = 1; i < n; ++i) {
        ASSERT_EQ(exclusive[i], inclusive[i - 1]) << i;
        ASSERT_GE(inclusive[i], inclusive[i - 1]) << i;
    }
}

// ---- compress, count

TEST(Compress, ListsTheNonzeroBytesInOrder) {
    for (uint64_t n : Sizes)
        for (int density : { 0, 1, 50, 99, 100 }) {
            Random random{ n };
            std::vector<uint8_t> mask(n);
            std::vector<uint32_t> expected, out;
            for (uint64_t i = 0; i < n; ++i)
                if (int(random() % 100) < density) {
                    mask[i] = uint8_t(1 + random() % 255);
                    expected.push_back(uint32_t(i));
                }
            out.assign(expected.size() + 1, 123);
            uint64_t found = 0;
            with_threads(out, [&] { found = compress(mask.data(), n, out.data()); });
            EXPECT_EQ(found, expected.size());
            EXPECT_EQ(count(mask.data(), n), expected.size());
            EXPECT_EQ(out.back(), 123u) << "wrote past the end";
            out.pop_back();
            EXPECT_EQ(out, expected) << "n = " << n << " density = " << density;
        }
}

// ---- sort_permutation

// The order of the header: floats by their bits, so that -0 < +0 and NaNs have a place.
template <class T> bool comes_before(T a, T b) {
    if constexpr (is_float_v<T>) {
        using S = std::conditional_t<sizeof(T) == 2, int16_t,
                                     std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>;
        S x = std::bit_cast<S>(a), y = std::bit_cast<S>(b);
        x = x < 0 ? S(x ^ std::numeric_limits<S>::max()) : x;
        y = y < 0 ? S(y ^ std::numeric_limits<S>::max()) : y;
        return x < y;
    } else {
        return a < b;
    }
}

template <class T> void expect_sorted(const std::vector<T> &keys, bool descending) {
    uint64_t n = keys.size();
    std::vector<uint32_t> out(n), expected(n);
    with_threads(out, [&] { sort_permutation(TypeOf<T>, keys.data(), n, descending, out.data()); });
    std::iota(expected.begin(), expected.end(), 0);
    std::stable_sort(expected.begin(), expected.end(), [&](uint32_t a, uint32_t b) {
        return descending ? comes_before(keys[b], keys[a]) : comes_before(keys[a], keys[b]);
    });
    EXPECT_TRUE(out == expected);
}

TEST(SortPermutation, IsTheStableOneForAllTypesAndSizes) {
    for_number_types([]<class T> {
        for (uint64_t n : { 0, 1, 2, 63, 64, 65, 1000, 1024, 1025, 5000, (1 << 17) + 3 })
            for (bool descending : { false, true }) {
                SCOPED_TRACE(
                    fmt::format("{} n = {} descending = {}", name(TypeOf<T>), n, descending));
                expect_sorted(random_values<T>(n, n + 1), descending);
            }
    });
}

TEST(SortPermutation, HandlesMillionsOfKeysOfAllKinds) {
    uint64_t n = (1 << 20) + 3;
    Random random{ 3 };
    std::vector<float> floats(n);
    for (float &x : floats)
        x = std::bit_cast<float>(uint32_t(random())); // all kinds, NaNs, infinities and zeros too
    floats[5] = -0.0f;
    floats[4] = 0.0f;
    expect_sorted(floats, false);
    expect_sorted(floats, true);
    std::vector<uint64_t> wide(n), holes(n);
    for (uint64_t i = 0; i < n; ++i) {
        wide[i] = random();
        holes[i] = wide[i] & 0x8000'0300'0000'7ff0ull;
    }
    expect_sorted(wide, false);
    expect_sorted(holes, true);
    expect_sorted(std::vector<uint32_t>(n, 7), false);
}

TEST(SortPermutation, PutsPositiveNaNsLastAndMinusZeroFirst) {
    float nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> keys = { nan, 0.0f, -0.0f, 1, -1 };
    std::vector<uint32_t> out(5);
    sort_permutation(Type::F32, keys.data(), 5, false, out.data());
    EXPECT_EQ(out, (std::vector<uint32_t>{ 4, 2, 1, 3, 0 }));
}

TEST(SortPermutation, OfBoolsPutsFalseFirst) {
    std::vector<uint8_t> keys(5000);
    for (size_t i = 0; i < keys.size(); ++i)
        keys[i] = i % 3 == 0;
    std::vector<uint32_t> out(keys.size());
    sort_permutation(Type::Bool, keys.data(), keys.size(), false, out.data());
    for (size_t i = 1; i < out.size(); ++i)
        ASSERT_TRUE(keys[out[i - 1]] < keys[out[i]] ||
                    (keys[out[i - 1]] == keys[out[i]] && out[i - 1] < out[i]));
}

// ---- scatter_reduce

struct ScatterCase {
    uint64_t n, size;
    bool uniform, masked;
};

// Whether the order is the one of copies: see algorithm.h.
bool has_copies(const ScatterCase &c) {
    return c.n >= 4096 && c.size <= 65536 && c.n >= 64 * c.size;
}

template <class T> void expect_scatter(ReduceOp op, const ScatterCase &c) {
    SCOPED_TRACE(fmt::format("{} {} n = {} size = {} uniform = {} masked = {}", name(op),
                             name(TypeOf<T>), c.n, c.size, c.uniform, c.masked));
    Random random{ c.n + c.size };
    std::vector<T> value = random_values<T>(std::max<uint64_t>(c.n, 1), 7);
    std::vector<T> target = random_values<T>(c.size, 8);
    std::vector<uint32_t> index(c.n);
    std::vector<uint8_t> mask(c.n);
    for (uint64_t i = 0; i < c.n; ++i) {
        index[i] = random() % 50 == 0 ? ~uint32_t(random() % 3) : uint32_t(random() % (c.size + 2));
        mask[i] = random() % 3 ? uint8_t(1 + random() % 255) : 0;
    }

    std::vector<T> expected = target;
    bool accumulates =
        is_float_v<T> && has_copies(c) && (op == ReduceOp::Add || op == ReduceOp::Mul);
    std::vector<double> exact(target.begin(), target.end());
    for (uint64_t i = 0; i < c.n; ++i)
        if (index[i] < c.size && (!c.masked || mask[i])) {
            T x = value[c.uniform ? 0 : i];
            if (accumulates)
                exact[index[i]] = apply<double>(op, exact[index[i]], double(x));
            else
                expected[index[i]] = apply<T>(op, expected[index[i]], x);
        }
    if (accumulates)
        std::copy(exact.begin(), exact.end(), expected.begin());

    with_threads(target, [&] {
        scatter_reduce(TypeOf<T>, op, target.data(), c.size, index.data(), value.data(), c.uniform,
                       c.masked ? mask.data() : nullptr, c.n);
    });
    for (uint64_t i = 0; i < c.size; ++i) // multiples of 1/64 add up without rounding in f64
        if (std::memcmp(&target[i], &expected[i], sizeof(T)) != 0 &&
            !(accumulates && op == ReduceOp::Mul))
            FAIL() << "cell " << i;
}

TEST(ScatterReduce, MatchesTheSequentialLoopToTheBit) {
    for_number_types([]<class T> {
        for (ReduceOp op :
             { ReduceOp::Store, ReduceOp::Add, ReduceOp::Min, ReduceOp::Max, ReduceOp::And }) {
            if (!has_op(TypeOf<T>, op))
                continue;
            for (uint64_t n : { 0, 1, 65, 1000, 5000, (1 << 17) + 3 })
                for (uint64_t size : { 1, 16, 1000, 5000, 70000, 300000 })
                    expect_scatter<T>(op, { n, size, n % 2 == 0, size % 3 == 0 });
        }
    });
}

TEST(ScatterReduce, MatchesTheSequentialLoopForManyLanes) {
    uint64_t n = (1 << 20) + 3;
    for (uint64_t size : { 1 << 18, 3000000 })
        for (bool uniform : { false, true })
            for (bool masked : { false, true }) {
                expect_scatter<float>(ReduceOp::Add, { n, size, uniform, masked });
                expect_scatter<uint32_t>(ReduceOp::Mul, { n, size, uniform, masked });
                expect_scatter<double>(ReduceOp::Mul, { n, size, uniform, masked });
            }
}

TEST(ScatterReduce, SumsOfRealNumbersKeepTheirOrderInLargeTargets) {
    uint64_t n = 1 << 19, size = 100000;
    Random random{ 1 };
    std::vector<float> value(n), target(size, 0.1f), expected;
    std::vector<uint32_t> index(n);
    for (uint64_t i = 0; i < n; ++i) {
        value[i] = float(random() >> 40) * 1e-7f;
        index[i] =
            uint32_t(random() % (random() % 2 ? size : 10)); // half of the lanes in ten cells
    }
    expected = target;
    for (uint64_t i = 0; i < n; ++i)
        expected[index[i]] += value[i];
    with_threads(target, [&] {
        scatter_reduce(Type::F32, ReduceOp::Add, target.data(), size, index.data(), value.data(),
                       false, nullptr, n);
    });
    EXPECT_EQ(std::memcmp(target.data(), expected.data(), size * 4), 0);
}

TEST(ScatterReduce, SumsInSmallTargetsAreRoundedOnceInEffect) {
    uint64_t n = 1 << 20;
    std::vector<float> value(n), target(16, 0.0f);
    std::vector<double> exact(16, 0.0);
    std::vector<uint32_t> index(n);
    Random random{ 2 };
    for (uint64_t i = 0; i < n; ++i) {
        value[i] = std::ldexp(float(random() >> 40), -24);
        index[i] = uint32_t(random() % 16);
        exact[index[i]] += value[i];
    }
    with_threads(target, [&] {
        scatter_reduce(Type::F32, ReduceOp::Add, target.data(), 16, index.data(), value.data(),
                       false, nullptr, n);
    });
    for (int i = 0; i < 16; ++i)
        EXPECT_EQ(target[i], float(exact[i]));
}

TEST(ScatterReduce, LeavesCellsThatNoLaneHits) {
    uint64_t n = 1 << 16;
    std::vector<uint32_t> index(n, 1);
    std::vector<float> value(n, 1.0f),
        target = { -0.0f, 0.0f, std::numeric_limits<float>::quiet_NaN() };
    for (ReduceOp op : { ReduceOp::Add, ReduceOp::Mul, ReduceOp::Min, ReduceOp::Max }) {
        scatter_reduce(Type::F32, op, target.data(), 3, index.data(), value.data(), false, nullptr,
                       n);
        EXPECT_TRUE(std::signbit(target[0]) && target[0] == 0) << name(op);
        EXPECT_TRUE(std::isnan(target[2])) << name(op);
    }
}

TEST(ScatterReduce, MinAndMaxPassOverNaNs) {
    for (uint64_t n : { 10, 100000 }) {
        std::vector<uint32_t> index(n, 0);
        std::vector<float> value(n, std::numeric_limits<float>::quiet_NaN()), target = { 2.0f };
        value[n / 2] = 1;
        scatter_reduce(Type::F32, ReduceOp::Min, target.data(), 1, index.data(), value.data(),
                       false, nullptr, n);
        EXPECT_EQ(target[0], 1);
        value[n / 2] = 5;
        scatter_reduce(Type::F32, ReduceOp::Max, target.data(), 1, index.data(), value.data(),
                       false, nullptr, n);
        EXPECT_EQ(target[0], 5);
    }
}

TEST(ScatterReduce, OfBoolsAndPointersWorks) {
    for (uint64_t n : { 10, 10000 }) {
        std::vector<uint32_t> index(n);
        std::vector<uint8_t> value(n), target(8, 0);
        for (uint64_t i = 0; i < n; ++i) {
            index[i] = uint32_t(i % 7);
            value[i] = i % 7 == 3;
        }
        scatter_reduce(Type::Bool, ReduceOp::Or, target.data(), 8, index.data(), value.data(),
                       false, nullptr, n);
        EXPECT_EQ(target, (std::vector<uint8_t>{ 0, 0, 0, 1, 0, 0, 0, 0 }));
        std::vector<uint64_t> pointers(n), slots(8, 0);
        std::iota(pointers.begin(), pointers.end(), 100);
        scatter_reduce(Type::Ptr, ReduceOp::Store, slots.data(), 8, index.data(), pointers.data(),
                       false, nullptr, n);
        for (uint64_t k = 0; k < 7; ++k)
            EXPECT_EQ(slots[k], 100 + (n - 1 - k) / 7 * 7 + k);
    }
}

} // namespace
} // namespace umbel::jit
