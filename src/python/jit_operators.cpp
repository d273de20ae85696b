// python/jit_operators.cpp: arithmetic and comparison of arrays: promotion, broadcasting, the fast paths.
#include "python/buffers.h"
#include "python/empty_arrays.h"
#include "python/objects.h"
#include "python/older_python.h"
#include "python/sequence.h"
#include <array>

namespace umbel::python {

namespace {

// Bit t of entry op: whether the operation is defined for type t.
std::array<uint32_t, jit::OpCount> make_accepted() {
    std::array<uint32_t, jit::OpCount> r{};
    for (int op = 0; op < jit::OpCount; ++op)
        for (int t = 0; t < jit::TypeCount; ++t)
            r[size_t(op)] |= uint32_t(jit::accepts(Op(op), Type(t))) << t;
    return r;
}
const std::array<uint32_t, jit::OpCount> accepted = make_accepted();
bool allowed(Op op, Type t) { return accepted[size_t(op)] >> int(t) & 1; }
constexpr bool compares(Op op) { return op >= Op::Eq && op <= Op::Le; }

PyObject *not_implemented() { Py_RETURN_NOTIMPLEMENTED; }

// The element type of an operation between elements of type t and a Python number.
Type with_number(Type t, PyObject *o) {
    if (PyBool_Check(o))
        return t;
    if (PyLong_Check(o))
        return t == Type::Bool ? Type::I32 : t;
    if (PyFloat_CheckExact(o))
        return jit::is_float(t) ? t : Type::F32;
    // NumPy's scalars: like Python's numbers of the same kind
    bool integral = PyIndex_Check(o);
    return integral ? (t == Type::Bool ? Type::I32 : t) : jit::is_float(t) ? t : Type::F32;
}

// A list, tuple or foreign array beside an array of class `cls`: an array of its shape.
PyObject *beside(const Class *cls, PyObject *o) {
    if (!PyList_Check(o) && !PyTuple_Check(o) && !PyObject_CheckBuffer(o))
        return nullptr;
    Type t = cls->type;
    if (PyList_Check(o) || PyTuple_Check(o)) {
        PyObject *items = PySequence_Fast(o, "");
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); ++i) {
            PyObject *e = PySequence_Fast_GET_ITEM(items, i);
            t = std::max(t, python::is_number(e) ? with_number(t, e)
                            : is_array(e)        ? as_array(e)->cls->type
                                                 : t);
        }
        Py_DECREF(items);
    } else if (!jit::is_float(t)) { // integers beside NumPy's floats are floats of that precision
        Foreign foreign(o);
        if (foreign && (t == Type::Bool || jit::is_float(foreign.type)))
            t = std::max(t, foreign.type);
    }
    const Class *wanted = cls->with[int(t)];
    PyObject *r = convert(wanted ? wanted : cls, o);
    if (!r)
        throw PythonError();
    return r;
}

// ---- entry by entry

PyObject *elementwise(Op op, const Class *cls, const Object *x, const Object *y) {
    const Class *result = compares(op) ? cls->mask : cls;
    uint32_t n = cls->count;
    if (cls->depth && cls->dims[0] == Dynamic) {
        n = std::max(x->cls->depth ? x->n : 0, y->cls->depth ? y->n : 0);
        auto fits = [n](const Object *o) { return !o->cls->depth || o->n == n || o->n == 1; };
        if (!fits(x) || !fits(y))
            fail("{}: operands have incompatible sizes: {} and {} entries", jit::name(op), x->n,
                 y->n);
    }
    Object *out = make_object(result, nullptr, n);
    if (!out)
        throw PythonError();
    try {
        for (uint32_t i = 0; i < out->n; ++i) {
            Value a = operand(cls, cls->type, x, i), b = operand(cls, cls->type, y, i);
            out->v[i] = apply(op, a, b);
        }
    } catch (...) {
        Py_DECREF(as_py(out));
        throw;
    }
    return as_py(out);
}

PyObject *tensor_elementwise(Op op, const Class *cls, Object *x, Object *y) {
    bool tx = is_tensor(x), ty = is_tensor(y);
    bool same = tx && ty && as_tensor(x)->shape == as_tensor(y)->shape;
    bool scalar_x = !tx && x->cls->depth == 0 && x->v[0].size() == 1,
         scalar_y = !ty && y->cls->depth == 0 && y->v[0].size() == 1;
    if (!same && !scalar_x && !scalar_y)
        return PyObject_CallFunction(hook("tensor_binary"), "iOO", int(op), x, y);
    auto cast = [&](Object *o) {
        const Value &v = o->v[0];
        return v.valid() && v.type() != cls->type ? jit::cast(cls->type, v) : v;
    };
    return wrap_tensor(compares(op) ? cls->mask : cls, apply(op, cast(x), cast(y)),
                       as_tensor(tx ? x : y)->shape);
}

// Products and quotients of matrices, complex numbers and quaternions, and their order.
bool is_special_op(Op op, const Class *a, const Class *b) {
    auto special = [](const Class *c) { return !c->plain && c->kind != Kind::Tensor; };
    if (!special(a) && !special(b))
        return false;
    return op != Op::Add && op != Op::Sub && !compares(op);
}

PyObject *combine(Op op, PyObject *a, PyObject *b) {
    Object *x = as_array(a), *y = as_array(b);
    if (is_special_op(op, x->cls, y->cls))
        return PyObject_CallFunction(hook("special_binary"), "iOO", int(op), a, b);
    // number & mask, and mask & float, keep the number where the mask holds
    if (op == Op::And && (x->cls->type == Type::Bool) != (y->cls->type == Type::Bool))
        if (y->cls->type == Type::Bool || jit::is_float(y->cls->type))
            return PyObject_CallFunction(hook("and_mask"), "OO", a, b);
    const Class *cls = promote(x->cls, y->cls);
    if ((op == Op::Lt || op == Op::Le) && !(x->cls->plain && y->cls->plain) && cls &&
        cls->kind != Kind::Tensor)
        raise(hook("ArgumentError"),
              fmt::format("{}: inequality comparisons are not defined for {} and {}; compare their "
                          "entries or norms",
                          jit::name(op), x->cls->name, y->cls->name));
    bool vectors = x->cls->depth == 1 && y->cls->depth == 1;
    if (!cls || (vectors && x->cls->kind != y->cls->kind)) // such as a complex number and a vector
        raise(hook("ArgumentError"),
              fmt::format("{}: Incompatible arguments. {} and {} have no common type: their shapes "
                          "differ",
                          jit::name(op), x->cls->name, y->cls->name));
    if (!allowed(op, cls->type))
        return not_implemented();
    if (cls->kind == Kind::Tensor)
        return tensor_elementwise(op, cls, x, y);
    return elementwise(op, cls, x, y);
}

// One operand is no array.
PyObject *mixed(Op op, PyObject *a, PyObject *b) {
    bool left = is_array(a);
    Object *x = as_array(left ? a : b);
    PyObject *o = left ? b : a;
    if (python::is_number(o)) {
        bool masks = op == Op::And && left && PyBool_Check(o) && x->cls->type != Type::Bool;
        Type t = masks ? Type::Bool : with_number(x->cls->type, o);
        bool is_empty = x->n == 0 || !x->v[0].valid();
        Context &c = is_empty ? context() : x->v[0].context();
        if (x->cls->depth == 0 && x->cls->kind == Kind::Array && !masks) [[likely]] {
            if (!allowed(op, t))
                return not_implemented();
            Value literal = number(c, t, o, true);
            Value v = x->cls->type == t || is_empty ? x->v[0] : jit::cast(t, x->v[0]);
            const Class *cls = compares(op) ? x->cls->mask : x->cls->with[int(t)];
            return wrap(cls, left ? apply(op, v, literal) : apply(op, literal, v));
        }
        PyObject *scalar = wrap(find_class(t, Kind::Array, 0, nullptr, Sense::Plain, x->cls->host),
                                number(c, t, o, true));
        PyObject *r = left ? combine(op, a, scalar) : combine(op, scalar, b);
        Py_DECREF(scalar);
        return r;
    }
    if (PyComplex_Check(o) && x->cls->kind == Kind::Complex) {
        PyObject *z = construct(x->cls, x->cls->py, &o, 1);
        if (!z)
            throw PythonError();
        PyObject *r = left ? binary_op(op, a, z) : binary_op(op, z, b);
        Py_DECREF(z);
        return r;
    }
    if (!compares(op) && (o == Py_None || PyUnicode_Check(o) || PyComplex_Check(o)))
        raise(hook("ArgumentError"),
              fmt::format("{}: Incompatible arguments. Encountered an unsupported argument of type "
                          "'{}' beside {}; a number or an array is needed",
                          jit::name(op), Py_TYPE(o)->tp_name, x->cls->name));
    PyObject *converted = beside(x->cls, o);
    if (!converted)
        return not_implemented();
    PyObject *r = left ? binary_op(op, a, converted) : binary_op(op, converted, b);
    Py_DECREF(converted);
    return r;
}

PyObject *dispatch(Op op, PyObject *a, PyObject *b) {
    bool la = is_array(a), lb = is_array(b);
    if (la && lb)
        return combine(op, a, b);
    return la || lb ? mixed(op, a, b) : not_implemented();
}

template <Op op> PyObject *slot(PyObject *a, PyObject *b) {
    PyTypeObject *type = Py_TYPE(a);
    if (type == Py_TYPE(b) && type->tp_dealloc == array_dealloc) [[likely]] {
        Object *x = as_array(a), *y = as_array(b);
        const Class *cls = x->cls;
        if (cls->depth == 0 && cls->plain && allowed(op, cls->type)) [[likely]]
            return guarded(
                [&] { return wrap(compares(op) ? cls->mask : cls, apply(op, x->v[0], y->v[0])); });
    }
    return binary_op(op, a, b);
}

/// a op= b keeps the object: all that refer to it see the new value.
PyObject *assign(PyObject *self, PyObject *result) {
    if (!result || result == Py_NotImplemented || Py_TYPE(result) != Py_TYPE(self))
        return result;
    Object *a = as_array(self), *r = as_array(result);
    if (a == r)
        return result;
    if (a->n != r->n) { // of a class that leaves the number open
        replace_values(a, r);
        Py_DECREF(result);
        return Py_NewRef(self);
    }
    for (uint32_t i = 0; i < a->n; ++i)
        std::swap(a->v[i], r->v[i]);
    if (is_tensor(a))
        std::swap(as_tensor(a)->shape, as_tensor(r)->shape);
    Py_DECREF(result);
    return Py_NewRef(self);
}
template <Op op> PyObject *in_place(PyObject *a, PyObject *b) { return assign(a, slot<op>(a, b)); }

bool all_float(PyObject *a, PyObject *b) {
    auto ok = [](PyObject *o) { return !is_array(o) || jit::is_float(as_array(o)->cls->type); };
    auto real = [](PyObject *o) {
        return PyFloat_Check(o) || (is_array(o) && jit::is_float(as_array(o)->cls->type));
    };
    return (ok(a) && ok(b)) || real(a) || real(b);
}
PyObject *divide(PyObject *a, PyObject *b) {
    return all_float(a, b) ? slot<Op::Div>(a, b) : not_implemented();
}
bool any_float(PyObject *a, PyObject *b) {
    auto f = [](PyObject *o) {
        return PyFloat_Check(o) || (is_array(o) && jit::is_float(as_array(o)->cls->type));
    };
    return f(a) || f(b);
}
PyObject *floor_divide(PyObject *a, PyObject *b) {
    return any_float(a, b) ? not_implemented() : slot<Op::Div>(a, b);
}
PyObject *in_place_divide(PyObject *a, PyObject *b) { return assign(a, divide(a, b)); }
PyObject *in_place_floor_divide(PyObject *a, PyObject *b) { return assign(a, floor_divide(a, b)); }

PyObject *power(PyObject *a, PyObject *b, PyObject *) {
    return guarded([&] { return PyObject_CallFunctionObjArgs(hook("power"), a, b, nullptr); });
}
PyObject *in_place_power(PyObject *a, PyObject *b, PyObject *) {
    return assign(a, power(a, b, nullptr));
}
PyObject *matmul(PyObject *a, PyObject *b) {
    return guarded([&] { return PyObject_CallFunctionObjArgs(hook("matmul"), a, b, nullptr); });
}
PyObject *in_place_matmul(PyObject *a, PyObject *b) { return assign(a, matmul(a, b)); }

template <Op op> PyObject *unary_slot(PyObject *a) { return unary_op(op, a); }
PyObject *positive(PyObject *a) { return Py_NewRef(a); }
PyObject *absolute(PyObject *a) {
    Kind k = as_array(a)->cls->kind;
    if (k == Kind::Complex || k == Kind::Quaternion)
        return guarded([&] { return PyObject_CallOneArg(hook("norm"), a); });
    return unary_op(Op::Abs, a);
}

PyObject *compare(PyObject *a, PyObject *b, int how) {
    if (b == Py_None)
        return not_implemented();
    switch (how) {
    case Py_LT: return slot<Op::Lt>(a, b);
    case Py_LE: return slot<Op::Le>(a, b);
    case Py_GT: return slot<Op::Lt>(b, a);
    case Py_GE: return slot<Op::Le>(b, a);
    case Py_EQ: return slot<Op::Eq>(a, b);
    default: return slot<Op::Ne>(a, b);
    }
}

Py_hash_t hash(PyObject *o) { return _Py_HashPointer(o); }

} // namespace

const Class *promote(const Class *a, const Class *b) {
    if (a == b)
        return a;
    Type t = std::max(a->type, b->type);
    if (a->kind == Kind::Tensor || b->kind == Kind::Tensor)
        return (a->kind == Kind::Tensor ? a : b)->with[int(t)];
    auto dynamic = [](const Class *c) { return c->depth == 1 && c->dims[0] == Dynamic; };
    const Class *shape = a->depth != b->depth       ? (a->depth > b->depth ? a : b)
                         : dynamic(a) != dynamic(b) ? (dynamic(a) ? a : b)
                         : a->kind != b->kind       ? (a->plain ? b : a)
                         : a->sense != b->sense     ? (a->sense > b->sense ? a : b)
                                                    : a;
    const Class *other = shape == a ? b : a;
    for (int i = 0; i < other->depth; ++i) {
        int x = shape->dims[shape->depth - other->depth + i], y = other->dims[i];
        if (x == y)
            continue;
        if (y == Dynamic || x != Dynamic)
            return nullptr;
    }
    const Class *result = shape->with[int(t)];
    return result && result->host && !(a->host && b->host) ? result->twin : result;
}

Value operand(const Class *cls, Type type, const Object *o, uint32_t i) {
    const Class *oc = o->cls;
    uint32_t k = oc->depth == cls->depth && o->n != 1 ? i : o->n ? i % o->n : 0;
    if (!cls->plain && oc->depth == 0) { // a real number as a matrix, complex number or quaternion
        bool set = cls->kind == Kind::Complex      ? i == 0
                   : cls->kind == Kind::Quaternion ? i == 3
                                                   : false;
        if (cls->kind == Kind::Matrix) {
            uint32_t e = cls->depth == 3 ? i / uint32_t(cls->dims[2]) : i;
            set = e / uint32_t(cls->dims[1]) == e % uint32_t(cls->dims[1]);
        }
        if (!set) {
            Context &c = o->v[0].valid() ? o->v[0].context() : context();
            return Value::adopt(c, c.graph.literal(type, 0));
        }
        k = 0;
    }
    const Value &v = o->v[k];
    return !v.valid() || v.type() == type ? v : jit::cast(type, v);
}

PyObject *binary_op(Op op, PyObject *a, PyObject *b) {
    return guarded([&] { return dispatch(op, a, b); });
}

PyObject *unary_op(Op op, PyObject *a) {
    return guarded([&]() -> PyObject * {
        Object *x = as_array(a);
        const Class *cls = x->cls;
        if (!allowed(op, cls->type))
            raise(hook("ArgumentError"),
                  fmt::format("{}: operation not supported for this type: {}", jit::name(op),
                              cls->name));
        if (cls->depth == 0 && cls->plain) [[likely]]
            return wrap(cls, apply(op, x->v[0]));
        if (cls->kind == Kind::Tensor)
            return wrap_tensor(cls, apply(op, x->v[0]), as_tensor(x)->shape);
        if (!cls->plain && op != Op::Neg)
            return PyObject_CallFunction(hook("special_unary"), "iO", int(op), a);
        Object *out = make_object(cls, nullptr, x->n);
        if (!out)
            throw PythonError();
        try {
            for (uint32_t i = 0; i < x->n; ++i)
                out->v[i] = apply(op, x->v[i]);
        } catch (...) {
            Py_DECREF(as_py(out));
            throw;
        }
        return as_py(out);
    });
}

PyType_Slot *operator_slots() {
#define S(name, f) { Py_##name, reinterpret_cast<void *>(+f) }
    static PyType_Slot slots[] = {
        S(nb_add, slot<Op::Add>),
        S(nb_subtract, slot<Op::Sub>),
        S(nb_multiply, slot<Op::Mul>),
        S(nb_true_divide, divide),
        S(nb_floor_divide, floor_divide),
        S(nb_remainder, slot<Op::Mod>),
        S(nb_and, slot<Op::And>),
        S(nb_or, slot<Op::Or>),
        S(nb_xor, slot<Op::Xor>),
        S(nb_lshift, slot<Op::Shl>),
        S(nb_rshift, slot<Op::Shr>),
        S(nb_inplace_add, in_place<Op::Add>),
        S(nb_inplace_subtract, in_place<Op::Sub>),
        S(nb_inplace_multiply, in_place<Op::Mul>),
        S(nb_inplace_true_divide, in_place_divide),
        S(nb_inplace_floor_divide, in_place_floor_divide),
        S(nb_inplace_remainder, in_place<Op::Mod>),
        S(nb_inplace_and, in_place<Op::And>),
        S(nb_inplace_or, in_place<Op::Or>),
        S(nb_inplace_xor, in_place<Op::Xor>),
        S(nb_inplace_lshift, in_place<Op::Shl>),
        S(nb_inplace_rshift, in_place<Op::Shr>),
        S(nb_power, power),
        S(nb_inplace_power, in_place_power),
        S(nb_matrix_multiply, matmul),
        S(nb_inplace_matrix_multiply, in_place_matmul),
        S(nb_negative, unary_slot<Op::Neg>),
        S(nb_positive, positive),
        S(nb_absolute, absolute),
        S(nb_invert, unary_slot<Op::Not>),
        S(tp_richcompare, compare),
        S(tp_hash, hash),
        // python/jit_sequence.cpp
        S(nb_bool, array_bool),
        S(nb_int, array_int),
        S(nb_float, array_float),
        S(mp_length, array_length),
        S(mp_subscript, array_getitem),
        S(sq_length,
          array_length), // with sq_item: a shape, where others want a sequence of integers
        S(sq_item, array_item),
        S(mp_ass_subscript, array_setitem),
        S(tp_iter, array_iter),
        S(tp_repr, array_repr),
        S(tp_getattro, array_getattr),
        S(tp_setattro, array_setattr),
        { 0, nullptr },
    };
#undef S
    return slots;
}

} // namespace umbel::python
