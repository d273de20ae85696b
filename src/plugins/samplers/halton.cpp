// halton: Halton's low-discrepancy sequence, digits permuted; see render/halton_points.h.
//
// Any number of samples will do. Pixels use stretches of one sequence: changing the seed, or the pixel, compiles nothing.
#include "render/halton_points.h"

namespace umbel {

class Halton final : public HaltonPoints {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<integer name='scramble' value='0'/>");
        HaltonPoints::declare(p);
    }
    Ref<Sampler> clone() const override { return copy_with_tables(*this); }

    Float next_1d(SamplerState &s) const override {
        Float u = coordinate(s, s.dimension);
        s.dimension += UInt32(1u);
        return u;
    }
};

UMBEL_PLUGIN(Sampler, Halton, "halton")
} // namespace umbel
