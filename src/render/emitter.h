// render/emitter.h: sources of light.
#pragma once
#include "render/shape.h"

namespace umbel {

class Emitter : public Object {
public:
    static constexpr const char *Kind = "emitter";

    /// Radiance that leaves a surface point, or arrives from the direction of a ray that met nothing, towards
    /// si.wi.
    virtual Spectrum eval(const SurfaceInteraction &si, const Mask &active) const = 0;
    /// A direction towards the light, and radiance over density in it. Visibility is the caller's business.
    virtual std::pair<DirectionSample, Spectrum>
    sample_direction(const Interaction &it, const Vector2 &u, const Mask &active) const = 0;
    /// Density of sample_direction per solid angle.
    virtual Float pdf_direction(const Interaction &it, const DirectionSample &ds,
                                const Mask &active) const = 0;

    /// Whether it surrounds the scene, and is seen by rays that meet nothing.
    virtual bool is_environment() const { return false; }
    /// Whether no ray can hit it by chance: points, directions.
    virtual bool is_delta() const { return false; }

    /// The surface of an area light; set by the shape while it loads.
    virtual void attach(const Shape *) {
        complain("cannot be attached to a shape; use an `area` emitter");
    }
    /// That surface; null for lights that are none.
    virtual const Shape *shape() const { return nullptr; }
    /// Called when the whole scene is known.
    virtual void set_scene(const BoundingBox &) {}

    double sampling_weight() const { return m_sampling_weight; }
    void declare(Params &p) override {
        p.number("sampling_weight", m_sampling_weight, 1, 0)
            .doc("How often the light is chosen, relative to others, when a path connects to one");
    }

private:
    double m_sampling_weight = 1;
};

} // namespace umbel
