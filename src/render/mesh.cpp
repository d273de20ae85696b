// render/mesh.cpp: triangle meshes.
#include "core/host_array.h"
#include "core/warp.h"
#include "render/emitter.h"
#include <algorithm>
#include <cmath>

namespace umbel {

BoundingBox Mesh::bounds() const {
    BoundingBox b;
    for (uint32_t i = 0; i < vertex_count(); ++i)
        b.extend(vertex(i));
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

void Mesh::to_world_space() {
    for (size_t i = 0; i + 2 < positions.size(); i += 3) {
        auto p = m_to_world.apply_point({ positions[i], positions[i + 1], positions[i + 2] });
        std::copy(p.begin(), p.end(), positions.begin() + ptrdiff_t(i));
    }
    for (size_t i = 0; i + 2 < normals.size(); i += 3) {
        auto n = m_to_world.apply_normal({ normals[i], normals[i + 1], normals[i + 2] });
        std::copy(n.begin(), n.end(), normals.begin() + ptrdiff_t(i));
    }
}

void Mesh::smooth_normals() {
    normals.assign(positions.size(), 0);
    for (size_t t = 0; t < triangle_count(); ++t) {
        auto n = area_normal(t);
        double length = std::hypot(n[0], n[1], n[2]);
        if (!(length > 0))
            continue;
        for (size_t k = 0; k < 3; ++k) {
            uint32_t i = indices[3 * t + k];
            auto p = vertex(i), a = vertex(indices[3 * t + (k + 1) % 3]),
                 b = vertex(indices[3 * t + (k + 2) % 3]);
            double dot = 0, la = 0, lb = 0;
            for (size_t j = 0; j < 3; ++j) {
                dot += (a[j] - p[j]) * (b[j] - p[j]);
                la += (a[j] - p[j]) * (a[j] - p[j]);
                lb += (b[j] - p[j]) * (b[j] - p[j]);
            }
            double angle = std::acos(std::clamp(dot / std::sqrt(la * lb), -1.0, 1.0));
            for (size_t j = 0; j < 3; ++j)
                normals[3 * i + j] += n[j] / length * angle;
        }
    }
    for (size_t i = 0; i < normals.size(); i += 3) {
        double length = std::hypot(normals[i], normals[i + 1], normals[i + 2]);
        for (size_t j = 0; j < 3; ++j)
            normals[i + j] = length > 0 ? normals[i + j] / length : j == 2 ? 1.0 : 0.0;
    }
}

void Mesh::declare(Params &p) {
    Shape::declare(p);
    if (!p.traversing())
        return;
    p.exposed("faces", &indices);
    p.exposed("vertex_positions", &positions);
    if (!normals.empty())
        p.exposed("vertex_normals", &normals);
    if (!uvs.empty())
        p.exposed("vertex_texcoords", &uvs);
}

void Mesh::changed(std::span<const std::string> names) {
    auto is_changed = [&](const char *name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (is_changed("to_world"))
        complain("the vertices of a mesh are in the scene's coordinates; change vertex_positions "
                 "in place of to_world");
    size_t n = vertex_count();
    if (positions.size() % 3 || indices.size() % 3 ||
        (!normals.empty() && normals.size() != 3 * n) || (!uvs.empty() && uvs.size() != 2 * n))
        complain("{} numbers for positions, {} for normals, {} for texture coordinates and {} for "
                 "faces do not make a mesh; there must be 3, 3, 2 a vertex and 3 a triangle",
                 positions.size(), normals.size(), uvs.size(), indices.size());
    check_mesh();
    if (!normals.empty() && is_changed("vertex_positions") && !is_changed("vertex_normals"))
        smooth_normals();
    prepare_sampling();
    ++m_revision;
}

void Mesh::check_mesh() const {
    for (uint32_t i : indices)
        if (i >= vertex_count())
            complain("a triangle refers to vertex {} of {}", uint64_t(i) + 1, vertex_count());
    for (double v : positions)
        if (!std::isfinite(v))
            complain("a vertex position is not a finite number");
}

void Mesh::finish_mesh() {
    check_mesh();
    if (m_flip_normals) {
        for (size_t t = 0; t < triangle_count(); ++t)
            std::swap(indices[3 * t + 1], indices[3 * t + 2]);
        for (double &n : normals)
            n = -n;
    }

    prepare_sampling();
}

void Mesh::prepare_sampling() {
    std::vector<double> areas(triangle_count());
    m_area = 0;
    for (size_t t = 0; t < areas.size(); ++t) {
        auto n = area_normal(t);
        m_area += areas[t] = std::hypot(n[0], n[1], n[2]) / 2;
    }
    m_inv_area = opaque_float(m_area > 0 ? 1 / m_area : 0);
    if (!m_emitter)
        return;
    if (!(m_area > 0))
        complain("an area light needs a surface, and the area of this mesh is {}", m_area);
    m_triangles = AliasTable(areas);
    std::vector<double> records;
    for (size_t t = 0; t < triangle_count(); ++t) {
        auto p0 = vertex(indices[3 * t]);
        records.insert(records.end(), p0.begin(), p0.end());
        for (size_t k = 1; k < 3; ++k) {
            auto p = vertex(indices[3 * t + k]);
            for (size_t j = 0; j < 3; ++j)
                records.push_back(p[j] - p0[j]);
        }
        for (size_t k = 0; k < 3; ++k)
            for (size_t j = 0; j < 2; ++j)
                records.push_back(uvs.empty() ? double(k == j + 1)
                                              : uvs[2 * indices[3 * t + k] + j]);
        records.push_back(0);
    }
    m_records = float_array(records);
}

PositionSample Mesh::sample_position(const Float &time, const Vector2 &u,
                                     const Mask &active) const {
    if (m_triangles.empty())
        complain("is no area light, so points on it cannot be sampled");
    auto [triangle, rest] = m_triangles.sample_reuse(u.x, active);
    std::vector<Value> r = jit::gather_packet(m_records, triangle, 16, active);
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
