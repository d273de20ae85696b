// render/medium.cpp: sampling distances in media.
#include "render/medium.h"
#include "ad/ad.h"
#include "render/channel_choice.h"
#include "render/majorant_grid.h"
#include "render/marching.h"
#include "render/medium_sum.h"
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

// What a medium is a sum of where it varies, and the rest of it, which is homogeneous; null: nothing is left.
std::vector<const Medium *> parts_of(const Medium &medium) {
    auto *sum = dynamic_cast<const MediumSum *>(&medium);
    return sum ? sum->varying_parts() : std::vector<const Medium *>{ &medium };
}
const Medium *uniform_part_of(const Medium &medium) {
    auto *sum = dynamic_cast<const MediumSum *>(&medium);
    return sum ? sum->uniform_part() : nullptr;
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

/// A ray on its way from one tentative collision to the next. Parts of a sum have bounds of their own each, and the nearest
/// of their tentative collisions is the next one.
class Medium::Tracking {
public:
    struct State {
        SampleStream sampler;
        std::vector<MajorantGrid::Walk> walks; // of each part
        Float bound;                           // where it is; 0 at its end
        Spectrum sigma_t;                      // likewise
        Mask active;
        // Where there are several parts: the bound of each, which of them go on at the next step, which one is there
        std::vector<Float> bounds;
        std::vector<Mask> moves;
        UInt32 part;
        // Where only the rest is tracked: the least of each part where it is, and the depth of what was passed of all
        std::vector<Float> leasts, certain;
        UMBEL_STRUCT(sampler, walks, bound, sigma_t, active, bounds, moves, part, leasts, certain)

        /// The probability of a real collision, for each channel.
        Spectrum real() const {
            return map(sigma_t, [&](const Float &s) { return min(s / bound, 1); });
        }
    };
    enum class Of { All, Raised, Rest }; // see MajorantGrid
    class Uniform;

    Tracking(const Medium &medium, const Ray &ray, const Mask &active, Of what)
        : m_ray(ray), m_what(what), m_begin(medium.enter(ray, medium.extent_within(ray), active)) {
        for (const Medium *part : parts_of(medium))
            m_ways.push_back(way_of(*part, active));
    }

    State begin(const SampleStream &sampler, const Mask &active) const {
        State s{ sampler, {}, Float(0), Spectrum(0), active, {}, {}, UInt32(0u), {}, {} };
        for (const Way &way : m_ways) {
            MajorantGrid::Walk walk{ Float(0), Vector3(Float(0)), UInt32(0u) };
            s.walks.push_back(way.grid ? way.grid->enter(way.path, m_ray) : walk);
        }
        if (m_ways.size() > 1) {
            s.bounds.assign(m_ways.size(), Float(0));
            s.moves.assign(m_ways.size(), Mask(true));
        }
        if (m_what == Of::Rest) {
            s.leasts.assign(m_ways.size(), Float(0));
            s.certain = { Float(0) };
        }
        return s;
    }
    /// Returns where it collides.
    Mask next(State &s) const {
        if (m_ways.size() > 1)
            return next_of_several(s);
        s.bound = advance(s, 0, s.walks[0], s.active);
        Mask collides = s.active & (s.bound > 0);
        s.sigma_t = rest_of(s, 0, collides);
        return collides;
    }
    MediumInteraction at(const State &s) const {
        MediumInteraction mei = m_begin;
        mei.t = t_of(s, 0);
        for (size_t i = 1; i < m_ways.size(); ++i)
            mei.t = select(s.part == UInt32(uint32_t(i)), t_of(s, i), mei.t);
        mei.p = m_ray(mei.t);
        return mei;
    }
    const MediumInteraction &begin_of_medium() const { return m_begin; }
    /// What an extinction counts as.
    Spectrum capped(const Spectrum &sigma_t, size_t part) const {
        return map(sigma_t, [&](const Float &c) { return min(c, m_ways[part].most); });
    }

private:
    struct Way {
        const Medium *medium;
        const MajorantGrid *grid;
        MajorantGrid::Path path;
        Float most;  // a greater extinction counts as this one: see MajorantGrid
        Float bound; // where there is no grid
    };
    Way way_of(const Medium &medium, const Mask &active) const {
        Way way{ &medium, medium.bounds_by_cell(), {}, {}, {} };
        if (way.grid) {
            way.path = way.grid->path_of(m_ray);
            way.most = way.grid->most();
            return way;
        }
        Extent e = medium.extent_within(m_ray);
        way.path.mint = e.mint;
        way.path.length = e.maxt - e.mint;
        way.most = Float(Infinity);
        way.bound = Float(ad::detach(max_component(medium.enter(m_ray, e, active).majorant)));
        if (m_what == Of::Raised)
            way.bound = way.bound * MajorantGrid::Raised;
        return way;
    }
    Float t_of(const State &s, size_t part) const {
        return m_ways[part].path.mint + s.walks[part].t;
    }
    // To the next tentative collision with one part. Returns the bound there; 0 at the end.
    Float advance(State &s, size_t part, MajorantGrid::Walk &walk, const Mask &active) const {
        const Way &way = m_ways[part];
        Float depth = -log(1 - s.sampler.next_1d());
        if (way.grid && m_what == Of::Rest) {
            MajorantGrid::Rest rest = way.grid->follow_rest(way.path, walk, depth, active);
            s.leasts[part] = select(active, rest.least, s.leasts[part]);
            s.certain[0] += select(active, rest.depth, Float(0));
            return rest.bound;
        }
        if (way.grid)
            return way.grid->follow(way.path, walk, depth, m_what == Of::Raised, active);
        Float t = walk.t + depth / way.bound; // infinite where that is 0
        // Nothing gets so far but through what is empty, and there no mean free path may get on
        Mask is_far = !(walk.t * way.bound <= MajorantGrid::MostDepth);
        Mask ends = is_far | !(t < way.path.length);
        walk.t = select(ends, way.path.length, t);
        return select(ends, Float(0), way.bound);
    }
    Spectrum rest_of(const State &s, size_t part, const Mask &active) const {
        const Way &way = m_ways[part];
        Spectrum sigma_t = way.medium->extinction(at(s), active);
        if (m_what == Of::Raised)
            return capped(sigma_t, part);
        if (m_what != Of::Rest)
            return sigma_t;
        return map(sigma_t, [&](const Float &c) { return max(c - s.leasts[part], 0); });
    }
    Mask next_of_several(State &s) const {
        for (size_t i = 0; i < m_ways.size(); ++i) {
            MajorantGrid::Walk walk = s.walks[i];
            Mask moves = s.active & s.moves[i];
            Float bound = advance(s, i, walk, moves);
            s.walks[i].t = select(moves, walk.t, s.walks[i].t);
            s.walks[i].next = select(moves, walk.next, s.walks[i].next);
            s.walks[i].cell = select(moves, walk.cell, s.walks[i].cell);
            s.bounds[i] = select(moves, bound, s.bounds[i]);
        }
        s.part = UInt32(0u);
        s.bound = s.bounds[0];
        Float t = t_of(s, 0);
        for (size_t i = 1; i < m_ways.size(); ++i) {
            Mask nearer = (s.bounds[i] > 0) & ((t_of(s, i) < t) | !(s.bound > 0));
            s.part = select(nearer, UInt32(uint32_t(i)), s.part);
            s.bound = select(nearer, s.bounds[i], s.bound);
            t = select(nearer, t_of(s, i), t);
        }
        Mask collides = s.active & (s.bound > 0);
        s.sigma_t = Spectrum(0);
        for (size_t i = 0; i < m_ways.size(); ++i) {
            s.moves[i] = collides & (s.part == UInt32(uint32_t(i)));
            s.sigma_t = select(s.moves[i], rest_of(s, i, s.moves[i]), s.sigma_t);
        }
        return collides;
    }

    const Ray &m_ray;
    const Of m_what;
    MediumInteraction m_begin;
    std::vector<Way> m_ways;
};

/// What is the same all along a ray, of a medium that varies: its collisions need no tracking [Kutz 2017].
class Medium::Tracking::Uniform {
public:
    Uniform(const Medium &medium, const Ray &ray, SampleStream &sampler, const Mask &active,
            const Tracing &how)
        : m_medium(medium), m_end(ray.maxt), m_active(active), m_given(how.channel),
          m_one(variant().channels() == 1 || !medium.m_has_spectral_extinction),
          m_channel(m_one     ? UInt32(0u)
                    : m_given ? *m_given
                              : choose_channel(sampler.next_1d())),
          m_mei(medium.sample_interaction(ray, sampler.next_1d(), m_channel, active)) {}

    /// Where light collides with it, unless it did with something else before.
    const Float &t() const { return m_mei.t; }
    /// Of light that got to t, or to the ray's end.
    struct Passed {
        Spectrum weight;     // transmittance over the probability of it
        Float passing_ratio; // see MediumSample
        Float further_rate;  // of collisions there, as distances are sampled: beyond the extinction
    };
    Passed until(const Float &t) const {
        MediumInteraction mei = m_mei;
        mei.t = Float(Infinity);
        const Spectrum &sigma_t = m_mei.majorant;
        Spectrum passes = m_medium.transmittance_eval_pdf(mei, min(t, m_end)).first;
        auto sampled = [&](const Spectrum &s) {
            return m_one || m_given ? channel_of(s, m_channel) : mean(s);
        };
        Float p = sampled(passes), rate = over(Spectrum(sampled(passes * sigma_t)), p)[0];
        Float expected = m_given ? channel_of(sigma_t, *m_given) : mean(sigma_t);
        return { over(passes, p), over(Spectrum(1), p)[0], rate - Float(ad::detach(expected)) };
    }
    Spectrum differentiate(const Float &t, const PassingDerivative &derivative) const {
        MediumInteraction mei = m_mei;
        mei.t = Float(Infinity);
        return m_medium.differentiate_homogeneous(mei, min(t, m_end), m_active, derivative);
    }

private:
    const Medium &m_medium;
    Float m_end;
    Mask m_active;
    const UInt32 *m_given; // channel
    bool m_one;            // the first channel is for all
    UInt32 m_channel;
    MediumInteraction m_mei;
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
    // What is uniform collides by itself: the rest is tracked up to there
    std::optional<Tracking::Uniform> uniform;
    Ray before = ray;
    if (const Medium *part = uniform_part_of(*this)) {
        uniform.emplace(*part, ray, sampler, active, how);
        before.maxt = min(ray.maxt, uniform->t());
    }
    struct State {
        Tracking::State at;
        Spectrum weight, ratio; // of null collisions
        Float passing_ratio;
        Spectrum tangent;
        Mask active;
        UMBEL_STRUCT(at, weight, ratio, passing_ratio, tangent, active)
    };
    Tracking way(*this, before, active,
                 how.is_differentiable ? Tracking::Of::Raised : Tracking::Of::All);
    State s{ way.begin(sampler, active), Spectrum(1), Spectrum(1), Float(1), Spectrum(0), active };
    auto sampled = [&](const Spectrum &rates) {
        return channel ? channel_of(rates, *channel) : mean(rates);
    };
    s = jit::loop(
        s, [](const State &s) { return s.active; },
        [&](State &s) {
            s.at.active = s.active;
            Followed followed(how);
            Mask collides = way.next(s.at);
            Spectrum real = s.at.real(), fixed = detached(real); // probabilities
            Float p = sampled(fixed);
            Mask null = collides & !(s.at.sampler.next_1d() < p);
            s.weight = select(null, over(s.weight * (Spectrum(1) - real), 1 - p), s.weight);
            if (channel) {
                s.ratio = select(null, over(s.ratio * (Spectrum(1) - fixed), 1 - p), s.ratio);
                s.passing_ratio = select(null, s.passing_ratio / (1 - p), s.passing_ratio);
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
    MediumInteraction mei = way.at(s.at), begin = way.begin_of_medium();
    MediumSample result;
    result.tangent = s.tangent;
    result.passing_ratio = s.passing_ratio;
    Spectrum rates; // of collisions there, by channel, and ...
    Float rate;     // ... as they were sampled
    if (!uniform && parts_of(*this).size() == 1) {
        mei.sigma_t = way.capped(s.at.sigma_t, 0);
        mei.sigma_s = scattering(mei, mei.sigma_t, found);
        mei.majorant = Spectrum(s.at.bound);
        mei.sigma_n = mei.majorant - mei.sigma_t;
        rates = detached(s.at.real());
        rate = sampled(rates);
        s.weight = select(found, s.weight / (s.at.bound * rate), s.weight);
    } else {
        // Whatever light has met, it might have been any part
        Float end = select(found, mei.t, ray.maxt);
        if (uniform) {
            Mask met = active & !found & (uniform->t() < ray.maxt) & any_nonzero(s.weight);
            end = select(met, uniform->t(), end);
            found = found | met;
            mei.t = end;
            mei.p = ray(mei.t);
        }
        Coefficients c = scattering_coefficients(mei, found);
        mei.sigma_s = c.sigma_s;
        mei.sigma_t = c.sigma_t;
        mei.sigma_n = c.sigma_n;
        rates = detached(c.sigma_t);
        rate = sampled(rates);
        if (uniform) {
            Tracking::Uniform::Passed passed = uniform->until(end);
            rate += passed.further_rate;
            s.weight = s.weight * passed.weight;
            if (channel)
                s.ratio = s.ratio * passed.weight;
            result.passing_ratio = result.passing_ratio * passed.passing_ratio;
            if (how.derivative)
                result.tangent += uniform->differentiate(end, *how.derivative);
        }
        s.weight = select(found, over(s.weight, rate), s.weight);
    }
    result.weight = s.weight;
    result.ratio = channel ? select(found, over(s.ratio * rates, rate), s.ratio) : s.ratio;
    mei.t = select(found, mei.t, Float(Infinity));
    mei.p = select(found, mei.p, begin.p);
    result.mei = mei;
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
    Spectrum through(how.derivative ? 0 : 1);
    if (const Medium *uniform = uniform_part_of(*this))
        through = uniform->transmittance(ray, sampler, active, how);
    struct State {
        Tracking::State at;
        Spectrum weight; // or its derivative
        Mask active;
        UMBEL_STRUCT(at, weight, active)
    };
    Tracking way(*this, ray, active,
                 how.is_differentiable ? Tracking::Of::Raised : Tracking::Of::Rest);
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
            if (!s.at.certain.empty())
                s.active = s.active & (s.at.certain[0] < MajorantGrid::Opaque);
        },
        "transmittance");
    sampler = s.at.sampler;
    if (how.derivative)
        return s.weight + through;
    if (!s.at.certain.empty())
        through = through * exp(-s.at.certain[0]);
    return s.weight * through;
}

} // namespace umbel
