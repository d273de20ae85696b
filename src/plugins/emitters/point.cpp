// point: light from a single point, the same in all directions.
#include "render/emitter.h"

namespace umbel {

class PointLight final : public Emitter {
public:
    void declare(Params &p) override {
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
    bool is_delta() const override { return true; }

    Spectrum eval(const SurfaceInteraction &, const Mask &) const override { return Spectrum(0); }
    std::pair<DirectionSample, Spectrum> sample_direction(const Interaction &it, const Vector2 &,
                                                          const Mask &active) const override {
        Vector3 d = m_p - it.p;
        Float dist2 = squared_norm(d), dist = sqrt(dist2);
        DirectionSample ds{
            { m_p, Vector3(Float(0)), { Float(0), Float(0) }, it.time, Float(1), Mask(true) },
            d / dist,
            dist,
            UInt32(0u)
        };
        SurfaceInteraction si;
        si.p = m_p;
        si.uv = { Float(0), Float(0) };
        si.wavelengths = it.wavelengths;
        return { ds, depolarize(m_intensity->eval(si, active) * rcp(dist2)) };
    }
    Float pdf_direction(const Interaction &, const DirectionSample &, const Mask &) const override {
        return 0;
    }

private:
    std::array<double, 3> m_position{};
    TransformData m_to_world;
    Vector3 m_p;
    Ref<Texture> m_intensity;
};

UMBEL_PLUGIN(Emitter, PointLight, "point")
} // namespace umbel
