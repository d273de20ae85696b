// render/parallel_camera.h: cameras that show things the same size however far they are.
#pragma once
#include "render/camera.h"

namespace umbel {

/// Looks along +z of its own space, y up, x to the left. The film shows x from -1 to 1, and of y what its shape leaves room
/// for; a scale in `to_world` makes it larger.
class ParallelCamera : public Camera {
public:
    void declare(Params &p) override {
        Sensor::declare(p);
        declare_clip(p);
    }
    void configure() override {
        Sensor::configure();
        configure_clip(0);
    }
    Reach reach(const DirectionSample &ds, const Mask &active) const override {
        Vector3 axis = to_world_at(ds.time, active).vector({ 0, 0, 1 });
        Float step = squared_norm(axis) / dot(-ds.d, axis); // by which z grows by 1
        return { m_near_clip * step, m_far_clip * step };
    }

protected:
    /// In camera space, and back.
    Vector3 film_point(const Vector2 &film, const Float &z) const {
        return { 1 - 2 * film.x, (1 - 2 * film.y) * inv_aspect(), z };
    }
    Vector2 film_at(const Vector3 &p) const {
        return { (1 - p.x) * 0.5, (1 - p.y / inv_aspect()) * 0.5 };
    }
    /// Of the part of the film that is rendered, across the unit vector `d`.
    Float area(const Transform &to_world, const Vector3 &d) const {
        Vector3 film_normal = cross(to_world.vector({ 1, 0, 0 }), to_world.vector({ 0, 1, 0 }));
        return abs(dot(film_normal, d)) * inv_aspect() * rendered_part(4);
    }
    /// The film may have changed its size without telling.
    const Float &inv_aspect() const {
        double now = double(m_film->height()) / m_film->width();
        if (now != m_known) {
            m_inv_aspect = opaque_float(now);
            m_known = now;
        }
        return m_inv_aspect;
    }

private:
    mutable Float m_inv_aspect;
    mutable double m_known = 0; // that it is of; 0: none yet
};

} // namespace umbel
