// render/openings.cpp: see openings.h.
#include "render/openings.h"
#include "core/load_warnings.h"
#include "render/instance.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

namespace umbel {

namespace {

using Cell = std::array<int64_t, 3>;
struct CellHash {
    size_t operator()(const Cell &c) const {
        size_t h = 0;
        for (int64_t x : c)
            h = (h ^ size_t(x)) * 0x9e3779b97f4a7c15;
        return h ^ h >> 32;
    }
};

/// Numbers for places.
class Places {
public:
    explicit Places(const std::vector<const Mesh *> &meshes) {
        double extent = 0;
        for (const Mesh *m : meshes) {
            BoundingBox b = m->bounds();
            for (size_t a = 0; a < 3; ++a)
                extent = std::max(extent, b.max[a] - b.min[a]);
        }
        // An odd number, so that round coordinates do not lie where cells meet
        m_scale = 1e6 / 1.2345 / (extent > 0 ? extent : 1);
    }
    uint64_t number(const std::array<double, 3> &p) {
        Cell c;
        for (size_t a = 0; a < 3; ++a)
            c[a] = int64_t(std::clamp(std::floor(p[a] * m_scale + 0.3217), -0x1p62, 0x1p62));
        return m_numbers.emplace(c, uint32_t(m_numbers.size())).first->second;
    }

private:
    double m_scale;
    std::unordered_map<Cell, uint32_t, CellHash> m_numbers;
};

void find_open_edges(const std::vector<const Mesh *> &meshes, std::vector<Opening> &out) {
    struct Side { // of a triangle
        uint64_t edge;
        uint32_t mesh;
        auto operator<=>(const Side &) const = default;
    };
    std::vector<Side> sides;
    Places places(meshes);
    for (uint32_t m = 0; m < meshes.size(); ++m) {
        std::vector<uint64_t> place;
        for (uint32_t i = 0; i < meshes[m]->vertex_count(); ++i)
            place.push_back(places.number(meshes[m]->vertex(i)));
        for (size_t t = 0; t < meshes[m]->triangle_count(); ++t) {
            uint64_t corner[3];
            for (size_t k = 0; k < 3; ++k)
                corner[k] = place[meshes[m]->corner(t, k)];
            if (corner[0] == corner[1] || corner[1] == corner[2] || corner[2] == corner[0])
                continue; // no area, as at the poles of a sphere
            for (size_t k = 0; k < 3; ++k) {
                auto [low, high] = std::minmax(corner[k], corner[(k + 1) % 3]);
                sides.push_back({ low << 32 | high, m });
            }
        }
    }
    std::sort(sides.begin(), sides.end());
    std::vector<size_t> open(meshes.size());
    for (auto i = sides.begin(); i != sides.end();) {
        auto next = std::find_if(i, sides.end(), [&](const Side &s) { return s.edge != i->edge; });
        if ((next - i) % 2)
            ++open[i->mesh];
        i = next;
    }
    for (size_t m = 0; m < meshes.size(); ++m)
        if (open[m])
            out.push_back(
                { meshes[m], fmt::format("{} edges border an odd number of triangles", open[m]) });
}

} // namespace

std::vector<Opening> find_openings(const std::vector<Ref<Shape>> &shapes) {
    std::vector<const Medium *> order; // as the scene has them
    std::map<const Medium *, std::vector<const Shape *>> around;
    for (const Ref<Shape> &s : shapes)
        if (s->interior() && s->interior() != s->exterior()) {
            if (around[s->interior()].empty())
                order.push_back(s->interior());
            around[s->interior()].push_back(s.get());
        }
    std::vector<Opening> out;
    for (const Medium *medium : order) {
        std::vector<const Mesh *> meshes;
        const Shape *analytic = nullptr; // and open
        for (const Shape *s : around[medium])
            if (auto *mesh = dynamic_cast<const Mesh *>(s))
                meshes.push_back(mesh);
            else if (s->type() == ShapeType::Disk || s->type() == ShapeType::Cylinder)
                analytic = s;
        if (!analytic)
            find_open_edges(meshes, out);
        else if (around[medium].size() == 1)
            out.push_back({ analytic, analytic->type() == ShapeType::Disk ? "it is flat"
                                                                          : "it has no ends" });
    }
    return out;
}

void warn_about_openings(const std::vector<Ref<Shape>> &shapes) {
    for (const Opening &o : find_openings(shapes))
        warn_while_loading(fmt::format(
            "{}: has a medium inside, but is not closed: {}. Light that gets in or out without "
            "crossing it keeps the medium that it was in; close it, or let a closed shape have the "
            "medium",
            o.shape->where(), o.why));
    for (const Ref<Shape> &shape : shapes)
        if (auto *group = dynamic_cast<const ShapeGroup *>(shape.get()))
            warn_about_openings(group->members());
}

} // namespace umbel
