// jit/interp/executor_memory.cpp: loads, stores, gathers, scatters and local arrays.
//
// These visit the frame's own n lanes, never the padding. A lane outside the mask reads a zero of
// ours instead of branching: masks are often random, and a wrong guess costs more than a load.
#include "jit/interp/executor.h"
#include "jit/interp/half.h"
#include <atomic>
#include <type_traits>

namespace umbel::jit {

// ---- lane by lane

void Executor::load_lane(Frame &f, const Step &s) {
    size_t size = bytes(s.type);
    const std::byte *from =
        static_cast<const std::byte *>(m_launch.args[s.imm]) + f.first_lane * size;
    if (!f.lanes) {
        std::memcpy(f.at(s.d), from, f.n * size);
        return;
    }
    with_size(size, [&](auto zero) {
        using T = decltype(zero);
        T *d = f.as<T>(s.d);
        const T *p = reinterpret_cast<const T *>(from);
        for (uint32_t i = 0; i < f.n; ++i)
            d[i] = p[f.lanes[i]];
    });
}

void Executor::store_lane(Frame &f, const Step &s) {
    size_t size = bytes(s.type);
    std::byte *to = static_cast<std::byte *>(m_launch.args[s.imm]) + f.first_lane * size;
    if (s.e == NoLoc && !is_uniform(s.a)) {
        std::memcpy(to, f.at(s.a), f.n * size);
        return;
    }
    with_size(size, [&](auto zero) {
        using T = decltype(zero);
        Operand<T> a(f, s.a);
        T *d = reinterpret_cast<T *>(to);
        const uint8_t *mask = s.e == NoLoc ? nullptr : f.as<uint8_t>(s.e);
        for (uint32_t i = 0; i < f.n; ++i)
            if (!mask || mask[i])
                d[i] = a[i];
    });
}

void Executor::load_data(Frame &f, const Step &s) {
    with_size(bytes(s.type), [&](auto zero) {
        using T = decltype(zero);
        T *d = f.as<T>(s.d);
        for (uint32_t i = 0; i < f.n; ++i)
            std::memcpy(d + i, f.data + f.data_offset[i] + s.imm, sizeof(T));
    });
}

// ---- arrays in memory

void Executor::gather(Frame &f, const Step &s, Operand<uint8_t> mask) {
    with_size(bytes(s.type), [&](auto zero) {
        using T = decltype(zero);
        const T nothing = 0;
        Operand<uintptr_t> base(f, s.a);
        Operand<uint32_t> index(f, s.b);
        T *d = f.as<T>(s.d);
        for (uint32_t i = 0; i < f.n; ++i) {
            uintptr_t address = base[i] + index[i] * uintptr_t(sizeof(T));
            d[i] = *(mask[i] ? reinterpret_cast<const T *>(address) : &nothing);
        }
    });
}

void Executor::packet(Frame &f, const Step &s, Operand<uint8_t> mask) {
    with_size(bytes(s.type), [&](auto zero) {
        using T = decltype(zero);
        Operand<uintptr_t> base(f, s.a);
        Operand<uint32_t> index(f, s.b);
        T *d = f.as<T>(s.d);
        // Uniform packets have a slot of 8 bytes an element.
        size_t step = is_uniform(s.d) ? 8 / sizeof(T) : m_plan.block;
        for (uint32_t i = 0; i < f.n; ++i) {
            uintptr_t address = base[i] + uintptr_t(index[i]) * s.length * sizeof(T);
            const T *p = reinterpret_cast<const T *>(address);
            bool m = mask[i];
            for (size_t k = 0; k < s.length; ++k)
                d[k * step + i] = m ? p[k] : T(0);
        }
    });
}

namespace {

template <class T> T reduce(ReduceOp op, T a, T b) {
    switch (op) {
    case ReduceOp::Add: return T(a + b);
    case ReduceOp::Mul: return T(a * b);
    case ReduceOp::Min: return b < a ? b : a; // the target stays where the value is NaN
    case ReduceOp::Max: return b > a ? b : a;
    default: return b;
    }
}

/// target op= value as one step for all threads. V is the type in which the operation is defined.
template <class V> void atomic_reduce(ReduceOp op, std::make_unsigned_t<V> *target, V value) {
    using U = std::make_unsigned_t<V>;
    std::atomic_ref<U> ref(*target);
    constexpr auto Relaxed = std::memory_order_relaxed;
    switch (op) {
    case ReduceOp::Store: ref.store(U(value), Relaxed); return;
    case ReduceOp::Add: ref.fetch_add(U(value), Relaxed); return;
    case ReduceOp::And: ref.fetch_and(U(value), Relaxed); return;
    case ReduceOp::Or: ref.fetch_or(U(value), Relaxed); return;
    default: break;
    }
    U old = ref.load(Relaxed);
    for (;;) {
        U next = op == ReduceOp::Mul ? U(uint64_t(old) * uint64_t(U(value)))
                                     : U(reduce<V>(op, V(old), value));
        if (next == old || ref.compare_exchange_weak(old, next, Relaxed))
            return;
    }
}

template <class F, class U, class From, class To>
void atomic_reduce_float(ReduceOp op, U *target, U value_bits, From from, To to) {
    std::atomic_ref<U> ref(*target);
    constexpr auto Relaxed = std::memory_order_relaxed;
    if (op == ReduceOp::Store) {
        ref.store(value_bits, Relaxed);
        return;
    }
    F value = from(value_bits);
    U old = ref.load(Relaxed);
    for (;;) {
        U next = to(reduce<F>(op, from(old), value));
        if (next == old || ref.compare_exchange_weak(old, next, Relaxed))
            return;
    }
}

void reduce_one(Type t, ReduceOp op, void *target, const void *value) {
    switch (t) {
#define UMBEL_CASE(E, T)                                                                           \
    case Type::E:                                                                                  \
        atomic_reduce<T>(op, static_cast<std::make_unsigned_t<T> *>(target),                       \
                         *static_cast<const T *>(value));                                          \
        return;
        UMBEL_CASE(Bool, uint8_t)
        UMBEL_CASE(I8, int8_t)
        UMBEL_CASE(U8, uint8_t)
        UMBEL_CASE(I16, int16_t)
        UMBEL_CASE(U16, uint16_t)
        UMBEL_CASE(I32, int32_t)
        UMBEL_CASE(U32, uint32_t)
        UMBEL_CASE(I64, int64_t)
        UMBEL_CASE(U64, uint64_t)
        UMBEL_CASE(Ptr, uint64_t)
#undef UMBEL_CASE
    case Type::F16:
        atomic_reduce_float<float>(
            op, static_cast<uint16_t *>(target), *static_cast<const uint16_t *>(value),
            [](uint16_t b) { return float_from_half(half{ b }); },
            [](float x) { return half_from_float(x).bits; });
        return;
    case Type::F32:
        atomic_reduce_float<float>(
            op, static_cast<uint32_t *>(target), *static_cast<const uint32_t *>(value),
            [](uint32_t b) { return __builtin_bit_cast(float, b); },
            [](float x) { return __builtin_bit_cast(uint32_t, x); });
        return;
    case Type::F64:
        atomic_reduce_float<double>(
            op, static_cast<uint64_t *>(target), *static_cast<const uint64_t *>(value),
            [](uint64_t b) { return __builtin_bit_cast(double, b); },
            [](double x) { return __builtin_bit_cast(uint64_t, x); });
        return;
    case Type::Void: return;
    }
}

} // namespace

void Executor::scatter(Frame &f, const Step &s, Operand<uint8_t> mask) {
    Operand<uint32_t> index(f, s.b);
    ReduceOp op = ReduceOp(s.imm);
    if (op != ReduceOp::Store) {
        size_t size = bytes(s.type), stride = is_uniform(s.c) ? 0 : size;
        Operand<std::byte *> base(f, s.a);
        const std::byte *value = f.at(s.c);
        for (uint32_t i = 0; i < f.n; ++i)
            if (mask[i])
                reduce_one(s.type, op, base[i] + size_t(index[i]) * size, value + i * stride);
        return;
    }
    with_size(bytes(s.type), [&](auto zero) {
        using T = decltype(zero);
        Operand<T *> base(f, s.a);
        Operand<T> value(f, s.c);
        for (uint32_t i = 0; i < f.n; ++i)
            if (mask[i])
                base[i][index[i]] = value[i];
    });
}

void Executor::scatter_inc(Frame &f, const Step &s, Operand<uint8_t> mask) {
    Operand<uint32_t *> base(f, s.a);
    Operand<uint32_t> index(f, s.b);
    uint32_t *d = f.as<uint32_t>(s.d);
    for (uint32_t i = 0; i < f.n; ++i)
        d[i] = mask[i] ? std::atomic_ref<uint32_t>(base[i][index[i]])
                             .fetch_add(1, std::memory_order_relaxed)
                       : 0;
}

// ---- local arrays: element k of all lanes, then element k + 1

void Executor::array_new(Frame &f, const Step &s) {
    size_t size = bytes(s.type), step = size * m_plan.block;
    for (size_t k = 0; k < s.length; ++k)
        if (is_uniform(s.a))
            m_loops.splat[int(s.type)](f.at(s.d) + k * step, f.at(s.a), nullptr, nullptr, f.padded);
        else
            std::memcpy(f.at(s.d) + k * step, f.at(s.a), f.padded * size);
}

void Executor::array_get(Frame &f, const Step &s, Operand<uint8_t> mask) {
    with_size(bytes(s.type), [&](auto zero) {
        using T = decltype(zero);
        const T *array = f.as<T>(s.a);
        Operand<uint32_t> index(f, s.b);
        T *d = f.as<T>(s.d);
        const T nothing = 0;
        for (uint32_t i = 0; i < f.n; ++i) {
            bool inside = mask[i] && index[i] < s.length;
            d[i] = *(inside ? array + size_t(index[i]) * m_plan.block + i : &nothing);
        }
    });
}

void Executor::array_set(Frame &f, const Step &s, Operand<uint8_t> mask) {
    if (s.d != s.a)
        std::memcpy(f.at(s.d), f.at(s.a), size_t(s.length) * bytes(s.type) * m_plan.block);
    with_size(bytes(s.type), [&](auto zero) {
        using T = decltype(zero);
        T *array = f.as<T>(s.d);
        Operand<uint32_t> index(f, s.b);
        Operand<T> value(f, s.c);
        for (uint32_t i = 0; i < f.n; ++i)
            if (mask[i] && index[i] < s.length)
                array[size_t(index[i]) * m_plan.block + i] = value[i];
    });
}

} // namespace umbel::jit
