// tests/jit/interp_support.h: builds programs by hand and collects what launches report.
#pragma once
#include "jit/backend.h"
#include <cstring>
#include <mutex>

namespace umbel::jit::testing {

using Value = uint32_t;

template <class T> uint64_t bits_of(T x) {
    uint64_t bits = 0;
    std::memcpy(&bits, &x, sizeof(T));
    return bits;
}

/// Builds one function of a program at a time; binds arguments as they are declared.
struct Builder {
    Program program;
    std::vector<void *> pointers;
    std::vector<uint64_t> sizes;
    uint32_t function = 0;

    Builder() { program.functions.emplace_back(); }
    Function &f() { return program.functions[function]; }
    uint32_t begin_function(std::vector<Type> params, uint32_t data_bytes = 0) {
        function = uint32_t(program.functions.size());
        program.functions.emplace_back();
        f().params = std::move(params);
        f().data_bytes = data_bytes;
        return function;
    }
    void back_to_kernel() { function = 0; }

    Value add(Op op, Type t, std::vector<Value> args = {}, uint64_t imm = 0, uint32_t length = 0) {
        Inst inst{ op, t };
        for (size_t k = 0; k < args.size(); ++k)
            inst.arg[k] = args[k];
        inst.imm = imm;
        inst.length = length;
        inst.uniform = op == Op::Literal || op == Op::LoadScalar || op == Op::ArgPtr;
        f().insts.push_back(inst);
        return Value(f().insts.size() - 1);
    }
    template <class T> Value lit(T x) { return add(Op::Literal, type_of_v<T>, {}, bits_of(x)); }
    Value active() { return add(Op::Active, Type::Bool); }
    Value lane() { return add(Op::Lane, Type::U32); }

    uint32_t arg(ArgKind kind, Type t, void *p, uint64_t n) {
        program.args.push_back({ kind, t });
        pointers.push_back(p);
        sizes.push_back(n);
        return uint32_t(pointers.size() - 1);
    }
    template <class T> Value input(std::vector<T> &v) {
        return add(Op::LoadLane, type_of_v<T>, {},
                   arg(ArgKind::Input, type_of_v<T>, v.data(), v.size()));
    }
    template <class T> Value pointer(std::vector<T> &v) {
        return add(Op::ArgPtr, Type::Ptr, {},
                   arg(ArgKind::Pointer, type_of_v<T>, v.data(), v.size()));
    }
    template <class T> Value scalar(T &x) {
        return add(Op::LoadScalar, type_of_v<T>, {}, arg(ArgKind::Scalar, type_of_v<T>, &x, 1));
    }
    template <class T> void output(Value v, std::vector<T> &out) {
        add(Op::StoreLane, type_of_v<T>, { v },
            arg(ArgKind::Output, type_of_v<T>, out.data(), out.size()));
    }
    Value phi(Type t, Value init, uint32_t length = 0) {
        return add(Op::Phi, t, { init }, 0, length);
    }
    void next(Value phi, Value v) { f().insts[phi].arg[1] = v; }

    std::unique_ptr<Kernel> compile(Backend &backend = interp_backend()) const {
        return backend.compile(program, "test");
    }
    void run(uint64_t n, LaunchLog *log = nullptr, Backend &backend = interp_backend()) {
        if (&backend == &interp_backend()) // what the checking mode is to find may break the rules
            verify(program);
        auto kernel = compile(backend);
        kernel->run({ pointers.data(), sizes.data(), n, log }, 0, n);
    }
};

struct Log : LaunchLog {
    std::mutex mutex;
    std::vector<std::string> errors;
    std::vector<uint64_t> printed, failed; // lanes
    std::vector<float> values;
    void print(uint32_t, uint64_t first, uint32_t lanes, const int32_t *mask,
               const void *frame) override {
        std::lock_guard lock(mutex);
        for (uint32_t i = 0; i < lanes; ++i)
            if (mask[i]) {
                printed.push_back(first + i);
                values.push_back(static_cast<const float *>(frame)[i]);
            }
    }
    void assertion(uint32_t, uint64_t first, uint32_t lanes, const int32_t *mask) override {
        std::lock_guard lock(mutex);
        for (uint32_t i = 0; i < lanes; ++i)
            if (mask[i])
                failed.push_back(first + i);
    }
    void error(const std::string &message) override {
        std::lock_guard lock(mutex);
        errors.push_back(message);
    }
};

} // namespace umbel::jit::testing
