// ad: path tracing whose derivative is that of its recorded loop, for validation: what `path` is, with paths of 6 segments at most
// unless told otherwise.
//
// The state of each path at the head of each bounce is kept, and bounces are then differentiated from the last one to the first.
// Memory grows with pixels, samples and `max_depth`: about 150 bytes each (an error says so beyond 8 GiB). `prb` has the same
// derivative, random number by random number, in constant memory, and is what to use.
#include "render/path_tracer.h"

namespace umbel {

class Ad final : public PathTracer {
public:
    Ad() : PathTracer(6, false, PathDerivative::Recorded) {}
};

UMBEL_PLUGIN(Integrator, Ad, "ad")
} // namespace umbel
