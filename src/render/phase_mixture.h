// render/phase_mixture.h: weighted sums of phase functions: what `blendphase`, `mixturephase` and overlapping media share.
#pragma once
#include "ad/ad.h"
#include "render/oriented_phase.h"
#include "render/part_choice.h"
#include "render/traced_once.h"

namespace umbel {

/// Light meets one of several kinds of particles, by its share of what they scatter, and is scattered as that kind does.
/// Components are those of all phase functions, in order.
class PhaseChoice : public PhaseFunction, public OrientedPhase {
public:
    void configure() override {
        m_components.clear();
        m_first.clear();
        for (const Ref<PhaseFunction> &f : m_parts)
            m_first.push_back(append_components(m_components, f->components(), *this));
    }

    std::pair<Spectrum, Float> eval_pdf(const PhaseFunctionContext &ctx,
                                        const MediumInteraction &mei, const Vector3 &wo,
                                        const Mask &active) const override {
        Spectrum sum = black();
        Float density(0);
        for (const Part &part : wanted(ctx, mei, active)) {
            auto [value, pdf] = ask(
                part, "eval_pdf", mei,
                [&] { return part.phase->eval_pdf(part.ctx, mei, wo, active); }, wo, active);
            sum += value * part.share;
            density += pdf * part.probability;
        }
        return { sum, density };
    }

    PhaseFunctionSample sample(const PhaseFunctionContext &ctx, const MediumInteraction &mei,
                               const Float &u1, const Vector2 &u2,
                               const Mask &active) const override {
        std::vector<Part> parts = wanted(ctx, mei, active);
        PhaseFunctionSample result = PhaseFunctionSample::none();
        result.weight = black();
        PartChoice choice(u1, parts.size());
        for (const Part &part : parts) {
            auto [here, again] = choice.next(part.probability);
            PhaseFunctionSample s = ask(
                part, "sample", mei,
                [&, &here = here, &again = again] {
                    return part.phase->sample(part.ctx, mei, again, u2, active & here);
                },
                again, u2, active, here);
            s.weight = (s.weight * (part.share / part.probability)).dense();
            result = { select(here, s.wo, result.wo), select(here, s.pdf, result.pdf),
                       select(here, s.weight, result.weight) };
        }
        if (parts.size() < 2)
            return result;
        // Others may scatter into the same direction
        Mask some = active & (result.pdf > 0);
        auto [value, pdf] = eval_pdf(ctx, mei, result.wo, some);
        some = some & (pdf > 0);
        result.weight = select(some, (value / select(some, pdf, Float(1))).dense(), black());
        result.pdf = select(some, pdf, Float(0));
        return result;
    }

    bool take_orientation(const Ref<Volume> &volume) override {
        bool taken = false;
        for (const Ref<PhaseFunction> &f : m_parts)
            taken |= umbel::take_orientation(*f, volume);
        return taken;
    }
    bool loses_energy() const override {
        return std::any_of(m_parts.begin(), m_parts.end(),
                           [](const Ref<PhaseFunction> &f) { return f->loses_energy(); });
    }

protected:
    struct Share {
        Spectrum scattered; // plain; over the sum of all
        Float weight;       // of being chosen, over the sum of those that may be
    };
    /// Of each part, at a place; none negative.
    virtual std::vector<Share> shares(const MediumInteraction &mei, const Mask &active) const = 0;
    /// What is scattered, whatever light meets: the rest is absorbed.
    virtual Float kept() const { return Float(1); }

    std::vector<Ref<PhaseFunction>> m_parts;

private:
    struct Part {
        const PhaseFunction *phase;
        PhaseFunctionContext ctx;
        Spectrum share;
        Float probability; // to be chosen
    };
    // Those whose components the caller asks for.
    std::vector<Part> wanted(const PhaseFunctionContext &ctx, const MediumInteraction &mei,
                             const Mask &active) const {
        std::vector<Share> of_all = shares(mei, active);
        Spectrum all(0);
        Float chosen(0);
        std::vector<Part> parts;
        for (size_t i = 0; i < m_parts.size(); ++i) {
            const PhaseFunction &f = *m_parts[i];
            all += of_all[i].scattered;
            auto inner = ctx.inside(m_first[i], uint32_t(f.components().size()));
            if (!inner || !(f.flags() & ctx.type_mask))
                continue;
            parts.push_back({ &f, *inner, of_all[i].scattered, of_all[i].weight });
            chosen += of_all[i].weight;
        }
        for (Part &p : parts) {
            p.probability =
                parts.size() == 1
                    ? Float(1)
                    : Float(ad::detach(p.probability / select(chosen > 0, chosen, Float(1))));
            p.share = map(p.share, all, [](const Float &s, const Float &sum) {
                return s / select(sum > 0, sum, Float(1));
            });
            p.share = p.share * kept();
        }
        return parts;
    }
    template <class Fn, class... Args>
    static std::invoke_result_t<Fn> ask(const Part &part, const char *question,
                                        const MediumInteraction &mei, Fn &&fn,
                                        const Args &...args) {
        return traced_once(*part.phase, question, fn, uint32_t(part.ctx.mode), part.ctx.type_mask,
                           part.ctx.component, mei, args...);
    }

    std::vector<uint32_t> m_first; // components of each part begin here
};

/// The same where weights are those of numbers of particles: each kind scatters by what it covers.
class PhaseMixture : public PhaseChoice {
public:
    Float projected_area(const MediumInteraction &mei, const Mask &active) const override {
        Float sum(0);
        std::vector<Float> w = weights(mei, active);
        for (size_t i = 0; i < m_parts.size(); ++i)
            sum += w[i] * m_parts[i]->projected_area(mei, active);
        return has(PhaseFunctionFlags::Microflake) ? sum : Float(1);
    }
    double max_projected_area() const override {
        double most = 0;
        for (const Ref<PhaseFunction> &f : m_parts)
            most = std::max(most, f->max_projected_area());
        return most;
    }
    bool area_varies_in_space() const override {
        return std::any_of(m_parts.begin(), m_parts.end(), [](const Ref<PhaseFunction> &f) {
            return umbel::area_varies_in_space(*f);
        });
    }

protected:
    /// Of each part, at a place; none negative, and their sum is 1.
    virtual std::vector<Float> weights(const MediumInteraction &mei, const Mask &active) const = 0;

    std::vector<Share> shares(const MediumInteraction &mei, const Mask &active) const override {
        std::vector<Float> w = weights(mei, active);
        std::vector<Share> out;
        for (size_t i = 0; i < m_parts.size(); ++i) {
            if (has(PhaseFunctionFlags::Microflake))
                w[i] = w[i] * m_parts[i]->projected_area(mei, active);
            out.push_back({ Spectrum(w[i]), w[i] });
        }
        return out;
    }
};

} // namespace umbel
