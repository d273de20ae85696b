// tests/jit/llvm_test.cpp: compiled kernels against constant folding, plain C++ and the interpreter.
#include "jit/backend.h"
#include "jit/error.h"
#include "jit/interp/fold.h"
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <mutex>
#include <random>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

using namespace umbel;
using namespace umbel::jit;

namespace {

// ---- support: settings, programs, launches

struct Setting {
    const char *name;
    Setting(const char *name, const std::string &value) : name(name) { setenv(name, value.c_str(), 1); }
    ~Setting() { unsetenv(name); }
};

/// Runs a test body at each width that kernels can have.
template <class F> void at_every_width(F body) {
    Setting verify("UMBEL_VERIFY", "1");
    for (int width : { 4, 8, 16 }) {
        SCOPED_TRACE("width " + std::to_string(width));
        Setting w("UMBEL_WIDTH", std::to_string(width));
        body();
    }
}

template <class T> uint64_t bits_of(T x) {
    uint64_t b = 0;
    std::memcpy(&b, &x, sizeof x);
    return b;
}

constexpr size_t Pad = 64; // elements that buffers have past their end
constexpr Type AllNumbers[] = { Type::I8,  Type::U8,  Type::I16, Type::U16, Type::I32, Type::U32,
                                Type::I64, Type::U64, Type::F16, Type::F32, Type::F64 };

struct Recorder : LaunchLog {
    std::mutex mutex;
    std::vector<std::pair<uint64_t, uint32_t>> printed; // lane, first input
    std::vector<uint64_t> failed;
    void print(uint32_t, uint64_t first, uint32_t lanes, const int32_t *mask, const void *frame) override {
        std::lock_guard lock(mutex);
        for (uint32_t l = 0; l < lanes; ++l)
            if (mask[l])
                printed.push_back({ first + l, static_cast<const uint32_t *>(frame)[l] });
    }
    void assertion(uint32_t, uint64_t first, uint32_t lanes, const int32_t *mask) override {
        std::lock_guard lock(mutex);
        for (uint32_t l = 0; l < lanes; ++l)
            if (mask[l])
                failed.push_back(first + l);
    }
    void error(const std::string &message) override { ADD_FAILURE() << message; }
};

/// Writes a program instruction by instruction and runs it on buffers of its own.
struct Writer {
    using V = uint32_t;
    Program program;
    uint32_t function = 0;
    std::vector<std::vector<uint8_t>> memory; // by argument
    std::vector<void *> fixed;                // by argument, where it is not ours
    Recorder log;

    Writer() { program.functions.emplace_back(); }
    Function &f() { return program.functions[function]; }
    V add(Op op, Type t, std::vector<V> args = {}, uint64_t imm = 0, uint32_t length = 0) {
        Inst i{ op, t };
        for (size_t k = 0; k < args.size(); ++k)
            i.arg[k] = args[k];
        i.imm = imm;
        i.length = length;
        i.uniform = op == Op::Literal || op == Op::LoadScalar || op == Op::ArgPtr;
        f().insts.push_back(i);
        return V(f().insts.size() - 1);
    }
    template <class T> V lit(T x) { return add(Op::Literal, type_of_v<T>, {}, bits_of(x)); }
    V zero(Type t) { return add(Op::Literal, t); }
    V lane() { return add(Op::Lane, Type::U32); }
    V active() { return add(Op::Active, Type::Bool); }
    V op(Op o, V a) { return add(o, type(a), { a }); }
    V op(Op o, V a, V b) {
        bool comparison = o >= Op::Eq && o <= Op::Le;
        return add(o, comparison ? Type::Bool : type(a), { a, b });
    }
    V select(V m, V a, V b) { return add(Op::Select, type(a), { m, a, b }, 0, f().insts[a].length); }
    V cast(V a, Type t) { return add(Op::Cast, t, { a }); }
    Type type(V v) { return f().insts[v].type; }

    uint32_t arg(ArgKind kind, Type t, size_t n, void *external = nullptr) {
        program.args.push_back({ kind, t });
        memory.emplace_back(external ? 0 : (n + Pad) * bytes(t));
        fixed.push_back(external);
        return uint32_t(memory.size() - 1);
    }
    template <class T> uint32_t arg(ArgKind kind, const std::vector<T> &v) {
        uint32_t a = arg(kind, type_of_v<T>, v.size());
        std::memcpy(memory[a].data(), v.data(), v.size() * sizeof(T));
        return a;
    }
    V input_bits(Type t, const std::vector<uint64_t> &v) {
        uint32_t a = arg(ArgKind::Input, t, v.size());
        for (size_t k = 0; k < v.size(); ++k)
            std::memcpy(&memory[a][k * bytes(t)], &v[k], bytes(t));
        return add(Op::LoadLane, t, {}, a);
    }
    template <class T> V input(const std::vector<T> &v) {
        return add(Op::LoadLane, type_of_v<T>, {}, arg(ArgKind::Input, v));
    }
    template <class T> V pointer(const std::vector<T> &v) {
        return add(Op::ArgPtr, Type::Ptr, {}, arg(ArgKind::Pointer, v));
    }
    template <class T> V scalar(T x) {
        return add(Op::LoadScalar, type_of_v<T>, {}, arg(ArgKind::Scalar, std::vector<T>{ x }));
    }
    uint32_t output(V v, size_t n) {
        uint32_t a = arg(ArgKind::Output, type(v), n);
        add(Op::StoreLane, Type::Void, { v }, a);
        return a;
    }
    uint32_t begin_function(std::vector<Type> params, uint32_t data_bytes = 0) {
        program.functions.emplace_back();
        program.functions.back().params = std::move(params);
        program.functions.back().data_bytes = data_bytes;
        return function = uint32_t(program.functions.size() - 1);
    }

    std::unique_ptr<Kernel> compile(Backend &backend = llvm_backend()) {
        verify(program);
        return backend.compile(program, "test_kernel");
    }
    void run(const Kernel &kernel, uint64_t n, unsigned threads = 1) {
        std::vector<void *> args;
        std::vector<uint64_t> sizes;
        for (size_t a = 0; a < memory.size(); ++a) {
            args.push_back(fixed[a] ? fixed[a] : memory[a].data());
            sizes.push_back(fixed[a] ? 0 : memory[a].size() / bytes(program.args[a].type) - Pad);
        }
        Launch launch{ args.data(), sizes.data(), n, &log };
        std::vector<std::thread> pool;
        uint64_t step = threads == 1 ? n : (n / threads + Grain - 1) / Grain * Grain;
        for (uint64_t begin = 0; begin < n; begin += step)
            pool.emplace_back([&, begin] { kernel.run(launch, begin, std::min(n, begin + step)); });
        for (std::thread &t : pool)
            t.join();
    }
    void run(uint64_t n) { run(*compile(), n); }
    template <class T> T get(uint32_t a, size_t i) const {
        T x;
        std::memcpy(&x, &memory[a][i * sizeof(T)], sizeof(T));
        return x;
    }
    uint64_t get_bits(uint32_t a, size_t i) const {
        uint64_t x = 0;
        size_t size = bytes(program.args[a].type);
        std::memcpy(&x, &memory[a][i * size], size);
        return x;
    }
};

bool is_nan(Type t, uint64_t b) {
    switch (t) {
        case Type::F16: return (b & 0x7fff) > 0x7c00;
        case Type::F32: return (b & 0x7fffffff) > 0x7f800000;
        case Type::F64: return (b & 0x7fffffffffffffff) > 0x7ff0000000000000;
        default: return false;
    }
}

/// Equal bits, or both NaN.
bool same(Type t, uint64_t a, uint64_t b) { return a == b || (is_nan(t, a) && is_nan(t, b)); }

/// Numbers at which implementations go wrong, and a few others.
std::vector<uint64_t> edges(Type t) {
    std::vector<uint64_t> v;
    uint64_t mask = bits(t) == 64 ? ~0ull : (1ull << bits(t)) - 1;
    if (t == Type::Bool)
        return { 0, 1 };
    if (t == Type::F64)
        for (double x : std::initializer_list<double>{ 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 1e300, -1e-300, 4e-320, 127.9, 255.5, -128.7, 65520.0,
                          2147483647.0, 2147483648.0, -2147483649.0, 4294967295.9, 9.3e18, -9.3e18, 1.9e19, 1e5,
                          1.0000000001, 5.9604644775390625e-08, 2.98023223876953125e-08, 1.00048828125, INFINITY,
                          -INFINITY, double(NAN), 0.3, -0.7, 20.25, 700.0 })
            v.push_back(bits_of(x));
    else if (t == Type::F32)
        for (float x : std::initializer_list<float>{ 0.f, -0.f, 1.f, -1.f, 0.5f, -2.5f, 3.5f, 1e38f, -1e-38f, 1e-42f, 127.9f, 255.5f, -128.7f,
                         65520.f, 2147483648.f, -2147483904.f, 4294967296.f, 9.3e18f, -9.3e18f, 1.9e19f, 1e5f,
                         1.0001f, INFINITY, -INFINITY, NAN, 0.3f, -0.7f, 20.25f, 88.f })
            v.push_back(bits_of(x));
    else if (t == Type::F16)
        v = { 0, 0x8000, 0x3c00, 0xbc00, 0x3800, 0xc100, 0x4300, 0x7bff, 0x0001, 0x8400, 0x7c00, 0xfc00, 0x7e00, 0x57ff,
              0x5bfc, 0xd805, 0x3c01, 0x34cd };
    else
        for (uint64_t x : { 0ull, 1ull, 2ull, 3ull, 7ull, 10ull, 100ull, 127ull, 128ull, 255ull, 256ull, 32767ull,
                            65535ull, 0x7fffffffull, 0x80000000ull, 0x80000001ull, 0xffffffffull, 0x123456789abcdefull,
                            0x7fffffffffffffffull, 0x8000000000000000ull, ~0ull, ~1ull, ~6ull, ~99ull })
            v.push_back(x & mask);
    return v;
}

/// Whether op.h has the operation for values of this type.
bool has(Op op, Type t) {
    bool integer = is_int(t), flt = is_float(t), mask = t == Type::Bool;
    if (op == Op::Neg || op == Op::Abs || op == Op::Add || op == Op::Sub || op == Op::Mul || op == Op::Div ||
        op == Op::Min || op == Op::Max || op == Op::Fma || op == Op::Lt || op == Op::Le)
        return integer || flt;
    if (op == Op::Not || op == Op::And || op == Op::Or || op == Op::Xor)
        return integer || mask;
    if ((op >= Op::Sqrt && op <= Op::Round) || is_transcendental(op) || op == Op::Atan2 || op == Op::Pow)
        return flt;
    if ((op >= Op::Popcount && op <= Op::Ctz) || op == Op::Mod || op == Op::MulHi || (op >= Op::Shl && op <= Op::Rotr))
        return integer;
    return op == Op::Eq || op == Op::Ne;
}

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
        if (op < Op::Neg || op > Op::Fma || op == Op::Cast || op == Op::Bitcast || !has(op, t) || math != transcendental)
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
                << name(op) << " " << name(t) << std::hex << " of " << a[i] << ", " << b[i] << ", " << c[i] << ": "
                << w.get_bits(out, i) << ", must be " << want;
        }
}

TEST(Llvm, ArithmeticAgreesWithFoldingForEveryType) {
    at_every_width([] {
        for (Type t : AllNumbers)
            check_operations(t, false);
        check_operations(Type::Bool, false);
    });
}

TEST(Llvm, TranscendentalsAgreeWithFoldingToTheBit) {
    at_every_width([] {
        for (Type t : { Type::F16, Type::F32, Type::F64 })
            check_operations(t, true);
    });
}

TEST(Llvm, UniformValuesAreComputedLikeVaryingOnes) {
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

TEST(Llvm, CastsAgreeWithFoldingForEveryPair) {
    at_every_width([] {
        for (Type from : { Type::Bool, Type::I8, Type::U8, Type::I16, Type::U16, Type::I32, Type::U32, Type::I64,
                           Type::U64, Type::F16, Type::F32, Type::F64 }) {
            std::vector<uint64_t> a = edges(from);
            std::mt19937_64 random(3);
            uint64_t mask = from == Type::Bool ? 1 : bits(from) == 64 ? ~0ull : (1ull << bits(from)) - 1;
            for (int k = 0; k < 100; ++k)
                a.push_back(random() & mask);
            Writer w;
            Writer::V v = w.input_bits(from, a);
            std::vector<std::tuple<Op, Type, uint32_t>> outputs;
            for (Type to : { Type::Bool, Type::I8, Type::U8, Type::I16, Type::U16, Type::I32, Type::U32, Type::I64,
                             Type::U64, Type::F16, Type::F32, Type::F64 }) {
                outputs.push_back({ Op::Cast, to, w.output(w.cast(v, to), a.size()) });
                if (bits(to) == bits(from))
                    outputs.push_back({ Op::Bitcast, to, w.output(w.add(Op::Bitcast, to, { v }), a.size()) });
            }
            w.run(a.size());
            for (auto [op, to, out] : outputs)
                for (size_t i = 0; i < a.size(); ++i) {
                    uint64_t want = 0;
                    ASSERT_TRUE(fold(op, to, from, &a[i], want));
                    ASSERT_TRUE(same(to, w.get_bits(out, i), want))
                        << name(op) << " " << name(from) << " to " << name(to) << std::hex << " of " << a[i] << ": "
                        << w.get_bits(out, i) << ", must be " << want;
                }
        }
    });
}

TEST(Llvm, DivisionByLiteralsFollowsTheRules) {
    for (Type t : AllNumbers) {
        if (!is_int(t))
            continue;
        std::vector<uint64_t> a = edges(t);
        Writer w;
        Writer::V v = w.input_bits(t, a);
        std::vector<std::tuple<Op, uint64_t, uint32_t>> outputs;
        for (uint64_t d : edges(t))
            for (Op op : { Op::Div, Op::Mod })
                outputs.push_back({ op, d, w.output(w.op(op, v, w.add(Op::Literal, t, {}, d)), a.size()) });
        w.run(a.size());
        for (auto [op, d, out] : outputs)
            for (size_t i = 0; i < a.size(); ++i) {
                uint64_t in[2] = { a[i], d }, want = 0;
                ASSERT_TRUE(fold(op, t, t, in, want));
                ASSERT_EQ(w.get_bits(out, i), want) << name(op) << " " << name(t) << std::hex << a[i] << " by " << d;
            }
    }
}

// ---- launches

TEST(Llvm, RunsEverySizeWithoutReadingPastInputs) {
    at_every_width([] {
        // Inputs end where a page without access begins.
        size_t page = size_t(sysconf(_SC_PAGESIZE));
        char *room = static_cast<char *>(mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
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

TEST(Llvm, ThreadsShareAKernel) {
    Writer w;
    uint32_t out = w.output(w.op(Op::Mul, w.lane(), w.lit(3u)), 100000);
    w.run(*w.compile(), 100000, 4);
    for (uint32_t i = 0; i < 100000; ++i)
        ASSERT_EQ(w.get<uint32_t>(out, i), 3 * i);
}

TEST(Llvm, SavedKernelsRunAndDamagedOnesAreRefused) {
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

TEST(Llvm, GathersEveryTypeUnderAMask) {
    at_every_width([] {
        for (Type t : { Type::Bool, Type::I8, Type::U16, Type::I32, Type::U64, Type::F16, Type::F32, Type::F64, Type::Ptr })
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
                    ASSERT_EQ(w.get_bits(out, i), i % 2 ? w.get_bits(a, index[i]) : 0) << name(t) << " " << i;
            }
    });
}

TEST(Llvm, PacketsOfEveryLengthAreTransposed) {
    at_every_width([] {
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
                Writer::V mask = w.op(Op::And, w.op(Op::Ne, w.op(Op::And, w.lane(), w.lit(3u)), w.lit(2u)), w.active());
                Writer::V packet = w.add(Op::Packet, t, { p, k, mask }, length);
                std::vector<uint32_t> outs;
                for (uint32_t e = 0; e < length; ++e)
                    outs.push_back(w.output(w.add(Op::PacketGet, t, { packet }, e), n));
                w.run(n);
                for (uint32_t e = 0; e < length; ++e)
                    for (size_t i = 0; i < n; ++i)
                        ASSERT_EQ(w.get_bits(outs[e], i), i % 4 != 2 ? w.get_bits(a, index[i] * length + e) : 0)
                            << name(t) << " " << length << " element " << e << " lane " << i;
            }
    });
}

TEST(Llvm, ScatteredStoresKeepLaneOrder) {
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

TEST(Llvm, ReductionsIntoMemoryLoseNothingBetweenThreads) {
    at_every_width([] {
        for (Type t : { Type::I8, Type::U16, Type::I32, Type::U64, Type::F16, Type::F32, Type::F64 })
            for (ReduceOp op : { ReduceOp::Add, ReduceOp::Mul, ReduceOp::Min, ReduceOp::Max, ReduceOp::And, ReduceOp::Or })
                for (uint32_t cells : { 1u, 5u }) {
                    if (is_float(t) && (op == ReduceOp::And || op == ReduceOp::Or))
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
                    Writer::V mask = w.op(Op::And, w.op(Op::Lt, w.op(Op::And, l, w.lit(15u)), w.lit(9u)), w.active());
                    if (cells == 5 || op == ReduceOp::Mul)
                        mask = w.active();
                    w.add(Op::Scatter, Type::Void, { p, cell, v, mask }, uint64_t(op));
                    w.run(*w.compile(), n, 2);
                    // Reference, lane by lane
                    std::vector<uint64_t> want(cells, init);
                    Op element[] = { Op::Add, Op::Add, Op::Mul, Op::Min, Op::Max, Op::And, Op::Or };
                    for (uint64_t i = 0; i < n; ++i) {
                        uint64_t x = op == ReduceOp::Mul ? 1 : op == ReduceOp::Add || op == ReduceOp::Min ? i & 1 : (i & 15) | 64;
                        if (cells == 1 && op != ReduceOp::Mul && (i & 15) >= 9)
                            continue;
                        uint64_t in[2] = { want[i / 3 % cells], 0 };
                        ASSERT_TRUE(fold(Op::Cast, t, Type::U64, &x, in[1]));
                        ASSERT_TRUE(fold(element[int(op)], t, t, in, want[i / 3 % cells]));
                    }
                    for (uint32_t c = 0; c < cells; ++c)
                        ASSERT_EQ(w.get_bits(a, c), want[c]) << name(t) << " " << name(op) << " cell " << c;
                }
    });
}

TEST(Llvm, CountersHandOutEachNumberOnce) {
    at_every_width([] {
        for (uint32_t counters : { 1u, 3u }) {
            size_t n = 5000;
            Writer w;
            Writer::V p = w.pointer(std::vector<uint32_t>(counters, 0)), l = w.lane();
            Writer::V mask = w.op(Op::And, w.op(Op::Ne, w.op(Op::Mod, l, w.lit(5u)), w.lit(0u)), w.active());
            Writer::V k = w.add(Op::ScatterInc, Type::U32, { p, w.op(Op::Mod, l, w.lit(counters)), mask });
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

// ---- control flow

/// Lanes iterate Collatz's rule until they reach 1; a branch in a loop.
TEST(Llvm, LoopsRunUntilTheLastLaneLeaves) {
    at_every_width([] {
        size_t n = 333;
        Writer w;
        Writer::V one = w.lit(1u), start = w.op(Op::Add, w.lane(), one), none = w.lit(0u);
        w.add(Op::LoopBegin, Type::Void);
        Writer::V x = w.add(Op::Phi, Type::U32, { start, 0 }), steps = w.add(Op::Phi, Type::U32, { none, 0 });
        w.add(Op::LoopWhile, Type::Void, { w.op(Op::Ne, x, one) });
        Writer::V odd = w.op(Op::Eq, w.op(Op::And, x, one), one);
        w.add(Op::IfBegin, Type::Void, { odd });
        Writer::V up = w.op(Op::Add, w.op(Op::Mul, x, w.lit(3u)), one);
        w.add(Op::Else, Type::Void);
        Writer::V down = w.op(Op::Shr, x, one);
        w.add(Op::EndIf, Type::Void);
        Writer::V next = w.add(Op::Merge, Type::U32, { odd, up, down });
        Writer::V more = w.op(Op::Add, steps, one);
        w.add(Op::LoopEnd, Type::Void);
        w.f().insts[x].arg[1] = next;
        w.f().insts[steps].arg[1] = more;
        uint32_t out = w.output(steps, n);
        w.run(n);
        for (uint32_t i = 0; i < n; ++i) {
            uint32_t want = 0;
            for (uint64_t v = i + 1; v != 1; v = v % 2 ? 3 * v + 1 : v / 2)
                ++want;
            ASSERT_EQ(w.get<uint32_t>(out, i), want) << i;
        }
    });
}

TEST(Llvm, PhisChangePlacesAtOnce) {
    at_every_width([] {
        Writer w;
        Writer::V l = w.lane(), z = w.lit(0u), c = w.lit(100u);
        Writer::V array_a = w.add(Op::ArrayNew, Type::U32, { l }, 0, 3);
        Writer::V array_b = w.add(Op::ArrayNew, Type::U32, { c }, 0, 3);
        w.add(Op::LoopBegin, Type::Void);
        Writer::V a = w.add(Op::Phi, Type::U32, { l, 0 }), b = w.add(Op::Phi, Type::U32, { c, 0 });
        Writer::V i = w.add(Op::Phi, Type::U32, { z, 0 });
        Writer::V pa = w.add(Op::Phi, Type::U32, { array_a, 0 }, 0, 3), pb = w.add(Op::Phi, Type::U32, { array_b, 0 }, 0, 3);
        w.f().insts[a].arg[1] = b;
        w.f().insts[b].arg[1] = a;
        w.f().insts[pa].arg[1] = pb;
        w.f().insts[pb].arg[1] = pa;
        w.add(Op::LoopWhile, Type::Void, { w.op(Op::Lt, i, w.op(Op::And, l, w.lit(3u))) });
        w.f().insts[i].arg[1] = w.op(Op::Add, i, w.lit(1u));
        w.add(Op::LoopEnd, Type::Void);
        uint32_t out = w.output(a, 50);
        uint32_t out_array = w.output(w.add(Op::ArrayGet, Type::U32, { pa, w.lit(2u), w.active() }), 50);
        w.run(50);
        for (uint32_t k = 0; k < 50; ++k) {
            EXPECT_EQ(w.get<uint32_t>(out, k), k % 2 ? 100 : k);
            EXPECT_EQ(w.get<uint32_t>(out_array, k), k % 2 ? 100 : k);
        }
    });
}

TEST(Llvm, LocalArraysAreSortedPerLane) {
    at_every_width([] {
        for (Type t : { Type::U8, Type::F16, Type::F32, Type::F64, Type::Bool }) {
            // Insertion of keys into an array by index, read back; out of range is ignored.
            const uint32_t length = 11;
            size_t n = 77;
            Writer w;
            Writer::V l = w.lane(), one = w.lit(1u), zero = w.lit(0u);
            Writer::V array = w.add(Op::ArrayNew, t, { w.zero(t) }, 0, length);
            w.add(Op::LoopBegin, Type::Void);
            Writer::V i = w.add(Op::Phi, Type::U32, { zero, 0 }), a = w.add(Op::Phi, t, { array, 0 }, 0, length);
            w.add(Op::LoopWhile, Type::Void, { w.op(Op::Lt, i, w.op(Op::And, l, w.lit(15u))) });
            // a[(3 i + lane) % 13] = i + 1
            Writer::V k = w.op(Op::Mod, w.op(Op::Add, w.op(Op::Mul, i, w.lit(3u)), l), w.lit(13u));
            Writer::V next = w.add(Op::ArraySet, t, { a, k, w.cast(w.op(Op::Add, i, one), t), w.active() }, 0, length);
            Writer::V more = w.op(Op::Add, i, one);
            w.add(Op::LoopEnd, Type::Void);
            w.f().insts[i].arg[1] = more;
            w.f().insts[a].arg[1] = next;
            std::vector<uint32_t> outs;
            for (uint32_t e = 0; e < length + 1; ++e)
                outs.push_back(w.output(w.add(Op::ArrayGet, t, { a, w.lit(e), w.active() }), n));
            outs.push_back(w.output(w.add(Op::ArrayGet, t, { a, w.op(Op::Mod, l, w.lit(13u)), w.active() }), n));
            w.run(n);
            for (uint32_t lane = 0; lane < n; ++lane) {
                uint64_t want[13] = {};
                for (uint32_t j = 0; j < (lane & 15); ++j)
                    if (uint32_t at = (3 * j + lane) % 13; at < length) {
                        uint64_t x = j + 1;
                        ASSERT_TRUE(fold(Op::Cast, t, Type::U64, &x, want[at]));
                    }
                for (uint32_t e = 0; e < length + 1; ++e)
                    ASSERT_EQ(w.get_bits(outs[e], lane), want[e]) << name(t) << " " << e << " lane " << lane;
                ASSERT_EQ(w.get_bits(outs[length + 1], lane), want[lane % 13]) << name(t) << " lane " << lane;
            }
        }
    });
}

// ---- calls

/// `count` functions f_k(x, m) = (x * (k + 1) + data, !m); ids past the last call nothing.
void check_calls(uint32_t count) {
    size_t n = 200;
    Writer w;
    Writer::V id = w.op(Op::Mod, w.op(Op::Mul, w.lane(), w.lit(7u)), w.lit(count + 3));
    Writer::V x = w.cast(w.lane(), Type::F32), m = w.op(Op::Lt, w.lane(), w.lit(50u));
    CallSite site;
    // Ids 1 ... count + 1; the last one has no callee.
    std::vector<uint32_t> table = { count + 1, 0 };
    std::vector<double> data(1);
    for (uint32_t k = 0; k < count; ++k) {
        site.callees.push_back(k + 1);
        table.insert(table.end(), { k, 8 * (k + 1) });
        data.push_back(1000.0 * k);
    }
    table.insert(table.end(), { ~0u, 0 });
    site.args = { x, m };
    site.out_types = { Type::F32, Type::Bool };
    site.table = w.arg(ArgKind::CallTable, table);
    site.data = w.arg(ArgKind::CallData, data);
    w.program.calls.push_back(site);
    Writer::V mask = w.op(Op::And, w.op(Op::Ne, w.op(Op::And, w.lane(), w.lit(15u)), w.lit(4u)), w.active());
    Writer::V call = w.add(Op::Call, Type::Void, { id, mask }, 0);
    uint32_t out = w.output(w.add(Op::CallOut, Type::F32, { call }, 0), n);
    uint32_t out_mask = w.output(w.add(Op::CallOut, Type::Bool, { call }, 1), n);
    for (uint32_t k = 0; k < count; ++k) {
        w.begin_function({ Type::F32, Type::Bool }, 8);
        Writer::V p = w.add(Op::Param, Type::F32, {}, 0), q = w.add(Op::Param, Type::Bool, {}, 1);
        Writer::V d = w.cast(w.add(Op::Data, Type::F64, {}, 0), Type::F32);
        Writer::V r = w.op(Op::Add, w.op(Op::Mul, p, w.lit(float(k + 1))), d);
        w.f().outputs = { r, w.op(Op::Not, q) };
    }
    w.run(n);
    for (uint32_t i = 0; i < n; ++i) {
        uint32_t id_of = i * 7 % (count + 3);
        bool called = id_of >= 1 && id_of <= count && i % 16 != 4;
        ASSERT_EQ(w.get<float>(out, i), called ? float(i) * float(id_of) + 1000.f * float(id_of - 1) : 0.f) << i;
        ASSERT_EQ(w.get<uint8_t>(out_mask, i), called && i >= 50) << i;
    }
}

TEST(Llvm, CallsReachTheRightFunctionWithItsData) {
    at_every_width([] {
        for (uint32_t count : { 1u, 2u, 8u, 12u })
            check_calls(count);
    });
}

void host_square(void *user, uint64_t first, uint32_t lanes, const int32_t *mask, void *frame) {
    float *in = static_cast<float *>(frame), *out = in + lanes;
    for (uint32_t l = 0; l < lanes; ++l)
        if (mask[l]) {
            out[l] = in[l] * in[l] + float(first + l);
            __atomic_fetch_add(static_cast<uint32_t *>(user), 1, __ATOMIC_RELAXED);
        }
}

TEST(Llvm, HostFunctionsSeeActiveLanesOnly) {
    at_every_width([] {
        size_t n = 50;
        Writer w;
        uint32_t calls = 0;
        uint32_t fn = w.arg(ArgKind::Pointer, Type::U8, 0, reinterpret_cast<void *>(&host_square));
        uint32_t user = w.arg(ArgKind::Pointer, Type::U32, 1, &calls);
        ExternSite site;
        site.fn = w.add(Op::ArgPtr, Type::Ptr, {}, fn);
        site.user = w.add(Op::ArgPtr, Type::Ptr, {}, user);
        site.mask = w.op(Op::And, w.op(Op::Lt, w.lane(), w.lit(20u)), w.active());
        site.inputs = { w.cast(w.lane(), Type::F32) };
        site.in_types = { Type::F32 };
        site.out_types = { Type::F32 };
        w.program.externs.push_back(site);
        Writer::V call = w.add(Op::Extern, Type::Void);
        uint32_t out = w.output(w.add(Op::ExternOut, Type::F32, { call }, 0), n);
        w.run(n);
        EXPECT_EQ(calls, 20u);
        for (uint32_t i = 0; i < 20; ++i)
            EXPECT_EQ(w.get<float>(out, i), float(i * i + i));
    });
}

TEST(Llvm, PrintsAndFailedAssertionsReachTheLog) {
    at_every_width([] {
        Writer w;
        ExternSite print{ .kind = ExternSite::Print, .text = "{}" };
        print.mask = w.op(Op::And, w.op(Op::Eq, w.op(Op::Mod, w.lane(), w.lit(9u)), w.lit(4u)), w.active());
        print.inputs = { w.op(Op::Mul, w.lane(), w.lit(2u)) };
        print.in_types = { Type::U32 };
        ExternSite assertion{ .kind = ExternSite::Assert, .text = "small" };
        assertion.mask = w.active();
        assertion.inputs = { w.op(Op::Lt, w.lane(), w.lit(17u)) };
        assertion.in_types = { Type::Bool };
        w.program.externs = { print, assertion };
        w.add(Op::Extern, Type::Void, {}, 0);
        w.add(Op::Extern, Type::Void, {}, 1);
        w.run(21);
        EXPECT_EQ(w.log.printed, (std::vector<std::pair<uint64_t, uint32_t>>{ { 4, 8 }, { 13, 26 } }));
        EXPECT_EQ(w.log.failed, (std::vector<uint64_t>{ 17, 18, 19, 20 }));
    });
}

// ---- random programs against the interpreter

/// Grows a random function: arithmetic, memory, loops, conditionals, local arrays and calls.
class Grower {
public:
    using V = uint32_t;
    Grower(Writer &w, uint64_t seed) : m_w(w), m_random(seed) {}

    void kernel(uint32_t size, size_t lanes) {
        V l = m_w.lane();
        std::vector<uint64_t> data;
        for (size_t i = 0; i < lanes; ++i)
            data.push_back(m_random());
        for (Type t : { Type::U32, Type::I64, Type::F32, Type::F64, Type::U16 })
            if (is_float(t)) {
                std::vector<uint64_t> x = edges(t), y;
                for (size_t i = 0; i < lanes; ++i)
                    y.push_back(x[m_random() % x.size()]);
                m_values.push_back(m_w.input_bits(t, y));
            } else {
                m_values.push_back(m_w.input_bits(t, data));
            }
        m_values.push_back(l);
        m_values.push_back(m_w.scalar(uint32_t(m_random())));
        m_values.push_back(m_w.scalar(1.25f));
        m_values.push_back(m_w.lit(3u));
        m_values.push_back(m_w.lit(0.5f));
        m_values.push_back(m_w.lit(true));
        m_source = m_w.pointer(std::vector<uint32_t>{ 5, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3 });
        m_target = m_w.pointer(std::vector<uint32_t>(16, 0));
        plan_calls();
        grow(size, 0);
        // Everything visible is a result.
        for (size_t k = 0; k < m_values.size() && k < 400; ++k)
            outputs.push_back(m_w.output(m_values[m_values.size() - 1 - k], lanes));
        grow_callees(size / 4);
    }

    std::vector<uint32_t> outputs;

private:
    uint32_t below(uint32_t n) { return uint32_t(m_random() % n); }

    V pick(Type t) {
        for (int tries = 0; tries < 12; ++tries)
            if (V v = m_values[below(uint32_t(m_values.size()))]; m_w.type(v) == t)
                return v;
        for (V v : m_values)
            if (m_w.type(v) == t)
                return v;
        V z = m_w.zero(t);
        m_values.push_back(z);
        return z;
    }
    Type any_type() {
        constexpr Type t[] = { Type::U32, Type::U32, Type::F32, Type::F32, Type::I64, Type::F64, Type::Bool, Type::U16 };
        return t[below(8)];
    }

    void arithmetic() {
        Type t = any_type();
        constexpr Op ops[] = { Op::Add, Op::Sub, Op::Mul, Op::Min, Op::Max, Op::And, Op::Or, Op::Xor, Op::Shl, Op::Shr,
                               Op::Rotl, Op::Neg, Op::Abs, Op::Sqrt, Op::Floor, Op::Popcount, Op::Eq, Op::Lt, Op::Le,
                               Op::Fma, Op::Not, Op::Div, Op::Mod, Op::Exp2, Op::Sin, Op::Ne };
        Op op = ops[below(sizeof ops / sizeof *ops)];
        if (below(8) == 0) {
            Type to = any_type();
            m_values.push_back(m_w.cast(pick(t), to));
        } else if (below(8) == 0) {
            V m = pick(Type::Bool), a = pick(t);
            m_values.push_back(m_w.select(m, a, pick(t)));
        } else if (has(op, t)) {
            V a = pick(t);
            m_values.push_back(operands(op) == 1   ? m_w.op(op, a)
                               : operands(op) == 2 ? m_w.op(op, a, pick(t))
                                                   : m_w.add(op, t, { a, pick(t), pick(t) }));
        }
    }

    V masked() { return m_w.op(Op::And, pick(Type::Bool), m_w.active()); }
    V index16() { return m_w.op(Op::And, pick(Type::U32), m_w.lit(15u)); }

    void memory() {
        if (m_in_callee)
            return;
        V k = index16(), m = masked();
        switch (below(4)) {
            case 0: m_values.push_back(m_w.add(Op::Gather, Type::U32, { m_source, k, m })); break;
            case 1: {
                V quarter = m_w.op(Op::And, k, m_w.lit(3u));
                V p = m_w.add(Op::Packet, Type::U32, { m_source, quarter, m }, 4);
                for (uint32_t e = 0; e < 4; e += 1 + below(2))
                    m_values.push_back(m_w.add(Op::PacketGet, Type::U32, { p }, e));
                break;
            }
            default: // integer sums do not depend on the order
                m_w.add(Op::Scatter, Type::Void, { m_target, k, pick(Type::U32), m }, uint64_t(ReduceOp::Add));
        }
    }

    void array() {
        if (m_arrays.empty() || below(4) == 0) {
            m_arrays.push_back(m_w.add(Op::ArrayNew, Type::F32, { pick(Type::F32) }, 0, 5));
            return;
        }
        V a = m_arrays[below(uint32_t(m_arrays.size()))];
        V k = below(3) ? m_w.op(Op::And, pick(Type::U32), m_w.lit(7u)) : m_w.lit(below(6)), m = masked();
        switch (below(5)) {
            case 0:
            case 1: m_arrays.push_back(m_w.add(Op::ArraySet, Type::F32, { a, k, pick(Type::F32), m }, 0, 5)); break;
            case 2: m_arrays.push_back(m_w.select(pick(Type::Bool), a, m_arrays[below(uint32_t(m_arrays.size()))])); break;
            default: m_values.push_back(m_w.add(Op::ArrayGet, Type::F32, { a, k, m }));
        }
    }

    void loop(uint32_t size, uint32_t depth) {
        std::vector<V> initial;
        uint32_t count = below(4);
        for (uint32_t k = 0; k < count; ++k)
            initial.push_back(pick(any_type()));
        V zero = m_w.lit(0u), limit = m_w.op(Op::And, pick(Type::U32), m_w.lit(3u));
        V array = m_arrays.empty() || below(2) ? NoValue : m_arrays[below(uint32_t(m_arrays.size()))];
        m_w.add(Op::LoopBegin, Type::Void);
        std::vector<V> phis;
        V i = m_w.add(Op::Phi, Type::U32, { zero, 0 });
        for (V v : initial)
            phis.push_back(m_w.add(Op::Phi, m_w.type(v), { v, 0 }));
        V phi_array = array == NoValue ? NoValue : m_w.add(Op::Phi, Type::F32, { array, 0 }, 0, 5);
        size_t values = m_values.size(), arrays = m_arrays.size();
        m_values.insert(m_values.end(), phis.begin(), phis.end());
        m_values.push_back(i);
        if (phi_array != NoValue)
            m_arrays.push_back(phi_array);
        grow(below(3), depth + 1);
        V go = m_w.op(Op::Lt, i, limit);
        m_w.add(Op::LoopWhile, Type::Void, { go });
        grow(size, depth + 1);
        m_w.f().insts[i].arg[1] = m_w.op(Op::Add, i, m_w.lit(1u));
        for (V p : phis)
            m_w.f().insts[p].arg[1] = pick(m_w.type(p));
        if (phi_array != NoValue)
            m_w.f().insts[phi_array].arg[1] = m_arrays[arrays + below(uint32_t(m_arrays.size() - arrays))];
        m_w.add(Op::LoopEnd, Type::Void);
        m_values.resize(values);
        m_arrays.resize(arrays);
        m_values.insert(m_values.end(), phis.begin(), phis.end());
        m_values.push_back(i);
        if (phi_array != NoValue)
            m_arrays.push_back(phi_array);
    }

    void conditional(uint32_t size, uint32_t depth) {
        V c = pick(Type::Bool);
        size_t values = m_values.size(), arrays = m_arrays.size();
        m_w.add(Op::IfBegin, Type::Void, { c });
        grow(size, depth + 1);
        std::vector<V> left = m_values, left_arrays = m_arrays;
        m_values.resize(values);
        m_arrays.resize(arrays);
        m_w.add(Op::Else, Type::Void);
        grow(below(2) * size / 2, depth + 1);
        std::vector<V> right = m_values, right_arrays = m_arrays;
        m_values.resize(values);
        m_arrays.resize(arrays);
        // The conditional's mask must be read before literals are added to the list, so pair by type here.
        std::vector<std::pair<V, V>> pairs;
        for (int tries = 0; tries < 6; ++tries) {
            V a = left[left.size() - 1 - below(std::min<uint32_t>(8, uint32_t(left.size())))];
            V b = right[right.size() - 1 - below(std::min<uint32_t>(8, uint32_t(right.size())))];
            if (m_w.type(a) == m_w.type(b))
                pairs.push_back({ a, b });
        }
        m_w.add(Op::EndIf, Type::Void);
        for (auto [a, b] : pairs)
            m_values.push_back(m_w.add(Op::Merge, m_w.type(a), { c, a, b }));
        if (!left_arrays.empty() && !right_arrays.empty())
            m_arrays.push_back(m_w.add(Op::Merge, Type::F32, { c, left_arrays.back(), right_arrays.back() }, 0, 5));
    }

    void plan_calls() {
        m_table = m_w.arg(ArgKind::CallTable, std::vector<uint32_t>{ 3, 0, 0, 4, 1, 8, 0, 12 });
        m_data = m_w.arg(ArgKind::CallData, std::vector<uint32_t>{ 0, 17, 0x40400000, 23 });
    }

    void call() {
        if (m_in_callee)
            return;
        CallSite site;
        site.callees = { 1, 2 };
        site.args = { pick(Type::F32), pick(Type::U32), pick(Type::Bool) };
        site.out_types = { Type::F32, Type::U32, Type::Bool };
        site.table = m_table;
        site.data = m_data;
        V id = m_w.op(Op::And, pick(Type::U32), m_w.lit(3u)), m = masked();
        m_w.program.calls.push_back(site);
        V c = m_w.add(Op::Call, Type::Void, { id, m }, m_w.program.calls.size() - 1);
        for (uint32_t k = 0; k < 3; ++k)
            m_values.push_back(m_w.add(Op::CallOut, site.out_types[k], { c }, k));
    }

    void grow_callees(uint32_t size) {
        m_in_callee = true;
        for (int k = 0; k < 2; ++k) {
            m_w.begin_function({ Type::F32, Type::U32, Type::Bool }, 4);
            m_values.clear();
            m_arrays.clear();
            for (uint32_t p = 0; p < 3; ++p)
                m_values.push_back(m_w.add(Op::Param, m_w.f().params[p], {}, p));
            m_values.push_back(m_w.add(Op::Data, k ? Type::F32 : Type::U32, {}, 0));
            m_values.push_back(m_w.lane());
            grow(size, 1);
            m_w.f().outputs = { pick(Type::F32), pick(Type::U32), pick(Type::Bool) };
        }
    }

    void grow(uint32_t size, uint32_t depth) {
        while (size-- > 0)
            switch (uint32_t k = below(40)) {
                case 0:
                case 1:
                    if (depth < 3)
                        loop(2 + below(12), depth);
                    break;
                case 2:
                case 3:
                    if (depth < 3)
                        conditional(1 + below(12), depth);
                    break;
                case 4: call(); break;
                case 5:
                case 6: memory(); break;
                case 7:
                case 8:
                case 9: array(); break;
                default: (void) k; arithmetic();
            }
    }

    Writer &m_w;
    std::mt19937_64 m_random;
    std::vector<V> m_values, m_arrays;
    V m_source = 0, m_target = 0;
    uint32_t m_table = 0, m_data = 0;
    bool m_in_callee = false;
};

void compare_with_interpreter(uint64_t seed, uint32_t size) {
    size_t lanes = 1 + seed * 37 % 100;
    Writer interpreted;
    Grower grower(interpreted, seed);
    grower.kernel(size, lanes);
    Writer compiled;
    compiled.program = interpreted.program;
    compiled.memory = interpreted.memory;
    compiled.fixed = interpreted.fixed;
    interpreted.run(*interpreted.compile(interp_backend()), lanes);
    compiled.run(*compiled.compile(), lanes);
    for (size_t a = 0; a < compiled.memory.size(); ++a) {
        Type t = compiled.program.args[a].type;
        for (size_t i = 0; i < compiled.memory[a].size() / bytes(t) - Pad; ++i)
            ASSERT_TRUE(same(t, compiled.get_bits(uint32_t(a), i), interpreted.get_bits(uint32_t(a), i)))
                << "seed " << seed << " argument " << a << " (" << name(t) << ") element " << i << std::hex << ": "
                << compiled.get_bits(uint32_t(a), i) << ", interpreter " << interpreted.get_bits(uint32_t(a), i);
    }
}

TEST(Llvm, RandomProgramsAgreeWithTheInterpreter) {
    at_every_width([] {
        for (uint64_t seed = 0; seed < 25; ++seed)
            ASSERT_NO_FATAL_FAILURE(compare_with_interpreter(seed, 60));
    });
}

TEST(Llvm, CutProgramsAgreeWithTheInterpreter) {
    at_every_width([] {
        Setting modules("UMBEL_MODULE_WEIGHT", "60");
        for (const char *weight : { "5", "40" }) {
            Setting units("UMBEL_UNIT_WEIGHT", weight);
            for (uint64_t seed = 100; seed < 112; ++seed)
                ASSERT_NO_FATAL_FAILURE(compare_with_interpreter(seed, 80));
        }
    });
}

TEST(Llvm, CompilesLongChains) {
    size_t n = 40;
    Writer w;
    Writer::V x = w.cast(w.lane(), Type::F32), a = w.scalar(0.999f), y = x;
    for (int k = 0; k < 20000; ++k)
        y = w.add(Op::Fma, Type::F32, { y, a, x });
    uint32_t out = w.output(y, n);
    w.run(n);
    for (size_t i = 0; i < n; ++i) {
        float want = float(i);
        for (int k = 0; k < 20000; ++k)
            want = std::fma(want, 0.999f, float(i));
        ASSERT_EQ(w.get<float>(out, i), want);
    }
}

} // namespace
