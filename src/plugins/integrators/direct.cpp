// direct: direct illumination only, by sampling lights and BSDFs, combined with the power heuristic.
#include "render/followed_once.h"
#include "render/hidden_lights.h"
#include "render/integrator.h"

namespace umbel {

class Direct final : public Integrator {
public:
    void declare(Params &p) override {
        Integrator::declare(p);
        p.integer("shading_samples", m_both, 1, 0, 1024).doc("Sets both of the following");
        p.integer("emitter_samples", m_emitter_samples, -1, -1, 1024).doc("Samples of lights");
        p.integer("bsdf_samples", m_bsdf_samples, -1, -1, 1024).doc("Samples of the BSDF");
        p.boolean("strict_normals", m_strict_normals, false)
            .doc("Drops light on which shading normal and surface disagree about the side");
        if (!p.loading())
            return;
        if (m_emitter_samples < 0)
            m_emitter_samples = m_both;
        if (m_bsdf_samples < 0)
            m_bsdf_samples = m_both;
        if (m_emitter_samples + m_bsdf_samples == 0)
            fail("{}: at least one sample of either kind is needed", p.properties()->describe());
    }

    Radiance sample(const Scene &scene, SampleStream &sampler, const Ray &camera_ray,
                    const Medium *, const Mask &active) const override {
        BSDFContext ctx;
        // What scripts follow of shapes has derivatives wherever rays meet it
        auto meet = [&](const Ray &r, const Mask &on, bool coherent) {
            return scene.interaction(r, scene.trace(r, on, coherent), on,
                                     scene.follows_shapes() ? Scene::Follow::Ray
                                                            : Scene::Follow::Nothing);
        };
        Ray ray = m_hide_emitters ? past_lights(scene, camera_ray, active) : camera_ray;
        SurfaceInteraction si = meet(ray, active, true);
        si.compute_uv_partials(ray, active);
        Mask valid = active & si.is_valid();
        Spectrum L = black();
        if (!m_hide_emitters)
            L += select(active, scene.eval_emitter(si, active), black());

        double total = m_emitter_samples + m_bsdf_samples, part_e = m_emitter_samples / total,
               part_b = m_bsdf_samples / total;
        for (int i = 0; i < m_emitter_samples; ++i) {
            auto [ds, light] = scene.sample_emitter_direction(si, sampler.next_2d(), true, valid);
            Vector3 wo = si.to_local(ds.d);
            auto r =
                scene.eval_and_sample_bsdf(ctx, si, wo, Float(0), { Float(0), Float(0) }, valid);
            Spectrum value = si.to_world_mueller(r.value, -wo, si.wi);
            Float pdf = holds_samples(scene) ? Float(ad::detach(r.pdf)) : r.pdf;
            Float mis = select(ds.delta, Float(1), mis_weight(ds.pdf * part_e, pdf * part_b));
            Mask lit = valid & (ds.pdf > 0) & agree(si, ds.d, wo);
            L += select(lit, value * light * (mis * (1.0 / m_emitter_samples)), black());
        }
        for (int i = 0; i < m_bsdf_samples; ++i) {
            Float u1 = sampler.next_1d();
            BSDFSample bs = sample_bsdf(scene, si, u1, sampler.next_2d(), valid);
            Vector3 d = si.to_world(bs.wo);
            Mask go = valid & (bs.pdf > 0) & agree(si, d, bs.wo);
            Ray next = si.spawn_ray(d);
            SurfaceInteraction hit = meet(next, go, false);
            auto [emitted, light_pdf] = scene.eval_emitter_pdf(si, hit, go);
            Float mis =
                select(bs.is_delta(), Float(1), mis_weight(bs.pdf * part_b, light_pdf * part_e));
            Spectrum weight = si.to_world_mueller(bs.weight, -bs.wo, si.wi);
            L += select(go, weight * emitted * (mis * (1.0 / m_bsdf_samples)), black());
        }
        return { L, valid | covers_background(scene, m_hide_emitters), {} };
    }

private:
    // Where it is differentiated, what was sampled stays, with its density, and the BSDF's value there changes: lights end
    // somewhere, and a derivative of directions would not know. Shapes that move take their directions along.
    static bool holds_samples(const Scene &scene) {
        return FollowedOnce::is_on() && !scene.follows_shapes();
    }
    static BSDFSample sample_bsdf(const Scene &scene, const SurfaceInteraction &si, const Float &u1,
                                  const Vector2 &u2, const Mask &active) {
        Vector3 any(0, 0, 1);
        if (!holds_samples(scene))
            return scene.eval_and_sample_bsdf({}, si, any, u1, u2, active).sample;
        ReplayedScattering r = replay_bsdf(scene, si, any, u1, u2, true, active);
        r.sample.weight = r.sample.weight * relative(r.sample_value);
        return r.sample;
    }

    // Normals about the side on which light arrives; true where they need not.
    Mask agree(const SurfaceInteraction &si, const Vector3 &d, const Vector3 &wo) const {
        return m_strict_normals ? dot(si.n, d) * wo.z > 0 : Mask(true);
    }

    bool m_strict_normals = false;
    int m_both = 1, m_emitter_samples = 1, m_bsdf_samples = 1;
};

UMBEL_PLUGIN(Integrator, Direct, "direct")
} // namespace umbel
