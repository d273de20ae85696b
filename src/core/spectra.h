// core/spectra.h: tables of spectra, integrals over them, and their evaluation in traced code.
//
// Wavelengths are in nm. Renderings consider 360 to 830 nm, the range of CIE's tables.
#pragma once
#include "core/cie_data.h"
#include "core/colour.h"
#include "core/vector.h"
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace umbel {

/// Integral of CIE's y over all wavelengths, in nm: what turns integrals into averages.
double cie_y_integral();
/// Colour matching functions over that integral: a spectrum that is 1 everywhere has Y = 1. Linear between
/// the table's entries, 0 outside.
Colour3 cie1931_xyz(double wavelength);
Vector3 cie1931_xyz(const Float &wavelength);
/// CIE's illuminant D65, scaled such that its Y is 1.
double d65(double wavelength);
Float d65(const Float &wavelength);
/// XYZ of D65, from the tables; differs from sRGB's nominal white by some 0.0002 in Z.
const Colour3 &d65_xyz();
/// XYZ of a spectrum, by four points of Gauss-Legendre quadrature in each interval of the tables.
Colour3 spectrum_to_xyz(const std::function<double(double)> &spectrum);

/// Linear sRGB colour of a reflectance under D65; what reflects all wavelengths alike is grey, exactly.
Colour3 reflectance_to_srgb(const std::function<double(double)> &reflectance);

/// Spectral radiance of a black body in W / (m^2 sr nm), temperature in K [Planck].
double blackbody(double wavelength, double temperature);
Float blackbody(const Float &wavelength, const Float &temperature);

/// Wavelengths with a density near to CIE's y [Radziszewski 2009], limited to 360 .. 830 nm.
Float sample_wavelength(const Float &u);
Float sample_wavelength_pdf(const Float &wavelength);

/// Index of refraction of a dielectric by name ("bk7", "water", ...), at standard conditions.
double dielectric_ior(std::string_view name);
std::vector<std::string> dielectric_names();

struct ConductorSample {
    double wavelength, eta, k;
};
struct ConductorData {
    const char *name, *alias;      // alias: "" where there is none
    const char *material, *source; // source: the compilation, "" where unknown
    std::vector<ConductorSample> samples;

    /// Linear in between, the last value beyond the ends.
    ConductorSample at(double wavelength) const;
};
extern const ConductorData Conductors[];
extern const size_t ConductorCount;
/// A preset by name, such as "Cu"; a UserError suggests the nearest.
const ConductorData &conductor_preset(std::string_view name);
std::vector<std::string> conductor_names();

} // namespace umbel
