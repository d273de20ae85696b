// python/render_media.cpp: media, phase functions and volumes.
#include "python/render_records.h"
#include "render/emitter.h"
#include "render/sensor.h"
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

void bind_volumes(nb::module_ &m) {
    nb::class_<Volume, SceneObject>(m, "Volume", "A spectrum or number that varies in space.")
        .def("eval", &Volume::eval, nb::arg("it"), nb::arg("active") = true)
        .def("eval_1", &Volume::eval_1, nb::arg("it"), nb::arg("active") = true)
        .def("eval_n", &Volume::eval_n, nb::arg("it"), nb::arg("active") = true)
        .def("eval_gradient", &Volume::eval_gradient, nb::arg("it"), nb::arg("active") = true,
             "The value, and its derivative by the position.")
        .def("max", &Volume::max_value, "An upper bound of all values.")
        .def("max_per_channel", &Volume::max_per_channel, "Likewise, of each number of eval_n().")
        .def(
            "bbox",
            [](const Volume &v) {
                BoundingBox b = v.bounds();
                return from_package("ScalarBoundingBox3f")(b.min, b.max);
            },
            "What it fills.")
        .def("resolution", &Volume::resolution, "Of what it is made of, along x, y and z.")
        .def("channel_count", &Volume::channel_count);
}

void bind_phase_functions(nb::module_ &m) {
    using P = PhaseFunction;
    nb::class_<P, SceneObject>(m, "PhaseFunction", "How a medium scatters light.")
        .def(
            "sample",
            [](const P &p, nb::handle ctx, const MediumInteraction &mei, const Float &u1,
               const Vector2 &u2, const Mask &active) {
                PhaseFunctionSample s = p.sample(context_of(ctx), mei, u1, u2, active);
                return std::tuple(s.wo, s.weight, s.pdf);
            },
            nb::arg("ctx"), nb::arg("mi"), nb::arg("sample1"), nb::arg("sample2"),
            nb::arg("active") = true, "A direction, value over density, and the density.")
        .def(
            "eval_pdf",
            [](const P &p, nb::handle ctx, const MediumInteraction &mei, const Vector3 &wo,
               const Mask &active) { return p.eval_pdf(context_of(ctx), mei, wo, active); },
            nb::arg("ctx"), nb::arg("mi"), nb::arg("wo"), nb::arg("active") = true,
            "The value in a direction, and the density with which sample() gives it.")
        .def("projected_area", &P::projected_area, nb::arg("mi"), nb::arg("active") = true)
        .def("max_projected_area", &P::max_projected_area)
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
    nb::class_<Medium, SceneObject>(m, "Medium", "What fills space.")
        .def("phase_function", [](const Medium &s) { return to_python(s.phase_ref()); })
        .def("use_emitter_sampling", &Medium::use_emitter_sampling,
             "Whether paths that collide in it connect to lights.")
        .def("is_homogeneous", &Medium::is_homogeneous)
        .def("has_spectral_extinction", &Medium::has_spectral_extinction)
        .def("get_majorant", &Medium::majorant, nb::arg("mi"), nb::arg("active") = true,
             "At least the extinction anywhere.")
        .def(
            "get_scattering_coefficients",
            [](const Medium &s, const MediumInteraction &mei, const Mask &active) {
                Medium::Coefficients c = s.scattering_coefficients(mei, active);
                return std::tuple(c.sigma_s, c.sigma_n, c.sigma_t);
            },
            nb::arg("mi"), nb::arg("active") = true,
            "Scattering, null collisions and extinction, per unit of length.")
        .def(
            "intersect_aabb",
            [](const Medium &s, const Ray &ray) {
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
