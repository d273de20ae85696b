// render/mesh_creases.cpp: see render/mesh_creases.h.
#include "render/mesh_creases.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace umbel {

namespace {

// The same number for vertices at the same place, which differ in other things.
std::vector<uint32_t> places_of_vertices(const Mesh &mesh) {
    std::map<std::array<double, 3>, uint32_t> seen;
    std::vector<uint32_t> out;
    for (uint32_t i = 0; i < mesh.vertex_count(); ++i) {
        auto p = mesh.vertex(i);
        for (double &v : p) // what is no number has no order
            if (std::isnan(v))
                mesh.complain("a vertex position is not a finite number");
        out.push_back(seen.try_emplace(p, uint32_t(seen.size())).first->second);
    }
    return out;
}

double angle_at(const Mesh &mesh, uint32_t corner) {
    uint32_t first = corner / 3 * 3, k = corner - first;
    auto at = [&](uint32_t c) { return mesh.vertex(mesh.indices[c]); };
    auto p = at(corner), a = at(first + (k + 1) % 3), b = at(first + (k + 2) % 3);
    double dot = 0, la = 0, lb = 0;
    for (size_t j = 0; j < 3; ++j) {
        dot += (a[j] - p[j]) * (b[j] - p[j]);
        la += (a[j] - p[j]) * (a[j] - p[j]);
        lb += (b[j] - p[j]) * (b[j] - p[j]);
    }
    double lengths = std::sqrt(la * lb);
    return lengths > 0 ? std::acos(std::clamp(dot / lengths, -1.0, 1.0)) : 0;
}

std::vector<std::array<double, 3>> face_normals(const Mesh &mesh) {
    std::vector<std::array<double, 3>> out(mesh.triangle_count());
    for (size_t t = 0; t < out.size(); ++t) {
        out[t] = mesh.area_normal(t);
        double length = std::hypot(out[t][0], out[t][1], out[t][2]);
        for (double &v : out[t])
            v = length > 0 ? v / length : 0;
    }
    return out;
}

/// Corners that have a normal in common: each names one of them, that of a chain's end itself.
class Groups {
public:
    explicit Groups(size_t n) : m_next(n) { std::iota(m_next.begin(), m_next.end(), 0u); }
    uint32_t root(uint32_t c) {
        while (m_next[c] != c)
            c = m_next[c] = m_next[m_next[c]];
        return c;
    }
    void join(uint32_t a, uint32_t b) { m_next[root(b)] = root(a); }

private:
    std::vector<uint32_t> m_next;
};

Groups find_groups(const Mesh &mesh, const std::vector<std::array<double, 3>> &face,
                   double degrees) {
    // Corners by edge: each names its place, and the place at the edge's other end
    struct Spoke {
        uint32_t place, other, corner;
    };
    std::vector<uint32_t> places = places_of_vertices(mesh);
    std::vector<Spoke> spokes;
    for (uint32_t c = 0; c < mesh.indices.size(); ++c) {
        uint32_t first = c / 3 * 3;
        for (uint32_t step : { 1u, 2u })
            spokes.push_back({ places[mesh.indices[c]],
                               places[mesh.indices[first + (c - first + step) % 3]], c });
    }
    std::sort(spokes.begin(), spokes.end(), [](const Spoke &a, const Spoke &b) {
        return std::tie(a.place, a.other, a.corner) < std::tie(b.place, b.other, b.corner);
    });
    double least = std::cos(degrees * Pi / 180);
    auto bends_less = [&](uint32_t a, uint32_t b) {
        const auto &m = face[a / 3], &n = face[b / 3];
        return m[0] * n[0] + m[1] * n[1] + m[2] * n[2] >= least;
    };
    Groups groups(mesh.indices.size());
    for (size_t i = 1; i < spokes.size(); ++i) {
        const Spoke &a = spokes[i - 1], &b = spokes[i];
        if (a.place == b.place && a.other == b.other && bends_less(a.corner, b.corner))
            groups.join(a.corner, b.corner);
    }
    return groups;
}

} // namespace

void Creases::declare(Params &p) {
    p.number("max_smooth_angle", m_degrees, 0, 0, 180)
        .fixed()
        .doc("In degrees: gives up the file's normals for new ones, which are smooth over "
             "edges where the surface bends by less. 0: the file's normals stay");
}

void Creases::smooth(Mesh &mesh, const std::vector<PerVertex> &others) const {
    std::vector<std::array<double, 3>> face = face_normals(mesh);
    Groups groups = find_groups(mesh, face, m_degrees);
    auto corners = uint32_t(mesh.indices.size());
    std::vector<double> sums(3 * size_t(corners));
    for (uint32_t c = 0; c < corners; ++c) {
        double angle = angle_at(mesh, c);
        for (size_t j = 0; j < 3; ++j)
            sums[3 * groups.root(c) + j] += face[c / 3][j] * angle;
    }

    // A vertex for each pair of an old one and a group
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> made;
    std::vector<uint32_t> olds;
    for (uint32_t c = 0; c < corners; ++c) {
        uint32_t old = mesh.indices[c], group = groups.root(c);
        auto [it, is_new] = made.try_emplace({ old, group }, uint32_t(made.size()));
        mesh.indices[c] = it->second;
        if (!is_new)
            continue;
        olds.push_back(old);
        const double *n = &sums[3 * group];
        double length = std::hypot(n[0], n[1], n[2]);
        for (size_t j = 0; j < 3; ++j)
            mesh.normals.push_back(length > 0 ? n[j] / length : j == 2 ? 1.0 : 0.0);
    }
    auto again = [&](std::vector<double> &list, uint32_t size) {
        std::vector<double> out;
        for (uint32_t old : olds)
            if (!list.empty())
                out.insert(out.end(), list.begin() + ptrdiff_t(old) * size,
                           list.begin() + ptrdiff_t(old + 1) * size);
        list = std::move(out);
    };
    again(mesh.positions.get(), 3);
    again(mesh.uvs.get(), 2);
    for (const PerVertex &o : others)
        again(*o.list, o.size);
}

} // namespace umbel
