// motion: how far things move across the image from the time at which they are seen to another one.
//
// Red and green are the way of what a pixel sees, in pixels to the right and down, to where it is seen at `time`; blue is by how much it is
// farther from the camera then. The camera's own motion counts as well. Rays begin at times at which the shutter is open: for vectors from
// one frame to the next, shutter_open and shutter_close are the time of the first one. What is infinitely far away stays there.
//
// `config` says what is meant by what a pixel sees: `d` is the first surface; `rd` is what a mirror shows, `ttd` what is behind glass, and so
// on: each `r` or `t` is a reflection or transmission by an ideally smooth surface, `d` the end at one that is not. At the other time such a
// place is seen through another point of the image, which Newton's method looks for, by differences of rays; of infinite length are vectors
// of places that it does not find, and of those that come to lie behind the camera. Blue is then the way to the first surface. Pixels
// that see no such sequence are 0.
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
    Chain follow(const Scene &scene, const Sensor &camera, const Vector2 &pixel,
                 const Wavelengths &wavelengths, const Mask &active) const {
        const Film &film = camera.film();
        Vector2 at{ (pixel.x + double(film.crop().x)) / double(film.width()),
                    (pixel.y + double(film.crop().y)) / double(film.height()) };
        Ray ray =
            camera.sample_ray(m_time, Float(0.5), at, { Float(0.5), Float(0.5) }, active).first;
        ray.wavelengths = wavelengths;
        ray.neighbours = nullptr;
        return follow(scene, ray, active);
    }

    // Through which pixel the end of the sequence is seen at the other time.
    Vector3 through_others(const Scene &scene, const Sensor &camera, const Ray &ray,
                           const Chain &now) const {
        Vector3 goal = moved(scene, now.ray, now.hit, now.si, m_time, now.valid);
        Vector2 start = seen(camera, ray(now.first), ray.time, now.valid).pixel;
        struct State {
            Vector2 pixel;
            Float miss;     // squared distance of the end to the goal, over that of the goal
            Float distance; // of the first surface
            UInt32 steps;
            Mask searches;
            UMBEL_STRUCT(pixel, miss, distance, steps, searches)
        };
        const double apart = 0.05; // pixels between rays whose difference is taken
        Float size = max(squared_norm(goal - ray.o), 1e-12);
        // Where the end lies, relative to the goal
        auto look = [&](const Vector2 &pixel, const Mask &active) {
            Chain c = follow(scene, camera, pixel, ray.wavelengths, active);
            return std::tuple(c.si.p - goal, c.first, c.valid);
        };
        State s{ start, Float(Infinity), Float(Infinity), UInt32(0u), now.valid };
        s = jit::loop(
            s, [](const State &s) { return s.searches; },
            [&](State &s) {
                auto [off, first, is_there] = look(s.pixel, s.searches);
                auto [off_x, first_x, is_x] =
                    look({ s.pixel.x + apart, s.pixel.y }, s.searches & is_there);
                auto [off_y, first_y, is_y] =
                    look({ s.pixel.x, s.pixel.y + apart }, s.searches & is_there);
                Mask good = is_there & is_x & is_y;
                Vector3 x = (off_x - off) * (1 / apart), y = (off_y - off) * (1 / apart);
                // The nearest point of the plane that they span
                Float xx = squared_norm(x), xy = dot(x, y), yy = squared_norm(y), bx = -dot(x, off),
                      by = -dot(y, off), det = xx * yy - xy * xy;
                good = good & (det > 0);
                Float inv = rcp(select(good, det, Float(1)));
                Vector2 step{ (yy * bx - xy * by) * inv, (xx * by - xy * bx) * inv };
                s.miss = select(is_there, squared_norm(off) / size, Float(Infinity));
                s.distance = select(is_there, first, Float(Infinity));
                Mask ends = (s.miss < Close) & (s.steps > UInt32(0u));
                s.pixel = { select(good & !ends, s.pixel.x + step.x, s.pixel.x),
                            select(good & !ends, s.pixel.y + step.y, s.pixel.y) };
                s.steps = s.steps + UInt32(1u);
                // One step more, to see where the last one led
                s.searches = s.searches & good & !ends &
                             (s.steps < UInt32(uint32_t(m_once ? 1 : m_steps + 1)));
            },
            "motion");
        Vector3 way(s.pixel.x - start.x, s.pixel.y - start.y, s.distance - now.first);
        Mask found = m_once ? s.miss < Infinity : s.miss < Close;
        return select(found, way, Vector3(Float(Infinity)));
    }

    static constexpr double Close = 1e-7; // squared, of the distance to the camera
    Float m_time;
    std::string m_config = "d";
    bool m_once = false;
    int m_steps = 10;
};

UMBEL_PLUGIN(Integrator, Motion, "motion")
} // namespace umbel
