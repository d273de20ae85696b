"""Mueller matrices of optical elements, and the frames that they refer to.

A Stokes vector belongs to a direction of travel and to an axis perpendicular to it, by default stokes_basis(direction).
Arguments are numbers, arrays, or spectra, which give a matrix for each channel."""
from . import _core
from . import jit as dr

globals().update({k: f for k, f in vars(_core.mueller).items() if not k.startswith("_")})


def unit_angle(a, b):
    """The angle between two unit vectors, exact also where it is small [Kahan 2006]."""
    d = dr.dot(a, b)
    theta = 2 * dr.safe_asin(0.5 * dr.norm(b - dr.select(d < 0, -a, a)))
    return dr.select(d < 0, dr.pi - theta, theta)
