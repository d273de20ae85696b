// prb: path replay backpropagation [Vicini 2021]: what `path` is, under the name that says how it is differentiated, and with
// paths of 6 segments at most unless told otherwise.
#include "render/path_tracer.h"

namespace umbel {

class Prb final : public PathTracer {
public:
    Prb() : PathTracer(6) {}
};

UMBEL_PLUGIN(Integrator, Prb, "prb")
} // namespace umbel
