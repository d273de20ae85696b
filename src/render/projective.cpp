// render/projective.cpp: see render/projective.h.
#include "render/projective.h"
#include "core/host_array.h"
#include "render/film_buffer.h"
#include "render/followed_camera.h"
#include "render/followed_once.h"
#include "render/hidden_lights.h"
#include "render/sample_guide.h"
#include <cmath>

namespace umbel {

void ProjectiveTracer::declare(Params &p) {
    PathTracer::declare(p);
    p.integer("sppc", m_sppc, -1, -1)
        .doc("Samples a pixel for the derivative of what is seen; -1: as many as the image has");
    p.integer("sppp", m_sppp, -1, -1)
        .doc("Likewise, for silhouettes that the camera sees; 0: these do not count");
    p.integer("sppi", m_sppi, -1, -1)
        .doc("Likewise, for silhouettes on the way of light between surfaces");
    p.choice("guiding", m_guiding, "octree", { "none", "grid", "octree" })
        .doc("How samples of the latter find out where they matter: cells of equal size, or "
             "smaller ones where there is more to see");
    p.boolean("guiding_proj", m_guiding_proj, true).doc("Draws half of them towards lights");
    p.choice("project_seed", m_project_seed, "both", { "both", "bsdf", "emitter" })
        .doc("Of samples with `guiding_proj`, half go towards lights, none (bsdf), or seven in "
             "eight (emitter); the rest finds light that is reflected, too");
    p.integer("guiding_rounds", m_guiding_rounds, 1, 1, 100)
        .doc("How often the density is learnt, each time by samples of the last one");
}

namespace {

constexpr uint32_t LanesALaunch = 1u << 20;
constexpr uint32_t GuideLanes = 1u << 15;

// How far beside a silhouette rays pass, relative to distances. In double precision, too: what is found by iteration is
// missed by rays that graze it by much less.
constexpr double Beside = 1e-5;

Vector3 zero() { return Vector3(Float(0)); }

Interaction place(const Vector3 &p, const Float &time, const Wavelengths &wavelengths) {
    return { Float(0), p, zero(), time, wavelengths };
}

/// edge x w, turned away from the shape.
Vector3 outwards(const Silhouettes::Point &at, const Vector3 &w) {
    Vector3 n = cross(at.edge, w);
    return select(dot(n, at.inside) > 0, -n, n);
}

Vector3 unit(const Vector3 &v) {
    Float n2 = squared_norm(v);
    return v * select(n2 > 0, rsqrt(n2), Float(0));
}

// A density by solid angle, at `to` over that at `from`, of a point on a surface.
Float turned(const Vector3 &n, const Vector3 &p, const Vector3 &from, const Vector3 &to) {
    Vector3 a = p - from, b = p - to;
    Float a2 = squared_norm(a), b2 = squared_norm(b);
    return (abs_dot(n, a) * b2 * sqrt(b2)) / (abs_dot(n, b) * a2 * sqrt(a2));
}

// Where the camera is, if all of its rays leave from there; or in which direction.
Viewpoint viewpoint(const Sensor &sensor, const Scene &scene, const Float &time,
                    const Vector2 &aperture) {
    if (!sensor.has(EndpointFlags::DeltaDirection))
        return { .p = sensor.sample_position(time, aperture, Mask(true)).first.p,
                 .w = Float(1),
                 .is_camera = true };
    auto c = scene.bounds().centre();
    Vector3 middle(opaque_float(c[0]), opaque_float(c[1]), opaque_float(c[2]));
    return { .p = sensor.sample_direction(place(middle, time, {}), aperture, Mask(true)).first.d,
             .w = Float(0),
             .is_camera = true };
}

// The same, carried along with the camera.
Viewpoint carried(Viewpoint from, const Mask &active) {
    if (FollowedCamera::is_any()) {
        InstanceTransform motion = FollowedCamera::motion(active);
        from.p = select(from.w > 0, motion.point(from.p), motion.vector(from.p));
    }
    return from;
}

// Whether that is the same for all samples.
bool has_one_viewpoint(const Sensor &sensor) {
    return sensor.has(EndpointFlags::Delta) && !sensor.needs_time_sample() && !sensor.is_several();
}

// Whether both rays see one surface, of which normals of shading face one of them only: so much is between a line along which they
// turn away and the surface's end. Else they turn away nearer to that, or behind it, and the end makes up for both.
Mask see_both_sides(const Scene &scene, const Ray &a, const Ray &b, const Mask &active) {
    SurfaceInteraction here = scene.ray_intersect(a, active),
                       there = scene.ray_intersect(b, active);
    return here.is_valid() & there.is_valid() & (here.shape_number == there.shape_number) &
           (here.instance == there.instance) & (here.wi.z * there.wi.z < 0);
}

struct Start { // of a lane
    SampleStream sampler;
    Float time;
    Wavelengths wavelengths;
    Spectrum weight; // of the wavelengths
    Vector2 aperture, in_filter;
};

Start start(const BoundaryPass &pass, const UInt32 &number, uint32_t series = 0) {
    Start s{
        pass.stream(number, UInt32(series)), Float(0), {}, Spectrum(1), { 0.5, 0.5 }, { 0.5, 0.5 }
    };
    const Sensor &sensor = pass.sensor;
    s.time = sensor.sample_time(sensor.needs_time_sample() ? s.sampler.next_1d() : Float(0));
    Float u = variant().colour == Colour::Spectral ? s.sampler.next_1d() : Float(0);
    std::tie(s.wavelengths, s.weight) = sensor.sample_wavelengths({}, u, Mask(true));
    if (sensor.needs_position_sample())
        s.aperture = s.sampler.next_2d();
    if (!sensor.film().filter().is_box())
        s.in_filter = s.sampler.next_2d();
    return s;
}

} // namespace

// ---- where it all goes

/// The image's derivative, or what is made of its gradient.
struct ProjectiveTracer::Target {
    const BoundaryPass &pass;
    FilmBuffer image; // in forward mode

    explicit Target(const BoundaryPass &pass) : pass(pass) {
        auto [height, width, channels] = pass.shape;
        if (pass.mode == ad::Mode::Forward)
            image = FilmBuffer(uint32_t(width), uint32_t(height), uint32_t(channels));
    }

    struct Light {
        Vector2 place;     // on the film, in pixels of the crop window
        Vector2 in_filter; // random
        Spectrum L;
        Float alpha;
        Wavelengths wavelengths;
        std::vector<Float> further = {}; // channels beside the colour; zeros if absent
    };
    /// Light times the derivative of `motion`.
    void add(const Light &light, const Float &motion, double scale, Mask active) {
        const Film &film = pass.sensor.film();
        const Film::Crop &crop = film.crop();
        auto [height, width, channels] = pass.shape;
        const Vector2 &u = light.in_filter;
        auto [cx, weight_x] =
            film.columns().choose_pixel(light.place.x + opaque_float(crop.x), u.x, active);
        auto [cy, weight_y] =
            film.rows().choose_pixel(light.place.y + opaque_float(crop.y), u.y, active);
        UInt32 x = cx - jit::opaque(uint32_t(pass.crop.x)),
               y = cy - jit::opaque(uint32_t(pass.crop.y));
        active = active & (x < jit::opaque(uint32_t(width))) & (y < jit::opaque(uint32_t(height)));
        std::vector<Float> further = light.further;
        further.resize(channels - film.channel_names({}).size(), Float(0));
        std::vector<Float> values =
            film.channels({ light.L, light.wavelengths, light.alpha, further });
        Float factor = weight_x * weight_y * opaque_float(scale);
        for (size_t k = 0; k < values.size(); ++k) {
            values[k] = values[k] * factor;
            Mask is_finite = abs(values[k]) < std::numeric_limits<double>::infinity();
            if (k + further.size() < values.size())
                active = active & is_finite;
            else // a distance may be infinite, and the colour is what it is
                values[k] = select(is_finite, values[k], Float(0));
        }
        ad::ResumeGrad all;
        if (pass.mode == ad::Mode::Forward) {
            Float tangent = differentiate_values(pass.mode, { motion }, {})[0];
            active = active & (abs(tangent) < std::numeric_limits<double>::infinity());
            for (Float &v : values)
                v = select(active, v * tangent, Float(0));
            image.splat(values, x, y, active);
        } else {
            UInt32 first = (y * jit::opaque(uint32_t(width)) + x) * UInt32(uint32_t(channels));
            Float sum(0);
            for (uint32_t c = 0; c < values.size(); ++c)
                sum += values[c] * Float(jit::gather(pass.gradient, first + UInt32(c), active));
            differentiate_values(pass.mode, { motion }, { select(active, sum, Float(0)) });
        }
        pass.between();
        jit::eval();
    }
    Float tangent() const {
        if (pass.mode != ad::Mode::Forward)
            return {};
        return image.rows(uint32_t(pass.shape[2]), [](const UInt32 &) { return Float(1); });
    }
};

Float ProjectiveTracer::boundary(const BoundaryPass &pass) const {
    if (!pass.scene.follows_shapes() && !FollowedCamera::is_any())
        return {};
    refuse_polarization();
    ad::SuspendGrad none; // but for motion
    FollowedOnce once;
    Silhouettes edges(pass.scene);
    Target target(pass);
    if (!edges.empty()) {
        primary(pass, edges, target);
        indirect(pass, edges, target);
    }
    return target.tangent();
}

// Lights that the camera does not see hide nothing from it.
Scene::Passage ProjectiveTracer::sight(const Scene &scene, const Ray &ray,
                                       const Mask &active) const {
    return scene.passage(m_hide_emitters ? past_lights(scene, ray, active) : ray, active);
}

// ---- silhouettes that the camera sees

void ProjectiveTracer::primary(const BoundaryPass &pass, const Silhouettes &edges,
                               Target &target) const {
    int spp = samples(m_sppp, pass);
    if (spp <= 0 || max_depth() == 0)
        return;
    const Sensor &sensor = pass.sensor;
    Viewpoint camera = viewpoint(sensor, pass.scene, sensor.sample_time(Float(0)), { 0.5, 0.5 });
    auto pieces = edges.seen_from(camera, has_one_viewpoint(sensor), FollowedCamera::is_any());
    if (!pieces)
        return;
    // Two lanes a sample, one on each side
    uint64_t total = 2 * uint64_t(spp) * pass.shape[0] * pass.shape[1];
    for (uint64_t first = 0; first < total; first += LanesALaunch)
        primary_launch(pass, edges, *pieces, camera, uint32_t(first),
                       uint32_t(std::min<uint64_t>(LanesALaunch, total - first)), 1.0 / spp,
                       target);
}

void ProjectiveTracer::primary_launch(const BoundaryPass &pass, const Silhouettes &edges,
                                      const DiscreteDistribution &pieces, const Viewpoint &camera,
                                      uint32_t first, uint32_t lanes, double scale,
                                      Target &target) const {
    const Sensor &sensor = pass.sensor;
    UInt32 lane = UInt32(jit::lane_index(lanes)) + jit::opaque(first);
    Mask is_outside = (lane & UInt32(1u)) != UInt32(0u);
    Start s = start(pass, lane >> 1u);
    Vector2 u = s.sampler.next_2d();

    // A place on a silhouette, and the camera's ray to it
    UInt32 piece = pieces.sample(u.x);
    Float probability = pieces.eval_pmf_normalized(piece);
    Viewpoint from =
        has_one_viewpoint(sensor) ? camera : viewpoint(sensor, pass.scene, s.time, s.aperture);
    Silhouettes::Point at = edges.point(piece, u.y, from, Mask(true));
    auto [ds, importance] =
        sensor.sample_direction(place(at.p, s.time, s.wavelengths), s.aperture, at.valid);
    Mask active = at.valid & (ds.pdf > 0) & any_nonzero(importance);
    Vector3 edge = outwards(at, -ds.d), n = unit(edge);
    active = active & (squared_norm(edge) > 0);
    Sensor::Reach reach = sensor.reach(ds, active);
    auto beside_by = [&](const Float &side) {
        Float by = min(ds.dist * Beside, at.width);
        by = select(side > 0, by, max(by, at.depth));
        Vector3 d = normalize(fma(n, side * by, at.p) - ds.p);
        return Ray{ fma(d, reach.near, ds.p), d, reach.far - reach.near, s.time, s.wavelengths };
    };
    Ray test = beside_by(Float(1));
    test.maxt = (ds.dist - reach.near) * (1 - 1e-3);
    active = active & any_nonzero(sight(pass.scene, test, active).weight);
    Mask is_dark = edges.is_dark(piece, active);
    if (edges.has_dark())
        active = active & (!is_dark | see_both_sides(pass.scene, beside_by(Float(1)),
                                                     beside_by(Float(-1)), is_dark));

    // What is seen on this side of it
    const Integrator &whole = pass.whole ? *pass.whole : *this;
    Radiance r =
        whole.sample(pass.scene, s.sampler, beside_by(select(is_outside, Float(1), Float(-1))),
                     sensor.medium(), active);
    Float sign = select(is_outside, Float(-1), Float(1)) / probability;
    Spectrum weight = s.weight * importance * sign;

    Float motion;
    {
        ad::ResumeGrad all;
        Vector3 p = edges.attached(at, s.time, active);
        if (edges.has_dark()) {
            Mask dark = active & is_dark;
            Viewpoint eye = carried(from, dark);
            eye.only = LineKind::Dark;
            p = select(dark, edges.moved(at, piece, eye, s.time, dark), p);
        }
        if (FollowedCamera::is_any())
            p = p - FollowedCamera::motion(active).point(at.p);
        motion = dot(edge, p);
    }
    Float alpha = select(r.valid, sign, Float(0)) * importance[0];
    for (Float &v : r.aovs)
        v = v * sign * importance[0];
    target.add({ ds.uv, s.in_filter, weight * r.L, alpha, s.wavelengths, r.aovs }, motion, scale,
               active);
}

// ---- silhouettes between surfaces, and other lines along which light jumps

/// A ray that touches one.
struct ProjectiveTracer::Seed {
    Silhouettes::Point at;
    Viewpoint from; // as which it is one
    UInt32 piece;
    Vector3 w;    // towards the light
    Float weight; // one over its density
    Float direction_pdf;
    Vector3 reference; // from where lights are drawn
    // Towards a light:
    Spectrum light; // over the density of choosing it, and weighted
    Float light_dist;
    UInt32 emitter;
    Mask is_far;   // the light surrounds the scene
    Mask is_point; // nothing can be met there
    Mask valid;
};

ProjectiveTracer::Seed ProjectiveTracer::seed(const BoundaryPass &pass, const Silhouettes &edges,
                                              const DiscreteDistribution &pieces, LineKind kind,
                                              bool to_light, const Float &u0, const Vector2 &u,
                                              const Float &time,
                                              const Wavelengths &wavelengths) const {
    const Scene &scene = pass.scene;
    auto [piece, t, pmf] = pieces.sample_reuse(u0);
    Float probability = pieces.eval_pmf_normalized(piece);
    Silhouettes::Direction uniform = edges.sample_direction(piece, u, Mask(true));
    Mask is_edge = edges.is_edge(piece);
    Seed s;
    s.piece = piece;
    s.direction_pdf = uniform.pdf;
    s.reference = edges.middle(piece, Mask(true));
    s.is_far = s.is_point = Mask(false);
    s.light = Spectrum(0);
    s.light_dist = Float(0);
    s.emitter = UInt32(0u);
    if (!to_light) {
        s.w = uniform.w;
        s.from = { .p = -s.w, .w = Float(0), .only = kind };
        s.at = edges.point(piece, t, s.from, Mask(true));
        if (edges.has_rims() && kind == LineKind::Dark) {
            Mask is_rim = edges.is_rim(piece);
            Silhouettes::RimRay r = edges.sample_rim(piece, t, u, is_rim);
            s.w = select(is_rim, r.direction.w, s.w);
            s.direction_pdf = select(is_rim, r.direction.pdf, s.direction_pdf);
            uniform.pdf = s.direction_pdf;
            s.from.p = -s.w;
            s.at = Silhouettes::Point::either(is_rim, r.at, s.at);
        }
        s.reference = select(is_edge, s.at.p, s.reference);
        s.weight = rcp(probability * uniform.pdf);
        s.valid = s.at.valid;
        return s;
    }
    // From the edge, or from the middle of a shape, whose outline is then that seen from the light
    if (edges.has_edges()) {
        Silhouettes::Point on = edges.point(piece, t, { s.reference, Float(1) }, is_edge);
        s.reference = select(is_edge, on.p, s.reference);
    }
    auto [ds, unused] =
        scene.sample_emitter_direction(place(s.reference, time, wavelengths), u, false, Mask(true));
    Mask active = ds.pdf > 0;
    struct Flags {
        Mask far, point;
        UMBEL_STRUCT(far, point)
    };
    Flags flags = scene.emitters().call(
        "emitter.flags", ds.emitter, active, Flags{ Mask(false), Mask(false) },
        [](const Emitter &e) {
            return Flags{ Mask(e.has(EndpointFlags::Infinite | EndpointFlags::DeltaDirection)),
                          Mask(e.has(EndpointFlags::Delta)) };
        });
    s.is_far = flags.far;
    s.is_point = flags.point;
    s.emitter = ds.emitter;
    s.from = { .p = select(s.is_far, ds.d, ds.p),
               .w = select(s.is_far, Float(0), Float(1)),
               .is_end = true,
               .only = kind };
    s.at = edges.point(piece, t, s.from, active);
    s.w = unit(s.from.from(s.at.p));
    DirectionSample here = ds;
    here.d = s.w;
    Vector3 way = ds.p - s.at.p;
    here.dist = select(s.is_far, ds.dist, norm(way));
    Mask on_surface = !(s.is_far | s.is_point | is_edge);
    here.pdf = select(on_surface, ds.pdf * turned(ds.n, ds.p, s.reference, s.at.p), ds.pdf);
    Interaction it = place(s.at.p, time, wavelengths);
    active = active & s.at.valid & (here.pdf > 0) & edges.ends(piece, s.w, active);
    Spectrum value = scene.eval_emitter_direction(it, here, active);
    s.light = value * rcp(here.pdf + select(s.is_point, Float(0), uniform.pdf));
    s.light = select(active, s.light, Spectrum(0));
    s.light_dist = here.dist;
    s.weight = rcp(probability);
    s.valid = active & any_nonzero(s.light);
    return s;
}

/// Of a path: from the side of the camera to that of the light, past the line or with one end on it.
struct ProjectiveTracer::Segment {
    Ray to_camera, to_light;
    Hit near, far;
    Vector3 across; // the line's length, at a right angle to it: light is lost where it moves there
    Float sign;     // of the light here
    Float cosine;   // at the near end, if it is on the line: which side of the surface it is
    Mask active;
};

ProjectiveTracer::Segment ProjectiveTracer::segment(const Scene &scene, const Silhouettes &edges,
                                                    const Seed &s, LineKind kind,
                                                    SampleStream &sampler, const Float &time,
                                                    const Wavelengths &wavelengths) const {
    Segment out;
    Vector3 edge = outwards(s.at, s.w), n = unit(edge);
    Float off = opaque_float(Beside * std::max(scene.bounds().radius(), 1e-30)),
          infinity(std::numeric_limits<double>::infinity());
    out.active = s.valid & (squared_norm(edge) > 0);
    out.across = edge;
    out.sign = out.cosine = Float(1);
    Vector3 o = fma(n, off, s.at.p);
    out.to_light = { o, s.w, infinity, time, wavelengths };
    out.to_camera = { o, -s.w, infinity, time, wavelengths };
    if (kind == LineKind::End) { // outside, where what comes into sight goes: the shape covers it
        out.near = scene.trace(out.to_camera, out.active);
        out.far = scene.trace(out.to_light, out.active);
        out.sign = Float(-1);
    } else {
        Ray on = out.to_camera;
        on.o = s.at.p;
        Vector3 normal = scene.interaction(on, s.at.hit, out.active).n;
        if (kind == LineKind::Dark) { // to one side of it, from where both are seen
            out.to_camera.o = fma(normal, select(dot(normal, s.w) > 0, -off, off), s.at.p);
            out.near = scene.trace(out.to_camera, out.active);
            out.sign = select(sampler.next_1d() < 0.5, Float(2), Float(-2));
            Mask seen = out.active & out.near.is_valid();
            Ray other = out.to_light;
            Vector3 back = fma(s.w, select(seen, out.near.t * -0.5, Float(0)), s.at.p);
            Float by = select(out.sign > 0, -off, off);
            out.to_light.o = fma(n, by, back);
            other.o = fma(n, -by, back);
            out.active = seen & see_both_sides(scene, out.to_light, other, seen);
            out.far = scene.trace(out.to_light, out.active);
        } else { // from it, on the side that is lit
            out.to_camera = on;
            out.near = s.at.hit;
            out.far = scene.trace(out.to_light, out.active);
            out.cosine = select(dot(normal, n) < 0, Float(-1), Float(1));
            Vector3 along = select(dot(cross(s.at.edge, s.w), edge) < 0, -s.at.edge, s.at.edge);
            out.across = cross(along, normal * out.cosine); // as `edge` is to `w`
        }
    }
    out.active = out.active & out.near.is_valid();
    return out;
}

/// From a silhouette to the camera, against the light's direction of travel reversed twice: as light goes.
struct ProjectiveTracer::Walk {
    SampleStream sampler;
    Ray ray;
    Spectrum throughput;
    UInt32 left; // surfaces to be met
    Mask active;
    UMBEL_STRUCT(sampler, ray, throughput, left, active)
};

// Shading normals scatter light other than they scatter importance [Veach 1997, section 5.3].
static Float adjoint(const SurfaceInteraction &si, const Float &in, const Vector3 &d,
                     const Vector3 &wo) {
    Float out = dot(si.n, d);
    return select(out * wo.z > 0, abs((si.wi.z * out) / (wo.z * in)), Float(0));
}

Float ProjectiveTracer::indirect_launch(const BoundaryPass &pass, const Silhouettes &edges,
                                        const DiscreteDistribution &pieces, LineKind kind,
                                        bool to_light, const SampleGuide &guide, uint32_t first,
                                        uint32_t lanes, double scale, Target *target,
                                        std::vector<Float> *places) const {
    const Scene &scene = pass.scene;
    const Sensor &sensor = pass.sensor;
    BSDFContext ctx;
    ctx.mode = BSDFContext::Mode::Importance;
    constexpr uint32_t LightBit = 1u << 31, GuideBit = 1u << 30, OwnBit = 1u << 29;
    UInt32 number =
        UInt32(jit::lane_index(lanes)) +
        jit::opaque(first ^ OwnBit ^ (to_light ? LightBit : 0u) ^ (target ? 0u : GuideBit));
    Start start = umbel::start(pass, number, uint32_t(kind));
    SampleStream &sampler = start.sampler;
    Float x = sampler.next_1d();
    Vector2 yz = sampler.next_2d();
    SampleGuide::Sample place_in_cube = guide.sample(x, yz, sampler.next_1d());
    Seed s = seed(pass, edges, pieces, kind, to_light, place_in_cube.x, place_in_cube.yz,
                  start.time, start.wavelengths);
    s.weight = s.weight / place_in_cube.pdf;

    // How many segments lie between the camera and the silhouette's own: one half have one, a quarter two, ...
    uint32_t most = max_depth() < 0 ? 24u : uint32_t(std::max(max_depth() - 1, 1));
    UInt32 segments(1u);
    Float chance(1);
    if (most > 1) {
        Float halvings = floor(log(max(1 - sampler.next_1d(), Float(1e-7))) * (-1 / std::log(2.0)));
        segments = to_uint(min(halvings, Float(double(most - 1)))) + UInt32(1u);
        chance = rcp(Float(UInt32(1u) << segments));
        chance = select(segments == UInt32(most), chance * 2, chance);
    }

    Segment ends = segment(scene, edges, s, kind, sampler, start.time, start.wavelengths);
    const Ray &to_camera = ends.to_camera, &to_light_ray = ends.to_light;
    const Hit &near = ends.near, &far = ends.far;
    Mask active = ends.active;
    Float infinity(std::numeric_limits<double>::infinity());
    bool begins_here = kind == LineKind::OwnShadow;
    // What a ray meets, and how much of it the surface there shows to who sent it
    auto meet = [&](const Walk &w) {
        if (!begins_here) {
            SurfaceInteraction si = scene.ray_intersect(w.ray, w.active);
            return std::pair{ si, dot(si.n, -w.ray.d) };
        }
        Mask first = w.left == segments;
        Hit next = scene.trace(w.ray, w.active & !first);
        auto either = [&](const auto &a, const auto &b) { return select(first, a, b); };
        SurfaceInteraction si = scene.interaction(
            w.ray,
            { either(near.t, next.t), either(near.u, next.u), either(near.v, next.v),
              either(near.prim, next.prim), either(near.geometry, next.geometry),
              either(near.instance, next.instance) },
            w.active);
        return std::pair{ si, either(ends.cosine, dot(si.n, -w.ray.d)) };
    };

    // To the camera
    Walk walk{ sampler, to_camera, Spectrum(1).dense(), segments, active };
    if (most > 1)
        walk = jit::loop(
            walk, [](const Walk &w) { return w.active & (w.left > UInt32(1u)); },
            [&](Walk &w) {
                auto [si, in] = meet(w);
                Mask hit = w.active & si.is_valid() & (in * si.wi.z > 0);
                Float u1 = w.sampler.next_1d();
                auto bsdf = scene.eval_and_sample_bsdf(ctx, si, Vector3(0, 0, 1), u1,
                                                       w.sampler.next_2d(), hit);
                Vector3 d = si.to_world(bsdf.sample.wo);
                w.throughput =
                    w.throughput * bsdf.sample.weight * adjoint(si, in, d, bsdf.sample.wo);
                Ray next = si.spawn_ray(d);
                next.wavelengths = w.ray.wavelengths;
                w.ray = next;
                w.left = w.left - UInt32(1u);
                w.active = hit & (bsdf.sample.pdf > 0) & any_nonzero(w.throughput);
            },
            "walk to the camera");
    auto [si, in] = meet(walk);
    active = walk.active & si.is_valid() & (in * si.wi.z > 0);
    auto [ds, importance] = sensor.sample_direction(si, start.aperture, active);
    active = active & (ds.pdf > 0);
    Vector3 wo = si.to_local(ds.d);
    auto bsdf = scene.eval_and_sample_bsdf(ctx, si, wo, Float(0), { Float(0), Float(0) }, active);
    Spectrum value = walk.throughput * bsdf.value * importance * adjoint(si, in, ds.d, wo) *
                     start.weight * (s.weight / chance);
    active = active & any_nonzero(value);
    if (m_hide_emitters)
        active = active & (si.emitter == UInt32(0u));
    Vector3 begin_of_sight = fma(ds.d, -sensor.reach(ds, active).near, ds.p);
    Scene::Passage seen_by = sight(scene, si.spawn_ray_to(begin_of_sight), active);
    value = value * seen_by.weight;
    active = active & any_nonzero(value);

    // Light that passes the silhouette
    UInt32 budget(0x7fffffffu); // of segments, those up to the silhouette's own come first
    if (max_depth() >= 0) {
        UInt32 used = segments + seen_by.surfaces;
        active = active & (used < UInt32(uint32_t(max_depth())));
        budget = UInt32(uint32_t(max_depth())) - used;
    }
    Spectrum L;
    SurfaceInteraction end = scene.interaction(to_light_ray, far, active);
    if (to_light) {
        Mask lit = far.t >= s.light_dist * (1 - 1e-3);
        lit = select(s.is_far, !far.is_valid(),
                     lit & (s.is_point | (end.is_valid() & (end.emitter == s.emitter))));
        active = active & lit;
        L = s.light;
    } else {
        L = sample_up_to(scene, walk.sampler, to_light_ray, budget, active).L;
        // The rest of what a light emits itself comes from samples of it
        if (kind != LineKind::Dark && share_of(1, true)) {
            auto [emitted, pdf] = scene.eval_emitter_pdf(
                place(s.reference, start.time, start.wavelengths), end, active);
            Mask on_surface = end.is_valid() & !edges.is_edge(s.piece);
            pdf = select(on_surface, pdf * turned(end.n, end.p, s.reference, s.at.p), pdf);
            L = L - emitted * (pdf / (pdf + s.direction_pdf));
        }
    }
    value = value * L;
    active = active & any_nonzero(value);

    if (!target) { // as bright as it may become if things move by as much as they are wide
        *places = { place_in_cube.x, place_in_cube.yz.x, place_in_cube.yz.y };
        Float bright = max_component(value) * norm(ends.across);
        return select(active & (bright < 1e20), bright, Float(0));
    }
    Float motion;
    {
        ad::ResumeGrad all;
        // The surface nearest to the camera is where a ray of the camera meets it; others stay where they are
        Mask direct = active & (segments == UInt32(1u)), later = active & (segments > UInt32(1u));
        Ray camera{ ds.p, -ds.d, infinity, start.time, start.wavelengths };
        Hit seen = near;
        seen.t = ds.dist;
        Vector3 begin =
            scene.attached(FollowedCamera::carry(camera, direct), seen, Mask(true), direct).si.p;
        if (most > 1)
            begin = select(later, scene.attached(to_camera, near, Mask(false), later).si.p, begin);
        Mask meets = active & far.is_valid() & !s.is_point;
        Vector3 stop = scene.attached(to_light_ray, far, Mask(false), meets).si.p;
        Float beyond = select(s.is_point & !s.is_far, s.light_dist, far.t);
        Float part =
            select(s.is_far | !(far.is_valid() | s.is_point), Float(0), near.t / (near.t + beyond));
        Vector3 p = edges.attached(s.at, start.time, active);
        const Vector3 &across = ends.across;
        if (kind == LineKind::End)
            motion = dot(across, p) - dot(across, begin) * (1 - part) -
                     select(meets, dot(across, stop) * part, Float(0));
        else { // relative to the point of the surface, from where the other end is seen
            const Vector3 &here = begins_here ? begin : p, &there = begins_here ? stop : begin;
            Mask known = begins_here ? meets : active;
            auto change = [](const Float &v) { return v - Float(ad::detach(v)); };
            auto changes = [&](const Vector3 &v) {
                return select(known, { change(v.x), change(v.y), change(v.z) }, zero());
            };
            Float sign = begins_here ? -1 : 1;
            Vector3 turn =
                (changes(there) - changes(here)) * (sign / (begins_here ? far.t : near.t));
            Viewpoint from = s.from;
            from.p = from.p + select(from.w > 0, changes(there), select(known, turn, zero()));
            motion = dot(across, edges.moved(s.at, s.piece, from, start.time, active) - here);
        }
    }
    target->add({ ds.uv, start.in_filter, value * ends.sign, Float(0), start.wavelengths }, motion,
                scale, active);
    return {};
}

// At least one, if there are any: each finds light that the others do not.
uint64_t ProjectiveTracer::share_of(uint64_t total, bool to_light) const {
    if (!m_guiding_proj || m_project_seed == "bsdf")
        return to_light ? 0 : total;
    if (m_project_seed == "both")
        return (total + 1) / 2;
    return to_light ? total - total / 8 : (total + 7) / 8;
}

void ProjectiveTracer::indirect(const BoundaryPass &pass, const Silhouettes &edges,
                                Target &target) const {
    int spp = samples(m_sppi, pass);
    if (spp <= 0 || (max_depth() >= 0 && max_depth() < 2))
        return;
    if (pass.scene.emitters().empty())
        return;
    auto guiding = m_guiding == "none"   ? SampleGuide::Kind::None
                   : m_guiding == "grid" ? SampleGuide::Kind::Grid
                                         : SampleGuide::Kind::Octree;
    uint64_t total = uint64_t(spp) * pass.shape[0] * pass.shape[1];
    for (LineKind kind : { LineKind::End, LineKind::Dark, LineKind::OwnShadow }) {
        auto pieces = edges.by_measure(kind);
        for (bool to_light : { false, true }) {
            uint64_t part = share_of(total, to_light);
            if (kind ==
                LineKind::Dark) // light that a surface reflects, which is drawn towards no light
                part = to_light || max_depth() == 2 ? 0 : total;
            if (!pieces || part == 0)
                continue;
            // Else where the first guide is read, which waits for all that was started
            pass.between();
            SampleGuide guide;
            for (int round = 0; round < m_guiding_rounds && guiding != SampleGuide::Kind::None;
                 ++round) {
                std::vector<Float> places;
                Float bright =
                    indirect_launch(pass, edges, *pieces, kind, to_light, guide,
                                    uint32_t(round) * GuideLanes, GuideLanes, 1, nullptr, &places);
                jit::eval(bright, places[0], places[1], places[2]);
                const std::vector<double> points[3] = { read_floats(places[0]),
                                                        read_floats(places[1]),
                                                        read_floats(places[2]) };
                guide = SampleGuide(guiding, points, read_floats(bright));
            }
            double scale = double(pass.shape[0] * pass.shape[1]) / double(part);
            for (uint64_t first = 0; first < part; first += LanesALaunch)
                indirect_launch(pass, edges, *pieces, kind, to_light, guide, uint32_t(first),
                                uint32_t(std::min<uint64_t>(LanesALaunch, part - first)), scale,
                                &target, nullptr);
        }
    }
}

} // namespace umbel
