// core/random.h: hashing of integers and low-discrepancy points, all by random access: point i needs no other point.
#pragma once
#include "core/float.h"
#include <span>

namespace umbel {

/// A bijection of 32-bit numbers without visible structure.
UInt32 mix_bits(UInt32 x);
/// The upper bits of a random integer as a Float in [0, 1).
Float to_unit(const UInt32 &bits);

// ---- base 2

/// The bits in opposite order.
UInt32 reverse_bits(UInt32 x);
/// Owen's nested uniform scrambling of bits in opposite order, the lowest one first: whether bit i flips is a hash of the
/// seed and of the bits below i [Laine 2011, Vegdahl 2021].
UInt32 owen_scramble_reversed(UInt32 x, const UInt32 &seed);
/// The generator matrix of Sobol's second dimension, applied to a number in usual order, result in opposite order.
UInt32 sobol_2_reversed(UInt32 index);

/// Van der Corput's sequence, and the second dimension of Sobol's, with bits flipped by `scramble`. Together a
/// (0, 2)-sequence.
Float radical_inverse_2(const UInt32 &index, const UInt32 &scramble = 0u);
Float sobol_2(const UInt32 &index, const UInt32 &scramble = 0u);

// ---- prime bases

/// Radical inverses: the digits of a number in base b, mirrored at the point. Digits may be permuted, with one permutation a
/// base: Halton's sequence in high dimensions needs that.
class RadicalInverse {
public:
    static constexpr int None = 0, Faure = -1;

    /// The first `count` primes, at most 1024. `scramble`: None, Faure, or the seed of random permutations.
    explicit RadicalInverse(size_t count, int scramble = Faure);

    size_t size() const { return m_bases.size(); }
    uint32_t base(size_t i) const { return m_bases.at(i); }
    std::span<const uint16_t> permutation(size_t i) const;
    /// In [0, 1).
    Float eval(size_t base_index, const UInt64 &index) const;

private:
    std::vector<uint32_t> m_bases, m_offsets; // of each base's permutation
    std::vector<uint16_t> m_permutations;     // identical ones where digits stay as they are
    UInt32 m_table; // the same, as data of the program; none if digits stay
};

/// Faure's permutation of the digits 0 .. base-1 [Faure 1992].
std::vector<uint16_t> faure_permutation(uint32_t base);

} // namespace umbel
