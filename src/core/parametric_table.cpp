// core/parametric_table.cpp: see core/parametric_table.h.
#include "core/parametric_table.h"
#include "core/distribution_tools.h"

namespace umbel {

ParametricTable::ParametricTable(std::vector<std::vector<double>> axes) {
    for (size_t i = axes.size(); i-- > 0;) {
        m_axes.push_back(
            { axes[i].size(), m_count, axes[i].size() > 1 ? float_array(axes[i]) : Float() });
        m_count *= axes[i].size();
    }
    std::reverse(m_axes.begin(), m_axes.end());
}

ParametricTable::Place ParametricTable::locate(std::span<const Float> parameters,
                                               const Mask &active) const {
    check_eq(parameters.size(), m_axes.size());
    Place place{ UInt32(0u), {} };
    for (size_t k = 0; k < m_axes.size(); ++k) {
        const Axis &a = m_axes[k];
        if (a.size == 1) {
            place.t.push_back(Float(0));
            continue;
        }
        const Float &v = parameters[k];
        UInt32 i = count_leading(
            a.size - 2,
            [&](const UInt32 &j, const Mask &m) { return umbel::fetch(a.values, j + 1u, m) <= v; },
            active);
        Float low = umbel::fetch(a.values, i, active),
              high = umbel::fetch(a.values, i + 1u, active);
        place.first = place.first + i * UInt32(uint32_t(a.stride));
        place.t.push_back(clamp((v - low) / (high - low), 0, 1));
    }
    return place;
}

Float ParametricTable::fetch(const Float &data, size_t size, const Place &place,
                             const UInt32 &index, const Mask &active) const {
    UInt32 first = place.first * UInt32(uint32_t(size)) + index;
    // Along the last axis first, then along the one before, and so on
    auto mixed = [&](const auto &self, size_t axis, uint32_t offset) -> Float {
        if (axis == m_axes.size())
            return umbel::fetch(data, first + UInt32(offset), active);
        if (m_axes[axis].size == 1)
            return self(self, axis + 1, offset);
        Float a = self(self, axis + 1, offset),
              b = self(self, axis + 1, offset + uint32_t(m_axes[axis].stride * size));
        return fma(b, place.t[axis], a * (1 - place.t[axis]));
    };
    return mixed(mixed, 0, 0);
}

ParametricGrid2D::ParametricGrid2D(std::span<const double> values, size_t width, size_t height,
                                   std::vector<std::vector<double>> axes, bool is_density,
                                   bool keep_scale)
    : m_tables(std::move(axes)), m_width(width), m_height(height), m_keeps_scale(keep_scale) {
    size_t size = width * height;
    if (width < 2 || height < 2 || values.size() != size * m_tables.count())
        fail("a table of {} x {} values, {} times, has {}; sides must be at least 2", width, height,
             m_tables.count(), values.size());
    if (values.size() > 0x3fffffff)
        fail("a table of {} values; up to 2^30 are possible", values.size());
    if (!is_density) {
        m_values = float_array(values);
        return;
    }
    std::vector<double> scaled(values.begin(), values.end()), columns(values.size()), rows;
    double dx = 1 / double(width - 1), dy = 1 / double(height - 1);
    for (size_t k = 0; k < m_tables.count(); ++k) {
        double *v = scaled.data() + k * size, *c = columns.data() + k * size;
        check_weights({ v, size }, "2D distribution");
        double sum = 0;
        size_t first_row = rows.size();
        for (size_t y = 0; y < height; ++y) {
            for (size_t x = 1; x < width; ++x)
                c[y * width + x] =
                    c[y * width + x - 1] + 0.5 * dx * (v[y * width + x - 1] + v[y * width + x]);
            if (y > 0)
                sum += 0.5 * dy * (c[y * width - 1] + c[(y + 1) * width - 1]);
            rows.push_back(sum);
        }
        if (keep_scale)
            continue;
        for (size_t i = 0; i < size; ++i) {
            v[i] /= sum;
            c[i] /= sum;
        }
        for (size_t i = first_row; i < rows.size(); ++i)
            rows[i] /= sum;
    }
    m_values = float_array(scaled);
    m_columns = float_array(columns);
    m_rows = float_array(rows);
}

/// The cell of a point, and where in it the point is.
struct ParametricGrid2D::Cell {
    UInt32 x, y;
    Float s, t;
};

ParametricGrid2D::Cell ParametricGrid2D::cell(const Vector2 &p) const {
    Float x = clamp(p.x, 0, 1) * double(m_width - 1), y = clamp(p.y, 0, 1) * double(m_height - 1);
    UInt32 i = min(to_uint(x), UInt32(uint32_t(m_width - 2))),
           j = min(to_uint(y), UInt32(uint32_t(m_height - 2)));
    return { i, j, x - Float(i), y - Float(j) };
}

Float ParametricGrid2D::eval(const Vector2 &p, std::span<const Float> parameters,
                             const Mask &active) const {
    ParametricTable::Place place = m_tables.locate(parameters, active);
    Cell c = cell(p);
    auto width = uint32_t(m_width);
    UInt32 at = c.y * UInt32(width) + c.x;
    auto value = [&](uint32_t offset) {
        return m_tables.fetch(m_values, m_width * m_height, place, at + UInt32(offset), active);
    };
    return lerp(lerp(value(0), value(1), c.s), lerp(value(width), value(width + 1), c.s), c.t);
}

ParametricGrid2D::Sample ParametricGrid2D::sample(const Vector2 &u,
                                                  std::span<const Float> parameters,
                                                  const Mask &active) const {
    ParametricTable::Place place = m_tables.locate(parameters, active);
    auto width = uint32_t(m_width);
    size_t size = m_width * m_height;
    auto rows = [&](const UInt32 &j, const Mask &m) {
        return m_tables.fetch(m_rows, m_height, place, j, m);
    };
    // The row, between two of the table's
    Float target_y = below_one(u.y);
    if (m_keeps_scale)
        target_y = target_y * rows(UInt32(uint32_t(m_height - 1)), active);
    UInt32 j = count_leading(
        m_height - 2, [&](const UInt32 &k, const Mask &m) { return rows(k + 1u, m) <= target_y; },
        active);
    UInt32 row = j * UInt32(width);
    auto whole = [&](uint32_t at) {
        return m_tables.fetch(m_columns, size, place, row + UInt32(at), active);
    };
    Float r0 = whole(width - 1), r1 = whole(2 * width - 1);
    Float t = sample_linear(r0, r1, (target_y - rows(j, active)) * double(m_height - 1));

    // The position in it
    auto mixed = [&](const Float &table, const UInt32 &i, const Mask &m) {
        return lerp(m_tables.fetch(table, size, place, row + i, m),
                    m_tables.fetch(table, size, place, row + i + UInt32(width), m), t);
    };
    Float target_x = below_one(u.x) * lerp(r0, r1, t);
    UInt32 i = count_leading(
        m_width - 2,
        [&](const UInt32 &k, const Mask &m) { return mixed(m_columns, k + 1u, m) <= target_x; },
        active);
    Float f0 = mixed(m_values, i, active), f1 = mixed(m_values, i + 1u, active);
    Float s = sample_linear(f0, f1, (target_x - mixed(m_columns, i, active)) * double(m_width - 1));
    return { { (Float(i) + s) * (1 / double(m_width - 1)),
               (Float(j) + t) * (1 / double(m_height - 1)) },
             lerp(f0, f1, s) };
}

ParametricGrid2D::Sample ParametricGrid2D::invert(const Vector2 &p,
                                                  std::span<const Float> parameters,
                                                  const Mask &active) const {
    ParametricTable::Place place = m_tables.locate(parameters, active);
    Cell c = cell(p);
    auto width = uint32_t(m_width);
    size_t size = m_width * m_height;
    UInt32 row = c.y * UInt32(width);
    auto at = [&](const Float &table, const UInt32 &i) {
        return m_tables.fetch(table, size, place, row + i, active);
    };
    auto mixed = [&](const Float &table, const UInt32 &i) {
        return lerp(at(table, i), at(table, i + UInt32(width)), c.t);
    };
    Float f0 = mixed(m_values, c.x), f1 = mixed(m_values, c.x + 1u);
    Float r0 = at(m_columns, UInt32(width - 1)), r1 = at(m_columns, UInt32(2 * width - 1));
    // Integrals up to the point
    Float x =
        mixed(m_columns, c.x) + c.s * (f0 + 0.5 * c.s * (f1 - f0)) * (1 / double(m_width - 1));
    Float y = m_tables.fetch(m_rows, m_height, place, c.y, active) +
              c.t * (r0 + 0.5 * c.t * (r1 - r0)) * (1 / double(m_height - 1));
    if (m_keeps_scale)
        y = y / m_tables.fetch(m_rows, m_height, place, UInt32(uint32_t(m_height - 1)), active);
    Float whole = lerp(r0, r1, c.t);
    return { { select(whole > 0, x / whole, Float(0)), y }, lerp(f0, f1, c.s) };
}

} // namespace umbel
