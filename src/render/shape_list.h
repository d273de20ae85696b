// render/shape_list.h: shapes that stand for several others.
#pragma once
#include "render/shape.h"

namespace umbel {

/// Scenes and groups take the shapes that it stands for in its place, once it is configured.
class ShapeList : public Shape {
public:
    const std::vector<Ref<Shape>> &members() const { return m_members; }
    BoundingBox bounds() const override;
    double area() const override { return 0; }

protected:
    PositionSample sample_rest_position(const Float &, const Vector2 &,
                                        const Mask &) const override;

    std::vector<Ref<Shape>> m_members;
};

/// Puts what lists stand for in their places.
void expand(std::vector<Ref<Shape>> &shapes);

} // namespace umbel
