// render/preetham_model.cpp: the sky and the sun of [Preetham 1999].
//
// Light that the ground throws back brightens the sky, as the air sends it down again [Bird 1981]. In spectral variants the
// sky's colour is CIE's daylight of that chromaticity [Judd 1964].
#include "core/daylight.h"
#include "core/host_array.h"
#include "core/spectra.h"
#include "render/daylight_model.h"
#include "render/height_table.h"

namespace umbel {

namespace {

bool is_spectral() { return variant().colour == Colour::Spectral; }

LightTable::Row light_row(const std::function<double(double)> &spectrum) {
    LightTable::Row row;
    for (double l = MinWavelength; l <= MaxWavelength; l += 10)
        row.spectrum.push_back(spectrum(l));
    row.rgb = xyz_to_srgb(spectrum_to_xyz(spectrum));
    for (double &v : row.rgb)
        v = std::max(v, 0.0);
    return row;
}

// [Judd 1964], of chromaticities.
template <class T> std::pair<T, T> daylight_weights(const T &x, const T &y) {
    T m = T(0.0241) + x * 0.2562 - y * 0.7341;
    return { (T(-1.3515) - x * 1.7703 + y * 5.9114) / m,
             (T(0.0300) - x * 31.4424 + y * 30.0717) / m };
}

constexpr double LeastCosine = 1e-4;
double perez(const PerezFunction &f, double cosine, double gamma) {
    double c = std::cos(gamma);
    return f.factor * (1 + f.a * std::exp(f.b / std::max(cosine, LeastCosine))) *
           (1 + f.c * std::exp(f.d * gamma) + f.e * c * c);
}

class PreethamSky final : public SkyModel {
public:
    void prepare(const Air &air) override {
        m_ground = air.ground;
        m_air = opaque_float(air_albedo(air.turbidity));
        for (size_t i = 0; i < 3; ++i) {
            PerezFunction f = preetham_sky(0, air.turbidity)[i];
            const double numbers[] = { f.a, f.b, f.c, f.d, f.e };
            for (size_t k = 0; k < 5; ++k)
                m_numbers[i][k] = opaque_float(numbers[k]);
        }
        if (!m_basis.valid() && is_spectral()) {
            std::vector<double> rows;
            for (auto &row : DaylightBasis)
                rows.insert(rows.end(), { row[0], row[1], row[2], 0 });
            m_basis = float_array(rows);
        }
        m_rows.clear();
        double albedo = read_floats(Float(air.ground->mean_value().detached()))[0],
               by_ground = albedo / (1 - air_albedo(air.turbidity) * albedo);
        std::vector<double> factors;
        std::vector<LightTable::Row> grounds;
        for (double zenith : air.sun_zeniths) {
            auto functions = preetham_sky(zenith, air.turbidity);
            for (const PerezFunction &f : functions)
                factors.push_back(f.factor);
            grounds.push_back(lit_air(functions, zenith, air.turbidity));
            m_rows.push_back({ functions[0], umbel::luminance(grounds.back().rgb) * by_ground });
        }
        m_factors.set(factors, air.sun_zeniths.size(), 1);
        m_lit_air.set(grounds, MinWavelength, 10);
    }
    double luminance(size_t row, double cos_theta, double gamma) const override {
        return std::max(perez(m_rows[row].luminance, cos_theta, gamma), 0.0) + m_rows[row].ground;
    }
    Spectrum eval(const DaylightQuery &q) const override {
        Float cosine = clamp(dot(q.direction, q.sun), -1, 1), gamma = acos(cosine),
              c2 = sqr(cosine), inv_z = rcp(max(q.direction.z, LeastCosine));
        std::vector<Float> factors = m_factors.at(q.row, UInt32(0u), q.active);
        auto value = [&](size_t i) {
            const std::array<Float, 5> &f = m_numbers[i];
            return factors[i] * (1 + f[0] * exp(f[1] * inv_z)) *
                   (1 + f[2] * exp(f[3] * gamma) + f[4] * c2);
        };
        Float Y = max(value(0), 0), x = value(1), y = value(2);
        if (!is_spectral()) {
            Float by_y = Y / y;
            Vector3 xyz(x * by_y, Y, (1 - x - y) * by_y);
            if (variant().colour == Colour::Mono)
                return Spectrum(Y) + from_ground(q);
            std::vector<Float> rgb;
            for (const Colour3 &row : xyz_to_srgb_matrix())
                rgb.push_back(max(dot(xyz, Vector3(row[0], row[1], row[2])), 0));
            return Spectrum(rgb) + from_ground(q);
        }
        auto [m1, m2] = daylight_weights(x, y);
        const Colour3 &norm = daylight_luminances();
        Float scale = Y / (norm[0] + m1 * norm[1] + m2 * norm[2]);
        Spectrum day = map(q.wavelengths, [&, m1 = m1, m2 = m2](const Float &l) {
            Float at = clamp((l - MinWavelength) * 0.1, 0, double(DaylightCount - 1)),
                  i = min(floor(at), double(DaylightCount - 2)), f = at - i;
            std::vector<Value> a = jit::gather_packet(m_basis, to_uint(i), 4, q.active),
                               b = jit::gather_packet(m_basis, to_uint(i) + UInt32(1u), 4,
                                                      q.active);
            auto s = [&](size_t c) { return lerp(Float(a[c]), Float(b[c]), f); };
            return max(s(0) + m1 * s(1) + m2 * s(2), 0) * scale;
        });
        return day + from_ground(q);
    }

private:
    // What the air throws down of light that the ground reflects once, were it white.
    static LightTable::Row lit_air(const std::array<PerezFunction, 3> &functions, double zenith,
                                   double turbidity) {
        // On the ground, of sky and sun, over pi
        const int rows = 32, columns = 64;
        double irradiance = 0, x = 0, y = 0;
        for (int i = 0; i < rows; ++i)
            for (int k = 0; k < columns; ++k) {
                double z = (i + 0.5) / rows, r = std::sqrt(1 - z * z),
                       c = r * std::cos(TwoPi * (k + 0.5) / columns) * std::sin(zenith) +
                           z * std::cos(zenith),
                       gamma = std::acos(std::clamp(c, -1.0, 1.0));
                double part =
                    std::max(perez(functions[0], z, gamma), 0.0) * z * 2 / (rows * columns);
                irradiance += part;
                x += part * perez(functions[1], z, gamma);
                y += part * perez(functions[2], z, gamma);
            }
        if (irradiance > 0)
            x /= irradiance, y /= irradiance;
        double real = std::sin(0.25 * SunAperture * Pi / 180),
               sun_part = 4 * real * real * std::cos(zenith), air = air_albedo(turbidity);
        auto [m1, m2] = daylight_weights(x, y);
        const Colour3 &norm = daylight_luminances();
        return light_row([&, m1 = m1, m2 = m2](double l) {
            double at = (l - MinWavelength) / 10;
            auto i = std::min(size_t(at), DaylightCount - 2);
            double f = at - double(i), s[3];
            for (size_t c = 0; c < 3; ++c)
                s[c] = std::lerp(DaylightBasis[i][c], DaylightBasis[i + 1][c], f);
            double sky = irradiance * (s[0] + m1 * s[1] + m2 * s[2]) /
                         (norm[0] + m1 * norm[1] + m2 * norm[2]);
            return air * (std::max(sky, 0.0) + sun_part * sun_radiance(l, zenith, turbidity));
        });
    }
    // Over and over.
    Spectrum from_ground(const DaylightQuery &q) const {
        SurfaceInteraction si;
        si.wavelengths = q.wavelengths;
        si.uv = { Float(0), Float(0) };
        return map(m_lit_air.eval(q.row, q.wavelengths, q.active), m_ground->eval(si, q.active),
                   [&](const Float &l, const Float &a) { return l * a / (1 - m_air * a); });
    }

    struct Row { // of the host
        PerezFunction luminance;
        double ground;
    };
    std::vector<Row> m_rows;
    const Texture *m_ground = nullptr;
    std::array<std::array<Float, 5>, 3> m_numbers;
    HeightTable m_factors; // of the three functions
    LightTable m_lit_air;
    Float m_air;   // how much of what goes up comes down again
    Float m_basis; // of daylight
};

class PreethamSun final : public SunModel {
public:
    void prepare(const Air &air, double half_aperture) override {
        std::vector<LightTable::Row> rows;
        m_luminance.clear();
        for (double zenith : air.sun_zeniths) {
            rows.push_back(light_row([&](double l) {
                return sun_dilution(half_aperture) * sun_radiance(l, zenith, air.turbidity);
            }));
            m_luminance.push_back(umbel::luminance(rows.back().rgb));
        }
        m_light.set(rows, MinWavelength, 10);
    }
    double luminance(size_t row) const override { return m_luminance[row]; }
    Spectrum eval(const DaylightQuery &q) const override {
        return m_light.eval(q.row, q.wavelengths, q.active);
    }

private:
    LightTable m_light;
    std::vector<double> m_luminance; // by row
};

} // namespace

std::unique_ptr<SkyModel> make_preetham_sky() { return std::make_unique<PreethamSky>(); }
std::unique_ptr<SunModel> make_preetham_sun() { return std::make_unique<PreethamSun>(); }

} // namespace umbel
