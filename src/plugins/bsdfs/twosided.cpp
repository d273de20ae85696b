// twosided: makes a one-sided BSDF, or two of them, act on both sides of a surface.
#include "render/bsdf.h"
#include "render/traced_once.h"

namespace umbel {

class TwoSided final : public BSDF {
public:
    void declare(Params &p) override {
        p.example("<bsdf type='diffuse'/>");
        p.example("<bsdf type='roughconductor'><string name='material' value='Au'/></bsdf>"
                  "<bsdf type='diffuse'/>");
        p.objects(p.traversing() ? "brdf" : "bsdf", m_sides, 2)
            .doc("What is on both sides, or on the front and on the back");
        p.boolean("allow_transmission", m_allows_transmission, false)
            .doc("Take BSDFs that transmit light, too: both sides are then like their front");
    }

    void configure() override {
        if (m_sides.empty())
            complain("needs one or two BSDFs inside");
        for (const Ref<BSDF> &b : m_sides)
            if (b->has(BSDFFlags::Transmission) && !m_allows_transmission)
                complain("can hold reflecting BSDFs only, and {} transmits light; set "
                         "allow_transmission to have it nevertheless",
                         b->plugin());
        // Both are seen from their front: lobes of a back are out of reach
        m_components.clear();
        auto add = [&](const BSDF &side, uint32_t here, uint32_t there) {
            std::vector<uint32_t> reached;
            for (uint32_t i = 0; i < side.components().size(); ++i) {
                uint32_t c = side.components()[i];
                if (!(c & BSDFFlags::FrontSide) && (c & BSDFFlags::BackSide))
                    continue;
                m_components.push_back((c & ~there) | here);
                reached.push_back(i);
            }
            return reached;
        };
        m_reached[0] = add(*m_sides.front(), BSDFFlags::FrontSide, BSDFFlags::BackSide);
        m_reached[1] = add(*m_sides.back(), BSDFFlags::BackSide, BSDFFlags::FrontSide);
    }
    void child_changed() override { configure(); } // may have other lobes now

    std::pair<Spectrum, Float> eval_pdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                        const Vector3 &wo, const Mask &active) const override {
        SurfaceInteraction flipped = turned(si);
        Vector3 out{ wo.x, wo.y, mulsign(wo.z, si.wi.z) };
        return on_both_sides(
            ctx, si, std::pair(Spectrum(0), Float(0)),
            [&](const BSDF &b, const BSDFContext &c, int) {
                return ask(
                    b, "eval_pdf", c, flipped, [&] { return b.eval_pdf(c, flipped, out, active); },
                    out, active);
            },
            [](const Mask &back, const auto &behind, const auto &front) {
                return std::pair(select(back, behind.first, front.first),
                                 select(back, behind.second, front.second));
            });
    }

    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &u1,
                      const Vector2 &u2, const Mask &active) const override {
        SurfaceInteraction flipped = turned(si);
        BSDFSample s = on_both_sides(
            ctx, si, BSDFSample::none(),
            [&](const BSDF &b, const BSDFContext &c, int side) {
                BSDFSample r = ask(
                    b, "sample", c, flipped, [&] { return b.sample(c, flipped, u1, u2, active); },
                    u1, u2, active);
                r.sampled_component = outer_number(side, r.sampled_component);
                return r;
            },
            [](const Mask &back, const BSDFSample &behind, const BSDFSample &front) {
                return select(back, behind, front);
            });
        s.wo.z = mulsign(s.wo.z, si.wi.z);
        return s;
    }

    Spectrum eval_delta(const BSDFContext &ctx, const SurfaceInteraction &si, const BSDFSample &s,
                        const Mask &active) const override {
        SurfaceInteraction flipped = turned(si);
        BSDFSample out = s;
        out.wo.z = mulsign(s.wo.z, si.wi.z);
        out.sampled_component = select(si.wi.z < 0, inner_number(1, s.sampled_component),
                                       inner_number(0, s.sampled_component));
        return on_both_sides(
            ctx, si, Spectrum(0),
            [&](const BSDF &b, const BSDFContext &c, int) {
                return ask(
                    b, "eval_delta", c, flipped,
                    [&] { return b.eval_delta(c, flipped, out, active); }, out, active);
            },
            [](const Mask &back, const Spectrum &behind, const Spectrum &front) {
                return select(back, behind, front);
            });
    }

    Spectrum eval_diffuse_reflectance(const SurfaceInteraction &si,
                                      const Mask &active) const override {
        return of_side(si, "eval_diffuse_reflectance", active,
                       [&](const BSDF &b, const SurfaceInteraction &flipped) {
                           return b.eval_diffuse_reflectance(flipped, active);
                       });
    }
    Spectrum eval_null_transmission(const SurfaceInteraction &si,
                                    const Mask &active) const override {
        return of_side(si, "eval_null_transmission", active,
                       [&](const BSDF &b, const SurfaceInteraction &flipped) {
                           return b.eval_null_transmission(flipped, active);
                       });
    }

private:
    // fn(bsdf, interaction) of the side that a lane is on, all of it.
    template <class Fn>
    Spectrum of_side(const SurfaceInteraction &si, const char *question, const Mask &active,
                     Fn &&fn) const {
        SurfaceInteraction flipped = turned(si);
        auto side = [&](const BSDF &b) {
            return ask(b, question, {}, flipped, [&] { return fn(b, flipped); }, active);
        };
        Spectrum front = side(*m_sides.front());
        if (m_sides.size() == 1)
            return front;
        return select(si.wi.z < 0, side(*m_sides.back()), front);
    }
    // fn(bsdf, context, side) of the side that a lane is on, `none` where a component of the other one is wanted. One BSDF
    // that serves both sides is asked once where all of it is wanted and nothing has a number.
    template <class R, class Fn, class Choose>
    R on_both_sides(const BSDFContext &ctx, const SurfaceInteraction &si, const R &none, Fn &&fn,
                    Choose &&choose) const {
        auto answer = [&](int side) {
            const std::vector<uint32_t> &reached = m_reached[side];
            auto inner = ctx.inside(first_of(side), uint32_t(reached.size()));
            if (!inner)
                return none;
            if (inner->component != ~0u)
                inner->component = reached[inner->component];
            return fn(side ? *m_sides.back() : *m_sides.front(), *inner, side);
        };
        bool has_numbers = std::is_same_v<R, BSDFSample>;
        if (m_sides.size() == 1 && ctx.component == ~0u && !has_numbers)
            return answer(0);
        return choose(si.wi.z < 0, answer(1), answer(0));
    }
    // Of the component that a side calls `inner`, and back.
    UInt32 outer_number(int side, const UInt32 &inner) const {
        UInt32 outer = inner + UInt32(first_of(side));
        for (uint32_t i = 0; i < m_reached[side].size(); ++i)
            if (m_reached[side][i] != i)
                outer =
                    select(inner == UInt32(m_reached[side][i]), UInt32(first_of(side) + i), outer);
        return outer;
    }
    UInt32 inner_number(int side, const UInt32 &outer) const {
        UInt32 inner = outer - UInt32(first_of(side));
        for (uint32_t i = 0; i < m_reached[side].size(); ++i)
            if (m_reached[side][i] != i)
                inner =
                    select(outer == UInt32(first_of(side) + i), UInt32(m_reached[side][i]), inner);
        return inner;
    }
    uint32_t first_of(int side) const { return side ? uint32_t(m_reached[0].size()) : 0; }

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

    bool m_allows_transmission = false;
    std::vector<Ref<BSDF>> m_sides;
    std::vector<uint32_t> m_reached[2]; // by side: components of it that can be met
};

UMBEL_PLUGIN(BSDF, TwoSided, "twosided")
} // namespace umbel
