// core/quadrature.h: rules for integrals over [-1, 1].
#pragma once
#include <cstddef>
#include <vector>

namespace umbel {

struct Quadrature {
    std::vector<double> nodes, weights; // nodes ascend
};

/// Exact for polynomials of degree 2 n - 1.
Quadrature gauss_legendre(size_t n);
/// With both ends among its n >= 2 nodes; exact for degree 2 n - 3.
Quadrature gauss_lobatto(size_t n);
/// Parabolas through three neighbours; n is odd and at least 3. Exact for degree 3.
Quadrature composite_simpson(size_t n);
/// Cubics through four neighbours; n - 1 is a multiple of 3. Exact for degree 3.
Quadrature composite_simpson_38(size_t n);
/// Roots of the n-th Chebyshev polynomial: where to interpolate.
std::vector<double> chebyshev(size_t n);

} // namespace umbel
