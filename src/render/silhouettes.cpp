// render/silhouettes.cpp: see render/silhouettes.h.
#include "render/silhouettes.h"
#include "ad/ad.h"
#include "core/host_array.h"
#include "core/warning.h"
#include "core/warp.h"
#include "render/accelerator.h"
#include "render/followed_camera.h"
#include "render/follows_data.h"
#include "render/packed_meshes.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>
#include <set>

namespace umbel {

// ---- what there is

Silhouettes::Silhouettes(const Scene &scene) : m_scene(scene), m_arena(scene.arena()) {
    // Where each surface lies in what is packed
    std::vector<Begin> begins;
    Begin next;
    for (const Shape *s : m_arena.m_surfaces) {
        auto *mesh = dynamic_cast<const Mesh *>(s);
        next.row += !mesh;
        begins.push_back(next);
        if (mesh) {
            next.vertex += uint32_t(mesh->vertex_count());
            next.triangle += uint32_t(mesh->triangle_count());
        } else
            next.primitive += uint32_t(s->primitive_count());
    }
    size_t own = m_arena.m_parts.empty() ? 0 : m_arena.m_parts[0];
    for (size_t i = 0; i < own; ++i)
        add_surface(i, begins[i], 0);
    for (size_t k = 0; k < m_arena.m_placed.size(); ++k)
        for (size_t part = m_arena.m_placed[k].part, i = m_arena.m_parts[part - 1];
             i < m_arena.m_parts[part]; ++i)
            add_surface(i, begins[i], uint32_t(k + 1));

    m_edges_host = uint32_t(m_host_corners.size() / 4);
    m_rims_host = m_edges_host ? uint32_t(m_host_rims.size() / 4) : 0;
    m_count = m_edges_host + uint32_t(m_shapes.size()) + m_rims_host;
    m_edge_count = jit::opaque(m_edges_host);
    m_outline_count = jit::opaque(uint32_t(m_shapes.size()));
    if (m_rims_host) {
        m_rims = jit::copy(m_host_rims);
        m_host_rims = {};
        m_has_dark = true;
    }
    if (m_edges_host) {
        m_corners = jit::copy(m_host_corners);
        m_places = jit::copy(m_host_places);
        m_host_corners = m_host_places = {};
    }
    if (m_shapes.empty())
        return;
    std::vector<uint32_t> rows;
    std::vector<double> centres;
    for (const OutlinedShape &s : m_shapes) {
        rows.insert(rows.end(), { s.row, s.primitive, s.instance, s.place });
        centres.insert(centres.end(), s.centre.begin(), s.centre.end());
        centres.push_back(s.radius);
    }
    m_rows = jit::copy(rows);
    m_centres = float_array(centres);
}

// Derivatives would lack what comes into sight. What stands still is missed where lights or receivers move around it.
static void refuse(const Shape &s, bool followed, const char *why) {
    if (followed || FollowedCamera::is_any())
        s.complain("{}, so that derivatives would lack what comes into sight; use an integrator "
                   "without boundaries, such as `prb`",
                   why);
    static std::mutex mutex;
    static std::set<std::string> told;
    std::lock_guard lock(mutex);
    if (told.insert(s.where()).second)
        warn(s.where() + ": " + why +
             "; derivatives lack what it hides from others that move around it");
}

void Silhouettes::add_surface(size_t i, const Begin &begin, uint32_t instance) {
    const Shape &s = *m_arena.m_surfaces[i];
    const Shape *placed = instance ? m_arena.m_placed[instance - 1].shape : nullptr;
    auto *mesh = dynamic_cast<const Mesh *>(&s);
    auto *data = dynamic_cast<const FollowsData *>(&s);
    bool followed = s.follows_to_world() || (mesh && mesh->follows_positions()) ||
                    (data && data->follows_data()) || (placed && placed->follows_to_world());
    if (s.motion() || (placed && placed->motion()))
        return refuse(s, followed, "it moves in time, and its silhouettes are not known");
    double weight = silhouette_sampling_weight(s);
    if (mesh) {
        if (m_host_places.size() / 4 + 3 * mesh->triangle_count() / 2 > MostEdges)
            return refuse(s, followed, "the scene has too many edges to look for silhouettes");
        size_t first = m_host_places.size() / 4;
        add_mesh(i, *mesh, begin, instance, followed);
        for (uint32_t t = 0; t < mesh->triangle_count(); ++t)
            if (normals_differ(*mesh, t))
                m_host_rims.insert(m_host_rims.end(),
                                   { begin.triangle + t, followed ? uint32_t{ Followed } : 0u,
                                     instance, std::bit_cast<uint32_t>(float(weight)) });
        return weigh_edges(first, weight);
    }
    auto *outlined = dynamic_cast<const HasOutline *>(&s);
    if (!outlined)
        return refuse(s, followed, "a shape of this kind has no known silhouettes");
    auto add = [&](const HasOutline::Piece &p, BoundingBox b) {
        double before = b.radius(), scale = 1;
        if (placed) {
            b = transform_bounds(placed->steps({}), b);
            scale = before > 0 ? b.radius() / before : 1;
        }
        m_shapes.push_back({ begin.row, begin.primitive + p.primitive, instance,
                             MostParts * p.primitive + p.part, b.centre(), b.radius(),
                             p.length * scale, weight, followed, outlined });
        m_has_dark |= m_shapes.back().is_dark();
    };
    std::vector<HasOutline::Piece> pieces = outlined->outline_pieces();
    for (const HasOutline::Piece &p : pieces) {
        BoundingBox b;
        for (double sign : { -1.0, 1.0 })
            b.extend(std::array{ p.centre[0] + sign * p.radius, p.centre[1] + sign * p.radius,
                                 p.centre[2] + sign * p.radius });
        add(p, b);
    }
    if (pieces.empty()) {
        BoundingBox b = s.bounds();
        add({ 0, 0, {}, 0, 2 * Pi * b.radius() }, b);
    }
}

namespace {

// Vertices at the same place have the same number: meshes are cut where texture coordinates or normals jump.
std::vector<uint32_t> weld(const Mesh &mesh) {
    const std::vector<double> &p = mesh.positions;
    size_t n = mesh.vertex_count();
    std::vector<uint32_t> order(n), out(n);
    std::iota(order.begin(), order.end(), 0u);
    auto compare = [&](uint32_t a, uint32_t b) {
        return std::memcmp(p.data() + 3 * a, p.data() + 3 * b, 3 * sizeof(double));
    };
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        int c = compare(a, b);
        return c != 0 ? c < 0 : a < b;
    });
    for (size_t i = 0; i < n; ++i)
        out[order[i]] =
            i > 0 && compare(order[i - 1], order[i]) == 0 ? out[order[i - 1]] : order[i];
    return out;
}

struct HalfEdge {
    uint32_t low, high; // welded
    uint32_t triangle, corner;
};

} // namespace

void Silhouettes::add_mesh(size_t surface, const Mesh &mesh, const Begin &begin, uint32_t instance,
                           bool followed) {
    uint32_t mark = followed ? uint32_t{ Followed } : 0u;
    if (auto it = m_known.find(surface); it != m_known.end()) { // another instance of it
        for (size_t i = it->second.first; i < it->second.second; ++i)
            for (size_t k = 0; k < 4; ++k) {
                m_host_corners.push_back(m_host_corners[4 * i + k]);
                uint32_t place = m_host_places[4 * i + k];
                m_host_places.push_back(k == 2   ? (place & ~uint32_t{ Followed }) | mark
                                        : k == 3 ? instance
                                                 : place);
            }
        return;
    }
    size_t first = m_host_places.size() / 4;
    std::vector<uint32_t> welded = weld(mesh);
    std::vector<HalfEdge> halves;
    for (uint32_t t = 0; t < mesh.triangle_count(); ++t)
        for (uint32_t k = 0; k < 3; ++k) {
            uint32_t a = welded[mesh.corner(size_t(t), size_t(k))],
                     b = welded[mesh.corner(size_t(t), size_t(k + 1) % 3)];
            if (a != b)
                halves.push_back({ std::min(a, b), std::max(a, b), t, k });
        }
    std::sort(halves.begin(), halves.end(), [](const HalfEdge &a, const HalfEdge &b) {
        return std::tie(a.low, a.high, a.triangle) < std::tie(b.low, b.high, b.triangle);
    });
    for (size_t i = 0; i < halves.size();) {
        size_t end = i + 1;
        while (end < halves.size() && halves[end].low == halves[i].low &&
               halves[end].high == halves[i].high)
            ++end;
        const HalfEdge &h = halves[i], &other = halves[i + 1 < end ? i + 1 : i];
        auto corner = [&](const HalfEdge &e, uint32_t k) {
            return mesh.corner(size_t(e.triangle), size_t(e.corner + k) % 3);
        };
        uint32_t flags = mark;
        if (end - i != 2)
            flags |= Open;
        // Shading jumps where facets meet, and where vertices are not shared
        bool shared =
            std::min(corner(h, 0), corner(h, 1)) == std::min(corner(other, 0), corner(other, 1)) &&
            std::max(corner(h, 0), corner(h, 1)) == std::max(corner(other, 0), corner(other, 1));
        if (!shared || mesh.normals.empty())
            flags |= Crease;
        m_host_corners.insert(m_host_corners.end(),
                              { begin.vertex + corner(h, 0), begin.vertex + corner(h, 1),
                                begin.vertex + corner(h, 2), begin.vertex + corner(other, 2) });
        m_host_places.insert(m_host_places.end(),
                             { begin.triangle + h.triangle, h.corner, flags, instance });
        i = end;
    }
    m_known[surface] = { first, m_host_places.size() / 4 };
}

// ---- points

Vector3 Silhouettes::vertex(const UInt32 &v, const Mask &active) const {
    auto r = jit::gather_packet(m_arena.m_vertices, v, uint32_t(m_arena.m_stride), active);
    return { Float(r[0]), Float(r[1]), Float(r[2]) };
}

Silhouettes::Edge Silhouettes::edge(const UInt32 &piece, const Mask &active) const {
    auto [a, b, left, right] = jit::gather_packet<uint32_t, 4>(m_corners, piece, active);
    auto [triangle, corner, flags, instance] =
        jit::gather_packet<uint32_t, 4>(m_places, piece, active);
    Edge e{ vertex(a, active),
            vertex(b, active),
            vertex(left, active),
            vertex(right, active),
            triangle,
            corner,
            flags,
            instance };
    if (has_instances()) {
        InstanceTransform placed = m_arena.m_instances.at(instance, Float(0), active);
        for (Vector3 *p : { &e.a, &e.b, &e.left, &e.right })
            *p = placed.point(*p);
    }
    return e;
}

Silhouettes::Point Silhouettes::Point::either(const Mask &m, const Point &a, const Point &b) {
    auto pick = [&](const auto &x, const auto &y) { return select(m, x, y); };
    return { pick(a.p, b.p),
             pick(a.edge, b.edge),
             pick(a.inside, b.inside),
             { pick(a.hit.t, b.hit.t), pick(a.hit.u, b.hit.u), pick(a.hit.v, b.hit.v),
               pick(a.hit.prim, b.hit.prim), pick(a.hit.geometry, b.hit.geometry),
               pick(a.hit.instance, b.hit.instance) },
             pick(a.valid, b.valid),
             pick(a.depth, b.depth),
             pick(a.width, b.width) };
}

Silhouettes::Point Silhouettes::point(const UInt32 &piece, const Float &t, const Viewpoint &from,
                                      const Mask &active) const {
    Vector3 none(Float(0));
    Float zero(0);
    Point out{ none, none, none, { zero, zero, zero, 0u, 0u, 0u }, Mask(false) };
    Mask on_edge = active & is_edge(piece);
    if (m_edges_host) {
        Edge e = edge(piece, on_edge);
        out.edge = e.b - e.a;
        out.p = fma(out.edge, t, e.a);
        out.inside = e.left - out.p;
        // The corner that the edge begins with has weight 1 - t
        Mask first = e.corner == UInt32(0u), second = e.corner == UInt32(1u);
        out.hit.u = select(first, t, select(second, 1 - t, zero));
        out.hit.v = select(first, zero, select(second, t, 1 - t));
        out.hit.prim = e.triangle;
        out.hit.geometry = UInt32(uint32_t(TriangleGeometry));
        out.hit.instance = e.instance;
        out.valid = on_edge;
        Vector3 way = from.from(out.p);
        out.width = width(e, t, way);
    }
    if (m_rims_host) {
        Mask on_rim = active & is_rim(piece);
        Rim triangle = rim(piece - m_edge_count - m_outline_count, on_rim);
        MeshRim lines = this->lines(triangle, from);
        MeshRim::Place place = lines.place(t);
        Hit hit = hit_at(place.b, triangle);
        Point on_line{ place.p, place.tangent, lines.slope(place.b), hit, on_rim & place.valid };
        out = Point::either(on_rim, on_line, out);
    }
    if (m_shapes.empty())
        return out;
    Mask on_outline = active & !on_edge & !is_rim(piece);
    auto [row, primitive, instance, place] =
        jit::gather_packet<uint32_t, 4>(m_rows, piece - m_edge_count, on_outline);
    InstanceTransform placed;
    Viewpoint local = from;
    if (has_instances()) { // outlines of what is transformed are transformed outlines
        placed = m_arena.m_instances.at(instance, Float(0), on_outline);
        Ray seen = placed.to_local({ from.p, from.p, Float(0), Float(0), {} });
        local.p = select(from.w > 0, seen.o, seen.d);
    }
    UInt32 own = place / UInt32(MostParts), part = place & UInt32(MostParts - 1);
    HasOutline::Outline nothing{ none, none, none, Mask(false) };
    HasOutline::Outline o = m_arena.m_analytic.call(
        "shape.outline", row, on_outline, nothing, [&](const AnalyticShape &s) {
            auto *outlined = dynamic_cast<const HasOutline *>(&s);
            return outlined ? outlined->piece_outline(local, t, own, part, on_outline) : nothing;
        });
    if (has_instances()) {
        o.depth = o.depth * sqrt(squared_norm(placed.vector(o.inside)) / squared_norm(o.inside));
        o.p = placed.point(o.p);
        o.tangent = placed.vector(o.tangent);
        o.inside = placed.vector(o.inside);
    }
    out.p = select(on_outline, o.p, out.p);
    out.edge = select(on_outline, o.tangent, out.edge);
    out.inside = select(on_outline, o.inside, out.inside);
    out.depth = select(on_outline & o.valid, o.depth, out.depth);
    out.hit.u = select(on_outline, o.at, out.hit.u);
    out.hit.prim = select(on_outline, primitive, out.hit.prim);
    out.hit.geometry = select(on_outline, UInt32(uint32_t(AnalyticGeometry)), out.hit.geometry);
    out.hit.instance = select(on_outline, instance, out.hit.instance);
    out.valid = out.valid | (on_outline & o.valid);
    return out;
}

Vector3 Silhouettes::attached(const Point &at, const Float &time, const Mask &active) const {
    Ray ray{ at.p, { Float(0), Float(0), Float(1) }, Float(1), time, {} };
    ray.wavelengths = Wavelengths();
    return m_arena.attached(ray, at.hit, Mask(false), active).si.p;
}

Vector3 Silhouettes::moved(const Point &at, const UInt32 &piece, const Viewpoint &from,
                           const Float &time, const Mask &active) const {
    Mask on_outline = active & !is_rim(piece);
    Vector3 of_rim(Float(0));
    if (m_rims_host)
        of_rim = moved_rim(at, piece, from, time, active & is_rim(piece));
    if (m_shapes.empty())
        return of_rim;
    auto [row, primitive, instance, place] =
        jit::gather_packet<uint32_t, 4>(m_rows, piece - m_edge_count, on_outline);
    UInt32 own = place / UInt32(MostParts), part = place & UInt32(MostParts - 1);
    FollowsData::Following following(true, Mask(false));
    std::vector<InstanceTransform> places =
        m_arena.places_of(m_arena.followed().transforms, at.hit, time, on_outline, Mask(false));
    Ray seen{ from.p, from.p, Float(0), Float(0), {} }, on{ at.p, at.p, Float(0), Float(0), {} };
    for (size_t i = places.size(); i-- > 0;) {
        seen = places[i].to_local(seen);
        on = places[i].to_local(on);
    }
    Viewpoint local = from;
    local.p = select(from.w > 0, seen.o, seen.d);
    Vector3 still(Float(ad::detach(on.o.x)), Float(ad::detach(on.o.y)), Float(ad::detach(on.o.z)));
    Vector3 p =
        m_arena.m_analytic.call("shape.moved", row, on_outline, still, [&](const AnalyticShape &s) {
            auto *outlined = dynamic_cast<const HasOutline *>(&s);
            return outlined ? outlined->moved(local, still, own, part, on_outline) : still;
        });
    for (const InstanceTransform &place : places)
        p = place.point(p);
    return select(on_outline, p, of_rim);
}

Mask Silhouettes::is_dark(const UInt32 &piece, const Mask &active) const {
    if (!m_has_dark)
        return Mask(false);
    Mask on_rim = active & is_rim(piece);
    if (m_shapes.empty())
        return on_rim;
    Mask on_outline = active & !is_edge(piece) & !on_rim;
    UInt32 place =
        UInt32(jit::gather(m_rows, (piece - m_edge_count) * UInt32(4u) + UInt32(3u), on_outline));
    return on_rim | (on_outline & ((place & UInt32(MostParts - 1)) >=
                                   UInt32(uint32_t{ HasOutline::FirstDark })));
}

Vector3 Silhouettes::middle(const UInt32 &piece, const Mask &active) const {
    if (m_shapes.empty())
        return Vector3(Float(0));
    auto r = jit::gather_packet(m_centres, piece - m_edge_count, 4,
                                active & !is_edge(piece) & !is_rim(piece));
    return { Float(r[0]), Float(r[1]), Float(r[2]) };
}

// ---- directions

// How far one may go to either side of the edge and stay on its triangles, as they look along `way`; infinite where they look
// to be on one side. Near the horizon of a fine mesh that is little, and beyond it is what lies behind the mesh.
Float Silhouettes::width(const Edge &e, const Float &t, const Vector3 &way) {
    Vector3 v = e.b - e.a, n = cross(v, way);
    Float way2 = squared_norm(way), n2 = squared_norm(n);
    Vector3 along = fma(way, -dot(v, way) / way2, v) * (way2 / n2);
    // Of a triangle; less if it leans beyond the edge's ends
    auto height = [&](const Vector3 &corner) {
        Float foot = dot(corner - e.a, along);
        return dot(corner - e.a, n) / (abs(foot) + abs(1 - foot));
    };
    Float left = height(e.left), right = height(e.right);
    Float narrower = min(abs(left), abs(right)) * min(t, 1 - t) * rsqrt(n2) * 0.5;
    return select((left * right < 0) & (n2 > 0), narrower,
                  Float(std::numeric_limits<double>::infinity()));
}

// ---- where interpolated normals turn away

Silhouettes::Rim Silhouettes::rim(const UInt32 &number, const Mask &active) const {
    auto [triangle, flags, instance, weight] =
        jit::gather_packet<uint32_t, 4>(m_rims, number, active);
    auto [v0, v1, v2, bits] =
        jit::gather_packet<uint32_t, 4>(m_arena.m_triangles, triangle, active);
    const UInt32 *vertices[3] = { &v0, &v1, &v2 };
    Rim out{ .triangle = triangle,
             .instance = instance,
             .is_followed = (flags & UInt32(uint32_t{ Followed })) != UInt32(0u),
             .weight = Float(bitcast(jit::Type::F32, weight)) };
    if (has_instances())
        out.placed = m_arena.m_instances.at(instance, Float(0), active);
    for (size_t k = 0; k < 3; ++k) {
        auto r = jit::gather_packet(m_arena.m_vertices, *vertices[k], uint32_t(m_arena.m_stride),
                                    active);
        auto vector = [&](size_t first) {
            return Vector3(Float(r[first]), Float(r[first + 1]), Float(r[first + 2]));
        };
        MeshRim::Corner &c = out.corners[k];
        c.own = vector(PackedMeshes::Position);
        c.facing = vector(PackedMeshes::Normal);
        c.p = has_instances() ? out.placed.point(c.own) : c.own;
    }
    return out;
}

Float Silhouettes::Rim::size() const {
    auto edge2 = [&](size_t i, size_t j) { return squared_norm(corners[i].p - corners[j].p); };
    return sqrt(max(edge2(0, 1), max(edge2(1, 2), edge2(2, 0))));
}

MeshRim Silhouettes::lines(const Rim &rim, const Viewpoint &from) const {
    Viewpoint local = from;
    if (has_instances()) {
        Ray seen = rim.placed.to_local({ from.p, from.p, Float(0), Float(0), {} });
        local.p = select(from.w > 0, seen.o, seen.d);
    }
    return MeshRim(rim.corners, local);
}

Hit Silhouettes::hit_at(const Float (&b)[3], const Rim &rim) {
    return { Float(0), b[1], b[2], rim.triangle, UInt32(uint32_t(TriangleGeometry)), rim.instance };
}

// What follows the mesh and the viewpoint is n . way, for the normal n of unit length. The line goes where that stays 0.
Vector3 Silhouettes::moved_rim(const Point &at, const UInt32 &piece, const Viewpoint &from,
                               const Float &time, const Mask &active) const {
    Ray ray{ at.p, { Float(0), Float(0), Float(1) }, Float(1), time, {} };
    ray.wavelengths = Wavelengths();
    SurfaceInteraction si = m_arena.attached(ray, at.hit, Mask(false), active).si;
    Float facing = dot(si.sh_frame.n, from.from(si.p)), change = facing - Float(ad::detach(facing));

    ad::SuspendGrad still;
    Rim triangle = rim(piece - m_edge_count - m_outline_count, active);
    Viewpoint seen = from;
    seen.p = { Float(ad::detach(from.p.x)), Float(ad::detach(from.p.y)),
               Float(ad::detach(from.p.z)) };
    const Float b[3] = { 1 - at.hit.u - at.hit.v, at.hit.u, at.hit.v };
    Vector3 slope = lines(triangle, seen).slope(b), own(Float(0)), n = si.sh_frame.n;
    for (size_t k = 0; k < 3; ++k)
        own = fma(triangle.corners[k].facing, b[k], own);
    if (has_instances()) // lengths there, as normals are transformed
        n = triangle.placed.to_local({ n, n, Float(0), Float(0), {} }).d;
    Float length = dot(
              own, Vector3(Float(ad::detach(n.x)), Float(ad::detach(n.y)), Float(ad::detach(n.z)))),
          slope2 = squared_norm(slope);
    Float factor = select(slope2 > 0, length / slope2, Float(0));
    Vector3 way = slope * factor;
    ad::ResumeGrad all;
    return si.p - way * change;
}

Silhouettes::RimRay Silhouettes::sample_rim(const UInt32 &piece, const Float &t, const Vector2 &u,
                                            const Mask &active) const {
    Rim triangle = rim(piece - m_edge_count - m_outline_count, active);
    // Uniform on the triangle, and on all directions at a right angle to the normal there
    Float root = safe_sqrt(t);
    const Float b[3] = { 1 - root, root * (1 - u.x), root * u.x };
    Vector3 n(Float(0));
    for (size_t k = 0; k < 3; ++k)
        n = fma(triangle.corners[k].facing, b[k], n);
    Float n2 = squared_norm(n), length = sqrt(n2);
    Mask valid = active & (n2 > 1e-12);
    Vector3 unit = select(valid, n / length, Vector3(0, 0, 1));
    if (has_instances())
        unit = triangle.placed.normal(unit);
    Frame frame(unit);
    Float phi = u.y * (2 * Pi);
    Vector3 w = fma(frame.s, cos(phi), frame.t * sin(phi));

    Viewpoint from{ .p = -w, .w = Float(0) };
    MeshRim lines = this->lines(triangle, from);
    Vector3 slope = lines.slope(b), normal = lines.area2();
    if (has_instances()) // of normals of unit length in the scene
        length = dot(n, triangle.placed.to_local({ unit, unit, Float(0), Float(0), {} }).d);
    Vector3 line = cross(normal, slope); // as long as twice the area times the slope
    RimRay out{ { lines.point(b), line * select(valid, 0.5 / length, Float(0)), slope,
                  hit_at(b, triangle), valid & (squared_norm(line) > 0) },
                { w, Float(0.5 * InvPi) } };
    return out;
}

// Both triangles lie on the same side of the plane through the edge.
Mask Silhouettes::same_side(const Edge &e, const Vector3 &normal) {
    return e.is_open() | (dot(normal, e.left - e.a) * dot(normal, e.right - e.a) > 0);
}

Mask Silhouettes::ends(const UInt32 &piece, const Vector3 &w, const Mask &active) const {
    if (!m_edges_host)
        return active;
    Mask on_edge = active & is_edge(piece);
    Edge e = edge(piece, on_edge);
    return active & (same_side(e, cross(e.b - e.a, w)) | !on_edge);
}

// Around the edge, triangles lie in the directions 0 and beta <= pi. A line through the edge in one of the directions
// between beta and pi, either way, has both on one side.
Silhouettes::Wedge Silhouettes::wedge(const Edge &e) {
    Wedge out;
    out.axis = normalize(e.b - e.a);
    auto across = [&](const Vector3 &v) {
        Vector3 d = v - e.a;
        return fma(out.axis, -dot(out.axis, d), d);
    };
    out.x = normalize(across(e.left));
    out.y = cross(out.axis, out.x);
    Vector3 other = across(e.right);
    Float beta = atan2(dot(out.y, other), dot(out.x, other)); // in (-pi, pi]
    Mask turned = beta < 0;
    out.begin = select(turned, Float(0), beta);
    out.width = Float(Pi) - abs(beta);
    out.begin = select(e.is_open(), Float(0), out.begin);
    out.width = select(e.is_open(), Float(Pi), out.width);
    return out;
}

Silhouettes::Direction Silhouettes::sample_direction(const UInt32 &piece, const Vector2 &u,
                                                     const Mask &active) const {
    Direction out{ square_to_uniform_sphere(u), Float(0.25 * InvPi) };
    if (!m_edges_host)
        return out;
    Mask on_edge = active & is_edge(piece);
    Wedge w = wedge(edge(piece, on_edge));
    Float twice = u.x * 2, half = floor(twice);
    Float phi = fma(twice - half, w.width, w.begin + half * Pi), z = 2 * u.y - 1,
          r = safe_sqrt(1 - sqr(z));
    Vector3 d = fma(w.axis, z, fma(w.x, r * cos(phi), w.y * (r * sin(phi))));
    return { select(on_edge, d, out.w), select(on_edge, rcp(4 * w.width), out.pdf) };
}

// ---- which piece

void Silhouettes::weigh_edges(size_t first, double weight) {
    size_t end = m_host_places.size() / 4;
    if (weight != 1 && m_edge_weights.empty())
        m_edge_weights.assign(first, 1.0);
    if (weight != 1 || !m_edge_weights.empty())
        m_edge_weights.resize(end, weight);
}

std::optional<DiscreteDistribution> Silhouettes::distribution(const Float &lengths,
                                                              std::vector<double> outlines,
                                                              const Float &rims) const {
    Float weights, edges = lengths;
    if (!m_edge_weights.empty())
        edges *= float_array(m_edge_weights);
    for (size_t i = 0; i < outlines.size(); ++i)
        outlines[i] *= m_shapes[i].weight;
    if (m_edges_host) {
        Value all = jit::full(variant().float_type(), 0, m_count);
        UInt32 lane(jit::lane_index(m_edges_host));
        auto good = [](const Float &v) { return select((v > 0) & (v < 1e30), v, Float(0)); };
        jit::scatter(all, good(edges), lane, Mask(true));
        if (m_rims_host) {
            UInt32 at(jit::lane_index(m_rims_host));
            jit::scatter(all, good(rims), at + m_edge_count + m_outline_count, Mask(true));
        }
        if (!outlines.empty()) {
            UInt32 at(jit::lane_index(outlines.size()));
            jit::scatter(all, Float(jit::gather(float_array(outlines), at, Mask(true))),
                         at + m_edge_count, Mask(true));
        }
        weights = Float(all);
    } else
        weights = float_array(outlines);
    jit::eval(weights);
    if (!(read_floats(Float(jit::reduce(jit::ReduceOp::Add, weights)))[0] > 0))
        return {};
    return DiscreteDistribution(weights);
}

std::optional<DiscreteDistribution> Silhouettes::seen_from(const Viewpoint &from, bool is_certain,
                                                           bool all) const {
    Float edges;
    if (m_edges_host) {
        Mask on(true);
        Edge e = edge(UInt32(jit::lane_index(m_edges_host)), on);
        Vector3 way = from.from((e.a + e.b) * 0.5), v = e.b - e.a, normal = cross(v, way);
        auto has = [&](uint32_t bit) { return (e.flags & UInt32(bit)) != UInt32(0u); };
        // Creases between triangles of one plane are none
        Vector3 n = cross(v, e.left - e.a), m = cross(v, e.right - e.a);
        Mask flat = squared_norm(cross(n, m)) <= 1e-10 * squared_norm(n) * squared_norm(m);
        Mask seen = same_side(e, normal) | (has(Crease) & !flat);
        if (!is_certain)
            seen = Mask(true);
        if (!all)
            seen = seen & has(Followed);
        // The angle that it fills, nearly, also where one end is much nearer than the other
        Vector3 to_a = from.from(e.a), to_b = from.from(e.b);
        Float far2 = select(from.w > 0, sqrt(squared_norm(to_a) * squared_norm(to_b)), Float(1));
        Float angle = norm(cross(v, way)) * rsqrt(squared_norm(way)) * rsqrt(far2);
        if (!is_certain) // what is seen end-on from here is not from elsewhere
            angle = max(angle, norm(v) * rsqrt(far2) * 0.1);
        edges = select(seen, angle, Float(0));
    }
    std::vector<double> outlines;
    for (const OutlinedShape &s : m_shapes)
        outlines.push_back(all || s.followed ? s.length : 0);
    if (!m_shapes.empty()) { // by distance, as far as it is known to the host
        std::vector<double> p = read_floats(from.p.x), q = read_floats(from.p.y),
                            r = read_floats(from.p.z), w = read_floats(from.w);
        for (size_t i = 0; i < m_shapes.size(); ++i) {
            const OutlinedShape &s = m_shapes[i];
            const auto &c = s.centre;
            if (is_certain && !s.instance &&
                !s.shape->may_be_seen(s.number(), s.part(), { p[0], q[0], r[0], w[0] }))
                outlines[i] = 0;
            double d = std::hypot(p[0] - c[0], q[0] - c[1], r[0] - c[2]);
            if (w[0] > 0)
                outlines[i] /= std::max(d, s.radius);
        }
    }
    Float rims;
    if (m_rims_host) {
        Rim r = rim(UInt32(jit::lane_index(m_rims_host)), Mask(true));
        Mask seen = is_certain ? lines(r, from).may_be_seen() : Mask(true);
        if (!all)
            seen = seen & r.is_followed;
        Float far2 = select(from.w > 0, squared_norm(from.from(r.corners[0].p)), Float(1));
        rims = select(seen, r.weight * r.size() * rsqrt(far2), Float(0));
    }
    return distribution(edges, outlines, rims);
}

std::optional<DiscreteDistribution> Silhouettes::by_measure(LineKind kind) const {
    constexpr double Still = 0.25; // what stands still matters less, if it matters at all
    bool is_end = kind == LineKind::End, any = is_end && m_edges_host;
    std::vector<double> outlines;
    for (const OutlinedShape &s : m_shapes) {
        bool counts = s.is_dark() == (kind == LineKind::Dark) &&
                      (kind != LineKind::OwnShadow || s.shape->has_own_shadow());
        outlines.push_back(counts ? 4 * Pi * s.length * (s.followed ? 1 : Still) : 0);
        any |= counts;
    }
    bool has_rims = m_rims_host && kind == LineKind::Dark;
    if (!any && !has_rims)
        return {};
    Float edges;
    if (m_edges_host && is_end) {
        Edge e = edge(UInt32(jit::lane_index(m_edges_host)), Mask(true));
        Mask moves = (e.flags & UInt32(uint32_t{ Followed })) != UInt32(0u);
        Float width = wedge(e).width;
        width = select(width > 1e-4, width, Float(0)); // flat: no ray touches it
        edges = norm(e.b - e.a) * 4 * width * select(moves, Float(1), Float(Still));
    } else if (m_edges_host)
        edges = Float(jit::full(variant().float_type(), 0, m_edges_host));
    Float rims;
    if (has_rims) { // uniform on a triangle, by how fast normals turn there
        Rim r = rim(UInt32(jit::lane_index(m_rims_host)), Mask(true));
        const MeshRim::Corner(&c)[3] = r.corners;
        auto turn2 = [&](size_t a, size_t b) { return squared_norm(c[a].facing - c[b].facing); };
        Float turn = sqrt(max(turn2(0, 1), max(turn2(1, 2), turn2(2, 0))));
        Float area = norm(cross(c[1].p - c[0].p, c[2].p - c[0].p)) * 0.5;
        rims = 2 * Pi * r.weight * area * turn / r.size() *
               select(r.is_followed, Float(1), Float(Still));
    } else if (m_rims_host)
        rims = Float(jit::full(variant().float_type(), 0, m_rims_host));
    return distribution(edges, outlines, rims);
}

} // namespace umbel
