// core/parametric_table.h: tables that depend on parameters: one for each combination of values of these, and a mixture in between.
#pragma once
#include "core/vector.h"
#include <span>
#include <vector>

namespace umbel {

/// Tables of equal size, multilinear in parameters; beyond the first and the last value of one nothing changes any more.
class ParametricTable {
public:
    ParametricTable() = default;
    /// Increasing values of each parameter; the last one varies fastest.
    explicit ParametricTable(std::vector<std::vector<double>> axes);

    /// How many tables there are.
    size_t count() const { return m_count; }
    /// Which ones count for a combination of parameters, and how much.
    struct Place {
        UInt32 first;
        std::vector<Float> t; // of each parameter, between two values
    };
    Place locate(std::span<const Float> parameters, const Mask &active) const;
    /// Entry `index` of tables of `size` numbers, one after the other.
    Float fetch(const Float &data, size_t size, const Place &place, const UInt32 &index,
                const Mask &active) const;

private:
    struct Axis {
        size_t size, stride;
        Float values; // of those with more than one
    };
    std::vector<Axis> m_axes;
    size_t m_count = 1;
};

/// Functions of the unit square, bilinear between values on a grid that includes its edges, x first.
class ParametricGrid2D {
public:
    ParametricGrid2D() = default;
    /// With `is_density`, they can be sampled, and each of them is scaled to integrate to 1, unless `keep_scale`: then mixtures
    /// weigh them by it, and densities are those of the values as they are. UserError where one is negative or zero.
    ParametricGrid2D(std::span<const double> values, size_t width, size_t height,
                     std::vector<std::vector<double>> axes, bool is_density,
                     bool keep_scale = false);

    Float eval(const Vector2 &p, std::span<const Float> parameters, const Mask &active) const;
    struct Sample {
        Vector2 p;
        Float pdf;
    };
    /// Row by row [Dupuy 2018]: continuous in u and in the parameters.
    Sample sample(const Vector2 &u, std::span<const Float> parameters, const Mask &active) const;
    /// The numbers for which sample() gives p, and its density there.
    Sample invert(const Vector2 &p, std::span<const Float> parameters, const Mask &active) const;

private:
    struct Cell;
    Cell cell(const Vector2 &p) const;

    ParametricTable m_tables;
    size_t m_width = 0, m_height = 0;
    bool m_keeps_scale = false;
    Float m_values;
    Float m_rows, m_columns; // integrals: of rows from y = 0 on, and within a row from x = 0 on
};

} // namespace umbel
