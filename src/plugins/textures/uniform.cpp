// uniform: the same value at every wavelength.
#include "render/texture.h"

namespace umbel {

class Uniform final : public Texture {
public:
    void declare(Params &p) override {
        p.spectrum("value", m_data, SpectrumData::uniform(1)).doc("The value");
        p.number("wavelength_min", m_min, MinWavelength).doc("Zero below this wavelength in nm");
        p.number("wavelength_max", m_max, MaxWavelength).doc("Zero above this wavelength in nm");
        if (p.loading()) {
            if (m_data.kind != SpectrumData::Kind::Uniform)
                fail("{}: value must be a number", p.properties()->describe());
            m_value = opaque_float(m_data.value);
        }
    }

    Spectrum eval(const SurfaceInteraction &, const Mask &) const override {
        return Spectrum(m_value);
    }
    Float eval_1(const SurfaceInteraction &, const Mask &) const override { return m_value; }
    Vector3 eval_3(const SurfaceInteraction &, const Mask &) const override {
        return Vector3(m_value);
    }
    double mean_value() const override { return m_data.value; }

private:
    SpectrumData m_data;
    double m_min = MinWavelength, m_max = MaxWavelength;
    Float m_value;
};

UMBEL_PLUGIN(Texture, Uniform, "uniform")
} // namespace umbel
