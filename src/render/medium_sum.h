// render/medium_sum.h: several media in one place: coefficients add up, and light collides with one of them.
#pragma once
#include "render/medium.h"

namespace umbel {

/// Of media that outlive it; of none it is empty space. Distances in what does not vary are sampled in one step; parts that do are
/// tracked each by bounds of its own, so that a thin plume in fog costs what it costs by itself.
class MediumSum final : public Medium {
public:
    explicit MediumSum(std::vector<const Medium *> parts);

    Spectrum majorant(const MediumInteraction &mei, const Mask &active) const override;
    Coefficients scattering_coefficients(const MediumInteraction &mei,
                                         const Mask &active) const override;
    Spectrum emission(const MediumInteraction &mei, const Mask &active) const override;
    bool is_emissive() const override;
    Extent extent(const Ray &ray) const override;
    bool is_homogeneous() const override { return m_varying.empty(); }
    /// Those that are not homogeneous, and the sum of all others; null: there are none.
    const std::vector<const Medium *> &varying_parts() const { return m_varying; }
    const Medium *uniform_part() const { return m_uniform; }

private:
    std::vector<const Medium *> m_parts,
        m_varying;                       // all of them, and those that are not homogeneous
    const Medium *m_uniform = nullptr;   // the others, where there are both: one, or ...
    std::unique_ptr<MediumSum> m_others; // ... their sum
};

} // namespace umbel
