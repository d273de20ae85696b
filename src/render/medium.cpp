// render/medium.cpp: sampling distances in media.
#include "render/medium.h"
#include "ad/ad.h"
#include "render/channel_choice.h"
#include "render/majorant_grid.h"
#include "render/marching.h"
#include "render/replay.h"
#include <optional>

namespace umbel {

namespace {

constexpr double Infinity = std::numeric_limits<double>::infinity();
// So far that whatever is there is opaque; 0 times it is 0.
constexpr double Far = 1e30;

// Null where distances are tracked.
const Float *march_step(const Medium &medium, const Tracing &how) {
    auto *marched = dynamic_cast<const Marched *>(&medium);
    const Float *step = marched ? marched->march_step() : nullptr;
    if (step && how.is_differentiable)
        medium.complain("`method` simpson has no derivatives; use woodcock");
    return step;
}

// While one lives, what is to be differentiated along the way is followed.
class Followed {
public:
    explicit Followed(const Tracing &how) {
        if (how.derivative)
            m_scope.emplace();
    }

private:
    std::optional<ad::ResumeGrad> m_scope;
};

} // namespace

void Medium::declare(Params &p) {
    p.object(p.traversing() ? "phase_function" : "phase", m_phase)
        .doc("How it scatters light; `isotropic` if absent");
    p.boolean("sample_emitters", m_sample_emitters, true)
        .doc("Whether paths that collide in it connect to lights; of no use behind a refracting "
             "surface");
    if (p.loading() && !m_phase)
        m_phase =
            p.loader()->load_as<PhaseFunction>(std::make_shared<Properties>("phase", "isotropic"));
}

void Medium::declare_spectral_extinction(Params &p) {
    p.boolean("has_spectral_extinction", m_has_spectral_extinction, true)
        .doc("Whether channels differ in extinction; if not, distances are sampled for the first "
             "one alone");
}

Medium::Extent Medium::extent(const Ray &ray) const { return { Mask(true), Float(0), ray.maxt }; }

// Where a ray begins to meet it; nothing has collided yet.
MediumInteraction Medium::enter(const Ray &ray, const Extent &e, const Mask &active) const {
    MediumInteraction mei;
    mei.t = Float(Infinity);
    mei.mint = e.mint;
    mei.p = ray(e.mint);
    mei.n = Vector3(Float(0));
    mei.time = ray.time;
    mei.wavelengths = ray.wavelengths;
    mei.medium = UInt32(0u);
    mei.wi = -ray.d;
    mei.sh_frame = Frame(mei.wi);
    mei.sigma_s = mei.sigma_n = mei.sigma_t = Spectrum(0);
    mei.majorant = majorant(mei, active & e.is_met);
    return mei;
}

Medium::Extent Medium::extent_within(const Ray &ray) const {
    Extent e = extent(ray);
    e.is_met = e.is_met & (e.mint < ray.maxt) & (e.maxt > 0);
    e.mint = select(e.is_met, max(e.mint, 0), Float(0));
    e.maxt = select(e.is_met, min(e.maxt, ray.maxt), Float(0));
    return e;
}

MediumInteraction Medium::sample_interaction(const Ray &ray, const Float &u, const UInt32 &channel,
                                             const Mask &active) const {
    Extent e = extent_within(ray);
    MediumInteraction mei = enter(ray, e, active);
    Float t = mei.mint - log(1 - u) / Float(ad::detach(channel_of(mei.majorant, channel)));
    Mask collides = active & e.is_met & (t < e.maxt); // not where the majorant is 0
    mei.t = select(collides, t, Float(Infinity));
    mei.p = ray(select(collides, t, mei.mint));
    Coefficients c = scattering_coefficients(mei, collides);
    mei.sigma_s = c.sigma_s;
    mei.sigma_n = c.sigma_n;
    mei.sigma_t = c.sigma_t;
    return mei;
}

std::pair<Spectrum, Spectrum> Medium::transmittance_eval_pdf(const MediumInteraction &mei,
                                                             const Float &end) const {
    Float t = min(max(min(mei.t, end) - mei.mint, 0), Far);
    Spectrum tr = map(mei.majorant, [&](const Float &m) { return exp(-(m * t)); });
    return { tr, select(mei.t < end, tr * mei.majorant, tr) };
}

// ---- the whole way

// Up to a collision, or the distance `end`, both of which stay where they are.
Spectrum Medium::differentiate_homogeneous(MediumInteraction mei, const Float &end,
                                           const Mask &active,
                                           const PassingDerivative &derivative) const {
    ad::ResumeGrad follow;
    mei.majorant = majorant(mei, active);
    return derivative.of(transmittance_eval_pdf(mei, end).first, active);
}

MediumSample Medium::sample_homogeneous(const Ray &ray, SampleStream &sampler, const Mask &active,
                                        const Tracing &how) const {
    const UInt32 *channel = how.channel;
    bool one = variant().channels() == 1 || !m_has_spectral_extinction;
    UInt32 c = one ? UInt32(0u) : channel ? *channel : choose_channel(sampler.next_1d());
    MediumSample s;
    s.mei = sample_interaction(ray, sampler.next_1d(), c, active);
    auto [tr, pdf] = transmittance_eval_pdf(s.mei, extent_within(ray).maxt);
    Float density = channel || one ? channel_of(pdf, c) : mean(pdf);
    s.weight = over(tr, density);
    s.ratio = Spectrum(1);
    s.passing_ratio = Float(1);
    s.tangent = Spectrum(0);
    if (channel) {
        s.ratio = over(pdf, density);
        s.passing_ratio = over(Spectrum(1), density)[0];
    }
    if (how.derivative)
        s.tangent =
            differentiate_homogeneous(s.mei, extent_within(ray).maxt, active, *how.derivative);
    return s;
}

/// A ray on its way from one tentative collision to the next.
class Medium::Tracking {
public:
    struct State {
        SampleStream sampler;
        MajorantGrid::Walk walk;
        Float bound;      // where it is; 0 at its end
        Spectrum sigma_t; // likewise
        Mask active;
        UMBEL_STRUCT(sampler, walk, bound, sigma_t, active)

        /// The probability of a real collision, for each channel.
        Spectrum real() const {
            return map(sigma_t, [&](const Float &s) { return min(s / bound, 1); });
        }
    };

    Tracking(const Medium &medium, const Ray &ray, const Mask &active, bool raised)
        : m_medium(medium), m_ray(ray), m_grid(medium.bounds_by_cell()), m_raised(raised) {
        Extent e = medium.extent_within(ray);
        m_begin = medium.enter(ray, e, active);
        if (m_grid) {
            m_path = m_grid->path_of(ray);
            return;
        }
        m_path.mint = e.mint;
        m_path.length = e.maxt - e.mint;
        m_bound = Float(ad::detach(max_component(m_begin.majorant)));
        if (raised)
            m_bound = m_bound * MajorantGrid::Raised;
    }

    State begin(const SampleStream &sampler, const Mask &active) const {
        MajorantGrid::Walk walk{ Float(0), Vector3(Float(0)), UInt32(0u) };
        if (m_grid)
            walk = m_grid->enter(m_path, m_ray);
        return { sampler, walk, Float(0), Spectrum(0), active };
    }
    /// Returns where it collides.
    Mask next(State &s) const {
        Float depth = -log(1 - s.sampler.next_1d());
        if (m_grid) {
            s.bound = m_grid->follow(m_path, s.walk, depth, m_raised, s.active);
        } else {
            Float t = s.walk.t + depth / m_bound; // infinite where that is 0
            Mask ends = !(t < m_path.length);
            s.walk.t = select(ends, m_path.length, t);
            s.bound = select(ends, Float(0), m_bound);
        }
        Mask collides = s.active & (s.bound > 0);
        s.sigma_t = m_medium.extinction(at(s), collides);
        return collides;
    }
    MediumInteraction at(const State &s) const {
        MediumInteraction mei = m_begin;
        mei.t = m_path.mint + s.walk.t;
        mei.p = m_ray(mei.t);
        return mei;
    }
    const MediumInteraction &begin_of_medium() const { return m_begin; }

private:
    const Medium &m_medium;
    const Ray &m_ray;
    const MajorantGrid *m_grid;
    const bool m_raised;
    MajorantGrid::Path m_path;
    Float m_bound; // where there is no grid
    MediumInteraction m_begin;
};

MediumSample Medium::sample(const Ray &ray, SampleStream sampler, const Mask &active,
                            const Tracing &how) const {
    const UInt32 *channel = how.channel;
    auto finish = [&](MediumSample &s, const Mask &collided) {
        s.emission = is_emissive() ? emission(s.mei, collided) : Spectrum(0);
        s.samples_emitters = Mask(m_sample_emitters);
        s.state = sampler.state;
        return s;
    };
    if (is_homogeneous()) {
        MediumSample s = sample_homogeneous(ray, sampler, active, how);
        return finish(s, active & s.mei.is_valid());
    }
    if (const Float *step = march_step(*this, how)) {
        Extent e = extent_within(ray);
        MediumSample s =
            march_sample(*this, ray, e, enter(ray, e, active), *step, sampler, active, channel);
        return finish(s, active & s.mei.is_valid());
    }
    struct State {
        Tracking::State at;
        Spectrum weight, ratio;
        Float passing_ratio;
        Spectrum tangent;
        Mask active;
        UMBEL_STRUCT(at, weight, ratio, passing_ratio, tangent, active)
    };
    Tracking way(*this, ray, active, how.is_differentiable);
    State s{ way.begin(sampler, active), Spectrum(1), Spectrum(1), Float(1), Spectrum(0), active };
    s = jit::loop(
        s, [](const State &s) { return s.active; },
        [&](State &s) {
            s.at.active = s.active;
            Followed followed(how);
            Mask collides = way.next(s.at);
            const Float &bound = s.at.bound;
            Spectrum real = s.at.real(), fixed = detached(real); // probabilities
            Float p = channel ? channel_of(fixed, *channel) : mean(fixed);
            Mask is_real = s.at.sampler.next_1d() < p;
            Mask found = collides & is_real, null = collides & !is_real;
            Float chance = select(is_real, p, 1 - p);
            s.weight = select(found, s.weight / (bound * chance), s.weight);
            s.weight = select(null, over(s.weight * (Spectrum(1) - real), chance), s.weight);
            if (channel) {
                s.ratio = select(found, over(s.ratio * fixed, chance), s.ratio);
                s.ratio = select(null, over(s.ratio * (Spectrum(1) - fixed), chance), s.ratio);
                s.passing_ratio = select(null, s.passing_ratio / chance, s.passing_ratio);
            }
            if (how.derivative) {
                s.tangent += how.derivative->of(Spectrum(1) - real, null);
                s.at = detached(s.at);
                s.weight = detached(s.weight);
            }
            s.active = null & any_nonzero(s.weight);
        },
        "medium");
    sampler = s.at.sampler;
    // A path that has lost all light has not collided, either
    Mask found = active & (s.at.bound > 0) & any_nonzero(s.weight);
    MediumSample result;
    MediumInteraction mei = way.at(s.at), begin = way.begin_of_medium();
    mei.sigma_s = scattering(mei, s.at.sigma_t, found);
    mei.sigma_t = s.at.sigma_t;
    mei.majorant = Spectrum(s.at.bound);
    mei.sigma_n = mei.majorant - mei.sigma_t;
    mei.t = select(found, mei.t, Float(Infinity));
    mei.p = select(found, mei.p, begin.p);
    result.mei = mei;
    result.weight = s.weight;
    result.ratio = s.ratio;
    result.passing_ratio = s.passing_ratio;
    result.tangent = s.tangent;
    return finish(result, found);
}

Spectrum Medium::transmittance(const Ray &ray, SampleStream &sampler, const Mask &active,
                               const Tracing &how) const {
    if (is_homogeneous()) {
        Extent e = extent_within(ray);
        MediumInteraction mei = enter(ray, e, active);
        return how.derivative ? differentiate_homogeneous(mei, e.maxt, active, *how.derivative)
                              : transmittance_eval_pdf(mei, e.maxt).first;
    }
    if (const Float *step = march_step(*this, how)) {
        Extent e = extent_within(ray);
        return march_transmittance(*this, ray, e, enter(ray, e, active), *step, active);
    }
    struct State {
        Tracking::State at;
        Spectrum weight; // or its derivative
        Mask active;
        UMBEL_STRUCT(at, weight, active)
    };
    Tracking way(*this, ray, active, how.is_differentiable);
    State s{ way.begin(sampler, active), Spectrum(how.derivative ? 0 : 1), active };
    s = jit::loop(
        s, [](const State &s) { return s.active; },
        [&](State &s) {
            s.at.active = s.active;
            Followed followed(how);
            Mask collides = way.next(s.at);
            Spectrum null = Spectrum(1) - s.at.real();
            if (how.derivative) {
                s.weight += how.derivative->of(null, collides);
                s.at = detached(s.at);
                s.active = collides;
                return;
            }
            s.weight = select(collides, s.weight * null, s.weight);
            s.active = collides & any_nonzero(s.weight);
        },
        "transmittance");
    sampler = s.at.sampler;
    return s.weight;
}

} // namespace umbel
