// python/jit_control.cpp: loops, conditionals and calls whose bodies are Python functions.
//
// Python flattens its structures into lists of arrays; here a list becomes a sequence of values.
#include "jit/control.h"
#include "python/functions.h"
#include "python/helpers.h"
#include <map>
#include <memory>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace umbel::python {

namespace {

// Fresh objects like those of a list, with other values: a body may change what it is given.
nb::list like(nb::list arrays, const std::vector<Value> &values) {
    nb::list out;
    size_t k = 0;
    for (nb::handle h : arrays)
        out.append(map_values(array_of(h), [&](const Value &) { return values[k++]; }));
    return out;
}

void check_same(const std::string &name, nb::list before, nb::list after) {
    if (nb::len(before) != nb::len(after))
        fail("{}: the body turns a state of {} arrays into one of {}", name, nb::len(before),
             nb::len(after));
    for (size_t i = 0; i < nb::len(before); ++i) {
        Object *a = array_of(before[i]), *b = array_of(after[i]);
        if (a->cls->type != b->cls->type || a->n != b->n)
            fail("{}: array {} of the state changes from {} to {}", name, i, a->cls->name,
                 b->cls->name);
    }
}

void check_set(const std::string &name, const std::vector<Value> &values) {
    for (size_t i = 0; i < values.size(); ++i)
        if (!values[i].valid())
            fail("{}: value {} of the state has no elements; give it an initial value", name, i);
}

// Names must outlive the recording.
const char *permanent(const std::string &name) {
    static auto *names = new std::map<std::string, std::unique_ptr<std::string>>;
    auto &p = (*names)[name];
    if (!p)
        p = std::make_unique<std::string>(name);
    return p->c_str();
}

Value as_mask(nb::handle h) {
    if (!is_array(h.ptr()) && !is_number(h.ptr()))
        throw nb::type_error(
            fmt::format("a condition must be a mask, not '{}'", Py_TYPE(h.ptr())->tp_name).c_str());
    return mask_value(h);
}

nb::list loop(const std::string &name, nb::list state, nb::callable condition, nb::callable body) {
    context();
    std::vector<Value> values = values_of(state);
    check_set(name, values);
    std::vector<Value *> pointers;
    for (Value &v : values)
        pointers.push_back(&v);
    jit::detail::loop(
        permanent(name), pointers,
        [&]() -> Value { return as_mask(condition(like(state, values))); },
        [&] {
            auto next = nb::cast<nb::list>(body(like(state, values)));
            check_same(name, state, next);
            std::vector<Value> v = values_of(next);
            check_set(name, v);
            std::move(v.begin(), v.end(), values.begin());
        });
    return like(state, values);
}

nb::list if_(const std::string &name, nb::handle condition, nb::callable then_branch,
             nb::callable else_branch) {
    context();
    nb::list shape;
    auto trace = [&](nb::callable &branch, bool first) {
        auto results = nb::cast<nb::list>(branch());
        if (first)
            shape = results;
        else
            check_same(name, shape, results);
        std::vector<Value> v = values_of(results);
        check_set(name, v);
        return v;
    };
    bool first = true;
    auto run = [&](nb::callable &branch) {
        auto v = trace(branch, std::exchange(first, false));
        return v;
    };
    std::vector<Value> values = jit::detail::if_(
        permanent(name), as_mask(condition), [&] { return run(then_branch); },
        [&] { return run(else_branch); });
    return like(shape, values);
}

// callee(i, arguments) for i = number - 1; a list of arrays, or None where the number is free.
nb::object call(const std::string &name, nb::handle number, nb::handle mask, nb::list arguments,
                uint32_t count, nb::callable callee) {
    context();
    std::vector<Value> values = values_of(arguments);
    check_set(name, values);
    std::vector<Value *> pointers;
    for (Value &v : values)
        pointers.push_back(&v);
    nb::object shape = nb::none();
    std::vector<Value> out =
        jit::detail::call(permanent(name), index_value(number), mask_value(mask), pointers, count,
                          [&](uint32_t i) -> std::optional<std::vector<Value>> {
                              nb::object results = callee(i, like(arguments, values));
                              if (results.is_none())
                                  return std::nullopt;
                              auto list = nb::cast<nb::list>(results);
                              if (shape.is_none())
                                  shape = list;
                              else
                                  check_same(name, nb::cast<nb::list>(shape), list);
                              std::vector<Value> v = values_of(list);
                              check_set(name, v);
                              return v;
                          });
    if (shape.is_none())
        return shape;
    return like(nb::cast<nb::list>(shape), out);
}

} // namespace

void bind_control(nb::module_ &m) {
    m.def("loop", loop);
    m.def("if_", if_);
    m.def("call", call, nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
    m.def(
        "print",
        [](std::string format, nb::list arguments, nb::handle mask) {
            context();
            jit::print(std::move(format), values_of(arguments), mask_value(mask));
        },
        nb::arg(), nb::arg(), nb::arg().none());
    m.def(
        "assert_lanes",
        [](nb::handle condition, std::string message, nb::handle mask) {
            context();
            jit::assert_lanes(jit::Mask(mask_value(condition)), std::move(message),
                              jit::Mask(mask_value(mask)));
        },
        nb::arg(), nb::arg(), nb::arg().none());
    m.def("valid", [](nb::handle h) {
        Object *o = array_of(h);
        for (uint32_t i = 0; i < o->n; ++i)
            if (!o->v[i].valid() || o->v[i].size() == 0)
                return false;
        return true;
    });
    m.def("count", [](nb::handle h) { return array_of(h)->n; });
    m.def("indices", [](nb::handle h) {
        Object *o = array_of(h);
        nb::list out;
        for (uint32_t i = 0; i < o->n; ++i)
            out.append(o->v[i].valid() ? o->v[i].id() : 0);
        return out;
    });
    m.def("active_lanes", [](nb::handle h) { // under the masks of evaluated control flow
        Value m = mask_value(h);
        Context &c = context();
        if (!c.masks.empty())
            m = jit::binary(Op::And, m, Value::share(c, c.masks.back()));
        return steal(wrap(m));
    });
    m.def("dirty", [](nb::handle h) { // effects on it are pending
        Object *o = array_of(h);
        bool any = false;
        for (uint32_t i = 0; i < o->n; ++i)
            any |= o->v[i].valid() && o->v[i].node().flags & jit::Dirty;
        return any;
    });
    m.def("same_values", [](nb::handle x, nb::handle y) {
        Object *a = array_of(x), *b = array_of(y);
        bool same = a->n == b->n;
        for (uint32_t i = 0; same && i < a->n; ++i) {
            const Value &v = a->v[i], &w = b->v[i];
            same = v.valid() == w.valid() &&
                   (!v.valid() || (v.id() == w.id() && v.grad_id() == w.grad_id()));
        }
        return same;
    });
    m.def("is_recording", [] { return context().region != 0; });
}

} // namespace umbel::python
