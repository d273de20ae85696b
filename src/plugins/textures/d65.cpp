// d65: CIE's illuminant of that name, daylight; its luminance is 1 times `scale`. With `color`, light of that colour.
#include "core/host_array.h"
#include "core/spectra.h"
#include "render/colour_value.h"
#include "render/spectrum_sampler.h"
#include "render/texture.h"
#include <algorithm>

namespace umbel {

class D65 final : public Texture {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<rgb name='color' value='.2, .5, .8'/><float name='scale' value='2'/>");
        p.scalar("scale", m_scale, 1, 0).differentiable().doc("Multiplies it");
        p.spectrum("color", m_data, SpectrumData::uniform(1))
            .doc("A colour for it; white unless given");
        if (is_coloured())
            m_colour.expose(p, "value");
    }
    void changed(std::span<const std::string> names) override {
        if (is_coloured() && std::find(names.begin(), names.end(), "value") != names.end())
            m_colour.update();
    }
    void configure() override {
        if (is_coloured())
            m_colour = ColourValue(m_data.rgb, SpectrumData::Intent::Illuminant);
        std::vector<double> w, v;
        for (double l = MinWavelength; l <= MaxWavelength; l += Step) {
            w.push_back(l);
            v.push_back(d65(l));
            m_most = std::max(m_most, v.back());
        }
        m_sampler = SpectrumSampler(w, v);
    }

    Spectrum eval(const SurfaceInteraction &si, const Mask &) const override {
        if (is_coloured())
            return m_colour.eval(si.wavelengths) * m_scale;
        if (variant().colour != Colour::Spectral)
            return Spectrum(m_scale);
        return map(si.wavelengths, [&](const Float &w) { return d65(w) * m_scale; });
    }
    Vector3 eval_3(const SurfaceInteraction &si, const Mask &active) const override {
        if (variant().colour == Colour::Spectral)
            lacks("eval_3");
        if (is_coloured())
            return m_colour.rgb() * m_scale;
        return Vector3(mean(eval(si, active)));
    }
    Float mean_value() const override {
        if (is_coloured())
            return m_colour.mean_value() * m_scale;
        if (variant().colour != Colour::Spectral)
            return m_scale;
        return m_scale * (m_sampler.integral() / (MaxWavelength - MinWavelength));
    }
    double max_value() const override {
        double scale = read_floats(Float(m_scale.detached()))[0];
        if (is_coloured())
            return scale * m_colour.max_value();
        return variant().colour == Colour::Spectral ? scale * m_most : scale;
    }
    double spectral_resolution() const override {
        return variant().colour == Colour::Spectral ? Step : 0;
    }
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
    static constexpr double Step = 5; // nm, of CIE's table

    bool is_coloured() const { return m_data.kind == SpectrumData::Kind::Rgb; }

    SpectrumData m_data;
    Float m_scale;
    ColourValue m_colour;
    SpectrumSampler m_sampler;
    double m_most = 0;
};

UMBEL_PLUGIN(Texture, D65, "d65")
} // namespace umbel
