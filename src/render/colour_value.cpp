// render/colour_value.cpp: colours as spectra.
#include "render/colour_value.h"
#include "ad/ad.h"
#include "core/host_array.h"
#include "core/spectra.h"
#include "core/upsampling.h"
#include <cmath>

namespace umbel {

Float rgb_luminance(const Vector3 &rgb) {
    const Colour3 &w = srgb_to_xyz_matrix()[1];
    return dot(rgb, Vector3(w[0], w[1], w[2]));
}

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

void ColourValue::expose(Params &p, const char *name) {
    if (!p.traversing() || m_rgb.empty())
        return;
    if (variant().colour == Colour::Mono) {
        p.exposed(name, &m_luminance).differentiable();
        return;
    }
    p.exposed(name, std::array{ &m_rgb[0], &m_rgb[1], &m_rgb[2] }).differentiable();
    if (variant().colour == Colour::Spectral)
        for (Float *v : { &m_coefficients.x, &m_coefficients.y, &m_coefficients.z, &m_scale })
            p.derived(*v);
}

// The coefficients are the exact ones; their derivatives are those of the table.
void ColourValue::update() {
    if (variant().colour == Colour::Mono)
        return;
    Vector3 c = rgb();
    m_luminance = c.x * umbel::luminance({ 1, 0, 0 }) + c.y * umbel::luminance({ 0, 1, 0 }) +
                  c.z * umbel::luminance({ 0, 0, 1 });
    jit::eval(m_luminance);
    if (variant().colour == Colour::Rgb)
        return;
    std::vector<double> host;
    for (const Float &v : m_rgb)
        host.push_back(read_floats(Float(v.detached()))[0]);
    ColourValue exact({ host[0], host[1], host[2] }, m_intent);
    bool bounded = m_intent == SpectrumData::Intent::Reflectance;
    m_scale = bounded ? Float(1) : max(2 * max(max(c.x, c.y), c.z), 1e-30);
    m_coefficients = table_coefficients(bounded ? c : c * rcp(m_scale));
    auto merge = [](const Float &value, Float &derivative) {
        derivative = Float(ad::replace_grad(value, derivative));
    };
    merge(exact.m_coefficients.x, m_coefficients.x);
    merge(exact.m_coefficients.y, m_coefficients.y);
    merge(exact.m_coefficients.z, m_coefficients.z);
    merge(exact.m_scale, m_scale);
}

// Smooth spectra: sixteen places are enough.
Spectrum ColourValue::at_some_wavelengths() const {
    Wavelengths w;
    if (variant().colour == Colour::Spectral)
        for (int i = 0; i < 16; ++i)
            w.c.push_back(Float(std::lerp(MinWavelength, MaxWavelength, i / 15.0)));
    return eval(w);
}

Float ColourValue::mean_value() const {
    Spectrum s = at_some_wavelengths();
    Float sum = 0;
    for (const Float &v : s.c)
        sum = sum + v;
    return sum * (1 / double(s.c.size()));
}

double ColourValue::max_value() const {
    double most = 0;
    for (const Float &v : at_some_wavelengths().c)
        most = std::max(most, read_floats(Float(v.detached()))[0]);
    return most;
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
