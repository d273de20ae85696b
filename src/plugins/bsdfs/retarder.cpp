// retarder: an ideal linear retarder, such as a quarter-wave plate: delays light that oscillates along one axis.
//
// The fast axis is the surface's tangent turned by `theta`, counter-clockwise as seen from the front; light at an angle sees its
// projection. In variants without polarization it does nothing.
#include "render/plate.h"

namespace umbel {

class Retarder final : public PolarizingPlate {
public:
    void declare(Params &p) override {
        PolarizingPlate::declare(p);
        declare_angle(p, "delta", m_delta, 90).doc("Delay in degrees; 90 is a quarter of a wave");
    }

protected:
    Spectrum element(const SurfaceInteraction &si, const Mask &active) const override {
        return mueller::linear_retarder(Spectrum(radians(*m_delta, si, active)));
    }
    Vector3 axis(const Float &theta, const Vector3 &forward) const override {
        Vector3 a(cos(theta), sin(theta), Float(0));
        return a - forward * dot(a, forward);
    }
    double unpolarized_part() const override { return 1; }

private:
    Ref<Texture> m_delta;
};

UMBEL_PLUGIN(BSDF, Retarder, "retarder")
} // namespace umbel
