// render/texture.cpp: what textures share.
#include "render/texture.h"

namespace umbel {

std::pair<Wavelengths, Spectrum> Texture::sample_all_wavelengths(const SurfaceInteraction &si,
                                                                 const Spectrum &u,
                                                                 const Mask &active) const {
    if (variant().colour != Colour::Spectral)
        complain("sample_spectrum() is not implemented outside of spectral variants");
    constexpr double range = MaxWavelength - MinWavelength;
    SurfaceInteraction there = si;
    there.wavelengths = map(u, [](const Float &v) { return fma(v, Float(range), MinWavelength); });
    return { there.wavelengths, eval(there, active) * range };
}

} // namespace umbel
