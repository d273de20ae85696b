// tests/jit/array_test.cpp: making, borrowing, gathering, scattering, reducing and sorting arrays.
#include "jit/algorithm.h"
#include "jit/array.h"
#include "jit/element_count.h"
#include "jit/gemm.h"
#include "jit/lane_list.h"
#include "support/backend_fixture.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

using namespace umbel;
using namespace umbel::jit;

namespace {

class ArrayTest : public test::BackendTest {};

template <class T> std::vector<T> list(std::initializer_list<T> v) { return v; }

// ---- making and reading

TEST(ArraySizes, AreNotCut) {
    EXPECT_EQ(element_count(0xffffffff), 0xffffffffu);
    std::string m = test::user_error([] { element_count((1ull << 32) + 8); });
    EXPECT_NE(m.find("4294967304 elements"), std::string::npos) << m;
}

TEST(ArraySizes, OfProductsAreNotCut) {
    // 2^32 + 65536 elements of two arrays that fit
    Array<float> row = zeros<float>(65536), column = zeros<float>(65537);
    auto product = [&](Gemm shape) { return test::user_error([&] { gemm(row, column, shape); }); };
    std::string m = product({ 65536, 1, 65537, false, false, { { 0, 0 } } });
    EXPECT_NE(m.find("4295032832 elements"), std::string::npos) << m;
    m = product({ 65536, 1, 65535, false, false, { { 0, 0 }, { 0, 1 } } });
    EXPECT_NE(m.find("8589803520 elements"), std::string::npos) << m;
    // Beyond the operands
    m = product({ 65536, 2, 1, false, false, { { 0, 0 } } });
    EXPECT_NE(m.find("65536 x 2 from element 0 on, in an array of 65536"), std::string::npos) << m;
    m = product({ 1, 1, 2, false, false, { { 0, 0 }, { 0, 65536 } } });
    EXPECT_NE(m.find("1 x 2 from element 65536 on"), std::string::npos) << m;
}

TEST_P(ArrayTest, ArraysAreMadeAndRead) {
    EXPECT_EQ(zeros<int16_t>(3).read(), list<int16_t>({ 0, 0, 0 }));
    EXPECT_EQ(full(2.5, 2).read(), list<double>({ 2.5, 2.5 }));
    EXPECT_EQ(arange<uint64_t>(4).read(), list<uint64_t>({ 0, 1, 2, 3 }));
    EXPECT_EQ(arange<uint32_t>(1).read(), list<uint32_t>({ 0 }));
    EXPECT_EQ(linspace(1.f, 3.f, 5).read(), list<float>({ 1, 1.5, 2, 2.5, 3 }));
    EXPECT_EQ(linspace(7.f, 9.f, 1).read(), list<float>({ 7 }));
    EXPECT_EQ(copy(list<bool>({ true, false, true })).read(), list<bool>({ true, false, true }));
    float raw[] = { 4, 5 };
    EXPECT_EQ(copy(std::span<const float>(raw)).read(), list<float>({ 4, 5 }));
    UInt32 x = arange<uint32_t>(10) * 2u;
    EXPECT_EQ(item(x, 7), 14u);
    uint32_t part[3];
    read(x, part, 4, 3);
    EXPECT_EQ(list<uint32_t>({ part[0], part[1], part[2] }), list<uint32_t>({ 8, 10, 12 }));
}

TEST_P(ArrayTest, MatricesAreMultiplied) {
    // A is 2 x 3, B is 3 x 4, and so are the second ones, which come right after
    std::vector<float> a(12), b(24);
    for (size_t i = 0; i < a.size(); ++i)
        a[i] = float(int(i * 7 % 5)) - 2;
    for (size_t i = 0; i < b.size(); ++i)
        b[i] = float(int(i * 5 % 7)) - 3;
    for (bool at : { false, true })
        for (bool bt : { false, true }) {
            Gemm shape{ 2, 3, 4, at, bt, { { 0, 0 }, { 6, 12 } } };
            std::vector<float> c = Float32(gemm(copy(a), copy(b), shape)).read(), expected;
            for (size_t batch : { 0, 1 })
                for (size_t row = 0; row < 2; ++row)
                    for (size_t column = 0; column < 4; ++column) {
                        float sum = 0;
                        for (size_t k = 0; k < 3; ++k)
                            sum += a[6 * batch + (at ? k * 2 + row : row * 3 + k)] *
                                   b[12 * batch + (bt ? column * 3 + k : k * 4 + column)];
                        expected.push_back(sum);
                    }
            EXPECT_EQ(c, expected) << at << bt;
        }
}

TEST_P(ArrayTest, CopiesAreIndependentOfTheirSource) {
    std::vector<uint32_t> host{ 1, 2, 3 };
    UInt32 x = copy(host);
    host[0] = 9;
    EXPECT_EQ(x.read(), list<uint32_t>({ 1, 2, 3 }));
}

// The block ends exactly at the last element: a sanitizer would see a read past it.
TEST_P(ArrayTest, BorrowedMemoryIsUsedInPlaceAndReleasedOnce) {
    for (uint32_t n : { 1u, 3u, 7u, 17u, 1025u }) {
        auto host = std::make_unique<float[]>(n);
        std::iota(host.get(), host.get() + n, 1.f);
        int released = 0;
        {
            Float32 x(borrow_from(Type::F32, host.get(), n, [&] { ++released; }));
            EXPECT_EQ(item(sum(x * 2.f)), float(n) * float(n + 1));
            EXPECT_EQ(item(gather(x, UInt32(n - 1))), float(n));
            EXPECT_EQ(released, 0);
        }
        context.synchronize();
        EXPECT_EQ(released, 1) << n;
    }
}

TEST_P(ArrayTest, ScatteringToBorrowedMemoryWritesToACopy) {
    std::vector<uint32_t> host{ 1, 2, 3 };
    UInt32 x(borrow_from(Type::U32, host.data(), 3, {}));
    scatter(x, UInt32(9u), UInt32(1u));
    EXPECT_EQ(x.read(), list<uint32_t>({ 1, 9, 3 }));
    EXPECT_EQ(host[1], 2u);
}

TEST_P(ArrayTest, OpaqueValuesAreData) {
    Float32 literal = 3.f, x = opaque(literal), y = opaque(full(2.f, 3)),
            z = opaque(arange<float>(3) + 1.f);
    EXPECT_TRUE(literal.is_literal());
    EXPECT_TRUE(x.is_evaluated() && y.is_evaluated() && z.is_evaluated());
    EXPECT_EQ(opaque(x).id(), x.id());
    EXPECT_EQ((x * y + z).read(), list<float>({ 7, 8, 9 }));
}

// Sizes have 32 bits; one that is larger must not become another one. Nothing is allocated or read before that is seen.
TEST_P(ArrayTest, SizesThatNoArrayHasAreErrors) {
    const uint64_t n = (uint64_t(1) << 32) + 2;
    const double number = 1;
    auto expect_refusal = [&](const char *what, const std::function<void()> &make) {
        std::string m = test::user_error(make);
        EXPECT_NE(m.find("4294967298"), std::string::npos) << what << ": " << m;
    };
    expect_refusal("full", [&] { full(1.f, n); });
    expect_refusal("zeros", [&] { zeros<uint8_t>(n); });
    expect_refusal("arange", [&] { arange<uint32_t>(n); });
    expect_refusal("linspace", [&] { linspace(0.f, 1.f, n); });
    expect_refusal("literal", [&] { literal(Type::F32, 0, n); });
    expect_refusal("lane_index", [&] { lane_index(n); });
    expect_refusal("copy", [&] { copy(std::span<const double>(&number, n)); });
    expect_refusal("copy_from", [&] { copy_from(Type::F64, &number, n); });
    expect_refusal("constant_table", [&] { constant_table(Type::F64, &number, n); });
    expect_refusal("borrow_from",
                   [&] { borrow_from(Type::F64, const_cast<double *>(&number), n, [] {}); });
    uint32_t out;
    expect_refusal("read", [&] { read(opaque(arange<uint32_t>(4)), &out, 0, n); });
    expect_refusal("item", [&] { item(arange<uint32_t>(4), n); });
}

// ---- sums that scatters leave behind

// A sum of zeros is negative if all of them are; one that cancels is positive.
template <class T> void expect_signs_of_zeros() {
    const T zero = 0, minus = -zero;
    std::vector<T> target{ minus, minus, minus, minus, zero, minus },
        values{ zero, minus, 2, -2, minus, T(0.3), T(-0.3), minus };
    std::vector<uint32_t> index{ 0, 1, 2, 2, 4, 5, 5, 2 };
    Array<T> t = copy(target);
    scatter_add(t, Array<T>(copy(values)), copy(index));
    std::vector<T> got = t.read();
    const bool negative[] = { false, true, false, true, false, false };
    for (size_t i = 0; i < got.size(); ++i) {
        EXPECT_EQ(got[i], 0) << i;
        EXPECT_EQ(std::signbit(got[i]), negative[i]) << name(type_of_v<T>) << ", cell " << i;
    }
}

TEST_P(ArrayTest, SumsOfZerosHaveTheSignOfIEEE) {
    expect_signs_of_zeros<float>();
    expect_signs_of_zeros<double>();
}

// ---- gathers

template <class T> void expect_gathers() {
    std::vector<T> source;
    for (int i = 0; i < 11; ++i)
        source.push_back(T(i * 3 % 7));
    std::vector<uint32_t> index{ 10, 0, 3, 3, 9 };
    std::vector<bool> mask{ true, true, false, true, true };
    auto got = gather(copy(source), copy(index), copy(mask)).read();
    for (size_t i = 0; i < index.size(); ++i)
        EXPECT_EQ(got[i], mask[i] ? source[index[i]] : T(0)) << name(type_of_v<T>) << " lane " << i;
}

TEST_P(ArrayTest, GathersReadAnyTypeAndZerosUnderAFalseMask) {
    expect_gathers<bool>();
    expect_gathers<int8_t>();
    expect_gathers<uint16_t>();
    expect_gathers<uint32_t>();
    expect_gathers<int64_t>();
    expect_gathers<float>();
    expect_gathers<double>();
}

TEST_P(ArrayTest, GathersFromConstantsAndLaneNumbersNeedNoMemory) {
    UInt32 index = copy(list<uint32_t>({ 2, 0 }));
    EXPECT_TRUE(gather(full(5u, 3), index).is_literal());
    EXPECT_EQ(gather(arange<uint32_t>(3), index).id(), index.id());
    Mask odd = copy(list<bool>({ false, true }));
    EXPECT_EQ(gather(full(5u, 3), index, odd).read(), list<uint32_t>({ 0, 5 }));
    EXPECT_EQ(gather(arange<uint32_t>(3), index, !odd).read(), list<uint32_t>({ 2, 0 }));
}

TEST_P(ArrayTest, GathersFromUnevaluatedArraysEvaluateThem) {
    Float32 source = arange<float>(5) * 2.f;
    EXPECT_EQ(gather(source, 4u - arange<uint32_t>(5)).read(), list<float>({ 8, 6, 4, 2, 0 }));
    EXPECT_TRUE(source.is_evaluated());
}

template <class T, size_t N> void expect_packets() {
    std::vector<T> source(N * 9);
    for (size_t i = 0; i < source.size(); ++i)
        source[i] = T(i * 5 % 101);
    std::vector<uint32_t> index;
    std::vector<bool> mask;
    for (uint32_t i = 0; i < 37; ++i) {
        index.push_back(i * 7 % 9);
        mask.push_back(i % 5 != 2);
    }
    auto packet = gather_packet<T, N>(copy(source), copy(index), copy(mask));
    for (size_t k = 0; k < N; ++k) {
        auto got = packet[k].read();
        for (size_t i = 0; i < index.size(); ++i)
            ASSERT_EQ(got[i], mask[i] ? source[index[i] * N + k] : T(0))
                << name(type_of_v<T>) << " x" << N << " element " << k << " lane " << i;
    }
}

TEST_P(ArrayTest, PacketGathersEqualSingleGathers) {
    expect_packets<float, 1>();
    expect_packets<float, 2>();
    expect_packets<float, 3>();
    expect_packets<float, 4>();
    expect_packets<uint32_t, 16>();
    expect_packets<double, 4>();
    expect_packets<uint8_t, 8>();
    expect_packets<bool, 4>();
}

// ---- scatters

TEST_P(ArrayTest, ScatterStoresUnderItsMask) {
    Float32 target = zeros<float>(4);
    scatter(target, arange<float>(3) + 1.f, copy(list<uint32_t>({ 3, 1, 0 })),
            copy(list<bool>({ true, true, false })));
    EXPECT_EQ(target.read(), list<float>({ 0, 2, 0, 1 }));
}

template <class T> void expect_reductions() {
    std::vector<T> value{ T(5), T(3), T(6), T(1), T(7) };
    std::vector<uint32_t> index{ 0, 1, 0, 1, 0 };
    struct {
        ReduceOp op;
        T (*f)(T, T);
    } ops[] = {
        { ReduceOp::Add, [](T a, T b) { return T(a + b); } },
        { ReduceOp::Mul, [](T a, T b) { return T(a * b); } },
        { ReduceOp::Min, [](T a, T b) { return std::min(a, b); } },
        { ReduceOp::Max, [](T a, T b) { return std::max(a, b); } },
        { ReduceOp::And, [](T a, T b) { return T(uint64_t(a) & uint64_t(b)); } },
        { ReduceOp::Or, [](T a, T b) { return T(uint64_t(a) | uint64_t(b)); } },
    };
    for (auto [op, f] : ops) {
        if (is_float(type_of_v<T>) && (op == ReduceOp::And || op == ReduceOp::Or))
            continue;
        std::vector<T> expected{ T(2), T(2), T(2) };
        for (size_t i = 0; i < value.size(); ++i)
            expected[index[i]] = f(expected[index[i]], value[i]);
        Array<T> target = full(T(2), 3);
        scatter_reduce(op, target, copy(value), copy(index));
        EXPECT_EQ(target.read(), expected) << name(op) << " of " << name(type_of_v<T>);
    }
}

TEST_P(ArrayTest, ScatterReduceCombinesEveryType) {
    expect_reductions<int8_t>();
    expect_reductions<uint8_t>();
    expect_reductions<int16_t>();
    expect_reductions<uint16_t>();
    expect_reductions<int32_t>();
    expect_reductions<uint32_t>();
    expect_reductions<int64_t>();
    expect_reductions<uint64_t>();
    expect_reductions<float>();
    expect_reductions<double>();
}

TEST_P(ArrayTest, ScatterOfMasksIsAndOr) {
    Mask target = copy(list<bool>({ true, false }));
    scatter_reduce(ReduceOp::And, target, Mask(false), UInt32(0u));
    scatter_reduce(ReduceOp::Or, target, Mask(true), UInt32(1u));
    EXPECT_EQ(target.read(), list<bool>({ false, true }));
}

TEST_P(ArrayTest, SumsAtTheTopLevelRunInLaneOrder) {
    // In any other order the small terms would survive differently.
    std::vector<float> value;
    for (int i = 0; i < 3000; ++i)
        value.push_back(i % 3 == 0 ? 1e8f : i % 3 == 1 ? 1.f : -1e8f);
    float expected = 0.5f;
    for (float v : value)
        expected += v;
    Float32 target = full(0.5f, 1);
    scatter_add(target, copy(value), UInt32(0u));
    EXPECT_EQ(item(target), expected);
}

TEST_P(ArrayTest, OtherHandlesKeepWhatTheySaw) {
    UInt32 a = copy(list<uint32_t>({ 1, 2, 3 })), b = a;
    UInt32 twice = a * 2u; // recorded before the write, run after it
    scatter(a, UInt32(9u), UInt32(0u));
    EXPECT_EQ(b.read(), list<uint32_t>({ 1, 2, 3 }));
    EXPECT_EQ(twice.read(), list<uint32_t>({ 2, 4, 6 }));
    EXPECT_EQ(a.read(), list<uint32_t>({ 9, 2, 3 }));
}

TEST_P(ArrayTest, AGatherRecordedBeforeAScatterSeesTheOldValues) {
    UInt32 a = copy(list<uint32_t>({ 1, 2, 3 }));
    UInt32 before = gather(a, arange<uint32_t>(3));
    scatter(a, UInt32(9u), UInt32(2u));
    UInt32 after = gather(a, arange<uint32_t>(3));
    EXPECT_EQ(before.read(), list<uint32_t>({ 1, 2, 3 }));
    EXPECT_EQ(after.read(), list<uint32_t>({ 1, 2, 9 }));
}

TEST_P(ArrayTest, AnExclusiveTargetIsWrittenInPlace) {
    UInt32 a = copy(list<uint32_t>({ 1, 2, 3 }));
    const void *memory = context.graph.buffer_of(a.id())->data();
    scatter(a, UInt32(9u), UInt32(0u));
    scatter(a, UInt32(8u), UInt32(1u));
    EXPECT_EQ(a.read(), list<uint32_t>({ 9, 8, 3 }));
    EXPECT_EQ(context.graph.buffer_of(a.id())->data(), memory);
}

TEST_P(ArrayTest, LiteralsAsTargetsStayConstantsForOthers) {
    UInt32 zero = zeros<uint32_t>(2), other = zeros<uint32_t>(2);
    scatter_add(zero, UInt32(1u), UInt32(1u));
    EXPECT_EQ(zero.read(), list<uint32_t>({ 0, 1 }));
    EXPECT_EQ(other.read(), list<uint32_t>({ 0, 0 }));
}

TEST_P(ArrayTest, EffectsOnOneTargetHappenInProgramOrder) {
    UInt32 a = zeros<uint32_t>(3);
    scatter(a, UInt32(5u), arange<uint32_t>(3));              // 5 5 5
    scatter_add(a, UInt32(1u), arange<uint32_t>(6) % 3u);     // 7 7 7
    scatter(a, UInt32(2u), UInt32(1u));                       // 7 2 7
    scatter_reduce(ReduceOp::Mul, a, UInt32(3u), UInt32(1u)); // 7 6 7
    scatter_add(a, arange<uint32_t>(3), arange<uint32_t>(3)); // 7 7 9
    EXPECT_EQ(a.read(), list<uint32_t>({ 7, 7, 9 }));
}

// Of one kernel, a lane may run to its end before others begin: the first store of those must not hide the second of that one.
TEST_P(ArrayTest, LaterStoresHideEarlierOnesWhoeverWritesThem) {
    constexpr uint32_t N = 5000; // more than lanes that run together
    const UInt32 lane = arange<uint32_t>(N);
    UInt32 moved = opaque(zeros<uint32_t>(N)), mirrored = opaque(zeros<uint32_t>(N)),
           looped = opaque(zeros<uint32_t>(N));
    scatter(moved, UInt32(1u), lane);
    scatter(moved, UInt32(2u), (lane + N / 2) % N);
    EXPECT_EQ(moved.read(), std::vector<uint32_t>(N, 2));
    scatter(mirrored, UInt32(1u), lane);
    scatter(mirrored, UInt32(2u), UInt32(N - 1) - lane);
    EXPECT_EQ(mirrored.read(), std::vector<uint32_t>(N, 2));
    struct Step {
        UInt32 k;
        UMBEL_STRUCT(k)
    };
    scatter(looped, UInt32(1u), lane);
    loop(
        Step{ zeros<uint32_t>(N) }, [](const Step &s) { return s.k < 1u; },
        [&](Step &s) {
            scatter(looped, UInt32(2u), UInt32(N - 1) - lane);
            s.k += 1u;
        });
    EXPECT_EQ(looped.read(), std::vector<uint32_t>(N, 2));
}

// The same of what bodies do: a lane may be through with its second loop before another enters its first.
TEST_P(ArrayTest, EffectsOfBodiesInARowHappenInProgramOrder) {
    constexpr uint32_t N = 5000;
    const UInt32 lane = arange<uint32_t>(N), mirror = UInt32(N - 1) - lane;
    struct Step {
        UInt32 k;
        UMBEL_STRUCT(k)
    };
    auto in_loop = [&](const std::function<void()> &effect) {
        loop(
            Step{ zeros<uint32_t>(N) }, [](const Step &s) { return s.k < 1u; },
            [&](Step &s) {
                effect();
                s.k += 1u;
            });
    };
    auto in_branch = [&](const std::function<void()> &effect) {
        if_(
            lane < N,
            [&] {
                effect();
                return UInt32(0u);
            },
            [] { return UInt32(1u); });
    };
    auto in_call = [&](const std::function<void()> &effect) {
        std::function<UInt32(const UInt32 &)> callee = [&](const UInt32 &x) {
            effect();
            return x;
        };
        switch_<UInt32, UInt32>(lane & 1u, { callee, callee }, lane);
    };
    using Body = std::function<void(const std::function<void()> &)>;
    const Body bodies[] = { in_loop, in_branch, in_call };
    for (const Body &first : bodies)
        for (const Body &second : bodies) {
            UInt32 stored = opaque(zeros<uint32_t>(N)), added = opaque(zeros<uint32_t>(N)),
                   nested = opaque(zeros<uint32_t>(N)), mixed = opaque(zeros<uint32_t>(N));
            first([&] { scatter(stored, UInt32(1u), lane); });
            second([&] { scatter(stored, UInt32(2u), mirror); });
            EXPECT_EQ(stored.read(), std::vector<uint32_t>(N, 2));
            first([&] { scatter(added, UInt32(1u), lane); });
            second([&] { scatter_add(added, UInt32(2u), mirror); });
            EXPECT_EQ(added.read(), std::vector<uint32_t>(N, 3));
            first([&] { second([&] { scatter(nested, UInt32(1u), lane); }); });
            second([&] { first([&] { scatter(nested, UInt32(2u), mirror); }); });
            EXPECT_EQ(nested.read(), std::vector<uint32_t>(N, 2));
            // The second body has written to the array when it meets what cannot share its kernel
            first([&] { scatter_add(mixed, UInt32(1u), lane); });
            second([&] {
                scatter_add(mixed, UInt32(1u), lane);
                scatter_reduce(ReduceOp::Max, mixed, UInt32(1u), mirror);
            });
            EXPECT_EQ(mixed.read(), std::vector<uint32_t>(N, 2));
        }
}

// Sums commute, and what only one lane writes to, it writes in order.
TEST_P(ArrayTest, BodiesInARowShareAKernelWhereTheirOrderCannotBeTold) {
    constexpr uint32_t N = 3000;
    const UInt32 lane = arange<uint32_t>(N);
    UInt32 sums = opaque(zeros<uint32_t>(N)), own = opaque(zeros<uint32_t>(N)),
           counter = opaque(zeros<uint32_t>(1)), other = opaque(zeros<uint32_t>(N));
    struct Step {
        UInt32 k;
        UMBEL_STRUCT(k)
    };
    context.set(Flag::History, true);
    context.take_history();
    for (uint32_t i = 0; i < 2; ++i)
        loop(
            Step{ zeros<uint32_t>(N) }, [](const Step &s) { return s.k < 1u; },
            [&](Step &s) {
                scatter_add(sums, UInt32(1u), UInt32(N - 1) - lane);
                scatter(own, UInt32(i + 1), lane);
                scatter_inc(counter, UInt32(0u), lane < N); // as many lanes as the loop
                if (i)
                    scatter(other, UInt32(1u), lane % 7u);
                s.k += 1u;
            });
    context.evaluate({});
    auto launches = context.take_history();
    std::erase_if(launches, [](const KernelRecord &k) { return k.backend == "builtin"; });
    EXPECT_EQ(launches.size(), 1u);
    context.set(Flag::History, false);
    EXPECT_EQ(sums.read(), std::vector<uint32_t>(N, 2));
    EXPECT_EQ(own.read(), std::vector<uint32_t>(N, 2));
    EXPECT_EQ(item(counter), 2 * N);
}

// Where they cannot meet, they share a kernel: records, halves of an array, a second value for the same cell.
TEST_P(ArrayTest, StoresThatAreApartShareAKernel) {
    constexpr uint32_t N = 3000;
    const UInt32 lane = arange<uint32_t>(N);
    UInt32 records = opaque(zeros<uint32_t>(3 * N)), halves = opaque(zeros<uint32_t>(2 * N)),
           again = opaque(zeros<uint32_t>(N)), base = opaque(lane ^ 1u);
    context.set(Flag::History, true);
    context.take_history();
    for (uint32_t k = 0; k < 3; ++k)
        scatter(records, UInt32(k + 1), base * 3u + k);
    scatter(halves, UInt32(7u), lane);
    scatter(halves, UInt32(8u), lane + N);
    scatter(again, UInt32(1u), base);
    scatter(again, UInt32(2u), base);
    context.evaluate({});
    auto launches = context.take_history();
    std::erase_if(launches, [](const KernelRecord &k) { return k.backend == "builtin"; });
    EXPECT_EQ(launches.size(), 1u);
    context.set(Flag::History, false);
    std::vector<uint32_t> want;
    for (uint32_t i = 0; i < 3 * N; ++i)
        want.push_back(i % 3 + 1);
    EXPECT_EQ(records.read(), want);
    want.assign(N, 7);
    want.resize(2 * N, 8);
    EXPECT_EQ(halves.read(), want);
    EXPECT_EQ(again.read(), std::vector<uint32_t>(N, 2));
}

TEST_P(ArrayTest, ReadingAfterPendingEffectsSeesThem) {
    UInt32 a = zeros<uint32_t>(2);
    scatter_add(a, UInt32(4u), UInt32(1u));
    UInt32 b = a + 1u, c = gather(a, UInt32(1u));
    EXPECT_EQ(item(sum(a)), 4u);
    EXPECT_EQ(b.read(), list<uint32_t>({ 1, 5 }));
    EXPECT_EQ(c.read(), list<uint32_t>({ 4 }));
}

TEST_P(ArrayTest, ScatterIncHandsOutEachRankOnce) {
    constexpr uint32_t n = 5000;
    UInt32 counter = zeros<uint32_t>(2), lane = arange<uint32_t>(n);
    UInt32 rank = scatter_inc(counter, lane % 2u, lane % 5u != 0u);
    auto ranks = rank.read();
    auto totals = counter.read();
    EXPECT_EQ(totals, list<uint32_t>({ 2000, 2000 }));
    std::vector<int> seen(n, 0);
    for (uint32_t i = 0; i < n; ++i)
        if (i % 5)
            ++seen[ranks[i] * 2 + i % 2];
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), 4000);
}

// Of all widths, by masked lanes in a loop: those that meet in one cell of a GPU's memory go there together.
template <class T> void expect_sums_of_integers(uint32_t cells) {
    constexpr uint32_t N = 1000, Times = 2;
    std::vector<T> want_sums(cells, T(5)), want_threes(cells, T(5));
    auto cell = [&](auto lane, auto k) { return (lane * lane / 3u + k) % cells; };
    for (uint32_t k = 0; k < Times; ++k)
        for (uint32_t lane = 0; lane < N; ++lane) {
            if (lane % 7 == 2)
                continue;
            want_sums[cell(lane, k)] = T(want_sums[cell(lane, k)] + T(lane * 37));
            want_threes[cell(lane, k)] = T(want_threes[cell(lane, k)] + 3);
        }
    UInt32 lane = arange<uint32_t>(N), counter = opaque(zeros<uint32_t>(cells));
    Array<T> sums = opaque(full(T(5), cells)), threes = opaque(full(T(5), cells)),
             value = Array<T>(lane * 37u);
    struct Step {
        UInt32 k, ranks;
        UMBEL_STRUCT(k, ranks)
    };
    Step s = loop(
        Step{ zeros<uint32_t>(N), zeros<uint32_t>(N) }, [](const Step &s) { return s.k < Times; },
        [&](Step &s) {
            UInt32 index = cell(lane, s.k);
            Mask mask = lane % 7u != 2u;
            scatter_add(sums, value, index, mask);
            scatter_add(threes, Array<T>(T(3)), index, mask);
            s.ranks += scatter_inc(counter, index, mask);
            s.k += 1u;
        });
    auto ranks = s.ranks.read();
    EXPECT_EQ(sums.read(), want_sums) << name(type_of_v<T>) << ", " << cells << " cells";
    EXPECT_EQ(threes.read(), want_threes) << name(type_of_v<T>) << ", " << cells << " cells";
    // Each rank of a cell once
    uint64_t all = 0, want = 0;
    for (uint32_t r : ranks)
        all += r;
    for (uint64_t n : counter.read())
        want += n * (n - 1) / 2;
    EXPECT_EQ(all, want);
}

TEST_P(ArrayTest, IntegersOfManyLanesAreAddedToFewCells) {
    for (uint32_t cells : { 1u, 5u, 700u }) {
        expect_sums_of_integers<uint8_t>(cells);
        expect_sums_of_integers<int16_t>(cells);
        expect_sums_of_integers<uint32_t>(cells);
        expect_sums_of_integers<int64_t>(cells);
    }
}

// ---- local arrays

// For a packet of lanes, they take more than a thread has stack.
TEST_P(ArrayTest, SeveralLocalArraysMayHaveTheGreatestLength) {
    constexpr uint32_t Length = 65536, Lanes = 40;
    UInt32 lane = arange<uint32_t>(Lanes);
    LocalArray<uint64_t> a(UInt64(1u), Length), b(UInt64(2u), Length);
    a.set(lane * 1000u, UInt64(lane));
    b.set(Length - 1u - lane, UInt64(lane) * 2u);
    LocalArray<uint64_t> c = a;
    c.set(lane, UInt64(7u));
    UInt64 sum = a.get(lane * 1000u) + b.get(Length - 1u - lane) + c.get(lane) + a.get(lane + 1u);
    std::vector<uint64_t> s = sum.read();
    for (uint32_t i = 1; i < Lanes; ++i)
        EXPECT_EQ(s[i], 3 * i + 8u);
}

TEST_P(ArrayTest, LocalArraysBelongToTheirLane) {
    UInt32 lane = arange<uint32_t>(4);
    LocalArray<uint32_t> a(UInt32(100u), 3);
    a.set(lane % 3u, lane);
    a.set(UInt32(7u), UInt32(1u)); // out of range: nothing
    LocalArray<uint32_t> before = a;
    a.set(UInt32(0u), UInt32(50u), lane == 1u);
    EXPECT_EQ(a.length(), 3u);
    EXPECT_EQ(a.get(UInt32(0u)).read(), list<uint32_t>({ 0, 50, 100, 3 }));
    EXPECT_EQ(before.get(UInt32(0u)).read(), list<uint32_t>({ 0, 100, 100, 3 }));
    EXPECT_EQ(a.get(UInt32(3u) + lane).read(), list<uint32_t>({ 0, 0, 0, 0 }));
    EXPECT_EQ(a.get(lane % 3u, lane != 2u).read(), list<uint32_t>({ 0, 1, 0, 3 }));
}

// ---- whole-array algorithms

TEST_P(ArrayTest, ReductionsCombineAllElements) {
    UInt32 x = arange<uint32_t>(10) + 1u;
    EXPECT_EQ(item(sum(x)), 55u);
    EXPECT_EQ(item(prod(x)), 3628800u);
    EXPECT_EQ(item(minimum(x)), 1u);
    EXPECT_EQ(item(maximum(x)), 10u);
    EXPECT_EQ(item(dot(x, x)), 385u);
    EXPECT_EQ(item(dot(x, UInt32(2u))), 110u);
    EXPECT_EQ(UInt32(reduce(ReduceOp::Or, x)).read(), list<uint32_t>({ 15 }));
    EXPECT_EQ(UInt32(reduce(ReduceOp::And, x)).read(), list<uint32_t>({ 0 }));
    EXPECT_EQ(item(sum(Float64(x))), 55.0);
    EXPECT_EQ(item(maximum(-Float32(x))), -1.f);
}

TEST_P(ArrayTest, MasksAreAnyAllNoneAndCounted) {
    UInt32 x = arange<uint32_t>(100);
    EXPECT_TRUE(any(x == 99u));
    EXPECT_FALSE(any(x == 100u));
    EXPECT_TRUE(all(x < 100u));
    EXPECT_FALSE(all(x < 99u));
    EXPECT_TRUE(none(x > 99u));
    EXPECT_EQ(count(x % 3u == 0u), 34u);
    EXPECT_EQ(count(full(true, 7)), 7u);
    EXPECT_FALSE(any(full(true, 0)));
    EXPECT_TRUE(all(full(false, 0)));
}

TEST_P(ArrayTest, BlocksAreReducedOneByOne) {
    UInt32 x = arange<uint32_t>(10);
    EXPECT_EQ(block_sum(x, 4).read(), list<uint32_t>({ 6, 22, 17 }));
    EXPECT_EQ(UInt32(block_reduce(ReduceOp::Max, x, 5)).read(), list<uint32_t>({ 4, 9 }));
}

TEST_P(ArrayTest, PrefixSumsAreInclusiveOrExclusive) {
    UInt32 x = arange<uint32_t>(6);
    EXPECT_EQ(cumsum(x).read(), list<uint32_t>({ 0, 1, 3, 6, 10, 15 }));
    EXPECT_EQ(prefix_sum(x).read(), list<uint32_t>({ 0, 0, 1, 3, 6, 10 }));
    EXPECT_EQ(UInt32(prefix_sum(x, false, 3)).read(), list<uint32_t>({ 0, 1, 3, 3, 7, 12 }));
}

// Backends may fetch elements that stand side by side together.
TEST_P(ArrayTest, NeighboursAreGatheredOneByOneOrTogether) {
    constexpr uint32_t n = 1000;
    Float32 table = copy([] {
        std::vector<float> v(n);
        for (uint32_t i = 0; i < n; ++i)
            v[i] = float(i * i % 977);
        return v;
    }());
    UInt32 lane = arange<uint32_t>(333), i = (lane * 2654435761u) % (n - 65u);
    Mask some = lane % 3u != 0u;
    auto at = [&](uint32_t offset, const Mask &mask) { return gather(table, i + offset, mask); };
    Float32 up = at(0, some) + 2.f * at(1, some), down = at(64, some) + 3.f * at(63, some);
    Float32 others = at(32, true) + 5.f * at(33, some); // under different masks
    Float32 three = at(9, some) + 7.f * at(10, some) + 11.f * at(11, some);
    Int32 bits = gather(Int32(bitcast(Type::I32, table)), i + 1u, some);
    auto u = up.read(), d = down.read(), o = others.read(), t = three.read();
    auto b = bits.read();
    for (uint32_t k = 0; k < 333; ++k) {
        uint32_t first = k * 2654435761u % (n - 65);
        auto v = [&](uint32_t offset) { return float((first + offset) * (first + offset) % 977); };
        float m = k % 3 ? 1.f : 0.f;
        EXPECT_EQ(u[k], m * (v(0) + 2 * v(1))) << k;
        EXPECT_EQ(d[k], m * (v(64) + 3 * v(63))) << k;
        EXPECT_EQ(o[k], v(32) + m * 5 * v(33)) << k;
        EXPECT_EQ(t[k], m * (v(9) + 7 * v(10) + 11 * v(11))) << k;
        EXPECT_EQ(b[k], k % 3 ? std::bit_cast<int32_t>(v(1)) : 0) << k;
    }
}

// The last elements of an array, with nothing behind them; the whole range of indices.
TEST_P(ArrayTest, NeighboursAreGatheredAtTheEndsOfAnArray) {
    Float32 table = arange<float>(64) + 1.f;
    eval(table);
    UInt32 i = opaque(UInt32(62u)) + arange<uint32_t>(20) * 0u;
    EXPECT_EQ((gather(table, i) + gather(table, i + 1u)).read(), std::vector<float>(20, 127));
    EXPECT_EQ((gather(table, i + 1u) - gather(table, i)).read(), std::vector<float>(20, 1));
    UInt32 below = i - 63u; // 2^32 - 1: its neighbour is element 0
    Mask none = i == 0u;
    EXPECT_EQ((gather(table, below, none) + gather(table, below + 1u, none)).read(),
              std::vector<float>(20, 0));
}

TEST_P(ArrayTest, CompressListsTheTrueLanes) {
    UInt32 lanes(compress(arange<uint32_t>(10) % 4u == 1u));
    EXPECT_EQ(lanes.read(), list<uint32_t>({ 1, 5, 9 }));
    EXPECT_EQ(UInt32(compress(full(false, 5))).size(), 0u);
}

TEST_P(ArrayTest, LanesAreListedInAnArrayOfAnySize) {
    Mask held = arange<uint32_t>(10) % 4u == 1u; // 1, 5, 9
    auto lists = [](const Mask &mask, uint32_t size, std::vector<uint32_t> lanes, uint32_t count) {
        LaneList r = compress(mask, size);
        EXPECT_EQ(r.lanes.read(), lanes) << size;
        EXPECT_EQ(r.count.read(), list<uint32_t>({ count })) << size;
    };
    lists(held, 5, { 1, 5, 9, 0, 0 }, 3);
    lists(held, 3, { 1, 5, 9 }, 3);
    lists(held, 2, { 1, 5 }, 3); // no room for all
    lists(held, 0, {}, 3);
    lists(full(false, 7), 2, { 0, 0 }, 0);
    lists(full(true, 3), 4, { 0, 1, 2, 0 }, 3);
    lists(Mask(true), 2, { 0, 0 }, 1);
    lists(full(true, 0), 2, { 0, 0 }, 0);
    Mask some = arange<uint32_t>(100000) * 2654435761u < 0x40000000u;
    UInt32 many(compress(some));
    LaneList r = compress(some, 100000);
    ASSERT_GT(many.size(), 20000u);
    EXPECT_EQ(r.count.read(), list<uint32_t>({ many.size() }));
    std::vector<uint32_t> expected = many.read();
    expected.resize(100000);
    EXPECT_EQ(r.lanes.read(), expected);
}

TEST_P(ArrayTest, SortPermutationSortsStably) {
    Float32 keys = copy(list<float>({ 3, -1, 3, 0, -1 }));
    UInt32 order(sort_permutation(keys)), back(sort_permutation(keys, true));
    EXPECT_EQ(order.read(), list<uint32_t>({ 1, 4, 3, 0, 2 }));
    EXPECT_EQ(back.read(), list<uint32_t>({ 0, 2, 3, 1, 4 }));
    EXPECT_EQ(gather(keys, order).read(), list<float>({ -1, -1, 0, 3, 3 }));
}

// Several runs of a lane, the last of them short; many equal keys.
TEST_P(ArrayTest, KeysOfAllTypesAreSortedAsOnTheHost) {
    UInt32 hash = arange<uint32_t>(1000) * 2654435761u;
    hash = (hash ^ (hash >> UInt32(13u))) % 301u;
    for (Type t : { Type::I8, Type::U16, Type::I32, Type::U32, Type::I64, Type::F16, Type::F32,
                    Type::F64 }) {
        Value keys = opaque(cast(t, binary(Op::Sub, cast(Type::I32, hash),
                                           literal(Type::I32, is_unsigned(t) ? 0 : 150))));
        std::vector<char> read_keys(bytes(t) * keys.size());
        read(keys, read_keys.data(), 0, keys.size());
        for (bool descending : { false, true }) {
            std::vector<uint32_t> want(keys.size());
            sort_permutation(t, read_keys.data(), keys.size(), descending, want.data());
            EXPECT_EQ(UInt32(sort_permutation(keys, descending)).read(), want)
                << name(t) << (descending ? ", descending" : "");
        }
    }
}

TEST_P(ArrayTest, ArraysOfOneNumberAreFilledWithIt) {
    EXPECT_EQ(Float64(opaque(full(Type::F64, to_bits(0.1), 1001))).read(),
              std::vector<double>(1001, 0.1));
    EXPECT_EQ(Array<uint16_t>(opaque(full(Type::U16, 0x1234, 33))).read(),
              std::vector<uint16_t>(33, 0x1234));
    EXPECT_EQ(Array<uint8_t>(opaque(full(Type::U8, 7, 5))).read(), std::vector<uint8_t>(5, 7));
    EXPECT_EQ(UInt64(opaque(full(Type::U64, 0x500000005, 3))).read(),
              std::vector<uint64_t>(3, 0x500000005));
}

// Whoever writes to an array that others have gets a copy.
TEST_P(ArrayTest, CopiesOfArraysHaveTheirContents) {
    Float32 x = opaque(arange<float>(100) * 2.f), y = x;
    scatter(y, Float32(-1.f), UInt32(3u));
    std::vector<float> want = x.read();
    EXPECT_EQ(want[3], 6);
    want[3] = -1;
    EXPECT_EQ(y.read(), want);
}

// ---- host functions

TEST_P(ArrayTest, HostFunctionsSeeTheLanesOfTheirMask) {
    auto half_of = [](void *user, uint64_t, uint32_t lanes, const int32_t *mask, void *frame) {
        auto *in = static_cast<float *>(frame), *out = in + lanes;
        for (uint32_t i = 0; i < lanes; ++i)
            if (mask[i])
                out[i] = in[i] / *static_cast<float *>(user);
    };
    float divisor = 2;
    Value x = arange<float>(100), even = arange<uint32_t>(100) % 2u == 0u;
    Type type = Type::F32;
    auto out = call_host("half_of", half_of, &divisor, { &x, 1 }, { &type, 1 }, even);
    auto got = select(Mask(even), Float32(out[0]), Float32(-1.f)).read();
    for (uint32_t i = 0; i < 100; ++i)
        EXPECT_EQ(got[i], i % 2 ? -1.f : float(i) / 2) << i;
}

UMBEL_BACKENDS(ArrayTest)

} // namespace
