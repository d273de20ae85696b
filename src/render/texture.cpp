// render/texture.cpp: what textures share.
#include "render/texture.h"
#include <atomic>

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

Spectrum Texture::pdf_all_wavelengths(const SurfaceInteraction &si) const {
    if (variant().colour != Colour::Spectral)
        complain("pdf_spectrum() is not implemented outside of spectral variants");
    return map(si.wavelengths, [](const Float &w) {
        return select((w >= MinWavelength) & (w <= MaxWavelength),
                      Float(1 / (MaxWavelength - MinWavelength)), Float(0));
    });
}

// ---- partial derivatives

static std::atomic<int> s_asking = 0;

AsksForPartials::AsksForPartials() { ++s_asking; }
AsksForPartials::~AsksForPartials() { --s_asking; }
bool AsksForPartials::any() { return s_asking > 0; }

} // namespace umbel
