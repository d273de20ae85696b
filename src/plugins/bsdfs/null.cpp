// null: a surface that is not there: it only separates, say, two media.
#include "render/plate.h"

namespace umbel {

class Null final : public PassThrough {
public:
    Spectrum eval_null_transmission(const SurfaceInteraction &, const Mask &) const override {
        return Spectrum(1);
    }
};

UMBEL_PLUGIN(BSDF, Null, "null")
} // namespace umbel
