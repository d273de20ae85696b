// render/halton_points.h: the points behind `halton` and `hammersley`.
#pragma once
#include "render/sampler.h"

namespace umbel {

/// Halton's sequence: coordinate d of point i is the radical inverse of i in the d-th prime base, with permuted digits.
///
/// Each pixel and seed begins somewhere in the one sequence and goes on from there [Wang 2000]: its samples are as evenly spread
/// as the first ones are, and each of them alone may be anywhere. Beyond 1024 dimensions numbers are independent.
class HaltonPoints : public Sampler {
public:
    void declare(Params &p) override;
    void configure() override;
    SamplerState begin(const UInt32 &seed, const UInt32 &pixel,
                       const UInt32 &sample) const override;
    Vector2 next_2d(SamplerState &s) const override;

protected:
    static constexpr uint32_t Dimensions = 1024;

    /// In the base of that number, from 0 on.
    Float coordinate(const SamplerState &s, const UInt32 &base_number) const;
    template <class T> std::shared_ptr<T> copy_with_tables(const T &self) const {
        auto copy = copy_of(self);
        copy->m_scramble = m_scramble;
        copy->m_tables = m_tables;
        copy->configure();
        return copy;
    }

    struct Tables {
        int scramble;
        UInt32 bases, offsets, digits; // where a base's permutation begins; all permutations
    };
    int m_scramble = RadicalInverse::Faure;
    std::shared_ptr<const Tables> m_tables; // shared by copies
};

} // namespace umbel
