// core/tabulated_spectrum.cpp: evaluating tables of spectra.
#include "core/tabulated_spectrum.h"
#include "core/host_array.h"
#include "core/spectra.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace umbel {

namespace {
constexpr double MostNanometres = 1e6; // far infrared: tables beyond would be large for nothing

void check_wavelengths(std::span<const double> wavelengths, size_t values) {
    if (wavelengths.size() != values || values < 2)
        fail("a tabulated spectrum has {} wavelengths and {} values; it needs as many of each, and "
             "two at least",
             wavelengths.size(), values);
    for (size_t i = 0; i < values; ++i) {
        if (!std::isfinite(wavelengths[i]))
            fail("a tabulated spectrum holds something that is not a number");
        if (wavelengths[i] < 0 || wavelengths[i] > MostNanometres)
            fail("a tabulated spectrum has a value at {} nm; it must be between 0 and {}",
                 wavelengths[i], MostNanometres);
        if (i && wavelengths[i] <= wavelengths[i - 1])
            fail("the wavelengths of a tabulated spectrum must increase, and {} follows {}",
                 wavelengths[i], wavelengths[i - 1]);
    }
}
} // namespace

TabulatedSpectrum::TabulatedSpectrum(std::span<const double> wavelengths,
                                     std::span<const double> values)
    : m_wavelengths(wavelengths.begin(), wavelengths.end()),
      m_values(values.begin(), values.end()) {
    check_wavelengths(m_wavelengths, m_values.size());
    for (double v : m_values)
        if (!std::isfinite(v))
            fail("a tabulated spectrum holds something that is not a number");
    if (variant().colour != Colour::Spectral)
        return;
    make_grid();
    std::vector<double> table;
    for (double end : cell_ends())
        table.push_back(eval(end));
    m_cells = float_array(table);
    m_table = float_array(m_values);
}

double TabulatedSpectrum::eval(double w) const {
    if (!(w >= m_wavelengths.front() && w <= m_wavelengths.back()))
        return 0;
    size_t i = size_t(std::upper_bound(m_wavelengths.begin(), m_wavelengths.end(), w) -
                      m_wavelengths.begin());
    i = std::clamp<size_t>(i, 1, m_wavelengths.size() - 1);
    double t = (w - m_wavelengths[i - 1]) / (m_wavelengths[i] - m_wavelengths[i - 1]);
    return std::lerp(m_values[i - 1], m_values[i], t);
}

void TabulatedSpectrum::make_grid() {
    // The largest common divisor of all distances, in steps of a hundredth of a nanometre
    int64_t width = 0;
    bool exact = true;
    for (size_t i = 1; i < m_wavelengths.size(); ++i) {
        double d = (m_wavelengths[i] - m_wavelengths[i - 1]) * 100;
        exact &= std::abs(d - std::round(d)) < 1e-6;
        width = std::gcd(width, int64_t(std::round(d)));
    }
    double range = m_wavelengths.back() - m_wavelengths.front(), w = double(width) / 100;
    if (!exact || width == 0 || range / w > 10000)
        w = range / std::ceil(range / 0.5);
    size_t cells = size_t(std::round(range / w));
    m_width = w;
    m_cell_count = cells;
    m_first = opaque_float(m_wavelengths.front());
    m_last = opaque_float(m_wavelengths.back());
    m_inv_width = opaque_float(1 / w);
    m_count = opaque_float(double(cells) - 1);
}

std::vector<double> TabulatedSpectrum::cell_ends() const {
    std::vector<double> out;
    for (size_t i = 0; i < m_cell_count; ++i)
        for (size_t end : { i, i + 1 })
            out.push_back(
                std::min(m_wavelengths.front() + double(end) * m_width, m_wavelengths.back()));
    return out;
}

void TabulatedSpectrum::expose(Params &p, const char *values, const char *wavelengths) {
    if (!p.traversing() || !m_table.valid())
        return;
    if (wavelengths)
        p.exposed(wavelengths, BufferSlot{ &m_nodes, &m_wavelengths });
    p.exposed(values, &m_table).differentiable();
    p.derived(m_cells);
}

// Each end of a cell lies between two of the values.
void TabulatedSpectrum::update() {
    if (m_table.size() != m_values.size())
        fail("a tabulated spectrum of {} values cannot become one of {}", m_values.size(),
             m_table.size());
    std::vector<uint32_t> left;
    std::vector<double> weight;
    for (double w : cell_ends()) {
        size_t i = size_t(std::upper_bound(m_wavelengths.begin(), m_wavelengths.end(), w) -
                          m_wavelengths.begin());
        i = std::clamp<size_t>(i, 1, m_wavelengths.size() - 1) - 1;
        left.push_back(uint32_t(i));
        weight.push_back((w - m_wavelengths[i]) / (m_wavelengths[i + 1] - m_wavelengths[i]));
    }
    UInt32 at = jit::copy(left);
    Float a(jit::gather(m_table, at, Mask(true))), b(jit::gather(m_table, at + 1u, Mask(true)));
    m_cells = lerp(a, b, float_array(weight));
    jit::eval(m_cells);
}

void TabulatedSpectrum::update_wavelengths() {
    Value nodes = m_nodes;
    if (!nodes.valid()) // nobody has seen them
        return update();
    m_nodes = {}; // what counts, again
    set_wavelengths(read_floats(Float(nodes.detached())));
    m_nodes = nodes;
}

void TabulatedSpectrum::set_wavelengths(std::vector<double> wavelengths) {
    check_wavelengths(wavelengths, m_values.size());
    m_wavelengths = std::move(wavelengths);
    m_nodes = {};
    make_grid();
    update();
}

Spectrum TabulatedSpectrum::eval(const Wavelengths &wavelengths, const Mask &active) const {
    return map(wavelengths, [&](const Float &w) {
        Mask inside = (w >= m_first) & (w <= m_last);
        Float x = (w - m_first) * m_inv_width, cell = clamp(floor(x), 0, m_count);
        std::vector<Value> ends = jit::gather_packet(m_cells, to_uint(cell), 2, active & inside);
        return select(inside, lerp(Float(ends[0]), Float(ends[1]), x - cell), Float(0));
    });
}

std::vector<double> TabulatedSpectrum::values() const {
    return m_table.valid() ? read_floats(Float(m_table.detached())) : m_values;
}

Colour3 TabulatedSpectrum::emission_rgb() const {
    return xyz_to_srgb(spectrum_to_xyz([&](double w) { return eval(w); }));
}

Colour3 TabulatedSpectrum::reflectance_rgb() const {
    return reflectance_to_srgb([&](double w) { return eval(w); });
}

} // namespace umbel
