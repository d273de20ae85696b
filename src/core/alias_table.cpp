// core/alias_table.cpp: builds alias tables and draws from them.
#include "core/alias_table.h"
#include <cmath>
#include <vector>

namespace umbel {

AliasTable::AliasTable(std::span<const double> weights) : m_size(uint32_t(weights.size())) {
    for (double w : weights) {
        if (!(w >= 0) || !std::isfinite(w))
            fail("a discrete distribution has the weight {}; weights must be finite and not "
                 "negative",
                 w);
        m_sum += w;
    }
    if (!(m_sum > 0))
        fail("a discrete distribution needs a positive weight");
    size_t n = weights.size();
    std::vector<double> scaled(n);
    std::vector<uint32_t> table(2 * n);
    auto bits = [](double v) { return std::bit_cast<uint32_t>(float(v)); };
    std::vector<uint32_t> small, large;
    for (size_t i = 0; i < n; ++i) {
        scaled[i] = weights[i] * double(n) / m_sum;
        (scaled[i] < 1 ? small : large).push_back(uint32_t(i));
    }
    while (!small.empty() && !large.empty()) {
        uint32_t s = small.back(), l = large.back();
        small.pop_back();
        table[2 * s] = bits(scaled[s]);
        table[2 * s + 1] = l;
        scaled[l] -= 1 - scaled[s];
        if (scaled[l] < 1) {
            large.pop_back();
            small.push_back(l);
        }
    }
    for (auto *rest : { &small, &large }) // 1 up to rounding
        for (uint32_t i : *rest) {
            table[2 * i] = bits(1);
            table[2 * i + 1] = i;
        }
    m_table = jit::copy(table);
    m_count = opaque_float(double(n));
}

std::pair<UInt32, Float> AliasTable::sample_reuse(const Float &u, const Mask &active) const {
    Float x = u * m_count;
    Float cell = min(floor(x), m_count - 1), rest = x - cell;
    auto [bits, alias] = jit::gather_packet<uint32_t, 2>(m_table, to_uint(cell), active);
    Float threshold(jit::cast(variant().float_type(), jit::reinterpret<float>(bits)));
    Mask stay = rest < threshold;
    Float reuse = select(stay, rest / threshold, (rest - threshold) / (1 - threshold));
    // Rounding must not give 1.
    return { select(stay, to_uint(cell), alias), min(reuse, 1 - 6e-8) };
}

} // namespace umbel
