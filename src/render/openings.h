// render/openings.h: surfaces around media that are not closed.
#pragma once
#include "render/shape.h"

namespace umbel {

/// Shapes that have a medium inside but not outside, and let light get to their other side without crossing them, each with the
/// reason. Together, shapes may be closed: at each edge of such meshes an even number of triangles meet. Vertices at the same
/// place, up to a millionth of all, are one. Where disks or tubes are among several shapes, nobody knows.
struct Opening {
    const Shape *shape;
    std::string why;
};
std::vector<Opening> find_openings(const std::vector<Ref<Shape>> &shapes);

/// Remarks on them, also of those in groups.
void warn_about_openings(const std::vector<Ref<Shape>> &shapes);

} // namespace umbel
