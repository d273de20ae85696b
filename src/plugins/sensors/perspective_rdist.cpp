// perspective_rdist: a pinhole camera whose image is distorted, as lenses do.
//
// What a pinhole would show at the distance r from the axis, in units of the focal length, is shown at r (1 + k1 r^2 + k2 r^4)
// [Brown 1971]: a negative k1 makes a barrel of a square, a positive one a pincushion. Rays are found by Newton's method.
#include "render/camera.h"
#include <algorithm>
#include <cmath>

namespace umbel {

class PerspectiveRadialDistortion final : public PinholeCamera {
public:
    void declare(Params &p) override {
        p.example("<string name='kc' value='-.2, .05'/><float name='fov' value='60'/>");
        p.example("<string name='kc' value='.3, .1'/><float name='fov' value='50'/>"
                  "<float name='principal_point_offset_y' value='.1'/>");
        PinholeCamera::declare(p);
        p.string("kc", m_list, "0, 0")
            .doc("The two coefficients of the distortion, k1 and k2, as tools for the calibration "
                 "of cameras give them");
    }
    void configure() override {
        PinholeCamera::configure();
        auto [k1, k2] = coefficients();
        // As far as the image grows with r, places on the film are those of one direction
        auto slope = [k1, k2](double r) { return 1 + r * r * (3 * k1 + 5 * k2 * r * r); };
        double most = 0, step = 1e-3;
        while (most < Farthest && slope(most + step) > 0)
            most += step;
        double reach = most * (1 + most * most * (k1 + k2 * most * most));
        double aspect = double(m_film->width()) / m_film->height(),
               half = m_view.half_width(where(), aspect);
        double margin = m_film->sample_border() ? 2 * m_film->filter().radius() : 0;
        double x = half * (1 + 2 * std::abs(m_offset_x) + margin / m_film->width()),
               y = half / aspect * (1 + 2 * std::abs(m_offset_y) + margin / m_film->height());
        if (reach < std::hypot(x, y))
            complain(
                "kc is {}: the corners of the image show nothing, as no direction is at {:.3g} "
                "focal lengths from its middle; make the coefficients or the field of view "
                "smaller",
                quote(m_list), std::hypot(x, y));
        m_k1 = opaque_float(k1);
        m_k2 = opaque_float(k2);
        m_most = opaque_float(most);
    }

private:
    static constexpr double Farthest = 1e3; // slopes of almost 90 degrees

    Mapped to_film(const Vector2 &slope) const override {
        Float r2 = dot(slope, slope), factor = factor_at(r2);
        Float area = factor * growth_at(r2);
        return { slope * factor, select(r2 < sqr(m_most), area, Float(0)) };
    }
    // The root of r factor(r) = wanted, which is below m_most, by bisection where Newton's step leaves what is known of it.
    Vector2 from_film(const Vector2 &slope) const override {
        Float wanted = sqrt(dot(slope, slope));
        struct State {
            Float r, low, high;
            UInt32 left;
            UMBEL_STRUCT(r, low, high, left)
        };
        State s = jit::loop(
            State{ min(wanted, m_most), Float(0), m_most + wanted * 0,
                   UInt32(variant().double_precision ? 60u : 30u) },
            [](const State &s) { return s.left > UInt32(0u); },
            [&](State &s) {
                Float r2 = sqr(s.r), excess = s.r * factor_at(r2) - wanted;
                s.low = select(excess < 0, s.r, s.low);
                s.high = select(excess < 0, s.high, s.r);
                Float next = s.r - excess / growth_at(r2);
                Mask good = (next >= s.low) & (next <= s.high);
                next = select(good, next, (s.low + s.high) * 0.5);
                s.left = select(next == s.r, UInt32(0u), s.left - UInt32(1u));
                s.r = next;
            },
            "radial distortion");
        return slope * select(wanted > 0, s.r / wanted, Float(1));
    }
    Float factor_at(const Float &r2) const { return 1 + r2 * fma(m_k2, r2, m_k1); }
    /// The derivative of r factor(r).
    Float growth_at(const Float &r2) const { return 1 + r2 * fma(5 * m_k2, r2, 3 * m_k1); }

    std::pair<double, double> coefficients() const {
        double k1 = 0, k2 = 0;
        int used = -1;
        if (std::sscanf(m_list.c_str(), " %lf , %lf %n", &k1, &k2, &used) != 2 || used < 0 ||
            size_t(used) != m_list.size() || !std::isfinite(k1) || !std::isfinite(k2))
            complain("kc is {}; it must be two numbers, such as -0.2, 0.05", quote(m_list));
        return { k1, k2 };
    }

    std::string m_list;
    Float m_k1, m_k2, m_most;
};

UMBEL_PLUGIN(Sensor, PerspectiveRadialDistortion, "perspective_rdist")
} // namespace umbel
