// core/spectrum.h: what light and materials are measured in: one, three or four channels, or a Mueller matrix
// of those.
//
// The active variant decides: mono has 1 channel, rgb 3, spectral 4 (samples at the path's wavelengths). In a
// polarized variant a Spectrum is either plain, which acts like that multiple of the identity, or a
// 4x4 Mueller matrix whose entries are plain. Component code rarely needs to know which.
#pragma once
#include "core/vector.h"
#include <array>

namespace umbel {

struct Spectrum {
    /// The channels; of a Mueller matrix, the channels of entry (i, j) start at (4 i + j) * channels.
    std::vector<Float> c;
    UMBEL_STRUCT(c)

    Spectrum() = default;
    /// The same value in each channel.
    explicit Spectrum(double v) : Spectrum(Float(v)) {}
    explicit Spectrum(int v) : Spectrum(Float(v)) {}
    explicit Spectrum(const Float &v) : c(size_t(variant().channels()), v) {}
    explicit Spectrum(std::vector<Float> channels) : c(std::move(channels)) {}

    size_t channels() const { return is_mueller() ? c.size() / 16 : c.size(); }
    bool is_mueller() const { return c.size() >= 16; }
    Float &operator[](size_t i) { return c[i]; }
    const Float &operator[](size_t i) const { return c[i]; }

    /// A plain spectrum; of a plain one, itself on the diagonal and zero elsewhere.
    Spectrum entry(int row, int column) const;
    /// The Mueller matrix with these plain entries, row by row.
    static Spectrum mueller(const std::array<Spectrum, 16> &entries);
    /// In polarized variants as a Mueller matrix, so that all values of a loop or call have one shape.
    Spectrum dense() const;

    Spectrum &operator+=(const Spectrum &b) { return *this = *this + b; }
    Spectrum &operator*=(const Spectrum &b) { return *this = *this * b; }

    friend Spectrum operator+(const Spectrum &a, const Spectrum &b);
    friend Spectrum operator-(const Spectrum &a, const Spectrum &b);
    /// Channel by channel; for Mueller matrices the product: light meets `b` first.
    friend Spectrum operator*(const Spectrum &a, const Spectrum &b);
    friend Spectrum operator*(const Spectrum &a, const Float &b);
    friend Spectrum operator*(const Float &a, const Spectrum &b) { return b * a; }
    friend Spectrum operator*(const Spectrum &a, double b) { return a * Float(b); }
    friend Spectrum operator*(double a, const Spectrum &b) { return b * Float(a); }
    friend Spectrum operator/(const Spectrum &a, const Float &b) { return a * rcp(b); }
    /// Of plain spectra, channel by channel.
    friend Spectrum operator/(const Spectrum &a, const Spectrum &b);
    friend Spectrum operator-(const Spectrum &a);
};

/// No light: zero, in the shape that all values of a loop or call have.
inline Spectrum black() { return Spectrum(0).dense(); }
Spectrum select(const Mask &m, const Spectrum &a, const Spectrum &b);
/// f of each channel of plain spectra.
template <class F> Spectrum map(const Spectrum &a, F &&f) {
    Spectrum r;
    for (const Float &v : a.c)
        r.c.push_back(f(v));
    return r;
}
template <class F> Spectrum map(const Spectrum &a, const Spectrum &b, F &&f) {
    check_eq(a.c.size(), b.c.size());
    Spectrum r;
    for (size_t i = 0; i < a.c.size(); ++i)
        r.c.push_back(f(a.c[i], b.c[i]));
    return r;
}

/// What an unpolarized observer sees of it: entry (0, 0).
Spectrum unpolarized(const Spectrum &s);
/// Scatters light of any polarization into unpolarized light; the identity unless polarized.
Spectrum depolarize(const Spectrum &s);
/// Over the channels of what an unpolarized observer sees.
Float max_component(const Spectrum &s);
Float mean(const Spectrum &s);
/// Whether any entry differs from zero.
Mask any_nonzero(const Spectrum &s);

/// The wavelengths of a path in nm; empty unless the variant is spectral.
using Wavelengths = Spectrum;

/// Linear sRGB (mono: one number) of light, plain: what one sample adds to an image. In spectral variants the values
/// have been divided by the wavelengths' densities.
std::vector<Float> to_rgb(const Spectrum &light, const Wavelengths &w);

/// Four stratified wavelengths, importance sampled for the eye [Radziszewski 2009], and the inverse of
/// their densities; without wavelengths, 1.
std::pair<Wavelengths, Spectrum> sample_wavelengths(const Float &u);
constexpr double MinWavelength = 360, MaxWavelength = 830; // nm

} // namespace umbel
