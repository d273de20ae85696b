// path: unidirectional path tracing with multiple importance sampling.
//
// At every surface, light is gathered in two ways, by sampling a light and by sampling the BSDF, and both estimates are
// combined with the power heuristic [Veach 1995]. Paths end at `max_depth` or by Russian roulette.
#include "render/integrator.h"

namespace umbel {

class Path final : public Integrator {
public:
    void declare(Params &p) override {
        Integrator::declare(p);
        p.integer("max_depth", m_max_depth, -1, -1)
            .doc("Longest path in segments: 1 shows lights only, 2 direct illumination; -1: no "
                 "limit");
        p.integer("rr_depth", m_rr_depth, 5, 1)
            .doc("Russian roulette ends paths from this depth on");
        p.boolean("strict_normals", m_strict_normals, false)
            .doc("Drops light on which shading normal and surface disagree about the side");
    }

    Radiance sample(const Scene &scene, SampleStream &sampler, const Ray &camera_ray,
                    const Mask &active) const override {
        State s = initial_state(sampler, camera_ray, active);
        s = jit::loop(
            s, [](const State &s) { return s.active; }, [&](State &s) { bounce(scene, s); },
            "path");
        sampler = s.sampler;
        return { s.L, s.valid, {} };
    }

private:
    struct State {
        SampleStream sampler;
        Ray ray;
        Spectrum throughput, L;
        Float eta;
        UInt32 depth;
        Vector3 prev_p;  // where the ray starts, with ...
        Float prev_pdf;  // ... the density of its direction ...
        Mask prev_delta; // ... unless it was the only one
        Mask valid, active;
        UMBEL_STRUCT(sampler, ray, throughput, L, eta, depth, prev_p, prev_pdf, prev_delta, valid,
                     active)
    };

    State initial_state(const SampleStream &sampler, const Ray &ray, const Mask &active) const {
        return { .sampler = sampler,
                 .ray = ray,
                 .throughput = Spectrum(1).dense(),
                 .L = Spectrum(0).dense(),
                 .eta = 1,
                 .depth = 0u,
                 .prev_p = ray.o,
                 .prev_pdf = 1,
                 .prev_delta = true,
                 .valid = false,
                 .active = m_max_depth == 0 ? Mask(false) : active };
    }

    static Float mis_weight(const Float &a, const Float &b) {
        Float a2 = a * a, w = a2 / fma(b, b, a2);
        return select(w > 0, w, Float(0)); // 0 / 0 is nothing
    }

    void bounce(const Scene &scene, State &s) const {
        BSDFContext ctx;
        Mask first = s.depth == UInt32(0u);
        SurfaceInteraction si = scene.ray_intersect(s.ray, s.active, first);
        Mask hit = si.is_valid();

        // Light that the surface, or the environment, emits towards us
        Interaction prev{ Float(0), s.prev_p, Vector3(Float(0)), s.ray.time, s.ray.wavelengths };
        Mask sees_light = m_hide_emitters ? s.active & !first : s.active;
        auto [emitted, light_pdf] = scene.eval_emitter_pdf(prev, si, sees_light);
        Float mis = select(s.prev_delta, Float(1), mis_weight(s.prev_pdf, light_pdf));
        s.L += select(sees_light, s.throughput * emitted * mis, Spectrum(0).dense());
        s.valid = s.valid | hit;

        // The path goes on from here, unless it is long enough
        Mask next = s.active & hit;
        if (m_max_depth > 0)
            next = next & (s.depth + UInt32(1u) < UInt32(uint32_t(m_max_depth)));

        // A direction towards a light
        Mask smooth = (si.bsdf_flags & UInt32(uint32_t(BSDFFlags::Smooth))) != UInt32(0u);
        auto [ds, light] =
            scene.sample_emitter_direction(si, s.sampler.next_2d(), false, next & smooth);
        Vector3 wo = si.to_local(ds.d);

        // The BSDF in that direction, and another direction sampled from it
        Float u1 = s.sampler.next_1d();
        Vector2 u2 = s.sampler.next_2d();
        Scene::BSDFResult bsdf = scene.eval_and_sample_bsdf(ctx, si, wo, u1, u2, next);

        // Direct light, if nothing is in the way
        Mask direct = next & smooth & (ds.pdf > 0);
        if (m_strict_normals)
            direct = direct & (dot(si.n, ds.d) * wo.z > 0);
        Spectrum value = si.to_world_mueller(bsdf.value, -wo, si.wi);
        Float light_mis = select(ds.delta, Float(1), mis_weight(ds.pdf, bsdf.pdf));
        Spectrum contribution = s.throughput * value * light * light_mis;
        direct = direct & any_nonzero(contribution);
        direct = direct & !scene.ray_test(si.spawn_ray_to(ds.p), direct);
        s.L += select(direct, contribution, Spectrum(0).dense());

        // On along the sampled direction
        const BSDFSample &bs = bsdf.sample;
        Vector3 d = si.to_world(bs.wo);
        Spectrum weight = si.to_world_mueller(bs.weight, -bs.wo, si.wi);
        s.throughput = select(next, s.throughput * weight, s.throughput);
        s.eta *= select(next, bs.eta, Float(1));
        s.ray = si.spawn_ray(d);
        s.prev_p = si.p;
        s.prev_pdf = bs.pdf;
        s.prev_delta = bs.is_delta();
        next = next & any_nonzero(unpolarized(s.throughput));
        if (m_strict_normals)
            next = next & (dot(si.n, d) * bs.wo.z > 0);
        s.depth = s.depth + UInt32(1u);

        // Russian roulette: the brightest channel, without the compression of light at refractions
        Float q = min(max_component(s.throughput) * sqr(s.eta), 0.95);
        Mask roulette = s.depth >= UInt32(uint32_t(m_rr_depth));
        Mask survives = s.sampler.next_1d() < q;
        s.throughput = select(roulette, s.throughput * rcp(q), s.throughput);
        s.active = next & (survives | !roulette);
    }

    int m_max_depth = -1, m_rr_depth = 5;
    bool m_strict_normals = false;
};

UMBEL_PLUGIN(Integrator, Path, "path")
} // namespace umbel
