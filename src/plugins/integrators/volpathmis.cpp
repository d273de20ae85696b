// volpathmis: `volpath` for media whose extinction differs between channels; see render/volume_path_tracer.h.
//
// Distances of a path are sampled for one channel, and what it brings is weighted by the densities of the whole path for all
// of them [Miller 2019]: a path that is likely for any of them is noisy in none. It costs somewhat more than `volpath`.
#include "render/volume_path_tracer.h"

namespace umbel {

class VolPathMis final : public VolumePathTracer {
public:
    VolPathMis() : VolumePathTracer(Weights::Spectral) {}
};

UMBEL_PLUGIN(Integrator, VolPathMis, "volpathmis")
} // namespace umbel
