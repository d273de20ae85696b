// python/render_params.cpp: scene parameters, by name.
#include "core/host_array.h"
#include "core/traverse.h"
#include "python/helpers.h"
#include "python/render_plugins.h"
#include <map>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace umbel::python {

bool is_transform(nb::handle h) {
    return nb::hasattr(h.type(), "inverse_transpose"); // not its own, as mocks claim to have any
}

// Where a transform of texture coordinates, of 3 x 3 numbers, lies in one of space.
static constexpr int PlaneRows[] = { 0, 1, 3 };

TransformData to_transform(nb::handle h) {
    nb::object numpy = nb::module_::import_("numpy");
    nb::object a = nb::hasattr(h, "numpy") ? h.attr("numpy")() : nb::borrow(h);
    nb::object flat = numpy.attr("ravel")(numpy.attr("asarray")(a)).attr("tolist")();
    size_t n = nb::len(flat);
    TransformData t;
    if (n != 16 && n != 9)
        fail("a transform has 4 x 4 numbers, not {}", n);
    for (int i = 0; i < 16 && n == 16; ++i)
        t.m[size_t(i)] = nb::cast<double>(flat[size_t(i)]);
    if (n == 9)
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j)
                t(PlaneRows[i], PlaneRows[j]) = nb::cast<double>(flat[size_t(3 * i + j)]);
    return t;
}

bool same_value(const Value &a, const Value &b) {
    if (a.grad_id() != b.grad_id() || !a.valid() || !b.valid())
        return a.id() == b.id() && a.grad_id() == b.grad_id();
    const jit::Graph &graph = a.context().graph;
    auto is_zero = [&](jit::NodeId id) {
        return graph[id].op == jit::Op::Literal && graph[id].imm == 0;
    };
    const jit::Node &n = a.node();
    bool plus_zero = n.op == jit::Op::Add && ((n.dep[0] == b.id() && is_zero(n.dep[1])) ||
                                              (n.dep[1] == b.id() && is_zero(n.dep[0])));
    return a.id() == b.id() || (plus_zero && n.size == b.size());
}

nb::object from_transform(const TransformData &t) {
    nb::list rows;
    for (int i = 0; i < 4; ++i)
        rows.append(nb::make_tuple(t(i, 0), t(i, 1), t(i, 2), t(i, 3)));
    return from_package("Transform4f")(rows);
}

namespace {

nb::object from_plane_transform(const TransformData &t) {
    nb::list rows;
    for (int i : PlaneRows)
        rows.append(nb::make_tuple(t(i, 0), t(i, 1), t(i, 3)));
    return from_package("ScalarTransform3f")(rows);
}

nb::object from_values(std::initializer_list<Value> values, Sense sense) {
    std::vector<Value> v(values);
    const Class *cls =
        v.size() == 1 ? scalar_class(v[0].type()) : vector_class(v[0].type(), int(v.size()), sense);
    Object *o = make_object(cls);
    nb::object out = steal(o);
    for (size_t i = 0; i < v.size(); ++i)
        o->v[i] = v[i];
    return out;
}

struct Reader {
    nb::object operator()(std::monostate) { return nb::none(); }
    nb::object operator()(Float *v) { return from_values({ *v }, Sense::Plain); }
    nb::object operator()(const std::array<Float *, 3> &v) {
        return from_values({ *v[0], *v[1], *v[2] }, Sense::Color);
    }
    nb::object operator()(const TensorSlot &t) {
        return steal(wrap_tensor(tensor_class(t.data->type()), *t.data, *t.shape));
    }
    nb::object operator()(const BufferSlot &b) { return from_values({ b.read() }, Sense::Plain); }
    nb::object operator()(double *v) { return nb::cast(*v); }
    nb::object operator()(const std::array<int *, 2> &v) {
        return from_values({ jit::UInt32(uint32_t(*v[0])), jit::UInt32(uint32_t(*v[1])) },
                           Sense::Vector);
    }
    nb::object operator()(const std::array<double *, 2> &v) {
        return from_values({ Float(*v[0]), Float(*v[1]) }, Sense::Vector);
    }
    nb::object operator()(const std::array<double *, 3> &v) {
        return from_values({ Float(*v[0]), Float(*v[1]), Float(*v[2]) }, Sense::Point);
    }
    nb::object operator()(TransformData *t) { return from_transform(*t); }
    nb::object operator()(const TransformSlot &t) {
        if (!t.data->valid())
            return from_transform(*t.host);
        nb::list entries;
        for (uint32_t i = 0; i < 16; ++i)
            entries.append(
                from_values({ jit::gather(*t.data, UInt32(i), Mask(true)) }, Sense::Plain));
        return from_package("Transform4f").attr("_of")(entries);
    }
    nb::object operator()(std::vector<double> *v) {
        return from_values({ float_array(*v) }, Sense::Plain);
    }
    nb::object operator()(std::vector<uint32_t> *v) {
        return from_values({ jit::copy(*v) }, Sense::Plain);
    }
};

// The value of a parameter written in C++.
nb::object read(const Param &p) {
    if (auto *t = std::get_if<TransformData *>(&p.slot); t && p.name == "to_uv")
        return from_plane_transform(**t);
    return std::visit(Reader(), p.slot);
}

std::vector<double> numbers(nb::handle h) {
    nb::object numpy = nb::module_::import_("numpy");
    nb::object flat = numpy.attr("ravel")(numpy.attr("asarray")(h)).attr("tolist")();
    std::vector<double> out;
    for (nb::handle v : flat)
        out.push_back(nb::cast<double>(v));
    return out;
}

class PyParameters {
public:
    explicit PyParameters(Ref<SceneObject> root) : PyParameters(std::move(root), changes()) {}
    PyParameters(Ref<SceneObject> root, uint64_t before) : params(entered(std::move(root))) {
        if (changes() != before) // shapes have materials of their own now
            update_scenes();
    }

    /// Takes over what the script has under this key; false where that is what the scene has.
    bool set(const std::string &key, nb::handle h) {
        const SceneParameter &p = params.at(key);
        if (auto *side = dynamic_cast<PySide *>(p.owner);
            side && side->get(p.param.name).is_valid())
            return side->set(p.param.name, h);
        const Slot &slot = p.param.slot;
        if (std::holds_alternative<Float *>(slot) ||
            std::holds_alternative<std::array<Float *, 3>>(slot))
            return set_traced(key, slot, h);
        if (auto *t = std::get_if<TensorSlot>(&slot))
            return set_tensor(key, *t, h);
        if (auto *b = std::get_if<BufferSlot>(&slot))
            return set_buffer(key, *b, h);
        if (auto *t = std::get_if<TransformData *>(&slot))
            return replace(**t, finite_transform(key, h));
        if (auto *t = std::get_if<TransformSlot>(&slot))
            return set_transform(key, *t, h);
        if (auto *v = std::get_if<double *>(&slot)) {
            std::vector<double> n = numbers(h);
            need(key, n.size(), 1);
            if (**v != n[0])
                check_range(p, n[0]);
            return replace(**v, n[0]);
        }
        std::vector<double> n = numbers(h);
        if (auto *v = std::get_if<std::array<int *, 2>>(&slot)) {
            need(key, n.size(), 2);
            bool a = replace(*(*v)[0], int(n[0])), b = replace(*(*v)[1], int(n[1]));
            return a || b;
        }
        if (auto *v = std::get_if<std::array<double *, 2>>(&slot)) {
            need(key, n.size(), 2);
            bool a = replace(*(*v)[0], n[0]), b = replace(*(*v)[1], n[1]);
            return a || b;
        }
        if (auto *v = std::get_if<std::array<double *, 3>>(&slot)) {
            need(key, n.size(), 3);
            bool changed = false;
            for (size_t i = 0; i < 3; ++i)
                changed |= replace(*(*v)[i], n[i]);
            return changed;
        }
        if (auto *v = std::get_if<std::vector<double> *>(&slot))
            return replace(**v, n);
        if (auto *v = std::get_if<std::vector<uint32_t> *>(&slot))
            return replace(**v, std::vector<uint32_t>(n.begin(), n.end()));
        return false;
    }

    nb::object get(const std::string &key) const {
        const SceneParameter &p = params.at(key);
        if (auto *side = dynamic_cast<PySide *>(p.owner))
            if (nb::object value = side->get(p.param.name); value.is_valid())
                return value;
        return read(p.param);
    }

    /// ParamFlags: what is inside of something that is not differentiable is not, either.
    uint32_t flags(const std::string &key) const {
        constexpr uint32_t NonDifferentiable = 1;
        const SceneParameter &p = params.at(key);
        uint32_t flags = p.param.is_differentiable ? 0 : NonDifferentiable;
        if (auto *side = dynamic_cast<const PySide *>(p.owner))
            flags |= side->flags(p.param.name);
        for (auto [o, name] = params.parent_of(p.owner); o; std::tie(o, name) = params.parent_of(o))
            if (auto *side = dynamic_cast<const PySide *>(o))
                flags |= side->flags(name) & NonDifferentiable;
        return flags & NonDifferentiable ? NonDifferentiable : flags;
    }

    SceneParameters params;

private:
    // Objects make values of numbers that become parameters.
    static Ref<SceneObject> entered(Ref<SceneObject> root) {
        enter();
        return root;
    }
    template <class T> static bool replace(T &slot, T value) {
        if (slot == value)
            return false;
        slot = std::move(value);
        return true;
    }
    void check_range(const SceneParameter &p, double number) const {
        if (!dynamic_cast<const PySide *>(p.owner)) // which has checks of its own
            params.check_range(p.key, number);
    }
    static TransformData finite_transform(const std::string &key, nb::handle h) {
        TransformData t = to_transform(h);
        if (!t.is_finite())
            fail("parameter {}: its matrix has numbers that are not finite", quote(key));
        return t;
    }
    static void need(const std::string &key, size_t got, size_t want) {
        if (got != want)
            fail("parameter {} consists of {} numbers, not of {}", quote(key), want, got);
    }
    bool set_buffer(const std::string &key, const BufferSlot &slot, nb::handle h) {
        const Class *cls = scalar_class(slot.read().type());
        nb::object array = nb::borrow(h);
        if (!is_array(h.ptr()) || as_array(h.ptr())->cls != cls)
            array = steal(convert(cls, h.ptr()));
        Object *o = as_array(array.ptr());
        if (same_value(o->v[0], *slot.data) || (!o->v[0].valid() && slot.read().size() == 0))
            return false;
        params.assign(key, std::span<const Value>(o->v, 1));
        o->v[0] = *slot.data; // the script's object stays in step
        return true;
    }
    bool set_traced(const std::string &key, const Slot &slot, nb::handle h) {
        std::vector<Float *> slots;
        if (auto *f = std::get_if<Float *>(&slot))
            slots = { *f };
        else
            for (Float *f : std::get<std::array<Float *, 3>>(slot))
                slots.push_back(f);
        nb::object array = nb::borrow(h);
        if (!is_array(h.ptr()) || as_array(h.ptr())->n != slots.size() ||
            as_array(h.ptr())->cls->type != slots[0]->type()) {
            Type t = slots[0]->type();
            const Class *cls =
                slots.size() == 1 ? scalar_class(t) : vector_class(t, 3, Sense::Color);
            array = steal(convert(cls, h.ptr()));
        }
        Object *o = as_array(array.ptr());
        bool equal = true;
        for (size_t i = 0; i < slots.size(); ++i)
            equal = equal && same_value(o->v[i], *slots[i]);
        if (equal)
            return false;
        // Numbers of the script, not those that kernels compute: these would have to be waited for
        const SceneParameter &p = params.at(key);
        if (slots.size() == 1 && p.param.type == "float" && o->v[0].valid() && o->v[0].is_literal())
            check_range(p, read_floats(Float(o->v[0]))[0]);
        params.assign(key, std::span<const Value>(o->v, slots.size()));
        if (is_array(h.ptr()) && as_array(h.ptr())->n == slots.size() &&
            as_array(h.ptr())->cls->type == slots[0]->type())
            for (size_t i = 0; i < slots.size(); ++i) // the script's object stays in step
                as_array(h.ptr())->v[i] = *slots[i];
        return true;
    }
    // Numbers of the host, but for those whose derivatives are followed: others would be text of a kernel of their own.
    bool set_transform(const std::string &key, const TransformSlot &slot, nb::handle h) {
        std::map<uint32_t, Value> followed;
        if (nb::hasattr(h, "_entries")) {
            nb::list entries(h.attr("_entries")());
            for (uint32_t i = 0; i < 16; ++i) {
                nb::object e = entries[i];
                Value v = is_array(e.ptr()) ? as_array(e.ptr())->v[0] : Value();
                if (v.valid() && v.size() != 1)
                    fail("parameter {}: a shape has one transform, not {}", quote(key), v.size());
                if (v.valid() && v.grad_id())
                    followed[i] = v;
            }
        }
        TransformData host = finite_transform(key, h);
        bool was_followed = slot.data->valid();
        if (followed.empty()) {
            *slot.data = Value();
            return replace(*slot.host, host) || was_followed;
        }
        Value numbers = float_array(host.m);
        for (auto &[i, v] : followed)
            jit::scatter(numbers, Float(v), UInt32(i), Mask(true));
        params.assign(key, std::array<Value, 1>{ numbers });
        *slot.host = host;
        return true;
    }
    bool set_tensor(const std::string &key, const TensorSlot &t, nb::handle h) {
        nb::object array = nb::borrow(h);
        if (!is_array(h.ptr()) || !is_tensor(as_array(h.ptr())) ||
            as_array(h.ptr())->cls->type != t.data->type())
            array = nb::borrow(reinterpret_cast<PyObject *>(tensor_class(t.data->type())->py))(h);
        TensorObject *o = as_tensor(as_array(array.ptr()));
        if (same_value(o->value, *t.data) && o->shape == *t.shape)
            return false;
        params.assign(key, std::array<Value, 1>{ o->value });
        *t.shape = o->shape;
        if (array.is(h))
            o->value = *t.data;
        return true;
    }
};

// The key of a parameter that is named by what its object is in those around it, whatever its own name: of a lamp called
// `lamp` in a ball, `lamp.radiance.value` is also `ball.emitter.radiance.value`.
std::string key_by_path(const PyParameters &p, const std::string &key) {
    std::string_view path = key;
    const SceneObject *o = p.params.root().get();
    while (o && !python_side(*o)) { // to ask a plugin in Python again may change its parameters
        Params params(Params::Mode::Traverse);
        const_cast<SceneObject *>(o)->declare(params);
        const SceneObject *next = nullptr;
        std::string_view rest;
        for (const Param &q : params.all()) {
            if (q.name == path)
                for (const SceneParameter &s : p.params.all())
                    if (s.owner == o && s.param.name == path)
                        return s.key;
            for (size_t i = 0; i < q.objects.size(); ++i) {
                const SceneObject *child = q.objects[i].get();
                if (!child)
                    continue;
                std::string name = q.is_list ? fmt::format("{}_{}", q.name, i) : q.name;
                if (o->kind() == "scene")
                    name = child->id().empty() ? child->plugin() : child->id();
                if (path.starts_with(name + "."))
                    next = child, rest = path.substr(name.size() + 1);
            }
        }
        o = next;
        path = rest;
    }
    return "";
}

} // namespace

// What traverse() of an object written in C++ reports to `callback`: see _plugins.TraversalCallback.
static void report(SceneObject &o, nb::handle callback) {
    if (python_side(o))
        return; // its own traverse() has done so
    enter();
    Params p(Params::Mode::Traverse);
    o.declare(p);
    for (const Param &q : p.all()) {
        int flags = q.is_differentiable ? 0 : 1;
        if (!std::holds_alternative<std::monostate>(q.slot))
            callback.attr("put")(q.name, read(q), flags);
        for (const Ref<SceneObject> &child : q.objects)
            if (child)
                callback.attr("put")(q.name, to_python(child), flags);
    }
}

static nb::object from_setting(const PropertyValue &v) {
    if (auto *b = std::get_if<bool>(&v))
        return nb::cast(*b);
    if (auto *i = std::get_if<int64_t>(&v))
        return nb::cast(*i);
    if (auto *d = std::get_if<double>(&v))
        return nb::cast(*d);
    return nb::cast(std::get<std::string>(v));
}

// Numbers, words and switches of an object that are no scene parameters: [(name, value)].
static nb::list fixed_parameters(SceneObject &o) {
    enter();
    Params params(Params::Mode::Traverse);
    o.declare(params);
    nb::list out;
    for (const Param &p : params.all()) {
        if (std::optional<PropertyValue> v = p.slot.index() ? std::nullopt : setting(p))
            out.append(nb::make_tuple(p.name, from_setting(*v)));
    }
    return out;
}

// All of an object in C++: {name: value}.
static nb::dict settings(SceneObject &o) {
    nb::dict out;
    if (python_side(o))
        return out;
    enter();
    Params params(Params::Mode::Traverse);
    o.declare(params);
    for (const Param &p : params.all())
        if (std::optional<PropertyValue> v = setting(p))
            out[p.name.c_str()] = from_setting(*v);
    return out;
}

static void set_setting(SceneObject &o, const std::string &name, nb::handle h) {
    PropertyValue value;
    if (PyBool_Check(h.ptr()))
        value = h.ptr() == Py_True;
    else if (PyUnicode_Check(h.ptr()))
        value = nb::cast<std::string>(h);
    else if (PyIndex_Check(h.ptr()))
        value = int64_t(nb::cast<int64_t>(nb::int_(h)));
    else
        value = nb::cast<double>(nb::float_(h));
    enter();
    change_setting(o, name, value);
}

void bind_params(nb::module_ &m) {
    m.def("report_parameters", &report);
    m.def("fixed_parameters", &fixed_parameters);
    m.def("settings", &settings);
    m.def("set_setting", &set_setting);
    m.def("parameters_changed", [](SceneObject &o, const std::vector<std::string> &names) {
        if (!python_side(o)) {
            enter();
            o.changed(names);
        }
    });
    nb::class_<PyParameters>(m, "_Parameters")
        .def(nb::init<Ref<SceneObject>>())
        .def("keys",
             [](const PyParameters &p) {
                 std::vector<std::string> out;
                 for (const SceneParameter &s : p.params.all())
                     out.push_back(s.key);
                 return out;
             })
        .def("get",
             [](const PyParameters &p, const std::string &key) {
                 enter();
                 return p.get(key);
             })
        .def("set", &PyParameters::set)
        .def("describe",
             [](const PyParameters &p, const std::string &key) {
                 const SceneParameter &s = p.params.at(key);
                 return nb::make_tuple(p.flags(key), s.owner->plugin());
             })
        .def("owner",
             [](const PyParameters &p, const std::string &key) {
                 return to_python(static_cast<const SceneObject *>(p.params.at(key).owner));
             })
        .def("chain", // [(object, its parameter)] from the owner to the root
             [](const PyParameters &p, const std::string &key) {
                 const SceneParameter &s = p.params.at(key);
                 nb::list out;
                 const SceneObject *o = s.owner;
                 std::string_view name = s.param.name;
                 while (o) {
                     out.append(nb::make_tuple(to_python(o), nb::str(name.data(), name.size())));
                     std::tie(o, name) = p.params.parent_of(o);
                 }
                 return out;
             })
        .def("by_path", key_by_path) // "" where there is none
        .def("update",
             [](PyParameters &p, const std::vector<std::string> &keys) {
                 enter();
                 p.params.update(keys);
                 if (p.params.root()->kind() != "scene") // whose shapes they may be
                     update_outdated_scenes();
             })
        .def("pointer", [](PyParameters &p) { return reinterpret_cast<uintptr_t>(&p.params); });
}

} // namespace umbel::python
