// render/shape_list.cpp: lists of shapes, and what they stand for.
#include "render/shape_list.h"

namespace umbel {

BoundingBox ShapeList::bounds() const {
    BoundingBox b;
    for (const Ref<Shape> &s : m_members)
        b.extend(s->bounds());
    return b;
}

PositionSample ShapeList::sample_rest_position(const Float &, const Vector2 &, const Mask &) const {
    complain("points on a list of shapes cannot be sampled");
}

void expand(std::vector<Ref<Shape>> &shapes) {
    std::vector<Ref<Shape>> out;
    bool any = false;
    for (Ref<Shape> &s : shapes) {
        auto *list = dynamic_cast<const ShapeList *>(s.get());
        if (!list) {
            out.push_back(s);
            continue;
        }
        std::vector<Ref<Shape>> members = list->members();
        expand(members);
        out.insert(out.end(), members.begin(), members.end());
        any = true;
    }
    if (any)
        shapes = std::move(out);
}

} // namespace umbel
