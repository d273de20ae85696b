// render/lens.h: the lens of a camera that is sharp at one distance.
#pragma once
#include "core/warp.h"
#include "render/sensor.h"

namespace umbel {

/// A disk, and the distance of the plane that it shows sharply.
struct Lens {
    double radius = 0, focus = 0;
    Float size, area, distance; // radius, area and focus as data of the program

    /// `where` ends the sentence about the distance.
    void declare(Params &p, double default_radius, double default_focus, const char *where) {
        p.number("aperture_radius", radius, default_radius, 0)
            .doc("Of the lens, in units of the scene");
        p.number("focus_distance", focus, default_focus, 0)
            .doc(fmt::format("Where things are sharp: the distance of the plane, {}", where));
    }
    /// UserError if it is none; `otherwise` says which camera needs none.
    void configure(const Sensor &camera, const char *otherwise) {
        if (!(radius > 0))
            camera.complain("aperture_radius is {}; it must be positive. {}", radius, otherwise);
        if (!(focus > 0))
            camera.complain("focus_distance is {}; it must be positive", focus);
        size = opaque_float(radius);
        area = opaque_float(Pi * radius * radius);
        distance = opaque_float(focus);
    }
    /// Uniformly on it, around its centre.
    Vector2 point(const Vector2 &u) const {
        Vector2 p = square_to_uniform_disk_concentric(u);
        return { p.x * size, p.y * size };
    }
};

} // namespace umbel
