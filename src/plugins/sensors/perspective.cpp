// perspective: a pinhole camera.
//
// Looks along +z of its own space, y up, x to the left. All that describes it is data of the program: moving it compiles
// nothing.
#include "render/field_of_view.h"
#include "render/sensor.h"
#include <algorithm>
#include <cmath>

namespace umbel {

class Perspective final : public Sensor {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<float name='fov' value='70'/><string name='fov_axis' value='y'/>"
                  "<float name='principal_point_offset_x' value='.1'/>");
        Sensor::declare(p);
        m_view.declare(p);
        p.number("near_clip", m_near, 1e-2, 0).doc("Nothing nearer than this is seen");
        p.number("far_clip", m_far, 1e4, 0).doc("Nothing farther than this is seen");
        p.number("focus_distance", m_focus, 0).doc("Without effect on a pinhole camera");
        p.number("principal_point_offset_x", m_offset_x, 0).doc("Shift of the image, in widths");
        p.number("principal_point_offset_y", m_offset_y, 0).doc("Shift of the image, in heights");
        if (p.traversing())
            p.exposed("x_fov", &m_x_fov);
        if (p.loading() && !(m_near > 0 && m_near < m_far))
            fail("{}: near_clip ({}) must be positive and less than far_clip ({})",
                 p.properties()->describe(), m_near, m_far);
    }

    void changed(std::span<const std::string> names) override {
        if (std::find(names.begin(), names.end(), "x_fov") != names.end()) {
            m_view.fov = m_x_fov;
            m_view.axis = "x";
        }
        Sensor::changed(names);
    }

    void configure() override {
        Sensor::configure();
        double aspect = double(m_film->width()) / m_film->height();
        double half = m_view.half_width(*this, aspect);
        m_x_fov = 2 * std::atan(half) * 180 / Pi;
        m_tan_x = opaque_float(half);
        m_tan_y = opaque_float(half / aspect);
        m_shift_x = opaque_float(m_offset_x);
        m_shift_y = opaque_float(m_offset_y);
        m_near_clip = opaque_float(m_near);
        m_far_clip = opaque_float(m_far);
    }

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
        // x of the image goes right, x of camera space left
        Vector3 d = normalize({ (1 - 2 * (position.x + m_shift_x)) * m_tan_x,
                                (1 - 2 * (position.y + m_shift_y)) * m_tan_y, Float(1) });
        Float near_t = m_near_clip / d.z, far_t = m_far_clip / d.z;
        Transform to_world = m_transform.at(time, active);
        Vector3 world = to_world.vector(d);
        Float inv_scale = rsqrt(squared_norm(world));
        world = world * inv_scale;
        Vector3 o = fma(world, near_t, to_world.translation());
        return { Ray{ o, world, far_t - near_t, time, wavelengths }, weight };
    }
    std::pair<PositionSample, Float> sample_position(const Float &time, const Vector2 &,
                                                     const Mask &active) const override {
        return { position_at(m_transform.at(time, active), time), Float(1) };
    }
    Float pdf_position(const PositionSample &, const Mask &) const override { return 0; }

    std::pair<DirectionSample, Spectrum> sample_direction(const Interaction &it, const Vector2 &,
                                                          const Mask &active) const override {
        Transform to_world = m_transform.at(it.time, active);
        DirectionSample ds{ position_at(to_world, it.time), {}, Float(0), UInt32(0u) };
        Vector3 v = ds.p - it.p;
        ds.dist = norm(v);
        ds.d = v * rcp(ds.dist);
        View view = view_of(to_world, ds);
        ds.uv = view.pixel;
        ds.pdf = select(view.seen, Float(1), Float(0));
        return { ds, Spectrum(view.importance) };
    }
    Spectrum eval_direction(const Interaction &it, const DirectionSample &ds,
                            const Mask &active) const override {
        return Spectrum(view_of(m_transform.at(it.time, active), ds).importance);
    }

private:
    PositionSample position_at(const Transform &to_world, const Float &time) const {
        Vector3 n = normalize(to_world.vector({ 0, 0, 1 }));
        return { to_world.translation(), n, { Float(0), Float(0) }, time, Float(1), Mask(true) };
    }
    struct View {      // of what sees the camera in some direction
        Vector2 pixel; // of the crop window
        Float
            importance; // that arrives there; the density of pixels by direction is 1 / (area cos^3) of the film's
        Mask seen;
    };
    View view_of(const Transform &to_world, const DirectionSample &ds) const {
        Vector3 d = normalize(to_world.inverse().vector(-ds.d));
        Float z = ds.dist * d.z, inv_z = rcp(d.z);
        Vector2 film{ (1 - d.x * inv_z / m_tan_x) * 0.5 - m_shift_x,
                      (1 - d.y * inv_z / m_tan_y) * 0.5 - m_shift_y };
        const Film::Crop &crop = m_film->crop();
        double width = m_film->width(), height = m_film->height();
        Vector2 pixel{ fma(film.x, opaque_float(width), opaque_float(-crop.x)),
                       fma(film.y, opaque_float(height), opaque_float(-crop.y)) };
        // Wherever pixels see: they may look beyond the crop window, and beyond the film
        double margin = m_film->sample_border() ? m_film->filter().radius() : 0;
        Float mx = opaque_float(margin / width), my = opaque_float(margin / height);
        Mask seen = (z >= m_near_clip) & (z <= m_far_clip) & (film.x >= -mx) & (film.y >= -my) &
                    (film.x < 1 + mx) & (film.y < 1 + my);
        Float part = opaque_float(4 * crop.width / width * crop.height / height);
        Float cos3 = d.z * sqr(d.z), area = m_tan_x * m_tan_y * part;
        return { pixel, select(seen, rcp(area * cos3 * sqr(ds.dist)), Float(0)), seen };
    }

    FieldOfView m_view;
    double m_near = 0.01, m_far = 1e4, m_focus = 0, m_offset_x = 0, m_offset_y = 0;
    double m_x_fov = 0; // along x, however it was given
    Float m_tan_x, m_tan_y, m_shift_x, m_shift_y, m_near_clip, m_far_clip;
};

UMBEL_PLUGIN(Sensor, Perspective, "perspective")
} // namespace umbel
