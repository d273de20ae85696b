// support/surface.h: a shape as a ray sees it, and what loading refuses.
#pragma once
#include "support/scenes.h"

namespace umbel::test {

struct SurfacePoint {
    bool is_hit;
    double t;
    std::array<double, 3> n;
    std::array<double, 2> uv;
};

/// Where the ray first meets the scene.
inline SurfacePoint seen_along(const std::string &body, const std::array<double, 3> &o,
                               const std::array<double, 3> &d) {
    auto vector = [](const std::array<double, 3> &v) {
        return Vector3(opaque_float(v[0]), opaque_float(v[1]), opaque_float(v[2]));
    };
    Ref<Scene> scene = scene_from(scene_xml(body, 4, 1));
    Ray ray{ vector(o), vector(d), Float(std::numeric_limits<double>::infinity()), Float(0), {} };
    SurfaceInteraction si = scene->ray_intersect(ray, true);
    compute(si);
    auto number = [](const Float &v) { return read_floats(v)[0]; };
    double t = number(si.t);
    return { std::isfinite(t),
             t,
             { number(si.n.x), number(si.n.y), number(si.n.z) },
             { number(si.uv.x), number(si.uv.y) } };
}

inline void expect_vector(const std::array<double, 3> &got, const std::array<double, 3> &want,
                          double tolerance = 1e-9) {
    for (size_t i = 0; i < 3; ++i)
        EXPECT_NEAR(got[i], want[i], tolerance) << "along " << "xyz"[i];
}

/// A scene with `body` does not load; the message has all of `parts`.
inline void expect_refused(const std::string &body, std::initializer_list<const char *> parts) {
    std::string message = user_error([&] { scene_from(scene_xml(body, 4, 1)); });
    for (const char *part : parts)
        EXPECT_NE(message.find(part), std::string::npos)
            << quote(part) << " is not in: " << message;
}

} // namespace umbel::test
