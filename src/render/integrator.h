// render/integrator.h: what turns rays into numbers for the film.
#pragma once
#include "ad/ad.h"
#include "render/replay.h"
#include "render/scene.h"
#include <atomic>

namespace umbel {

class Integrator;
struct NestedRadiance;

/// What one sample contributes.
struct Radiance {
    Spectrum L;
    Mask valid;              // whether the ray met anything: the alpha channel
    std::vector<Float> aovs; // as many as aov_names()
    /// What differentiate() of the same integrator needs to know of it; nobody else's business.
    std::vector<Value> replay = {};
    std::vector<NestedRadiance> nested = {}; // likewise, of integrators inside of it
    UMBEL_STRUCT(L, valid, aovs, replay, nested)
};

/// What an integrator inside another one has contributed, and the random numbers that it began with.
struct NestedRadiance {
    SampleStream sampler;
    Radiance radiance;
    UMBEL_STRUCT(sampler, radiance)
};

/// Derivatives of, or by, the numbers of a Radiance.
struct RadianceDerivative {
    Spectrum L;
    std::vector<Float> aovs;
};

/// The weight of a sample of density `a` among two techniques, the other of density `b`: the power heuristic [Veach 1995].
inline Float mis_weight(const Float &a, const Float &b) {
    Float a2 = a * a, w = a2 / fma(b, b, a2);
    return select(w > 0, w, Float(0)); // 0 / 0 is nothing
}

/// What the driver hands to an integrator: a launch, whose lanes stand for samples of pixels, and where results go.
class Pass {
public:
    Pass(const Scene &scene, const Sensor &sensor) : scene(scene), sensor(sensor) {}
    virtual ~Pass() = default;

    const Scene &scene;
    const Sensor &sensor;
    // Of each lane
    SampleStream sampler;
    Ray ray; // from the camera; its weight is the driver's business
    Mask active;
    int group = 0; // of samples, from 0 on; a launch takes it of all pixels, or of some
    /// What the launch before has left here for the next one, as arrays of any size: chains of paths, radii around photons. Nothing
    /// at first, also in each of several parts of a render. Checkpoints hold it. See Integrator::carries.
    std::vector<Value> carried;

    /// What each lane saw, to the image. Once at most.
    virtual void add(const Radiance &r) = 0;
    /// Light that falls on some place of the film, such as DirectionSample::uv of a camera, in pixels of the crop window: what
    /// one path of as many as there are samples of all pixels brings. Of the same bits however lanes are run, if called outside
    /// of recorded loops.
    virtual void splat(const Vector2 &place, const Spectrum &L, const Wavelengths &wavelengths,
                       SampleStream &sampler, const Mask &active) = 0;
    /// To be asked between kernels of a launch that takes several, with nothing recorded left to be evaluated: waits for those
    /// under way. False: return; nothing that the launch has done counts.
    virtual bool go_on() { return true; }
};

/// What a derivative's second pass needs: see Integrator::boundary.
struct BoundaryPass {
    ad::Mode mode;
    const Scene &scene;
    const Sensor &sensor;
    std::array<size_t, 3> shape; // of the image: rows, columns, channels
    Film::Crop crop;             // what it shows of the film
    Float gradient;              // in reverse mode, of the image's numbers
    const Sampler &sampler;
    UInt32 seed;                      // not that of the first pass
    int spp;                          // samples a pixel that the image was asked for with
    std::function<void()> pause = {}; // see between()
    /// Whose sample() makes all channels of the image; null: the one that is asked.
    const Integrator *whole = nullptr;

    /// To be called between launches: waits for those under way, and may throw.
    void between() const {
        if (pause)
            pause();
    }

    /// Random numbers of lanes that stand for samples of whatever is numbered.
    SampleStream stream(const UInt32 &number, const UInt32 &sample) const {
        return { &sampler, sampler.begin(seed, number, sample) };
    }
};

class Integrator : public Object {
public:
    static constexpr const char *Kind = "integrator";

    void declare(Params &p) override;
    /// Samples of a pixel that a launch has at most; 0 or less: the driver's own number.
    int samples_per_pass() const { return m_samples_per_pass; }
    /// How much of a task is done, from 0 to 1; false: stop, its result is not wanted.
    using Progress = std::function<bool(double)>;
    /// Builds what render() and sample() need of the scene: maps of photons, clouds of points, caches. Called before the first
    /// launch of a render, unless it was called for the scene as it is. False if it was stopped.
    virtual bool prepare(const Scene &, const Progress &) const { return true; }
    /// prepare(), if need be.
    bool make_ready(const Scene &scene, const Progress &progress) const;
    /// A launch: here, the radiance along the camera's rays.
    virtual void render(Pass &pass) const {
        pass.add(sample(pass.scene, pass.sampler, pass.ray, pass.sensor.medium(), pass.active));
    }
    /// Whether render() splats.
    virtual bool splats() const { return false; }
    /// Whether render() leaves anything for the next launch, in Pass::carried: then launches are as large as memory allows, whatever
    /// else they are asked to be, and each is traced.
    virtual bool carries() const { return false; }
    /// Whether all launches do the same to other samples: then one of them is traced, and run again for the others.
    virtual bool repeats() const { return !is_scripted(); }
    /// Radiance along a ray that begins in a medium, or in none (null); an error for methods that follow light alone.
    virtual Radiance sample(const Scene &scene, SampleStream &sampler, const Ray &ray,
                            const Medium *medium, const Mask &active) const;
    /// Differentiates sample() with the random numbers of `sampler`, given what it returned for them: here, all of its
    /// arithmetic. In reverse mode, adds the derivatives of `gradient` times what sample() returns to the gradients of all that
    /// is followed; in forward mode, returns tangents.
    virtual RadianceDerivative differentiate(ad::Mode mode, const Scene &scene,
                                             SampleStream sampler, const Ray &ray,
                                             const Medium *medium, const Radiance &primal,
                                             const RadianceDerivative &gradient,
                                             const Mask &active) const;
    /// Of it and those inside, the first whose differentiate() does not know that rays move with the camera; null: all know. See
    /// FollowedCamera.
    virtual const Integrator *ignores_camera() const { return this; }
    /// The part of the derivative that differentiate() cannot see: where shapes move, things come into sight and go out of it,
    /// which is an integral over boundaries. Called once, after differentiate() of all samples: in reverse mode, adds to the
    /// gradients of all that is followed; in forward mode, returns the tangent of the image's numbers, or nothing. Here,
    /// there is none.
    virtual Float boundary(const BoundaryPass &) const { return {}; }
    /// Whether it knows of any.
    virtual bool has_boundary() const { return false; }
    /// Samples a pixel that differentiate() is to see, where the image has so many; 0: boundary() is all there is.
    virtual int continuous_samples(int spp) const { return spp; }
    /// Channels beyond the colour.
    virtual std::vector<std::string> aov_names() const { return {}; }
    /// Whether it computes a colour; if not, the channels beyond are all that scripts get.
    virtual bool has_colour() const { return true; }

    /// Ends renders by it between two launches, from any thread; their images are of what has been collected so far. Derivatives,
    /// of which a part is of no use, end with a UserError.
    void cancel() const { m_is_cancelled = true; }
    bool should_stop() const { return m_is_cancelled; }
    /// A render begins.
    void resume() const { m_is_cancelled = false; }

    bool hide_emitters() const { return m_hide_emitters; }
    virtual void set_hide_emitters(bool hide);

protected:
    /// UserError in variants whose light has no derivatives.
    void refuse_polarization() const;

    bool m_hide_emitters = false;
    int m_samples_per_pass = -1;

private:
    mutable std::atomic<bool> m_is_cancelled = false;
    mutable const Scene *m_prepared_for = nullptr;
    mutable uint64_t m_prepared_at = 0; // see changes()
};

} // namespace umbel
