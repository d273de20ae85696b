// python/render_python_side.cpp: parameters of plugins written in Python, and samplers in mid-sequence.
#include "python/helpers.h"
#include "python/render_plugins.h"
#include "python/render_records.h"
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace umbel::python {

PyObject *python_side(const SceneObject &o) {
    auto *p = dynamic_cast<const PySide *>(&o);
    return p ? p->python().ptr() : nullptr;
}

nb::object overridden(nb::handle self, nb::handle base, const char *name) {
    nb::object theirs = nb::getattr(self.type(), name, nb::none());
    if (theirs.is_none() || theirs.is(nb::getattr(base, name, nb::none())))
        return {};
    return self.attr(name);
}

void set_components(BSDF &bsdf, std::vector<uint32_t> components) {
    if (auto *p = dynamic_cast<PyBSDF *>(&bsdf))
        p->set(std::move(components));
    else
        bsdf.complain("its components follow from its parameters");
}

// ---- parameters: `traverse(self, cb)` calls cb.put(name, value, flags); see _plugins.TraversalCallback

void PySide::traverse(Params &p) {
    m_exposed.clear();
    nb::object f = overridden(python(), nb::type<SceneObject>(), "traverse");
    if (!f.is_valid())
        return;
    nb::object callback = from_package("TraversalCallback")();
    f(callback);
    for (nb::handle entry : callback.attr("_found")) {
        std::string name = nb::cast<std::string>(entry[0]);
        nb::object value = entry[1];
        m_exposed.push_back({ name, value, nb::cast<uint32_t>(entry[2]) });
        if (nb::isinstance<SceneObject>(value)) {
            p.child(name.c_str(), nb::cast<Ref<SceneObject>>(value));
            continue;
        }
        Slot slot = &m_unused;
        if (is_array(value.ptr())) {
            Object *a = as_array(value.ptr());
            if (is_tensor(a))
                slot = TensorSlot{ &as_tensor(a)->value, &as_tensor(a)->shape };
            else if (a->n == 1)
                slot = static_cast<Float *>(&a->v[0]);
            else if (a->n == 3)
                slot = std::array{ static_cast<Float *>(&a->v[0]), static_cast<Float *>(&a->v[1]),
                                   static_cast<Float *>(&a->v[2]) };
            else
                for (uint32_t i = 0; i < a->n; ++i)
                    p.derived(a->v[i]);
        }
        p.exposed(name.c_str(), slot).is_differentiable = !(m_exposed.back().flags & 1);
    }
}

void PySide::notify(std::span<const std::string> names) {
    nb::object f = overridden(python(), nb::type<SceneObject>(), "parameters_changed");
    if (f.is_valid())
        f(nb::cast(std::vector<std::string>(names.begin(), names.end())));
}

const PySide::Exposed *PySide::find(std::string_view name) const {
    for (const Exposed &e : m_exposed)
        if (e.name == name)
            return &e;
    return nullptr;
}

uint32_t PySide::flags(std::string_view name) const {
    const Exposed *e = find(name);
    return e ? e->flags : 0;
}

nb::object PySide::get(std::string_view name) const {
    const Exposed *e = find(name);
    if (!e || !is_array(e->value.ptr()))
        return e ? e->value : nb::object();
    // Apart from the plugin's, so that changes of it show
    return map_values(as_array(e->value.ptr()), [](const Value &v) { return v; });
}

bool PySide::set(std::string_view name, nb::handle value) {
    auto *e = const_cast<Exposed *>(find(name));
    if (!is_array(e->value.ptr())) {
        if (nb::hasattr(e->value,
                        "_is_same")) { // a transform: equal numbers may have other derivatives
            if (nb::cast<bool>(e->value.attr("_is_same")(value)))
                return false;
            e->value.attr("assign")(value);
            return true;
        }
        if (e->value.equal(value))
            return false;
        e->value = nb::borrow(value);
        if (nb::hasattr(python(), e->name.c_str()))
            nb::setattr(python(), e->name.c_str(), value);
        return true;
    }
    Object *mine = as_array(e->value.ptr());
    nb::object converted = steal(convert(mine->cls, value.ptr()));
    Object *theirs = as_array(converted.ptr());
    if (theirs->n != mine->n)
        fail("parameter {} has {} entries; a value of {} entries cannot take its place",
             quote(name), mine->n, theirs->n);
    bool same = !is_tensor(mine) || as_tensor(mine)->shape == as_tensor(theirs)->shape;
    for (uint32_t i = 0; i < mine->n; ++i)
        same = same && same_value(theirs->v[i], mine->v[i]);
    if (same)
        return false;
    for (uint32_t i = 0; i < mine->n; ++i) {
        if (theirs->v[i].is_literal()) // data of the program from now on, on both sides
            theirs->v[i] = jit::opaque(theirs->v[i]);
        jit::schedule(theirs->v[i]);
        mine->v[i] = theirs->v[i];
    }
    if (is_tensor(mine))
        as_tensor(mine)->shape = as_tensor(theirs)->shape;
    return true;
}

// ---- samplers in mid-sequence: the arrays of a sampler are those that all have, then its own

namespace {

constexpr size_t CommonState = 4; // key0, key1, sample, dimension

nb::list arrays_of(nb::handle sampler) {
    return nb::list(from_package("_sampler.arrays")(sampler));
}

void set_arrays(nb::handle sampler, const std::vector<Value> &values) {
    nb::list fresh;
    size_t at = 0;
    for (nb::handle a : arrays_of(sampler))
        fresh.append(map_values(as_array(a.ptr()), [&](const Value &) {
            check(at < values.size());
            return values[at++];
        }));
    from_package("_sampler.set_arrays")(sampler, fresh);
}

SamplerState state_from(nb::handle sampler) {
    std::vector<Value> v = values_of(arrays_of(sampler));
    check(v.size() >= CommonState);
    SamplerState s{ UInt32(v[0]), UInt32(v[1]), UInt32(v[2]), UInt32(v[3]) };
    s.more.assign(v.begin() + CommonState, v.end());
    return s;
}
void state_to(const SamplerState &s, nb::handle sampler) {
    std::vector<Value> v = { s.key0, s.key1, s.sample, s.dimension };
    v.insert(v.end(), s.more.begin(), s.more.end());
    set_arrays(sampler, v);
}

} // namespace

SampleStream stream_from(nb::handle h) {
    return { nb::cast<Sampler *>(from_package("_sampler.source")(h)), state_from(h) };
}
void stream_to(const SampleStream &s, nb::handle h) { state_to(s.state, h); }

void PySampler::declare(Params &p) {
    Sampler::declare(p);
    PyObjectOf::declare(p);
}
SamplerState PySampler::begin(const UInt32 &seed, const UInt32 &pixel, const UInt32 &sample) const {
    nb::object f = method("seed");
    SamplerState s = Sampler::begin(seed, pixel, sample);
    if (f.is_valid())
        f(seed, std::max(pixel.size(), sample.size()));
    s.more = state_from(python()).more;
    return s;
}
Float PySampler::next_1d(SamplerState &s) const {
    state_to(s, python());
    Float u = nb::cast<Float>(need("next_1d")());
    s = state_from(python());
    return u;
}
Vector2 PySampler::next_2d(SamplerState &s) const {
    state_to(s, python());
    Vector2 u = nb::cast<Vector2>(need("next_2d")());
    s = state_from(python());
    return u;
}
int PySampler::round_sample_count(int n) const {
    nb::object r = ask("round_sample_count", n);
    return r.is_valid() ? nb::cast<int>(r) : n;
}
Ref<Sampler> PySampler::clone() const { return nb::cast<Ref<Sampler>>(need("clone")()); }

} // namespace umbel::python
