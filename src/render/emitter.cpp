// render/emitter.cpp: what all emitters share.
#include "render/emitter.h"

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
    Spectrum numbers = Spectrum(0); // equally far apart
    for (size_t i = 0; i < numbers.c.size(); ++i) {
        Float v = u + double(i) / double(numbers.c.size());
        numbers[i] = v - floor(v);
    }
    auto [wavelengths, weight] = texture.sample_spectrum(si, numbers, active);
    return { wavelengths, depolarize(weight) };
}

} // namespace umbel
