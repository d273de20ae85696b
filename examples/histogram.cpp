// examples/histogram.cpp: a histogram of ten million normal deviates by scatter-add.
//
// At the top level of a program a scatter-add runs in lane order after the kernel that computes its
// operands: no atomics, and the same result to the bit for any number of threads.
#include "jit/array.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

using namespace umbel::jit;

// PCG's output permutation over a counter: a random number for each lane and stream.
UInt32 random_bits(const UInt32 &lane, uint32_t stream) {
    UInt32 state = (lane + opaque(stream)) * 747796405u + 2891336453u;
    UInt32 word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return (word >> 22u) ^ word;
}

Float32 uniform(const UInt32 &bits) { return (Float32(bits >> 8u) + 0.5f) * (1.f / 16777216.f); }

int main() {
    constexpr uint32_t n = 10'000'000, bins = 33;
    UInt32 lane = arange<uint32_t>(n);

    // Box and Muller's transform of two uniform numbers
    Float32 u = uniform(random_bits(lane, 0)), v = uniform(random_bits(lane, 0x9e3779b9u));
    Float32 x = sqrt(-2.f * log(u)) * cos(6.2831853f * v);

    // Bins of a quarter from -4.125 on; what lies outside is masked
    Float32 position = floor((x + 4.125f) * 4.f);
    Mask inside = (position >= 0.f) & (position < float(bins));
    UInt32 histogram = zeros<uint32_t>(bins);
    scatter_add(histogram, UInt32(1u), UInt32(position), inside);

    std::vector<uint32_t> counts = histogram.read();
    uint64_t total = 0;
    double worst = 0; // in standard deviations of the count
    for (uint32_t i = 0; i < bins; ++i) {
        double lo = -4.125 + i * 0.25, hi = lo + 0.25;
        double expected = n * 0.5 * (std::erf(hi / std::sqrt(2.0)) - std::erf(lo / std::sqrt(2.0)));
        worst = std::max(worst, std::abs(counts[i] - expected) / std::sqrt(expected));
        total += counts[i];
        std::printf("%+6.2f %8u %s\n", lo + 0.125, counts[i],
                    std::string(counts[i] / 20000, '*').c_str());
    }
    std::printf("%llu of %u inside; the worst bin is %.1f standard deviations off\n",
                (unsigned long long)total, n, worst);
    return total == count(inside) && worst < 5 ? 0 : 1;
}
