// orthogonal: samples that are stratified in all pairs of dimensions at once, by orthogonal arrays [Jarosz 2019].
//
// With a prime b and the strength t, a pixel has b^t samples. The digits of a sample's number in base b are the coefficients
// of a polynomial; its value at j, modulo b, is the sample's stratum in dimension j [Bush 1952]. Any t of these dimensions,
// and of the one more that the highest coefficient is, see each combination of strata once. Inside of its stratum each
// sample has a strip of its own: with strength 2 that which its stratum in the other dimension of a pair says, as
// `multijitter` does. Strata and strips are permuted at random.
//
// After b + 1 dimensions the samples are put in another order, and it all begins again. The count is rounded up.
#include "render/structured_sampler.h"

namespace umbel {

class Orthogonal final : public StructuredSampler {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<integer name='strength' value='3'/>");
        Sampler::declare(p);
        p.integer("strength", m_strength, 2, 2, 6)
            .doc("In how many dimensions at a time samples are stratified; the sample count is a "
                 "prime number to this power");
        declare_jitter(p);
    }
    void configure() override {
        uint32_t base = base_for(m_sample_count), count = power(base);
        m_sample_count = int(count);
        m_base = jit::opaque(base);
        m_count = jit::opaque(count);
        m_strips = jit::opaque(count / base);
        m_block = jit::opaque((base + 1) & ~1u); // whole pairs
        m_inv_base = opaque_float(1.0 / base);
        m_inv_strips = opaque_float(double(base) / count);
    }
    Ref<Sampler> clone() const override {
        auto copy = copy_of(*this);
        copy->m_strength = m_strength;
        copy->m_jitter = m_jitter;
        copy->configure();
        return copy;
    }
    int round_sample_count(int n) const override { return int(power(base_for(n))); }

    Float next_1d(SamplerState &s) const override {
        Float u = coordinate(s);
        s.dimension += UInt32(1u);
        return u;
    }
    Vector2 next_2d(SamplerState &s) const override {
        s.dimension += s.dimension & UInt32(1u); // pairs stay together
        Float x = next_1d(s), y = next_1d(s);
        return { x, y };
    }

private:
    Float coordinate(const SamplerState &s) const {
        UInt32 block = s.dimension / m_block, j = s.dimension - block * m_block;
        UInt32 i = permute(s.sample, m_count, mix_bits(s.key0 + block * UInt32(0xb5297a4du)));
        UInt32 k = key(s), level = stratum(i, j), strip;
        if (m_strength == 2)
            strip = stratum(i, j ^ UInt32(1u));
        else // the digits that the stratum leaves open
            strip = select(j == m_base, i % m_strips, i / m_base);
        Float cell(permute(level, m_base, part(k, 1))),
            in_cell(permute(strip, m_strips, part(k, 2)));
        return below_one((cell + (in_cell + offset(s, 0)) * m_inv_strips) * m_inv_base);
    }
    UInt32 stratum(UInt32 i, const UInt32 &j) const {
        UInt32 value(0u), highest = i / m_strips;
        for (int digit = 0; digit < m_strength; ++digit) { // Horner's rule from the highest on
            UInt32 scale = digit == 0 ? m_strips : scale_of(m_strength - 1 - digit);
            UInt32 d = i / scale;
            i = i - d * scale;
            value = (value * j + d) % m_base;
        }
        return select(j == m_base, highest, value);
    }
    UInt32 scale_of(int digit) const {
        UInt32 scale(1u);
        for (int k = 0; k < digit; ++k)
            scale = scale * m_base;
        return scale;
    }

    uint32_t power(uint32_t base) const {
        uint64_t n = 1;
        for (int k = 0; k < m_strength; ++k)
            n *= base;
        if (n > 0x7fffffff)
            complain("{}^{} samples a pixel are too many", base, m_strength);
        return uint32_t(n);
    }
    uint32_t base_for(int count) const {
        auto is_prime = [](uint32_t n) {
            for (uint32_t k = 2; k * k <= n; ++k)
                if (n % k == 0)
                    return false;
            return true;
        };
        uint32_t base = 2;
        while (power(base) < uint32_t(count) || !is_prime(base))
            ++base;
        return base;
    }

    int m_strength = 2;
    UInt32 m_base, m_count, m_strips, m_block;
    Float m_inv_base, m_inv_strips;
};

UMBEL_PLUGIN(Sampler, Orthogonal, "orthogonal")
} // namespace umbel
