// rgb: a colour, given by linear sRGB components.
//
// In spectral variants it becomes a smooth spectrum [Jakob 2019], for light times D65. `srgb` is the same for reflectances,
// whose spectra stay below 1.
#include "render/colour_value.h"
#include "render/texture.h"

namespace umbel {

class Rgb : public Texture {
public:
    void declare(Params &p) override {
        SpectrumData data = SpectrumData::from_rgb(m_value.first_rgb(), m_value.intent());
        p.spectrum("value", data, data).doc("The colour");
        p.spectrum("color", data, data).doc("In place of `value`: the same");
        m_value.expose(p, "value");
        if (!p.loading())
            return;
        m_is_colour = data.kind == SpectrumData::Kind::Rgb;
        m_value = ColourValue::unprepared(data.rgb, data.intent);
    }
    void changed(std::span<const std::string>) override { m_value.update(); }

    void configure() override {
        if (!m_is_colour)
            complain("value must be a colour");
        bool bounded = m_value.intent() == SpectrumData::Intent::Reflectance;
        Colour3 rgb = m_value.first_rgb();
        for (double v : rgb)
            if (!(v >= 0 && (!bounded || v <= 1)))
                complain("the colour {}, {}, {} is no {}; components must lie {}", rgb[0], rgb[1],
                         rgb[2], bounded ? "reflectance" : "light",
                         bounded ? "between 0 and 1" : "at 0 or above");
        m_value.prepare();
    }

    Spectrum eval(const SurfaceInteraction &si, const Mask &) const override {
        return m_value.eval(si.wavelengths);
    }
    Float eval_1(const SurfaceInteraction &, const Mask &) const override {
        return m_value.mean_value();
    }
    Vector3 eval_3(const SurfaceInteraction &, const Mask &) const override {
        return m_value.rgb();
    }
    Float mean_value() const override { return m_value.mean_value(); }
    double max_value() const override { return m_value.max_value(); }
    std::pair<Wavelengths, Spectrum> sample_spectrum(const SurfaceInteraction &si,
                                                     const Spectrum &u,
                                                     const Mask &active) const override {
        return sample_all_wavelengths(si, u, active);
    }
    Spectrum pdf_spectrum(const SurfaceInteraction &si, const Mask &) const override {
        return pdf_all_wavelengths(si);
    }

protected:
    /// Whoever uses it did not say what it is: a reflectance.
    void limit() {
        if (m_value.intent() == SpectrumData::Intent::Unspecified)
            m_value =
                ColourValue::unprepared(m_value.first_rgb(), SpectrumData::Intent::Reflectance);
    }

private:
    ColourValue m_value = ColourValue::unprepared({ 1, 1, 1 }, SpectrumData::Intent::Unspecified);
    bool m_is_colour = true;
};

/// As version 3 dictionaries have it: a reflectance, unless told otherwise.
class Srgb final : public Rgb {
public:
    void declare(Params &p) override {
        p.example("<rgb name='value' value='0.3,0.5,0.2'/>"); // not white, beyond which nothing is
        Rgb::declare(p);
        bool unbounded = false;
        p.boolean("unbounded", unbounded, false)
            .fixed()
            .doc("Components may be larger than 1; in spectral variants, so is the spectrum");
        if (p.loading() && !unbounded)
            limit();
    }
};

UMBEL_PLUGIN(Texture, Rgb, "rgb")
UMBEL_PLUGIN(Texture, Srgb, "srgb")
} // namespace umbel
