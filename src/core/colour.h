// core/colour.h: colour spaces on the host. Tables of spectra are in core/spectra.h.
//
// "sRGB" below means linear values with the primaries and the white (D65) of IEC 61966-2-1; only
// srgb_encode and srgb_decode deal with its transfer function.
#pragma once
#include <array>

namespace umbel {

using Colour3 = std::array<double, 3>;
using ColourMatrix = std::array<Colour3, 3>; // rows

/// Linear to encoded and back [IEC 61966-2-1]; negative values mirror positive ones.
double srgb_encode(double linear);
double srgb_decode(double encoded);

/// Derived from the primaries and the white (x, y) = (0.3127, 0.3290), in full precision.
const ColourMatrix &srgb_to_xyz_matrix();
const ColourMatrix &xyz_to_srgb_matrix();
Colour3 multiply(const ColourMatrix &m, const Colour3 &v);
ColourMatrix inverse(const ColourMatrix &m);
Colour3 srgb_to_xyz(const Colour3 &rgb);
Colour3 xyz_to_srgb(const Colour3 &xyz);
/// Y of a linear sRGB colour; Y of white is 1.
double luminance(const Colour3 &rgb);

Colour3 xyz_to_xyy(const Colour3 &xyz);
Colour3 xyy_to_xyz(const Colour3 &xyy);
/// XYZ of sRGB's white.
const Colour3 &white_xyz();
/// CIE 1976 L*a*b* relative to a white.
Colour3 xyz_to_lab(const Colour3 &xyz, const Colour3 &white = white_xyz());
Colour3 lab_to_xyz(const Colour3 &lab, const Colour3 &white = white_xyz());

} // namespace umbel
