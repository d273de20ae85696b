// render/texel_distribution.h: positions on an image, with a density proportional to its texels.
#pragma once
#include "core/distribution.h"

namespace umbel {

/// First the row is chosen, then the column.
class TexelDistribution {
public:
    TexelDistribution() = default;
    /// Weights row by row.
    TexelDistribution(std::span<const double> weights, size_t width, size_t height);
    bool valid() const { return m_width > 0; }
    /// Of all weights.
    const Float &sum() const { return m_rows.sum(); }

    struct Sample {
        UInt32 x, y;
        Vector2 rest; // of the random numbers, uniform again
    };
    Sample sample(const Vector2 &u, const Mask &active) const;
    /// Probability of a texel times their number: its density over the unit square.
    Float density(const UInt32 &x, const UInt32 &y, const Mask &active) const;
    Float probability(const UInt32 &x, const UInt32 &y, const Mask &active) const;

private:
    size_t m_width = 0, m_height = 0;
    DiscreteDistribution m_rows;
    Float m_density;    // of each texel
    Float m_cumulative; // of each row, beginning with 0 and ending with 1
};

} // namespace umbel
