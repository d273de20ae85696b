// direct: direct illumination only, by sampling lights and BSDFs, combined with the power heuristic.
#include "render/attached.h"
#include "render/followed_camera.h"
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
        if (!p.loading() && !p.assigning())
            return;
        if (p.assigning() && p.properties()->has("shading_samples"))
            m_emitter_samples = m_bsdf_samples = -1;
        if (m_emitter_samples < 0)
            m_emitter_samples = m_both;
        if (m_bsdf_samples < 0)
            m_bsdf_samples = m_both;
        if (m_emitter_samples + m_bsdf_samples == 0)
            fail("{}: at least one sample of either kind is needed", p.properties()->describe());
    }

    Radiance sample(const Scene &scene, SampleStream &sampler, const Ray &camera_ray,
                    const Medium *, const Mask &active) const override {
        Ray ray = m_hide_emitters ? past_lights(scene, camera_ray, active) : camera_ray;
        Place at = first_place(scene, ray, active);
        at.si.compute_uv_partials(ray, active);
        Mask valid = active & at.si.is_valid();
        Spectrum L = black();
        if (!m_hide_emitters)
            L += select(active, scene.eval_emitter(at.si, active), black());
        for (int i = 0; i < m_emitter_samples; ++i)
            L += towards_light(scene, sampler, at, valid);
        for (int i = 0; i < m_bsdf_samples; ++i)
            L += towards_sample(scene, sampler, at, valid);
        return { L, valid | covers_background(scene, m_hide_emitters), {} };
    }

    const Integrator *ignores_camera() const override { return nullptr; }

private:
    // What the camera sees, with derivatives of what scripts follow, and without. Where it is differentiated, what was sampled
    // stays, with its density, and values change there: lights end somewhere, and a derivative of directions would not know.
    struct Place {
        SurfaceInteraction si, fixed;
        bool is_held;         // samples are
        bool attached;        // shapes or the camera move, and points stay on their surfaces
        Scene::Follow follow; // else, of scripts that sample by hand: all that rays meet
    };
    static Place first_place(const Scene &scene, const Ray &ray, const Mask &active) {
        Hit hit = scene.trace(ray, active, true);
        bool is_held = FollowedOnce::is_on(), moves = scene.follows_shapes(),
             attached = is_held && (moves || FollowedCamera::is_any());
        auto follow = moves && !is_held ? Scene::Follow::Ray : Scene::Follow::Nothing;
        SurfaceInteraction fixed = scene.interaction(ray, hit, active, follow);
        return { attached ? attached_to_camera(scene, ray, hit, active) : fixed, fixed, is_held,
                 attached, follow };
    }

    Spectrum towards_light(const Scene &scene, SampleStream &sampler, const Place &at,
                           const Mask &valid) const {
        const SurfaceInteraction &si = at.si;
        auto [ds, light] =
            scene.sample_emitter_direction(at.fixed, sampler.next_2d(), false, valid);
        Mask lit = valid & (ds.pdf > 0);
        lit = lit & !scene.ray_test(at.fixed.spawn_ray_to(ds.p), lit);
        if (at.attached)
            light =
                AttachedLight(scene, at.fixed, ds, lit).arriving_at(scene, si, ds, light, Float(1));
        Vector3 wo = si.to_local(ds.d);
        auto r = scene.eval_and_sample_bsdf({}, si, wo, Float(0), { Float(0), Float(0) }, valid);
        Spectrum value = si.to_world_mueller(r.value, -wo, si.wi);
        Float pdf = at.is_held ? Float(ad::detach(r.pdf)) : r.pdf;
        Float mis =
            select(ds.delta, Float(1),
                   mis_weight(ds.pdf * part(m_emitter_samples), pdf * part(m_bsdf_samples)));
        return select(lit & agree(si, ds.d, wo), value * light * (mis * (1.0 / m_emitter_samples)),
                      black());
    }

    Spectrum towards_sample(const Scene &scene, SampleStream &sampler, const Place &at,
                            const Mask &valid) const {
        const SurfaceInteraction &si = at.si;
        Float u1 = sampler.next_1d();
        BSDFSample bs = sample_bsdf(scene, at, u1, sampler.next_2d(), valid);
        Vector3 d = at.fixed.to_world(bs.wo);
        Mask go = valid & (bs.pdf > 0) & agree(at.fixed, d, bs.wo);
        Ray next = at.fixed.spawn_ray(d);
        SurfaceInteraction end;
        if (at.attached) {
            AttachedStep step(scene, si, next, bs, go);
            bs.weight = bs.weight * relative(step.value);
            end = attached_end(scene, si, next, step.hit, bs.is_delta(), go);
        } else
            end = scene.interaction(next, scene.trace(next, go), go, at.follow);
        auto [emitted, light_pdf] = scene.eval_emitter_pdf(at.fixed, end, go);
        if (at.attached)
            light_pdf = Float(ad::detach(light_pdf));
        Float mis =
            select(bs.is_delta(), Float(1),
                   mis_weight(bs.pdf * part(m_bsdf_samples), light_pdf * part(m_emitter_samples)));
        Spectrum weight = si.to_world_mueller(bs.weight, -bs.wo, si.wi);
        return select(go, weight * emitted * (mis * (1.0 / m_bsdf_samples)), black());
    }

    // Shapes that move take points along; what is seen in mirrors stays in its direction.
    static SurfaceInteraction attached_end(const Scene &scene, const SurfaceInteraction &from,
                                           const Ray &ray, const Hit &hit, const Mask &on_ray,
                                           const Mask &active) {
        SurfaceInteraction si = scene.attached(ray, hit, on_ray, active).si;
        Mask carried = active & hit.is_valid() & !on_ray;
        Vector3 way = select(carried, from.p - si.p, -ray.d);
        si.wi = replace_grad(si.wi, select(carried, si.to_local(normalize(way)), si.wi));
        return si;
    }

    static BSDFSample sample_bsdf(const Scene &scene, const Place &at, const Float &u1,
                                  const Vector2 &u2, const Mask &active) {
        Vector3 any(0, 0, 1);
        if (!at.is_held)
            return scene.eval_and_sample_bsdf({}, at.si, any, u1, u2, active).sample;
        ReplayedScattering r = replay_bsdf(scene, at.fixed, any, u1, u2, !at.attached, active);
        if (!at.attached)
            r.sample.weight = r.sample.weight * relative(r.sample_value);
        return r.sample;
    }

    double part(int samples) const { return samples / double(m_emitter_samples + m_bsdf_samples); }

    // Normals about the side on which light arrives; true where they need not.
    Mask agree(const SurfaceInteraction &si, const Vector3 &d, const Vector3 &wo) const {
        return m_strict_normals ? dot(si.n, d) * wo.z > 0 : Mask(true);
    }

    bool m_strict_normals = false;
    int m_both = 1, m_emitter_samples = 1, m_bsdf_samples = 1;
};

UMBEL_PLUGIN(Integrator, Direct, "direct")
} // namespace umbel
