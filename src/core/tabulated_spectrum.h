// core/tabulated_spectrum.h: spectra given by values at some wavelengths, linear in between and zero beyond.
#pragma once
#include "core/colour.h"
#include "core/params.h"
#include <span>

namespace umbel {

class TabulatedSpectrum {
public:
    TabulatedSpectrum() = default;
    /// Wavelengths in nm, increasing; at least two.
    TabulatedSpectrum(std::span<const double> wavelengths, std::span<const double> values);

    double eval(double wavelength) const;
    Spectrum eval(const Wavelengths &w, const Mask &active) const;
    /// Shows the values as a parameter, and the wavelengths, if these have a name.
    void expose(Params &p, const char *values, const char *wavelengths = nullptr);
    /// After the values were changed.
    void update();
    /// After the wavelengths were, and perhaps the values. UserError, with the wavelengths as they were, if they will not do.
    void update_wavelengths();
    /// As many as there are; the same holds.
    void set_wavelengths(std::vector<double> wavelengths);
    /// Linear sRGB: of the light itself, or of a surface of this reflectance under D65.
    Colour3 emission_rgb() const;
    Colour3 reflectance_rgb() const;
    const std::vector<double> &wavelengths() const { return m_wavelengths; }
    /// As they are now.
    std::vector<double> values() const;

private:
    void make_grid();
    std::vector<double> cell_ends() const;

    std::vector<double> m_wavelengths, m_values;
    double m_width = 0;
    size_t m_cell_count = 0;
    // For recorded code: cells of equal width, each with the values at its ends. The width divides all distances between
    // wavelengths where there is such a number; else it is half a nanometre, and corners are cut by as much.
    Float m_cells, m_first, m_last, m_inv_width, m_count;
    Float m_table; // the values, as given
    Value m_nodes; // the wavelengths, where scripts hold them
};

} // namespace umbel
