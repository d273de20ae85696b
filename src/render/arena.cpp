// render/arena.cpp: packing what rays may hit.
#include "render/arena.h"
#include "core/host_array.h"
#include "render/accelerator.h"
#include <algorithm>
#include <cmath>

namespace umbel {

Arena::Arena() = default;
Arena::~Arena() = default;

std::vector<int> Arena::revisions() const {
    std::vector<int> out;
    for (const Shape *s : m_shapes)
        out.push_back(s->revision());
    for (const Shape *s : m_surfaces)
        out.push_back(s->revision());
    return out;
}

void Arena::collect(std::span<const Ref<Shape>> shapes) {
    for (const Ref<Shape> &s : shapes)
        m_shapes.push_back(s.get());
    std::vector<const ShapeGroup *> groups;
    std::unordered_map<const ShapeGroup *, uint32_t> parts; // of groups that have instances
    for (const Shape *s : m_shapes) {
        if (dynamic_cast<const ShapeGroup *>(s))
            continue;
        auto *instance = dynamic_cast<const Instance *>(s);
        if (!instance) {
            m_surfaces.push_back(s);
            continue;
        }
        auto [at, fresh] = parts.emplace(&instance->group(), uint32_t(groups.size() + 1));
        if (fresh)
            groups.push_back(&instance->group());
        m_placed.push_back({ at->second, instance });
    }
    m_parts.push_back(m_surfaces.size());
    for (const ShapeGroup *g : groups) {
        for (const Ref<Shape> &s : g->members())
            m_surfaces.push_back(s.get());
        m_parts.push_back(m_surfaces.size());
    }
}

void Arena::build(bool double_precision) {
    m_bounds = BoundingBox();
    m_revisions = revisions();
    for (const Shape *s : m_shapes)
        if (!dynamic_cast<const ShapeGroup *>(s))
            m_bounds.extend(s->bounds());
    m_analytic = {};
    m_has_normals = false;
    std::vector<uint32_t> first_prims = { 0, 0 }, analytic_shapes;
    Geometry g;
    g.is_rebuilt = m_accelerator != nullptr;
    std::vector<double> records, normals;
    for (const Shape *s : m_surfaces)
        if (auto *mesh = dynamic_cast<const Mesh *>(s))
            m_has_normals |= !mesh->normals.empty();
    size_t number = 0;
    for (size_t end : m_parts) {
        Geometry::Part part{ uint32_t(g.indices.size() / 3), 0, uint32_t(g.analytic.size()), 0 };
        for (; number < end; ++number) {
            const Shape *shape = m_surfaces[number];
            if (auto *analytic = dynamic_cast<const AnalyticShape *>(shape)) {
                first_prims.insert(first_prims.end(), { uint32_t(g.analytic.size()), 0 });
                m_analytic.append(analytic);
                analytic_shapes.push_back(uint32_t(number + 1));
                g.analytic.push_back(analytic);
            } else {
                auto &mesh = dynamic_cast<const Mesh &>(*shape);
                first_prims.insert(first_prims.end(),
                                   { uint32_t(g.indices.size() / 3), mesh.is_inside_out() });
                add_mesh(mesh, uint32_t(number + 1), g, records, normals);
            }
        }
        part.triangles = uint32_t(g.indices.size() / 3) - part.first_triangle;
        part.analytic = uint32_t(g.analytic.size()) - part.first_analytic;
        g.parts.push_back(part);
    }
    place_instances(g);
    m_first_prims = jit::copy(first_prims);
    m_has_triangles = !records.empty();
    if (m_has_triangles)
        m_records.triangles = float_array(records);
    if (m_has_normals)
        m_records.normals = float_array(normals);
    m_followed = follow_meshes();
    if (!analytic_shapes.empty())
        m_analytic_numbers = jit::copy(analytic_shapes);
    m_accelerator = double_precision ? make_bvh_accelerator(g) : make_embree_accelerator(g);
}

void Arena::place_instances(Geometry &g) {
    m_instances = {};
    std::optional<TimeInterval> interval; // in which anything moves
    for (auto &[part, instance] : m_placed)
        if (auto m = instance->motion())
            interval = interval ? TimeInterval{ std::min(interval->begin, m->begin),
                                                std::max(interval->end, m->end) }
                                : *m;
    TimeInterval all = interval.value_or(TimeInterval());
    std::vector<uint32_t> numbers = { 0 };
    for (auto &[part, instance] : m_placed) {
        numbers.push_back(instance->global_number());
        TransformSteps steps = instance->steps(all);
        m_instances.add(steps);
        g.instances.push_back({ part, steps, transform_bounds(steps, instance->group().bounds()) });
    }
    m_instances.finish(all);
    m_instance_numbers = jit::copy(numbers);
    g.table = &m_instances;
}

void Arena::add_mesh(const Mesh &mesh, uint32_t number, Geometry &g, std::vector<double> &records,
                     std::vector<double> &normals) const {
    uint32_t first = uint32_t(g.positions.size() / 3);
    g.positions.insert(g.positions.end(), mesh.positions.begin(), mesh.positions.end());
    double sign = mesh.flips_normals() ? -1 : 1;
    for (size_t t = 0; t < mesh.triangle_count(); ++t) {
        const uint32_t v[3] = { mesh.corner(t, 0), mesh.corner(t, 1), mesh.corner(t, 2) };
        for (uint32_t i : v)
            g.indices.push_back(first + i);
        auto p0 = mesh.vertex(v[0]), p1 = mesh.vertex(v[1]), p2 = mesh.vertex(v[2]);
        records.insert(records.end(), p0.begin(), p0.end());
        for (auto &p : { p1, p2 })
            for (size_t j = 0; j < 3; ++j)
                records.push_back(p[j] - p0[j]);
        for (size_t k = 0; k < 3; ++k)
            for (size_t j = 0; j < 2; ++j)
                records.push_back(mesh.uvs.empty() ? double(k == j + 1) : mesh.uvs[2 * v[k] + j]);
        records.push_back(double(number));
        if (!m_has_normals)
            continue;
        auto n = mesh.area_normal(t);
        double length = std::hypot(n[0], n[1], n[2]) * (mesh.is_inside_out() ? -1 : 1);
        for (size_t k = 0; k < 3; ++k)
            for (size_t j = 0; j < 3; ++j)
                normals.push_back(mesh.normals.empty() ? (length != 0 ? n[j] / length : 0)
                                                       : sign * mesh.normals[3 * v[k] + j]);
        normals.insert(normals.end(), 3, 0.0);
    }
}

// Puts what scripts follow in place of the numbers of the host.
Arena::Records Arena::follow_meshes() const {
    Records followed;
    uint32_t first = 0;
    for (const Shape *s : m_surfaces) {
        auto *mesh = dynamic_cast<const Mesh *>(s);
        if (!mesh)
            continue;
        uint32_t begin = first, n = uint32_t(mesh->triangle_count());
        first += n;
        bool p = mesh->follows_positions(), uv = mesh->follows_uvs(),
             normals = mesh->follows_normals();
        if (n == 0 || !(p || uv || normals))
            continue;
        if (!followed.triangles.valid())
            followed = m_records;
        UInt32 lane(jit::lane_index(n)), to = (lane + UInt32(begin)) * UInt32(16u);
        auto put = [](Float &arena, const UInt32 &base, uint32_t at, const Float &v) {
            Value target = arena;
            jit::scatter(target, v, base + UInt32(at), Mask(true));
            arena = Float(target);
        };
        UInt32 corner[3];
        for (uint32_t k = 0; k < 3; ++k)
            corner[k] = mesh->corner(lane, k);
        auto number = [&](const Value &from, uint32_t k, uint32_t stride, uint32_t j) {
            return Float(jit::gather(from, corner[k] * UInt32(stride) + UInt32(j), Mask(true)));
        };
        for (uint32_t k = 0; k < 3; ++k) {
            for (uint32_t j = 0; p && j < 3; ++j) {
                Float v = number(mesh->positions_array(), k, 3, j);
                put(followed.triangles, to, 3 * k + j,
                    k ? v - number(mesh->positions_array(), 0, 3, j) : v);
            }
            for (uint32_t j = 0; uv && j < 2; ++j)
                put(followed.triangles, to, 9 + 2 * k + j, number(mesh->uvs_array(), k, 2, j));
            UInt32 row = (lane + UInt32(begin)) * UInt32(12u);
            for (uint32_t j = 0; normals && j < 3; ++j) {
                Float v = number(mesh->normals_array(), k, 3, j);
                put(followed.normals, row, 3 * k + j, mesh->flips_normals() ? -v : v);
            }
        }
    }
    if (followed.triangles.valid())
        jit::eval(followed.triangles);
    if (followed.normals.valid())
        jit::eval(followed.normals);
    return followed;
}

// Passing on derivatives forgets the way they took, so that each question makes them afresh; in a recording, they are
// what they were before it.
const Arena::Records &Arena::followed() const {
    if (variant().context().region == 0)
        m_followed = follow_meshes();
    return m_followed;
}

} // namespace umbel
