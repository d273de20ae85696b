// python/jit_arrays.cpp: classes and their properties, making arrays, evaluation, memory for others.
#include "jit/cuda/sharing.h"
#include "jit/recording.h"
#include "python/functions.h"
#include "python/helpers.h"
#include "python/sequence.h"
#include "python/waiting.h"
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace umbel::python {

Value lane_value(nb::handle h, Type t, uint64_t fallback) {
    if (h.is_none()) {
        Context &c = context();
        return Value::adopt(c, c.graph.literal(t, fallback));
    }
    if (is_number(h.ptr()))
        return number(context(), t, h.ptr());
    const Class *cls = scalar_class(t);
    nb::object converted = steal(convert(cls, h.ptr()));
    Object *o = as_array(converted.ptr());
    if (!o->v[0].valid())
        throw nb::type_error("an array with elements is needed");
    return o->v[0];
}

std::vector<Value> values_of(nb::list arrays) {
    std::vector<Value> out;
    for (nb::handle h : arrays) {
        Object *o = array_of(h);
        out.insert(out.end(), o->v, o->v + o->n);
    }
    return out;
}

void set_values(nb::list arrays, const std::vector<Value> &values) {
    size_t k = 0;
    for (nb::handle h : arrays) {
        Object *o = array_of(h);
        for (uint32_t i = 0; i < o->n; ++i)
            o->v[i] = values.at(k++);
    }
}

namespace {

nb::object type_object(const Class *c) {
    return c ? nb::borrow(reinterpret_cast<PyObject *>(c->py)) : nb::none();
}

// (element type, kind, sense, dimensions without the lanes, -1: dynamic)
nb::tuple describe(nb::handle type) {
    const Class *c = class_from(type);
    nb::list dims;
    for (int i = 0; i < c->depth; ++i)
        dims.append(c->dims[i]);
    return nb::make_tuple(int(c->type), int(c->kind), int(c->sense), nb::tuple(dims));
}

nb::object lookup(int type, int kind, nb::tuple dims, int sense, bool host) {
    int d[3] = {};
    for (size_t i = 0; i < nb::len(dims) && i < 3; ++i)
        d[i] = nb::cast<int>(dims[i]);
    if (nb::len(dims) > 3)
        return nb::none();
    return type_object(
        find_class(Type(type), Kind(kind), int(nb::len(dims)), d, Sense(sense), host));
}

uint32_t checked_size(size_t n) {
    if (n > UINT32_MAX)
        fail("an array of {} elements is too large: the limit is 2^32 - 1", n);
    return uint32_t(n);
}

// Lanes of a literal; nothing for none.
nb::object full(nb::handle type, nb::handle value, size_t size) {
    const Class *c = class_from(type);
    Context &context = python::context();
    PyObject *argument = value.ptr();
    nb::object base = steal(construct(c, c->py, &argument, 1));
    Object *o = as_array(base.ptr());
    for (uint32_t i = 0; i < o->n; ++i) {
        if (size == 0)
            o->v[i] = Value();
        else if (size != 1 && o->v[i].is_literal())
            o->v[i] = Value::adopt(context, context.graph.literal(c->type, o->v[i].literal_bits(),
                                                                  checked_size(size)));
        else if (size != 1 && o->v[i].size() == 1)
            o->v[i] = jit::binary(
                Op::Add, o->v[i],
                Value::adopt(context, context.graph.literal(c->type, 0, checked_size(size))));
    }
    return base;
}

nb::object entries(nb::handle h) {
    Object *o = array_of(h);
    nb::list out;
    for (uint32_t i = 0; i < o->n; ++i)
        out.append(steal(wrap(o->cls->array, o->v[i])));
    return out;
}

nb::object from_entries(nb::handle type, nb::list list) {
    const Class *c = class_from(type);
    std::vector<Value> values = values_of(list);
    Object *out = make_object(c, nullptr, uint32_t(values.size()));
    nb::object result = steal(out);
    if (out->n != values.size())
        fail("{}: {} entries are needed, not {}", c->name, out->n, values.size());
    for (uint32_t i = 0; i < out->n; ++i)
        out->v[i] = values[i].valid() && values[i].type() != c->type ? jit::cast(c->type, values[i])
                                                                     : values[i];
    return result;
}

nb::object make_tensor(nb::handle type, nb::handle array, const std::vector<size_t> &shape) {
    const Class *c = class_from(type);
    Object *o = array_of(array);
    Value v = o->v[0];
    size_t n = 1;
    for (size_t s : shape)
        n *= s;
    if (v.valid() && v.type() != c->type)
        v = jit::cast(c->type, v);
    if (v.size() != n && v.size() == 1 && n) // broadcast
        v = v.is_literal()
                ? Value::adopt(v.context(), v.context().graph.literal(c->type, v.literal_bits(),
                                                                      checked_size(n)))
                : jit::binary(Op::Add, v, jit::literal(c->type, 0, checked_size(n)));
    if (v.size() != n)
        fail("a tensor of shape ({}) has {} elements, but the array has {}", fmt::join(shape, ", "),
             n, v.size());
    return steal(wrap_tensor(c, std::move(v), shape));
}

nb::object shape_of(nb::handle h) {
    Object *o = array_of(h);
    nb::list out;
    if (is_tensor(o)) {
        for (size_t s : as_tensor(o)->shape)
            out.append(s);
    } else {
        for (int i = 0; i < o->cls->depth; ++i)
            out.append(dim(o, i));
        uint32_t lanes = width(o);
        for (uint32_t i = 0; i < o->n; ++i)
            if (o->v[i].size() != lanes && o->v[i].size() != 1)
                fail("shape: the input is ragged: {} has entries of {} and of {} lanes",
                     o->cls->name, lanes, o->v[i].size());
        if (!o->cls->host)
            out.append(lanes);
    }
    return nb::tuple(out);
}

nb::dlpack::dtype dlpack_type(Type t) {
    nb::dlpack::dtype dtype;
    dtype.code = uint8_t(t == Type::Bool     ? nb::dlpack::dtype_code::Bool
                         : jit::is_float(t)  ? nb::dlpack::dtype_code::Float
                         : jit::is_signed(t) ? nb::dlpack::dtype_code::Int
                                             : nb::dlpack::dtype_code::UInt);
    dtype.bits = uint8_t(jit::bytes(t) * 8);
    dtype.lanes = 1;
    return dtype;
}

// NumPy's arrays, and those of most others, have no more. Beyond 127, nanobind's end the process.
void check_dimensions(const std::vector<size_t> &shape) {
    constexpr size_t Most = 64;
    if (shape.size() > Most)
        throw nb::value_error(fmt::format("a tensor of {} dimensions is too much for other "
                                          "libraries, which have {} at most; reshape it",
                                          shape.size(), Most)
                                  .c_str());
}

// The memory behind a value, evaluated. Others may write to it: that is seen here.
nb::object memory(nb::handle h, std::vector<size_t> shape, bool numpy) {
    check_dimensions(shape);
    Object *o = array_of(h);
    Value v = o->v[0];
    size_t n = 1;
    for (size_t s : shape)
        n *= s;
    if (!v.valid() || n == 0) {
        static uint64_t nothing = 0;
        return nb::cast(nb::ndarray<nb::numpy>(&nothing, shape.size(), shape.data(), {}, nullptr,
                                               nb::dtype<float>()));
    }
    if (v.is_literal()) {
        v = jit::opaque(v);
        o->v[0] = v;
    }
    jit::about_to_read(v.context(), "the memory of an array");
    evaluate_and_wait(v);
    auto *buffer = new jit::BufferRef(v.context().data(v.id()));
    nb::capsule owner(buffer, [](void *p) noexcept { delete static_cast<jit::BufferRef *>(p); });
    wait_for(v.context());
    nb::dlpack::dtype dtype = dlpack_type(v.type());
    void *data = (*buffer)->data();
    if (numpy)
        return nb::cast(
            nb::ndarray<nb::numpy>(data, shape.size(), shape.data(), owner, nullptr, dtype));
    return nb::cast(nb::ndarray<>(data, shape.size(), shape.data(), owner, nullptr, dtype));
}

struct Lent {
    jit::BufferRef buffer;
    jit::Device &device;
    jit::OthersQueue queue;
};

// The same on the GPU that it was computed on, for libraries that compute there, too. All that was queued has run. Once they let it go,
// it is used again after what they have queued.
nb::object device_memory(nb::handle h, std::vector<size_t> shape, bool on_default_stream,
                         bool copy) {
    check_dimensions(shape);
    Object *o = array_of(h);
    Value v = o->v[0];
    if (v.is_literal()) {
        v = jit::opaque(v);
        o->v[0] = v;
    }
    jit::about_to_read(v.context(), "the memory of an array");
    if (copy) {
        jit::eval(v); // a range that is gathered from a range is itself
        v = jit::gather(v, jit::lane_index(v.size()), jit::literal(Type::Bool, 1));
    }
    evaluate_and_wait(v);
    jit::Device &device = *v.context().backend().device();
    auto *lent = new Lent{ v.context().data(v.id()), device,
                           on_default_stream ? jit::OthersQueue::Default : jit::OthersQueue::Any };
    nb::capsule owner(lent, [](void *p) noexcept {
        auto *lent = static_cast<Lent *>(p);
        {
            nb::gil_scoped_release others_may_run; // what is waited for may call Python
            jit::follow_others(lent->device, lent->queue);
        }
        delete lent;
    });
    wait_for(v.context());
    auto *data = reinterpret_cast<void *>(lent->buffer->device_address(device));
    return nb::cast(nb::ndarray<>(data, shape.size(), shape.data(), owner, nullptr,
                                  dlpack_type(v.type()), nb::device::cuda::value,
                                  jit::cuda_device_number(device)));
}

int state(
    nb::handle h) { // 0 none, 1 literal, 2 recorded, 3 evaluated, 4 dirty, 5 of a body, 6 mixed
    Object *o = array_of(h);
    int r = -1;
    for (uint32_t i = 0; i < o->n; ++i) {
        const Value &v = o->v[i];
        int s = !v.valid()                    ? 0
                : v.is_literal()              ? 1
                : v.node().region             ? 5
                : v.node().flags & jit::Dirty ? 4
                : v.is_evaluated()            ? 3
                                              : 2;
        r = r < 0 || r == s ? s : 6;
    }
    return r < 0 ? 0 : r;
}

void evaluate(nb::list arrays) {
    std::vector<Value> values;
    for (Value &v : values_of(arrays))
        if (v.valid())
            values.push_back(std::move(v));
    std::vector<const Value *> pointers;
    for (Value &v : values)
        pointers.push_back(&v);
    context();
    jit::eval(std::span<const Value *const>(pointers));
}

void synchronize() { wait_for(context()); }

} // namespace

void bind_arrays(nb::module_ &m) {
    m.def("describe", describe);
    m.def("cuda_device", [](nb::handle h) { // its number; -1: in memory of the host
        Object *o = array_of(h);
        const Value *v = o->n == 1 ? &o->v[0] : nullptr;
        jit::Device *device =
            v && v->valid() && v->size() ? v->context().backend().device() : nullptr;
        return device ? jit::cuda_device_number(*device) : -1;
    });
    m.def("device_memory", device_memory);
    m.def("lookup", lookup, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg() = false);
    m.def("with_type",
          [](nb::handle type, int t) { return type_object(class_from(type)->with[t]); });
    m.def("mask_of", [](nb::handle type) { return type_object(class_from(type)->mask); });
    m.def("entry_of", [](nb::handle type) { return type_object(class_from(type)->entry); });
    m.def("array_of", [](nb::handle type) { return type_object(class_from(type)->array); });
    m.def("is_host", [](nb::handle type) { return class_from(type)->host; });
    m.def("host_of", [](nb::handle type) { // a tensor has no other
        const Class *c = class_from(type);
        return type_object(c->host || !c->twin ? c : c->twin);
    });
    m.def("is_array_type", [](nb::handle h) {
        return PyType_Check(h.ptr()) && class_of(reinterpret_cast<PyTypeObject *>(h.ptr()));
    });
    m.def("promote", [](nb::handle a, nb::handle b) {
        return type_object(promote(class_from(a), class_from(b)));
    });

    m.def("full", full);
    m.def("lane_index", [](size_t n) {
        context();
        return steal(wrap(jit::lane_index(checked_size(n))));
    });
    m.def("cast", [](nb::handle h, int t) {
        Object *o = array_of(h);
        const Class *c = o->cls->with[t];
        return map_values(c, o,
                          [&](const Value &v) { return v.valid() ? jit::cast(Type(t), v) : v; });
    });
    m.def("bitcast", [](nb::handle h, int t) {
        Object *o = array_of(h);
        const Class *c = o->cls->with[t];
        return map_values(c, o, [&](const Value &v) { return jit::bitcast(Type(t), v); });
    });
    m.def("copy",
          [](nb::handle h) { return map_values(array_of(h), [](const Value &v) { return v; }); });
    m.def("binary", [](int op, nb::handle a, nb::handle b) {
        return steal(binary_op(Op(op), a.ptr(), b.ptr()));
    });
    m.def("unary", [](int op, nb::handle a) { // entry by entry, whatever the class
        return map_values(array_of(a), [&](const Value &v) { return jit::unary(Op(op), v); });
    });
    m.def("assign", [](nb::handle target, nb::handle source) {
        Object *t = array_of(target), *s = array_of(source);
        bool open = t->cls->depth && t->cls->dims[0] == Dynamic;
        if (t->cls != s->cls || (t->n != s->n && !open))
            fail("a {} cannot take the value of a {}", t->cls->name, s->cls->name);
        if (t->n != s->n) {
            nb::object copy = map_values(s, [](const Value &v) { return v; });
            replace_values(t, as_array(copy.ptr()));
            return;
        }
        for (uint32_t i = 0; i < t->n; ++i)
            t->v[i] = s->v[i];
        if (is_tensor(t))
            as_tensor(t)->shape = as_tensor(s)->shape;
    });

    m.def("entries", entries);
    m.def("from_entries", from_entries);
    m.def("tensor", make_tensor);
    m.def("tensor_array", [](nb::handle h) {
        Object *o = array_of(h);
        return steal(wrap(o->cls->array, o->v[0]));
    });
    m.def("tensor_view", [](nb::handle h) { // changes of it are changes of the tensor
        Object *o = array_of(h);
        return steal(view_of(o, o->cls->array, o->v));
    });
    m.def("shape", shape_of);
    m.def("width", [](nb::handle h) { return width(array_of(h)); });
    m.def("sizes", [](nb::handle h) {
        Object *o = array_of(h);
        nb::list out;
        for (uint32_t i = 0; i < o->n; ++i)
            out.append(o->v[i].size());
        return out;
    });
    m.def("element", [](nb::handle h, uint32_t i, uint32_t lane) {
        return steal(element(array_of(h)->v[i], lane));
    });
    m.def("index", [](nb::handle h) { return array_of(h)->v[0].id(); });
    m.def("index_ad", [](nb::handle h) { return array_of(h)->v[0].grad_id(); });
    m.def("memory", memory);

    m.def("recorded_size",
          [](nb::handle h) { return steal(wrap(jit::recorded_size(array_of(h)->v[0]))); });
    m.def("state", state);
    m.def("is_local", [](nb::handle h) {
        Object *o = array_of(h);
        return o->n && o->v[0].valid() && o->v[0].node().length != 0;
    });
    m.def("opaque", [](nb::handle h) { // in place
        Object *o = array_of(h);
        for (uint32_t i = 0; i < o->n; ++i)
            if (o->v[i].valid())
                o->v[i] = jit::opaque(o->v[i]);
    });
    m.def("eval", evaluate);
    m.def("schedule", [](nb::handle h) {
        Object *o = array_of(h);
        bool any = false;
        for (uint32_t i = 0; i < o->n; ++i) {
            const Value &v = o->v[i];
            if (!v.valid() || v.is_literal() || v.is_evaluated() || v.node().region)
                continue;
            jit::schedule(v);
            any = true;
        }
        return any;
    });
    m.def("synchronize", synchronize);
    m.def("finish", finish);
}

} // namespace umbel::python
