// render/sample_guide.cpp: see render/sample_guide.h.
#include "render/sample_guide.h"
#include "core/host_array.h"
#include <algorithm>
#include <array>
#include <numeric>

namespace umbel {

namespace {

struct Cell {
    std::array<double, 3> corner;
    double size;
    double sum;
};

struct Builder {
    const std::vector<double> (&points)[3];
    const std::vector<double> &values;
    bool is_grid;
    double total;
    std::vector<Cell> cells = {};

    static constexpr int Deepest = 7, GridDepth = 4;
    static constexpr double Part = 1.0 / 2048; // of the whole, that a cell may hold
    static constexpr size_t Fewest = 8;        // samples that tell anything

    void build(std::vector<uint32_t> &order, size_t begin, size_t end, const Cell &cell,
               int depth) {
        bool goes_on = is_grid ? depth < GridDepth
                               : depth < 2 || (depth < Deepest && cell.sum > Part * total &&
                                               end - begin >= Fewest);
        if (!goes_on) {
            cells.push_back(cell);
            return;
        }
        double half = cell.size / 2;
        for (int k = 0; k < 8; ++k) {
            Cell part{ cell.corner, half, 0 };
            for (int a = 0; a < 3; ++a)
                part.corner[size_t(a)] += k >> a & 1 ? half : 0;
            auto inside = [&](uint32_t i) {
                for (size_t a = 0; a < 3; ++a) {
                    double x = points[a][i] - part.corner[a];
                    if (!(x >= 0 && x < half))
                        return false;
                }
                return true;
            };
            auto from = order.begin() + long(begin), to = order.begin() + long(end);
            size_t n = size_t(std::stable_partition(from, to, inside) - from);
            for (size_t i = begin; i < begin + n; ++i)
                part.sum += values[order[i]];
            build(order, begin, begin + n, part, depth + 1);
            begin += n;
        }
    }
};

} // namespace

SampleGuide::SampleGuide(Kind kind, const std::vector<double> (&points)[3],
                         const std::vector<double> &values) {
    double total = std::accumulate(values.begin(), values.end(), 0.0);
    if (kind == Kind::None || !(total > 0))
        return;
    std::vector<uint32_t> order(values.size());
    std::iota(order.begin(), order.end(), 0u);
    Builder b{ points, values, kind == Kind::Grid, total };
    b.build(order, 0, order.size(), { { 0, 0, 0 }, 1, total }, 0);
    constexpr double Uniform = 0.25;
    std::vector<double> weights, boxes, densities;
    for (const Cell &c : b.cells) {
        double volume = c.size * c.size * c.size;
        double weight = (1 - Uniform) * c.sum / total + Uniform * volume;
        weights.push_back(weight);
        densities.push_back(weight / volume);
        boxes.insert(boxes.end(), { c.corner[0], c.corner[1], c.corner[2], c.size });
    }
    // Every image has another number of cells, but kernels should be the same for all
    size_t size = 16384;
    while (size < weights.size())
        size *= 4;
    weights.resize(size);
    m_cells.emplace(weights);
    m_boxes = float_array(boxes);
    m_densities = float_array(densities);
}

SampleGuide::Sample SampleGuide::sample(const Float &x, const Vector2 &yz,
                                        const Float &choice) const {
    if (!m_cells)
        return { x, yz, Float(1) };
    UInt32 cell = m_cells->sample(choice);
    auto box = jit::gather_packet(m_boxes, cell, 4, Mask(true));
    Float size(box[3]);
    return { fma(x, size, Float(box[0])),
             { fma(yz.x, size, Float(box[1])), fma(yz.y, size, Float(box[2])) },
             Float(jit::gather(m_densities, cell, Mask(true))) };
}

} // namespace umbel
