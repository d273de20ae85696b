// render/scattering_coefficients.cpp: see scattering_coefficients.h.
#include "render/scattering_coefficients.h"
#include "render/dielectric_ior.h"

namespace umbel {

static void check_convention(const Properties &q) {
    bool pair = q.has("sigma_s") || q.has("sigma_a"), t = q.has("sigma_t"),
         albedo = q.has("albedo");
    if (pair && (t || albedo))
        fail("{}: give either sigma_s and sigma_a, or sigma_t and albedo", q.describe());
    if (t != albedo)
        fail("{}: sigma_t and albedo go together, and one of them is missing", q.describe());
}

void ScatteringCoefficients::declare(Params &p) {
    if (!p.traversing()) {
        p.string("material", m_material, "skin1")
            .doc("A preset, for coefficients that are not given; per millimeter");
        if (p.loading())
            check_convention(*p.properties());
    }
    if (!p.traversing() || !m_sigma_t) {
        p.unbounded_texture("sigma_s", m_sigma_s)
            .differentiable()
            .doc("Scattering per unit of length");
        p.unbounded_texture("sigma_a", m_sigma_a)
            .differentiable()
            .doc("Absorption per unit of length");
    }
    if (!p.traversing() || m_sigma_t) {
        p.unbounded_texture("sigma_t", m_sigma_t)
            .differentiable()
            .doc("With albedo, in place of sigma_s and sigma_a: their sum");
        p.unbounded_texture("albedo", m_albedo).differentiable().doc("Scattered part of sigma_t");
    }
    if (p.loading() && !m_sigma_t && !(m_sigma_s && m_sigma_a))
        fill_from_preset(*p.properties(), *p.loader());
}

void ScatteringCoefficients::fill_from_preset(const Properties &q, Loader &loader) try {
    m_preset = &medium_preset(m_material);
    std::array<double, 3> reduced = m_preset->sigma_s;
    for (size_t i = 0; i < 3; ++i) // as if it were isotropic
        reduced[i] *= 1 - m_preset->g[i];
    auto texture = [&](const std::array<double, 3> &rgb) {
        return std::dynamic_pointer_cast<Texture>(
            loader.load_spectrum(SpectrumData::from_rgb(rgb), q));
    };
    if (!m_sigma_s)
        m_sigma_s = texture(reduced);
    if (!m_sigma_a)
        m_sigma_a = texture(m_preset->sigma_a);
} catch (const UserError &e) {
    if (const Property *p = q.find("material"))
        q.fail_at(*p, e.what());
    throw;
}

void ScatteringCoefficients::declare_eta(Params &p, double &eta) const {
    if (p.traversing())
        return;
    if (!p.loading()) {
        std::string text;
        p.string("int_ior", text, "that of the material, or bk7")
            .doc("Index of refraction below the surface: a number, or the name of a dielectric");
        p.string("ext_ior", text, "air").doc("Likewise, above it");
        return;
    }
    const Properties &q = *p.properties();
    double inside = m_preset && !q.has("int_ior") ? m_preset->eta : read_ior(q, "int_ior", "bk7");
    eta = inside / read_ior(q, "ext_ior", "air");
}

ScatteringCoefficients::Values ScatteringCoefficients::eval(const SurfaceInteraction &si,
                                                            const Mask &active) const {
    if (m_sigma_t)
        return { m_sigma_t->eval(si, active), m_albedo->eval(si, active) };
    Spectrum s = m_sigma_s->eval(si, active), sum = s + m_sigma_a->eval(si, active);
    return { sum, map(s, sum, [](const Float &x, const Float &y) {
                 return select(y > 0, x / select(y > 0, y, Float(1)), Float(0));
             }) };
}

double ScatteringCoefficients::max_sigma_t() const {
    return m_sigma_t ? m_sigma_t->max_value() : m_sigma_s->max_value() + m_sigma_a->max_value();
}

} // namespace umbel
