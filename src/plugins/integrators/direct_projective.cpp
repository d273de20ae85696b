// direct_projective: direct illumination, with what comes into sight where shapes or the camera move [Zhang 2023].
//
// What `prb_projective` is with paths of two segments: lights, and surfaces that they shine on. Silhouettes count that the
// camera sees, and that lights see.
#include "render/projective.h"
#include <algorithm>

namespace umbel {

class DirectProjective final : public ProjectiveTracer {
public:
    DirectProjective() : ProjectiveTracer(2) {}
    void declare(Params &p) override {
        ProjectiveTracer::declare(p);
        if (p.loading() || p.assigning())
            set_max_depth(max_depth() < 0 ? 2 : std::min(max_depth(), 2)); // direct is direct
    }
};

UMBEL_PLUGIN(Integrator, DirectProjective, "direct_projective")
} // namespace umbel
