// render/perturbed_bsdf.h: BSDFs around another normal than the surface's: what `bumpmap` and `normalmap` share.
#pragma once
#include "render/bsdf.h"

namespace umbel {

/// The nested BSDF in a frame that a texture turns. Light must be on the same side of both normals.
///
/// A normal that faces away from the viewer is mirrored in the surface's own, and what would be lit too abruptly is dimmed, as
/// by microscopic facets [Estevez 2019]. Neither is symmetric: importance is scattered by the adjoint, as with any shading
/// normal [Veach 1997, sec. 5.3].
class PerturbedBsdf : public BSDF {
public:
    void declare(Params &p) override;
    void configure() override;

    std::pair<Spectrum, Float> eval_pdf(const BSDFContext &, const SurfaceInteraction &,
                                        const Vector3 &, const Mask &) const override;
    BSDFSample sample(const BSDFContext &, const SurfaceInteraction &, const Float &,
                      const Vector2 &, const Mask &) const override;
    Spectrum eval_delta(const BSDFContext &, const SurfaceInteraction &, const BSDFSample &,
                        const Mask &) const override;
    Spectrum eval_null_transmission(const SurfaceInteraction &, const Mask &) const override;
    Spectrum eval_diffuse_reflectance(const SurfaceInteraction &, const Mask &) const override;

protected:
    /// Of unit length, in the surface's shading frame.
    virtual Vector3 normal(const SurfaceInteraction &si, const Mask &active) const = 0;

private:
    struct Turned;

    Ref<BSDF> m_nested;
    bool m_flips = true, m_shadows = true;
};

} // namespace umbel
