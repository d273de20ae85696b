// core/alias_table.h: draws from a discrete distribution in constant time [Vose 1991].
#pragma once
#include "core/vector.h"
#include <span>
#include <vector>

namespace umbel {

/// Cell i stands for itself below its threshold and for its alias above; all cells are equally likely.
struct AliasCells {
    std::vector<double> threshold;
    std::vector<uint32_t> alias;
    double sum; // of the weights
};
/// UserError for weights that are negative, not finite or all zero; it begins with `what`.
AliasCells make_alias_cells(std::span<const double> weights, const char *what);

class AliasTable {
public:
    AliasTable() = default;
    /// Of weights that are not negative; UserError if they sum to zero or less.
    explicit AliasTable(std::span<const double> weights) : AliasTable(weights, weights.size()) {}
    /// Several of `size` weights each, one after the other.
    AliasTable(std::span<const double> weights, size_t size);

    bool empty() const { return m_size == 0; }
    /// The index, and the part of `u` that was not used up, again uniform in [0, 1).
    std::pair<UInt32, Float> sample_reuse(const Float &u, const Mask &active) const;
    /// From one of several, by number.
    std::pair<UInt32, Float> sample_reuse(const Float &u, const Mask &active,
                                          const UInt32 &number) const;
    /// Of the weights of all.
    double sum() const { return m_sum; }

private:
    uint32_t m_size = 0;
    double m_sum = 0;
    Float m_count;  // data of the program, as is the table
    UInt32 m_table; // pairs: bits of an f32 threshold, alias
};

} // namespace umbel
