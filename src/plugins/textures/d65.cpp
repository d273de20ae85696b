// d65: CIE's illuminant of that name, daylight; its luminance is 1 times `scale`.
#include "core/spectra.h"
#include "render/colour_value.h"
#include "render/texture.h"

namespace umbel {

class D65 final : public Texture {
public:
    void declare(Params &p) override {
        p.number("scale", m_scale_number, 1, 0).doc("Multiplies it");
    }
    void configure() override {
        m_scale = opaque_float(m_scale_number);
        m_colour = ColourValue({ m_scale_number, m_scale_number, m_scale_number },
                               SpectrumData::Intent::Illuminant);
    }
    Spectrum eval(const SurfaceInteraction &si, const Mask &) const override {
        if (variant().colour != Colour::Spectral)
            return m_colour.eval(si.wavelengths);
        return map(si.wavelengths, [&](const Float &w) { return d65(w) * m_scale; });
    }
    double mean_value() const override { return m_scale_number; }

private:
    double m_scale_number = 1;
    Float m_scale;
    ColourValue m_colour;
};

UMBEL_PLUGIN(Texture, D65, "d65")
} // namespace umbel
