// constant: an environment of the same radiance in all directions.
#include "core/warp.h"
#include "render/emitter.h"

namespace umbel {

class Constant final : public Emitter {
public:
    void declare(Params &p) override {
        Emitter::declare(p);
        p.emission("radiance", m_radiance, 1).differentiable().doc("Radiance, in W / (m^2 sr)");
        TransformData turned;
        p.transform("to_world", turned).fixed().doc("However it is turned, it looks the same");
    }
    void configure() override {
        if (!m_radius.valid())
            set_scene({});
    }
    uint32_t flags() const override { return EndpointFlags::Infinite; }
    void set_scene(const BoundingBox &bounds) override {
        bool none = bounds.is_empty();
        m_radius = opaque_float(none ? 1 : std::max(2 * bounds.radius(), 1e-3));
        m_sphere_radius = opaque_float(none ? 1 : std::max(bounds.radius() * (1 + 1e-4), 1e-3));
        auto c = none ? std::array<double, 3>{} : bounds.centre();
        m_centre = { opaque_float(c[0]), opaque_float(c[1]), opaque_float(c[2]) };
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
    Spectrum eval_direction(const Interaction &it, const DirectionSample &ds,
                            const Mask &active) const override {
        return depolarize(m_radiance->eval(interaction_at(ds, it.wavelengths), active));
    }

    /// Into the sphere around the scene, from a point of it.
    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength,
                                        const Vector2 &position, const Vector2 &direction,
                                        const Mask &active) const override {
        Vector3 n = square_to_uniform_sphere(position);
        Vector3 d = Frame(-n).to_world(square_to_cosine_hemisphere(direction));
        auto [wavelengths, radiance] = sample_wavelengths({}, wavelength, active);
        Float infinity(std::numeric_limits<double>::infinity());
        return { Ray{ fma(n, m_sphere_radius, m_centre), d, infinity, time, wavelengths },
                 radiance * (sqr(m_sphere_radius) * (4 * Pi * Pi)) };
    }
    std::pair<Wavelengths, Spectrum> sample_wavelengths(const SurfaceInteraction &, const Float &u,
                                                        const Mask &active) const override {
        SurfaceInteraction si;
        si.p = m_centre;
        si.uv = { Float(0), Float(0) };
        return sample_emission(*m_radiance, si, u, active);
    }

private:
    Ref<Texture> m_radiance;
    Float m_radius; // of what lies beyond the scene
    Vector3 m_centre;
    Float m_sphere_radius; // around the scene
};

UMBEL_PLUGIN(Emitter, Constant, "constant")
} // namespace umbel
