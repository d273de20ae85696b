// render/sealed_media.cpp: see sealed_media.h.
#include "render/sealed_media.h"
#include "render/openings.h"
#include <algorithm>
#include <map>
#include <set>

namespace umbel {

static bool overlap(const BoundingBox &a, const BoundingBox &b) {
    for (size_t i = 0; i < 3; ++i)
        if (a.min[i] > b.max[i] || b.min[i] > a.max[i])
            return false;
    return true;
}

static bool separates_media(const Shape &s) { return s.interior() != s.exterior(); }

bool may_seal_media(std::span<const Shape *const> surfaces) {
    return std::any_of(surfaces.begin(), surfaces.end(), [](const Shape *s) {
        return s->interior() && separates_media(*s) && !s->bsdf()->has(BSDFFlags::Null);
    });
}

std::vector<uint32_t> sealed_media(std::span<const Shape *const> surfaces,
                                   std::span<const Ref<Shape>> shapes,
                                   std::span<const Ref<Sensor>> sensors,
                                   const Table<Emitter> &emitters, const Table<Medium> &media) {
    std::vector<uint32_t> sealed(media.objects().size() + 1);

    // Where light may get in, or be
    std::set<const Medium *> reached;
    for (const Ref<Sensor> &s : sensors)
        reached.insert(s->medium());
    for (const Emitter *e : emitters.objects())
        reached.insert(e->medium());
    std::set<const Shape *> of_groups(surfaces.begin(), surfaces.end());
    for (const Ref<Shape> &s : shapes)
        of_groups.erase(s.get());
    for (const Shape *s : surfaces) {
        bool has_inside = dynamic_cast<const Mesh *>(s) || s->type() == ShapeType::Sphere;
        if (separates_media(*s) && (!has_inside || s->is_moving() || of_groups.contains(s) ||
                                    s->bsdf()->has(BSDFFlags::Null)))
            reached.insert({ s->interior(), s->exterior() });
    }

    // What is around the others
    std::map<const Medium *, BoundingBox> boxes;
    std::vector<Ref<Shape>> around;
    for (const Ref<Shape> &s : shapes)
        if (s->interior() && separates_media(*s) && !reached.contains(s->interior())) {
            boxes[s->interior()].extend(s->bounds());
            around.push_back(s);
        }
    for (const Opening &o : find_openings(around))
        boxes.erase(o.shape->interior());
    for (auto &[medium, box] : boxes) {
        auto may_be_inside = [&box = box](const Emitter *e) {
            BoundingBox of_light = e->bounds();
            return of_light.is_empty() ? !e->has(EndpointFlags::Infinite) : overlap(of_light, box);
        };
        const std::vector<const Emitter *> &all = emitters.objects();
        sealed[media.number_of(medium)] = std::none_of(all.begin(), all.end(), may_be_inside);
    }
    return sealed;
}

} // namespace umbel
