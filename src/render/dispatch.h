// render/dispatch.h: calls of methods on the objects of a scene that lanes refer to by number.
#pragma once
#include "core/object.h"
#include "core/spectrum.h"
#include "jit/control.h"
#include <unordered_map>

namespace umbel {

namespace detail {
/// Makes Mueller matrices of spectra in `x` where `like` has one.
template <class T> void take_shape(T &x, const T &like) {
    if constexpr (std::is_same_v<T, Spectrum>) {
        if (like.is_mueller())
            x = x.dense();
    } else if constexpr (!std::is_base_of_v<Value, T> && (jit::HasFields<T> || jit::TupleLike<T>)) {
        auto each = [](auto &&fields, auto &&shapes) {
            [&]<size_t... I>(std::index_sequence<I...>) {
                (take_shape(std::get<I>(fields), std::get<I>(shapes)), ...);
            }(std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(fields)>>>());
        };
        if constexpr (jit::HasFields<T>)
            each(x.umbel_fields(), like.umbel_fields());
        else
            each(x, like);
    }
}
} // namespace detail

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
    /// Results are values, or structs, pairs and the like of them. Spectra become Mueller matrices where those of `none`
    /// are: objects need not agree whether they return such.
    template <class R, class Fn>
    R call(const char *name, const UInt32 &number, const Mask &active, const R &none,
           Fn &&fn) const {
        if (m_objects.empty())
            return none;
        std::optional<R> shape;
        auto trace = [&](uint32_t i) -> std::optional<std::vector<Value>> {
            shape.emplace(fn(*m_objects[i]));
            detail::take_shape(*shape, none);
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
