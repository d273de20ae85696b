// uniform: the same value at every wavelength.
//
// As light in an RGB variant, that is the colour of a spectrum of equal energy, which is a little redder than white.
#include "core/host_array.h"
#include "render/colour_value.h"
#include "render/texture.h"

namespace umbel {

class Uniform final : public Texture {
public:
    void declare(Params &p) override {
        SpectrumData data = SpectrumData::uniform(m_number, m_intent);
        p.spectrum("value", data, data).doc("The value");
        if (p.traversing())
            p.exposed("value", &m_value).differentiable();
        double low = MinWavelength, high = MaxWavelength;
        p.number("wavelength_min", low, MinWavelength)
            .fixed()
            .doc("Of Mitsuba, for the wavelengths of light; makes no difference");
        p.number("wavelength_max", high, MaxWavelength).fixed().doc("Likewise");
        m_is_number = data.kind == SpectrumData::Kind::Uniform;
        m_number = data.value; // all that is kept: scenes have thousands of these
        m_intent = data.intent;
    }
    void changed(std::span<const std::string>) override {}

    void configure() override {
        if (!m_is_number)
            complain("value must be a number");
        m_value = opaque_float(m_number);
        if (m_intent == SpectrumData::Intent::Illuminant && variant().colour == Colour::Rgb)
            m_colour = std::make_unique<ColourValue>(xyz_to_srgb({ 1, 1, 1 }), m_intent);
    }

    Spectrum eval(const SurfaceInteraction &si, const Mask &) const override {
        return m_colour ? m_colour->eval(si.wavelengths) * m_value : Spectrum(m_value);
    }
    Float eval_1(const SurfaceInteraction &, const Mask &) const override { return m_value; }
    Vector3 eval_3(const SurfaceInteraction &, const Mask &) const override {
        return Vector3(m_value);
    }
    Float mean_value() const override { return m_value; }
    double max_value() const override { return read_floats(m_value)[0]; }
    double spectral_resolution() const override { return 0; }
    std::pair<Wavelengths, Spectrum> sample_spectrum(const SurfaceInteraction &si,
                                                     const Spectrum &u,
                                                     const Mask &active) const override {
        return sample_all_wavelengths(si, u, active);
    }
    Spectrum pdf_spectrum(const SurfaceInteraction &si, const Mask &) const override {
        return pdf_all_wavelengths(si);
    }

private:
    double m_number = 1;
    SpectrumData::Intent m_intent = SpectrumData::Intent::Unspecified;
    bool m_is_number = true;
    Float m_value;
    std::unique_ptr<ColourValue> m_colour; // of light in an RGB variant
};

UMBEL_PLUGIN(Texture, Uniform, "uniform")
} // namespace umbel
