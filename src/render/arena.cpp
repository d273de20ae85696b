// render/arena.cpp: packing what rays may hit.
#include "render/arena.h"
#include "ad/ad.h"
#include "core/host_array.h"
#include "core/warning.h"
#include "jit/parallel.h"
#include "render/accelerator.h"
#include "render/followed_once.h"
#include "render/follows_data.h"
#include "render/lost_rays.h"
#include "render/mesh_rim.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <malloc.h>
#include <numeric>

namespace umbel {

// Meshes of more triangles than this give up their own arrays.
constexpr size_t KeepUpTo = 100'000;

Arena::Arena() = default;
Arena::~Arena() = default;

std::vector<int> Arena::revisions() const {
    std::vector<int> out;
    out.reserve(m_shapes.size() + m_surfaces.size());
    for (const Shape *s : m_shapes)
        out.push_back(s->revision());
    for (const Shape *s : m_surfaces)
        out.push_back(s->revision());
    return out;
}

void Arena::collect(std::span<const Ref<Shape>> shapes) {
    m_shapes.clear();
    m_surfaces.clear();
    m_parts.clear();
    m_placed.clear();
    m_instance_count = 0;
    m_shapes.reserve(shapes.size());
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
    parts[0].shrink_to_fit();
    for (std::vector<const Shape *> &part : parts) {
        if (m_surfaces.empty())
            m_surfaces.swap(part); // there may be millions
        else
            m_surfaces.insert(m_surfaces.end(), part.begin(), part.end());
        m_parts.push_back(m_surfaces.size());
    }
}

// UMBEL_ACCELERATOR=bvh: rays are traced by recorded code, as on GPUs, in single precision, too.
static bool wants_bvh() {
    const char *name = std::getenv("UMBEL_ACCELERATOR");
    if (name && *name && std::string_view(name) != "bvh" && std::string_view(name) != "embree")
        fail("UMBEL_ACCELERATOR={}: there are embree and bvh", name);
    return name && std::string_view(name) == "bvh";
}

// Lists that grow by doubling would take half as much again while millions of spheres are packed.
static void reserve_analytic(std::span<const Shape *const> surfaces, Geometry &g,
                             std::vector<uint32_t> &numbers) {
    size_t shapes = 0, primitives = 0;
    for (const Shape *s : surfaces)
        if (auto *analytic = dynamic_cast<const AnalyticShape *>(s)) {
            ++shapes;
            primitives += analytic->primitive_count();
        }
    g.analytic.reserve(shapes);
    g.analytic_primitives.reserve(primitives);
    numbers.reserve(2 * primitives);
}

void Arena::build(bool double_precision, bool robust) {
    m_bounds = BoundingBox();
    m_revisions = revisions();
    std::optional<TimeInterval> time = interval();
    for (Shape *s : m_shapes) {
        if (!dynamic_cast<const ShapeGroup *>(s)) {
            BoundingBox bounds = s->swept_bounds();
            if (double most = farthest(bounds); !(most <= LargestCoordinate))
                s->complain(
                    "reaches out to {:g}, and trees of what rays may hit to {:g}: scale the "
                    "scene down",
                    most, LargestCoordinate);
            m_bounds.extend(bounds);
        }
        if (time)
            s->set_interval(*time);
    }
    Geometry g;
    g.is_rebuilt = m_accelerator != nullptr;
    g.robust = robust;
    HostRecords records;
    records.meshes = make_room(double_precision);
    g.meshes = records.meshes;
    m_analytic = {};
    reserve_analytic(m_surfaces, g, records.analytic);
    records.first_prims.reserve(2 * (m_surfaces.size() + 1));
    size_t number = 0;
    for (size_t end : m_parts) {
        add_part(number, end, time, g, records);
        number = end;
    }
    place_instances(g, time.value_or(TimeInterval()), !records.key_vertices.empty());
    upload(records);
    follow_shapes();
#ifdef __GLIBC__
    if (m_triangles.size() > 4 * KeepUpTo) // what building takes comes on top
        malloc_trim(0);
#endif
    bool embree = !double_precision && !jit::Context::current().backend().device() && !wants_bvh();
    m_accelerator = embree ? make_embree_accelerator(g) : make_bvh_accelerator(g);
}

static bool is_smooth(const Mesh &mesh) {
    for (size_t t = 0; !mesh.normals.empty() && t < mesh.triangle_count(); ++t)
        if (normals_differ(mesh, t))
            return true;
    return false;
}

std::shared_ptr<PackedMeshes> Arena::make_room(bool double_precision) {
    auto room = std::make_shared<PackedMeshes>();
    m_has_normals = m_has_facets = m_has_uvs = m_lacks_uvs = m_has_smooth_meshes = false;
    for (const Shape *s : m_surfaces)
        if (auto *mesh = dynamic_cast<const Mesh *>(s)) {
            room->vertex_count += mesh->vertex_count();
            room->triangle_count += mesh->triangle_count();
            (mesh->normals.empty() ? m_has_facets : m_has_normals) = true;
            (mesh->uvs.empty() ? m_lacks_uvs : m_has_uvs) = true;
            m_has_smooth_meshes = m_has_smooth_meshes || is_smooth(*mesh);
        }
    if (m_surfaces.size() >= PackedMeshes::ShapeMask || room->triangle_count >= (1u << 30) ||
        room->vertex_count >= (1u << 28))
        fail("the scene has {} shapes, {} triangles and {} vertices; up to 2^30, 2^30 and 2^28 are "
             "possible: use instances",
             m_surfaces.size(), room->triangle_count, room->vertex_count);
    room->is_double = double_precision;
    room->stride = m_has_normals || m_has_uvs ? PackedMeshes::Full : PackedMeshes::Bare;
    room->vertices = jit::allocate(room->vertex_count * room->vertex_bytes());
    room->triangles = jit::allocate(room->triangle_count * 16);
    return room;
}

void Arena::add_part(size_t number, size_t end, const std::optional<TimeInterval> &time,
                     Geometry &g, HostRecords &to) {
    Geometry::Part part{ .first_triangle = uint32_t(to.triangles),
                         .first_analytic = uint32_t(g.analytic_primitives.size()),
                         .first_vertex = uint32_t(to.vertices) };
    int segments = 0; // if something deforms
    for (size_t i = number; i < end; ++i)
        if (auto *mesh = dynamic_cast<const Mesh *>(m_surfaces[i]); mesh && time)
            if (int n = mesh->segments_of_vertices(*time))
                segments = std::min(segments ? std::lcm(segments, n) : n, MostSegments);
    if (segments)
        part.steps.resize(size_t(segments) + 1);
    for (; number < end; ++number) {
        const Shape *shape = m_surfaces[number];
        if (auto *analytic = dynamic_cast<const AnalyticShape *>(shape)) {
            to.first_prims.insert(to.first_prims.end(),
                                  { uint32_t(g.analytic_primitives.size()), 0 });
            m_analytic.append(analytic);
            uint32_t row = uint32_t(g.analytic.size()) + 1;
            for (uint32_t i = 0; i < analytic->primitive_count(); ++i) {
                g.analytic_primitives.push_back({ row - 1, i });
                to.analytic.insert(to.analytic.end(), { row, uint32_t(number + 1) });
            }
            g.analytic.push_back(analytic);
        } else {
            auto &mesh = dynamic_cast<const Mesh &>(*shape);
            to.first_prims.insert(to.first_prims.end(),
                                  { uint32_t(to.triangles), mesh.is_inside_out() });
            size_t first_vertex = to.vertices, first_triangle = to.triangles;
            add_mesh(mesh, uint32_t(number + 1), to);
            if (segments) {
                to.keys.resize(4 * (number + 2)); // from 1 on
                add_keys(mesh, *time, part.steps, to);
            }
            if (mesh.triangle_count() > KeepUpTo && !g.is_rebuilt && mesh.keyframes.empty())
                mesh.give_up(to.meshes, first_vertex, first_triangle);
        }
    }
    part.triangles = uint32_t(to.triangles) - part.first_triangle;
    part.analytic = uint32_t(g.analytic_primitives.size()) - part.first_analytic;
    g.parts.push_back(std::move(part));
}

void Arena::upload(const HostRecords &records) {
    m_vertices = m_key_vertices = {};
    m_first_prims = jit::copy(records.first_prims);
    if (!records.analytic.empty())
        m_analytic_numbers = jit::copy(records.analytic);
    const PackedMeshes &m = *records.meshes;
    m_stride = m.stride;
    m_has_triangles = m.triangle_count != 0;
    auto share = [](jit::Type type, const jit::BufferRef &memory, size_t count) {
        return jit::borrow_from(type, memory->data(), count, [memory] {});
    };
    if (m_has_triangles) {
        m_vertices = Float(share(variant().float_type(), m.vertices, m.vertex_count * m.stride));
        m_triangles = UInt32(share(jit::Type::U32, m.triangles, m.triangle_count * 4));
    }
    if (records.key_vertices.empty())
        return;
    std::vector<uint32_t> keys = records.keys;
    keys.resize(4 * (m_surfaces.size() + 1)); // the last ones may not deform
    m_keys = jit::copy(keys);
    m_key_vertices = float_array(records.key_vertices);
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
    g.instances.reserve(m_placed.size());
    g.time = time;
    for (const Placed &p : m_placed) {
        numbers.push_back(dynamic_cast<const Instance *>(p.shape) ? p.shape->global_number() : 0);
        TransformSteps steps = p.shape->steps(time);
        if (reach_of(steps) == 0)
            warn(p.shape->where() + ": its transform leaves nothing of it; it is not rendered");
        m_instances.add(steps);
        g.instances.push_back({ p.part, p.shape });
    }
    m_instances.finish(time, deforms);
    m_instance_numbers = jit::copy(numbers);
    g.table = &m_instances;
}

namespace {

template <class T> void pack_vertices(const Mesh &mesh, size_t stride, T *to) {
    const std::vector<double> &p = mesh.positions, &n = mesh.normals, &uv = mesh.uvs;
    double sign = mesh.flips_normals() ? -1 : 1;
    jit::parallel_for(tbb::blocked_range<size_t>(0, p.size() / 3, 4096), [&](const auto &range) {
        for (size_t i = range.begin(); i < range.end(); ++i) {
            T *v = to + stride * i;
            std::fill_n(v, stride, T(0));
            for (size_t j = 0; j < 3; ++j) {
                v[j] = T(p[3 * i + j]);
                if (!n.empty())
                    v[PackedMeshes::Normal + j] = T(sign * n[3 * i + j]);
            }
            if (!uv.empty()) {
                v[PackedMeshes::U] = T(uv[2 * i]);
                v[PackedMeshes::V] = T(uv[2 * i + 1]);
            }
        }
    });
}

} // namespace

void Arena::add_mesh(const Mesh &mesh, uint32_t number, HostRecords &to) const {
    const PackedMeshes &m = *to.meshes;
    if (m.is_double)
        pack_vertices(mesh, m.stride,
                      static_cast<double *>(m.vertices->data()) + m.stride * to.vertices);
    else
        pack_vertices(mesh, m.stride,
                      static_cast<float *>(m.vertices->data()) + m.stride * to.vertices);
    uint32_t first = uint32_t(to.vertices),
             shape = number | (mesh.normals.empty() ? PackedMeshes::FacetedBit : 0u) |
                     (mesh.uvs.empty() ? PackedMeshes::NoUvBit : 0u);
    auto *triangles = static_cast<uint32_t *>(m.triangles->data()) + 4 * to.triangles;
    mesh.indices.get(); // before threads share them
    jit::parallel_for(tbb::blocked_range<size_t>(0, mesh.triangle_count(), 4096),
                      [&](const auto &range) {
                          for (size_t t = range.begin(); t < range.end(); ++t) {
                              for (size_t k = 0; k < 3; ++k)
                                  triangles[4 * t + k] = first + mesh.corner(t, k);
                              triangles[4 * t + 3] = shape;
                          }
                      });
    to.vertices += mesh.vertex_count();
    to.triangles += mesh.triangle_count();
}

// The mesh at all steps of its part, which it need not be the one to deform in.
void Arena::add_keys(const Mesh &mesh, const TimeInterval &time,
                     std::vector<std::vector<double>> &part, HostRecords &to) const {
    size_t n = mesh.vertex_count();
    uint32_t segments = uint32_t(part.size() - 1);
    const uint32_t entry[4] = { uint32_t(to.key_vertices.size() / PackedMeshes::Full), segments,
                                uint32_t(n), uint32_t(to.vertices - n) };
    std::copy_n(entry, 4, to.keys.end() - 4);
    double sign = mesh.flips_normals() ? -1 : 1;
    std::vector<Mesh::Keyframe> steps = mesh.steps_of_vertices(time, int(segments));
    for (size_t k = 0; k < steps.size(); ++k) {
        const std::vector<double> &p = steps[k].positions, &normals = steps[k].normals;
        part[k].insert(part[k].end(), p.begin(), p.end());
        for (size_t i = 0; i < n; ++i) {
            double record[PackedMeshes::Full] = { p[3 * i], p[3 * i + 1], p[3 * i + 2] };
            for (size_t j = 0; !normals.empty() && j < 3; ++j)
                record[PackedMeshes::Normal + j] = sign * normals[3 * i + j];
            to.key_vertices.insert(to.key_vertices.end(), record, record + PackedMeshes::Full);
        }
    }
}

// Puts what scripts follow in place of the numbers of the host.
Float Arena::follow_meshes() const {
    Value followed;
    uint32_t first = 0;
    for (const Shape *s : m_surfaces) {
        auto *mesh = dynamic_cast<const Mesh *>(s);
        if (!mesh)
            continue;
        uint32_t begin = first, n = uint32_t(mesh->vertex_count());
        first += n;
        bool p = mesh->follows_positions(), uv = mesh->follows_uvs(),
             normals = mesh->follows_normals();
        if (n == 0 || !(p || uv || normals))
            continue;
        if (!followed.valid())
            followed = m_vertices;
        UInt32 lane(jit::lane_index(n)), to = (lane + UInt32(begin)) * UInt32(uint32_t(m_stride));
        auto put = [&](const Value &from, uint32_t stride, uint32_t j, size_t at, double sign = 1) {
            Float v(jit::gather(from, lane * UInt32(stride) + UInt32(j), Mask(true)));
            jit::scatter(followed, sign < 0 ? -v : v, to + UInt32(uint32_t(at)), Mask(true));
        };
        for (uint32_t j = 0; p && j < 3; ++j)
            put(mesh->positions_array(), 3, j, j);
        for (uint32_t j = 0; uv && j < 2; ++j)
            put(mesh->uvs_array(), 2, j, j ? PackedMeshes::V : PackedMeshes::U);
        Value followed_normals = normals ? mesh->followed_normals() : Value();
        for (uint32_t j = 0; normals && j < 3; ++j)
            put(followed_normals, 3, j, PackedMeshes::Normal + j, mesh->flips_normals() ? -1 : 1);
    }
    if (followed.valid())
        jit::eval(followed);
    return Float(followed);
}

// The transform that scripts follow, after the inverse of its numbers.
Float Arena::follow_transforms() const {
    Float out;
    auto make_identities = [&] {
        std::vector<double> identities;
        for (size_t i = 0; i < m_surfaces.size() + m_placed.size() + 2; ++i)
            identities.insert(identities.end(), { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0 });
        out = float_array(identities);
    };
    auto follow = [&](const Shape &s, size_t row) {
        auto *data = dynamic_cast<const FollowsData *>(&s);
        if (data && data->carries_points() && data->follows_data() && !out.valid())
            make_identities(); // its points move, if not by this
        if (!s.follows_to_world())
            return;
        if (!out.valid())
            make_identities();
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
    for (const Value *v : { static_cast<const Value *>(&m_followed.vertices),
                            static_cast<const Value *>(&m_followed.transforms) })
        if (v->valid() && ad::grad_enabled(*v))
            out.push_back(*v);
    return out;
}

// Afresh for each question; in a recording, as it was before that.
Arena::Followed Arena::followed() const {
    if (variant().context().region != 0 || FollowedOnce::is_on())
        return m_followed;
    return { follow_meshes(), follow_transforms() };
}

} // namespace umbel
