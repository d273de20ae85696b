// irradiancemeter: measures the light that falls on the surface it is attached to.
//
// Each pixel shows the mean irradiance of the surface's front side, in W / m^2, over the part of it that the pixel's place on
// the film is mapped to by the shape's sampling of positions; a film of one pixel, over all of it.
#include "core/warp.h"
#include "render/sensor.h"

namespace umbel {

class IrradianceMeter final : public Sensor {
public:
    void declare(Params &p) override {
        p.example("");
        Sensor::declare(p);
        if (p.loading() && p.properties()->has("to_world"))
            fail("{}: stands where its surface does; remove to_world, and move that",
                 p.properties()->describe());
    }
    void attach(const Shape *shape) override {
        if (m_shape)
            complain("is attached to two shapes; give each a sensor of its own");
        m_shape = shape;
    }
    uint32_t flags() const override { return EndpointFlags::Surface; }
    bool needs_aperture_sample() const override { return true; }
    bool rays_follow_to_world() const override { return false; } // but the surface

    std::pair<Ray, Spectrum> sample_ray(const Float &time, const Float &wavelength,
                                        const Vector2 &position, const Vector2 &direction,
                                        const Mask &active) const override {
        SurfaceInteraction si =
            interaction_at(surface().sample_position(time, position, active), {});
        auto [wavelengths, weight] = sample_wavelengths(si, wavelength, active);
        si.wavelengths = wavelengths;
        Ray ray = si.spawn_ray(si.to_world(square_to_cosine_hemisphere(direction)));
        return { ray, weight * Pi };
    }

    std::pair<DirectionSample, Spectrum> sample_direction(const Interaction &it, const Vector2 &u,
                                                          const Mask &active) const override {
        DirectionSample ds = surface().sample_direction(it, u, active);
        Mask good = active & (dot(ds.d, ds.n) < 0) & (ds.pdf > 0);
        Spectrum weight(select(good, importance() / ds.pdf, Float(0)));
        ds.pdf = select(good, ds.pdf, Float(0));
        ds.uv = { Float(0.5), Float(0.5) }; // the only pixel
        return { ds, weight };
    }
    Float pdf_direction(const Interaction &it, const DirectionSample &ds,
                        const Mask &active) const override {
        return select(dot(ds.d, ds.n) < 0, surface().pdf_direction(it, ds, active), Float(0));
    }
    Spectrum eval_direction(const Interaction &, const DirectionSample &ds,
                            const Mask &) const override {
        return Spectrum(select(dot(ds.d, ds.n) < 0, importance(), Float(0)));
    }
    Spectrum eval(const SurfaceInteraction &si, const Mask &) const override {
        return Spectrum(select(si.wi.z > 0, importance(), Float(0)));
    }

private:
    const Shape &surface() const {
        if (!m_shape)
            complain("belongs to no surface; put it inside of a shape");
        return *m_shape;
    }
    Float importance() const {
        const Film::Crop &crop = m_film->crop();
        if (crop.width != 1 || crop.height != 1)
            complain("light that is followed from its source falls on a film of one pixel, and "
                     "this one has "
                     "{} x {}",
                     crop.width, crop.height);
        return opaque_float(1 / surface().area());
    }
};

UMBEL_PLUGIN(Sensor, IrradianceMeter, "irradiancemeter")
} // namespace umbel
