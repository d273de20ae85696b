// render/scattering_coefficients.h: of a medium below a surface, given as textures or by name: what `hk`, `dipole` and `singlescatter` share.
#pragma once
#include "core/medium_presets.h"
#include "render/texture.h"

namespace umbel {

class ScatteringCoefficients {
public:
    /// material, sigma_s and sigma_a, or sigma_t and albedo.
    void declare(Params &p);

    /// int_ior, where it is absent that of the material, over ext_ior; after declare().
    void declare_eta(Params &p, double &eta) const;

    struct Values {
        Spectrum sigma_t, albedo;
    };
    Values eval(const SurfaceInteraction &si, const Mask &active) const;
    /// An upper bound of sigma_t.
    double max_sigma_t() const;
    /// Of the material; null where all coefficients were given.
    const MediumPreset *preset() const { return m_preset; }

private:
    void fill_from_preset(const Properties &q, Loader &loader);

    std::string m_material;
    const MediumPreset *m_preset = nullptr;
    Ref<Texture> m_sigma_s, m_sigma_a; // or ...
    Ref<Texture> m_sigma_t, m_albedo;  // ... these
};

} // namespace umbel
