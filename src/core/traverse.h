// core/traverse.h: the parameters of a scene by name, to be read, changed and differentiated.
//
//     SceneParameters params(scene);
//     Float *albedo = std::get<Float *>(params.at("floor.reflectance.value").param.slot);
//     *albedo = opaque_float(0.3);
//     params.update({ "floor.reflectance.value" });      // derived data follows; nothing is compiled
#pragma once
#include "core/object.h"
#include <optional>
#include <unordered_map>

namespace umbel {

/// How often somebody has changed an object of a scene: by SceneParameters::update, or by a setter, which tells.
uint64_t changes();
/// A setter of this object tells that what was traced from it is of use no longer.
void note_change(const Object &object);

/// A number, a switch or a word of the host, as scene files give it; nothing of other parameters, and outside of traversals.
std::optional<PropertyValue> setting(const Param &param);
/// Gives another value to such a parameter, which is checked as at loading: what becomes of it follows. UserError, with all
/// as it was, where the value or the object as a whole is not possible.
void change_setting(Object &object, const std::string &name, const PropertyValue &value);

struct SceneParameter {
    std::string key; // floor.reflectance.value
    Param param;
    Object *owner;
};

/// Keys begin with the name that an object was given in the scene, else with that of its plugin; an object that several
/// others share has the first one's key.
class SceneParameters {
public:
    explicit SceneParameters(Ref<Object> root);

    const std::vector<SceneParameter> &all() const { return m_all; }
    /// UserError with the nearest key.
    const SceneParameter &at(std::string_view key) const;
    /// Replaces a traced parameter (three values for a colour); data of the program from now on. Takes effect with update().
    void assign(std::string_view key, std::span<const Value> values) const;
    /// UserError where a number is not in the range that the parameter was declared with.
    void check_range(std::string_view key, double number) const;
    /// Tells the objects that own these keys, and those around them, of the change.
    void update(const std::vector<std::string> &keys);
    /// All values of the program that may carry derivatives: traced parameters and what was computed of them.
    std::vector<Value> traced() const;
    /// fn(value, key) for the same values where they live; the key is empty where it was computed of others.
    void each_value(const std::function<void(Value &, const std::string &)> &fn) const;
    /// The latest of changes() after which programs of any object in the tree are others: by a setter, or where update()
    /// passed on what is no value of the program.
    uint64_t last_change() const;
    const Ref<Object> &root() const { return m_root; }
    /// The object that this one was found in, and the parameter that it is there; null for the root.
    std::pair<const Object *, std::string_view> parent_of(const Object *object) const;

private:
    struct Place { // of an object in the tree
        Object *parent;
        std::string name; // the parent's parameter
    };
    void visit(Object &object, Place place, const std::string &prefix);
    bool is_inside(const Object *object, const Object *other) const;
    void each_place(Object *object, const std::function<void(const Place &)> &fn) const;
    std::string unique(std::string name);

    Ref<Object> m_root;
    std::vector<SceneParameter> m_all;
    std::vector<Value *> m_derived;
    std::unordered_map<Object *, Place> m_places;
    std::unordered_map<Object *, std::vector<Place>>
        m_other_places; // of objects that several share
    std::map<std::string, int, std::less<>> m_names;
};

} // namespace umbel
