// volpathmis: `volpath` for media whose extinction differs between channels; see render/volume_path_tracer.h.
//
// Distances of a path are sampled for one channel, and what it brings is weighted by the densities of the whole path for all
// of them [Miller 2019]: a path that is likely for any of them is noisy in none. It costs somewhat more than `volpath`.
#include "render/volume_path_tracer.h"

namespace umbel {

class VolPathMis final : public VolumePathTracer {
public:
    VolPathMis() : VolumePathTracer(Weights::Spectral) {}

    void declare(Params &p) override {
        VolumePathTracer::declare(p);
        bool is_spectral = true;
        if (!p.traversing())
            p.boolean("use_spectral_mis", is_spectral, true)
                .doc("Else it is `volpath`: weights that know nothing of other channels");
        if (p.loading() && !is_spectral)
            m_weights = Weights::Power;
    }
};

UMBEL_PLUGIN(Integrator, VolPathMis, "volpathmis")
} // namespace umbel
