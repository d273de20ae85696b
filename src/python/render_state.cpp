// python/render_state.cpp: what scripts attach to objects of a scene, for as long as these live.
//
// Objects of plugins in C++ have no dictionary: their Python faces come and go. A film remembers the blocks that were put
// into it, a sampler where in its sequence it is, under the address of the object.
#include "python/render_plugins.h"
#include <nanobind/stl/shared_ptr.h>
#include <unordered_map>

namespace umbel::python {

namespace {

struct Attached {
    std::weak_ptr<SceneObject> object;
    nb::dict values;
};
std::unordered_map<const SceneObject *, Attached> &attached() {
    static auto *map = new std::unordered_map<const SceneObject *, Attached>; // emptied by Python
    return *map;
}

nb::dict state_of(const Ref<SceneObject> &object) {
    auto &all = attached();
    auto it = all.find(object.get());
    if (it != all.end() && !it->second.object.expired())
        return it->second.values;
    std::erase_if(all, [](const auto &entry) { return entry.second.object.expired(); });
    return all.insert_or_assign(object.get(), Attached{ object, nb::dict() }).first->second.values;
}

} // namespace

void forget_state(const SceneObject &object, const char *entry) {
    if (PyObject *p = python_side(object)) {
        nb::object own = nb::getattr(nb::handle(p), "_umbel_state", nb::none());
        if (!own.is_none())
            own.attr("pop")(entry, nb::none());
        return;
    }
    auto it = attached().find(&object);
    if (it != attached().end() && it->second.values.contains(entry))
        nb::del(it->second.values[entry]);
}

void bind_state(nb::module_ &m) {
    m.def("state_of", &state_of);
    m.def("forget_states", [] { attached().clear(); });
}

} // namespace umbel::python
