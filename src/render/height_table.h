// render/height_table.h: numbers and light that depend on how high the sun is.
#pragma once
#include "core/colour.h"
#include "core/params.h"
#include "core/spectrum.h"

namespace umbel {

/// Records of numbers: a row for each of some heights of the sun, in it one for each of some columns; linear between rows. The
/// record of a table that has no other is the same for all lanes, and nothing is looked up.
class HeightTable {
public:
    /// Row by row, column by column; may carry derivatives.
    void set(const Float &numbers, size_t rows, size_t columns);
    void set(const std::vector<double> &numbers, size_t rows, size_t columns);
    /// One record; rows are numbered from 0 on, with fractions.
    std::vector<Float> at(const Float &row, const UInt32 &column, const Mask &active) const;
    /// While a scene's parameters are collected: what carries their derivatives.
    void expose(Params &p);

private:
    size_t m_rows = 0, m_columns = 0;
    uint32_t m_width = 0;         // of a record
    Float m_numbers;              // of several records
    std::vector<Float> m_scalars; // of a single one
};

/// Light for each of some heights of the sun: as spectra in spectral variants, else as colours.
class LightTable {
public:
    struct Row {
        std::vector<double> spectrum;
        Colour3 rgb;
    };
    /// Values of spectra are `step` nm apart, from `first` on; they are linear in between, and 0 beyond.
    void set(const std::vector<Row> &rows, double first, double step);
    Spectrum eval(const Float &row, const Wavelengths &wavelengths, const Mask &active) const;

private:
    HeightTable m_table;
    double m_first = 0, m_step = 1;
    size_t m_count = 0;
};

} // namespace umbel
