// support/chi2.h: Pearson's chi-square test of samples against their density, in one call.
//
//     expect_chi2_sphere("cosine", square_to_cosine_hemisphere, square_to_cosine_hemisphere_pdf);
//
// Samples are counted in the bins of a grid over the domain; how many are expected comes from integrating the
// density over each bin. Bins that expect fewer than 5 are pooled. The density must also integrate to 1.
#pragma once
#include "core/vector.h"
#include <functional>
#include <string>
#include <vector>

namespace umbel::test {

/// An array in the variant's precision, and back.
Float make(const std::vector<double> &values);
std::vector<double> values(const Float &f);
/// n independent numbers in [0, 1), exact in single precision.
std::vector<double> uniform_numbers(uint64_t seed, size_t n);

/// Upper tail of the chi-square distribution.
double chi2_tail(double chi2, double degrees);
/// Probability of counts at least as far from what is expected; 0 where something impossible was counted.
double chi2_p_value(const std::vector<double> &observed, const std::vector<double> &expected);
/// `p_value` against a significance of 1 % over `tests` tests together (Sidak).
void expect_p_value(const std::string &what, double p_value, int tests = 1);

struct Chi2 {
    double x0 = 0, x1 = 1, y0 = 0, y1 = 1; // the domain
    size_t nx = 24, ny = 24;               // bins
    size_t samples = 400000;
    size_t subdivisions = 16; // points a side at which the density is evaluated in each bin
    uint64_t seed = 1;
    int tests = 40;  // about as many as a suite has: see expect_p_value()
    double mass = 1; // what the density integrates to in the domain
    double mass_tolerance = 2e-3;
    bool mass_is_estimate = false; // from samples: what is 1 may be a little less
};
using Sample2 = std::function<Vector2(const Vector2 &u)>;
using Pdf2 = std::function<Float(const Vector2 &p)>;
/// Samples of a rectangle. Those outside of it count as one more bin, which expects 1 - mass, unless that is too little to
/// tell from the error of the integral.
void expect_chi2(const std::string &what, const Sample2 &sample, const Pdf2 &pdf, const Chi2 &o);

/// Samples of an interval.
void expect_chi2_1d(const std::string &what, const std::function<Float(const Float &u)> &sample,
                    const std::function<Float(const Float &x)> &pdf, double low, double high,
                    Chi2 o = {});

/// Directions, in bins of azimuth and z; `o.y0` is the least z that is looked at.
void expect_chi2_sphere(const std::string &what,
                        const std::function<Vector3(const Vector2 &u)> &sample,
                        const std::function<Float(const Vector3 &v)> &pdf,
                        Chi2 o = { .y0 = -1, .y1 = 1 });

/// Directions of which some are none, such as samples of delta lobes: in bins of azimuth and polar angle, which resolve
/// narrow lobes anywhere. The density integrates to the part of the samples that are valid.
struct ValidDirection {
    Vector3 d;
    Mask valid;
};
void expect_chi2_directions(const std::string &what,
                            const std::function<ValidDirection(const Vector2 &u)> &sample,
                            const std::function<Float(const Vector3 &v)> &pdf,
                            Chi2 o = { .nx = 32, .ny = 48 });

} // namespace umbel::test
