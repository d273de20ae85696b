// render/sampler.cpp: what all samplers share.
#include "render/sampler.h"

namespace umbel {

void Sampler::declare(Params &p) {
    p.integer("sample_count", m_sample_count, 4, 1).doc("Samples a pixel");
    p.integer("seed", m_seed, 0).doc("Another seed gives another, equally good, set of samples");
}

void Sampler::set_sample_count(int n) {
    m_sample_count = round_sample_count(n);
    configure();
}

// Multipliers of a search for low bias by exhaustive avalanche tests [Wellons 2018].
UInt32 mix_bits(UInt32 x) {
    x = x ^ (x >> UInt32(16u));
    x = x * UInt32(0x21f0aaadu);
    x = x ^ (x >> UInt32(15u));
    x = x * UInt32(0x735a2d97u);
    return x ^ (x >> UInt32(15u));
}

Float to_unit(const UInt32 &bits) {
    if (variant().double_precision) // 32 bits, in the middle of their cells
        return Float(jit::cast(jit::Type::F64, bits)) * 0x1p-32 + 0x1p-33;
    return Float(jit::cast(jit::Type::F32, bits >> UInt32(8u))) * 0x1p-24;
}

SamplerState Sampler::begin(const UInt32 &seed, const UInt32 &pixel, const UInt32 &sample) const {
    UInt32 a = mix_bits(pixel + mix_bits(seed + UInt32(0x9e3779b9u)));
    UInt32 b = mix_bits(sample + mix_bits(a ^ UInt32(0x85ebca6bu)));
    return { mix_bits(a + b), mix_bits(b ^ UInt32(0xc2b2ae35u)), sample, UInt32(0u) };
}

} // namespace umbel
