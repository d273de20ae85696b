// blackbody: light of a glowing body, by Planck's law, in W / (m^2 sr nm).
#include "core/host_array.h"
#include "core/spectra.h"
#include "render/colour_value.h"
#include "render/spectrum_sampler.h"
#include "render/texture.h"
#include <algorithm>

namespace umbel {

class Blackbody final : public Texture {
public:
    void declare(Params &p) override {
        p.spectrum("value", m_data, {}).doc("Temperature and scale as a scene file writes them");
        p.number("temperature", m_temperature, 5000, 0, 1e6).doc("In kelvin");
        p.number("scale", m_scale, 1, 0).doc("Multiplies it");
        p.number("wavelength_min", m_low, MinWavelength, 0)
            .fixed()
            .doc("Below this wavelength, in nm, it is dark; in spectral variants");
        p.number("wavelength_max", m_high, MaxWavelength, 0).fixed().doc("The same above this one");
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
        if (variant().colour == Colour::Spectral) {
            std::vector<double> w, v;
            for (double l = MinWavelength; l <= MaxWavelength; l += 5) {
                w.push_back(l);
                v.push_back(blackbody(l, m_temperature));
            }
            m_sampler = SpectrumSampler(w, v);
            return;
        }
        Colour3 rgb = xyz_to_srgb(
            spectrum_to_xyz([&](double w) { return m_scale * blackbody(w, m_temperature); }));
        for (double &v : rgb)
            v = std::max(v, 0.0);
        m_colour = ColourValue(rgb, SpectrumData::Intent::Illuminant);
    }

    Spectrum eval(const SurfaceInteraction &si, const Mask &) const override {
        if (variant().colour != Colour::Spectral)
            return m_colour.eval(si.wavelengths);
        // Beyond what renderings consider it is as dark as other spectra
        return map(si.wavelengths, [&](const Float &w) {
            return select((w >= std::max(m_low, MinWavelength)) &
                              (w <= std::min(m_high, MaxWavelength)),
                          blackbody(w, m_t) * m_s, Float(0));
        });
    }
    Float mean_value() const override {
        if (variant().colour != Colour::Spectral)
            return mean(m_colour.eval({}));
        double sum = 0; // Simpson's rule in steps of a nanometre
        for (double l = MinWavelength; l < MaxWavelength; l += 2)
            sum += blackbody(l, m_temperature) + 4 * blackbody(l + 1, m_temperature) +
                   blackbody(l + 2, m_temperature);
        return Float(m_scale * sum / 3 / (MaxWavelength - MinWavelength));
    }
    double max_value() const override {
        if (variant().colour != Colour::Spectral) {
            std::vector<double> c;
            for (const Float &v : m_colour.eval({}).c)
                c.push_back(read_floats(v)[0]);
            return *std::max_element(c.begin(), c.end());
        }
        // Wien's displacement law: b = 2.897771955e6 nm K
        double peak =
            std::clamp(2.897771955e6 / std::max(m_temperature, 1e-3), MinWavelength, MaxWavelength);
        return m_scale * blackbody(peak, m_temperature);
    }
    double spectral_resolution() const override { return 0; }
    std::pair<Wavelengths, Spectrum> sample_spectrum(const SurfaceInteraction &si,
                                                     const Spectrum &u,
                                                     const Mask &active) const override {
        if (variant().colour != Colour::Spectral)
            return sample_all_wavelengths(si, u, active); // complains
        SurfaceInteraction there = si;
        there.wavelengths = m_sampler.sample(u, active);
        return { there.wavelengths,
                 eval(there, active) / m_sampler.pdf(there.wavelengths, active) };
    }
    Spectrum pdf_spectrum(const SurfaceInteraction &si, const Mask &active) const override {
        return m_sampler.pdf(si.wavelengths, active);
    }

private:
    SpectrumData m_data;
    double m_temperature = 5000, m_scale = 1, m_low = MinWavelength, m_high = MaxWavelength;
    Float m_t, m_s;
    ColourValue m_colour;
    SpectrumSampler m_sampler; // of a table in steps of 5 nm; weights make up for the difference
};

UMBEL_PLUGIN(Texture, Blackbody, "blackbody")
} // namespace umbel
