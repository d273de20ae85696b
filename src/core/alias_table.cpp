// core/alias_table.cpp: builds alias tables and draws from them.
#include "core/alias_table.h"
#include "core/distribution_tools.h"
#include <algorithm>
#include <bit>

namespace umbel {

AliasCells make_alias_cells(std::span<const double> weights, const char *what) {
    size_t n = weights.size();
    AliasCells cells{ std::vector<double>(n, 1), std::vector<uint32_t>(n),
                      check_weights(weights, what) };
    std::vector<double> share(n);
    std::vector<uint32_t> small, large;
    small.reserve(n);
    for (size_t i = 0; i < n; ++i) {
        share[i] = weights[i] / cells.sum * double(n);
        cells.alias[i] = uint32_t(i);
        (share[i] < 1 ? small : large).push_back(uint32_t(i));
    }
    // A cell short of the average is filled up by one that has more
    while (!small.empty() && !large.empty()) {
        uint32_t s = small.back(), l = large.back();
        small.pop_back();
        cells.threshold[s] = share[s];
        cells.alias[s] = l;
        share[l] -= 1 - share[s];
        if (share[l] < 1) {
            large.pop_back();
            small.push_back(l);
        }
    }
    // What rounding leaves over is within an ulp of the average, unless its weight is 0
    auto heaviest = uint32_t(std::max_element(weights.begin(), weights.end()) - weights.begin());
    for (uint32_t s : small)
        if (weights[s] == 0) {
            cells.threshold[s] = 0;
            cells.alias[s] = heaviest;
        }
    return cells;
}

AliasTable::AliasTable(std::span<const double> weights, size_t size) : m_size(uint32_t(size)) {
    std::vector<uint32_t> table;
    size_t first = 0;
    do {
        AliasCells cells =
            make_alias_cells(weights.subspan(first, size), "a discrete distribution");
        m_sum += cells.sum;
        for (size_t i = 0; i < size; ++i) {
            table.push_back(std::bit_cast<uint32_t>(float(cells.threshold[i])));
            table.push_back(cells.alias[i]);
        }
        first += size;
    } while (first < weights.size());
    m_table = jit::copy(table);
    m_count = opaque_float(double(size));
}

std::pair<UInt32, Float> AliasTable::sample_reuse(const Float &u, const Mask &active) const {
    return sample_reuse(u, active, UInt32(0u));
}

std::pair<UInt32, Float> AliasTable::sample_reuse(const Float &u, const Mask &active,
                                                  const UInt32 &number) const {
    Float x = u * m_count;
    Float cell = min(floor(x), m_count - 1), rest = x - cell;
    auto [bits, alias] =
        jit::gather_packet<uint32_t, 2>(m_table, to_uint(cell) + number * to_uint(m_count), active);
    Float threshold(jit::cast(variant().float_type(), jit::reinterpret<float>(bits)));
    Mask stay = rest < threshold;
    Float reuse = select(stay, rest / threshold, (rest - threshold) / (1 - threshold));
    // Rounding must not give 1.
    return { select(stay, to_uint(cell), alias), min(reuse, 1 - 6e-8) };
}

} // namespace umbel
