// render/scene_media.cpp: what light transport asks of a scene's media, and of surfaces that light passes through.
#include "render/overlapping_media.h"
#include "render/replay.h"
#include "render/scene.h"
#include "render/sealed_media.h"
#include "render/subsurface.h"

namespace umbel {

// ---- media

uint32_t Scene::number_of(const Medium *medium) const {
    uint32_t number = m_media.number_of(medium);
    if (medium && number == 0)
        medium->complain("is none of the scene's media; give it to one of its shapes, emitters or "
                         "sensors");
    return m_overlaps ? m_overlaps->beginning(number) : number;
}

UInt32 Scene::medium_beyond(const SurfaceInteraction &si, const Vector3 &d, const UInt32 &medium,
                            const Mask &active) const {
    if (m_media.empty())
        return medium;
    auto [interior, exterior, subsurface, region] =
        jit::gather_packet<uint32_t, 4>(m_behind_table, si.shape, active);
    Mask outwards = dot(si.n, d) > 0;
    if (m_overlaps) {
        Mask border = active & (region != UInt32(0u));
        return select(border, m_overlaps->beyond(region, si, outwards, medium, border), medium);
    }
    Mask transition = active & ((interior | exterior) != UInt32(0u));
    return select(transition, select(outwards, exterior, interior), medium);
}

static void advance(SampleStream &sampler, const SamplerState &to, const Mask &active) {
    std::vector<Value> before = jit::detail::flatten(sampler.state);
    SamplerState state = to;
    std::vector<Value> after = jit::detail::flatten(state);
    check_eq(before.size(), after.size());
    for (size_t i = 0; i < before.size(); ++i)
        if (before[i].id() != after[i].id())
            before[i] = jit::ternary(jit::Op::Select, active, after[i], before[i]);
    jit::detail::unflatten(sampler.state, std::move(before));
}

MediumSample Scene::sample_medium(const UInt32 &medium, const Ray &ray, SampleStream &sampler,
                                  const Mask &active, const Tracing &how) const {
    MediumSample s =
        m_media.call("medium.sample", medium, active, MediumSample(),
                     [&](const Medium &m) { return m.sample(ray, sampler, active, how); });
    s.mei.medium = medium;
    s.mei.t = select(active, s.mei.t, Float(std::numeric_limits<double>::infinity()));
    if (!m_overlaps && may_seal_media(surfaces())) {
        UInt32 first = jit::opaque(uint32_t(4 * (surfaces().size() + 1)));
        UInt32 sealed(jit::gather(m_behind_table, first + medium, active));
        s.samples_emitters = s.samples_emitters & (sealed == UInt32(0u));
    }
    advance(sampler, s.state, active);
    return s;
}

Scene::PhaseResult Scene::eval_and_sample_phase(const PhaseFunctionContext &ctx,
                                                const MediumInteraction &mei, const Vector3 &wo,
                                                const Float &u1, const Vector2 &u2,
                                                const Mask &active) const {
    PhaseResult none{ .value = black(), .pdf = {}, .sample = {} };
    none.sample.weight = black();
    return m_media.call("phase", mei.medium, active, none, [&](const Medium &m) {
        const PhaseFunction &phase = m.phase_function();
        auto [value, pdf] = phase.eval_pdf(ctx, mei, wo, active);
        return PhaseResult{ value, pdf, phase.sample(ctx, mei, u1, u2, active) };
    });
}

// ---- rays towards lights

Spectrum Scene::medium_transmittance(const UInt32 &medium, const Ray &ray, SampleStream &sampler,
                                     const Mask &active, const Tracing &how) const {
    Mask inside = active & (medium != UInt32(0u));
    std::pair<Spectrum, SamplerState> none;
    auto [weight, state] =
        m_media.call("medium.transmittance", medium, inside, none, [&](const Medium &m) {
            SampleStream own = sampler;
            Spectrum plain = m.transmittance(ray, own, inside, how);
            return std::pair(plain, own.state);
        });
    advance(sampler, state, inside);
    return select(inside, weight, Spectrum(how.derivative ? 0 : 1));
}

Spectrum Scene::null_transmission(const SurfaceInteraction &si, const Mask &active) const {
    Mask passes = active & ((si.bsdf_flags & UInt32(uint32_t(BSDFFlags::Null))) != UInt32(0u));
    Spectrum value = m_bsdfs.call("bsdf.null", si.bsdf, passes, black(), [&](const BSDF &b) {
        return b.eval_null_transmission(si, passes);
    });
    return si.to_world_mueller(value, si.wi, si.wi);
}

Scene::Passage Scene::passage(const Ray &ray, const Mask &active) const {
    if (!m_has_null)
        return { select(active & !ray_test(ray, active), Spectrum(1), Spectrum(0)), UInt32(0u) };
    struct State {
        Ray ray;
        Spectrum weight;
        UInt32 surfaces;
        Mask active;
        UMBEL_STRUCT(ray, weight, surfaces, active)
    };
    State s = jit::loop(
        State{ ray, Spectrum(1).dense(), UInt32(0u), active },
        [](const State &s) { return s.active; },
        [&](State &s) {
            SurfaceInteraction si = ray_intersect(s.ray, s.active);
            s.active = s.active & si.is_valid();
            s.weight = select(s.active, s.weight * null_transmission(si, s.active), s.weight);
            s.active = s.active & any_nonzero(s.weight);
            s.surfaces = select(s.active, s.surfaces + UInt32(1u), s.surfaces);
            s.ray = si.behind(s.ray);
        },
        "passage");
    return { select(active, s.weight, Spectrum(0)), s.surfaces };
}

Spectrum Scene::transmittance(const Interaction &from, const DirectionSample &ds,
                              const UInt32 &medium, SampleStream &sampler, const Mask &active,
                              const Tracing &how, Spectrum *of_media) const {
    const Spectrum none(how.derivative ? 0 : 1);
    // An environment is farther away than all media: what fills space without end hides it
    Mask endless =
        m_environment && !m_media.empty() ? ds.emitter == UInt32(m_environment) : Mask(false);
    Float infinity(std::numeric_limits<double>::infinity());
    auto towards_light = [&](const Interaction &it) {
        Ray ray = it.spawn_ray_to(ds.p);
        ray.maxt = select(endless, infinity, ray.maxt);
        return ray;
    };
    // Rays keep clear of surfaces at both ends, media do not
    auto within = [&](const Ray &ray, const Vector3 &begin, const Vector3 &end) {
        Ray segment = ray;
        segment.o = begin;
        segment.maxt = norm(end - begin);
        return segment;
    };
    Ray first = towards_light(from);
    if (!m_has_null) {
        Mask clear = how.derivative ? active : active & !ray_test(first, active);
        Spectrum t = none;
        if (!m_media.empty()) {
            Ray segment = within(first, from.p, ds.p);
            segment.maxt = select(endless, infinity, segment.maxt);
            t = medium_transmittance(medium, segment, sampler, clear, how);
        }
        if (of_media)
            *of_media = t;
        return select(clear, t, Spectrum(0));
    }

    // From surface to surface
    struct State {
        SampleStream sampler;
        Ray ray;
        Vector3 p; // where it begins
        UInt32 medium;
        Spectrum weight, of_media;
        Mask active;
        UMBEL_STRUCT(sampler, ray, p, medium, weight, of_media, active)
    };
    State s = jit::loop(
        State{ sampler, first, from.p, medium, none.dense(), Spectrum(1), active },
        [](const State &s) { return s.active; },
        [&](State &s) {
            SurfaceInteraction si = ray_intersect(s.ray, s.active);
            Mask hit = s.active & si.is_valid();
            if (!m_media.empty()) {
                Ray segment = within(s.ray, s.p, select(hit, si.p, ds.p));
                segment.maxt = select(endless & !hit, infinity, segment.maxt);
                Spectrum t = medium_transmittance(s.medium, segment, s.sampler, s.active, how);
                s.weight = how.derivative ? s.weight + t : s.weight * t;
                if (of_media)
                    s.of_media = s.of_media * t;
                s.medium = medium_beyond(si, s.ray.d, s.medium, hit);
            }
            if (how.derivative) {
                ad::ResumeGrad follow;
                s.weight += how.derivative->of(null_transmission(si, hit), hit);
                s.active = hit;
            } else {
                s.weight = select(hit, s.weight * null_transmission(si, hit), s.weight);
                s.active = hit & any_nonzero(s.weight);
            }
            s.ray = towards_light(si);
            s.p = si.p;
        },
        "shadow ray");
    sampler = s.sampler;
    if (of_media)
        *of_media = s.of_media;
    return select(active, s.weight, black());
}

// ---- below surfaces

UInt32 Scene::subsurface_of(const SurfaceInteraction &si, const Mask &active) const {
    auto [interior, exterior, number, unused] =
        jit::gather_packet<uint32_t, 4>(m_behind_table, si.shape, active);
    return number;
}

Spectrum Scene::eval_subsurface(const SurfaceInteraction &si, SampleStream &sampler,
                                const Mask &active) const {
    UInt32 number = subsurface_of(si, active);
    Mask known = active & (number != UInt32(0u));
    std::pair<Spectrum, SamplerState> none{ black(), {} };
    auto [value, state] =
        m_subsurfaces.call("subsurface", number, known, none, [&](const Subsurface &s) {
            SampleStream own = sampler;
            Spectrum leaves = s.eval(*this, si, own, known);
            return std::pair(leaves, own.state);
        });
    advance(sampler, state, known);
    return select(known, value, black());
}

} // namespace umbel
