// render/colour_value.cpp: colours as spectra.
#include "render/colour_value.h"
#include "ad/ad.h"
#include "core/host_array.h"
#include "core/spectra.h"
#include "core/upsampling.h"
#include "core/upsampling_fit.h"
#include <algorithm>
#include <cmath>

namespace umbel {

Float rgb_luminance(const Vector3 &rgb) {
    const Colour3 &w = srgb_to_xyz_matrix()[1];
    return dot(rgb, Vector3(w[0], w[1], w[2]));
}

Float luminance(const Spectrum &s, const Wavelengths &w) {
    switch (variant().colour) {
    case Colour::Mono: return s[0];
    case Colour::Rgb: return rgb_luminance({ s[0], s[1], s[2] });
    case Colour::Spectral: break;
    }
    Float y(0);
    for (size_t i = 0; i < s.c.size(); ++i)
        y += cie1931_xyz(w[i]).y * s[i];
    return y * (cie_y_integral() / double(s.c.size()));
}

ColourValue &ColourValue::operator=(ColourValue &&o) {
    m_rgb = o.m_rgb;
    m_intent = o.m_intent;
    m_variant = o.m_variant;
    if (m_traced && o.m_traced)
        *m_traced = std::move(*o.m_traced);
    else if (o.m_traced)
        m_traced = std::move(o.m_traced);
    else if (m_traced)
        trace();
    return *this;
}

void ColourValue::prepare() {
    m_variant = &variant();
    if (m_traced || variant().colour != Colour::Rgb)
        trace();
}

void ColourValue::trace() {
    VariantScope scope(*m_variant); // a script may have chosen another one
    Colour3 rgb = first_rgb();
    if (!m_traced) // else scripts may know where it is
        m_traced = std::make_unique<Traced>();
    m_traced->rgb = { opaque_float(rgb[0]), opaque_float(rgb[1]), opaque_float(rgb[2]) };
    if (variant().colour == Colour::Mono)
        m_traced->luminance = opaque_float(umbel::luminance(rgb));
    if (variant().colour != Colour::Spectral)
        return;
    UnboundedCoefficients u = m_intent == Intent::Reflectance
                                  ? UnboundedCoefficients{ rgb_to_coefficients(rgb), 1 }
                                  : rgb_to_unbounded(rgb);
    m_traced->coefficients = { opaque_float(u.c[0]), opaque_float(u.c[1]), opaque_float(u.c[2]) };
    m_traced->scale = opaque_float(u.scale);
}

void ColourValue::expose(Params &p, const char *name) {
    if (!p.traversing() || !m_variant)
        return;
    if (!m_traced)
        trace();
    if (m_variant->colour == Colour::Mono) {
        p.exposed(name, &m_traced->luminance).differentiable();
        return;
    }
    Vector3 &rgb = m_traced->rgb;
    p.exposed(name, std::array{ &rgb.x, &rgb.y, &rgb.z }).differentiable();
    if (m_variant->colour == Colour::Spectral) {
        Vector3 &c = m_traced->coefficients;
        for (Float *v : { &c.x, &c.y, &c.z, &m_traced->scale })
            p.derived(*v);
    }
}

// The coefficients are the exact ones, and so are their derivatives: the inverse of what the colour's are. At the ends of the
// gamut, where there is none, those of the table serve.
void ColourValue::update() {
    if (variant().colour != Colour::Spectral)
        return;
    Vector3 c = rgb();
    std::vector<double> host;
    for (const Float &v : { c.x, c.y, c.z })
        host.push_back(read_floats(Float(v.detached()))[0]);
    ColourValue exact({ host[0], host[1], host[2] }, m_intent);
    bool bounded = m_intent == Intent::Reflectance;
    Vector3 &coefficients = m_traced->coefficients;
    Float &scale = m_traced->scale;
    scale = bounded ? Float(1) : max(2 * max(max(c.x, c.y), c.z), 1e-30);
    Vector3 inside = bounded ? c : c * rcp(scale);
    const Vector3 &at = exact.m_traced->coefficients;
    Colour3 fitted;
    for (size_t i = 0; const Float &v : { at.x, at.y, at.z })
        fitted[i++] = read_floats(v)[0];
    ColourMatrix by_rgb = coefficients_by_rgb(fitted);
    if (std::isfinite(by_rgb[0][0] + by_rgb[1][1] + by_rgb[2][2])) {
        auto row = [&](const Colour3 &r) {
            return dot(inside, { opaque_float(r[0]), opaque_float(r[1]), opaque_float(r[2]) });
        };
        coefficients = { row(by_rgb[0]), row(by_rgb[1]), row(by_rgb[2]) };
    } else
        coefficients = table_coefficients(inside);
    auto merge = [](const Float &value, Float &derivative) {
        derivative = Float(ad::replace_grad(value, derivative));
    };
    merge(exact.m_traced->coefficients.x, coefficients.x);
    merge(exact.m_traced->coefficients.y, coefficients.y);
    merge(exact.m_traced->coefficients.z, coefficients.z);
    merge(exact.m_traced->scale, scale);
}

Float ColourValue::mean_value() const {
    if (variant().colour != Colour::Spectral)
        return mean(eval({}));
    if (m_intent != Intent::Illuminant)
        return mean_of_coefficients(m_traced->coefficients) * m_traced->scale;
    Wavelengths w; // daylight is a polygon with a corner every 5 nm
    for (double l = MinWavelength + 2.5; l < MaxWavelength; l += 5)
        w.c.push_back(Float(l));
    Float sum = 0;
    for (const Float &v : eval(w).c)
        sum += v;
    return sum * (1 / double(w.c.size()));
}

double ColourValue::max_value() const {
    if (!m_traced) {
        double most = std::ranges::max(first_rgb());
        return variant().double_precision ? most : double(float(most));
    }
    Wavelengths w;
    if (variant().colour == Colour::Spectral)
        for (int i = 0; i < 16; ++i)
            w.c.push_back(Float(std::lerp(MinWavelength, MaxWavelength, i / 15.0)));
    double most = 0;
    for (const Float &v : eval(w).c)
        most = std::max(most, read_floats(Float(v.detached()))[0]);
    return most;
}

Spectrum ColourValue::eval(const Wavelengths &w) const {
    switch (variant().colour) {
    case Colour::Mono: return Spectrum(m_traced->luminance);
    case Colour::Rgb: {
        Vector3 c = rgb();
        return Spectrum(std::vector<Float>{ c.x, c.y, c.z });
    }
    case Colour::Spectral: break;
    }
    return map(w, [&](const Float &l) {
        Float v = eval_coefficients(m_traced->coefficients, l);
        switch (m_intent) {
        case Intent::Reflectance: return v;
        case Intent::Illuminant: return v * m_traced->scale * d65(l);
        case Intent::Unspecified: break;
        }
        return v * m_traced->scale;
    });
}

} // namespace umbel
