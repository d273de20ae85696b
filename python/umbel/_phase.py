# umbel/_phase.py: microflakes [Heitz 2015], and what phase functions are asked with.

from . import _core
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


def _matrix(s):
    if not isinstance(s, SGGXPhaseFunctionParams):
        s = SGGXPhaseFunctionParams(s)
    return s.diag, s.off_diag


def sggx_projected_area(wi, s):
    """The area of flakes that is seen from a direction: sqrt(wi S wi)."""
    return _core.sggx_area(wi, *_matrix(s))


def sggx_pdf(wm, s):
    """The density of normals: 1 / (pi sqrt|S| (wm S^-1 wm)^2)."""
    return _core.sggx_density(wm, *_matrix(s))


def sggx_sample(sh_frame, sample, s):
    """A normal among those that are seen from a direction, given by itself or as the normal of a frame."""
    frame = sh_frame if isinstance(sh_frame, Frame3f) else Frame3f(sh_frame)
    return _core.sggx_sample(frame.s, frame.t, frame.n, sample, *_matrix(s))


__all__ = ["PhaseFunctionFlags", "PhaseFunctionContext", "SGGXPhaseFunctionParams", "sggx_projected_area", "sggx_pdf",
           "sggx_sample"]
