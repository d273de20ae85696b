// render/further_colours.h: light as numbers of further channels.
#pragma once
#include "core/spectra.h"
#include "core/spectrum.h"

namespace umbel {

/// The names of what further_colours() returns.
inline std::vector<std::string> further_colour_names() {
    if (variant().colour == Colour::Mono)
        return { "Y" };
    return { "R", "G", "B" };
}
/// Colours of light along a camera's ray, for channels that the driver does not weight by the density of wavelengths: R, G and
/// B, or Y in monochromatic variants.
inline std::vector<Float> further_colours(const Spectrum &light, const Wavelengths &wavelengths) {
    Spectrum L = unpolarized(light);
    if (variant().colour == Colour::Spectral)
        L = L * map(wavelengths, [](const Float &w) { return rcp(sample_wavelength_pdf(w)); });
    return to_rgb(L, wavelengths);
}

} // namespace umbel
