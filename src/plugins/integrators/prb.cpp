// prb: path replay backpropagation [Vicini 2021]: what `path` is, under the name that says how it is differentiated.
#include "render/path_tracer.h"

namespace umbel {

class Prb final : public PathTracer {};
class PrbBasic final : public PathTracer {
}; // a name for scripts: light sampling changes the noise, not the result

UMBEL_PLUGIN(Integrator, Prb, "prb")
UMBEL_PLUGIN(Integrator, PrbBasic, "prb_basic")
} // namespace umbel
