// render/visibility_warp.cpp: see render/visibility_warp.h.
#include "render/visibility_warp.h"
#include "core/random.h"
#include "render/accelerator.h"
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
// For a silhouette, between a ray on one side of it and one beyond, half as far apart in each step.
constexpr uint32_t Steps = 10;
struct Search {
    UInt32 left;          // of its steps
    Float before, beyond; // how far aside the rays are, as parts of an auxiliary one's way
    Hit seen, met;        // by both
    UMBEL_STRUCT(left, before, beyond, seen, met)
};

struct Rim { // where it begins, between two rays as in a search
    Float before, beyond;
    Hit met;            // beyond
    Vector3 per_change; // see per_change_of_side
    Mask is_rim;
    UMBEL_STRUCT(before, beyond, met, per_change, is_rim)
};

struct Seen { // by a ray; t is infinite if it meets nothing
    Vector3 p, n, n_sh, d;
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
    Mask is_beyond_gap_from(const Seen &b, const Float &across) const {
        return is_apart_from(b, across) & !is_round_a_corner_from(b);
    }
    /// Whether normals are interpolated, beyond rounding.
    Mask is_smooth() const { return met() & (squared_norm(n_sh - n) > 1e-10); }
    /// Whether just one of two interpolated normals is turned away.
    Mask differs_in_side_from(const Seen &b) const {
        return (dot(n_sh, d) < 0) ^ (dot(b.n_sh, b.d) < 0);
    }
};

Hit either(const Mask &m, const Hit &a, const Hit &b) {
    auto pick = [&](const auto &x, const auto &y) { return select(m, x, y); };
    return { pick(a.t, b.t),
             pick(a.u, b.u),
             pick(a.v, b.v),
             pick(a.prim, b.prim),
             pick(a.geometry, b.geometry),
             pick(a.instance, b.instance) };
}

// What lies around a segment.
class Surroundings {
public:
    using Segment = VisibilityWarp::Segment;
    using Aside = VisibilityWarp::Aside;

    Surroundings(const Scene &scene, const Segment &segment, const Mask &active)
        : m_scene(scene), m_segment(segment), m_active(active), m_own(segment.hit) {
        Vector3 along = detached(segment.ray.d);
        Float length = norm(along);
        m_own.t = segment.hit.t * length;
        frame = Frame(along / length);
        m_end = { detached(segment.to), detached(segment.n), detached(segment.n_sh), frame.n,
                  m_own.t };
    }

    Frame frame;

    /// Adds what is between the segment and an auxiliary ray: a silhouette, and where rims begin on either side of it. `scale`: of motions.
    void look(const Vector3 &aside, const Float &scale, std::vector<Aside> &to) const {
        Hit hit = m_scene.trace(ray_at(aside), m_active);
        Seen far_end = seen_at(aside, hit, m_active);
        Vector3 n_from = detached(m_segment.n_from);
        Mask counts =
            m_active & !(dot(n_from, frame.n) * dot(n_from, far_end.d) < 0); // not the horizon
        to.push_back(silhouette(aside, hit, far_end, counts, scale));
        if (!m_segment.has_rim || !m_scene.arena().has_smooth_meshes())
            return;
        to.push_back(rim(aside, false, hit, far_end, counts, scale));
        if (m_segment.is_of_camera)
            to.push_back(rim(aside, true, hit, far_end,
                             counts & m_end.is_beyond_gap_from(far_end, norm(aside)), scale));
    }

private:
    Ray ray_at(const Vector3 &aside) const {
        Ray out = m_segment.ray;
        out.o = detached(out.o);
        out.d = normalize(frame.n + aside);
        out.maxt = Float(std::numeric_limits<double>::infinity());
        return out;
    }
    Seen seen_at(const Vector3 &aside, const Hit &hit, const Mask &asked) const {
        Ray ray = ray_at(aside);
        SurfaceInteraction si = m_scene.interaction(ray, hit, asked);
        return { detached(si.p), detached(si.n), detached(si.sh_frame.n), ray.d, hit.t };
    }

    // `is_beyond(now, middle)`: whether what is met there lies beyond what is looked for
    template <class F>
    Search search(const Vector3 &aside, const Search &from, const F &is_beyond) const {
        ad::SuspendGrad fixed;
        return jit::loop(
            from, [](const Search &s) { return s.left != UInt32(0u); },
            [&](Search &s) {
                Mask searched = s.left != UInt32(0u);
                Float middle = (s.before + s.beyond) * 0.5;
                Hit met = m_scene.trace(ray_at(aside * middle), searched);
                Mask beyond = is_beyond(seen_at(aside * middle, met, searched), middle);
                s.before = select(beyond, s.before, middle);
                s.beyond = select(beyond, middle, s.beyond);
                s.seen = either(beyond, s.seen, met);
                s.met = either(beyond, met, s.met);
                s.left = s.left - UInt32(1u);
            },
            "silhouette");
    }

    // Whether something else is met there. On the near side of a silhouette, points are carried along with it, but for those on rays
    // of the camera
    Mask may_end_at(const Float &t) const {
        return m_segment.is_of_camera ? (t < m_end.t) | m_end.met() : t < m_end.t;
    }

    Aside silhouette(const Vector3 &aside, const Hit &hit, const Seen &far_end, const Mask &active,
                     const Float &scale) const {
        Float apart = norm(aside);
        Mask counts = active & may_end_at(hit.t),
             is_silhouette = counts & m_end.is_apart_from(far_end, apart), jumps = is_silhouette;
        if (m_segment.is_of_camera) // shading jumps at creases
            jumps = jumps | (counts & (dot(m_end.n, far_end.n) < 0.9));

        // Few lanes have any: up to it. On round things, normals differ long before their silhouette; on others, faces that are seen
        // at a low angle may be as thin as the gap looked for
        Search s = search(
            aside, { select(jumps, UInt32(Steps), UInt32(0u)), Float(0), Float(1), m_own, hit },
            [&](const Seen &now, const Float &middle) {
                Mask is_found = may_end_at(now.t) & m_end.is_beyond_gap_from(now, apart * middle);
                return select(is_silhouette, is_found, dot(m_end.n, now.n) < 0.9);
            });
        Ray before = ray_at(aside * s.before), beyond = ray_at(aside * s.beyond);

        // What is nearer moves: seen by the camera, on either side
        Mask is_beyond = jumps;
        if (m_segment.is_of_camera)
            is_beyond = s.met.t < s.seen.t;
        Ray edge = beyond;
        edge.d = select(is_beyond, beyond.d, before.d);
        Hit nearer = either(is_beyond, s.met, s.seen);
        SurfaceInteraction si = m_scene.attached(edge, nearer, Mask(false), jumps).si;
        Vector3 speed = direction_of(si.p, nearer.t, jumps & si.is_valid());
        if (!m_segment.is_of_camera)
            speed = speed - direction_of(m_segment.to, m_end.t, m_end.met());
        return made(before, beyond, dot(aside, speed) * scale, jumps);
    }

    // Carried by the camera, or by what it begins on: what moves along with it stays in its direction
    Vector3 direction_of(const Vector3 &p, const Float &t, const Mask &valid) const {
        Vector3 from = m_segment.from;
        if (m_segment.is_of_camera && FollowedCamera::is_any())
            from = FollowedCamera::motion(valid).point(detached(p));
        return select(valid, (p - from) / t, Vector3(Float(0)));
    }

    static Aside made(const Ray &before, const Ray &beyond, const Float &motion,
                      const Mask &jumps) {
        Float moves = select(jumps, motion, Float(0));
        return { before, beyond, moves - Float(ad::detach(moves)), jumps };
    }

    // The line where interpolated normals of what one end meets turn away. Few lanes look for one.
    Aside rim(const Vector3 &aside, bool is_far, const Hit &hit, const Seen &far_end,
              const Mask &active, const Float &scale) const {
        const Seen &end = is_far ? far_end : m_end, &other = is_far ? m_end : far_end;
        Float apart = norm(aside), begin(is_far ? 1 : 0);
        auto is_off = [&](const Seen &now, const Float &at) {
            return end.is_beyond_gap_from(now, apart * abs(at - begin));
        };
        auto differs = [&](const Seen &now, const Float &at) {
            return end.differs_in_side_from(now) | is_off(now, at);
        };
        Mask asked = active & end.is_smooth() & differs(other, 1 - begin);
        Rim none{ begin, 1 - begin, hit, Vector3(Float(0)), Mask(false) };
        auto find = [&] {
            Search s = search(aside,
                              { select(asked, UInt32(Steps), UInt32(0u)), begin, 1 - begin,
                                is_far ? hit : m_own, is_far ? m_own : hit },
                              differs);
            Seen beyond = seen_at(aside * s.beyond, s.met, asked);
            Mask is_rim = asked & (s.met.geometry == UInt32(uint32_t(TriangleGeometry))) &
                          end.differs_in_side_from(beyond) & !is_off(beyond, s.beyond);
            return Rim{ s.before, s.beyond, s.met,
                        per_change_of_side(ray_at(aside * s.beyond), s.met, is_rim), is_rim };
        };
        Rim r = none;
        {
            ad::SuspendGrad fixed;
            r = jit::if_(asked, find, [&] { return none; }, "rim");
        }

        // It slides on its surface: how fast n_sh . w changes there, over how it does from direction to direction
        Ray before = ray_at(aside * r.before), beyond = ray_at(aside * r.beyond);
        bool is_of_camera = m_segment.is_of_camera;
        Ray ray = is_of_camera ? FollowedCamera::carry(beyond, r.is_rim) : beyond;
        SurfaceInteraction si = m_scene.attached(ray, r.met, Mask(is_of_camera), r.is_rim).si;
        Vector3 way = is_of_camera ? ray.d : (si.p - m_segment.from) / r.met.t;
        Float change = select(r.is_rim, dot(si.sh_frame.n, way), Float(0));
        Float motion = -dot(aside, r.per_change) * scale * change;
        return made(is_far ? beyond : before, is_far ? before : beyond, motion, r.is_rim);
    }

    // How far away n_sh . w would be 1 if it went on changing as it does at the line where it is 0.
    Vector3 per_change_of_side(const Ray &edge, const Hit &hit, const Mask &active) const {
        SurfaceInteraction si = m_scene.interaction(edge, hit, active);
        auto [n_u, n_v] = m_scene.normal_partials(edge, hit, si, true, active);
        // From place to place on the surface
        const Vector3 &w = edge.d, &u = si.dp_du, &v = si.dp_dv;
        Float by_u = dot(n_u, w), by_v = dot(n_v, w);
        Float uu = dot(u, u), uv = dot(u, v), vv = dot(v, v), det = uu * vv - sqr(uv);
        Vector3 slope = u * (by_u * vv - by_v * uv) + v * (by_v * uu - by_u * uv);
        slope = slope * select(det > 0, rcp(det), Float(0));
        // From direction to direction
        Float cosine = dot(w, si.n);
        slope = slope - si.n * select(cosine != 0, dot(slope, w) / cosine, Float(0));
        slope = slope * hit.t + si.sh_frame.n;
        Float steep = squared_norm(slope);
        return slope * select(active & (steep > 0), rcp(steep), Float(0));
    }

    const Scene &m_scene;
    const Segment &m_segment;
    const Mask m_active;
    Hit m_own;
    Seen m_end;
};
} // namespace

std::vector<VisibilityWarp::Aside> VisibilityWarp::asides(const Scene &scene,
                                                          const Segment &segment, UInt32 &noise,
                                                          const Mask &active) const {
    Surroundings around(scene, segment, active);
    auto number = [&noise] {
        noise = mix_bits(noise + UInt32(0x9e3779b9u));
        return to_unit(noise);
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
        around.look(fma(around.frame.s, a.x, around.frame.t * a.y), opaque_float(kappa / rays),
                    out);
    }
    return out;
}

} // namespace umbel
