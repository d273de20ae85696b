"""Mappings from the unit square to other domains (square_to_X), their densities (_pdf) and inverses (X_to_square)."""
from . import _core
from . import jit as dr
from ._variant_types import resolve

globals().update({k: f for k, f in vars(_core.warp).items() if not k.startswith("_")})


def _floats(*values): return [v if isinstance(v, dr.ArrayBase) else resolve("Float")(v) for v in values]


# ---- between four corners: the second result is the interpolated value itself, whatever the corners' mean is

def square_to_bilinear_pdf(v00, v10, v01, v11, sample):
    """The value between four corners at a position of the unit square: the density where their mean is 1."""
    v00, v10, v01, v11 = _floats(v00, v10, v01, v11)
    p = resolve("Point2f")(sample)
    return dr.lerp(dr.lerp(v00, v10, p.x), dr.lerp(v01, v11, p.x), p.y)


def square_to_bilinear(v00, v10, v01, v11, sample):
    """(position, value there): positions with a density proportional to the interpolation of four corners."""
    v00, v10, v01, v11 = _floats(v00, v10, v01, v11)
    p, _ = _core.warp.square_to_bilinear(v00, v10, v01, v11, resolve("Point2f")(sample))
    return p, square_to_bilinear_pdf(v00, v10, v01, v11, p)


def bilinear_to_square(v00, v10, v01, v11, sample):
    """(numbers, value there): the inverse of square_to_bilinear()."""
    v00, v10, v01, v11 = _floats(v00, v10, v01, v11)
    p = resolve("Point2f")(sample)
    return _core.warp.bilinear_to_square(v00, v10, v01, v11, p)[0], square_to_bilinear_pdf(v00, v10, v01, v11, p)


# ---- others

def interval_to_nonuniform_tent(a, b, c, sample):
    """A number with the density of a triangle over [a, c] whose tip is at b."""
    a, b, c, u = _floats(a, b, c, sample)
    split = (b - a) / (c - a)
    left = u < split
    # To the right of the tip positions go down from c as numbers go up
    return dr.select(left, a + (b - a) * dr.sqrt(dr.maximum(u, 0) / dr.select(split > 0, split, 1)),
                     b + (c - b) * (1 - dr.sqrt(dr.maximum((u - split) / dr.select(split < 1, 1 - split, 1), 0))))


def square_to_von_mises_fisher(sample, kappa):
    """A direction near to +z with the density of von Mises and Fisher [Jakob 2012]."""
    u, (kappa,) = resolve("Point2f")(sample), _floats(kappa)
    # The form that does not overflow for large kappa
    y = dr.maximum(1 - u.y, 1e-6)
    cos_theta = 1 + dr.log(dr.fma(1 - y, dr.exp(-2 * kappa), y)) / kappa
    s, c = dr.sincos(2 * dr.pi * u.x)
    sin_theta = dr.safe_sqrt(1 - cos_theta * cos_theta)
    return resolve("Vector3f")(c * sin_theta, s * sin_theta, cos_theta)


def von_mises_fisher_to_square(v, kappa):
    """The inverse of square_to_von_mises_fisher()."""
    v, (kappa,) = resolve("Vector3f")(v), _floats(kappa)
    e = dr.exp(-2 * kappa)
    y = (dr.exp(kappa * (v.z - 1)) - e) / (1 - e)
    x = dr.atan2(v.y, v.x) * dr.inv_two_pi
    return resolve("Point2f")(dr.select(x < 0, x + 1, x), 1 - y)
