// render/sensor.h: what looks at the scene.
#pragma once
#include "core/animated_transform.h"
#include "render/endpoint.h"
#include "render/film.h"
#include "render/sampler.h"

namespace umbel {

class Texture;

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
    /// Whether it is made of several, of which sample_position() and sample_direction() choose one.
    virtual bool is_several() const { return false; }
    /// Whether these two take random numbers.
    bool needs_position_sample() const { return needs_aperture_sample() || is_several(); }
    bool needs_time_sample() const { return m_shutter_close > m_shutter_open; }

    /// Draws what sample_ray() needs for a pixel of the whole image: a place from the reconstruction filter around it, or, if not
    /// `filtered`, anywhere in the pixel. Pixels beyond the left and upper edge are negative, as bits.
    CameraSample draw(SampleStream &sampler, const UInt32 &x, const UInt32 &y, bool filtered,
                      const Mask &active) const;
    /// Within the time that the shutter is open.
    Float sample_time(const Float &u) const;

    /// By the sensor's own response if it has one, else as the film says.
    std::pair<Wavelengths, Spectrum> sample_wavelengths(const SurfaceInteraction &, const Float &u,
                                                        const Mask &active) const override;
    /// Whether it, or its film, is sensitive to other wavelengths than the eye.
    bool has_response() const { return m_srf || film().response(); }
    /// How much it responds to light of these wavelengths; the film's response comes on top.
    Spectrum response(const Wavelengths &w, const Mask &active) const;
    /// The weight of sample_wavelengths(): the response over the density of wavelengths.
    Spectrum wavelength_weight(const Wavelengths &w, const Mask &active) const;
    /// As part of another one, whose response and film count for all of them.
    void measure_for(const Sensor &whole);

    bool is_moving() const { return m_to_world.transforms.size() > 1; }
    /// Whether each of its rays moves as to_world does.
    virtual bool rays_follow_to_world() const { return true; }
    /// Whether scripts follow derivatives of to_world.
    bool follows_to_world() const { return m_to_world_array.grad_id() != 0; }
    /// Takes them up, as Arena::follow_shapes does: from where the sensor is to where it is, an identity of 12 numbers. None if
    /// nothing is followed.
    Float follow_to_world() const;
    /// As it was taken up last.
    const Float &followed_to_world() const { return m_followed; }
    /// While one lives, what a sensor says of itself has derivatives of to_world, as scripts expect that ask it. Rays of images get
    /// theirs by FollowedCamera.
    class FollowedAnswers {
    public:
        FollowedAnswers();
        ~FollowedAnswers();
        FollowedAnswers(const FollowedAnswers &) = delete;
        FollowedAnswers &operator=(const FollowedAnswers &) = delete;
    };
    void changed(std::span<const std::string> names) override;

    struct Reach {
        Float near, far;
        UMBEL_STRUCT(near, far)
    };
    /// Between which distances from ds.p on it sees things along -ds.d: nothing nearer hides what is behind it.
    virtual Reach reach(const DirectionSample &ds, const Mask &active) const;

    /// The direction that is up in the image.
    Vector3 up(const Float &time) const;

    Film &film() const { return *m_film; }
    Sampler &sampler() const { return *m_sampler; }
    const Ref<Film> &film_ref() const { return m_film; }
    const Ref<Sampler> &sampler_ref() const { return m_sampler; }

protected:
    /// All that declare() does, but for where the sensor is.
    void declare_measurement(Params &p);

    Transform to_world_at(const Float &time, const Mask &active = true) const;

    AnimationData m_to_world;
    double m_shutter_open = 0, m_shutter_close = 0;
    Float m_open_time, m_open_duration; // the shutter, as data of the program
    Ref<Film> m_film;
    Ref<Sampler> m_sampler;
    Ref<Texture> m_srf; // null: responds to all light alike

private:
    AnimatedTransform m_transform; // m_to_world; set by configure()

    /// The film that samples end up in.
    const Film &measuring_film() const { return m_film_of_all ? *m_film_of_all : *m_film; }

    Ref<Film> m_film_of_all;   // of the sensor that this one is part of, else null
    double m_shutter_time = 0; // from opening to closing
    Value m_to_world_array;    // as scripts have set it; else none
    mutable Float m_followed;
};

} // namespace umbel
