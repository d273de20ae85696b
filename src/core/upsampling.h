// core/upsampling.h: spectra for RGB colours [Jakob 2019].
//
// A reflectance needs three coefficients, found with a table that the build computes (see
// core/upsampling_fit.h for the model). Colours beyond 1, such as emission, are scaled into range first.
#pragma once
#include "core/colour.h"
#include "core/vector.h"

namespace umbel {

/// Coefficients of a smooth spectrum with values in [0, 1] whose colour under D65 is the linear sRGB colour
/// `rgb`, clamped to [0, 1]. For the colours that a scene names: refines what the table has, in microseconds.
Colour3 rgb_to_coefficients(const Colour3 &rgb);
/// As interpolated in the table, for the many texels of a texture: some 20 times as fast, off by up to 0.004.
Colour3 table_coefficients(const Colour3 &rgb);
/// The same in recorded code, differentiable.
Vector3 table_coefficients(const Vector3 &rgb);
/// The spectrum at a wavelength in nm.
double eval_coefficients(const Colour3 &c, double wavelength);
Float eval_coefficients(const Vector3 &c, const Float &wavelength);
/// Its mean over all wavelengths that are considered.
Float mean_of_coefficients(const Vector3 &c);

/// A colour without an upper bound: `scale` times a spectrum that stays at or below 1/2, where the model is
/// at its best. An emitter multiplies it by d65() of core/spectra.h.
struct UnboundedCoefficients {
    Colour3 c;
    double scale;
};
UnboundedCoefficients rgb_to_unbounded(const Colour3 &rgb);

} // namespace umbel
