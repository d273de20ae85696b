// render/filter.cpp: drawing offsets from a reconstruction filter.
#include "render/filter.h"
#include "core/host_array.h"
#include <cmath>

namespace umbel {

// The profile as a piecewise linear function; a cell is drawn with its mean absolute value, a place in it
// uniformly. The weight f / pdf is then exact, with 1 as its mean, whatever the signs.
void Filter::configure() {
    if (is_box())
        return;
    double r = radius(), width = 2 * r / Cells;
    std::vector<double> f(Cells + 1), cells(Cells), table;
    double integral = 0;
    for (int i = 0; i <= Cells; ++i)
        f[size_t(i)] = eval(-r + width * i);
    for (size_t i = 0; i < Cells; ++i) {
        cells[i] = (std::abs(f[i]) + std::abs(f[i + 1])) / 2;
        integral += (f[i] + f[i + 1]) / 2 * width;
    }
    if (!(integral > 0))
        complain("the filter's integral is {}; it must be positive", integral);
    m_cells = AliasTable(cells);
    for (size_t i = 0; i < Cells; ++i) {
        double pdf = cells[i] / m_cells.sum() / width, scale = pdf > 0 ? 1 / (integral * pdf) : 0;
        table.push_back(f[i] * scale);
        table.push_back(f[i + 1] * scale);
    }
    m_weights = float_array(table);
    table.clear();
    for (size_t i = 0; i < Cells; ++i)
        table.insert(table.end(), { f[i], f[i + 1] });
    m_profile = float_array(table);
    m_radius = opaque_float(r);
}

double Filter::mass(double a, double b) const {
    double r = radius(), part = 0, whole = 0;
    if (a <= -r && b >= r)
        return 1;
    constexpr int Steps = 4096;
    for (int i = 0; i < Steps; ++i) { // midpoints
        double x = -r + (i + 0.5) * 2 * r / Steps, f = eval(x);
        whole += f;
        if (x > a && x < b)
            part += f;
    }
    return part / whole;
}

Float Filter::profile(const Float &x) const {
    Mask inside = abs(x) <= radius();
    if (is_box())
        return select(inside, Float(1), Float(0));
    Float place = (x + m_radius) / m_radius * (Cells / 2), cell = clamp(floor(place), 0, Cells - 1);
    std::vector<Value> ends = jit::gather_packet(m_profile, to_uint(cell), 2, inside);
    return select(inside, lerp(Float(ends[0]), Float(ends[1]), place - cell), Float(0));
}

std::pair<Float, Float> Filter::sample(const Float &u) const {
    if (is_box())
        return { (u - 0.5) * (2 * radius()), Float(1) };
    auto [cell, rest] = m_cells.sample_reuse(u, true);
    std::vector<Value> ends = jit::gather_packet(m_weights, cell, 2, Mask(true));
    Float x = ((Float(cell) + rest) * (2.0 / Cells) - 1) * m_radius;
    return { x, lerp(Float(ends[0]), Float(ends[1]), rest) };
}

} // namespace umbel
