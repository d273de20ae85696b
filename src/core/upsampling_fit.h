// core/upsampling_fit.h: smooth reflectance spectra for RGB colours, found by optimization [Jakob 2019].
//
//     S(l) = 1/2 + x / (2 sqrt(1 + x^2)),   x = c[0] l^2 + c[1] l + c[2],   l in [-1, 1] for 360 .. 830 nm
//
// Used by the program that makes the table in the build, for the few colours that a scene names, and by tests. Textures read the
// table: core/upsampling.h.
#pragma once
#include "core/colour.h"
#include <cstddef>

namespace umbel {

/// Cells a side of the table, and coefficients in all of it: [largest component][its value][y][x][3].
constexpr size_t UpsamplingResolution = 64;
constexpr size_t UpsamplingSize =
    3 * UpsamplingResolution * UpsamplingResolution * UpsamplingResolution * 3;

/// Where the table has the values of the largest component: denser near 0 and 1, where spectra change fast.
double upsampling_grid(size_t i);

/// Coefficients whose spectrum, under D65, is nearest to a linear sRGB colour in CIE Lab. Starts from
/// `start`; the result's error is in units of Lab's axes.
struct UpsamplingFit {
    Colour3 coefficients;
    double error;
};
UpsamplingFit fit_upsampling(const Colour3 &rgb, const Colour3 &start = {});
/// How coefficients follow a colour around which the fit is exact: row by row, coefficients by components. Not finite where
/// colours hardly depend on the coefficients.
ColourMatrix coefficients_by_rgb(const Colour3 &coefficients);

/// Fills the part of the table that belongs to one largest component and one y.
void fill_upsampling_row(size_t largest, size_t y, float *table);

} // namespace umbel
