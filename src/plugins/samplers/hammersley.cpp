// hammersley: Hammersley's points, which are one coordinate better than Halton's; see render/halton_points.h.
//
// Of n samples, number i has i / n as its first coordinate, rotated at random, and those of Halton's sequence as the
// others. The number of samples must be known, and any will do.
#include "core/permutation.h"
#include "render/halton_points.h"

namespace umbel {

class Hammersley final : public HaltonPoints {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<integer name='scramble' value='3'/>");
        HaltonPoints::declare(p);
    }
    void configure() override {
        HaltonPoints::configure();
        m_inv_count = opaque_float(1.0 / m_sample_count);
    }
    Ref<Sampler> clone() const override { return copy_with_tables(*this); }

    Float next_1d(SamplerState &s) const override {
        Float first = fma(Float(s.sample), m_inv_count, to_unit(s.key0));
        Float u = select(s.dimension == UInt32(0u), below_one(first - floor(first)),
                         coordinate(s, s.dimension - UInt32(1u)));
        s.dimension += UInt32(1u);
        return u;
    }

private:
    Float m_inv_count;
};

UMBEL_PLUGIN(Sampler, Hammersley, "hammersley")
} // namespace umbel
