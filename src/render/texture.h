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
        complain("has no three channels, as would be needed here");
    }
    virtual bool is_spatially_varying() const { return false; }
};

} // namespace umbel
