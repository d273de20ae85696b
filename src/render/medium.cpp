// render/medium.cpp: sampling distances in media.
#include "render/medium.h"
#include "ad/ad.h"

namespace umbel {

namespace {

constexpr double Infinity = std::numeric_limits<double>::infinity();
// So far that whatever is there is opaque; 0 times it is 0.
constexpr double Far = 1e30;

// A tentative collision is sampled, not differentiated: at a fixed distance, light is.
Spectrum over(const Spectrum &value, const Float &density) {
    Float d(ad::detach(density));
    return select(d > 0, value / select(d > 0, d, Float(1)), Spectrum(0));
}

UInt32 choose_channel(const Float &u) {
    uint32_t n = uint32_t(variant().channels());
    UInt32 i = to_uint(u * double(n));
    return select(i < UInt32(n), i, UInt32(n - 1));
}

Float channel_of(const Spectrum &s, const UInt32 &channel) {
    Float v = s[0];
    for (size_t i = 1; i < s.c.size(); ++i)
        v = select(channel == UInt32(uint32_t(i)), s[i], v);
    return v;
}

Ray rest_of(const Ray &ray, const Float &from) {
    Ray rest = ray;
    rest.o = ray(from);
    rest.maxt = ray.maxt - from;
    return rest;
}

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

/// A tentative collision, with the weight of what light has passed until then.
struct Medium::Step {
    MediumInteraction mei;
    Spectrum weight;
};

Medium::Step Medium::step(const Ray &ray, SampleStream &sampler, const Mask &active) const {
    bool one = variant().channels() == 1 || !m_has_spectral_extinction;
    UInt32 channel = one ? UInt32(0u) : choose_channel(sampler.next_1d());
    Step s{ sample_interaction(ray, sampler.next_1d(), channel, active), {} };
    auto [tr, pdf] = transmittance_eval_pdf(s.mei, extent_within(ray).maxt);
    s.weight = over(tr, one ? pdf[0] : mean(pdf));
    return s;
}

MediumSample Medium::sample(const Ray &ray, SampleStream sampler, const Mask &active) const {
    auto result = [&](const MediumInteraction &mei, const Spectrum &weight,
                      const SampleStream &stream) {
        Spectrum emitted = is_emissive() ? emission(mei, active & mei.is_valid()) : Spectrum(0);
        return MediumSample{ mei, weight, emitted, Mask(m_sample_emitters), stream.state };
    };
    if (is_homogeneous()) {
        Step s = step(ray, sampler, active);
        return result(s.mei, s.weight, sampler);
    }
    struct State {
        SampleStream sampler;
        Float from; // how far the ray has been followed
        Spectrum weight;
        MediumInteraction mei;
        Mask active;
        UMBEL_STRUCT(sampler, from, weight, mei, active)
    };
    State s{ sampler, Float(0), Spectrum(1), enter(ray, extent_within(ray), active), active };
    s = jit::loop(
        s, [](const State &s) { return s.active; },
        [&](State &s) {
            Step next = step(rest_of(ray, s.from), s.sampler, s.active);
            s.weight = s.weight * next.weight;
            Mask collides = next.mei.is_valid();

            // A real collision, or a null one
            Float real(ad::detach(mean(next.mei.sigma_t))),
                all(ad::detach(mean(next.mei.majorant)));
            Float p = select(collides, real / all, Float(1));
            Mask is_real = s.sampler.next_1d() < p;
            Mask found = s.active & collides & is_real, null = s.active & collides & !is_real;
            s.weight = select(found, s.weight / p, s.weight);
            s.weight = select(null, over(s.weight * next.mei.sigma_n, 1 - p), s.weight);
            Float t = s.from + next.mei.t;
            next.mei.t = select(found, t, Float(Infinity));
            next.mei.mint = s.mei.mint;
            s.mei = next.mei;
            s.from = select(null, t, s.from);
            s.active = null & any_nonzero(s.weight);
        },
        "medium");
    return result(s.mei, s.weight, s.sampler);
}

Spectrum Medium::transmittance(const Ray &ray, SampleStream &sampler, const Mask &active) const {
    if (is_homogeneous()) {
        Extent e = extent_within(ray);
        return transmittance_eval_pdf(enter(ray, e, active), e.maxt).first;
    }
    struct State {
        SampleStream sampler;
        Float from;
        Spectrum weight;
        Mask active;
        UMBEL_STRUCT(sampler, from, weight, active)
    };
    State s = jit::loop(
        State{ sampler, Float(0), Spectrum(1), active }, [](const State &s) { return s.active; },
        [&](State &s) {
            Step next = step(rest_of(ray, s.from), s.sampler, s.active);
            Mask collides = s.active & next.mei.is_valid();
            s.weight = s.weight * next.weight;
            s.weight = select(collides, s.weight * next.mei.sigma_n, s.weight);
            s.from = select(collides, s.from + next.mei.t, s.from);
            s.active = collides & any_nonzero(s.weight);
        },
        "transmittance");
    sampler = s.sampler;
    return s.weight;
}

} // namespace umbel
