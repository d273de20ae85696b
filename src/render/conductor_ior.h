// render/conductor_ior.h: the index of a conductor, by name or by spectra: what its BSDFs share.
#pragma once
#include "render/texture.h"

namespace umbel {

struct ConductorIor {
    std::string material;
    Ref<Texture> eta, k;

    /// The parameters material, eta, k.
    void declare(Params &p);
    Spectrum eval_eta(const SurfaceInteraction &si, const Mask &active) const {
        return eta->eval(si, active);
    }
    Spectrum eval_k(const SurfaceInteraction &si, const Mask &active) const {
        return k->eval(si, active);
    }
};

} // namespace umbel
