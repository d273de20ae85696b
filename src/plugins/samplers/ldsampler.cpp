// ldsampler: the same low-discrepancy points for each pair of dimensions, scrambled and in another order [Kollig 2002].
//
// Each pair of dimensions has the first 2^m points of the (0, 2)-sequence of Sobol's first two dimensions; a single one has
// van der Corput's. Bits of coordinates are flipped at random, the same for all samples of a pixel, which keeps all elementary
// intervals of 2^m points occupied once, and samples visit the points in a random order. The count is rounded up to a power
// of two.
//
// `sobol` is the same idea with better scrambling, for any number of samples.
#include "render/structured_sampler.h"
#include <bit>

namespace umbel {

class LowDiscrepancy final : public StructuredSampler {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<integer name='dimension' value='2'/>");
        Sampler::declare(p);
        p.integer("dimension", m_dimension, 0, 0, 0xffff)
            .doc(
                "So many requests for one number, and as many for two, are served by these points, "
                "later ones by independent numbers; 0: all are");
    }
    void configure() override {
        m_sample_count = round_sample_count(m_sample_count);
        m_count = jit::opaque(uint32_t(m_sample_count));
        m_limit = jit::opaque(uint32_t(m_dimension ? m_dimension : 0x10000));
    }
    Ref<Sampler> clone() const override {
        auto copy = copy_of(*this);
        copy->m_dimension = m_dimension;
        copy->configure();
        return copy;
    }
    int round_sample_count(int n) const override { return int(std::bit_ceil(uint32_t(n))); }

    // Requests so far: of one number in the lower half of `dimension`, of two in the upper half.
    Float next_1d(SamplerState &s) const override {
        UInt32 k = part(key(s), 3), i = permute(s.sample, m_count, k);
        Mask structured = (s.dimension & UInt32(0xffffu)) < m_limit;
        Float u = select(structured, radical_inverse_2(i, part(k, 1)), random(s, 0));
        s.dimension += UInt32(1u);
        return u;
    }
    Vector2 next_2d(SamplerState &s) const override {
        UInt32 k = key(s), i = permute(s.sample, m_count, k);
        Mask structured = (s.dimension >> UInt32(16u)) < m_limit;
        Vector2 u{ select(structured, radical_inverse_2(i, part(k, 1)), random(s, 1)),
                   select(structured, sobol_2(i, part(k, 2)), random(s, 2)) };
        s.dimension += UInt32(0x10000u);
        return u;
    }

private:
    int m_dimension = 0;
    UInt32 m_count, m_limit;
};

UMBEL_PLUGIN(Sampler, LowDiscrepancy, "ldsampler")
} // namespace umbel
