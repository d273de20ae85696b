# umbel/_film.py: films that collect blocks of samples.

from . import _core
from . import jit as dr
from ._core import ImageBlock
from ._records import _mi
from ._state import state_of
from .jit._enum import NamedFlags

Film = _core.Film


class FilmFlags(NamedFlags):
    """What a film needs of its samples."""
    Empty = 0
    Alpha = 1
    Spectral = 2
    Special = 4


Film.m_flags = FilmFlags.Empty  # of plugins written in Python, which set theirs
Film.size = lambda self: _mi("ScalarVector2u")(*self._size())
Film.crop_size = lambda self: _mi("ScalarVector2u")(*self._crop()[2:])
Film.crop_offset = lambda self: _mi("ScalarPoint2u")(*self._crop()[:2])
for _name, _doc in (("size", "Width and height of the whole image."), ("crop_size", "Size of the part that is rendered."),
                    ("crop_offset", "Left and top edge of the part that is rendered.")):
    getattr(Film, _name).__name__, getattr(Film, _name).__doc__ = _name, _doc


def flags(self):
    """FilmFlags."""
    if self._is_python():
        return int(self.m_flags)
    if self.sensor_response_function() is not None:
        return int(FilmFlags.Spectral | FilmFlags.Special)
    return int(FilmFlags.Alpha if self._has_alpha() else FilmFlags.Empty)


def base_channels_count(self):
    """Channels of the image without further ones: the colour, and alpha if there is one."""
    return len(_output_names(self, []))


def _has_bands(self): return not self._is_python() and self.flags() & FilmFlags.Special


def _channels(self):
    """Of a block: colours are three in all variants, and weights follow them, or the bands of a film that has some."""
    if _has_bands(self):
        return self._channel_names([]) + ["W"]
    return ["R", "G", "B"] + self._channel_names([])[1 if _mi("is_monochromatic") else 3:] + ["W"]


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
    if _has_bands(self):
        bands = self._block_channels(spec, wavelengths, alpha, [])
        further = [_mi("Float")(0)] * (nChannels - len(bands) - 1)
        return [*bands, _mi("Float")(weight), *further]
    raise dr.UserError(f"{self._where()}: this film takes colours as they are; only films with FilmFlags.Special have "
                       "prepare_sample()")


def schedule_storage(self):
    """Computes the image together with what is evaluated next."""
    if "storage" in state_of(self):
        dr.schedule(_storage(self).tensor())


def _image(self, means, shape):
    """The image of the means of collected channels, which have that shape."""
    height, width, channels = shape
    flat = self._develop(means, channels)
    return _mi("TensorXf")(flat, (height, width, len(flat) // (height * width)))


def _output_names(self, aovs):
    return self._image_names(self._channel_names(aovs))


def _further(self):
    """Names of channels beyond those that all blocks have."""
    return [n for n in state_of(self).get("names", []) if n not in _channels(self)]


def _developed(self):
    """The image of the blocks that were put: sums over weights."""
    block, names = _storage(self), state_of(self)["names"]
    collected = self._channel_names(_further(self))
    kept = [names.index(n) if n in names else 0 for n in collected]  # of a monochromatic colour, one of three
    return _image(self, block._means(kept, names.index("W")), (block.height(), block.width(), len(kept)))


def develop(self, raw=False):
    """The image, as a tensor of rows, columns and channels: of the last render, or of the blocks that were put. `raw`:
    sums and weights."""
    if "storage" not in state_of(self):
        image = _core.last_image(self)
        if image is not None:
            return _image(self, image.array, image.shape)
    return _storage(self).tensor() if raw else _developed(self)


def bitmap(self, raw=False):
    """The same as a Bitmap, with the names of the channels."""
    from ._bitmap import Bitmap
    image = self.develop(raw)
    dr.eval(image)
    was_put = "storage" in state_of(self)
    further = _further(self) if was_put else _core.last_channels(self)
    names = state_of(self)["names"] if raw and was_put else _output_names(self, further)
    if len(names) != image.shape[2]:
        return Bitmap(image)
    plain = {("R", "G", "B"): "RGB", ("R", "G", "B", "A"): "RGBA", ("X", "Y", "Z"): "XYZ", ("X", "Y", "Z", "A"): "XYZA",
             ("Y",): "Y", ("Y", "A"): "YA"}.get(tuple(names))
    if plain:
        return Bitmap(image, getattr(Bitmap.PixelFormat, plain))
    return Bitmap(image, Bitmap.PixelFormat.MultiChannel, names)


def invalid_samples(self):
    """How many samples of the last render were NaN or infinite, and the first of them: its number among those of a pixel, and
    the pixel, x and y; None if there are none. Light that `ptracer` follows has no number, but None."""
    return _core.invalid_samples(self)


def write(self, path):
    """Writes the image in the film's format."""
    import os
    self._write(os.fspath(path), self.bitmap())


for _f in (flags, base_channels_count, prepare, clear, put_block, create_block, prepare_sample, schedule_storage,
           develop, bitmap, invalid_samples, write):
    setattr(Film, _f.__name__, _f)
