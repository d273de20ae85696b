// core/daylight.h: where the sun is, how bright it is through the air, and the sky around it [Preetham 1999].
//
// Radiance is in W / (m^2 sr nm). Angles are in radians. Turbidity says how much haze there is: 2 is a very clear day, 10 a
// hazy one; the model knows nothing clearer than 2.
#pragma once
#include "core/colour.h"
#include <array>
#include <cstddef>

namespace umbel {

struct ObserverTime {
    double year = 2010, month = 7, day = 10;
    double hour = 15, minute = 0, second = 0; // local, 24 hours
    double latitude = 35.6894, longitude = 139.6917,
           timezone = 9; // degrees north, degrees east, hours: Tokyo
};
struct SunAngles {
    double zenith, azimuth; // from straight up; from north towards east
};
/// In the equator's frame: north of it, and how far past the south, in terms of the earth's turn.
struct SunCourse {
    double declination, hour_angle;
};
SunCourse sun_course(const ObserverTime &t);
/// Of its date, at noon.
double julian_day(const ObserverTime &t);
/// To half a minute of arc between 1999 and 2015 [Blanco-Muriel 2001], and not far off in other years.
SunAngles sun_angles(const ObserverTime &t);

/// A function of the angles to the zenith and to the sun: (1 + A exp(B / cos(theta))) (1 + C exp(D gamma) + E cos(gamma)^2),
/// relative to what it is at the zenith, where it is `zenith`.
struct PerezFunction {
    double a, b, c, d, e;
    double factor; // zenith over the function there
};
/// Luminance, in terms of radiance (a spectrum that is 1 everywhere has 1), and the chromaticities x and y of the sky.
std::array<PerezFunction, 3> preetham_sky(double sun_zenith, double turbidity);

/// What CIE's daylight of chromaticity x, y is made of, S0 + M1 S1 + M2 S2 [Judd 1964], every 10 nm from 360 to 830 nm.
constexpr size_t DaylightCount = 48;
extern const double DaylightBasis[DaylightCount][3];
/// Y of each of the three, as spectra.
Colour3 daylight_luminances();

/// Radiance of the sun's disk, seen through the air; known from 380 to 750 nm, and 0 beyond.
double sun_radiance(double wavelength, double sun_zenith, double turbidity);
/// Part of the light that goes up which the air sends down again [Bird 1981].
double air_albedo(double turbidity);

} // namespace umbel
