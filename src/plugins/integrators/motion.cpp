// motion: how far things move across the image from the time at which they are seen to another one.
//
// Red and green are the way of what a pixel sees, in pixels to the right and down, to where it is seen at `time`; blue is by how much it is
// farther from the camera then. The camera's own motion counts as well. Rays begin at times at which the shutter is open: for vectors from
// one frame to the next, shutter_open and shutter_close are the time of the first one. What is infinitely far away stays there.
//
// `config` says what is meant by what a pixel sees: `d` is the first surface; `rd` is what a mirror shows, `ttd` what is behind glass, and so
// on: each `r` or `t` is a reflection or transmission by an ideally smooth surface, `d` the end at one that is not. At the other time such a
// place is seen through another point of the image, which Newton's method looks for, by differences of rays, at times in between where the
// way is too long for it. Of infinite length are vectors of places that it does not find, and of those that come to lie behind the camera.
// Blue is then the way to the first surface. Pixels that see no such sequence are 0.
//
// Colours are numbers in RGB variants only; in others, the channels motion.R, motion.G and motion.B hold them.
#include "render/accelerator.h"
#include "render/instance.h"
#include "render/integrator.h"

namespace umbel {

namespace {

constexpr double Infinity = std::numeric_limits<double>::infinity();

// Transforms by the number of a hit's instance, as the scene has them.
InstanceTable placed_shapes(const Scene &scene) {
    std::vector<const Shape *> placed;
    std::optional<TimeInterval> all;
    for (const Ref<Shape> &s : scene.shapes()) {
        auto motion = s->motion();
        if (motion)
            all = all ? all->united(*motion) : *motion;
        if (!dynamic_cast<const ShapeGroup *>(s.get()) &&
            (motion || dynamic_cast<const Instance *>(s.get())))
            placed.push_back(s.get());
    }
    InstanceTable table;
    TimeInterval interval = all.value_or(TimeInterval());
    for (const Shape *s : placed)
        table.add(s->steps(interval));
    table.finish(interval);
    return table;
}

} // namespace

class Motion final : public Integrator {
public:
    void declare(Params &p) override {
        p.example("<float name='time' value='1'/>");
        Integrator::declare(p);
        p.scalar("time", m_time, 0).doc("To which things move");
        p.string("config", m_config, "d")
            .doc("What is followed: d, or r and t for each reflection and transmission before it");
        p.boolean("derivatives_only", m_once, false)
            .doc("Takes a single step of Newton's method, and does not look where that leads");
        p.integer("max_space_steps", m_steps, 10, 1).doc("Steps that it takes at most");
        p.integer("max_time_steps", m_time_steps, 5, 1)
            .doc("Searches at most: where one fails, the next is for half of the time's way");
    }
    void configure() override {
        if (m_config.empty() || m_config.find_first_not_of("rt") != m_config.size() - 1 ||
            m_config.back() != 'd')
            complain("config is {}; it must be letters r and t, and a d at the end",
                     quote(m_config));
    }
    std::vector<std::string> aov_names() const override {
        if (is_colour())
            return {};
        return { "motion.R", "motion.G", "motion.B" };
    }

    void render(Pass &pass) const override {
        pass.add(shown(pass.scene, pass.sensor, pass.ray, pass.active));
    }
    Radiance sample(const Scene &scene, SampleStream &, const Ray &ray, const Medium *,
                    const Mask &active) const override {
        if (scene.sensors().size() != 1)
            complain("motion is across the image of a camera, and the scene has {}",
                     scene.sensors().size());
        return shown(scene, *scene.sensors()[0], ray, active);
    }

private:
    // A sequence of reflections and transmissions, and its end.
    struct Chain {
        Ray ray; // that meets the end
        Hit hit;
        SurfaceInteraction si;
        Float first; // distance of the first surface
        Mask valid;  // it is as `config` says
    };

    static bool is_colour() { return variant().colour == Colour::Rgb; }

    Radiance shown(const Scene &scene, const Sensor &camera, const Ray &ray,
                   const Mask &active) const {
        if (camera.is_several())
            complain("motion is across the image of one camera, and {} holds several",
                     camera.where());
        Chain now = follow(scene, ray, active);
        Mask valid = now.valid;
        Vector3 v = m_config == "d" ? direct(scene, camera, ray, now, active)
                                    : through_others(scene, camera, ray, now);
        if (m_config == "d")
            valid = active;
        v = select(valid, v, Vector3(Float(0)));
        if (is_colour())
            return { depolarize(Spectrum(std::vector<Float>{ v.x, v.y, v.z })), valid, {} };
        return { black(), valid, { v.x, v.y, v.z } };
    }

    // ---- where things are in the image
    struct Seen {
        Vector2 pixel;
        Float distance;
        Mask in_front;
    };
    static Seen seen(const Sensor &camera, const Vector3 &p, const Float &time,
                     const Mask &active) {
        Interaction it;
        it.t = Float(0);
        it.p = p;
        it.n = Vector3(Float(0));
        it.time = time;
        it.wavelengths = {};
        if (variant().colour == Colour::Spectral)
            it.wavelengths = Spectrum(550);
        DirectionSample ds = camera.sample_direction(it, { Float(0.5), Float(0.5) }, active).first;
        return { ds.uv, ds.dist, dot(ds.d, ds.n) < 0 };
    }
    // Where the place of a hit is at another time.
    static Vector3 moved(const Scene &scene, const Ray &ray, const Hit &hit,
                         const SurfaceInteraction &si, const Float &time, const Mask &valid) {
        Ray then = ray;
        then.time = time;
        Vector3 on_mesh = scene.interaction(then, hit, valid).p; // meshes may also deform
        InstanceTable placed = placed_shapes(scene);
        Vector3 on_other = si.object_p;
        if (!placed.empty())
            on_other = placed.at(hit.instance, time, valid).point(on_other);
        return select(hit.geometry == UInt32(uint32_t(TriangleGeometry)), on_mesh, on_other);
    }

    Vector3 direct(const Scene &scene, const Sensor &camera, const Ray &ray, const Chain &now,
                   const Mask &active) const {
        // What is not met is so far away that the camera's own way does not matter
        BoundingBox b = scene.bounds();
        double far = 1e6 * (1 + (b.is_empty() ? 0 : b.radius()));
        Vector3 p = select(now.hit.is_valid(), now.si.p, ray(Float(far))),
                q = select(
                    now.hit.is_valid(),
                    moved(scene, now.ray, now.hit, now.si, m_time, active & now.hit.is_valid()), p);
        Seen from = seen(camera, p, ray.time, active), to = seen(camera, q, m_time, active);
        Float nearer = select(now.hit.is_valid(), to.distance - from.distance, Float(0));
        Vector3 way(to.pixel.x - from.pixel.x, to.pixel.y - from.pixel.y, nearer);
        return select(to.in_front, way, Vector3(Float(Infinity)));
    }

    // ---- sequences of reflections and transmissions
    Chain follow(const Scene &scene, Ray ray, const Mask &active) const {
        Chain c{ ray, {}, {}, Float(0), active };
        for (size_t i = 0; i < m_config.size(); ++i) {
            c.ray = ray;
            c.hit = scene.trace(ray, c.valid, i == 0);
            c.si = scene.interaction(ray, c.hit, c.valid);
            c.valid = c.valid & c.hit.is_valid();
            if (i == 0)
                c.first = c.si.t;
            if (m_config[i] == 'd')
                break;
            BSDFContext ctx{ .type_mask =
                                 uint32_t(m_config[i] == 'r' ? BSDFFlags::DeltaReflection
                                                             : BSDFFlags::DeltaTransmission) };
            BSDFSample s = scene.bsdfs().call(
                "bsdf.sample", c.si.bsdf, c.valid, BSDFSample::none(), [&](const BSDF &b) {
                    return b.sample(ctx, c.si, Float(0), { Float(0), Float(0) }, c.valid);
                });
            c.valid = c.valid & (s.pdf > 0);
            ray = c.si.spawn_ray(c.si.to_world(s.wo));
        }
        if (m_config.size() > 1) // an end that is seen by itself
            c.valid =
                c.valid & (((c.si.bsdf_flags & UInt32(uint32_t(BSDFFlags::Smooth))) != UInt32(0u)) |
                           (c.si.emitter != UInt32(0u)));
        return c;
    }
    Chain follow(const Scene &scene, const Sensor &camera, const Vector2 &pixel, const Float &time,
                 const Wavelengths &wavelengths, const Mask &active) const {
        const Film &film = camera.film();
        Vector2 at{ (pixel.x + double(film.crop().x)) / double(film.width()),
                    (pixel.y + double(film.crop().y)) / double(film.height()) };
        Ray ray = camera.sample_ray(time, Float(0.5), at, { Float(0.5), Float(0.5) }, active).first;
        ray.wavelengths = wavelengths;
        ray.neighbours = nullptr;
        return follow(scene, ray, active);
    }

    // One of Newton's: where the end of a pixel's sequence lies, and which pixel may be nearer to the goal.
    struct Step {
        Vector2 pixel;
        Float miss;     // squared distance of the end to the goal, over that of the goal
        Float distance; // of the first surface
        Mask leads_on;
    };
    Step step(const Scene &scene, const Sensor &camera, const Ray &ray, const Vector2 &pixel,
              const Vector3 &goal, const Float &time, const Mask &active) const {
        const double apart = 0.05; // pixels between rays whose difference is taken
        auto look = [&](const Vector2 &at, const Mask &lanes) {
            return follow(scene, camera, at, time, ray.wavelengths, lanes);
        };
        Chain here = look(pixel, active);
        Chain right = look({ pixel.x + apart, pixel.y }, active & here.valid),
              below = look({ pixel.x, pixel.y + apart }, active & here.valid);
        Vector3 off = here.si.p - goal, x = (right.si.p - goal - off) * (1 / apart),
                y = (below.si.p - goal - off) * (1 / apart);
        // The nearest point of the plane that they span
        Float xx = squared_norm(x), xy = dot(x, y), yy = squared_norm(y), bx = -dot(x, off),
              by = -dot(y, off), det = xx * yy - xy * xy;
        Mask good = here.valid & right.valid & below.valid & (det > 0);
        Float inv = rcp(select(good, det, Float(1)));
        Vector2 next{ pixel.x + (yy * bx - xy * by) * inv, pixel.y + (xx * by - xy * bx) * inv };
        Float size = max(squared_norm(goal - ray.o), 1e-12), infinity(Infinity);
        return { next, select(here.valid, squared_norm(off) / size, infinity),
                 select(here.valid, here.first, infinity), good };
    }

    // Through which pixel the end of the sequence is seen at the other time.
    Vector3 through_others(const Scene &scene, const Sensor &camera, const Ray &ray,
                           const Chain &now) const {
        Vector2 start = seen(camera, ray(now.first), ray.time, now.valid).pixel;
        struct State {
            Vector2 pixel;
            Float miss, distance;
            UInt32 steps;
            Mask searches;
            Float done, wanted; // parts of the way to the other time
            Vector2 known;      // the pixel at `done`
            UInt32 tries;       // searches so far
            UMBEL_STRUCT(pixel, miss, distance, steps, searches, done, wanted, known, tries)
        };
        Float infinity(Infinity);
        State s{ start,    infinity, infinity, UInt32(0u), now.valid,
                 Float(0), Float(1), start,    UInt32(1u) };
        s = jit::loop(
            s, [](const State &s) { return s.searches; },
            [&](State &s) {
                Float time = lerp(ray.time, m_time, s.wanted);
                Vector3 goal = moved(scene, now.ray, now.hit, now.si, time, s.searches);
                Step n = step(scene, camera, ray, s.pixel, goal, time, s.searches);
                s.miss = n.miss;
                s.distance = n.distance;
                Mask found = (n.miss < Close) & (s.steps > UInt32(0u));
                Mask goes_on = n.leads_on & !found;
                s.pixel = select(goes_on, n.pixel, s.pixel);
                s.steps = s.steps + UInt32(1u);
                // One step more, to see where the last one led
                Mask again = goes_on & (s.steps < UInt32(uint32_t(m_once ? 1 : m_steps + 1)));
                Mask ends = found & (s.wanted >= 1);
                if (m_once || m_time_steps == 1)
                    s.searches = s.searches & again;
                else
                    look_elsewhere(s, found, again, ends);
            },
            "motion");
        Vector3 way(s.pixel.x - start.x, s.pixel.y - start.y, s.distance - now.first);
        Mask found = m_once ? s.miss < Infinity : (s.miss < Close) & (s.wanted >= 1);
        return select(found, way, Vector3(infinity));
    }

    // The next search: from the pixel that was found to as much time later, or from the last one for half of that.
    template <class State>
    void look_elsewhere(State &s, const Mask &found, const Mask &again, const Mask &ends) const {
        Float width = (s.wanted - s.done) * select(found, Float(1), Float(0.5));
        Mask other = !again & !ends;
        s.done = select(found, s.wanted, s.done);
        s.known = select(found, s.pixel, s.known);
        s.wanted = select(other, min(s.done + width, 1), s.wanted);
        s.pixel = select(other, s.known, s.pixel);
        s.steps = select(other, UInt32(0u), s.steps);
        s.tries = s.tries + select(other, UInt32(1u), UInt32(0u));
        s.searches = s.searches & !ends & (again | (s.tries <= UInt32(uint32_t(m_time_steps))));
    }

    static constexpr double Close = 1e-7; // squared, of the distance to the camera
    Float m_time;
    std::string m_config = "d";
    bool m_once = false;
    int m_steps = 10, m_time_steps = 5;
};

UMBEL_PLUGIN(Integrator, Motion, "motion")
} // namespace umbel
