// render/texel_distribution.cpp: tables of an image's texels, and searching them.
#include "render/texel_distribution.h"
#include "core/distribution_tools.h"

namespace umbel {

TexelDistribution::TexelDistribution(std::span<const double> weights, size_t width, size_t height)
    : m_width(width), m_height(height) {
    double total = check_weights(weights, "texture"), scale = double(weights.size()) / total;
    std::vector<double> rows, density, cumulative;
    for (size_t y = 0; y < height; ++y) {
        std::span<const double> row = weights.subspan(y * width, width);
        double sum = 0, below = 0;
        for (double w : row)
            sum += w;
        rows.push_back(sum);
        cumulative.push_back(0);
        for (double w : row) {
            density.push_back(w * scale);
            below += w;
            cumulative.push_back(sum > 0 ? below / sum : 1);
        }
        // The last texel that counts ends at 1 exactly, so that searches stop there
        for (size_t i = cumulative.size() - 1; i > 0 && cumulative[i] > 1 - 1e-15; --i)
            cumulative[i] = 1;
    }
    m_rows = DiscreteDistribution(rows);
    m_density = float_array(density);
    m_cumulative = float_array(cumulative);
}

TexelDistribution::Sample TexelDistribution::sample(const Vector2 &u, const Mask &active) const {
    DiscreteDistribution::Reused row = m_rows.sample_reuse(u.y, active);
    auto width = uint32_t(m_width);
    UInt32 base = row.index * (width + 1);
    Float v = below_one(u.x);
    UInt32 x = count_leading(
        m_width - 1,
        [&](const UInt32 &k, const Mask &m) { return fetch(m_cumulative, base + k + 1u, m) <= v; },
        active);
    Float low = fetch(m_cumulative, base + x, active),
          high = fetch(m_cumulative, base + x + 1u, active);
    return { x, row.index, { clamp((v - low) / max(high - low, 1e-30), 0, 1), row.u } };
}

Float TexelDistribution::density(const UInt32 &x, const UInt32 &y, const Mask &active) const {
    return fetch(m_density, y * uint32_t(m_width) + x, active);
}

Float TexelDistribution::probability(const UInt32 &x, const UInt32 &y, const Mask &active) const {
    return density(x, y, active) * (1 / (double(m_width) * double(m_height)));
}

} // namespace umbel
