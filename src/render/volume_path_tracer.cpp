// render/volume_path_tracer.cpp: see volume_path_tracer.h.
#include "render/volume_path_tracer.h"
#include "render/hidden_lights.h"
#include <optional>

namespace umbel {

void VolumePathTracer::declare(Params &p) {
    Integrator::declare(p);
    p.integer("max_depth", m_max_depth, m_max_depth, -1)
        .doc("Longest path in segments: 1 shows lights only, 2 direct illumination; -1: no limit");
    p.integer("rr_depth", m_rr_depth, 5, 1).doc("Russian roulette ends paths from this depth on");
    p.boolean("strict_normals", m_strict_normals, false)
        .doc("Drops light on which shading normal and surface disagree about the side");
}

struct VolumePathTracer::State {
    SampleStream sampler;
    Ray ray;
    Spectrum throughput;
    Spectrum L; // gathered so far; when differentiating, what lies ahead
    Float eta;
    UInt32 depth;
    UInt32 medium;          // in which the ray is
    Vector3 prev_p, prev_n; // where light was last scattered, and the normal there, with ...
    Float prev_pdf;         // ... the density of the ray's direction ...
    Mask prev_delta;        // ... unless it was the only one
    Mask valid, active;
    // Spectral: the channel that distances are sampled for, and the path's density for each channel over that for it, as it is
    // and as if its last direction had been sampled from a light; the throughput is over the density for the channel
    UInt32 channel;
    Spectrum ratio, light_ratio;
    Spectrum tangent; // of L, in forward mode
    // When differentiating, what the ray meets is found in the bounce before: derivatives of what is there must not replay, as
    // part of their own, how it was found
    std::vector<Hit> hit;
    std::vector<MediumSample> collision; // none in scenes without media
    UMBEL_STRUCT(sampler, ray, throughput, L, eta, depth, medium, prev_p, prev_n, prev_pdf,
                 prev_delta, valid, active, channel, ratio, light_ratio, tangent, hit, collision)

    // How the path is differentiated; the same throughout
    std::optional<ad::Mode> mode;
    Spectrum gradient;

    /// What passes of `light`, where it is differentiated.
    PassingDerivative passing(const Spectrum &light) const {
        return { *mode, *mode == ad::Mode::Backward ? gradient * light : Spectrum(0) };
    }
    void add_tangent(const Spectrum &t) {
        if (*mode == ad::Mode::Forward)
            tangent += t;
    }
};

namespace {

Spectrum over(const Spectrum &value, const Float &density) {
    return value * select(density > 0, rcp(density), Float(0));
}
/// Over the mean of all channels' densities.
Spectrum over_mean(const Spectrum &value, const Spectrum &ratio) {
    return over(value, mean(ratio));
}

// What a BSDF or phase function answers, in the scene's space.
struct Scattering {
    Spectrum value; // towards a light
    Float pdf;
    Vector3 d; // where the path goes
    Spectrum weight;
    Float sample_pdf, eta;
    Mask is_delta, passes;
    Spectrum sample_value; // weight times density, where it is differentiated

    /// As if nothing were there, in some lanes.
    void pass_straight(const Vector3 &way, const Mask &lanes) {
        d = select(lanes, way, d);
        weight = select(lanes, Spectrum(1).dense(), weight);
        eta = select(lanes, Float(1), eta);
        passes = passes | lanes;
        if (!sample_value.c.empty())
            sample_value = select(lanes, Spectrum(1).dense(), sample_value);
    }
};

// Likewise, of the phase function, as replay_bsdf() of the BSDF.
struct PhaseScattering {
    Scene::PhaseResult result;
    Spectrum sample_value;
    UMBEL_STRUCT(result, sample_value)
};
PhaseScattering replay_phase(const Scene &scene, const MediumInteraction &mei, const Vector3 &wo,
                             const Float &u1, const Vector2 &u2, const Mask &active) {
    PhaseFunctionContext ctx;
    return scene.media().call("phase", mei.medium, active, PhaseScattering(), [&](const Medium &m) {
        const PhaseFunction &phase = m.phase_function();
        PhaseScattering r;
        std::tie(r.result.value, r.result.pdf) = phase.eval_pdf(ctx, mei, wo, active);
        r.result.pdf = Float(ad::detach(r.result.pdf));
        {
            ad::SuspendGrad fixed;
            r.result.sample = phase.sample(ctx, mei, u1, u2, active);
        }
        r.sample_value = phase.eval_pdf(ctx, mei, r.result.sample.wo, active).first;
        return r;
    });
}

// What a medium scatters and emits at a collision, where it is differentiated.
void replay_collision(const Scene &scene, MediumSample &ms, const Mask &active) {
    auto [sigma_s, emission] = scene.media().call(
        "medium.collision", ms.mei.medium, active, std::pair<Spectrum, Spectrum>(),
        [&](const Medium &m) {
            MediumInteraction mei = ms.mei;
            Medium::Coefficients c = m.scattering_coefficients(mei, active);
            mei.sigma_s = c.sigma_s;
            mei.sigma_t = c.sigma_t;
            return std::pair(c.sigma_s, m.is_emissive() ? m.emission(mei, active) : Spectrum(0));
        });
    ms.mei.sigma_s = sigma_s;
    ms.emission = emission;
}

Scattering scatter(const Scene &scene, const SurfaceInteraction &si, const MediumInteraction &mei,
                   const Vector3 &d, const Float &u1, const Vector2 &u2, const Mask &hit,
                   const Mask &collided, bool differentiates) {
    Vector3 wo = si.to_local(d);
    ReplayedScattering r;
    if (differentiates) {
        r = replay_bsdf(scene, si, wo, u1, u2, true, hit);
    } else {
        Scene::BSDFResult plain = scene.eval_and_sample_bsdf({}, si, wo, u1, u2, hit);
        r = { plain.value, plain.pdf, plain.sample, {} };
    }
    const BSDFSample &bs = r.sample;
    Mask passes = (bs.sampled_type & UInt32(uint32_t(BSDFFlags::Null))) != UInt32(0u);
    Scattering f{ si.to_world_mueller(r.value, -wo, si.wi),
                  r.pdf,
                  si.to_world(bs.wo),
                  si.to_world_mueller(bs.weight, -bs.wo, si.wi),
                  bs.pdf,
                  bs.eta,
                  bs.is_delta(),
                  hit & passes,
                  r.sample_value };
    if (scene.media().empty())
        return f;
    PhaseScattering replayed;
    if (differentiates)
        replayed = replay_phase(scene, mei, d, u1, u2, collided);
    else
        replayed.result = scene.eval_and_sample_phase({}, mei, d, u1, u2, collided);
    const Scene::PhaseResult &p = replayed.result;
    return { select(collided, p.value, f.value),
             select(collided, p.pdf, f.pdf),
             select(collided, p.sample.wo, f.d),
             select(collided, p.sample.weight, f.weight),
             select(collided, p.sample.pdf, f.sample_pdf),
             select(collided, Float(1), f.eta),
             f.is_delta & !collided,
             f.passes,
             differentiates ? select(collided, mei.sigma_s * replayed.sample_value, f.sample_value)
                            : Spectrum() };
}

bool emits(const Scene &scene) {
    for (const Medium *m : scene.media().objects())
        if (m->is_emissive())
            return true;
    return false;
}

} // namespace

VolumePathTracer::State VolumePathTracer::initial_state(const Scene &scene, SampleStream &sampler,
                                                        const Ray &ray, const Medium *medium,
                                                        const Mask &active) const {
    UInt32 channel(0u);
    if (m_weights == Weights::Spectral && variant().channels() > 1) {
        auto n = uint32_t(variant().channels());
        UInt32 c = to_uint(sampler.next_1d() * double(n));
        channel = select(c < UInt32(n), c, UInt32(n - 1));
    }
    return { .sampler = sampler,
             .ray = ray,
             .throughput = Spectrum(1).dense(),
             .L = black(),
             .eta = 1,
             .depth = 0u,
             .medium = UInt32(scene.number_of(medium)),
             .prev_p = ray.o,
             .prev_n = Vector3(Float(0)),
             .prev_pdf = 1,
             .prev_delta = true,
             .valid = false,
             .active = m_max_depth == 0 ? Mask(false) : active,
             .channel = channel,
             .ratio = Spectrum(1),
             .light_ratio = Spectrum(1),
             .tangent = {},
             .hit = {},
             .collision = {},
             .mode = {},
             .gradient = {} };
}

Radiance VolumePathTracer::sample(const Scene &scene, SampleStream &sampler, const Ray &ray,
                                  const Medium *medium, const Mask &active) const {
    State s = initial_state(scene, sampler, ray, medium, active);
    s.valid = covers_background(scene, m_hide_emitters);
    s = jit::loop(
        s, [](const State &s) { return s.active; }, [&](State &s) { bounce(scene, s); }, "volpath");
    sampler = s.sampler;
    return { s.L, s.valid, {} };
}

RadianceDerivative VolumePathTracer::differentiate(ad::Mode mode, const Scene &scene,
                                                   SampleStream sampler, const Ray &ray,
                                                   const Medium *medium, const Radiance &primal,
                                                   const RadianceDerivative &gradient,
                                                   const Mask &active) const {
    if (!m_is_differentiable)
        complain("has no derivatives; use `prbvolpath`, or `prb` for scenes without media");
    refuse_polarization();
    if (scene.follows_shapes())
        complain("has no derivatives by shapes; use `path`, `prb` or `direct`");
    State s = initial_state(scene, sampler, ray, medium, active);
    s.mode = mode;
    s.L = primal.L;
    s.gradient = gradient.L;
    if (mode == ad::Mode::Forward)
        s.tangent = Spectrum(0);
    ad::SuspendGrad none; // a bounce is differentiated inside the loop
    find_next(scene, s);
    s = jit::loop(
        s, [](const State &s) { return s.active; },
        [&](State &s) {
            ad::ResumeGrad all;
            bounce(scene, s);
        },
        "volpath derivative");
    return { s.tangent, {} };
}

// A collision on the way to a surface, or none. All that lies ahead has passed the medium up to there.
MediumSample VolumePathTracer::sample_medium(const Scene &scene, State &s, const Float &end,
                                             const Mask &inside) const {
    Ray segment = s.ray;
    segment.maxt = end;
    Tracing how{ .channel = m_weights == Weights::Spectral ? &s.channel : nullptr,
                 .is_differentiable = m_is_differentiable };
    if (!s.mode)
        return scene.sample_medium(s.medium, segment, s.sampler, inside, how);
    PassingDerivative derivative = s.passing(s.L);
    how.derivative = &derivative;
    ad::SuspendGrad none; // it is differentiated inside
    MediumSample ms = scene.sample_medium(s.medium, segment, s.sampler, inside, how);
    s.add_tangent(select(inside, ms.tangent * s.L, Spectrum(0)));
    return ms;
}

void VolumePathTracer::find_next(const Scene &scene, State &s) const {
    s.hit = { scene.trace(s.ray, s.active, s.depth == UInt32(0u)) };
    if (scene.media().empty())
        return;
    Float end = scene.interaction(s.ray, s.hit[0], s.active).t;
    Mask inside = s.active & (s.medium != UInt32(0u));
    s.collision = { sample_medium(scene, s, end, inside) };
}

void VolumePathTracer::bounce(const Scene &scene, State &s) const {
    const bool spectral = m_weights == Weights::Spectral;
    const bool media = !scene.media().empty();
    const Spectrum zero = black();
    Mask first = s.depth == UInt32(0u);
    SurfaceInteraction si = s.mode ? scene.interaction(s.ray, s.hit[0], s.active)
                                   : scene.ray_intersect(s.ray, s.active, first);
    si.compute_uv_partials(s.ray, first);
    Spectrum near = zero; // when differentiating: what the bounce itself brings
    Spectrum &L = s.mode ? near : s.L;

    // A collision in a medium, before the surface
    MediumSample ms;
    Mask collided(false);
    if (media) {
        Mask inside = s.active & (s.medium != UInt32(0u));
        ms = s.mode ? s.collision[0] : sample_medium(scene, s, si.t, inside);
        collided = inside & ms.mei.is_valid();
        if (s.mode)
            replay_collision(scene, ms, collided);
        s.throughput = select(inside, s.throughput * ms.weight, s.throughput);
        if (spectral) {
            s.ratio = select(inside, s.ratio * ms.ratio, s.ratio);
            s.light_ratio = select(inside, s.light_ratio * ms.passing_ratio, s.light_ratio);
        }
        if (emits(scene))
            L += select(collided, over_mean(s.throughput * depolarize(ms.emission), s.ratio), zero);
        s.throughput = select(collided, s.throughput * ms.mei.sigma_s, s.throughput);
    }
    Mask at_surface = s.active & !collided, hit = at_surface & si.is_valid();

    // Light that the surface, or the environment, emits towards us
    Interaction prev{ Float(0), s.prev_p, s.prev_n, s.ray.time, s.ray.wavelengths };
    Mask sees_light = m_hide_emitters ? at_surface & !first : at_surface;
    auto [emitted, light_pdf] = scene.eval_emitter_pdf(prev, si, sees_light);
    light_pdf = detached(light_pdf);
    Spectrum gathered = s.throughput * emitted;
    if (m_weights == Weights::Spectral)
        gathered = over_mean(gathered,
                             s.ratio + s.light_ratio * select(s.prev_delta, Float(0), light_pdf));
    else if (m_weights == Weights::Power)
        gathered = gathered * select(s.prev_delta, Float(1), mis_weight(s.prev_pdf, light_pdf));
    else
        sees_light = sees_light & (s.prev_delta | !(light_pdf > 0));
    L += select(sees_light, gathered, zero);

    // The path goes on from here
    Mask next = collided | hit;
    Interaction it = si;
    Mask lights = (si.bsdf_flags & UInt32(uint32_t(BSDFFlags::Smooth))) != UInt32(0u);
    if (media) {
        it.p = select(collided, ms.mei.p, si.p);
        it.n = select(collided, ms.mei.n, si.n);
        lights = (collided & ms.samples_emitters) | (lights & !collided);
    }
    // Lights that are hidden do not stand in the way of what is behind them
    Mask hidden(false);
    if (m_hide_emitters)
        hidden = hit & first & (si.emitter != UInt32(0u));
    lights = lights & next & !hidden;
    if (m_max_depth > 0)
        lights = lights & (s.depth + UInt32(1u) < UInt32(uint32_t(m_max_depth)));
    if (scene.has_subsurfaces()) {
        Mask below = hit & !hidden;
        if (m_max_depth > 0)
            below = below & (s.depth + UInt32(1u) < UInt32(uint32_t(m_max_depth)));
        Spectrum leaves = scene.eval_subsurface(si, s.sampler, below);
        L += select(below, over_mean(s.throughput * leaves, s.ratio), zero);
    }

    // A direction towards a light; the BSDF or phase function there, and another direction sampled from it
    auto [ds, light] = scene.sample_emitter_direction(it, s.sampler.next_2d(), false, lights);
    Float u1 = s.sampler.next_1d();
    Vector2 u2 = s.sampler.next_2d();
    Scattering f = scatter(scene, si, ms.mei, ds.d, u1, u2, hit, collided, bool(s.mode));
    if (m_hide_emitters)
        f.pass_straight(s.ray.d, hidden);

    // Direct light, as much as arrives
    auto is_on_one_side = [&](const Vector3 &d) { // of the surface and of its shading normal
        return collided | (dot(si.n, d) * dot(si.sh_frame.n, d) > 0);
    };
    Mask direct = lights & (ds.pdf > 0);
    if (m_strict_normals)
        direct = direct & is_on_one_side(ds.d);
    Spectrum contribution = s.throughput * f.value;
    direct = direct & any_nonzero(contribution * light);
    UInt32 light_medium = scene.medium_beyond(si, ds.d, s.medium, hit);
    Spectrum passes_media(1);
    Tracing how{ .is_differentiable = m_is_differentiable };
    SampleStream again = s.sampler;
    Spectrum arrives;
    {
        ad::SuspendGrad none;
        arrives = scene.transmittance(it, ds, light_medium, s.sampler, direct, how,
                                      spectral ? &passes_media : nullptr);
    }
    Spectrum brought = contribution * arrives * light;
    if (m_weights == Weights::Spectral) {
        // A path that went on in this direction would have passed with the same probability as light does
        Float other = select(ds.delta, Float(0), f.pdf / select(direct, ds.pdf, Float(1)));
        brought = over_mean(brought, s.ratio * (Spectrum(1) + passes_media * other));
    } else if (m_weights == Weights::Power) {
        brought = brought * select(ds.delta, Float(1), mis_weight(ds.pdf, f.pdf));
    }
    L += select(direct, brought, zero);
    if (s.mode) {
        Mask arrived = direct & any_nonzero(arrives);
        Spectrum light_brought = select(arrived, detached(brought), zero);
        PassingDerivative derivative = s.passing(light_brought);
        how.derivative = &derivative;
        ad::SuspendGrad none;
        Spectrum tangent = scene.transmittance(it, ds, light_medium, again, arrived, how);
        s.add_tangent(select(arrived, tangent * light_brought, zero));
        s.throughput = detached(s.throughput);
    }

    // On along the sampled direction; surfaces that leave it alone are not scattered at
    Mask scattered = next;
    if (scene.has_null_surfaces() || m_hide_emitters)
        scattered = next & !f.passes;
    s.valid = s.valid | scattered;
    s.throughput = select(next, s.throughput * f.weight, s.throughput);
    s.eta *= select(next, f.eta, Float(1));
    s.ray = it.spawn_ray(f.d);
    s.medium = scene.medium_beyond(si, f.d, s.medium, hit);
    s.prev_p = select(scattered, it.p, s.prev_p);
    s.prev_n = select(scattered, it.n, s.prev_n);
    s.prev_pdf = select(scattered, f.sample_pdf, s.prev_pdf);
    s.prev_delta = (scattered & f.is_delta) | (s.prev_delta & !scattered);
    if (media)
        s.prev_delta = s.prev_delta | (collided & !ms.samples_emitters);
    if (spectral)
        s.light_ratio = select(scattered, over(s.ratio, f.sample_pdf), s.light_ratio);
    s.depth = s.depth + select(scattered, UInt32(1u), UInt32(0u));
    next = next & any_nonzero(unpolarized(s.throughput));
    if (m_strict_normals)
        next = next & (f.passes | is_on_one_side(f.d));
    if (m_max_depth > 0)
        next = next & (s.depth < UInt32(uint32_t(m_max_depth)));

    // Russian roulette: the brightest channel, without the compression of light at refractions
    Spectrum brightness = spectral ? over_mean(s.throughput, s.ratio) : s.throughput;
    Float q = min(max_component(brightness) * sqr(s.eta), 0.95);
    Mask roulette = s.depth >= UInt32(uint32_t(m_rr_depth));
    Mask survives = s.sampler.next_1d() < q;
    s.throughput = select(roulette, s.throughput * rcp(q), s.throughput);
    s.active = next & (survives | !roulette);
    if (!s.mode)
        return;
    s.add_tangent(differentiate_vertex(*s.mode, s.L, near, f.sample_value, s.gradient, s.active));
    find_next(scene, s);
}

} // namespace umbel
