// twosided: makes a one-sided BSDF, or two of them, act on both sides of a surface.
#include "render/bsdf.h"

namespace umbel {

class TwoSided final : public BSDF {
public:
    void declare(Params &p) override {
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
        for (uint32_t c : m_sides.front()->components())
            m_components.push_back((c & ~uint32_t(BSDFFlags::BackSide)) | BSDFFlags::FrontSide);
        for (uint32_t c : m_sides.back()->components())
            m_components.push_back((c & ~uint32_t(BSDFFlags::FrontSide)) | BSDFFlags::BackSide);
    }

    std::pair<Spectrum, Float> eval_pdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                        const Vector3 &wo, const Mask &active) const override {
        // One BSDF serves both sides from the front
        Mask back = si.wi.z < 0;
        SurfaceInteraction flipped = turned(si);
        Vector3 out{ wo.x, wo.y, mulsign(wo.z, si.wi.z) };
        auto front = m_sides.front()->eval_pdf(ctx, flipped, out, active);
        if (m_sides.size() == 1)
            return front;
        auto behind = m_sides.back()->eval_pdf(ctx, flipped, out, active);
        return { select(back, behind.first.dense(), front.first.dense()),
                 select(back, behind.second, front.second) };
    }

    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &u1,
                      const Vector2 &u2, const Mask &active) const override {
        Mask back = si.wi.z < 0;
        SurfaceInteraction flipped = turned(si);
        BSDFSample s = m_sides.front()->sample(ctx, flipped, u1, u2, active);
        if (m_sides.size() == 2)
            s = select(back, m_sides.back()->sample(ctx, flipped, u1, u2, active), s);
        s.wo.z = mulsign(s.wo.z, si.wi.z);
        return s;
    }

    Spectrum eval_delta(const BSDFContext &ctx, const SurfaceInteraction &si, const BSDFSample &s,
                        const Mask &active) const override {
        Mask back = si.wi.z < 0;
        SurfaceInteraction flipped = turned(si);
        BSDFSample out = s;
        out.wo.z = mulsign(s.wo.z, si.wi.z);
        Spectrum front = m_sides.front()->eval_delta(ctx, flipped, out, active);
        if (m_sides.size() == 1)
            return front;
        return select(back, m_sides.back()->eval_delta(ctx, flipped, out, active).dense(),
                      front.dense());
    }

    Spectrum eval_diffuse_reflectance(const SurfaceInteraction &si,
                                      const Mask &active) const override {
        Mask back = si.wi.z < 0;
        SurfaceInteraction flipped = turned(si);
        Spectrum front = m_sides.front()->eval_diffuse_reflectance(flipped, active);
        if (m_sides.size() == 1)
            return front;
        return select(back, m_sides.back()->eval_diffuse_reflectance(flipped, active), front);
    }

private:
    static SurfaceInteraction turned(const SurfaceInteraction &si) {
        SurfaceInteraction r = si;
        r.wi.z = abs(si.wi.z);
        return r;
    }

    std::vector<Ref<BSDF>> m_sides;
};

UMBEL_PLUGIN(BSDF, TwoSided, "twosided")
} // namespace umbel
