// render/placed_emitter.h: lights with a space of their own, which stands in the scene as `to_world` says, and may move.
#pragma once
#include "core/animated_transform.h"
#include "render/emitter.h"
#include <memory>

namespace umbel {

class PlacedEmitter : public Emitter {
public:
    /// Derived classes call it first.
    void configure() override;
    bool is_moving() const { return m_is_moving; }

protected:
    Param &declare_to_world(Params &p) { return p.animation("to_world", m_keys); }

    /// After loading: to_world leads from a space in which the light goes along +z, and no longer along `direction`.
    bool take_up(const TransformData::Vec &direction) { return m_keys.put_inside({}, direction); }
    /// Whether to_world() is asked for while the light stands still; what it takes is many times a point.
    virtual bool needs_transform() const { return true; }
    /// From its own space to the scene's.
    Transform to_world(const Float &time, const Mask &active = true) const {
        return m_transform->at(time, active);
    }
    /// Likewise, where the light stands still, or where its motion begins.
    const TransformData &first_place() const { return m_keys.transforms[0]; }
    /// Around wherever a point of its space ever is.
    BoundingBox swept_bounds(const std::array<double, 3> &p) const;
    /// Of light that leaves within an angle, of this cosine, to +z of its space.
    Directions around_z(double cosine) const;

private:
    AnimationData m_keys = { { 0 }, { {} } };
    std::unique_ptr<const AnimatedTransform> m_transform; // the same; set by configure()
    bool m_is_moving = false;
};

} // namespace umbel
