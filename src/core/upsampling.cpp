// core/upsampling.cpp: see core/upsampling.h.
#include "core/upsampling.h"
#include "core/cie_data.h"
#include "core/spectrum.h"
#include "core/upsampling_fit.h"
#include <algorithm>
#include <cmath>

// 9 MB of floats, made by src/tables/make_upsampling_table.cpp, go from the file into the object as they are:
// as C++ they would take longer to compile than to compute.
asm(".section .rodata\n"
    ".balign 64\n"
    "umbel_upsampling_table:\n"
    ".incbin \"" UMBEL_UPSAMPLING_TABLE "\"\n"
    ".previous\n");
extern "C" __attribute__((visibility("hidden"))) const float umbel_upsampling_table[];

namespace umbel {

namespace {

constexpr size_t N = UpsamplingResolution;

const std::array<double, N> &grid() {
    static const std::array<double, N> g = [] {
        std::array<double, N> out;
        for (size_t i = 0; i < N; ++i)
            out[i] = upsampling_grid(i);
        return out;
    }();
    return g;
}

/// The layer of the table that a number of [0, 1] lies in, but the last: there is one above it.
size_t layer_of(double z) {
    constexpr size_t Places = 1024; // at most of which the search begins
    static const std::array<uint8_t, Places + 1> starts = [] {
        std::array<uint8_t, Places + 1> out{};
        for (size_t i = 0, layer = 0; i <= Places; out[i++] = uint8_t(layer))
            while (layer + 2 < N && grid()[layer + 1] <= double(i) / Places)
                ++layer;
        return out;
    }();
    static_assert(N <= 256);
    size_t layer = starts[size_t(z * Places)];
    while (layer + 2 < N && grid()[layer + 1] <= z)
        ++layer;
    return layer;
}

/// To [0, 1]; NaN becomes 0.
Colour3 clamped(const Colour3 &colour) {
    Colour3 out;
    for (size_t i = 0; i < 3; ++i)
        out[i] = colour[i] > 0 ? std::min(colour[i], 1.0) : 0;
    return out;
}

/// Wavelength to [-1, 1], which keeps single precision from cancelling.
constexpr double Middle = 0.5 * (WavelengthMin + WavelengthMax),
                 Scale = 2 / (WavelengthMax - WavelengthMin);

} // namespace

Colour3 rgb_to_coefficients(const Colour3 &colour) {
    Colour3 rgb = clamped(colour), start = table_coefficients(rgb);
    if (rgb[0] == rgb[1] && rgb[1] == rgb[2])
        return start; // exact already
    return fit_upsampling(rgb, start).coefficients;
}

Colour3 table_coefficients(const Colour3 &colour) {
    Colour3 rgb = clamped(colour);
    size_t largest = size_t(std::max_element(rgb.begin(), rgb.end()) - rgb.begin());
    double z = rgb[largest];
    if (z == rgb[(largest + 1) % 3] && z == rgb[(largest + 2) % 3]) {
        // Grey: x / (2 sqrt(1 + x^2)) = z - 1/2 has a solution that needs no table
        double s = std::clamp(z, 1e-6, 1 - 1e-6);
        return { 0, 0, (s - 0.5) / std::sqrt(s * (1 - s)) };
    }

    // The cell, and where in it; z > 0 here
    double scale = double(N - 1) / z;
    double x = rgb[(largest + 1) % 3] * scale, y = rgb[(largest + 2) % 3] * scale;
    size_t xi = std::min(size_t(x), N - 2), yi = std::min(size_t(y), N - 2), zi = layer_of(z);
    double tx = x - double(xi), ty = y - double(yi),
           tz = (z - grid()[zi]) / (grid()[zi + 1] - grid()[zi]);

    // Along x, then y, then z
    const float *first = umbel_upsampling_table + (((largest * N + zi) * N + yi) * N + xi) * 3;
    Colour3 out;
    for (size_t i = 0; i < 3; ++i) {
        auto along_x = [&](const float *c) {
            return double(c[i]) + tx * (double(c[i + 3]) - double(c[i]));
        };
        auto along_y = [&](const float *c) {
            double a = along_x(c);
            return a + ty * (along_x(c + 3 * N) - a);
        };
        double a = along_y(first);
        out[i] = a + tz * (along_y(first + 3 * N * N) - a);
    }
    return out;
}

Vector3 table_coefficients(const Vector3 &colour) {
    auto unit = [](const Float &v) { return clamp(v, 0, 1); };
    Float r = unit(colour.x), g = unit(colour.y), b = unit(colour.z);
    Mask red = (r >= g) & (r >= b), green = (!red) & (g >= b);
    Float z = select(red, r, select(green, g, b));
    Float inv = rcp(max(z, 1e-6)) * double(N - 1);
    Float x = select(red, g, select(green, b, r)) * inv,
          y = select(red, b, select(green, r, g)) * inv;
    auto cell = [](const Float &v) { return clamp(floor(v), 0, double(N - 2)); };
    Float xi = cell(x), yi = cell(y);

    // The grid along z is uneven: its cell is found by trying all
    Float tz(0);
    UInt32 layer(0u);
    for (size_t i = 0; i + 1 < N; ++i) {
        Mask beyond = z >= grid()[i];
        layer = select(beyond, UInt32(uint32_t(i)), layer);
        tz = select(beyond, (z - grid()[i]) * (1 / (grid()[i + 1] - grid()[i])), tz);
    }
    Value table = jit::constant_table(jit::Type::F32, umbel_upsampling_table, UpsamplingSize);
    UInt32 largest = select(red, UInt32(0u), select(green, UInt32(1u), UInt32(2u)));
    UInt32 n(uint32_t{ N }), first = ((largest * n + layer) * n + to_uint(yi)) * n + to_uint(xi);
    Vector3 out(Float(0));
    Float tx = x - xi, ty = y - yi;
    for (uint32_t corner = 0; corner < 8; ++corner) {
        uint32_t dx = corner & 1, dy = corner >> 1 & 1, dz = corner >> 2;
        Float w = (dx ? tx : 1 - tx) * (dy ? ty : 1 - ty) * (dz ? tz : 1 - tz);
        UInt32 at = (first + UInt32(uint32_t((dz * N + dy) * N + dx))) * UInt32(3u);
        auto c = [&](uint32_t i) {
            return Float(
                jit::cast(variant().float_type(), jit::gather(table, at + UInt32(i), Mask(true))));
        };
        out = out + Vector3(c(0), c(1), c(2)) * w;
    }
    return out;
}

double eval_coefficients(const Colour3 &c, double wavelength) {
    double l = (wavelength - Middle) * Scale, x = (c[0] * l + c[1]) * l + c[2];
    return 0.5 + 0.5 * x / std::sqrt(1 + x * x);
}

Float eval_coefficients(const Vector3 &c, const Float &wavelength) {
    Float l = (wavelength - Middle) * Scale, x = fma(fma(c.x, l, c.y), l, c.z);
    return fma(0.5 * x, rsqrt(fma(x, x, 1)), 0.5);
}

// By the midpoint rule. Half as many places leave an error of 3e-4 for saturated colours, whose spectra are steep.
Float mean_of_coefficients(const Vector3 &c) {
    const int n = 64;
    Float sum = 0;
    for (int i = 0; i < n; ++i)
        sum += eval_coefficients(c, Float(std::lerp(MinWavelength, MaxWavelength, (i + 0.5) / n)));
    return sum * (1.0 / n);
}

UnboundedCoefficients rgb_to_unbounded(const Colour3 &rgb) {
    double scale = 2 * std::max({ rgb[0], rgb[1], rgb[2], 0.0 });
    if (!(scale > 0))
        return { rgb_to_coefficients({ 0, 0, 0 }), 0 };
    return { rgb_to_coefficients({ rgb[0] / scale, rgb[1] / scale, rgb[2] / scale }), scale };
}

} // namespace umbel
