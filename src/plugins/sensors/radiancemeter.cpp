// radiancemeter: measures the radiance along one ray, on a film of one pixel.
//
// Given by `origin` and `direction`, or by `to_world`: then the ray leaves the origin of its own space along +z. Light that is
// followed from its source never finds the ray.
#include "render/sensor.h"
#include <cmath>

namespace umbel {

class RadianceMeter final : public Sensor {
public:
    void declare(Params &p) override {
        p.example("<film type='hdrfilm'><integer name='width' value='1'/><integer name='height' "
                  "value='1'/><rfilter type='box'/></film>");
        Sensor::declare(p);
        p.vector("origin", m_origin, { 0, 0, 0 }).fixed().doc("Where the ray begins");
        p.vector("direction", m_direction, { 0, 0, 1 }).fixed().doc("Where it goes");
        if (p.loading() && (p.properties()->find("origin") || p.properties()->find("direction")) &&
            m_to_world.put_inside(m_origin, m_direction)) {
            m_origin = {}; // scripts find the whole way in to_world
            m_direction = { 0, 0, 1 };
        }
    }
    void configure() override {
        Sensor::configure();
        if (m_film->width() != 1 || m_film->height() != 1)
            complain("the film has {} x {} pixels; one ray needs one pixel: set its width and "
                     "height to 1",
                     m_film->width(), m_film->height());
        double length = std::hypot(m_direction[0], m_direction[1], m_direction[2]);
        if (!(length > 0))
            complain("direction has no length; give one such as 0, 0, 1");
        auto vector = [](const std::array<double, 3> &v, double factor) {
            return Vector3(opaque_float(v[0] * factor), opaque_float(v[1] * factor),
                           opaque_float(v[2] * factor));
        };
        m_o = vector(m_origin, 1);
        m_d = vector(m_direction, 1 / length);
    }
    uint32_t flags() const override {
        return EndpointFlags::DeltaPosition | EndpointFlags::DeltaDirection;
    }
    BoundingBox bounds() const override { // of its keyframes
        BoundingBox b;
        for (const TransformData &t : m_to_world.transforms)
            b.extend(t.apply_point(m_origin));
        return b;
    }

    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength_sample,
                                        const Vector2 &, const Vector2 &,
                                        const Mask &active) const override {
        auto [wavelengths, weight] = sample_wavelengths({}, wavelength_sample, active);
        Transform to_world = to_world_at(time, active);
        Float infinity(std::numeric_limits<double>::infinity());
        return { Ray{ to_world.point(m_o), normalize(to_world.vector(m_d)), infinity, time,
                      wavelengths },
                 weight };
    }
    std::pair<PositionSample, Float> sample_position(const Float &time, const Vector2 &,
                                                     const Mask &active) const override {
        return { position_at(time, active), Float(1) };
    }
    Float pdf_position(const PositionSample &, const Mask &) const override { return 0; }

    std::pair<DirectionSample, Spectrum> sample_direction(const Interaction &it, const Vector2 &,
                                                          const Mask &active) const override {
        DirectionSample ds{ position_at(it.time, active), {}, Float(0), UInt32(0u) };
        Vector3 v = ds.p - it.p;
        ds.dist = norm(v);
        ds.d = v * rcp(ds.dist);
        ds.uv = { Float(0.5), Float(0.5) };
        ds.pdf = Float(0);
        return { ds, Spectrum(0) };
    }
    Spectrum eval_direction(const Interaction &, const DirectionSample &,
                            const Mask &) const override {
        return Spectrum(0);
    }

private:
    PositionSample position_at(const Float &time, const Mask &active) const {
        Transform to_world = to_world_at(time, active);
        return { to_world.point(m_o),
                 normalize(to_world.vector(m_d)),
                 { Float(0), Float(0) },
                 time,
                 Float(1),
                 Mask(true) };
    }

    std::array<double, 3> m_origin{}, m_direction{};
    Vector3 m_o, m_d;
};

UMBEL_PLUGIN(Sensor, RadianceMeter, "radiancemeter")
} // namespace umbel
