// render/followed_camera.h: derivatives of a camera's place while an image is differentiated.
#pragma once
#include "render/motion.h"
#include "render/sensor.h"

namespace umbel {

/// While one lives, rays that leave the camera move with it: see Sensor::follow_to_world and Integrator::ignores_camera.
class FollowedCamera {
public:
    explicit FollowedCamera(const Sensor &sensor) : m_before(current()) {
        current() = &sensor.followed_to_world();
    }
    ~FollowedCamera() { current() = m_before; }
    FollowedCamera(const FollowedCamera &) = delete;
    FollowedCamera &operator=(const FollowedCamera &) = delete;

    static bool is_any() { return current() && current()->valid(); }
    /// From where the camera is to where it is: the identity, with derivatives.
    static InstanceTransform motion(const Mask &active) {
        return InstanceTransform::of_rows(jit::gather_packet(*current(), UInt32(0u), 12, active));
    }
    /// The ray, carried along; in lanes that hold none of the camera's, as it is.
    static Ray carry(const Ray &ray, const Mask &is_of_camera) {
        if (!is_any())
            return ray;
        InstanceTransform t = motion(is_of_camera);
        Ray out = ray;
        out.o = select(is_of_camera, t.point(ray.o), ray.o);
        out.d = select(is_of_camera, t.vector(ray.d), ray.d);
        return out;
    }

private:
    static const Float *&current() {
        thread_local const Float *camera = nullptr;
        return camera;
    }
    const Float *m_before;
};

} // namespace umbel
