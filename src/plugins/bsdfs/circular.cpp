// circular: an ideal circular polarizer: light passes straight through, and of it what turns to one side.
//
// As such light looks the same from all sides, there is no axis. In variants without polarization half of the light passes.
#include "render/plate.h"

namespace umbel {

class CircularPolarizer final : public PassThrough {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<boolean name='left_handed' value='true'/><rgb name='transmittance' "
                  "value='.7,.5,.2'/>");
        p.texture("transmittance", m_transmittance, 1)
            .differentiable()
            .doc("Multiplies what passes; 1 is ideal");
        p.boolean("left_handed", m_left, false).doc("Lets light pass that turns to the left");
    }
    Spectrum eval_null_transmission(const SurfaceInteraction &si,
                                    const Mask &active) const override {
        Spectrum t = m_transmittance->eval(si, active);
        return variant().polarized ? mueller::circular_polarizer(!m_left) * t : t * 0.5;
    }

private:
    Ref<Texture> m_transmittance;
    bool m_left = false;
};

UMBEL_PLUGIN(BSDF, CircularPolarizer, "circular")
} // namespace umbel
