# jit/texture.py: textures of one, two and three dimensions, interpolated.
import itertools

from .. import _core
from ._create import full
from ._enum import NamedInt
from ._math import floor
from ._types import ArrayBase, Matrix, describe, is_tensor_v

Int, UInt, Float = _core.classes["Int"], _core.classes["UInt"], _core.classes["Float"]


class FilterMode(NamedInt):
    """How a value between texels is found."""
    Nearest, Linear = range(2)


class WrapMode(NamedInt):
    """What lies beyond the border."""
    Repeat, Clamp, Mirror = range(3)


def _fail(message):
    from ._hooks import UserError
    raise UserError(message)


class _Texture:
    """Values on a grid over [0, 1]^d; texel centres are half a texel from the border. The shape lists the slowest axis
    first and ends with the number of channels; positions are (x, y, z), x along the fastest axis.

    Results have the precision of the position. Textures of 8 bits give numbers from 0 to 1; with `srgb` the first three
    of each four channels are decoded. Lookups are differentiable with respect to positions and to float texels.
    """
    _dims, _element = 0, 11
    IsTexture = True
    DRJIT_STRUCT = {"_tensor": None}
    _umbel_frozen_fields = ("_tensor", "_filter", "_wrap", "_srgb", "_writable")

    def __init__(self, shape=None, channels=None, use_accel=True, filter_mode=FilterMode.Linear,
                 wrap_mode=WrapMode.Clamp, writable=False, srgb=False, *, tensor=None, migrate=True):
        source = shape if tensor is None else tensor
        if isinstance(source, (tuple, list)) and source and isinstance(source[0], (tuple, list, ArrayBase)):
            source = shape = _core.lookup(self._element, 4, (), 0)(source)  # nested lists of texels
        if is_tensor_v(source) or hasattr(source, "__array__") and not isinstance(source, (tuple, list)):
            # By place, a tensor is followed by use_accel, migrate, filter_mode, wrap_mode, srgb
            if channels is not None:
                use_accel, migrate = channels, use_accel if isinstance(use_accel, bool) else migrate
            writable, srgb = False, srgb or writable
        self._filter, self._wrap, self._use_accel = FilterMode(filter_mode), WrapMode(wrap_mode), bool(use_accel)
        self._writable, self._srgb = bool(writable), bool(srgb)
        self._tensor_type = _core.lookup(self._element, 4, (), 0)
        self._leaf = _core.array_of(self._tensor_type)
        if self._srgb and self._element != 3:
            _fail("Texture(): the 'srgb' flag is only supported for 8-bit (UInt8) textures.")
        if source is not shape or is_tensor_v(source) or not isinstance(source, (tuple, list)):
            self.set_tensor(source if is_tensor_v(source) else self._tensor_type(source))
            return
        shape = tuple(int(s) for s in shape)
        if len(shape) != self._dims:
            _fail(f"Texture(): a texture of {self._dims} dimensions cannot have the shape {shape}")
        if not channels:
            _fail("Texture(): must have at least 1 channel!")
        shape = (*shape, int(channels))
        n = 1
        for s in shape:
            n *= s
        self._tensor = _core.tensor(self._tensor_type, full(self._leaf, 0, n), shape)

    # ---- data
    @property
    def shape(self):
        """Sizes of the axes, the slowest first, and the number of channels."""
        return tuple(self._tensor.shape)

    def ndim(self): return self._dims + 1
    def channel_count(self): return self.shape[-1]
    def channels(self): return self.shape[-1]
    def filter_mode(self): return self._filter
    def wrap_mode(self): return self._wrap
    def srgb(self): return self._srgb
    def writable(self): return self._writable
    def use_accel(self): return self._use_accel
    def migrated(self): return False  # there are no texture units whose memory could take the data
    def map(self): pass
    def unmap(self): pass
    def native_handle(self, sub_index=0): return 0

    @staticmethod
    def from_native_handle(handle, **kwargs):
        _fail("Texture.from_native_handle(): textures of graphics libraries need a backend that shares their memory")

    def value(self):
        """All texels in a row, channels fastest."""
        return self._tensor.array

    def tensor(self):
        """The texels as a tensor of the texture's shape. Call update_inplace() after changing it."""
        return self._tensor

    def set_value(self, value, migrate=False):
        """Replaces all texels by those of a flat array."""
        n = len(self.value())
        if len(value) != n:
            _fail(f"Texture.set_value(): unexpected array size ({len(value)} vs {n})!")
        self._tensor = _core.tensor(self._tensor_type, self._leaf(value), self.shape)

    def set_value_with_event(self, value, event, migrate=False):
        self.set_value(value, migrate)
        event.record()

    def set_tensor(self, tensor, migrate=False):
        """Replaces texels, and shape, by those of a tensor whose last axis is that of the channels."""
        if len(tensor.shape) != self._dims + 1:
            _fail(f"Texture.set_tensor(): tensor dimension must equal texture dimension plus one (channels): "
                  f"{self._dims + 1}; this one has the shape {tuple(tensor.shape)}")
        array = tensor.array
        self._tensor = _core.tensor(self._tensor_type, array if type(array) is self._leaf else self._leaf(array),
                                    tuple(tensor.shape))

    def update_inplace(self, migrate=False):
        """Takes over changes that were made to tensor()."""
        if len(self._tensor.shape) != self._dims + 1:
            _fail("Texture.update_inplace(): the tensor has another number of axes now")

    def write(self, pos, value, active=True):
        """Stores a value of each channel at whole positions; the texture must be `writable`. No derivatives."""
        if not self._writable:
            _fail("Texture.write(): texture was not created with writable=true.")
        value = list(value)
        if len(value) != self.channel_count():
            _fail(f"Texture.write(): expected {self.channel_count()} channel values, got {len(value)}.")
        index = self._index([UInt(p) for p in self._coordinates(pos, UInt)]) * len(value)
        array = self.value()
        for k, v in enumerate(value):
            _core.scatter(array, self._encoded(_core.detach(v) if isinstance(v, ArrayBase) else v, k), index + k,
                          None if active is True or active is None else active, 0)
        self._tensor = _core.tensor(self._tensor_type, array, self.shape)

    # ---- 8 bits
    def _linear(self, channel): return not self._srgb or channel % 4 == 3  # alpha is never encoded

    def _encoded(self, v, channel):
        if self._element != 3:
            return self._leaf(v)
        from ._colour import linear_to_srgb
        v = _core.minimum(_core.maximum(Float(v), 0), 1)
        return self._leaf(UInt((v if self._linear(channel) else linear_to_srgb(v)) * 255 + .5))

    def _decoded(self, v, channel, leaf):
        if self._element != 3:
            return v if type(v) is leaf else leaf(v)
        from ._colour import srgb_to_linear
        v = leaf(v) * (1 / 255)
        return v if self._linear(channel) else srgb_to_linear(v)

    # ---- places
    def wrap(self, pos):
        """A whole position brought into the texture."""
        out = self._wrapped([Int(p) for p in self._coordinates(pos, Int)])
        return out[0] if self._dims == 1 else _core.from_entries(_core.lookup(6, 0, (self._dims,), 0), out)

    def _wrapped(self, pos):
        out, shape = [], self.shape
        for i in range(self._dims):
            p, n = pos[i], shape[self._dims - 1 - i]
            if self._wrap == WrapMode.Clamp:
                p = _core.minimum(_core.maximum(p, 0), n - 1)
            elif self._wrap == WrapMode.Repeat:
                q = p % n
                p = _core.select(q < 0, q + n, q)
            else:
                q = p % (2 * n)
                q = _core.select(q < 0, q + 2 * n, q)
                p = _core.select(q < n, q, 2 * n - 1 - q)
            out.append(p)
        return out

    def _index(self, place):
        index = place[-1]
        for i in range(self._dims - 2, -1, -1):
            index = index * self.shape[self._dims - 1 - i] + place[i]
        return index

    def _coordinates(self, pos, default=Float):
        """The coordinates of a position as arrays of one float type."""
        if isinstance(pos, ArrayBase):
            if is_tensor_v(pos):
                pos = pos.array
            if not describe(type(pos))[3]:  # the same along all axes
                return [default(pos)] * self._dims
            entries = _core.entries(pos)
        else:
            entries = list(pos) if hasattr(pos, "__iter__") else [pos] * self._dims
        if len(entries) != self._dims:
            raise TypeError(f"a texture of {self._dims} dimensions is looked up at {self._dims} coordinates, not "
                            f"{len(entries)}")
        return [e if isinstance(e, ArrayBase) else default(e) for e in entries]

    def _scaled(self, pos):
        """Coordinates in texels."""
        shape = self.shape
        return [x * shape[self._dims - 1 - i] for i, x in enumerate(self._coordinates(pos))]

    def _fetch(self, place, active, leaf):
        """All channels of a texel; place[0] runs fastest."""
        index, n, data = UInt(self._index(self._wrapped(place))), self.channel_count(), self.value()
        mask = None if active is True else _core.classes["Bool"](active) if active is False else active
        if n == 1:
            texel = [_core.gather(self._leaf, data, index, mask)]
        elif n in (2, 3, 4):
            texel = _core.entries(_core.gather(_core.lookup(self._element, 0, (n,), 0), data, index, mask))
        else:
            texel = [_core.gather(self._leaf, data, index * n + k, mask) for k in range(n)]
        return [self._decoded(v, k, leaf) for k, v in enumerate(texel)]

    @staticmethod
    def _result(channels):
        element, n = describe(type(channels[0]))[0], len(channels)
        return _core.from_entries(_core.lookup(element, 0, (n,), 0) or _core.lookup(element, 0, (-1,), 0), channels)

    # ---- evaluation
    def eval(self, pos, active=True):
        """Channels at `pos`, of the nearest texel or linearly interpolated; 0 where not `active`."""
        p = self._scaled(pos)
        leaf = type(p[0])
        if self._filter == FilterMode.Nearest:
            return self._result(self._fetch([Int(floor(x)) for x in p], active, leaf))
        base = [floor(x - 0.5) for x in p]
        t = [x - 0.5 - b for x, b in zip(p, base)]
        corner = [Int(b) for b in base]
        out = None
        for bits in itertools.product((0, 1), repeat=self._dims):
            weight = None
            for d in range(self._dims):
                w = t[d] if bits[d] else 1 - t[d]
                weight = w if weight is None else weight * w
            texel = self._fetch([c + b if b else c for c, b in zip(corner, bits)], active, leaf)
            out = [x * weight for x in texel] if out is None else [_core.fma(x, weight, o) for x, o in zip(texel, out)]
        return self._result(out)

    def eval_nonaccel(self, pos, active=True):
        """eval()"""
        return self.eval(pos, active)

    def eval_fetch(self, pos, active=True):
        """The 2^d texels that linear interpolation would use, x fastest."""
        p = self._scaled(pos)
        corner, out = [Int(floor(x - 0.5)) for x in p], []
        for bits in itertools.product((0, 1), repeat=self._dims):
            place = [c + b if b else c for c, b in zip(corner, bits[::-1])]
            out.append(self._result(self._fetch(place, active, type(p[0]))))
        return tuple(out)

    def eval_cubic(self, pos, active=True, force_nonaccel=False):
        """Channels at `pos` by cubic B-splines: smooth, and smoother than the data."""
        return self._result(self._spline(pos, active, 0)[0])

    def eval_cubic_helper(self, pos, active=True):
        """eval_cubic()"""
        return self.eval_cubic(pos, active)

    def eval_cubic_grad(self, pos, active=True):
        """(channels, list of a gradient with respect to `pos` for each channel) of eval_cubic()."""
        value, slopes, _ = self._spline(pos, active, 1)
        return self._result(value), [self._result(s) for s in slopes]

    def eval_cubic_hessian(self, pos, active=True):
        """(channels, list of gradients, list of matrices of second derivatives) of eval_cubic()."""
        value, slopes, curvature = self._spline(pos, active, 2)
        n = self._dims
        square = _core.lookup(describe(type(value[0]))[0], Matrix if n > 1 else 0, (n, n), 0)
        rows = [[[h[min(i, j), max(i, j)] for j in range(n)] for i in range(n)] for h in curvature]
        return (self._result(value), [self._result(s) for s in slopes],
                [square(h) if square is not None else h for h in rows])

    def _spline(self, pos, active, order):
        """Sums over 4^d texels: channels, their derivatives along each axis, and along each pair of axes."""
        shape, dims = self.shape, self._dims
        p = [x - 0.5 for x in self._scaled(pos)]
        base = [floor(x) for x in p]
        corner, t, leaf = [Int(b) for b in base], [x - b for x, b in zip(p, base)], type(p[0])
        # w[k][axis]: weights of the four texels along the axis, differentiated k times by the coordinate
        w = [[_spline_weights(x, k, shape[dims - 1 - i]) for i, x in enumerate(t)] for k in range(order + 1)]
        orders = [(0,) * dims]
        if order > 0:
            orders += [tuple(int(d == i) for d in range(dims)) for i in range(dims)]
        if order > 1:
            orders += [tuple(int(d == i) + int(d == j) for d in range(dims)) for i in range(dims) for j in range(i, dims)]
        sums = [[None] * self.channel_count() for _ in orders]
        for offsets in itertools.product(range(4), repeat=dims):
            texel = self._fetch([c + (o - 1) for c, o in zip(corner, offsets)], active, leaf)
            for s, times in zip(sums, orders):
                weight = None
                for d, o in enumerate(offsets):
                    weight = w[times[d]][d][o] if weight is None else weight * w[times[d]][d][o]
                for k, x in enumerate(texel):
                    s[k] = x * weight if s[k] is None else _core.fma(x, weight, s[k])
        count = self.channel_count()
        slopes = [[sums[1 + d][k] for d in range(dims)] for k in range(count)] if order > 0 else []
        pairs = [(i, j) for i in range(dims) for j in range(i, dims)]
        curvature = [{pair: sums[1 + dims + n][k] for n, pair in enumerate(pairs)} for k in range(count)] \
            if order > 1 else []
        return sums[0], slopes, curvature


def _spline_weights(t, order, scale):
    """Weights of a uniform cubic B-spline at t in [0, 1], or their derivatives; `scale` is that of the coordinate."""
    if order == 0:
        t2 = t * t
        t3 = t2 * t
        return [(1 - 3 * t + 3 * t2 - t3) * (1 / 6), (4 - 6 * t2 + 3 * t3) * (1 / 6),
                (1 + 3 * t + 3 * t2 - 3 * t3) * (1 / 6), t3 * (1 / 6)]
    if order == 1:
        t2, f = t * t, 0.5 * scale
        return [(-1 + 2 * t - t2) * f, (-4 * t + 3 * t2) * f, (1 + 2 * t - 3 * t2) * f, t2 * f]
    f = float(scale)**2
    return [(1 - t) * f, (3 * t - 2) * f, (1 - 3 * t) * f, t * f]


textures = {}
for _d in (1, 2, 3):
    for _suffix, _e in (("f16", 10), ("f", 11), ("f64", 12), ("f8u", 3)):
        _name = f"Texture{_d}{_suffix}"
        textures[_name] = type(_name, (_Texture,), {"_dims": _d, "_element": _e, "__module__": "umbel.jit.auto",
                                                    "__doc__": _Texture.__doc__})
