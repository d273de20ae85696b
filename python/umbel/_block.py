# umbel/_block.py: blocks of an image, to which samples are added through a reconstruction filter.
import math

from . import _core
from . import jit as dr
from ._logging import Log, LogLevel
from ._records import _mi


def _pair(kind, v):
    return _mi(kind)(*(int(n) for n in v))


class ImageBlock:
    """A rectangle of pixels with a border that the filter reaches.

        block = ImageBlock(size=[64, 64], offset=[0, 0], channel_count=4, rfilter=film.rfilter())
        block.put(pos, [r, g, b, weight])

    `put` adds values around positions, `read` interpolates; both are differentiable. `normalize` makes the weights of each
    sample add up to one. `warn_negative` and `warn_invalid` look at what is put, which evaluates it, and log a warning.
    """

    def __init__(self, size=None, offset=(0, 0), channel_count=None, rfilter=None, border=None, normalize=False, *,
                 warn_negative=None, warn_invalid=None, tensor=None):
        # Defaults depend on whether many samples are put at once
        single = _core.variant().startswith("interp")
        border = single if border is None else border
        warn_negative = single if warn_negative is None else warn_negative
        warn_invalid = single if warn_invalid is None else warn_invalid
        if size is not None and hasattr(size, "shape") and len(size.shape) == 3 or tensor is not None:
            given = tensor if tensor is not None else size
        else:
            given = None
        self._filter, self._offset = rfilter, _pair("ScalarPoint2i", offset)
        reach = rfilter.border_size() if rfilter is not None else 0
        self._border = reach if border else 0
        self._normalize = bool(normalize)
        self._warn_negative, self._warn_invalid = bool(warn_negative), bool(warn_invalid)
        if given is not None:
            height, width, self._channels = (int(n) for n in given.shape)
            self._size = _pair("ScalarVector2u", (width - 2 * self._border, height - 2 * self._border))
            self._tensor = _mi("TensorXf")(given)
        else:
            if channel_count is None:
                raise TypeError("ImageBlock: channel_count is missing")
            self._size, self._channels = _pair("ScalarVector2u", size), int(channel_count)
            self.clear()

    # ---- what it is
    def size(self): return type(self._size)(self._size)

    def width(self): return int(self._size[0])

    def height(self): return int(self._size[1])

    def offset(self): return type(self._offset)(self._offset)

    def set_offset(self, offset): self._offset = _pair("ScalarPoint2i", offset)

    def set_size(self, size):
        """Changes the size; the values are zero from then on."""
        size = _pair("ScalarVector2u", size)
        if [int(n) for n in size] != [int(n) for n in self._size]:
            self._size = size
            self.clear()

    def channel_count(self): return self._channels

    def rfilter(self): return self._filter

    def border_size(self): return self._border

    def has_border(self): return self._border > 0

    def normalize(self): return self._normalize

    def set_normalize(self, value): self._normalize = bool(value)

    def warn_invalid(self): return self._warn_invalid

    def set_warn_invalid(self, value): self._warn_invalid = bool(value)

    def warn_negative(self): return self._warn_negative

    def set_warn_negative(self, value): self._warn_negative = bool(value)

    def __repr__(self):
        return (f"ImageBlock[\n  offset = {self._offset},\n  size = {self._size},\n  channel_count = {self._channels},\n"
                f"  border_size = {self._border},\n  normalize = {self._normalize},\n"
                f"  rfilter = {self._filter}\n]")

    # ---- values
    def _extent(self):
        return self.width() + 2 * self._border, self.height() + 2 * self._border

    def tensor(self):
        """The values: rows, columns (with the border) and channels."""
        return self._tensor

    def clear(self):
        """Sets all values to zero."""
        width, height = self._extent()
        self._tensor = dr.zeros(_mi("TensorXf"), (height, width, self._channels))

    def put_block(self, block):
        """Adds the values of another block where the two overlap, by their offsets."""
        if block.channel_count() != self._channels:
            raise dr.UserError(f"put_block: the block has {block.channel_count()} channels, not {self._channels}")
        width, height = self._extent()
        w, h = block._extent()
        # Where the other's first pixel is in this one
        dx = int(block._offset[0]) - block._border - int(self._offset[0]) + self._border
        dy = int(block._offset[1]) - block._border - int(self._offset[1]) + self._border
        if (dx, dy, w, h) == (0, 0, width, height):
            self._tensor = self._tensor + block._tensor
            return
        UInt, Int = _mi("UInt"), _mi("Int")
        lane = dr.arange(UInt, w * h)
        y = lane // w
        x = Int(lane - y * w) + dx
        y = Int(y) + dy
        inside = (x >= 0) & (y >= 0) & (x < width) & (y < height)
        index = UInt(dr.select(inside, y * width + x, 0)) * self._channels
        target = type(self._tensor.array)(self._tensor.array)
        for c in range(self._channels):
            dr.scatter_add(target, dr.gather(_mi("Float"), block._tensor.array, lane * self._channels + c), index + c, inside)
        self._tensor = _mi("TensorXf")(target, self._tensor.shape)

    def _taps(self, pos):
        """For each pixel in the filter's reach: its position among the values, whether it is inside, and its weight."""
        Float, Int = _mi("Float"), _mi("Int")
        pos = _mi("Point2f")(pos)
        width, height = self._extent()
        x, y = (pos[i] - float(self._offset[i]) + self._border for i in range(2))
        f = self._filter
        if f is None or (f.is_box_filter() and f.radius() <= 0.5):
            return [(Int(dr.floor(x)), Int(dr.floor(y)), Float(1))], width, height
        radius = f.radius()
        count = int(math.ceil(2 * radius)) + 1
        first = [dr.ceil(v - 0.5 - radius) for v in (x, y)]
        along = [[f.eval(start + i + 0.5 - v) for i in range(count)] for start, v in zip(first, (x, y))]
        if self._normalize:
            for weights in along:
                total = sum(weights[1:], weights[0])
                scale = dr.select(total > 0, dr.rcp(total), 0)
                weights[:] = [w * scale for w in weights]
        x0, y0 = (Int(v) for v in first)
        return [(x0 + i, y0 + j, along[0][i] * along[1][j]) for j in range(count) for i in range(count)], width, height

    def put(self, pos, *args, values=None, wavelengths=None, value=None, alpha=1.0, weight=1.0, active=True):
        """Adds samples: `put(pos, values, active)` with a list of channels, or `put(pos, wavelengths, value, alpha, weight,
        active)` with a colour, for blocks of R, G, B, (alpha,) weight."""
        if args:
            if value is None and (len(args) == 1 or (len(args) == 2 and not isinstance(args[0], dr.ArrayBase))
                                  and values is None and _is_mask(args[-1])):
                values, active = args[0], args[1] if len(args) > 1 else active
            else:
                names = ["wavelengths", "value", "alpha", "weight", "active"]
                given = dict(zip(names, args))
                wavelengths, value = given.get("wavelengths", wavelengths), given.get("value", value)
                alpha, weight = given.get("alpha", alpha), given.get("weight", weight)
                active = given.get("active", active)
        if values is None:
            values = self._colour_channels(wavelengths, value, alpha, weight)
        Float, UInt = _mi("Float"), _mi("UInt")
        values = [Float(v) for v in values]
        if len(values) != self._channels:
            raise dr.UserError(f"put: {len(values)} values were given; the block has {self._channels} channels")
        self._warn(values, active)
        taps, width, height = self._taps(pos)
        target = type(self._tensor.array)(self._tensor.array)
        for x, y, w in taps:
            inside = (x >= 0) & (y >= 0) & (x < width) & (y < height) & active
            index = UInt(y * width + x) * self._channels
            for c, v in enumerate(values):
                dr.scatter_add(target, v * w, index + c, inside)
        self._tensor = _mi("TensorXf")(target, self._tensor.shape)

    def _warn(self, values, active):
        """About samples that cannot be right."""
        for wanted, word, wrong in ((self._warn_negative, "negative", lambda v: v < -1e-5),
                                    (self._warn_invalid, "invalid", lambda v: ~dr.isfinite(v))):
            if wanted and any(dr.any(wrong(v) & active) for v in values):
                Log(LogLevel.Warn, f"ImageBlock.put(): {word} sample values: {[dr.detach(v) for v in values]}")

    def _colour_channels(self, wavelengths, value, alpha, weight):
        from . import spectrum_to_srgb, unpolarized_spectrum
        value = unpolarized_spectrum(value)
        if _mi("is_spectral"):
            value = spectrum_to_srgb(value, wavelengths)
        rgb = [value[0]] * 3 if _mi("is_monochromatic") else [value[i] for i in range(3)]
        if self._channels not in (4, 5):
            raise dr.UserError(f"put: a colour fills blocks of 4 or 5 channels, not of {self._channels}")
        return rgb + ([alpha] if self._channels == 5 else []) + [weight]

    def read(self, pos, active=True):
        """The values around positions, weighted by the filter: a list of channels."""
        Float, UInt = _mi("Float"), _mi("UInt")
        taps, width, height = self._taps(pos)
        sums, total = [Float(0)] * self._channels, Float(0)
        for x, y, w in taps:
            inside = (x >= 0) & (y >= 0) & (x < width) & (y < height) & active
            index = UInt(y * width + x) * self._channels
            w = dr.select(inside, w, 0)
            total = total + w
            sums = [s + dr.gather(Float, self._tensor.array, index + c, inside) * w for c, s in enumerate(sums)]
        if self._normalize and self._filter is not None:
            scale = dr.select(total > 0, dr.rcp(total), 0)
            sums = [s * scale for s in sums]
        return sums


def _is_mask(v):
    return isinstance(v, bool) or (isinstance(v, dr.ArrayBase) and dr.is_mask_v(v))
