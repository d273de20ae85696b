// python/helpers.h: what the bindings of arrays share; nanobind's view of array objects.
#pragma once
#include "python/objects.h"
#include <nanobind/nanobind.h>

namespace umbel::python {

namespace nb = nanobind;

inline Object *array_of(nb::handle h) {
    enter();
    if (!is_array(h.ptr()))
        throw nb::type_error(
            fmt::format("an array is needed, not '{}'", Py_TYPE(h.ptr())->tp_name).c_str());
    return as_array(h.ptr());
}
inline const Class *class_from(nb::handle type) {
    Class *c =
        PyType_Check(type.ptr()) ? class_of(reinterpret_cast<PyTypeObject *>(type.ptr())) : nullptr;
    if (!c)
        throw nb::type_error("an array type is needed");
    return c;
}
/// Takes over a new reference; null: the error that Python has.
inline nb::object steal(PyObject *o) {
    if (!o)
        throw nb::python_error();
    return nb::steal(o);
}
inline nb::object steal(Object *o) { return steal(as_py(o)); }
/// An object like `o`, of class `cls`, with f(value) in the place of each value.
template <class F> nb::object map_values(const Class *cls, Object *o, F &&f) {
    Object *out = make_object(cls, nullptr, o->n);
    nb::object result = steal(out);
    for (uint32_t i = 0; i < o->n; ++i)
        out->v[i] = f(o->v[i]);
    if (is_tensor(o))
        as_tensor(out)->shape = as_tensor(o)->shape;
    return result;
}
template <class F> nb::object map_values(Object *o, F &&f) {
    return map_values(o->cls, o, std::forward<F>(f));
}
/// The one value of an object, a number, or None (a literal `fallback`), as type t.
Value lane_value(nb::handle h, Type t, uint64_t fallback);
inline Value mask_value(nb::handle h) { return lane_value(h, Type::Bool, 1); }
inline Value index_value(nb::handle h) { return lane_value(h, Type::U32, 0); }
/// The values of all arrays in a list, in order.
std::vector<Value> values_of(nb::list arrays);
/// Puts values in the places of those of the arrays in a list.
void set_values(nb::list arrays, const std::vector<Value> &values);

} // namespace umbel::python
