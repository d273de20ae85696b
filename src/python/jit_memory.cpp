// python/jit_memory.cpp: gathering, scattering, reductions and other operations on whole arrays.
#include "jit/exchange.h"
#include "jit/lane_list.h"
#include "python/empty_arrays.h"
#include "python/functions.h"
#include "python/helpers.h"
#include "python/sequence.h"

namespace umbel::python {

namespace {

using jit::ReduceOp;

Value as_type(Type t, const Value &v) { return v.type() == t ? v : jit::cast(t, v); }

Value offset(const Value &index, uint32_t stride, uint32_t k) {
    Context &c = index.context();
    auto constant = [&](uint32_t x) { return Value::adopt(c, c.graph.literal(Type::U32, x)); };
    return jit::binary(Op::Add, jit::binary(Op::Mul, index, constant(stride)), constant(k));
}

bool is_empty(nb::handle h) {
    return is_array(h.ptr()) && (as_array(h.ptr())->n == 0 || !as_array(h.ptr())->v[0].valid());
}

// Records of `cls` from a flat array, or entry by entry from an array of the same shape.
// `count` is for classes that leave the number of entries open.
nb::object gather(nb::handle type, nb::handle source, nb::handle index, nb::handle active,
                  uint32_t count) {
    const Class *cls = class_from(type);
    Object *s = array_of(source);
    if (cls->kind == Kind::Tensor)
        fail("gather: a tensor is no result; gather an array and reshape it");
    if (is_empty(index) || is_empty(active)) // reads nothing
        return steal(make_object(cls, nullptr, s->cls->depth ? s->n : count ? count : 1));
    Value mask = mask_value(active);
    if (s->n && !s->v[0].valid() && active.is_none() && s->cls->depth == 0)
        fail("gather: the source has no elements");
    Object *out = make_object(cls, nullptr, s->cls->depth ? s->n : count ? count : 1);
    nb::object result = steal(out);
    bool indexed = is_array(index.ptr()) && as_array(index.ptr())->cls->depth;
    if (indexed && s->cls->depth == 0) { // an index for each entry
        Object *i = as_array(index.ptr());
        if (i->n != out->n)
            fail("gather: {} indices do not fit a {}", i->cls->name, cls->name);
        for (uint32_t k = 0; k < out->n; ++k)
            out->v[k] = as_type(cls->type, jit::gather(s->v[0], as_type(Type::U32, i->v[k]), mask));
        return result;
    }
    Value i = index_value(index);
    if (s->cls->depth) {
        if (s->n != out->n)
            fail("gather: a {} cannot be gathered from a {}", cls->name, s->cls->name);
        for (uint32_t k = 0; k < out->n; ++k)
            out->v[k] = s->v[k].size() == 1
                            ? jit::ternary(Op::Select, mask, s->v[k], jit::literal(s->cls->type, 0))
                            : jit::gather(s->v[k], i, mask);
    } else if (out->n == 1) {
        out->v[0] = jit::gather(s->v[0], i, mask);
    } else if (s->v[0].size() % out->n) { // no whole number of records: element by element
        for (uint32_t k = 0; k < out->n; ++k)
            out->v[k] = jit::gather(s->v[0], offset(i, out->n, k), mask);
    } else {
        std::vector<Value> values = jit::gather_packet(s->v[0], i, out->n, mask);
        for (uint32_t k = 0; k < out->n; ++k)
            out->v[k] = std::move(values[k]);
    }
    for (uint32_t k = 0; k < out->n; ++k)
        out->v[k] = as_type(cls->type, out->v[k]);
    return result;
}

void scatter(nb::handle target, nb::handle value, nb::handle index, nb::handle active, int op) {
    Object *t = array_of(target);
    const Class *cls = t->cls;
    if (is_empty(index) || is_empty(active) || (is_empty(target) && !active.is_none()))
        return; // no lane has a place to write to
    Value mask = mask_value(active);
    bool indexed = is_array(index.ptr()) && as_array(index.ptr())->cls->depth;
    const Class *value_class = cls;
    if (is_array(value.ptr()) && !is_tensor(array_of(value))) // a record into a flat array
        value_class = array_of(value)->cls->with[int(cls->type)];
    else if (cls->kind == Kind::Tensor)
        value_class = cls->array;
    nb::object converted = steal(convert(value_class, value.ptr()));
    Object *v = as_array(converted.ptr());
    if (v->n == 0 || !v->v[0].valid())
        return; // nothing to write
    if (cls->depth == 0) {
        for (uint32_t k = 0; k < v->n; ++k) {
            Value i = indexed     ? as_type(Type::U32, as_array(index.ptr())->v[k])
                      : v->n == 1 ? index_value(index)
                                  : offset(index_value(index), v->n, k);
            jit::scatter(t->v[0], v->v[k], i, mask, ReduceOp(op));
        }
        return;
    }
    if (v->n != t->n)
        fail("scatter: a {} does not fit into a {}", v->cls->name, cls->name);
    Value i = index_value(index);
    for (uint32_t k = 0; k < t->n; ++k)
        jit::scatter(t->v[k], v->v[k], i, mask, ReduceOp(op));
}

// Python's number for a single entry of an array without lanes.
nb::object number_if_host(nb::object o) {
    const Class *cls = as_array(o.ptr())->cls;
    return cls->host && cls->depth == 0 ? steal(element(as_array(o.ptr())->v[0], 0)) : o;
}

// Of the values along the first dimension, as one entry.
nb::object fold(int op, nb::handle h) {
    Object *o = array_of(h);
    if (!o->cls->depth || dim(o, 0) == 0)
        fail("a reduction of a {} needs entries", o->cls->name);
    size_t n = dim(o, 0);
    uint32_t block = uint32_t(o->n / n);
    Object *out = make_object(o->cls->entry);
    nb::object result = steal(out);
    for (uint32_t k = 0; k < block; ++k) {
        Value v = o->v[k];
        for (size_t i = 1; v.valid() && i < n; ++i)
            v = jit::binary(Op(op), v, o->v[i * block + k]);
        out->v[k] = std::move(v);
    }
    return number_if_host(std::move(result));
}

// The sum of products along the first dimension.
nb::object fold_dot(nb::handle a, nb::handle b) {
    Object *x = array_of(a), *y = array_of(b);
    const Class *cls = promote(x->cls, y->cls);
    if (!cls || !cls->depth || x->n != y->n || x->n == 0)
        fail("dot: {} and {} do not fit together", x->cls->name, y->cls->name);
    Value v = apply(Op::Mul, operand(cls, cls->type, x, 0), operand(cls, cls->type, y, 0));
    for (uint32_t i = 1; i < x->n; ++i)
        v = apply(Op::Fma, operand(cls, cls->type, x, i), operand(cls, cls->type, y, i), v);
    return number_if_host(steal(wrap(cls->host ? cls->array->twin : cls->array, std::move(v))));
}

} // namespace

void bind_memory(nb::module_ &m) {
    m.def("gather", gather, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg() = 0);
    m.def("scatter", scatter, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg());
    m.def(
        "scatter_inc",
        [](nb::handle target, nb::handle index, nb::handle active) {
            Object *t = array_of(target);
            if (is_empty(index) || is_empty(active))
                return steal(wrap(t->cls, Value()));
            return steal(wrap(jit::scatter_inc(t->v[0], index_value(index), mask_value(active))));
        },
        nb::arg(), nb::arg(), nb::arg().none());
    m.def(
        "scatter_exch",
        [](nb::handle target, nb::handle value, nb::handle index, nb::handle active) {
            Object *t = array_of(target);
            if (is_empty(value) || is_empty(index) || is_empty(active))
                return steal(wrap(t->cls, Value()));
            Value v = lane_value(value, t->cls->type, 0);
            return steal(
                wrap(jit::scatter_exchange(t->v[0], v, index_value(index), mask_value(active))));
        },
        nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
    m.def(
        "scatter_cas",
        [](nb::handle target, nb::handle compare, nb::handle value, nb::handle index,
           nb::handle active) {
            Object *t = array_of(target);
            Type type = t->cls->type;
            if (is_empty(compare) || is_empty(value) || is_empty(index) || is_empty(active))
                return nb::make_tuple(steal(wrap(t->cls, Value())),
                                      steal(wrap(scalar_class(Type::Bool), Value())));
            Value c = lane_value(compare, type, 0), v = lane_value(value, type, 0);
            jit::Swapped r = jit::scatter_compare_exchange(t->v[0], c, v, index_value(index),
                                                           mask_value(active));
            return nb::make_tuple(steal(wrap(std::move(r.before))), steal(wrap(std::move(r.done))));
        },
        nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
    m.def("fold", fold);
    m.def("fold_dot", fold_dot);
    m.def("reduce", [](int op, nb::handle h) { // over the lanes of each entry
        return map_values(array_of(h),
                          [&](const Value &v) { return jit::reduce(ReduceOp(op), v); });
    });
    m.def("block_reduce", [](int op, nb::handle h, uint32_t block) {
        return map_values(array_of(h), [&](const Value &v) {
            return v.valid() ? jit::block_reduce(ReduceOp(op), v, block) : Value();
        });
    });
    m.def("prefix_sum", [](nb::handle h, bool exclusive, uint32_t block) {
        return map_values(array_of(h), [&](const Value &v) {
            return v.valid() ? jit::prefix_sum(v, exclusive, block) : Value();
        });
    });
    m.def("dot", [](nb::handle a, nb::handle b) {
        return steal(wrap(jit::dot(array_of(a)->v[0], array_of(b)->v[0])));
    });
    m.def("compress", [](nb::handle mask) {
        Value r = jit::compress(mask_value(mask));
        return steal(r.valid() && r.size() ? wrap(std::move(r))
                                           : wrap(scalar_class(Type::U32), Value()));
    });
    m.def("compress_to", [](nb::handle mask, uint32_t size) {
        jit::LaneList r = jit::compress(jit::Mask(mask_value(mask)), size);
        return nb::make_tuple(
            steal(size ? wrap(std::move(r.lanes)) : wrap(scalar_class(Type::U32), Value())),
            steal(wrap(std::move(r.count))));
    });
    m.def("sort_permutation", [](nb::handle keys, bool descending) {
        if (is_empty(keys))
            return steal(wrap(scalar_class(Type::U32), Value()));
        return steal(wrap(jit::sort_permutation(array_of(keys)->v[0], descending)));
    });
    m.def("local_array", [](nb::handle initial, uint32_t length) {
        return map_values(array_of(initial),
                          [&](const Value &v) { return jit::local_array(v, length); });
    });
    m.def(
        "local_get",
        [](nb::handle array, nb::handle index, nb::handle active) {
            Value i = index_value(index), mask = mask_value(active);
            return map_values(array_of(array),
                              [&](const Value &v) { return jit::local_get(v, i, mask); });
        },
        nb::arg(), nb::arg(), nb::arg().none());
    m.def(
        "local_set",
        [](nb::handle array, nb::handle index, nb::handle value, nb::handle active) {
            Object *o = array_of(array);
            Value i = index_value(index), mask = mask_value(active);
            nb::object converted = steal(convert(o->cls, value.ptr()));
            Object *x = as_array(converted.ptr());
            for (uint32_t k = 0; k < o->n; ++k)
                o->v[k] = jit::local_set(o->v[k], i, x->v[k], mask);
        },
        nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
}

} // namespace umbel::python
