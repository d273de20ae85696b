// render/scene_queries.cpp: what light transport asks of a scene, in recorded code.
#include "render/accelerator.h"
#include "render/scene.h"

namespace umbel {

// ---- rays

Hit Scene::trace(const Ray &ray, const Mask &active, const Mask &coherent) const {
    return m_accelerator->trace(ray, active, coherent);
}

Mask Scene::ray_test(const Ray &ray, const Mask &active) const {
    return m_accelerator->occluded(ray, active);
}

void Scene::triangle_interaction(const Hit &hit, const Mask &active, SurfaceInteraction &si) const {
    std::vector<Value> r = jit::gather_packet(m_triangles, hit.prim, 16, active);
    auto at = [&](size_t i) { return Float(r[i]); };
    Vector3 p0(at(0), at(1), at(2)), e1(at(3), at(4), at(5)), e2(at(6), at(7), at(8));
    Vector2 uv0{ at(9), at(10) }, uv1{ at(11), at(12) }, uv2{ at(13), at(14) };
    const Float &u = hit.u, &v = hit.v;
    Float w = 1 - u - v;

    si.p = fma(e2, v, fma(e1, u, p0));
    si.n = normalize(cross(e1, e2));
    si.uv = uv0 * w + uv1 * u + uv2 * v;
    si.shape = to_uint(at(15));

    // Derivatives of the position; an arbitrary frame where the parameterization is degenerate
    Vector2 d1 = uv1 - uv0, d2 = uv2 - uv0;
    Float det = fma(d1.x, d2.y, -(d1.y * d2.x)), inv_det = rcp(det);
    Frame any(si.n);
    Mask valid = det != 0;
    si.dp_du = select(valid, (e1 * d2.y - e2 * d1.y) * inv_det, any.s);
    si.dp_dv = select(valid, (e2 * d1.x - e1 * d2.x) * inv_det, any.t);

    si.sh_frame.n = si.n;
    if (m_has_normals) {
        std::vector<Value> q = jit::gather_packet(m_normals, hit.prim, 12, active);
        auto normal = [&](size_t i) {
            return Vector3(Float(q[i]), Float(q[i + 1]), Float(q[i + 2]));
        };
        si.sh_frame.n = normalize(normal(0) * w + normal(3) * u + normal(6) * v);
    }
}

SurfaceInteraction Scene::interaction(const Ray &ray, const Hit &hit, const Mask &active) const {
    SurfaceInteraction si;
    Mask valid = active & (hit.t < std::numeric_limits<double>::infinity());
    si.prim = hit.prim;
    InstanceTransform instance;
    Ray local = ray;
    if (!m_instances.empty()) {
        instance = m_instances.at(hit.instance, ray.time, valid);
        local = instance.to_local(ray);
    }
    Mask triangle = valid;
    if (m_has_triangles) {
        if (!m_analytic.empty())
            triangle = valid & (hit.geometry == UInt32(uint32_t(TriangleGeometry)));
        triangle_interaction(hit, triangle, si);
    }
    if (!m_analytic.empty())
        analytic_interaction(local, hit, valid, triangle, si);
    if (!m_has_triangles && m_analytic.empty()) { // an empty scene
        si.p = si.n = si.dp_du = si.dp_dv = si.sh_frame.n = Vector3(Float(0));
        si.uv = { Float(0), Float(0) };
        si.shape = UInt32(0u);
    }
    if (!m_instances.empty()) {
        si.p = instance.point(si.p);
        si.n = instance.normal(si.n);
        si.sh_frame.n = instance.normal(si.sh_frame.n);
        si.dp_du = instance.vector(si.dp_du);
        si.dp_dv = instance.vector(si.dp_dv);
    }
    si.t = select(valid, hit.t, Float(std::numeric_limits<double>::infinity()));
    si.time = ray.time;
    si.wavelengths = ray.wavelengths;

    auto [bsdf, emitter, flags, unused] =
        jit::gather_packet<uint32_t, 4>(m_shape_table, si.shape, valid);
    si.shape = select(valid, si.shape, UInt32(0u));
    si.bsdf = select(valid, bsdf, UInt32(0u));
    si.emitter = select(valid, emitter, UInt32(0u));
    si.bsdf_flags = flags;

    // The frame follows the first derivative, as anisotropic materials expect
    const Vector3 &n = si.sh_frame.n;
    Vector3 s = fma(n, -dot(n, si.dp_du), si.dp_du);
    Mask good = squared_norm(s) > 0;
    si.sh_frame.s = select(good, normalize(s), Frame(n).s);
    si.sh_frame.t = cross(n, si.sh_frame.s);
    // Where nothing was met, wi is the direction itself, for environments
    si.wi = select(valid, si.to_local(-ray.d), -ray.d);
    return si;
}

void Scene::analytic_interaction(const Ray &ray, const Hit &hit, const Mask &valid,
                                 const Mask &triangle, SurfaceInteraction &si) const {
    Mask analytic = m_has_triangles ? valid & !triangle : valid;
    UInt32 number = select(analytic, hit.prim + UInt32(1u), UInt32(0u));
    struct Local {
        Vector3 p, n, sh_n, dp_du, dp_dv;
        Vector2 uv;
        UMBEL_STRUCT(p, n, sh_n, dp_du, dp_dv, uv)
    };
    Local l = m_analytic.call("shape.fill_interaction", number, analytic, Local(),
                              [&](const AnalyticShape &shape) {
                                  SurfaceInteraction s;
                                  shape.fill_interaction(ray, hit.t, s);
                                  return Local{ s.p, s.n, s.sh_frame.n, s.dp_du, s.dp_dv, s.uv };
                              });
    UInt32 shape = jit::gather(m_analytic_numbers, hit.prim, analytic);
    if (!m_has_triangles) {
        si.p = l.p, si.n = l.n, si.sh_frame.n = l.sh_n, si.uv = l.uv, si.shape = shape;
        si.dp_du = l.dp_du, si.dp_dv = l.dp_dv;
        return;
    }
    si.p = select(triangle, si.p, l.p);
    si.n = select(triangle, si.n, l.n);
    si.sh_frame.n = select(triangle, si.sh_frame.n, l.sh_n);
    si.uv = select(triangle, si.uv, l.uv);
    si.shape = select(triangle, si.shape, shape);
    si.dp_du = select(triangle, si.dp_du, l.dp_du);
    si.dp_dv = select(triangle, si.dp_dv, l.dp_dv);
}

// ---- lights

std::pair<DirectionSample, Spectrum> Scene::sample_emitter_direction(const Interaction &it,
                                                                     const Vector2 &u,
                                                                     bool test_visibility,
                                                                     const Mask &active) const {
    struct Result {
        DirectionSample ds;
        Spectrum weight;
        UMBEL_STRUCT(ds, weight)
    };
    Float zero(0);
    Vector3 none(zero);
    Result nothing{
        { { none, none, { zero, zero }, zero, zero, Mask(false) }, none, zero, UInt32(0u) },
        Spectrum(0).dense()
    };
    if (m_emitters.empty())
        return { nothing.ds, nothing.weight };

    // A single light needs no choice
    UInt32 number(1u);
    Float ux = u.x, pmf(1);
    if (m_emitters.objects().size() > 1) {
        auto [index, rest] = m_emitter_choice.sample_reuse(u.x, active);
        number = index + UInt32(1u);
        ux = rest;
        pmf = Float(jit::gather(m_emitter_pmf, number, active));
    }
    Result r =
        m_emitters.call("emitter.sample_direction", number, active, nothing, [&](const Emitter &e) {
            auto [ds, weight] = e.sample_direction(it, { ux, u.y }, active);
            return Result{ ds, weight.dense() };
        });
    r.ds.emitter = number;
    r.ds.pdf = r.ds.pdf * pmf;
    r.weight = r.weight * rcp(pmf);
    if (test_visibility) {
        Mask candidate = active & (r.ds.pdf > 0);
        Ray shadow = it.spawn_ray_to(r.ds.p);
        Mask blocked = ray_test(shadow, candidate);
        r.weight = select(candidate & !blocked, r.weight, Spectrum(0).dense());
    }
    return { r.ds, r.weight };
}

Float Scene::pdf_emitter_direction(const Interaction &it, const DirectionSample &ds,
                                   const Mask &active) const {
    Mask known = active & (ds.emitter != UInt32(0u));
    struct Result {
        Float pdf;
        UMBEL_STRUCT(pdf)
    };
    Result r =
        m_emitters.call("emitter.pdf_direction", ds.emitter, known, Result{ Float(0) },
                        [&](const Emitter &e) { return Result{ e.pdf_direction(it, ds, known) }; });
    if (m_emitters.objects().size() <= 1)
        return r.pdf;
    return r.pdf * Float(jit::gather(m_emitter_pmf, ds.emitter, known));
}

UInt32 Scene::emitter_of(const SurfaceInteraction &si) const {
    return m_environment ? select(si.is_valid(), si.emitter, UInt32(m_environment)) : si.emitter;
}

Spectrum Scene::eval_emitter(const SurfaceInteraction &si, const Mask &active) const {
    UInt32 number = emitter_of(si);
    struct Result {
        Spectrum value;
        UMBEL_STRUCT(value)
    };
    Mask known = active & (number != UInt32(0u));
    return m_emitters
        .call("emitter.eval", number, known, Result{ Spectrum(0).dense() },
              [&](const Emitter &e) { return Result{ e.eval(si, known).dense() }; })
        .value;
}

std::pair<Spectrum, Float> Scene::eval_emitter_pdf(const Interaction &it,
                                                   const SurfaceInteraction &si,
                                                   const Mask &active) const {
    DirectionSample ds = direction_to(it, si);
    struct Result {
        Spectrum value;
        Float pdf;
        UMBEL_STRUCT(value, pdf)
    };
    Mask known = active & (ds.emitter != UInt32(0u));
    Result r = m_emitters.call("emitter.eval", ds.emitter, known,
                               Result{ Spectrum(0).dense(), Float(0) }, [&](const Emitter &e) {
                                   return Result{ e.eval(si, known).dense(),
                                                  e.pdf_direction(it, ds, known) };
                               });
    if (m_emitters.objects().size() > 1)
        r.pdf = r.pdf * Float(jit::gather(m_emitter_pmf, ds.emitter, known));
    return { r.value, r.pdf };
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
    BSDFResult none{ Spectrum(0).dense(), Float(0), BSDFSample::none() };
    none.sample.weight = none.sample.weight.dense();
    return m_bsdfs.call("bsdf", si.bsdf, active, none, [&](const BSDF &bsdf) {
        auto [value, pdf] = bsdf.eval_pdf(ctx, si, wo, active);
        BSDFResult r{ value.dense(), pdf, bsdf.sample(ctx, si, u1, u2, active) };
        r.sample.weight = r.sample.weight.dense();
        return r;
    });
}

} // namespace umbel
