// uniform: the same value at every wavelength.
//
// As light in an RGB variant, that is the colour of a spectrum of equal energy, which is a little redder than white.
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

private:
    SpectrumData m_data;
    Float m_value;
    bool m_is_coloured = false;
    ColourValue m_colour;
};

UMBEL_PLUGIN(Texture, Uniform, "uniform")
} // namespace umbel
