// python/render_plugins.h: plugins that are written in Python: C++ objects that ask a Python one.
#pragma once
#include "python/render.h"
#include "render/integrator.h"
#include <nanobind/trampoline.h>

namespace umbel::python {

/// What all of them share: the Python object, and the methods that it overrides.
class PySide {
public:
    explicit PySide(nb::object props);
    virtual ~PySide() = default;
    /// Fills parameters from the Python object's traverse().
    void traverse(nb::handle self, Params &p);
    void changed(nb::handle self, std::span<const std::string> names);

private:
    std::vector<nb::object> m_kept; // what slots point into
};

/// The Python object behind a plugin written in Python; null for others.
PyObject *python_side(const SceneObject &object);
/// The method, if the class of `self` overrides that of `base`.
nb::object overridden(nb::handle self, nb::handle base, const char *name);
void set_components(BSDF &bsdf, std::vector<uint32_t> components);

/// A sampler in mid-sequence as Python has it: see _scene.Stream.
SampleStream stream_from(nb::handle h);
void stream_to(const SampleStream &s, nb::handle h);
nb::object make_stream(const SampleStream &s);

template <class Base> class PyObjectOf : public Base, public PySide {
public:
    explicit PyObjectOf(nb::object props) : PySide(std::move(props)) {}
    nb::handle self() const { return nb::find(static_cast<const Base *>(this)); }
    nb::object method(const char *name) const { return overridden(self(), nb::type<Base>(), name); }
    nb::object need(const char *name) const {
        nb::object f = method(name);
        if (!f.is_valid())
            this->complain("does not define {}()", name);
        return f;
    }
    void declare(Params &p) override {
        if (p.traversing())
            PySide::traverse(self(), p);
        else if (p.loading())
            for (const Property &q : p.properties()->all())
                q.queried = true; // the constructor has seen them
    }
    void configure() override {}
    void changed(std::span<const std::string> names) override { PySide::changed(self(), names); }
};

class PyBSDF final : public PyObjectOf<BSDF> {
public:
    using PyObjectOf::PyObjectOf;
    std::pair<Spectrum, Float> eval_pdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                        const Vector3 &wo, const Mask &active) const override;
    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &u1,
                      const Vector2 &u2, const Mask &active) const override;
    Spectrum eval_null_transmission(const SurfaceInteraction &si,
                                    const Mask &active) const override;
    void set(std::vector<uint32_t> components) { m_components = std::move(components); }
};

class PyTexture final : public PyObjectOf<Texture> {
public:
    using PyObjectOf::PyObjectOf;
    Spectrum eval(const SurfaceInteraction &si, const Mask &active) const override;
    Float eval_1(const SurfaceInteraction &si, const Mask &active) const override;
    Vector3 eval_3(const SurfaceInteraction &si, const Mask &active) const override;
    bool is_spatially_varying() const override { return true; }
};

class PyEmitter final : public PyObjectOf<Emitter> {
public:
    using PyObjectOf::PyObjectOf;
    Spectrum eval(const SurfaceInteraction &si, const Mask &active) const override;
    std::pair<DirectionSample, Spectrum> sample_direction(const Interaction &it, const Vector2 &u,
                                                          const Mask &active) const override;
    Float pdf_direction(const Interaction &it, const DirectionSample &ds,
                        const Mask &active) const override;
    bool is_environment() const override;
    void attach(const Shape *) override {}
};

class PySensor final : public PyObjectOf<Sensor> {
public:
    using PyObjectOf::PyObjectOf;
    void declare(Params &p) override;
    void configure() override { Sensor::configure(); }
    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength_sample,
                                        const Vector2 &position, const Vector2 &aperture,
                                        const Mask &active) const override;
};

class PyIntegrator final : public PyObjectOf<Integrator> {
public:
    using PyObjectOf::PyObjectOf;
    Radiance sample(const Scene &scene, SampleStream &sampler, const Ray &ray,
                    const Mask &active) const override;
    std::vector<std::string> aov_names() const override;
};

} // namespace umbel::python
