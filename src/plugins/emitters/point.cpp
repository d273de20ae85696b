// point: light from a single point, the same in all directions.
#include "core/warp.h"
#include "render/emitter.h"

namespace umbel {

class PointLight final : public Emitter {
public:
    void declare(Params &p) override {
        p.example("<point name='position' x='1' y='2' z='3'/>");
        Emitter::declare(p);
        p.vector("position", m_position, { 0, 0, 0 }).doc("Where it is");
        p.transform("to_world", m_to_world).doc("In place of `position`, or on top of it");
        p.emission("intensity", m_intensity, 1)
            .differentiable()
            .doc("Radiant intensity, in W / sr");
    }
    void configure() override {
        auto p = m_to_world.apply_point(m_position);
        m_p = { opaque_float(p[0]), opaque_float(p[1]), opaque_float(p[2]) };
    }
    uint32_t flags() const override { return EndpointFlags::DeltaPosition; }
    BoundingBox bounds() const override {
        auto p = m_to_world.apply_point(m_position);
        return { p, p };
    }

    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength, const Vector2 &,
                                        const Vector2 &direction,
                                        const Mask &active) const override {
        auto [wavelengths, intensity] = sample_wavelengths({}, wavelength, active);
        Float infinity(std::numeric_limits<double>::infinity());
        return { Ray{ m_p, square_to_uniform_sphere(direction), infinity, time, wavelengths },
                 intensity * (4 * Pi) };
    }
    std::pair<PositionSample, Float> sample_position(const Float &time, const Vector2 &,
                                                     const Mask &) const override {
        return { position_at(time), Float(1) };
    }
    Float pdf_position(const PositionSample &, const Mask &) const override { return 0; }

    std::pair<DirectionSample, Spectrum> sample_direction(const Interaction &it, const Vector2 &,
                                                          const Mask &active) const override {
        Vector3 d = m_p - it.p;
        Float dist2 = squared_norm(d), dist = sqrt(dist2);
        DirectionSample ds{ position_at(it.time), d / dist, dist, UInt32(0u) };
        return { ds,
                 depolarize(m_intensity->eval(interaction(it.wavelengths), active) * rcp(dist2)) };
    }
    Spectrum eval_direction(const Interaction &it, const DirectionSample &ds,
                            const Mask &active) const override {
        return depolarize(m_intensity->eval(interaction(it.wavelengths), active) *
                          rcp(sqr(ds.dist)));
    }
    std::pair<Wavelengths, Spectrum> sample_wavelengths(const SurfaceInteraction &, const Float &u,
                                                        const Mask &active) const override {
        return sample_emission(*m_intensity, interaction({}), u, active);
    }

private:
    PositionSample position_at(const Float &time) const {
        return { m_p, Vector3(Float(0)), { Float(0), Float(0) }, time, Float(1), Mask(true) };
    }
    SurfaceInteraction interaction(const Wavelengths &wavelengths) const {
        SurfaceInteraction si;
        si.p = m_p;
        si.uv = { Float(0), Float(0) };
        si.wavelengths = wavelengths;
        return si;
    }

    std::array<double, 3> m_position{};
    TransformData m_to_world;
    Vector3 m_p;
    Ref<Texture> m_intensity;
};

UMBEL_PLUGIN(Emitter, PointLight, "point")
} // namespace umbel
