// core/hosek_wilkie.h: the sky [Hosek 2012] and the sun [Hosek 2013] of a clear day, as functions fitted to simulations of the air.
//
// Radiance is in W / (m^2 sr nm). Tables go by the turbidity, 1 to 10; the sky's then by the ground's albedo, 0 and 1; numbers
// are linear in both. The height of the sun is measured by the cube root of its part of a quarter turn: 0 at the horizon, 1 at
// the zenith. The sky's numbers follow a Bezier curve of degree 5 over it, the sun's radiance 45 cubics.
#pragma once
#include "core/colour.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace umbel {

/// Spectra have values at 320, 360, ..., 720 nm.
constexpr size_t HosekWavelengths = 11, HosekSegments = 45;
constexpr double HosekFirst = 320, HosekStep = 40;

/// By turbidity, albedo, point of the curve and channel. Colours are integrals over wavelengths, not averages.
extern const float HosekSkyRgb[10][2][6][3][10], HosekSkySpectral[10][2][6][11][10];
/// By turbidity, wavelength and segment: the cubic's coefficients, that of power 0 first, over the segment.
extern const float HosekSun[10][11][45][4];
/// How the disk darkens towards its limb: by powers of the cosine between the sun's surface and the direction of sight.
extern const float HosekLimb[11][6];

double hosek_height(double sun_zenith);
double hosek_zenith(double height);

/// a to i of the formula below, and r.
using HosekNumbers = std::array<double, 10>;
/// Of red, green and blue, over the integral of CIE's y; or of a wavelength's number.
HosekNumbers hosek_sky_rgb(size_t channel, double height, double turbidity, double albedo);
HosekNumbers hosek_sky_spectral(size_t wavelength, double height, double turbidity, double albedo);

/// Radiance in a direction at an angle theta from the zenith and gamma from the sun; of numbers of the host, or recorded.
template <class T>
T hosek_radiance(const T *n, const T &cos_theta, const T &gamma, const T &cos_gamma) {
    using std::exp, std::sqrt, std::max;
    T square = cos_gamma * cos_gamma,
      y = max(T(1) + n[8] * n[8] - T(2) * n[8] * cos_gamma, T(1e-6)),
      chi = (T(1) + square) / (y * sqrt(y));
    T f = (T(1) + n[0] * exp(n[1] / (cos_theta + T(0.01)))) *
          (n[2] + n[3] * exp(n[4] * gamma) + n[5] * square + n[6] * chi + n[7] * sqrt(cos_theta));
    return max(f * n[9], T(0));
}

/// Coefficients of a segment at a wavelength.
std::array<double, 4> hosek_sun_cubic(size_t wavelength, size_t segment, double turbidity);
/// Radiance where the disk's limb plays no part, and that of the disk on average, as far as it is above the horizon.
double hosek_sun(size_t wavelength, double height, double turbidity);
double hosek_sun_mean(size_t wavelength, double sun_zenith, double turbidity);
/// What a value at each of the wavelengths adds to the XYZ of a spectrum that is linear in between, and 0 beyond.
const std::array<Colour3, HosekWavelengths> &hosek_xyz();

} // namespace umbel
