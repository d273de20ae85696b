// python/render_media.cpp: media, phase functions and volumes.
#include "python/render_plugins.h"
#include "python/render_records.h"
#include "render/emitter.h"
#include "render/sensor.h"
#include "render/sggx_matrix.h"
#include <algorithm>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace umbel::python {

template <> struct Record<MediumInteraction> {
    static constexpr const char *name = "_records.MediumInteraction3f";
    template <class T, class F> static void visit(T &r, F &&f) {
        Record<Interaction>::visit(r, f);
        f("sh_frame", r.sh_frame, Sense::Plain);
        f("wi", r.wi, Sense::Vector);
        f("sigma_s", r.sigma_s, Sense::Plain);
        f("sigma_n", r.sigma_n, Sense::Plain);
        f("sigma_t", r.sigma_t, Sense::Plain);
        f("combined_extinction", r.majorant, Sense::Plain);
        f("mint", r.mint, Sense::Plain);
    }
};

namespace {

PhaseFunctionContext context_of(nb::handle ctx) {
    return { PhaseFunctionContext::Mode(nb::cast<int>(nb::int_(ctx.attr("mode")))),
             nb::cast<uint32_t>(ctx.attr("type_mask")), nb::cast<uint32_t>(ctx.attr("component")) };
}

nb::object context_for(const PhaseFunctionContext &ctx) {
    nb::object made = from_package("PhaseFunctionContext")();
    made.attr("mode") = from_package("TransportMode")(int(ctx.mode));
    made.attr("type_mask") = ctx.type_mask;
    made.attr("component") = ctx.component;
    return made;
}

// ---- written in Python

class PyPhaseFunction final : public PyObjectOf<PhaseFunction> {
public:
    using PyObjectOf::PyObjectOf;
    void configure() override {
        if (m_components.empty()) // its constructor has not said
            m_components = { PhaseFunctionFlags::Anisotropic };
    }
    std::pair<Spectrum, Float> eval_pdf(const PhaseFunctionContext &ctx,
                                        const MediumInteraction &mei, const Vector3 &wo,
                                        const Mask &active) const override {
        nb::object r = need("eval_pdf")(context_for(ctx), mei, wo, active);
        return { nb::cast<Spectrum>(r[0]), nb::cast<Float>(r[1]) };
    }
    PhaseFunctionSample sample(const PhaseFunctionContext &ctx, const MediumInteraction &mei,
                               const Float &u1, const Vector2 &u2,
                               const Mask &active) const override {
        nb::object r = need("sample")(context_for(ctx), mei, u1, as_point(u2), active);
        return { nb::cast<Vector3>(r[0]), nb::cast<Float>(r[2]), nb::cast<Spectrum>(r[1]) };
    }
    Float projected_area(const MediumInteraction &mei, const Mask &active) const override {
        nb::object f = method("projected_area");
        return f.is_valid() ? nb::cast<Float>(f(mei, active)) : Float(1);
    }
    double max_projected_area() const override {
        nb::object f = method("max_projected_area");
        return f.is_valid() ? nb::cast<double>(nb::float_(f())) : 1;
    }
    void set(std::vector<uint32_t> components) { m_components = std::move(components); }
};

class PyVolume final : public PyObjectOf<Volume> {
public:
    using PyObjectOf::PyObjectOf;
    void declare(Params &p) override {
        if (!p.traversing()) // what is read once: its own traverse() may report it
            declare_placement(p);
        PyObjectOf::declare(p);
    }
    Spectrum eval(const Interaction &it, const Mask &active) const override {
        if (nb::object f = method("eval"); f.is_valid())
            return nb::cast<Spectrum>(f(it, active));
        return Spectrum(nb::cast<Float>(need("eval_1")(it, active)));
    }
    Float eval_1(const Interaction &it, const Mask &active) const override {
        nb::object f = method("eval_1");
        return f.is_valid() ? nb::cast<Float>(f(it, active)) : Volume::eval_1(it, active);
    }
    std::vector<Float> eval_n(const Interaction &it, const Mask &active) const override {
        std::vector<Float> numbers;
        for (nb::handle v : need("eval_n")(it, active))
            numbers.push_back(nb::cast<Float>(v));
        return numbers;
    }
    std::pair<Float, Vector3> eval_gradient(const Interaction &it,
                                            const Mask &active) const override {
        nb::object r = need("eval_gradient")(it, active);
        return { nb::cast<Float>(r[0]), nb::cast<Vector3>(r[1]) };
    }
    double max_value() const override {
        double bound = nb::cast<double>(nb::float_(need("max")()));
        if (!(bound >= 0))
            complain("max() is {}; it must be a bound of all values", bound);
        return bound;
    }
    std::vector<double> max_per_channel() const override {
        return nb::cast<std::vector<double>>(need("max_per_channel")());
    }
    TransformData placement() const override {
        nb::object f = method("bbox");
        if (!f.is_valid())
            return m_to_world;
        nb::object box = f();
        std::array<double, 3> low, size;
        for (size_t i = 0; i < 3; ++i) {
            low[i] = nb::cast<double>(nb::float_(box.attr("min")[i]));
            size[i] = nb::cast<double>(nb::float_(box.attr("max")[i])) - low[i];
        }
        return TransformData::translate(low) * TransformData::scale(size);
    }
    std::array<size_t, 3> resolution() const override {
        nb::object f = method("resolution");
        if (!f.is_valid())
            return Volume::resolution();
        nb::object r = f();
        return { nb::cast<size_t>(r[0]), nb::cast<size_t>(r[1]), nb::cast<size_t>(r[2]) };
    }
    uint32_t channel_count() const override {
        nb::object f = method("channel_count");
        return f.is_valid() ? nb::cast<uint32_t>(f()) : Volume::channel_count();
    }
    bool is_spatially_varying() const override { return true; }
};

/// Its constructor says what kind of medium it is; see m_is_homogeneous and the like below.
class PyMedium final : public PyObjectOf<Medium> {
public:
    using PyObjectOf::PyObjectOf;
    void declare(Params &p) override {
        bool samples_emitters = m_sample_emitters;
        Medium::declare(p);
        if (p.loading() && !p.properties()->has("sample_emitters"))
            m_sample_emitters = samples_emitters; // what the constructor has said
        PyObjectOf::declare(p);
    }
    Spectrum majorant(const MediumInteraction &mei, const Mask &active) const override {
        return nb::cast<Spectrum>(need("get_majorant")(mei, active));
    }
    Coefficients scattering_coefficients(const MediumInteraction &mei,
                                         const Mask &active) const override {
        nb::object r = need("get_scattering_coefficients")(mei, active);
        return { nb::cast<Spectrum>(r[0]), nb::cast<Spectrum>(r[1]), nb::cast<Spectrum>(r[2]) };
    }
    Extent extent(const Ray &ray) const override {
        nb::object f = method("intersect_aabb");
        if (!f.is_valid())
            return Medium::extent(ray);
        nb::object r = f(ray);
        return { nb::cast<Mask>(r[0]), nb::cast<Float>(r[1]), nb::cast<Float>(r[2]) };
    }
    bool is_homogeneous() const override { return m_homogeneous; }

    bool m_homogeneous = false;
    using Medium::m_has_spectral_extinction, Medium::m_sample_emitters;
};

PyMedium &written_in_python(Medium &m) {
    auto *own = dynamic_cast<PyMedium *>(&m);
    if (!own)
        m.complain("what kind of medium it is follows from its parameters");
    return *own;
}

// ---- as Python sees them

static std::vector<Float> numbers(const Volume &volume, uint32_t count, const Interaction &it,
                                  const Mask &active) {
    if (volume.channel_count() != count)
        volume.complain("has {} channels, and is asked for {}", volume.channel_count(), count);
    return volume.eval_n(it, active);
}

void bind_volumes(nb::module_ &m) {
    nb::class_<Volume, SceneObject, PyVolume>(m, "Volume",
                                              "A spectrum or number that varies in space.")
        .def(nb::init<nb::object>(), nb::arg("props"))
        .def("eval", of_base("eval", &Volume::eval), nb::arg("it"), nb::arg("active") = true)
        .def("eval_1", of_base("eval_1", &Volume::eval_1), nb::arg("it"), nb::arg("active") = true)
        .def(
            "eval_3",
            [](const Volume &v, const Interaction &it, const Mask &active) {
                std::vector<Float> n = numbers(v, 3, it, active);
                return Vector3(n[0], n[1], n[2]);
            },
            nb::arg("it"), nb::arg("active") = true, "Its three numbers, as they are.")
        .def(
            "eval_6",
            [](const Volume &v, const Interaction &it, const Mask &active) {
                return numbers(v, 6, it, active);
            },
            nb::arg("it"), nb::arg("active") = true, "Its six numbers.")
        .def("eval_n", of_base("eval_n", &Volume::eval_n), nb::arg("it"), nb::arg("active") = true)
        .def("eval_gradient", of_base("eval_gradient", &Volume::eval_gradient), nb::arg("it"),
             nb::arg("active") = true, "The value, and its derivative by the position.")
        .def("max", of_base("max", &Volume::max_value), "An upper bound of all values.")
        .def("max_per_channel", of_base("max_per_channel", &Volume::max_per_channel),
             "Likewise, of each number of eval_n().")
        .def(
            "bbox",
            [](const Volume &v) {
                AskedOfBase now(v, "bbox");
                BoundingBox b = v.bounds();
                return from_package("ScalarBoundingBox3f")(b.min, b.max);
            },
            "What it fills.")
        .def(
            "resolution",
            [](const Volume &v) {
                AskedOfBase now(v, "resolution");
                auto [x, y, z] = v.resolution();
                return from_package("ScalarVector3i")(x, y, z);
            },
            "Of what it is made of, along x, y and z.")
        .def("channel_count", of_base("channel_count", &Volume::channel_count));
}

// A symmetric matrix by its diagonal and xy, xz, yz.
void bind_flakes(nb::module_ &m) {
    auto matrix = [](const Vector3 &diagonal, const Vector3 &rest) {
        return SggxMatrix{ diagonal.x, diagonal.y, diagonal.z, rest.x, rest.y, rest.z };
    };
    m.def("sggx_area", [matrix](const Vector3 &w, const Vector3 &diagonal, const Vector3 &rest) {
        return matrix(diagonal, rest).area(w);
    });
    m.def("sggx_density", [matrix](const Vector3 &n, const Vector3 &diagonal, const Vector3 &rest) {
        return matrix(diagonal, rest).density(n);
    });
    m.def("sggx_sample", [matrix](const Vector3 &s, const Vector3 &t, const Vector3 &n,
                                  const Vector2 &u, const Vector3 &diagonal, const Vector3 &rest) {
        Frame frame;
        frame.s = s, frame.t = t, frame.n = n;
        return as_normal(matrix(diagonal, rest).sample_visible(frame, u));
    });
}

void bind_phase_functions(nb::module_ &m) {
    bind_flakes(m);
    using P = PhaseFunction;
    auto set = [](P &p, std::vector<uint32_t> components) {
        if (auto *own = dynamic_cast<PyPhaseFunction *>(&p))
            own->set(std::move(components));
        else
            p.complain("its components follow from its parameters");
    };
    nb::class_<P, SceneObject, PyPhaseFunction>(m, "PhaseFunction", "How a medium scatters light.")
        .def(nb::init<nb::object>(), nb::arg("props"))
        .def_prop_rw(
            "m_components", [](const P &p) { return p.components(); },
            [set](P &p, std::vector<uint32_t> c) { set(p, std::move(c)); },
            "PhaseFunctionFlags of each component; those of plugins in Python can be set.")
        .def_prop_rw(
            "m_flags", [](const P &p) { return p.flags(); },
            [set](P &p, uint32_t flags) {
                if (p.components().empty())
                    set(p, { flags });
            },
            "PhaseFunctionFlags of all of it.")
        .def(
            "sample",
            [](const P &p, nb::handle ctx, const MediumInteraction &mei, const Float &u1,
               const Vector2 &u2, const Mask &active) {
                AskedOfBase now(p, "sample");
                PhaseFunctionSample s = p.sample(context_of(ctx), mei, u1, u2, active);
                return std::tuple(s.wo, s.weight, s.pdf);
            },
            nb::arg("ctx"), nb::arg("mi"), nb::arg("sample1"), nb::arg("sample2"),
            nb::arg("active") = true, "A direction, value over density, and the density.")
        .def(
            "eval_pdf",
            [](const P &p, nb::handle ctx, const MediumInteraction &mei, const Vector3 &wo,
               const Mask &active) {
                AskedOfBase now(p, "eval_pdf");
                return p.eval_pdf(context_of(ctx), mei, wo, active);
            },
            nb::arg("ctx"), nb::arg("mi"), nb::arg("wo"), nb::arg("active") = true,
            "The value in a direction, and the density with which sample() gives it.")
        .def("projected_area", of_base("projected_area", &P::projected_area), nb::arg("mi"),
             nb::arg("active") = true)
        .def("max_projected_area", of_base("max_projected_area", &P::max_projected_area))
        .def(
            "component_count", [](const P &p, nb::handle) { return p.components().size(); },
            nb::arg("active") = true)
        .def(
            "flags",
            [](const P &p, nb::handle index, nb::handle) {
                // Of one component, or of all; a mask may stand in its place
                if (!PyLong_Check(index.ptr()) || PyBool_Check(index.ptr()))
                    return p.flags();
                size_t i = nb::cast<size_t>(index);
                if (i >= p.components().size())
                    throw nb::index_error("flags(): there is no such component");
                return p.components()[i];
            },
            nb::arg("index") = nb::none(), nb::arg("active") = true,
            "PhaseFunctionFlags of all components, or of one.");
}

} // namespace

void bind_media(nb::module_ &m) {
    bind_volumes(m);
    bind_phase_functions(m);
    nb::class_<Medium, SceneObject, PyMedium>(m, "Medium", "What fills space.")
        .def(nb::init<nb::object>(), nb::arg("props"))
        .def_prop_rw(
            "m_is_homogeneous", &Medium::is_homogeneous,
            [](Medium &s, bool v) { written_in_python(s).m_homogeneous = v; },
            "Whether it is the same everywhere; that of plugins in Python can be set.")
        .def_prop_rw(
            "m_has_spectral_extinction", &Medium::has_spectral_extinction,
            [](Medium &s, bool v) { written_in_python(s).m_has_spectral_extinction = v; },
            "Whether channels differ in extinction; likewise.")
        .def_prop_rw(
            "m_sample_emitters", &Medium::use_emitter_sampling,
            [](Medium &s, bool v) { written_in_python(s).m_sample_emitters = v; },
            "Whether paths that collide in it connect to lights; likewise.")
        .def("phase_function", [](const Medium &s) { return to_python(s.phase_ref()); })
        .def("use_emitter_sampling", &Medium::use_emitter_sampling,
             "Whether paths that collide in it connect to lights.")
        .def("is_homogeneous", &Medium::is_homogeneous)
        .def("has_spectral_extinction", &Medium::has_spectral_extinction)
        .def("get_majorant", of_base("get_majorant", &Medium::majorant), nb::arg("mi"),
             nb::arg("active") = true, "At least the extinction anywhere.")
        .def(
            "get_scattering_coefficients",
            [](const Medium &s, const MediumInteraction &mei, const Mask &active) {
                AskedOfBase now(s, "get_scattering_coefficients");
                Medium::Coefficients c = s.scattering_coefficients(mei, active);
                return std::tuple(c.sigma_s, c.sigma_n, c.sigma_t);
            },
            nb::arg("mi"), nb::arg("active") = true,
            "Scattering, null collisions and extinction, per unit of length.")
        .def(
            "intersect_aabb",
            [](const Medium &s, const Ray &ray) {
                AskedOfBase now(s, "intersect_aabb");
                Medium::Extent e = s.extent(ray);
                return std::tuple(e.is_met, e.mint, e.maxt);
            },
            nb::arg("ray"), "Whether the ray meets it, and from where to where.")
        .def("sample_interaction", &Medium::sample_interaction, nb::arg("ray"), nb::arg("sample"),
             nb::arg("channel"), nb::arg("active") = true, "A tentative collision.")
        .def(
            "transmittance_eval_pdf",
            [](const Medium &s, const MediumInteraction &mei, const SurfaceInteraction &si,
               const Mask &) { return s.transmittance_eval_pdf(mei, si.t); },
            nb::arg("mi"), nb::arg("si"), nb::arg("active") = true,
            "Of the way to the collision, or to the surface where that comes first: the part of "
            "light that passes, and its density.");

    auto def = [](nb::handle c, const char *name, auto f, auto... extra) {
        nb::cpp_function_def<>(f, nb::scope(c), nb::name(name), nb::is_method(), extra...);
    };
    auto medium = [](const Medium *s) { return to_python(static_cast<const SceneObject *>(s)); };
    nb::handle shape = nb::type<Shape>();
    def(
        shape, "interior_medium", [=](const Shape &s, nb::handle) { return medium(s.interior()); },
        nb::arg("active") = true, "The medium behind the surface; None: nothing.");
    def(
        shape, "exterior_medium", [=](const Shape &s, nb::handle) { return medium(s.exterior()); },
        nb::arg("active") = true, "The medium in front of it; None: nothing.");
    def(
        shape, "is_medium_transition",
        [](const Shape &s, nb::handle) { return s.is_medium_transition(); },
        nb::arg("active") = true, "Whether the surface separates media.");
    for (nb::handle endpoint : { nb::type<Emitter>(), nb::type<Sensor>() })
        def(
            endpoint, "get_medium", [=](const Endpoint &e) { return medium(e.medium()); },
            "The medium in which it stands; None: nothing.");
}

} // namespace umbel::python
