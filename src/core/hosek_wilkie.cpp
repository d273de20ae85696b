// core/hosek_wilkie.cpp: see core/hosek_wilkie.h.
#include "core/hosek_wilkie.h"
#include "core/quadrature.h"
#include "core/spectra.h"

namespace umbel {

namespace {

constexpr double QuarterTurn = 3.14159265358979323846 / 2,
                 SunRadius = 0.5 * 0.5358 / 90 * QuarterTurn;

struct Level { // of turbidity: the table's entry below, and how far from there to the next
    size_t i;
    double f;
};
Level level_of(double turbidity) {
    double at = std::clamp(turbidity - 1, 0.0, 9.0);
    auto i = std::min(size_t(at), size_t(8));
    return { i, at - double(i) };
}

template <size_t Channels>
HosekNumbers interpolate(const float (&table)[10][2][6][Channels][10], size_t channel,
                         double height, double turbidity, double albedo) {
    auto [level, f] = level_of(turbidity);
    double x = height, y = 1 - height;
    const double bernstein[6] = { y * y * y * y * y,      5 * x * y * y * y * y,
                                  10 * x * x * y * y * y, 10 * x * x * x * y * y,
                                  5 * x * x * x * x * y,  x * x * x * x * x };
    HosekNumbers out{};
    for (size_t t = 0; t < 2; ++t)
        for (size_t a = 0; a < 2; ++a)
            for (size_t k = 0; k < 6; ++k) {
                double weight = (t ? f : 1 - f) * (a ? albedo : 1 - albedo) * bernstein[k];
                for (size_t i = 0; i < out.size(); ++i)
                    out[i] += weight * double(table[level + t][a][k][channel][i]);
            }
    return out;
}

} // namespace

double hosek_height(double zenith) {
    return std::cbrt(std::clamp(1 - zenith / QuarterTurn, 0.0, 1.0));
}
double hosek_zenith(double height) { return QuarterTurn * (1 - height * height * height); }

HosekNumbers hosek_sky_rgb(size_t channel, double height, double turbidity, double albedo) {
    HosekNumbers n = interpolate(HosekSkyRgb, channel, height, turbidity, albedo);
    n[9] /= cie_y_integral();
    return n;
}
HosekNumbers hosek_sky_spectral(size_t wavelength, double height, double turbidity, double albedo) {
    return interpolate(HosekSkySpectral, wavelength, height, turbidity, albedo);
}

std::array<double, 4> hosek_sun_cubic(size_t wavelength, size_t segment, double turbidity) {
    auto [level, f] = level_of(turbidity);
    std::array<double, 4> out;
    for (size_t k = 0; k < 4; ++k)
        out[k] = std::lerp(double(HosekSun[level][wavelength][segment][k]),
                           double(HosekSun[level + 1][wavelength][segment][k]), f);
    return out;
}

double hosek_sun(size_t wavelength, double height, double turbidity) {
    auto segment = std::min(size_t(height * HosekSegments), HosekSegments - 1);
    auto cube = [](double v) { return v * v * v; };
    double first = cube(double(segment)),
           t = (cube(height * HosekSegments) - first) / (cube(double(segment) + 1) - first);
    auto c = hosek_sun_cubic(wavelength, segment, turbidity);
    return std::max(c[0] + t * (c[1] + t * (c[2] + t * c[3])), 0.0);
}

// Over the limb's cosine u, with a density of 2 u, and around the disk. Where the air is the same, that is a polynomial of
// degree 6 in u.
double hosek_sun_mean(size_t wavelength, double zenith, double turbidity) {
    static const Quadrature rule = gauss_legendre(4);
    constexpr int Angles = 16;
    double sum = 0, seen = 0;
    for (size_t i = 0; i < rule.nodes.size(); ++i) {
        double u = 0.5 + 0.5 * rule.nodes[i], limb = 0, weight = rule.weights[i] * u / Angles;
        for (size_t j = 6; j-- > 0;)
            limb = limb * u + double(HosekLimb[wavelength][j]);
        for (int k = 0; k < Angles; ++k) {
            double angle = 2 * QuarterTurn * (2 * k + 1) / Angles,
                   at = zenith + SunRadius * std::sqrt(1 - u * u) * std::cos(angle);
            if (at >= QuarterTurn)
                continue;
            seen += weight;
            sum += weight * limb * hosek_sun(wavelength, hosek_height(at), turbidity);
        }
    }
    return seen > 0 ? sum / seen : 0;
}

const std::array<Colour3, HosekWavelengths> &hosek_xyz() {
    static const std::array<Colour3, HosekWavelengths> all = [] {
        std::array<Colour3, HosekWavelengths> out;
        for (size_t i = 0; i < HosekWavelengths; ++i)
            out[i] = spectrum_to_xyz([&](double w) {
                double at = (w - HosekFirst) / HosekStep;
                return at > HosekWavelengths - 1 ? 0 : std::max(1 - std::abs(at - double(i)), 0.0);
            });
        return out;
    }();
    return all;
}

} // namespace umbel
