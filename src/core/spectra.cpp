// core/spectra.cpp: see core/spectra.h.
#include "core/spectra.h"
#include "core/nearest_name.h"
#include <algorithm>
#include <cmath>

namespace umbel {

namespace {

/// Position in CIE's tables; nothing outside of them.
bool locate(double wavelength, size_t &i, double &t) {
    if (!(wavelength >= WavelengthMin && wavelength <= WavelengthMax))
        return false;
    double x = (wavelength - WavelengthMin) / CieStep;
    i = std::min(size_t(x), CieCount - 2);
    t = x - double(i);
    return true;
}

double lerp_d65(double wavelength) {
    size_t i;
    double t;
    return locate(wavelength, i, t) ? (1 - t) * D65Data[i] + t * D65Data[i + 1] : 0;
}

/// Average of a spectrum under the colour matching functions.
Colour3 integrate(const std::function<double(double)> &spectrum) {
    // Gauss-Legendre, 4 points: exact for the tables' product with a spectrum of degree 6
    constexpr double X[] = { 0.861136311594052575, 0.339981043584856265 };
    constexpr double W[] = { 0.347854845137453857, 0.652145154862546143 };
    Colour3 sum = {};
    for (size_t i = 0; i + 1 < CieCount; ++i)
        for (int k = 0; k < 4; ++k) {
            double t = 0.5 + 0.5 * (k < 2 ? -X[k] : X[k - 2]), w = 0.5 * CieStep * W[k % 2];
            double s = w * spectrum(WavelengthMin + CieStep * (double(i) + t));
            for (size_t c = 0; c < 3; ++c)
                sum[c] += s * ((1 - t) * Cie1931[i][c] + t * Cie1931[i + 1][c]);
        }
    for (double &v : sum)
        v /= cie_y_integral();
    return sum;
}

double d65_scale() {
    static const double scale = 1 / integrate(lerp_d65)[1];
    return scale;
}

} // namespace

double cie_y_integral() {
    static const double integral = [] {
        double sum = 0;
        for (size_t i = 0; i + 1 < CieCount; ++i)
            sum += 0.5 * CieStep * (Cie1931[i][1] + Cie1931[i + 1][1]);
        return sum;
    }();
    return integral;
}

Colour3 cie1931_xyz(double wavelength) {
    size_t i;
    double t;
    if (!locate(wavelength, i, t))
        return {};
    Colour3 out;
    for (size_t c = 0; c < 3; ++c)
        out[c] = ((1 - t) * Cie1931[i][c] + t * Cie1931[i + 1][c]) / cie_y_integral();
    return out;
}

double d65(double wavelength) { return lerp_d65(wavelength) * d65_scale(); }

const Colour3 &d65_xyz() {
    static const Colour3 white = integrate([](double w) { return d65(w); });
    return white;
}

Colour3 spectrum_to_xyz(const std::function<double(double)> &spectrum) {
    return integrate(spectrum);
}

Colour3 reflectance_to_srgb(const std::function<double(double)> &reflectance) {
    Colour3 xyz = integrate([&](double w) { return d65(w) * reflectance(w); });
    for (size_t i = 0; i < 3; ++i)
        xyz[i] *= white_xyz()[i] / d65_xyz()[i];
    return xyz_to_srgb(xyz);
}

double blackbody(double wavelength, double temperature) {
    // SI's exact constants; 1e-9 for nm in the result, too
    constexpr double h = 6.62607015e-34, c = 299792458, k = 1.380649e-23;
    double l = wavelength * 1e-9, l5 = l * l * l * l * l;
    return 2e-9 * h * c * c / (l5 * std::expm1(h * c / (l * k * temperature)));
}

// ---- Names

namespace {

struct Dielectric {
    const char *name;
    double ior;
};
// At room temperature and the sodium line, as scene files of earlier renderers name them; the water-like
// entries with spaces also work with underscores.
constexpr Dielectric Dielectrics[] = {
    { "vacuum", 1.0 },      { "helium", 1.000036 },        { "hydrogen", 1.000132 },
    { "air", 1.000277 },    { "carbon dioxide", 1.00045 }, { "water", 1.3330 },
    { "acetone", 1.36 },    { "ethanol", 1.361 },          { "carbon tetrachloride", 1.461 },
    { "glycerol", 1.4729 }, { "benzene", 1.501 },          { "silicone oil", 1.52045 },
    { "bromine", 1.661 },   { "water ice", 1.31 },         { "fused quartz", 1.458 },
    { "pyrex", 1.470 },     { "acrylic glass", 1.49 },     { "polypropylene", 1.49 },
    { "bk7", 1.5046 },      { "sodium chloride", 1.544 },  { "amber", 1.55 },
    { "pet", 1.575 },       { "diamond", 2.419 },
};

std::string simplified(std::string_view name) {
    std::string out(name);
    for (char &c : out)
        c = c == '_' ? ' ' : char(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

} // namespace

std::vector<std::string> dielectric_names() {
    std::vector<std::string> out;
    for (const Dielectric &d : Dielectrics)
        out.emplace_back(d.name);
    return out;
}

double dielectric_ior(std::string_view name) {
    std::string key = simplified(name);
    for (const Dielectric &d : Dielectrics)
        if (key == d.name)
            return d.ior;
    fail("no dielectric is called \"{}\"{}", name,
         suggestion(name, dielectric_names(), "dielectrics"));
}

std::vector<std::string> conductor_names() {
    std::vector<std::string> out;
    for (size_t i = 0; i < ConductorCount; ++i)
        for (const char *n : { Conductors[i].name, Conductors[i].alias })
            if (*n)
                out.emplace_back(n);
    return out;
}

const ConductorData &conductor_preset(std::string_view name) {
    for (size_t i = 0; i < ConductorCount; ++i)
        if (name == Conductors[i].name || (name == Conductors[i].alias && !name.empty()))
            return Conductors[i];
    fail("no conductor is called \"{}\"{}", name,
         suggestion(name, conductor_names(), "conductors"));
}

ConductorSample ConductorData::at(double wavelength) const {
    auto above =
        std::lower_bound(samples.begin(), samples.end(), wavelength,
                         [](const ConductorSample &s, double w) { return s.wavelength < w; });
    if (above == samples.begin() || above == samples.end()) {
        const ConductorSample &s = above == samples.end() ? samples.back() : samples.front();
        return { wavelength, s.eta, s.k };
    }
    const ConductorSample &a = above[-1], &b = *above;
    double t = (wavelength - a.wavelength) / (b.wavelength - a.wavelength);
    return { wavelength, a.eta + t * (b.eta - a.eta), a.k + t * (b.k - a.k) };
}

// ---- Traced

namespace {

/// A record for each interval, so that one fetch has all: x, y, z, D65 at its start, then the differences to
/// its end. Both precisions are kept for the life of the program: kernels read them in place.
template <class T> std::vector<T> &records() {
    static auto *table = [] { // never freed: a kernel may still run when the program ends
        auto *t = new std::vector<T>;
        auto entry = [](size_t i, size_t c) {
            return c < 3 ? Cie1931[i][c] / cie_y_integral() : D65Data[i] * d65_scale();
        };
        for (size_t i = 0; i + 1 < CieCount; ++i)
            for (size_t c = 0; c < 8; ++c)
                t->push_back(T(c < 4 ? entry(i, c) : entry(i + 1, c - 4) - entry(i, c - 4)));
        return t;
    }();
    return *table;
}

std::array<Float, 4> lookup(const Float &wavelength) {
    bool wide = wavelength.type() == jit::Type::F64;
    void *data = wide ? static_cast<void *>(records<double>().data()) : records<float>().data();
    Value table = jit::constant_table(wavelength.type(), data, 8 * (CieCount - 1));
    Mask inside = (wavelength >= WavelengthMin) & (wavelength <= WavelengthMax);
    Float x = (wavelength - WavelengthMin) * (1 / CieStep);
    UInt32 i = min(to_uint(x), UInt32(uint32_t(CieCount - 2)));
    Float t = x - Float(i);
    std::vector<Value> v = jit::gather_packet(table, i, 8, inside);
    std::array<Float, 4> out;
    for (size_t c = 0; c < 4; ++c)
        out[c] = select(inside, fma(Float(v[c + 4]), t, Float(v[c])), 0);
    return out;
}

} // namespace

Vector3 cie1931_xyz(const Float &wavelength) {
    std::array<Float, 4> v = lookup(wavelength);
    return { v[0], v[1], v[2] };
}

Float d65(const Float &wavelength) { return lookup(wavelength)[3]; }

Float blackbody(const Float &wavelength, const Float &temperature) {
    // In units that fit single precision: micrometres
    constexpr double h = 6.62607015e-34, c = 299792458, k = 1.380649e-23;
    Float l = wavelength * 1e-3, l2 = l * l, x = 1e6 * h * c / k / (l * temperature);
    // exp(x) - 1 loses nothing that matters: x > 0.7 up to 20,000 K
    return 2e-9 * 1e30 * h * c * c / (l2 * l2 * l * (exp(x) - 1));
}

namespace {
// The density is A / cosh^2(B (l - 538)), its integral (A / B) tanh(B (l - 538))
constexpr double B = 0.0072, Peak = 538;
double edge(double l) { return std::tanh(B * (l - Peak)); }
} // namespace

Float sample_wavelength(const Float &u) {
    double low = edge(WavelengthMin), high = edge(WavelengthMax);
    Float t = fma(u, high - low, low);
    Float l = Peak + (0.5 / B) * log((1 + t) / (1 - t)); // atanh
    return clamp(l, WavelengthMin, WavelengthMax);
}

Float sample_wavelength_pdf(const Float &wavelength) {
    double scale = B / (edge(WavelengthMax) - edge(WavelengthMin));
    Float pdf = scale * rcp(sqr(cosh(B * (wavelength - Peak))));
    return select((wavelength >= WavelengthMin) & (wavelength <= WavelengthMax), pdf, 0);
}

} // namespace umbel
