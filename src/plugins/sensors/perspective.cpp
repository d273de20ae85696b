// perspective: a pinhole camera.
//
// Looks along +z of its own space, y up, x to the left. All that describes it is data of the program: moving it compiles
// nothing.
#include "render/camera.h"

namespace umbel {

class Perspective final : public PinholeCamera {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<float name='fov' value='70'/><string name='fov_axis' value='y'/>"
                  "<float name='principal_point_offset_x' value='.1'/>");
        PinholeCamera::declare(p);
        declare_focus(p);
    }
};

UMBEL_PLUGIN(Sensor, Perspective, "perspective")
} // namespace umbel
