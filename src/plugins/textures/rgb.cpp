// rgb: a colour, given by linear sRGB components.
#include "render/texture.h"

namespace umbel {

class Rgb final : public Texture {
public:
    void declare(Params &p) override {
        p.spectrum("value", m_data, SpectrumData::from_rgb({ 1, 1, 1 })).doc("The colour");
    }

    void configure() override {
        const auto &c = m_data.rgb;
        for (double v : c)
            m_channels.push_back(opaque_float(v));
        m_luminance = opaque_float(0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]);
    }

    Spectrum eval(const SurfaceInteraction &, const Mask &) const override {
        return variant().colour == Colour::Mono ? Spectrum(m_luminance) : Spectrum(m_channels);
    }
    Float eval_1(const SurfaceInteraction &, const Mask &) const override { return m_luminance; }
    Vector3 eval_3(const SurfaceInteraction &, const Mask &) const override {
        return { m_channels[0], m_channels[1], m_channels[2] };
    }

private:
    SpectrumData m_data;
    std::vector<Float> m_channels;
    Float m_luminance;
};

UMBEL_PLUGIN(Texture, Rgb, "rgb")
} // namespace umbel
