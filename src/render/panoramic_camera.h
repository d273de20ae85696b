// render/panoramic_camera.h: cameras at a point that see in all directions.
#pragma once
#include "render/camera.h"

namespace umbel {

class PanoramicCamera : public Camera {
public:
    uint32_t flags() const override { return EndpointFlags::DeltaPosition; }
    BoundingBox bounds() const override { // of its keyframes
        BoundingBox b;
        for (const TransformData &t : m_to_world.transforms)
            b.extend(t.apply_point({ 0, 0, 0 }));
        return b;
    }

    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength_sample,
                                        const Vector2 &position, const Vector2 &,
                                        const Mask &active) const override {
        auto [wavelengths, weight] = sample_wavelengths({}, wavelength_sample, active);
        Transform to_world = to_world_at(time, active);
        Vector3 d = normalize(to_world.vector(direction_at(position)));
        Float infinity(std::numeric_limits<double>::infinity());
        return { Ray{ to_world.translation(), d, infinity, time, wavelengths }, weight };
    }
    std::pair<PositionSample, Float> sample_position(const Float &time, const Vector2 &,
                                                     const Mask &active) const override {
        return { position_at(to_world_at(time, active), time), Float(1) };
    }
    Float pdf_position(const PositionSample &, const Mask &) const override { return 0; }

    std::pair<DirectionSample, Spectrum> sample_direction(const Interaction &it, const Vector2 &,
                                                          const Mask &active) const override {
        Transform to_world = to_world_at(it.time, active);
        DirectionSample ds{ position_at(to_world, it.time), {}, Float(0), UInt32(0u) };
        Vector3 v = ds.p - it.p;
        ds.dist = norm(v);
        ds.d = v * rcp(ds.dist);
        auto [film, density] = film_at(normalize(to_world.inverse().vector(-ds.d)));
        ds.uv = place_of(film).pixel;
        return { ds, importance(ds, density) };
    }
    Spectrum eval_direction(const Interaction &it, const DirectionSample &ds,
                            const Mask &active) const override {
        Transform to_local = to_world_at(it.time, active).inverse();
        return importance(ds, film_at(normalize(to_local.vector(-ds.d))).second);
    }

protected:
    /// In camera space.
    virtual Vector3 direction_at(const Vector2 &film) const = 0;
    /// The place on the film, and the film's area per solid angle there.
    virtual std::pair<Vector2, Float> film_at(const Vector3 &direction) const = 0;

private:
    static PositionSample position_at(const Transform &to_world, const Float &time) {
        Vector3 n = normalize(to_world.vector({ 0, 0, 1 }));
        return { to_world.translation(), n, { Float(0), Float(0) }, time, Float(1), Mask(true) };
    }
    Spectrum importance(const DirectionSample &ds, const Float &density) const {
        return Spectrum(density / (rendered_part() * sqr(ds.dist)));
    }
};

} // namespace umbel
