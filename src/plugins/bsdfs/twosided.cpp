// twosided: makes a one-sided BSDF, or two of them, act on both sides of a surface.
#include "render/bsdf.h"
#include "render/traced_once.h"

namespace umbel {

class TwoSided final : public BSDF {
public:
    void declare(Params &p) override {
        p.example("<bsdf type='diffuse'/>");
        p.objects(p.traversing() ? "brdf" : "bsdf", m_sides, 2)
            .doc("What is on both sides, or on the front and on the back");
    }

    void configure() override {
        if (m_sides.empty())
            complain("needs one or two BSDFs inside");
        for (const Ref<BSDF> &b : m_sides)
            if (b->has(BSDFFlags::Transmission))
                complain("can hold reflecting BSDFs only, and {} transmits light", b->plugin());
        m_components.clear();
        // Both are seen from their front: lobes of a back are out of reach
        auto add = [&](const BSDF &side, uint32_t here, uint32_t there) {
            for (uint32_t c : side.components())
                if ((c & BSDFFlags::FrontSide) || !(c & BSDFFlags::BackSide))
                    m_components.push_back((c & ~there) | here);
        };
        add(*m_sides.front(), BSDFFlags::FrontSide, BSDFFlags::BackSide);
        add(*m_sides.back(), BSDFFlags::BackSide, BSDFFlags::FrontSide);
    }

    std::pair<Spectrum, Float> eval_pdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                        const Vector3 &wo, const Mask &active) const override {
        // One BSDF serves both sides from the front
        Mask back = si.wi.z < 0;
        SurfaceInteraction flipped = turned(si);
        Vector3 out{ wo.x, wo.y, mulsign(wo.z, si.wi.z) };
        auto side = [&](const BSDF &b) {
            return ask(
                b, "eval_pdf", ctx, flipped, [&] { return b.eval_pdf(ctx, flipped, out, active); },
                out, active);
        };
        auto front = side(*m_sides.front());
        if (m_sides.size() == 1)
            return front;
        auto behind = side(*m_sides.back());
        return { select(back, behind.first.dense(), front.first.dense()),
                 select(back, behind.second, front.second) };
    }

    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &u1,
                      const Vector2 &u2, const Mask &active) const override {
        Mask back = si.wi.z < 0;
        SurfaceInteraction flipped = turned(si);
        auto side = [&](const BSDF &b) {
            return ask(
                b, "sample", ctx, flipped, [&] { return b.sample(ctx, flipped, u1, u2, active); },
                u1, u2, active);
        };
        BSDFSample s = side(*m_sides.front());
        if (m_sides.size() == 2)
            s = select(back, side(*m_sides.back()), s);
        s.wo.z = mulsign(s.wo.z, si.wi.z);
        return s;
    }

    Spectrum eval_delta(const BSDFContext &ctx, const SurfaceInteraction &si, const BSDFSample &s,
                        const Mask &active) const override {
        Mask back = si.wi.z < 0;
        SurfaceInteraction flipped = turned(si);
        BSDFSample out = s;
        out.wo.z = mulsign(s.wo.z, si.wi.z);
        auto side = [&](const BSDF &b) {
            return ask(
                b, "eval_delta", ctx, flipped,
                [&] { return b.eval_delta(ctx, flipped, out, active); }, out, active);
        };
        Spectrum front = side(*m_sides.front());
        if (m_sides.size() == 1)
            return front;
        return select(back, side(*m_sides.back()).dense(), front.dense());
    }

    Spectrum eval_diffuse_reflectance(const SurfaceInteraction &si,
                                      const Mask &active) const override {
        Mask back = si.wi.z < 0;
        SurfaceInteraction flipped = turned(si);
        auto side = [&](const BSDF &b) {
            return ask(
                b, "eval_diffuse_reflectance", {}, flipped,
                [&] { return b.eval_diffuse_reflectance(flipped, active); }, active);
        };
        Spectrum front = side(*m_sides.front());
        if (m_sides.size() == 1)
            return front;
        return select(back, side(*m_sides.back()), front);
    }

private:
    template <class Fn, class... Args>
    static std::invoke_result_t<Fn> ask(const BSDF &side, const char *question,
                                        const BSDFContext &ctx, const SurfaceInteraction &si,
                                        Fn &&fn, const Args &...args) {
        return traced_once(side, question, fn, uint32_t(ctx.mode), ctx.type_mask, ctx.component, si,
                           args...);
    }

    static SurfaceInteraction turned(const SurfaceInteraction &si) {
        SurfaceInteraction r = si;
        r.wi.z = abs(si.wi.z);
        return r;
    }

    std::vector<Ref<BSDF>> m_sides;
};

UMBEL_PLUGIN(BSDF, TwoSided, "twosided")
} // namespace umbel
