// python/freeze_inputs.h: what a frozen function is given, flat: the values of all arrays and scene objects in it.
//
// A call is like an earlier one if both have the same key: structure, types, numbers of Python's, which values are constants
// of programs, which are one value or have one size, which carry gradients. Contents and sizes are no part of it.
#pragma once
#include "core/traverse.h"
#include "python/helpers.h"
#include "python/render.h"
#include "render/film.h"

namespace umbel::python {

/// One value of the inputs, and its gradient.
struct FrozenInput {
    Value *place;   // in an array object or a scene object
    Value before;   // what is there when the call begins
    Value gradient; // not valid: none
    uint32_t slot, gradient_slot;
    static constexpr uint32_t NoSlot = ~0u;
};

/// A scene object among the inputs, with the values that it and what is in it have.
struct FrozenObject {
    std::shared_ptr<SceneParameters> params;
    size_t first = 0;              // input
    std::vector<std::string> keys; // by input: the parameter's; empty: derived from others
};

struct FrozenFilm { // its last image is state of the scene
    Ref<Film> film;
    Value image;
    uint32_t slot = FrozenInput::NoSlot;
};

class FrozenInputs {
public:
    /// `fields`: a dictionary from types to tuples of names, or None; asks `find_fields(type)` where it has no entry.
    FrozenInputs(nb::handle inputs, nb::dict fields, nb::callable find_fields);

    /// Values that are constants of programs, in order: their bits and sizes.
    std::vector<uint64_t> literals() const;
    /// Makes the literals of these numbers data; all without.
    void make_opaque(const std::vector<bool> *which);
    /// Evaluates all, and finds slots.
    void evaluate();
    /// Structure and constants: what makes calls comparable.
    const std::string &structure() const { return m_structure; }
    /// After evaluate().
    std::string key() const;
    /// Sizes of the slots' values, as bytes.
    std::string sizes() const;

    std::vector<nb::object> arrays; // in order
    std::vector<FrozenInput> values;
    std::vector<FrozenObject> objects;
    std::vector<FrozenFilm> films;
    std::vector<Value> slots;
    std::vector<nb::object> kept; // compared by identity
    uint64_t revision = 0;        // see SceneParameters::last_change

private:
    void walk(nb::handle h, int depth);
    void walk_array(Object *o);
    void walk_object(nb::handle h);
    void walk_constant(nb::handle h);
    void put(uint64_t v) { m_structure.append(reinterpret_cast<const char *>(&v), sizeof v); }
    uint32_t slot_of(const Value &v);

    nb::dict m_fields;
    nb::callable m_find_fields;
    std::string m_structure;
    std::vector<nb::object> m_temporary;
};

/// The last image of a film that a script rendered, and its shape (render_scene.cpp).
Value shown_image(const Ref<Film> &film, std::vector<size_t> *shape = nullptr);
void show_image(const Ref<Film> &film, const Value &image, std::vector<size_t> shape);

} // namespace umbel::python
