// prb_basic: path replay backpropagation [Vicini 2021] at its shortest: paths that meet lights by chance.
//
// No light is sampled, so those at points or in single directions are never seen, and no path ends by roulette.
#include "render/path_tracer.h"

namespace umbel {

class PrbBasic final : public PathTracer {
public:
    PrbBasic() : PathTracer(6, true) {}
};

UMBEL_PLUGIN(Integrator, PrbBasic, "prb_basic")
} // namespace umbel
