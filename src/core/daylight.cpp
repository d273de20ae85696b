// core/daylight.cpp: see core/daylight.h.
#include "core/daylight.h"
#include "core/spectra.h"
#include <algorithm>
#include <cmath>
#include <span>

namespace umbel {

namespace {

constexpr double Degrees = 3.14159265358979323846 / 180, HalfTurn = 180 * Degrees;

struct Entry {
    double wavelength, value; // nm
};
double lookup(std::span<const Entry> table, double wavelength) {
    if (wavelength < table.front().wavelength || wavelength > table.back().wavelength)
        return 0;
    for (size_t i = 1; i < table.size(); ++i)
        if (wavelength <= table[i].wavelength) {
            const Entry &a = table[i - 1], &b = table[i];
            double t = (wavelength - a.wavelength) / (b.wavelength - a.wavelength);
            return a.value + t * (b.value - a.value);
        }
    return 0;
}

// [Preetham 1999, table 2]: outside of the atmosphere, every 10 nm from 380 nm on, in 100 W / (m^2 sr nm)
constexpr double SolarRadiance[] = { 165.5, 162.3, 211.2, 258.8, 258.2, 242.3, 267.6, 296.6,
                                     305.4, 300.6, 306.6, 288.3, 287.1, 278.2, 271.0, 272.3,
                                     263.6, 255.0, 250.6, 253.1, 253.5, 251.3, 246.3, 241.7,
                                     236.8, 232.1, 228.2, 223.4, 219.7, 215.3, 211.0, 207.3,
                                     202.4, 198.7, 194.3, 190.7, 186.3, 182.6 };
// Absorption by ozone per cm of it, by mixed gases and by water vapour
constexpr Entry Ozone[] = {
    { 355, 0 },    { 445, .003 }, { 450, .003 }, { 455, .004 }, { 460, .006 }, { 465, .008 },
    { 470, .009 }, { 475, .012 }, { 480, .014 }, { 485, .017 }, { 490, .021 }, { 495, .025 },
    { 500, .030 }, { 505, .035 }, { 510, .040 }, { 515, .045 }, { 520, .048 }, { 525, .057 },
    { 530, .063 }, { 535, .070 }, { 540, .075 }, { 545, .080 }, { 550, .085 }, { 555, .095 },
    { 560, .103 }, { 565, .110 }, { 570, .120 }, { 575, .122 }, { 580, .120 }, { 585, .118 },
    { 590, .115 }, { 595, .120 }, { 600, .125 }, { 605, .130 }, { 610, .120 }, { 620, .105 },
    { 630, .090 }, { 640, .079 }, { 650, .067 }, { 660, .057 }, { 670, .048 }, { 680, .036 },
    { 690, .028 }, { 700, .023 }, { 710, .018 }, { 720, .014 }, { 730, .011 }, { 740, .010 },
    { 750, .009 }, { 760, .007 }, { 770, .004 }, { 780, 0 },
};
constexpr Entry MixedGases[] = { { 759, 0 }, { 760, 3 }, { 770, .21 }, { 771, 0 } };
constexpr Entry Water[] = { { 689, 0 },    { 690, .016 }, { 700, .024 }, { 710, .0125 },
                            { 720, 1 },    { 730, .87 },  { 740, .061 }, { 750, .001 },
                            { 760, 1e-5 }, { 770, 1e-5 }, { 780, 6e-4 }, { 790, .0175 },
                            { 800, .036 } };

double clear_enough(double turbidity) { return std::max(turbidity, 2.0); }
double haze(double turbidity) { return 0.04608 * clear_enough(turbidity) - 0.04586; }

} // namespace

double julian_day(const ObserverTime &t) {
    auto year = long(t.year), month = long(t.month), day = long(t.day), early = (month - 14) / 12;
    return double(1461 * (year + 4800 + early) / 4 + 367 * (month - 2 - 12 * early) / 12 -
                  3 * ((year + 4900 + early) / 100) / 4 + day - 32075);
}

SunCourse sun_course(const ObserverTime &t) {
    // Days since noon of January 1st, 2000, in Greenwich
    double hours = t.hour + (t.minute + t.second / 60) / 60 - t.timezone;
    double n = julian_day(t) - 0.5 + hours / 24 - 2451545;

    // In the ecliptic, then in the sky of stars
    double omega = 2.1429 - 0.0010394594 * n, longitude = 4.8950630 + 0.017202791698 * n,
           anomaly = 6.2400600 + 0.0172019699 * n;
    double ecliptic = longitude + 0.03341607 * std::sin(anomaly) +
                      0.00034894 * std::sin(2 * anomaly) - 0.0001134 - 0.0000203 * std::sin(omega);
    double obliquity = 0.4090928 - 6.2140e-9 * n + 0.0000396 * std::cos(omega);
    double ascension = std::atan2(std::cos(obliquity) * std::sin(ecliptic), std::cos(ecliptic)),
           declination = std::asin(std::sin(obliquity) * std::sin(ecliptic));

    double sidereal = 6.6974243242 + 0.0657098283 * n + hours;
    return { declination, (sidereal * 15 + t.longitude) * Degrees - ascension };
}

SunAngles sun_angles(const ObserverTime &t) {
    auto [declination, angle] = sun_course(t);
    double latitude = t.latitude * Degrees;
    double cos_latitude = std::cos(latitude), sin_latitude = std::sin(latitude);
    double zenith = std::acos(std::clamp(cos_latitude * std::cos(angle) * std::cos(declination) +
                                             std::sin(declination) * sin_latitude,
                                         -1.0, 1.0));
    double azimuth = std::atan2(-std::sin(angle), std::tan(declination) * cos_latitude -
                                                      sin_latitude * std::cos(angle));
    zenith += 6371.01 / 149597890 * std::sin(zenith); // parallax
    return { zenith, azimuth };
}

// [Preetham 1999, appendix A.2]
std::array<PerezFunction, 3> preetham_sky(double sun, double turbidity) {
    double t = clear_enough(turbidity);
    auto cubic = [&](const double(&m)[3][4]) {
        double sum = 0, power[] = { t * t, t, 1 };
        for (size_t i = 0; i < 3; ++i)
            sum += power[i] * (((m[i][0] * sun + m[i][1]) * sun + m[i][2]) * sun + m[i][3]);
        return sum;
    };
    double chi = (4.0 / 9 - t / 120) * (HalfTurn - 2 * sun);
    double kcd = (4.0453 * t - 4.9710) * std::tan(chi) - 0.2155 * t + 2.4192;
    double x = cubic({ { .00166, -.00375, .00209, 0 },
                       { -.02903, .06377, -.03202, .00394 },
                       { .11693, -.21196, .06052, .25886 } }),
           y = cubic({ { .00275, -.00610, .00317, 0 },
                       { -.04214, .08970, -.04153, .00516 },
                       { .15346, -.26756, .06670, .26688 } });
    // 683.002 lm / W where the eye sees best
    double luminance = std::max(kcd, 0.0) * 1000 / (683.002 * cie_y_integral());
    auto perez = [&](double zenith, PerezFunction f) {
        double cosine = std::cos(sun);
        f.factor = zenith / ((1 + f.a * std::exp(f.b)) *
                             (1 + f.c * std::exp(f.d * sun) + f.e * cosine * cosine));
        return f;
    };
    return { perez(luminance, { .1787 * t - 1.4630, -.3554 * t + .4275, -.0227 * t + 5.3251,
                                .1206 * t - 2.5771, -.0670 * t + .3703, 0 }),
             perez(x, { -.0193 * t - .2592, -.0665 * t + .0008, -.0004 * t + .2125,
                        -.0641 * t - .8989, -.0033 * t + .0452, 0 }),
             perez(y, { -.0167 * t - .2608, -.0950 * t + .0092, -.0079 * t + .2102,
                        -.0441 * t - 1.6537, -.0109 * t + .0529, 0 }) };
}

Colour3 daylight_luminances() {
    static const Colour3 all = [] {
        Colour3 out;
        for (size_t i = 0; i < 3; ++i)
            out[i] = spectrum_to_xyz([&](double w) {
                double at = std::clamp((w - 360) / 10, 0.0, double(DaylightCount - 1));
                auto k = std::min(size_t(at), DaylightCount - 2);
                double f = at - double(k);
                return DaylightBasis[k][i] * (1 - f) + DaylightBasis[k + 1][i] * f;
            })[1];
        return out;
    }();
    return all;
}

// [Preetham 1999, appendix A.1]
double sun_radiance(double wavelength, double zenith, double turbidity) {
    double at = (wavelength - 380) / 10;
    constexpr size_t count = std::size(SolarRadiance);
    if (!(at >= 0 && at <= count - 1) || zenith >= HalfTurn / 2 + 2 * Degrees)
        return 0;
    auto i = std::min(size_t(at), count - 2);
    double outside =
        100 * (SolarRadiance[i] + (at - double(i)) * (SolarRadiance[i + 1] - SolarRadiance[i]));
    double um = wavelength / 1000;
    double air = 1 / (std::cos(zenith) + 0.15 * std::pow(93.885 - zenith / Degrees, -1.253));
    double gas = lookup(MixedGases, wavelength), water = lookup(Water, wavelength) * 2; // cm
    double depth = 0.008735 * std::pow(um, -4.08) * air +                               // molecules
                   haze(turbidity) * std::pow(um, -1.3) * air +                         // aerosols
                   lookup(Ozone, wavelength) * 0.35 * air +                             // cm
                   1.41 * gas * air / std::pow(1 + 118.93 * gas * air, 0.45) +
                   0.2385 * water * air / std::pow(1 + 20.07 * water * air, 0.45);
    return outside * std::exp(-depth);
}

// Of molecules, 0.0685; of aerosols, the part that is scattered, and not forwards, at a mean depth in the visible.
double air_albedo(double turbidity) {
    double through = std::exp(-haze(turbidity) * std::pow(0.55, -1.3));
    return 0.0685 + (1 - 0.84) * (1 - through);
}

// CIE's components of daylight [CIE 15:2004, table T.2].
const double DaylightBasis[DaylightCount][3] = {
    { 61.5, 38.0, 5.3 },   { 68.8, 42.4, 6.1 },   { 63.4, 38.5, 3.0 },   { 65.8, 35.0, 1.2 },
    { 94.8, 43.4, -1.1 },  { 104.8, 46.3, -0.5 }, { 105.9, 43.9, -0.7 }, { 96.8, 37.1, -1.2 },
    { 113.9, 36.7, -2.6 }, { 125.6, 35.9, -2.9 }, { 125.5, 32.6, -2.8 }, { 121.3, 27.9, -2.6 },
    { 121.3, 24.3, -2.6 }, { 113.5, 20.1, -1.8 }, { 113.1, 16.2, -1.5 }, { 110.8, 13.2, -1.3 },
    { 106.5, 8.6, -1.2 },  { 108.8, 6.1, -1.0 },  { 105.3, 4.2, -0.5 },  { 104.4, 1.9, -0.3 },
    { 100.0, 0.0, 0.0 },   { 96.0, -1.6, 0.2 },   { 95.1, -3.5, 0.5 },   { 89.1, -3.5, 2.1 },
    { 90.5, -5.8, 3.2 },   { 90.3, -7.2, 4.1 },   { 88.4, -8.6, 4.7 },   { 84.0, -9.5, 5.1 },
    { 85.1, -10.9, 6.7 },  { 81.9, -10.7, 7.3 },  { 82.6, -12.0, 8.6 },  { 84.9, -14.0, 9.8 },
    { 81.3, -13.6, 10.2 }, { 71.9, -12.0, 8.3 },  { 74.3, -13.3, 9.6 },  { 76.4, -12.9, 8.5 },
    { 63.3, -10.6, 7.0 },  { 71.7, -11.6, 7.6 },  { 77.0, -12.2, 8.0 },  { 65.2, -10.2, 6.7 },
    { 47.7, -7.8, 5.2 },   { 68.6, -11.2, 7.4 },  { 65.0, -10.4, 6.8 },  { 66.0, -10.6, 7.0 },
    { 61.0, -9.7, 6.4 },   { 53.3, -8.3, 5.5 },   { 58.9, -9.3, 6.1 },   { 61.9, -9.8, 6.5 },
};

} // namespace umbel
