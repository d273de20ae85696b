// python/objects.h: Python's array objects: one C layout for all classes, which differ in a descriptor.
//
// An object holds its entries flat, row by row: Float one value, Array3f three, Matrix4f sixteen. A class
// is a record of what its objects have in common; jit_types.cpp makes all of them from a table. Operators
// are written against CPython's slots: recording an operation is the hottest path of a Python program.
#pragma once
#include "jit/array.h"
#include <Python.h>
#include <string>
#include <vector>

namespace umbel::python {

using jit::Context;
using jit::Op;
using jit::Type;
using jit::Value;

enum class Kind : uint8_t { Array, Matrix, Complex, Quaternion, Tensor };
constexpr int KindCount = 5;
/// What a vector means: chooses among classes of one shape. A larger one prevails in arithmetic.
enum class Sense : uint8_t { Plain, Vector, Point, Normal, Color, Spectrum };
constexpr int Dynamic = -1;

struct Class {
    std::string name;
    Type type = Type::Void;
    Kind kind = Kind::Array;
    Sense sense = Sense::Plain;
    uint8_t depth = 0;  // dimensions besides the lanes: Float 0, Array3f 1, Matrix3f 2
    int dims[3] = {};   // their lengths; Dynamic: chosen by the object
    uint32_t count = 1; // entries of an object; 0 where that depends on the object
    bool plain = false; // operators work entry by entry
    bool host = false;  // of umbel.jit.scalar: one lane, whose entries are Python's numbers
    PyTypeObject *py = nullptr;
    Class *entry = nullptr;           // of a[i]; null where that is a Python number
    Class *mask = nullptr;            // of comparisons
    Class *array = nullptr;           // Tensor: of its elements
    Class *with[jit::TypeCount] = {}; // the same with other elements
    Class *twin = nullptr;            // the same with lanes, or, of those, without
};

struct Object {
    PyObject_HEAD const Class *cls;
    Value *v;      // entries
    uint32_t n;    // and their number
    Object *views; // live objects of this one's entries, such as v.x: they refer to its values
};
/// What a view has in the place of values of its own.
struct ViewLink {
    Object *parent; // a reference
    Object *next;   // of the parent's views
};
static_assert(sizeof(ViewLink) <= sizeof(Value));
/// A tensor has one value and a shape.
struct TensorObject : Object {
    Value value;
    std::vector<size_t> shape;
};

// ---- classes (jit_types.cpp)
extern PyTypeObject *array_base;
void array_dealloc(PyObject *self);
void make_classes(PyObject *module);
/// The class of that shape and meaning; null if there is none.
Class *find_class(Type type, Kind kind, int depth, const int *dims, Sense sense = Sense::Plain,
                  bool host = false);
inline Class *scalar_class(Type type) { return find_class(type, Kind::Array, 0, nullptr); }
Class *vector_class(Type type, int n, Sense sense = Sense::Plain);
Class *matrix_class(Type type, int n);
Class *tensor_class(Type type);
/// The class behind a Python type, also of a subclass written in Python; null if it is no array.
Class *class_of(PyTypeObject *type);

// ---- objects
inline bool is_array(PyObject *o) {
    return Py_TYPE(o)->tp_dealloc == array_dealloc || PyObject_TypeCheck(o, array_base);
}
/// Makes numbers of Python's, which belong to no variant, literals of the present one.
void bring_numbers_home(Object *o);
inline Object *as_array(PyObject *o) {
    auto *array = reinterpret_cast<Object *>(o);
    if (array->cls->host) [[unlikely]]
        bring_numbers_home(array);
    return array;
}
inline TensorObject *as_tensor(Object *o) { return static_cast<TensorObject *>(o); }
inline bool is_tensor(const Object *o) { return o->cls->kind == Kind::Tensor; }
inline PyObject *as_py(Object *o) { return reinterpret_cast<PyObject *>(o); }

/// An object with values that are not set. `count` is for classes that leave it open. Null: a Python error.
Object *make_object(const Class *cls, PyTypeObject *type = nullptr, uint32_t count = 0);
/// The place of values in the object's own memory.
inline Value *own_values(Object *o) { return reinterpret_cast<Value *>(o + 1); }
/// An object of class `cls` that refers to values of `parent` from `at` on; the same one while it lives.
PyObject *view_of(Object *parent, const Class *cls, Value *at);
/// Makes a list of entries of another length of an object whose class leaves the length open.
void replace_values(Object *o, Object *by);
/// Memory of objects that hold one value, the most frequent ones; guarded by the interpreter's lock.
struct FreeList {
    static constexpr int Capacity = 128;
    void *items[Capacity];
    int size = 0;
};
extern FreeList free_singles;
/// The object of a class that holds one value.
inline PyObject *wrap(const Class *cls, Value value) {
    if (free_singles.size && cls->depth == 0 && cls->kind == Kind::Array) [[likely]] {
        auto *o = static_cast<Object *>(free_singles.items[--free_singles.size]);
        Py_INCREF(cls->py);
        Py_SET_TYPE(as_py(o), cls->py);
        Py_SET_REFCNT(as_py(o), 1);
        o->cls = cls;
        o->n = 1;
        o->views = nullptr;
        o->v = own_values(o);
        new (o->v) Value(std::move(value));
        return as_py(o);
    }
    Object *o = make_object(cls);
    if (o)
        o->v[0] = std::move(value);
    return as_py(o);
}
/// Of the class that belongs to the value's type.
PyObject *wrap(Value value);
PyObject *wrap_tensor(const Class *cls, Value value, std::vector<size_t> shape);
/// The length of dimension i.
size_t dim(const Object *o, int i);
/// Lanes: of the entry that has most.
uint32_t width(const Object *o);

// ---- the context of Python's arrays (jit_context.cpp)
/// The context in which new arrays are made; all Python threads share it, under the interpreter's lock.
Context &context();
/// Makes it, and the variant that scripts chose, this thread's current one. Whatever records does this first:
/// the thread may be new, and another one may have changed the variant or be recording the body of a loop.
inline void enter();
void choose_variant(const char *name);
/// The device of variants whose backends have several, from now on; -1, as at first: the one that UMBEL_DEVICE names. Returns the one before.
int choose_device(int number);

// Of the choice of variant that this thread knows. At a fixed place, as it is asked for at each operation.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local uint64_t t_epoch;
extern uint64_t g_epoch;
extern Context *g_context;
extern const uint64_t
    *g_recorder; // the thread, by its t_epoch, that entered last outside of bodies
void choose_context();
void wait_for_recorder();
inline void enter() {
    if (t_epoch != g_epoch) [[unlikely]]
        choose_context();
    if (g_context->region == 0) [[likely]]
        g_recorder = &t_epoch;
    else if (g_recorder !=
             &t_epoch) // Python may switch threads while a body runs: its region is not ours
        wait_for_recorder();
}

// ---- values from Python objects (jit_construct.cpp)
bool is_number(PyObject *o); // bool, int, float and NumPy's scalars
/// A literal; integers must fit. `is_operand`: errors say that it is one of an operation. Throws.
Value number(Context &c, Type type, PyObject *o, bool is_operand = false);
/// A new object of `cls` from what its constructor accepts. Null: a Python error.
PyObject *construct(const Class *cls, PyTypeObject *type, PyObject *const *args, size_t count);
/// The same from one argument; an object that already fits is returned as it is.
PyObject *convert(const Class *cls, PyObject *o);

// ---- operators (jit_operators.cpp)
/// The class of results of operands of these classes; null where they have none in common.
const Class *promote(const Class *a, const Class *b);
/// Entry i of `o` as an operand of an operation of result class `cls`, of element type `type`.
Value operand(const Class *cls, Type type, const Object *o, uint32_t i);
PyType_Slot *operator_slots();
PyObject *binary_op(Op op, PyObject *a, PyObject *b);

// ---- functions that Python supplies for what is rare: printing, tensors, special products
PyObject *hook(const char *name); // borrowed; throws where it is missing

/// Runs `f`, turning C++ exceptions into Python's.
void set_python_error();
template <class F> PyObject *guarded(F &&f) {
    try {
        enter();
        return f();
    } catch (...) {
        set_python_error();
        return nullptr;
    }
}
/// An error that is Python's own already.
struct PythonError {};
[[noreturn]] void raise(PyObject *type, const std::string &message);

} // namespace umbel::python
