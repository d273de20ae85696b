// d65: CIE's illuminant of that name, daylight; its luminance is 1 times `scale`. With `color`, light of that colour; with a texture
// inside, light of its colours: an image of a lamp, say, which has no spectrum of its own.
#include "core/host_array.h"
#include "core/spectra.h"
#include "render/colour_value.h"
#include "render/spectrum_sampler.h"
#include "render/texture.h"
#include "render/traced_once.h"
#include <algorithm>

namespace umbel {

class D65 final : public Texture {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<rgb name='color' value='.2, .5, .8'/><float name='scale' value='2'/>");
        p.example("<texture type='checkerboard'/><float name='scale' value='3'/>");
        p.scalar("scale", m_scale, 1, 0).differentiable().doc("Multiplies it");
        p.spectrum("color", m_data, SpectrumData::uniform(1))
            .doc("A colour for it; white unless given");
        p.object("nested_texture", m_nested).doc("Colours for it, from place to place");
        if (is_coloured())
            m_colour.expose(p, "value");
    }
    void changed(std::span<const std::string> names) override {
        if (is_coloured() && std::find(names.begin(), names.end(), "value") != names.end())
            m_colour.update();
    }
    void configure() override {
        if (is_coloured() && m_nested)
            complain("has a colour and a texture inside; give one of them");
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

    Spectrum eval(const SurfaceInteraction &si, const Mask &active) const override {
        Spectrum light = eval_plain(si);
        if (!m_nested)
            return light;
        return light * ask("eval", [&] { return m_nested->eval(si, active); }, si, active);
    }
    Float eval_1(const SurfaceInteraction &si, const Mask &active) const override {
        if (!m_nested || variant().colour == Colour::Spectral)
            return Texture::eval_1(si, active);
        return m_scale * ask("eval_1", [&] { return m_nested->eval_1(si, active); }, si, active);
    }
    Vector2 eval_1_grad(const SurfaceInteraction &si, const Mask &active) const override {
        if (!m_nested || variant().colour == Colour::Spectral)
            return Texture::eval_1_grad(si, active);
        return ask(
                   "eval_1_grad", [&] { return m_nested->eval_1_grad(si, active); }, si, active) *
               m_scale;
    }
    Vector3 eval_3(const SurfaceInteraction &si, const Mask &active) const override {
        if (variant().colour == Colour::Spectral)
            lacks("eval_3");
        if (is_coloured())
            return m_colour.rgb() * m_scale;
        Vector3 light(mean(eval_plain(si)));
        if (!m_nested)
            return light;
        return light * ask("eval_3", [&] { return m_nested->eval_3(si, active); }, si, active);
    }
    bool is_spatially_varying() const override {
        return m_nested && m_nested->is_spatially_varying();
    }
    std::array<size_t, 2> resolution() const override {
        return m_nested ? m_nested->resolution() : Texture::resolution();
    }
    std::pair<Vector2, Float> sample_position(const Vector2 &u, const Mask &active) const override {
        return m_nested ? m_nested->sample_position(u, active)
                        : Texture::sample_position(u, active);
    }
    Float pdf_position(const Vector2 &p, const Mask &active) const override {
        return m_nested ? m_nested->pdf_position(p, active) : Texture::pdf_position(p, active);
    }
    // With a texture, as if its colours had nothing to do with those of daylight
    Float mean_value() const override {
        Float light = plain_mean();
        return m_nested ? light * ask("mean", [&] { return m_nested->mean_value(); }) : light;
    }
    double max_value() const override {
        double light = plain_max();
        return m_nested ? light * ask("max", [&] { return m_nested->max_value(); }) : light;
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
    template <class Fn, class... Args>
    auto ask(const char *question, Fn &&fn, const Args &...args) const -> decltype(fn()) {
        return traced_once(*m_nested, question, fn, args...);
    }

    // Without the texture.
    Spectrum eval_plain(const SurfaceInteraction &si) const {
        if (is_coloured())
            return m_colour.eval(si.wavelengths) * m_scale;
        if (variant().colour != Colour::Spectral)
            return Spectrum(m_scale);
        return map(si.wavelengths, [&](const Float &w) { return d65(w) * m_scale; });
    }
    Float plain_mean() const {
        if (is_coloured())
            return m_colour.mean_value() * m_scale;
        if (variant().colour != Colour::Spectral)
            return m_scale;
        return m_scale * (m_sampler.integral() / (MaxWavelength - MinWavelength));
    }
    double plain_max() const {
        double scale = read_floats(Float(m_scale.detached()))[0];
        if (is_coloured())
            return scale * m_colour.max_value();
        return variant().colour == Colour::Spectral ? scale * m_most : scale;
    }

    SpectrumData m_data;
    Float m_scale;
    ColourValue m_colour;
    Ref<Texture> m_nested;
    SpectrumSampler m_sampler;
    double m_most = 0;
};

UMBEL_PLUGIN(Texture, D65, "d65")
} // namespace umbel
