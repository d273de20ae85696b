// python/render_plugins.h: plugins that are written in Python: C++ objects that ask a Python one.
#pragma once
#include "python/render.h"
#include "render/integrator.h"
#include <algorithm>
#include <nanobind/trampoline.h>
#include <string_view>

namespace umbel::python {

/// What all of them share: the Python object, its parameters, and the methods that it overrides.
class PySide {
public:
    explicit PySide(nb::object) {}
    virtual ~PySide() = default;
    virtual nb::handle python() const = 0;

    /// Fills parameters from the Python object's traverse().
    void traverse(Params &p);
    void notify(std::span<const std::string> names);

    /// A parameter as scripts read it; invalid where traverse() named none.
    nb::object get(std::string_view name) const;
    /// False where that is what the plugin has.
    bool set(std::string_view name, nb::handle value);
    /// ParamFlags of a parameter, or of an object inside.
    uint32_t flags(std::string_view name) const;

private:
    struct Exposed { // what traverse() put
        std::string name;
        nb::object value;
        uint32_t flags;
    };
    const Exposed *find(std::string_view name) const;

    std::vector<Exposed> m_exposed;
    double m_unused = 0; // in the place of parameters that C++ has no slot for
};

/// The Python object behind a plugin written in Python; null for others.
PyObject *python_side(const SceneObject &object);
/// The method, if the class of `self` overrides that of `base`.
nb::object overridden(nb::handle self, nb::handle base, const char *name);
/// A value of Python's in the place of an object, for plugins that are written in Python.
class PyValue final : public SceneObject {
public:
    explicit PyValue(nb::object v) : value(std::move(v)) {}
    void declare(Params &) override {}
    nb::object value;
};
bool is_written_in_python(const Plugin &plugin);
/// Whether an array of a script is the value that a parameter has, or that plus zero; contents are not compared.
bool same_value(const Value &a, const Value &b);
void set_components(BSDF &bsdf, std::vector<uint32_t> components);

/// The channels of a block, whose colours are three in all variants; see render_block.cpp.
std::vector<Float> three_colours(std::vector<Float> channels);

/// Python's BoundingBox3f; empty if it has no end.
BoundingBox bounds_from(nb::handle box);

/// Places in a film's crop window, from 0 to 1, are what scripts give and get; sensors take those in the whole film.
Vector2 in_film(const Film &film, const Vector2 &in_crop);
Vector2 in_crop(const Film &film, const Vector2 &in_film);

/// A sampler in mid-sequence, from and to the Python object of that sampler: see _sampler.py.
SampleStream stream_from(nb::handle h);
void stream_to(const SampleStream &s, nb::handle h);

/// While one lives, the question is the base class's: a script has asked for it by super(), or by the class's name, as what the
/// plugin itself has would have been found first.
class AskedOfBase {
public:
    AskedOfBase(const SceneObject &object, const char *name) {
        s_now.emplace_back(dynamic_cast<const PySide *>(&object), name);
    }
    ~AskedOfBase() { s_now.pop_back(); }
    AskedOfBase(const AskedOfBase &) = delete;
    static bool is(const PySide *plugin, std::string_view name) {
        return std::ranges::find(s_now, std::pair(plugin, name)) != s_now.end();
    }

private:
    static inline thread_local std::vector<std::pair<const PySide *, std::string_view>> s_now;
};

/// A method that plugins written in Python may have their own of, to be bound.
template <class C, class R, class... Args>
auto of_base(const char *name, R (C::*method)(Args...) const) {
    return [name, method](const C &o, Args... args) -> R {
        AskedOfBase now(o, name);
        return (o.*method)(args...);
    };
}

template <class Base> class PyObjectOf : public Base, public PySide {
public:
    explicit PyObjectOf(nb::object props) : PySide(std::move(props)) {}
    nb::handle python() const override { return nb::find(static_cast<const Base *>(this)); }
    nb::object method(const char *name) const {
        if (AskedOfBase::is(this, name))
            return {};
        return overridden(python(), nb::type<Base>(), name);
    }
    nb::object need(const char *name) const {
        nb::object f = method(name);
        if (!f.is_valid())
            this->complain("does not define {}()", name);
        return f;
    }
    /// What it returns; invalid where there is none.
    template <class... Args> nb::object ask(const char *name, const Args &...args) const {
        nb::object f = method(name);
        return f.is_valid() ? f(args...) : f;
    }
    void declare(Params &p) override {
        if (p.traversing())
            PySide::traverse(p);
        else if (p.loading())
            for (const Property &q : p.properties()->all())
                q.queried = q.queried || q.name.empty(); // objects that it may have gone through
    }
    void configure() override {}
    bool is_scripted() const override { return true; }
    void changed(std::span<const std::string> names) override { notify(names); }
    void children_changed(std::span<const std::string> names) override { notify(names); }
};

/// What emitters and sensors have in common: each question goes to the method of that name, if the class has it.
template <class Base> class PyEndpointOf : public PyObjectOf<Base> {
public:
    using PyObjectOf<Base>::PyObjectOf;
    std::pair<PositionSample, Float> sample_position(const Float &time, const Vector2 &u,
                                                     const Mask &active) const override;
    Float pdf_position(const PositionSample &ps, const Mask &active) const override;
    Float pdf_direction(const Interaction &it, const DirectionSample &ds,
                        const Mask &active) const override;
    Spectrum eval_direction(const Interaction &it, const DirectionSample &ds,
                            const Mask &active) const override;
    std::pair<Wavelengths, Spectrum> sample_wavelengths(const SurfaceInteraction &si,
                                                        const Float &u,
                                                        const Mask &active) const override;
    BoundingBox bounds() const override; // bbox() there
    void set_scene(const BoundingBox &bounds) override;
    void attach(const Shape *shape) override { this->m_shape = shape; }
};

class PyBSDF final : public PyObjectOf<BSDF> {
public:
    using PyObjectOf::PyObjectOf;
    std::pair<Spectrum, Float> eval_pdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                        const Vector3 &wo, const Mask &active) const override;
    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &u1,
                      const Vector2 &u2, const Mask &active) const override;
    Spectrum eval_delta(const BSDFContext &ctx, const SurfaceInteraction &si, const BSDFSample &s,
                        const Mask &active) const override;
    Spectrum eval_null_transmission(const SurfaceInteraction &si,
                                    const Mask &active) const override;
    Spectrum eval_diffuse_reflectance(const SurfaceInteraction &si,
                                      const Mask &active) const override;
    void set(std::vector<uint32_t> components) { m_components = std::move(components); }
};

class PyTexture final : public PyObjectOf<Texture> {
public:
    using PyObjectOf::PyObjectOf;
    Spectrum eval(const SurfaceInteraction &si, const Mask &active) const override;
    Float eval_1(const SurfaceInteraction &si, const Mask &active) const override;
    Vector3 eval_3(const SurfaceInteraction &si, const Mask &active) const override;
    Vector2 eval_1_grad(const SurfaceInteraction &si, const Mask &active) const override;
    bool is_spatially_varying() const override;
    std::array<size_t, 2> resolution() const override;
    Float mean_value() const override;
    double max_value() const override;
    std::pair<Vector2, Float> sample_position(const Vector2 &u, const Mask &active) const override;
    Float pdf_position(const Vector2 &p, const Mask &active) const override;
    std::pair<Wavelengths, Spectrum> sample_spectrum(const SurfaceInteraction &si,
                                                     const Spectrum &u,
                                                     const Mask &active) const override;
    Spectrum pdf_spectrum(const SurfaceInteraction &si, const Mask &active) const override;
    std::array<double, 2> wavelength_range() const override;
    double spectral_resolution() const override;
};

class PyEmitter final : public PyEndpointOf<Emitter> {
public:
    using PyEndpointOf::PyEndpointOf;
    void declare(Params &p) override;
    Spectrum eval(const SurfaceInteraction &si, const Mask &active) const override;
    std::pair<DirectionSample, Spectrum> sample_direction(const Interaction &it, const Vector2 &u,
                                                          const Mask &active) const override;
    uint32_t flags() const override;
    bool sends_rays() const override { return method("sample_ray").is_valid(); }
    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength,
                                        const Vector2 &position, const Vector2 &direction,
                                        const Mask &active) const override;
};

class PySensor final : public PyEndpointOf<Sensor> {
public:
    /// Its constructor in Python may ask where it is.
    explicit PySensor(nb::object props);
    /// Where it is, or where its motion begins.
    nb::object to_world() const;
    void declare(Params &p) override;
    void configure() override { Sensor::configure(); }
    void changed(std::span<const std::string> names) override;
    uint32_t flags() const override;
    Spectrum eval(const SurfaceInteraction &si, const Mask &active) const override;
    std::pair<DirectionSample, Spectrum> sample_direction(const Interaction &it, const Vector2 &u,
                                                          const Mask &active) const override;
    Reach reach(const DirectionSample &ds, const Mask &active) const override;
    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength_sample,
                                        const Vector2 &position, const Vector2 &aperture,
                                        const Mask &active) const override;
    bool needs_aperture_sample() const override;
};

class PyIntegrator final : public PyObjectOf<Integrator> {
public:
    using PyObjectOf::PyObjectOf;
    void declare(Params &p) override;
    void render(Pass &pass) const override {
        Integrator::render(pass);
        m_state.reset(); // no second call follows
    }
    Radiance sample(const Scene &scene, SampleStream &sampler, const Ray &ray, const Medium *medium,
                    const Mask &active) const override;
    /// Of an ADIntegrator by all of its arithmetic, of an RBIntegrator by its own second call: see ad/integrators/common.py.
    RadianceDerivative differentiate(ad::Mode mode, const Scene &scene, SampleStream sampler,
                                     const Ray &ray, const Medium *medium, const Radiance &primal,
                                     const RadianceDerivative &gradient,
                                     const Mask &active) const override;
    std::vector<std::string> aov_names() const override;

private:
    nb::object call(const char *mode, const Scene &scene, SampleStream &sampler, const Ray &ray,
                    const Medium *medium, nb::dict more, const Mask &active) const;
    /// Whether the class says so.
    bool has(const char *attribute) const {
        return nb::hasattr(python(), attribute) && nb::cast<bool>(python().attr(attribute));
    }

    mutable const char *m_mode = "Primal"; // in which sample() is called, where it asks
    mutable nb::object m_state;            // for the second call, from the first
};

class PyFilm final : public PyObjectOf<Film> {
public:
    using PyObjectOf::PyObjectOf;
    void declare(Params &p) override;
    void changed(std::span<const std::string> names) override;
    std::filesystem::path file_name(const std::filesystem::path &path) const override;
    std::filesystem::path write(const std::filesystem::path &path,
                                const Image &image) const override;
    bool sample_border() const override;
    bool has_alpha() const override;
    Ref<Texture> response() const override;
};

/// Numbers may depend on anything that the Python object holds: its arrays travel with the state of a sequence.
class PySampler final : public PyObjectOf<Sampler> {
public:
    using PyObjectOf::PyObjectOf;
    void declare(Params &p) override;
    SamplerState begin(const UInt32 &seed, const UInt32 &pixel,
                       const UInt32 &sample) const override;
    Float next_1d(SamplerState &s) const override;
    Vector2 next_2d(SamplerState &s) const override;
    Ref<Sampler> clone() const override;
    int round_sample_count(int n) const override;
};

class PyFilter final : public PyObjectOf<Filter> {
public:
    using PyObjectOf::PyObjectOf;
    void configure() override { Filter::configure(); }
    double eval(double x) const override;
    Float eval(const Float &x) const override;
    double radius() const override;
    bool is_box() const override;
};

} // namespace umbel::python
