// core/distribution_tools.h: what the distributions share.
#pragma once
#include "core/host_array.h"
#include <bit>
#include <span>
#include <vector>

namespace umbel {

/// The sum of weights that are finite, not negative, and not all 0; else a UserError that begins with `what`.
double check_weights(std::span<const double> weights, const char *what);

inline Float fetch(const Float &table, const UInt32 &index, const Mask &active) {
    return Float(jit::gather(table, index, active));
}

/// Keeps a random number below 1, so that searches end at an entry of positive probability.
inline Float below_one(const Float &u) {
    return min(u, u.like(u.type() == jit::Type::F64 ? 1 - 0x1p-53 : 1 - 0x1p-24));
}

/// How many of n elements, from the first on, satisfy a predicate that holds for a leading part of them. A
/// binary search with as many steps as n has bits, the same for all lanes. `holds(i, mask)`.
template <class F> UInt32 count_leading(size_t n, const F &holds, const Mask &active) {
    UInt32 count = 0u;
    for (auto step = uint32_t(std::bit_floor(n)); step > 0; step >>= 1) {
        UInt32 next = count + step;
        Mask in_range = active & (next <= UInt32(uint32_t(n)));
        count = select(in_range & holds(next - 1u, in_range), next, count);
    }
    return count;
}

/// Solves f0 s + (f1 - f0) s^2 / 2 = t for s in [0, 1]; stable for f0 = f1 and f0 = 0.
inline Float sample_linear(const Float &f0, const Float &f1, const Float &t) {
    Float root = safe_sqrt(fma(f0, f0, 2 * (f1 - f0) * t)), d = f0 + root;
    return clamp(2 * t / select(d > 0, d, 1), 0, 1);
}

} // namespace umbel
