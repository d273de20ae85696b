// render/volume.cpp: what volumes share.
#include "render/volume.h"
#include "render/instance.h"

namespace umbel {

void Volume::declare_placement(Params &p) {
    p.transform("to_world", m_to_world).doc("From the unit cube, which it fills, to the scene");
}

BoundingBox Volume::bounds() const {
    return transform_bounds({ placement() }, { { 0, 0, 0 }, { 1, 1, 1 } });
}

} // namespace umbel
