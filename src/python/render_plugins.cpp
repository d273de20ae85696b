// python/render_plugins.cpp: see python/render_plugins.h.
#include "python/render_plugins.h"
#include "core/image_io.h"
#include "python/helpers.h"
#include "python/render_records.h"
#include <algorithm>
#include <cmath>
#include <nanobind/stl/array.h>
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
    nb::object r = ask("eval_diffuse_reflectance", si, active);
    return r.is_valid() ? nb::cast<Spectrum>(r) : BSDF::eval_diffuse_reflectance(si, active);
}

Spectrum PyTexture::eval(const SurfaceInteraction &si, const Mask &active) const {
    return nb::cast<Spectrum>(need("eval")(si, active));
}
Float PyTexture::eval_1(const SurfaceInteraction &si, const Mask &active) const {
    nb::object r = ask("eval_1", si, active);
    return r.is_valid() ? nb::cast<Float>(r) : Texture::eval_1(si, active);
}
Vector3 PyTexture::eval_3(const SurfaceInteraction &si, const Mask &active) const {
    nb::object r = ask("eval_3", si, active);
    return r.is_valid() ? nb::cast<Vector3>(r) : Texture::eval_3(si, active);
}
Vector2 PyTexture::eval_1_grad(const SurfaceInteraction &si, const Mask &active) const {
    nb::object r = ask("eval_1_grad", si, active);
    return r.is_valid() ? nb::cast<Vector2>(r) : Texture::eval_1_grad(si, active);
}
bool PyTexture::is_spatially_varying() const {
    nb::object r = ask("is_spatially_varying");
    return !r.is_valid() || nb::cast<bool>(r);
}
static double number(nb::handle h) { return nb::cast<double>(nb::float_(h)); }
static Wavelengths wavelengths_of(nb::handle h) {
    Wavelengths out;
    field_from_python(h, out);
    return out;
}
std::array<size_t, 2> PyTexture::resolution() const {
    nb::object r = ask("resolution");
    if (!r.is_valid())
        return Texture::resolution();
    return { size_t(number(r[0])), size_t(number(r[1])) };
}
Float PyTexture::mean_value() const {
    nb::object r = ask("mean");
    return r.is_valid() ? nb::cast<Float>(r) : Texture::mean_value();
}
double PyTexture::max_value() const {
    nb::object r = ask("max");
    return r.is_valid() ? number(r) : Texture::max_value();
}
std::pair<Vector2, Float> PyTexture::sample_position(const Vector2 &u, const Mask &active) const {
    nb::object r = ask("sample_position", as_point(u), active);
    if (!r.is_valid())
        return Texture::sample_position(u, active);
    return { nb::cast<Vector2>(r[0]), nb::cast<Float>(r[1]) };
}
Float PyTexture::pdf_position(const Vector2 &p, const Mask &active) const {
    nb::object r = ask("pdf_position", as_point(p), active);
    return r.is_valid() ? nb::cast<Float>(r) : Texture::pdf_position(p, active);
}
std::pair<Wavelengths, Spectrum> PyTexture::sample_spectrum(const SurfaceInteraction &si,
                                                            const Spectrum &u,
                                                            const Mask &active) const {
    nb::object r = ask("sample_spectrum", si, u, active);
    if (!r.is_valid())
        return Texture::sample_spectrum(si, u, active);
    return { wavelengths_of(r[0]), nb::cast<Spectrum>(r[1]) };
}
Spectrum PyTexture::pdf_spectrum(const SurfaceInteraction &si, const Mask &active) const {
    nb::object r = ask("pdf_spectrum", si, active);
    return r.is_valid() ? nb::cast<Spectrum>(r) : Texture::pdf_spectrum(si, active);
}
std::array<double, 2> PyTexture::wavelength_range() const {
    nb::object r = ask("wavelength_range");
    if (!r.is_valid())
        return Texture::wavelength_range();
    return { number(r[0]), number(r[1]) };
}
double PyTexture::spectral_resolution() const {
    nb::object r = ask("spectral_resolution");
    return r.is_valid() ? number(r) : Texture::spectral_resolution();
}

// ---- emitters and sensors

BoundingBox bounds_from(nb::handle box) {
    nb::object ends = from_package("_endpoints.ends_of")(box);
    BoundingBox b;
    for (size_t k = 0; k < 3; ++k) {
        b.min[k] = nb::cast<double>(ends[k]);
        b.max[k] = nb::cast<double>(ends[k + 3]);
        if (!(b.min[k] <= b.max[k]) || !std::isfinite(b.max[k] - b.min[k]))
            return {}; // nothing, or without an end
    }
    return b;
}
template <class Base>
std::pair<PositionSample, Float>
PyEndpointOf<Base>::sample_position(const Float &time, const Vector2 &u, const Mask &active) const {
    nb::object r = this->ask("sample_position", time, as_point(u), active);
    if (!r.is_valid())
        return Base::sample_position(time, u, active);
    return { nb::cast<PositionSample>(r[0]), nb::cast<Float>(r[1]) };
}
template <class Base>
Float PyEndpointOf<Base>::pdf_position(const PositionSample &ps, const Mask &active) const {
    nb::object r = this->ask("pdf_position", ps, active);
    return r.is_valid() ? nb::cast<Float>(r) : Base::pdf_position(ps, active);
}
template <class Base>
Float PyEndpointOf<Base>::pdf_direction(const Interaction &it, const DirectionSample &ds,
                                        const Mask &active) const {
    nb::object r = this->ask("pdf_direction", it, ds, active);
    return r.is_valid() ? nb::cast<Float>(r) : Base::pdf_direction(it, ds, active);
}
template <class Base>
Spectrum PyEndpointOf<Base>::eval_direction(const Interaction &it, const DirectionSample &ds,
                                            const Mask &active) const {
    nb::object r = this->ask("eval_direction", it, ds, active);
    return r.is_valid() ? nb::cast<Spectrum>(r) : Base::eval_direction(it, ds, active);
}
template <class Base>
std::pair<Wavelengths, Spectrum>
PyEndpointOf<Base>::sample_wavelengths(const SurfaceInteraction &si, const Float &u,
                                       const Mask &active) const {
    nb::object r = this->ask("sample_wavelengths", si, u, active);
    if (!r.is_valid())
        return Base::sample_wavelengths(si, u, active);
    return { wavelengths_of(r[0]), nb::cast<Spectrum>(r[1]) };
}
template <class Base> BoundingBox PyEndpointOf<Base>::bounds() const {
    nb::object r = this->ask("bbox");
    if (!r.is_valid())
        return Base::bounds();
    return bounds_from(r);
}
template <class Base> void PyEndpointOf<Base>::set_scene(const BoundingBox &b) {
    if (this->method("set_scene").is_valid())
        this->ask("set_scene", from_package("_endpoints.Surroundings")(b.min, b.max));
}
template class PyEndpointOf<Emitter>;
template class PyEndpointOf<Sensor>;

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
static uint32_t endpoint_flags(nb::handle self) { return nb::cast<uint32_t>(self.attr("m_flags")); }
uint32_t PyEmitter::flags() const {
    if (nb::object f = method("is_environment"); f.is_valid() && nb::cast<bool>(f()))
        return EndpointFlags::Infinite;
    return endpoint_flags(python());
}
std::pair<Ray, Spectrum> PyEmitter::sample_ray(const Float &time, const Float &wavelength,
                                               const Vector2 &position, const Vector2 &direction,
                                               const Mask &active) const {
    nb::object r =
        need("sample_ray")(time, wavelength, as_point(position), as_point(direction), active);
    return { nb::cast<Ray>(r[0]), nb::cast<Spectrum>(r[1]) };
}

PySensor::PySensor(nb::object props) : PyEndpointOf(props) {
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
Spectrum PySensor::eval(const SurfaceInteraction &si, const Mask &active) const {
    nb::object r = ask("eval", si, active);
    return r.is_valid() ? nb::cast<Spectrum>(r) : Sensor::eval(si, active);
}
Sensor::Reach PySensor::reach(const DirectionSample &ds, const Mask &active) const {
    nb::object r = ask("reach", ds, active);
    if (!r.is_valid())
        return Sensor::reach(ds, active);
    return { nb::cast<Float>(r[0]), nb::cast<Float>(r[1]) };
}
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
