// core/spectrum.cpp: arithmetic of spectra and Mueller matrices.
#include "core/spectrum.h"
#include "core/spectra.h"

namespace umbel {

namespace {

bool is_zero(const Float &v) { return v.is_literal() && v.literal_bits() == 0; }

// Most entries of a Mueller matrix are zero as a matter of structure; so they stay, and cost nothing.
Float product(const Float &a, const Float &b) { return is_zero(a) ? a : is_zero(b) ? b : a * b; }
Float sum(const Float &a, const Float &b) { return is_zero(a) ? b : is_zero(b) ? a : a + b; }

Spectrum to_mueller(const Spectrum &s) {
    if (s.is_mueller())
        return s;
    size_t n = s.c.size();
    Spectrum r(std::vector<Float>(16 * n, Float(0)));
    for (size_t d = 0; d < 4; ++d)
        for (size_t k = 0; k < n; ++k)
            r.c[5 * d * n + k] = s.c[k];
    return r;
}

template <class F> Spectrum entrywise(const Spectrum &a, const Spectrum &b, F &&f) {
    if (a.is_mueller() != b.is_mueller())
        return map(to_mueller(a), to_mueller(b), f);
    return map(a, b, f);
}

} // namespace

Spectrum Spectrum::entry(int row, int column) const {
    if (!is_mueller())
        return row == column ? *this : map(*this, [](const Float &v) { return v.like(0); });
    auto first = c.begin() + ptrdiff_t((4 * row + column) * channels());
    return Spectrum(std::vector<Float>(first, first + ptrdiff_t(channels())));
}

Spectrum Spectrum::mueller(const std::array<Spectrum, 16> &entries) {
    Spectrum r;
    for (const Spectrum &e : entries)
        r.c.insert(r.c.end(), e.c.begin(), e.c.end());
    return r;
}

Spectrum Spectrum::dense() const { return variant().polarized ? to_mueller(*this) : *this; }

Spectrum operator+(const Spectrum &a, const Spectrum &b) {
    return entrywise(a, b, [](const Float &x, const Float &y) { return sum(x, y); });
}

Spectrum operator-(const Spectrum &a, const Spectrum &b) {
    return entrywise(a, b, [](const Float &x, const Float &y) { return is_zero(y) ? x : x - y; });
}

Spectrum operator-(const Spectrum &a) {
    return map(a, [](const Float &x) { return is_zero(x) ? x : -x; });
}

Spectrum operator*(const Spectrum &a, const Spectrum &b) {
    if (!a.is_mueller() && !b.is_mueller())
        return map(a, b, [](const Float &x, const Float &y) { return x * y; });
    size_t n = a.channels();
    if (!a.is_mueller() || !b.is_mueller()) {
        const Spectrum &matrix = a.is_mueller() ? a : b, &factor = a.is_mueller() ? b : a;
        Spectrum r = matrix;
        for (size_t i = 0; i < r.c.size(); ++i)
            r.c[i] = product(matrix.c[i], factor.c[i % n]);
        return r;
    }
    Spectrum r(std::vector<Float>(16 * n, Float(0)));
    for (size_t i = 0; i < 4; ++i)
        for (size_t j = 0; j < 4; ++j)
            for (size_t k = 0; k < 4; ++k)
                for (size_t l = 0; l < n; ++l) {
                    Float &out = r.c[(4 * i + j) * n + l];
                    out = sum(out, product(a.c[(4 * i + k) * n + l], b.c[(4 * k + j) * n + l]));
                }
    return r;
}

Spectrum operator*(const Spectrum &a, const Float &b) {
    return map(a, [&](const Float &x) { return product(x, b); });
}

Spectrum operator/(const Spectrum &a, const Spectrum &b) {
    return map(a, b, [](const Float &x, const Float &y) { return x / y; });
}

Spectrum select(const Mask &m, const Spectrum &a, const Spectrum &b) {
    return entrywise(a, b, [&](const Float &x, const Float &y) { return select(m, x, y); });
}

Spectrum unpolarized(const Spectrum &s) { return s.entry(0, 0); }

Spectrum depolarize(const Spectrum &s) {
    if (!variant().polarized)
        return s;
    Spectrum r(std::vector<Float>(16 * s.channels(), Float(0)));
    Spectrum first = s.entry(0, 0);
    std::copy(first.c.begin(), first.c.end(), r.c.begin());
    return r;
}

Float max_component(const Spectrum &s) {
    Float r = s.c[0];
    for (size_t i = 1; i < s.channels(); ++i)
        r = max(r, s.c[i]);
    return r;
}

Float mean(const Spectrum &s) {
    Float r = s.c[0];
    for (size_t i = 1; i < s.channels(); ++i)
        r += s.c[i];
    return r * (1.0 / double(s.channels()));
}

Mask any_nonzero(const Spectrum &s) {
    Mask r = false;
    for (const Float &v : s.c)
        if (!is_zero(v))
            r = r | (v != 0);
    return r;
}

// ---- wavelengths

std::vector<Float> to_rgb(const Spectrum &light, const Wavelengths &w) {
    if (variant().colour != Colour::Spectral)
        return light.c;
    Vector3 xyz(Float(0));
    for (size_t i = 0; i < light.c.size(); ++i)
        xyz += cie1931_xyz(w[i]) * (light.c[i] * (1.0 / double(light.c.size())));
    std::vector<Float> rgb;
    for (const Colour3 &row : xyz_to_srgb_matrix())
        rgb.push_back(fma(xyz.z, row[2], fma(xyz.y, row[1], xyz.x * row[0])));
    return rgb;
}

std::pair<Wavelengths, Spectrum> sample_wavelengths(const Float &u) {
    if (variant().colour != Colour::Spectral)
        return { Wavelengths(), Spectrum(1) };
    Wavelengths w;
    for (int i = 0; i < 4; ++i) { // the four are strata of one sample
        Float x = u + 0.25 * i;
        w.c.push_back(sample_wavelength(x - select(x >= 1, Float(1), Float(0))));
    }
    return { w, map(w, [](const Float &x) { return rcp(sample_wavelength_pdf(x)); }) };
}

} // namespace umbel
