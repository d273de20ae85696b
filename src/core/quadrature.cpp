// core/quadrature.cpp: see core/quadrature.h.
#include "core/quadrature.h"
#include "jit/error.h"
#include <algorithm>
#include <cmath>
#include <numbers>

namespace umbel {
namespace {

struct Legendre {
    double p, previous, derivative; // P_n(x), P_(n-1)(x), P_n'(x)

    // (k + 1) P_(k+1) = (2 k + 1) x P_k - k P_(k-1);  (x^2 - 1) P_n' = n (x P_n - P_(n-1))
    Legendre(size_t n, double x) : p(1), previous(0) {
        for (size_t k = 0; k < n; ++k) {
            double next = (double(2 * k + 1) * x * p - double(k) * previous) / double(k + 1);
            previous = p;
            p = next;
        }
        derivative = double(n) * (x * p - previous) / (x * x - 1);
    }
};

Quadrature composite(size_t n, size_t span, const char *name, std::vector<double> pattern) {
    if (n < span + 1 || (n - 1) % span != 0)
        fail("{} of {} points; the number must be 1 more than a multiple of {}", name, n, span);
    Quadrature q{ std::vector<double>(n), std::vector<double>(n, 0) };
    double h = 2 / double(n - 1);
    for (size_t i = 0; i < n; ++i)
        q.nodes[i] = 2 * double(i) / double(n - 1) - 1;
    for (size_t first = 0; first + 1 < n; first += span)
        for (size_t i = 0; i <= span; ++i)
            q.weights[first + i] += h * pattern[i];
    return q;
}

// The left half of the nodes is the mirror image of the right one.
void mirror(Quadrature &q) {
    size_t n = q.nodes.size();
    for (size_t i = 0; i < n / 2; ++i) {
        q.nodes[i] = -q.nodes[n - 1 - i];
        q.weights[i] = q.weights[n - 1 - i];
    }
}

} // namespace

Quadrature gauss_legendre(size_t n) {
    if (n < 1)
        fail("Gauss-Legendre quadrature needs at least one point");
    Quadrature q{ std::vector<double>(n), std::vector<double>(n) };
    for (size_t i = n / 2; i < n; ++i) {
        // Newton's method from the root of a Chebyshev polynomial that lies close by
        double x = -std::cos(std::numbers::pi * (double(i) + 0.75) / (double(n) + 0.5));
        if (n % 2 == 1 && i == n / 2)
            x = 0;
        for (int step = 0; step < 20; ++step) {
            Legendre l(n, x);
            double change = l.p / l.derivative;
            x -= change;
            if (std::abs(change) < 1e-15)
                break;
        }
        double d = Legendre(n, x).derivative;
        q.nodes[i] = x;
        q.weights[i] = 2 / ((1 - x * x) * d * d);
    }
    mirror(q);
    return q;
}

Quadrature gauss_lobatto(size_t n) {
    if (n < 2)
        fail("Gauss-Lobatto quadrature needs at least two points");
    Quadrature q{ std::vector<double>(n), std::vector<double>(n) };
    double last = double(n - 1), ends = 2 / (last * double(n));
    q.nodes[n - 1] = 1;
    q.weights[n - 1] = ends;
    for (size_t i = n / 2; i + 1 < n; ++i) {
        // Roots of P' for P of degree n - 1; (1 - x^2) P'' = 2 x P' - (n - 1) n P
        // Newton's method from an asymptotic formula for roots near 1
        double k = double(n - 1 - i) + 0.25;
        double x = std::cos(k * std::numbers::pi / last - 3 / (8 * last * std::numbers::pi * k));
        if (n % 2 == 1 && i == n / 2)
            x = 0;
        for (int step = 0; step < 50; ++step) {
            Legendre l(n - 1, x);
            double second = (2 * x * l.derivative - last * double(n) * l.p) / (1 - x * x);
            double change = l.derivative / second;
            x -= change;
            if (std::abs(change) < 1e-15)
                break;
        }
        double p = Legendre(n - 1, x).p;
        q.nodes[i] = x;
        q.weights[i] = ends / (p * p);
    }
    mirror(q);
    return q;
}

Quadrature composite_simpson(size_t n) {
    return composite(n, 2, "Simpson's rule", { 1.0 / 3, 4.0 / 3, 1.0 / 3 });
}

Quadrature composite_simpson_38(size_t n) {
    return composite(n, 3, "Simpson's 3/8 rule", { 3.0 / 8, 9.0 / 8, 9.0 / 8, 3.0 / 8 });
}

std::vector<double> chebyshev(size_t n) {
    std::vector<double> x(n);
    for (size_t i = 0; i < n; ++i)
        x[i] = -std::cos(std::numbers::pi * (double(i) + 0.5) / double(n));
    return x;
}

} // namespace umbel
