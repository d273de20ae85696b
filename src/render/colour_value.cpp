// render/colour_value.cpp: colours as spectra.
#include "render/colour_value.h"
#include "core/spectra.h"
#include "core/upsampling.h"

namespace umbel {

ColourValue::ColourValue(const Colour3 &rgb, SpectrumData::Intent intent) : m_intent(intent) {
    for (double v : rgb)
        m_rgb.push_back(opaque_float(v));
    m_luminance = opaque_float(umbel::luminance(rgb));
    if (variant().colour != Colour::Spectral)
        return;
    UnboundedCoefficients u = intent == SpectrumData::Intent::Reflectance
                                  ? UnboundedCoefficients{ rgb_to_coefficients(rgb), 1 }
                                  : rgb_to_unbounded(rgb);
    m_coefficients = { opaque_float(u.c[0]), opaque_float(u.c[1]), opaque_float(u.c[2]) };
    m_scale = opaque_float(u.scale);
}

Spectrum ColourValue::eval(const Wavelengths &w) const {
    switch (variant().colour) {
    case Colour::Mono: return Spectrum(m_luminance);
    case Colour::Rgb: return Spectrum(m_rgb);
    case Colour::Spectral: break;
    }
    return map(w, [&](const Float &l) {
        Float v = eval_coefficients(m_coefficients, l);
        switch (m_intent) {
        case SpectrumData::Intent::Reflectance: return v;
        case SpectrumData::Intent::Illuminant: return v * m_scale * d65(l);
        case SpectrumData::Intent::Unspecified: break;
        }
        return v * m_scale;
    });
}

} // namespace umbel
