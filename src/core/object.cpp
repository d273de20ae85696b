// core/object.cpp: the registry of plugins, and loading objects from Properties.
#include "core/object.h"
#include "core/limits.h"
#include "core/nearest_name.h"
#include "core/reads_files.h"
#include "jit/parallel.h"
#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <malloc.h>
#include <mutex>
#include <set>

namespace umbel {

PluginRegistry &PluginRegistry::instance() {
    static PluginRegistry registry;
    return registry;
}

void PluginRegistry::add(Plugin plugin) {
    auto key = std::pair(plugin.kind, plugin.name);
    m_plugins[key] = std::move(plugin);
}

void PluginRegistry::remove(const std::string &kind, const std::string &name) {
    m_plugins.erase({ kind, name });
}

const Plugin *PluginRegistry::find(std::string_view kind, std::string_view name) const {
    auto it = m_plugins.find({ std::string(kind), std::string(name) });
    return it == m_plugins.end() ? nullptr : &it->second;
}

// Kinds that an object of this plugin takes as that parameter; if it has none of the name, those that need no name.
static std::vector<std::string> expected_kinds(const Plugin &parent, std::string_view key) {
    Params params(Params::Mode::Describe);
    try {
        parent.make(Properties(parent.kind, parent.name))->declare(params);
    } catch (const std::exception &) { // a script's plugin that cannot do without parameters
        return {};
    }
    std::vector<std::string> unnamed;
    for (const Param &p : params.all()) {
        if (p.name == key)
            return { p.type };
        if (p.type != "texture") // which have names
            unnamed.push_back(p.type);
    }
    return unnamed;
}

const Plugin &PluginRegistry::find_by_name(std::string_view name, const Plugin *parent,
                                           std::string_view key) const {
    size_t slash = name.find('/');
    std::vector<const Plugin *> found = all(slash == name.npos ? "" : name.substr(0, slash));
    // The whole name where there is no slash
    std::erase_if(found, [&](const Plugin *p) { return p->name != name.substr(slash + 1); });
    if (found.size() > 1 && parent) {
        std::vector<std::string> kinds = expected_kinds(*parent, key);
        auto fits = [&](const Plugin *p) {
            return std::find(kinds.begin(), kinds.end(), p->kind) != kinds.end();
        };
        if (std::count_if(found.begin(), found.end(), fits) == 1)
            return **std::find_if(found.begin(), found.end(), fits);
    }
    if (found.size() > 1 &&
        name == "hair") // a shape of 0.5, too; in scripts of Mitsuba 3, the material
        return *find("bsdf", name);
    if (found.size() == 1)
        return *found[0];
    std::vector<std::string> names;
    for (const Plugin *p : found.empty() ? all() : found)
        names.push_back(found.empty() ? p->name : fmt::format("\"{}/{}\"", p->kind, p->name));
    if (found.empty())
        fail("unknown plugin {}{}", quote(name), suggestion(name, names, "plugins"));
    fail("there are several plugins {}; write {}", quote(name), fmt::join(names, " or "));
}

std::vector<const Plugin *> PluginRegistry::all(std::string_view kind) const {
    std::vector<const Plugin *> out;
    for (auto &[key, plugin] : m_plugins)
        if (kind.empty() || plugin.kind == kind)
            out.push_back(&plugin);
    return out;
}

// Python opens modules, and what they need, for themselves alone. Libraries of plugins are to find what they use, whether they
// name libumbel.so or not.
static void make_visible() {
    Dl_info here;
    if (dladdr(reinterpret_cast<void *>(&make_visible), &here))
        dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

// Scenes are loaded by several threads at a time; none goes on before all plugins are known.
void PluginRegistry::load_libraries() {
    static std::mutex mutex;
    std::lock_guard lock(mutex);
    const char *folders = std::getenv("UMBEL_PLUGINS");
    if (std::exchange(m_libraries_loaded, true) || !folders || !read_limits().plugin_libraries)
        return;
    make_visible();
    std::string_view left = folders;
    while (!left.empty()) {
        std::string folder(left.substr(0, left.find(':')));
        left.remove_prefix(std::min(left.size(), folder.size() + 1));
        if (folder.empty())
            continue;
        std::error_code error;
        std::filesystem::directory_iterator files(folder, error);
        if (error)
            fail("UMBEL_PLUGINS: cannot list the folder {}: {}", quote(folder), error.message());
        std::vector<std::filesystem::path> libraries;
        for (const auto &file : files)
            if (file.path().extension() == ".so")
                libraries.push_back(file.path());
        std::sort(libraries.begin(), libraries.end());
        for (const auto &library : libraries)
            if (!dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL))
                fail("UMBEL_PLUGINS: cannot load a plugin: {}; build it with this version's "
                     "headers, or take it out of the folder",
                     dlerror());
    }
}

RegisterPlugin::RegisterPlugin(const char *kind, const char *name,
                               std::function<Ref<Object>(const Properties &)> make) {
    PluginRegistry::instance().add({ kind, name, std::move(make) });
}

const std::string *Object::shared(const std::string &text) {
    static std::mutex mutex;
    static std::set<std::string> all; // whose elements stay where they are
    std::lock_guard lock(mutex);
    return &*all.insert(text).first;
}

std::string Object::where() const {
    if (!m_is_loaded)
        return {};
    Properties p(kind(), plugin(), id());
    p.where = m_location;
    return p.describe();
}

/// Objects that were declared, in this order, and what is being read for them.
struct Loader::Queue {
    std::vector<Ref<Object>> objects;
    jit::TaskGroup reading;
};

Ref<Object> Loader::load(const PropertiesPtr &properties) {
    if (properties->instance)
        return properties->instance;
    if (auto it = m_loaded.find(properties.get()); it != m_loaded.end())
        return it->second.object;
    Ref<Object> object = make(*properties);
    if (consumes)
        properties->instance = object;
    else
        m_loaded[properties.get()] = { properties, object };
    return object;
}

Ref<Object> Loader::make(Properties &properties) {
    if (m_queue) // it is inside of another one
        return declare(properties);
    m_queue = std::make_shared<Queue>();
    std::shared_ptr<Queue> queue = m_queue;
    Ref<Object> object;
    try {
        object = declare(properties);
    } catch (...) {
        m_queue.reset();
        queue->reading.wait();
        throw;
    }
    m_queue.reset();
    queue->reading.wait();
#ifdef __GLIBC__
    if (consumes) // what objects are made of is gone; it lay together, and what they compute comes on top
        malloc_trim(0);
#endif
    for (const Ref<Object> &o : queue->objects)
        o->configure();
    return object;
}

Ref<Object> Loader::declare(Properties &properties) {
    PluginRegistry &registry = PluginRegistry::instance();
    registry.load_libraries();
    std::string kind = properties.kind == "spectrum" ? "texture" : properties.kind;
    const Plugin *plugin = registry.find(kind, properties.type);
    if (!plugin) {
        std::vector<std::string> names;
        for (const Plugin *p : registry.all(kind))
            names.push_back(p->name);
        throw UserError(fmt::format("{}: unknown {} plugin {}{}", properties.describe(), kind,
                                    quote(properties.type),
                                    suggestion(properties.type, names, "plugins")));
    }
    Ref<Object> object = plugin->make(properties);
    if (!object)
        fail("{}: what makes this plugin gave nothing back", properties.describe());
    if (object->m_is_loaded) { // a script's function gave back what it had loaded, all of it
        if (object->kind() != kind)
            fail("{}: what makes this plugin gave back a {}", properties.describe(),
                 object->kind());
        properties.finish();
        if (!properties.id.empty())
            object->set_id(properties.id);
        return object;
    }
    object->set_id(properties.id);
    object->m_plugin = Object::shared(properties.type);
    object->m_kind = Object::shared(kind);
    object->m_location = properties.where;
    object->m_is_loaded = true;
    Params params(properties, *this);
    object->declare(params);
    properties.finish();
    if (consumes)
        properties.give_up();
    m_queue->objects.push_back(object); // first: what is read for must be there until it has been
    if (auto *reader = dynamic_cast<ReadsFiles *>(object.get()))
        m_queue->reading.run([reader] { reader->read_ahead(); });
    return object;
}

Ref<Object> Loader::load_spectrum(const SpectrumData &data, const Properties &owner) {
    using Kind = SpectrumData::Kind;
    const char *type = data.kind == Kind::Uniform     ? "uniform"
                       : data.kind == Kind::Rgb       ? "rgb"
                       : data.kind == Kind::Blackbody ? "blackbody"
                                                      : "irregular";
    Properties p("texture", type);
    p.where = owner.where;
    p.files = owner.files;
    p.set("value", data);
    return make(p);
}

} // namespace umbel
