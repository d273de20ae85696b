// core/alias_table.h: draws from a discrete distribution in constant time [Vose 1991].
#pragma once
#include "core/vector.h"
#include <functional>
#include <span>
#include <vector>

namespace umbel {

class AliasTable {
public:
    AliasTable() = default;
    /// Of weights that are not negative; UserError if they sum to zero or less.
    explicit AliasTable(std::span<const double> weights);
    /// Several of `size` weights each. All cores call `weights_of` for those of each of them, which may be all zero: there is no
    /// sample of such ones.
    using WeightsOf = std::function<void(size_t number, std::span<double> weights)>;
    AliasTable(size_t count, size_t size, const WeightsOf &weights_of);

    bool empty() const { return m_size == 0; }
    /// The index, and the part of `u` that was not used up, again uniform in [0, 1).
    std::pair<UInt32, Float> sample_reuse(const Float &u, const Mask &active) const;
    /// From one of several, by number.
    std::pair<UInt32, Float> sample_reuse(const Float &u, const Mask &active,
                                          const UInt32 &number) const;
    /// Of the weights of each.
    const std::vector<double> &sums() const { return m_sums; }

private:
    uint32_t m_size = 0;
    std::vector<double> m_sums;
    Float m_count; // data of the program, as is the table
    // Pairs: bits of an f32 threshold, below which a cell stands for itself; the alias, for which it stands above
    UInt32 m_table;
};

/// Draws cells of a grid: a row, and a cell of it.
class AliasGrid {
public:
    AliasGrid() = default;
    /// Of the weights of each row, as above; UserError if they sum to zero or less.
    AliasGrid(size_t width, size_t height, const AliasTable::WeightsOf &weights_of);
    struct Cell {
        UInt32 column, row;
        Vector2 rest; // of `u`, uniform in the unit square again
    };
    Cell sample(const Vector2 &u, const Mask &active) const;
    /// Of all weights.
    double sum() const { return m_rows.sums()[0]; }

private:
    AliasTable m_cells, m_rows;
};

} // namespace umbel
