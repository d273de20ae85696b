// render/filter.cpp: profiles of reconstruction filters, and offsets drawn from them.
#include "render/filter.h"
#include "core/host_array.h"
#include <algorithm>
#include <cmath>
#include <map>

namespace umbel {

void Filter::configure() {
    ++m_revision;
    if (is_box())
        return;
    double r = radius(), width = 2 * r / Cells;
    std::vector<double> table;
    for (int i = 0; i < Cells; ++i)
        table.insert(table.end(), { eval(-r + width * i), eval(-r + width * (i + 1)) });
    m_profile = float_array(table);
    m_radius = opaque_float(r);
    FilterAxis(*this, 1, false); // complains about what cannot be drawn from
}

int Filter::border_size() const {
    // Radii that are computed may be too large by some rounding
    return std::max(0, int(std::ceil(radius() - 0.5 - 2e-5)));
}

Float Filter::profile(const Float &x) const {
    Mask inside = abs(x) <= radius();
    if (is_box())
        return select(inside, Float(1), Float(0));
    Float place = (x + m_radius) / m_radius * (Cells / 2), cell = clamp(floor(place), 0, Cells - 1);
    std::vector<Value> ends = jit::gather_packet(m_profile, to_uint(cell), 2, inside);
    return select(inside, lerp(Float(ends[0]), Float(ends[1]), place - cell), Float(0));
}

struct FilterAxis::Interval {
    double from, to;
    auto operator<=>(const Interval &) const = default;
};
struct FilterAxis::Integrals {
    double plain, absolute;
};

FilterAxis::FilterAxis(const Filter &filter, int size, bool ends)
    : m_filter(&filter), m_size(size), m_is_box(filter.is_box()) {
    double r = filter.radius();
    std::map<Interval, uint32_t> numbers;
    std::vector<double> intervals, cells, cell_ends;
    std::vector<uint32_t> of_pixel;
    auto number_of = [&](const Interval &i) {
        auto [it, fresh] = numbers.emplace(i, uint32_t(numbers.size()));
        if (fresh) {
            Integrals sums = m_is_box ? Integrals{ i.to - i.from, i.to - i.from }
                                      : tabulate(filter, i, cells, cell_ends);
            intervals.insert(intervals.end(), { (i.to - i.from) / 2, (i.to + i.from) / 2,
                                                sums.absolute / sums.plain, sums.plain });
        }
        return it->second;
    };
    if (ends)
        for (int i = 0; i < size; ++i)
            of_pixel.push_back(number_of({ std::max(-r, -i - 0.5), std::min(r, size - i - 0.5) }));
    else
        number_of({ -r, r });
    m_intervals = float_array(intervals);
    if (numbers.size() > 1)
        m_interval_of = jit::copy(of_pixel);
    if (m_is_box)
        return;
    m_cells = AliasTable(cells, Cells);
    m_ends = float_array(cell_ends);
}

// The profile as a piecewise linear function. A cell is drawn with the mean of its absolute values, a place in it with a
// density that is linear in between: so the weight is f / |f| times the ratio of their integrals, and 1 for a filter
// without negative lobes.
FilterAxis::Integrals FilterAxis::tabulate(const Filter &filter, const Interval &interval,
                                           std::vector<double> &cells, std::vector<double> &ends) {
    double width = (interval.to - interval.from) / Cells, sum = 0, sum_absolute = 0;
    for (uint32_t i = 0; i < Cells; ++i) {
        double a = filter.eval(interval.from + width * i),
               b = filter.eval(interval.from + width * (i + 1));
        ends.insert(ends.end(), { a, b });
        cells.push_back((std::abs(a) + std::abs(b)) / 2);
        sum += (a + b) / 2;
        sum_absolute += cells.back();
    }
    if (!(sum > 0))
        filter.complain("the filter's integral is {}; it must be positive", sum * width);
    return { sum * width, sum_absolute * width };
}

std::pair<Float, Float> FilterAxis::sample(const Float &u, const UInt32 &pixel,
                                           const Mask &active) const {
    bool is_one = !m_interval_of.valid();
    UInt32 number = interval_of(pixel, active);
    std::vector<Value> interval = jit::gather_packet(m_intervals, number, 4, active);
    Float half(interval[0]), middle(interval[1]), scale(interval[2]);
    auto place = [&](const Float &x) { return is_one ? x * half : x * half + middle; };
    if (m_is_box)
        return { place(2 * u - 1), Float(1) };
    auto [cell, rest] = m_cells.sample_reuse(u, active, number);
    std::vector<Value> ends =
        jit::gather_packet(m_ends, cell + number * UInt32(uint32_t{ Cells }), 2, active);
    Float a(ends[0]), b(ends[1]), from = abs(a), to = abs(b);
    Float in_cell = rest * (from + to) / (from + sqrt(lerp(sqr(from), sqr(to), rest)));
    Float absolute = lerp(from, to, in_cell);
    Mask good = absolute > 0; // both ends may be zero; rounding alone draws such a cell
    in_cell = select(good, in_cell, rest);
    return { place((Float(cell) + in_cell) * (2.0 / Cells) - 1),
             select(good, scale * (lerp(a, b, in_cell) / absolute), Float(0)) };
}

// A pixel's value is the integral of filter times image over that of the filter, as far as the image goes. So a place
// gives each pixel in reach the filter's value there over that integral; one of them is drawn in proportion.
std::pair<UInt32, Float> FilterAxis::choose_pixel(const Float &place, const Float &u,
                                                  const Mask &active) const {
    int reach = m_filter->border_size();
    Float first = floor(place), size = opaque_float(m_size);
    std::vector<Float> values;
    Float sum(0);
    for (int k = -reach; k <= reach; ++k) {
        Float pixel = first + k, value = m_filter->profile(pixel + 0.5 - place);
        values.push_back(select((pixel >= 0) & (pixel < size), value, Float(0)));
        sum += abs(values.back());
    }
    Float left = u * sum, pixel = first, value = values[size_t(reach)];
    Mask open = active;
    for (int k = -reach; k <= reach; ++k) { // the first at which nothing is left
        const Float &v = values[size_t(k + reach)];
        left -= abs(v);
        Mask here = open & (left < 0);
        pixel = select(here, first + k, pixel);
        value = select(here, v, value);
        open = open & !here;
    }
    UInt32 number = to_uint(clamp(pixel, 0, size - 1));
    std::vector<Value> interval =
        jit::gather_packet(m_intervals, interval_of(number, active), 4, active);
    return { number, select(value < 0, -sum, sum) / Float(interval[3]) };
}

} // namespace umbel
