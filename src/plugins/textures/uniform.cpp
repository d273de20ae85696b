// uniform: the same value at every wavelength.
//
// As light in an RGB variant, that is the colour of a spectrum of equal energy, which is a little redder than white. A spectrum that
// ends at `wavelength_min` or `wavelength_max` is zero beyond; colours know nothing of that.
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
        auto [low, high] = wavelength_range();
        p.number("wavelength_min", low, MinWavelength, 0)
            .fixed()
            .doc("Below this wavelength, in nm, it is zero; in spectral variants");
        p.number("wavelength_max", high, MaxWavelength, 0).fixed().doc("The same above this one");
        if (p.loading() && (low != MinWavelength || high != MaxWavelength))
            m_part = std::make_unique<Part>(Part{ low, high, {}, {} });
        m_is_number = data.kind == SpectrumData::Kind::Uniform;
        m_number = data.value; // all that is kept: scenes have thousands of these
        m_intent = data.intent;
    }
    void changed(std::span<const std::string>) override {}

    void configure() override {
        if (!m_is_number)
            complain("value must be a number");
        if (m_part) {
            if (!(m_part->low < m_part->high))
                complain("wavelength_min ({}) must be less than wavelength_max ({})", m_part->low,
                         m_part->high);
            m_part->begin = opaque_float(m_part->low);
            m_part->end = opaque_float(m_part->high);
        }
        m_value = opaque_float(m_number);
        if (m_intent == SpectrumData::Intent::Illuminant && variant().colour == Colour::Rgb)
            m_colour = std::make_unique<ColourValue>(xyz_to_srgb({ 1, 1, 1 }), m_intent);
    }

    Spectrum eval(const SurfaceInteraction &si, const Mask &) const override {
        if (m_part && variant().colour == Colour::Spectral)
            return map(si.wavelengths,
                       [&](const Float &w) { return select(m_part->has(w), m_value, Float(0)); });
        return m_colour ? m_colour->eval(si.wavelengths) * m_value : Spectrum(m_value);
    }
    Float eval_1(const SurfaceInteraction &, const Mask &) const override { return m_value; }
    Vector3 eval_3(const SurfaceInteraction &, const Mask &) const override {
        return Vector3(m_value);
    }
    Float mean_value() const override { return m_value; }
    double max_value() const override { return read_floats(m_value)[0]; }
    std::array<double, 2> wavelength_range() const override {
        return m_part ? std::array{ m_part->low, m_part->high } : Texture::wavelength_range();
    }
    double spectral_resolution() const override { return 0; }
    std::pair<Wavelengths, Spectrum> sample_spectrum(const SurfaceInteraction &si,
                                                     const Spectrum &u,
                                                     const Mask &active) const override {
        if (!m_part || variant().colour != Colour::Spectral)
            return sample_all_wavelengths(si, u, active);
        Float length = m_part->end - m_part->begin;
        return { map(u, [&](const Float &v) { return fma(v, length, m_part->begin); }),
                 Spectrum(m_value * length) };
    }
    Spectrum pdf_spectrum(const SurfaceInteraction &si, const Mask &) const override {
        if (!m_part || variant().colour != Colour::Spectral)
            return pdf_all_wavelengths(si);
        return map(si.wavelengths, [&](const Float &w) {
            return select(m_part->has(w), rcp(m_part->end - m_part->begin), Float(0));
        });
    }

private:
    struct Part { // of all wavelengths
        double low, high;
        Float begin, end; // the same, as data of the program

        Mask has(const Float &w) const { return (w >= begin) & (w <= end); }
    };

    double m_number = 1;
    SpectrumData::Intent m_intent = SpectrumData::Intent::Unspecified;
    bool m_is_number = true;
    Float m_value;
    std::unique_ptr<ColourValue> m_colour; // of light in an RGB variant
    std::unique_ptr<Part> m_part;          // null: all of them
};

UMBEL_PLUGIN(Texture, Uniform, "uniform")
} // namespace umbel
