// render/medium_sum.cpp: see medium_sum.h.
#include "render/medium_sum.h"
#include "render/phase_mixture.h"
#include <algorithm>

namespace umbel {

namespace {

// Of one part at a place; nothing where it ends before, as a grid does.
Medium::Coefficients coefficients_of(const Medium &part, const MediumInteraction &mei,
                                     const Mask &active) {
    Ray onwards{ mei.p, -mei.wi, Float(std::numeric_limits<double>::infinity()), mei.time,
                 mei.wavelengths };
    Medium::Extent e = part.extent(onwards);
    Mask inside = active & e.is_met & !(e.mint > 0);
    Medium::Coefficients c = part.scattering_coefficients(mei, inside);
    return { select(inside, c.sigma_s, Spectrum(0)), Spectrum(0),
             select(inside, c.sigma_t, Spectrum(0)) };
}

/// Each part scatters its share of what all of them do, which may differ between channels.
class SumOfPhases final : public PhaseChoice {
public:
    explicit SumOfPhases(const std::vector<const Medium *> &media) : m_media(media) {
        for (const Medium *m : media)
            m_parts.push_back(m->phase_ref());
        configure();
    }

protected:
    std::vector<Share> shares(const MediumInteraction &mei, const Mask &active) const override {
        std::vector<Share> out;
        for (const Medium *m : m_media) {
            Spectrum sigma_s = coefficients_of(*m, mei, active).sigma_s;
            out.push_back({ sigma_s, mean(sigma_s) });
        }
        return out;
    }

private:
    std::vector<const Medium *> m_media;
};

} // namespace

MediumSum::MediumSum(std::vector<const Medium *> parts) : m_parts(std::move(parts)) {
    m_phase = std::make_shared<SumOfPhases>(m_parts);
    auto any = [&](auto &&is) { return std::any_of(m_parts.begin(), m_parts.end(), is); };
    m_has_spectral_extinction = any([](const Medium *m) { return m->has_spectral_extinction(); });
    m_sample_emitters = any([](const Medium *m) { return m->use_emitter_sampling(); });
    std::vector<const Medium *> uniform;
    for (const Medium *m : m_parts)
        (m->is_homogeneous() ? uniform : m_varying).push_back(m);
    if (m_varying.empty() || uniform.empty())
        return;
    if (uniform.size() > 1)
        m_others = std::make_unique<MediumSum>(uniform);
    m_uniform = m_others ? m_others.get() : uniform[0];
}

Spectrum MediumSum::majorant(const MediumInteraction &mei, const Mask &active) const {
    Spectrum sum(0);
    for (const Medium *m : m_parts)
        sum += m->majorant(mei, active);
    return sum;
}

Medium::Coefficients MediumSum::scattering_coefficients(const MediumInteraction &mei,
                                                        const Mask &active) const {
    Coefficients sum{ Spectrum(0), Spectrum(0), Spectrum(0) };
    for (const Medium *m : m_parts) {
        Coefficients c = coefficients_of(*m, mei, active);
        sum.sigma_s += c.sigma_s;
        sum.sigma_t += c.sigma_t;
    }
    sum.sigma_n = is_homogeneous() ? Spectrum(0) : majorant(mei, active) - sum.sigma_t;
    return sum;
}

Spectrum MediumSum::emission(const MediumInteraction &mei, const Mask &active) const {
    Spectrum sum(0);
    for (const Medium *m : m_parts) {
        if (!m->is_emissive())
            continue;
        MediumInteraction own = mei;
        Coefficients c = coefficients_of(*m, mei, active);
        own.sigma_s = c.sigma_s;
        own.sigma_t = c.sigma_t;
        sum += select(any_nonzero(c.sigma_t), m->emission(own, active), Spectrum(0));
    }
    return sum;
}

bool MediumSum::is_emissive() const {
    return std::any_of(m_parts.begin(), m_parts.end(),
                       [](const Medium *m) { return m->is_emissive(); });
}

Medium::Extent MediumSum::extent(const Ray &ray) const {
    Extent all{ Mask(false), Float(0), Float(0) };
    for (const Medium *m : m_parts) {
        Extent e = m->extent(ray);
        all.mint = select(e.is_met, select(all.is_met, min(all.mint, e.mint), e.mint), all.mint);
        all.maxt = select(e.is_met, select(all.is_met, max(all.maxt, e.maxt), e.maxt), all.maxt);
        all.is_met = all.is_met | e.is_met;
    }
    return all;
}

} // namespace umbel
