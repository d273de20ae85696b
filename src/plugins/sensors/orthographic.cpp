// orthographic: a camera whose rays are all parallel: things look the same size however far they are.
//
// Looks along +z of its own space, y up, x to the left. The film shows x from -1 to 1, and of y what its shape leaves room for;
// a scale in `to_world` makes it larger.
#include "render/sensor.h"
#include <cmath>

namespace umbel {

class Orthographic final : public Sensor {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<float name='near_clip' value='.5'/>");
        Sensor::declare(p);
        p.number("near_clip", m_near, 1e-2, 0).doc("Nothing nearer than this is seen");
        p.number("far_clip", m_far, 1e4, 0).doc("Nothing farther than this is seen");
    }
    void configure() override {
        Sensor::configure();
        if (!(m_near < m_far))
            complain("near_clip ({}) must be less than far_clip ({})", m_near, m_far);
        m_inv_aspect = opaque_float(double(m_film->height()) / m_film->width());
        m_near_clip = opaque_float(m_near);
        m_far_clip = opaque_float(m_far);
    }
    uint32_t flags() const override { return EndpointFlags::DeltaDirection; }

    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength_sample,
                                        const Vector2 &position, const Vector2 &,
                                        const Mask &active) const override {
        auto [wavelengths, weight] = sample_wavelengths({}, wavelength_sample, active);
        Transform to_world = m_transform.at(time, active);
        Vector3 o = to_world.point(
            { 1 - 2 * position.x, (1 - 2 * position.y) * m_inv_aspect, m_near_clip });
        Vector3 axis = to_world.vector({ 0, 0, 1 });
        Float length = norm(axis);
        return { Ray{ o, axis / length, (m_far_clip - m_near_clip) * length, time, wavelengths },
                 weight };
    }

    std::pair<DirectionSample, Spectrum> sample_direction(const Interaction &it, const Vector2 &,
                                                          const Mask &active) const override {
        View view = view_of(m_transform.at(it.time, active), it.p);
        DirectionSample ds{ { fma(view.d, -view.dist, it.p), view.d, view.pixel, it.time,
                              select(view.seen, Float(1), Float(0)), Mask(true) },
                            -view.d,
                            view.dist,
                            UInt32(0u) };
        return { ds, Spectrum(view.importance) };
    }
    Spectrum eval_direction(const Interaction &it, const DirectionSample &,
                            const Mask &active) const override {
        return Spectrum(view_of(m_transform.at(it.time, active), it.p).importance);
    }

private:
    struct View {         // of a place
        Vector2 pixel;    // of the crop window
        Vector3 d;        // of the camera
        Float dist;       // from the film's plane
        Float importance; // per area across the rays
        Mask seen;
    };
    View view_of(const Transform &to_world, const Vector3 &place) const {
        Vector3 p = to_world.inverse().point(place), axis = to_world.vector({ 0, 0, 1 });
        Float length = norm(axis);
        Vector3 d = axis / length;
        Vector2 film{ (1 - p.x) * 0.5, (1 - p.y / m_inv_aspect) * 0.5 };
        const Film::Crop &crop = m_film->crop();
        double width = m_film->width(), height = m_film->height();
        Vector2 pixel{ fma(film.x, opaque_float(width), opaque_float(-crop.x)),
                       fma(film.y, opaque_float(height), opaque_float(-crop.y)) };
        // Wherever pixels see: they may look beyond the crop window, and beyond the film
        double margin = m_film->sample_border() ? m_film->filter().radius() : 0;
        Float mx = opaque_float(margin / width), my = opaque_float(margin / height);
        Mask seen = (p.z >= m_near_clip) & (p.z <= m_far_clip) & (film.x >= -mx) & (film.y >= -my) &
                    (film.x < 1 + mx) & (film.y < 1 + my);
        Float part = opaque_float(4 * crop.width / width * crop.height / height);
        Vector3 film_normal = cross(to_world.vector({ 1, 0, 0 }), to_world.vector({ 0, 1, 0 }));
        Float area = abs(dot(film_normal, d)) * m_inv_aspect * part;
        return { pixel, d, p.z * length, select(seen, rcp(area), Float(0)), seen };
    }

    double m_near = 0.01, m_far = 1e4;
    Float m_inv_aspect, m_near_clip, m_far_clip;
};

UMBEL_PLUGIN(Sensor, Orthographic, "orthographic")
} // namespace umbel
