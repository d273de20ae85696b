// support/tensor_files.h: files of arrays, and of made-up measured materials; see core/tensor_file.h.
#pragma once
#include "core/float.h"
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace umbel::test {

struct TensorField {
    std::string name;
    std::vector<size_t> shape;
    std::vector<double> values;
    int type = 10; // 1: u8, 3: u16, 10: f32, 11: f64
};

inline std::string tensor_file(const std::vector<TensorField> &fields) {
    auto append = [](std::string &to, auto v) {
        to.append(reinterpret_cast<const char *>(&v), sizeof v);
    };
    size_t head_size = 18;
    for (const TensorField &f : fields)
        head_size += 2 + f.name.size() + 2 + 1 + 8 + 8 * f.shape.size();
    std::string head("tensor_file\0\1\0", 14), body;
    append(head, uint32_t(fields.size()));
    for (const TensorField &f : fields) {
        append(head, uint16_t(f.name.size()));
        head += f.name;
        append(head, uint16_t(f.shape.size()));
        append(head, uint8_t(f.type));
        append(head, uint64_t(head_size + body.size()));
        for (size_t n : f.shape)
            append(head, uint64_t(n));
        for (double v : f.values)
            switch (f.type) {
            case 1: append(body, uint8_t(v)); break;
            case 3: append(body, uint16_t(v)); break;
            case 10: append(body, float(v)); break;
            default: append(body, v);
            }
    }
    return head + body;
}

/// Facets of a GGX surface, in colours that are noise; anisotropic where there are more than two azimuths.
inline std::vector<TensorField> measured_fields(const std::vector<double> &phi_i) {
    std::mt19937 rng(7);
    auto noise = [&](size_t n, double low, double high) {
        std::vector<double> v(n);
        for (double &x : v)
            x = low + (high - low) * double(rng() % 1024) / 1023;
        return v;
    };
    std::vector<double> theta_i = { 0, 0.4, 0.8, 1.2, 1.55 }, wavelengths = { 400, 500, 600, 700 };
    const size_t width = 9, height = 7, n = 5;
    auto theta = [&](size_t i) {
        double u = double(i) / double(width - 1);
        return u * u * Pi / 2;
    };
    bool turns = phi_i.size() > 2;
    auto d = [&](double t, double phi) {
        double alpha2 = turns ? 0.25 + 0.1 * std::cos(2 * phi) : 0.25,
               c2 = std::cos(t) * std::cos(t);
        return alpha2 / (Pi * std::pow(1 + (alpha2 - 1) * c2, 2));
    };
    std::vector<double> normals, sigma, visible;
    for (size_t y = 0; y < height; ++y)
        for (size_t x = 0; x < width; ++x) {
            normals.push_back(d(theta(x), (2 * double(y) / double(height - 1) - 1) * Pi));
            sigma.push_back(0.2 + 0.8 * std::cos(theta(x)));
        }
    for (double phi : phi_i)
        for (double t : theta_i)
            for (size_t y = 0; y < height; ++y)
                for (size_t x = 0; x < width; ++x) {
                    double phi_m = (2 * double(y) / double(height - 1) - 1) * Pi, s = theta(x);
                    double towards =
                        std::sin(t) * std::sin(s) * std::cos(phi_m - (turns ? phi : 0)) +
                        std::cos(t) * std::cos(s);
                    visible.push_back(normals[y * width + x] * std::max(towards, 0.0) *
                                          std::sin(s) * double(x) +
                                      1e-3);
                }
    size_t p = phi_i.size(), q = theta_i.size();
    return { { "jacobian", { 1 }, { 1 }, 1 },
             { "phi_i", { p }, phi_i },
             { "theta_i", { q }, theta_i },
             { "wavelengths", { 4 }, wavelengths },
             { "ndf", { height, width }, normals },
             { "sigma", { height, width }, sigma },
             { "vndf", { p, q, height, width }, visible },
             { "luminance", { p, q, n, n }, noise(p * q * n * n, 1, 1.5) },
             { "spectra", { p, q, 4, n, n }, noise(p * q * 4 * n * n, 0.1, 0.25) } };
}
inline std::string measured_file(const std::vector<double> &phi_i) {
    return tensor_file(measured_fields(phi_i));
}

/// Matrices that are noise, of a material that depolarizes for the most part.
inline std::vector<TensorField> measured_polarized_fields() {
    std::mt19937 rng(9);
    auto angles = [](double low, double high, size_t n) {
        std::vector<double> v;
        for (size_t i = 0; i < n; ++i)
            v.push_back(std::lerp(low, high, double(i) / double(n - 1)));
        return v;
    };
    std::vector<double> m;
    for (size_t i = 0; i < 9 * 5 * 6 * 5 * 16; ++i)
        m.push_back((i % 16 == 0 ? 0.1 : 0) + 0.05 * (double(rng() % 1024) / 512 - 1));
    return { { "phi_d", { 1, 9 }, angles(-Pi, Pi, 9) },
             { "theta_d", { 1, 5 }, angles(0, Pi / 2, 5) },
             { "theta_h", { 1, 6 }, angles(0, Pi / 2, 6) },
             { "wvls", { 5 }, { 450, 500, 550, 600, 650 }, 3 },
             { "M", { 9, 5, 6, 5, 4, 4 }, m } };
}
inline std::string measured_polarized_file() { return tensor_file(measured_polarized_fields()); }

} // namespace umbel::test
