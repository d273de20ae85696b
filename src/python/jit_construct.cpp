// python/jit_construct.cpp: arrays from numbers, sequences, other arrays and foreign memory.
#include "ad/ad.h"
#include "python/buffers.h"
#include "python/objects.h"
#include "python/older_python.h"
#include <limits>

namespace umbel::python {

namespace {

const char *type_name(PyObject *o) { return Py_TYPE(o)->tp_name; }

PyObject *numpy_generic() {
    static PyObject *generic = nullptr;
    if (!generic) {
        PyObject *numpy = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy");
        generic = numpy ? PyObject_GetAttrString(numpy, "generic") : nullptr;
        PyErr_Clear();
    }
    return generic;
}

bool is_numpy_scalar(PyObject *o) {
    PyObject *g = numpy_generic();
    return g && PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject *>(g));
}

uint64_t float_bits(Type t, double v) {
    return t == Type::F64   ? jit::to_bits(v)
           : t == Type::F32 ? jit::to_bits(float(v))
                            : jit::float_to_half(float(v));
}

// `is_operand`: of an operand, which is to be promoted; else an element of an array.
uint64_t integer_bits(Type t, PyObject *o, bool is_operand) {
    size_t width = jit::bits(t);
    uint64_t mask = width == 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
    int overflow = 0;
    long long s = PyLong_AsLongLongAndOverflow(o, &overflow);
    uint64_t u = uint64_t(s);
    bool fits;
    if (overflow) {
        u = PyLong_AsUnsignedLongLong(o);
        fits = t == Type::U64 && !PyErr_Occurred();
        PyErr_Clear();
    } else if (jit::is_unsigned(t)) {
        fits = s >= 0 && uint64_t(s) <= mask;
    } else {
        long long limit = (long long)(mask >> 1);
        fits = s >= -limit - 1 && s <= limit;
    }
    if (!fits) {
        PyErr_Format(is_operand ? hook("ArgumentError") : PyExc_TypeError,
                     "the integer %S does not fit into elements of type %s%s", o, jit::name(t),
                     is_operand ? " (could not promote)" : "");
        throw PythonError();
    }
    return u & mask;
}

uint64_t number_bits(Type t, PyObject *o, bool is_operand) {
    if (PyFloat_CheckExact(o) && jit::is_float(t))
        return float_bits(t, PyFloat_AS_DOUBLE(o));
    if (o == Py_True || o == Py_False) {
        bool on = o == Py_True;
        return jit::is_float(t) ? float_bits(t, on) : uint64_t(on);
    }
    PyObject *item = nullptr;
    if (is_numpy_scalar(o) && !PyFloat_Check(o)) {
        item = PyObject_CallMethod(o, "item", nullptr);
        if (!item)
            throw PythonError();
        uint64_t r = number_bits(t, item, is_operand);
        Py_DECREF(item);
        return r;
    }
    double v = PyFloat_Check(o) ? PyFloat_AS_DOUBLE(o) : 0;
    if (t == Type::Bool)
        return uint64_t(PyObject_IsTrue(o) == 1);
    if (jit::is_float(t)) {
        if (!PyFloat_Check(o))
            v = PyLong_AsDouble(o);
        if (v == -1 && PyErr_Occurred())
            throw PythonError();
        return float_bits(t, v);
    }
    if (!PyFloat_Check(o))
        return integer_bits(t, o, is_operand);
    PyObject *truncated = PyLong_FromDouble(v); // an error for infinities and NaN
    if (!truncated)
        throw PythonError();
    uint64_t r = integer_bits(t, truncated, is_operand);
    Py_DECREF(truncated);
    return r;
}

// ---- one value

// A list or tuple of numbers becomes an evaluated array.
Value from_sequence(Context &c, Type t, PyObject *o) {
    PyObject *fast = PySequence_Fast(o, "not a sequence");
    if (!fast)
        throw PythonError();
    struct Release {
        PyObject *o;
        ~Release() { Py_DECREF(o); }
    } release{ fast };
    Py_ssize_t n = PySequence_Fast_GET_SIZE(fast);
    PyObject **items = PySequence_Fast_ITEMS(fast);
    if (n == 0)
        return {};
    size_t size = jit::bytes(t);
    std::vector<uint8_t> data(size_t(n) * size);
    for (Py_ssize_t i = 0; i < n; ++i) {
        uint64_t bits;
        if (is_number(items[i])) {
            if (jit::is_int(t) && PyFloat_Check(items[i]))
                raise(PyExc_TypeError,
                      fmt::format("element {} is a float; elements of type {} are integers", i,
                                  jit::name(t)));
            bits = number_bits(t, items[i], false);
        } else if (is_array(items[i]) && as_array(items[i])->cls->depth == 0 &&
                   as_array(items[i])->v[0].size() == 1) {
            Value v = jit::cast(t, as_array(items[i])->v[0]);
            bits = 0;
            jit::read(v, &bits, 0, 1);
        } else {
            raise(PyExc_TypeError,
                  fmt::format("Could not construct from sequence (invalid type in input). Element "
                              "{} has type '{}'; a number is needed",
                              i, type_name(items[i])));
        }
        std::memcpy(data.data() + size_t(i) * size, &bits, size);
    }
    if (n == 1) {
        uint64_t bits = 0;
        std::memcpy(&bits, data.data(), size);
        return Value::adopt(c, c.graph.literal(t, bits));
    }
    return jit::copy_from(t, data.data(), n);
}

Value cast_to(Type t, const Value &v) { return !v.valid() || v.type() == t ? v : jit::cast(t, v); }

Value one_value(Context &c, const Class *cls, PyObject *o) {
    Type t = cls->type;
    if (is_number(o))
        return number(c, t, o);
    if (is_array(o)) {
        Object *a = as_array(o);
        if (a->cls->depth == 0 && (!is_tensor(a) || as_tensor(a)->shape.size() <= 1))
            return cast_to(t, a->v[0]);
        raise(PyExc_TypeError,
              fmt::format("a {} is not one of {}; see umbel.jit.ravel", cls->name, a->cls->name));
    }
    if (Foreign memory(o); memory) {
        if (memory.shape.size() > 1)
            raise(PyExc_TypeError, fmt::format("an array of {} dimensions does not fit into {}; "
                                               "one dimension is needed",
                                               memory.shape.size(), cls->name));
        return cast_to(t, memory.read(memory.type != t));
    }
    if (PySequence_Check(o) && !PyUnicode_Check(o) && !PyBytes_Check(o))
        return from_sequence(c, t, o);
    if (PyIter_Check(o) || Py_TYPE(o)->tp_iter) {
        PyObject *list = PySequence_List(o);
        if (!list)
            throw PythonError();
        Value v = from_sequence(c, t, list);
        Py_DECREF(list);
        return v;
    }
    raise(PyExc_TypeError,
          fmt::format("{}: cannot be made from an object of type '{}'", cls->name, type_name(o)));
}

// ---- several values

bool is_special(const Class *cls) { return cls->kind != Kind::Array; }

// The part of a special array that a real number fills: Complex2f(s) is s + 0i, Matrix3f(s) is s times I.
bool on_diagonal(const Class *cls, uint32_t i) {
    switch (cls->kind) {
    case Kind::Complex: return i == 0;
    case Kind::Quaternion: return i == 3;
    case Kind::Matrix: {
        uint32_t inner = cls->depth == 3 ? uint32_t(cls->dims[2]) : 1, e = i / inner;
        return e / uint32_t(cls->dims[1]) == e % uint32_t(cls->dims[1]);
    }
    default: return true;
    }
}

void fill_all(Context &c, const Class *cls, Object *out, const Value &v) {
    Value zero;
    for (uint32_t i = 0; i < out->n; ++i) {
        bool set = on_diagonal(cls, i);
        if (!set && !zero.valid())
            zero = Value::adopt(c, c.graph.literal(cls->type, 0));
        out->v[i] = set ? v : zero;
    }
}

// Entries [first, first + count) from `o`: the block of dimensions `level` and on.
void fill(Context &c, const Class *cls, Value *out, uint32_t count, int level, PyObject *o);

void fill_from_array(Context &c, const Class *cls, Value *out, uint32_t count, int level,
                     Object *a) {
    uint32_t n = a->n;
    // Equal shapes, or trailing dimensions of this one, which repeat
    int shift = cls->depth - level - a->cls->depth;
    bool fits = !is_tensor(a) && shift >= 0 && (n == 0 ? count == 0 : count % n == 0);
    for (int i = 0; fits && i < a->cls->depth; ++i) {
        int wanted = cls->dims[level + shift + i];
        fits = wanted == Dynamic || size_t(wanted) == dim(a, i);
    }
    if (!fits)
        raise(PyExc_TypeError, fmt::format("{}: cannot be made from a {} (the shapes differ)",
                                           cls->name, a->cls->name));
    for (uint32_t i = 0; i < count; ++i)
        out[i] = cast_to(cls->type, a->v[i % n]);
}

// Foreign memory or a tensor of shape dims [+ (lanes)].
void fill_from_memory(Context &c, const Class *cls, Value *out, uint32_t count, int level,
                      const std::vector<size_t> &shape, Value all) {
    int rest = cls->depth - level;
    if (shape.empty()) { // a number
        for (uint32_t i = 0; i < count; ++i)
            out[i] = cast_to(cls->type, all);
        return;
    }
    bool fits = int(shape.size()) == rest || int(shape.size()) == rest + 1;
    for (int i = 0; fits && i < rest; ++i)
        fits = cls->dims[level + i] == Dynamic || size_t(cls->dims[level + i]) == shape[i];
    if (!fits)
        raise(PyExc_TypeError,
              fmt::format("{}: Unable to initialize from an array of shape ({}). Its first "
                          "dimensions must be those of the class ({}), and at most one more may "
                          "follow",
                          cls->name, fmt::join(shape, ", "),
                          fmt::join(cls->dims + level, cls->dims + cls->depth, ", ")));
    all = cast_to(cls->type, all);
    size_t lanes = int(shape.size()) == rest ? 1 : shape.back();
    Value yes = Value::adopt(c, c.graph.literal(Type::Bool, 1));
    for (uint32_t i = 0; i < count; ++i) {
        Value first = Value::adopt(c, c.graph.literal(Type::U32, i * lanes));
        Value index = lanes == 1 ? first : jit::binary(Op::Add, jit::lane_index(lanes), first);
        out[i] = jit::gather(all, index, yes);
    }
}

void fill(Context &c, const Class *cls, Value *out, uint32_t count, int level, PyObject *o) {
    if (level == cls->depth) {
        out[0] = one_value(c, cls, o);
        return;
    }
    if (is_array(o) && is_tensor(as_array(o)) && !as_tensor(as_array(o))->shape.empty())
        return fill_from_memory(c, cls, out, count, level, as_tensor(as_array(o))->shape,
                                as_array(o)->v[0]);
    if (is_array(o))
        return fill_from_array(c, cls, out, count, level, as_array(o));
    if (is_number(o)) {
        Value v = number(c, cls->type, o);
        for (uint32_t i = 0; i < count; ++i)
            out[i] = v;
        return;
    }
    if (Foreign memory(o); memory)
        return fill_from_memory(c, cls, out, count, level, memory.shape, memory.read(true));
    PyObject *items = PySequence_Fast(o, "");
    if (!items) {
        PyErr_Clear();
        raise(PyExc_TypeError, fmt::format("{}: cannot be made from an object of type '{}'",
                                           cls->name, type_name(o)));
    }
    struct Release {
        PyObject *o;
        ~Release() { Py_DECREF(o); }
    } release{ items };
    auto n = uint32_t(PySequence_Fast_GET_SIZE(items));
    int wanted = cls->dims[level];
    if (wanted == Dynamic ? n != count : n != uint32_t(wanted))
        raise(PyExc_TypeError,
              fmt::format("{}: Input has the wrong size (expected {} elements, got {}).", cls->name,
                          wanted == Dynamic ? int(count) : wanted, n));
    for (uint32_t i = 0; i < n; ++i)
        fill(c, cls, out + i * (count / n), count / n, level + 1,
             PySequence_Fast_GET_ITEM(items, i));
}

uint32_t dynamic_count(PyObject *const *args, size_t count) {
    if (count != 1)
        return uint32_t(count);
    if (is_number(args[0]) ||
        (is_array(args[0]) && as_array(args[0])->cls->depth == 0 && !is_tensor(as_array(args[0]))))
        return 1;
    Py_ssize_t n = PyObject_Length(args[0]);
    if (n < 0)
        throw PythonError();
    return uint32_t(n);
}

PyObject *construct_checked(const Class *cls, PyTypeObject *type, PyObject *const *args,
                            size_t count);

// The arguments as another list of them: an iterator's items, a complex number's parts, all entries of a
// matrix in one sequence. Null: they are what they are.
PyObject *unpacked(const Class *cls, PyObject *o) {
    bool sequence = PyList_Check(o) || PyTuple_Check(o);
    if (cls->depth && PyIter_Check(o))
        return PySequence_Tuple(o);
    if (cls->kind == Kind::Matrix && cls->depth == 2 && sequence &&
        PySequence_Size(o) == Py_ssize_t(cls->count))
        return PySequence_Tuple(o);
    if (cls->kind == Kind::Complex && PyComplex_Check(o))
        return Py_BuildValue("dd", PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o));
    if (cls->kind == Kind::Complex && !sequence && !is_array(o) && !is_number(o))
        return PyObject_CallOneArg(hook("complex_parts"), o);
    return Py_NewRef(Py_None);
}

PyObject *construct_checked(const Class *cls, PyTypeObject *type, PyObject *const *args,
                            size_t count) {
    if (count == 1 && cls->depth && !is_array(args[0])) {
        PyObject *parts = unpacked(cls, args[0]);
        if (!parts)
            throw PythonError();
        if (parts != Py_None) {
            auto *items = reinterpret_cast<PyTupleObject *>(parts)->ob_item;
            auto n = size_t(PyTuple_GET_SIZE(parts));
            PyObject *r = n == 1 ? construct_checked(cls, type, &parts, 1)
                                 : construct_checked(cls, type, items, n);
            Py_DECREF(parts);
            return r;
        }
        Py_DECREF(parts);
    }
    Context &c = context();
    bool dynamic = cls->depth && cls->dims[0] == Dynamic;
    Object *out = make_object(cls, type, dynamic ? dynamic_count(args, count) : 0);
    if (!out)
        return nullptr;
    try {
        if (count == 0) {
            for (uint32_t i = 0; cls->host && i < out->n; ++i) // no lanes that could be missing
                out->v[i] = Value::adopt(c, c.graph.literal(cls->type, 0));
            return as_py(out);
        }
        PyObject *o = args[0];
        bool scalar = count == 1 && (is_number(o) || (is_array(o) && !is_tensor(as_array(o)) &&
                                                      as_array(o)->cls->depth == 0));
        if (cls->depth == 0) {
            if (count == 1) {
                out->v[0] = one_value(c, cls, o);
            } else {
                PyObject *all = PyTuple_New(Py_ssize_t(count));
                for (size_t i = 0; i < count; ++i)
                    PyTuple_SET_ITEM(all, Py_ssize_t(i), Py_NewRef(args[i]));
                out->v[0] = one_value(c, cls, all);
                Py_DECREF(all);
            }
        } else if (scalar && cls->count == 0 && !dynamic) {
            raise(PyExc_TypeError,
                  fmt::format("{}: Input has the wrong size (expected 0 elements, got 1).",
                              cls->name));
        } else if (scalar) {
            fill_all(c, cls, out, one_value(c, cls->array, o));
        } else if (count == 1 && is_array(o) && is_special(cls) &&
                   as_array(o)->cls->kind == cls->kind && as_array(o)->cls->depth == cls->depth &&
                   as_array(o)->n != out->n) { // matrices of other sizes: the common corner
            fill_all(c, cls, out,
                     Value::adopt(c, c.graph.literal(cls->type, jit::is_float(cls->type)
                                                                    ? float_bits(cls->type, 1)
                                                                    : 1)));
            Object *a = as_array(o);
            for (int i = 0; i < std::min(cls->dims[0], a->cls->dims[0]); ++i)
                for (int j = 0; j < std::min(cls->dims[1], a->cls->dims[1]); ++j)
                    out->v[i * cls->dims[1] + j] =
                        cast_to(cls->type, a->v[i * a->cls->dims[1] + j]);
        } else if (count == 1) {
            if (out->n || !dynamic)
                fill(c, cls, out->v, out->n, 0, o);
        } else if (size_t(dim(out, 0)) == count) {
            uint32_t block = out->n / uint32_t(count);
            for (size_t i = 0; i < count; ++i)
                fill(c, cls, out->v + i * block, block, 1, args[i]);
        } else if (cls->depth == 2 && count == out->n) {
            for (size_t i = 0; i < count; ++i)
                out->v[i] = one_value(c, cls->array, args[i]);
        } else {
            raise(PyExc_TypeError,
                  fmt::format("{}: Input has the wrong size (expected {} elements, got {}).",
                              cls->name, dim(out, 0), count));
        }
        if (cls->host && width(out) > 1)
            raise(PyExc_TypeError,
                  fmt::format("scalar.{}: entries are numbers; arrays of {} elements do not fit "
                              "(umbel.jit.slice takes one of them)",
                              cls->name, width(out)));
    } catch (...) {
        Py_DECREF(as_py(out));
        throw;
    }
    for (uint32_t i = 0; i < out->n; ++i) // a copy of what is not followed here has no derivatives
        if (out->v[i].grad_id() && !ad::tape().follows(out->v[i].grad_id()))
            out->v[i] = ad::detach(out->v[i]);
    return as_py(out);
}

} // namespace

bool is_number(PyObject *o) { return PyFloat_Check(o) || PyLong_Check(o) || is_numpy_scalar(o); }

Value number(Context &c, Type type, PyObject *o, bool is_operand) {
    return Value::adopt(c, c.graph.literal(type, number_bits(type, o, is_operand)));
}

PyObject *construct(const Class *cls, PyTypeObject *type, PyObject *const *args, size_t count) {
    // The usual case: a vector of its entries
    if (cls->depth == 1 && count == cls->count && count > 1 && type == cls->py && !cls->host) {
        bool same = true;
        for (size_t i = 0; i < count; ++i)
            same &= Py_TYPE(args[i]) == cls->array->py;
        Object *o = same ? make_object(cls) : nullptr;
        for (size_t i = 0; o && i < count; ++i)
            o->v[i] = as_array(args[i])->v[0];
        if (o)
            return as_py(o);
    }
    return guarded([&] { return construct_checked(cls, type, args, count); });
}

PyObject *convert(const Class *cls, PyObject *o) {
    if (is_array(o) && as_array(o)->cls == cls)
        return Py_NewRef(o);
    if (cls->kind == Kind::Tensor)
        return guarded(
            [&] { return PyObject_CallFunctionObjArgs(hook("make_tensor"), cls->py, o, nullptr); });
    return construct(cls, cls->py, &o, 1);
}

} // namespace umbel::python
