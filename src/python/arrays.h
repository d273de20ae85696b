// python/arrays.h: Python arrays as arguments and results of bound functions.
//
// `Float`, `UInt32`, `Int32`, `Mask`, `Vector2`, `Vector3` and `Spectrum` are taken and returned by value;
// numbers, lists and NumPy arrays convert on the way in. A Vector3 becomes Python's Vector3f; to return a
// point, normal or colour, wrap it: `as_point(v)`, `as_normal(v)`, `as_color(v)`. Arguments need no such
// wrapping: any class of three entries will do.
#pragma once
#include "core/spectrum.h"
#include "python/objects.h"
#include <nanobind/nanobind.h>

namespace umbel::python {

/// Values with the meaning that chooses their Python class.
template <class T, Sense sense> struct Tagged {
    T value;
};
using PyPoint2 = Tagged<Vector2, Sense::Point>;
using PyPoint3 = Tagged<Vector3, Sense::Point>;
using PyNormal3 = Tagged<Vector3, Sense::Normal>;
using PyColor3 = Tagged<Vector3, Sense::Color>;
inline PyPoint2 as_point(Vector2 v) { return { std::move(v) }; }
inline PyPoint3 as_point(Vector3 v) { return { std::move(v) }; }
inline PyNormal3 as_normal(Vector3 v) { return { std::move(v) }; }
inline PyColor3 as_color(Vector3 v) { return { std::move(v) }; }

// ---- conversions behind the casters (arrays.cpp)

/// `count` values of type `t` from an array, number or sequence; false where that cannot be. The element
/// type Void stands for the variant's Float.
bool load_values(PyObject *o, Type t, Value *out, int count);
/// An object of `count` entries; one is an array without dimensions unless `sense` says otherwise.
PyObject *store_values(const Value *values, int count, Sense sense);
bool load_spectrum(PyObject *o, Spectrum &out);
/// Color1f, Color3f or Spectrum4f; a matrix of such where polarized.
PyObject *store_spectrum(const Spectrum &s);

} // namespace umbel::python

namespace nanobind::detail {

template <class T, umbel::jit::Type type> struct umbel_value_caster {
    NB_TYPE_CASTER(T, const_name("umbel.jit.ArrayBase"))
    bool from_python(handle src, uint8_t flags, cleanup_list *) noexcept {
        umbel::jit::Value v;
        if (!(flags & uint8_t(cast_flags::convert)) && !umbel::python::is_array(src.ptr()))
            return false;
        if (!umbel::python::load_values(src.ptr(), type, &v, 1))
            return false;
        value = T(std::move(v));
        return true;
    }
    static handle from_cpp(const T &v, rv_policy, cleanup_list *) noexcept {
        return umbel::python::store_values(&v, 1, umbel::python::Sense::Plain);
    }
};
template <>
struct type_caster<umbel::Float> : umbel_value_caster<umbel::Float, umbel::jit::Type::Void> {};
template <>
struct type_caster<umbel::UInt32> : umbel_value_caster<umbel::UInt32, umbel::jit::Type::U32> {};
template <>
struct type_caster<umbel::Int32> : umbel_value_caster<umbel::Int32, umbel::jit::Type::I32> {};
template <>
struct type_caster<umbel::UInt64> : umbel_value_caster<umbel::UInt64, umbel::jit::Type::U64> {};
template <>
struct type_caster<umbel::Mask> : umbel_value_caster<umbel::Mask, umbel::jit::Type::Bool> {};

template <class T, int N, umbel::python::Sense sense, class Get> struct umbel_vector_caster {
    NB_TYPE_CASTER(T, const_name("umbel.jit.ArrayBase"))
    bool from_python(handle src, uint8_t flags, cleanup_list *) noexcept {
        umbel::jit::Value v[N];
        if (!(flags & uint8_t(cast_flags::convert)) && !umbel::python::is_array(src.ptr()))
            return false;
        if (!umbel::python::load_values(src.ptr(), umbel::jit::Type::Void, v, N))
            return false;
        Get::set(value, v);
        return true;
    }
    static handle from_cpp(const T &v, rv_policy, cleanup_list *) noexcept {
        umbel::jit::Value values[N];
        Get::get(v, values);
        return umbel::python::store_values(values, N, sense);
    }
};
struct umbel_entries {
    using Value = umbel::jit::Value;
    static void set(umbel::Vector2 &o, Value *v) {
        o = { umbel::Float(std::move(v[0])), umbel::Float(std::move(v[1])) };
    }
    static void get(const umbel::Vector2 &o, Value *v) { v[0] = o.x, v[1] = o.y; }
    static void set(umbel::Vector3 &o, Value *v) {
        o = { umbel::Float(std::move(v[0])), umbel::Float(std::move(v[1])),
              umbel::Float(std::move(v[2])) };
    }
    static void get(const umbel::Vector3 &o, Value *v) { v[0] = o.x, v[1] = o.y, v[2] = o.z; }
    template <class T, umbel::python::Sense s>
    static void set(umbel::python::Tagged<T, s> &o, Value *v) {
        set(o.value, v);
    }
    template <class T, umbel::python::Sense s>
    static void get(const umbel::python::Tagged<T, s> &o, Value *v) {
        get(o.value, v);
    }
};
template <>
struct type_caster<umbel::Vector2>
    : umbel_vector_caster<umbel::Vector2, 2, umbel::python::Sense::Vector, umbel_entries> {};
template <>
struct type_caster<umbel::Vector3>
    : umbel_vector_caster<umbel::Vector3, 3, umbel::python::Sense::Vector, umbel_entries> {};
template <umbel::python::Sense s>
struct type_caster<umbel::python::Tagged<umbel::Vector2, s>>
    : umbel_vector_caster<umbel::python::Tagged<umbel::Vector2, s>, 2, s, umbel_entries> {};
template <umbel::python::Sense s>
struct type_caster<umbel::python::Tagged<umbel::Vector3, s>>
    : umbel_vector_caster<umbel::python::Tagged<umbel::Vector3, s>, 3, s, umbel_entries> {};

template <> struct type_caster<umbel::Spectrum> {
    NB_TYPE_CASTER(umbel::Spectrum, const_name("umbel.jit.ArrayBase"))
    bool from_python(handle src, uint8_t, cleanup_list *) noexcept {
        return umbel::python::load_spectrum(src.ptr(), value);
    }
    static handle from_cpp(const umbel::Spectrum &v, rv_policy, cleanup_list *) noexcept {
        return umbel::python::store_spectrum(v);
    }
};

} // namespace nanobind::detail
