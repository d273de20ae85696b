// jit/fields.h: the values inside user structs, so that structs can be loop state, arguments and results.
//
//     struct Ray { Float32 ox, oy, oz; UInt32 depth; UMBEL_STRUCT(ox, oy, oz, depth) };
#pragma once
#include "jit/value.h"
#include <array>
#include <tuple>
#include <vector>

/// Declares the fields of a struct that hold values (or structs, tuples, arrays and vectors of such).
#define UMBEL_STRUCT(...)                                                                          \
    auto umbel_fields() { return std::tie(__VA_ARGS__); }                                          \
    auto umbel_fields() const { return std::tie(__VA_ARGS__); }

namespace umbel::jit {

template <class T>
concept HasFields = requires(T &t) { t.umbel_fields(); };
template <class T>
concept TupleLike = requires { std::tuple_size<std::remove_cvref_t<T>>::value; };
template <class T> struct is_vector : std::false_type {};
template <class T> struct is_vector<std::vector<T>> : std::true_type {};

/// Calls f(Value &) for each value inside `x`, in declaration order. Plain numbers and pointers are
/// constants of the host program and are passed over.
template <class T, class F> void visit_values(T &x, F &&f) {
    using U = std::remove_cv_t<T>;
    if constexpr (std::is_base_of_v<Value, U>)
        f(x);
    else if constexpr (HasFields<T>)
        std::apply([&](auto &...field) { (visit_values(field, f), ...); }, x.umbel_fields());
    else if constexpr (TupleLike<U>)
        std::apply([&](auto &...field) { (visit_values(field, f), ...); }, x);
    else if constexpr (is_vector<U>::value) {
        for (auto &e : x)
            visit_values(e, f);
    } else
        static_assert(std::is_arithmetic_v<U> || std::is_pointer_v<U> || std::is_enum_v<U> ||
                          std::is_empty_v<U>,
                      "declare the struct's fields with UMBEL_STRUCT(...)");
}

template <class T> std::vector<Value *> values_of(T &x) {
    std::vector<Value *> out;
    visit_values(x, [&](Value &v) { out.push_back(&v); });
    return out;
}

} // namespace umbel::jit
