# umbel/_phase.py: microflakes [Heitz 2015], and what phase functions are asked with.

from . import jit as dr
from ._fields import Typed
from ._geometry import Frame3f
from ._variant_types import Fields, resolve
from .jit._enum import NamedInt


class PhaseFunctionFlags(NamedInt):
    """What a phase function depends on."""
    Empty, Isotropic, Anisotropic, Microflake = 0, 1, 2, 4


class PhaseFunctionContext:
    """What a caller wants of a phase function."""

    def __init__(self, sampler=None, mode=None):
        from ._scene import TransportMode
        self.sampler, self.mode = sampler, TransportMode.Radiance if mode is None else mode
        self.type_mask, self.component = 0xffffffff, 0xffffffff

    def reverse(self):
        """Swaps radiance and importance."""
        self.mode = type(self.mode)(1 - int(self.mode))

    def __repr__(self):
        component = "all" if self.component == 0xffffffff else self.component
        return f"PhaseFunctionContext[\n  mode = {self.mode.name.lower()},\n  sampler = " \
               f"{'nullptr' if self.sampler is None else self.sampler},\n  component = {component}\n]"


class SGGXPhaseFunctionParams(Typed):
    """The symmetric matrix of a microflake distribution: its diagonal (xx, yy, zz), and (xy, xz, yz)."""
    DRJIT_STRUCT = Fields(diag="Array3f", off_diag="Array3f")
    _kinds = {"diag": "Array3f", "off_diag": "Array3f"}

    def __init__(self, diag=None, off_diag=None):
        A = resolve("Array3f")
        if isinstance(diag, SGGXPhaseFunctionParams):
            diag, off_diag = diag.diag, diag.off_diag
        elif off_diag is None and diag is not None:
            diag, off_diag = list(diag)[:3], list(diag)[3:]
        self.diag, self.off_diag = A(0 if diag is None else diag), A(0 if off_diag is None else off_diag)

    def __repr__(self): return f"SGGXPhaseFunctionParams[\n  diag={self.diag},\n  off_diag={self.off_diag}\n]"


def _entries(s):
    if not isinstance(s, SGGXPhaseFunctionParams):
        s = SGGXPhaseFunctionParams(s)
    return [s.diag[i] for i in range(3)] + [s.off_diag[i] for i in range(3)]


def sggx_projected_area(wi, s):
    """The area of flakes that is seen from a direction: sqrt(wi S wi)."""
    w, (xx, yy, zz, xy, xz, yz) = resolve("Vector3f")(wi), _entries(s)
    q = w.x * w.x * xx + w.y * w.y * yy + w.z * w.z * zz + 2 * (w.x * w.y * xy + w.x * w.z * xz + w.y * w.z * yz)
    return dr.safe_sqrt(q)


def sggx_pdf(wm, s):
    """The density of normals: 1 / (pi sqrt|S| (wm S^-1 wm)^2)."""
    m, (xx, yy, zz, xy, xz, yz) = resolve("Vector3f")(wm), _entries(s)
    det = dr.abs(xx * yy * zz - xx * yz * yz - yy * xz * xz - zz * xy * xy + 2 * xy * xz * yz)
    # The adjugate over the determinant is the inverse
    q = m.x * m.x * (yy * zz - yz * yz) + m.y * m.y * (xx * zz - xz * xz) + m.z * m.z * (xx * yy - xy * xy) + 2 * (
        m.x * m.y * (xz * yz - zz * xy) + m.x * m.z * (xy * yz - yy * xz) + m.y * m.z * (xy * xz - xx * yz))
    return dr.sqrt(det) * det / (dr.pi * q * q)


def sggx_sample(sh_frame, sample, s):
    """A normal among those that are seen from a direction, given by itself or as the normal of a frame."""
    frame = sh_frame if isinstance(sh_frame, Frame3f) else Frame3f(sh_frame)
    xx, yy, zz, xy, xz, yz = _entries(s)
    u = resolve("Point2f")(sample)

    def product(a, b):  # a S b
        return (a.x * (b.x * xx + b.y * xy + b.z * xz) + a.y * (b.x * xy + b.y * yy + b.z * yz)
                + a.z * (b.x * xz + b.y * yz + b.z * zz))
    k, j, i = frame.s, frame.t, frame.n
    kk, jj, ii, kj, ki, ji = product(k, k), product(j, j), product(i, i), product(k, j), product(k, i), product(j, i)
    det = dr.safe_sqrt(dr.abs(kk * jj * ii - kj * kj * ii - ki * ki * jj - ji * ji * kk + 2 * kj * ki * ji))
    inv = dr.rcp(dr.sqrt(ii))
    tmp = dr.safe_sqrt(jj * ii - ji * ji)
    # A point of the disk that faces the viewer, lifted to the hemisphere and stretched to the ellipsoid
    r = dr.sqrt(u.x)
    sin, cos = dr.sincos(2 * dr.pi * u.y)
    a, b, c = r * cos, r * sin, dr.safe_sqrt(1 - u.x)
    m_k = a * det / tmp - b * inv * (ki * ji - kj * ii) / tmp + c * inv * ki
    m_j = b * inv * tmp + c * inv * ji
    m_i = c * inv * ii
    return resolve("Normal3f")(dr.normalize(k * m_k + j * m_j + i * m_i))


__all__ = ["PhaseFunctionFlags", "PhaseFunctionContext", "SGGXPhaseFunctionParams", "sggx_projected_area", "sggx_pdf",
           "sggx_sample"]
