// render/mesh.cpp: triangle meshes.
#include "ad/ad.h"
#include "core/host_array.h"
#include "core/large_pages.h"
#include "core/warp.h"
#include "jit/parallel.h"
#include "render/emitter.h"
#include "render/packed_meshes.h"
#include <algorithm>
#include <cmath>
#include <thread>

namespace umbel {

const Mesh::Attributes Mesh::s_no_attributes;

BoundingBox Mesh::bounds() const {
    BoundingBox b;
    const std::vector<double> &p = positions;
    for (size_t i = 0; i + 2 < p.size(); i += 3)
        b.extend(std::array{ p[i], p[i + 1], p[i + 2] });
    for (const Keyframe &k : keyframes)
        for (size_t i = 0; i + 2 < k.positions.size(); i += 3)
            b.extend(std::array{ k.positions[i], k.positions[i + 1], k.positions[i + 2] });
    return b;
}

std::optional<TimeInterval> Mesh::motion() const {
    std::optional<TimeInterval> all = Shape::motion();
    if (keyframes.size() < 2)
        return all;
    TimeInterval own{ keyframes.front().time, keyframes.back().time };
    return all ? all->united(own) : own;
}

int Mesh::segments_of_vertices(const TimeInterval &scene) const {
    if (keyframes.size() < 2)
        return 0;
    for (int n = 1; n < MostSegments; ++n)
        if (std::all_of(keyframes.begin(), keyframes.end(), [&](const Keyframe &k) {
                double step = (k.time - scene.begin) / (scene.end - scene.begin) * n;
                return std::abs(step - std::round(step)) < 1e-6;
            }))
            return n;
    return MostSegments;
}

std::vector<Mesh::Keyframe> Mesh::steps_of_vertices(const TimeInterval &scene, int segments) const {
    std::vector<Keyframe> out;
    for (int i = 0; i <= segments; ++i) {
        Keyframe step{ scene.at(double(i) / segments), positions, normals };
        if (keyframes.size() > 1) {
            size_t next = 1;
            while (next + 1 < keyframes.size() && keyframes[next].time < step.time)
                ++next;
            const Keyframe &a = keyframes[next - 1], &b = keyframes[next];
            double f = std::clamp((step.time - a.time) / (b.time - a.time), 0.0, 1.0);
            for (size_t k = 0; k < positions.size(); ++k)
                step.positions[k] = (1 - f) * a.positions[k] + f * b.positions[k];
            for (size_t k = 0; k < normals.size(); ++k)
                step.normals[k] = (1 - f) * a.normals[k] + f * b.normals[k];
        }
        out.push_back(std::move(step));
    }
    return out;
}

BoundingBox Mesh::primitive_bounds(size_t triangle) const {
    BoundingBox b;
    for (size_t k = 0; k < 3; ++k)
        b.extend(vertex(indices[3 * triangle + k]));
    return b;
}

std::array<double, 3> Mesh::area_normal(size_t t) const {
    auto a = vertex(indices[3 * t]), b = vertex(indices[3 * t + 1]), c = vertex(indices[3 * t + 2]);
    double u[3], v[3];
    for (int i = 0; i < 3; ++i) {
        u[i] = b[size_t(i)] - a[size_t(i)];
        v[i] = c[size_t(i)] - a[size_t(i)];
    }
    return { u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0] };
}

namespace {

using Triple = std::array<double, 3>;

double dot(const Triple &a, const Triple &b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
double length_of(const Triple &v) { return std::sqrt(dot(v, v)); }

// The arc cosine within 2e-8 [Abramowitz 1964, 4.4.46]: for weights, where the library's would take most of the time.
double rough_acos(double x) {
    double y = std::min(std::abs(x), 1.0), y2 = y * y, y4 = y2 * y2;
    double low = (1.5707963050 - 0.2145988016 * y) + (0.0889789874 - 0.0501743046 * y) * y2,
           high = (0.0308918810 - 0.0170881256 * y) + (0.0066700901 - 0.0012624911 * y) * y2;
    double sum = (low + high * y4) * std::sqrt(1 - y);
    return x < 0 ? Pi - sum : sum;
}

// A sum over [0, n) that does not depend on how many threads there are: of blocks, in their order.
template <class F> double ordered_sum(size_t n, F &&f) {
    constexpr size_t Block = 1 << 14;
    std::vector<double> sums((n + Block - 1) / Block);
    jit::parallel_for(size_t(0), sums.size(), [&](size_t b) {
        for (size_t i = b * Block; i < std::min(n, (b + 1) * Block); ++i)
            sums[b] += f(i);
    });
    double sum = 0;
    for (double s : sums)
        sum += s;
    return sum;
}

} // namespace

void Mesh::to_world_space() {
    auto each = [](std::vector<double> &list, auto &&f) {
        jit::parallel_for(tbb::blocked_range<size_t>(0, list.size() / 3, 4096),
                          [&](const auto &range) {
                              for (size_t i = range.begin(); i < range.end(); ++i) {
                                  double *v = &list[3 * i];
                                  Triple to = f(Triple{ v[0], v[1], v[2] });
                                  std::copy(to.begin(), to.end(), v);
                              }
                          });
    };
    if (m_to_world != TransformData())
        each(positions.get(), [&](const Triple &p) { return m_to_world.apply_point(p); });
    if (normals.empty())
        return;
    TransformData inverse = m_to_world.inverse().value_or(TransformData());
    each(normals.get(), [&](const Triple &n) {
        Triple to;
        for (int c = 0; c < 3; ++c)
            to[size_t(c)] = inverse(0, c) * n[0] + inverse(1, c) * n[1] + inverse(2, c) * n[2];
        double length = std::hypot(to[0], to[1], to[2]);
        if (length == 0) // as where triangles have none
            return Triple{ 0, 0, 1 };
        for (double &v : to)
            v /= length;
        return to;
    });
}

void Mesh::smooth_normals() {
    if (m_arrays)
        m_arrays->normals = {};
    normals.clear();
    resize_large(normals.get(), positions.size());
    const std::vector<double> &p = positions;
    const std::vector<uint32_t> &index = indices;
    double *sums = normals.get().data();
    // Each thread has a range of vertices, so that what is summed has one order
    size_t parts =
               triangle_count() < 20'000 ? 1 : std::max(1u, std::thread::hardware_concurrency()),
           each = vertex_count() / parts + 1;
    jit::parallel_for(size_t(0), parts, [&](size_t part) {
        uint32_t begin = uint32_t(part * each), n = uint32_t(each);
        for (size_t t = 0; t + 2 < index.size(); t += 3) {
            bool is_mine[3];
            for (size_t k = 0; k < 3; ++k)
                is_mine[k] = index[t + k] - begin < n;
            if (!is_mine[0] && !is_mine[1] && !is_mine[2])
                continue;
            Triple edge[3]; // from corner k to the next one
            for (size_t k = 0; k < 3; ++k) {
                const double *a = &p[3 * size_t(index[t + k])],
                             *b = &p[3 * size_t(index[t + (k + 1) % 3])];
                edge[k] = { b[0] - a[0], b[1] - a[1], b[2] - a[2] };
            }
            const Triple &u = edge[0], &v = edge[2]; // v comes back to the first corner
            Triple face{ v[1] * u[2] - v[2] * u[1], v[2] * u[0] - v[0] * u[2],
                         v[0] * u[1] - v[1] * u[0] };
            double size = length_of(face);
            if (!(size > 0))
                continue;
            auto angle = [&](const Triple &in, const Triple &out) {
                return rough_acos(-dot(in, out) / std::sqrt(dot(in, in) * dot(out, out)));
            };
            double angles[3] = { angle(edge[2], edge[0]), angle(edge[0], edge[1]) };
            angles[2] = std::max(Pi - angles[0] - angles[1], 0.0);
            for (size_t k = 0; k < 3; ++k) {
                if (!is_mine[k])
                    continue;
                double weight = angles[k] / size;
                for (size_t j = 0; j < 3; ++j)
                    sums[3 * size_t(index[t + k]) + j] += face[j] * weight;
            }
        }
        for (size_t i = begin; i < std::min(size_t(begin) + each, vertex_count()); ++i) {
            double *s = &sums[3 * i], size = length_of({ s[0], s[1], s[2] });
            for (size_t j = 0; j < 3; ++j)
                s[j] = size > 0 ? s[j] / size : j == 2 ? 1.0 : 0.0;
        }
    });
}

void Mesh::give_up(std::shared_ptr<const PackedMeshes> packed, size_t first_vertex,
                   size_t first_triangle) const {
    auto numbers = [=](size_t count, size_t n, auto &&slot, double sign) {
        return [=] {
            std::vector<double> out(count);
            for (size_t i = 0; i < count; ++i)
                out[i] = sign * packed->number(first_vertex + i / n, slot(i % n));
            return out;
        };
    };
    positions.give_up(numbers(positions.size(), 3, [](size_t j) { return j; }, 1));
    normals.give_up(numbers(
        normals.size(), 3, [](size_t j) { return PackedMeshes::Normal + j; },
        m_flip_normals ? -1 : 1));
    uvs.give_up(
        numbers(uvs.size(), 2, [](size_t j) { return j ? PackedMeshes::V : PackedMeshes::U; }, 1));
    indices.give_up([=, count = indices.size(), turned = m_is_inside_out] {
        std::vector<uint32_t> out(count);
        for (size_t i = 0; i < count; ++i)
            out[i] = packed->triangle(first_triangle + i / 3)[turned ? (3 - i % 3) % 3 : i % 3] -
                     uint32_t(first_vertex);
        return out;
    });
}

NormalCone Mesh::normal_cone() const {
    std::vector<std::array<double, 3>> all;
    auto add = [&](std::array<double, 3> n, double sign) {
        double length = std::hypot(n[0], n[1], n[2]);
        if (!(length > 0))
            return;
        for (double &v : n)
            v *= sign / length;
        all.push_back(n);
    };
    for (size_t t = 0; t < triangle_count(); ++t)
        add(area_normal(t), m_is_inside_out ? -1 : 1);
    for (size_t i = 0; i + 2 < normals.size(); i += 3)
        add({ normals[i], normals[i + 1], normals[i + 2] }, m_flip_normals ? -1 : 1);
    std::array<double, 3> sum{};
    for (auto &n : all)
        for (size_t j = 0; j < 3; ++j)
            sum[j] += n[j];
    double length = std::hypot(sum[0], sum[1], sum[2]);
    if (!(length > 1e-6 * double(all.size())))
        return {};
    NormalCone cone{ { sum[0] / length, sum[1] / length, sum[2] / length }, 1 };
    for (auto &n : all)
        cone.cosine =
            std::min(cone.cosine, n[0] * cone.axis[0] + n[1] * cone.axis[1] + n[2] * cone.axis[2]);
    return cone;
}

UInt32 Mesh::corner(const UInt32 &triangle, uint32_t k) const {
    UInt32 at = triangle * UInt32(3u) + UInt32(m_is_inside_out && k ? 3 - k : k);
    return UInt32(jit::gather(indices_array(), at, Mask(true)));
}

// The same in recorded code, for derivatives.
Value Mesh::smooth_normals_array() const {
    UInt32 lane(jit::lane_index(triangle_count()));
    UInt32 at[3];
    Vector3 p[3];
    for (uint32_t k = 0; k < 3; ++k) {
        at[k] = UInt32(jit::gather(indices_array(), lane * UInt32(3u) + UInt32(k), Mask(true))) *
                UInt32(3u);
        auto number = [&](uint32_t j) {
            return Float(jit::gather(positions_array(), at[k] + UInt32(j), Mask(true)));
        };
        p[k] = { number(0), number(1), number(2) };
    }
    // Triangles without area, and vertices of such alone, have no direction; nor has it a derivative
    auto inverse_length = [](const Float &n2) {
        return select(n2 > 0, rsqrt(select(n2 > 0, n2, Float(1))), Float(0));
    };
    auto unit = [&](const Vector3 &v) { return v * inverse_length(squared_norm(v)); };
    Vector3 n = unit(cross(p[1] - p[0], p[2] - p[0]));
    Value sums = jit::full(variant().float_type(), 0, positions.size());
    for (uint32_t k = 0; k < 3; ++k) {
        Vector3 a = unit(p[(k + 1) % 3] - p[k]), b = unit(p[(k + 2) % 3] - p[k]);
        Float angle = acos(clamp(dot(a, b), -1, 1));
        for (auto &[j, v] : { std::pair(0u, n.x), { 1u, n.y }, { 2u, n.z } })
            jit::scatter(sums, v * angle, at[k] + UInt32(j), Mask(true), jit::ReduceOp::Add);
    }
    UInt32 number(jit::lane_index(positions.size())), base = number / UInt32(3u) * UInt32(3u);
    auto sum = [&](uint32_t j) { return Float(jit::gather(sums, base + UInt32(j), Mask(true))); };
    Float inv = inverse_length(squared_norm(Vector3(sum(0), sum(1), sum(2))));
    Float followed(jit::gather(sums, number, Mask(true)));
    Value out = ad::replace_grad(float_array(normals), followed * inv);
    jit::eval(out);
    return out;
}

void Mesh::declare(Params &p) {
    Shape::declare(p);
    if (!p.traversing())
        return;
    Arrays &all = arrays();
    auto slot = [](Value &array, auto &host) { return BufferSlot{ &array, &host.get() }; };
    if (keyframes.empty()) { // else there are several of each
        p.exposed("faces", slot(all.indices, indices));
        p.exposed("vertex_positions", slot(all.positions, positions)).differentiable();
        p.exposed("vertex_normals", slot(all.normals, normals)).differentiable();
    }
    p.exposed("vertex_texcoords", slot(all.uvs, uvs)).differentiable();
    for (auto &[name, a] : all.attributes) {
        p.exposed(name.c_str(), &a.values).differentiable();
        if (a.coefficients.valid())
            p.derived(a.coefficients);
    }
}

void Mesh::declare_normals(Params &p) {
    p.boolean("face_normals", m_face_normals, false)
        .doc("Makes the mesh look faceted. Without it, a mesh without normals gets smooth ones");
}

void Mesh::changed(std::span<const std::string> names) {
    auto is_changed = [&](const char *name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    Arrays &all = arrays();
    auto take = [&](const char *name, Value &array, Restorable<double> &host) {
        if (is_changed(name) && array.valid())
            host = read_floats(Float(array.detached()));
    };
    take("vertex_positions", all.positions, positions);
    take("vertex_normals", all.normals, normals);
    take("vertex_texcoords", all.uvs, uvs);
    if (is_changed("faces") && all.indices.valid())
        indices = UInt32(all.indices).read();
    for (const std::string &name : names)
        if (auto it = all.attributes.find(name); it != all.attributes.end())
            upsample(it->second);
    if (std::all_of(names.begin(), names.end(),
                    [&](const std::string &n) { return all.attributes.count(n) != 0; }))
        return; // the surface is where it was

    size_t n = vertex_count();
    if (positions.size() % 3 || indices.size() % 3 ||
        (!normals.empty() && normals.size() != 3 * n) || (!uvs.empty() && uvs.size() != 2 * n))
        complain("{} numbers for positions, {} for normals, {} for texture coordinates and {} for "
                 "faces do not make a mesh; there must be 3, 3, 2 a vertex and 3 a triangle",
                 positions.size(), normals.size(), uvs.size(), indices.size());
    check_mesh();
    if (!normals.empty() && is_changed("vertex_positions") && !is_changed("vertex_normals")) {
        smooth_normals();
        m_are_normals_computed = follows_positions();
        if (m_are_normals_computed)
            all.normals = smooth_normals_array();
    } else if (is_changed("vertex_normals"))
        m_are_normals_computed = false;
    prepare_sampling();
    ++m_revision;
}

void Mesh::refresh() {
    forget_arrays();
    check_mesh();
    prepare_sampling();
    ++m_revision;
}

void Mesh::check_mesh() const {
    for (uint32_t i : indices)
        if (i >= vertex_count())
            complain("a triangle refers to vertex {} of {}", uint64_t(i) + 1, vertex_count());
    // A sum is finite only if all its terms are, save for those that are huge
    auto must_be_finite = [&](const std::vector<double> &list, const char *what) {
        if (std::isfinite(ordered_sum(list.size(), [&](size_t i) { return list[i] * 0x1p-64; })))
            return;
        size_t each = list.size() / vertex_count();
        for (size_t i = 0; i < list.size(); ++i)
            if (!std::isfinite(list[i]))
                complain("the {} of vertex {} is not a finite number; correct it, or export the "
                         "mesh again",
                         what, i / each);
    };
    must_be_finite(positions, "vertex position");
    must_be_finite(normals, "normal");
    must_be_finite(uvs, "texture coordinate");
}

void Mesh::finish_mesh(bool normals_came_along) {
    check_mesh();
    forget_arrays();
    orient(normals_came_along);
    prepare_sampling();
}

void Mesh::orient(bool normals_came_along) {
    // A mirror turns the order of vertices around, but not which side is out.
    auto column = [&](int c) {
        return std::array{ m_to_world(0, c), m_to_world(1, c), m_to_world(2, c) };
    };
    auto [x, y, z] = std::array{ column(0), column(1), column(2) };
    double det = x[0] * (y[1] * z[2] - y[2] * z[1]) - x[1] * (y[0] * z[2] - y[2] * z[0]) +
                 x[2] * (y[0] * z[1] - y[1] * z[0]);
    m_is_inside_out = m_flip_normals != (normals_came_along && det < 0);
}

void Mesh::prepare_sampling() {
    const double *p = std::as_const(positions).get().data();
    const uint32_t *index = std::as_const(indices).get().data();
    m_area = ordered_sum(triangle_count(), [=](size_t t) {
        const double *a = p + 3 * size_t(index[3 * t]), *b = p + 3 * size_t(index[3 * t + 1]),
                     *c = p + 3 * size_t(index[3 * t + 2]);
        double u[3] = { b[0] - a[0], b[1] - a[1], b[2] - a[2] },
               v[3] = { c[0] - a[0], c[1] - a[1], c[2] - a[2] };
        return length_of({ u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2],
                           u[0] * v[1] - u[1] * v[0] }) /
               2;
    });
    m_inv_area = HostFloat(m_area > 0 ? 1 / m_area : 0);
    if (m_arrays)
        m_arrays->records = {};
    if (!m_emitter)
        return;
    if (!keyframes.empty())
        complain("a mesh that deforms cannot emit light; give the emitter to one that does not");
    if (!(m_area > 0))
        complain("an area light needs a surface, and the area of this mesh is {}", m_area);
}

void Mesh::make_records() const {
    if (!(m_area > 0))
        complain("points on it cannot be sampled: its area is {}", m_area);
    std::vector<double> records, areas;
    for (size_t t = 0; t < triangle_count(); ++t) {
        auto n = area_normal(t);
        areas.push_back(std::hypot(n[0], n[1], n[2]) / 2);
        auto p0 = vertex(corner(t, 0));
        records.insert(records.end(), p0.begin(), p0.end());
        for (size_t k = 1; k < 3; ++k) {
            auto p = vertex(corner(t, k));
            for (size_t j = 0; j < 3; ++j)
                records.push_back(p[j] - p0[j]);
        }
        for (size_t k = 0; k < 3; ++k)
            for (size_t j = 0; j < 2; ++j)
                records.push_back(uvs.empty() ? double(k == j + 1) : uvs[2 * corner(t, k) + j]);
        records.push_back(0);
    }
    arrays().triangles = AliasTable(areas);
    arrays().records = float_array(records);
}

PositionSample Mesh::sample_rest_position(const Float &time, const Vector2 &u,
                                          const Mask &active) const {
    if (!arrays().records.valid())
        make_records();
    auto [triangle, rest] = arrays().triangles.sample_reuse(u.x, active);
    std::vector<Value> r = jit::gather_packet(arrays().records, triangle, 16, active);
    auto at = [&](size_t i) { return Float(r[i]); };
    Vector2 b = square_to_uniform_triangle({ rest, u.y });
    Vector3 p0(at(0), at(1), at(2)), e1(at(3), at(4), at(5)), e2(at(6), at(7), at(8));
    Vector2 uv0{ at(9), at(10) }, uv1{ at(11), at(12) }, uv2{ at(13), at(14) };
    PositionSample ps;
    ps.p = fma(e2, b.y, fma(e1, b.x, p0));
    ps.n = normalize(cross(e1, e2));
    ps.uv = uv0 * (1 - b.x - b.y) + uv1 * b.x + uv2 * b.y;
    ps.time = time;
    ps.pdf = m_inv_area;
    ps.delta = false;
    return ps;
}

} // namespace umbel
