// render/integrator.cpp: what all integrators share.
#include "render/integrator.h"

namespace umbel {

void Integrator::declare(Params &p) {
    p.boolean("hide_emitters", m_hide_emitters, false)
        .doc("Lights are not seen directly by the camera");
}

} // namespace umbel
