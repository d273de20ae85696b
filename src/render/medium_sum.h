// render/medium_sum.h: several media in one place: coefficients add up, and light collides with one of them.
#pragma once
#include "render/medium.h"

namespace umbel {

/// Of media that outlive it; of none it is empty space. Its bound is the sum of theirs, so that distances in a sum of which
/// nothing varies are sampled in one step.
class MediumSum final : public Medium {
public:
    explicit MediumSum(std::vector<const Medium *> parts);

    Spectrum majorant(const MediumInteraction &mei, const Mask &active) const override;
    Coefficients scattering_coefficients(const MediumInteraction &mei,
                                         const Mask &active) const override;
    Spectrum emission(const MediumInteraction &mei, const Mask &active) const override;
    bool is_emissive() const override;
    Extent extent(const Ray &ray) const override;
    bool is_homogeneous() const override;

private:
    std::vector<const Medium *> m_parts;
};

} // namespace umbel
