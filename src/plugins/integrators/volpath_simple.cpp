// volpath_simple: `volpath` that samples lights alone; see render/volume_path_tracer.h.
//
// What is seen in smooth mirrors and glass is met by chance, as ever. It is the noisier one where surfaces are glossy or scattering
// is strongly forwards, and of use for comparisons.
#include "render/volume_path_tracer.h"

namespace umbel {

class VolPathSimple final : public VolumePathTracer {
public:
    VolPathSimple() : VolumePathTracer(Weights::None) {}
};

UMBEL_PLUGIN(Integrator, VolPathSimple, "volpath_simple")
} // namespace umbel
