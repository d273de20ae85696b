// render/medium_sum.cpp: see medium_sum.h.
#include "render/medium_sum.h"
#include "render/channel_choice.h"
#include "render/part_choice.h"
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
class SumOfPhases final : public PhaseFunction {
public:
    explicit SumOfPhases(const std::vector<const Medium *> &parts) : m_parts(parts) {
        for (const Medium *m : parts)
            append_components(m_components, m->phase_function().components());
    }

    std::pair<Spectrum, Float> eval_pdf(const PhaseFunctionContext &ctx,
                                        const MediumInteraction &mei, const Vector3 &wo,
                                        const Mask &active) const override {
        Spectrum sum = black();
        Float density(0);
        for (const Part &part : parts_of(ctx, mei, active)) {
            auto [value, pdf] = part.phase->eval_pdf(part.ctx, mei, wo, active);
            sum += value * part.share;
            density += pdf * part.probability;
        }
        return { sum, density };
    }

    PhaseFunctionSample sample(const PhaseFunctionContext &ctx, const MediumInteraction &mei,
                               const Float &u1, const Vector2 &u2,
                               const Mask &active) const override {
        std::vector<Part> parts = parts_of(ctx, mei, active);
        PhaseFunctionSample result = PhaseFunctionSample::none();
        PartChoice choice(u1, parts.size());
        for (const Part &part : parts) {
            auto [here, again] = choice.next(part.probability);
            PhaseFunctionSample s = part.phase->sample(part.ctx, mei, again, u2, active & here);
            result.wo = select(here, s.wo, result.wo);
            result.pdf = select(here, s.pdf, result.pdf);
        }
        // All may scatter into that direction
        Mask some = active & (result.pdf > 0);
        auto [value, pdf] = eval_pdf(ctx, mei, result.wo, some);
        some = some & (pdf > 0);
        result.weight = select(some, (value / select(some, pdf, Float(1))).dense(), black());
        result.pdf = select(some, pdf, Float(0));
        return result;
    }
    bool loses_energy() const override {
        return std::any_of(m_parts.begin(), m_parts.end(),
                           [](const Medium *m) { return m->phase_function().loses_energy(); });
    }

private:
    struct Part {
        const PhaseFunction *phase;
        PhaseFunctionContext ctx;
        Spectrum share;
        Float probability; // to be chosen
    };
    std::vector<Part> parts_of(const PhaseFunctionContext &ctx, const MediumInteraction &mei,
                               const Mask &active) const {
        std::vector<Part> parts;
        Spectrum all(0);
        Float chosen(0);
        uint32_t first = 0;
        for (const Medium *m : m_parts) {
            const PhaseFunction &f = m->phase_function();
            Spectrum sigma_s = coefficients_of(*m, mei, active).sigma_s;
            all += sigma_s;
            auto count = uint32_t(f.components().size());
            auto inner = ctx.inside(first, count);
            first += count;
            if (!inner || !(f.flags() & ctx.type_mask))
                continue;
            parts.push_back({ &f, *inner, sigma_s, Float(ad::detach(mean(sigma_s))) });
            chosen += parts.back().probability;
        }
        for (Part &p : parts) {
            p.share = map(p.share, all, [](const Float &s, const Float &sum) {
                return s / select(sum > 0, sum, Float(1));
            });
            p.probability = p.probability / select(chosen > 0, chosen, Float(1));
        }
        return parts;
    }

    std::vector<const Medium *> m_parts;
};

} // namespace

MediumSum::MediumSum(std::vector<const Medium *> parts) : m_parts(std::move(parts)) {
    m_phase = std::make_shared<SumOfPhases>(m_parts);
    auto any = [&](auto &&is) { return std::any_of(m_parts.begin(), m_parts.end(), is); };
    m_has_spectral_extinction = any([](const Medium *m) { return m->has_spectral_extinction(); });
    m_sample_emitters = any([](const Medium *m) { return m->use_emitter_sampling(); });
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

bool MediumSum::is_homogeneous() const {
    return std::all_of(m_parts.begin(), m_parts.end(),
                       [](const Medium *m) { return m->is_homogeneous(); });
}

} // namespace umbel
