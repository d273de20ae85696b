// python/render_plugins.cpp: see python/render_plugins.h.
#include "python/render_plugins.h"
#include "core/image_io.h"
#include "python/helpers.h"
#include "python/render_records.h"
#include <algorithm>
#include <cmath>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace umbel::python {

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
    nb::object r = need("sample")(ctx, si, u1, as_point(u2), active);
    BSDFSample s = nb::cast<BSDFSample>(r[0]);
    s.weight = nb::cast<Spectrum>(r[1]);
    return s;
}
Spectrum PyBSDF::eval_delta(const BSDFContext &ctx, const SurfaceInteraction &si,
                            const BSDFSample &s, const Mask &active) const {
    nb::object f = method("eval_delta");
    return f.is_valid() ? nb::cast<Spectrum>(f(ctx, si, s, active)) : Spectrum(0);
}
Spectrum PyBSDF::eval_null_transmission(const SurfaceInteraction &si, const Mask &active) const {
    nb::object f = method("eval_null_transmission");
    return f.is_valid() ? nb::cast<Spectrum>(f(si, active)) : Spectrum(0);
}
Spectrum PyBSDF::eval_diffuse_reflectance(const SurfaceInteraction &si, const Mask &active) const {
    nb::object f = method("eval_diffuse_reflectance");
    return f.is_valid() ? nb::cast<Spectrum>(f(si, active))
                        : BSDF::eval_diffuse_reflectance(si, active);
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
Vector2 PyTexture::eval_1_grad(const SurfaceInteraction &si, const Mask &active) const {
    nb::object f = method("eval_1_grad");
    return f.is_valid() ? nb::cast<Vector2>(f(si, active)) : Texture::eval_1_grad(si, active);
}
bool PyTexture::is_spatially_varying() const {
    nb::object f = method("is_spatially_varying");
    return !f.is_valid() || nb::cast<bool>(f());
}

void PyEmitter::declare(Params &p) {
    Emitter::declare(p);
    PyObjectOf::declare(p);
}
Spectrum PyEmitter::eval(const SurfaceInteraction &si, const Mask &active) const {
    return nb::cast<Spectrum>(need("eval")(si, active));
}
std::pair<DirectionSample, Spectrum>
PyEmitter::sample_direction(const Interaction &it, const Vector2 &u, const Mask &active) const {
    nb::object r = need("sample_direction")(it, as_point(u), active);
    return { nb::cast<DirectionSample>(r[0]), nb::cast<Spectrum>(r[1]) };
}
Float PyEmitter::pdf_direction(const Interaction &it, const DirectionSample &ds,
                               const Mask &active) const {
    nb::object f = method("pdf_direction");
    return f.is_valid() ? nb::cast<Float>(f(it, ds, active)) : Float(0);
}
static uint32_t endpoint_flags(nb::handle self) { return nb::cast<uint32_t>(self.attr("m_flags")); }
uint32_t PyEmitter::flags() const {
    if (nb::object f = method("is_environment"); f.is_valid() && nb::cast<bool>(f()))
        return EndpointFlags::Infinite;
    return endpoint_flags(python());
}
BoundingBox PyEmitter::bounds() const {
    nb::object f = method("bbox");
    if (!f.is_valid())
        return Emitter::bounds();
    nb::object box = f();
    BoundingBox b;
    for (size_t i = 0; i < 3; ++i) {
        b.min[i] = nb::cast<double>(nb::float_(box.attr("min")[i]));
        b.max[i] = nb::cast<double>(nb::float_(box.attr("max")[i]));
        if (!(b.min[i] <= b.max[i]) || !std::isfinite(b.max[i] - b.min[i]))
            return {};
    }
    return b;
}
std::pair<Ray, Spectrum> PyEmitter::sample_ray(const Float &time, const Float &wavelength,
                                               const Vector2 &position, const Vector2 &direction,
                                               const Mask &active) const {
    nb::object r =
        need("sample_ray")(time, wavelength, as_point(position), as_point(direction), active);
    return { nb::cast<Ray>(r[0]), nb::cast<Spectrum>(r[1]) };
}
std::pair<PositionSample, Float> PyEmitter::sample_position(const Float &time, const Vector2 &u,
                                                            const Mask &active) const {
    nb::object f = method("sample_position");
    if (!f.is_valid())
        return Emitter::sample_position(time, u, active);
    nb::object r = f(time, as_point(u), active);
    return { nb::cast<PositionSample>(r[0]), nb::cast<Float>(r[1]) };
}
Spectrum PyEmitter::eval_direction(const Interaction &it, const DirectionSample &ds,
                                   const Mask &active) const {
    return nb::cast<Spectrum>(need("eval_direction")(it, ds, active));
}

PySensor::PySensor(nb::object props) : PyObjectOf(props) {
    if (!nb::cast<bool>(props.attr("__contains__")("to_world")))
        return;
    nb::object where = props["to_world"];
    if (is_transform(where)) // else it moves
        m_to_world = { { 0 }, { to_transform(where) } };
}
nb::object PySensor::to_world() const {
    return from_transform(m_to_world.transforms.empty() ? TransformData()
                                                        : m_to_world.transforms[0]);
}
void PySensor::declare(Params &p) {
    PyObjectOf::declare(p);
    if (p.traversing() && get("to_world").is_valid())
        declare_measurement(p); // the transform is Python's
    else
        Sensor::declare(p);
}
void PySensor::changed(std::span<const std::string> names) {
    bool is_moved = std::find(names.begin(), names.end(), "to_world") != names.end();
    if (nb::object mine = get("to_world"); is_moved && mine.is_valid())
        m_to_world = { { 0 }, { to_transform(mine) } };
    else if (is_moved)
        python().attr("__dict__").attr("pop")("m_to_world", nb::none()); // a copy of the old one
    Sensor::configure();
    notify(names);
}
uint32_t PySensor::flags() const { return endpoint_flags(python()); }
std::pair<DirectionSample, Spectrum>
PySensor::sample_direction(const Interaction &it, const Vector2 &u, const Mask &active) const {
    nb::object r = need("sample_direction")(it, as_point(u), active);
    return { nb::cast<DirectionSample>(r[0]), nb::cast<Spectrum>(r[1]) };
}
Vector2 in_film(const Film &film, const Vector2 &p) {
    const Film::Crop &c = film.crop();
    double w = film.width(), h = film.height();
    if (c.width == film.width() && c.height == film.height())
        return p;
    return { p.x * (c.width / w) + c.x / w, p.y * (c.height / h) + c.y / h };
}
Vector2 in_crop(const Film &film, const Vector2 &p) {
    const Film::Crop &c = film.crop();
    if (c.width == film.width() && c.height == film.height())
        return p;
    double w = c.width, h = c.height;
    return { p.x * (film.width() / w) - c.x / w, p.y * (film.height() / h) - c.y / h };
}
std::pair<Ray, Spectrum> PySensor::sample_ray(const Float &time, const Float &wavelength_sample,
                                              const Vector2 &position, const Vector2 &aperture,
                                              const Mask &active) const {
    nb::object f = method("sample_ray");
    if (!f.is_valid())
        f = need("sample_ray_differential");
    nb::object r =
        f(time, wavelength_sample, as_point(in_crop(film(), position)), as_point(aperture), active);
    return { nb::cast<Ray>(r[0]), nb::cast<Spectrum>(r[1]) };
}
bool PySensor::needs_aperture_sample() const {
    nb::object f = method("needs_aperture_sample");
    return nb::cast<bool>(f.is_valid() ? f() : python().attr("m_needs_sample_3"));
}

void PyIntegrator::declare(Params &p) {
    Integrator::declare(p);
    PyObjectOf::declare(p);
}
nb::object PyIntegrator::call(const char *mode, const Scene &scene, SampleStream &sampler,
                              const Ray &ray, const Medium *medium, nb::dict more,
                              const Mask &active) const {
    // The sampler's Python object stands for this sequence until the method returns
    nb::object source = nb::cast(const_cast<Sampler *>(sampler.sampler), nb::rv_policy::reference);
    nb::object before = from_package("_sampler.save")(source);
    stream_to(sampler, source);
    nb::object from = nb::cast(const_cast<Scene *>(&scene), nb::rv_policy::reference),
               along = from_package("RayDifferential3f")(ray), r;
    if (!has("_takes_mode"))
        r = need("sample")(from, source, along, to_python(static_cast<const SceneObject *>(medium)),
                           active);
    else {
        more["mode"] = from_package("jit.ADMode").attr(mode);
        more["scene"] = from;
        more["sampler"] = source;
        more["ray"] = along;
        more["active"] = active;
        more["depth"] = UInt32(0u);
        for (const char *name :
             { "\u03b4L", "\u03b4aovs", "state_in" }) // methods may name them all
            if (!more.contains(name))
                more[name] = nb::none();
        r = need("sample")(**more);
    }
    sampler = stream_from(source);
    from_package("_sampler.restore")(source, before);
    return r;
}
static std::vector<Float> floats(nb::handle list) {
    std::vector<Float> out;
    for (nb::handle v : list)
        out.push_back(nb::cast<Float>(v));
    return out;
}
Radiance PyIntegrator::sample(const Scene &scene, SampleStream &sampler, const Ray &ray,
                              const Medium *medium, const Mask &active) const {
    nb::object r = call(m_mode, scene, sampler, ray, medium, nb::dict(), active);
    if (has("_replays"))
        m_state = r[3];
    Radiance out;
    out.L = nb::cast<Spectrum>(r[0]);
    out.valid = nb::cast<Mask>(r[1]);
    if (nb::len(r) > 2)
        out.aovs = floats(r[2]);
    return out;
}
RadianceDerivative PyIntegrator::differentiate(ad::Mode mode, const Scene &scene,
                                               SampleStream sampler, const Ray &ray,
                                               const Medium *medium, const Radiance &primal,
                                               const RadianceDerivative &gradient,
                                               const Mask &active) const {
    refuse_polarization();
    const char *name = mode == ad::Mode::Forward ? "Forward" : "Backward";
    if (!has("_replays")) {
        struct Scope { // also where the method fails
            const char *&mode;
            ~Scope() { mode = "Primal"; }
        } scope{ m_mode };
        m_mode = name;
        return Integrator::differentiate(mode, scene, sampler, ray, medium, primal, gradient,
                                         active);
    }
    nb::dict more;
    more["state_in"] = std::exchange(m_state, {});
    if (mode == ad::Mode::Backward) {
        nb::list aovs;
        for (const Float &v : gradient.aovs)
            aovs.append(v);
        more["\u03b4L"] = gradient.L;
        more["\u03b4aovs"] = aovs;
    }
    ad::SuspendGrad none; // what the method follows, it says
    nb::object r = call(name, scene, sampler, ray, medium, more, active);
    if (mode == ad::Mode::Backward)
        return {};
    return { nb::cast<Spectrum>(r[0]), floats(r[2]) };
}
std::vector<std::string> PyIntegrator::aov_names() const {
    nb::object f = method("aov_names");
    return f.is_valid() ? nb::cast<std::vector<std::string>>(f()) : std::vector<std::string>();
}

void PyFilm::declare(Params &p) {
    Film::declare(p);
    PyObjectOf::declare(p);
}
void PyFilm::changed(std::span<const std::string> names) {
    Film::changed(names);
    notify(names);
}
std::filesystem::path PyFilm::file_name(const std::filesystem::path &path) const { return path; }
std::filesystem::path PyFilm::write(const std::filesystem::path &path, const Image &image) const {
    write_image(path, image);
    return path;
}
bool PyFilm::sample_border() const {
    nb::object f = method("sample_border");
    return f.is_valid() && nb::cast<bool>(f());
}
bool PyFilm::has_alpha() const { // FilmFlags.Alpha
    return nb::cast<uint32_t>(python().attr("m_flags")) & 1;
}
Ref<Texture> PyFilm::response() const {
    nb::object f = method("sensor_response_function");
    nb::object r = f.is_valid() ? f() : nb::none();
    return r.is_none() ? nullptr : nb::cast<Ref<Texture>>(r);
}

double PyFilter::eval(double x) const { return nb::cast<double>(nb::float_(need("eval")(x))); }
Float PyFilter::eval(const Float &x) const { return nb::cast<Float>(need("eval")(x)); }
double PyFilter::radius() const {
    nb::object f = method("radius");
    return nb::cast<double>(f.is_valid() ? f() : python().attr("m_radius"));
}
bool PyFilter::is_box() const {
    nb::object f = method("is_box_filter");
    return f.is_valid() && nb::cast<bool>(f());
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

bool is_written_in_python(const Plugin &plugin) {
    return std::any_of(registered().begin(), registered().end(), [&](const Registered &r) {
        return r.kind == plugin.kind && r.name == plugin.name;
    });
}

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
        .def("ask", [](const Properties &p, const std::string &n) { p.query(n); })
        .def("has", [](const Properties &p, const std::string &n) { return p.has(n); })
        .def("get", [](const Properties &p, const std::string &name) -> nb::object {
            const Property *q = p.find(name);
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
                    if (auto *held = dynamic_cast<const PyValue *>(v->instance.get()))
                        return held->value;
                    Loader loader;
                    if (!v->instance)
                        v->instance = loader.load(v);
                    return to_python(v->instance);
                }
                nb::object operator()(const Reference &) { return nb::none(); }
                nb::object operator()(const std::shared_ptr<const Image> &v) {
                    return nb::cast(Image(*v));
                }
            };
            return std::visit(Visitor(), q->value);
        });
    m.def("register_plugin", [](const std::string &kind, const std::string &name, nb::object make) {
        PyObject *held =
            make.release().ptr(); // until clear_plugins(): the registry outlives Python
        std::erase_if(registered(), [&](const Registered &r) { // made anew, as notebooks do
            bool same = r.kind == kind && r.name == name;
            if (same) {
                PluginRegistry::instance().remove(kind, name);
                Py_DECREF(r.make);
            }
            return same;
        });
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
