// core/properties.h: the parameters of one plugin instance, from a scene file or dictionary.
//
// A scene is a graph of Properties: an object that is referenced twice is one shared record.
// Getters note what a plugin asks for, so that finish() can name what it did not understand.
#pragma once
#include "core/file_resolver.h"
#include "core/spectrum_data.h"
#include "core/transform_data.h"
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace umbel {

struct Properties;

struct SourceLocation {
    std::shared_ptr<const std::string> file; // null: not from a file
    int line = 0;

    /// `room.xml:14`, or empty.
    std::string str() const;
};

struct VectorData {
    double x = 0, y = 0, z = 0;
    bool is_point = false; // how it was written; getters take either

    bool operator==(const VectorData &) const = default;
};

/// An object named by its id, before resolve_references().
struct Reference {
    std::string id;

    bool operator==(const Reference &) const = default;
};

using PropertiesPtr = std::shared_ptr<Properties>; // a nested object
using PropertyValue =
    std::variant<bool, int64_t, double, std::string, VectorData, SpectrumData, TransformData,
                 AnimationData, PropertiesPtr, Reference, std::shared_ptr<const class Image>>;

struct Property {
    std::string name; // empty for nested objects without a name; those may repeat
    PropertyValue value;
    SourceLocation where;
    mutable bool queried = false; // a Properties record is read by one thread at a time

    const PropertiesPtr *object() const { return std::get_if<PropertiesPtr>(&value); }
};

struct Properties {
    std::string kind; // "bsdf": the element's name
    std::string type; // "diffuse": the plugin's name
    std::string id;   // may be empty
    SourceLocation where;
    std::shared_ptr<const FileResolver> files; // null: relative to the current folder
    std::shared_ptr<class Object> instance; // the object itself, where a script has made it already

    Properties() = default;
    Properties(std::string kind, std::string type, std::string id = {})
        : kind(std::move(kind)), type(std::move(type)), id(std::move(id)) {}

    /// A dictionary: `Properties("bsdf", "diffuse").set("reflectance", 0.25)`. Replaces a value of
    /// the same name; nested objects with an empty name are appended.
    Properties &set(std::string name, PropertyValue value, SourceLocation where = {});
    Properties &set(std::string name, Properties object);
    bool erase(std::string_view name);

    /// Does not count as a query.
    const Property *find(std::string_view name) const;
    Property *find(std::string_view name);
    bool has(std::string_view name) const;
    const std::vector<Property> &all() const { return m_values; }
    std::vector<Property> &all() { return m_values; }

    /// T: bool, int64_t, double, std::string, VectorData, SpectrumData, TransformData,
    /// AnimationData or PropertiesPtr. An integer serves as a double, a number as a uniform
    /// spectrum, a transform as an animation of one key. UserError if absent or of another type.
    template <class T> T get(std::string_view name) const;
    template <class T> T get(std::string_view name, T otherwise) const {
        const Property *p = query(name);
        return p ? convert<T>(*p) : otherwise;
    }
    /// A string parameter as an existing file; see FileResolver.
    std::filesystem::path get_file(std::string_view name) const;
    /// Nested objects in order of appearance, of one kind or of all; named ones too.
    std::vector<PropertiesPtr> objects(std::string_view kind = {}) const;

    /// Marks a parameter as understood, whether present or not.
    const Property *query(std::string_view name) const;
    /// Names of the parameters that nothing has asked for, in order; `<kind>` for unnamed objects.
    std::vector<std::string> unqueried() const;
    /// UserError for the first parameter that nothing has asked for, with the nearest of those
    /// names that were asked for.
    void finish() const;
    /// Forgets all parameters: an object was made of them.
    void give_up();

    /// `room.xml:14: bsdf "floor" (diffuse)`: how every message about this object begins.
    std::string describe() const;
    std::string describe(const Property &p) const; // with the parameter's own line
    /// Throws UserError about one parameter.
    [[noreturn]] void fail_at(const Property &p, std::string_view what) const;

private:
    template <class T> T convert(const Property &p) const;

    std::vector<Property> m_values;
    mutable std::vector<std::string> m_asked;
};

/// Another id for an object.
struct Alias {
    std::string id, as;
    SourceLocation where;
};

/// Replaces every Reference below `root` by the object of that id, wherever it stands in the graph.
/// UserError for unknown and repeated ids, objects that contain themselves, and nesting deeper than
/// `max_depth`.
void resolve_references(Properties &root, int max_depth = 100, std::span<const Alias> aliases = {});

/// Equal kinds, types, ids, names and values, in order; source locations do not matter.
bool same_content(const Properties &a, const Properties &b);

/// For messages: in quotes, on one line, cut if it is long.
std::string quote(std::string_view text);

/// A value for messages: `the float 0.5`.
std::string describe_value(const PropertyValue &value);

} // namespace umbel
