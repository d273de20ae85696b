// ptracer: follows light from the lights, and connects each surface that it meets to the camera.
//
// Good at caustics that a camera's paths find by chance only; poor at what is seen in mirrors, which it cannot connect to.
// Lights that the camera sees directly, or through surfaces that let its rays pass, come from the camera's own rays.
// Media and light below surfaces are left out; a warning says so.
//
// A bounce is a launch: so lanes add to the image in their order, and it has the same bits every time.
#include "core/warning.h"
#include "jit/recording.h"
#include "render/hidden_lights.h"
#include "render/integrator.h"
#include "render/subsurface.h"
#include <algorithm>
#include <utility>

namespace umbel {

class LightTracer final : public Integrator {
public:
    void declare(Params &p) override {
        Integrator::declare(p);
        p.integer("max_depth", m_max_depth, -1, -1)
            .doc("Longest path in segments: 1 shows lights only, 2 direct illumination; -1: no "
                 "limit");
        p.integer("rr_depth", m_rr_depth, 5, 1)
            .doc("Russian roulette ends paths from this depth on");
    }
    bool splats() const override { return true; }

    bool prepare(const Scene &scene, const Progress &) const override {
        if (m_told_of.lock().get() == &scene)
            return true; // whatever has changed since
        m_told_of = scene.weak_from_this();
        if (!scene.media().empty())
            warn_of(scene.media().objects().front()->where(), "media", "volpath");
        auto is_deep = [](const Shape *s) { return s->subsurface() != nullptr; };
        if (auto s = std::ranges::find_if(scene.surfaces(), is_deep); s != scene.surfaces().end())
            warn_of((*s)->subsurface()->where(), "light below surfaces", "path");
        return true;
    }

    void render(Pass &pass) const override {
        if (variant().polarized)
            complain("follows light without its polarization only; this variant is {}",
                     variant().name);
        if (m_max_depth == 0)
            return;
        add_visible_lights(pass);
        if (pass.scene.emitters().empty())
            return;
        // A frozen function cannot look whether there is light left: it follows all bounces
        bool frozen = jit::Recorder::of(jit::Context::current());
        if (frozen && m_max_depth < 0)
            complain("paths of any length cannot be part of a frozen function, whose kernels are "
                     "the same each time; give max_depth");
        State s = start(pass);
        for (int bounce = 1; bounce < m_max_depth || m_max_depth < 0; ++bounce) {
            compute(s);
            if (!frozen && !pass.go_on())
                return;
            if (!frozen && !jit::any(s.active))
                break;
            follow(pass, s, uint32_t(bounce));
        }
        jit::eval();
    }

private:
    static void warn_of(const std::string &where, const char *what, const char *remedy) {
        warn(fmt::format("{}: ptracer leaves out {}, whose light is missing in the image; use {}",
                         where, what, remedy));
    }

    struct State { // of a path of light
        SampleStream sampler;
        Ray ray;
        Spectrum throughput;
        Float eta;
        Mask active;
        UMBEL_STRUCT(sampler, ray, throughput, eta, active)
    };

    // All of it becomes arrays: so all bounces are one kernel, whatever is constant in the first.
    static void compute(State &s) {
        uint32_t lanes = s.active.size();
        std::vector<Value> values = jit::detail::flatten(s);
        std::vector<const Value *> list;
        for (Value &v : values) {
            if (v.is_literal())
                v = jit::opaque(jit::literal(v.type(), v.literal_bits(), lanes));
            list.push_back(&v);
        }
        jit::eval(std::span<const Value *const>(list));
        jit::detail::unflatten(s, std::move(values));
    }

    // What the camera sees of lights themselves, also through surfaces that let its rays pass: no path of light can be connected
    // to it there.
    void add_visible_lights(Pass &pass) const {
        const Scene &scene = pass.scene;
        struct Sight {
            Ray ray;
            Spectrum L, weight;
            UInt32 surfaces; // that the ray has met
            Mask active;
            UMBEL_STRUCT(ray, L, weight, surfaces, active)
        };
        Sight s{ m_hide_emitters ? past_lights(scene, pass.ray, pass.active) : pass.ray, black(),
                 Spectrum(1).dense(), UInt32(0u), pass.active };
        auto meet = [&](Sight &s, const Mask &coherent) {
            SurfaceInteraction si = scene.ray_intersect(s.ray, s.active, coherent);
            if (!m_hide_emitters)
                s.L += select(s.active, s.weight * scene.eval_emitter(si, s.active), black());
            Mask hit = s.active & si.is_valid();
            s.surfaces = select(hit, s.surfaces + UInt32(1u), s.surfaces);
            s.active = hit;
            if (m_max_depth >= 0)
                s.active = s.active & (s.surfaces < UInt32(uint32_t(m_max_depth)));
            Spectrum passes = scene.null_transmission(si, s.active);
            s.weight = select(hit, select(s.active, s.weight * passes, black()), s.weight);
            s.active = s.active & any_nonzero(s.weight);
            s.ray = si.behind(s.ray);
        };
        Mask covered(covers_background(scene, m_hide_emitters));
        if (!scene.has_null_surfaces()) {
            meet(s, true);
            covered = covered | (s.surfaces != UInt32(0u));
        } else {
            s = jit::loop(
                s, [](const Sight &s) { return s.active; },
                [&](Sight &s) { meet(s, s.surfaces == UInt32(0u)); }, "visible lights");
            covered = covered | (pass.sampler.next_1d() >= mean(s.weight)); // a part of all samples
        }
        pass.add({ s.L, pass.active & covered, {} });
    }

    State start(Pass &pass) const {
        State s;
        s.sampler = pass.sampler;
        s.active = pass.active;
        Float choice = s.sampler.next_1d(), wavelength(0);
        if (variant().colour == Colour::Spectral)
            wavelength = s.sampler.next_1d();
        Vector2 position = s.sampler.next_2d(), direction = s.sampler.next_2d();
        std::tie(s.ray, s.throughput) =
            pass.scene.sample_emitter_ray(pass.scene.sample_emitter(choice, s.active),
                                          pass.ray.time, wavelength, position, direction, s.active);
        s.throughput = s.throughput.dense();
        s.eta = Float(1);
        s.active = s.active & any_nonzero(s.throughput);
        return s;
    }

    // `bounce` is data: all of them are one kernel.
    void follow(Pass &pass, State &s, uint32_t bounce) const {
        const Scene &scene = pass.scene;
        SurfaceInteraction si = scene.ray_intersect(s.ray, s.active);
        Mask hit = s.active & si.is_valid();
        Float in = dot(si.n, -s.ray.d);
        hit = hit & (in * si.wi.z > 0); // shading normal and surface agree about the side

        // The camera, and another direction sampled from the BSDF
        Vector2 aperture =
            pass.sensor.needs_position_sample() ? s.sampler.next_2d() : Vector2{ 0.5, 0.5 };
        auto [ds, importance] = pass.sensor.sample_direction(si, aperture, hit);
        Vector3 wo = si.to_local(ds.d);
        Float u1 = s.sampler.next_1d();
        Vector2 u2 = s.sampler.next_2d();
        BSDFContext ctx;
        ctx.mode = BSDFContext::Mode::Importance;
        auto bsdf = scene.eval_and_sample_bsdf(ctx, si, wo, u1, u2, hit);

        Spectrum value = s.throughput * bsdf.value * importance * adjoint(si, in, ds.d, wo);
        Mask seen = hit & (ds.pdf > 0) & any_nonzero(value);
        Vector3 camera = fma(ds.d, -pass.sensor.reach(ds, seen).near, ds.p);
        Scene::Passage sight = scene.passage(si.spawn_ray_to(camera), seen);
        value = value * sight.weight;
        seen = seen & any_nonzero(value);
        if (m_max_depth >= 0) // surfaces that are passed count
            seen = seen & (sight.surfaces + jit::opaque(bounce) < UInt32(uint32_t(m_max_depth)));
        pass.splat(ds.uv, value, s.ray.wavelengths, s.sampler, seen);

        // On along the sampled direction
        const BSDFSample &bs = bsdf.sample;
        Vector3 d = si.to_world(bs.wo);
        s.throughput = s.throughput * bs.weight * adjoint(si, in, d, bs.wo);
        s.eta *= bs.eta;
        Mask next = hit & (bs.pdf > 0) & any_nonzero(s.throughput);
        Ray ray = si.spawn_ray(d);
        ray.wavelengths = s.ray.wavelengths;
        s.ray = ray;
        Float q = min(max_component(s.throughput) * sqr(s.eta), 0.95);
        q = select(max_component(s.throughput) == 0, Float(1), q); // 0.95 of NaN, which ends, too
        Mask roulette = jit::opaque(bounce) >= UInt32(uint32_t(m_rr_depth));
        Mask survives = s.sampler.next_1d() < q;
        s.throughput = select(roulette, s.throughput * rcp(q), s.throughput);
        s.active = next & (survives | !roulette);
    }

    // Shading normals scatter light other than they scatter importance [Veach 1997, section 5.3]; zero where they disagree
    // with the surface about the side.
    static Float adjoint(const SurfaceInteraction &si, const Float &in, const Vector3 &d,
                         const Vector3 &wo) {
        Float out = dot(si.n, d);
        return select(out * wo.z > 0, abs((si.wi.z * out) / (wo.z * in)), Float(0));
    }

    int m_max_depth = -1, m_rr_depth = 5;
    mutable std::weak_ptr<const Object> m_told_of; // what is left out
};

UMBEL_PLUGIN(Integrator, LightTracer, "ptracer")
} // namespace umbel
