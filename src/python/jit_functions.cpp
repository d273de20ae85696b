// python/jit_functions.cpp: functions of one, two and three arguments, entry by entry.
//
// They are plain CPython functions that carry the operation's number, since they are as hot as operators.
#include "python/functions.h"
#include "python/sequence.h"

namespace umbel::python {

namespace {

struct Named {
    const char *name;
    Op op;
};
constexpr Named unary_functions[] = {
    { "abs", Op::Abs },       { "sqrt", Op::Sqrt },   { "rcp", Op::Rcp },
    { "rsqrt", Op::Rsqrt },   { "floor", Op::Floor }, { "ceil", Op::Ceil },
    { "trunc", Op::Trunc },   { "round", Op::Round }, { "popcnt", Op::Popcount },
    { "lzcnt", Op::Clz },     { "tzcnt", Op::Ctz },   { "sin", Op::Sin },
    { "cos", Op::Cos },       { "tan", Op::Tan },     { "asin", Op::Asin },
    { "acos", Op::Acos },     { "atan", Op::Atan },   { "sinh", Op::Sinh },
    { "cosh", Op::Cosh },     { "tanh", Op::Tanh },   { "asinh", Op::Asinh },
    { "acosh", Op::Acosh },   { "atanh", Op::Atanh }, { "exp", Op::Exp },
    { "exp2", Op::Exp2 },     { "log", Op::Log },     { "log2", Op::Log2 },
    { "cbrt", Op::Cbrt },     { "erf", Op::Erf },     { "erfinv", Op::Erfinv },
    { "lgamma", Op::Lgamma },
};
constexpr Named binary_functions[] = {
    { "minimum", Op::Min }, { "maximum", Op::Max }, { "atan2", Op::Atan2 }, { "mul_hi", Op::MulHi },
    { "_pow", Op::Pow },    { "_rotl", Op::Rotl },  { "_rotr", Op::Rotr },
};

Op op_of(PyObject *self) { return Op(PyLong_AsLong(self)); }

PyObject *call_unary(PyObject *self, PyObject *a) {
    if (is_array(a)) [[likely]]
        return unary_op(op_of(self), a);
    return guarded(
        [&] { return PyObject_CallFunctionObjArgs(hook("number_unary"), self, a, nullptr); });
}

PyObject *call_binary(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    Op op = op_of(self);
    if (n != 2) {
        PyErr_Format(PyExc_TypeError, "%s() takes two arguments, not %zd", jit::name(op), n);
        return nullptr;
    }
    if (!is_array(args[0]) && !is_array(args[1]))
        return guarded([&] {
            return PyObject_CallFunctionObjArgs(hook("number_binary"), self, args[0], args[1],
                                                nullptr);
        });
    PyObject *r = binary_op(op, args[0], args[1]);
    if (r == Py_NotImplemented) {
        Py_DECREF(r);
        return guarded([&] { // knows cooperative vectors, and what to say about others
            return PyObject_CallFunctionObjArgs(hook("number_binary"), self, args[0], args[1],
                                                nullptr);
        });
    }
    return r;
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
            return jit::ternary(Op::Fma, operand(cls, cls->type, ops[0].array(), i),
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
            return jit::ternary(Op::Select, mv, operand(cls, cls->type, ops[0].array(), i),
                                operand(cls, cls->type, ops[1].array(), i));
        });
    });
}

// Definitions are kept by CPython for as long as the functions live.
void add(PyObject *module, const char *name, PyCFunction f, int flags, PyObject *self) {
    auto *def = new PyMethodDef{ name, f, flags, nullptr };
    PyObject *function = PyCFunction_NewEx(def, self, nullptr);
    PyModule_AddObjectRef(module, name, function);
    Py_XDECREF(function);
}

} // namespace

void add_functions(PyObject *module) {
    auto fast = [](auto *f) { return reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(f)); };
    for (const Named &f : unary_functions) {
        PyObject *op = PyLong_FromLong(long(f.op));
        add(module, f.name, call_unary, METH_O, op);
        Py_DECREF(op);
    }
    for (const Named &f : binary_functions) {
        PyObject *op = PyLong_FromLong(long(f.op));
        add(module, f.name, fast(call_binary), METH_FASTCALL, op);
        Py_DECREF(op);
    }
    add(module, "fma", fast(fma), METH_FASTCALL, nullptr);
    add(module, "select", fast(select), METH_FASTCALL, nullptr);

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
