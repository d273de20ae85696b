// render/camera.h: what cameras share: the film as a rectangle, and between which distances things are seen.
#pragma once
#include "render/field_of_view.h"
#include "render/sensor.h"

namespace umbel {

class Camera : public Sensor {
protected:
    void declare_clip(Params &p);
    /// Of cameras that show everything sharply.
    void declare_focus(Params &p);
    /// Complains unless the distances are in order.
    void configure_clip(double least);
    Mask in_reach(const Float &z) const { return (z >= m_near_clip) & (z <= m_far_clip); }

    /// Complains about transforms that do more than turn, mirror and move; `what` would be scaled by them.
    void refuse_scale(const char *what, const char *remedy) const;

    struct Place {     // on the film
        Vector2 pixel; // of the crop window
        Mask seen;     // by some pixel: they may look beyond the crop window, and beyond the film
    };
    /// Of a point in [0, 1]^2 of the whole film.
    Place place_of(const Vector2 &film) const;
    /// The part of the film that is rendered, times a number.
    Float rendered_part(double times = 1) const;

    double m_near = 0.01, m_far = 1e4, m_focus = 0;
    Float m_near_clip, m_far_clip;
};

/// Looks along +z of its own space, y up, x to the left, with a field of view.
class FovCamera : public Camera {
public:
    void declare(Params &p) override;
    void changed(std::span<const std::string> names) override;
    void configure() override;
    Reach reach(const DirectionSample &ds, const Mask &active) const override;

protected:
    /// x / z and y / z of what a pinhole shows at a place of the film, and back. x of the image goes right, x of camera space left.
    Vector2 slope_at(const Vector2 &film) const {
        Extent tan = extent();
        return { (1 - 2 * (film.x + m_shift_x)) * tan.x, (1 - 2 * (film.y + m_shift_y)) * tan.y };
    }
    Vector2 film_at(const Vector2 &slope) const {
        Extent tan = extent();
        return { (1 - slope.x / tan.x) * 0.5 - m_shift_x, (1 - slope.y / tan.y) * 0.5 - m_shift_y };
    }

    /// Tangents of half the angles of view. The film may have changed its size without telling.
    struct Extent {
        Float x, y;
    };
    const Extent &extent() const;

    FieldOfView m_view;
    double m_offset_x = 0, m_offset_y = 0;
    double m_x_fov = 0; // along x, however it was given
    Float m_shift_x, m_shift_y;

private:
    mutable Extent m_extent;
    mutable double m_aspect = 0; // that it is of; 0: none yet
};

/// One that sees through a point, whatever its film makes of directions.
class PinholeCamera : public FovCamera {
public:
    uint32_t flags() const override { return EndpointFlags::DeltaPosition; }
    BoundingBox bounds() const override;

    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength_sample,
                                        const Vector2 &position, const Vector2 &aperture,
                                        const Mask &active) const override;
    std::pair<PositionSample, Float> sample_position(const Float &time, const Vector2 &u,
                                                     const Mask &active) const override;
    Float pdf_position(const PositionSample &, const Mask &) const override { return 0; }
    std::pair<DirectionSample, Spectrum> sample_direction(const Interaction &it, const Vector2 &u,
                                                          const Mask &active) const override;
    Spectrum eval_direction(const Interaction &it, const DirectionSample &ds,
                            const Mask &active) const override;

protected:
    /// What the film makes of directions, by their slopes: where it shows them, and how much larger that is in area than on the
    /// film of a pinhole; 0 where it does not show them.
    struct Mapped {
        Vector2 slope;
        Float area;
    };
    virtual Mapped to_film(const Vector2 &slope) const { return { slope, Float(1) }; }
    virtual Vector2 from_film(const Vector2 &slope) const { return slope; }

private:
    PositionSample position_at(const Transform &to_world, const Float &time) const;
    struct View { // of what sees the camera in some direction
        Vector2 pixel;
        Float
            importance; // that arrives there; the density of pixels by direction is 1 / (area cos^3) of the film's
        Mask seen;
    };
    View view_of(const Transform &to_world, const DirectionSample &ds) const;
};

} // namespace umbel
