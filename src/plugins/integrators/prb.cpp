// prb: path replay backpropagation [Vicini 2021]: what `path` is, under the name that says how it is differentiated.
#include "render/path_tracer.h"

namespace umbel {

class Prb final : public PathTracer {};

UMBEL_PLUGIN(Integrator, Prb, "prb")
} // namespace umbel
