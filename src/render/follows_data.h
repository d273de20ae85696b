// render/follows_data.h: shapes whose surface depends on arrays of their own that scripts may follow.
#pragma once
#include "core/vector.h"
#include <utility>

namespace umbel {

/// Of an analytic shape: derivatives reach hits through what intersect_primitive() and fill_primitive() record, where
/// is_following(). Elsewhere, as when trees are searched, they leave derivatives of the arrays alone.
class FollowsData {
public:
    virtual ~FollowsData() = default;
    /// Whether some array that the surface depends on carries derivatives.
    virtual bool follows_data() const = 0;
    /// Whether points stay where they are on the surface as it changes, wherever fill_primitive() is told so by on_ray(), and
    /// area_around() is known. Without that, paths have no derivatives by the arrays.
    virtual bool carries_points() const { return false; }
    /// Of the surface around a hit at p, with the u of its primitive: per unit of what stays the same there.
    virtual Float area_around(const Vector3 & /*p*/, const Float & /*u*/, const UInt32 & /*prim*/,
                              const Mask & /*active*/) const {
        return Float(1);
    }

    static bool is_following() { return s_on_ray != nullptr; }
    /// Where hits stay on their ray, rather than where they are on the surface.
    static const Mask &on_ray() { return *s_on_ray; }
    /// A hit is computed with derivatives, or without, as long as this lives.
    class Following {
    public:
        Following(bool on, Mask on_ray)
            : m_on_ray(std::move(on_ray)),
              m_before(std::exchange(s_on_ray, on ? &m_on_ray : nullptr)) {}
        ~Following() { s_on_ray = m_before; }
        Following(const Following &) = delete;

    private:
        Mask m_on_ray;
        const Mask *m_before;
    };

private:
    static inline thread_local const Mask *s_on_ray = nullptr;
};

} // namespace umbel
