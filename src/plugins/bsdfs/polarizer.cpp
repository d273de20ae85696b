// polarizer: an ideal linear polarizer: light passes straight through, and of it what oscillates along one axis.
//
// The axis is the surface's tangent turned by `theta`, clockwise as seen from the front. Of light that falls in at an angle
// passes what is perpendicular to the absorbing axis [Fainman 1984]. In variants without polarization it lets half of the light
// through.
#include "render/plate.h"

namespace umbel {

class Polarizer final : public PolarizingPlate {
public:
    void declare(Params &p) override {
        PolarizingPlate::declare(p);
        p.boolean("polarizing", m_is_polarizing, true)
            .doc("If not, it halves light of any polarization, and leaves that as it is");
    }

protected:
    Spectrum element(const SurfaceInteraction &, const Mask &) const override {
        return mueller::linear_polarizer(Spectrum(1));
    }
    Vector3 axis(const Float &theta, const Vector3 &forward) const override {
        return cross(forward, Vector3(sin(theta), cos(theta), Float(0)));
    }
    double unpolarized_part() const override { return 0.5; }
    bool changes_polarization() const override { return m_is_polarizing; }

private:
    bool m_is_polarizing = true;
};

UMBEL_PLUGIN(BSDF, Polarizer, "polarizer")
} // namespace umbel
