// render/colour_value.h: a colour that is the same everywhere, in whatever the variant computes in.
#pragma once
#include "core/colour.h"
#include "core/host_float.h"
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
    using Intent = SpectrumData::Intent;

    ColourValue() = default;
    /// A reflectance lies between 0 and 1 and becomes a smooth spectrum; light has no bound and becomes such a spectrum
    /// times D65; anything else has no bound.
    ColourValue(const Colour3 &rgb, Intent intent) : ColourValue(unprepared(rgb, intent)) {
        prepare();
    }
    ColourValue(ColourValue &&) = default;
    /// Its parameters stay where they are.
    ColourValue &operator=(ColourValue &&o);
    /// The numbers alone, which may be wrong; prepare() comes next.
    static ColourValue unprepared(const Colour3 &rgb, Intent intent) {
        ColourValue c;
        c.m_rgb = HostVector3(rgb);
        c.m_intent = intent;
        return c;
    }
    void prepare();
    /// As it was made, and why.
    Colour3 first_rgb() const { return m_rgb.value(); }
    Intent intent() const { return m_intent; }

    /// Plain.
    Spectrum eval(const Wavelengths &w) const;
    /// Over the channels; in spectral variants over the wavelengths.
    Float mean_value() const;
    /// The largest channel; in spectral variants the largest value at any of a few wavelengths.
    double max_value() const;
    Vector3 rgb() const { return m_traced ? m_traced->rgb : Vector3(m_rgb); }

    /// Shows the colour as a parameter: three numbers, or one in mono variants.
    void expose(Params &p, const char *name);
    /// Derives from the colour what evaluation needs, after it was changed.
    void update();

private:
    /// As values that may be replaced by others: in RGB variants, which need no more than the numbers, where somebody asks for
    /// them. Scenes have a hundred thousand colours, and each such value is a node.
    struct Traced {
        Vector3 rgb;
        Float luminance;      // in mono variants
        Vector3 coefficients; // in spectral ones, as below
        Float scale;
    };
    void trace();

    HostVector3 m_rgb; // as it was made
    std::unique_ptr<Traced> m_traced;
    const Variant *m_variant = nullptr; // in which it is used, once it is prepared
    Intent m_intent = Intent::Unspecified;
};

} // namespace umbel
