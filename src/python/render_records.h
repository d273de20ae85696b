// python/render_records.h: rays, interactions and samples: Python objects with fields, plain structs in C++.
//
// The Python classes are in python/umbel/_records.py; a field is read and written by its name.
#pragma once
#include "python/arrays.h"
#include "python/render.h"
#include "render/bsdf.h"

namespace umbel::python {

/// `name` of the Python class, and visit(record, f) with f(field's name, field, its sense).
template <class T> struct Record;

template <> struct Record<Ray> {
    static constexpr const char *name = "_records.Ray3f";
    template <class T, class F> static void visit(T &r, F &&f) {
        f("o", r.o, Sense::Point);
        f("d", r.d, Sense::Vector);
        f("maxt", r.maxt, Sense::Plain);
        f("time", r.time, Sense::Plain);
        f("wavelengths", r.wavelengths, Sense::Plain);
    }
};
template <> struct Record<Interaction> {
    static constexpr const char *name = "_records.Interaction3f";
    template <class T, class F> static void visit(T &r, F &&f) {
        f("t", r.t, Sense::Plain);
        f("time", r.time, Sense::Plain);
        f("wavelengths", r.wavelengths, Sense::Plain);
        f("p", r.p, Sense::Point);
        f("n", r.n, Sense::Normal);
    }
};
template <> struct Record<SurfaceInteraction> {
    static constexpr const char *name = "_records.SurfaceInteraction3f";
    template <class T, class F> static void visit(T &r, F &&f) {
        Record<Interaction>::visit(r, f);
        f("uv", r.uv, Sense::Point);
        f("sh_frame", r.sh_frame, Sense::Plain);
        f("dp_du", r.dp_du, Sense::Vector);
        f("dp_dv", r.dp_dv, Sense::Vector);
        f("wi", r.wi, Sense::Vector);
        f("prim_index", r.prim, Sense::Plain);
        f("_shape", r.shape_number, Sense::Plain);
        f("_instance", r.instance, Sense::Plain);
        f("_bsdf", r.bsdf, Sense::Plain);
        f("_bsdf_flags", r.bsdf_flags, Sense::Plain);
        f("_emitter", r.emitter, Sense::Plain);
    }
};
template <> struct Record<Frame> {
    static constexpr const char *name = "_records.frame";
    template <class T, class F> static void visit(T &r, F &&f) {
        f("s", r.s, Sense::Vector);
        f("t", r.t, Sense::Vector);
        f("n", r.n, Sense::Normal);
    }
};
template <> struct Record<PositionSample> {
    static constexpr const char *name = "_records.PositionSample3f";
    template <class T, class F> static void visit(T &r, F &&f) {
        f("p", r.p, Sense::Point);
        f("n", r.n, Sense::Normal);
        f("uv", r.uv, Sense::Point);
        f("time", r.time, Sense::Plain);
        f("pdf", r.pdf, Sense::Plain);
        f("delta", r.delta, Sense::Plain);
    }
};
template <> struct Record<DirectionSample> {
    static constexpr const char *name = "_records.DirectionSample3f";
    template <class T, class F> static void visit(T &r, F &&f) {
        Record<PositionSample>::visit(r, f);
        f("d", r.d, Sense::Vector);
        f("dist", r.dist, Sense::Plain);
        f("_emitter", r.emitter, Sense::Plain);
    }
};
template <> struct Record<BSDFSample> {
    static constexpr const char *name = "_records.BSDFSample3f";
    template <class T, class F> static void visit(T &r, F &&f) {
        f("wo", r.wo, Sense::Vector);
        f("pdf", r.pdf, Sense::Plain);
        f("eta", r.eta, Sense::Plain);
        f("sampled_type", r.sampled_type, Sense::Plain);
        f("sampled_component", r.sampled_component, Sense::Plain);
    }
};
template <> struct Record<Hit> {
    static constexpr const char *name = "_records.PreliminaryIntersection3f";
    template <class T, class F> static void visit(T &r, F &&f) {
        f("t", r.t, Sense::Plain);
        f("_u", r.u, Sense::Plain);
        f("_v", r.v, Sense::Plain);
        f("_prim", r.prim, Sense::Plain);
        f("_geometry", r.geometry, Sense::Plain);
        f("_instance", r.instance, Sense::Plain);
    }
};

inline nb::object field_to_python(const Vector3 &v, Sense s) {
    Value values[3] = { v.x, v.y, v.z };
    return nb::steal(store_values(values, 3, s));
}
inline nb::object field_to_python(const Vector2 &v, Sense s) {
    Value values[2] = { v.x, v.y };
    return nb::steal(store_values(values, 2, s));
}
inline nb::object field_to_python(const Spectrum &v, Sense) {
    return v.c.empty() ? from_package("Color0f")() : nb::steal(store_spectrum(v));
}
template <class T>
    requires std::is_base_of_v<Value, T>
nb::object field_to_python(const T &v, Sense) {
    return v.valid() ? nb::steal(store_values(&v, 1, Sense::Plain)) : nb::none();
}
template <class T>
    requires requires { Record<T>::name; }
nb::object field_to_python(const T &v, Sense);

template <class T> nb::object record_to_python(const T &r) {
    nb::object out = from_package(Record<T>::name)();
    Record<T>::visit(r, [&](const char *name, const auto &field, Sense s) {
        // Past the class's own __setattr__: the types are right
        nb::object key = nb::steal(PyUnicode_InternFromString(name)),
                   value = field_to_python(field, s);
        if (PyObject_GenericSetAttr(out.ptr(), key.ptr(), value.ptr()) != 0)
            throw nb::python_error();
    });
    return out;
}
template <class T>
    requires requires { Record<T>::name; }
nb::object field_to_python(const T &v, Sense) {
    return record_to_python(v);
}

template <class T> void record_from_python(nb::handle h, T &r);
inline void field_from_python(nb::handle h, Spectrum &out) {
    bool is_list = nb::isinstance<nb::list>(h) || nb::isinstance<nb::tuple>(h);
    if (is_list ? nb::len(h) == 0 : is_array(h.ptr()) && as_array(h.ptr())->n == 0) {
        out.c.clear();
        return;
    }
    out = nb::cast<Spectrum>(h);
}
template <class T> void field_from_python(nb::handle h, T &out) {
    if constexpr (requires { Record<T>::name; })
        record_from_python(h, out);
    else if (h.is_none())
        out = T();
    else
        out = nb::cast<T>(h);
}
template <class T> void record_from_python(nb::handle h, T &r) {
    Record<T>::visit(r, [&](const char *name, auto &field, Sense) {
        nb::object o = nb::getattr(h, name, nb::none());
        if (!o.is_none())
            field_from_python(o, field);
    });
}

} // namespace umbel::python

namespace nanobind::detail {

template <class T>
    requires requires { umbel::python::Record<T>::name; }
struct type_caster<T> {
    NB_TYPE_CASTER(T, const_name("object"))
    bool from_python(handle src, uint8_t, cleanup_list *) noexcept {
        try {
            umbel::python::record_from_python(src, value);
            return true;
        } catch (...) {
            PyErr_Clear();
            return false;
        }
    }
    static handle from_cpp(const T &r, rv_policy, cleanup_list *) {
        return umbel::python::record_to_python(r).release();
    }
};

} // namespace nanobind::detail
