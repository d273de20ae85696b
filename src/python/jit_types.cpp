// python/jit_types.cpp: all array classes, made from a table; their objects' memory.
#include "python/objects.h"
#include "python/older_python.h"
#include <map>
#include <tuple>
#include <unordered_map>

namespace umbel::python {

PyTypeObject *array_base = nullptr;
FreeList free_singles;

namespace {

using Key = std::tuple<Type, Kind, Sense, int, int, int, int, bool>;
struct Table {
    std::vector<std::unique_ptr<Class>> all;
    std::map<Key, Class *> by_shape;
    std::unordered_map<PyTypeObject *, Class *> by_type;
};
Table &table() {
    static Table *t = new Table; // as long as the process: objects may outlive the module
    return *t;
}

struct Suffix {
    Type type;
    const char *scalar, *suffix;
};
constexpr Suffix suffixes[] = {
    { Type::Bool, "Bool", "b" },    { Type::I8, "Int8", "i8" },
    { Type::U8, "UInt8", "u8" },    { Type::I16, "Int16", "i16" },
    { Type::U16, "UInt16", "u16" }, { Type::I32, "Int", "i" },
    { Type::U32, "UInt", "u" },     { Type::I64, "Int64", "i64" },
    { Type::U64, "UInt64", "u64" }, { Type::F16, "Float16", "f16" },
    { Type::F32, "Float", "f" },    { Type::F64, "Float64", "f64" },
};

Key key_of(const Class &c) {
    return { c.type, c.kind, c.sense, c.depth, c.dims[0], c.dims[1], c.dims[2], c.host };
}

void add(std::string name, Type type, Kind kind, std::initializer_list<int> dims,
         Sense sense = Sense::Plain) {
    auto c = std::make_unique<Class>();
    c->name = std::move(name);
    c->type = type;
    c->kind = kind;
    c->sense = sense;
    for (int d : dims) {
        c->dims[c->depth++] = d;
        c->count = d == Dynamic ? 0 : c->count * uint32_t(d);
    }
    c->plain = kind == Kind::Array;
    auto enter = [](std::unique_ptr<Class> c) {
        table().by_shape[key_of(*c)] = c.get();
        table().all.push_back(std::move(c));
    };
    if (kind != Kind::Tensor) {
        auto twin = std::make_unique<Class>(*c);
        twin->host = true;
        twin->twin = c.get();
        c->twin = twin.get();
        enter(std::move(twin));
    }
    enter(std::move(c));
}

void list_classes() {
    for (const Suffix &s : suffixes) {
        auto name = [&](const char *stem) { return fmt::format("{}{}", stem, s.suffix); };
        Type t = s.type;
        bool real = jit::is_float(t), wide = real || t >= Type::I32;
        add(s.scalar, t, Kind::Array, {});
        for (int n = 0; n <= 4; ++n)
            add(fmt::format("Array{}{}", n, s.suffix), t, Kind::Array, { n });
        add(name("ArrayX"), t, Kind::Array, { Dynamic });
        add(name("TensorX"), t, Kind::Tensor, {});
        if (real || t == Type::Bool) {
            for (int n = 2; n <= 4; ++n)
                add(fmt::format("Array{}{}{}", n, n, s.suffix), t, Kind::Array, { n, n });
            add(name("Array34"), t, Kind::Array, { 3, 4 });
            add(name("Array43"), t, Kind::Array, { 4, 3 });
            add(name("Array41"), t, Kind::Array, { 4, 1 });
            add(name("Array334"), t, Kind::Array, { 3, 3, 4 });
            for (int n : { 1, 3, 4 })
                add(fmt::format("Array44{}{}", n, s.suffix), t, Kind::Array, { 4, 4, n });
        }
        if (real) {
            for (int n = 2; n <= 4; ++n)
                add(fmt::format("Matrix{}{}", n, s.suffix), t, Kind::Matrix, { n, n });
            add(name("Matrix34"), t, Kind::Matrix, { 3, 3, 4 }); // entries are arrays of four
            for (int n : { 1, 3, 4 }) // Mueller matrices of so many channels
                add(fmt::format("Matrix4{}{}", n, s.suffix), t, Kind::Matrix, { 4, 4, n });
            add(name("Complex2"), t, Kind::Complex, { 2 });
            add(name("Quaternion4"), t, Kind::Quaternion, { 4 });
            add(name("Normal3"), t, Kind::Array, { 3 }, Sense::Normal);
            add(name("Spectrum4"), t, Kind::Array, { 4 }, Sense::Spectrum);
            for (int n : { 0, 1, 3 })
                add(fmt::format("Color{}{}", n, s.suffix), t, Kind::Array, { n }, Sense::Color);
        }
        if (wide)
            for (int n = 0; n <= 4; ++n) {
                add(fmt::format("Vector{}{}", n, s.suffix), t, Kind::Array, { n }, Sense::Vector);
                add(fmt::format("Point{}{}", n, s.suffix), t, Kind::Array, { n }, Sense::Point);
            }
    }
}

Class *find(Type t, Kind k, Sense s, int depth, const int *dims, bool host = false) {
    auto at = [&](int i) { return i < depth ? dims[i] : 0; };
    auto it = table().by_shape.find({ t, k, s, depth, at(0), at(1), at(2), host });
    return it == table().by_shape.end() ? nullptr : it->second;
}

// How the classes refer to each other.
void connect(Class &c) {
    for (const Suffix &s : suffixes) {
        Class *same = find(s.type, c.kind, c.sense, c.depth, c.dims, c.host);
        if (!same && c.kind != Kind::Tensor)
            same = find(s.type, Kind::Array, Sense::Plain, c.depth, c.dims, c.host);
        c.with[int(s.type)] = same;
    }
    c.with[int(c.type)] = &c;
    c.mask = c.kind == Kind::Tensor
                 ? find(Type::Bool, Kind::Tensor, Sense::Plain, 0, nullptr)
                 : find(Type::Bool, Kind::Array, Sense::Plain, c.depth, c.dims, c.host);
    c.array = find(c.type, Kind::Array, Sense::Plain, 0, nullptr);
    if (c.kind == Kind::Tensor)
        c.entry = &c;
    else if (c.depth)
        c.entry = find(c.type, Kind::Array, Sense::Plain, c.depth - 1, c.dims + 1, c.host);
}

// ---- memory of objects

FreeList free_lists[5]; // by number of entries

FreeList *free_list(const Class *c) {
    if (c->count == 1 && c->kind != Kind::Tensor)
        return &free_singles;
    bool small = c->count >= 2 && c->count <= 4 && c->kind != Kind::Tensor;
    return small ? &free_lists[c->count] : nullptr;
}

size_t object_size(const Class *c) {
    return c->kind == Kind::Tensor ? sizeof(TensorObject)
                                   : sizeof(Object) + c->count * sizeof(Value);
}

PyObject *array_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    const Class *c = class_of(type);
    if (!c) {
        PyErr_SetString(PyExc_TypeError, "ArrayBase has no objects of its own");
        return nullptr;
    }
    if (c->kind == Kind::Tensor) // of a subclass
        return guarded([&] {
            PyObject *front = PyTuple_Pack(1, type), *all = PySequence_Concat(front, args);
            PyObject *result = PyObject_Call(hook("make_tensor"), all, kwargs);
            Py_DECREF(front);
            Py_DECREF(all);
            return result;
        });
    if (kwargs && PyDict_GET_SIZE(kwargs)) {
        PyErr_Format(PyExc_TypeError, "%s: Constructor does not take keyword arguments.",
                     type->tp_name);
        return nullptr;
    }
    return construct(c, type, reinterpret_cast<PyTupleObject *>(args)->ob_item,
                     size_t(PyTuple_GET_SIZE(args)));
}

// make_tensor(class, ...) has the class in front.
PyObject *tensor_call(PyObject *type, PyObject *const *args, size_t nargsf, PyObject *names) {
    return guarded([&] {
        Py_ssize_t n = PyVectorcall_NARGS(nargsf), k = names ? PyTuple_GET_SIZE(names) : 0;
        std::vector<PyObject *> all{ type };
        all.insert(all.end(), args, args + n + k);
        return PyObject_Vectorcall(hook("make_tensor"), all.data(), size_t(n + 1), names);
    });
}

PyObject *array_call(PyObject *type, PyObject *const *args, size_t nargsf, PyObject *names) {
    auto *t = reinterpret_cast<PyTypeObject *>(type);
    if (names && PyTuple_GET_SIZE(names) == 1 && PyVectorcall_NARGS(nargsf) == 1 &&
        PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "flip_axes") == 0)
        return guarded([&] { // of a tensor whose first dimension is that of the lanes
            return PyObject_CallFunctionObjArgs(hook("from_tensor"), type, args[0], args[1],
                                                nullptr);
        });
    if (names && PyTuple_GET_SIZE(names)) {
        PyErr_Format(PyExc_TypeError, "%s: Constructor does not take keyword arguments.",
                     t->tp_name);
        return nullptr;
    }
    return construct(class_of(t), t, args, size_t(PyVectorcall_NARGS(nargsf)));
}

PyTypeObject *make_type(const std::string &name, size_t size, std::vector<PyType_Slot> slots,
                        PyTypeObject *base, bool host = false) {
    slots.push_back({ Py_tp_dealloc, reinterpret_cast<void *>(array_dealloc) });
    slots.push_back({ Py_tp_new, reinterpret_cast<void *>(array_new) });
    slots.push_back({ 0, nullptr });
    auto *full_name = new std::string( // CPython keeps the pointer
        (host ? "umbel.jit.scalar." : "umbel.jit.auto.") + name);
    PyType_Spec spec{ full_name->c_str(), int(size), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                      slots.data() };
    PyObject *bases = base ? PyTuple_Pack(1, base) : nullptr;
    PyObject *type = PyType_FromSpecWithBases(&spec, bases);
    Py_XDECREF(bases);
    if (!type)
        throw PythonError();
    return reinterpret_cast<PyTypeObject *>(type);
}

} // namespace

Class *find_class(Type type, Kind kind, int depth, const int *dims, Sense sense, bool host) {
    return find(type, kind, sense, depth, dims, host);
}
Class *vector_class(Type type, int n, Sense sense) { return find(type, Kind::Array, sense, 1, &n); }
Class *matrix_class(Type type, int n) {
    int dims[] = { n, n };
    return find(type, Kind::Matrix, Sense::Plain, 2, dims);
}
Class *tensor_class(Type type) { return find(type, Kind::Tensor, Sense::Plain, 0, nullptr); }

Class *class_of(PyTypeObject *type) {
    auto &map = table().by_type;
    for (; type; type = type->tp_base)
        if (auto it = map.find(type); it != map.end())
            return it->second;
    return nullptr;
}

void make_classes(PyObject *module) {
    list_classes();
    std::vector<PyType_Slot> slots;
    for (PyType_Slot *s = operator_slots(); s->slot; ++s)
        slots.push_back(*s);
    array_base = make_type("ArrayBase", sizeof(Object), slots, nullptr);
    PyModule_AddObjectRef(module, "ArrayBase", reinterpret_cast<PyObject *>(array_base));

    PyObject *classes = PyDict_New(), *host_classes = PyDict_New();
    for (auto &c : table().all) {
        connect(*c);
        c->py = make_type(c->name, object_size(c.get()), {}, array_base, c->host);
        c->py->tp_vectorcall = c->kind == Kind::Tensor ? tensor_call : array_call;
        table().by_type[c->py] = c.get();
        PyDict_SetItemString(c->host ? host_classes : classes, c->name.c_str(),
                             reinterpret_cast<PyObject *>(c->py));
    }
    PyModule_AddObjectRef(module, "classes", classes);
    PyModule_AddObjectRef(module, "host_classes", host_classes);
    Py_DECREF(classes);
    Py_DECREF(host_classes);
}

Object *make_object(const Class *cls, PyTypeObject *type, uint32_t count) {
    Object *o;
    if (!type || type == cls->py) {
        FreeList *list = free_list(cls);
        void *memory =
            list && list->size ? list->items[--list->size] : PyObject_Malloc(object_size(cls));
        if (!memory)
            return reinterpret_cast<Object *>(PyErr_NoMemory());
        o = reinterpret_cast<Object *>(PyObject_Init(static_cast<PyObject *>(memory),
                                                     cls->py)); // also a reference to the class
    } else {
        o = reinterpret_cast<Object *>(type->tp_alloc(type, 0));
        if (!o)
            return nullptr;
    }
    o->cls = cls;
    o->views = nullptr;
    if (cls->kind == Kind::Tensor) {
        auto *t = static_cast<TensorObject *>(o);
        new (&t->value) Value();
        new (&t->shape) std::vector<size_t>();
        o->v = &t->value;
        o->n = 1;
    } else if (cls->depth && cls->dims[0] == Dynamic) {
        o->n = count;
        o->v = new Value[count];
    } else {
        o->n = cls->count;
        o->v = own_values(o);
        for (uint32_t i = 0; i < o->n; ++i)
            new (o->v + i) Value();
    }
    return o;
}

namespace {

ViewLink &link_of(Object *view) { return *reinterpret_cast<ViewLink *>(own_values(view)); }

void leave_parent(Object *view) {
    Object *parent = link_of(view).parent, **at = &parent->views;
    while (*at != view)
        at = &link_of(*at).next;
    *at = link_of(view).next;
    Py_DECREF(as_py(parent));
}

// Gives the views of an object values of their own: those that they refer to are about to go.
void detach_views(Object *o) {
    while (Object *view = o->views) {
        std::vector<Value> values(view->v, view->v + view->n);
        leave_parent(view);
        view->v = own_values(view);
        for (uint32_t i = 0; i < view->n; ++i)
            new (view->v + i) Value(std::move(values[i]));
    }
}

} // namespace

PyObject *view_of(Object *parent, const Class *cls, Value *at) {
    for (Object *view = parent->views; view; view = link_of(view).next)
        if (view->v == at && view->cls == cls)
            return Py_NewRef(as_py(view));
    FreeList *list = free_list(cls);
    void *memory =
        list && list->size ? list->items[--list->size] : PyObject_Malloc(object_size(cls));
    if (!memory)
        return PyErr_NoMemory();
    auto *o = reinterpret_cast<Object *>(PyObject_Init(static_cast<PyObject *>(memory), cls->py));
    o->cls = cls;
    o->v = at;
    o->n = cls->count;
    o->views = nullptr;
    Py_INCREF(as_py(parent));
    link_of(o) = { parent, parent->views };
    parent->views = o;
    return as_py(o);
}

void replace_values(Object *o, Object *by) {
    Py_INCREF(as_py(o)); // views may hold the last reference
    detach_views(o);
    std::swap(o->v, by->v);
    std::swap(o->n, by->n);
    Py_DECREF(as_py(o));
}

void array_dealloc(PyObject *self) {
    auto *o = reinterpret_cast<Object *>(self);
    PyTypeObject *type = Py_TYPE(self);
    const Class *c = o->cls;
    if (c->depth == 0 && c->plain && o->v == own_values(o) && type == c->py &&
        free_singles.size < FreeList::Capacity) [[likely]] {
        o->v[0].~Value();
        free_singles.items[free_singles.size++] = self;
        Py_DECREF(type);
        return;
    }
    if (c->kind == Kind::Tensor) {
        auto *t = static_cast<TensorObject *>(o);
        t->value.~Value();
        t->shape.~vector();
    } else if (c->depth && c->dims[0] == Dynamic) {
        delete[] o->v;
    } else if (o->v != own_values(o)) {
        leave_parent(o);
    } else {
        for (uint32_t i = 0; i < o->n; ++i)
            o->v[i].~Value();
    }
    FreeList *list = free_list(c);
    if (type != c->py)
        type->tp_free(self);
    else if (list && list->size < FreeList::Capacity)
        list->items[list->size++] = self;
    else
        PyObject_Free(self);
    Py_DECREF(type);
}

PyObject *wrap(Value value) {
    const Class *c = scalar_class(value.type());
    return wrap(c, std::move(value));
}

PyObject *wrap_tensor(const Class *cls, Value value, std::vector<size_t> shape) {
    Object *o = make_object(cls);
    if (o) {
        o->v[0] = std::move(value);
        as_tensor(o)->shape = std::move(shape);
    }
    return as_py(o);
}

size_t dim(const Object *o, int i) {
    int d = o->cls->dims[i];
    return d == Dynamic ? o->n : size_t(d);
}

uint32_t width(const Object *o) {
    uint32_t w = 0;
    for (uint32_t i = 0; i < o->n; ++i)
        w = std::max(w, o->v[i].size());
    return w;
}

} // namespace umbel::python
