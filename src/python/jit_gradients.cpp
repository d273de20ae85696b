// python/jit_gradients.cpp: gradients of array objects, scopes, custom operations.
#include "ad/applied.h"
#include "ad/higher_order.h"
#include "python/functions.h"
#include "python/helpers.h"
#include <memory>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

namespace umbel::python {

namespace {

bool followable(const Value &v) { return v.valid() && jit::is_float(v.type()); }

// The file and line of the script that is running.
std::string script_line() {
    PyFrameObject *frame = PyEval_GetFrame();
    return frame ? fmt::format("line {} of the script", PyFrame_GetLineNumber(frame)) : "";
}

template <class F> void for_values(nb::handle h, F &&f) {
    Object *o = array_of(h);
    for (uint32_t i = 0; i < o->n; ++i)
        if (followable(o->v[i]))
            f(o->v[i], i);
}

// A gradient in the shape of `like`.
nb::object gradient_like(nb::handle like, nb::handle gradient) {
    Object *o = array_of(like);
    PyObject *g = gradient.ptr();
    return o->cls->kind == Kind::Tensor && is_number(g)
               ? steal(construct(o->cls->array, o->cls->array->py, &g, 1))
               : steal(convert(o->cls, g));
}

/// Scopes opened by a `with` statement, closed in reverse.
class Scope {
public:
    Scope(std::string kind, nb::list arrays) : m_kind(std::move(kind)) {
        for (const Value &v : values_of(arrays))
            if (followable(v))
                m_values.push_back(v);
        m_all = nb::len(arrays) == 0;
    }
    void enter() {
        context();
        if (m_kind == "isolate") {
            m_isolate = std::make_unique<ad::IsolateGrad>();
        } else if (m_all) {
            add({});
        } else {
            for (const Value &v : m_values)
                add({ &v });
        }
    }
    void exit(bool is_given_up) {
        while (!m_scopes.empty())
            m_scopes.pop_back();
        if (auto isolate = std::move(m_isolate)) // whose destructor must not be the one to throw
            isolate->end(is_given_up);
    }

private:
    void add(std::initializer_list<const Value *> values) {
        if (m_kind == "suspend")
            m_scopes.push_back(std::make_unique<ad::SuspendGrad>(values));
        else
            m_scopes.push_back(std::make_unique<ad::ResumeGrad>(values));
    }
    std::string m_kind;
    bool m_all;
    std::vector<Value> m_values;
    std::vector<std::unique_ptr<ad::SuspendGrad>> m_scopes;
    std::unique_ptr<ad::IsolateGrad> m_isolate;
};

/// An operation whose methods a Python object supplies. Inputs and outputs are lists of arrays.
class PythonOp final : public ad::RepeatableOp {
public:
    PythonOp(nb::object self, nb::list inputs)
        : m_self(std::move(self)), m_inputs(inputs),
          m_name(nb::cast<std::string>(m_self.attr("name")())) {}
    ~PythonOp() override {
        nb::gil_scoped_acquire lock;
        m_self.reset();
        m_inputs.reset();
        m_outputs.reset();
    }
    const char *name() const override { return m_name.c_str(); }

    std::vector<Value> eval(std::span<const Value> in) override {
        set_values(m_inputs, { in.begin(), in.end() });
        {
            Reinstate scope; // scripts ask in eval() what is followed outside
            m_outputs = nb::cast<nb::list>(m_self.attr("_eval")(m_inputs));
        }
        for_each("_implicit_inputs", [&](const Value &v) { add_input(v); });
        for_each("_implicit_outputs", [&](const Value &v) {
            if (ad::tape().follows(v.grad_id()))
                m_written.push_back(v.grad_id());
        });
        return values_of(m_outputs);
    }
    std::shared_ptr<ad::CustomOp> again() const override {
        nb::list inputs;
        for (nb::handle h : m_inputs)
            inputs.append(map_values(array_of(h), [](const Value &v) { return v; }));
        return std::make_shared<PythonOp>(m_self.attr("_again")(), inputs);
    }
    void forward() override { m_self.attr("_forward")(nb::cast(this, nb::rv_policy::reference)); }
    void backward() override { m_self.attr("_backward")(nb::cast(this, nb::rv_policy::reference)); }

    // `i` counts arrays; values are numbered from the first of each.
    nb::object get(bool input, size_t i) {
        nb::list &list = input ? m_inputs : m_outputs;
        size_t first = first_value(list, i), k = 0;
        return map_values(array_of(list[i]), [&](const Value &v) {
            size_t at = first + k++;
            Value g = input ? grad_in(at) : grad_out(at);
            return jit::is_float(g.type()) ? g : jit::literal(v.type(), 0, v.size());
        });
    }
    void set(bool input, size_t i, nb::handle gradient) {
        nb::list &list = input ? m_inputs : m_outputs;
        nb::object converted = gradient_like(list[i], gradient);
        Object *g = array_of(converted);
        size_t first = first_value(list, i);
        for (uint32_t k = 0; k < array_of(list[i])->n; ++k) {
            const Value &v = g->v[g->n == 1 ? 0 : k];
            if (!followable(v))
                continue;
            input ? set_grad_in(first + k, v) : set_grad_out(first + k, v);
        }
    }

    /// Objects like the outputs, with these values.
    nb::list results(const std::vector<Value> &values) {
        nb::list out;
        size_t k = 0;
        for (nb::handle h : m_outputs)
            out.append(map_values(array_of(h), [&](const Value &) { return values[k++]; }));
        return out;
    }

private:
    // The scope around the one in which operations compute.
    struct Reinstate {
        std::vector<ad::ScopeState> &scopes = ad::tape().scopes();
        Reinstate() {
            ad::ScopeState outer = scopes[scopes.size() - 2];
            outer.isolate = false;
            outer.postponed.clear();
            scopes.push_back(std::move(outer));
        }
        ~Reinstate() { scopes.pop_back(); }
    };
    template <class F> void for_each(const char *list, F &&f) {
        for (nb::handle h : nb::cast<nb::list>(m_self.attr(list)())) {
            Object *o = array_of(h);
            for (uint32_t i = 0; i < o->n; ++i)
                if (followable(o->v[i]))
                    f(o->v[i]);
        }
    }
    static size_t first_value(nb::list &list, size_t i) {
        size_t n = 0;
        for (size_t k = 0; k < i; ++k)
            n += array_of(list[k])->n;
        return n;
    }
    nb::object m_self;
    nb::list m_inputs, m_outputs;
    std::string m_name;
};

} // namespace

void bind_gradients(nb::module_ &m) {
    m.def("enable_grad", [](nb::handle h) {
        context();
        const ad::ScopeState &scope = ad::tape().scopes().back();
        if (!scope.complement && scope.ids.empty()) // nothing is followed here
            return;
        for_values(h, [](Value &v, uint32_t) { ad::enable_grad(v, script_line()); });
    });
    m.def("disable_grad",
          [](nb::handle h) { for_values(h, [](Value &v, uint32_t) { ad::disable_grad(v); }); });
    m.def("grad_enabled", [](nb::handle h) {
        bool on = false;
        for_values(h, [&](Value &v, uint32_t) {
            on |= v.grad_id() != 0 && (context(), ad::tape().follows(v.grad_id()));
        });
        return on;
    });
    m.def("grad", [](nb::handle h) {
        context();
        return map_values(array_of(h), [](const Value &v) {
            return followable(v) ? ad::grad(ad::tape().follows(v.grad_id()) ? v : v.detached())
                   : v.valid()   ? jit::literal(v.type(), 0, v.size())
                                 : v;
        });
    });
    m.def("set_grad", [](nb::handle h, nb::handle gradient, bool add) {
        nb::object converted = gradient_like(h, gradient);
        Object *g = array_of(converted);
        if (!add) // entries may be the same variable, which then gets the sum
            for_values(h, [&](Value &v, uint32_t) { ad::clear_grad(v); });
        for_values(h, [&](Value &v, uint32_t i) {
            if (v.grad_id())
                ad::accumulate_grad(v, g->v[g->n == 1 ? 0 : i]);
        });
    });
    m.def("clear_grad",
          [](nb::handle h) { for_values(h, [](Value &v, uint32_t) { ad::clear_grad(v); }); });
    m.def("detach", [](nb::handle h) {
        return map_values(array_of(h), [](const Value &v) { return ad::detach(v); });
    });
    m.def("replace_grad", [](nb::handle a, nb::handle b) {
        Object *y = array_of(b);
        uint32_t i = 0;
        return map_values(array_of(a), [&](const Value &v) {
            const Value &g = y->v[y->n == 1 ? 0 : i++];
            return followable(v) ? ad::replace_grad(v, g) : v;
        });
    });
    m.def("enqueue", [](bool forward, nb::handle h) {
        bool any = false;
        for_values(h, [&](Value &v, uint32_t) {
            if (v.grad_id()) {
                ad::enqueue(forward ? ad::Mode::Forward : ad::Mode::Backward, v);
                any = true;
            }
        });
        return any;
    });
    m.def("traverse", [](bool forward, uint32_t clear) {
        context();
        ad::traverse(forward ? ad::Mode::Forward : ad::Mode::Backward, clear);
    });
    // Arrays of the same classes as in `by`; `weights`: none, or as many as in `of`
    m.def("derivatives", [](bool forward, nb::list of, nb::list by, nb::list weights) {
        context();
        std::vector<Value> y = values_of(of), x = values_of(by), w;
        for (size_t k = 0; k < nb::len(weights); ++k) {
            nb::object shaped = gradient_like(of[k], weights[k]);
            Object *o = array_of(shaped);
            for (uint32_t i = 0; i < array_of(of[k])->n; ++i)
                w.push_back(o->v[o->n == 1 ? 0 : i]);
        }
        std::vector<Value> found = forward ? ad::tangent(y, x, w) : ad::gradient(y, x, w);
        nb::list out;
        size_t k = 0;
        for (nb::handle h : by)
            out.append(map_values(array_of(h), [&](const Value &) { return found[k++]; }));
        return out;
    });
    m.def("node_sequence", [](nb::handle h) { // told apart from nodes that had the number before
        const Value &v = array_of(h)->v[0];
        return v.valid() ? nb::make_tuple(uintptr_t(&v.context()), v.node().seq) : nb::make_tuple();
    });
    m.def("place", // of the value, which a view such as v.x shares with v
          [](nb::handle h) { return uintptr_t(array_of(h)->v); });
    m.def("set_ad_label", [](nb::handle h, const std::string &label) {
        for_values(h, [&](Value &v, uint32_t) {
            if (v.grad_id())
                ad::tape().node(v.grad_id()).label = label;
        });
    });
    m.def("ad_listing", [] {
        context();
        return ad::listing();
    });
    m.def("ad_dot", [] {
        context();
        return ad::dot();
    });
    m.def("ad_live", [] {
        context();
        return ad::live_nodes();
    });

    nb::class_<Scope>(m, "GradScope")
        .def(nb::init<std::string, nb::list>())
        .def("enter", &Scope::enter)
        .def("exit", &Scope::exit);
    nb::class_<PythonOp>(m, "OpHandle").def("get", &PythonOp::get).def("set", &PythonOp::set);
    m.def("custom", [](nb::object self, nb::list inputs) {
        context();
        std::vector<Value> in = values_of(inputs);
        nb::list copies;
        for (nb::handle h : inputs)
            copies.append(map_values(array_of(h), [](const Value &v) { return v.detached(); }));
        for (const Value &v : in)
            if (!v.valid())
                fail("custom: an input has no elements");
        auto op = std::make_shared<PythonOp>(self, copies);
        return op->results(ad::custom(op, in));
    });
}

} // namespace umbel::python
