// render/plate.h: surfaces that light passes straight through: what such BSDFs share.
#pragma once
#include "core/mueller.h"
#include "render/bsdf.h"

namespace umbel {

/// Multiplies light by eval_null_transmission() and leaves its direction alone.
class PassThrough : public BSDF {
public:
    void configure() override {
        m_components = { BSDFFlags::Null | BSDFFlags::FrontSide | BSDFFlags::BackSide };
    }
    BSDFSample sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &,
                      const Vector2 &, const Mask &active) const override {
        if (!ctx.is_enabled(BSDFFlags::Null))
            return BSDFSample::none();
        return { -si.wi,     Float(1),
                 Float(1),   UInt32(uint32_t(BSDFFlags::Null)),
                 UInt32(0u), transmission(ctx, si, active) };
    }
    /// The same for light that travels the other way, along -wi.
    virtual Spectrum importance_transmission(const SurfaceInteraction &si,
                                             const Mask &active) const {
        return eval_null_transmission(si, active);
    }
    Spectrum eval_delta(const BSDFContext &ctx, const SurfaceInteraction &si, const BSDFSample &,
                        const Mask &active) const override {
        return transmission(ctx, si, active);
    }

private:
    Spectrum transmission(const BSDFContext &ctx, const SurfaceInteraction &si,
                          const Mask &active) const {
        return ctx.mode == BSDFContext::Mode::Radiance ? eval_null_transmission(si, active)
                                                       : importance_transmission(si, active);
    }
};

/// An optical element with an axis in the surface's plane, an angle `theta` from its tangent.
class PolarizingPlate : public PassThrough {
public:
    void declare(Params &p) override {
        declare_angle(p, "theta", m_theta, 0).doc("Angle of the axis in degrees");
        p.texture("transmittance", m_transmittance, 1).doc("Multiplies what passes; 1 is ideal");
    }
    Spectrum eval_null_transmission(const SurfaceInteraction &si,
                                    const Mask &active) const override {
        return along(si, si.wi, active);
    }
    Spectrum importance_transmission(const SurfaceInteraction &si,
                                     const Mask &active) const override {
        return along(si, -si.wi, active);
    }

protected:
    /// A texture of angles in degrees.
    static Param &declare_angle(Params &p, const char *name, Ref<Texture> &v, double otherwise) {
        Param &param = p.unbounded_texture(name, v);
        param.otherwise = fmt::format("{}", otherwise);
        if (p.loading() && !v)
            v = std::dynamic_pointer_cast<Texture>(
                p.loader()->load_spectrum(SpectrumData::uniform(otherwise), *p.properties()));
        return param.differentiable();
    }
    static Float radians(const Texture &angle, const SurfaceInteraction &si, const Mask &active) {
        return angle.eval_1(si, active) * (Pi / 180);
    }

    /// The Mueller matrix, with its axis along x.
    virtual Spectrum element(const SurfaceInteraction &si, const Mask &active) const = 0;
    /// The axis as light sees it that travels along `forward`: perpendicular to that, of any length.
    virtual Vector3 axis(const Float &theta, const Vector3 &forward) const = 0;
    /// If not, it is a filter of grey glass: all light is treated like unpolarized light.
    virtual bool changes_polarization() const { return true; }
    /// What it lets through of unpolarized light.
    virtual double unpolarized_part() const = 0;

private:
    // What light that travels along `forward` is multiplied by.
    Spectrum along(const SurfaceInteraction &si, const Vector3 &forward, const Mask &active) const {
        Spectrum t = m_transmittance->eval(si, active);
        if (!variant().polarized || !changes_polarization())
            return t * unpolarized_part();
        Vector3 a = normalize(axis(radians(*m_theta, si, active), forward));
        Vector3 basis = stokes_basis(forward);
        return mueller::rotate_basis(element(si, active) * t, forward, a, basis, forward, a, basis);
    }

    Ref<Texture> m_theta, m_transmittance;
};

} // namespace umbel
