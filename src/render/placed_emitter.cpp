// render/placed_emitter.cpp: see render/placed_emitter.h.
#include "render/placed_emitter.h"
#include <cmath>

namespace umbel {

void PlacedEmitter::configure() {
    try {
        m_transform = AnimatedTransform(m_keys);
    } catch (const UserError &e) {
        complain("to_world: {}", e.what());
    }
}

// Between two keys the origin moves on a straight line. Another point turns around it, never farther away than in one of the keys.
BoundingBox PlacedEmitter::swept_bounds(const std::array<double, 3> &p) const {
    BoundingBox box;
    double radius = 0;
    for (const TransformData &t : m_keys.transforms) {
        if (!is_moving()) {
            box.extend(t.apply_point(p));
            continue;
        }
        box.extend(t.apply_point({ 0, 0, 0 }));
        std::array<double, 3> away = t.apply_vector(p);
        radius = std::max(radius, std::hypot(away[0], away[1], away[2]));
    }
    for (size_t i = 0; i < 3; ++i) {
        box.min[i] -= radius;
        box.max[i] += radius;
    }
    return box;
}

} // namespace umbel
