// render/bsdf_mixture.h: weighted sums of BSDFs: what `blendbsdf` and `mixturebsdf` share.
#pragma once
#include "render/bsdf.h"
#include "render/part_choice.h"
#include "render/traced_once.h"

namespace umbel {

/// The sum of weights times BSDFs; weights depend on the place alone. One of them is chosen in proportion to its weight, and
/// its direction counts with the density of all. Components are those of all BSDFs, in order.
class BsdfMixture : public BSDF {
public:
    void configure() override {
        m_components.clear();
        m_first.clear();
        for (const Ref<BSDF> &b : m_parts)
            m_first.push_back(append_components(m_components, b->components(), *this));
    }

    std::pair<Spectrum, Float> eval_pdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                        const Vector3 &wo, const Mask &active) const override {
        Spectrum sum(0);
        Float density(0);
        for (const Part &part : wanted(ctx, si, active)) {
            auto [value, pdf] = ask(
                part, "eval_pdf", si, [&] { return part.bsdf->eval_pdf(part.ctx, si, wo, active); },
                wo, active);
            sum += value * part.weight;
            density += pdf * part.probability;
        }
        return { sum, density };
    }

    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &u1,
                      const Vector2 &u2, const Mask &active) const override {
        std::vector<Part> parts = wanted(ctx, si, active);
        BSDFSample result = BSDFSample::none();
        result.weight = black();
        PartChoice choice(u1, parts.size());
        for (const Part &part : parts) {
            auto [here, again] = choice.next(part.probability);
            BSDFSample s = ask(
                part, "sample", si,
                [&, &here = here, &again = again] {
                    return part.bsdf->sample(part.ctx, si, again, u2, active & here);
                },
                again, u2, active, here);
            s.weight = s.weight * (part.weight / select(here, part.probability, Float(1)));
            s.pdf = s.pdf * part.probability;
            s.sampled_component = s.sampled_component + UInt32(part.first);
            s.weight = s.weight.dense();
            result = select(here, s, result);
        }
        if (parts.size() < 2)
            return result;
        // Others may lead into the same direction, unless there is only one
        Mask smooth = active & (result.pdf > 0) & !result.is_delta();
        auto [value, pdf] = eval_pdf(ctx, si, result.wo, smooth);
        smooth = smooth & (pdf > 0);
        result.weight =
            select(smooth, (value / select(smooth, pdf, Float(1))).dense(), result.weight);
        result.pdf = select(smooth, pdf, result.pdf);
        return result;
    }

    Spectrum eval_delta(const BSDFContext &ctx, const SurfaceInteraction &si, const BSDFSample &s,
                        const Mask &active) const override {
        Spectrum result = black();
        for (const Part &part : wanted(ctx, si, active)) {
            uint32_t count = uint32_t(part.bsdf->components().size());
            BSDFSample inner = s;
            inner.sampled_component = s.sampled_component - UInt32(part.first);
            Mask here = inner.sampled_component < UInt32(count); // wraps around below 0
            Spectrum value = ask(
                part, "eval_delta", si,
                [&] { return part.bsdf->eval_delta(part.ctx, si, inner, active & here); }, inner,
                active);
            result = select(here, (value * part.weight).dense(), result);
        }
        return result;
    }

    Spectrum eval_null_transmission(const SurfaceInteraction &si,
                                    const Mask &active) const override {
        Spectrum sum(0);
        for (const Part &part : wanted({}, si, active))
            sum += ask(
                       part, "eval_null_transmission", si,
                       [&] { return part.bsdf->eval_null_transmission(si, active); }, active) *
                   part.weight;
        return sum;
    }
    Spectrum eval_diffuse_reflectance(const SurfaceInteraction &si,
                                      const Mask &active) const override {
        Spectrum sum(0);
        for (const Part &part : wanted({}, si, active))
            sum += ask(
                       part, "eval_diffuse_reflectance", si,
                       [&] { return part.bsdf->eval_diffuse_reflectance(si, active); }, active) *
                   part.weight;
        return sum;
    }

protected:
    /// Of each part, at a place; none negative.
    virtual std::vector<Float> weights(const SurfaceInteraction &si, const Mask &active) const = 0;

    std::vector<Ref<BSDF>> m_parts;

private:
    struct Part {
        const BSDF *bsdf;
        BSDFContext ctx;
        uint32_t first; // its components begin here
        Float weight, probability;
    };
    // Those whose components the caller asks for.
    std::vector<Part> wanted(const BSDFContext &ctx, const SurfaceInteraction &si,
                             const Mask &active) const {
        std::vector<Float> w = weights(si, active);
        std::vector<Part> parts;
        Float sum(0);
        for (size_t i = 0; i < m_parts.size(); ++i) {
            uint32_t flags = 0;
            for (uint32_t c : m_parts[i]->components())
                flags |= c;
            auto inner = ctx.inside(m_first[i], uint32_t(m_parts[i]->components().size()));
            if (!inner || !(flags & ctx.type_mask))
                continue;
            parts.push_back({ m_parts[i].get(), *inner, m_first[i], w[i], w[i] });
            sum += w[i];
        }
        for (Part &p : parts)
            p.probability =
                parts.size() == 1 ? Float(1) : Float((p.weight / select(sum > 0, sum, Float(1))));
        return parts;
    }
    template <class Fn, class... Args>
    static std::invoke_result_t<Fn> ask(const Part &part, const char *question,
                                        const SurfaceInteraction &si, Fn &&fn,
                                        const Args &...args) {
        return traced_once(*part.bsdf, question, fn, uint32_t(part.ctx.mode), part.ctx.type_mask,
                           part.ctx.component, si, args...);
    }

    std::vector<uint32_t> m_first; // components of each part begin here
};

} // namespace umbel
