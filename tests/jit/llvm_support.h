// tests/jit/llvm_support.h: programs written by hand, run on buffers of their own, at several
// targets.
#pragma once
#include "jit/backend.h"
#include "jit/error.h"
#include "jit/interp/fold.h"
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <mutex>
#include <random>
#include <thread>

namespace umbel::jit::llvm_tests {

struct Setting {
    const char *name;
    Setting(const char *name, const std::string &value) : name(name) {
        setenv(name, value.c_str(), 1);
    }
    ~Setting() { unsetenv(name); }
};

/// Whether code for the CPU in force converts half precision by itself (F16C).
inline bool has_half() {
    const char *cpu = std::getenv("UMBEL_CPU");
    return !cpu || std::string(cpu) != "x86-64-v2";
}

/// Runs a test body at width 16 and for CPUs without mask registers, at 8 and 4.
template <class F> void on_every_cpu(F body) {
    Setting verify("UMBEL_VERIFY", "1");
    {
        SCOPED_TRACE("width 16");
        Setting w("UMBEL_WIDTH", "16");
        body();
    }
#ifdef __x86_64__
    for (const char *cpu : { "x86-64-v2", "x86-64-v3" }) {
        if (!(cpu[8] == '2' ? __builtin_cpu_supports("sse4.2") : __builtin_cpu_supports("avx2")))
            continue;
        SCOPED_TRACE(cpu);
        Setting c("UMBEL_CPU", cpu);
        body();
    }
#endif
}

/// The same, and all widths that the host's own instructions can be used at.
template <class F> void at_every_width(F body) {
    on_every_cpu(body);
    Setting verify("UMBEL_VERIFY", "1");
    for (int width : { 4, 8 }) {
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
    void print(uint32_t, uint64_t first, uint32_t lanes, const int32_t *mask,
               const void *frame) override {
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
    V select(V m, V a, V b) {
        return add(Op::Select, type(a), { m, a, b }, 0, f().insts[a].length);
    }
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

inline bool is_nan(Type t, uint64_t b) {
    switch (t) {
    case Type::F16: return (b & 0x7fff) > 0x7c00;
    case Type::F32: return (b & 0x7fffffff) > 0x7f800000;
    case Type::F64: return (b & 0x7fffffffffffffff) > 0x7ff0000000000000;
    default: return false;
    }
}

/// Equal bits, or both NaN.
inline bool same(Type t, uint64_t a, uint64_t b) {
    return a == b || (is_nan(t, a) && is_nan(t, b));
}

/// Numbers at which implementations go wrong, and a few others.
inline std::vector<uint64_t> edges(Type t) {
    std::vector<uint64_t> v;
    uint64_t mask = bits(t) == 64 ? ~0ull : (1ull << bits(t)) - 1;
    if (t == Type::Bool)
        return { 0, 1 };
    if (t == Type::F64)
        for (double x : std::initializer_list<double>{ 0.0,
                                                       -0.0,
                                                       1.0,
                                                       -1.0,
                                                       0.5,
                                                       -2.5,
                                                       3.5,
                                                       1e300,
                                                       -1e-300,
                                                       4e-320,
                                                       127.9,
                                                       255.5,
                                                       -128.7,
                                                       65520.0,
                                                       2147483647.0,
                                                       2147483648.0,
                                                       -2147483649.0,
                                                       4294967295.9,
                                                       9.3e18,
                                                       -9.3e18,
                                                       1.9e19,
                                                       1e5,
                                                       1.0000000001,
                                                       5.9604644775390625e-08,
                                                       2.98023223876953125e-08,
                                                       1.00048828125,
                                                       INFINITY,
                                                       -INFINITY,
                                                       double(NAN),
                                                       0.3,
                                                       -0.7,
                                                       20.25,
                                                       700.0 })
            v.push_back(bits_of(x));
    else if (t == Type::F32)
        for (float x : std::initializer_list<float>{
                 0.f,      -0.f,    1.f,          -1.f,          0.5f,         -2.5f,
                 3.5f,     1e38f,   -1e-38f,      1e-42f,        127.9f,       255.5f,
                 -128.7f,  65520.f, 2147483648.f, -2147483904.f, 4294967296.f, 9.3e18f,
                 -9.3e18f, 1.9e19f, 1e5f,         1.0001f,       INFINITY,     -INFINITY,
                 NAN,      0.3f,    -0.7f,        20.25f,        88.f })
            v.push_back(bits_of(x));
    else if (t == Type::F16)
        v = { 0,      0x8000, 0x3c00, 0xbc00, 0x3800, 0xc100, 0x4300, 0x7bff, 0x0001,
              0x8400, 0x7c00, 0xfc00, 0x7e00, 0x57ff, 0x5bfc, 0xd805, 0x3c01, 0x34cd };
    else
        for (uint64_t x : { 0ull,
                            1ull,
                            2ull,
                            3ull,
                            7ull,
                            10ull,
                            100ull,
                            127ull,
                            128ull,
                            255ull,
                            256ull,
                            32767ull,
                            65535ull,
                            0x7fffffffull,
                            0x80000000ull,
                            0x80000001ull,
                            0xffffffffull,
                            0x123456789abcdefull,
                            0x7fffffffffffffffull,
                            0x8000000000000000ull,
                            ~0ull,
                            ~1ull,
                            ~6ull,
                            ~99ull })
            v.push_back(x & mask);
    return v;
}

/// Whether op.h has the operation for values of this type.
inline bool has(Op op, Type t) {
    bool integer = is_int(t), flt = is_float(t), mask = t == Type::Bool;
    if (op == Op::Neg || op == Op::Abs || op == Op::Add || op == Op::Sub || op == Op::Mul ||
        op == Op::Div || op == Op::Min || op == Op::Max || op == Op::Fma || op == Op::Lt ||
        op == Op::Le)
        return integer || flt;
    if (op == Op::Not || op == Op::And || op == Op::Or || op == Op::Xor)
        return integer || mask;
    if ((op >= Op::Sqrt && op <= Op::Round) || is_transcendental(op) || op == Op::Atan2 ||
        op == Op::Pow)
        return flt;
    if ((op >= Op::Popcount && op <= Op::Ctz) || op == Op::Mod || op == Op::MulHi ||
        (op >= Op::Shl && op <= Op::Rotr))
        return integer;
    return op == Op::Eq || op == Op::Ne;
}

} // namespace umbel::jit::llvm_tests
