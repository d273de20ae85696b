// stratified: samples of a pixel are spread over a grid in each pair of dimensions.
//
// With n = k * k samples, sample i visits cell p(i) of a k x k grid, where p is a permutation of its own for every pixel and
// dimension. The count is rounded up to a square.
#include "render/structured_sampler.h"
#include <cmath>

namespace umbel {

class Stratified final : public StructuredSampler {
public:
    void declare(Params &p) override {
        Sampler::declare(p);
        declare_jitter(p);
    }
    void configure() override {
        m_sample_count = round_sample_count(m_sample_count);
        int side = int(std::lround(std::sqrt(double(m_sample_count))));
        m_side = jit::opaque(uint32_t(side));
        m_count = jit::opaque(uint32_t(m_sample_count));
        m_inv_side = opaque_float(1.0 / side);
        m_inv_count = opaque_float(1.0 / m_sample_count);
    }
    Ref<Sampler> clone() const override {
        auto copy = copy_of(*this);
        copy->m_jitter = m_jitter;
        copy->configure();
        return copy;
    }
    int round_sample_count(int n) const override {
        int side = int(std::ceil(std::sqrt(double(n)) - 1e-9));
        return side * side;
    }

    Float next_1d(SamplerState &s) const override {
        UInt32 cell = permute(s.sample, m_count, key(s));
        Float jitter = offset(s, 0);
        s.dimension += UInt32(1u);
        return below_one((Float(cell) + jitter) * m_inv_count);
    }
    Vector2 next_2d(SamplerState &s) const override {
        UInt32 cell = permute(s.sample, m_count, key(s)), y = cell / m_side, x = cell - y * m_side;
        Float jx = offset(s, 0), jy = offset(s, 1);
        s.dimension += UInt32(1u);
        return { below_one((Float(x) + jx) * m_inv_side), below_one((Float(y) + jy) * m_inv_side) };
    }

private:
    UInt32 m_side, m_count;
    Float m_inv_side, m_inv_count;
};

UMBEL_PLUGIN(Sampler, Stratified, "stratified")
} // namespace umbel
