// render/spectral_samples.h: how wavelengths are drawn from spectra that are the same everywhere.
#pragma once
#include "render/interaction.h"

namespace umbel {

/// A number for each of the four wavelengths, from one: as far apart as can be in [0, 1).
inline Spectrum wavelength_strata(const Float &u) {
    Spectrum numbers;
    for (int i = 0; i < 4; ++i) {
        Float x = u + 0.25 * i;
        numbers.c.push_back(x - select(x >= 1, Float(1), Float(0)));
    }
    return numbers;
}

/// For questions to textures that do not depend on it.
inline SurfaceInteraction interaction_anywhere(const Wavelengths &w) {
    SurfaceInteraction si;
    si.t = Float(0);
    si.time = Float(0);
    si.p = Vector3(Float(0));
    si.uv = { Float(0), Float(0) };
    si.wavelengths = w;
    return si;
}

} // namespace umbel
