// volpath: path tracing through participating media; see render/volume_path_tracer.h.
//
// Where channels differ in extinction, a channel is chosen for each distance: noisy where they differ by much. See `volpathmis`.
#include "render/volume_path_tracer.h"

namespace umbel {

class VolPath final : public VolumePathTracer {
public:
    VolPath() : VolumePathTracer(Weights::Power) {}
};

UMBEL_PLUGIN(Integrator, VolPath, "volpath")
} // namespace umbel
