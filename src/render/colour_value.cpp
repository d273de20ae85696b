// render/colour_value.cpp: colours as spectra.
#include "render/colour_value.h"
#include "core/spectra.h"
#include "core/upsampling.h"

namespace umbel {

ColourValue::ColourValue(const Colour3 &rgb, bool is_light) : m_is_light(is_light) {
    for (double v : rgb)
        m_rgb.push_back(opaque_float(v));
    m_luminance = opaque_float(umbel::luminance(rgb));
    if (variant().colour != Colour::Spectral)
        return;
    UnboundedCoefficients u =
        is_light ? rgb_to_unbounded(rgb) : UnboundedCoefficients{ rgb_to_coefficients(rgb), 1 };
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
        return m_is_light ? v * m_scale * d65(l) : v;
    });
}

} // namespace umbel
