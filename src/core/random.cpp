// core/random.cpp: see core/random.h.
#include "core/random.h"
#include "jit/array.h"
#include <numeric>
#include <random>

namespace umbel {

// Multipliers of a search for low bias by exhaustive avalanche tests [Wellons 2018].
UInt32 mix_bits(UInt32 x) {
    x = x ^ (x >> UInt32(16u));
    x = x * UInt32(0x21f0aaadu);
    x = x ^ (x >> UInt32(15u));
    x = x * UInt32(0x735a2d97u);
    return x ^ (x >> UInt32(15u));
}

Float to_unit(const UInt32 &bits) {
    if (variant().double_precision) // 32 bits, in the middle of their cells
        return Float(jit::cast(jit::Type::F64, bits)) * 0x1p-32 + 0x1p-33;
    return Float(jit::cast(jit::Type::F32, bits >> UInt32(8u))) * 0x1p-24;
}

// ---- base 2

UInt32 reverse_bits(UInt32 x) {
    x = (x << UInt32(16u)) | (x >> UInt32(16u));
    for (auto [shift, mask] : { std::pair{ 8u, 0x00ff00ffu },
                                { 4u, 0x0f0f0f0fu },
                                { 2u, 0x33333333u },
                                { 1u, 0x55555555u } })
        x = ((x & UInt32(mask)) << UInt32(shift)) | ((x >> UInt32(shift)) & UInt32(mask));
    return x;
}

// Each step lets a bit depend on lower ones only: sums, products with odd numbers, and x ^ (x * even).
UInt32 owen_scramble_reversed(UInt32 x, const UInt32 &seed) {
    x = x ^ (x * UInt32(0x3d20adeau));
    x = x + seed;
    x = x * ((seed >> UInt32(16u)) | UInt32(1u));
    x = x ^ (x * UInt32(0x05526c56u));
    return x ^ (x * UInt32(0x53a22864u));
}

// The matrix is Pascal's triangle modulo 2, a fivefold tensor product of (1 1; 0 1): five steps instead of 32.
UInt32 sobol_2_reversed(UInt32 x) {
    for (auto [shift, mask] : { std::pair{ 16u, 0x0000ffffu },
                                { 8u, 0x00ff00ffu },
                                { 4u, 0x0f0f0f0fu },
                                { 2u, 0x33333333u },
                                { 1u, 0x55555555u } })
        x = x ^ ((x >> UInt32(shift)) & UInt32(mask));
    return x;
}

Float radical_inverse_2(const UInt32 &index, const UInt32 &scramble) {
    return to_unit(reverse_bits(index) ^ scramble);
}

Float sobol_2(const UInt32 &index, const UInt32 &scramble) {
    return to_unit(reverse_bits(sobol_2_reversed(index)) ^ scramble);
}

// ---- prime bases

// Of an even base from half of it: even digits, then odd ones. Of an odd base from the one below: the middle digit is put
// into the middle.
std::vector<uint16_t> faure_permutation(uint32_t base) {
    if (base <= 2) {
        std::vector<uint16_t> p(base);
        std::iota(p.begin(), p.end(), uint16_t(0));
        return p;
    }
    std::vector<uint16_t> out;
    if (base % 2 == 0) {
        std::vector<uint16_t> half = faure_permutation(base / 2);
        for (int odd : { 0, 1 })
            for (uint16_t v : half)
                out.push_back(uint16_t(2 * v + odd));
        return out;
    }
    out = faure_permutation(base - 1);
    auto middle = uint16_t((base - 1) / 2);
    for (uint16_t &v : out)
        v = uint16_t(v + (v >= middle));
    out.insert(out.begin() + middle, middle);
    return out;
}

RadicalInverse::RadicalInverse(size_t count, int scramble) {
    if (count == 0 || count > 1024)
        fail("{} bases of radical inverses; 1 to 1024 are possible", count);
    for (uint32_t n = 2; m_bases.size() < count; ++n) {
        auto divides = [&](uint32_t p) { return n % p == 0; };
        if (std::none_of(m_bases.begin(), m_bases.end(), divides))
            m_bases.push_back(n);
    }
    std::mt19937 rng{ uint32_t(scramble) };
    for (uint32_t b : m_bases) {
        m_offsets.push_back(uint32_t(m_permutations.size()));
        std::vector<uint16_t> p(b);
        std::iota(p.begin(), p.end(), uint16_t(0));
        if (scramble == Faure)
            p = faure_permutation(b);
        else if (scramble != None)
            for (uint32_t i = b - 1; i > 0; --i) // std::shuffle differs between libraries
                std::swap(p[i], p[uint64_t(rng()) * (i + 1) >> 32]);
        m_permutations.insert(m_permutations.end(), p.begin(), p.end());
    }
    if (scramble != None)
        m_table = jit::copy(std::vector<uint32_t>(m_permutations.begin(), m_permutations.end()));
}

std::span<const uint16_t> RadicalInverse::permutation(size_t i) const {
    return { m_permutations.data() + m_offsets.at(i), base(i) };
}

Float RadicalInverse::eval(size_t base_index, const UInt64 &index) const {
    uint32_t b = base(base_index), offset = m_offsets[base_index];
    struct State {
        UInt64 rest;
        Float sum, scale;
        UMBEL_STRUCT(rest, sum, scale)
    };
    State s = jit::loop(
        State{ index, Float(0), Float(1) },
        [](const State &s) { return s.rest != UInt64(uint64_t(0)); },
        [&](State &s) {
            UInt64 quotient = s.rest / UInt64(uint64_t(b));
            UInt32 digit(s.rest - quotient * UInt64(uint64_t(b)));
            if (m_table.valid())
                digit = jit::gather(m_table, digit + UInt32(offset));
            s.rest = quotient;
            s.scale = s.scale * (1.0 / b);
            s.sum = fma(Float(digit), s.scale, s.sum);
        },
        "radical inverse");
    // All further digits are 0, and become what 0 is permuted to: a geometric series
    Float tail = s.scale * (double(permutation(base_index)[0]) / (b - 1));
    double below = variant().double_precision ? 1 - 0x1p-53 : 1 - 0x1p-24;
    return min(s.sum + tail, below);
}

} // namespace umbel
