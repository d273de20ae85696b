// render/sensor.h: what looks at the scene.
#pragma once
#include "core/animated_transform.h"
#include "render/endpoint.h"
#include "render/film.h"
#include "render/sampler.h"

namespace umbel {

/// What a ray of a camera is made of.
struct CameraSample {
    Vector2 offset; // from the pixel's centre, in pixels
    Float weight;   // of the reconstruction filter
    Vector2 position, aperture;
    Float time, wavelength;
};

class Sensor : public Endpoint {
public:
    static constexpr const char *Kind = "sensor";

    void declare(Params &p) override;
    void configure() override;
    void child_changed() override { configure(); } // the film's size matters

    virtual bool needs_aperture_sample() const { return false; }
    bool needs_time_sample() const { return m_shutter_close > m_shutter_open; }

    /// Draws what sample_ray() needs for a pixel of the whole image: a place from the reconstruction filter around it, or, if not
    /// `filtered`, anywhere in the pixel. Pixels beyond the left and upper edge are negative, as bits.
    CameraSample draw(SampleStream &sampler, const UInt32 &x, const UInt32 &y, bool filtered,
                      const Mask &active) const;
    /// Within the time that the shutter is open.
    Float sample_time(const Float &u) const;

    /// As the film says.
    std::pair<Wavelengths, Spectrum> sample_wavelengths(const SurfaceInteraction &, const Float &u,
                                                        const Mask &active) const override {
        return film().sample_wavelengths(u, active);
    }

    /// Whether scripts follow derivatives of to_world.
    bool follows_to_world() const { return m_to_world_array.grad_id() != 0; }
    /// Takes them up, as Arena::follow_shapes does: from where the sensor is to where it is, an identity of 12 numbers. None if
    /// nothing is followed.
    Float follow_to_world() const;
    /// As it was taken up last.
    const Float &followed_to_world() const { return m_followed; }
    void changed(std::span<const std::string> names) override;

    /// The direction that is up in the image.
    Vector3 up(const Float &time) const;

    Film &film() const { return *m_film; }
    Sampler &sampler() const { return *m_sampler; }
    const Ref<Film> &film_ref() const { return m_film; }
    const Ref<Sampler> &sampler_ref() const { return m_sampler; }

protected:
    /// All that declare() does, but for where the sensor is.
    void declare_measurement(Params &p);

    AnimationData m_to_world;
    AnimatedTransform m_transform; // the same; set by configure()
    double m_shutter_open = 0, m_shutter_close = 0;
    Float m_open_time, m_open_duration; // the shutter, as data of the program
    Ref<Film> m_film;
    Ref<Sampler> m_sampler;

private:
    Value m_to_world_array; // as scripts have set it; else none
    mutable Float m_followed;
};

} // namespace umbel
