// render/principled.cpp: see render/principled.h.
#include "render/principled.h"
#include "render/colour_value.h"

namespace umbel {

void check_number(const Params &p, const char *name, double least, double most) {
    const Property *v = p.loading() ? p.properties()->find(name) : nullptr;
    if (!v)
        return;
    const double *number = std::get_if<double>(&v->value);
    const int64_t *integer = std::get_if<int64_t>(&v->value);
    double x = number ? *number : integer ? double(*integer) : least;
    if (!(x >= least && x <= most))
        p.properties()->fail_at(
            *v, fmt::format("\"{}\" is {}; it must lie between {} and {}", name, x, least, most));
}

void OptionalWeight::declare(Params &p, const char *name, const char *doc, double most) {
    check_number(p, name, 0, most);
    p.texture(name, texture, 0).differentiable().doc(doc);
    if (!p.loading())
        return;
    const Property *v = p.properties()->find(name);
    auto is_zero = [](const Property &q) {
        const double *number = std::get_if<double>(&q.value);
        const int64_t *integer = std::get_if<int64_t>(&q.value);
        return (number && *number == 0) || (integer && *integer == 0);
    };
    present = v && !is_zero(*v);
}

Float schlick_weight(const Float &cosine) {
    Float m = clamp(1 - cosine, 0, 1);
    return sqr(sqr(m)) * m;
}

namespace {

// Of the angle in the less dense material.
Float schlick_weight(const Float &cos_theta_i, const Float &eta) {
    Mask outside = cos_theta_i >= 0;
    Float eta_it = select(outside, eta, rcp(eta));
    Float cos_t = safe_sqrt(1 - (1 - sqr(cos_theta_i)) * sqr(select(outside, rcp(eta), eta)));
    return schlick_weight(select(eta_it > 1, abs(cos_theta_i), cos_t));
}

} // namespace

Float schlick(const Float &r0, const Float &cos_theta_i, const Float &eta) {
    return lerp(r0, Float(1), schlick_weight(cos_theta_i, eta));
}
Spectrum schlick(const Spectrum &r0, const Float &cos_theta_i, const Float &eta) {
    Float w = schlick_weight(cos_theta_i, eta);
    return map(r0, [&](const Float &v) { return lerp(v, Float(1), w); });
}

Spectrum tinted_schlick(const Spectrum &hue, const Float &cos_theta_i, const Float &eta_it,
                        const Float &eta) {
    return schlick(hue * sqr((eta_it - 1) / (eta_it + 1)), cos_theta_i, eta);
}

void PrincipledBase::declare_base(Params &p) {
    p.texture("base_color", m_base_color, 0.5).differentiable().doc("Colour of the material");
    check_number(p, "roughness", 0, 1);
    p.texture("roughness", m_roughness, 0.5)
        .differentiable()
        .doc("Square root of the slope of the microsurface");
    m_anisotropic.declare(p, "anisotropic", "Stretches highlights along the tangent");
    m_spec_trans.declare(p, "spec_trans",
                         "Part of the light that is refracted in place of diffuse");
    m_spec_tint.declare(p, "spec_tint", "Gives the dielectric's highlight the base's colour");
    m_sheen.declare(p, "sheen", "Sheen at grazing angles, as of cloth");
    if (!p.traversing() || variant().colour != Colour::Mono) // no effect without colours
        m_sheen_tint.declare(p, "sheen_tint", "Gives the sheen the base's colour");
    m_flatness.declare(p, "flatness", "From diffuse to what looks like light below the surface");
}

std::vector<std::pair<const char *, OptionalWeight *>> PrincipledBase::weights() {
    return { { "anisotropic", &m_anisotropic }, { "spec_trans", &m_spec_trans },
             { "spec_tint", &m_spec_tint },     { "sheen", &m_sheen },
             { "sheen_tint", &m_sheen_tint },   { "flatness", &m_flatness } };
}

void PrincipledBase::children_changed(std::span<const std::string> names) {
    for (auto &[name, weight] : weights())
        for (const std::string &n : names)
            weight->present |= n == name;
    configure();
}

Microfacet PrincipledBase::microfacet(const SurfaceInteraction &si, const Float &scale,
                                      const Mask &active) const {
    Float alpha = sqr(scale * m_roughness->eval_1(si, active)), u = alpha, v = alpha;
    if (m_anisotropic.present) {
        Float aspect = sqrt(1 - 0.9 * m_anisotropic.eval(si, active));
        u = alpha / aspect;
        v = alpha * aspect;
    }
    return { Microfacet::Type::Ggx, max(u, 0.001), max(v, 0.001), true };
}

Spectrum PrincipledBase::hue(const SurfaceInteraction &si, const Spectrum &colour) const {
    Float y = luminance(colour, si.wavelengths);
    Mask lit = y > 0;
    Float scale = rcp(select(lit, y, Float(1)));
    return map(colour, [&](const Float &v) { return select(lit, v * scale, Float(1)); });
}

Spectrum PrincipledBase::diffuse(const SurfaceInteraction &si, const Spectrum &colour,
                                 const Float &cos_i, const Float &cos_o, const Float &cos_d,
                                 const Mask &active) const {
    Float f_i = schlick_weight(cos_i), f_o = schlick_weight(cos_o);
    Float retro = 2 * m_roughness->eval_1(si, active) * sqr(cos_d);
    Float value = (1 - 0.5 * f_i) * (1 - 0.5 * f_o) + retro * (f_o + f_i + f_o * f_i * (retro - 1));
    if (m_flatness.present) {
        Float grazing = 0.5 * retro;
        Float f = lerp(Float(1), grazing, f_o) * lerp(Float(1), grazing, f_i);
        Float flat = 1.25 * (f * (rcp(cos_o + cos_i) - 0.5) + 0.5);
        value = lerp(value, flat, m_flatness.eval(si, active));
    }
    return colour * (InvPi * value);
}

Spectrum PrincipledBase::sheen(const SurfaceInteraction &si, const Spectrum &colour,
                               const Float &cos_d, const Mask &active) const {
    if (!m_sheen.present)
        return Spectrum(0);
    Float value = m_sheen.eval(si, active) * schlick_weight(abs(cos_d));
    if (!m_sheen_tint.present)
        return Spectrum(value);
    Float tint = m_sheen_tint.eval(si, active);
    return map(hue(si, colour), [&](const Float &v) { return value * lerp(Float(1), v, tint); });
}

} // namespace umbel
