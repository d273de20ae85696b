# umbel/_resampler.py: Resampler: rows of samples at another resolution.
import math

from . import _core
from . import jit as dr
from ._bitmap import FilterBoundaryCondition


class Resampler:
    """Filters `source_res` samples into `target_res`; the filter has radius() and eval(x). Where samples are left out, it is
    stretched over them."""

    def __init__(self, rfilter, source_res, target_res):
        if source_res < 1 or target_res < 1:
            raise RuntimeError(f"Resampler: cannot turn {source_res} samples into {target_res}")
        self._source, self._target = source_res, target_res
        self._boundary, self._clamp = FilterBoundaryCondition.Clamp, (-math.inf, math.inf)
        self._radius, self._filter = float(rfilter.radius()), lambda x: _number(rfilter.eval(x))
        self._table = None  # of the boundary condition that it is used with

    def source_resolution(self): return self._source
    def target_resolution(self): return self._target

    def taps(self):
        """How many samples count, at most."""
        n = max(1, math.ceil(2 * self._radius * max(1.0, self._source / self._target)))
        return n - 1 if self._source == self._target and n % 2 == 0 else n

    def boundary_condition(self): return self._boundary
    def set_boundary_condition(self, condition): self._boundary, self._table = condition, None
    def clamp(self): return self._clamp
    def set_clamp(self, value): self._clamp = (float(value[0]), float(value[1]))

    def resample(self, source, source_stride, target, target_stride, channels):
        """Fills `target`, an array of this package or of NumPy; the strides count samples of `channels` numbers."""
        import numpy as np
        if isinstance(target, dr.ArrayBase):
            filled = np.array(target, dtype=np.float64)
            self.resample(source, source_stride, filled, target_stride, channels)
            target[:] = type(target)(filled)
            return
        s, t = np.asarray(source).reshape(-1), target.reshape(-1)
        for name, a, n, stride in (("source", s, self._source, source_stride), ("target", t, self._target, target_stride)):
            if a.size != n * stride * channels:
                raise RuntimeError(f"Resampler: '{name}' has an incompatible size! It has {a.size} numbers; {n} samples need "
                                   f"{n * stride * channels}")
        s = s.reshape(self._source, source_stride * channels)[:, :channels].astype(np.float64)
        out = t.reshape(self._target, target_stride * channels)[:, :channels]
        if self._table is None:
            self._table = _core.resampling_taps(self._source, self._target, self._radius, self._filter, self._boundary.value)
        begin, source, weight, rest = self._table
        for i in range(self._target):
            part = slice(begin[i], begin[i + 1])
            out[i] = np.clip(np.array(weight[part]) @ s[source[part]] + rest[i], *self._clamp)

    def __repr__(self): return f"Resampler[source_res={self._source}, target_res={self._target}]"


def _number(v): return float(v[0]) if isinstance(v, dr.ArrayBase) else float(v)
