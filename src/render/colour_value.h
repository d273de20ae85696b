// render/colour_value.h: a colour that is the same everywhere, in whatever the variant computes in.
#pragma once
#include "core/colour.h"
#include "core/params.h"
#include "core/spectrum.h"

namespace umbel {

/// Of linear sRGB.
Float rgb_luminance(const Vector3 &rgb);
/// Of a plain spectrum; in spectral variants the mean over its wavelengths, weighted by CIE's y, whose largest value is 1.
Float luminance(const Spectrum &s, const Wavelengths &w);

/// Made from linear sRGB; data of the program.
class ColourValue {
public:
    ColourValue() = default;
    /// A reflectance lies between 0 and 1 and becomes a smooth spectrum; light has no bound and becomes such a spectrum
    /// times D65; anything else has no bound.
    ColourValue(const Colour3 &rgb, SpectrumData::Intent intent);

    /// Plain.
    Spectrum eval(const Wavelengths &w) const;
    /// Over the channels; in spectral variants over the wavelengths.
    Float mean_value() const;
    /// The largest channel; in spectral variants the largest value at any of a few wavelengths.
    double max_value() const;
    const Vector3 &rgb() const { return m_rgb; }

    /// Shows the colour as a parameter: three numbers, or one in mono variants.
    void expose(Params &p, const char *name);
    /// Derives from the colour what evaluation needs, after it was changed.
    void update();

private:
    SpectrumData::Intent m_intent = SpectrumData::Intent::Unspecified;
    Vector3 m_rgb;
    Float m_luminance; // in mono variants
    struct Smooth {    // in spectral variants
        Vector3 coefficients;
        Float scale;
    };
    std::shared_ptr<Smooth> m_smooth;
};

} // namespace umbel
