// render/path_tracer.cpp: see render/path_tracer.h.
#include "render/path_tracer.h"
#include <optional>

namespace umbel {

void PathTracer::declare(Params &p) {
    Integrator::declare(p);
    p.integer("max_depth", m_max_depth, m_max_depth, -1)
        .doc("Longest path in segments: 1 shows lights only, 2 direct illumination; -1: no limit");
    if (m_is_basic)
        return;
    p.integer("rr_depth", m_rr_depth, 5, 1).doc("Russian roulette ends paths from this depth on");
    p.boolean("strict_normals", m_strict_normals, false)
        .doc("Drops light on which shading normal and surface disagree about the side");
}

struct PathTracer::State {
    SampleStream sampler;
    Ray ray;
    Spectrum throughput;
    Spectrum L; // gathered so far; when differentiating, what lies ahead
    Float eta;
    UInt32 depth;
    Vector3 prev_p, prev_n; // where the ray starts, and the normal there, with ...
    Float prev_pdf;         // ... the density of its direction ...
    Mask prev_delta;        // ... unless it was the only one
    Mask valid, active;
    UInt32 lit; // bit k: bounce k saw the light that it sampled; replayed when differentiating
    Spectrum tangent; // of L, in forward mode
    UMBEL_STRUCT(sampler, ray, throughput, L, eta, depth, prev_p, prev_n, prev_pdf, prev_delta,
                 valid, active, lit, tangent)

    // How the path is differentiated; the same throughout
    std::optional<ad::Mode> mode;
    Spectrum gradient;
};

PathTracer::State PathTracer::initial_state(const SampleStream &sampler, const Ray &ray,
                                            const Mask &active) const {
    return { .sampler = sampler,
             .ray = ray,
             .throughput = Spectrum(1).dense(),
             .L = Spectrum(0).dense(),
             .eta = 1,
             .depth = 0u,
             .prev_p = ray.o,
             .prev_n = Vector3(Float(0)),
             .prev_pdf = 1,
             .prev_delta = true,
             .valid = false,
             .active = m_max_depth == 0 ? Mask(false) : active,
             .lit = 0u,
             .tangent = {},
             .mode = {},
             .gradient = {} };
}

Radiance PathTracer::sample(const Scene &scene, SampleStream &sampler, const Ray &camera_ray,
                            const Medium *, const Mask &active) const {
    State s = initial_state(sampler, camera_ray, active);
    s = jit::loop(
        s, [](const State &s) { return s.active; }, [&](State &s) { bounce(scene, s); }, "path");
    sampler = s.sampler;
    return { s.L, s.valid, {}, { s.lit } };
}

RadianceDerivative PathTracer::differentiate(ad::Mode mode, const Scene &scene,
                                             SampleStream sampler, const Ray &camera_ray,
                                             const Medium *, const Radiance &primal,
                                             const RadianceDerivative &gradient,
                                             const Mask &active) const {
    refuse_polarization();
    State s = initial_state(sampler, camera_ray, active);
    s.mode = mode;
    s.L = primal.L;
    s.lit = UInt32(primal.replay.at(0));
    s.gradient = gradient.L;
    if (mode == ad::Mode::Forward)
        s.tangent = Spectrum(0);
    ad::SuspendGrad none; // a bounce is differentiated inside the loop
    s = jit::loop(
        s, [](const State &s) { return s.active; },
        [&](State &s) {
            ad::ResumeGrad all;
            bounce(scene, s);
        },
        "path derivative");
    return { s.tangent, {} };
}

static Float mis_weight(const Float &a, const Float &b) {
    Float a2 = a * a, w = a2 / fma(b, b, a2);
    return select(w > 0, w, Float(0)); // 0 / 0 is nothing
}

static Spectrum detach(const Spectrum &s) {
    return map(s, [](const Float &v) { return Float(ad::detach(v)); });
}

namespace {
struct Scattering { // all that a path asks of a BSDF
    Spectrum value; // towards a light: f cos
    Float pdf;
    BSDFSample sample;
    Spectrum sample_value; // weight times density, where it is to be differentiated
    UMBEL_STRUCT(value, pdf, sample, sample_value)
};
} // namespace

// What is sampled is not differentiated: a derivative of the value at a fixed direction is all that it takes.
static Scattering scatter(const Scene &scene, const SurfaceInteraction &si, const Vector3 &wo,
                          const Float &u1, const Vector2 &u2, const Mask &active) {
    BSDFContext ctx;
    Spectrum zero = Spectrum(0).dense();
    Scattering none{ zero, Float(0), BSDFSample::none(), zero };
    none.sample.weight = zero;
    return scene.bsdfs().call("bsdf", si.bsdf, active, none, [&](const BSDF &bsdf) {
        Scattering r;
        std::tie(r.value, r.pdf) = bsdf.eval_pdf(ctx, si, wo, active);
        r.value = r.value.dense();
        r.pdf = Float(ad::detach(r.pdf));
        {
            ad::SuspendGrad fixed;
            r.sample = bsdf.sample(ctx, si, u1, u2, active);
            r.sample.weight = r.sample.weight.dense();
        }
        Spectrum smooth = bsdf.eval(ctx, si, r.sample.wo, active).dense();
        r.sample_value = bsdf.has(BSDFFlags::Delta)
                             ? select(r.sample.is_delta(),
                                      bsdf.eval_delta(ctx, si, r.sample, active).dense(), smooth)
                             : smooth;
        return r;
    });
}

// Rays towards lights are traced by the primal only, which keeps what became of the first 32 of a path.
Mask PathTracer::is_lit(const Scene &scene, const Ray &ray, const Mask &active, State &s) const {
    constexpr uint32_t Kept = 32;
    Mask kept = s.depth < UInt32(Kept);
    UInt32 bit = select(kept, UInt32(1u) << s.depth, UInt32(0u));
    if (!s.mode) {
        Mask lit = active & !scene.ray_test(ray, active);
        s.lit = s.lit | select(lit, bit, UInt32(0u));
        return lit;
    }
    Mask lit = (s.lit & bit) != UInt32(0u);
    if (m_max_depth >= 0 && uint32_t(m_max_depth) <= Kept)
        return lit;
    Mask forgotten = active & !kept;
    return lit | (forgotten & !scene.ray_test(ray, forgotten));
}

void PathTracer::bounce(const Scene &scene, State &s) const {
    BSDFContext ctx;
    Mask first = s.depth == UInt32(0u);
    SurfaceInteraction si = scene.ray_intersect(s.ray, s.active, first);
    Mask hit = si.is_valid();

    // Light that the surface, or the environment, emits towards us
    Interaction prev{ Float(0), s.prev_p, s.prev_n, s.ray.time, s.ray.wavelengths };
    Mask sees_light = m_hide_emitters ? s.active & !first : s.active;
    auto [emitted, light_pdf] = scene.eval_emitter_pdf(prev, si, sees_light);
    Spectrum seen = s.throughput * emitted;
    if (!m_is_basic)
        seen = seen * select(s.prev_delta, Float(1), mis_weight(s.prev_pdf, light_pdf));
    Spectrum near = select(sees_light, seen, Spectrum(0).dense());
    if (!s.mode)
        s.L += near;
    s.valid = s.valid | hit;

    // The path goes on from here, unless it is long enough
    Mask next = s.active & hit;
    if (m_max_depth > 0)
        next = next & (s.depth + UInt32(1u) < UInt32(uint32_t(m_max_depth)));
    if (scene.has_subsurfaces()) {
        Spectrum below = scene.eval_subsurface(si, s.sampler.next_2d(), next);
        (s.mode ? near : s.L) += select(next, s.throughput * below, Spectrum(0).dense());
    }

    // A direction towards a light
    Mask smooth = (si.bsdf_flags & UInt32(uint32_t(BSDFFlags::Smooth))) != UInt32(0u);
    DirectionSample ds;
    Spectrum light;
    Vector3 wo(Float(0), Float(0), Float(1));
    if (!m_is_basic) {
        std::tie(ds, light) =
            scene.sample_emitter_direction(si, s.sampler.next_2d(), false, next & smooth);
        wo = si.to_local(ds.d);
    }

    // The BSDF in that direction, and another direction sampled from it
    Float u1 = s.sampler.next_1d();
    Vector2 u2 = s.sampler.next_2d();
    Scattering bsdf;
    if (s.mode)
        bsdf = scatter(scene, si, wo, u1, u2, next);
    else {
        Scene::BSDFResult r = scene.eval_and_sample_bsdf(ctx, si, wo, u1, u2, next);
        bsdf = { r.value, r.pdf, r.sample, {} };
    }

    // Direct light, if nothing is in the way
    if (!m_is_basic) {
        Mask direct = next & smooth & (ds.pdf > 0);
        if (m_strict_normals)
            direct = direct & (dot(si.n, ds.d) * wo.z > 0);
        Spectrum value = si.to_world_mueller(bsdf.value, -wo, si.wi);
        Float light_mis = select(ds.delta, Float(1), mis_weight(ds.pdf, bsdf.pdf));
        Spectrum contribution = s.throughput * value * light * light_mis;
        direct = direct & any_nonzero(contribution);
        direct = direct & is_lit(scene, si.spawn_ray_to(ds.p), direct, s);
        (s.mode ? near : s.L) += select(direct, contribution, Spectrum(0).dense());
    }

    // On along the sampled direction
    const BSDFSample &bs = bsdf.sample;
    Vector3 d = si.to_world(bs.wo);
    Spectrum weight = si.to_world_mueller(bs.weight, -bs.wo, si.wi);
    s.throughput = select(next, s.throughput * weight, s.throughput);
    s.eta *= select(next, bs.eta, Float(1));
    s.ray = si.spawn_ray(d);
    s.prev_p = si.p;
    s.prev_n = si.n;
    s.prev_pdf = bs.pdf;
    s.prev_delta = bs.is_delta();
    next = next & any_nonzero(unpolarized(s.throughput));
    if (m_strict_normals)
        next = next & (dot(si.n, d) * bs.wo.z > 0);
    s.depth = s.depth + UInt32(1u);

    // Russian roulette: the brightest channel, without the compression of light at refractions
    if (!m_is_basic) {
        Float q = min(max_component(s.throughput) * sqr(s.eta), 0.95);
        Mask roulette = s.depth >= UInt32(uint32_t(m_rr_depth));
        Mask survives = s.sampler.next_1d() < q;
        s.throughput = select(roulette, s.throughput * rcp(q), s.throughput);
        next = next & (survives | !roulette);
    }
    s.active = next;
    if (s.mode)
        differentiate_bounce(s, near, bsdf.sample_value);
}

// The radiance is what the bounce itself brings, and what lies ahead times the value of the BSDF over itself.
void PathTracer::differentiate_bounce(State &s, const Spectrum &near,
                                      const Spectrum &scattered) const {
    s.L = s.L - detach(near);
    Spectrum ahead = select(s.active, s.L, Spectrum(0));
    Spectrum radiance;
    for (size_t c = 0; c < near.c.size(); ++c) {
        Float fixed(ad::detach(scattered[c]));
        Float relative = select(fixed != 0, scattered[c] / fixed, Float(1));
        radiance.c.push_back(near[c] + ahead[c] * relative);
    }
    bool any = false;
    for (size_t c = 0; c < radiance.c.size(); ++c) {
        Float &v = radiance[c];
        if (!ad::grad_enabled(v))
            continue;
        any = true;
        if (*s.mode == ad::Mode::Backward)
            ad::accumulate_grad(v, s.gradient[c]);
        ad::enqueue(ad::Mode::Backward, v); // what it depends on
    }
    if (!any)
        return;
    ad::traverse(*s.mode);
    if (*s.mode == ad::Mode::Forward)
        for (size_t c = 0; c < radiance.c.size(); ++c)
            if (ad::grad_enabled(radiance[c]))
                s.tangent[c] += Float(ad::grad(radiance[c]));
}

} // namespace umbel
