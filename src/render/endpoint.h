// render/endpoint.h: where paths begin and end: emitters and sensors.
//
// Both answer the same questions. What leaves an emitter is radiance, what leaves a sensor is importance: the part of it that
// arrives at a place is what light from there adds to the image. An endpoint answers what it can; the rest complains.
#pragma once
#include "render/medium.h"

namespace umbel {

/// What an endpoint is like. The values are those that scripts know.
namespace EndpointFlags {
enum : uint32_t {
    DeltaPosition = 1,  // all of it is one point
    DeltaDirection = 2, // one direction
    Infinite = 4,       // surrounds the scene
    Surface = 8,        // a surface
    SpatiallyVarying = 16,
    Delta = DeltaPosition | DeltaDirection
};
} // namespace EndpointFlags

class Endpoint : public Object {
public:
    virtual uint32_t flags() const = 0;
    bool has(uint32_t flags_) const { return flags() & flags_; }

    /// A ray that leaves it, and what it carries over the density of all that was chosen: wavelengths, by the first
    /// number; where it begins; where it goes. `position` of a camera is in [0, 1]^2 of the whole film, y down;
    /// `direction` a point of its aperture.
    virtual std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength,
                                                const Vector2 &position, const Vector2 &direction,
                                                const Mask &active) const;
    /// A point of it, and one over its density per area.
    virtual std::pair<PositionSample, Float> sample_position(const Float &time, const Vector2 &u,
                                                             const Mask &active) const;
    virtual Float pdf_position(const PositionSample &ps, const Mask &active) const;

    /// A direction towards it, and what arrives from there over its density. `uv` of a camera's sample is where in the
    /// crop window it is seen, in pixels. Visibility is the caller's business.
    virtual std::pair<DirectionSample, Spectrum>
    sample_direction(const Interaction &it, const Vector2 &u, const Mask &active) const;
    /// Density of sample_direction per solid angle; 0 where it is no function.
    virtual Float pdf_direction(const Interaction &it, const DirectionSample &ds,
                                const Mask &active) const;
    /// What arrives at `it` in that direction, over no density.
    virtual Spectrum eval_direction(const Interaction &it, const DirectionSample &ds,
                                    const Mask &active) const;
    /// What leaves a point of it towards si.wi; of an environment, what arrives from the direction of a ray that met nothing.
    virtual Spectrum eval(const SurfaceInteraction &si, const Mask &active) const;

    /// Wavelengths that matter to it, and what it emits or receives there over their density: radiance, or the like of it.
    virtual std::pair<Wavelengths, Spectrum>
    sample_wavelengths(const SurfaceInteraction &si, const Float &u, const Mask &active) const;

    /// Empty for what surrounds the scene.
    virtual BoundingBox bounds() const;
    /// The surface that it is; set by the shape while it loads.
    virtual void attach(const Shape *shape);
    const Shape *shape() const { return m_shape; }
    /// In which it stands; null: nothing.
    const Medium *medium() const { return m_medium.get(); }
    /// Called when the whole scene is known, and when it has changed.
    virtual void set_scene(const BoundingBox &) {}

protected:
    [[noreturn]] void lacks(const char *what) const {
        complain("{}() is not defined for this {}", what, kind());
    }
    /// An interaction with a point of it.
    static SurfaceInteraction interaction_at(const PositionSample &ps,
                                             const Wavelengths &wavelengths);

    void declare_medium(Params &p) {
        p.object("medium", m_medium).doc("The medium in which it stands");
    }

    const Shape *m_shape = nullptr;
    Ref<Medium> m_medium;
};

} // namespace umbel
