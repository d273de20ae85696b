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

FilterAxis::FilterAxis(const Filter &filter, int size, bool ends)
    : m_filter(&filter), m_size(size), m_is_box(filter.is_box()) {
    double r = filter.radius();
    std::map<Interval, uint32_t> numbers;
    std::vector<double> intervals, cells;
    std::vector<uint32_t> of_pixel;
    auto number_of = [&](const Interval &i) {
        auto [it, fresh] = numbers.emplace(i, uint32_t(numbers.size()));
        if (fresh) {
            auto [integral, scale] =
                m_is_box ? std::pair(i.to - i.from, 1.0) : tabulate(filter, i, cells);
            intervals.insert(intervals.end(),
                             { (i.to - i.from) / 2, (i.to + i.from) / 2, scale, integral });
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
    if (!m_is_box)
        m_cells = float_array(cells);
}

// Where in [0, 1] a fraction `u` of the integral of a linear function from `a` to `b` is reached; neither is negative.
template <class T> static T sample_linear(const T &a, const T &b, const T &u) {
    using std::sqrt;
    return u * (a + b) / (a + sqrt(a * a + u * (b * b - a * a)));
}

// Cells of equal integrals of the absolute value: so larger numbers are drawn further to the right, and points that
// cover the unit interval evenly cover the filter evenly. In a cell the density is linear; the weight is the value's sign, but
// where a cell has both.
std::pair<double, double> FilterAxis::tabulate(const Filter &filter, const Interval &interval,
                                               std::vector<double> &cells) {
    constexpr uint32_t Steps = 2 * Cells;
    double width = (interval.to - interval.from) / Steps;
    std::vector<double> values, sums{ 0 }; // at the ends of the steps; of absolute values
    double integral = 0;
    for (uint32_t i = 0; i <= Steps; ++i) {
        values.push_back(filter.eval(interval.from + width * i));
        if (i == 0)
            continue;
        integral += (values[i - 1] + values[i]) / 2 * width;
        sums.push_back(sums.back() + (std::abs(values[i - 1]) + std::abs(values[i])) / 2 * width);
    }
    if (!(integral > 0))
        filter.complain("the filter's integral is {}; it must be positive", integral);

    double mean_weight = 0;
    double x = interval.from, value = values[0];
    for (uint32_t i = 1, step = 0; i <= Cells; ++i) {
        double sum = sums.back() * i / Cells;
        while (step + 1 < Steps && sums[step + 1] < sum)
            ++step;
        double a = std::abs(values[step]), b = std::abs(values[step + 1]);
        double part = std::clamp((sum - sums[step]) / (sums[step + 1] - sums[step]), 0.0, 1.0);
        double next_x = interval.from + width * (step + sample_linear(a, b, part));
        double next_value = filter.eval(next_x), absolute = std::abs(value) + std::abs(next_value);
        cells.insert(cells.end(), { x, next_x - x, value, next_value });
        mean_weight += absolute > 0 ? (value + next_value) / absolute / Cells : 0;
        x = next_x, value = next_value;
    }
    return { integral, 1 / mean_weight };
}

std::pair<Float, Float> FilterAxis::sample(const Float &u, const UInt32 &pixel,
                                           const Mask &active) const {
    UInt32 number = interval_of(pixel, active);
    std::vector<Value> interval = jit::gather_packet(m_intervals, number, 4, active);
    if (m_is_box) {
        Float x = (2 * u - 1) * Float(interval[0]);
        return { m_interval_of.valid() ? x + Float(interval[1]) : x, Float(1) };
    }
    Float place = u * double(Cells), first = floor(place), rest = place - first; // u is less than 1
    std::vector<Value> cell =
        jit::gather_packet(m_cells, to_uint(first) + number * UInt32(uint32_t{ Cells }), 4, active);
    Float a(cell[2]), b(cell[3]), from = abs(a), to = abs(b);
    Float in_cell = sample_linear(from, to, rest), absolute = lerp(from, to, in_cell);
    Mask good = absolute > 0; // both ends may be zero
    in_cell = select(good, in_cell, rest);
    return { fma(in_cell, Float(cell[1]), Float(cell[0])),
             select(good, Float(interval[2]) * (lerp(a, b, in_cell) / absolute), Float(0)) };
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
