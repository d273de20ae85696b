// render/sampler.cpp: what all samplers share.
#include "render/sampler.h"
#include "core/limits.h"

namespace umbel {

void Sampler::declare(Params &p) {
    p.integer("sample_count", m_sample_count, 4, 1, MostSamplesAPixel).doc("Samples a pixel");
    p.integer("seed", m_seed, 0).doc("Another seed gives another, equally good, set of samples");
}

void Sampler::set_sample_count(int n) {
    auto need = [&](int count, int most) {
        if (count < 1 || count > most)
            complain("{} samples a pixel are not possible; take between 1 and {}", count,
                     MostSamplesAPixel);
        return count;
    };
    m_sample_count =
        need(round_sample_count(need(n, MostSamplesAPixel)), std::numeric_limits<int>::max());
    configure();
}

SamplerState Sampler::begin(const UInt32 &seed, const UInt32 &pixel, const UInt32 &sample) const {
    UInt32 a = mix_bits(pixel + mix_bits(seed + UInt32(0x9e3779b9u)));
    UInt32 b = mix_bits(sample + mix_bits(a ^ UInt32(0x85ebca6bu)));
    return { mix_bits(a + b), mix_bits(b ^ UInt32(0xc2b2ae35u)), sample, UInt32(0u) };
}

} // namespace umbel
