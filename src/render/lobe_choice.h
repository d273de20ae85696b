// render/lobe_choice.h: which of two lobes a sample is drawn from: what BSDFs of a gloss on a base share.
#pragma once
#include "ad/ad.h"
#include "core/host_array.h"
#include "render/bsdf.h"

namespace umbel {

/// What a lobe is multiplied by that was chosen with probability `p`, its own share: p / p, which is 1. A choice has no
/// derivative, the share has.
inline Float share_of_choice(const Float &p) {
    if (!ad::grad_enabled(p))
        return Float(1);
    Float chosen(ad::detach(p));
    return Float(ad::replace_grad(Float(1), p / select(chosen > 0, chosen, Float(1))));
}

/// The gloss's part of the sum of both means, between 0 and 1; data of the program, without derivatives. Textures that do
/// not know their mean, such as attributes of meshes, count as grey.
inline Float mean_share(const Texture &gloss, const Texture &base) {
    auto mean = [](const Texture &t) {
        try {
            return read_floats(Float(t.mean_value().detached()))[0];
        } catch (const UserError &) {
            return 0.5;
        }
    };
    double a = mean(gloss), b = mean(base);
    return opaque_float(a + b > 0 ? a / (a + b) : 0.5);
}

/// The reflectances of a gloss and its base, in each channel scaled down to a sum of 1 where they exceed that.
struct BoundedReflectances {
    Spectrum gloss, base;

    BoundedReflectances(const Texture &gloss_texture, const Texture &base_texture,
                        const SurfaceInteraction &si, const Mask &active)
        : gloss(gloss_texture.eval(si, active)), base(base_texture.eval(si, active)) {
        Spectrum scale =
            map(gloss, base, [](const Float &a, const Float &b) { return rcp(max(a + b, 1)); });
        gloss = gloss * scale;
        base = base * scale;
    }
};

/// Component 0 is the gloss, component 1 the base.
struct LobeChoice {
    bool gloss, base;  // wanted
    Float probability; // of the gloss

    LobeChoice(const BSDFContext &ctx, uint32_t gloss_type)
        : gloss(ctx.is_enabled(gloss_type, 0)),
          base(ctx.is_enabled(BSDFFlags::DiffuseReflection, 1)), probability(gloss ? 1 : 0) {}

    bool none() const { return !gloss && !base; }
    /// In proportion to these numbers, where both are wanted.
    void weigh(const Float &gloss_weight, const Float &base_weight) {
        if (gloss && base)
            probability = gloss_weight / (gloss_weight + base_weight);
    }
    /// Of a sample that took the gloss where `is_gloss`.
    BSDFSample sampled(const Mask &is_gloss, uint32_t gloss_type, const Mask &good,
                       const Vector3 &wo, const Float &pdf, const Spectrum &weight) const {
        return { wo,
                 select(good, pdf, Float(0)),
                 Float(1),
                 select(is_gloss, UInt32(gloss_type),
                        UInt32(uint32_t(BSDFFlags::DiffuseReflection))),
                 select(is_gloss, UInt32(0u), UInt32(1u)),
                 depolarize(select(good, weight, Spectrum(0))) };
    }
};

} // namespace umbel
