// mask: a BSDF with holes: where `opacity` is below 1, a part of the light goes straight through.
#include "render/bsdf.h"
#include "render/traced_once.h"

namespace umbel {

class MaskBsdf final : public BSDF {
public:
    void declare(Params &p) override {
        p.example("<bsdf type='diffuse'/>");
        p.example("<bsdf type='dielectric'/><texture type='bitmap' name='opacity'><string "
                  "name='filename' value='$files/image.png'/><boolean name='raw' value='true'/>"
                  "</texture>");
        p.texture("opacity", m_opacity, 0.5)
            .differentiable()
            .doc("Part of the light that meets the BSDF inside; the rest passes");
        p.object(p.traversing() ? "nested_bsdf" : "bsdf", m_nested).doc("What is not transparent");
    }
    void configure() override {
        if (!m_nested)
            complain("needs a BSDF inside");
        m_components = m_nested->components();
        m_components.push_back(BSDFFlags::Null | BSDFFlags::FrontSide | BSDFFlags::BackSide);
    }

    std::pair<Spectrum, Float> eval_pdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                        const Vector3 &wo, const Mask &active) const override {
        auto inner = ctx.inside(0, null_component());
        if (!inner)
            return { Spectrum(0), Float(0) };
        Float opacity = eval_opacity(si, active);
        auto [value, pdf] = traced_once(
            *m_nested, "eval_pdf", [&] { return m_nested->eval_pdf(*inner, si, wo, active); },
            uint32_t(inner->mode), inner->type_mask, inner->component, si, wo, active);
        bool passes = ctx.is_enabled(BSDFFlags::Null, null_component());
        return { value * opacity, passes ? pdf * opacity : pdf };
    }

    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &u1,
                      const Vector2 &u2, const Mask &active) const override {
        auto inner = ctx.inside(0, null_component());
        bool passes = ctx.is_enabled(BSDFFlags::Null, null_component());
        Float opacity = eval_opacity(si, active);
        BSDFSample through{ -si.wi,
                            inner ? 1 - opacity : Float(1),
                            Float(1),
                            UInt32(uint32_t(BSDFFlags::Null)),
                            UInt32(null_component()),
                            inner ? Spectrum(1) : Spectrum(1 - opacity) };
        if (!inner)
            return passes ? through : BSDFSample::none();
        // The number that chose is used again for what is inside
        Mask scatters = passes ? u1 < opacity : Mask(true);
        Float again = passes ? u1 / select(opacity > 0, opacity, Float(1)) : u1;
        BSDFSample s = traced_once(
            *m_nested, "sample", [&] { return m_nested->sample(*inner, si, again, u2, active); },
            uint32_t(inner->mode), inner->type_mask, inner->component, si, again, u2, active);
        if (!passes) {
            s.weight = s.weight * opacity;
            return s;
        }
        s.pdf = s.pdf * opacity;
        return select(scatters, s, through);
    }

    Spectrum eval_delta(const BSDFContext &ctx, const SurfaceInteraction &si, const BSDFSample &s,
                        const Mask &active) const override {
        Float opacity = eval_opacity(si, active);
        Mask passes = s.sampled_component == UInt32(null_component());
        Spectrum through = select(passes, Spectrum(1 - opacity), Spectrum(0));
        auto inner = ctx.inside(0, null_component());
        if (!inner)
            return through;
        Spectrum value = traced_once(
            *m_nested, "eval_delta",
            [&] { return m_nested->eval_delta(*inner, si, s, active & !passes); },
            uint32_t(inner->mode), inner->type_mask, inner->component, si, s, active);
        return select(passes, through, value * opacity);
    }

    Spectrum eval_null_transmission(const SurfaceInteraction &si,
                                    const Mask &active) const override {
        Float opacity = eval_opacity(si, active);
        Spectrum inside = traced_once(
            *m_nested, "eval_null_transmission",
            [&] { return m_nested->eval_null_transmission(si, active); }, si, active);
        return Spectrum(1 - opacity) + inside * opacity;
    }
    Spectrum eval_diffuse_reflectance(const SurfaceInteraction &si,
                                      const Mask &active) const override {
        Spectrum inside = traced_once(
            *m_nested, "eval_diffuse_reflectance",
            [&] { return m_nested->eval_diffuse_reflectance(si, active); }, si, active);
        return inside * eval_opacity(si, active);
    }

private:
    Float eval_opacity(const SurfaceInteraction &si, const Mask &active) const {
        return clamp(m_opacity->eval_1(si, active), 0, 1);
    }
    // Those before are the nested BSDF's.
    uint32_t null_component() const { return uint32_t(m_components.size() - 1); }

    Ref<Texture> m_opacity;
    Ref<BSDF> m_nested;
};

UMBEL_PLUGIN(BSDF, MaskBsdf, "mask")
} // namespace umbel
