// render/path_tracer.cpp: see render/path_tracer.h.
#include "render/path_tracer.h"
#include "jit/context.h"
#include "jit/unset_array.h"
#include "render/attached.h"
#include "render/followed_camera.h"
#include "render/followed_once.h"
#include "render/hidden_lights.h"
#include "render/replayed_later.h"
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

namespace {
struct Vertex { // where a ray ends
    Ray ray;
    Hit hit;
    Mask on_ray; // whether it stays on the ray when shapes move, else on its surface
    UMBEL_STRUCT(ray, hit, on_ray)
};

// What the first vertices of a path are, kept by the walk that finds them for the one that replays it: nothing that lanes read
// again is nearer to them than arrays of their own, and no ray is traced twice.
struct KeptHits {
    std::vector<Value> fields; // of a Hit, one array each; or none, where nothing is kept
    UMBEL_STRUCT(fields)

    static KeptHits of_length(uint32_t length) {
        KeptHits r;
        for (jit::Type type : types())
            r.fields.push_back(jit::unset_array(type, length));
        return r;
    }
    uint32_t length() const { return fields.empty() ? 0 : fields[0].node().length; }
    void set(const UInt32 &number, Hit hit, const Mask &active) {
        size_t k = 0;
        jit::visit_values(hit, [&](Value &v) {
            fields[k] = jit::local_set(fields[k], number, v, active);
            ++k;
        });
    }
    Hit get(const UInt32 &number, const Mask &active) const {
        Hit hit;
        size_t k = 0;
        jit::visit_values(hit, [&](Value &v) { v = jit::local_get(fields[k++], number, active); });
        hit.t = select(active, hit.t, Float(std::numeric_limits<double>::infinity()));
        return hit;
    }

private:
    static std::array<jit::Type, 6> types() {
        jit::Type real = variant().float_type(), number = jit::Type::U32;
        return { real, real, real, number, number, number };
    }
};
} // namespace

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
    Spectrum tangent;               // of L, in forward mode
    std::vector<Vertex> trail = {}; // where shapes are followed: the last vertex, and this one
    std::vector<UInt32> noise = {}; // for auxiliary rays
    KeptHits hits = {};             // replayed when differentiating, like `lit`
    UMBEL_STRUCT(sampler, ray, throughput, L, eta, depth, prev_p, prev_n, prev_pdf, prev_delta,
                 valid, active, lit, tangent, trail, noise, hits)

    // How the path is differentiated; the same throughout
    std::optional<ad::Mode> mode; // vertex by vertex
    Spectrum gradient;
    bool is_recorded = false; // as a whole
    bool is_followed() const { return mode || is_recorded; }
    std::optional<UInt32> end = {}; // the depth that paths end at, if not that of all of them
    bool is_of_camera = true;       // the ray
};

PathTracer::State PathTracer::initial_state(const SampleStream &sampler, const Ray &ray,
                                            const Mask &active) const {
    return { .sampler = sampler,
             .ray = ray,
             .throughput = Spectrum(1).dense(),
             .L = black(),
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
             .trail = {},
             .mode = {},
             .gradient = {} };
}

Radiance PathTracer::sample(const Scene &scene, SampleStream &sampler, const Ray &camera_ray,
                            const Medium *, const Mask &active) const {
    Ray ray = m_hide_emitters ? past_lights(scene, camera_ray, active) : camera_ray;
    State s = initial_state(sampler, ray, active);
    s.valid = covers_background(scene, m_hide_emitters);
    s.is_recorded = m_derivative == PathDerivative::Recorded && FollowedOnce::is_on();
    if (s.is_recorded && (scene.follows_shapes() || FollowedCamera::is_any()))
        s.trail.assign(2, { ray, scene.trace(ray, s.active, true), Mask(true) });
    // Loops that are evaluated would hold the arrays of all lanes in memory
    if (ReplayedLater::is_on() && m_derivative == PathDerivative::Replay && m_max_depth != 0 &&
        jit::Context::current().has(jit::Flag::RecordLoops))
        s.hits = KeptHits::of_length(
            m_max_depth < 0 ? KeptVertices : std::min(uint32_t(m_max_depth), KeptVertices));
    s = jit::loop(
        s, [](const State &s) { return s.active; }, [&](State &s) { bounce(scene, s); }, "path");
    sampler = s.sampler;
    Radiance r{ s.L, s.valid, {}, { s.lit } };
    r.replay.insert(r.replay.end(), s.hits.fields.begin(), s.hits.fields.end());
    return r;
}

Radiance PathTracer::sample_up_to(const Scene &scene, SampleStream &sampler, const Ray &ray,
                                  const UInt32 &segments, const Mask &active) const {
    State s = initial_state(sampler, ray, active);
    s.end = segments;
    s.is_of_camera = false;
    s = jit::loop(
        s, [](const State &s) { return s.active; }, [&](State &s) { bounce(scene, s); }, "path");
    sampler = s.sampler;
    return { s.L, s.valid, {}, {} };
}

RadianceDerivative PathTracer::differentiate(ad::Mode mode, const Scene &scene,
                                             SampleStream sampler, const Ray &camera_ray,
                                             const Medium *medium, const Radiance &primal,
                                             const RadianceDerivative &gradient,
                                             const Mask &active) const {
    if (m_derivative == PathDerivative::Recorded)
        return Integrator::differentiate(mode, scene, sampler, camera_ray, medium, primal, gradient,
                                         active);
    refuse_polarization();
    Ray ray = m_hide_emitters ? past_lights(scene, camera_ray, active) : camera_ray;
    State s = initial_state(sampler, ray, active);
    s.mode = mode;
    if (m_derivative == PathDerivative::Replay) {
        s.L = primal.L;
        s.lit = UInt32(primal.replay.at(0));
        s.hits.fields.assign(primal.replay.begin() + 1, primal.replay.end());
    }
    s.gradient = gradient.L;
    if (mode == ad::Mode::Forward)
        s.tangent = Spectrum(0);
    if (scene.follows_shapes() || FollowedCamera::is_any())
        s.trail.assign(2, { ray, scene.trace(ray, s.active, true), Mask(true) });
    if (m_warp.is_on() && !s.trail.empty())
        differentiate_first_sight(scene, s);
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

// A path's own rays are traced by the primal, too, which keeps what they met for who replays it.
Hit PathTracer::next_hit(const Scene &scene, State &s, const Mask &first) const {
    uint32_t length = s.hits.length();
    if (!s.mode || !length) {
        Hit hit = scene.trace(s.ray, s.active, first);
        if (length)
            s.hits.set(s.depth, hit, s.active);
        return hit;
    }
    Mask forgotten = s.active & (s.depth >= UInt32(length));
    Hit hit = s.hits.get(s.depth, s.active & !forgotten);
    if (m_max_depth >= 0 && uint32_t(m_max_depth) <= length)
        return hit;
    Hit far = scene.trace(s.ray, forgotten);
    auto either = [&](const auto &a, const auto &b) { return select(forgotten, a, b); };
    return { either(far.t, hit.t),
             either(far.u, hit.u),
             either(far.v, hit.v),
             either(far.prim, hit.prim),
             either(far.geometry, hit.geometry),
             either(far.instance, hit.instance) };
}

// Rays towards lights are traced by the primal only, which keeps what became of the first 32 of a path for who replays it.
Mask PathTracer::is_lit(const Scene &scene, const Ray &ray, const Mask &active, State &s) const {
    constexpr uint32_t Kept = 32;
    Mask kept = s.depth < UInt32(Kept);
    UInt32 bit = select(kept, UInt32(1u) << s.depth, UInt32(0u));
    if (!s.mode || m_derivative == PathDerivative::Radiative) {
        Mask lit = active & !scene.ray_test(ray, active);
        if (m_derivative != PathDerivative::Radiative)
            s.lit = s.lit | select(lit, bit, UInt32(0u));
        return lit;
    }
    Mask lit = (s.lit & bit) != UInt32(0u);
    if (m_max_depth >= 0 && uint32_t(m_max_depth) <= Kept)
        return lit;
    Mask forgotten = active & !kept;
    return lit | (forgotten & !scene.ray_test(ray, forgotten));
}

// What arrives at a vertex, unless it is NaN or infinite.
static Spectrum finite(const Spectrum &x) {
    return map(x, [](const Float &v) {
        return select(abs(v) < std::numeric_limits<double>::infinity(), v, Float(0));
    });
}

void PathTracer::bounce(const Scene &scene, State &s) const {
    BSDFContext ctx;
    Mask first = s.depth == UInt32(0u);
    bool attached = !s.trail.empty();
    SurfaceInteraction si = attached
                                ? attached_hit(scene, s)
                                : scene.interaction(s.ray, next_hit(scene, s, first), s.active);
    si.compute_uv_partials(s.ray, first);
    Mask hit = si.is_valid();

    // Light that the surface, or the environment, emits towards us
    Interaction prev{ Float(0), s.prev_p, s.prev_n, s.ray.time, s.ray.wavelengths };
    bool hides = m_hide_emitters && s.is_of_camera;
    Mask sees_light = hides ? s.active & s.valid : s.active;
    auto [emitted, light_pdf] = scene.eval_emitter_pdf(prev, si, sees_light);
    if (attached)
        light_pdf = Float(ad::detach(light_pdf));
    Spectrum seen = s.throughput * emitted;
    if (!m_is_basic)
        seen = seen * select(s.prev_delta, Float(1), mis_weight(s.prev_pdf, light_pdf));
    Spectrum near = select(sees_light, seen, black());
    if (!s.is_followed())
        s.L += near;
    // The path goes on from here, unless it is long enough
    Mask next = s.active & hit;
    if (m_max_depth > 0)
        next = next & (s.depth + UInt32(1u) < UInt32(uint32_t(m_max_depth)));
    if (s.end)
        next = next & (s.depth + UInt32(1u) < *s.end);
    if (scene.has_subsurfaces()) {
        Spectrum below = scene.eval_subsurface(si, s.sampler, next);
        (s.is_followed() ? near : s.L) += select(next, s.throughput * below, black());
    }

    // A direction towards a light
    Mask smooth = (si.bsdf_flags & UInt32(uint32_t(BSDFFlags::Smooth))) != UInt32(0u);
    // What is sampled is that of a surface which nothing is known to follow
    SurfaceInteraction fixed = attached ? scene.interaction(s.ray, s.trail[1].hit, s.active) : si;
    DirectionSample ds;
    Spectrum light;
    Vector3 wo(Float(0), Float(0), Float(1));
    if (!m_is_basic) {
        std::tie(ds, light) =
            scene.sample_emitter_direction(fixed, s.sampler.next_2d(), false, next & smooth);
        if (attached)
            light = attached_light(scene, si, fixed, ds, light, s, next & smooth);
        wo = si.to_local(ds.d);
    }

    // The BSDF in that direction, and another direction sampled from it
    Float u1 = s.sampler.next_1d();
    Vector2 u2 = s.sampler.next_2d();
    ReplayedScattering bsdf;
    if (s.is_followed())
        bsdf = replay_bsdf(scene, si, wo, u1, u2, !attached, next);
    else {
        Scene::BSDFResult r = scene.eval_and_sample_bsdf(ctx, si, wo, u1, u2, next);
        bsdf = { r.value, r.pdf, r.sample, {} };
    }

    // Surfaces that let the ray pass are not there
    Mask passes(false);
    if (scene.has_null_surfaces()) {
        UInt32 null = bsdf.sample.sampled_type & UInt32(uint32_t(BSDFFlags::Null));
        passes = next & (null != UInt32(0u));
    }
    s.valid = s.valid | (hit & !passes);

    // Direct light, if nothing is in the way
    if (!m_is_basic) {
        Mask direct = next & smooth & (ds.pdf > 0);
        if (m_strict_normals)
            direct = direct & (dot(si.n, ds.d) * wo.z > 0);
        Spectrum value = si.to_world_mueller(bsdf.value, -wo, si.wi);
        if (s.mode && m_derivative == PathDerivative::Radiative && m_incident_depth == 0)
            value = detached(value); // what arrives is 1 from everywhere, no more from here
        Float light_mis = select(ds.delta, Float(1), mis_weight(ds.pdf, bsdf.pdf));
        Spectrum contribution = s.throughput * value * light * light_mis;
        direct = direct & any_nonzero(contribution);
        direct =
            direct & is_lit(scene, fixed.spawn_ray_to(attached ? detached(ds.p) : ds.p), direct, s);
        (s.is_followed() ? near : s.L) += select(direct, contribution, black());
    }

    // On along the sampled direction
    BSDFSample bs = attached ? detached(bsdf.sample) : bsdf.sample;
    Vector3 d = fixed.to_world(bs.wo);
    Spectrum weight = si.to_world_mueller(bs.weight, -bs.wo, si.wi);
    s.throughput = select(next, s.throughput * weight, s.throughput);
    s.eta *= select(next, bs.eta, Float(1));
    Ray arrived = s.ray;
    s.ray = fixed.spawn_ray(d);
    if (scene.has_null_surfaces()) { // without a step aside: it may be close to a silhouette
        Ray behind = fixed.behind(arrived);
        s.ray.o = select(passes, behind.o, s.ray.o);
        s.ray.d = select(passes, behind.d, s.ray.d);
        s.ray.maxt = select(passes, behind.maxt, s.ray.maxt);
    }
    s.prev_p = fixed.p;
    s.prev_n = fixed.n;
    s.prev_pdf = bs.pdf;
    s.prev_delta = bs.is_delta();
    next = next & any_nonzero(unpolarized(s.throughput));
    if (m_strict_normals)
        next = next & (dot(si.n, d) * bs.wo.z > 0);
    s.depth = s.depth + UInt32(1u);

    // Russian roulette: the brightest channel, without the compression of light at refractions
    if (!m_is_basic) {
        Float q = min(max_component(detached(s.throughput)) * sqr(s.eta), 0.95);
        Mask roulette = s.depth >= UInt32(uint32_t(m_rr_depth));
        Mask survives = s.sampler.next_1d() < q;
        s.throughput = select(roulette, s.throughput * rcp(q), s.throughput);
        next = next & (survives | !roulette);
    }
    s.active = next;
    if (!s.is_followed())
        return;

    // The derivative of this vertex, or what it hands on to that of the loop
    Spectrum scattered =
        attached ? attached_scattering(scene, si, s, arrived, bs) : bsdf.sample_value;
    if (s.is_recorded) {
        s.L += near;
        s.throughput = s.throughput * select(s.active, relative(scattered), Spectrum(1));
        return;
    }
    if (m_derivative == PathDerivative::Radiative)
        s.L = detached(near) + detached(s.throughput) * finite(incident(scene, s));
    Spectrum tangent = differentiate_vertex(*s.mode, s.L, near, scattered, s.gradient, s.active);
    if (*s.mode == ad::Mode::Forward)
        s.tangent += tangent;
    if (m_derivative == PathDerivative::Radiative && m_adjoint_depth >= 0)
        s.active = s.active & (s.depth < UInt32(uint32_t(m_adjoint_depth)));
}

// What arrives along the sampled direction, by a path of its own that goes on from here with other random numbers.
Spectrum PathTracer::incident(const Scene &scene, State &s) const {
    if (m_incident_depth == 0)
        return Spectrum(1);
    ad::SuspendGrad none;
    State ahead = initial_state(s.sampler, s.ray, s.active);
    ahead.depth = s.depth;
    ahead.valid = s.valid;
    ahead.prev_p = s.prev_p;
    ahead.prev_n = s.prev_n;
    ahead.prev_pdf = s.prev_pdf;
    ahead.prev_delta = s.prev_delta;
    if (m_incident_depth > 0)
        ahead.end = s.depth + UInt32(uint32_t(m_incident_depth));
    ahead = jit::loop(
        ahead, [](const State &s) { return s.active; }, [&](State &s) { bounce(scene, s); },
        "incident radiance");
    s.sampler = ahead.sampler;
    return ahead.L;
}

// ---- shapes that are followed

SurfaceInteraction PathTracer::attached_hit(const Scene &scene, State &s) const {
    const Vertex &last = s.trail[0], &here = s.trail[1];
    Mask first = s.active & (s.depth == UInt32(0u)), met = here.hit.is_valid();
    Ray ray = FollowedCamera::carry(s.ray, first & met),
        beyond = FollowedCamera::carry(s.ray, first & !met); // what surrounds the scene
    SurfaceInteraction si = scene.attached(ray, here.hit, here.on_ray, s.active).si;
    Mask valid = si.is_valid(), on_surface = valid & !here.on_ray;
    Ray before = FollowedCamera::carry(last.ray, on_surface & (s.depth == UInt32(1u)));
    Vector3 from = scene.attached(before, last.hit, last.on_ray, on_surface).si.p;
    Vector3 way = select(on_surface, from - si.p, -ray.d);
    si.wi = replace_grad(si.wi, select(valid, si.to_local(normalize(way)), -beyond.d));
    return si;
}

Spectrum PathTracer::attached_light(const Scene &scene, const SurfaceInteraction &si,
                                    const SurfaceInteraction &fixed, DirectionSample &ds,
                                    const Spectrum &light, State &s, const Mask &active) const {
    AttachedLight at(scene, fixed, ds, active);
    Float factor(1);
    if (m_warp.is_on())
        factor = warped(scene, at.ray, si, at.hit, at.point.si, false, s, s.depth + UInt32(2u),
                        at.sampled & !ds.delta);
    return at.arriving_at(scene, si, ds, light, factor);
}

// The value of the BSDF towards the next vertex, and of what arrives there; takes the step to it.
Spectrum PathTracer::attached_scattering(const Scene &scene, const SurfaceInteraction &si, State &s,
                                         const Ray &arrived, const BSDFSample &bs) const {
    AttachedStep step(scene, si, s.ray, bs, s.active);
    s.trail = { { arrived, s.trail[1].hit, s.trail[1].on_ray },
                { s.ray, step.hit, bs.is_delta() } };
    if (!m_warp.is_on())
        return step.value;
    return step.value * warped(scene, s.ray, si, step.hit, step.next.si, true, s,
                               s.depth + UInt32(1u), s.active & !bs.is_delta());
}

// ---- what comes into sight

// A segment of a path by its number, the first of which is 1. Lights that were sampled shine by their geometric normals.
Float PathTracer::warped(const Scene &scene, const Ray &ray, const SurfaceInteraction &from,
                         const Hit &hit, const SurfaceInteraction &to, bool has_rim, State &s,
                         const UInt32 &number, const Mask &active) const {
    Mask counts = active;
    if (m_warp.max_depth >= 0)
        counts = counts & (number <= UInt32(uint32_t(m_warp.max_depth)));
    VisibilityWarp::Segment segment{ ray,  from.p,        from.n, hit,    to.p,
                                     to.n, to.sh_frame.n, false,  has_rim };
    return m_warp.factor(scene, segment, s.noise[0], counts);
}

namespace {
struct BothSides { // of a silhouette, or of several
    UInt32 number;
    std::vector<Spectrum> differ; // what they show, one less the other
    UMBEL_STRUCT(number, differ)
};
} // namespace

// What the camera sees on both sides of silhouettes, by the same random numbers.
void PathTracer::differentiate_first_sight(const Scene &scene, State &s) const {
    FollowedOnce followed;
    s.noise = { VisibilityWarp::noise_of(s.sampler) };
    if (m_warp.max_depth == 0)
        return;
    const Vertex &first = s.trail[1];
    SurfaceInteraction si = scene.attached(first.ray, first.hit, Mask(false), s.active).si;
    Vector3 none(Float(0));
    VisibilityWarp::Segment segment{ first.ray, first.ray.o,   none, first.hit, si.p,
                                     si.n,      si.sh_frame.n, true, true };
    std::vector<Float> motions, gradients;
    std::vector<Spectrum> differ;
    auto asides = m_warp.asides(scene, segment, s.noise[0], s.active);
    for (size_t i = 0, each = asides.size() / size_t(m_warp.rays); i < asides.size(); i += each) {
        std::span<const VisibilityWarp::Aside> near(asides.data() + i, each);
        std::vector<Spectrum> seen = seen_beside(scene, s, near);
        for (size_t k = 0; k < each; ++k) {
            differ.push_back(select(near[k].jumps, finite(seen[k]), Spectrum(0)));
            Float by(0);
            for (size_t c = 0; c < differ.back().c.size(); ++c)
                by += differ.back()[c] * s.gradient[c];
            motions.push_back(near[k].motion);
            gradients.push_back(by);
        }
    }
    // All at once: they share what their derivatives pass
    std::vector<Float> tangents = differentiate_values(*s.mode, motions, gradients);
    for (size_t i = 0; i < tangents.size(); ++i)
        s.tangent += differ[i] * tangents[i];
}

// How much brighter it is before a silhouette than beyond it.
std::vector<Spectrum> PathTracer::seen_beside(const Scene &scene, const State &s,
                                              std::span<const VisibilityWarp::Aside> asides) const {
    ad::SuspendGrad suspended;
    uint32_t count = uint32_t(asides.size());
    auto first_from = [&](UInt32 number) { // past those that are none
        for (uint32_t k = 0; k < count; ++k)
            number =
                select((number == UInt32(2 * k)) & !asides[k].jumps, UInt32(2 * k + 2), number);
        return number;
    };
    BothSides sides = jit::loop(
        BothSides{ first_from(UInt32(0u)), std::vector<Spectrum>(count, black()) },
        [&](const BothSides &sides) { return sides.number < UInt32(2 * count); },
        [&](BothSides &sides) {
            Ray ray = asides[0].before;
            for (uint32_t k = 0; k < 2 * count; ++k) {
                const auto &a = asides[k / 2];
                ray.d = select(sides.number == UInt32(k), k % 2 ? a.beyond.d : a.before.d, ray.d);
            }
            SampleStream sampler = s.sampler;
            Spectrum L = sample(scene, sampler, ray, nullptr, Mask(true)).L;
            for (uint32_t k = 0; k < count; ++k) {
                Spectrum &d = sides.differ[k];
                d = select(sides.number == UInt32(2 * k), L, d);
                d = select(sides.number == UInt32(2 * k + 1), d - L, d);
            }
            sides.number = first_from(sides.number + UInt32(1u));
        },
        "sides of a silhouette");
    return sides.differ;
}

} // namespace umbel
