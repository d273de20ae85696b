// render/dispatch.h: calls of methods on the objects of a scene that lanes refer to by number.
#pragma once
#include "core/object.h"
#include "jit/control.h"
#include <unordered_map>

namespace umbel {

/// Objects of one kind; lanes name the first as 1, and none as 0.
template <class Base> class Table {
public:
    /// The object's number, entered where it is new; 0 for null.
    uint32_t add(const Base *object) {
        if (!object)
            return 0;
        auto [it, fresh] = m_numbers.emplace(object, uint32_t(m_objects.size() + 1));
        if (fresh)
            m_objects.push_back(object);
        return it->second;
    }
    /// Enters it again where it is known: for lists whose places have a meaning of their own.
    void append(const Base *object) { m_objects.push_back(object); }
    /// Of an object that was added; 0 for others.
    uint32_t number_of(const Base *object) const {
        auto it = m_numbers.find(object);
        return it == m_numbers.end() ? 0 : it->second;
    }
    const std::vector<const Base *> &objects() const { return m_objects; }
    bool empty() const { return m_objects.empty(); }

    /// fn(object) in the lanes that name it; zeros in lanes that name none. Without any object, `none`.
    /// Results are a struct; Mueller matrices must be dense.
    template <class R, class Fn>
    R call(const char *name, const UInt32 &number, const Mask &active, const R &none,
           Fn &&fn) const {
        if (m_objects.empty())
            return none;
        std::optional<R> shape;
        auto trace = [&](uint32_t i) -> std::optional<std::vector<Value>> {
            shape.emplace(fn(*m_objects[i]));
            return jit::detail::flatten(*shape);
        };
        auto values =
            jit::detail::call(name, number, active, {}, uint32_t(m_objects.size()), trace);
        R result = std::move(*shape);
        jit::detail::unflatten(result, std::move(values));
        return result;
    }

private:
    std::vector<const Base *> m_objects;
    std::unordered_map<const Base *, uint32_t> m_numbers; // of those that were added, not appended
};

} // namespace umbel
