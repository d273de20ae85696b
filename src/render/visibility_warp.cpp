// render/visibility_warp.cpp: see render/visibility_warp.h.
#include "render/visibility_warp.h"
#include "core/random.h"
#include "render/followed_camera.h"
#include "render/replay.h"
#include <cmath>
#include <utility>

namespace umbel {

UInt32 VisibilityWarp::noise_of(SampleStream sampler) {
    Vector2 u = sampler.next_2d();
    constexpr double Many = 16777216;
    return mix_bits(mix_bits(to_uint(u.x * Many)) ^ to_uint(u.y * Many));
}

// Whether two points are farther from each other than those of one surface, seen so far apart, at the cosines of its normals there: on
// a ball, even next to its silhouette, the way times the greater cosine is at most twice the distance across the rays.
static Mask is_gap(const Float &way, const Float &cosine, const Float &across) {
    return way * cosine > 3 * across;
}

Float VisibilityWarp::factor(const Scene &scene, const Segment &segment, UInt32 &noise,
                             const Mask &active) const {
    Float sum(1);
    for (const Aside &a : asides(scene, segment, noise, active))
        sum += a.motion * 2;
    return sum;
}

namespace {
// For a silhouette, between a ray on the segment's side of it and one beyond, half as far apart in each step.
constexpr uint32_t Steps = 10;
struct Search {
    UInt32 left;          // of its steps
    Float before, beyond; // how far aside the rays are, as parts of an auxiliary one's way
    Hit seen, met;        // by both
    UMBEL_STRUCT(left, before, beyond, seen, met)
};

struct Seen { // by a ray; t is infinite if it meets nothing
    Vector3 p, n, d;
    Float t;

    Mask met() const { return t < std::numeric_limits<double>::infinity(); }
    /// Whether there is more between what two rays meet, which are `across` apart at unit distance, than a surface.
    Mask is_apart_from(const Seen &b, const Float &across) const {
        Mask gap =
            is_gap(norm(b.p - p), max(abs_dot(n, d), abs_dot(b.n, b.d)), across * min(t, b.t));
        return gap | !(met() & b.met());
    }
    /// Whether each lies behind the other's plane, as on two sides of a box.
    Mask is_round_a_corner_from(const Seen &b) const {
        auto is_behind = [](const Seen &plane, const Seen &x) {
            return dot(plane.n, x.p - plane.p) * dot(plane.n, plane.d) > 0;
        };
        return met() & b.met() & is_behind(*this, b) & is_behind(b, *this);
    }
};
} // namespace

static Hit either(const Mask &m, const Hit &a, const Hit &b) {
    auto pick = [&](const auto &x, const auto &y) { return select(m, x, y); };
    return { pick(a.t, b.t),
             pick(a.u, b.u),
             pick(a.v, b.v),
             pick(a.prim, b.prim),
             pick(a.geometry, b.geometry),
             pick(a.instance, b.instance) };
}

std::vector<VisibilityWarp::Aside> VisibilityWarp::asides(const Scene &scene,
                                                          const Segment &segment, UInt32 &noise,
                                                          const Mask &active) const {
    const Ray &ray = segment.ray;
    const double infinity = std::numeric_limits<double>::infinity();
    Vector3 along = detached(ray.d);
    Float length = norm(along), dist = segment.hit.t * length;
    Frame frame(along / length);
    Mask ends = dist < infinity;
    Vector3 to = detached(segment.to), n_to = detached(segment.n),
            n_from = detached(segment.n_from);
    Hit own = segment.hit;
    own.t = dist;
    auto number = [&noise] {
        noise = mix_bits(noise + UInt32(0x9e3779b9u));
        return to_unit(noise);
    };
    auto ray_at = [&](const Vector3 &aside) {
        Ray out = ray;
        out.o = detached(ray.o);
        out.d = normalize(frame.n + aside);
        out.maxt = Float(infinity);
        return out;
    };
    auto seen_by = [&](const Ray &other, const Hit &hit, const Mask &asked) {
        SurfaceInteraction si = scene.interaction(other, hit, asked);
        return Seen{ detached(si.p), detached(si.n), other.d, hit.t };
    };
    const Seen own_end{ to, n_to, frame.n, dist };
    // Carried by the camera, or by what it begins on: what moves along with it stays in its direction
    auto direction_of = [&](const Vector3 &p, const Float &t, const Mask &valid) {
        Vector3 from = segment.from;
        if (segment.is_of_camera && FollowedCamera::is_any())
            from = FollowedCamera::motion(valid).point(detached(p));
        return select(valid, (p - from) / t, Vector3(Float(0)));
    };
    std::vector<Aside> out;
    Vector2 a;
    for (int i = 0; i < rays; ++i) {
        if (antithetic && i % 2 == 1)
            a = { -a.x, -a.y };
        else {
            Float r = sqrt(-2 * log(max(1 - number(), Float(1e-7)))) *
                      opaque_float(1 / std::sqrt(kappa)),
                  phi = number() * (2 * Pi);
            a = { r * cos(phi), r * sin(phi) };
        }
        Vector3 aside = fma(frame.s, a.x, frame.t * a.y);
        Float apart = norm(aside);
        Ray other = ray_at(aside);
        Hit hit = scene.trace(other, active);
        // Whether it meets something else. On the near side of a silhouette, points are carried along with it, but for those on rays
        // of the camera
        Seen far_end = seen_by(other, hit, active);
        auto counts_at = [&](const Float &t) {
            return segment.is_of_camera ? (t < dist) | ends : t < dist;
        };
        Mask counts = active & counts_at(hit.t);
        counts = counts & !(dot(n_from, frame.n) * dot(n_from, other.d) < 0); // not the horizon
        Mask is_silhouette = counts & own_end.is_apart_from(far_end, apart), jumps = is_silhouette;
        if (segment.is_of_camera) // shading jumps at creases
            jumps = jumps | (counts & (dot(n_to, far_end.n) < 0.9));

        // Few lanes have any: up to it. On round things, normals differ long before their silhouette; on others, faces that are seen
        // at a low angle may be as thin as the gap looked for
        Search s{ select(jumps, UInt32(Steps), UInt32(0u)), Float(0), Float(1), own, hit };
        {
            ad::SuspendGrad fixed;
            s = jit::loop(
                s, [](const Search &s) { return s.left != UInt32(0u); },
                [&](Search &s) {
                    Mask searched = s.left != UInt32(0u);
                    Float middle = (s.before + s.beyond) * 0.5;
                    Ray between = ray_at(aside * middle);
                    Hit met = scene.trace(between, searched);
                    Seen now = seen_by(between, met, searched);
                    Mask is_found = counts_at(now.t) & own_end.is_apart_from(now, apart * middle) &
                                    !own_end.is_round_a_corner_from(now);
                    Mask is_beyond = select(is_silhouette, is_found, dot(n_to, now.n) < 0.9);
                    s.before = select(is_beyond, s.before, middle);
                    s.beyond = select(is_beyond, middle, s.beyond);
                    s.seen = either(is_beyond, s.seen, met);
                    s.met = either(is_beyond, met, s.met);
                    s.left = s.left - UInt32(1u);
                },
                "silhouette");
        }
        Ray before = ray_at(aside * s.before), beyond = ray_at(aside * s.beyond);

        // What is nearer moves: seen by the camera, on either side
        Mask is_beyond = jumps;
        if (segment.is_of_camera)
            is_beyond = s.met.t < s.seen.t;
        Ray edge = beyond;
        edge.d = select(is_beyond, beyond.d, before.d);
        Hit nearer = either(is_beyond, s.met, s.seen);
        SurfaceInteraction si = scene.attached(edge, nearer, Mask(false), jumps).si;
        Vector3 speed = direction_of(si.p, nearer.t, jumps & si.is_valid());
        if (!segment.is_of_camera)
            speed = speed - direction_of(segment.to, dist, ends);
        Float motion = select(jumps, dot(aside, speed) * opaque_float(kappa / rays), Float(0));
        out.push_back({ before, beyond, motion - Float(ad::detach(motion)), jumps });
    }
    return out;
}

} // namespace umbel
