// point: light from a single point, the same in all directions.
#include "core/warp.h"
#include "render/placed_emitter.h"

namespace umbel {

class PointLight final : public PlacedEmitter {
public:
    void declare(Params &p) override {
        p.example("<point name='position' x='1' y='2' z='3'/>");
        Emitter::declare(p);
        p.vector("position", m_position, { 0, 0, 0 }).doc("Where it is");
        declare_to_world(p).doc("In place of `position`, or on top of it");
        p.emission("intensity", m_intensity, 1)
            .differentiable()
            .doc("Radiant intensity, in W / sr");
    }
    void configure() override {
        PlacedEmitter::configure();
        auto p = is_moving() ? m_position : first_place().apply_point(m_position);
        m_p = { opaque_float(p[0]), opaque_float(p[1]), opaque_float(p[2]) };
    }
    uint32_t flags() const override { return EndpointFlags::DeltaPosition; }
    BoundingBox bounds() const override { return swept_bounds(m_position); }

    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength, const Vector2 &,
                                        const Vector2 &direction,
                                        const Mask &active) const override {
        Vector3 p = place(time, active);
        auto [wavelengths, intensity] =
            sample_emission(*m_intensity, interaction(p, {}), wavelength, active);
        Float infinity(std::numeric_limits<double>::infinity());
        return { Ray{ p, square_to_uniform_sphere(direction), infinity, time, wavelengths },
                 intensity * (4 * Pi) };
    }
    std::pair<PositionSample, Float> sample_position(const Float &time, const Vector2 &,
                                                     const Mask &active) const override {
        return { position_at(time, active), Float(1) };
    }
    Float pdf_position(const PositionSample &, const Mask &) const override { return 0; }

    std::pair<DirectionSample, Spectrum> sample_direction(const Interaction &it, const Vector2 &,
                                                          const Mask &active) const override {
        PositionSample ps = position_at(it.time, active);
        Vector3 d = ps.p - it.p;
        Float dist2 = squared_norm(d), dist = sqrt(dist2);
        DirectionSample ds{ ps, d / dist, dist, UInt32(0u) };
        SurfaceInteraction si = interaction(ps.p, it.wavelengths);
        return { ds, depolarize(m_intensity->eval(si, active) * rcp(dist2)) };
    }
    Spectrum eval_direction(const Interaction &it, const DirectionSample &ds,
                            const Mask &active) const override {
        SurfaceInteraction si = interaction(place(it.time, active), it.wavelengths);
        return depolarize(m_intensity->eval(si, active) * rcp(sqr(ds.dist)));
    }
    std::pair<Wavelengths, Spectrum> sample_wavelengths(const SurfaceInteraction &, const Float &u,
                                                        const Mask &active) const override {
        return sample_emission(*m_intensity, interaction(place(Float(0), active), {}), u, active);
    }

private:
    bool needs_transform() const override { return false; }
    Vector3 place(const Float &time, const Mask &active) const {
        return is_moving() ? to_world(time, active).point(m_p) : m_p;
    }
    PositionSample position_at(const Float &time, const Mask &active) const {
        return { place(time, active), Vector3(Float(0)), { Float(0), Float(0) }, time, Float(1),
                 Mask(true) };
    }
    SurfaceInteraction interaction(const Vector3 &p, const Wavelengths &wavelengths) const {
        SurfaceInteraction si;
        si.p = p;
        si.uv = { Float(0), Float(0) };
        si.wavelengths = wavelengths;
        return si;
    }

    std::array<double, 3> m_position{};
    Vector3 m_p; // in its own space if that moves, else in the scene's
    Ref<Texture> m_intensity;
};

UMBEL_PLUGIN(Emitter, PointLight, "point")
} // namespace umbel
