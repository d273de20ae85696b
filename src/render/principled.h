// render/principled.h: what `principled` and `principledthin` share: weights that scenes may leave out, and lobes that are
// fits rather than physics [Burley 2012; Burley 2015].
#pragma once
#include "render/bsdf.h"
#include "render/microfacet.h"

namespace umbel {

/// A weight of a lobe, 0 unless a scene or a script says otherwise: until then the lobe is left out of the program.
struct OptionalWeight {
    Ref<Texture> texture;
    bool present = false;

    void declare(Params &p, const char *name, const char *doc, double most = 1);
    Float eval(const SurfaceInteraction &si, const Mask &active) const {
        return present ? texture->eval_1(si, active) : Float(0);
    }
};
/// UserError where the scene has a plain number outside of this range.
void check_number(const Params &p, const char *name, double least, double most);

/// (1 - cosine)^5 [Schlick 1994].
Float schlick_weight(const Float &cosine);
/// From r0 at normal incidence to 1; eta is the index below over that above. From the denser side the angle on the other one
/// counts.
Float schlick(const Float &r0, const Float &cos_theta_i, const Float &eta);
Spectrum schlick(const Spectrum &r0, const Float &cos_theta_i, const Float &eta);
/// Schlick's reflectance of a dielectric in the hue of a colour; eta as light meets it.
Spectrum tinted_schlick(const Spectrum &hue, const Float &cos_theta_i, const Float &eta_it,
                        const Float &eta);

class PrincipledBase : public BSDF {
public:
    void children_changed(std::span<const std::string> names) override;
    Spectrum eval_diffuse_reflectance(const SurfaceInteraction &si,
                                      const Mask &active) const override {
        return m_base_color->eval(si, active);
    }

protected:
    void declare_base(Params &p);
    /// Weights by the names of their parameters.
    virtual std::vector<std::pair<const char *, OptionalWeight *>> weights();

    /// GGX, narrower by a factor where only a part of the roughness counts.
    Microfacet microfacet(const SurfaceInteraction &si, const Float &scale,
                          const Mask &active) const;
    /// The colour over its luminance; 1 of black.
    Spectrum hue(const SurfaceInteraction &si, const Spectrum &colour) const;
    /// BRDF of the diffuse part: with retro-reflection, or flattened as light below the surface is. cos_d is between h and wo.
    Spectrum diffuse(const SurfaceInteraction &si, const Spectrum &colour, const Float &cos_i,
                     const Float &cos_o, const Float &cos_d, const Mask &active) const;
    /// BRDF of the sheen of cloth.
    Spectrum sheen(const SurfaceInteraction &si, const Spectrum &colour, const Float &cos_d,
                   const Mask &active) const;

    Ref<Texture> m_base_color, m_roughness;
    OptionalWeight m_anisotropic, m_spec_trans, m_spec_tint, m_sheen, m_sheen_tint, m_flatness;
};

} // namespace umbel
