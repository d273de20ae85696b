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
        p.spectrum("value", m_data, SpectrumData::uniform(1)).doc("The value");
        if (p.traversing())
            p.exposed("value", &m_value).differentiable();
    }
    void changed(std::span<const std::string>) override {}

    void configure() override {
        if (m_data.kind != SpectrumData::Kind::Uniform)
            complain("value must be a number");
        m_value = opaque_float(m_data.value);
        m_is_coloured =
            m_data.intent == SpectrumData::Intent::Illuminant && variant().colour == Colour::Rgb;
        if (m_is_coloured) {
            m_colour = ColourValue(xyz_to_srgb({ 1, 1, 1 }), SpectrumData::Intent::Illuminant);
        }
    }

    Spectrum eval(const SurfaceInteraction &si, const Mask &) const override {
        return m_is_coloured ? m_colour.eval(si.wavelengths) * m_value : Spectrum(m_value);
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
        return map(si.wavelengths, [](const Float &w) {
            return select((w >= MinWavelength) & (w <= MaxWavelength),
                          Float(1 / (MaxWavelength - MinWavelength)), Float(0));
        });
    }

private:
    SpectrumData m_data;
    Float m_value;
    bool m_is_coloured = false;
    ColourValue m_colour;
};

UMBEL_PLUGIN(Texture, Uniform, "uniform")
} // namespace umbel
