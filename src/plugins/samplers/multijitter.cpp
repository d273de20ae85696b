// multijitter: correlated multi-jittered samples [Kensler 2013].
//
// n = a * b samples of a pixel have a cell each in a grid of a columns and b rows. Each column is cut into b strips, each row
// into a, and every strip of either kind has one sample, too: in each dimension alone, n samples fill n intervals. All cells
// of a row share the order of their strips, which keeps samples apart. The count is rounded up to a product of two numbers
// that differ little.
#include "render/structured_sampler.h"
#include <cmath>

namespace umbel {

class MultiJitter final : public StructuredSampler {
public:
    void declare(Params &p) override {
        Sampler::declare(p);
        declare_jitter(p);
    }
    void configure() override {
        m_sample_count = round_sample_count(m_sample_count);
        int rows = rows_of(m_sample_count), columns = m_sample_count / rows;
        m_rows = jit::opaque(uint32_t(rows));
        m_columns = jit::opaque(uint32_t(columns));
        m_inv_rows = opaque_float(1.0 / rows);
        m_inv_columns = opaque_float(1.0 / columns);
        m_count = jit::opaque(uint32_t(m_sample_count));
        m_inv_count = opaque_float(1.0 / m_sample_count);
    }
    Ref<Sampler> clone() const override {
        auto copy = copy_of(*this);
        copy->m_jitter = m_jitter;
        copy->configure();
        return copy;
    }
    int round_sample_count(int n) const override {
        int rows = rows_of(n);
        return (n + rows - 1) / rows * rows;
    }

    Float next_1d(SamplerState &s) const override {
        UInt32 strip = permute(s.sample, m_count, key(s));
        Float u = (Float(strip) + offset(s, 0)) * m_inv_count;
        s.dimension += UInt32(1u);
        return below_one(u);
    }
    Vector2 next_2d(SamplerState &s) const override {
        UInt32 k = key(s), cell = permute(s.sample, m_count, k);
        UInt32 y = cell / m_columns, x = cell - y * m_columns;
        Float strip_x(permute(y, m_rows, part(k, 1))), strip_y(permute(x, m_columns, part(k, 2)));
        Vector2 u{ (Float(x) + (strip_x + offset(s, 0)) * m_inv_rows) * m_inv_columns,
                   (Float(y) + (strip_y + offset(s, 1)) * m_inv_columns) * m_inv_rows };
        s.dimension += UInt32(1u);
        return { below_one(u.x), below_one(u.y) };
    }

private:
    static int rows_of(int n) { return int(std::sqrt(double(n)) + 1e-9); }

    UInt32 m_rows, m_columns, m_count;
    Float m_inv_rows, m_inv_columns, m_inv_count;
};

UMBEL_PLUGIN(Sampler, MultiJitter, "multijitter")
} // namespace umbel
