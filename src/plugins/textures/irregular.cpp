// irregular, regular: spectra given by values at some wavelengths, linear in between and zero beyond.
//
// Outside of spectral variants they become colours: of the light itself, and where they reflect, of what they reflect of D65.
#include "core/number_list.h"
#include "core/tabulated_spectrum.h"
#include "render/colour_value.h"
#include "render/spectrum_sampler.h"
#include "render/texture.h"
#include <algorithm>
#include <cmath>

namespace umbel {

class Irregular : public Texture {
public:
    void declare(Params &p) override {
        p.example("<string name='wavelengths' value='400, 550, 700'/><string name='values' "
                  "value='0.1, 0.7, 0.3'/>");
        SpectrumData none;
        p.spectrum("value", m_data, none).doc("Pairs of wavelength in nm and value");
        p.string("wavelengths", m_wavelengths, "")
            .doc("In place of `value`: the wavelengths, increasing");
        p.string("values", m_values, "").doc("In place of `value`: the values there");
        if (p.loading() && !m_wavelengths.empty()) {
            m_data.wavelengths = parse_number_list(m_wavelengths, "wavelengths", *p.properties());
            m_data.values = parse_number_list(m_values, "values", *p.properties());
        }
        expose(p, "wavelengths");
    }
    void changed(std::span<const std::string> names) override {
        if (variant().colour != Colour::Spectral)
            return m_colour.update();
        if (is_among("wavelengths", names))
            change([&] { m_table.update_wavelengths(); });
        else
            m_table.update();
        m_sampler = {};
    }

    void configure() override {
        change([&] { m_table = TabulatedSpectrum(m_data.wavelengths, m_data.values); });
        if (variant().colour == Colour::Spectral)
            return;
        bool bounded = m_data.intent == SpectrumData::Intent::Reflectance;
        Colour3 rgb = bounded ? m_table.reflectance_rgb() : m_table.emission_rgb();
        for (double &v : rgb) // not every spectrum is a colour of sRGB's
            v = std::clamp(v, 0.0, bounded ? 1.0 : 1e300);
        m_colour = ColourValue(rgb, m_data.intent);
    }

    Spectrum eval(const SurfaceInteraction &si, const Mask &active) const override {
        return variant().colour == Colour::Spectral ? m_table.eval(si.wavelengths, active)
                                                    : m_colour.eval(si.wavelengths);
    }
    Float eval_1(const SurfaceInteraction &si, const Mask &active) const override {
        (void)si;
        (void)active;
        if (variant().colour == Colour::Spectral)
            lacks("eval_1");
        return m_colour.mean_value();
    }
    Vector3 eval_3(const SurfaceInteraction &, const Mask &) const override {
        if (variant().colour == Colour::Spectral)
            lacks("eval_3");
        return m_colour.rgb();
    }
    Float mean_value() const override {
        if (variant().colour != Colour::Spectral)
            return m_colour.mean_value();
        auto [low, high] = wavelength_range();
        return Float(sampler().integral() / (high - low));
    }
    double max_value() const override {
        if (variant().colour != Colour::Spectral)
            return m_colour.max_value();
        std::vector<double> v = m_table.values();
        return *std::max_element(v.begin(), v.end());
    }
    std::array<double, 2> wavelength_range() const override {
        if (variant().colour != Colour::Spectral)
            return Texture::wavelength_range();
        return { m_table.wavelengths().front(), m_table.wavelengths().back() };
    }
    double spectral_resolution() const override {
        if (variant().colour != Colour::Spectral)
            return 0;
        double least = std::numeric_limits<double>::infinity();
        for (size_t i = 1; i < m_table.wavelengths().size(); ++i)
            least = std::min(least, m_table.wavelengths()[i] - m_table.wavelengths()[i - 1]);
        return least;
    }
    std::pair<Wavelengths, Spectrum> sample_spectrum(const SurfaceInteraction &si,
                                                     const Spectrum &u,
                                                     const Mask &active) const override {
        if (variant().colour != Colour::Spectral)
            return sample_all_wavelengths(si, u, active); // complains
        SurfaceInteraction there = si;
        there.wavelengths = sampler().sample(u, active);
        return { there.wavelengths, Spectrum(sampler().integral()) };
    }
    Spectrum pdf_spectrum(const SurfaceInteraction &si, const Mask &active) const override {
        if (variant().colour != Colour::Spectral)
            lacks("pdf_spectrum");
        return sampler().pdf(si.wavelengths, active);
    }

protected:
    /// The values, and the wavelengths under this name, if it is one; or, outside of spectral variants, the colour.
    void expose(Params &p, const char *wavelengths = nullptr) {
        if (!p.traversing())
            return;
        if (variant().colour == Colour::Spectral)
            m_table.expose(p, "values", wavelengths);
        else
            m_colour.expose(p, "value");
    }
    /// Whatever is wrong with the table is wrong with the texture.
    template <class Fn> void change(const Fn &fn) {
        try {
            fn();
        } catch (const UserError &e) {
            complain("{}", e.what());
        }
    }
    static bool is_among(const char *name, std::span<const std::string> names) {
        return std::find(names.begin(), names.end(), name) != names.end();
    }

    SpectrumData m_data;
    TabulatedSpectrum m_table;

private:
    // Made when it is first needed: few spectra are sampled.
    const SpectrumSampler &sampler() const {
        if (!m_sampler)
            m_sampler.emplace(m_table.wavelengths(), m_table.values());
        return *m_sampler;
    }

    mutable std::optional<SpectrumSampler> m_sampler;
    std::string m_wavelengths, m_values;
    ColourValue m_colour;
};

class Regular final : public Irregular {
public:
    void declare(Params &p) override {
        p.example("<string name='values' value='0.1, 0.7, 0.3'/>");
        p.number("wavelength_min", m_min, MinWavelength)
            .fixed()
            .doc("Wavelength of the first value, in nm");
        p.number("wavelength_max", m_max, MaxWavelength)
            .fixed()
            .doc("Wavelength of the last value, in nm");
        p.string("values", m_list, "").doc("Values at equal distances");
        p.spectrum("value", m_data, SpectrumData())
            .doc("In place of them: pairs of wavelength in nm and value");
        if (p.traversing() && variant().colour == Colour::Spectral)
            p.exposed("range", std::array{ &m_range[0], &m_range[1] });
        expose(p);
        if (!p.loading() || !m_data.values.empty())
            return;
        m_data.values = parse_number_list(m_list, "values", *p.properties());
        size_t n = m_data.values.size();
        for (size_t i = 0; i < n; ++i)
            m_data.wavelengths.push_back(m_min + (m_max - m_min) * double(i) / double(n - 1));
    }
    void configure() override {
        Irregular::configure();
        m_range = { m_table.wavelengths().front(), m_table.wavelengths().back() };
    }
    void changed(std::span<const std::string> names) override {
        if (variant().colour == Colour::Spectral && is_among("range", names)) {
            std::vector<double> moved = m_table.wavelengths();
            auto [low, high] = m_range;
            m_range = { moved.front(), moved.back() }; // unless these will do
            for (double &w : moved)
                w = std::lerp(low, high, (w - m_range[0]) / (m_range[1] - m_range[0]));
            change([&] { m_table.set_wavelengths(moved); });
            m_range = { low, high };
        }
        Irregular::changed(names);
    }

private:
    double m_min = 0, m_max = 0;
    std::array<double, 2> m_range{}; // in which the values are
    std::string m_list;
};

UMBEL_PLUGIN(Texture, Irregular, "irregular")
UMBEL_PLUGIN(Texture, Regular, "regular")
} // namespace umbel
