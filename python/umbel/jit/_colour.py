# jit/_colour.py: conversions between colour spaces.
from .. import _core
from ._math import abs, cbrt, mulsign, power, select
from ._types import ArrayBase


def _curve(x, clip, low, slope, high):
    """A curve on [0, 1], linear up to `low`; beyond, clipped or carried on, below 0 mirrored."""
    if clip:
        x = _core.minimum(_core.maximum(x, 0), 1)
        return select(x <= low, x * slope, high(x)) if isinstance(x, ArrayBase) else x * slope if x <= low else high(x)
    y = abs(x)
    r = select(y <= low, y * slope, high(y)) if isinstance(x, ArrayBase) else y * slope if y <= low else high(y)
    return mulsign(r, x)


def srgb_to_linear(x, clip=True):
    """Undoes sRGB's gamma curve. Without `clip`, colours beyond [0, 1] follow the curve's continuation."""
    return _curve(x, clip, 0.04045, 1 / 12.92, lambda v: power((v + 0.055) * (1 / 1.055), 2.4))


def linear_to_srgb(x, clip=True):
    """Applies sRGB's gamma curve. Without `clip`, colours beyond [0, 1] follow the curve's continuation."""
    return _curve(x, clip, 0.0031308, 12.92, lambda v: 1.055 * power(v, 1 / 2.4) - 0.055)


# Oklab [Ottosson 2020]
_to_lms = ((0.4122214708, 0.5363325363, 0.0514459929), (0.2119034982, 0.6806995451, 0.1073969566),
           (0.0883024619, 0.2817188376, 0.6299787005))
_to_lab = ((0.2104542553, 0.7936177850, -0.0040720468), (1.9779984951, -2.4285922050, 0.4505937099),
           (0.0259040371, 0.7827717662, -0.8086757660))
_from_lab = ((1.0, 0.3963377774, 0.2158037573), (1.0, -0.1055613458, -0.0638541728),
             (1.0, -0.0894841775, -1.2914855480))
_from_lms = ((4.0767416621, -3.3077115913, 0.2309699292), (-1.2684380046, 2.6097574011, -0.3413193965),
             (-0.0041960863, -0.7034186147, 1.7076147010))


def _product(m, v): return [m[i][0] * v[0] + m[i][1] * v[1] + m[i][2] * v[2] for i in range(3)]


def linear_srgb_to_oklab(value):
    """Linear RGB to Oklab."""
    return type(value)(*_product(_to_lab, [cbrt(x) for x in _product(_to_lms, value)]))


def oklab_to_linear_srgb(value):
    """Oklab to linear RGB."""
    return type(value)(*_product(_from_lms, [x * x * x for x in _product(_from_lab, value)]))
