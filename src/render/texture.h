// render/texture.h: spatially varying spectra and numbers.
#pragma once
#include "core/object.h"
#include "render/interaction.h"

namespace umbel {

class Texture : public Object {
public:
    static constexpr const char *Kind = "texture";

    /// Plain, in the variant's channels, at the interaction's wavelengths.
    virtual Spectrum eval(const SurfaceInteraction &si, const Mask &active) const = 0;
    /// A single number, such as a roughness.
    virtual Float eval_1(const SurfaceInteraction &si, const Mask &active) const {
        return mean(eval(si, active));
    }
    /// Linear RGB whatever the variant, such as a normal map.
    virtual Vector3 eval_3(const SurfaceInteraction &si, const Mask &active) const {
        (void)si;
        (void)active;
        complain("has no three channels, as would be needed here: not implemented");
    }
    /// Derivative of eval_1 by the surface's u and v; 0 where the texture is the same everywhere.
    virtual Vector2 eval_1_grad(const SurfaceInteraction &, const Mask &) const {
        if (is_spatially_varying())
            lacks("eval_1_grad");
        return { Float(0), Float(0) };
    }
    virtual bool is_spatially_varying() const { return false; }
    /// Columns and rows of what it is made of.
    virtual std::array<size_t, 2> resolution() const { return { 1, 1 }; }

    /// Over the surface and all wavelengths.
    virtual Float mean_value() const { lacks("mean"); }
    virtual double max_value() const { lacks("max"); }

    /// A position in the unit square with a density proportional to the brightness there, and that density.
    virtual std::pair<Vector2, Float> sample_position(const Vector2 &u, const Mask &) const {
        return { u, Float(1) };
    }
    virtual Float pdf_position(const Vector2 &, const Mask &) const { return Float(1); }

    /// In spectral variants: wavelengths, one for each of the numbers, and the spectrum there over their density.
    virtual std::pair<Wavelengths, Spectrum> sample_spectrum(const SurfaceInteraction &,
                                                             const Spectrum &, const Mask &) const {
        lacks("sample_spectrum");
    }
    /// The density of sample_spectrum() at the interaction's wavelengths, per nm.
    virtual Spectrum pdf_spectrum(const SurfaceInteraction &, const Mask &) const {
        lacks("pdf_spectrum");
    }
    /// What it covers, and the least distance of its values, in nm; 0 where there are none.
    virtual std::array<double, 2> wavelength_range() const {
        return { MinWavelength, MaxWavelength };
    }
    virtual double spectral_resolution() const { lacks("spectral_resolution"); }

protected:
    [[noreturn]] void lacks(const char *what) const {
        complain("{}() is not implemented for this texture", what);
    }
    /// sample_spectrum() of textures that know nothing better: all wavelengths alike.
    std::pair<Wavelengths, Spectrum> sample_all_wavelengths(const SurfaceInteraction &si,
                                                            const Spectrum &u,
                                                            const Mask &active) const;
    /// Its density.
    Spectrum pdf_all_wavelengths(const SurfaceInteraction &si) const;
};

/// Of a texture that asks for duv_dx and duv_dy: cameras provide them while there is one.
class AsksForPartials {
public:
    AsksForPartials();
    AsksForPartials(const AsksForPartials &) = delete;
    ~AsksForPartials();
    static bool any();
};

} // namespace umbel
