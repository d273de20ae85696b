// path: unidirectional path tracing with multiple importance sampling; see render/path_tracer.h.
//
// Space is empty for it, also where scenes have media: see `volpath`.
#include "render/path_tracer.h"

namespace umbel {

class Path final : public PathTracer {};

UMBEL_PLUGIN(Integrator, Path, "path")
} // namespace umbel
