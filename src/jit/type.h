// jit/type.h: the element types of recorded values.
#pragma once
#include <cstddef>
#include <cstdint>

namespace umbel::jit {

enum class Type : uint8_t { Void, Bool, I8, U8, I16, U16, I32, U32, I64, U64, F16, F32, F64, Ptr };
constexpr int TypeCount = 14;

/// IEEE half precision, storage only: arithmetic goes through float.
struct half {
    uint16_t bits;
};

namespace detail {
// name, bytes in memory, class: v(oid) b(ool) s(igned) u(nsigned) f(loat) p(ointer)
struct TypeInfo {
    const char *name;
    uint8_t bytes;
    char kind;
};
inline constexpr TypeInfo type_info[TypeCount] = {
    { "void", 0, 'v' }, { "bool", 1, 'b' }, { "i8", 1, 's' },  { "u8", 1, 'u' },  { "i16", 2, 's' },
    { "u16", 2, 'u' },  { "i32", 4, 's' },  { "u32", 4, 'u' }, { "i64", 8, 's' }, { "u64", 8, 'u' },
    { "f16", 2, 'f' },  { "f32", 4, 'f' },  { "f64", 8, 'f' }, { "ptr", 8, 'p' },
};
} // namespace detail

constexpr const char *name(Type t) { return detail::type_info[int(t)].name; }
/// Bytes of one element in memory; a bool takes one, holding 0 or 1.
constexpr size_t bytes(Type t) { return detail::type_info[int(t)].bytes; }
constexpr size_t bits(Type t) { return t == Type::Bool ? 1 : 8 * bytes(t); }
constexpr bool is_float(Type t) { return detail::type_info[int(t)].kind == 'f'; }
constexpr bool is_signed(Type t) { return detail::type_info[int(t)].kind == 's'; }
constexpr bool is_unsigned(Type t) { return detail::type_info[int(t)].kind == 'u'; }
constexpr bool is_int(Type t) { return is_signed(t) || is_unsigned(t); }
constexpr bool is_number(Type t) { return is_int(t) || is_float(t); }

/// The type whose elements are C++ `T`s.
template <class T> struct type_of;
#define UMBEL_TYPE_OF(T, E)                                                                        \
    template <> struct type_of<T> {                                                                \
        static constexpr Type value = Type::E;                                                     \
    };
UMBEL_TYPE_OF(bool, Bool)
UMBEL_TYPE_OF(int8_t, I8)
UMBEL_TYPE_OF(uint8_t, U8)
UMBEL_TYPE_OF(int16_t, I16)
UMBEL_TYPE_OF(uint16_t, U16)
UMBEL_TYPE_OF(int32_t, I32)
UMBEL_TYPE_OF(uint32_t, U32)
UMBEL_TYPE_OF(int64_t, I64)
UMBEL_TYPE_OF(uint64_t, U64)
UMBEL_TYPE_OF(half, F16)
UMBEL_TYPE_OF(float, F32)
UMBEL_TYPE_OF(double, F64)
#undef UMBEL_TYPE_OF
template <class T> constexpr Type type_of_v = type_of<T>::value;

} // namespace umbel::jit
