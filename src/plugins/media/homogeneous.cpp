// homogeneous: a medium of the same density everywhere, such as fog, or what is inside milk and marble.
//
//     sigma_s = albedo sigma_t      transmittance over a distance t = exp(-sigma_t t)
//
// Coefficients are per unit of length in the scene. The albedo may vary in space, and so may the direction of flakes, which cover
// more of the light's way from one side than from another: then distances are tracked, as in `heterogeneous`.
//
// A medium is the `interior` or `exterior` of shapes, and of a camera that is in it. Where shapes overlap, or lie inside others without
// naming their medium as the `exterior`, their media add up; a shape whose surface is not `null`, such as glass, displaces what is
// larger than itself. A camera in several media names one of them.
#include "core/medium_presets.h"
#include "render/medium.h"
#include "render/oriented_phase.h"
#include "render/replay.h"
#include "render/volume_range.h"

namespace umbel {

class Homogeneous final : public Medium {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<string name='material' value='skin1'/><float name='scale' value='0.5'/>");
        p.example("<float name='scale' value='2'/><phase type='sggx'><volume type='gridvolume' "
                  "name='S'><string name='filename' value='$files/flakes.vol'/></volume></phase>");
        Medium::declare(p);
        p.volume("albedo", m_albedo, 0.75, SpectrumData::Intent::Reflectance)
            .doc("The part of light that collides and is scattered");
        p.volume("sigma_t", m_sigma_t, 1).doc("Extinction: collisions per unit of length");
        p.optional_volume("sigma_s", m_sigma_s)
            .doc("In place of `albedo` and `sigma_t`, with `sigma_a`: scattering");
        p.optional_volume("sigma_a", m_sigma_a).doc("Likewise: absorption");
        p.scalar("scale", m_scale, 1, 0)
            .differentiable()
            .doc("Multiplies all coefficients: changes their unit");
        p.string("material", m_material, "")
            .doc("In place of all coefficients: a measured medium, per millimetre, such as `skin1` "
                 "or "
                 "`regular milk`; without a phase function of its own, `hg` of the measured mean "
                 "cosine");
        declare_spectral_extinction(p);
        if (!p.loading())
            return;
        if (!m_material.empty())
            fill_from_preset(*p.properties(), *p.loader());
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

    // Flakes that lie otherwise elsewhere cover more or less
    bool is_homogeneous() const override { return !area_varies_in_space(*m_phase); }
    Spectrum majorant(const MediumInteraction &mei, const Mask &active) const override {
        return is_homogeneous()
                   ? extinction(mei, active)
                   : detached(extinction_of_unit(mei, active) * (m_scale * most_covered()));
    }
    Coefficients scattering_coefficients(const MediumInteraction &mei,
                                         const Mask &active) const override {
        Spectrum sigma_t = extinction(mei, active);
        return { m_sigma_s ? m_sigma_s->eval(mei, active) * scale(mei, active)
                           : sigma_t * m_albedo->eval(mei, active),
                 is_homogeneous() ? Spectrum(0) : majorant(mei, active) - sigma_t, sigma_t };
    }

private:
    /// By flakes, seen from anywhere. Asked for anew each time: scripts may change the phase function alone.
    Float most_covered() const { return opaque_float(m_phase->max_projected_area()); }

    void fill_from_preset(const Properties &q, Loader &loader) try {
        for (const char *name : { "sigma_t", "albedo", "sigma_s", "sigma_a" })
            if (q.has(name))
                fail("give {} or a material, not both", name);
        const MediumPreset &m = medium_preset(m_material);
        auto volume = [&](const std::array<double, 3> &rgb) {
            auto constant = std::make_shared<Properties>("volume", "constvolume");
            constant->set("value", SpectrumData::from_rgb(rgb));
            return loader.load_as<Volume>(constant);
        };
        m_sigma_s = volume(m.sigma_s);
        m_sigma_a = volume(m.sigma_a);
        double g = (m.g[0] + m.g[1] + m.g[2]) / 3;
        if (g != 0 && q.objects("phase").empty()) {
            auto phase = std::make_shared<Properties>("phase", "hg");
            phase->set("g", g);
            m_phase = loader.load_as<PhaseFunction>(phase);
        }
    } catch (const UserError &e) {
        q.fail_at(*q.find("material"), e.what());
    }

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
        if (auto v = m_albedo ? find_outside(*m_albedo, 0, 1 + 1e-5) : std::nullopt)
            complain("albedo must lie between 0 and 1, and is {}; repair or clamp its numbers", *v);
    }

    Float scale(const MediumInteraction &mei, const Mask &active) const {
        return m_phase->has(PhaseFunctionFlags::Microflake)
                   ? m_scale * m_phase->projected_area(mei, active)
                   : m_scale;
    }
    Spectrum extinction(const MediumInteraction &mei, const Mask &active) const override {
        return extinction_of_unit(mei, active) * scale(mei, active);
    }
    Spectrum extinction_of_unit(const MediumInteraction &mei, const Mask &active) const {
        return m_sigma_s ? m_sigma_s->eval(mei, active) + m_sigma_a->eval(mei, active)
                         : m_sigma_t->eval(mei, active);
    }

    Ref<Volume> m_albedo, m_sigma_t;  // or ...
    Ref<Volume> m_sigma_s, m_sigma_a; // ... these
    Float m_scale;
    std::string m_material;
};

UMBEL_PLUGIN(Medium, Homogeneous, "homogeneous")
} // namespace umbel
