// area: a surface that emits light.
//
// The same radiance leaves each point of the front side in all directions, unless `radiance` is textured.
#include "core/warp.h"
#include "render/emitter.h"

namespace umbel {

class Area final : public Emitter {
public:
    void declare(Params &p) override {
        p.example("");
        p.example("<texture type='bitmap' name='radiance'>"
                  "<string name='filename' value='$files/image.png'/></texture>");
        Emitter::declare(p);
        p.emission("radiance", m_radiance, 1)
            .differentiable()
            .doc("Radiance, in W / (m^2 sr), per nm in spectral variants");
    }
    void attach(const Shape *shape) override {
        if (m_shape)
            complain("is attached to two shapes; give each an emitter of its own");
        m_shape = shape;
    }
    uint32_t flags() const override {
        return EndpointFlags::Surface |
               (m_radiance->is_spatially_varying() ? uint32_t(EndpointFlags::SpatiallyVarying) : 0);
    }
    Directions directions() const override { // of what turns, they may be all
        return { m_shape && !m_shape->motion() ? m_shape->normal_cone() : NormalCone(), 0 };
    }

    Spectrum eval(const SurfaceInteraction &si, const Mask &active) const override {
        Spectrum value = m_radiance->eval(si, active);
        return depolarize(select(si.wi.z > 0, value, Spectrum(0)));
    }

    std::pair<DirectionSample, Spectrum> sample_direction(const Interaction &it, const Vector2 &u,
                                                          const Mask &active) const override {
        DirectionSample ds = m_shape->sample_direction(it, u, active);
        Mask good = active & (dot(ds.d, ds.n) < 0) & (ds.pdf > 0);
        SurfaceInteraction si = interaction_at(ds, it.wavelengths);
        // Selected before it multiplies: an infinite factor would leave derivatives undefined
        Spectrum weight = m_radiance->eval(si, good) * select(good, rcp(ds.pdf), Float(0));
        ds.pdf = select(good, ds.pdf, Float(0));
        return { ds, depolarize(weight) };
    }

    Float pdf_direction(const Interaction &it, const DirectionSample &ds,
                        const Mask &active) const override {
        return select(dot(ds.d, ds.n) < 0, m_shape->pdf_direction(it, ds, active), Float(0));
    }

    Spectrum eval_direction(const Interaction &it, const DirectionSample &ds,
                            const Mask &active) const override {
        Spectrum value = m_radiance->eval(interaction_at(ds, it.wavelengths), active);
        return depolarize(select(dot(ds.d, ds.n) < 0, value, Spectrum(0)));
    }

    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength,
                                        const Vector2 &position, const Vector2 &direction,
                                        const Mask &active) const override {
        auto [ps, area] = sample_position(time, position, active);
        SurfaceInteraction si = interaction_at(ps, {});
        auto [wavelengths, radiance] = sample_wavelengths(si, wavelength, active);
        si.wavelengths = wavelengths;
        Vector3 d = square_to_cosine_hemisphere(direction);
        return { si.spawn_ray(si.to_world(d)), radiance * (area * Pi) };
    }
    std::pair<Wavelengths, Spectrum> sample_wavelengths(const SurfaceInteraction &si,
                                                        const Float &u,
                                                        const Mask &active) const override {
        return sample_emission(*m_radiance, si, u, active);
    }

private:
    Ref<Texture> m_radiance;
};

UMBEL_PLUGIN(Emitter, Area, "area")
} // namespace umbel
