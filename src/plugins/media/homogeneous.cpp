// homogeneous: a medium of the same density everywhere, such as fog, or what is inside milk and marble.
//
//     sigma_s = albedo sigma_t      transmittance over a distance t = exp(-sigma_t t)
//
// Coefficients are per unit of length in the scene. The albedo may vary in space.
#include "render/medium.h"

namespace umbel {

class Homogeneous final : public Medium {
public:
    void declare(Params &p) override {
        Medium::declare(p);
        p.volume("albedo", m_albedo, 0.75, SpectrumData::Intent::Reflectance)
            .doc("The part of light that collides and is scattered");
        p.volume("sigma_t", m_sigma_t, 1).doc("Extinction: collisions per unit of length");
        p.optional_volume("sigma_s", m_sigma_s)
            .doc("In place of `albedo` and `sigma_t`, with `sigma_a`: scattering");
        p.optional_volume("sigma_a", m_sigma_a).doc("Likewise: absorption");
        p.scalar("scale", m_scale, 1, 0).doc("Multiplies all coefficients: changes their unit");
        declare_spectral_extinction(p);
        if (!p.loading())
            return;
        if (!m_sigma_s != !m_sigma_a)
            fail("{}: sigma_s and sigma_a come together; {} is missing", p.properties()->describe(),
                 m_sigma_s ? "sigma_a" : "sigma_s");
        if (m_sigma_s && (p.properties()->has("albedo") || p.properties()->has("sigma_t")))
            fail("{}: give albedo and sigma_t, or sigma_s and sigma_a, not some of both",
                 p.properties()->describe());
        if (m_sigma_s)
            m_albedo = m_sigma_t = nullptr;
    }
    void configure() override { check_ranges(); }
    void changed(std::span<const std::string>) override {}

    bool is_homogeneous() const override { return true; }
    Spectrum majorant(const MediumInteraction &mei, const Mask &active) const override {
        return extinction(mei, active);
    }
    Coefficients scattering_coefficients(const MediumInteraction &mei,
                                         const Mask &active) const override {
        Spectrum sigma_t = extinction(mei, active);
        return { m_sigma_s ? m_sigma_s->eval(mei, active) * scale(mei, active)
                           : sigma_t * m_albedo->eval(mei, active),
                 Spectrum(0), sigma_t };
    }

private:
    void check_ranges() const {
        for (auto &[v, name] : { std::pair(&m_sigma_t, "sigma_t"), std::pair(&m_sigma_s, "sigma_s"),
                                 std::pair(&m_sigma_a, "sigma_a") }) {
            if (!*v)
                continue;
            if ((*v)->is_spatially_varying())
                complain("{} varies in space ({}), and a homogeneous medium's does not", name,
                         (*v)->plugin());
            if ((*v)->max_value() < 0)
                complain("{} is negative ({})", name, (*v)->max_value());
        }
        if (m_albedo && !(m_albedo->max_value() >= 0 && m_albedo->max_value() <= 1))
            complain("albedo is {}; it must lie between 0 and 1", m_albedo->max_value());
    }

    Float scale(const MediumInteraction &mei, const Mask &active) const {
        return m_phase->has(PhaseFunctionFlags::Microflake)
                   ? m_scale * m_phase->projected_area(mei, active)
                   : m_scale;
    }
    Spectrum extinction(const MediumInteraction &mei, const Mask &active) const {
        Spectrum s = m_sigma_s ? m_sigma_s->eval(mei, active) + m_sigma_a->eval(mei, active)
                               : m_sigma_t->eval(mei, active);
        return s * scale(mei, active);
    }

    Ref<Volume> m_albedo, m_sigma_t;  // or ...
    Ref<Volume> m_sigma_s, m_sigma_a; // ... these
    Float m_scale;
};

UMBEL_PLUGIN(Medium, Homogeneous, "homogeneous")
} // namespace umbel
