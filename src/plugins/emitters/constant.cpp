// constant: an environment of the same radiance in all directions.
#include "core/warp.h"
#include "render/emitter.h"

namespace umbel {

class Constant final : public Emitter {
public:
    void declare(Params &p) override {
        Emitter::declare(p);
        p.emission("radiance", m_radiance, 1).differentiable().doc("Radiance, in W / (m^2 sr)");
    }
    void configure() override {
        if (!m_radius.valid())
            set_scene({});
    }
    bool is_environment() const override { return true; }
    void set_scene(const BoundingBox &bounds) override {
        m_radius = opaque_float(bounds.is_empty() ? 1 : std::max(2 * bounds.radius(), 1e-3));
    }

    Spectrum eval(const SurfaceInteraction &si, const Mask &active) const override {
        return depolarize(m_radiance->eval(si, active));
    }
    std::pair<DirectionSample, Spectrum> sample_direction(const Interaction &it, const Vector2 &u,
                                                          const Mask &active) const override {
        Vector3 d = square_to_uniform_sphere(u);
        // Far enough to lie beyond everything else
        Float dist = 2 * m_radius;
        DirectionSample ds{ { fma(d, dist, it.p), -d, u, it.time, Float(InvPi / 4), Mask(false) },
                            d,
                            dist,
                            UInt32(0u) };
        SurfaceInteraction si;
        si.p = ds.p;
        si.uv = u;
        si.wavelengths = it.wavelengths;
        return { ds, depolarize(m_radiance->eval(si, active) * (4 * Pi)) };
    }
    Float pdf_direction(const Interaction &, const DirectionSample &, const Mask &) const override {
        return InvPi / 4;
    }

private:
    Ref<Texture> m_radiance;
    Float m_radius;
};

UMBEL_PLUGIN(Emitter, Constant, "constant")
} // namespace umbel
