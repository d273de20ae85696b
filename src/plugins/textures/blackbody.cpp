// blackbody: light of a glowing body, by Planck's law, in W / (m^2 sr nm).
#include "core/spectra.h"
#include "render/colour_value.h"
#include "render/texture.h"
#include <algorithm>

namespace umbel {

class Blackbody final : public Texture {
public:
    void declare(Params &p) override {
        p.spectrum("value", m_data, {}).doc("Temperature and scale as a scene file writes them");
        p.number("temperature", m_temperature, 5000, 0, 1e6).doc("In kelvin");
        p.number("scale", m_scale, 1, 0).doc("Multiplies it");
        m_colour.expose(p, "value");
        if (p.loading() && m_data.kind == SpectrumData::Kind::Blackbody) {
            m_temperature = m_data.temperature;
            m_scale = m_data.scale;
        }
    }

    void changed(std::span<const std::string> names) override {
        if (std::find(names.begin(), names.end(), "value") != names.end())
            m_colour.update();
        else
            configure();
    }
    void configure() override {
        m_t = opaque_float(m_temperature);
        m_s = opaque_float(m_scale);
        if (variant().colour == Colour::Spectral)
            return;
        Colour3 rgb = xyz_to_srgb(
            spectrum_to_xyz([&](double w) { return m_scale * blackbody(w, m_temperature); }));
        for (double &v : rgb)
            v = std::max(v, 0.0);
        m_colour = ColourValue(rgb, SpectrumData::Intent::Illuminant);
    }

    Spectrum eval(const SurfaceInteraction &si, const Mask &) const override {
        if (variant().colour != Colour::Spectral)
            return m_colour.eval(si.wavelengths);
        return map(si.wavelengths, [&](const Float &w) { return blackbody(w, m_t) * m_s; });
    }

private:
    SpectrumData m_data;
    double m_temperature = 5000, m_scale = 1;
    Float m_t, m_s;
    ColourValue m_colour;
};

UMBEL_PLUGIN(Texture, Blackbody, "blackbody")
} // namespace umbel
