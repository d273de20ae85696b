// python/jit_sequence.cpp: entries, components by name, lengths, conversion to Python's numbers.
#include "jit/recording.h"
#include "python/older_python.h"
#include "python/sequence.h"
#include "python/waiting.h"
#include <cmath>

namespace umbel::python {

namespace {

int component(char c) {
    switch (c) {
    case 'x': return 0;
    case 'y': return 1;
    case 'z': return 2;
    case 'w': return 3;
    }
    return -1;
}

bool has_components(const Class *c) {
    return c->kind == Kind::Array || c->kind == Kind::Quaternion;
}

// The components that a name such as "xzy" stands for; empty if it is no such name.
std::vector<int> components(PyObject *name, const Object *o) {
    std::vector<int> r;
    Py_ssize_t n = 0;
    const char *s = PyUnicode_AsUTF8AndSize(name, &n);
    const Class *c = o->cls;
    if (!s || n < 1 || c->depth < 1 || !has_components(c))
        return {};
    for (Py_ssize_t i = 0; i < n; ++i) {
        int k = component(s[i]);
        if (k < 0 || size_t(k) >= dim(o, 0))
            return {};
        r.push_back(k);
    }
    return r;
}

std::vector<int> counting(size_t n) {
    std::vector<int> r(n);
    for (size_t i = 0; i < n; ++i)
        r[i] = int(i);
    return r;
}

PyObject *swizzle(Object *o, const std::vector<int> &list) {
    const Class *c = o->cls;
    Sense sense = c->depth == 1 ? c->sense : Sense::Plain;
    int n = int(list.size()), dims[3] = { n, c->dims[1], c->dims[2] };
    const Class *cls = find_class(c->type, Kind::Array, c->depth, dims, sense, c->host);
    if (!cls)
        cls = find_class(c->type, Kind::Array, c->depth, dims, Sense::Plain, c->host);
    if (!cls && c->depth == 1) { // more entries than a class of fixed size has
        dims[0] = Dynamic;
        cls = find_class(c->type, Kind::Array, 1, dims, Sense::Plain, c->host);
    }
    if (!cls)
        raise(PyExc_AttributeError,
              fmt::format("no class has {} entries like those of {}", n, c->name));
    Object *out = make_object(cls, nullptr, uint32_t(n));
    uint32_t block = uint32_t(o->n / dim(o, 0));
    for (size_t i = 0; out && i < list.size(); ++i)
        for (uint32_t k = 0; k < block; ++k)
            out->v[i * block + k] = o->v[uint32_t(list[i]) * block + k];
    return as_py(out);
}

// A Python integer as an index; false where the key is something else.
bool as_index(PyObject *key, size_t length, const Object *o, size_t &index,
              bool broadcasts = false) {
    if (is_array(key) || PyBool_Check(key) || !PyIndex_Check(key))
        return false;
    PyObject *number = PyNumber_Index(key);
    if (!number) { // an array of NumPy's, of several
        if (!PyErr_ExceptionMatches(PyExc_TypeError))
            throw PythonError();
        PyErr_Clear();
        return false;
    }
    Py_ssize_t i = PyNumber_AsSsize_t(number, PyExc_IndexError);
    Py_DECREF(number);
    if (i == -1 && PyErr_Occurred())
        throw PythonError();
    Py_ssize_t k = i < 0 ? i + Py_ssize_t(length) : i;
    if (k < 0 || (size_t(k) >= length && !broadcasts))
        raise(PyExc_IndexError,
              fmt::format("{}: entry {} is out of bounds (the array is of size {})", o->cls->name,
                          i, length));
    index = size_t(k);
    return true;
}

const Value &single(Object *o, const char *what) {
    int ndim = is_tensor(o) ? 0 : o->cls->depth + 1;
    if (ndim > 1)
        raise(hook("ArgumentError"),
              fmt::format("{}: implicit conversion to '{}' requires an array with at most 1 "
                          "dimension (this one has {} dimensions)",
                          o->cls->name, what, ndim));
    if (o->v[0].size() != 1)
        raise(hook("ArgumentError"),
              fmt::format("{}: implicit conversion to '{}' requires an array with at most 1 "
                          "element (this one has {} elements)",
                          o->cls->name, what, width(o)));
    return o->v[0];
}

} // namespace

void evaluate_and_wait(const Value &v) {
    if (v.is_literal())
        return;
    jit::about_to_read(v.context(), "reading an array");
    jit::eval(v);
    if (!v.context().stream().idle())
        wait_for(v.context());
}

void bring_numbers_home(Object *o) {
    for (uint32_t i = 0; i < o->n; ++i) {
        Value &v = o->v[i];
        if (!v.valid() || &v.context() == &context())
            continue;
        uint64_t bits = 0;
        if (v.is_literal())
            bits = v.literal_bits();
        else {
            evaluate_and_wait(v);
            jit::read(v, &bits, 0, 1);
        }
        enter();
        v = jit::literal(v.type(), bits);
    }
}

// A value of its own: while it waits, another thread may change the object.
PyObject *element(Value v, uint32_t lane) {
    uint64_t bits = 0;
    if (v.is_literal()) {
        bits = v.literal_bits();
    } else {
        evaluate_and_wait(v);
        jit::read(v, &bits, v.size() == 1 ? 0 : lane, 1);
    }
    switch (v.type()) {
    case Type::Bool: return PyBool_FromLong(bits & 1);
    case Type::F16: return PyFloat_FromDouble(jit::half_to_float(uint16_t(bits)));
    case Type::F32: return PyFloat_FromDouble(jit::from_bits<float>(bits));
    case Type::F64: return PyFloat_FromDouble(jit::from_bits<double>(bits));
    case Type::I8: return PyLong_FromLong(int8_t(bits));
    case Type::I16: return PyLong_FromLong(int16_t(bits));
    case Type::I32: return PyLong_FromLong(int32_t(bits));
    case Type::I64: return PyLong_FromLongLong(int64_t(bits));
    default: return PyLong_FromUnsignedLongLong(bits);
    }
}

PyObject *get_entry(Object *o, size_t i) {
    const Class *entry = o->cls->entry;
    if (entry->host && entry->depth == 0)
        return guarded([&] { return element(o->v[i], 0); });
    return view_of(o, entry, o->v + i * (o->n / dim(o, 0)));
}

void set_entry(Object *o, size_t i, PyObject *value) {
    PyObject *converted = convert(o->cls->entry, value);
    if (!converted)
        throw PythonError();
    Object *e = as_array(converted);
    uint32_t block = uint32_t(o->n / dim(o, 0));
    for (uint32_t k = 0; k < block; ++k)
        o->v[i * block + k] = e->v[k];
    Py_DECREF(converted);
}

int array_bool(PyObject *self) {
    try {
        Object *o = as_array(self);
        if (o->cls->type != Type::Bool)
            raise(PyExc_TypeError,
                  fmt::format("{}: implicit conversion to 'bool' is only supported for scalar mask "
                              "arrays; compare it, or use umbel.jit.any() or all()",
                              o->cls->name));
        const Value &v = single(o, "bool");
        if (v.node().region)
            raise(PyExc_RuntimeError,
                  "a mask that is being recorded in a loop, branch or call has no value yet: use "
                  "umbel.jit.select(), if_stmt(), or decorate the function with @umbel.jit.syntax");
        PyObject *r = element(v, 0);
        Py_DECREF(r);
        return r == Py_True;
    } catch (...) {
        set_python_error();
        return -1;
    }
}

PyObject *array_int(PyObject *self) {
    return guarded([&] {
        PyObject *e = element(single(as_array(self), "int"), 0), *r = PyNumber_Long(e);
        Py_DECREF(e);
        return r;
    });
}

PyObject *array_float(PyObject *self) {
    return guarded([&] {
        PyObject *e = element(single(as_array(self), "float"), 0), *r = PyNumber_Float(e);
        Py_DECREF(e);
        return r;
    });
}

Py_ssize_t array_length(PyObject *self) {
    Object *o = as_array(self);
    if (is_tensor(o)) {
        if (as_tensor(o)->shape.empty())
            return 0; // no dimension
        return Py_ssize_t(as_tensor(o)->shape[0]);
    }
    return Py_ssize_t(o->cls->depth ? dim(o, 0) : o->v[0].size());
}

// `broadcasts`: one lane stands for as many as one likes; not where a sequence ends with the first index that fails.
PyObject *item_of(PyObject *self, PyObject *key, bool broadcasts) {
    return guarded([&]() -> PyObject * {
        Object *o = as_array(self);
        size_t i;
        if (is_tensor(o))
            return PyObject_CallFunctionObjArgs(hook("tensor_get"), self, key, nullptr);
        if (o->cls->depth == 0) {
            size_t length = o->v[0].size();
            if (as_index(key, length, o, i, broadcasts && length == 1 && !o->cls->host))
                return element(o->v[0], uint32_t(i));
        } else if (as_index(key, dim(o, 0), o, i)) {
            return get_entry(o, i);
        }
        return PyObject_CallFunctionObjArgs(hook("get_item"), self, key, nullptr);
    });
}

PyObject *array_getitem(PyObject *self, PyObject *key) { return item_of(self, key, true); }

PyObject *array_item(PyObject *self, Py_ssize_t i) {
    PyObject *key = PyLong_FromSsize_t(i), *r = key ? item_of(self, key, false) : nullptr;
    Py_XDECREF(key);
    return r;
}

int array_setitem(PyObject *self, PyObject *key, PyObject *value) {
    try {
        Object *o = as_array(self);
        size_t i;
        if (!value)
            raise(PyExc_TypeError, "entries of arrays cannot be deleted");
        if (o->cls->depth && as_index(key, dim(o, 0), o, i)) {
            set_entry(o, i, value);
            return 0;
        }
        PyObject *r = PyObject_CallFunctionObjArgs(hook(is_tensor(o) ? "tensor_set" : "set_item"),
                                                   self, key, value, nullptr);
        Py_XDECREF(r);
        return r ? 0 : -1;
    } catch (...) {
        set_python_error();
        return -1;
    }
}

PyObject *array_iter(PyObject *self) {
    return guarded([&] { return PyObject_CallOneArg(hook("iterate"), self); });
}

PyObject *array_repr(PyObject *self) {
    return guarded([&] { return PyObject_CallOneArg(hook("format"), self); });
}

PyObject *array_getattr(PyObject *self, PyObject *name) {
    Object *o = as_array(self);
    if (PyUnicode_GET_LENGTH(name) == 1 && o->cls->depth &&
        has_components(o->cls)) { // x, y, z, w: by far the most frequent
        int k = component(char(PyUnicode_READ_CHAR(name, 0)));
        if (k >= 0 && size_t(k) < dim(o, 0))
            return get_entry(o, size_t(k));
    }
    PyObject *r = PyObject_GenericGetAttr(self, name);
    if (r || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return r;
    std::vector<int> list = components(name, o);
    if (list.empty())
        return nullptr;
    PyErr_Clear();
    return guarded([&] { return swizzle(o, list); });
}

int array_setattr(PyObject *self, PyObject *name, PyObject *value) {
    Object *o = as_array(self);
    std::vector<int> list = value ? components(name, o) : std::vector<int>();
    if (list.empty())
        return PyObject_GenericSetAttr(self, name, value);
    try {
        if (list.size() == 1) {
            set_entry(o, size_t(list[0]), value);
            return 0;
        }
        bool one = is_number(value) || (is_array(value) && as_array(value)->cls->depth == 0 &&
                                        !is_tensor(as_array(value))); // broadcasts
        if (!one && PyObject_Length(value) != Py_ssize_t(list.size())) {
            PyErr_Clear();
            raise(PyExc_IndexError,
                  fmt::format("{}: as many entries are needed as the swizzle has: {}", o->cls->name,
                              list.size()));
        }
        PyObject *copy = // entries of the same array must not change on the way
            is_array(value) && !one ? swizzle(as_array(value), counting(list.size())) : nullptr;
        struct Release {
            PyObject *o;
            ~Release() { Py_XDECREF(o); }
        } release{ copy };
        value = copy ? copy : value;
        for (size_t i = 0; i < list.size(); ++i) {
            PyObject *e = one ? Py_NewRef(value) : PySequence_GetItem(value, Py_ssize_t(i));
            if (!e) {
                PyErr_Clear();
                PyObject *k = PyLong_FromSize_t(i);
                e = PyObject_GetItem(value, k);
                Py_DECREF(k);
            }
            if (!e)
                throw PythonError();
            set_entry(o, size_t(list[i]), e);
            Py_DECREF(e);
        }
        return 0;
    } catch (...) {
        set_python_error();
        return -1;
    }
}

} // namespace umbel::python
