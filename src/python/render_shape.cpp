// python/render_shape.cpp: shapes. What lanes that refer to shapes can do, and rays against one shape, is in _shape.py.
#include "python/helpers.h"
#include "python/render_records.h"
#include "render/emitter.h"
#include "render/instance.h"
#include "render/outline.h"
#include "render/sensor.h"
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace umbel::python {

namespace {

nb::object box_of(const BoundingBox &b) {
    nb::list low, high;
    for (size_t i = 0; i < 3; ++i) {
        low.append(b.min[i]);
        high.append(b.max[i]);
    }
    return from_package("_scene.make_bbox")(low, high);
}

size_t primitives(const Shape &s) {
    auto *group = dynamic_cast<const ShapeGroup *>(&s);
    if (!group)
        return dynamic_cast<const Instance *>(&s) ? 1 : s.primitive_count();
    size_t n = 0;
    for (const Ref<Shape> &member : group->members())
        n += member->primitive_count();
    return n;
}

// As they are seen: those of a group through its instances.
size_t effective_primitives(const Shape &s) {
    if (auto *instance = dynamic_cast<const Instance *>(&s))
        return primitives(instance->group());
    return dynamic_cast<const ShapeGroup *>(&s) ? 0 : primitives(s);
}

// Values of the shape itself, not of its BSDF and other objects inside.
bool follows_gradients(Shape &s) {
    Params p(Params::Mode::Traverse);
    s.declare(p);
    for (const Param &q : p.all()) {
        if (auto *b = std::get_if<BufferSlot>(&q.slot); b && b->data->grad_id())
            return true;
        if (auto *t = std::get_if<TransformSlot>(&q.slot); t && t->data->grad_id())
            return true;
        if (auto *f = std::get_if<Float *>(&q.slot); f && (*f)->grad_id())
            return true;
    }
    return false;
}

void bind_attributes(nb::class_<Shape, SceneObject> &c) {
    c.def(
         "has_attribute",
         [](const Shape &s, const std::string &name, const Mask &active) {
             return Mask(s.has_attribute(name)) & active;
         },
         nb::arg("name"), nb::arg("active") = true, "Whether the shape has such an attribute.")
        .def("eval_attribute", &Shape::eval_attribute, nb::arg("name"), nb::arg("si"),
             nb::arg("active") = true, "The attribute as a spectrum; zero where there is none.")
        .def("eval_attribute_1", &Shape::eval_attribute_1, nb::arg("name"), nb::arg("si"),
             nb::arg("active") = true, "The attribute as one number.")
        .def(
            "eval_attribute_3",
            [](const Shape &s, const std::string &name, const SurfaceInteraction &si,
               const Mask &active) { return as_color(s.eval_attribute_3(name, si, active)); },
            nb::arg("name"), nb::arg("si"), nb::arg("active") = true,
            "The attribute as three numbers.")
        .def("_eval_attribute_x", &Shape::eval_attribute_x, nb::arg("name"), nb::arg("si"),
             nb::arg("active") = true)
        .def("remove_attribute", &Shape::remove_attribute, nb::arg("name"),
             "Removes an attribute; an error where there is none.")
        .def("add_texture_attribute", &Shape::add_texture_attribute, nb::arg("name"),
             nb::arg("texture"),
             "Makes a texture an attribute of that name, also in place of another.")
        .def(
            "texture_attribute",
            [](const Shape &s, const std::string &name) {
                return to_python(s.texture_attribute(name));
            },
            nb::arg("name"), "The texture that is an attribute.");
}

} // namespace

void bind_shapes(nb::module_ &m) {
    nb::class_<Shape, SceneObject> c(m, "Shape", "A surface.");
    c.def("_bounds", [](const Shape &s) { return box_of(s.swept_bounds()); })
        .def("_primitive_bounds",
             [](const Shape &s, size_t i) {
                 if (i >= s.primitive_count())
                     throw nb::index_error(
                         fmt::format("bbox: there is no primitive {} of {}", i, s.primitive_count())
                             .c_str());
                 return box_of(s.primitive_bounds(i));
             })
        .def(
            "surface_area", [](const Shape &s) { return Float(s.area()); },
            "The area of the surface.")
        .def("_number", &Shape::global_number)
        .def("_revision", &Shape::revision)
        .def(
            "bsdf",
            [](Shape &s, nb::handle) {
                if (s.own_bsdf())
                    update_scenes();
                return to_python(s.bsdf());
            },
            nb::arg("active") = true, "How the surface scatters light.")
        .def(
            "set_bsdf",
            [](Shape &s, const Ref<BSDF> &bsdf) {
                s.set_bsdf(bsdf);
                update_scenes();
            },
            nb::arg("bsdf"), "Gives the surface another BSDF.")
        .def(
            "emitter",
            [](const Shape &s, nb::handle) {
                return s.emitter() ? to_python(s.emitter()) : nb::none();
            },
            nb::arg("active") = true, "The light that the surface is, or None.")
        .def(
            "is_emitter", [](const Shape &s) { return bool(s.emitter()); },
            "Whether it emits light.")
        .def(
            "sensor",
            [](const Shape &s, nb::handle) {
                return s.sensor() ? to_python(s.sensor()) : nb::none();
            },
            nb::arg("active") = true, "The sensor that is attached to the surface, or None.")
        .def(
            "is_sensor", [](const Shape &s) { return bool(s.sensor()); },
            "Whether a sensor is attached.")
        .def(
            "is_mesh", [](const Shape &s) { return dynamic_cast<const Mesh *>(&s) != nullptr; },
            "Whether it consists of triangles.")
        .def(
            "silhouette_sampling_weight",
            [](const Shape &s, nb::handle) { return silhouette_sampling_weight(s); },
            nb::arg("active") = true,
            "How often its silhouettes are chosen, relative to those of other shapes.")
        .def("has_flipped_normals", &Shape::flips_normals, "Whether flip_normals was set.")
        .def("shape_type", &Shape::type, "One of ShapeType.")
        .def("primitive_count", &primitives, "Number of its triangles or the like.")
        .def("effective_primitive_count", &effective_primitives, "The same, through instances.")
        .def("parameters_grad_enabled", &follows_gradients,
             "Whether derivatives of one of its own parameters are followed.")
        .def(
            "sample_position",
            [](const Shape &s, const Float &time, const Vector2 &u, const Mask &active) {
                return s.sample_position(time, u, active);
            },
            nb::arg("time"), nb::arg("sample"), nb::arg("active") = true,
            "Points on the surface, uniform in area.")
        .def(
            "pdf_position",
            [](const Shape &s, const PositionSample &ps, const Mask &active) {
                return select(active, s.pdf_position(ps, active), Float(0));
            },
            nb::arg("ps"), nb::arg("active") = true, "The density of sample_position, per area.")
        .def("sample_direction", &Shape::sample_direction, nb::arg("it"), nb::arg("sample"),
             nb::arg("active") = true, "Directions towards points of the surface.")
        .def("pdf_direction", &Shape::pdf_direction, nb::arg("it"), nb::arg("ps"),
             nb::arg("active") = true, "The density of sample_direction, per solid angle.")
        .def("_placement", [](const Shape &s) {
            TransformData first = s.steps(s.motion().value_or(TimeInterval())).front();
            return from_transform(first * s.placement());
        });
    bind_attributes(c);
    bind_mesh(m);
    m.def("live_shapes", [] { // of the variant in use
        enter();
        nb::list out;
        for (Shape *s : live_shapes())
            if (Ref<SceneObject> alive = s->weak_from_this().lock())
                out.append(nb::make_tuple(s->global_number(), to_python(alive)));
        return out;
    });
    m.def("shapes_epoch", &shapes_epoch);
}

} // namespace umbel::python
