// python/render_loading.cpp: scenes from files, strings and dictionaries.
#include "core/image.h"
#include "core/nearest_name.h"
#include "core/scene_file.h"
#include "python/helpers.h"
#include "python/render.h"
#include "render/scene.h"
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

namespace umbel::python {

namespace {

// Folders of umbel.file_resolver().
std::vector<std::filesystem::path> search_folders() {
    std::vector<std::filesystem::path> folders;
    for (nb::handle path : from_package("file_resolver")())
        folders.emplace_back(nb::cast<std::string>(nb::str(path)));
    return folders;
}

// Objects of a dictionary look for files in these folders.
void set_files(Properties &p, const std::shared_ptr<const FileResolver> &files) {
    if (p.files)
        return;
    p.files = files;
    for (const Property &property : p.all())
        if (const PropertiesPtr *o = property.object(); o && *o)
            set_files(**o, files);
}

SceneFileOptions options_from(nb::kwargs definitions) {
    SceneFileOptions o;
    o.search_folders = search_folders();
    for (auto [key, value] : definitions)
        o.definitions[nb::cast<std::string>(key)] = nb::cast<std::string>(nb::str(value));
    return o;
}

// Plugins written in Python refer to their module's variables, and those to scenes: a circle that Python cannot see,
// since part of it is in C++. It is cut when the interpreter ends.
std::vector<std::weak_ptr<Scene>> &live_scenes() {
    static std::vector<std::weak_ptr<Scene>> list;
    return list;
}

nb::object load(const Properties &root) {
    Loader loader;
    Ref<SceneObject> object = loader.load(std::make_shared<Properties>(root));
    if (Ref<Scene> scene = std::dynamic_pointer_cast<Scene>(object)) {
        std::erase_if(live_scenes(), [](const auto &s) { return s.expired(); });
        live_scenes().push_back(scene);
    }
    return to_python(object);
}

std::vector<double> numbers(nb::handle h) {
    nb::object flat = nb::module_::import_("numpy").attr("ravel")(h).attr("tolist")();
    std::vector<double> out;
    for (nb::handle v : flat)
        out.push_back(nb::cast<double>(v));
    return out;
}

// {"type": "rgb", "value": [r, g, b]} and {"type": "spectrum", "value": ...} are values, not objects.
bool is_colour(nb::dict d, const std::string &type) {
    return (type == "rgb" || type == "spectrum") && d.contains("value");
}
SpectrumData colour_from(nb::dict d, const std::string &type) {
    nb::object value = d["value"];
    SpectrumData s;
    if (type == "rgb") {
        std::vector<double> v = numbers(value);
        if (v.size() == 1)
            v.resize(3, v[0]);
        if (v.size() != 3)
            fail("a colour has three components, not {}", v.size());
        return SpectrumData::from_rgb({ v[0], v[1], v[2] });
    }
    if (PyNumber_Check(value.ptr()) && !PySequence_Check(value.ptr()))
        return SpectrumData::uniform(nb::cast<double>(value));
    s.kind = SpectrumData::Kind::Tabulated;
    for (nb::handle pair : value) {
        s.wavelengths.push_back(nb::cast<double>(pair[0]));
        s.values.push_back(nb::cast<double>(pair[1]));
    }
    return s;
}

PropertyValue value_from(nb::handle h, const std::string &key) {
    PyObject *o = h.ptr();
    if (PyBool_Check(o))
        return nb::cast<bool>(h);
    if (PyLong_Check(o))
        return nb::cast<int64_t>(h);
    if (PyFloat_Check(o))
        return nb::cast<double>(h);
    if (PyUnicode_Check(o))
        return nb::cast<std::string>(h);
    if (nb::isinstance<nb::dict>(h)) {
        nb::dict d = nb::cast<nb::dict>(h);
        std::string type = d.contains("type") ? nb::cast<std::string>(d["type"]) : "";
        if (is_colour(d, type))
            return colour_from(d, type);
        if (type == "ref")
            return Reference{ nb::cast<std::string>(d["id"]) };
        return from_dict(d, {});
    }
    if (nb::isinstance<SceneObject>(h)) {
        auto p = std::make_shared<Properties>();
        p->instance = nb::cast<Ref<SceneObject>>(h);
        p->kind = p->instance->kind();
        p->type = p->instance->plugin();
        p->id = p->instance->id();
        return p;
    }
    if (nb::hasattr(h, "_source")) // a sampler, as scripts hold it
        return value_from(h.attr("_source"), key);
    if (is_transform(h))
        return to_transform(h);
    if (nb::hasattr(h, "__fspath__"))
        return nb::cast<std::string>(nb::str(h));
    if (nb::isinstance<Image>(h)) // a Bitmap; scripts may change theirs
        return std::make_shared<const Image>(nb::cast<const Image &>(h));
    if (nb::hasattr(h, "shape") &&
        nb::len(nb::object(h.attr("shape"))) == 3) // rows, columns and channels
        return std::make_shared<const Image>(
            nb::cast<const Image &>(nb::object(from_package("Bitmap")(h))));
    std::vector<double> v = numbers(h);
    if (v.size() == 1)
        return v[0];
    if (v.size() == 16 && nb::hasattr(h, "shape"))
        return to_transform(h);
    if (v.size() == 3 || v.size() == 2)
        return VectorData{ v[0], v[1], v.size() == 3 ? v[2] : 0 };
    fail("parameter {} has a value that scenes have no place for: {}", quote(key),
         nb::cast<std::string>(nb::repr(h)));
}

} // namespace

void update_scenes() {
    for (const std::weak_ptr<Scene> &s : live_scenes())
        if (Ref<Scene> scene = s.lock()) {
            VariantScope scope(scene->scene_variant());
            scene->child_changed();
        }
}

PropertiesPtr from_dict(nb::dict d, std::string id) {
    if (!d.contains("type"))
        fail("a dictionary of a scene has no \"type\": {}",
             nb::cast<std::string>(nb::repr(d)).substr(0, 100));
    auto p = std::make_shared<Properties>();
    p->type = nb::cast<std::string>(d["type"]);
    p->id = d.contains("id") ? nb::cast<std::string>(d["id"]) : std::move(id);
    PluginRegistry &registry = PluginRegistry::instance();
    registry.load_libraries();
    if (const Plugin *plugin = registry.find_by_name(p->type))
        p->kind = plugin->kind;
    else {
        std::vector<std::string> names;
        for (const Plugin *q : registry.all())
            names.push_back(q->name);
        fail("unknown plugin {}{}", quote(p->type), suggestion(p->type, names, "plugins"));
    }
    bool scene = p->type == "scene";
    for (auto [k, value] : d) {
        std::string key = nb::cast<std::string>(k);
        if (key == "type" || key == "id")
            continue;
        PropertyValue v =
            scene && nb::isinstance<nb::dict>(value) && !is_colour(nb::cast<nb::dict>(value), "")
                ? PropertyValue(from_dict(nb::cast<nb::dict>(value), key))
                : value_from(value, key);
        p->set(std::move(key), std::move(v));
    }
    return p;
}

void bind_loading(nb::module_ &m) {
    m.def(
        "load_file",
        [](nb::object path, nb::kwargs definitions) {
            enter();
            return load(
                parse_scene_file(nb::cast<std::string>(nb::str(path)), options_from(definitions)));
        },
        "Loads a scene file; keyword arguments are what -D sets on the command line.");
    m.def(
        "load_string",
        [](const std::string &text, nb::kwargs definitions) {
            enter();
            return load(parse_scene_string(text, options_from(definitions)));
        },
        "Loads a scene from the text of a scene file.");
    m.def(
        "load_dict",
        [](nb::dict d) {
            enter();
            if (d.contains("type")) {
                std::string type = nb::cast<std::string>(d["type"]);
                if (is_colour(d, type)) {
                    Loader loader;
                    SpectrumData colour = colour_from(d, type);
                    // On its own a colour is that of a surface; numbers have no bound
                    if (colour.kind != SpectrumData::Kind::Uniform)
                        colour.intent = SpectrumData::Intent::Reflectance;
                    return to_python(loader.load_spectrum(colour, Properties()));
                }
            }
            PropertiesPtr p = from_dict(d, {});
            resolve_references(*p);
            auto files = std::make_shared<FileResolver>();
            for (const std::filesystem::path &folder : search_folders())
                files->add_folder(folder);
            set_files(*p, files);
            return load(*p);
        },
        "Loads a scene, or one object, from nested dictionaries.");
    m.def("release_scenes", [] {
        for (const std::weak_ptr<Scene> &s : live_scenes())
            if (Ref<Scene> scene = s.lock())
                scene->release();
        live_scenes().clear();
    });
    m.def("dict_to_xml", [](nb::dict d) { return to_xml(*from_dict(d, {})); });
}

} // namespace umbel::python
