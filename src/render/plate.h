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
                 UInt32(0u), eval_null_transmission(si, active) };
    }
    Spectrum eval_delta(const BSDFContext &, const SurfaceInteraction &si, const BSDFSample &,
                        const Mask &active) const override {
        return eval_null_transmission(si, active);
    }
};

/// An optical element whose axis is the surface's tangent, turned by an angle.
class PolarizingPlate : public PassThrough {
public:
    void declare(Params &p) override {
        p.scalar("theta", m_theta, 0).doc("Angle of the axis in degrees, counter-clockwise");
        p.texture("transmittance", m_transmittance, 1).doc("Multiplies what passes; 1 is ideal");
    }
    Spectrum eval_null_transmission(const SurfaceInteraction &si,
                                    const Mask &active) const override {
        Spectrum t = m_transmittance->eval(si, active);
        if (!variant().polarized)
            return t * unpolarized_part();
        Spectrum m = mueller::rotated_element(m_theta * (Pi / 180), element()) * t;
        // Light travels along wi
        Vector3 axis(1, 0, 0), basis = stokes_basis(si.wi);
        return mueller::rotate_basis(m, si.wi, axis, basis, si.wi, axis, basis);
    }

protected:
    /// The Mueller matrix, with its axis along x.
    virtual Spectrum element() const = 0;
    /// What it lets through of unpolarized light.
    virtual double unpolarized_part() const = 0;

private:
    Float m_theta;
    Ref<Texture> m_transmittance;
};

} // namespace umbel
