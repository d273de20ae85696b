// jit/algorithm_common.h: what array algorithms share: vectors, dispatch over types, arithmetic.
// arithmetic.
#pragma once
#include "jit/error.h"
#include "jit/op.h"
#include "jit/type.h"
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

// Compiles a function for several generations of x86 and picks one at program start. The results do
// not depend on the choice: vector lengths are written out and contraction to FMA is off in all of
// Umbel. Sanitizers do not survive the early resolvers.
#if defined(__x86_64__) && defined(__ELF__) && defined(__GNUC__) && !defined(__clang__) &&         \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define UMBEL_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define UMBEL_CLONES
#endif
// Such a function must see the code of its helpers, else these would be compiled for the baseline
// only.
#define UMBEL_INLINE inline __attribute__((always_inline))
#define UMBEL_INLINE_LAMBDA __attribute__((always_inline))

namespace umbel::jit {

using f16 = _Float16;

/// Elements that one task handles: 64 KiB of f32, a fraction of a core's L2 cache.
constexpr uint64_t Piece = 16384;

/// Asks for `Bytes` that come 2 KiB behind p; CPUs do it by themselves, but not across pages.
template <uint64_t Bytes> UMBEL_INLINE void prefetch(const void *p) {
    for (uint64_t at = 0; at < Bytes; at += 64)
        __builtin_prefetch(static_cast<const char *>(p) + 2048 + at);
}

// ---- Vectors of the compiler: arithmetic and comparisons work as for scalars

namespace detail {
template <class T, int N> struct VecOf {
    typedef T type __attribute__((vector_size(sizeof(T) * N)));
};
} // namespace detail
template <class T, int N> using Vec = typename detail::VecOf<T, N>::type;

/// Lanes N of `in`, converted to A. By reference: passing vectors by value depends on the target.
template <int N, class A, class T> UMBEL_INLINE void load(const T *in, Vec<A, N> &out) {
    if constexpr (std::is_same_v<T,
                                 f16>) { // by hand: the compiler's conversion is a call per element
        using U = Vec<uint32_t, N>;
        Vec<uint16_t, N> h;
        std::memcpy(&h, in, sizeof(h));
        U x = __builtin_convertvector(h, U), magnitude = x & 0x7fff;
        Vec<float, N> subnormal = __builtin_convertvector(magnitude, Vec<float, N>) * 0x1p-24f;
        U normal = (magnitude << 13) + (112u << 23), special = (magnitude << 13) | 0x7f800000;
        U bits = magnitude < 0x400 ? (U)subnormal : magnitude < 0x7c00 ? normal : special;
        bits |= (x & 0x8000) << 16;
        out = __builtin_convertvector((Vec<float, N>)bits, Vec<A, N>);
    } else if constexpr (std::is_same_v<T, float> && std::is_same_v<A, double>) {
        // One instruction this way; __builtin_convertvector goes by way of two halves.
        [&]<int... I>(std::integer_sequence<int, I...>) UMBEL_INLINE_LAMBDA {
            out = Vec<A, N>{ double(in[I])... };
        }(std::make_integer_sequence<int, N>());
    } else {
        Vec<T, N> x;
        std::memcpy(&x, in, sizeof(x));
        out = __builtin_convertvector(x, Vec<A, N>);
    }
}

// ---- Reductions

template <class T>
constexpr bool is_float_v = std::is_floating_point_v<T> || std::is_same_v<T, f16>;

/// What sums and products of T are accumulated in: floats in f64, save min and max, which are
/// exact.
template <class T, ReduceOp op>
using Accumulator =
    std::conditional_t<is_float_v<T>,
                       std::conditional_t<op == ReduceOp::Add || op == ReduceOp::Mul, double,
                                          std::conditional_t<std::is_same_v<T, f16>, float, T>>,
                       T>;

template <class T, ReduceOp op> constexpr T identity() {
    constexpr bool is_float = is_float_v<T>;
    if constexpr (op == ReduceOp::Mul)
        return T(1);
    else if constexpr (op == ReduceOp::Min)
        return is_float ? T(std::numeric_limits<float>::infinity()) : std::numeric_limits<T>::max();
    else if constexpr (op == ReduceOp::Max)
        return is_float ? T(-std::numeric_limits<float>::infinity())
                        : std::numeric_limits<T>::lowest();
    else if constexpr (op == ReduceOp::And)
        return T(~T(0));
    else
        return T(0);
}

/// acc = acc op x, for scalars and vectors. Min and max pass over NaNs: a NaN compares false, acc
/// stays.
template <ReduceOp op, class V> UMBEL_INLINE void combine(V &acc, const V &x) {
    if constexpr (op == ReduceOp::Store)
        acc = x;
    else if constexpr (op == ReduceOp::Add)
        acc = V(acc + x);
    else if constexpr (op == ReduceOp::Mul && std::is_same_v<V, uint16_t>)
        acc = V(uint32_t(acc) * x); // two u16 multiply as int, which may overflow
    else if constexpr (op == ReduceOp::Mul)
        acc = V(acc * x);
    else if constexpr (op == ReduceOp::Min)
        acc = x < acc ? x : acc;
    else if constexpr (op == ReduceOp::Max)
        acc = x > acc ? x : acc;
    else if constexpr (op == ReduceOp::And)
        acc = V(acc & x);
    else
        acc = V(acc | x);
}

// ---- From run-time types to compile-time ones

namespace detail {
template <size_t Bytes> struct UnsignedOf;
template <> struct UnsignedOf<1> : std::type_identity<uint8_t> {};
template <> struct UnsignedOf<2> : std::type_identity<uint16_t> {};
template <> struct UnsignedOf<4> : std::type_identity<uint32_t> {};
template <> struct UnsignedOf<8> : std::type_identity<uint64_t> {};
} // namespace detail
/// The unsigned integer of the same size.
template <class T> using Unsigned = typename detail::UnsignedOf<sizeof(T)>::type;

namespace detail {
template <class T, class F> bool with_op(ReduceOp op, F &f) {
    // Signed and unsigned integers differ in min and max only.
    using U = Unsigned<T>;
    using S = std::conditional_t<is_float_v<T>, T, U>;
    switch (op) {
    case ReduceOp::Store: return f.template operator()<U, ReduceOp::Store>(), true;
    case ReduceOp::Add: return f.template operator()<S, ReduceOp::Add>(), true;
    case ReduceOp::Mul: return f.template operator()<S, ReduceOp::Mul>(), true;
    case ReduceOp::Min: return f.template operator()<T, ReduceOp::Min>(), true;
    case ReduceOp::Max: return f.template operator()<T, ReduceOp::Max>(), true;
    default: break;
    }
    if constexpr (!is_float_v<T>) {
        if (op == ReduceOp::And)
            return f.template operator()<U, ReduceOp::And>(), true;
        if (op == ReduceOp::Or)
            return f.template operator()<U, ReduceOp::Or>(), true;
    }
    return false;
}
} // namespace detail

/// Calls f.template operator()<T>() for the number type `t`; false for other types.
template <class F> bool with_number(Type t, F f) {
    switch (t) {
    case Type::I8: return f.template operator()<int8_t>(), true;
    case Type::U8: return f.template operator()<uint8_t>(), true;
    case Type::I16: return f.template operator()<int16_t>(), true;
    case Type::U16: return f.template operator()<uint16_t>(), true;
    case Type::I32: return f.template operator()<int32_t>(), true;
    case Type::U32: return f.template operator()<uint32_t>(), true;
    case Type::I64: return f.template operator()<int64_t>(), true;
    case Type::U64: return f.template operator()<uint64_t>(), true;
    case Type::F16: return f.template operator()<f16>(), true;
    case Type::F32: return f.template operator()<float>(), true;
    case Type::F64: return f.template operator()<double>(), true;
    default: return false;
    }
}

/// Calls f.template operator()<T, op>(), where T has the memory layout and the arithmetic that `op`
/// needs.
template <class F> void with_reduction(const char *caller, Type t, ReduceOp op, F f) {
    bool known = false;
    if (t == Type::Bool && (op == ReduceOp::And || op == ReduceOp::Or || op == ReduceOp::Store))
        known = detail::with_op<uint8_t>(op, f);
    else if (t == Type::Ptr && op == ReduceOp::Store)
        known = detail::with_op<uint64_t>(op, f);
    else
        with_number(t, [&]<class T> { known = detail::with_op<T>(op, f); });
    if (!known)
        throw InternalError(fmt::format("{}: there is no {} of {}", caller, name(op), name(t)));
}

} // namespace umbel::jit
