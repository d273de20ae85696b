// render/scene_queries.cpp: what light transport asks of a scene, in recorded code.
#include "ad/ad.h"
#include "render/scene.h"
#include <algorithm>

namespace umbel {

std::vector<const Sensor *> Scene::sensors_and(const Sensor *another) const {
    std::vector<const Sensor *> all;
    for (const Ref<Sensor> &s : m_sensors)
        all.push_back(s.get());
    if (another && std::find(all.begin(), all.end(), another) == all.end())
        all.push_back(another);
    return all;
}

void Scene::follow_shapes(const Sensor *another) {
    m_arena.follow_shapes();
    for (const Sensor *s : sensors_and(another))
        s->follow_to_world();
}

std::vector<Value> Scene::followed_shapes(const Sensor *another) const {
    std::vector<Value> out = m_arena.followed_shapes();
    for (const Sensor *s : sensors_and(another))
        if (const Float &v = s->followed_to_world(); v.valid() && ad::grad_enabled(v))
            out.push_back(v);
    return out;
}

// ---- rays

SurfaceInteraction Scene::interaction(const Ray &ray, const Hit &hit, const Mask &active,
                                      Follow follow) const {
    SurfaceInteraction si = m_arena.interaction(ray, hit, active, follow);
    add_links(hit, active, si);
    return si;
}

Arena::Attached Scene::attached(const Ray &ray, const Hit &hit, const Mask &on_ray,
                                const Mask &active) const {
    Arena::Attached a = m_arena.attached(ray, hit, on_ray, active);
    add_links(hit, active, a.si);
    return a;
}

// To what the surface is made of.
void Scene::add_links(const Hit &hit, const Mask &active, SurfaceInteraction &si) const {
    Mask valid = active & hit.is_valid();
    auto [bsdf, emitter, flags, global] =
        jit::gather_packet<uint32_t, 4>(m_shape_table, si.shape, valid);
    si.shape_number = select(valid, global, UInt32(0u));
    si.bsdf = select(valid, bsdf, UInt32(0u));
    si.emitter = select(valid, emitter, UInt32(0u));
    si.bsdf_flags = flags;
}

Scene::HitPlace Scene::place_of(const Hit &hit, const Mask &active) const {
    Arena::Place place = m_arena.place_of(hit, active);
    Mask valid = active & hit.is_valid();
    auto [bsdf, emitter, flags, global] =
        jit::gather_packet<uint32_t, 4>(m_shape_table, place.shape_index + UInt32(1u), valid);
    return { place, select(valid, global, UInt32(0u)) };
}

// ---- lights

std::pair<DirectionSample, Spectrum> Scene::sample_emitter_direction(const Interaction &it,
                                                                     const Vector2 &u,
                                                                     bool test_visibility,
                                                                     const Mask &active) const {
    Float zero(0);
    Vector3 none(zero);
    DirectionSample nowhere{
        { none, none, { zero, zero }, zero, zero, Mask(false) }, none, zero, UInt32(0u)
    };
    std::pair nothing(nowhere, black());
    if (m_emitters.empty())
        return nothing;

    LightSampler::Choice choice = m_light_choice->choose(it, u.x, active);
    auto [ds, weight] = m_emitters.call(
        "emitter.sample_direction", choice.emitter, active, nothing,
        [&](const Emitter &e) { return e.sample_direction(it, { choice.rest, u.y }, active); });
    ds.emitter = choice.emitter;
    ds.pdf = ds.pdf * choice.pmf;
    weight = weight * choice.inverse_pmf();
    if (test_visibility) {
        Mask candidate = active & (ds.pdf > 0);
        Ray shadow = it.spawn_ray_to(ds.p);
        Mask blocked = ray_test(shadow, candidate);
        weight = select(candidate & !blocked, weight, black());
    }
    return { ds, weight };
}

LightSampler::Choice Scene::sample_emitter(const Float &u, const Mask &active) const {
    return m_light_choice ? m_light_choice->choose_source(u, active)
                          : LightSampler::Choice{ UInt32(0u), Float(0), u };
}

Float Scene::pdf_emitter(const UInt32 &emitter, const Mask &active) const {
    return m_light_choice ? m_light_choice->source_pmf(emitter, active) : Float(0);
}

std::pair<Ray, Spectrum> Scene::sample_emitter_ray(const LightSampler::Choice &source,
                                                   const Float &time, const Float &wavelength,
                                                   const Vector2 &position,
                                                   const Vector2 &direction,
                                                   const Mask &active) const {
    Vector3 zero(Float(0));
    std::pair none(Ray{ zero, zero, Float(0), time, sample_wavelengths(wavelength).first },
                   black());
    auto [ray, weight] =
        m_emitters.call("emitter.sample_ray", source.emitter, active, none, [&](const Emitter &e) {
            return e.sample_ray(time, wavelength, position, direction, active);
        });
    return { ray, weight * source.inverse_pmf() };
}

Float Scene::pdf_emitter_direction(const Interaction &it, const DirectionSample &ds,
                                   const Mask &active) const {
    Mask known = active & (ds.emitter != UInt32(0u));
    Float pdf = m_emitters.call("emitter.pdf_direction", ds.emitter, known, Float(0),
                                [&](const Emitter &e) { return e.pdf_direction(it, ds, known); });
    return m_light_choice ? pdf * m_light_choice->pmf(it, ds.emitter, known) : pdf;
}

Spectrum Scene::eval_emitter_direction(const Interaction &it, const DirectionSample &ds,
                                       const Mask &active) const {
    Mask known = active & (ds.emitter != UInt32(0u));
    return m_emitters.call("emitter.eval_direction", ds.emitter, known, black(),
                           [&](const Emitter &e) { return e.eval_direction(it, ds, known); });
}

UInt32 Scene::emitter_of(const SurfaceInteraction &si) const {
    return m_environment ? select(si.is_valid(), si.emitter, UInt32(m_environment)) : si.emitter;
}

Spectrum Scene::eval_emitter(const SurfaceInteraction &si, const Mask &active) const {
    UInt32 number = emitter_of(si);
    Mask known = active & (number != UInt32(0u));
    return m_emitters.call("emitter.eval", number, known, black(),
                           [&](const Emitter &e) { return e.eval(si, known); });
}

std::pair<Spectrum, Float> Scene::eval_emitter_pdf(const Interaction &it,
                                                   const SurfaceInteraction &si,
                                                   const Mask &active) const {
    DirectionSample ds = direction_to(it, si);
    Mask known = active & (ds.emitter != UInt32(0u));
    auto [value, pdf] = m_emitters.call(
        "emitter.eval", ds.emitter, known, std::pair(black(), Float(0)), [&](const Emitter &e) {
            return std::pair(e.eval(si, known), e.pdf_direction(it, ds, known));
        });
    if (m_light_choice)
        pdf = pdf * m_light_choice->pmf(it, ds.emitter, known);
    return { value, pdf };
}

DirectionSample Scene::direction_to(const Interaction &it, const SurfaceInteraction &si) const {
    DirectionSample ds;
    ds.p = si.p;
    ds.n = si.sh_frame.n;
    ds.uv = si.uv;
    ds.time = si.time;
    ds.pdf = Float(0);
    ds.delta = false;
    Vector3 rel = si.p - it.p;
    Mask valid = si.is_valid();
    ds.dist = norm(rel);
    // Environments are known by direction alone
    ds.d = select(valid, rel / ds.dist, -si.wi);
    ds.emitter = emitter_of(si);
    return ds;
}

// ---- surfaces

Scene::BSDFResult Scene::eval_and_sample_bsdf(const BSDFContext &ctx, const SurfaceInteraction &si,
                                              const Vector3 &wo, const Float &u1, const Vector2 &u2,
                                              const Mask &active) const {
    BSDFResult none{ black(), Float(0), BSDFSample::none() };
    none.sample.weight = black();
    return m_bsdfs.call("bsdf", si.bsdf, active, none, [&](const BSDF &bsdf) {
        auto [value, pdf] = bsdf.eval_pdf(ctx, si, wo, active);
        return BSDFResult{ value, pdf, bsdf.sample(ctx, si, u1, u2, active) };
    });
}

} // namespace umbel
