# umbel/_resampler.py: Resampler: rows of samples at another resolution.
import math

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
        scale = max(1.0, source_res / target_res)
        radius = float(rfilter.radius()) * scale
        self._taps = max(1, math.ceil(2 * radius))
        if source_res == target_res and self._taps % 2 == 0:
            self._taps -= 1
        self._start, self._weights = [], []
        for i in range(target_res):
            center = (i + 0.5) / target_res * source_res
            start = i - self._taps // 2 if source_res == target_res else math.floor(center - radius + 0.5)
            w = [_number(rfilter.eval((start + j + 0.5 - center) / scale)) for j in range(self._taps)]
            total = sum(w)
            self._start.append(start)
            self._weights.append([v / total for v in w] if total else w)

    def source_resolution(self): return self._source
    def target_resolution(self): return self._target
    def taps(self): return self._taps
    def boundary_condition(self): return self._boundary
    def set_boundary_condition(self, condition): self._boundary = condition
    def clamp(self): return self._clamp
    def set_clamp(self, value): self._clamp = (float(value[0]), float(value[1]))

    def _place(self, i):
        """The sample that stands at i, also beyond the ends; or a constant."""
        n, B = self._source, FilterBoundaryCondition
        if 0 <= i < n or self._boundary is B.Clamp:
            return min(max(i, 0), n - 1), None
        if self._boundary is B.Repeat:
            return i % n, None
        if self._boundary is B.Mirror:
            i %= 2 * n
            return (i if i < n else 2 * n - 1 - i), None
        return 0, 0.0 if self._boundary is B.Zero else 1.0

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
        for i, (start, weights) in enumerate(zip(self._start, self._weights)):
            value = 0
            for j, w in enumerate(weights):
                place, constant = self._place(start + j)
                value = value + w * (s[place] if constant is None else constant)
            out[i] = np.clip(value, *self._clamp)

    def __repr__(self): return f"Resampler[source_res={self._source}, target_res={self._target}]"


def _number(v): return float(v[0]) if isinstance(v, dr.ArrayBase) else float(v)
