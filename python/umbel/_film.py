# umbel/_film.py: films that collect blocks of samples, and reconstruction filters.
import enum
import math

from . import _core
from . import jit as dr
from ._block import ImageBlock
from ._records import _mi
from ._state import state_of

Film, Filter = _core.Film, _core.ReconstructionFilter


class FilmFlags(enum.IntFlag):
    """What a film needs of its samples."""
    Empty = 0
    Alpha = 1
    Spectral = 2
    Special = 4


# ---- filters

_resolution = 31  # entries of the table that eval_discretized looks up


def border_size(self):
    """How many pixels around an image samples inside of it reach."""
    return max(0, int(math.ceil(self.radius() - 0.5 - 2e-5)))


def eval_discretized(self, x, active=True):
    """The filter from a table of 31 steps, as it is from the last entry before x."""
    if self.is_box_filter():
        return self.eval(x, active)
    radius = self.radius()
    step = dr.minimum(dr.floor(dr.abs(_mi("Float")(x)) * (_resolution / radius)), _resolution)
    return dr.select((step < _resolution) & active, self.eval(step * (radius / _resolution)), 0)


Filter.border_size, Filter.eval_discretized = border_size, eval_discretized


# ---- films

def _mono(): return _mi("is_monochromatic")


Film.m_flags = FilmFlags.Empty  # of plugins written in Python, which set theirs
Film.size = lambda self: _mi("ScalarVector2u")(*self._size())
Film.crop_size = lambda self: _mi("ScalarVector2u")(*self._crop()[2:])
Film.crop_offset = lambda self: _mi("ScalarPoint2u")(*self._crop()[:2])
for _name, _doc in (("size", "Width and height of the whole image."), ("crop_size", "Size of the part that is rendered."),
                    ("crop_offset", "Left and top edge of the part that is rendered.")):
    getattr(Film, _name).__name__, getattr(Film, _name).__doc__ = _name, _doc


def flags(self):
    """FilmFlags."""
    return int(self.m_flags) if self._is_python() else int(FilmFlags.Alpha if self._has_alpha() else FilmFlags.Empty)


def base_channels_count(self):
    """Channels of the image without further ones: the colour, and alpha if there is one."""
    return 4 if self._has_alpha() else 3


def _channels(self):
    return ["R", "G", "B"] + (["A"] if self._has_alpha() else []) + ["W"]


def prepare(self, aovs=()):
    """Begins an image with these channels beyond the colour; returns the number of channels of a block."""
    names = _channels(self) + list(aovs)
    if len(set(names)) != len(names):
        raise dr.UserError(f"{self._where()}: prepare(): two channels have the same name: {', '.join(names)}")
    state = state_of(self)
    state["names"] = names
    state["storage"] = ImageBlock(self.crop_size(), self.crop_offset(), len(names))
    return len(names)


def _storage(self):
    block = state_of(self).get("storage")
    if block is None:
        raise dr.UserError(f"{self._where()}: no image has been rendered with this film; call umbel.render(), or prepare() "
                           "and put_block()")
    return block


def clear(self):
    """Forgets what was put."""
    if "storage" in state_of(self):
        _storage(self).clear()


def put_block(self, block):
    """Adds a block of samples."""
    _storage(self).put_block(block)


def create_block(self, size=(0, 0), normalize=False, borders=False):
    """A block with the film's channels and filter, of its size unless given."""
    size = [int(n) for n in size]
    whole = size == [0, 0]
    names = state_of(self).get("names") or _channels(self)
    return ImageBlock(self.crop_size() if whole else size, self.crop_offset() if whole else [0, 0], len(names),
                      rfilter=self.rfilter(), border=borders, normalize=normalize)


def prepare_sample(self, spec, wavelengths, nChannels, weight=1.0, alpha=1.0, active=True):
    """The channels of a sample; films with FilmFlags.Special define it."""
    raise dr.UserError(f"{self._where()}: this film takes colours as they are; only films with FilmFlags.Special have "
                       "prepare_sample()")


def sensor_response_function(self):
    """None: the film records colours."""
    return None


def schedule_storage(self):
    """Computes the image together with what is evaluated next."""
    if "storage" in state_of(self):
        dr.schedule(_storage(self).tensor())


def _in_pixel_format(self, image):
    """An image of the collected channels as the film develops it."""
    height, width, channels = image.shape
    flat = self._develop(image.array, channels)
    return type(image)(flat, (height, width, len(flat) // (height * width)))


def _output_names(self, aovs):
    return self._image_names(self._channel_names(aovs))


def _developed(self):
    """The image of the blocks that were put: sums over weights."""
    values, names = _storage(self).tensor(), state_of(self)["names"]
    at = names.index("W")
    weight = values[..., at:at + 1]
    image = values[..., :at] if at + 1 == len(names) else dr.concat([values[..., :at], values[..., at + 1:]], axis=2)
    image = image / dr.select(weight == 0, 1, weight)
    if _mono():
        image = dr.concat([image[..., :1], image[..., 3:]], axis=2) if image.shape[2] > 3 else image[..., :1]
    return _in_pixel_format(self, image)


def develop(self, raw=False):
    """The image, as a tensor of rows, columns and channels: of the last render, or of the blocks that were put. `raw`:
    sums and weights."""
    if "storage" not in state_of(self):
        image = _core.last_image(self)
        if image is not None:
            return _in_pixel_format(self, image)
    return _storage(self).tensor() if raw else _developed(self)


def bitmap(self, raw=False):
    """The same as a Bitmap, with the names of the channels."""
    from ._bitmap import Bitmap
    image = self.develop(raw)
    dr.eval(image)
    aovs = state_of(self).get("names", []) if "storage" in state_of(self) else []
    names = aovs if raw and aovs else _output_names(self, [n for n in aovs if n not in _channels(self)])
    if len(names) != image.shape[2]:
        return Bitmap(image)
    plain = {("R", "G", "B"): "RGB", ("R", "G", "B", "A"): "RGBA", ("X", "Y", "Z"): "XYZ", ("X", "Y", "Z", "A"): "XYZA",
             ("Y",): "Y", ("Y", "A"): "YA"}.get(tuple(names))
    if plain:
        return Bitmap(image, getattr(Bitmap.PixelFormat, plain))
    return Bitmap(image, Bitmap.PixelFormat.MultiChannel, names)


def write(self, path):
    """Writes the image in the film's format."""
    import os
    self._write(os.fspath(path), self.bitmap())


for _f in (flags, base_channels_count, prepare, clear, put_block, create_block, prepare_sample, sensor_response_function,
           schedule_storage, develop, bitmap, write):
    setattr(Film, _f.__name__, _f)
