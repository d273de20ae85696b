// core/object.h: the base of everything that a scene is made of, and how plugins are found by name.
#pragma once
#include "core/params.h"
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace umbel {

template <class T> using Ref = std::shared_ptr<T>;

/// A plugin instance. It belongs to the variant that was active when it was made.
class Object : public std::enable_shared_from_this<Object> {
public:
    Object() = default;
    Object(const Object &) = delete;
    virtual ~Object() = default;

    /// Names, types, defaults and meanings of all parameters: read by loaders, the manual and traverse() alike.
    virtual void declare(Params &) {}
    /// Computes what depends on parameters; runs after loading.
    virtual void configure() {}
    /// Parameters of these names have been replaced.
    virtual void changed(std::span<const std::string>) { configure(); }
    /// Some object inside this one has changed.
    virtual void child_changed() {}
    /// Likewise, with the parameters that the changed objects are.
    virtual void children_changed(std::span<const std::string>) { child_changed(); }

    /// Written in a script: what it does may differ from one time to the next.
    virtual bool is_scripted() const { return false; }

    /// The name it was given in the scene; may be empty.
    const std::string &id() const { return m_id ? *m_id : s_none; }
    void set_id(std::string id) {
        m_id = id.empty() ? nullptr : std::make_unique<const std::string>(std::move(id));
    }
    const std::string &plugin() const { return *m_plugin; }
    /// "bsdf", "shape" and so on.
    const std::string &kind() const { return *m_kind; }
    /// How messages about it begin: `room.xml:14: bsdf "floor" (diffuse)`.
    std::string where() const;
    /// UserError about this object.
    template <class... Args>
    [[noreturn]] void complain(fmt::format_string<Args...> f, Args &&...args) const {
        throw UserError(where() + ": " + fmt::format(f, std::forward<Args>(args)...));
    }

private:
    friend class Loader;
    /// One string for all that are equal: scenes have millions of objects of a few classes.
    static const std::string *shared(const std::string &text);

    std::unique_ptr<const std::string> m_id; // null: none, as most have
    static inline const std::string s_none;
    const std::string *m_plugin = &s_none, *m_kind = &s_none;
    SourceLocation m_location;
    bool m_is_loaded = false;
};

/// One plugin as the registry knows it.
struct Plugin {
    std::string kind, name; // "bsdf", "diffuse"
    std::function<Ref<Object>(const Properties &)> make;
};

/// All plugins, by kind and name.
class PluginRegistry {
public:
    static PluginRegistry &instance();
    void add(Plugin plugin);
    void remove(const std::string &kind, const std::string &name);
    /// Null where there is none.
    const Plugin *find(std::string_view kind, std::string_view name) const;
    std::vector<const Plugin *> all(std::string_view kind = {}) const;
    /// What dictionaries, which have no kinds, mean by a name: the one plugin that has it; of several, that of the kind that
    /// `parent` takes as its parameter `key`. "volume/constant" says the kind. UserError where there is none, or still several.
    const Plugin &find_by_name(std::string_view name, const Plugin *parent = nullptr,
                               std::string_view key = {}) const;
    /// Opens the shared libraries in the folders that UMBEL_PLUGINS names; once.
    void load_libraries();

private:
    std::map<std::pair<std::string, std::string>, Plugin> m_plugins;
    bool m_libraries_loaded = false;
};

/// Registers a class while the program starts: see UMBEL_PLUGIN.
struct RegisterPlugin {
    RegisterPlugin(const char *kind, const char *name,
                   std::function<Ref<Object>(const Properties &)> make);
};

/// `UMBEL_PLUGIN(BSDF, Diffuse, "diffuse")`: makes class Diffuse the bsdf of that name.
#define UMBEL_PLUGIN(Base, Class, name)                                                            \
    static const ::umbel::RegisterPlugin s_register_##Class(                                       \
        Base::Kind, name, [](const Properties &) {                                                 \
            return std::static_pointer_cast<Object>(std::make_shared<Class>());                    \
        });

/// Turns Properties into objects. An object that is shared in the scene is made once. All objects are declared first;
/// meanwhile files are read (core/reads_files.h), and then objects are configured, those inside of others before them.
class Loader {
public:
    /// Whether properties are given up as soon as their object is made, so that a large scene is not there twice.
    bool consumes = false;

    /// UserError for unknown plugins and parameters, with the nearest name.
    Ref<Object> load(const PropertiesPtr &properties);
    template <class T> Ref<T> load_as(const PropertiesPtr &properties) {
        Ref<T> r = std::dynamic_pointer_cast<T>(load(properties));
        if (!r)
            throw UserError(fmt::format("{}: is not a {}", properties->describe(), T::Kind));
        return r;
    }
    /// The texture that a colour or spectrum stands for.
    Ref<Object> load_spectrum(const SpectrumData &data, const Properties &owner);

private:
    struct Loaded {
        PropertiesPtr properties; // keeps the address taken
        Ref<Object> object;
    };
    struct Queue;
    Ref<Object> make(Properties &properties);
    Ref<Object> declare(Properties &properties);

    std::map<const Properties *, Loaded> m_loaded;
    std::shared_ptr<Queue> m_queue; // while something is being loaded
};

/// Loads one object on its own: `make_object<BSDF>(Properties("bsdf", "diffuse"))`.
template <class T> Ref<T> make_object(Properties properties) {
    Loader loader;
    return loader.load_as<T>(std::make_shared<Properties>(std::move(properties)));
}

} // namespace umbel
