// directionalarea: a surface that emits light along its normals only.
//
// No path meets such light by chance, nor can it be connected to one: only what begins there, as in `ptracer`, shows it.
#include "render/emitter.h"

namespace umbel {

class DirectionalArea final : public Emitter {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<texture type='bitmap' name='radiance'>"
                  "<string name='filename' value='$files/image.png'/></texture>");
        Emitter::declare(p);
        p.emission("radiance", m_radiance, 1)
            .differentiable()
            .doc("What leaves the surface, in W / m^2: all of it goes along the normal");
    }
    void attach(const Shape *shape) override {
        if (m_shape)
            complain("is attached to two shapes; give each an emitter of its own");
        m_shape = shape;
    }
    uint32_t flags() const override {
        return EndpointFlags::Surface | EndpointFlags::DeltaDirection |
               (m_radiance->is_spatially_varying() ? uint32_t(EndpointFlags::SpatiallyVarying) : 0);
    }

    bool is_connectable() const override { return false; }

    std::pair<DirectionSample, Spectrum> sample_direction(const Interaction &it, const Vector2 &u,
                                                          const Mask &active) const override {
        DirectionSample ds = m_shape->sample_direction(it, u, active);
        ds.pdf = Float(0);
        ds.delta = Mask(true);
        return { ds, depolarize(Spectrum(0)) };
    }
    Spectrum eval_direction(const Interaction &, const DirectionSample &,
                            const Mask &) const override {
        return depolarize(Spectrum(0));
    }
    Spectrum eval(const SurfaceInteraction &, const Mask &) const override {
        return depolarize(Spectrum(0));
    }

    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength,
                                        const Vector2 &position, const Vector2 &,
                                        const Mask &active) const override {
        auto [ps, area] = sample_position(time, position, active);
        SurfaceInteraction si = interaction_at(ps, {});
        auto [wavelengths, radiance] = sample_wavelengths(si, wavelength, active);
        si.wavelengths = wavelengths;
        return { si.spawn_ray(ps.n), radiance * area };
    }
    std::pair<Wavelengths, Spectrum> sample_wavelengths(const SurfaceInteraction &si,
                                                        const Float &u,
                                                        const Mask &active) const override {
        return sample_emission(*m_radiance, si, u, active);
    }

private:
    Ref<Texture> m_radiance;
};

UMBEL_PLUGIN(Emitter, DirectionalArea, "directionalarea")
} // namespace umbel
