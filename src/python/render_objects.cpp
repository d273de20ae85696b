// python/render_objects.cpp: the kinds of objects that a scene is made of.
#include "core/image.h"
#include "python/helpers.h"
#include "python/render_plugins.h"
#include "python/render_records.h"
#include "render/integrator.h"
#include "render/placed_emitter.h"
#include <algorithm>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace umbel::python {

nb::object from_package(const char *path) {
    nb::object o = nb::module_::import_("umbel");
    std::string_view left = path;
    while (!left.empty()) {
        std::string part(left.substr(0, left.find('.')));
        left.remove_prefix(std::min(left.size(), part.size() + 1));
        o = o.attr(part.c_str());
    }
    return o;
}

namespace {

// A question that scripts ask an endpoint.
template <class C, class R, class... Args>
auto answer(const char *name, R (C::*method)(Args...) const) {
    return [name, method](const C &o, Args... args) -> R {
        AskedOfBase now(o, name);
        Sensor::FollowedAnswers with_derivatives;
        return (o.*method)(args...);
    };
}

template <class T> bool try_cast(const Ref<SceneObject> &o, nb::object &out) {
    if (Ref<T> t = std::dynamic_pointer_cast<T>(o)) {
        out = nb::cast(t);
        return true;
    }
    return false;
}

template <class... Ts> nb::object cast_to_first(const Ref<SceneObject> &o) {
    nb::object out;
    (void)(try_cast<Ts>(o, out) || ...);
    return out;
}

// What a BSDF has under a name: a texture, a number, or nothing. Those of `twosided` are those of its sides.
struct Attribute {
    std::shared_ptr<Texture> texture;
    Value number;
    std::vector<Attribute> sides; // front and back
    bool found() const {
        return texture || number.valid() ||
               std::any_of(sides.begin(), sides.end(),
                           [](const Attribute &side) { return side.found(); });
    }
    /// `of` the texture or the number; `none` where there is neither.
    template <class R, class Fn>
    R eval(const SurfaceInteraction &si, const R &none, const Fn &of) const {
        if (sides.size() == 2)
            return select(si.wi.z > 0, sides[0].eval(si, none, of), sides[1].eval(si, none, of));
        if (!sides.empty())
            return sides[0].eval(si, none, of);
        return texture ? of(*texture) : number.valid() ? R(Float(number)) : none;
    }
};
Attribute attribute_of(const BSDF &b, const std::string &name) {
    Params params(Params::Mode::Traverse);
    const_cast<BSDF &>(b).declare(params);
    Attribute a;
    for (const Param &p : params.all()) {
        if (b.plugin() == "twosided")
            for (const Ref<SceneObject> &o : p.objects)
                if (auto side = std::dynamic_pointer_cast<BSDF>(o))
                    a.sides.push_back(attribute_of(*side, name));
        if (p.name != name)
            continue;
        if (auto *slot = std::get_if<Float *>(&p.slot))
            a.number = **slot;
        else if (!p.objects.empty())
            a.texture = std::dynamic_pointer_cast<Texture>(p.objects[0]);
    }
    return a;
}

void bind_attributes(nb::class_<BSDF, SceneObject, PyBSDF> &c) {
    c.def(
        "has_attribute",
        [](const BSDF &b, const std::string &name, const Mask &active) {
            return active & Mask(attribute_of(b, name).found());
        },
        nb::arg("name"), nb::arg("active") = true,
        "Whether it has a texture or number of that name.");
    c.def(
        "eval_attribute",
        [](const BSDF &b, const std::string &name, const SurfaceInteraction &si,
           const Mask &active) {
            return attribute_of(b, name).eval(si, Spectrum(0),
                                              [&](const Texture &t) { return t.eval(si, active); });
        },
        nb::arg("name"), nb::arg("si"), nb::arg("active") = true,
        "The texture or number of that name; 0 where there is none.");
    c.def(
        "eval_attribute_1",
        [](const BSDF &b, const std::string &name, const SurfaceInteraction &si,
           const Mask &active) {
            return attribute_of(b, name).eval(
                si, Float(0), [&](const Texture &t) { return t.eval_1(si, active); });
        },
        nb::arg("name"), nb::arg("si"), nb::arg("active") = true, "Likewise, as one number.");
    c.def(
        "eval_attribute_3",
        [](const BSDF &b, const std::string &name, const SurfaceInteraction &si,
           const Mask &active) {
            return as_color(attribute_of(b, name).eval(
                si, Vector3(Float(0)), [&](const Texture &t) { return t.eval_3(si, active); }));
        },
        nb::arg("name"), nb::arg("si"), nb::arg("active") = true, "Likewise, as a colour.");
}

void bind_bsdf(nb::module_ &m) {
    nb::class_<BSDFContext>(m, "BSDFContext", "What a caller wants of a BSDF.")
        .def(
            "__init__",
            [](BSDFContext *c, int mode, uint32_t type_mask, uint32_t component) {
                new (c) BSDFContext{ BSDFContext::Mode(mode), type_mask, component };
            },
            nb::arg("mode") = 0, nb::arg("type_mask") = 0x1ffu, // BSDFFlags.All
            nb::arg("component") = ~0u)
        .def_prop_rw(
            "mode", [](BSDFContext &c) { return from_package("TransportMode")(int(c.mode)); },
            [](BSDFContext &c, int mode) { c.mode = BSDFContext::Mode(mode); })
        .def_rw("type_mask", &BSDFContext::type_mask)
        .def_rw("component", &BSDFContext::component)
        .def("reverse", [](BSDFContext &c) { c.mode = BSDFContext::Mode(1 - int(c.mode)); })
        .def("is_enabled", &BSDFContext::is_enabled, nb::arg("type"), nb::arg("component") = 0)
        .def("__repr__", [](const BSDFContext &c) {
            std::string component = c.component == ~0u ? "all" : fmt::format("{}", c.component);
            return fmt::format("BSDFContext[\n  mode = {},\n  type_mask = {},\n  component = {}\n]",
                               int(c.mode) ? "importance" : "radiance",
                               c.type_mask == 0x1ff ? "all" : fmt::format("{}", c.type_mask),
                               component);
        });

    nb::class_<BSDF, SceneObject, PyBSDF> bsdf(m, "BSDF", "How a surface scatters light.");
    bind_attributes(bsdf);
    bsdf.def(nb::init<nb::object>(), nb::arg("props") = nb::none())
        .def(
            "eval",
            [](const BSDF &b, const BSDFContext &ctx, const SurfaceInteraction &si,
               const Vector3 &wo, const Mask &active) {
                AskedOfBase now(b, "eval");
                return b.eval(ctx, si, wo, active).dense();
            },
            nb::arg("ctx"), nb::arg("si"), nb::arg("wo"), nb::arg("active") = true,
            "f(wi, wo) times the cosine of wo.")
        .def("pdf", of_base("pdf", &BSDF::pdf), nb::arg("ctx"), nb::arg("si"), nb::arg("wo"),
             nb::arg("active") = true, "Density of sample().")
        .def(
            "eval_pdf",
            [](const BSDF &b, const BSDFContext &ctx, const SurfaceInteraction &si,
               const Vector3 &wo, const Mask &active) {
                AskedOfBase now(b, "eval_pdf");
                auto [value, pdf] = b.eval_pdf(ctx, si, wo, active);
                return std::pair(value.dense(), pdf);
            },
            nb::arg("ctx"), nb::arg("si"), nb::arg("wo"), nb::arg("active") = true,
            "Both of these.")
        .def(
            "sample",
            [](const BSDF &b, const BSDFContext &ctx, const SurfaceInteraction &si, const Float &u1,
               const Vector2 &u2, const Mask &active) {
                AskedOfBase now(b, "sample");
                BSDFSample s = b.sample(ctx, si, u1, u2, active);
                return std::pair(s, s.weight.dense());
            },
            nb::arg("ctx"), nb::arg("si"), nb::arg("sample1"), nb::arg("sample2"),
            nb::arg("active") = true, "A direction, and f cos over its density.")
        .def(
            "eval_pdf_sample",
            [](const BSDF &b, const BSDFContext &ctx, const SurfaceInteraction &si,
               const Vector3 &wo, const Float &u1, const Vector2 &u2, const Mask &active) {
                auto [value, pdf] = b.eval_pdf(ctx, si, wo, active);
                BSDFSample s = b.sample(ctx, si, u1, u2, active);
                return std::tuple(value.dense(), pdf, s, s.weight.dense());
            },
            nb::arg("ctx"), nb::arg("si"), nb::arg("wo"), nb::arg("sample1"), nb::arg("sample2"),
            nb::arg("active") = true, "eval_pdf() and sample().")
        .def("eval_delta", of_base("eval_delta", &BSDF::eval_delta), nb::arg("ctx"), nb::arg("si"),
             nb::arg("bs"), nb::arg("active") = true,
             "Of a sample of a single direction, its weight times its probability.")
        .def("eval_null_transmission",
             of_base("eval_null_transmission", &BSDF::eval_null_transmission), nb::arg("si"),
             nb::arg("active") = true)
        .def("eval_diffuse_reflectance",
             of_base("eval_diffuse_reflectance", &BSDF::eval_diffuse_reflectance), nb::arg("si"),
             nb::arg("active") = true)
        .def(
            "flags",
            [](const BSDF &b, nb::object index, nb::handle) {
                if (index.is_none())
                    return b.flags();
                size_t i = nb::cast<size_t>(index);
                if (i >= b.components().size())
                    b.complain("has {} components; there is none of number {}",
                               b.components().size(), i);
                return b.components()[i];
            },
            nb::arg("index") = nb::none(), nb::arg("active") = true,
            "What it does, or one of its components; see BSDFFlags.")
        .def(
            "component_count", [](const BSDF &b, nb::handle) { return b.components().size(); },
            nb::arg("active") = true)
        .def("needs_differentials", [](const BSDF &) { return false; })
        .def_prop_rw(
            "m_components", [](const BSDF &b) { return b.components(); },
            [](BSDF &b, std::vector<uint32_t> c) { set_components(b, std::move(c)); })
        .def_prop_rw(
            "m_flags", [](const BSDF &b) { return b.flags(); },
            [](BSDF &b, uint32_t f) {
                if (b.components().empty())
                    set_components(b, { f });
            });
}

void bind_lights(nb::module_ &m) {
    nb::class_<Texture, SceneObject, PyTexture>(m, "Texture",
                                                "A spatially varying spectrum or number.")
        .def(nb::init<nb::object>(), nb::arg("props") = nb::none())
        .def("eval", of_base("eval", &Texture::eval), nb::arg("si"), nb::arg("active") = true)
        .def("eval_1", of_base("eval_1", &Texture::eval_1), nb::arg("si"), nb::arg("active") = true)
        .def(
            "eval_3",
            [](const Texture &t, const SurfaceInteraction &si, const Mask &active) {
                AskedOfBase now(t, "eval_3");
                return as_color(t.eval_3(si, active));
            },
            nb::arg("si"), nb::arg("active") = true)
        .def("is_spatially_varying",
             of_base("is_spatially_varying", &Texture::is_spatially_varying))
        .def("eval_1_grad", of_base("eval_1_grad", &Texture::eval_1_grad), nb::arg("si"),
             nb::arg("active") = true, "Derivative of eval_1() by u and v.")
        .def("mean", of_base("mean", &Texture::mean_value), "Over the surface and all wavelengths.")
        .def("max", of_base("max", &Texture::max_value), "The largest value.")
        .def(
            "resolution",
            [](const Texture &t) {
                AskedOfBase now(t, "resolution");
                auto [width, height] = t.resolution();
                return from_package("ScalarVector2i")(width, height);
            },
            "Columns and rows of what it is made of.")
        .def("spectral_resolution", of_base("spectral_resolution", &Texture::spectral_resolution),
             "The least distance of a spectrum's values, in nm.")
        .def(
            "wavelength_range",
            [](const Texture &t) {
                AskedOfBase now(t, "wavelength_range");
                auto [low, high] = t.wavelength_range();
                return from_package("ScalarVector2f")(low, high);
            },
            "Wavelengths that it covers, in nm.")
        .def(
            "sample_position",
            [](const Texture &t, const Vector2 &u, const Mask &active) {
                AskedOfBase now(t, "sample_position");
                auto [p, pdf] = t.sample_position(u, active);
                return std::pair(as_point(p), pdf);
            },
            nb::arg("sample"), nb::arg("active") = true,
            "A position with a density proportional to the brightness there, and that density.")
        .def("pdf_position", of_base("pdf_position", &Texture::pdf_position), nb::arg("p"),
             nb::arg("active") = true, "Density of sample_position().")
        .def("sample_spectrum", of_base("sample_spectrum", &Texture::sample_spectrum),
             nb::arg("si"), nb::arg("sample"), nb::arg("active") = true,
             "Wavelengths, and the spectrum there over their density; in spectral variants.")
        .def("pdf_spectrum", of_base("pdf_spectrum", &Texture::pdf_spectrum), nb::arg("si"),
             nb::arg("active") = true, "Density of sample_spectrum(), per nm.")
        .def_static(
            "D65",
            [](double scale) {
                Properties p("texture", "d65");
                p.set("scale", scale);
                return to_python(make_object<Texture>(std::move(p)));
            },
            nb::arg("scale") = 1.0, "Daylight: the illuminant D65.");

    nb::class_<Endpoint, SceneObject>(m, "Endpoint",
                                      "Where light begins or ends: emitters and sensors.")
        .def(
            "flags", [](const Endpoint &e, nb::object) { return e.flags(); },
            nb::arg("active") = true, "EmitterFlags.")
        .def("sample_ray", answer("sample_ray", &Endpoint::sample_ray), nb::arg("time"),
             nb::arg("sample1"), nb::arg("sample2"), nb::arg("sample3"), nb::arg("active") = true,
             "A ray that leaves it, and what it carries over the density of all that was chosen: "
             "`sample1` chooses wavelengths, `sample2` where it begins, `sample3` its direction.")
        .def("sample_position", answer("sample_position", &Endpoint::sample_position),
             nb::arg("time"), nb::arg("sample"), nb::arg("active") = true,
             "A point of it, and one over its density per area.")
        .def("pdf_position", answer("pdf_position", &Endpoint::pdf_position), nb::arg("ps"),
             nb::arg("active") = true, "The density of sample_position() per area.")
        .def("sample_direction", answer("sample_direction", &Endpoint::sample_direction),
             nb::arg("it"), nb::arg("sample"), nb::arg("active") = true,
             "A direction towards it, and what arrives from there over its density. Of a camera's "
             "sample, `uv` is where in the crop window it is seen, in pixels.")
        .def("pdf_direction", answer("pdf_direction", &Endpoint::pdf_direction), nb::arg("it"),
             nb::arg("ds"), nb::arg("active") = true,
             "The density of sample_direction() per solid angle.")
        .def("eval_direction", answer("eval_direction", &Endpoint::eval_direction), nb::arg("it"),
             nb::arg("ds"), nb::arg("active") = true, "What arrives at `it` in that direction.")
        .def("eval", answer("eval", &Endpoint::eval), nb::arg("si"), nb::arg("active") = true,
             "What leaves a point of it towards si.wi.")
        .def("_sample_wavelengths", answer("sample_wavelengths", &Endpoint::sample_wavelengths))
        .def("_bounds",
             [](const Endpoint &e) {
                 AskedOfBase now(e, "bbox");
                 BoundingBox b = e.bounds();
                 return std::pair(b.min, b.max);
             })
        .def(
            "get_shape",
            [](const Endpoint &e) {
                return to_python(static_cast<const SceneObject *>(e.shape()));
            },
            "The surface that it is part of, else None.")
        .def(
            "set_scene", // a scene, or what plugins written in Python are told in its place
            [](Endpoint &e, nb::handle scene) {
                AskedOfBase now(e, "set_scene");
                e.set_scene(bounds_from(scene.attr("bbox")()));
            },
            nb::arg("scene"), "Tells it what it surrounds.");
    nb::class_<Emitter, Endpoint, PyEmitter>(m, "Emitter", "A source of light.")
        .def(nb::init<nb::object>(), nb::arg("props") = nb::none())
        .def("is_environment", of_base("is_environment", &Emitter::is_environment))
        .def("_moves",
             [](const Emitter &e) {
                 auto *placed = dynamic_cast<const PlacedEmitter *>(&e);
                 return placed && placed->is_moving();
             })
        .def(
            "sampling_weight", [](const Emitter &e, nb::object) { return e.sampling_weight(); },
            nb::arg("active") = true, "How often the light is chosen, relative to others.");
}

} // namespace

nb::object to_python(const Ref<SceneObject> &o) {
    if (!o)
        return nb::none();
    if (PyObject *known = python_side(*o))
        return nb::borrow(known);
    if (auto *held = dynamic_cast<const PyValue *>(o.get()))
        return held->value;
    return cast_to_first<Scene, Mesh, Shape, BSDF, Texture, Emitter, Sensor, Film, Sampler,
                         Integrator, Filter, Medium, PhaseFunction, Volume, SceneObject>(o);
}

nb::object to_python(const SceneObject *o) {
    if (!o)
        return nb::none();
    if (PyObject *known = python_side(*o)) // perhaps Python's alone
        return nb::borrow(known);
    return to_python(std::const_pointer_cast<SceneObject>(o->shared_from_this()));
}

void bind_objects(nb::module_ &m) {
    nb::class_<SceneObject>(m, "Object", "A part of a scene.", nb::is_weak_referenceable())
        .def(nb::init<>())
        .def("id", &SceneObject::id)
        .def(
            "set_id", [](SceneObject &o, nb::str id) { o.set_id(utf8(id, "the id of an object")); },
            nb::arg("id"))
        .def("plugin_name", &SceneObject::plugin)
        .def("_kind", &SceneObject::kind)
        .def("_where", &SceneObject::where)
        .def_prop_ro("ptr", [](const SceneObject &o) { return reinterpret_cast<uintptr_t>(&o); })
        .def("_is_python", [](const SceneObject &o) { return python_side(o) != nullptr; });
    bind_bsdf(m);
    bind_lights(m);
    bind_shapes(m);

    nb::class_<Filter, SceneObject, PyFilter>(m, "ReconstructionFilter", "A reconstruction filter.")
        .def(nb::init<nb::object>(), nb::arg("props") = nb::none())
        .def("radius", of_base("radius", &Filter::radius),
             "Beyond it, the filter is zero; in pixels.")
        .def("is_box_filter", of_base("is_box_filter", &Filter::is_box))
        .def("border_size", &Filter::border_size,
             "How many pixels around an image samples inside of it reach.")
        .def(
            "eval_discretized",
            [](Filter &f, const Float &x, const Mask &active) {
                if (f.revision() == 0)
                    f.configure();
                return select(active, f.profile(x), Float(0));
            },
            nb::arg("x"), nb::arg("active") = true, "The filter from a table.")
        .def(
            "eval",
            [](const Filter &f, nb::handle x, const Mask &active) {
                AskedOfBase now(f, "eval");
                if (PyNumber_Check(x.ptr()) && !is_array(x.ptr())) {
                    enter();
                    return select(active, Float(f.eval(nb::cast<double>(nb::float_(x)))), Float(0));
                }
                return select(active, f.eval(nb::cast<Float>(x)), Float(0));
            },
            nb::arg("x"), nb::arg("active") = true, "The filter at a distance, in pixels.");
    nb::class_<Film, SceneObject, PyFilm>(m, "Film", "Where an image is collected.")
        .def(nb::init<nb::object>(), nb::arg("props") = nb::none())
        .def("sample_border", of_base("sample_border", &Film::sample_border),
             "Whether pixels at the border see what lies beyond it.")
        .def(
            "sensor_response_function",
            [](const Film &f) {
                enter();
                AskedOfBase now(f, "sensor_response_function");
                return to_python(std::static_pointer_cast<SceneObject>(f.response()));
            },
            "What the film is sensitive to, by wavelength; None if it records what the eye sees.")
        .def("_has_alpha", &Film::has_alpha)
        .def("_channel_names",
             [](const Film &f, const std::vector<std::string> &further) {
                 enter();
                 return f.channel_names(further);
             })
        .def("_image_names",
             [](const Film &f, const std::vector<std::string> &collected) {
                 enter();
                 return f.image_names(collected);
             })
        .def("_develop",
             [](const Film &f, const Float &means, uint32_t channels) {
                 enter();
                 return f.develop(means, channels);
             })
        .def("_block_channels",
             [](const Film &f, const Spectrum &L, nb::handle wavelengths, const Float &alpha,
                const std::vector<Float> &further) {
                 FilmSample s{ L, {}, alpha, further };
                 field_from_python(wavelengths, s.wavelengths);
                 return three_colours(f.channels(s));
             })
        .def("_write", [](const Film &f, const std::string &path,
                          const Image &image) { return f.write(path, image).string(); })
        .def("_size", [](const Film &f) { return std::pair(f.width(), f.height()); })
        .def("_crop",
             [](const Film &f) {
                 const Film::Crop &c = f.crop();
                 return std::tuple(c.x, c.y, c.width, c.height);
             })
        .def("rfilter", [](const Film &f) {
            return to_python(std::const_pointer_cast<SceneObject>(
                std::static_pointer_cast<const SceneObject>(f.filter_ref())));
        });
    // A sampler in mid-sequence, as scripts see it
    nb::class_<Sampler, SceneObject, PySampler>(m, "Sampler", "A source of random numbers.",
                                                nb::dynamic_attr())
        .def(nb::init<nb::object>(), nb::arg("props") = nb::none())
        .def("sample_count", &Sampler::sample_count, "Samples a pixel.")
        .def("set_sample_count", &Sampler::set_sample_count, nb::arg("spp"),
             "Changes the count, rounded up where the sampler needs that.")
        .def("_own_seed", &Sampler::seed)
        .def("_clone", [](const Sampler &s) { return to_python(s.clone()); })
        .def("_begin",
             [](const Sampler &s, const UInt32 &seed, const UInt32 &pixel, const UInt32 &sample) {
                 // Called by seed() of Python, which a plugin there extends
                 SamplerState t = python_side(s) ? s.Sampler::begin(seed, pixel, sample)
                                                 : s.begin(seed, pixel, sample);
                 return std::tuple(t.key0, t.key1, t.sample, t.dimension);
             })
        .def("_next_1d",
             [](const Sampler &s, const UInt32 &a, const UInt32 &b, const UInt32 &c,
                const UInt32 &d) {
                 SamplerState t{ a, b, c, d };
                 Float u = s.next_1d(t);
                 return std::pair(u, t.dimension);
             })
        .def("_next_2d", [](const Sampler &s, const UInt32 &a, const UInt32 &b, const UInt32 &c,
                            const UInt32 &d) {
            SamplerState t{ a, b, c, d };
            Vector2 u = s.next_2d(t);
            return std::pair(as_point(u), t.dimension);
        });
    nb::class_<Sensor, Endpoint, PySensor>(m, "Sensor", "What looks at the scene.")
        .def(nb::init<nb::object>(), nb::arg("props") = nb::none())
        .def("film", [](const Sensor &s) { return to_python(s.film_ref()); })
        .def(
            "sampler", [](const Sensor &s) { return to_python(s.sampler_ref()); },
            "The sensor's source of random numbers; seed() it first.")
        .def("_draw",
             [](const Sensor &s, nb::handle sampler, const UInt32 &x, const UInt32 &y) {
                 SampleStream stream = stream_from(sampler);
                 CameraSample c = s.draw(stream, x, y, false, Mask(true));
                 stream_to(stream, sampler);
                 return std::tuple(as_point(c.offset), c.time, c.wavelength,
                                   as_point(in_crop(s.film(), c.position)), as_point(c.aperture));
             })
        .def(
            "sample_ray",
            [](const Sensor &s, const Float &time, const Float &sample1, const Vector2 &sample2,
               const Vector2 &sample3, const Mask &active) {
                AskedOfBase now(s, "sample_ray");
                Sensor::FollowedAnswers with_derivatives;
                return s.sample_ray(time, sample1, in_film(s.film(), sample2), sample3, active);
            },
            nb::arg("time"), nb::arg("sample1"), nb::arg("sample2"), nb::arg("sample3"),
            nb::arg("active") = true,
            "A ray through a place of the crop window, `sample2`, from 0 to 1, and its weight: "
            "`sample1` chooses wavelengths, `sample3` a place on the lens.")
        .def("_up", answer("_up", &Sensor::up))
        .def("_moves", &Sensor::is_moving)
        .def("_to_world", // of those that are written in Python
             [](const Sensor &s) { return dynamic_cast<const PySensor &>(s).to_world(); })
        .def("needs_aperture_sample",
             of_base("needs_aperture_sample", &Sensor::needs_aperture_sample));
    nb::class_<Integrator, SceneObject, PyIntegrator>(m, "Integrator", "A method of rendering.")
        .def(nb::init<nb::object>(), nb::arg("props") = nb::none())
        .def("aov_names", of_base("aov_names", &Integrator::aov_names),
             "Names of channels beyond the colour.")
        .def("_has_colour", &Integrator::has_colour)
        .def("cancel", &Integrator::cancel,
             "Ends renders by it soon, from any thread: they return what they have so far.")
        .def("should_stop", &Integrator::should_stop, "Whether cancel() was called.")
        .def_prop_rw("hide_emitters", &Integrator::hide_emitters, &Integrator::set_hide_emitters,
                     "Whether the camera does not see lights directly.")
        .def(
            "_sample",
            [](const Integrator &i, const Scene &scene, nb::handle sampler, const Ray &ray,
               const Medium *medium, const Mask &active) {
                AskedOfBase now(i, "sample");
                SampleStream s = stream_from(sampler);
                Radiance r = i.sample(scene, s, ray, medium, active);
                stream_to(s, sampler);
                return std::tuple(r.L, r.valid, r.aovs);
            },
            nb::arg("scene"), nb::arg("sampler"), nb::arg("ray"), nb::arg("medium").none(),
            nb::arg("active") = true);
    nb::class_<Scene, SceneObject>(m, "Scene", "All objects of a scene.");
}

} // namespace umbel::python
