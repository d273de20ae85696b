// perspective: a pinhole camera.
//
// Looks along +z of its own space, y up, x to the left. All that describes it is data of the program: moving it compiles
// nothing.
#include "render/sensor.h"
#include <algorithm>
#include <cmath>

namespace umbel {

class Perspective final : public Sensor {
public:
    void declare(Params &p) override {
        Sensor::declare(p);
        p.number("fov", m_fov, 0, 0, 179.999).doc("Field of view in degrees, along `fov_axis`");
        p.string("focal_length", m_focal_length, "50mm")
            .doc("In place of `fov`: focal length on 35 mm film, such as 50mm");
        p.choice("fov_axis", m_axis, "x", { "x", "y", "diagonal", "smaller", "larger" })
            .doc("What `fov` spans");
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
            m_fov = m_x_fov;
            m_axis = "x";
        }
        Sensor::changed(names);
    }

    void configure() override {
        Sensor::configure();
        double aspect = double(m_film->width()) / m_film->height();
        m_x_fov = 2 * std::atan(half_width(aspect)) * 180 / Pi;
        m_tan_x = opaque_float(half_width(aspect));
        m_tan_y = opaque_float(half_width(aspect) / aspect);
        m_shift_x = opaque_float(m_offset_x);
        m_shift_y = opaque_float(m_offset_y);
        m_near_clip = opaque_float(m_near);
        m_far_clip = opaque_float(m_far);
    }

    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength_sample,
                                        const Vector2 &position, const Vector2 &,
                                        const Mask &active) const override {
        auto [wavelengths, weight] = sample_wavelengths(wavelength_sample);
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

private:
    double half_width(double aspect) const {
        double fov = m_fov;
        std::string axis = m_axis;
        if (!(fov > 0)) { // 35 mm film is 36 mm x 24 mm
            double mm = std::atof(m_focal_length.c_str());
            if (!(mm > 0))
                complain("focal_length is {}; it must be a positive length such as 50mm",
                         quote(m_focal_length));
            fov = 2 * std::atan(std::hypot(36, 24) / (2 * mm)) * 180 / Pi;
            axis = "diagonal";
        }
        double t = std::tan(fov * Pi / 360);
        if (axis == "smaller")
            axis = aspect > 1 ? "y" : "x";
        else if (axis == "larger")
            axis = aspect > 1 ? "x" : "y";
        return axis == "x" ? t : axis == "y" ? t * aspect : t * aspect / std::hypot(1, aspect);
    }

    double m_fov = 0, m_near = 0.01, m_far = 1e4, m_focus = 0, m_offset_x = 0, m_offset_y = 0;
    double m_x_fov = 0; // along x, however it was given
    std::string m_focal_length, m_axis;
    Float m_tan_x, m_tan_y, m_shift_x, m_shift_y, m_near_clip, m_far_clip;
};

UMBEL_PLUGIN(Sensor, Perspective, "perspective")
} // namespace umbel
