// render/irradiance_tree.cpp: see irradiance_tree.h.
#include "render/irradiance_tree.h"
#include "core/host_array.h"
#include <algorithm>
#include <array>

namespace umbel {

namespace {

struct Builder {
    std::vector<IrradianceTree::Point> points;
    std::vector<double> nodes, irradiance;
    std::vector<uint32_t> next;

    // Of points [begin, end) in a cube.
    void build(size_t begin, size_t end, std::array<double, 3> centre, double half, int depth) {
        size_t node = next.size();
        add(begin, end);
        if (end - begin > 1 && depth < 40) {
            auto child_of = [&](const IrradianceTree::Point &p) {
                return (p.p[0] > centre[0]) + 2 * (p.p[1] > centre[1]) + 4 * (p.p[2] > centre[2]);
            };
            for (int c = 0; c < 8; ++c) {
                auto rest = std::partition(points.begin() + ptrdiff_t(begin),
                                           points.begin() + ptrdiff_t(end),
                                           [&](const auto &p) { return child_of(p) == c; });
                auto middle = size_t(rest - points.begin());
                if (middle > begin)
                    build(begin, middle,
                          { centre[0] + (c & 1 ? half : -half) / 2,
                            centre[1] + (c & 2 ? half : -half) / 2,
                            centre[2] + (c & 4 ? half : -half) / 2 },
                          half / 2, depth + 1);
                begin = middle;
            }
        }
        next[node] = uint32_t(next.size());
    }
    void add(size_t begin, size_t end) {
        size_t n = points[begin].irradiance.size();
        std::array<double, 3> p = {};
        std::vector<double> power(n);
        double area = 0;
        for (size_t i = begin; i < end; ++i) {
            for (size_t a = 0; a < 3; ++a)
                p[a] += points[i].p[a] * points[i].area;
            for (size_t k = 0; k < n; ++k)
                power[k] += points[i].irradiance[k] * points[i].area;
            area += points[i].area;
        }
        for (double x : p)
            nodes.push_back(x / area);
        nodes.push_back(area);
        irradiance.insert(irradiance.end(), power.begin(), power.end());
        next.push_back(0);
    }
};

} // namespace

IrradianceTree::IrradianceTree(std::vector<Point> points) {
    if (points.empty())
        return;
    std::array<double, 3> low = points[0].p, high = low;
    for (const Point &p : points)
        for (size_t a = 0; a < 3; ++a) {
            low[a] = std::min(low[a], p.p[a]);
            high[a] = std::max(high[a], p.p[a]);
        }
    double half = 0;
    std::array<double, 3> centre;
    for (size_t a = 0; a < 3; ++a) {
        centre[a] = 0.5 * (low[a] + high[a]);
        half = std::max(half, 0.5 * (high[a] - low[a]));
    }
    m_numbers = uint32_t(points[0].irradiance.size());
    Builder b{ std::move(points), {}, {}, {} };
    b.build(0, b.points.size(), centre, half, 0);
    m_count = uint32_t(b.next.size());
    m_nodes = float_array(b.nodes);
    m_irradiance = float_array(b.irradiance);
    m_next = jit::copy_from(jit::Type::U32, b.next.data(), m_count);
}

} // namespace umbel
