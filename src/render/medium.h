// render/medium.h: what fills space, and scatters, absorbs and emits light along the way.
//
// A medium answers three questions about a place: its scattering, its extinction, and a bound of that, the majorant. All else
// follows from them. Where the extinction is less than the majorant, the difference is filled up with null collisions, which
// have no effect: distances are sampled as if the medium were homogeneous (delta tracking [Woodcock 1965]), and transmittance
// is estimated by what null collisions leave over (ratio tracking [Novak 2014]).
//
// The extinction may differ between channels. In homogeneous media a distance is sampled for one channel, chosen at random, and
// weighted by the mean of all channels' densities: so no channel's weight exceeds their number. In others the bound is that of
// all channels, and a collision is real with the mean of their probabilities. An integrator that weights whole paths in this
// way chooses the channel itself, and is told how likely the others would have found the same.
#pragma once
#include "render/phase.h"
#include "render/sampler.h"
#include "render/volume.h"

namespace umbel {

class MajorantGrid;
struct PassingDerivative;

/// What became of light on its way along a ray.
struct MediumSample {
    MediumInteraction mei; // the collision; t is infinity where there was none up to the ray's end
    Spectrum weight;       // transmittance over the density of it all, plain
    Spectrum emission;     // radiance per unit of length there, plain
    Mask samples_emitters; // see Medium::use_emitter_sampling
    SamplerState state;    // of the sampler that was used
    // Where a channel was given: the density of this for each channel over that for the given one, and the density of
    // Medium::transmittance() over it
    Spectrum ratio;
    Float passing_ratio;
    Spectrum
        tangent; // where a derivative was asked for, in forward mode: of the weight's logarithm
    UMBEL_STRUCT(mei, weight, emission, samples_emitters, state, ratio, passing_ratio, tangent)
};

/// How light is followed along a ray.
struct Tracing {
    /// If given, distances are sampled for this channel alone.
    const UInt32 *channel = nullptr;
    /// Null collisions happen wherever light gets, also where the extinction is equal to its bound, or both are zero: the
    /// derivative of what passes has no other way to be found.
    bool is_differentiable = false;
    /// If given, what passes is differentiated along the way. Nothing else is.
    const PassingDerivative *derivative = nullptr;
};

class Medium : public Object {
public:
    static constexpr const char *Kind = "medium";

    /// The phase function, sample_emitters; derived classes call it first.
    void declare(Params &p) override;

    struct Coefficients {
        Spectrum sigma_s, sigma_n, sigma_t; // sigma_n + sigma_t is the majorant
    };
    // ---- what a medium is; all plain. Microflakes depend on mei.wi, too.
    /// At least the extinction anywhere on the ray to mei.
    virtual Spectrum majorant(const MediumInteraction &mei, const Mask &active) const = 0;
    virtual Coefficients scattering_coefficients(const MediumInteraction &mei,
                                                 const Mask &active) const = 0;
    /// That of scattering_coefficients().
    virtual Spectrum extinction(const MediumInteraction &mei, const Mask &active) const {
        return scattering_coefficients(mei, active).sigma_t;
    }
    /// Likewise, of scattering, where the extinction is known.
    virtual Spectrum scattering(const MediumInteraction &mei, const Spectrum & /*sigma_t*/,
                                const Mask &active) const {
        return scattering_coefficients(mei, active).sigma_s;
    }
    /// Of all channels; null where there is but the one bound.
    virtual const MajorantGrid *bounds_by_cell() const { return nullptr; }
    /// Radiance that it emits per unit of length; zero where the extinction is.
    virtual Spectrum emission(const MediumInteraction &, const Mask &) const { return Spectrum(0); }
    virtual bool is_emissive() const { return false; }
    /// The part of a ray that can meet it.
    struct Extent {
        Mask is_met;
        Float mint, maxt;
    };
    virtual Extent extent(const Ray &ray) const;
    /// Whether coefficients of extinction are the same everywhere: there are no null collisions.
    virtual bool is_homogeneous() const { return false; }
    /// Whether channels differ in extinction. If not, distances are those of the first one.
    bool has_spectral_extinction() const { return m_has_spectral_extinction; }
    /// Whether paths that collide connect to lights; of no use behind glass.
    bool use_emitter_sampling() const { return m_sample_emitters; }
    const PhaseFunction &phase_function() const { return *m_phase; }
    const Ref<PhaseFunction> &phase_ref() const { return m_phase; }

    // ---- single steps
    /// A tentative collision on a ray, at a distance sampled from the majorant of a channel; t is infinity where the ray ends
    /// before.
    MediumInteraction sample_interaction(const Ray &ray, const Float &u, const UInt32 &channel,
                                         const Mask &active) const;
    /// As if the majorant were the extinction: the part of light that gets to the collision, or to the distance `end` where that
    /// comes first, and the density of it (then, probability), each for each channel.
    std::pair<Spectrum, Spectrum> transmittance_eval_pdf(const MediumInteraction &mei,
                                                         const Float &end) const;

    // ---- the whole way along a ray
    /// The first collision that is not a null one.
    MediumSample sample(const Ray &ray, SampleStream sampler, const Mask &active,
                        const Tracing &how = {}) const;
    /// An estimate of the part of light that passes; exact where the medium is homogeneous. Where it is differentiated, the
    /// tangent of its logarithm in its place.
    Spectrum transmittance(const Ray &ray, SampleStream &sampler, const Mask &active,
                           const Tracing &how = {}) const;

protected:
    void declare_spectral_extinction(Params &p);

    Ref<PhaseFunction> m_phase; // never null after loading
    bool m_sample_emitters = true, m_has_spectral_extinction = true;

private:
    Extent extent_within(const Ray &ray) const;
    MediumInteraction enter(const Ray &ray, const Extent &e, const Mask &active) const;
    MediumSample sample_homogeneous(const Ray &ray, SampleStream &sampler, const Mask &active,
                                    const Tracing &how) const;
    Spectrum differentiate_homogeneous(MediumInteraction mei, const Float &end, const Mask &active,
                                       const PassingDerivative &derivative) const;
    class Tracking;
};

} // namespace umbel
