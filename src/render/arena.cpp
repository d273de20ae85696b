// render/arena.cpp: packing what rays may hit.
#include "render/arena.h"
#include "ad/ad.h"
#include "core/host_array.h"
#include "render/accelerator.h"
#include <algorithm>
#include <cmath>
#include <numeric>

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
    std::vector<std::vector<const Shape *>> parts(1);
    std::unordered_map<const ShapeGroup *, uint32_t> known; // groups that have instances
    for (const Ref<Shape> &ref : shapes) {
        Shape *s = ref.get();
        m_shapes.push_back(s);
        if (dynamic_cast<const ShapeGroup *>(s))
            continue;
        auto *instance = dynamic_cast<const Instance *>(s);
        if (!instance && !s->motion()) {
            parts[0].push_back(s);
            continue;
        }
        uint32_t part = uint32_t(parts.size());
        if (!instance)
            parts.push_back({ s });
        else if (auto [at, fresh] = known.emplace(&instance->group(), part); fresh) {
            parts.emplace_back();
            for (const Ref<Shape> &member : instance->group().members())
                parts.back().push_back(member.get());
        } else
            part = at->second;
        m_instance_count += instance != nullptr;
        m_placed.push_back({ part, s });
    }
    for (const std::vector<const Shape *> &part : parts) {
        m_surfaces.insert(m_surfaces.end(), part.begin(), part.end());
        m_parts.push_back(m_surfaces.size());
    }
}

void Arena::build(bool double_precision) {
    m_bounds = BoundingBox();
    m_revisions = revisions();
    std::optional<TimeInterval> time = interval();
    for (Shape *s : m_shapes) {
        if (!dynamic_cast<const ShapeGroup *>(s))
            m_bounds.extend(s->swept_bounds());
        if (time)
            s->set_interval(*time);
    }
    m_has_normals = false;
    for (const Shape *s : m_surfaces)
        if (auto *mesh = dynamic_cast<const Mesh *>(s))
            m_has_normals |= !mesh->normals.empty();
    Geometry g;
    g.is_rebuilt = m_accelerator != nullptr;
    HostRecords records;
    m_analytic = {};
    size_t number = 0;
    for (size_t end : m_parts) {
        add_part(number, end, time, g, records);
        number = end;
    }
    place_instances(g, time.value_or(TimeInterval()), !records.key_triangles.empty());
    upload(records);
    follow_shapes();
    m_accelerator = double_precision ? make_bvh_accelerator(g) : make_embree_accelerator(g);
}

void Arena::add_part(size_t number, size_t end, const std::optional<TimeInterval> &time,
                     Geometry &g, HostRecords &to) {
    Geometry::Part part{ .first_triangle = uint32_t(g.indices.size() / 3),
                         .first_analytic = uint32_t(g.analytic.size()),
                         .first_vertex = uint32_t(g.positions.size() / 3) };
    int segments = 0; // if something deforms
    for (size_t i = number; i < end; ++i)
        if (auto *mesh = dynamic_cast<const Mesh *>(m_surfaces[i]); mesh && time)
            if (int n = mesh->segments_of_vertices(*time))
                segments = std::min(segments ? std::lcm(segments, n) : n, MostSegments);
    if (segments)
        part.steps.resize(size_t(segments) + 1);
    for (; number < end; ++number) {
        const Shape *shape = m_surfaces[number];
        to.keys.insert(to.keys.end(), 4, 0);
        if (auto *analytic = dynamic_cast<const AnalyticShape *>(shape)) {
            to.first_prims.insert(to.first_prims.end(), { uint32_t(g.analytic.size()), 0 });
            m_analytic.append(analytic);
            to.analytic_shapes.push_back(uint32_t(number + 1));
            g.analytic.push_back(analytic);
        } else {
            auto &mesh = dynamic_cast<const Mesh &>(*shape);
            to.first_prims.insert(to.first_prims.end(),
                                  { uint32_t(g.indices.size() / 3), mesh.is_inside_out() });
            add_mesh(mesh, uint32_t(number + 1), g, to);
            if (segments)
                add_keys(mesh, *time, part.steps, to);
        }
    }
    part.triangles = uint32_t(g.indices.size() / 3) - part.first_triangle;
    part.analytic = uint32_t(g.analytic.size()) - part.first_analytic;
    g.parts.push_back(std::move(part));
}

void Arena::upload(const HostRecords &records) {
    m_records = m_key_records = {};
    m_first_prims = jit::copy(records.first_prims);
    if (!records.analytic_shapes.empty())
        m_analytic_numbers = jit::copy(records.analytic_shapes);
    m_has_triangles = !records.triangles.empty();
    if (m_has_triangles)
        m_records.triangles = float_array(records.triangles);
    if (m_has_normals)
        m_records.normals = float_array(records.normals);
    if (records.key_triangles.empty())
        return;
    m_keys = jit::copy(records.keys);
    m_key_records.triangles = float_array(records.key_triangles);
    if (m_has_normals)
        m_key_records.normals = float_array(records.key_normals);
}

std::optional<TimeInterval> Arena::interval() const {
    std::optional<TimeInterval> all;
    for (const Placed &p : m_placed)
        if (auto m = p.shape->motion())
            all = all ? all->united(*m) : *m;
    return all;
}

void Arena::place_instances(Geometry &g, const TimeInterval &time, bool deforms) {
    m_instances = {};
    std::vector<uint32_t> numbers = { 0 };
    for (const Placed &p : m_placed) {
        numbers.push_back(dynamic_cast<const Instance *>(p.shape) ? p.shape->global_number() : 0);
        TransformSteps steps = p.shape->steps(time);
        m_instances.add(steps);
        g.instances.push_back({ p.part, steps, transform_bounds(steps, p.shape->bounds()) });
    }
    m_instances.finish(time, deforms);
    m_instance_numbers = jit::copy(numbers);
    g.table = &m_instances;
}

namespace {

// Corner and edges.
void put_triangle(std::vector<double> &to, const std::vector<double> &positions,
                  const uint32_t (&v)[3]) {
    const double *p0 = &positions[3 * v[0]];
    to.insert(to.end(), p0, p0 + 3);
    for (size_t k = 1; k < 3; ++k)
        for (size_t j = 0; j < 3; ++j)
            to.push_back(positions[3 * v[k] + j] - p0[j]);
}

// Normals at the corners, and padding; `edges`: of a faceted triangle, which has its own.
void put_normals(std::vector<double> &to, const std::vector<double> &normals, double sign,
                 const double *edges, const uint32_t (&v)[3]) {
    const double *a = edges, *b = edges + 3;
    std::array<double, 3> n{ a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
                             a[0] * b[1] - a[1] * b[0] };
    double length = std::hypot(n[0], n[1], n[2]);
    for (size_t k = 0; k < 3; ++k)
        for (size_t j = 0; j < 3; ++j)
            to.push_back(normals.empty() ? (length != 0 ? n[j] / length : 0)
                                         : sign * normals[3 * v[k] + j]);
    to.insert(to.end(), 3, 0.0);
}

} // namespace

void Arena::add_mesh(const Mesh &mesh, uint32_t number, Geometry &g, HostRecords &to) const {
    uint32_t first = uint32_t(g.positions.size() / 3);
    g.positions.insert(g.positions.end(), mesh.positions.begin(), mesh.positions.end());
    for (size_t t = 0; t < mesh.triangle_count(); ++t) {
        const uint32_t v[3] = { mesh.corner(t, 0), mesh.corner(t, 1), mesh.corner(t, 2) };
        for (uint32_t i : v)
            g.indices.push_back(first + i);
        put_triangle(to.triangles, mesh.positions, v);
        if (m_has_normals)
            put_normals(to.normals, mesh.normals, mesh.flips_normals() ? -1 : 1,
                        to.triangles.data() + to.triangles.size() - 6, v);
        for (size_t k = 0; k < 3; ++k)
            for (size_t j = 0; j < 2; ++j)
                to.triangles.push_back(mesh.uvs.empty() ? double(k == j + 1)
                                                        : mesh.uvs[2 * v[k] + j]);
        to.triangles.push_back(double(number));
    }
}

// The mesh at all steps of its part, which it need not be the one to deform in.
void Arena::add_keys(const Mesh &mesh, const TimeInterval &time,
                     std::vector<std::vector<double>> &part, HostRecords &to) const {
    uint32_t n = uint32_t(mesh.triangle_count()), segments = uint32_t(part.size() - 1);
    const uint32_t entry[4] = { uint32_t(to.key_triangles.size() / 12), segments, n, 0 };
    std::copy_n(entry, 4, to.keys.end() - 4);
    std::vector<Mesh::Keyframe> steps = mesh.steps_of_vertices(time, int(segments));
    for (size_t i = 0; i < steps.size(); ++i) {
        const std::vector<double> &p = steps[i].positions;
        part[i].insert(part[i].end(), p.begin(), p.end());
        for (size_t t = 0; t < n; ++t) {
            const uint32_t v[3] = { mesh.corner(t, 0), mesh.corner(t, 1), mesh.corner(t, 2) };
            put_triangle(to.key_triangles, p, v);
            if (m_has_normals)
                put_normals(to.key_normals, steps[i].normals, mesh.flips_normals() ? -1 : 1,
                            to.key_triangles.data() + to.key_triangles.size() - 6, v);
            to.key_triangles.insert(to.key_triangles.end(), 3, 0.0);
        }
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
        Value followed_normals = normals ? mesh->followed_normals() : Value();
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
                Float v = number(followed_normals, k, 3, j);
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

// The transform that scripts follow, after the inverse of its numbers.
Float Arena::follow_transforms() const {
    Float out;
    auto follow = [&](const Shape &s, size_t row) {
        if (!s.follows_to_world())
            return;
        if (!out.valid()) {
            std::vector<double> identities;
            for (size_t i = 0; i < m_surfaces.size() + m_placed.size() + 2; ++i)
                identities.insert(identities.end(), { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0 });
            out = float_array(identities);
        }
        TransformData inverse = s.to_world().inverse().value();
        Value target = out;
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 4; ++j) {
                Float sum(0);
                for (int k = 0; k < 4; ++k)
                    sum += Float(jit::gather(s.to_world_array(), UInt32(uint32_t(4 * i + k)),
                                             Mask(true))) *
                           opaque_float(inverse(k, j));
                jit::scatter(target, Float(ad::replace_grad(Float(i == j ? 1 : 0), sum)),
                             UInt32(uint32_t(12 * row) + uint32_t(4 * i + j)), Mask(true));
            }
        out = Float(target);
    };
    for (size_t i = 0; i < m_surfaces.size(); ++i)
        follow(*m_surfaces[i], i + 1);
    for (size_t i = 0; i < m_placed.size(); ++i)
        if (dynamic_cast<const Instance *>(m_placed[i].shape))
            follow(*m_placed[i].shape, m_surfaces.size() + i + 2);
    if (out.valid())
        jit::eval(out);
    return out;
}

std::vector<Value> Arena::follow_shapes() {
    m_followed = { follow_meshes(), follow_transforms() };
    return followed_shapes();
}

std::vector<Value> Arena::followed_shapes() const {
    std::vector<Value> out;
    for (const Value *v : { static_cast<const Value *>(&m_followed.records.triangles),
                            static_cast<const Value *>(&m_followed.records.normals),
                            static_cast<const Value *>(&m_followed.transforms) })
        if (v->valid() && ad::grad_enabled(*v))
            out.push_back(*v);
    return out;
}

// Afresh for each question; in a recording, as it was before that.
Arena::Followed Arena::followed() const {
    if (variant().context().region != 0)
        return m_followed;
    return { follow_meshes(), follow_transforms() };
}

} // namespace umbel
