// core/colour.cpp: see core/colour.h.
#include "core/colour.h"
#include <cmath>

namespace umbel {

double srgb_encode(double v) {
    double a = std::abs(v);
    return std::copysign(a <= 0.0031308 ? 12.92 * a : 1.055 * std::pow(a, 1 / 2.4) - 0.055, v);
}

double srgb_decode(double v) {
    double a = std::abs(v);
    return std::copysign(a <= 0.04045 ? a / 12.92 : std::pow((a + 0.055) / 1.055, 2.4), v);
}

Colour3 multiply(const ColourMatrix &m, const Colour3 &v) {
    Colour3 out;
    for (size_t i = 0; i < 3; ++i)
        out[i] = m[i][0] * v[0] + m[i][1] * v[1] + m[i][2] * v[2];
    return out;
}

ColourMatrix inverse(const ColourMatrix &m) {
    ColourMatrix out;
    for (size_t i = 0; i < 3; ++i) // transposed cofactors
        for (size_t j = 0; j < 3; ++j) {
            size_t r = (j + 1) % 3, s = (j + 2) % 3, c = (i + 1) % 3, d = (i + 2) % 3;
            out[i][j] = m[r][c] * m[s][d] - m[r][d] * m[s][c];
        }
    double det = m[0][0] * out[0][0] + m[0][1] * out[1][0] + m[0][2] * out[2][0];
    for (Colour3 &row : out)
        for (double &v : row)
            v /= det;
    return out;
}

const Colour3 &white_xyz() {
    static const Colour3 white = xyy_to_xyz({ 0.3127, 0.3290, 1 });
    return white;
}

const ColourMatrix &srgb_to_xyz_matrix() {
    static const ColourMatrix matrix = [] {
        // Columns are the primaries, scaled such that (1, 1, 1) is white
        constexpr double X[] = { 0.64, 0.30, 0.15 }, Y[] = { 0.33, 0.60, 0.06 };
        ColourMatrix m;
        for (size_t i = 0; i < 3; ++i) {
            m[0][i] = X[i];
            m[1][i] = Y[i];
            m[2][i] = 1 - X[i] - Y[i];
        }
        Colour3 scale = multiply(inverse(m), white_xyz());
        for (Colour3 &row : m)
            for (size_t i = 0; i < 3; ++i)
                row[i] *= scale[i];
        return m;
    }();
    return matrix;
}

const ColourMatrix &xyz_to_srgb_matrix() {
    static const ColourMatrix matrix = inverse(srgb_to_xyz_matrix());
    return matrix;
}

Colour3 srgb_to_xyz(const Colour3 &rgb) { return multiply(srgb_to_xyz_matrix(), rgb); }
Colour3 xyz_to_srgb(const Colour3 &xyz) { return multiply(xyz_to_srgb_matrix(), xyz); }

double luminance(const Colour3 &rgb) {
    const Colour3 &y = srgb_to_xyz_matrix()[1];
    return y[0] * rgb[0] + y[1] * rgb[1] + y[2] * rgb[2];
}

Colour3 xyz_to_xyy(const Colour3 &c) {
    double sum = c[0] + c[1] + c[2];
    if (sum == 0) // black has the chromaticity of white
        return { 0.3127, 0.3290, 0 };
    return { c[0] / sum, c[1] / sum, c[1] };
}

Colour3 xyy_to_xyz(const Colour3 &c) {
    if (c[1] == 0)
        return { 0, 0, 0 };
    return { c[0] / c[1] * c[2], c[2], (1 - c[0] - c[1]) / c[1] * c[2] };
}

namespace {
constexpr double Delta = 6.0 / 29; // where the cube root gives way to its tangent
double lab_f(double t) {
    return t > Delta * Delta * Delta ? std::cbrt(t) : t / (3 * Delta * Delta) + 4.0 / 29;
}
double lab_f_inverse(double f) {
    return f > Delta ? f * f * f : 3 * Delta * Delta * (f - 4.0 / 29);
}
} // namespace

Colour3 xyz_to_lab(const Colour3 &c, const Colour3 &white) {
    double x = lab_f(c[0] / white[0]), y = lab_f(c[1] / white[1]), z = lab_f(c[2] / white[2]);
    return { 116 * y - 16, 500 * (x - y), 200 * (y - z) };
}

Colour3 lab_to_xyz(const Colour3 &c, const Colour3 &white) {
    double y = (c[0] + 16) / 116, x = y + c[1] / 500, z = y - c[2] / 200;
    return { lab_f_inverse(x) * white[0], lab_f_inverse(y) * white[1],
             lab_f_inverse(z) * white[2] };
}

} // namespace umbel
