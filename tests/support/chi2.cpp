// support/chi2.cpp: see support/chi2.h.
#include "support/chi2.h"
#include "core/host_array.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

namespace umbel::test {

Float make(const std::vector<double> &v) { return float_array(v); }
std::vector<double> values(const Float &f) { return read_floats(f); }

std::vector<double> uniform_numbers(uint64_t seed, size_t n) {
    std::mt19937_64 rng(seed);
    std::vector<double> out(n);
    for (double &x : out)
        x = double(rng() >> 40) * 0x1p-24;
    return out;
}

/// Regularized incomplete gamma function Q(a, x): series below a + 1, continued fraction (Lentz) above.
static double gamma_q(double a, double x) {
    if (x <= 0)
        return 1;
    double front = std::exp(a * std::log(x) - x - std::lgamma(a));
    if (x < a + 1) {
        double term = 1 / a, sum = term;
        for (double k = a + 1; std::abs(term) > 1e-16 * sum; ++k)
            sum += term *= x / k;
        return 1 - front * sum;
    }
    double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
    for (int i = 1; i < 100000; ++i) {
        double an = -i * (i - a);
        b += 2;
        d = 1 / (an * d + b);
        c = b + an / c;
        h *= d * c;
        if (std::abs(d * c - 1) < 1e-15)
            break;
    }
    return front * h;
}

double chi2_tail(double chi2, double degrees) { return gamma_q(degrees / 2, chi2 / 2); }

double chi2_p_value(const std::vector<double> &observed, const std::vector<double> &expected) {
    std::vector<size_t> order(expected.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return expected[a] < expected[b]; });
    double chi2 = 0, pool_o = 0, pool_e = 0;
    int cells = 0;
    auto count = [&](double o, double e) {
        chi2 += (o - e) * (o - e) / e;
        ++cells;
    };
    for (size_t i : order) {
        if (expected[i] <= 0 && observed[i] > 0)
            return 0;
        if (pool_e >= 5 || (pool_e == 0 && pool_o == 0 && expected[i] >= 5)) {
            count(observed[i], expected[i]);
            continue;
        }
        pool_o += observed[i];
        pool_e += expected[i];
        if (pool_e >= 5)
            count(pool_o, pool_e);
    }
    if (pool_e > 0 && pool_e < 5)
        count(pool_o, std::max(pool_e, 1e-12));
    return cells > 1 ? chi2_tail(chi2, cells - 1) : 1;
}

void expect_p_value(const std::string &what, double p_value, int tests) {
    double significance = 1 - std::pow(1 - 0.01, 1.0 / tests);
    EXPECT_GE(p_value, significance) << what << " (variant " << variant().name << ")";
}

void expect_chi2(const std::string &what, const Sample2 &sample, const Pdf2 &pdf, const Chi2 &o) {
    // Count
    Vector2 p = sample({ make(uniform_numbers(2 * o.seed, o.samples)),
                         make(uniform_numbers(2 * o.seed + 1, o.samples)) });
    std::vector<double> x = values(p.x), y = values(p.y);
    size_t bins = o.nx * o.ny;
    std::vector<double> observed(bins + 1, 0), expected(bins + 1, 0); // and one for all outside
    auto bin = [](double v, double a, double b, size_t n) {
        return std::min(n - 1, size_t((v - a) / (b - a) * double(n)));
    };
    for (size_t i = 0; i < o.samples; ++i) {
        double px = x[x.size() == 1 ? 0 : i], py = y[y.size() == 1 ? 0 : i];
        ASSERT_TRUE(std::isfinite(px) && std::isfinite(py))
            << what << ", variant " << variant().name << ", seed " << o.seed << ", sample " << i;
        bool inside = px >= o.x0 && px <= o.x1 && py >= o.y0 && py <= o.y1;
        observed[inside ? bin(py, o.y0, o.y1, o.ny) * o.nx + bin(px, o.x0, o.x1, o.nx) : bins] += 1;
    }

    // Integrate, ever finer until no bin changes by what samples could tell
    double mass = 0;
    auto integrate = [&](size_t s) {
        std::vector<double> out(bins + 1, 0);
        size_t columns = o.nx * s, rows = o.ny * s;
        double dx = (o.x1 - o.x0) / double(columns), dy = (o.y1 - o.y0) / double(rows);
        // One point in each subdivision, two of them together by Gauss's rule
        auto point = [&](size_t i) {
            double off = s % 2 ? 0 : 0.5 - std::sqrt(1.0 / 3); // from the centre, of the first one
            return double(i) + 0.5 + (i % 2 ? -off : off);
        };
        size_t chunk = std::max<size_t>(1, (size_t(1) << 20) / columns);
        mass = 0;
        for (size_t first = 0; first < rows; first += chunk) {
            size_t n = std::min(chunk, rows - first);
            std::vector<double> gx(n * columns), gy(n * columns);
            for (size_t i = 0; i < gx.size(); ++i) {
                gx[i] = o.x0 + point(i % columns) * dx;
                gy[i] = o.y0 + point(first + i / columns) * dy;
            }
            std::vector<double> f = values(pdf({ make(gx), make(gy) }));
            for (size_t i = 0; i < gx.size(); ++i) {
                double v = f[f.size() == 1 ? 0 : i] * dx * dy;
                if (!(v >= 0)) {
                    ADD_FAILURE() << what << ": a negative density, or none, at (" << gx[i] << ", "
                                  << gy[i] << ")";
                    return out;
                }
                mass += v;
                out[(first + i / columns) / s * o.nx + i % columns / s] += v * double(o.samples);
            }
        }
        return out;
    };
    size_t s = std::max<size_t>(1, o.subdivisions / 2);
    expected = integrate(s);
    for (bool settled = false; !settled && s < 4 * o.subdivisions;) {
        std::vector<double> finer = integrate(s *= 2);
        settled = true;
        for (size_t i = 0; i < bins; ++i)
            settled &= std::abs(finer[i] - expected[i]) < 0.2 * std::sqrt(finer[i] + 5);
        expected = std::move(finer);
    }
    EXPECT_NEAR(mass, o.mass, o.mass_tolerance)
        << what << ": integral of the density (variant " << variant().name << ")";
    if (o.mass < 1 - o.mass_tolerance)
        expected[bins] = (1 - mass) * double(o.samples);
    else if (o.mass < 1 || o.mass_is_estimate)
        observed[bins] = 0;
    expect_p_value(what + ", seed " + std::to_string(o.seed), chi2_p_value(observed, expected),
                   o.tests);
}

void expect_chi2_1d(const std::string &what, const std::function<Float(const Float &)> &sample,
                    const std::function<Float(const Float &)> &pdf, double low, double high,
                    Chi2 o) {
    o.x0 = low;
    o.x1 = high;
    o.nx = 200;
    o.ny = 1;
    o.y0 = 0;
    o.y1 = 1;
    expect_chi2(
        what, [&](const Vector2 &u) { return Vector2{ sample(u.x), u.y }; },
        [&](const Vector2 &p) { return pdf(p.x); }, o);
}

void expect_chi2_sphere(const std::string &what,
                        const std::function<Vector3(const Vector2 &)> &sample,
                        const std::function<Float(const Vector3 &)> &pdf, Chi2 o) {
    o.x0 = -Pi;
    o.x1 = std::nextafter(Pi, 4);
    o.x0 = -o.x1;
    if (!variant().double_precision) // Pi rounds up
        o.x1 = double(float(Pi)), o.x0 = -o.x1;
    expect_chi2(
        what,
        [&](const Vector2 &u) {
            Vector3 v = sample(u);
            double eps = variant().double_precision ? 1e-12 : 1e-5;
            for (double n : values(norm(v))) {
                EXPECT_NEAR(n, 1, eps) << what << ": not a unit vector";
                if (testing::Test::HasFailure())
                    break;
            }
            return Vector2{ atan2(v.y, v.x), clamp(v.z, -1, 1) };
        },
        [&](const Vector2 &p) {
            Float r = safe_sqrt(1 - p.y * p.y);
            return pdf({ r * cos(p.x), r * sin(p.x), p.y });
        },
        o);
}

void expect_chi2_directions(const std::string &what,
                            const std::function<ValidDirection(const Vector2 &u)> &sample,
                            const std::function<Float(const Vector3 &v)> &pdf, Chi2 o) {
    double eps = variant().double_precision ? 1e-12 : 1e-5;
    auto draw = [&](const Vector2 &u) {
        ValidDirection s = sample(u);
        s.d = select(s.valid, s.d, Vector3(Float(0)));
        Float theta = select(s.valid, acos(clamp(s.d.z, -1, 1)), Float(-1)); // out of the domain
        for (double n : values(select(s.valid, norm(s.d), Float(1))))
            if (!(std::abs(n - 1) <= eps)) {
                ADD_FAILURE() << what << ": a vector of length " << n;
                break;
            }
        return Vector2{ atan2(s.d.y, s.d.x), theta };
    };
    // How many are valid, by numbers of their own
    std::vector<double> theta = values(draw({ make(uniform_numbers(2 * o.seed + 77, o.samples)),
                                              make(uniform_numbers(2 * o.seed + 78, o.samples)) })
                                           .y);
    double n = double(theta.size()),
           valid = n - double(std::count(theta.begin(), theta.end(), -1.0));
    o.mass = valid / n;
    o.mass_is_estimate = true;
    o.mass_tolerance += 4 * std::sqrt(o.mass * (1 - o.mass) / n);
    o.x1 = variant().double_precision ? std::nextafter(Pi, 4) : double(float(Pi)); // rounds up
    o.x0 = -o.x1;
    o.y0 = 0;
    o.y1 = o.x1;
    expect_chi2(
        what, draw,
        [&](const Vector2 &p) {
            Float r = sin(p.y);
            return pdf({ r * cos(p.x), r * sin(p.x), cos(p.y) }) * r;
        },
        o);
}

} // namespace umbel::test
