// render/visibility_warp.cpp: see render/visibility_warp.h.
#include "render/visibility_warp.h"
#include "core/random.h"
#include "render/followed_camera.h"
#include "render/replay.h"
#include <cmath>

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

std::vector<VisibilityWarp::Aside> VisibilityWarp::asides(const Scene &scene,
                                                          const Segment &segment, UInt32 &noise,
                                                          const Mask &active) const {
    const Ray &ray = segment.ray;
    const double infinity = std::numeric_limits<double>::infinity();
    Vector3 along = detached(ray.d);
    Float length = norm(along), dist = segment.t * length;
    Frame frame(along / length);
    Mask ends = dist < infinity;
    Vector3 to = detached(segment.to);
    auto number = [&noise] {
        noise = mix_bits(noise + UInt32(0x9e3779b9u));
        return to_unit(noise);
    };
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
        Ray other = ray;
        other.o = detached(ray.o);
        other.d = normalize(frame.n + aside);
        other.maxt = Float(infinity);
        Hit hit = scene.trace(other, active);
        SurfaceInteraction si = scene.attached(other, hit, Mask(false), active).si;
        Mask met = active & si.is_valid(), nearer = met & (hit.t < dist);
        // On the near side of a silhouette, points are carried along with it, but for those on rays of the camera
        Mask jumps = segment.is_of_camera ? nearer | ends : nearer;
        Vector3 p = detached(si.p), n = detached(si.n);
        Vector3 n_to = detached(segment.n);
        Mask differ = is_gap(norm(p - to), max(abs_dot(n_to, frame.n), abs_dot(n, other.d)),
                             norm(aside) * min(hit.t, dist));
        if (segment.is_of_camera) // shading jumps where facets meet
            differ = differ | (dot(n_to, n) < 0.9);
        jumps = active & jumps & (differ | !(met & ends));

        Vector3 there = direction_of(si.p, hit.t, met);
        Vector3 speed;
        if (segment.is_of_camera) // that of the nearer one
            speed = select(nearer, there, direction_of(segment.to, dist, ends));
        else
            speed = there - direction_of(segment.to, dist, ends);
        Float motion = select(jumps, dot(aside, speed) * opaque_float(kappa / rays), Float(0));
        out.push_back({ other, motion - Float(ad::detach(motion)), jumps });
    }
    return out;
}

} // namespace umbel
