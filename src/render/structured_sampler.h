// render/structured_sampler.h: what samplers share whose samples of a pixel are arranged together.
#pragma once
#include "core/permutation.h"
#include "render/sampler.h"

namespace umbel {

class StructuredSampler : public Sampler {
public:
    SamplerState begin(const UInt32 &seed, const UInt32 &pixel,
                       const UInt32 &sample) const override {
        // All samples of a pixel share key0, and with it the arrangement
        UInt32 a = mix_bits(pixel + mix_bits(seed + UInt32(0x9e3779b9u)));
        return { a, mix_bits(a ^ mix_bits(sample + UInt32(0x85ebca6bu))), sample, UInt32(0u) };
    }

protected:
    void declare_jitter(Params &p) {
        p.boolean("jitter", m_jitter, true)
            .doc("Samples lie anywhere in their cells; if not, in their middles");
    }
    /// Of the arrangement in a dimension.
    static UInt32 key(const SamplerState &s) {
        return mix_bits(s.key0 + s.dimension * UInt32(0x9e3779b9u));
    }
    /// The same, for the arrangement's part of that number.
    static UInt32 part(const UInt32 &key, uint32_t number) {
        return mix_bits(key ^ UInt32(number * 0x85ebca6bu));
    }
    /// A random number of this sample alone.
    static Float random(const SamplerState &s, uint32_t axis) {
        return to_unit(
            mix_bits(s.key1 + s.dimension * UInt32(0x2545f491u) + UInt32(axis * 0x6c078965u)));
    }
    /// Where in its cell a sample lies.
    Float offset(const SamplerState &s, uint32_t axis) const {
        return m_jitter ? min(random(s, axis), 1 - 6e-8) : Float(0.5);
    }

    bool m_jitter = true;
};

} // namespace umbel
