// directional: light from infinitely far away, along one direction.
//
// A surface that faces the light receives `irradiance`.
#include "core/warp.h"
#include "render/placed_emitter.h"
#include <algorithm>
#include <cmath>

namespace umbel {

class Directional final : public PlacedEmitter {
public:
    void declare(Params &p) override {
        p.example("<vector name='direction' x='1' y='-2' z='.5'/>");
        Emitter::declare(p);
        p.vector("direction", m_direction, { 0, 0, 1 }).doc("Where the light goes").fixed();
        declare_to_world(p).doc(
            "In place of `direction`, or on top of it: light goes along +z of its own space");
        if (p.loading() && p.properties()->find("direction") && take_up(m_direction))
            m_direction = { 0, 0, 1 }; // scripts find the whole way in to_world
        p.emission("irradiance", m_irradiance, 1)
            .differentiable()
            .doc("On a surface that faces the light, in W / m^2");
    }
    void configure() override {
        PlacedEmitter::configure();
        if (!m_radius.valid())
            set_scene({});
        if (m_irradiance->is_spatially_varying())
            complain("irradiance varies over a surface, and this light has none; give a colour or "
                     "a spectrum, or use a `projector`");
        auto d = is_moving() ? m_direction : first_place().apply_vector(m_direction);
        double length = std::hypot(d[0], d[1], d[2]);
        if (!(length > 0))
            complain("direction has no length; give one such as 0, 0, -1");
        m_d = { opaque_float(d[0] / length), opaque_float(d[1] / length),
                opaque_float(d[2] / length) };
    }
    uint32_t flags() const override {
        return EndpointFlags::Infinite | EndpointFlags::DeltaDirection;
    }
    void set_scene(const BoundingBox &bounds) override {
        bool none = bounds.is_empty();
        m_radius = opaque_float(none ? 1 : std::max(bounds.radius() * (1 + 1e-4), 1e-3));
        auto c = none ? std::array<double, 3>{} : bounds.centre();
        m_centre = { opaque_float(c[0]), opaque_float(c[1]), opaque_float(c[2]) };
    }

    std::pair<DirectionSample, Spectrum> sample_direction(const Interaction &it, const Vector2 &,
                                                          const Mask &active) const override {
        // From a plane beyond everything else, wherever the place is
        Vector3 d = direction(it.time, active);
        Float dist = 2 * m_radius + max(dot(it.p - m_centre, d), -m_radius);
        DirectionSample ds{
            { fma(d, -dist, it.p), d, { Float(0), Float(0) }, it.time, Float(1), Mask(true) },
            -d,
            dist,
            UInt32(0u)
        };
        return { ds, eval_direction(it, ds, active) };
    }
    Spectrum eval_direction(const Interaction &it, const DirectionSample &,
                            const Mask &active) const override {
        return depolarize(m_irradiance->eval(interaction(it.wavelengths), active));
    }

    /// Through the disk that the scene's sphere is, as seen from there.
    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength,
                                        const Vector2 &position, const Vector2 &,
                                        const Mask &active) const override {
        auto [wavelengths, irradiance] = sample_wavelengths({}, wavelength, active);
        Vector3 d = direction(time, active);
        Frame frame(d);
        Vector2 p = square_to_uniform_disk_concentric(position);
        Vector3 o = fma(frame.s * p.x + frame.t * p.y - d, m_radius, m_centre);
        Float infinity(std::numeric_limits<double>::infinity());
        return { Ray{ o, d, infinity, time, wavelengths }, irradiance * (sqr(m_radius) * Pi) };
    }
    std::pair<Wavelengths, Spectrum> sample_wavelengths(const SurfaceInteraction &, const Float &u,
                                                        const Mask &active) const override {
        return sample_emission(*m_irradiance, interaction({}), u, active);
    }

private:
    Vector3 direction(const Float &time, const Mask &active) const {
        return is_moving() ? normalize(to_world(time, active).vector(m_d)) : m_d;
    }
    SurfaceInteraction interaction(const Wavelengths &wavelengths) const {
        SurfaceInteraction si;
        si.p = m_centre;
        si.uv = { Float(0), Float(0) };
        si.wavelengths = wavelengths;
        return si;
    }

    std::array<double, 3> m_direction{};
    Ref<Texture> m_irradiance;
    Vector3 m_d; // in its own space if that moves, else in the scene's
    Vector3 m_centre;
    Float m_radius; // of the scene
};

UMBEL_PLUGIN(Emitter, Directional, "directional")
} // namespace umbel
