// independent: random numbers without any structure.
//
// Number i of a sample is a hash of (seed, pixel, sample, i): two 32-bit keys are derived from the first three, and a
// mixing function of key0 + i times an odd constant, offset by key1 between its rounds, gives the number.
#include "render/sampler.h"

namespace umbel {

class Independent final : public Sampler {
public:
    Ref<Sampler> clone() const override { return copy_of(*this); }
    Float next_1d(SamplerState &s) const override {
        UInt32 x = s.key0 + s.dimension * UInt32(0x9e3779b9u);
        s.dimension += UInt32(1u);
        return to_unit(mix_bits(mix_half(x) + s.key1));
    }
    Vector2 next_2d(SamplerState &s) const override {
        Float x = next_1d(s), y = next_1d(s);
        return { x, y };
    }

private:
    static UInt32 mix_half(const UInt32 &x) {
        UInt32 y = (x ^ (x >> UInt32(16u))) * UInt32(0x7feb352du);
        return y ^ (y >> UInt32(15u));
    }
};

UMBEL_PLUGIN(Sampler, Independent, "independent")
} // namespace umbel
