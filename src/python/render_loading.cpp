// python/render_loading.cpp: scenes from files, strings and dictionaries.
#include "core/image.h"
#include "core/load_warnings.h"
#include "core/scene_file.h"
#include "python/helpers.h"
#include "python/render_plugins.h"
#include "render/scene.h"
#include <algorithm>
#include <map>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <set>

namespace umbel::python {

std::string utf8(nb::handle h, std::string_view where) {
    Py_ssize_t n = 0;
    if (const char *text = PyUnicode_AsUTF8AndSize(h.ptr(), &n))
        return { text, size_t(n) };
    PyErr_Clear();
    nb::object escaped = steal(PyObject_ASCII(h.ptr()));
    fail("{}: the text {} is no Unicode, as it has half of a pair of surrogates; write whole "
         "characters",
         where, nb::cast<std::string>(escaped).substr(0, 100));
}

namespace {

// Folders of umbel.file_resolver().
std::vector<std::filesystem::path> search_folders() {
    std::vector<std::filesystem::path> folders;
    for (nb::handle path : from_package("file_resolver")())
        folders.emplace_back(nb::cast<std::string>(nb::str(path)));
    return folders;
}

// Folders in which all files must lie that are read from now on; none: everywhere. For jobs of others.
std::vector<std::filesystem::path> &allowed_folders() {
    static std::vector<std::filesystem::path> list;
    return list;
}

void set_files(Properties &p, const std::shared_ptr<const FileResolver> &files) {
    if (p.files)
        return;
    p.files = files;
    for (const Property &property : p.all())
        if (const PropertiesPtr *o = property.object(); o && *o)
            set_files(**o, files);
}

// Plugins written in Python refer to their module's variables, and those to scenes: a circle that Python cannot see,
// since part of it is in C++. It is cut when the interpreter ends.
std::vector<std::weak_ptr<Scene>> &live_scenes() {
    static std::vector<std::weak_ptr<Scene>> list;
    return list;
}

/// The beginning of what Python writes for an object, for messages.
std::string shown(nb::handle h) {
    nb::object text = nb::repr(h);
    if (!PyUnicode_AsUTF8AndSize(text.ptr(), nullptr)) { // no Unicode
        PyErr_Clear();
        text = steal(PyObject_ASCII(h.ptr()));
    }
    text = steal(PyUnicode_Substring(text.ptr(), 0, 100));
    return nb::cast<std::string>(text);
}

/// What must be text; `what` says in which place.
std::string text_of(nb::handle h, std::string_view what) {
    if (!PyUnicode_Check(h.ptr()))
        fail("{} is to be a string, not {}", what, shown(h));
    return utf8(h, what);
}

/// Whether objects of its class have this attribute. Some, such as mocks, themselves claim to have any.
bool has(nb::handle h, const char *attribute) {
    return nb::hasattr(h.type(), attribute) ||
           (nb::hasattr(h.type(), "__array__") && nb::hasattr(h, attribute));
}

/// The dictionaries that are being read, each inside of the one before.
class Nesting {
public:
    Nesting(nb::dict d, std::string_view key) {
        constexpr size_t Most = 100; // as for files
        if (std::find(s_open.begin(), s_open.end(), d.ptr()) != s_open.end())
            fail("parameter {}: the dictionary is inside itself; break the circle", quote(key));
        if (s_open.size() >= Most)
            fail("parameter {}: dictionaries are nested more than {} deep; flatten them",
                 quote(key), Most);
        s_open.push_back(d.ptr());
    }
    ~Nesting() { s_open.pop_back(); }
    Nesting(const Nesting &) = delete;

private:
    static inline thread_local std::vector<PyObject *> s_open;
};

/// How many objects a dictionary becomes: one that is in several places does so in each. `known` are those of others;
/// circles, and what is too deep, are found when it is read.
double count_objects(nb::dict d, std::map<PyObject *, double> &known, int depth = 0) {
    auto [it, is_new] = known.try_emplace(d.ptr(), 1);
    if (!is_new || depth > 100)
        return it->second;
    double n = 1;
    for (auto [key, value] : d)
        if (nb::isinstance<nb::dict>(value))
            n += count_objects(nb::cast<nb::dict>(value), known, depth + 1);
    return known[d.ptr()] = n;
}

void check_copies(nb::dict d) {
    constexpr double Most = 1e6;
    std::map<PyObject *, double> known;
    double n = count_objects(d, known);
    if (n - double(known.size()) > Most)
        fail("the dictionary has {} others, which are in it so often that it describes {:.3g} "
             "objects; load what is shared once, or give it an \"id\" and refer to that",
             known.size() - 1, n);
}

std::vector<double> numbers(nb::handle h) {
    nb::object flat = nb::module_::import_("numpy").attr("ravel")(h).attr("tolist")();
    std::vector<double> out;
    for (nb::handle v : flat)
        out.push_back(nb::cast<double>(v));
    return out;
}

// {"type": "rgb", "value": [r, g, b]} and {"type": "spectrum", "value": ...} are values, not objects. A spectrum has one
// number, pairs of wavelength and value, `wavelengths` beside the values, or a file of them.
bool is_colour(nb::dict d, const std::string &type) {
    return ((type == "rgb" || type == "spectrum") && d.contains("value")) ||
           (type == "spectrum" && d.contains("filename"));
}
SpectrumData numbers_of_colour(nb::dict d, const std::string &type) {
    SpectrumData s;
    if (d.contains("filename")) {
        s.kind = SpectrumData::Kind::Tabulated;
        s.filename = utf8(nb::str(d["filename"]), "the \"filename\" of a spectrum");
        nb::object table = from_package("spectrum_from_file")(s.filename);
        s.wavelengths = numbers(table[0]);
        s.values = numbers(table[1]);
        return s;
    }
    nb::object value = d["value"];
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
    if (d.contains("wavelengths")) {
        s.wavelengths = numbers(d["wavelengths"]);
        s.values = numbers(value);
        if (s.wavelengths.size() != s.values.size())
            fail("a spectrum has {} wavelengths and {} values; it must have as many of both",
                 s.wavelengths.size(), s.values.size());
        return s;
    }
    for (nb::handle pair : value) {
        s.wavelengths.push_back(nb::cast<double>(pair[0]));
        s.values.push_back(nb::cast<double>(pair[1]));
    }
    return s;
}

SpectrumData colour_from(nb::dict d, const std::string &type) {
    auto complain = [&] {
        nb::object value = d.contains("value") ? nb::object(d["value"]) : nb::none();
        fail("the value of a colour or spectrum is a number, three of them, or pairs of wavelength "
             "and value, not {}",
             shown(value));
    };
    try {
        return numbers_of_colour(d, type);
    } catch (const nb::cast_error &) {
        complain();
    } catch (const nb::python_error &e) { // what NumPy makes no array of, what has no elements
        if (!e.matches(PyExc_ValueError) && !e.matches(PyExc_TypeError) &&
            !e.matches(PyExc_IndexError) && !e.matches(PyExc_KeyError))
            throw;
        complain();
    }
    return {};
}

nb::object load(Properties root) {
    LoadWarnings warnings;
    Ref<SceneObject> object;
    {
        Loader loader;
        loader.consumes = true;
        object = loader.load(std::make_shared<Properties>(std::move(root)));
    }
    for (const std::string &text : warnings.texts)
        from_package("Log")(from_package("LogLevel").attr("Warn"), text);
    if (Ref<Scene> scene = std::dynamic_pointer_cast<Scene>(object)) {
        std::erase_if(live_scenes(), [](const auto &s) { return s.expired(); });
        live_scenes().push_back(scene);
    }
    return to_python(object);
}

} // namespace

// Slices of a volume, one below the other; `box` is where the volume lies, or none.
static std::shared_ptr<const Image> volume_from(nb::handle array, nb::handle box) {
    auto shape = nb::cast<std::vector<size_t>>(array.attr("shape"));
    nb::object numbers =
        nb::hasattr(array, "numpy") ? nb::object(array.attr("numpy")()) : nb::borrow(array);
    auto slices = numbers.attr("reshape")(shape[0] * shape[1], shape[2], shape[3]);
    auto image = std::make_shared<Image>(
        nb::cast<const Image &>(nb::object(from_package("Bitmap")(slices))));
    image->metadata["depth"] = int64_t(shape[0]);
    if (!box.is_none()) {
        auto b = nb::cast<std::vector<double>>(box);
        image->metadata["min"] = std::array{ b[0], b[1], b[2] };
        image->metadata["max"] = std::array{ b[3], b[4], b[5] };
    }
    return image;
}

// Whether it is an array of one or two dimensions, and neither a vector nor a matrix of four by four.
static bool is_table(nb::handle h) {
    if (!has(h, "shape"))
        return false;
    auto shape = nb::cast<std::vector<size_t>>(h.attr("shape"));
    return shape.size() == 2 ? shape[0] != 4 || shape[1] != 4 : shape.size() == 1 && shape[0] > 16;
}
// As an image of one channel, a number a pixel.
static std::shared_ptr<const Image> table_from(nb::handle array) {
    auto shape = nb::cast<std::vector<size_t>>(array.attr("shape"));
    nb::object rows =
        nb::hasattr(array, "numpy") ? nb::object(array.attr("numpy")()) : nb::borrow(array);
    return std::make_shared<const Image>(nb::cast<const Image &>(nb::object(
        from_package("Bitmap")(rows.attr("reshape")(shape.size() > 1 ? shape[0] : 1, -1, 1)))));
}

// Not one of the few numbers that make a vector or a matrix.
static bool is_tensor_like(nb::handle h) {
    if (is_array(h.ptr()))
        return is_tensor(as_array(h.ptr()));
    if (!has(h, "dtype") || !has(h, "shape"))
        return false;
    auto shape = nb::cast<std::vector<size_t>>(h.attr("shape"));
    return shape.size() > 2 || (shape.size() == 1 && shape[0] > 3) ||
           (shape.size() == 2 && (shape[0] != shape[1] || shape[0] > 4));
}

PropertyValue value_from(nb::handle h, const std::string &key, const Plugin &owner) {
    PyObject *o = h.ptr();
    if (PyBool_Check(o))
        return nb::cast<bool>(h);
    if (PyLong_Check(o)) {
        int64_t number = PyLong_AsLongLong(o);
        if (number == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            fail("parameter {}: the integer {} has more than 64 bits; write it as a float",
                 quote(key), shown(h));
        }
        return number;
    }
    if (PyFloat_Check(o))
        return nb::cast<double>(h);
    auto text = [&](nb::handle s) { return utf8(s, fmt::format("parameter {}", quote(key))); };
    if (PyUnicode_Check(o))
        return text(h);
    if (nb::isinstance<nb::dict>(h)) {
        nb::dict d = nb::cast<nb::dict>(h);
        auto part = [&](const char *name) {
            return fmt::format("parameter {}: the {} of its dictionary", quote(key), quote(name));
        };
        std::string type = d.contains("type") ? text_of(d["type"], part("type")) : "";
        if (is_colour(d, type))
            return colour_from(d, type);
        if (type == "ref" && !d.contains("id"))
            fail("parameter {}: a reference has no \"id\"", quote(key));
        if (type == "ref")
            return Reference{ text_of(d["id"], part("id")) };
        return from_dict(d, {}, &owner, key);
    }
    if (nb::isinstance<AnimationData>(h))
        return nb::cast<AnimationData>(h);
    if (nb::isinstance<SceneObject>(h)) {
        auto p = std::make_shared<Properties>();
        // A sampler as loops have it is another place in the numbers of one
        nb::object own =
            nb::inst_ready(h) ? nb::borrow(h) : nb::getattr(h, "_source", nb::borrow(h));
        if (!nb::try_cast(own, p->instance))
            fail("parameter {}: the {} has not been loaded; load it first, as by load_dict()",
                 quote(key), Py_TYPE(o)->tp_name);
        p->kind = p->instance->kind();
        p->type = p->instance->plugin();
        p->id = p->instance->id();
        return p;
    }
    if (is_transform(h))
        return to_transform(h);
    if (has(h, "__fspath__"))
        return text(nb::str(h));
    if (nb::isinstance<Image>(h)) // a Bitmap; scripts may change theirs
        return std::make_shared<const Image>(nb::cast<const Image &>(h));
    auto complain = [&] {
        fail("parameter {} has a value that scenes have no place for: {}", quote(key), shown(h));
    };
    if (!is_array(o) && has(h, "dtype") && nb::len(nb::object(h.attr("shape"))) == 0) {
        nb::object item = h.attr("item")(); // a number of NumPy's
        if (!is_number(item.ptr()) && !PyUnicode_Check(item.ptr()))
            complain();
        return value_from(item, key, owner);
    }
    if (is_written_in_python(owner) && is_tensor_like(h)) {
        auto p = std::make_shared<Properties>("value", "tensor");
        p->instance = std::make_shared<PyValue>(
            is_array(o) ? nb::borrow(h) : nb::object(from_package("TensorXf")(h)));
        return p;
    }
    if (has(h, "shape") && nb::len(nb::object(h.attr("shape"))) == 3) // rows, columns and channels
        return std::make_shared<const Image>(
            nb::cast<const Image &>(nb::object(from_package("Bitmap")(h))));
    if (nb::isinstance(h, from_package("VolumeGrid")))
        return volume_from(h.attr("_data"), h.attr("_box"));
    if (has(h, "shape") && nb::len(nb::object(h.attr("shape"))) == 4)
        return volume_from(h, nb::none());
    if (is_table(h))
        return table_from(h);
    try {
        std::vector<double> v = numbers(h);
        if (v.size() == 1)
            return v[0];
        if (v.size() == 16 && has(h, "shape"))
            return to_transform(h);
        if (v.size() == 3 || (v.size() == 2 && is_written_in_python(owner)))
            return VectorData{ v[0], v[1], v.size() == 3 ? v[2] : 0 };
        if (v.size() == 2)
            fail("parameter {} has two numbers; points and vectors have three", quote(key));
    } catch (const nb::cast_error &) {    // no numbers
    } catch (const nb::python_error &e) { // nor anything that NumPy makes an array of
        if (!e.matches(PyExc_ValueError) && !e.matches(PyExc_TypeError))
            throw;
    }
    complain();
    return {};
}

void check_allowed(const std::filesystem::path &path) {
    FileResolver fence;
    fence.restrict_to(allowed_folders());
    if (!fence.allows(path))
        fail("{}: is outside the allowed folders; move it or allow its folder with "
             "--restrict-paths",
             path.string());
    std::error_code error;
    if (!allowed_folders().empty() && std::filesystem::exists(path, error) &&
        !std::filesystem::is_regular_file(path, error))
        fail("{}: is a folder, a device or a pipe; name a regular file", path.string());
}

SceneFileOptions options_from(nb::dict definitions) {
    SceneFileOptions o;
    o.allowed_folders = allowed_folders();
    o.search_folders = search_folders();
    for (auto [key, value] : definitions)
        o.definitions[utf8(key, "the name of a definition")] =
            utf8(nb::str(value), "the value of a definition");
    return o;
}

static void collect_ids(const Properties &p, std::set<std::string> &ids) {
    for (const Property &property : p.all())
        if (const PropertiesPtr *o = property.object(); o && *o) {
            ids.insert((*o)->id);
            collect_ids(**o, ids);
        }
}

// What has an id of its own is found by the key of the dictionary, too, unless that is the id of another.
static std::vector<Alias> keys_as_ids(const Properties &root) {
    std::vector<Alias> aliases;
    std::set<std::string> ids;
    for (const Property &property : root.all()) {
        const PropertiesPtr *o = property.object();
        if (!o || !*o || (*o)->id.empty() || (*o)->id == property.name || property.name.empty())
            continue;
        if (ids.empty())
            collect_ids(root, ids);
        if (ids.insert(property.name).second)
            aliases.push_back({ (*o)->id, property.name, {} });
    }
    return aliases;
}

nb::object load_resolved(Properties &root) {
    resolve_references(root, 100, keys_as_ids(root));
    auto files = std::make_shared<FileResolver>();
    for (const std::filesystem::path &folder : search_folders())
        files->add_folder(folder);
    files->restrict_to(allowed_folders());
    set_files(root, files);
    return load(std::move(root)); // which nobody asks for again
}

static void tell_scenes(bool only_outdated) {
    std::vector<std::weak_ptr<Scene>> scenes = live_scenes();
    for (const std::weak_ptr<Scene> &s : scenes)
        if (Ref<Scene> scene = s.lock(); scene && (!only_outdated || scene->is_outdated())) {
            VariantScope scope(scene->scene_variant());
            scene->child_changed();
        }
}
void update_scenes() { tell_scenes(false); }
void update_outdated_scenes() { tell_scenes(true); }

// Whether a plugin takes what a dictionary gives it, nested objects aside, and gets all that it needs.
static bool takes(const Plugin &plugin, nb::dict d) {
    Params params(Params::Mode::Describe);
    try {
        plugin.make(Properties(plugin.kind, plugin.name))->declare(params);
    } catch (const std::exception &) { // a script's plugin that cannot do without parameters
        return true;
    }
    for (const Param &p : params.all())
        if (p.is_required && !d.contains(p.name.c_str()))
            return false;
    for (auto [k, value] : d) {
        if (nb::isinstance<nb::dict>(value) || !nb::isinstance<nb::str>(k))
            continue;
        auto key = nb::cast<std::string>(k);
        bool known = key == "type" || key == "id";
        for (const Param &p : params.all())
            known = known || p.name == key;
        if (!known)
            return false;
    }
    return true;
}

// Of several plugins of one name, such as the material and the shape `hair`, the one that takes these parameters.
static std::string told_by_parameters(std::string type, nb::dict d) {
    std::vector<const Plugin *> found = PluginRegistry::instance().all();
    std::erase_if(found, [&](const Plugin *p) { return p->name != type; });
    if (found.size() > 1)
        std::erase_if(found, [&](const Plugin *p) { return !takes(*p, d); });
    return found.size() == 1 ? found[0]->kind + "/" + type : type;
}

PropertiesPtr from_dict(nb::dict d, std::string id, const Plugin *parent, std::string_view name) {
    if (!parent)
        check_copies(d);
    Nesting nesting(d, name);
    if (!d.contains("type"))
        fail("{}a dictionary of a scene has no \"type\": {}",
             name.empty() ? "" : fmt::format("{}: ", name), shown(d));
    PluginRegistry &registry = PluginRegistry::instance();
    registry.load_libraries();
    std::string type =
        text_of(d["type"], fmt::format("{}the \"type\" of a dictionary of a scene",
                                       name.empty() ? "" : fmt::format("{}: ", name)));
    if (!parent || parent->kind == "scene") // elsewhere the place tells
        type = told_by_parameters(type, d);
    const Plugin &plugin = registry.find_by_name(type, parent, name);
    auto p = std::make_shared<Properties>(plugin.kind, plugin.name, std::move(id));
    if (d.contains("id"))
        p->id = text_of(d["id"], fmt::format("the \"id\" of a {}", plugin.name));
    bool scene = p->type == "scene";
    for (auto [k, value] : d) {
        std::string key = text_of(k, fmt::format("the name of a parameter of {}", plugin.name));
        if (key == "type" || key == "id")
            continue;
        if (key.find('.') != key.npos)
            fail("the name {} has a dot, which stands between names of nested objects; use "
                 "another character",
                 quote(key));
        PropertyValue v = value_from(value, key, plugin);
        if (auto *o = std::get_if<PropertiesPtr>(&v); scene && o && (*o)->id.empty())
            (*o)->id = key;
        p->set(std::move(key), std::move(v));
    }
    return p;
}

// What the file's reader remarks is said, such as definitions that the scene does not use.
template <class Parse> static nb::object load_text(nb::dict definitions, const Parse &parse) {
    enter();
    std::vector<std::string> remarks;
    SceneFileOptions options = options_from(definitions);
    options.warnings = &remarks;
    Properties scene = parse(options);
    for (std::string &remark : remarks)
        warn_while_loading(std::move(remark));
    return load(std::move(scene));
}

void bind_loading(nb::module_ &m) {
    m.def("restrict_paths", [](const std::vector<std::string> &folders) {
        FileResolver().restrict_to({ folders.begin(), folders.end() }); // complains of empty names
        allowed_folders().assign(folders.begin(), folders.end());
    });
    m.def("check_allowed", [](const std::string &path) { check_allowed(path); });
    // Those of the command line, by name; returns how many pixels an image may have, or 0
    m.def("limit_process", [](bool untrusted, const std::string &scene, const std::string &image,
                              const std::string &memory, size_t pixels, double seconds) {
        ReadOptions o{ untrusted, scene, image, memory, pixels, seconds };
        o.apply();
        return o.max_pixels;
    });
    m.def("load_file", [](nb::object path, nb::kwargs definitions) {
        return load_text(definitions, [&](const SceneFileOptions &options) {
            return parse_scene_file(utf8(nb::str(path), "load_file()"), options);
        });
    });
    m.def("load_string", [](nb::str scene, nb::kwargs definitions) {
        std::string text = utf8(scene, "load_string()");
        return load_text(definitions, [&](const SceneFileOptions &options) {
            return parse_scene_string(text, options);
        });
    });
    m.def("check_dict", [](nb::dict d) { // names that two objects have, or none
        enter();
        PropertiesPtr root = from_dict(d, {});
        resolve_references(*root, 100, keys_as_ids(*root));
    });
    m.def(
        "load_dict",
        [](nb::dict d) {
            enter();
            if (d.contains("type")) {
                std::string type = text_of(d["type"], "the \"type\" of a dictionary of a scene");
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
            return load_resolved(*p);
        },
        "Loads a scene, or one object, from nested dictionaries.");
    m.def("release_scenes", [] {
        for (const std::weak_ptr<Scene> &s : live_scenes())
            if (Ref<Scene> scene = s.lock())
                scene->release();
        live_scenes().clear();
    });
}

} // namespace umbel::python
