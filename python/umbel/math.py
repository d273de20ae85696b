"""Functions on numbers and arrays that scripts for light transport need."""
import builtins
import math as _math

from . import jit as dr
from ._variant_types import resolve


def __getattr__(name):
    # Lengths by which rays keep away from surfaces depend on the precision.
    eps = 2.0 ** (-53 if dr.itemsize_v(resolve("Float")) == 8 else -24)
    if name == "RayEpsilon":
        return 1500 * eps
    if name == "ShadowEpsilon":
        return 15000 * eps
    if name == "ShapeEpsilon":
        return 18.75 * eps
    raise AttributeError(f"umbel.math has no attribute '{name}'")


def is_power_of_two(n):
    """Whether an integer is a power of two."""
    return n > 0 and n & (n - 1) == 0


def round_to_power_of_two(n):
    """The next power of two, not below."""
    return 1 if n <= 1 else 1 << (n - 1).bit_length()


def ulpdiff(ref, value):
    """Distance of two numbers, in units of the last place of the first, in single precision."""
    ref, value = builtins.float(ref), builtins.float(value)
    if ref == 0:
        return abs(value) / 2.0 ** -149
    exponent = _math.frexp(ref)[1]
    return abs(ref - value) / 2.0 ** (exponent - 24)


def solve_quadratic(a, b, c):
    """(whether there are real roots, smaller, larger) of a x^2 + b x + c, without cancellation."""
    a, b, c = (resolve("Float")(v) if not isinstance(v, dr.ArrayBase) else v for v in (a, b, c))
    linear = a == 0
    product = 4 * a * c
    # With what rounding took from the product [Kahan 2004]
    discriminant = dr.fma(b, b, -product) - dr.fma(4 * a, c, -product)
    root = dr.safe_sqrt(discriminant)
    q = -0.5 * (b + dr.copysign(root, b))
    x0, x1 = q / dr.select(linear, 1.0, a), c / dr.select(q == 0, 1.0, q)
    x1 = dr.select(q == 0, x0, x1)
    single = -c / dr.select(b == 0, 1.0, b)
    valid = dr.select(linear, b != 0, discriminant >= 0)
    low = dr.select(linear, single, dr.minimum(x0, x1))
    high = dr.select(linear, single, dr.maximum(x0, x1))
    return valid, dr.select(valid, low, 0), dr.select(valid, high, 0)


def find_interval(size, pred):
    """The last i in [0, size - 2] with pred(i), where pred is true up to some index and false beyond; 0 if there is
    none. With it entries i and i + 1 enclose what is looked for."""
    first = dr.binary_search(0, size, pred)
    return dr.clip(dr.maximum(first, 1) - 1, 0, builtins.max(size - 2, 0))


# ---- Legendre polynomials

def legendre_p(l, m, x=None):
    """P_l(x), or with three arguments the associated P_l^m(x)."""
    if x is None:
        return _legendre(l, m)[0]
    p = dr.full(type(x), 1.0, len(x)) if isinstance(x, dr.ArrayBase) else 1.0
    if m > 0:
        root, factor = dr.safe_sqrt((1 - x) * (1 + x)), 1.0
        for _ in range(m):
            p, factor = p * (-factor) * root, factor + 2
    if l == m:
        return p
    before, p = p, x * (2 * m + 1) * p
    for i in range(m + 2, l + 1):
        before, p = p, ((2 * i - 1) * x * p - (i + m - 1) * before) / (i - m)
    return p


def _legendre(l, x):
    """P_l and its derivative."""
    before, p = x * 0 + 1, x
    dbefore, d = x * 0, x * 0 + 1
    if l == 0:
        return before, dbefore
    for i in range(2, l + 1):
        before, p, dbefore, d = p, ((2 * i - 1) * x * p - (i - 1) * before) / i, d, dbefore + (2 * i - 1) * p
    return p, d


def legendre_pd(l, x):
    """(P_l(x), derivative)"""
    return _legendre(l, x)


def legendre_pd_diff(l, x):
    """(P_{l+1}(x) - P_{l-1}(x), derivative)"""
    if l == 0:
        return x, x * 0 + 1
    (a, da), (b, db) = _legendre(l + 1, x), _legendre(l - 1, x)
    return a - b, da - db


# ---- Morton codes: bits of coordinates interleaved

def _spread(x, steps):
    for shift, mask in steps:
        x = (x | (x << shift)) & mask
    return x


_steps2 = ((8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555))
_steps3 = ((16, 0x030000FF), (8, 0x0300F00F), (4, 0x030C30C3), (2, 0x09249249))


def morton_encode2(v):
    """Interleaves the lower 16 bits of two coordinates."""
    return _spread(v[0] & 0xFFFF, _steps2) | (_spread(v[1] & 0xFFFF, _steps2) << 1)


def morton_encode3(v):
    """Interleaves the lower 10 bits of three coordinates."""
    return _spread(v[0] & 0x3FF, _steps3) | (_spread(v[1] & 0x3FF, _steps3) << 1) | (
        _spread(v[2] & 0x3FF, _steps3) << 2)


def _compact(x, steps, last):
    x = x & steps[-1][1]
    for i in range(len(steps) - 1, -1, -1):
        x = (x | (x >> steps[i][0])) & (steps[i - 1][1] if i else last)
    return x


def morton_decode2(m):
    """Undoes morton_encode2()."""
    return resolve("Array2u")(_compact(m, _steps2, 0xFFFF), _compact(m >> 1, _steps2, 0xFFFF))


def morton_decode3(m):
    """Undoes morton_encode3()."""
    return resolve("Array3u")(*(_compact(m >> i, _steps3, 0x3FF) for i in range(3)))


# ---- colour encoding

def linear_to_srgb(x):
    """sRGB's transfer function [IEC 61966-2-1]."""
    return dr.select(x <= 0.0031308, 12.92 * x, 1.055 * dr.power(dr.maximum(x, 0.0031308), 1 / 2.4) - 0.055) \
        if isinstance(x, dr.ArrayBase) else 12.92 * x if x <= 0.0031308 else 1.055 * x ** (1 / 2.4) - 0.055


def srgb_to_linear(x):
    """Its inverse."""
    return dr.select(x <= 0.04045, x / 12.92, dr.power((dr.maximum(x, 0.04045) + 0.055) / 1.055, 2.4)) \
        if isinstance(x, dr.ArrayBase) else x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4


# ---- statistics

def chi2(observed, expected, pool_threshold=5):
    """Pearson's statistic of counts, sorted by increasing expectation, as (value, degrees of freedom, cells that were
    pooled, cells that they became): cells below the threshold are put together until they reach it."""
    import numpy as np
    obs, exp = np.asarray(observed, dtype=np.float64).ravel(), np.asarray(expected, dtype=np.float64).ravel()
    value, dof, pooled_in, pooled_out, po, pe = 0.0, 0, 0, 0, 0.0, 0.0
    small = int(np.searchsorted(np.maximum.accumulate(exp), pool_threshold)) if len(exp) else 0
    for o, e in zip(obs[:small], exp[:small]):
        if e == 0 and o == 0:
            continue
        pooled_in += 1
        po, pe = po + o, pe + e
        if pe > pool_threshold:
            value, dof, pooled_out, po, pe = value + (po - pe) ** 2 / pe, dof + 1, pooled_out + 1, 0.0, 0.0
    large_o, large_e = obs[small:], exp[small:]
    if pe > 0 and len(large_e):  # what is left joins the smallest cell that stands alone
        large_o, large_e = large_o.copy(), large_e.copy()
        large_o[0], large_e[0] = large_o[0] + po, large_e[0] + pe
    value += float(np.sum((large_o - large_e) ** 2 / large_e)) if len(large_e) else 0.0
    return value, dof + len(large_e) - 1, pooled_in, pooled_out


def rlgamma(a, x):
    """The regularized lower incomplete gamma function P(a, x)."""
    a, x = builtins.float(a), builtins.float(x)
    if a < 0 or x < 0:
        raise ValueError(f"rlgamma(): needs numbers that are not negative, not {a} and {x}")
    if x == 0:
        return 0.0
    scale = _math.exp(a * _math.log(x) - x - _math.lgamma(a))
    if x < a + 1:  # the power series
        term = total = 1 / a
        n = a
        while abs(term) > 1e-16 * abs(total):
            n += 1
            term *= x / n
            total += term
        return builtins.min(1.0, total * scale)
    # the continued fraction, by Lentz's method
    b = x + 1 - a
    c, d = 1e300, 1 / b
    h = d
    for i in range(1, 100000):
        an = -i * (i - a)
        b += 2
        d = 1 / (an * d + b if an * d + b else 1e-300)
        c = b + an / c or 1e-300
        h *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return 1 - scale * h
