// rawconstant: one number, or three, the same everywhere and in all variants: no colour, no range.
#include "core/host_array.h"
#include "render/texture.h"
#include <algorithm>

namespace umbel {

class RawConstant final : public Texture {
public:
    void declare(Params &p) override {
        p.example("<float name='value' value='.25'/>");
        if (p.loading())
            load(*p.properties());
        Slot slot =
            m_is_vector ? Slot(std::array{ &m_value.x, &m_value.y, &m_value.z }) : Slot(&m_value.x);
        Param &value =
            p.exposed("value", slot).differentiable().doc("The number, or three of them");
        value.type = "float or vector";
        value.is_required = true;
    }
    void changed(std::span<const std::string>) override {}

    Spectrum eval(const SurfaceInteraction &, const Mask &) const override {
        if (!m_is_vector)
            return Spectrum(m_value.x);
        if (variant().colour != Colour::Rgb)
            complain("three numbers are no spectrum in this variant; give one number, or use `rgb` "
                     "for colours");
        return Spectrum(std::vector<Float>{ m_value.x, m_value.y, m_value.z });
    }
    Float eval_1(const SurfaceInteraction &, const Mask &) const override {
        if (m_is_vector)
            complain("eval_1() is not defined for three numbers; give one");
        return m_value.x;
    }
    Vector3 eval_3(const SurfaceInteraction &, const Mask &) const override {
        return m_is_vector ? m_value : Vector3(m_value.x);
    }
    Float mean_value() const override {
        return m_is_vector ? (m_value.x + m_value.y + m_value.z) * (1.0 / 3) : m_value.x;
    }
    double max_value() const override {
        auto number = [](const Float &v) { return read_floats(Float(v.detached()))[0]; };
        if (!m_is_vector)
            return number(m_value.x);
        return std::max({ number(m_value.x), number(m_value.y), number(m_value.z) });
    }
    std::pair<Wavelengths, Spectrum> sample_spectrum(const SurfaceInteraction &si,
                                                     const Spectrum &u,
                                                     const Mask &active) const override {
        return sample_all_wavelengths(si, u, active);
    }
    Spectrum pdf_spectrum(const SurfaceInteraction &si, const Mask &) const override {
        return pdf_all_wavelengths(si);
    }

private:
    void load(const Properties &p) {
        const Property *value = p.query("value");
        if (!value)
            fail("{}: needs a value: a float, or a vector", p.describe());
        auto *vector = std::get_if<VectorData>(&value->value);
        m_is_vector = vector != nullptr;
        VectorData v = vector ? *vector : VectorData{ p.get<double>("value"), 0, 0 };
        m_value = { opaque_float(v.x), opaque_float(v.y), opaque_float(v.z) };
    }

    bool m_is_vector = false;
    Vector3 m_value;
};

UMBEL_PLUGIN(Texture, RawConstant, "rawconstant")
} // namespace umbel
