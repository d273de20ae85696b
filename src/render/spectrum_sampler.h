// render/spectrum_sampler.h: wavelengths with a density proportional to a table's values.
#pragma once
#include "core/distribution.h"
#include "core/spectrum.h"

namespace umbel {

class SpectrumSampler {
public:
    SpectrumSampler() = default;
    SpectrumSampler(std::span<const double> wavelengths, std::span<const double> values)
        : m_distribution(wavelengths, values) {}

    /// One wavelength for each of the numbers.
    Wavelengths sample(const Spectrum &u, const Mask &active) const {
        return map(u, [&](const Float &v) { return m_distribution.sample(v, active).x; });
    }
    Spectrum pdf(const Wavelengths &w, const Mask &active) const {
        return map(w,
                   [&](const Float &v) { return m_distribution.eval_pdf_normalized(v, active); });
    }
    const Float &integral() const { return m_distribution.integral(); }

private:
    ContinuousDistribution m_distribution;
};

} // namespace umbel
