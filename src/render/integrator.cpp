// render/integrator.cpp: what all integrators share.
#include "render/integrator.h"

namespace umbel {

void Integrator::declare(Params &p) {
    p.boolean("hide_emitters", m_hide_emitters, false)
        .doc("Lights are not seen directly by the camera");
}

Spectrum Integrator::differentiate(ad::Mode, const Scene &, SampleStream, const Ray &,
                                   const Radiance &, const Spectrum &, const Mask &) const {
    complain("has no derivative; use `prb`");
}

} // namespace umbel
