// collimated: a beam without width: all of its power travels along one ray.
//
// The beam leaves the origin of its own space along +z. No connection finds it: integrators that follow light from its source,
// such as `ptracer`, see what it hits.
#include "render/placed_emitter.h"

namespace umbel {

class Collimated final : public PlacedEmitter {
public:
    void declare(Params &p) override {
        p.example("<transform name='to_world'><lookat origin='2, 2, 3' target='0, 0, 0' "
                  "up='0, 1, 0'/></transform>");
        Emitter::declare(p);
        p.emission("power", m_power, 1).differentiable().doc("Power of the beam, in W");
        declare_to_world(p).doc("From the beam's space to the scene's");
    }
    void configure() override {
        PlacedEmitter::configure();
        if (m_power->is_spatially_varying())
            complain("power is a texture ({}) that varies; a beam has no width: give a colour, a "
                     "spectrum or a number",
                     m_power->plugin());
    }
    uint32_t flags() const override {
        return EndpointFlags::DeltaPosition | EndpointFlags::DeltaDirection;
    }
    bool is_connectable() const override { return false; }
    BoundingBox bounds() const override { return swept_bounds({ 0, 0, 0 }); }

    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength, const Vector2 &,
                                        const Vector2 &, const Mask &active) const override {
        auto [wavelengths, power] = sample_wavelengths({}, wavelength, active);
        Float infinity(std::numeric_limits<double>::infinity());
        PositionSample ps = position(time, active);
        return { Ray{ ps.p, ps.n, infinity, time, wavelengths }, power };
    }
    std::pair<PositionSample, Float> sample_position(const Float &time, const Vector2 &,
                                                     const Mask &active) const override {
        return { position(time, active), Float(1) };
    }
    Float pdf_position(const PositionSample &, const Mask &) const override { return 0; }
    std::pair<DirectionSample, Spectrum> sample_direction(const Interaction &it, const Vector2 &,
                                                          const Mask &active) const override {
        DirectionSample ds{ position(it.time, active), {}, Float(0), UInt32(0u) };
        Vector3 v = ds.p - it.p;
        ds.dist = norm(v);
        ds.d = v * rcp(ds.dist);
        ds.pdf = Float(0);
        return { ds, Spectrum(0) };
    }
    Spectrum eval_direction(const Interaction &, const DirectionSample &,
                            const Mask &) const override {
        return Spectrum(0);
    }
    std::pair<Wavelengths, Spectrum> sample_wavelengths(const SurfaceInteraction &, const Float &u,
                                                        const Mask &active) const override {
        SurfaceInteraction si;
        si.p = position(Float(0), active).p;
        si.uv = { Float(0), Float(0) };
        return sample_emission(*m_power, si, u, active);
    }

private:
    // With the beam's direction as its normal.
    PositionSample position(const Float &time, const Mask &active) const {
        Transform place = to_world(time, active);
        return { place.translation(),
                 normalize(place.vector({ Float(0), Float(0), Float(1) })),
                 { Float(0), Float(0) },
                 time,
                 Float(1),
                 Mask(true) };
    }

    Ref<Texture> m_power;
};

UMBEL_PLUGIN(Emitter, Collimated, "collimated")
} // namespace umbel
