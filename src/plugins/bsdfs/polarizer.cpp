// polarizer: an ideal linear polarizer: light passes straight through, and of it what oscillates along one axis.
//
// The axis is the surface's tangent turned by `theta`. In variants without polarization it lets half of the light through.
#include "core/mueller.h"
#include "render/bsdf.h"

namespace umbel {

class Polarizer final : public BSDF {
public:
    void declare(Params &p) override {
        p.scalar("theta", m_theta, 0).doc("Angle of the axis in degrees, counter-clockwise");
        p.texture("transmittance", m_transmittance, 1).doc("Multiplies what passes; 1 is ideal");
    }
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
    Spectrum eval_null_transmission(const SurfaceInteraction &si,
                                    const Mask &active) const override {
        Spectrum t = m_transmittance->eval(si, active);
        if (!variant().polarized)
            return t * 0.5;
        Spectrum m = mueller::rotated_element(m_theta * (Pi / 180), mueller::linear_polarizer(t));
        // Light travels along wi; the element's axis is the tangent, as seen against the light
        return mueller::rotate_basis(m, si.wi, Vector3(1, 0, 0), stokes_basis(si.wi), si.wi,
                                     Vector3(1, 0, 0), stokes_basis(si.wi));
    }

private:
    Float m_theta;
    Ref<Texture> m_transmittance;
};

UMBEL_PLUGIN(BSDF, Polarizer, "polarizer")
} // namespace umbel
