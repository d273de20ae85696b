// render/perturbed_bsdf.cpp: see render/perturbed_bsdf.h.
#include "render/perturbed_bsdf.h"
#include "render/traced_once.h"

namespace umbel {

namespace {

using Mode = BSDFContext::Mode;

Vector3 mirrored(const Vector3 &n) { return { -n.x, -n.y, n.z }; }

// Whether a normal faces away from who looks along -v, although the surface does not.
Mask faces_away(const Vector3 &n, const Vector3 &v) { return dot(n, v) * v.z < 0; }

// Part of the light from v that is not in the shadow of facets as steep as n [Estevez 2019].
Float lit_part(const Vector3 &n, const Vector3 &v) {
    auto tan2 = [](const Float &cosine) {
        Float c2 = max(sqr(cosine), 1e-12);
        return (1 - min(c2, 1)) / c2;
    };
    Float alpha2 = clamp(0.125 * tan2(n.z), 0, 1);
    return 2 / (1 + sqrt(1 + alpha2 * tan2(v.z)));
}

} // namespace

// The nested BSDF's view of an interaction, around the normal n.
struct PerturbedBsdf::Turned {
    Frame frame; // in the surface's shading frame
    SurfaceInteraction si;

    Turned(const SurfaceInteraction &outer, const Vector3 &n) : si(outer) {
        // The tangent follows the surface's
        Vector3 s = fma(n, -n.x, Vector3(1, 0, 0));
        Mask exists = squared_norm(s) > 0;
        frame.n = n;
        frame.s = normalize(select(exists, s, Frame(n).s));
        frame.t = cross(n, frame.s);
        si.sh_frame.s = outer.to_world(frame.s);
        si.sh_frame.t = outer.to_world(frame.t);
        si.sh_frame.n = outer.to_world(frame.n);
        si.wi = frame.to_local(outer.wi);
    }
    // Whether a direction, and what it is in this frame, are on the same side.
    static Mask agree(const Vector3 &outer, const Vector3 &inner) { return outer.z * inner.z > 0; }

    // What a value for these directions becomes in the surface's frame; `wo` is the nested BSDF's.
    Spectrum outward(const BSDFContext &ctx, const Spectrum &m, const Vector3 &wo) const {
        SurfaceInteraction local;
        local.sh_frame = frame;
        return ctx.mode == Mode::Radiance ? local.to_world_mueller(m, -wo, si.wi)
                                          : local.to_world_mueller(m, -si.wi, wo);
    }
    // f cos(theta_o) of the surface over that of the nested BSDF.
    Float factor(const BSDFContext &ctx, bool shadows, const Vector3 &wi, const Vector3 &wo,
                 const Vector3 &inner_wo, const Mask &good) const {
        bool radiance = ctx.mode == Mode::Radiance;
        Float f = shadows ? lit_part(frame.n, radiance ? wo : wi) : Float(1);
        if (radiance)
            return f;
        return f * abs(si.wi.z * wo.z) / select(good, abs(wi.z * inner_wo.z), Float(1));
    }
};

void PerturbedBsdf::declare(Params &p) {
    p.boolean("flip_invalid_normals", m_flips, true)
        .doc("Mirror normals that face away from the viewer; else the surface is black there");
    p.boolean("use_shadowing_function", m_shadows, true)
        .doc("Dim light at grazing angles, which would end abruptly");
    p.object(p.traversing() ? "nested_bsdf" : "bsdf", m_nested).doc("What is perturbed");
}

void PerturbedBsdf::configure() {
    if (!m_nested)
        complain("needs a BSDF inside");
    m_components = m_nested->components();
    for (uint32_t &c : m_components)
        if (!(c & BSDFFlags::Null))
            c |= BSDFFlags::NonSymmetric;
}

std::pair<Spectrum, Float> PerturbedBsdf::eval_pdf(const BSDFContext &ctx,
                                                   const SurfaceInteraction &si, const Vector3 &wo,
                                                   const Mask &active) const {
    auto around = [&](const Vector3 &n) {
        Turned turned(si, n);
        Vector3 inner_wo = turned.frame.to_local(wo);
        Mask good = Turned::agree(si.wi, turned.si.wi) & Turned::agree(wo, inner_wo);
        auto [value, pdf] = traced_once(
            *m_nested, "eval_pdf",
            [&] { return m_nested->eval_pdf(ctx, turned.si, inner_wo, active & good); },
            uint32_t(ctx.mode), ctx.type_mask, ctx.component, turned.si, inner_wo, active, good);
        value = turned.outward(ctx, value, inner_wo) *
                turned.factor(ctx, m_shadows, si.wi, wo, inner_wo, good);
        return std::pair(select(good, value, Spectrum(0)), select(good, pdf, Float(0)));
    };
    Vector3 n = normal(si, active);
    if (!m_flips)
        return around(n);
    if (ctx.mode == Mode::Radiance)
        return around(select(faces_away(n, si.wi), mirrored(n), n));
    // The viewer is at the other end: samples try both
    auto [value, pdf] = around(n);
    auto [other_value, other_pdf] = around(mirrored(n));
    return { select(faces_away(n, wo), other_value, value), 0.5 * (pdf + other_pdf) };
}

BSDFSample PerturbedBsdf::sample(const BSDFContext &ctx, const SurfaceInteraction &si,
                                 const Float &u1, const Vector2 &u2, const Mask &active) const {
    bool tries_both = m_flips && ctx.mode == Mode::Importance;
    Vector3 n = normal(si, active);
    Mask flipped = tries_both ? u1 < 0.5 : faces_away(n, si.wi) & Mask(m_flips);
    Float again = tries_both ? select(flipped, 2 * u1, 2 * u1 - 1) : u1;
    Turned turned(si, select(flipped, mirrored(n), n));
    Mask seen = Turned::agree(si.wi, turned.si.wi);
    BSDFSample s = traced_once(
        *m_nested, "sample", [&] { return m_nested->sample(ctx, turned.si, again, u2, active); },
        uint32_t(ctx.mode), ctx.type_mask, ctx.component, turned.si, again, u2, active);

    Vector3 wo = turned.frame.to_world(s.wo);
    Mask passes = (s.sampled_type & UInt32(uint32_t(BSDFFlags::Null))) != UInt32(0u);
    wo = select(passes, -si.wi, wo);
    Mask good = seen & (passes | Turned::agree(wo, s.wo));
    Float factor = turned.factor(ctx, m_shadows, si.wi, wo, s.wo, good);
    s.weight = turned.outward(ctx, s.weight, s.wo) * select(passes, Float(1), factor);
    if (tries_both) {
        auto [value, pdf] = eval_pdf(ctx, si, wo, active);
        Mask smooth = !s.is_delta(), meant = good & (smooth | !(faces_away(n, wo) ^ flipped));
        Mask possible = smooth & meant & (pdf > 0);
        s.weight = select(possible, value.dense() / select(possible, pdf, Float(1)),
                          s.weight.dense() * Float(2));
        s.pdf = select(smooth, select(s.pdf > 0, pdf, Float(0)), s.pdf * 0.5);
        good = meant;
    }
    s.wo = wo;
    s.pdf = select(good, s.pdf, Float(0));
    s.weight = select(good, s.weight, black());
    return s;
}

Spectrum PerturbedBsdf::eval_delta(const BSDFContext &ctx, const SurfaceInteraction &si,
                                   const BSDFSample &s, const Mask &active) const {
    Vector3 n = normal(si, active);
    Mask flipped = faces_away(n, ctx.mode == Mode::Radiance ? si.wi : s.wo) & Mask(m_flips);
    Turned turned(si, select(flipped, mirrored(n), n));
    BSDFSample inner = s;
    inner.wo = turned.frame.to_local(s.wo);
    Mask passes = (s.sampled_type & UInt32(uint32_t(BSDFFlags::Null))) != UInt32(0u);
    Mask good = Turned::agree(si.wi, turned.si.wi) & (passes | Turned::agree(s.wo, inner.wo));
    Spectrum value = traced_once(
        *m_nested, "eval_delta",
        [&] { return m_nested->eval_delta(ctx, turned.si, inner, active); }, uint32_t(ctx.mode),
        ctx.type_mask, ctx.component, turned.si, inner, active);
    Float factor = turned.factor(ctx, m_shadows, si.wi, s.wo, inner.wo, good);
    value = turned.outward(ctx, value, inner.wo) * select(passes, Float(1), factor);
    return select(good, value, Spectrum(0));
}

Spectrum PerturbedBsdf::eval_null_transmission(const SurfaceInteraction &si,
                                               const Mask &active) const {
    Vector3 n = normal(si, active);
    Turned turned(si, select(faces_away(n, si.wi) & Mask(m_flips), mirrored(n), n));
    Spectrum value = traced_once(
        *m_nested, "eval_null_transmission",
        [&] { return m_nested->eval_null_transmission(turned.si, active); }, turned.si, active);
    value = turned.outward({}, value, -turned.si.wi);
    return select(Turned::agree(si.wi, turned.si.wi), value, Spectrum(0));
}

Spectrum PerturbedBsdf::eval_diffuse_reflectance(const SurfaceInteraction &si,
                                                 const Mask &active) const {
    return m_nested->eval_diffuse_reflectance(si, active);
}

} // namespace umbel
