// scale: another texture, brighter or darker, or a higher or lower bump.
#include "core/host_array.h"
#include "render/texture.h"
#include "render/traced_once.h"

namespace umbel {

class Scale final : public Texture {
public:
    void declare(Params &p) override {
        p.example("<float name='scale' value='0.5'/><texture type='bitmap'><string name='filename' "
                  "value='$files/image.png'/></texture>");
        p.example("<float name='scale' value='1.5'/><rgb name='value' value='.2, .4, .6'/>");
        if (p.loading())
            p.object("texture", m_value);
        if (!p.loading() || !m_value)
            p.unbounded_texture("value", m_value)
                .differentiable()
                .doc("What is scaled: a colour, a spectrum or a texture, which needs no name");
        p.scalar("scale", m_scale, 1).differentiable().doc("Multiplies it");
    }
    void changed(std::span<const std::string>) override {}
    void configure() override {
        if (!m_value)
            complain("has nothing to scale; put a texture or a `value` into it");
    }

    Spectrum eval(const SurfaceInteraction &si, const Mask &active) const override {
        return once("eval", [&] { return m_value->eval(si, active); }, si, active) * m_scale;
    }
    Float eval_1(const SurfaceInteraction &si, const Mask &active) const override {
        return once("eval_1", [&] { return m_value->eval_1(si, active); }, si, active) * m_scale;
    }
    Vector3 eval_3(const SurfaceInteraction &si, const Mask &active) const override {
        return once("eval_3", [&] { return m_value->eval_3(si, active); }, si, active) * m_scale;
    }
    Vector2 eval_1_grad(const SurfaceInteraction &si, const Mask &active) const override {
        return once(
                   "eval_1_grad", [&] { return m_value->eval_1_grad(si, active); }, si, active) *
               m_scale;
    }
    bool is_spatially_varying() const override { return m_value->is_spatially_varying(); }
    std::array<size_t, 2> resolution() const override { return m_value->resolution(); }
    Float mean_value() const override {
        return once("mean", [&] { return m_value->mean_value(); }) * m_scale;
    }
    double max_value() const override { // of what is not negative
        double scale = read_floats(Float(m_scale.detached()))[0];
        return scale > 0 ? scale * once("max", [&] { return m_value->max_value(); }) : 0;
    }

    std::pair<Vector2, Float> sample_position(const Vector2 &u, const Mask &active) const override {
        return m_value->sample_position(u, active);
    }
    Float pdf_position(const Vector2 &p, const Mask &active) const override {
        return m_value->pdf_position(p, active);
    }
    std::pair<Wavelengths, Spectrum> sample_spectrum(const SurfaceInteraction &si,
                                                     const Spectrum &u,
                                                     const Mask &active) const override {
        auto [wavelengths, weight] = m_value->sample_spectrum(si, u, active);
        return { wavelengths, weight * m_scale };
    }
    Spectrum pdf_spectrum(const SurfaceInteraction &si, const Mask &active) const override {
        return m_value->pdf_spectrum(si, active);
    }
    std::array<double, 2> wavelength_range() const override { return m_value->wavelength_range(); }
    double spectral_resolution() const override { return m_value->spectral_resolution(); }

private:
    template <class Fn, class... Args>
    auto once(const char *question, Fn &&fn, const Args &...args) const -> decltype(fn()) {
        return traced_once(*m_value, question, fn, args...);
    }

    Ref<Texture> m_value;
    Float m_scale;
};

UMBEL_PLUGIN(Texture, Scale, "scale")
} // namespace umbel
