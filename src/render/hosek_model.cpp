// render/hosek_model.cpp: the sky of [Hosek 2012] and the sun of [Hosek 2013].
//
// Numbers of the sky's formula are linear in the ground's albedo, its radiance is not. They are computed as recorded code, so
// that they carry the albedo's derivative. Spectra are linear between the model's wavelengths: both neighbours are evaluated.
#include "core/hosek_wilkie.h"
#include "core/host_array.h"
#include "render/colour_value.h"
#include "render/daylight_model.h"
#include "render/height_table.h"

namespace umbel {

namespace {

bool is_spectral() { return variant().colour == Colour::Spectral; }

/// Between which of the model's wavelengths one lies.
struct Cell {
    Mask inside;
    UInt32 first;
    Float f;

    explicit Cell(const Float &wavelength) {
        Float at = (wavelength - HosekFirst) * (1 / HosekStep),
              i = clamp(floor(at), 0, double(HosekWavelengths - 2));
        inside = (at >= 0) & (at <= double(HosekWavelengths - 1));
        first = to_uint(i);
        f = at - i;
    }
};

class HosekSky final : public SkyModel {
public:
    void prepare(const Air &air) override {
        SurfaceInteraction si;
        si.uv = { Float(0), Float(0) };
        std::vector<double> dark, bright, wavelengths;
        std::array<std::vector<double>, 3> is_channel;
        m_rgb.clear();
        double albedo =
            std::clamp(read_floats(Float(air.ground->mean_value().detached()))[0], 0.0, 1.0);
        auto add = [](std::vector<double> &table, const HosekNumbers &n) {
            table.insert(table.end(), n.begin(), n.end());
        };
        for (double zenith : air.sun_zeniths) {
            double height = hosek_height(zenith);
            auto &rgb = m_rgb.emplace_back();
            for (size_t c = 0; c < 3; ++c)
                rgb[c] = hosek_sky_rgb(c, height, air.turbidity, albedo);
            if (is_spectral())
                for (size_t cell = 0; cell + 1 < HosekWavelengths; ++cell)
                    for (size_t k : { cell, cell + 1 }) {
                        add(dark, hosek_sky_spectral(k, height, air.turbidity, 0));
                        add(bright, hosek_sky_spectral(k, height, air.turbidity, 1));
                        wavelengths.resize(dark.size(), HosekFirst + HosekStep * double(k));
                    }
            else
                for (size_t c = 0; c < 3; ++c) {
                    add(dark, hosek_sky_rgb(c, height, air.turbidity, 0));
                    add(bright, hosek_sky_rgb(c, height, air.turbidity, 1));
                    for (size_t k = 0; k < 3; ++k)
                        is_channel[k].resize(dark.size(), k == c);
                }
        }
        // The albedo that each number is for
        Float a;
        if (is_spectral()) {
            si.wavelengths = Spectrum(float_array(wavelengths));
            a = air.ground->eval(si, Mask(true))[0];
        } else {
            Spectrum all = air.ground->eval(si, Mask(true));
            a = all[0];
            if (all.channels() == 3)
                a = all[0] * float_array(is_channel[0]) + all[1] * float_array(is_channel[1]) +
                    all[2] * float_array(is_channel[2]);
        }
        m_numbers.set(lerp(float_array(dark), float_array(bright), clamp(a, 0, 1)),
                      air.sun_zeniths.size(), is_spectral() ? HosekWavelengths - 1 : 1);
    }
    double luminance(size_t row, double cos_theta, double gamma) const override {
        Colour3 rgb;
        for (size_t c = 0; c < 3; ++c)
            rgb[c] = hosek_radiance(m_rgb[row][c].data(), cos_theta, gamma, std::cos(gamma));
        return umbel::luminance(rgb);
    }
    Spectrum eval(const DaylightQuery &q) const override {
        Float cos_theta = max(q.direction.z, 0), cos_gamma = clamp(dot(q.direction, q.sun), -1, 1),
              gamma = acos(cos_gamma);
        auto radiance = [&](const std::vector<Float> &numbers, size_t i) {
            return hosek_radiance(&numbers[10 * i], cos_theta, gamma, cos_gamma);
        };
        if (is_spectral())
            return map(q.wavelengths, [&](const Float &l) {
                Cell cell(l);
                std::vector<Float> n = m_numbers.at(q.row, cell.first, q.active & cell.inside);
                return select(cell.inside, lerp(radiance(n, 0), radiance(n, 1), cell.f), Float(0));
            });
        std::vector<Float> n = m_numbers.at(q.row, UInt32(0u), q.active);
        Vector3 rgb(radiance(n, 0), radiance(n, 1), radiance(n, 2));
        return variant().colour == Colour::Mono ? Spectrum(rgb_luminance(rgb))
                                                : Spectrum({ rgb.x, rgb.y, rgb.z });
    }
    void expose(Params &p) override { m_numbers.expose(p); }

private:
    HeightTable m_numbers; // a record: of the channels, or of a cell's ends
    std::vector<std::array<HosekNumbers, 3>> m_rgb; // of the host, by row
};

/// The same all over the disk.
class UniformHosekSun final : public SunModel {
public:
    void prepare(const Air &air, double half_aperture) override {
        std::vector<LightTable::Row> rows;
        m_luminance.clear();
        for (double zenith : air.sun_zeniths) {
            LightTable::Row row;
            Colour3 xyz{};
            for (size_t i = 0; i < HosekWavelengths; ++i) {
                double value =
                    hosek_sun_mean(i, zenith, air.turbidity) * sun_dilution(half_aperture);
                row.spectrum.push_back(value);
                for (size_t c = 0; c < 3; ++c)
                    xyz[c] += value * hosek_xyz()[i][c];
            }
            row.rgb = xyz_to_srgb(xyz);
            for (double &v : row.rgb)
                v = std::max(v, 0.0);
            m_luminance.push_back(umbel::luminance(row.rgb));
            rows.push_back(row);
        }
        m_light.set(rows, HosekFirst, HosekStep);
    }
    double luminance(size_t row) const override { return m_luminance[row]; }
    Spectrum eval(const DaylightQuery &q) const override {
        return m_light.eval(q.row, q.wavelengths, q.active);
    }

private:
    LightTable m_light;
    std::vector<double> m_luminance; // by row
};

/// Darker towards the limb, and towards the horizon: by the height of the direction, not of the disk's middle.
class DetailedHosekSun final : public SunModel {
public:
    void prepare(const Air &air, double half_aperture) override {
        m_mean.prepare(air, half_aperture);
        double s = std::sin(half_aperture);
        m_inv_sine2 = opaque_float(1 / (s * s));
        std::vector<double> segments, limb;
        double factor = sun_dilution(half_aperture);
        for (size_t segment = 0; segment < HosekSegments; ++segment)
            if (is_spectral())
                for (size_t i = 0; i < HosekWavelengths; ++i)
                    for (double c : hosek_sun_cubic(i, segment, air.turbidity))
                        segments.push_back(factor * c);
            else
                for (size_t c = 0; c < channels(); ++c)
                    add_colour(segments, c, segment, air.turbidity, factor);
        if (is_spectral())
            for (auto &powers : HosekLimb)
                limb.insert(limb.end(), std::begin(powers), std::end(powers));
        m_segments = float_array(segments);
        if (!limb.empty())
            m_limb = float_array(limb);
    }
    double luminance(size_t row) const override { return m_mean.luminance(row); }
    Spectrum eval(const DaylightQuery &q) const override {
        // Where in which segment; what the tables have begins at (segment / 45)^3 of a quarter turn
        Float part = asin(clamp(q.direction.z, 0, 1)) * (2 / Pi),
              at = pow(max(part, 1e-12), 1.0 / 3) * double(HosekSegments),
              segment = min(floor(at), double(HosekSegments - 1)),
              first = segment * segment * segment, width = fma(3 * segment, segment + 1, 1),
              cube = double(HosekSegments * HosekSegments * HosekSegments),
              t = clamp(fma(part, cube, -first) / width, 0, 1);
        // Chord to cosine
        Float d2 = squared_norm(q.direction - q.sun),
              cosine = safe_sqrt(1 - d2 * (1 - 0.25 * d2) * m_inv_sine2);
        UInt32 row = to_uint(segment);
        auto polynomial = [](const std::vector<Float> &c, size_t first, size_t count,
                             const Float &x) {
            Float sum = c[first + count - 1];
            for (size_t i = count - 1; i-- > 0;)
                sum = fma(sum, x, c[first + i]);
            return sum;
        };
        auto record = [&](const Float &table, const UInt32 &index, uint32_t n, const Mask &active) {
            std::vector<Float> out;
            for (Value &v : jit::gather_packet(table, index, n, active))
                out.emplace_back(std::move(v));
            return out;
        };
        if (is_spectral())
            return map(q.wavelengths, [&](const Float &l) {
                Cell cell(l);
                Mask active = q.active & cell.inside;
                auto both = [&](const Float &table, const UInt32 &index, uint32_t n,
                                const Float &x) {
                    Float a = polynomial(record(table, index, n, active), 0, n, x),
                          b = polynomial(record(table, index + UInt32(1u), n, active), 0, n, x);
                    return lerp(a, b, cell.f);
                };
                UInt32 wavelengths{ uint32_t(HosekWavelengths) };
                Float light = both(m_segments, row * wavelengths + cell.first, 4, t) *
                              both(m_limb, cell.first, 6, cosine);
                return select(cell.inside, max(light, 0), Float(0));
            });
        Spectrum out;
        for (size_t c = 0; c < channels(); ++c) {
            UInt32 index = row * UInt32(uint32_t(channels())) + UInt32(uint32_t(c));
            std::vector<Float> n = record(m_segments, index, 24, q.active), cubic;
            for (size_t k = 0; k < 4; ++k)
                cubic.push_back(polynomial(n, 6 * k, 6, cosine));
            out.c.push_back(max(polynomial(cubic, 0, 4, t), 0));
        }
        return out;
    }

private:
    static size_t channels() { return variant().colour == Colour::Mono ? 1 : 3; }
    // A polynomial in both: by powers of where in the segment, and for each by powers of the limb's cosine.
    static void add_colour(std::vector<double> &out, size_t channel, size_t segment,
                           double turbidity, double factor) {
        std::array<std::array<double, 6>, 4> sum{};
        for (size_t i = 0; i < HosekWavelengths; ++i) {
            const Colour3 &xyz = hosek_xyz()[i];
            double weight = factor * (channels() == 1 ? xyz[1] : xyz_to_srgb(xyz)[channel]);
            auto cubic = hosek_sun_cubic(i, segment, turbidity);
            for (size_t k = 0; k < 4; ++k)
                for (size_t j = 0; j < 6; ++j)
                    sum[k][j] += weight * cubic[k] * double(HosekLimb[i][j]);
        }
        for (auto &row : sum)
            out.insert(out.end(), row.begin(), row.end());
    }

    UniformHosekSun m_mean;
    Float m_segments, m_limb, m_inv_sine2;
};

} // namespace

std::unique_ptr<SkyModel> make_hosek_sky() { return std::make_unique<HosekSky>(); }
std::unique_ptr<SunModel> make_hosek_sun(bool is_detailed) {
    if (is_detailed)
        return std::make_unique<DetailedHosekSun>();
    return std::make_unique<UniformHosekSun>();
}

} // namespace umbel
