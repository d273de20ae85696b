// render/replay.cpp: see render/replay.h.
#include "render/replay.h"
#include "render/scene.h"

namespace umbel {

Spectrum relative(const Spectrum &factor) {
    return map(factor, [](const Float &f) {
        Float fixed(ad::detach(f));
        return select(fixed != 0, f / fixed, Float(1));
    });
}

std::vector<Float> differentiate_values(ad::Mode mode, std::vector<Float> values,
                                        const std::vector<Float> &gradients) {
    bool any = false;
    for (size_t i = 0; i < values.size(); ++i) {
        if (!ad::grad_enabled(values[i]))
            continue;
        any = true;
        if (mode == ad::Mode::Backward)
            ad::accumulate_grad(values[i], gradients[i]);
        ad::enqueue(ad::Mode::Backward, values[i]); // what it depends on
    }
    if (any)
        ad::traverse(mode);
    std::vector<Float> tangents;
    if (mode == ad::Mode::Forward)
        for (const Float &v : values)
            tangents.push_back(ad::grad_enabled(v) ? Float(ad::grad(v)) : Float(0));
    return tangents;
}

Spectrum PassingDerivative::of(const Spectrum &factor, const Mask &active) const {
    Spectrum ones = relative(factor), zero(0);
    if (mode == ad::Mode::Forward)
        return select(active, Spectrum(differentiate_values(mode, ones.c, {})), zero);
    differentiate_values(mode, ones.c, select(active, gradient, zero).c);
    return zero;
}

Spectrum value_of(const BSDF &bsdf, const SurfaceInteraction &si, const BSDFSample &bs,
                  const Mask &active) {
    BSDFContext ctx;
    Spectrum smooth = bsdf.eval(ctx, si, bs.wo, active);
    return bsdf.has(BSDFFlags::Delta)
               ? select(bs.is_delta(), bsdf.eval_delta(ctx, si, bs, active), smooth)
               : smooth;
}

ReplayedScattering replay_bsdf(const Scene &scene, const SurfaceInteraction &si, const Vector3 &wo,
                               const Float &u1, const Vector2 &u2, bool with_sample_value,
                               const Mask &active) {
    BSDFContext ctx;
    Spectrum zero = black();
    ReplayedScattering none{ zero, Float(0), BSDFSample::none(), zero };
    none.sample.weight = zero;
    return scene.bsdfs().call("bsdf", si.bsdf, active, none, [&](const BSDF &bsdf) {
        ReplayedScattering r;
        std::tie(r.value, r.pdf) = bsdf.eval_pdf(ctx, si, wo, active);
        r.pdf = Float(ad::detach(r.pdf));
        {
            ad::SuspendGrad fixed;
            r.sample = bsdf.sample(ctx, si, u1, u2, active);
        }
        r.sample_value = with_sample_value ? value_of(bsdf, si, r.sample, active) : zero;
        return r;
    });
}

Spectrum differentiate_vertex(ad::Mode mode, Spectrum &L, const Spectrum &near,
                              const Spectrum &scattered, const Spectrum &gradient,
                              const Mask &goes_on) {
    L = L - detached(near);
    Spectrum ahead = select(goes_on, L, Spectrum(0));
    Spectrum radiance = near + ahead * relative(scattered);
    return Spectrum(differentiate_values(mode, radiance.c, gradient.c));
}

} // namespace umbel
