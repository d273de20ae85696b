// render/refracted_light.cpp: see refracted_light.h.
#include "render/refracted_light.h"
#include "core/warp.h"

namespace umbel {
namespace {

constexpr uint32_t MaxSteps = 16, MaxGuesses = 256;
constexpr double Tolerance = 1e-4; // of the sine of angles

bool is_point_or_direction(const Emitter &e) {
    bool point = e.has(EndpointFlags::DeltaPosition), beam = e.has(EndpointFlags::DeltaDirection);
    return point != beam && !e.has(EndpointFlags::Surface);
}

/// A light, seen from a place.
struct Seen {
    DirectionSample ds;
    Spectrum light;
    Float nearness; // one over its distance; 0 of a direction
    UMBEL_STRUCT(ds, light, nearness)
};
Seen see(const Scene &scene, const UInt32 &emitter, const Interaction &from, const Mask &active) {
    Vector2 zero(Float(0), Float(0));
    Vector3 nothing(Float(0));
    PositionSample nowhere{ nothing, nothing, zero, Float(0), Float(0), Mask(false) };
    Seen none{ { nowhere, nothing, Float(0), UInt32(0u) }, black(), Float(0) };
    Seen seen = scene.emitters().call(
        "emitter.refracted", emitter, active, none, [&](const Emitter &e) -> Seen {
            if (!is_point_or_direction(e))
                return none;
            auto [ds, light] = e.sample_direction(from, zero, active);
            return { ds, light, e.has(EndpointFlags::DeltaDirection) ? Float(0) : rcp(ds.dist) };
        });
    seen.ds.emitter = emitter;
    return seen;
}

/// A place on the surface, and what it lacks.
struct Guess {
    SurfaceInteraction si;
    Seen seen;
    Mask is_valid;
    Vector2 error; // that of Snell's law
    Vector3 step;  // to where it is smaller
    Float spread;  // solid angle at the place inside over that at the surface, if there is no error
};

class Search {
public:
    const Scene &scene;
    const Interaction &inside;
    const UInt32 &emitter, &subsurface;
    const Float &eta;

    Guess guess(const Vector3 &d, const Mask &active) const {
        Ray ray = inside.spawn_ray(d);
        Hit hit = scene.trace(ray, active);
        Guess g;
        g.si = scene.interaction(ray, hit, active);
        Mask valid = active & g.si.is_valid() & (g.si.wi.z < 0);
        valid = valid & (scene.subsurface_of(g.si, valid) == subsurface);
        g.seen = see(scene, emitter, g.si, valid);
        const Vector3 &n = g.si.sh_frame.n, &s = g.si.sh_frame.s, &t = g.si.sh_frame.t;
        const Vector3 &du = g.si.dp_du, &dv = g.si.dp_dv, &wy = g.seen.ds.d;
        Float cosine = dot(n, wy);
        g.is_valid = valid & (g.seen.ds.pdf > 0) & (cosine > 0);

        // How the error changes as the place moves; frames turn with the normal
        auto [dn_du, dn_dv] = scene.normal_partials(ray, hit, g.si, true, g.is_valid);
        Vector3 h = fma(-d, eta, wy);
        Float length = dot(h, n), from_inside = eta / select(valid, g.si.t, Float(1));
        g.error = { dot(h, s), dot(h, t) };
        auto change = [&](const Vector3 &dp, const Vector3 &dn) -> Vector2 {
            Vector3 dh =
                -((dp - d * dot(d, dp)) * from_inside + (dp - wy * dot(wy, dp)) * g.seen.nearness);
            return { dot(dh, s) - length * dot(s, dn), dot(dh, t) - length * dot(t, dn) };
        };
        Vector2 by_u = change(du, dn_du), by_v = change(dv, dn_dv);
        Float det = by_u.x * by_v.y - by_u.y * by_v.x;
        g.is_valid = g.is_valid & (det != 0);
        Float inv = rcp(select(g.is_valid, det, Float(1)));
        Float u = (g.error.y * by_v.x - g.error.x * by_v.y) * inv,
              v = (g.error.x * by_u.y - g.error.y * by_u.x) * inv;
        g.step = du * u + dv * v;
        g.spread = abs(dot(cross(du, dv), d) * cosine * inv) * sqr(from_inside / eta);
        return g;
    }

    /// The direction in which a guess ends up, and whether light arrives from there.
    struct Found {
        Vector3 d;
        Mask is_valid;
    };
    Found walk(const Vector3 &start, const Mask &active) const {
        struct State {
            Vector3 d;
            UInt32 step;
            Mask found, active;
            UMBEL_STRUCT(d, step, found, active)
        };
        State s{ start, UInt32(0u), Mask(false), active };
        s = jit::loop(
            s, [](const State &s) { return s.active; },
            [&](State &s) {
                Guess g = guess(s.d, s.active);
                Mask valid = s.active & g.is_valid;
                s.found = valid & (sqr(g.error.x) + sqr(g.error.y) < Tolerance * Tolerance);
                // No farther than half the way to the surface: beyond that, its curvature is another one
                Float length = norm(g.step), most = 0.5 * g.si.t;
                Vector3 to = g.si.p + g.step * min(most / max(length, 1e-30), 1);
                s.step = s.step + UInt32(1u);
                s.active = valid & !s.found & (s.step < UInt32(MaxSteps));
                s.d = select(s.active, normalize(to - inside.p), s.d);
            },
            "refraction");
        return { s.d, s.found };
    }

    /// A direction that may be any, and is near that of the light more often than not.
    static Vector3 start(const Vector3 &towards, SampleStream &sampler) {
        return normalize(towards + square_to_uniform_sphere(sampler.next_2d()) * 1.05);
    }
};

} // namespace

bool has_refracted_lights(const Scene &scene) {
    for (const Emitter *e : scene.emitters().objects())
        if (is_point_or_direction(*e))
            return true;
    return false;
}

RefractedLight refracted_light(const Scene &scene, const Interaction &inside, const UInt32 &emitter,
                               const UInt32 &subsurface, const Float &eta, SampleStream &sampler,
                               const Mask &active) {
    Search search{ scene, inside, emitter, subsurface, eta };
    Seen straight = see(scene, emitter, inside, active);
    Mask known = active & (straight.ds.pdf > 0);
    struct State {
        SampleStream sampler;
        Vector3 d;
        UInt32 guesses;
        Mask found, active;
        UMBEL_STRUCT(sampler, d, guesses, found, active)
    };
    State s{ sampler, straight.ds.d, UInt32(0u), Mask(false), known };
    s = jit::loop(
        s, [](const State &s) { return s.active; },
        [&](State &s) {
            Search::Found f = search.walk(Search::start(straight.ds.d, s.sampler), s.active);
            Mask first = s.guesses == UInt32(0u);
            Mask again = f.is_valid & (squared_norm(f.d - s.d) < 1e-6);
            s.d = select(first, f.d, s.d);
            s.found = (first & f.is_valid) | (s.found & !first);
            s.guesses = s.guesses + UInt32(1u);
            s.active = s.active & ((first & f.is_valid) | ((!first) & !again)) &
                       (s.guesses < UInt32(MaxGuesses));
        },
        "guesses");
    sampler = s.sampler;
    Mask found = active & s.found;
    Guess g = search.guess(s.d, found);
    Float weight = select(found & g.is_valid, g.spread * (Float(s.guesses) - 1), Float(0));
    return { g.si, g.seen.ds, g.seen.light, weight };
}

} // namespace umbel
