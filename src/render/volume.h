// render/volume.h: spectra and numbers that vary in space.
#pragma once
#include "render/shape.h"

namespace umbel {

class Volume : public Object {
public:
    static constexpr const char *Kind = "volume";

    /// Plain, in the variant's channels, at the interaction's wavelengths.
    virtual Spectrum eval(const Interaction &it, const Mask &active) const = 0;
    /// A single number, such as a density.
    virtual Float eval_1(const Interaction &it, const Mask &active) const {
        return mean(eval(it, active));
    }
    /// As many numbers as channel_count(), such as an orientation.
    virtual std::vector<Float> eval_n(const Interaction &, const Mask &) const { lacks("eval_n"); }
    /// eval_1() and its derivative by the position.
    virtual std::pair<Float, Vector3> eval_gradient(const Interaction &, const Mask &) const {
        lacks("eval_gradient");
    }

    /// Over what it fills, and all wavelengths.
    virtual Float mean_value() const { lacks("mean"); }
    /// An upper bound of all values.
    virtual double max_value() const = 0;
    /// Likewise, of each number of eval_n().
    virtual std::vector<double> max_per_channel() const { lacks("max_per_channel"); }
    /// Of all values in each of x by y by z equal parts of what it fills, x before y before z.
    virtual std::vector<double> upper_bounds(std::array<size_t, 3> parts) const {
        return std::vector<double>(parts[0] * parts[1] * parts[2], max_value());
    }
    /// From the unit cube to what it fills. Media end there; beyond, a grid goes on as it wraps.
    virtual TransformData placement() const { return m_to_world; }
    /// Of that.
    BoundingBox bounds() const;
    /// Of what it is made of, along x, y and z.
    virtual std::array<size_t, 3> resolution() const { return { 1, 1, 1 }; }
    virtual uint32_t channel_count() const { return 1; }
    virtual bool is_spatially_varying() const { return false; }

protected:
    /// to_world: from the unit cube, which it fills, to the scene.
    void declare_placement(Params &p);
    [[noreturn]] void lacks(const char *what) const {
        complain("{}() is not implemented for this volume", what);
    }

    TransformData m_to_world;
};

} // namespace umbel
