// prb, prb_basic: path replay backpropagation [Vicini 2021]: path tracers under the names that say how they are differentiated.
//
// `prb` is what `path` is, save that paths have 6 segments at most unless told otherwise. `prb_basic` meets lights by chance:
// it samples none of them, and lets no path end by roulette. umbel/ad/integrators has both in Python, to start from.
#include "render/path_tracer.h"

namespace umbel {

class Prb final : public PathTracer {
public:
    Prb() : PathTracer(6) {}
};

class PrbBasic final : public PathTracer {
public:
    PrbBasic() : PathTracer(6, true) {}
};

UMBEL_PLUGIN(Integrator, Prb, "prb")
UMBEL_PLUGIN(Integrator, PrbBasic, "prb_basic")
} // namespace umbel
