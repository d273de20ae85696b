// python/render.h: the renderer's part of `umbel._core`.
#pragma once
#include "core/object.h"
#include "core/scene_file.h"
#include <nanobind/nanobind.h>

namespace umbel::python {

namespace nb = nanobind;
using SceneObject = umbel::Object; // Object is that of arrays here

void bind_render(nb::module_ &m);        // render_module.cpp
void bind_objects(nb::module_ &m);       // render_objects.cpp
void bind_shapes(nb::module_ &m);        // render_shape.cpp
void bind_mesh(nb::module_ &m);          // render_mesh.cpp
void bind_media(nb::module_ &m);         // render_media.cpp
void bind_loading(nb::module_ &m);       // render_loading.cpp
void bind_nodes(nb::module_ &m);         // render_nodes.cpp
void bind_params(nb::module_ &m);        // render_params.cpp
void bind_scene(nb::module_ &m);         // render_scene.cpp
void bind_plugins(nb::module_ &m);       // render_plugins.cpp
void bind_bitmap(nb::module_ &m);        // render_bitmap.cpp
void bind_warp(nb::module_ &m);          // render_warp.cpp
void bind_mueller(nb::module_ &m);       // render_mueller.cpp
void bind_core(nb::module_ &m);          // render_core.cpp
void bind_distributions(nb::module_ &m); // render_distributions.cpp
void bind_state(nb::module_ &m);         // render_state.cpp
void bind_blocks(nb::module_ &m);        // render_block.cpp

/// The object as what its interface is: a BSDF, a Shape...
nb::object to_python(const Ref<SceneObject> &object);
nb::object to_python(const SceneObject *object);
/// Drops an entry of what scripts have attached to an object; see render_state.cpp.
void forget_state(const SceneObject &object, const char *entry);
/// A scene from Python's dictionary, or what is the parameter `name` of a plugin `parent`; see render_loading.cpp.
PropertiesPtr from_dict(nb::dict d, std::string id, const Plugin *parent = nullptr,
                        std::string_view name = {});
/// What a string of Python's says; UserError that begins with `where` if that is no Unicode.
std::string utf8(nb::handle h, std::string_view where);
/// A value of a dictionary; `owner` is the plugin whose parameter it is.
PropertyValue value_from(nb::handle h, const std::string &key, const Plugin &owner);
/// The object of properties that come from no file: references are resolved, and files looked for in the folders of
/// umbel.file_resolver().
nb::object load_resolved(Properties &root);
/// UserError where `umbel optimize` is told not to read that file; see render_loading.cpp.
void check_allowed(const std::filesystem::path &path);
/// How files are read, with definitions by name.
SceneFileOptions options_from(nb::dict definitions);
/// Tells all scenes that some shape has changed.
void update_scenes();
/// Likewise, but only those whose shapes have changed without their being told.
void update_outdated_scenes();
/// Whatever Python has as a transform: 16 numbers, row by row.
bool is_transform(nb::handle h);
TransformData to_transform(nb::handle h);
nb::object from_transform(const TransformData &t);
/// A class or function of the package, such as "_records.Ray3f".
nb::object from_package(const char *path);

} // namespace umbel::python
