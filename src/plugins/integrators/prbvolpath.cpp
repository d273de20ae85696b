// prbvolpath: path replay backpropagation [Vicini 2021] through participating media: `volpath` with derivatives, by densities,
// albedos, phase functions and emission of media as by all that `prb` differentiates but shapes; see render/volume_path_tracer.h.
//
// Paths have 6 segments at most unless told otherwise. Optimizations of a density should start above 0: where there is none,
// nothing tells what it would scatter.
#include "render/volume_path_tracer.h"

namespace umbel {

class PrbVolPath final : public VolumePathTracer {
public:
    PrbVolPath() : VolumePathTracer(Weights::Power, 6, true) {}
};

UMBEL_PLUGIN(Integrator, PrbVolPath, "prbvolpath")
} // namespace umbel
