// d65: CIE's illuminant of that name, daylight; its luminance is 1 times `scale`.
#include "core/spectra.h"
#include "render/texture.h"

namespace umbel {

class D65 final : public Texture {
public:
    void declare(Params &p) override {
        p.scalar("scale", m_scale, 1, 0).differentiable().doc("Multiplies it");
    }
    void changed(std::span<const std::string>) override {}
    Spectrum eval(const SurfaceInteraction &si, const Mask &) const override {
        if (variant().colour != Colour::Spectral)
            return Spectrum(m_scale);
        return map(si.wavelengths, [&](const Float &w) { return d65(w) * m_scale; });
    }

private:
    Float m_scale;
};

UMBEL_PLUGIN(Texture, D65, "d65")
} // namespace umbel
