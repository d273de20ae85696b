# jit/texture.py: textures of one, two and three dimensions, interpolated.
import builtins
import enum
import itertools

from .. import _core
from ._create import full, zeros
from ._math import clip, floor, minimum
from ._types import describe, is_tensor_v, leaf_t

Int, UInt = _core.classes["Int"], _core.classes["UInt"]


class FilterMode(enum.IntEnum):
    """How a value between texels is found."""
    Nearest, Linear = range(2)


class WrapMode(enum.IntEnum):
    """What lies beyond the border."""
    Repeat, Clamp, Mirror = range(3)


class _Texture:
    """Values on a grid over [0, 1]^d; texel centres are half a texel from the border."""
    _dims, _element = 0, 11

    _umbel_frozen_fields = ("_value", "_shape", "_filter", "_wrap")

    def __init__(self, shape, channels=None, use_accel=True, filter_mode=FilterMode.Linear,
                 wrap_mode=WrapMode.Clamp, migrate=True):
        self._filter, self._wrap = FilterMode(filter_mode), WrapMode(wrap_mode)
        self._leaf = leaf_t(_core.lookup(self._element, 4, (), 0))
        self._tensor_type = _core.lookup(self._element, 4, (), 0)
        if is_tensor_v(shape) or hasattr(shape, "__array__") and not isinstance(shape, (tuple, list)):
            self.set_tensor(shape if is_tensor_v(shape) else self._tensor_type(shape))
            return
        shape = tuple(shape)
        if len(shape) != self._dims:
            raise TypeError(f"a texture of {self._dims} dimensions cannot have the shape {shape}")
        self._shape = (*shape, channels)
        n = 1
        for s in self._shape:
            n *= s
        self._value = full(self._leaf, 0, n)

    # ---- data
    @property
    def shape(self): return self._shape
    def ndim(self): return self._dims
    def channels(self): return self._shape[-1]
    def filter_mode(self): return self._filter
    def wrap_mode(self): return self._wrap
    def use_accel(self): return False
    def migrated(self): return False

    def value(self): return self._value

    def set_value(self, value, migrate=False):
        n = 1
        for s in self._shape:
            n *= s
        if len(value) != n:
            raise TypeError(f"a texture of shape {self._shape} has {n} values, not {len(value)}")
        self._value = self._leaf(value)

    def tensor(self): return _core.tensor(self._tensor_type, self._value, self._shape)

    def set_tensor(self, tensor, migrate=False):
        if len(tensor.shape) != self._dims + 1:
            raise TypeError(f"a texture of {self._dims} dimensions needs a tensor of {self._dims + 1}: its last one is "
                            f"that of the channels; this one has the shape {tuple(tensor.shape)}")
        self._shape = tuple(tensor.shape)
        self._value = self._leaf(_core.tensor_array(tensor))

    def update_inplace(self, migrate=False): pass

    # ---- evaluation
    def wrap(self, pos):
        """Integer positions brought into the texture."""
        out = []
        for i in range(self._dims):
            p, n = pos[i], self._shape[self._dims - 1 - i]
            if self._wrap == WrapMode.Clamp:
                p = _core.minimum(_core.maximum(p, 0), n - 1)
            else:
                q = p % n
                q = _core.select(q < 0, q + n, q)
                if self._wrap == WrapMode.Mirror:
                    twice = p % (2 * n)
                    twice = _core.select(twice < 0, twice + 2 * n, twice)
                    q = _core.select(twice < n, twice, 2 * n - 1 - twice)
                p = q
            out.append(p)
        return out

    def _coordinates(self, pos):
        if self._dims == 1:
            return [pos[0] if describe(type(pos))[3] else pos]
        return [pos[i] for i in range(self._dims)]

    def _fetch(self, place, active):
        """All channels of a texel; place[0] runs fastest."""
        place = self.wrap(place)
        index = place[-1]
        for i in range(self._dims - 2, -1, -1):
            index = index * self._shape[self._dims - 1 - i] + place[i]
        n = self.channels()
        index = UInt(index)
        mask = None if active is True else active
        if n == 1:
            return [_core.gather(self._leaf, self._value, index, mask)]
        if n in (2, 3, 4):
            return _core.entries(_core.gather(_core.lookup(self._element, 0, (n,), 0), self._value, index, mask))
        return [_core.gather(self._leaf, self._value, index * n + k, mask) for k in range(n)]

    def _result(self, channels):
        n = len(channels)
        return _core.from_entries(_core.lookup(self._element, 0, (n,), 0) or _core.lookup(self._element, 0, (-1,), 0),
                                  channels)

    def eval(self, pos, active=True):
        """Channels at `pos` in [0, 1]^d."""
        return self.eval_nonaccel(pos, active)

    def eval_nonaccel(self, pos, active=True):
        p = [x * self._shape[self._dims - 1 - i] for i, x in enumerate(self._coordinates(pos))]
        if self._filter == FilterMode.Nearest:
            return self._result(self._fetch([Int(floor(x)) for x in p], active))
        base = [floor(x - 0.5) for x in p]
        t = [x - 0.5 - b for x, b in zip(p, base)]
        corner = [Int(b) for b in base]
        out = None
        for bits in itertools.product((0, 1), repeat=self._dims):
            weight = None
            for d in range(self._dims):
                w = t[d] if bits[d] else 1 - t[d]
                weight = w if weight is None else weight * w
            texel = self._fetch([c + b if b else c for c, b in zip(corner, bits)], active)
            out = [x * weight for x in texel] if out is None else [_core.fma(x, weight, o) for x, o in zip(texel, out)]
        return self._result(out)

    def eval_fetch(self, pos, active=True):
        """The 2^d texels around `pos`, first coordinate fastest, without interpolation."""
        p = [x * self._shape[self._dims - 1 - i] for i, x in enumerate(self._coordinates(pos))]
        corner = [Int(floor(x - 0.5)) for x in p]
        out = []
        for bits in itertools.product((0, 1), repeat=self._dims):
            bits = bits[::-1]
            out.append(self._result(self._fetch([c + b if b else c for c, b in zip(corner, bits)], active)))
        return tuple(out)

    def eval_cubic(self, pos, active=True, force_nonaccel=False):
        """By cubic B-splines: smooth, and smoother than the data."""
        p = [x * self._shape[self._dims - 1 - i] - 0.5 for i, x in enumerate(self._coordinates(pos))]
        base = [floor(x) for x in p]
        corner = [Int(b) for b in base]
        weights = [_spline(x - b) for x, b in zip(p, base)]
        out = None
        for offsets in itertools.product(range(4), repeat=self._dims):
            weight = None
            for d, o in enumerate(offsets):
                weight = weights[d][o] if weight is None else weight * weights[d][o]
            texel = self._fetch([c + (o - 1) for c, o in zip(corner, offsets)], active)
            out = [x * weight for x in texel] if out is None else [_core.fma(x, weight, o) for x, o in zip(texel, out)]
        return self._result(out)

    def eval_cubic_grad(self, pos, active=True):
        """Value and gradient with respect to `pos` of eval_cubic: (channels, [gradient of each channel])."""
        p = [x * self._shape[self._dims - 1 - i] - 0.5 for i, x in enumerate(self._coordinates(pos))]
        base = [floor(x) for x in p]
        corner = [Int(b) for b in base]
        w = [_spline(x - b) for x, b in zip(p, base)]
        dw = [_spline_slope(x - b) for x, b in zip(p, base)]
        n = self.channels()
        value, slopes = [0] * n, [[0] * self._dims for _ in range(n)]
        for offsets in itertools.product(range(4), repeat=self._dims):
            texel = self._fetch([c + (o - 1) for c, o in zip(corner, offsets)], active)
            for k, x in enumerate(texel):
                f = x
                for d, o in enumerate(offsets):
                    f = f * w[d][o]
                value[k] = value[k] + f
                for axis in range(self._dims):
                    f = x * self._shape[self._dims - 1 - axis]
                    for d, o in enumerate(offsets):
                        f = f * (dw[d][o] if d == axis else w[d][o])
                    slopes[k][axis] = slopes[k][axis] + f
        vector = _core.lookup(self._element, 0, (self._dims,), 0)
        return self._result(value), [vector(*s) for s in slopes]


def _spline(t):
    """Weights of a uniform cubic B-spline."""
    t2 = t * t
    t3 = t2 * t
    return [(1 - 3 * t + 3 * t2 - t3) * (1 / 6), (4 - 6 * t2 + 3 * t3) * (1 / 6),
            (1 + 3 * t + 3 * t2 - 3 * t3) * (1 / 6), t3 * (1 / 6)]


def _spline_slope(t):
    t2 = t * t
    return [(-1 + 2 * t - t2) * 0.5, (-4 * t + 3 * t2) * 0.5, (1 + 2 * t - 3 * t2) * 0.5, t2 * 0.5]


textures = {}
for _d in (1, 2, 3):
    for _suffix, _e in (("f16", 10), ("f", 11), ("f64", 12)):
        _name = f"Texture{_d}{_suffix}"
        textures[_name] = type(_name, (_Texture,), {"_dims": _d, "_element": _e, "__module__": "umbel.jit.auto",
                                                    "__doc__": f"Texture of {_d} dimensions."})
