// python/freeze_inputs.cpp: walking through structures, and comparing them.
#include "python/freeze_inputs.h"
#include "ad/ad.h"
#include "core/variant.h"
#include "render/scene.h"
#include <algorithm>
#include <nanobind/stl/shared_ptr.h>
#include <unordered_map>

namespace umbel::python {

namespace {

// Finding parameters takes longer than a small kernel. They stay where they are while an object lives, unless a setter puts other
// objects into it. An object is known by what stands for it in Python: while that lives, so does the object.
struct Known {
    PyObject *reference = nullptr; // weak
    std::shared_ptr<SceneParameters> params;
    uint64_t change = 0; // the latest when they were found
};

bool is_alive(const Known &k, nb::handle h) {
    return k.reference && PyWeakref_GetObject(k.reference) == h.ptr() &&
           k.change == k.params->last_change();
}

std::shared_ptr<SceneParameters> parameters_of(SceneObject *object, nb::handle h) {
    static auto *known = new std::unordered_map<SceneObject *, Known>;
    auto it = known->find(object);
    if (it != known->end() && is_alive(it->second, h))
        return it->second.params;
    if (known->size() >= 64) { // of objects that are gone, most likely
        for (auto &[o, k] : *known)
            Py_XDECREF(k.reference);
        known->clear();
    }
    enter();
    Known &k = (*known)[object];
    Py_XDECREF(k.reference);
    k = { PyWeakref_NewRef(h.ptr(), nullptr),
          std::make_shared<SceneParameters>(Ref<SceneObject>(Ref<SceneObject>(), object)) };
    k.change = k.params->last_change();
    PyErr_Clear();
    return k.params;
}

} // namespace

FrozenInputs::FrozenInputs(nb::handle inputs, nb::dict fields, nb::callable find_fields)
    : m_fields(fields), m_find_fields(find_fields) {
    m_structure.reserve(512);
    // What the function means besides its inputs: the variant, and what is followed
    put(reinterpret_cast<uintptr_t>(&umbel::variant()));
    if (context().tracker) {
        const ad::ScopeState &scope = ad::tape().scopes().back();
        put(uint64_t(scope.complement) | scope.ids.size() << 1);
    } else {
        put(1);
    }
    walk(inputs, 0);
}

void FrozenInputs::walk(nb::handle h, int depth) {
    PyObject *o = h.ptr();
    if (depth > 64)
        fail(
            "a frozen function's inputs are nested more than 64 deep; do they contain themselves?");
    if (is_array(o))
        return walk_array(as_array(o));
    put(reinterpret_cast<uintptr_t>(Py_TYPE(o)));
    if (PyTuple_Check(o)) {
        Py_ssize_t n = PyTuple_GET_SIZE(o);
        put(uint64_t(n));
        for (Py_ssize_t i = 0; i < n; ++i)
            walk(PyTuple_GET_ITEM(o, i), depth + 1);
        return;
    }
    if (PyList_Check(o)) {
        put(uint64_t(PyList_GET_SIZE(o)));
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o); ++i)
            walk(PyList_GET_ITEM(o, i), depth + 1);
        return;
    }
    if (PyDict_Check(o)) {
        put(uint64_t(PyDict_GET_SIZE(o)));
        PyObject *key, *value;
        Py_ssize_t at = 0;
        while (PyDict_Next(o, &at, &key, &value)) {
            walk_constant(key);
            walk(value, depth + 1);
        }
        return;
    }
    if (PyLong_Check(o) || PyFloat_Check(o) || PyUnicode_Check(o) || o == Py_None ||
        PyModule_Check(o) || PyType_Check(o) || PyFunction_Check(o) || PyCFunction_Check(o))
        return walk_constant(h);
    if (nb::isinstance<SceneObject>(h))
        return walk_object(h);
    // Fields of a structure
    PyObject *type = reinterpret_cast<PyObject *>(Py_TYPE(o));
    nb::object names = nb::borrow(PyDict_GetItem(m_fields.ptr(), type));
    if (!names.is_valid()) {
        names = m_find_fields(nb::handle(type));
        m_fields[nb::handle(type)] = names;
    }
    if (names.is_none())
        return walk_constant(h);
    for (nb::handle name : nb::borrow<nb::tuple>(names)) {
        nb::object value = nb::steal(PyObject_GetAttr(o, name.ptr()));
        if (!value.is_valid()) {
            PyErr_Clear();
            put(~uint64_t(0));
            continue;
        }
        m_temporary.push_back(value); // properties may make it on the spot
        walk(value, depth + 1);
    }
}

// By value where that is simple, else by hash, else by identity.
void FrozenInputs::walk_constant(nb::handle h) {
    PyObject *o = h.ptr();
    if (o == Py_None)
        return;
    if (PyFloat_Check(o))
        return put(jit::to_bits(PyFloat_AS_DOUBLE(o)));
    if (PyLong_CheckExact(o)) {
        int overflow = 0;
        long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
        if (!overflow)
            return put(uint64_t(v));
    }
    if (PyUnicode_Check(o))
        put(uint64_t(PyUnicode_GET_LENGTH(o)));
    Py_hash_t hash = PyModule_Check(o) || PyType_Check(o) ? 0 : PyObject_Hash(o);
    if (hash == -1)
        PyErr_Clear();
    bool by_value = PyUnicode_Check(o) || PyLong_Check(o);
    put(uint64_t(hash));
    if (!by_value) {
        if (hash == -1 || hash == 0)
            put(reinterpret_cast<uintptr_t>(o));
        if (!PyModule_Check(o))
            kept.push_back(nb::borrow(o));
    }
}

void FrozenInputs::walk_array(Object *o) {
    arrays.push_back(nb::borrow(as_py(o)));
    put(reinterpret_cast<uintptr_t>(o->cls));
    put(o->n);
    if (is_tensor(o)) {
        const std::vector<size_t> &shape = as_tensor(o)->shape;
        put(shape.size());
        for (size_t s : shape)
            if (shape.size() > 1) // else it is the array's size
                put(s);
    }
    for (uint32_t i = 0; i < o->n; ++i)
        values.push_back({ &o->v[i], {}, {}, FrozenInput::NoSlot, FrozenInput::NoSlot });
}

void FrozenInputs::walk_object(nb::handle h) {
    SceneObject *object = nb::cast<SceneObject *>(h);
    put(reinterpret_cast<uintptr_t>(object));
    auto *scene = dynamic_cast<const Scene *>(object);
    if (!scene) // a recording of a scene's is stale once that is gone: it uses arrays of its own
        kept.push_back(nb::borrow(h));
    FrozenObject f{ parameters_of(object, h), values.size(), {} };
    revision = std::max(revision, f.params->last_change());
    f.params->each_value([&](Value &v, const std::string &key) {
        values.push_back({ &v, {}, {}, FrozenInput::NoSlot, FrozenInput::NoSlot });
        f.keys.push_back(key);
    });
    objects.push_back(std::move(f));
    if (dynamic_cast<const Sampler *>(object)) // where it is in its sequences
        walk(from_package("_state.state_of")(h), 1);
    if (scene)
        for (const Ref<Sensor> &s : scene->sensors()) {
            put(uint64_t(s->sampler().sample_count()));
            films.push_back({ s->film_ref(), shown_image(s->film_ref()) });
        }
}

std::vector<uint64_t> FrozenInputs::literals() const {
    std::vector<uint64_t> out;
    for (const FrozenInput &v : values)
        if (v.place->is_literal()) {
            out.push_back(v.place->literal_bits());
            out.push_back(v.place->size());
        }
    return out;
}

void FrozenInputs::make_opaque(const std::vector<bool> *which) {
    size_t k = 0;
    for (FrozenInput &v : values)
        if (v.place->is_literal() && (!which || (*which)[k++]))
            *v.place = jit::opaque(*v.place);
}

void FrozenInputs::evaluate() {
    // Gradients are inputs, too
    for (FrozenInput &v : values) {
        const Value &now = *v.place;
        if (!now.valid() || !now.grad_id())
            continue;
        ad::Tape &tape = ad::tape();
        Value g = tape.node(now.grad_id()).grad;
        if (g.valid() && g.size() != now.size())
            tape.set_grad(now.grad_id(), g = ad::grad(now));
        v.gradient = g;
    }
    std::vector<jit::NodeId> roots;
    Context &c = context();
    bool pending = false;
    auto need = [&](const Value &v) {
        if (!v.valid() || v.is_literal())
            return;
        if (!v.is_evaluated())
            roots.push_back(v.id());
        else
            pending |= (v.node().flags & jit::Dirty) != 0;
    };
    for (FrozenInput &v : values) {
        if (v.place->valid() && &v.place->context() != &c)
            fail("a frozen function's input belongs to another backend than that of the active "
                 "variant");
        need(*v.place);
        need(v.gradient);
    }
    for (FrozenFilm &f : films)
        need(f.image);
    if (!roots.empty() || pending)
        c.evaluate(roots);
    for (FrozenInput &v : values) {
        v.before = *v.place;
        v.slot = slot_of(v.before);
        v.gradient_slot = slot_of(v.gradient);
    }
    for (FrozenFilm &f : films)
        f.slot = slot_of(f.image);
}

uint32_t FrozenInputs::slot_of(const Value &v) {
    if (!v.valid() || v.is_literal())
        return FrozenInput::NoSlot;
    for (uint32_t i = uint32_t(slots.size()); i-- > 0;)
        if (slots[i].id() == v.id())
            return i;
    slots.push_back(v.detached());
    return uint32_t(slots.size() - 1);
}

std::string FrozenInputs::key() const {
    std::string out = m_structure;
    auto put = [&](uint64_t v) { out.append(reinterpret_cast<const char *>(&v), sizeof v); };
    std::vector<uint32_t> sizes{ 1 };
    auto put_value = [&](const Value &v, uint32_t slot) {
        if (!v.valid())
            return put(0);
        if (slot == FrozenInput::NoSlot) {
            put(1);
            put(v.literal_bits());
            return put(v.size());
        }
        auto at = std::find(sizes.begin(), sizes.end(), v.size());
        uint64_t number = uint64_t(at - sizes.begin());
        if (at == sizes.end())
            sizes.push_back(v.size());
        put(2 | uint64_t(slot) << 4 | number << 34 | uint64_t(v.size() >= 1u << 31) << 63);
    };
    for (const FrozenInput &v : values) {
        put_value(v.before, v.slot);
        if (!v.before.valid() || !v.before.grad_id())
            continue;
        put(3 + ad::tape().follows(v.before.grad_id()));
        put_value(v.gradient, v.gradient_slot);
    }
    for (const FrozenFilm &f : films)
        put_value(f.image, f.slot);
    return out;
}

std::string FrozenInputs::sizes() const {
    std::string out;
    for (const Value &v : slots) {
        uint32_t n = v.size();
        out.append(reinterpret_cast<const char *>(&n), sizeof n);
    }
    return out;
}

} // namespace umbel::python
