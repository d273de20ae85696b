// core/upsampling_fit.cpp: Gauss-Newton on CIE Lab.
#include "core/upsampling_fit.h"
#include "core/cie_data.h"
#include <algorithm>
#include <cmath>

namespace umbel {

namespace {

constexpr double MaxCoefficient = 200; // beyond, the spectrum is a step for all that eyes can tell

/// Weights that integrate a spectrum times D65 and the colour matching functions, such that Y of D65 is 1. The
/// tables are linear between their wavelengths, the spectrum is a cubic through the four nearest: with
/// straight lines, colours would be off by 0.0003 on average.
struct Quadrature {
    double weight[3][CieCount] = {}, l[CieCount];
    Colour3 white = {};

    Quadrature() {
        // Gauss-Legendre with three points is exact for the product, of degree 5
        const double X = std::sqrt(0.6), nodes[] = { 0.5 - 0.5 * X, 0.5, 0.5 + 0.5 * X };
        const double gauss[] = { 5.0 / 18, 8.0 / 18, 5.0 / 18 };
        for (size_t i = 0; i + 1 < CieCount; ++i) {
            size_t first = std::clamp<size_t>(i, 1, CieCount - 3) - 1; // of the four
            for (int k = 0; k < 3; ++k) {
                double t = nodes[k], at = double(i - first) + t, lagrange[4];
                for (int m = 0; m < 4; ++m) {
                    lagrange[m] = 1;
                    for (int n = 0; n < 4; ++n)
                        if (n != m)
                            lagrange[m] *= (at - n) / (m - n);
                }
                for (size_t c = 0; c < 3; ++c) {
                    double w = gauss[k] * ((1 - t) * Cie1931[i][c] + t * Cie1931[i + 1][c]) *
                               ((1 - t) * D65Data[i] + t * D65Data[i + 1]);
                    for (size_t m = 0; m < 4; ++m)
                        weight[c][first + m] += w * lagrange[m];
                }
            }
        }
        for (size_t i = 0; i < CieCount; ++i) {
            l[i] = 2 * double(i) / double(CieCount - 1) - 1;
            for (size_t c = 0; c < 3; ++c)
                white[c] += weight[c][i];
        }
        double scale = 1 / white[1];
        for (size_t c = 0; c < 3; ++c) {
            white[c] *= scale;
            for (double &w : weight[c])
                w *= scale;
        }
    }
};

const Quadrature &quadrature() {
    static const Quadrature q;
    return q;
}

/// XYZ of a spectrum and its derivatives by the coefficients.
struct Evaluation {
    Colour3 xyz;
    ColourMatrix jacobian;
};

Evaluation evaluate(const Colour3 &c) {
    const Quadrature &q = quadrature();
    double sum[3] = {}, by[3][3] = {}; // by[channel][power of l]
    for (size_t i = 0; i < CieCount; ++i) {
        double l = q.l[i], x = (c[0] * l + c[1]) * l + c[2];
        double r = 1 / std::sqrt(1 + x * x), s = 0.5 + 0.5 * x * r, ds = 0.5 * r * r * r;
        for (int k = 0; k < 3; ++k) {
            double w = q.weight[k][i], d = w * ds;
            sum[k] += w * s;
            by[k][0] += d;
            by[k][1] += d * l;
            by[k][2] += d * l * l;
        }
    }
    Evaluation e;
    for (size_t k = 0; k < 3; ++k) {
        e.xyz[k] = sum[k];
        e.jacobian[k] = { by[k][2], by[k][1], by[k][0] };
    }
    return e;
}

/// Lab and its derivatives by XYZ, relative to D65 of the tables.
void to_lab(const Colour3 &xyz, Colour3 &lab, ColourMatrix &derivative) {
    const Colour3 &white = quadrature().white;
    lab = xyz_to_lab(xyz, white);
    double d[3];
    for (size_t i = 0; i < 3; ++i) { // of the cube root and its tangent
        double t = xyz[i] / white[i], edge = 6.0 / 29;
        d[i] = (t > edge * edge * edge ? 1 / (3 * std::cbrt(t * t)) : 1 / (3 * edge * edge)) /
               white[i];
    }
    derivative = {
        { { 0, 116 * d[1], 0 }, { 500 * d[0], -500 * d[1], 0 }, { 0, 200 * d[1], -200 * d[2] } }
    };
}

double squared(const Colour3 &v) { return v[0] * v[0] + v[1] * v[1] + v[2] * v[2]; }

} // namespace

double upsampling_grid(size_t i) {
    auto smooth = [](double x) { return x * x * (3 - 2 * x); };
    return smooth(smooth(double(i) / double(UpsamplingResolution - 1)));
}

UpsamplingFit fit_upsampling(const Colour3 &rgb, const Colour3 &start) {
    // Relative to the tables' white instead of the nominal one: greys get flat spectra
    Colour3 target_xyz = srgb_to_xyz(rgb), target;
    for (size_t i = 0; i < 3; ++i)
        target_xyz[i] *= quadrature().white[i] / white_xyz()[i];
    target = xyz_to_lab(target_xyz, quadrature().white);

    auto residual_of = [&](const Evaluation &e, Colour3 &residual, ColourMatrix &by_xyz) {
        Colour3 lab;
        to_lab(e.xyz, lab, by_xyz);
        for (size_t i = 0; i < 3; ++i)
            residual[i] = lab[i] - target[i];
        return squared(residual);
    };
    UpsamplingFit fit{ start, 0 };
    Colour3 residual;
    ColourMatrix by_xyz;
    Evaluation e = evaluate(fit.coefficients);
    double error = residual_of(e, residual, by_xyz), damping = 1e-6;
    for (int iteration = 0; iteration < 40 && error > 1e-10; ++iteration) {
        // Levenberg's step: (J^T J + damping diag) delta = J^T residual
        ColourMatrix j = {}, normal = {};
        Colour3 right = {};
        for (size_t r = 0; r < 3; ++r)
            for (size_t c = 0; c < 3; ++c)
                for (size_t k = 0; k < 3; ++k)
                    j[r][c] += by_xyz[r][k] * e.jacobian[k][c];
        for (size_t r = 0; r < 3; ++r)
            for (size_t c = 0; c < 3; ++c) {
                for (size_t k = 0; k < 3; ++k)
                    normal[r][c] += j[k][r] * j[k][c];
                right[r] += j[c][r] * residual[c];
            }
        bool better = false;
        for (int attempt = 0; attempt < 8 && !better; ++attempt) {
            ColourMatrix damped = normal;
            for (size_t i = 0; i < 3; ++i)
                damped[i][i] = normal[i][i] * (1 + damping) + 1e-14;
            Colour3 step = multiply(inverse(damped), right), next;
            double largest = 0;
            for (size_t i = 0; i < 3; ++i) {
                next[i] = fit.coefficients[i] - step[i];
                largest = std::max(largest, std::abs(next[i]));
            }
            if (largest > MaxCoefficient)
                for (double &v : next)
                    v *= MaxCoefficient / largest;
            Evaluation trial = evaluate(next);
            Colour3 trial_residual;
            ColourMatrix trial_by;
            double trial_error = residual_of(trial, trial_residual, trial_by);
            if (trial_error < error) { // false for NaN
                better = true;
                bool settled = trial_error > 0.9999 * error;
                fit.coefficients = next;
                e = trial;
                residual = trial_residual;
                by_xyz = trial_by;
                error = trial_error;
                damping = std::max(damping * 0.1, 1e-9);
                if (settled)
                    iteration = 1000;
            } else {
                damping = std::max(damping * 30, 1e-4);
            }
        }
        if (!better)
            break;
    }
    fit.error = std::sqrt(error);
    return fit;
}

ColourMatrix coefficients_by_rgb(const Colour3 &coefficients) {
    Evaluation e = evaluate(coefficients);
    ColourMatrix rgb_by_coefficients;
    for (size_t c = 0; c < 3; ++c) {
        Colour3 column;
        for (size_t k = 0; k < 3; ++k)
            column[k] = e.jacobian[k][c] * white_xyz()[k] / quadrature().white[k];
        column = xyz_to_srgb(column);
        for (size_t i = 0; i < 3; ++i)
            rgb_by_coefficients[i][c] = column[i];
    }
    return inverse(rgb_by_coefficients);
}

void fill_upsampling_row(size_t largest, size_t y, float *table) {
    constexpr size_t N = UpsamplingResolution;
    for (size_t x = 0; x < N; ++x) {
        // From the middle of the values to both ends, each fit starting from its neighbour's
        Colour3 middle = {};
        auto at = [&](size_t z, Colour3 &start) {
            double value = upsampling_grid(z);
            Colour3 rgb;
            rgb[largest] = value;
            rgb[(largest + 1) % 3] = value * double(x) / double(N - 1);
            rgb[(largest + 2) % 3] = value * double(y) / double(N - 1);
            start = fit_upsampling(rgb, start).coefficients;
            float *out = table + (((largest * N + z) * N + y) * N + x) * 3;
            for (size_t i = 0; i < 3; ++i)
                out[i] = float(start[i]);
        };
        constexpr size_t First = N / 5;
        at(First, middle);
        Colour3 c = middle;
        for (size_t z = First + 1; z < N; ++z)
            at(z, c);
        c = middle;
        for (size_t z = First; z-- > 0;)
            at(z, c);
    }
}

} // namespace umbel
