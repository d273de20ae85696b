// python/render_plugins.cpp: see python/render_plugins.h.
#include "python/render_plugins.h"
#include "python/helpers.h"
#include "python/render_records.h"
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace umbel::python {

PySide::PySide(nb::object) {}

PyObject *python_side(const SceneObject &o) {
    if (auto *p = dynamic_cast<const PyBSDF *>(&o))
        return p->self().ptr();
    if (auto *p = dynamic_cast<const PyTexture *>(&o))
        return p->self().ptr();
    if (auto *p = dynamic_cast<const PyEmitter *>(&o))
        return p->self().ptr();
    if (auto *p = dynamic_cast<const PySensor *>(&o))
        return p->self().ptr();
    if (auto *p = dynamic_cast<const PyIntegrator *>(&o))
        return p->self().ptr();
    return nullptr;
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

// ---- parameters: `traverse(self, cb)` calls cb.put_parameter(name, array, flags) and cb.put_object(name, object)

void PySide::traverse(nb::handle self, Params &p) {
    m_kept.clear();
    if (!nb::hasattr(self, "traverse"))
        return;
    nb::list found;
    self.attr("traverse")(from_package("_scene.Callback")(found));
    for (nb::handle entry : found) {
        std::string name = nb::cast<std::string>(entry[0]);
        nb::object value = entry[1];
        bool differentiable = nb::cast<bool>(entry[2]);
        if (nb::isinstance<SceneObject>(value)) {
            p.child(name.c_str(), nb::cast<Ref<SceneObject>>(value));
            continue;
        }
        if (!is_array(value.ptr()))
            continue; // numbers of Python's are no data of the program
        Object *a = as_array(value.ptr());
        m_kept.push_back(value);
        Slot slot;
        if (is_tensor(a))
            slot = TensorSlot{ &as_tensor(a)->value, &as_tensor(a)->shape };
        else if (a->n == 1)
            slot = static_cast<Float *>(&a->v[0]);
        else if (a->n == 3)
            slot = std::array{ static_cast<Float *>(&a->v[0]), static_cast<Float *>(&a->v[1]),
                               static_cast<Float *>(&a->v[2]) };
        else
            continue;
        Param &param = p.exposed(name.c_str(), slot);
        param.is_differentiable = differentiable;
    }
}

void PySide::changed(nb::handle self, std::span<const std::string> names) {
    if (nb::hasattr(self, "parameters_changed"))
        self.attr("parameters_changed")(
            nb::cast(std::vector<std::string>(names.begin(), names.end())));
}

// ---- samplers in mid-sequence

SampleStream stream_from(nb::handle h) {
    SampleStream s;
    s.sampler = nb::cast<Sampler *>(h.attr("_source"));
    s.state = { nb::cast<UInt32>(h.attr("_key0")), nb::cast<UInt32>(h.attr("_key1")),
                nb::cast<UInt32>(h.attr("_sample")), nb::cast<UInt32>(h.attr("_dimension")) };
    return s;
}
void stream_to(const SampleStream &s, nb::handle h) {
    h.attr("_key0") = nb::cast(s.state.key0);
    h.attr("_key1") = nb::cast(s.state.key1);
    h.attr("_sample") = nb::cast(s.state.sample);
    h.attr("_dimension") = nb::cast(s.state.dimension);
}
nb::object make_stream(const SampleStream &s) {
    nb::object out = from_package("_scene.Stream")(
        nb::cast(const_cast<Sampler *>(s.sampler), nb::rv_policy::reference));
    stream_to(s, out);
    return out;
}

// ---- methods

std::pair<Spectrum, Float> PyBSDF::eval_pdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                            const Vector3 &wo, const Mask &active) const {
    if (nb::object f = method("eval_pdf"); f.is_valid()) {
        nb::object r = f(ctx, si, wo, active);
        return { nb::cast<Spectrum>(r[0]), nb::cast<Float>(r[1]) };
    }
    if (!method("eval").is_valid())
        return { Spectrum(0), Float(0) };
    return { nb::cast<Spectrum>(method("eval")(ctx, si, wo, active)),
             nb::cast<Float>(need("pdf")(ctx, si, wo, active)) };
}
BSDFSample PyBSDF::sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &u1,
                          const Vector2 &u2, const Mask &active) const {
    nb::object r = need("sample")(ctx, si, u1, u2, active);
    BSDFSample s = nb::cast<BSDFSample>(r[0]);
    s.weight = nb::cast<Spectrum>(r[1]);
    return s;
}
Spectrum PyBSDF::eval_null_transmission(const SurfaceInteraction &si, const Mask &active) const {
    nb::object f = method("eval_null_transmission");
    return f.is_valid() ? nb::cast<Spectrum>(f(si, active)) : Spectrum(0);
}

Spectrum PyTexture::eval(const SurfaceInteraction &si, const Mask &active) const {
    return nb::cast<Spectrum>(need("eval")(si, active));
}
Float PyTexture::eval_1(const SurfaceInteraction &si, const Mask &active) const {
    nb::object f = method("eval_1");
    return f.is_valid() ? nb::cast<Float>(f(si, active)) : Texture::eval_1(si, active);
}
Vector3 PyTexture::eval_3(const SurfaceInteraction &si, const Mask &active) const {
    nb::object f = method("eval_3");
    return f.is_valid() ? nb::cast<Vector3>(f(si, active)) : Texture::eval_3(si, active);
}

Spectrum PyEmitter::eval(const SurfaceInteraction &si, const Mask &active) const {
    return nb::cast<Spectrum>(need("eval")(si, active));
}
std::pair<DirectionSample, Spectrum>
PyEmitter::sample_direction(const Interaction &it, const Vector2 &u, const Mask &active) const {
    nb::object r = need("sample_direction")(it, u, active);
    return { nb::cast<DirectionSample>(r[0]), nb::cast<Spectrum>(r[1]) };
}
Float PyEmitter::pdf_direction(const Interaction &it, const DirectionSample &ds,
                               const Mask &active) const {
    nb::object f = method("pdf_direction");
    return f.is_valid() ? nb::cast<Float>(f(it, ds, active)) : Float(0);
}
bool PyEmitter::is_environment() const {
    nb::object f = method("is_environment");
    return f.is_valid() && nb::cast<bool>(f());
}

void PySensor::declare(Params &p) {
    if (p.traversing())
        return PyObjectOf::declare(p);
    Sensor::declare(p);
    PyObjectOf::declare(p);
}
std::pair<Ray, Spectrum> PySensor::sample_ray(const Float &time, const Float &wavelength_sample,
                                              const Vector2 &position, const Vector2 &aperture,
                                              const Mask &active) const {
    nb::object r =
        need("sample_ray")(time, wavelength_sample, as_point(position), as_point(aperture), active);
    return { nb::cast<Ray>(r[0]), nb::cast<Spectrum>(r[1]) };
}

Radiance PyIntegrator::sample(const Scene &scene, SampleStream &sampler, const Ray &ray,
                              const Mask &active) const {
    nb::object stream = make_stream(sampler);
    nb::object r = need("sample")(nb::cast(const_cast<Scene *>(&scene), nb::rv_policy::reference),
                                  stream, ray, nb::none(), active);
    sampler = stream_from(stream);
    Radiance out;
    out.L = nb::cast<Spectrum>(r[0]);
    out.valid = nb::cast<Mask>(r[1]);
    if (nb::len(r) > 2)
        for (nb::handle v : r[2])
            out.aovs.push_back(nb::cast<Float>(v));
    return out;
}
std::vector<std::string> PyIntegrator::aov_names() const {
    nb::object f = method("aov_names");
    return f.is_valid() ? nb::cast<std::vector<std::string>>(f()) : std::vector<std::string>();
}

// ---- registration

namespace {
struct Registered {
    std::string kind, name;
    PyObject *make;
};
std::vector<Registered> &registered() {
    static std::vector<Registered> list;
    return list;
}
} // namespace

void bind_plugins(nb::module_ &m) {
    nb::class_<Properties>(m, "_Properties")
        .def_ro("kind", &Properties::kind)
        .def_ro("type", &Properties::type)
        .def_ro("id", &Properties::id)
        .def("keys",
             [](const Properties &p) {
                 std::vector<std::string> names;
                 for (const Property &q : p.all())
                     names.push_back(q.name);
                 return names;
             })
        .def("has", [](const Properties &p, const std::string &n) { return p.has(n); })
        .def("get", [](const Properties &p, const std::string &name) -> nb::object {
            const Property *q = p.query(name);
            if (!q)
                return nb::none();
            struct Visitor {
                nb::object operator()(bool v) { return nb::cast(v); }
                nb::object operator()(int64_t v) { return nb::cast(v); }
                nb::object operator()(double v) { return nb::cast(v); }
                nb::object operator()(const std::string &v) { return nb::cast(v); }
                nb::object operator()(const VectorData &v) { return nb::make_tuple(v.x, v.y, v.z); }
                nb::object operator()(const SpectrumData &v) {
                    if (v.kind == SpectrumData::Kind::Rgb)
                        return from_package("ScalarColor3f")(v.rgb[0], v.rgb[1], v.rgb[2]);
                    if (v.kind == SpectrumData::Kind::Uniform)
                        return nb::cast(v.value);
                    Loader loader;
                    return to_python(loader.load_spectrum(v, Properties()));
                }
                nb::object operator()(const TransformData &v) { return from_transform(v); }
                nb::object operator()(const AnimationData &v) {
                    return from_transform(v.transforms.at(0));
                }
                nb::object operator()(const PropertiesPtr &v) {
                    Loader loader;
                    if (!v->instance)
                        v->instance = loader.load(v);
                    return to_python(v->instance);
                }
                nb::object operator()(const Reference &) { return nb::none(); }
                nb::object operator()(const std::shared_ptr<const Image> &) { return nb::none(); }
            };
            return std::visit(Visitor(), q->value);
        });
    m.def("register_plugin", [](const std::string &kind, const std::string &name, nb::object make) {
        PyObject *held =
            make.release().ptr(); // until clear_plugins(): the registry outlives Python
        registered().push_back({ kind, name, held });
        PluginRegistry::instance().add(
            { kind, name, [held](const Properties &p) {
                 nb::object o = nb::handle(held)(
                     nb::cast(const_cast<Properties *>(&p), nb::rv_policy::reference));
                 return nb::cast<Ref<SceneObject>>(o);
             } });
    });
    m.def("clear_plugins", [] {
        for (Registered &r : registered()) {
            PluginRegistry::instance().remove(r.kind, r.name);
            Py_DECREF(r.make);
        }
        registered().clear();
    });
}

} // namespace umbel::python
