// python/jit_functions.cpp: functions of one, two and three arguments, entry by entry.
//
// They are plain CPython functions, since they are as hot as operators.
#include "python/empty_arrays.h"
#include "python/functions.h"
#include "python/older_python.h"
#include "python/sequence.h"

namespace umbel::python {

namespace {

// A function that Python supplies, with the operation's number.
template <class... Args> PyObject *call_hook(const char *name, Op op, Args... args) {
    PyObject *f = hook(name), *number = PyLong_FromLong(long(op));
    PyObject *r = PyObject_CallFunctionObjArgs(f, number, args..., nullptr);
    Py_DECREF(number);
    return r;
}

// Of each operation one function: what CPython passes along as `self` would show in help().
template <Op op> PyObject *call_unary(PyObject *, PyObject *a) {
    if (is_array(a)) [[likely]]
        return unary_op(op, a);
    return guarded([&] { return call_hook("number_unary", op, a); });
}

template <Op op> PyObject *call_binary(PyObject *, PyObject *const *args, Py_ssize_t n) {
    if (n != 2) {
        PyErr_Format(PyExc_TypeError, "%s() takes two arguments, not %zd", jit::name(op), n);
        return nullptr;
    }
    if (is_array(args[0]) || is_array(args[1])) {
        PyObject *r = binary_op(op, args[0], args[1]);
        if (r != Py_NotImplemented)
            return r;
        Py_DECREF(r);
    }
    // Knows cooperative vectors, and what to say about others
    return guarded([&] { return call_hook("number_binary", op, args[0], args[1]); });
}

struct Function {
    const char *name;
    PyCFunction call;
    int flags;
    const char *doc; // with the signature, as inspect.signature() reads it
};
PyCFunction fast(PyObject *(*f)(PyObject *, PyObject *const *, Py_ssize_t)) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(f));
}
template <Op op> Function unary(const char *name, const char *doc) {
    return { name, call_unary<op>, METH_O, doc };
}
template <Op op> Function binary(const char *name, const char *doc) {
    return { name, fast(call_binary<op>), METH_FASTCALL, doc };
}

// ---- three operands

// An operand of a function as an array, and the class that it contributes.
struct Operand {
    PyObject *o;
    bool owned = false;
    ~Operand() {
        if (owned)
            Py_DECREF(o);
    }
    Object *array() const { return as_array(o); }
};

// The common class of operands of which at least one is an array; numbers become arrays.
const Class *common_class(Operand *ops, int n, const Class *shape = nullptr) {
    const Class *cls = nullptr;
    for (int i = 0; i < n; ++i)
        if (is_array(ops[i].o)) {
            const Class *c = ops[i].array()->cls;
            cls = cls ? promote(cls, c) : c;
            if (!cls)
                raise(hook("ArgumentError"), "Incompatible arguments: their shapes differ");
        }
    Type t = cls ? cls->type : Type::Bool;
    for (int i = 0; i < n; ++i) {
        PyObject *o = ops[i].o;
        if (!is_array(o) && is_number(o) && !PyBool_Check(o))
            t = PyLong_Check(o) || PyIndex_Check(o) ? (t == Type::Bool ? Type::I32 : t)
                : jit::is_float(t)                  ? t
                                                    : Type::F32;
    }
    if (!cls || (shape && shape->depth > cls->depth && cls->kind != Kind::Tensor))
        cls = shape ? shape : scalar_class(t);
    cls = cls->with[int(t)];
    for (int i = 0; i < n; ++i) {
        PyObject *o = ops[i].o;
        if (is_array(o))
            continue;
        if (is_number(o)) {
            ops[i].o = wrap(number(context(), t, o, true));
        } else {
            PyObject *r = convert(cls, o);
            if (!r)
                throw PythonError();
            ops[i].o = r;
        }
        ops[i].owned = true;
    }
    return cls;
}

template <class F> PyObject *map_entries(const Class *cls, Operand *ops, int n, F &&f) {
    uint32_t count = cls->count;
    if (cls->depth && cls->dims[0] == Dynamic)
        for (int i = 0; i < n; ++i)
            count = std::max(count, ops[i].array()->cls->depth ? ops[i].array()->n : 0);
    Object *out = make_object(cls, nullptr, count);
    if (!out)
        throw PythonError();
    try {
        for (uint32_t i = 0; i < out->n; ++i)
            out->v[i] = f(i);
    } catch (...) {
        Py_DECREF(as_py(out));
        throw;
    }
    return as_py(out);
}

PyObject *fma(PyObject *, PyObject *const *args, Py_ssize_t n) {
    return guarded([&]() -> PyObject * {
        if (n != 3)
            raise(PyExc_TypeError, "fma() takes three arguments");
        Operand ops[3] = { { args[0] }, { args[1] }, { args[2] } };
        bool arrays = false, rare = false;
        for (Operand &o : ops)
            if (is_array(o.o)) {
                arrays = true;
                rare |= !o.array()->cls->plain;
            }
        if (!arrays || rare)
            return PyObject_CallFunctionObjArgs(hook("fma"), args[0], args[1], args[2], nullptr);
        const Class *cls = common_class(ops, 3);
        return map_entries(cls, ops, 3, [&](uint32_t i) {
            return apply(Op::Fma, operand(cls, cls->type, ops[0].array(), i),
                         operand(cls, cls->type, ops[1].array(), i),
                         operand(cls, cls->type, ops[2].array(), i));
        });
    });
}

PyObject *select(PyObject *, PyObject *const *args, Py_ssize_t n) {
    return guarded([&]() -> PyObject * {
        if (n != 3)
            raise(PyExc_TypeError, "select() takes three arguments: mask, value, value elsewhere");
        PyObject *m = args[0];
        if (PyBool_Check(m)) {
            PyObject *chosen = args[m == Py_True ? 1 : 2], *other = args[m == Py_True ? 2 : 1];
            if (!is_number(chosen) || !is_array(other) || is_tensor(as_array(other)))
                return Py_NewRef(chosen);
            Operand ops[2] = { { chosen }, { other } }; // the type does not depend on the mask
            return convert(common_class(ops, 2), chosen);
        }
        if (!is_array(m) || as_array(m)->cls->type != Type::Bool)
            raise(PyExc_TypeError, fmt::format("select(): the first argument must be a mask, not "
                                               "'{}'",
                                               Py_TYPE(m)->tp_name));
        auto leaf = [](PyObject *o) { return is_array(o) || is_number(o); };
        Operand ops[3] = { { args[1] }, { args[2] }, { m } };
        bool tensors = false;
        for (Operand &o : ops)
            tensors |= is_array(o.o) && is_tensor(o.array());
        if (!leaf(args[1]) || !leaf(args[2]) || tensors)
            return PyObject_CallFunctionObjArgs(hook("select"), m, args[1], args[2], nullptr);
        Object *mask = as_array(m);
        const Class *cls = common_class(ops, 2, mask->cls);
        if (cls->host && !mask->cls->host) // a value for each lane of the mask
            cls = cls->twin;
        if (mask->cls->depth && mask->cls->depth == cls->depth && mask->n != cls->count &&
            cls->count)
            raise(PyExc_TypeError, fmt::format("select(): a mask of class {} does not fit {}",
                                               mask->cls->name, cls->name));
        return map_entries(cls, ops, 3, [&](uint32_t i) {
            const Value &mv = mask->v[mask->cls->depth == 0 ? 0 : i % mask->n];
            return apply(Op::Select, mv, operand(cls, cls->type, ops[0].array(), i),
                         operand(cls, cls->type, ops[1].array(), i));
        });
    });
}

const Function functions[] = {
    unary<Op::Abs>(
        "abs",
        "abs(x, /)\n--\n\nThe absolute value; of complex numbers and quaternions, the length."),
    unary<Op::Sqrt>("sqrt", "sqrt(x, /)\n--\n\nThe square root."),
    unary<Op::Rcp>("rcp", "rcp(x, /)\n--\n\n1 / x."),
    unary<Op::Rsqrt>("rsqrt", "rsqrt(x, /)\n--\n\n1 / sqrt(x)."),
    unary<Op::Floor>("floor", "floor(x, /)\n--\n\nThe next integer below, as a float."),
    unary<Op::Ceil>("ceil", "ceil(x, /)\n--\n\nThe next integer above, as a float."),
    unary<Op::Trunc>("trunc", "trunc(x, /)\n--\n\nThe integer part, as a float."),
    unary<Op::Round>("round",
                     "round(x, /)\n--\n\nThe nearest integer, of two the even one, as a float."),
    unary<Op::Popcount>("popcnt", "popcnt(x, /)\n--\n\nHow many bits are set."),
    unary<Op::Clz>("lzcnt",
                   "lzcnt(x, /)\n--\n\nHow many zero bits precede the highest one that is set."),
    unary<Op::Ctz>("tzcnt",
                   "tzcnt(x, /)\n--\n\nHow many zero bits follow the lowest one that is set."),
    unary<Op::Sin>("sin", "sin(x, /)\n--\n\nThe sine of an angle in radians."),
    unary<Op::Cos>("cos", "cos(x, /)\n--\n\nThe cosine of an angle in radians."),
    unary<Op::Tan>("tan", "tan(x, /)\n--\n\nThe tangent of an angle in radians."),
    unary<Op::Asin>("asin", "asin(x, /)\n--\n\nThe angle from -pi/2 to pi/2 whose sine is x."),
    unary<Op::Acos>("acos", "acos(x, /)\n--\n\nThe angle from 0 to pi whose cosine is x."),
    unary<Op::Atan>("atan", "atan(x, /)\n--\n\nThe angle from -pi/2 to pi/2 whose tangent is x."),
    unary<Op::Sinh>("sinh", "sinh(x, /)\n--\n\nThe hyperbolic sine."),
    unary<Op::Cosh>("cosh", "cosh(x, /)\n--\n\nThe hyperbolic cosine."),
    unary<Op::Tanh>("tanh", "tanh(x, /)\n--\n\nThe hyperbolic tangent."),
    unary<Op::Asinh>("asinh", "asinh(x, /)\n--\n\nThe inverse of sinh()."),
    unary<Op::Acosh>("acosh", "acosh(x, /)\n--\n\nThe inverse of cosh(), for x of 1 and more."),
    unary<Op::Atanh>("atanh", "atanh(x, /)\n--\n\nThe inverse of tanh(), for x between -1 and 1."),
    unary<Op::Exp>("exp", "exp(x, /)\n--\n\ne to the power x."),
    unary<Op::Exp2>("exp2", "exp2(x, /)\n--\n\n2 to the power x."),
    unary<Op::Log>("log", "log(x, /)\n--\n\nThe natural logarithm."),
    unary<Op::Log2>("log2", "log2(x, /)\n--\n\nThe logarithm to base 2."),
    unary<Op::Cbrt>("cbrt", "cbrt(x, /)\n--\n\nThe cube root, with the sign of x."),
    unary<Op::Erf>("erf", "erf(x, /)\n--\n\nThe error function."),
    unary<Op::Erfinv>("erfinv", "erfinv(x, /)\n--\n\nThe inverse of erf()."),
    unary<Op::Lgamma>(
        "lgamma", "lgamma(x, /)\n--\n\nThe logarithm of the absolute value of the gamma function."),
    binary<Op::Min>("minimum", "minimum(a, b, /)\n--\n\nThe smaller one, entry by entry."),
    binary<Op::Max>("maximum", "maximum(a, b, /)\n--\n\nThe larger one, entry by entry."),
    binary<Op::Atan2>("atan2",
                      "atan2(y, x, /)\n--\n\nThe angle of the point (x, y), from -pi to pi."),
    binary<Op::MulHi>("mul_hi",
                      "mul_hi(a, b, /)\n--\n\nThe upper half of the product of two integers."),
    binary<Op::Pow>("_pow", nullptr),
    binary<Op::Rotl>("_rotl", nullptr),
    binary<Op::Rotr>("_rotr", nullptr),
    { "fma", fast(fma), METH_FASTCALL, "fma(a, b, c, /)\n--\n\na * b + c, rounded once." },
    { "select", fast(select), METH_FASTCALL,
      "select(mask, a, b, /)\n--\n\na where the mask holds, b elsewhere; of arrays, or of what is "
      "made of arrays." },
};

} // namespace

void add_functions(PyObject *module) {
    PyObject *home = PyUnicode_FromString("umbel.jit");
    for (const Function &f : functions) {
        auto *def = new PyMethodDef{ f.name, f.call, f.flags, f.doc }; // kept by CPython
        PyObject *function = PyCFunction_NewEx(def, nullptr, home);
        PyModule_AddObjectRef(module, f.name, function);
        Py_XDECREF(function);
    }
    Py_DECREF(home);

    PyObject *ops = PyDict_New(); // operations by name, for the functions that Python supplies
    for (int i = 0; i < jit::OpCount; ++i) {
        PyObject *number = PyLong_FromLong(i);
        PyDict_SetItemString(ops, jit::name(Op(i)), number);
        Py_DECREF(number);
    }
    PyModule_AddObjectRef(module, "ops", ops);
    Py_DECREF(ops);
}

} // namespace umbel::python
