// render/instance.cpp: groups and instances.
#include "render/instance.h"

namespace umbel {

BoundingBox ShapeGroup::bounds() const {
    BoundingBox b;
    for (const Ref<Shape> &s : m_members)
        b.extend(s->bounds());
    return b;
}

PositionSample ShapeGroup::sample_rest_position(const Float &, const Vector2 &,
                                                const Mask &) const {
    complain("points on a group of shapes cannot be sampled");
}

std::optional<TimeInterval> Instance::motion() const {
    std::optional<TimeInterval> all = Shape::motion();
    for (const Ref<Shape> &s : m_group->members())
        if (auto m = s->motion())
            all = all ? all->united(*m) : *m;
    return all;
}

PositionSample Instance::sample_rest_position(const Float &, const Vector2 &, const Mask &) const {
    complain("points on an instance cannot be sampled");
}

} // namespace umbel
