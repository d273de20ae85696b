// render/arena_queries.cpp: what rays hit, in recorded code.
#include "ad/ad.h"
#include "render/accelerator.h"
#include "render/arena.h"
#include "render/bends_unevenly.h"
#include "render/follows_data.h"
#include <algorithm>

namespace umbel {

Hit Arena::trace(const Ray &ray, const Mask &active, const Mask &coherent) const {
    return m_accelerator->trace(ray, active, coherent);
}

Mask Arena::ray_test(const Ray &ray, const Mask &active) const {
    return m_accelerator->occluded(ray, active);
}

struct Arena::Triangle {
    Vector3 p0, e1, e2;
    Vector2 uv0, uv1, uv2;
    Vector3 n0, n1, n2; // if any mesh has normals
    UInt32 shape;
    Mask faceted;
};

Arena::Triangle Arena::triangle(const Float &vertices, const UInt32 &prim, const Float &time,
                                const Mask &active) const {
    auto [v0, v1, v2, bits] = jit::gather_packet<uint32_t, 4>(m_triangles, prim, active);
    UInt32 shape = bits & UInt32(PackedMeshes::ShapeMask);
    const UInt32 *corner[3] = { &v0, &v1, &v2 };
    std::vector<Value> r[3];
    for (size_t k = 0; k < 3; ++k)
        r[k] = jit::gather_packet(vertices, *corner[k], uint32_t(m_stride), active);
    if (m_keys.valid()) { // a mesh that deforms is elsewhere at another time
        auto [first, segments, apart, begin] =
            jit::gather_packet<uint32_t, 4>(m_keys, shape, active);
        Mask deforms = active & (segments != UInt32(0u));
        InstanceTable::Step s = m_instances.step_at(time, segments);
        for (size_t k = 0; k < 3; ++k) {
            UInt32 base = first + *corner[k] - begin;
            auto key = [&](const UInt32 &step) {
                return jit::gather_packet(m_key_vertices, base + step * apart, PackedMeshes::Full,
                                          deforms);
            };
            std::vector<Value> a = key(s.first), b = key(s.next);
            for (size_t i = 0; i < m_stride; ++i)
                if (i != PackedMeshes::U && i != PackedMeshes::V)
                    r[k][i] =
                        select(deforms, lerp(Float(a[i]), Float(b[i]), s.fraction), Float(r[k][i]));
        }
    }
    auto vec = [&](size_t k, size_t i) {
        return Vector3(Float(r[k][i]), Float(r[k][i + 1]), Float(r[k][i + 2]));
    };
    Triangle t;
    t.p0 = vec(0, 0);
    t.e1 = vec(1, 0) - t.p0;
    t.e2 = vec(2, 0) - t.p0;
    t.shape = shape;
    Vector2 *uv[3] = { &t.uv0, &t.uv1, &t.uv2 };
    Mask without((bits & UInt32(PackedMeshes::NoUvBit)) != UInt32(0u));
    for (size_t k = 0; k < 3; ++k) { // where a mesh has none: places in the triangle
        Vector2 own{ Float(k == 1), Float(k == 2) };
        if (m_has_uvs)
            *uv[k] = { Float(r[k][PackedMeshes::U]), Float(r[k][PackedMeshes::V]) };
        if (m_lacks_uvs)
            *uv[k] = m_has_uvs ? select(without, own, *uv[k]) : own;
    }
    if (m_has_normals) {
        t.n0 = vec(0, PackedMeshes::Normal);
        t.n1 = vec(1, PackedMeshes::Normal);
        t.n2 = vec(2, PackedMeshes::Normal);
        t.faceted = Mask((bits & UInt32(PackedMeshes::FacetedBit)) != UInt32(0u));
    }
    return t;
}

namespace {

// Derivatives by u and v of what changes by e1 and e2 along a triangle's edges; where texture coordinates are degenerate,
// `otherwise`.
template <class Triangle>
std::pair<Vector3, Vector3> per_uv(const Triangle &t, const Vector3 &e1, const Vector3 &e2,
                                   const Vector3 &u_otherwise, const Vector3 &v_otherwise) {
    Vector2 d1 = t.uv1 - t.uv0, d2 = t.uv2 - t.uv0;
    Float det = fma(d1.x, d2.y, -(d1.y * d2.x)), inv_det = rcp(det);
    Mask valid = det != 0;
    return { select(valid, (e1 * d2.y - e2 * d1.y) * inv_det, u_otherwise),
             select(valid, (e2 * d1.x - e1 * d2.x) * inv_det, v_otherwise) };
}

bool is_followed(const Vector3 &v) {
    return ad::grad_enabled(v.x) || ad::grad_enabled(v.y) || ad::grad_enabled(v.z);
}

bool any_follows_data(const std::vector<const AnalyticShape *> &shapes) {
    return std::any_of(shapes.begin(), shapes.end(), [](const AnalyticShape *s) {
        auto *data = dynamic_cast<const FollowsData *>(s);
        return data && data->follows_data();
    });
}

} // namespace

Float Arena::triangle_interaction(const Float &vertices, const Hit &hit, const Float &time,
                                  const Mask &active, SurfaceInteraction &si) const {
    Triangle t = triangle(vertices, hit.prim, time, active);
    const Float &u = hit.u, &v = hit.v;
    Float w = 1 - u - v;

    si.p = fma(t.e2, v, fma(t.e1, u, t.p0));
    Vector3 normal = cross(t.e1, t.e2);
    si.n = normalize(normal);
    si.uv = t.uv0 * w + t.uv1 * u + t.uv2 * v;
    si.shape = t.shape;
    // An arbitrary frame where the parameterization is degenerate
    Frame any(si.n);
    std::tie(si.dp_du, si.dp_dv) = per_uv(t, t.e1, t.e2, any.s, any.t);

    si.sh_frame.n = si.n;
    if (m_has_normals) {
        Vector3 smooth = normalize(t.n0 * w + t.n1 * u + t.n2 * v);
        si.sh_frame.n = m_has_facets ? select(t.faceted, si.n, smooth) : smooth;
    }
    return norm(normal);
}

// The hit as a function of ray and surface: its numbers are those of traversal, its derivatives those of the formulas.
Hit Arena::follow_ray(const Float &vertices, const Ray &ray, const Hit &hit, const Mask &valid,
                      const Mask &triangle) const {
    Hit out = hit;
    Float t = hit.t;
    if (m_has_triangles) { // [Moeller 1997]
        Triangle r = this->triangle(vertices, hit.prim, ray.time, triangle);
        Vector3 p = cross(ray.d, r.e2), from = ray.o - r.p0, q = cross(from, r.e1);
        Float inv_det = rcp(dot(r.e1, p));
        t = dot(r.e2, q) * inv_det;
        out.u = Float(ad::replace_grad(hit.u, dot(from, p) * inv_det));
        out.v = Float(ad::replace_grad(hit.v, dot(ray.d, q) * inv_det));
    }
    if (!m_analytic.empty()) {
        Mask analytic = m_has_triangles ? valid & !triangle : valid;
        Ray whole = ray;
        whole.maxt = Float(std::numeric_limits<double>::infinity());
        AnalyticPlace at = analytic_place(hit, analytic);
        using PrimitiveHit = AnalyticShape::PrimitiveHit;
        PrimitiveHit none{ Float(0), Float(0), Float(0) };
        PrimitiveHit on =
            m_analytic.call("shape.intersect", at.row, analytic, none, [&](const AnalyticShape &s) {
                return s.intersect_primitive(whole, at.prim, analytic);
            });
        t = m_has_triangles ? select(triangle, t, on.t) : on.t;
        Float u(ad::replace_grad(hit.u, on.u)), v(ad::replace_grad(hit.v, on.v));
        out.u = m_has_triangles ? select(triangle, out.u, u) : u;
        out.v = m_has_triangles ? select(triangle, out.v, v) : v;
    }
    out.t = Float(ad::replace_grad(hit.t, t));
    return out;
}

UInt32 Arena::shape_of(const Hit &hit, const Mask &valid, const Mask &triangle) const {
    UInt32 shape(0u);
    if (m_has_triangles) {
        UInt32 bits = jit::gather(m_triangles, hit.prim * UInt32(4u) + UInt32(3u), triangle);
        shape = select(triangle, bits & UInt32(PackedMeshes::ShapeMask), shape);
    }
    if (!m_analytic.empty()) {
        Mask analytic = m_has_triangles ? valid & !triangle : valid;
        shape = select(analytic, analytic_place(hit, analytic).shape, shape);
    }
    return shape;
}

Arena::AnalyticPlace Arena::analytic_place(const Hit &hit, const Mask &analytic) const {
    auto [row, shape] = jit::gather_packet<uint32_t, 2>(m_analytic_numbers, hit.prim, analytic);
    auto [first, none] = jit::gather_packet<uint32_t, 2>(m_first_prims, shape, analytic);
    return { row, shape, hit.prim - first };
}

std::vector<InstanceTransform> Arena::places_of(const Float &followed, const Hit &hit,
                                                const Float &time, const Mask &valid,
                                                const Mask &triangle) const {
    std::vector<InstanceTransform> out;
    auto follow = [&](const UInt32 &row) {
        if (followed.valid())
            out.push_back(InstanceTransform::of_rows(jit::gather_packet(followed, row, 12, valid)));
    };
    if (followed.valid())
        follow(shape_of(hit, valid, triangle));
    if (!m_instances.empty()) {
        out.push_back(m_instances.at(hit.instance, time, valid));
        follow(hit.instance + UInt32(uint32_t(m_surfaces.size() + 1)));
    }
    return out;
}

Arena::Attached Arena::interaction(const Ray &ray, const Hit &found, const Mask &active,
                                   Follow follow, const Mask &on_ray) const {
    SurfaceInteraction si;
    Hit hit = found;
    Mask valid = active & (hit.t < std::numeric_limits<double>::infinity());
    bool moves = (follow == Follow::Ray || follow == Follow::Shape) &&
                 (m_followed.is_any() || any_follows_data(m_analytic.objects()));
    FollowsData::Following following(moves, follow == Follow::Shape ? Mask(false) : on_ray);
    Followed followed = moves ? this->followed() : Followed();
    const Float &vertices = followed.vertices.valid() ? followed.vertices : m_vertices;
    Mask triangle = valid;
    if (m_has_triangles && !m_analytic.empty())
        triangle = valid & (hit.geometry == UInt32(uint32_t(TriangleGeometry)));
    std::vector<InstanceTransform> places =
        places_of(followed.transforms, hit, ray.time, valid, triangle);
    Ray local = ray;
    for (size_t i = places.size(); i-- > 0;)
        local = places[i].to_local(local);
    bool everywhere = on_ray.is_literal();
    if ((follow == Follow::Ray || follow == Follow::OnlyRay) &&
        (moves || is_followed(ray.o) || is_followed(ray.d))) {
        Hit on = follow_ray(vertices, local, hit, valid, triangle);
        for (Float Hit::*v : { &Hit::t, &Hit::u, &Hit::v })
            hit.*v = everywhere ? on.*v : select(on_ray, on.*v, hit.*v);
    }
    if (follow == Follow::Shape || !everywhere)
        for (Vector3 Ray::*v : { &Ray::o, &Ray::d }) {
            const Vector3 &a = local.*v;
            Vector3 still(Float(ad::detach(a.x)), Float(ad::detach(a.y)), Float(ad::detach(a.z)));
            local.*v = everywhere ? still : select(on_ray, a, still);
        }
    Float area(1);
    if (m_has_triangles)
        area = triangle_interaction(vertices, hit, ray.time, triangle, si);
    if (!m_analytic.empty()) {
        analytic_interaction(local, hit, valid, triangle, si);
        Float other(1);
        if (moves && any_follows_data(m_analytic.objects())) {
            Mask analytic = m_has_triangles ? valid & !triangle : valid;
            AnalyticPlace at = analytic_place(hit, analytic);
            other = m_analytic.call(
                "shape.area_around", at.row, analytic, Float(1), [&](const AnalyticShape &s) {
                    auto *data = dynamic_cast<const FollowsData *>(&s);
                    return data ? data->area_around(si.p, hit.u, at.prim, analytic) : Float(1);
                });
        }
        area = m_has_triangles ? select(triangle, area, other) : other;
    }
    if (!m_has_triangles && m_analytic.empty()) { // an empty scene
        si.p = si.n = si.dp_du = si.dp_dv = si.sh_frame.n = Vector3(Float(0));
        si.uv = { Float(0), Float(0) };
        si.shape = UInt32(0u);
    }
    si.object_p = si.p;
    for (const InstanceTransform &place : places) {
        si.p = place.point(si.p);
        si.n = place.normal(si.n);
        si.sh_frame.n = place.normal(si.sh_frame.n);
        si.dp_du = place.vector(si.dp_du);
        si.dp_dv = place.vector(si.dp_dv);
        if (moves)
            area = area * place.area_factor(si.n);
    }
    if (moves && (follow == Follow::Shape || !everywhere))
        hit.t = Float(ad::replace_grad(hit.t, dot(si.p - ray.o, ray.d) / squared_norm(ray.d)));
    si.t = select(valid, hit.t, Float(std::numeric_limits<double>::infinity()));
    si.time = ray.time;
    si.wavelengths = ray.wavelengths;

    auto [first, turned] = jit::gather_packet<uint32_t, 2>(m_first_prims, si.shape, valid);
    si.prim = hit.prim - first;
    si.instance = UInt32(0u);
    if (!m_instances.empty())
        si.instance = UInt32(jit::gather(m_instance_numbers, hit.instance, valid));
    si.shape = select(valid, si.shape, UInt32(0u));

    // The frame follows the first derivative, as anisotropic materials expect
    const Vector3 &n = si.sh_frame.n;
    Vector3 s = fma(n, -dot(n, si.dp_du), si.dp_du);
    Mask good = squared_norm(s) > 0;
    si.sh_frame.s = select(good, normalize(s), Frame(n).s);
    si.sh_frame.t = cross(n, si.sh_frame.s);
    // Where nothing was met, wi is the direction itself, for environments
    si.wi = select(valid, si.to_local(-ray.d), -ray.d);
    return { si, moves ? area / Float(ad::detach(area)) : area };
}

void Arena::analytic_interaction(const Ray &ray, const Hit &hit, const Mask &valid,
                                 const Mask &triangle, SurfaceInteraction &si) const {
    Mask analytic = m_has_triangles ? valid & !triangle : valid;
    AnalyticPlace at = analytic_place(hit, analytic);
    struct Local {
        Vector3 p, n, sh_n, dp_du, dp_dv;
        Vector2 uv;
        UMBEL_STRUCT(p, n, sh_n, dp_du, dp_dv, uv)
    };
    Local l = m_analytic.call(
        "shape.fill_interaction", at.row, analytic, Local(), [&](const AnalyticShape &shape) {
            SurfaceInteraction s;
            shape.fill_primitive(ray, { hit.t, hit.u, hit.v }, at.prim, analytic, s);
            return Local{ s.p, s.n, s.sh_frame.n, s.dp_du, s.dp_dv, s.uv };
        });
    const UInt32 &shape = at.shape;
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

std::pair<Vector3, Vector3> Arena::normal_partials(const Ray &ray, const Hit &hit,
                                                   const SurfaceInteraction &si, bool shading,
                                                   const Mask &active) const {
    Vector3 none(Float(0)), du = none, dv = none;
    Mask valid = active & hit.is_valid(), triangle = valid;
    InstanceTransform instance;
    Vector3 dp_du = si.dp_du, dp_dv = si.dp_dv;
    if (!m_instances.empty()) {
        instance = m_instances.at(hit.instance, ray.time, valid);
        dp_du = instance.to_local({ none, dp_du, {}, {}, {} }).d;
        dp_dv = instance.to_local({ none, dp_dv, {}, {}, {} }).d;
    }
    if (m_has_triangles && !m_analytic.empty())
        triangle = valid & (hit.geometry == UInt32(uint32_t(TriangleGeometry)));
    if (m_has_triangles && m_has_normals && shading) {
        Triangle t = this->triangle(m_vertices, hit.prim, ray.time, triangle);
        Vector3 n0 = t.n0, e1 = t.n1 - n0, e2 = t.n2 - n0;
        Vector3 sum = n0 + e1 * hit.u + e2 * hit.v;
        Float inv = rsqrt(squared_norm(sum));
        Vector3 n = sum * inv;
        std::tie(du, dv) = per_uv(t, e1, e2, none, none);
        du = fma(n, -dot(n, du), du) * inv; // of the normalized normal
        dv = fma(n, -dot(n, dv), dv) * inv;
        if (m_has_facets) {
            du = select(t.faceted, none, du);
            dv = select(t.faceted, none, dv);
        }
    }
    if (!m_analytic.empty()) {
        Mask analytic = m_has_triangles ? valid & !triangle : valid;
        UInt32 number = analytic_place(hit, analytic).row;
        Vector2 k = m_analytic.call("shape.curvature", number, analytic,
                                    Vector2{ Float(0), Float(0) }, [&](const AnalyticShape &s) {
                                        auto *uneven = dynamic_cast<const BendsUnevenly *>(&s);
                                        return uneven ? uneven->curvature_at(si.uv) : s.curvature();
                                    });
        du = select(analytic, dp_du * k.x, du);
        dv = select(analytic, dp_dv * k.y, dv);
    }
    if (!m_instances.empty()) {
        // Normals change by the inverse transpose, and are normalized then
        const Vector3 &n = si.sh_frame.n;
        auto turn = [&](const Vector3 &v) {
            return fma(instance.inverse[0], v.x,
                       fma(instance.inverse[1], v.y, instance.inverse[2] * v.z));
        };
        Vector3 local(dot(instance.column[0], n), dot(instance.column[1], n),
                      dot(instance.column[2], n));
        Float inv = rsqrt(squared_norm(turn(normalize(local))));
        for (Vector3 *d : { &du, &dv }) {
            Vector3 w = turn(*d) * inv;
            *d = fma(n, -dot(n, w), w);
        }
    }
    return { select(valid, du, none), select(valid, dv, none) };
}

Arena::Place Arena::place_of(const Hit &hit, const Mask &active) const {
    Mask valid = active & hit.is_valid(), triangle = valid;
    if (m_has_triangles && !m_analytic.empty())
        triangle = valid & (hit.geometry == UInt32(uint32_t(TriangleGeometry)));
    UInt32 shape = shape_of(hit, valid, triangle);
    auto [first, turned] = jit::gather_packet<uint32_t, 2>(m_first_prims, shape, valid);
    UInt32 none(0u), instance = none;
    if (!m_instances.empty())
        instance = UInt32(jit::gather(m_instance_numbers, hit.instance, valid));
    Mask swap = turned != none;
    return { hit.prim - first,
             instance,
             shape - UInt32(1u),
             { select(swap, hit.v, hit.u), select(swap, hit.u, hit.v) } };
}

} // namespace umbel
