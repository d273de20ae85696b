// render/halton_points.cpp: see render/halton_points.h.
#include "render/halton_points.h"
#include "core/permutation.h"
#include "jit/array.h"

namespace umbel {

void HaltonPoints::declare(Params &p) {
    Sampler::declare(p);
    p.integer("scramble", m_scramble, RadicalInverse::Faure, -1)
        .doc("How digits are permuted: -1: by Faure's permutations, which keep high dimensions "
             "apart; 0: not at all; others: at random, such as the number of an animation's frame");
}

void HaltonPoints::configure() {
    if (m_tables && m_tables->scramble == m_scramble)
        return;
    RadicalInverse r(Dimensions, m_scramble);
    std::vector<uint32_t> bases, offsets, digits;
    for (size_t k = 0; k < Dimensions; ++k) {
        bases.push_back(r.base(k));
        offsets.push_back(uint32_t(digits.size()));
        digits.insert(digits.end(), r.permutation(k).begin(), r.permutation(k).end());
    }
    m_tables = std::make_shared<Tables>(
        Tables{ m_scramble, jit::copy(bases), jit::copy(offsets), jit::copy(digits) });
}

SamplerState HaltonPoints::begin(const UInt32 &seed, const UInt32 &pixel,
                                 const UInt32 &sample) const {
    UInt32 key = mix_bits(pixel + mix_bits(seed + UInt32(0x9e3779b9u)));
    UInt32 start = key >> UInt32(1u); // no overflow
    return { mix_bits(key ^ UInt32(0x85ebca6bu)), start + sample, sample, UInt32(0u) };
}

Vector2 HaltonPoints::next_2d(SamplerState &s) const {
    Float x = next_1d(s), y = next_1d(s);
    return { x, y };
}

Float HaltonPoints::coordinate(const SamplerState &s, const UInt32 &base_number) const {
    Mask known = base_number < UInt32(uint32_t{ Dimensions });
    UInt32 base = select(known, jit::gather(m_tables->bases, base_number, known), UInt32(2u)),
           offset = jit::gather(m_tables->offsets, base_number, known);
    Float inv_base = rcp(Float(base));
    struct State {
        UInt32 rest;
        Float sum, scale;
        UMBEL_STRUCT(rest, sum, scale)
    };
    State r = jit::loop(
        State{ select(known, s.key1, UInt32(0u)), Float(0), Float(1) },
        [](const State &r) { return r.rest != UInt32(0u); },
        [&](State &r) {
            UInt32 quotient = r.rest / base, digit = r.rest - quotient * base;
            r.rest = quotient;
            r.scale *= inv_base;
            UInt32 permuted = jit::gather(m_tables->digits, offset + digit, known);
            r.sum = fma(Float(permuted), r.scale, r.sum);
        },
        "radical inverse");
    // All further digits are 0, and become what 0 is permuted to: a geometric series
    UInt32 zero = jit::gather(m_tables->digits, offset, known);
    Float tail = r.scale * Float(zero) / (Float(base) - 1);
    UInt32 hash = mix_bits(s.key0 ^ mix_bits(s.sample + base_number * UInt32(0x9e3779b9u)));
    return select(known, below_one(r.sum + tail), to_unit(hash));
}

} // namespace umbel
