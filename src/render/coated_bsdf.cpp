// render/coated_bsdf.cpp: a dielectric layer on top of another BSDF.
#include "render/coated_bsdf.h"
#include "core/host_array.h"
#include <cmath>

namespace umbel {

void CoatedBsdf::declare(Params &p) {
    m_ior.declare(p, "bk7");
    p.unbounded_texture("sigma_a", m_sigma_a)
        .differentiable()
        .doc("Absorption in the layer per unit of length");
    if (!p.traversing() || m_sigma_a)
        p.scalar("thickness", m_thickness, 1, 0)
            .differentiable()
            .doc("Of the layer, in the unit of length that sigma_a counts by");
    p.texture("specular_reflectance", m_specular, 1)
        .differentiable()
        .doc("Multiplies what the surface reflects; 1 is physical");
    p.object(p.traversing() ? "nested_bsdf" : "bsdf", m_nested).doc("What is coated");
}

void CoatedBsdf::configure() {
    if (!m_nested)
        complain("needs a BSDF inside, which is coated");
    m_components = m_nested->components();
    m_components.push_back(surface_type() | BSDFFlags::FrontSide | BSDFFlags::BackSide);

    // The less comes back from inside, the more samples the surface gets
    double depth = 0;
    if (m_sigma_a) {
        auto number = [](const Float &v) { return read_floats(Float(v.detached()))[0]; };
        try {
            depth = number(m_sigma_a->mean_value()) * number(m_thickness);
        } catch (const UserError &) { // it does not know its mean
        }
    }
    m_share = opaque_float(1 / (1 + std::exp(-2 * std::max(depth, 0.0))));
}

// What is asked for, and the surface's part of the samples.
struct CoatedBsdf::Lobes {
    bool surface;
    std::optional<BSDFContext> nested;
    Float probability;

    Lobes(const CoatedBsdf &b, const BSDFContext &ctx, const Float &transmittance)
        : surface(ctx.is_enabled(b.surface_type(), b.surface_component())),
          nested(ctx.inside(0, b.surface_component())), probability(surface ? 1 : 0) {
        if (nested && !(b.m_nested->flags() & ctx.type_mask))
            nested.reset();
        Float a = (1 - transmittance) * b.m_share, c = transmittance * (1 - b.m_share);
        if (surface && nested)
            probability = a / (a + c);
    }
};

Vector3 CoatedBsdf::refracted(const Vector3 &w, const Float &eta) {
    FresnelResult f = fresnel(abs(w.z), eta);
    return { w.x * f.eta_ti, w.y * f.eta_ti, mulsign(abs(f.cos_theta_t), w.z) };
}

SurfaceInteraction CoatedBsdf::inside(const SurfaceInteraction &si) const {
    SurfaceInteraction result = si;
    result.wi = refract_in(si.wi);
    return result;
}

Spectrum CoatedBsdf::attenuation(const SurfaceInteraction &si, const Vector3 &wi_inside,
                                 const Vector3 &wo_inside, const Vector3 &wo,
                                 const Mask &active) const {
    Mask good = (wi_inside.z != 0) & (wo_inside.z != 0);
    Float t = transmittance(si, abs(si.wi.z), active) * transmittance(si, abs(wo.z), active);
    if (!m_sigma_a)
        return select(good, Spectrum(t), Spectrum(0));
    Float length = m_thickness * (rcp(select(good, abs(wi_inside.z), Float(1))) +
                                  rcp(select(good, abs(wo_inside.z), Float(1))));
    Spectrum a = map(m_sigma_a->eval(si, active),
                     [&](const Float &sigma) { return exp(-sigma * length) * t; });
    return select(good, a, Spectrum(0));
}

std::pair<Spectrum, Float> CoatedBsdf::eval_pdf(const BSDFContext &ctx,
                                                const SurfaceInteraction &si, const Vector3 &wo,
                                                const Mask &active) const {
    Lobes lobes(*this, ctx, transmittance(si, abs(si.wi.z), active));
    Spectrum value(0);
    Float density(0);
    if (lobes.surface && !is_delta()) {
        Mask good = active & (si.wi.z * wo.z > 0);
        Vector3 wi_up = si.wi * mulsign(Float(1), si.wi.z), wo_up = wo * mulsign(Float(1), wo.z);
        auto [f, pdf] = eval_surface(si, wi_up, wo_up, active);
        value = m_specular->eval(si, active) * select(good, f, Float(0));
        density = select(good, pdf * lobes.probability, Float(0));
    }
    if (lobes.nested) {
        SurfaceInteraction inner = inside(si);
        Vector3 wo_inside = refract_in(wo);
        Mask good = active & (inner.wi.z != 0) & (wo_inside.z != 0);
        auto [f, pdf] = traced_once(
            *m_nested, "eval_pdf",
            [&] { return m_nested->eval_pdf(*lobes.nested, inner, wo_inside, good); },
            uint32_t(ctx.mode), ctx.type_mask, lobes.nested->component, inner, wo_inside, good);
        // Solid angles inside are smaller
        Float angle = abs(wo.z) / select(good, abs(wo_inside.z) * sqr(m_ior.eta), Float(1));
        Spectrum through = unpolarized(f) * attenuation(si, inner.wi, wo_inside, wo, active);
        value += select(good, through * angle, Spectrum(0));
        density += select(good, pdf * angle * (1 - lobes.probability), Float(0));
    }
    return { depolarize(value), density };
}

BSDFSample CoatedBsdf::sample(const BSDFContext &ctx, const SurfaceInteraction &si, const Float &u1,
                              const Vector2 &u2, const Mask &active) const {
    Lobes lobes(*this, ctx, transmittance(si, abs(si.wi.z), active));
    BSDFSample result = BSDFSample::none();
    if (lobes.surface) {
        Float side = mulsign(Float(1), si.wi.z);
        result.wo = sample_surface(si, si.wi * side, u2, active) * side;
        result.pdf = select(active & (si.wi.z * result.wo.z > 0), lobes.probability, Float(0));
        result.sampled_type = UInt32(surface_type());
        result.sampled_component = UInt32(surface_component());
        Float reflectance = 1 - transmittance(si, abs(si.wi.z), active);
        result.weight = m_specular->eval(si, active) *
                        (reflectance / select(result.pdf > 0, result.pdf, Float(1)));
    }
    if (lobes.nested) {
        SurfaceInteraction inner = inside(si);
        // The number that chose is used again for what is inside
        Mask enters = (u1 >= lobes.probability) & (inner.wi.z != 0);
        Float rest = 1 - lobes.probability;
        Float again = lobes.surface
                          ? clamp((u1 - lobes.probability) / select(rest > 0, rest, Float(1)), 0,
                                  variant().double_precision ? 0x1.fffffffffffffp-1 : 0x1.fffffep-1)
                          : u1;
        BSDFSample s = traced_once(
            *m_nested, "sample",
            [&] { return m_nested->sample(*lobes.nested, inner, again, u2, active & enters); },
            uint32_t(ctx.mode), ctx.type_mask, lobes.nested->component, inner, again, u2, active,
            enters);
        Vector3 wo_inside = s.wo;
        s.wo = refract_out(wo_inside);
        s.pdf = select(s.wo.z != 0, s.pdf * rest, Float(0)); // it may be reflected inwards
        s.weight = unpolarized(s.weight) * attenuation(si, inner.wi, wo_inside, s.wo, active) /
                   select(rest > 0, rest, Float(1));
        result = lobes.surface ? select(u1 < lobes.probability, result, s) : s;
    }
    // Of lobes that are smooth, both lead into the same directions
    Mask smooth = active & (result.pdf > 0) & !result.is_delta();
    auto [value, density] = eval_pdf(ctx, si, result.wo, smooth);
    smooth = smooth & (density > 0);
    result.weight =
        select(smooth, unpolarized(value) / select(smooth, density, Float(1)),
               select(active & result.is_delta() & (result.pdf > 0), result.weight, Spectrum(0)));
    result.pdf = select(smooth, density, select(result.is_delta(), result.pdf, Float(0)));
    result.weight = depolarize(result.weight);
    return result;
}

Spectrum CoatedBsdf::eval_delta(const BSDFContext &ctx, const SurfaceInteraction &si,
                                const BSDFSample &s, const Mask &active) const {
    Mask is_surface = s.sampled_component == UInt32(surface_component());
    Spectrum value(0);
    if (is_delta())
        value = select(is_surface,
                       m_specular->eval(si, active) * (1 - transmittance(si, abs(si.wi.z), active)),
                       Spectrum(0));
    auto nested = ctx.inside(0, surface_component());
    if (!nested)
        return depolarize(value);
    SurfaceInteraction inner = inside(si);
    BSDFSample below = s;
    below.wo = refract_in(s.wo);
    Mask here = active & !is_surface;
    Spectrum f = traced_once(
        *m_nested, "eval_delta", [&] { return m_nested->eval_delta(*nested, inner, below, here); },
        uint32_t(ctx.mode), ctx.type_mask, nested->component, inner, below, here);
    return depolarize(select(is_surface, value,
                             unpolarized(f) * attenuation(si, inner.wi, below.wo, s.wo, active)));
}

Spectrum CoatedBsdf::eval_null_transmission(const SurfaceInteraction &si,
                                            const Mask &active) const {
    SurfaceInteraction inner = inside(si);
    Spectrum through = traced_once(
        *m_nested, "eval_null_transmission",
        [&] { return m_nested->eval_null_transmission(inner, active); }, inner, active);
    return depolarize(unpolarized(through) * attenuation(si, inner.wi, -inner.wi, -si.wi, active));
}

Spectrum CoatedBsdf::eval_diffuse_reflectance(const SurfaceInteraction &si,
                                              const Mask &active) const {
    return traced_once(
        *m_nested, "eval_diffuse_reflectance",
        [&] { return m_nested->eval_diffuse_reflectance(si, active); }, si, active);
}

} // namespace umbel
