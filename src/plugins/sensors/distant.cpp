// distant: measures the radiance that leaves the scene, or a part of it, along one direction: as seen from infinitely far away.
//
// The film has one pixel, which shows the mean over the rays. They go along `direction`: through the disk that the sphere around
// the scene is from there; or, with a `target`, to a point or, uniformly in area, to the points of a shape, which need not be
// part of the scene. Light that is followed from its source is seen without a target only.
#include "core/warp.h"
#include "render/sensor.h"
#include "render/shape.h"
#include <algorithm>
#include <cmath>

namespace umbel {

class Distant final : public Sensor {
public:
    void declare(Params &p) override {
        for (const char *it : { "<vector name='direction' x='.1' y='-.2' z='1'/>",
                                "<point name='target' x='.1' y='.2' z='.3'/>",
                                "<shape name='target' type='rectangle'/>" })
            p.example((std::string(it) + "<film type='hdrfilm'><integer name='width' value='1'/>"
                                         "<integer name='height' value='1'/>"
                                         "<rfilter type='box'/></film>")
                          .c_str());
        Sensor::declare(p);
        p.vector("direction", m_direction, { 0, 0, 1 }).fixed().doc("Where the rays go");
        if (p.loading() && p.properties()->find("direction") &&
            m_to_world.put_inside({}, m_direction)) {
            m_direction = { 0, 0, 1 }; // scripts find the whole way in to_world
            for (TransformData &t : m_to_world.transforms)
                t = t * TransformData::rotate({ 0, 0, 1 }, 90); // unlike others of Mitsuba's
        }
        const Property *target = p.loading() ? p.properties()->find("target") : nullptr;
        m_has_point |= target && std::holds_alternative<VectorData>(target->value);
        if (m_has_point)
            p.vector("target", m_point, { 0, 0, 0 }).fixed();
        else if (!p.traversing()) // nothing of the target but its area counts, and that stays
            p.named_object("target", m_target)
                .doc("What the rays go to: a shape, or a point. All of the scene if absent");
    }
    void configure() override {
        Sensor::configure();
        if (!m_radius.valid())
            set_scene({});
        if (m_film->width() != 1 || m_film->height() != 1)
            complain("the film has {} x {} pixels; one direction needs one pixel: set its width "
                     "and height to 1",
                     m_film->width(), m_film->height());
        double length = std::hypot(m_direction[0], m_direction[1], m_direction[2]);
        if (!(length > 0))
            complain("direction has no length; give one such as 0, 0, 1");
        m_d = { opaque_float(m_direction[0] / length), opaque_float(m_direction[1] / length),
                opaque_float(m_direction[2] / length) };
        m_p = { opaque_float(m_point[0]), opaque_float(m_point[1]), opaque_float(m_point[2]) };
    }
    uint32_t flags() const override {
        return EndpointFlags::DeltaDirection | (m_has_point ? uint32_t(EndpointFlags::DeltaPosition)
                                                : m_target  ? uint32_t(EndpointFlags::Surface)
                                                            : 0);
    }
    bool needs_aperture_sample() const override { return true; }
    bool rays_follow_to_world() const override {
        return false;
    } // they begin around the scene, or at a target
    BoundingBox bounds() const override {
        return m_has_point ? BoundingBox{ m_point, m_point }
               : m_target  ? m_target->swept_bounds()
                           : BoundingBox();
    }
    void set_scene(const BoundingBox &bounds) override {
        bool none = bounds.is_empty();
        m_radius = opaque_float(none ? 1 : std::max(bounds.radius() * (1 + 1e-4), 1e-3));
        auto c = none ? std::array<double, 3>{} : bounds.centre();
        m_centre = { opaque_float(c[0]), opaque_float(c[1]), opaque_float(c[2]) };
    }

    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength_sample,
                                        const Vector2 &, const Vector2 &aperture,
                                        const Mask &active) const override {
        auto [wavelengths, weight] = sample_wavelengths({}, wavelength_sample, active);
        Vector3 d = direction(time, active), o;
        if (has_target()) // from beyond the scene
            o = fma(d, -2 * m_radius, sample_position(time, aperture, active).first.p);
        else {
            Frame frame(d);
            Vector2 p = square_to_uniform_disk_concentric(aperture);
            o = fma(frame.s * p.x + frame.t * p.y - d, m_radius, m_centre);
        }
        Float infinity(std::numeric_limits<double>::infinity());
        return { Ray{ o, d, infinity, time, wavelengths }, weight };
    }
    std::pair<PositionSample, Float> sample_position(const Float &time, const Vector2 &u,
                                                     const Mask &active) const override {
        if (m_has_point)
            return { { m_p,
                       direction(time, active),
                       { Float(0), Float(0) },
                       time,
                       Float(1),
                       Mask(true) },
                     Float(1) };
        if (!m_target)
            lacks("sample_position");
        PositionSample ps = m_target->sample_position(time, u, active);
        return { ps, select(ps.pdf > 0, rcp(ps.pdf), Float(0)) };
    }
    Float pdf_position(const PositionSample &ps, const Mask &active) const override {
        return m_target ? m_target->pdf_position(ps, active) : Float(0);
    }

    std::pair<DirectionSample, Spectrum> sample_direction(const Interaction &it, const Vector2 &u,
                                                          const Mask &active) const override {
        Vector3 d = direction(it.time, active);
        View view = view_of(it.p, d);
        DirectionSample ds{ { fma(d, -view.dist, it.p),
                              d,
                              { Float(0.5), Float(0.5) }, // the only pixel
                              it.time,
                              select(view.seen, Float(1), Float(0)),
                              Mask(true) },
                            -d,
                            view.dist,
                            UInt32(0u) };
        if (has_target()) {
            ds.p = sample_position(it.time, u, active).first.p;
            ds.pdf = Float(0);
        }
        return { ds, eval_direction(it, ds, active) };
    }
    Spectrum eval_direction(const Interaction &it, const DirectionSample &,
                            const Mask &active) const override {
        if (has_target())
            return Spectrum(0);
        View view = view_of(it.p, direction(it.time, active));
        return Spectrum(select(view.seen, rcp(sqr(m_radius) * Pi), Float(0)));
    }

private:
    bool has_target() const { return m_has_point || m_target; }
    Vector3 direction(const Float &time, const Mask &active) const {
        return normalize(to_world_at(time, active).vector(m_d));
    }
    struct View { // of a place
        Float dist;
        Mask seen;
    };
    View view_of(const Vector3 &p, const Vector3 &d) const {
        Vector3 offset = p - m_centre;
        Float along = dot(offset, d);
        Mask inside = squared_norm(offset - d * along) <= sqr(m_radius);
        return { 2 * m_radius + max(along, -m_radius), inside };
    }

    std::array<double, 3> m_direction{}, m_point{};
    bool m_has_point = false;
    Ref<Shape> m_target;
    Vector3 m_d, m_p;
    Vector3 m_centre;
    Float m_radius; // of the scene
};

UMBEL_PLUGIN(Sensor, Distant, "distant")
} // namespace umbel
