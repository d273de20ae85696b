// render/axial_phase.h: phase functions of the angle alone: what `hg`, `rayleigh` and `tabphase` share.
#pragma once
#include "ad/ad.h"
#include "render/phase.h"

namespace umbel {

/// Scattering depends on the cosine of the angle by which light is turned: 1 is straight on. Its density is known, so that
/// samples have weight 1.
class AxialPhase : public PhaseFunction {
public:
    void configure() override { m_components = { PhaseFunctionFlags::Anisotropic }; }

    std::pair<Spectrum, Float> eval_pdf(const PhaseFunctionContext &ctx,
                                        const MediumInteraction &mei, const Vector3 &wo,
                                        const Mask &active) const override {
        if (!ctx.is_enabled(PhaseFunctionFlags::Anisotropic))
            return { Spectrum(0), Float(0) };
        Float cosine = -dot(mei.wi, wo), d = density(cosine, active);
        return { mueller(ctx, mei, wo, cosine) * d, d };
    }

    PhaseFunctionSample sample(const PhaseFunctionContext &ctx, const MediumInteraction &mei,
                               const Float &, const Vector2 &u, const Mask &active) const override {
        if (!ctx.is_enabled(PhaseFunctionFlags::Anisotropic))
            return PhaseFunctionSample::none();
        // A direction is sampled, not differentiated: what is scattered into it is
        Float cosine(ad::detach(clamp(sample_cosine(u.x, active), -1, 1)));
        Float sine = safe_sqrt(1 - sqr(cosine)), angle = 2 * Pi * u.y;
        Vector3 wo = mei.to_world({ sine * cos(angle), sine * sin(angle), -cosine });
        cosine = -dot(mei.wi, wo);
        Float d = density(cosine, active), fixed(ad::detach(d));
        return { wo, fixed,
                 mueller(ctx, mei, wo, cosine) * select(fixed > 0, d / fixed, Float(0)) };
    }

protected:
    /// Per solid angle.
    virtual Float density(const Float &cosine, const Mask &active) const = 0;
    virtual Float sample_cosine(const Float &u, const Mask &active) const = 0;
    /// What scattering does to polarization, where the intensity of unpolarized light stays what it is.
    virtual Spectrum mueller(const PhaseFunctionContext &, const MediumInteraction &,
                             const Vector3 &, const Float &) const {
        return depolarize(Spectrum(1));
    }
};

} // namespace umbel
