// render/integrator.cpp: what all integrators share.
#include "render/integrator.h"

namespace umbel {

void Integrator::declare(Params &p) {
    p.boolean("hide_emitters", m_hide_emitters, false)
        .doc("Lights are not seen directly by the camera");
}

Radiance Integrator::sample(const Scene &, SampleStream &, const Ray &, const Mask &) const {
    complain("does not follow single rays from the camera: it cannot be part of another "
             "integrator, and has no derivatives; use `path`");
}

Spectrum Integrator::differentiate(ad::Mode mode, const Scene &scene, SampleStream sampler,
                                   const Ray &ray, const Radiance &, const Spectrum &gradient,
                                   const Mask &active) const {
    if (variant().polarized)
        complain("derivatives are available in unpolarized variants only; this one is {}",
                 variant().name);
    Spectrum L = sample(scene, sampler, ray, active).L;
    bool any = false;
    for (size_t c = 0; c < L.c.size(); ++c) {
        if (!ad::grad_enabled(L[c]))
            continue;
        any = true;
        if (mode == ad::Mode::Backward)
            ad::accumulate_grad(L[c], gradient[c]);
        ad::enqueue(ad::Mode::Backward, L[c]); // what it depends on
    }
    if (any)
        ad::traverse(mode);
    if (mode == ad::Mode::Backward)
        return {};
    return map(L,
               [](const Float &v) { return ad::grad_enabled(v) ? Float(ad::grad(v)) : Float(0); });
}

} // namespace umbel
