// support/scattering.h: directions and numbers for tests of what scatters light, and how their results are compared.
#pragma once
#include "support/scenes.h"

namespace umbel::test {

inline Vector3 opaque_direction(const std::array<double, 3> &w) {
    double n = std::hypot(w[0], w[1], w[2]);
    return { opaque_float(w[0] / n), opaque_float(w[1] / n), opaque_float(w[2] / n) };
}

/// Many directions, uniform on the sphere; none within 3 degrees of the plane z = 0, where roundings grow.
inline Vector3 many_directions(uint64_t seed, size_t n) {
    std::vector<double> u = uniform_numbers(seed, n), v = uniform_numbers(seed + 1, n);
    std::array<std::vector<double>, 3> w;
    for (size_t i = 0; i < n; ++i) {
        double z = 2 * u[i] - 1;
        z = z < 0 ? std::lerp(-0.05, -1, -z) : std::lerp(0.05, 1, z);
        double r = std::sqrt(1 - z * z);
        w[0].push_back(r * std::cos(2 * Pi * v[i]));
        w[1].push_back(r * std::sin(2 * Pi * v[i]));
        w[2].push_back(z);
    }
    return { make(w[0]), make(w[1]), make(w[2]) };
}

/// What sampling takes.
struct Numbers {
    Float u1;
    Vector2 u2;
};
inline Numbers many_numbers(uint64_t seed, size_t n) {
    return { make(uniform_numbers(seed, n)),
             { make(uniform_numbers(seed + 1, n)), make(uniform_numbers(seed + 2, n)) } };
}

/// All numbers of a spectrum, channel after channel, as many as there are lanes.
inline std::vector<double> all_numbers(const Spectrum &s, size_t lanes) {
    std::vector<double> out;
    compute(s);
    for (const Float &v : s.c) {
        std::vector<double> c = read_floats(v);
        out.insert(out.end(), c.size() == 1 ? lanes : 1, c[0]);
        out.insert(out.end(), c.begin() + 1, c.end());
    }
    return out;
}

/// Relative to the size of what is compared, and with an absolute part for where that is nothing.
inline void expect_equal(const std::string &what, const std::vector<double> &got,
                         const std::vector<double> &want, double tolerance) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i)
        if (!(std::abs(got[i] - want[i]) <= tolerance * (std::abs(want[i]) + 0.01))) {
            ADD_FAILURE() << what << ", number " << i << ": " << got[i] << " instead of " << want[i]
                          << ", variant " << variant().name;
            return;
        }
}
/// Of values that were computed in two ways.
inline double scattering_tolerance() { return variant().double_precision ? 1e-7 : 5e-3; }

} // namespace umbel::test
