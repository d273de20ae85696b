// render/instance.h: groups of shapes that stand in a scene many times.
//
// A group's shapes are stored once, in the group's own space. An instance is a transform of that space; a hit names its
// instance, and what is computed about the hit in the group's space is then moved to the scene's.
#pragma once
#include "render/shape.h"

namespace umbel {

/// Shapes that are seen only through instances.
class ShapeGroup : public Shape {
public:
    const std::vector<Ref<Shape>> &members() const { return m_members; }
    /// In the group's own space.
    BoundingBox bounds() const override;
    double area() const override { return 0; }

protected:
    PositionSample sample_rest_position(const Float &, const Vector2 &,
                                        const Mask &) const override;

    std::vector<Ref<Shape>> m_members;
};

class Instance : public Shape {
public:
    const ShapeGroup &group() const { return *m_group; }
    /// With what moves in the group.
    std::optional<TimeInterval> motion() const override;
    /// In the group's own space.
    BoundingBox bounds() const override { return m_group->bounds(); }
    double area() const override { return 0; }
    TransformData placement() const override { return {}; } // steps() have it

protected:
    PositionSample sample_rest_position(const Float &, const Vector2 &,
                                        const Mask &) const override;

    Ref<ShapeGroup> m_group;
};

} // namespace umbel
