// render/placed_emitter.cpp: see render/placed_emitter.h.
#include "render/placed_emitter.h"
#include <cmath>

namespace umbel {

void PlacedEmitter::configure() {
    try {
        std::unique_ptr<const AnimatedTransform> next;
        if (m_keys.times.size() > 1 || needs_transform())
            next = std::make_unique<AnimatedTransform>(m_keys);
        else
            decompose(m_keys.transforms[0]); // which complains
        m_is_moving = next && !next->is_static();
        m_transform = std::move(next);
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

// Nothing is known of axes that turn, nor of cones that are no cones any more where space is stretched unevenly.
Emitter::Directions PlacedEmitter::around_z(double cosine) const {
    Directions out{ { { 0, 0, 0 }, 1 }, cosine };
    for (const TransformData &t : m_keys.transforms) {
        std::array<double, 3> axes[3] = { t.apply_vector({ 1, 0, 0 }), t.apply_vector({ 0, 1, 0 }),
                                          t.apply_vector({ 0, 0, 1 }) };
        auto dot = [](const std::array<double, 3> &a, const std::array<double, 3> &b) {
            return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        };
        double length2 = dot(axes[2], axes[2]);
        for (size_t i = 0; i < 3; ++i)
            for (size_t k = 0; k <= i; ++k)
                if (!(std::abs(dot(axes[i], axes[k]) / length2 - (i == k)) < 1e-6))
                    return {};
        std::array<double, 3> &axis = axes[2];
        for (double &v : axis)
            v /= std::sqrt(length2);
        if (&t == &m_keys.transforms[0])
            out.normals.axis = axis;
        else if (!(dot(axis, out.normals.axis) > 1 - 1e-10))
            return {};
    }
    return out;
}

} // namespace umbel
