// sobol: Sobol's low-discrepancy points with Owen's scrambling.
//
// Each pair of dimensions is the (0, 2)-sequence of Sobol's first two dimensions [Sobol 1967]: of 2^m samples of a pixel, every
// elementary interval (a rectangle of 2^-a by 2^-b with a + b = m) has exactly one. Nested uniform scrambling by hashes
// makes each point uniform without losing that, and an equally scrambled order of the samples pairs dimensions at
// random ("padding") [Burley 2020]. Pixels and seeds differ in their hashes only: changing the seed compiles nothing.
//
// Any number of samples will do; powers of two are best. Where a scene names no sampler, it is this one.
#include "render/sampler.h"

namespace umbel {

class Sobol final : public Sampler {
public:
    void declare(Params &p) override {
        Sampler::declare(p);
        p.integer("scramble", m_scramble, 0)
            .doc("Another number gives other samples: for animations, the number of the frame");
    }
    void configure() override { m_offset = jit::opaque(uint32_t(m_scramble) * 0x632be5abu); }
    Ref<Sampler> clone() const override {
        auto copy = copy_of(*this);
        copy->m_scramble = m_scramble;
        copy->configure();
        return copy;
    }
    SamplerState begin(const UInt32 &seed, const UInt32 &pixel,
                       const UInt32 &sample) const override {
        // All samples of a pixel share their keys; the second one is not needed
        UInt32 key = mix_bits(pixel + mix_bits(seed + m_offset + UInt32(0x9e3779b9u)));
        return { key, UInt32(0u), sample, UInt32(0u) };
    }

    Float next_1d(SamplerState &s) const override {
        UInt32 key = next_key(s);
        return scrambled(shuffled(s, key), key, 1);
    }
    Vector2 next_2d(SamplerState &s) const override {
        UInt32 key = next_key(s), index = shuffled(s, key);
        return { scrambled(index, key, 1), scrambled(sobol_2_reversed(index), key, 2) };
    }

private:
    static UInt32 next_key(SamplerState &s) {
        UInt32 key = mix_bits(s.key0 + s.dimension * UInt32(0x9e3779b9u));
        s.dimension += UInt32(1u);
        return key;
    }
    // The first 2^m samples stay together: they become some aligned block of the sequence, which is a net as well.
    static UInt32 shuffled(const SamplerState &s, const UInt32 &key) {
        return reverse_bits(owen_scramble_reversed(reverse_bits(s.sample), key));
    }
    // Of a coordinate's bits, the highest one lowest.
    static Float scrambled(const UInt32 &reversed, const UInt32 &key, uint32_t axis) {
        UInt32 seed = mix_bits(key ^ UInt32(axis * 0x85ebca6bu));
        return to_unit(reverse_bits(owen_scramble_reversed(reversed, seed)));
    }

    int m_scramble = 0;
    UInt32 m_offset; // of the seed
};

UMBEL_PLUGIN(Sampler, Sobol, "sobol")
} // namespace umbel
