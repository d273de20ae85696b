// render/height_table.cpp: see render/height_table.h.
#include "render/height_table.h"
#include "core/host_array.h"

namespace umbel {

void HeightTable::set(const Float &numbers, size_t rows, size_t columns) {
    m_rows = rows, m_columns = columns;
    m_width = uint32_t(numbers.size() / (rows * columns));
    if (rows * columns > 1) {
        m_numbers = numbers;
        jit::eval(m_numbers);
        return;
    }
    m_scalars.resize(m_width);
    for (uint32_t i = 0; i < m_width; ++i) {
        m_scalars[i] = Float(jit::gather(numbers, UInt32(i), Mask(true)));
        jit::eval(m_scalars[i]);
    }
}
void HeightTable::set(const std::vector<double> &numbers, size_t rows, size_t columns) {
    set(float_array(numbers), rows, columns);
}

std::vector<Float> HeightTable::at(const Float &row, const UInt32 &column,
                                   const Mask &active) const {
    if (!m_scalars.empty())
        return m_scalars;
    auto record = [&](const UInt32 &index) {
        std::vector<Float> out;
        for (Value &v : jit::gather_packet(m_numbers, index, m_width, active))
            out.emplace_back(std::move(v));
        return out;
    };
    if (m_rows == 1)
        return record(column);
    Float i = clamp(floor(row), 0, double(m_rows - 2)), f = row - i;
    UInt32 count{ uint32_t(m_columns) }, index = to_uint(i) * count + column;
    std::vector<Float> a = record(index), b = record(index + count);
    for (size_t k = 0; k < a.size(); ++k)
        a[k] = lerp(a[k], b[k], f);
    return a;
}

void HeightTable::expose(Params &p) {
    if (m_numbers.valid())
        p.derived(m_numbers);
    for (Float &v : m_scalars)
        p.derived(v);
}

void LightTable::set(const std::vector<Row> &rows, double first, double step) {
    m_first = first, m_step = step;
    m_count = rows[0].spectrum.size();
    std::vector<double> numbers;
    bool is_spectral = variant().colour == Colour::Spectral;
    for (const Row &r : rows)
        if (is_spectral)
            for (size_t i = 0; i + 1 < m_count; ++i)
                numbers.insert(numbers.end(), { r.spectrum[i], r.spectrum[i + 1] });
        else
            numbers.insert(numbers.end(), { r.rgb[0], r.rgb[1], r.rgb[2], luminance(r.rgb) });
    m_table.set(numbers, rows.size(), is_spectral ? m_count - 1 : 1);
}

Spectrum LightTable::eval(const Float &row, const Wavelengths &wavelengths,
                          const Mask &active) const {
    if (variant().colour == Colour::Spectral)
        return map(wavelengths, [&](const Float &l) {
            Float at = (l - m_first) * (1 / m_step),
                  cell = clamp(floor(at), 0, double(m_count - 2));
            Mask inside = (at >= 0) & (at <= double(m_count - 1));
            std::vector<Float> ends = m_table.at(row, to_uint(cell), active & inside);
            return select(inside, lerp(ends[0], ends[1], at - cell), Float(0));
        });
    std::vector<Float> c = m_table.at(row, UInt32(0u), active);
    return variant().colour == Colour::Mono ? Spectrum(c[3]) : Spectrum({ c[0], c[1], c[2] });
}

} // namespace umbel
