# umbel/_optics.py: interfaces between media, smooth and rough.

from . import _core
from . import jit as dr
from ._core import fresnel, reflect, refract
from ._variant_types import resolve
from .jit._enum import NamedInt


def fresnel_polarized(cos_theta_i, eta):
    """(amplitude of s, of p, cosine of the refracted direction, relative index from and to the incident side) of a
    smooth interface of complex relative index eta."""
    complex2 = resolve("Complex2f")
    return tuple(complex2(*v) if isinstance(v, tuple) else v for v in _core.fresnel_polarized(cos_theta_i, eta))


def fresnel_conductor(cos_theta_i, eta, k=None):
    """Reflectance of a conductor of complex index eta (or eta + i k), unpolarized."""
    if k is None:
        eta, k = (dr.real(eta), dr.imag(eta)) if dr.is_complex_v(eta) or isinstance(eta, complex) else (eta, 0.0)
    return _core.fresnel_conductor(cos_theta_i, eta, k)


def fresnel_diffuse_reflectance(eta):
    """Mean reflectance of a smooth dielectric for light from all directions of the incident side: the integral of
    2 F(cos_theta) cos_theta over [0, 1], by Gauss-Legendre quadrature."""
    eta = resolve("Float")(eta)
    # From the denser side the integrand is 1 up to the critical angle's cosine: each part is smooth
    edge = dr.select(eta < 1, dr.safe_sqrt(1 - dr.square(eta)), 0.0)
    total = dr.square(edge)
    for x, w in zip(*_core.gauss_legendre(32)):
        t = 0.5 * (x + 1)  # squared, for the root at the edge
        c = dr.fma(1 - edge, t * t, edge)
        total += w * t * (1 - edge) * 2 * c * fresnel(c, eta)[0]
    return total


class MicrofacetType(NamedInt):
    """Families of microsurfaces."""
    Beckmann, GGX = range(2)


class MicrofacetDistribution:
    """Normals of a microsurface [Walter 2007], sampled by all or only by visible ones [Heitz 2018].
    MicrofacetDistribution(type, alpha, sample_visible) or (type, alpha_u, alpha_v, sample_visible)"""

    def __init__(self, type, *args, alpha=None, alpha_u=None, alpha_v=None, sample_visible=True):
        args = list(args)
        if args and isinstance(args[-1], bool):
            sample_visible = args.pop()
        if alpha is not None:
            args = [alpha]
        elif alpha_u is not None:
            args = [alpha_u, alpha_v]
        if len(args) not in (1, 2):
            raise TypeError("MicrofacetDistribution: give a type, one roughness or two, and sample_visible")
        self._type, self._visible = MicrofacetType[type] if isinstance(type, str) else MicrofacetType(type), sample_visible
        self._alpha = [resolve("Float")(a) for a in (args * 2)[:2]]
        self._isotropic = len(args) == 1
        self._make()

    def _make(self):
        self._core = _core.Microfacet(self._type.name.lower(), *self._alpha, self._visible)

    def type(self): return self._type
    def alpha(self): return self._alpha[0]
    def alpha_u(self): return self._alpha[0]
    def alpha_v(self): return self._alpha[1]
    def sample_visible(self): return self._visible
    def is_isotropic(self): return self._isotropic
    def is_anisotropic(self): return not self._isotropic

    def scale_alpha(self, value):
        """Multiplies both roughnesses."""
        self._alpha = [a * value for a in self._alpha]
        self._make()

    def eval(self, m):
        """Density of normals, per area of the surface and solid angle."""
        return self._core.eval(m)

    def pdf(self, wi, m):
        """Density with which sample() gives m."""
        return self._core.pdf(wi, m)

    def sample(self, wi, sample):
        """(normal, density)"""
        return self._core.sample(wi, sample)

    def sample_visible_11(self, cos_theta_i, sample):
        """The slopes of a visible normal where both roughnesses are 1, seen along (sin_theta_i, 0, cos_theta_i)."""
        F = resolve("Float")
        c = F(cos_theta_i)
        wi = resolve("Vector3f")(dr.safe_sqrt(1 - c * c), F(0), c)
        m, _ = _core.Microfacet(self._type.name.lower(), F(1), F(1), True).sample(wi, resolve("Point2f")(sample))
        return resolve("Vector2f")(-m.x / m.z, -m.y / m.z)

    def smith_g1(self, v, m):
        """Masking of one direction."""
        return self._core.smith_g1(v, m)

    def G(self, wi, wo, m):
        """Of both, uncorrelated."""
        return self._core.G(wi, wo, m)

    def __repr__(self):
        return f"MicrofacetDistribution[\n  type = {self._type.name},\n  alpha_u = {self._alpha[0]},\n" \
               f"  alpha_v = {self._alpha[1]},\n  sample_visible = {self._visible}\n]"


def eval_reflectance(type, alpha_u, alpha_v, wi, eta):
    """The part of light from directions wi that a rough interface reflects: over all microfacets that are seen from there,
    Fresnel's reflectance, and how visible they are on the way out."""
    nodes, weights = (resolve("Float")(v) for v in _core.gauss_legendre(32 if eta > 1 else 128))  # below 1 it has an edge
    count, n = dr.width(nodes), dr.width(wi)
    u, v = (dr.tile(0.5 * x + 0.5, n) for x in dr.meshgrid(nodes, nodes))
    w, other = (dr.tile(x, n) for x in dr.meshgrid(weights, weights))
    wi = dr.repeat(resolve("Vector3f")(wi), count * count)
    distribution = MicrofacetDistribution(type, alpha_u, alpha_v, True)
    m, _ = distribution.sample(wi, resolve("Point2f")(u, v))
    wo = reflect(wi, m)
    part = fresnel(dr.dot(wi, m), eta)[0] * distribution.smith_g1(wo, m)
    return 0.25 * dr.block_sum(dr.select(wo.z > 0, part, 0) * w * other, count * count)


__all__ = ["eval_reflectance", "fresnel", "fresnel_conductor", "fresnel_diffuse_reflectance", "fresnel_polarized", "reflect",
           "refract", "MicrofacetType", "MicrofacetDistribution"]
