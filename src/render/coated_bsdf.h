// render/coated_bsdf.h: a dielectric layer on top of another BSDF: what `coating` and `roughcoating` share.
#pragma once
#include "core/fresnel.h"
#include "render/bsdf.h"
#include "render/dielectric_ior.h"
#include "render/traced_once.h"

namespace umbel {

/// Light is refracted into the layer on its way in, meets the BSDF inside, and is refracted out again, dimmed by both passages
/// and by absorption [Weidlich 2007]; what the layer reflects inwards is lost. The surface of the layer is a lobe of its own,
/// whose component follows those of the BSDF inside. Both sides are coated. Scattered light is unpolarized.
///
///     f(wi, wo) = f_surface(wi, wo) + T(wi) T(wo) A f_inside(wi', wo') / eta^2
///     A = exp(-sigma_a thickness (1 / |cos(theta_i')| + 1 / |cos(theta_o')|))
class CoatedBsdf : public BSDF {
public:
    void declare(Params &p) override;
    void configure() override;
    void child_changed() override { configure(); }

    std::pair<Spectrum, Float> eval_pdf(const BSDFContext &, const SurfaceInteraction &,
                                        const Vector3 &, const Mask &) const override;
    BSDFSample sample(const BSDFContext &, const SurfaceInteraction &, const Float &,
                      const Vector2 &, const Mask &) const override;
    Spectrum eval_delta(const BSDFContext &, const SurfaceInteraction &, const BSDFSample &,
                        const Mask &) const override;
    Spectrum eval_null_transmission(const SurfaceInteraction &, const Mask &) const override;
    Spectrum eval_diffuse_reflectance(const SurfaceInteraction &, const Mask &) const override;

protected:
    /// DeltaReflection or GlossyReflection.
    virtual uint32_t surface_type() const = 0;
    /// The part of light with this cosine above 0 that gets through the surface.
    virtual Float transmittance(const SurfaceInteraction &si, const Float &cosine,
                                const Mask &active) const = 0;
    /// f cos(theta_o) of a glossy surface and its density, both directions above it; si is for its textures.
    virtual std::pair<Float, Float> eval_surface(const SurfaceInteraction &, const Vector3 &,
                                                 const Vector3 &, const Mask &) const {
        return { Float(0), Float(0) };
    }
    /// A direction for wi above the surface.
    virtual Vector3 sample_surface(const SurfaceInteraction &si, const Vector3 &wi,
                                   const Vector2 &u, const Mask &active) const = 0;

    bool is_delta() const { return surface_type() == BSDFFlags::DeltaReflection; }

    DielectricIor m_ior;
    Ref<Texture> m_specular;

private:
    struct Lobes;
    uint32_t surface_component() const { return uint32_t(m_components.size() - 1); }
    /// A direction outside of the layer as it goes on inside; where it cannot, the cosine is 0. And back.
    Vector3 refract_in(const Vector3 &w) const { return refracted(w, m_ior.eta); }
    Vector3 refract_out(const Vector3 &w) const { return refracted(w, rcp(m_ior.eta)); }
    static Vector3 refracted(const Vector3 &w, const Float &eta);
    SurfaceInteraction inside(const SurfaceInteraction &si) const;
    /// What is left of light along these directions inside, and outside.
    Spectrum attenuation(const SurfaceInteraction &si, const Vector3 &wi_inside,
                         const Vector3 &wo_inside, const Vector3 &wo, const Mask &active) const;

    Ref<BSDF> m_nested;
    Ref<Texture> m_sigma_a; // null: no absorption
    Float m_thickness;
    Float m_share; // of the surface, where lobes are chosen
};

} // namespace umbel
