// stratified: samples of a pixel are spread over a grid in each pair of dimensions.
//
// With n = k * k samples, sample i visits cell p(i) of a k x k grid, where p is a permutation of its own for every pixel and
// dimension. The count is rounded up to a square.
//
// Numbers beyond `dimension`, where that is given, are independent, as in Mitsuba 0.5, which stores them.
#include "render/structured_sampler.h"
#include <cmath>

namespace umbel {

class Stratified final : public StructuredSampler {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<integer name='dimension' value='2'/>");
        Sampler::declare(p);
        declare_jitter(p);
        p.integer("dimension", m_dimension, 0, 0, 0xffff)
            .doc("So many requests for one number, and as many for two, are spread over cells, "
                 "later ones are independent numbers; 0: all are spread");
    }
    void configure() override {
        m_sample_count = round_sample_count(m_sample_count);
        int side = int(std::lround(std::sqrt(double(m_sample_count))));
        m_side = jit::opaque(uint32_t(side));
        m_count = jit::opaque(uint32_t(m_sample_count));
        m_inv_side = opaque_float(1.0 / side);
        m_inv_count = opaque_float(1.0 / m_sample_count);
        m_limit = jit::opaque(uint32_t(m_dimension));
    }
    Ref<Sampler> clone() const override {
        auto copy = copy_of(*this);
        copy->m_jitter = m_jitter;
        copy->m_dimension = m_dimension;
        copy->configure();
        return copy;
    }
    int round_sample_count(int n) const override {
        int side = int(std::ceil(std::sqrt(double(n)) - 1e-9));
        return side * side;
    }

    Float next_1d(SamplerState &s) const override {
        UInt32 cell = permute(s.sample, m_count, key(s));
        Float u = below_one((Float(cell) + offset(s, 0)) * m_inv_count);
        if (m_dimension)
            u = select((s.dimension & UInt32(0xffffu)) < m_limit, u, random(s, 2));
        s.dimension += UInt32(1u);
        return u;
    }
    Vector2 next_2d(SamplerState &s) const override {
        UInt32 cell = permute(s.sample, m_count, key(s)), y = cell / m_side, x = cell - y * m_side;
        Float jx = offset(s, 0), jy = offset(s, 1);
        Vector2 u{ below_one((Float(x) + jx) * m_inv_side),
                   below_one((Float(y) + jy) * m_inv_side) };
        if (m_dimension)
            u = select((s.dimension >> UInt32(16u)) < m_limit, u,
                       Vector2{ random(s, 2), random(s, 3) });
        s.dimension += UInt32(m_dimension ? 0x10000u : 1u);
        return u;
    }

private:
    // Where it is given, `dimension` of a state has requests for one number in its lower half, those for two in its upper half.
    int m_dimension = 0;
    UInt32 m_side, m_count, m_limit;
    Float m_inv_side, m_inv_count;
};

UMBEL_PLUGIN(Sampler, Stratified, "stratified")
} // namespace umbel
