// core/alias_table.cpp: builds alias tables and draws from them.
#include "core/alias_table.h"
#include "core/distribution_tools.h"
#include "core/filled_array.h"
#include "jit/parallel.h"
#include <algorithm>
#include <bit>
#include <numeric>

namespace umbel {

namespace {

// The tables of one thread, used for one distribution after the other.
class Builder {
public:
    explicit Builder(size_t n) : m_share(n), m_small(n), m_large(n) {}

    // Weights that are not negative, of a positive sum.
    void build(std::span<const double> weights, double sum, uint32_t *table) {
        size_t n = weights.size(), small = 0, large = 0;
        double scale = double(n) / sum;
        auto set = [&](size_t cell, double threshold, size_t alias) {
            table[2 * cell] = std::bit_cast<uint32_t>(float(threshold));
            table[2 * cell + 1] = uint32_t(alias);
        };
        for (size_t i = 0; i < n; ++i) {
            m_share[i] = weights[i] * scale;
            set(i, 1, i);
            (m_share[i] < 1 ? m_small[small++] : m_large[large++]) = uint32_t(i);
        }
        // A cell short of the average is filled up by one that has more
        while (small > 0 && large > 0) {
            uint32_t s = m_small[--small], l = m_large[large - 1];
            set(s, m_share[s], l);
            m_share[l] -= 1 - m_share[s];
            if (m_share[l] < 1) {
                --large;
                m_small[small++] = l;
            }
        }
        // What rounding leaves over is within an ulp of the average, unless its weight is 0
        while (small > 0)
            if (uint32_t s = m_small[--small]; weights[s] == 0)
                set(s, 0, size_t(std::ranges::max_element(weights) - weights.begin()));
    }

private:
    std::vector<double> m_share;
    std::vector<uint32_t> m_small, m_large;
};

} // namespace

AliasTable::AliasTable(std::span<const double> weights)
    : m_size(uint32_t(weights.size())), m_sums{ check_weights(weights, "discrete distribution") },
      m_count(opaque_float(double(weights.size()))) {
    std::vector<uint32_t> table(2 * weights.size());
    Builder(weights.size()).build(weights, m_sums[0], table.data());
    m_table = jit::copy(table);
}

AliasTable::AliasTable(size_t count, size_t size, const WeightsOf &weights_of)
    : m_size(uint32_t(size)), m_sums(count), m_count(opaque_float(double(size))) {
    if (count * size > 0x3fffffff)
        fail("discrete distribution: {} x {} values; up to 2^30 are possible: scale it down", count,
             size);
    auto fill = [&](uint32_t *table) {
        jit::parallel_for(tbb::blocked_range<size_t>(0, count), [&](const auto &range) {
            Builder builder(size);
            std::vector<double> weights(size);
            for (size_t i = range.begin(); i < range.end(); ++i) {
                uint32_t *part = table + 2 * size * i;
                weights_of(i, weights);
                m_sums[i] = std::accumulate(weights.begin(), weights.end(), 0.0);
                if (m_sums[i] > 0)
                    builder.build(weights, m_sums[i], part);
                else
                    std::fill_n(part, 2 * size, 0u);
            }
        });
    };
    m_table = UInt32(filled_array<uint32_t>(2 * count * size, fill));
}

std::pair<UInt32, Float> AliasTable::sample_reuse(const Float &u, const Mask &active) const {
    return sample_reuse(u, active, UInt32(0u));
}

std::pair<UInt32, Float> AliasTable::sample_reuse(const Float &u, const Mask &active,
                                                  const UInt32 &number) const {
    Float x = u * m_count;
    // Rounding must not give 1.
    Float cell = min(floor(x), m_count - 1), rest = min(x - cell, 1 - 6e-8);
    auto [bits, alias] =
        jit::gather_packet<uint32_t, 2>(m_table, to_uint(cell) + number * to_uint(m_count), active);
    Float threshold(jit::cast(variant().float_type(), jit::reinterpret<float>(bits)));
    Mask stay = rest < threshold;
    Float reuse = select(stay, rest / threshold, (rest - threshold) / (1 - threshold));
    return { select(stay, to_uint(cell), alias), min(reuse, 1 - 6e-8) };
}

// ---- Grids

AliasGrid::AliasGrid(size_t width, size_t height, const AliasTable::WeightsOf &weights_of)
    : m_cells(height, width, weights_of), m_rows(m_cells.sums()) {}

AliasGrid::Cell AliasGrid::sample(const Vector2 &u, const Mask &active) const {
    auto [row, y] = m_rows.sample_reuse(u.y, active);
    auto [column, x] = m_cells.sample_reuse(u.x, active, row);
    return { column, row, { x, y } };
}

} // namespace umbel
