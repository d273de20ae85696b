// tests/jit/llvm_test.cpp: compiled kernels against constant folding: operations, memory, launches.
#include "llvm_support.h"
#include <sys/mman.h>
#include <unistd.h>

// LLVM's, whose headers are the backend's own affair.
namespace llvm {
[[noreturn]] void report_bad_alloc_error(const char *reason, bool diagnose);
[[noreturn]] void report_fatal_error(const char *reason, bool diagnose);
} // namespace llvm

using namespace umbel;
using namespace umbel::jit;
using namespace umbel::jit::llvm_tests;

namespace {

// ---- element-wise operations

/// All operations of a type on all pairs of edge values, in one kernel, vectors or scalars.
void check_operations(Type t, bool transcendental) {
    std::vector<uint64_t> e = edges(t), a, b, c;
    std::mt19937_64 random(1);
    for (uint64_t x : e)
        for (uint64_t y : e) {
            a.push_back(x);
            b.push_back(y);
            c.push_back(e[random() % e.size()]);
        }
    size_t n = a.size();
    Writer w;
    Writer::V va = w.input_bits(t, a), vb = w.input_bits(t, b), vc = w.input_bits(t, c);
    std::vector<std::pair<Op, uint32_t>> outputs;
    for (int k = 0; k < OpCount; ++k) {
        Op op = Op(k);
        bool math = is_transcendental(op) || op == Op::Atan2 || op == Op::Pow;
        if (op < Op::Neg || op > Op::Fma || op == Op::Cast || op == Op::Bitcast || !has(op, t) ||
            math != transcendental)
            continue;
        Writer::V v = operands(op) == 1   ? w.op(op, va)
                      : operands(op) == 2 ? w.op(op, va, vb)
                                          : w.add(op, t, { va, vb, vc });
        outputs.push_back({ op, w.output(v, n) });
    }
    w.run(n);
    for (auto [op, out] : outputs)
        for (size_t i = 0; i < n; ++i) {
            uint64_t in[3] = { a[i], b[i], c[i] }, want = 0;
            Type result = op >= Op::Eq && op <= Op::Le ? Type::Bool : t;
            ASSERT_TRUE(fold(op, result, t, in, want));
            ASSERT_TRUE(same(result, w.get_bits(out, i), want))
                << name(op) << " " << name(t) << std::hex << " of " << a[i] << ", " << b[i] << ", "
                << c[i] << ": " << w.get_bits(out, i) << ", must be " << want;
        }
}

TEST(BackendLlvm, ArithmeticAgreesWithFoldingForEveryType) {
    at_every_width([] {
        for (Type t : AllNumbers)
            if (t != Type::F16 || has_half())
                check_operations(t, false);
        check_operations(Type::Bool, false);
    });
}

TEST(BackendLlvm, TranscendentalsAgreeWithFoldingToTheBit) {
    on_every_cpu([] {
        for (Type t : { Type::F16, Type::F32, Type::F64 })
            if (t != Type::F16 || has_half())
                check_operations(t, true);
    });
}

TEST(BackendLlvm, UniformValuesAreComputedLikeVaryingOnes) {
    for (Type t : AllNumbers) {
        std::vector<uint64_t> e = edges(t);
        Writer w;
        uint32_t args[3];
        Writer::V v[3];
        for (int k = 0; k < 3; ++k) {
            args[k] = w.arg(ArgKind::Scalar, t, 1);
            v[k] = w.add(Op::LoadScalar, t, {}, args[k]);
        }
        std::vector<std::pair<Op, uint32_t>> outputs;
        for (int k = int(Op::Neg); k <= int(Op::Fma); ++k) {
            Op op = Op(k);
            if (op == Op::Cast || op == Op::Bitcast || !has(op, t))
                continue;
            Writer::V r = operands(op) == 1   ? w.op(op, v[0])
                          : operands(op) == 2 ? w.op(op, v[0], v[1])
                                              : w.add(op, t, { v[0], v[1], v[2] });
            outputs.push_back({ op, w.output(r, 20) });
        }
        auto kernel = w.compile();
        std::mt19937_64 random(2);
        for (int round = 0; round < 60; ++round) {
            uint64_t in[3];
            for (int k = 0; k < 3; ++k) {
                in[k] = e[random() % e.size()];
                std::memcpy(w.memory[args[k]].data(), &in[k], bytes(t));
            }
            w.run(*kernel, 20);
            for (auto [op, out] : outputs) {
                uint64_t want = 0;
                Type result = op >= Op::Eq && op <= Op::Le ? Type::Bool : t;
                ASSERT_TRUE(fold(op, result, t, in, want));
                ASSERT_TRUE(same(result, w.get_bits(out, 17), want)) << name(op) << " " << name(t);
            }
        }
    }
}

TEST(BackendLlvm, CastsAgreeWithFoldingForEveryPair) {
    at_every_width([] {
        for (Type from : { Type::Bool, Type::I8, Type::U8, Type::I16, Type::U16, Type::I32,
                           Type::U32, Type::I64, Type::U64, Type::F16, Type::F32, Type::F64 }) {
            if (from == Type::F16 && !has_half())
                continue;
            std::vector<uint64_t> a = edges(from);
            std::mt19937_64 random(3);
            uint64_t mask = from == Type::Bool ? 1
                            : bits(from) == 64 ? ~0ull
                                               : (1ull << bits(from)) - 1;
            for (int k = 0; k < 100; ++k)
                a.push_back(random() & mask);
            Writer w;
            Writer::V v = w.input_bits(from, a);
            std::vector<std::tuple<Op, Type, uint32_t>> outputs;
            for (Type to : { Type::Bool, Type::I8, Type::U8, Type::I16, Type::U16, Type::I32,
                             Type::U32, Type::I64, Type::U64, Type::F16, Type::F32, Type::F64 }) {
                if (to == Type::F16 && !has_half())
                    continue;
                outputs.push_back({ Op::Cast, to, w.output(w.cast(v, to), a.size()) });
                if (bits(to) == bits(from))
                    outputs.push_back(
                        { Op::Bitcast, to, w.output(w.add(Op::Bitcast, to, { v }), a.size()) });
            }
            w.run(a.size());
            for (auto [op, to, out] : outputs)
                for (size_t i = 0; i < a.size(); ++i) {
                    uint64_t want = 0;
                    ASSERT_TRUE(fold(op, to, from, &a[i], want));
                    ASSERT_TRUE(same(to, w.get_bits(out, i), want))
                        << name(op) << " " << name(from) << " to " << name(to) << std::hex << " of "
                        << a[i] << ": " << w.get_bits(out, i) << ", must be " << want;
                }
        }
    });
}

TEST(BackendLlvm, DivisionByLiteralsFollowsTheRules) {
    for (Type t : AllNumbers) {
        if (!is_int(t))
            continue;
        std::vector<uint64_t> a = edges(t);
        Writer w;
        Writer::V v = w.input_bits(t, a);
        std::vector<std::tuple<Op, uint64_t, uint32_t>> outputs;
        for (uint64_t d : edges(t))
            for (Op op : { Op::Div, Op::Mod })
                outputs.push_back(
                    { op, d, w.output(w.op(op, v, w.add(Op::Literal, t, {}, d)), a.size()) });
        w.run(a.size());
        for (auto [op, d, out] : outputs)
            for (size_t i = 0; i < a.size(); ++i) {
                uint64_t in[2] = { a[i], d }, want = 0;
                ASSERT_TRUE(fold(op, t, t, in, want));
                ASSERT_EQ(w.get_bits(out, i), want)
                    << name(op) << " " << name(t) << std::hex << a[i] << " by " << d;
            }
    }
}

// ---- launches

TEST(BackendLlvm, RunsEverySizeWithoutReadingPastInputs) {
    at_every_width([] {
        // Inputs end where a page without access begins.
        size_t page = size_t(sysconf(_SC_PAGESIZE));
        char *room = static_cast<char *>(
            mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        ASSERT_NE(room, MAP_FAILED);
        mprotect(room + 2 * page, page, PROT_NONE);
        for (size_t n : { 1, 3, 4, 7, 8, 15, 16, 17, 63, 1000, 1024, 1025 }) {
            float *in = reinterpret_cast<float *>(room + 2 * page) - n;
            for (size_t i = 0; i < n; ++i)
                in[i] = float(i) * 0.5f;
            Writer w;
            uint32_t a = w.arg(ArgKind::Input, Type::F32, n, in);
            Writer::V x = w.add(Op::LoadLane, Type::F32, {}, a);
            uint32_t out = w.output(w.op(Op::Add, x, w.cast(w.lane(), Type::F32)), n);
            w.run(n);
            for (size_t i = 0; i < n; ++i)
                ASSERT_EQ(w.get<float>(out, i), float(i) * 1.5f) << i << " of " << n;
        }
        munmap(room, 3 * page);
    });
}

TEST(BackendLlvm, ThreadsShareAKernel) {
    Writer w;
    uint32_t out = w.output(w.op(Op::Mul, w.lane(), w.lit(3u)), 100000);
    w.run(*w.compile(), 100000, 4);
    for (uint32_t i = 0; i < 100000; ++i)
        ASSERT_EQ(w.get<uint32_t>(out, i), 3 * i);
}

TEST(BackendLlvm, SavedKernelsRunAndDamagedOnesAreRefused) {
    Writer w;
    Writer::V x = w.input(std::vector<float>{ 1, 4, 9 });
    uint32_t out = w.output(w.op(Op::Sqrt, x), 3);
    auto kernel = w.compile();
    std::string bytes = kernel->save();
    EXPECT_GT(kernel->code_bytes(), 0u);
    kernel.reset();
    auto loaded = llvm_backend().load(bytes);
    ASSERT_TRUE(loaded);
    w.run(*loaded, 3);
    EXPECT_EQ(w.get<float>(out, 2), 3.f);

    for (size_t n = 0; n < bytes.size(); n += 1 + n / 7)
        EXPECT_FALSE(llvm_backend().load(std::string_view(bytes).substr(0, n))) << n;
    std::mt19937 random(4);
    for (int k = 0; k < 200; ++k) {
        std::string damaged = bytes;
        damaged[random() % bytes.size()] ^= char(1 + random() % 255);
        EXPECT_FALSE(llvm_backend().load(damaged));
    }
    EXPECT_FALSE(llvm_backend().load(bytes + "x"));
    Setting width("UMBEL_WIDTH", loaded->width() == 8 ? "4" : "8");
    EXPECT_FALSE(llvm_backend().load(bytes)); // made for another width
}

// ---- memory

TEST(BackendLlvm, GathersEveryTypeUnderAMask) {
    at_every_width([] {
        for (Type t : { Type::Bool, Type::I8, Type::U16, Type::I32, Type::U64, Type::F16, Type::F32,
                        Type::F64, Type::Ptr })
            for (bool small : { true, false }) {
                size_t n = 300, m = 77;
                Writer w;
                uint32_t a = w.arg(ArgKind::Pointer, t, m);
                w.program.args[a].small = small;
                std::mt19937_64 random(5);
                for (uint8_t &byte : w.memory[a])
                    byte = uint8_t(t == Type::Bool ? random() & 1 : random());
                std::vector<uint32_t> index;
                for (size_t i = 0; i < n; ++i)
                    index.push_back(uint32_t(random() % m));
                Writer::V p = w.add(Op::ArgPtr, Type::Ptr, {}, a), k = w.input(index);
                Writer::V odd = w.op(Op::Eq, w.op(Op::And, w.lane(), w.lit(1u)), w.lit(1u));
                Writer::V mask = w.op(Op::And, odd, w.active());
                uint32_t out = w.output(w.add(Op::Gather, t, { p, k, mask }), n);
                w.run(n);
                for (size_t i = 0; i < n; ++i)
                    ASSERT_EQ(w.get_bits(out, i), i % 2 ? w.get_bits(a, index[i]) : 0)
                        << name(t) << " " << i;
            }
    });
}

TEST(BackendLlvm, PacketsOfEveryLengthAreTransposed) {
    on_every_cpu([] {
        for (Type t : { Type::I8, Type::F16, Type::F32, Type::F64 })
            for (uint32_t length : { 1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 20, 64 }) {
                size_t n = 100, m = 33;
                Writer w;
                uint32_t a = w.arg(ArgKind::Pointer, t, m * length);
                std::mt19937_64 random(6);
                for (uint8_t &byte : w.memory[a])
                    byte = uint8_t(random());
                std::vector<uint32_t> index;
                for (size_t i = 0; i < n; ++i)
                    index.push_back(uint32_t(random() % m));
                Writer::V p = w.add(Op::ArgPtr, Type::Ptr, {}, a), k = w.input(index);
                Writer::V mask =
                    w.op(Op::And, w.op(Op::Ne, w.op(Op::And, w.lane(), w.lit(3u)), w.lit(2u)),
                         w.active());
                Writer::V packet = w.add(Op::Packet, t, { p, k, mask }, length);
                std::vector<uint32_t> outs;
                for (uint32_t e = 0; e < length; ++e)
                    outs.push_back(w.output(w.add(Op::PacketGet, t, { packet }, e), n));
                w.run(n);
                for (uint32_t e = 0; e < length; ++e)
                    for (size_t i = 0; i < n; ++i)
                        ASSERT_EQ(w.get_bits(outs[e], i),
                                  i % 4 != 2 ? w.get_bits(a, index[i] * length + e) : 0)
                            << name(t) << " " << length << " element " << e << " lane " << i;
            }
    });
}

// Masked lanes have indices far beyond the array: nothing may be read there, and they get zeros.
TEST(BackendLlvm, RecordsThatAllLanesAskForAreTheirs) {
    on_every_cpu([] {
        for (Type t : { Type::F16, Type::F32, Type::F64 })
            for (uint32_t length : { 3, 4, 8, 16 }) {
                size_t n = 100, m = 33;
                Writer w;
                uint32_t a = w.arg(ArgKind::Pointer, t, m * length);
                std::mt19937_64 random(7);
                for (uint8_t &byte : w.memory[a])
                    byte = uint8_t(random());
                // One record for 32 lanes, none for the next 32, then those of each lane
                std::vector<uint32_t> index, wanted;
                for (size_t i = 0; i < n; ++i) {
                    wanted.push_back(i / 32 != 1 && i % 4 != 0);
                    index.push_back(!wanted[i] ? 0x3fffffffu : i < 32 ? 5u : uint32_t(i % m));
                }
                Writer::V p = w.add(Op::ArgPtr, Type::Ptr, {}, a), k = w.input(index);
                Writer::V mask =
                    w.op(Op::And, w.op(Op::Ne, w.input(wanted), w.lit(0u)), w.active());
                Writer::V packet = w.add(Op::Packet, t, { p, k, mask }, length);
                std::vector<uint32_t> outs;
                for (uint32_t e = 0; e < length; ++e)
                    outs.push_back(w.output(w.add(Op::PacketGet, t, { packet }, e), n));
                w.run(n);
                for (uint32_t e = 0; e < length; ++e)
                    for (size_t i = 0; i < n; ++i)
                        ASSERT_EQ(w.get_bits(outs[e], i),
                                  wanted[i] ? w.get_bits(a, index[i] * length + e) : 0)
                            << name(t) << " " << length << " element " << e << " lane " << i;
            }
    });
}

TEST(BackendLlvm, ScatteredStoresKeepLaneOrder) {
    at_every_width([] {
        size_t n = 100;
        Writer w;
        Writer::V p = w.pointer(std::vector<uint32_t>(8, 999u)), l = w.lane();
        Writer::V k = w.op(Op::Mod, l, w.lit(7u));
        w.add(Op::Scatter, Type::Void, { p, k, l, w.active() }, uint64_t(ReduceOp::Store));
        w.run(n);
        for (uint32_t k2 = 0; k2 < 7; ++k2)
            EXPECT_EQ(w.get<uint32_t>(0, k2), 99 - (99 - k2) % 7);
        EXPECT_EQ(w.get<uint32_t>(0, 7), 999u);
    });
}

TEST(BackendLlvm, ReductionsIntoMemoryLoseNothingBetweenThreads) {
    on_every_cpu([] {
        for (Type t :
             { Type::I8, Type::U16, Type::I32, Type::U64, Type::F16, Type::F32, Type::F64 })
            for (ReduceOp op : { ReduceOp::Add, ReduceOp::Mul, ReduceOp::Min, ReduceOp::Max,
                                 ReduceOp::And, ReduceOp::Or })
                for (uint32_t cells : { 1u, 5u }) {
                    if ((is_float(t) && (op == ReduceOp::And || op == ReduceOp::Or)) ||
                        (t == Type::F16 && !has_half()))
                        continue;
                    // Small integers, so that every order of operations gives the same result.
                    size_t n = 4096;
                    Writer w;
                    uint32_t a = w.arg(ArgKind::Pointer, t, cells);
                    uint64_t start = 3, one = op == ReduceOp::And ? 127 : start;
                    uint64_t init = 0;
                    ASSERT_TRUE(fold(Op::Cast, t, Type::U64, &one, init));
                    for (uint32_t c = 0; c < cells; ++c)
                        std::memcpy(&w.memory[a][c * bytes(t)], &init, bytes(t));
                    Writer::V p = w.add(Op::ArgPtr, Type::Ptr, {}, a), l = w.lane();
                    Writer::V cell = w.op(Op::Mod, w.op(Op::Div, l, w.lit(3u)), w.lit(cells));
                    Writer::V v = w.cast(w.op(Op::And, l, w.lit(op == ReduceOp::Mul ? 0u : 1u)), t);
                    if (op == ReduceOp::Mul)
                        v = w.cast(w.lit(1u), t);
                    if (op == ReduceOp::Max || op == ReduceOp::Or || op == ReduceOp::And)
                        v = w.cast(w.op(Op::Or, w.op(Op::And, l, w.lit(15u)), w.lit(64u)), t);
                    Writer::V mask = w.op(
                        Op::And, w.op(Op::Lt, w.op(Op::And, l, w.lit(15u)), w.lit(9u)), w.active());
                    if (cells == 5 || op == ReduceOp::Mul)
                        mask = w.active();
                    w.add(Op::Scatter, Type::Void, { p, cell, v, mask }, uint64_t(op));
                    w.run(*w.compile(), n, 2);
                    // Reference, lane by lane
                    std::vector<uint64_t> want(cells, init);
                    Op element[] = { Op::Add, Op::Add, Op::Mul, Op::Min, Op::Max, Op::And, Op::Or };
                    for (uint64_t i = 0; i < n; ++i) {
                        uint64_t x = op == ReduceOp::Mul                          ? 1
                                     : op == ReduceOp::Add || op == ReduceOp::Min ? i & 1
                                                                                  : (i & 15) | 64;
                        if (cells == 1 && op != ReduceOp::Mul && (i & 15) >= 9)
                            continue;
                        uint64_t in[2] = { want[i / 3 % cells], 0 };
                        ASSERT_TRUE(fold(Op::Cast, t, Type::U64, &x, in[1]));
                        ASSERT_TRUE(fold(element[int(op)], t, t, in, want[i / 3 % cells]));
                    }
                    for (uint32_t c = 0; c < cells; ++c)
                        ASSERT_EQ(w.get_bits(a, c), want[c])
                            << name(t) << " " << name(op) << " cell " << c;
                }
    });
}

TEST(BackendLlvm, CountersHandOutEachNumberOnce) {
    at_every_width([] {
        for (uint32_t counters : { 1u, 3u }) {
            size_t n = 5000;
            Writer w;
            Writer::V p = w.pointer(std::vector<uint32_t>(counters, 0)), l = w.lane();
            Writer::V mask =
                w.op(Op::And, w.op(Op::Ne, w.op(Op::Mod, l, w.lit(5u)), w.lit(0u)), w.active());
            Writer::V k =
                w.add(Op::ScatterInc, Type::U32, { p, w.op(Op::Mod, l, w.lit(counters)), mask });
            uint32_t out = w.output(k, n);
            w.run(*w.compile(), n, 2);
            for (uint32_t c = 0; c < counters; ++c) {
                std::vector<int> seen(w.get<uint32_t>(0, c), 0);
                for (size_t i = c; i < n; i += counters)
                    if (i % 5)
                        ++seen.at(w.get<uint32_t>(out, i));
                    else
                        EXPECT_EQ(w.get<uint32_t>(out, i), 0u);
                for (int s : seen)
                    ASSERT_EQ(s, 1);
            }
        }
    });
}

// LLVM ended the process where its own requests for memory failed.
TEST(BackendLlvm, FailuresInsideOfLlvmAreErrors) {
    auto product = [] {
        Writer w;
        Writer::V x = w.input_bits(Type::U32, { 3, 4 });
        uint32_t out = w.output(w.op(Op::Mul, x, x), 2);
        w.run(2);
        EXPECT_EQ(w.get<uint32_t>(out, 1), 16u);
    };
    product(); // now LLVM is there
    EXPECT_THROW(llvm::report_bad_alloc_error("no memory", false), std::bad_alloc);
    try {
        llvm::report_fatal_error("no such instruction", false);
    } catch (const InternalError &e) {
        EXPECT_NE(std::string(e.what()).find("no such instruction"), std::string::npos);
    }
    product();
}

} // namespace
