// render/conductor_ior.h: the index of a conductor, by name or by spectra: what its BSDFs share.
#pragma once
#include "render/texture.h"

namespace umbel {

struct ConductorIor {
    std::string material;
    Ref<Texture> eta, k;
    std::optional<Float> ext_eta; // of the dielectric above, where that is not empty space

    /// The parameters material, eta, k, ext_eta.
    void declare(Params &p);
    /// Relative to what is above.
    Spectrum eval_eta(const SurfaceInteraction &si, const Mask &active) const {
        return relative(eta->eval(si, active));
    }
    Spectrum eval_k(const SurfaceInteraction &si, const Mask &active) const {
        return relative(k->eval(si, active));
    }

private:
    Spectrum relative(const Spectrum &index) const {
        return ext_eta ? index * rcp(*ext_eta) : index;
    }
};

} // namespace umbel
