// python/arrays.cpp: the renderer's values as Python objects, and back.
#include "python/arrays.h"

namespace umbel::python {

namespace {

// nanobind tries other overloads where a conversion fails: an error must not stay behind.
PyObject *converted(const Class *cls, PyObject *o) {
    PyObject *r = cls ? convert(cls, o) : nullptr;
    if (!r)
        PyErr_Clear();
    return r;
}

} // namespace

bool load_values(PyObject *o, Type t, Value *out, int count) {
    try {
        enter();
        if (t == Type::Void)
            t = variant().float_type();
        // Any array of as many entries, whatever it means
        if (is_array(o) && !is_tensor(as_array(o))) {
            Object *a = as_array(o);
            if (t == Type::Bool && a->cls->type != Type::Bool)
                return false;
            if (int(a->n) != count && !(a->n == 1 && a->cls->depth == 0))
                return false;
            for (int i = 0; i < count; ++i) {
                const Value &v = a->v[a->n == 1 ? 0 : i];
                if (!v.valid())
                    return false;
                out[i] = v.type() == t ? v : jit::cast(t, v);
            }
            return true;
        }
        PyObject *r = converted(count == 1 ? scalar_class(t) : vector_class(t, count), o);
        if (!r)
            return false;
        Object *a = as_array(r);
        bool valid = true;
        for (int i = 0; i < count; ++i) {
            out[i] = a->v[i];
            valid = valid && out[i].valid();
        }
        Py_DECREF(r);
        return valid;
    } catch (...) {
        set_python_error();
        PyErr_Clear();
        return false;
    }
}

PyObject *store_values(const Value *values, int count, Sense sense) {
    return guarded([&] {
        Type t = Type::Void;
        for (int i = 0; i < count; ++i)
            if (values[i].valid())
                t = values[i].type();
        if (t == Type::Void)
            t = variant().float_type();
        const Class *cls = sense == Sense::Plain ? scalar_class(t) : vector_class(t, count, sense);
        if (!cls)
            cls = vector_class(t, count);
        Object *o = make_object(cls);
        for (int i = 0; o && i < count; ++i)
            o->v[i] = values[i];
        return as_py(o);
    });
}

bool load_spectrum(PyObject *o, Spectrum &out) {
    enter();
    int channels = variant().channels();
    if (variant().polarized && is_array(o) && as_array(o)->cls->kind == Kind::Matrix) {
        std::vector<Value> v(size_t(16 * channels));
        if (!load_values(o, Type::Void, v.data(), 16 * channels))
            return false;
        out.c = std::vector<Float>(v.begin(), v.end());
        return true;
    }
    Value v[4];
    if (!load_values(o, Type::Void, v, channels))
        return false;
    out.c.clear();
    for (int i = 0; i < channels; ++i)
        out.c.emplace_back(std::move(v[i]));
    return true;
}

PyObject *store_spectrum(const Spectrum &s) {
    if (!s.is_mueller()) {
        std::vector<Value> v(s.c.begin(), s.c.end());
        int n = int(v.size());
        return store_values(v.data(), n, n == 4 ? Sense::Spectrum : Sense::Color);
    }
    return guarded([&] {
        int dims[] = { 4, 4, int(s.channels()) };
        Object *o = make_object(find_class(s.c[0].type(), Kind::Matrix, 3, dims));
        for (uint32_t i = 0; o && i < o->n; ++i)
            o->v[i] = s.c[i];
        return as_py(o);
    });
}

} // namespace umbel::python
