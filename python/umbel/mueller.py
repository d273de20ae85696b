"""Mueller matrices of optical elements, and the frames that they refer to.

A Stokes vector belongs to a direction of travel and to an axis perpendicular to it, by default stokes_basis(direction).
Arguments are numbers, arrays, or spectra, which give a matrix for each channel."""
from . import _core
from . import jit as dr
from ._variant_types import resolve

globals().update({k: f for k, f in vars(_core.mueller).items() if not k.startswith("_")})


def unit_angle(a, b):
    """The angle between two unit vectors."""
    Vector3f = resolve("Vector3f")
    return dr.unit_angle(Vector3f(a), Vector3f(b))
