// render/emitter.cpp: what all emitters share.
#include "render/emitter.h"
#include "render/spectral_samples.h"

namespace umbel {

std::pair<Wavelengths, Spectrum> Emitter::sample_emission(const Texture &texture,
                                                          SurfaceInteraction si, const Float &u,
                                                          const Mask &active) {
    if (variant().colour != Colour::Spectral)
        return { {}, depolarize(texture.eval(si, active)) };
    if (texture.is_spatially_varying()) { // what is seen best, wherever it comes from
        auto [wavelengths, weight] = umbel::sample_wavelengths(u);
        si.wavelengths = wavelengths;
        return { wavelengths, depolarize(texture.eval(si, active) * weight) };
    }
    auto [wavelengths, weight] = texture.sample_spectrum(si, wavelength_strata(u), active);
    return { wavelengths, depolarize(weight) };
}

} // namespace umbel
