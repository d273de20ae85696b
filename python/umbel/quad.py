"""Rules for integrals over [-1, 1]: nodes and weights."""
from . import _core
from ._variant_types import resolve


def _rule(name, doc):
    def rule(n):
        nodes, weights = getattr(_core, name)(n)
        Float = resolve("Float")
        return Float(nodes), Float(weights)
    rule.__name__, rule.__doc__ = name, doc
    return rule


gauss_legendre = _rule("gauss_legendre", "Gauss-Legendre: exact for polynomials of degree 2 n - 1.")
gauss_lobatto = _rule("gauss_lobatto", "Gauss-Lobatto, with both ends among its nodes: exact for degree 2 n - 3.")
composite_simpson = _rule("composite_simpson", "Parabolas through three neighbours; n is odd.")
composite_simpson_38 = _rule("composite_simpson_38", "Cubics through four neighbours; n - 1 is a multiple of 3.")


def chebyshev(n):
    """Roots of Chebyshev's polynomial of degree n: where to interpolate."""
    return resolve("Float")(_core.chebyshev(n))
