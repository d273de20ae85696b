# umbel/_bitmap.py: Bitmap: images on the host, their formats, files and conversions.
#
# The class is made in src/python/render_bitmap.cpp; this file tells apart what it can be constructed of and adds
# methods. A bitmap's memory is what NumPy and arrays see: changing one changes the other.
import base64
import enum
import os
import tempfile
import threading

from . import _core
from . import jit as dr
from ._properties import Properties, _host
from ._struct import Struct, Type, numpy_type, type_of
from ._transform import Transform4f

Bitmap = _core.Bitmap
_components = (Type.UInt8, Type.UInt16, Type.UInt32, Type.Float16, Type.Float32, Type.Float64)  # as core/image.h


class _Named(enum.Enum):
    def __repr__(self): return str(self)


class PixelFormat(_Named):
    """What the channels mean."""
    Y, YA, RGB, RGBA, RGBW, RGBAW, XYZ, XYZA, MultiChannel = range(9)


class FileFormat(_Named):
    """How an image is stored."""
    PNG, OpenEXR, RGBE, PFM, PPM, JPEG, TGA, BMP, Unknown, Auto = range(10)


class AlphaTransform(_Named):
    """What to do with colours when alpha is added or removed."""
    Empty, Premultiply, Unpremultiply = range(3)


class FilterBoundaryCondition(_Named):
    """What lies beyond an image's edge."""
    Clamp, Repeat, Mirror, Zero, One = range(5)


_extensions = {FileFormat.PNG: "png", FileFormat.OpenEXR: "exr", FileFormat.RGBE: "hdr", FileFormat.PFM: "pfm",
               FileFormat.PPM: "ppm", FileFormat.JPEG: "jpg", FileFormat.TGA: "tga", FileFormat.BMP: "bmp"}
_names = {PixelFormat.Y: ["Y"], PixelFormat.YA: ["Y", "A"], PixelFormat.RGB: ["R", "G", "B"],
          PixelFormat.RGBA: ["R", "G", "B", "A"], PixelFormat.RGBW: ["R", "G", "B", "W"],
          PixelFormat.RGBAW: ["R", "G", "B", "A", "W"],
          PixelFormat.XYZ: ["X", "Y", "Z"], PixelFormat.XYZA: ["X", "Y", "Z", "A"]}
_by_count = {1: PixelFormat.Y, 2: PixelFormat.YA, 3: PixelFormat.RGB, 4: PixelFormat.RGBA}
_models = {PixelFormat.Y: (0, False), PixelFormat.YA: (0, True), PixelFormat.RGB: (1, False),
           PixelFormat.RGBA: (1, True), PixelFormat.XYZ: (2, False), PixelFormat.XYZA: (2, True)}


def _component(value):
    t = type_of(value)
    if t not in _components:
        raise TypeError(f"a bitmap's components cannot be {t.name}; there are "
                        + ", ".join(c.name for c in _components))
    return _components.index(t)


def _channels(pixel_format, count, names):
    """Names of the channels of a bitmap that is to be made."""
    if pixel_format is None:
        pixel_format = PixelFormat.MultiChannel if names else _by_count.get(count, PixelFormat.MultiChannel)
    if pixel_format is PixelFormat.MultiChannel:
        names = list(names) or [f"ch{i}" for i in range(count)]
    else:
        names = _names[pixel_format]
    if len(names) != count:
        raise ValueError(f"Bitmap: {pixel_format.name} with channels {names} does not fit an array of {count} channels")
    return names


# ---- construction

def make(source=None, *args, **kwargs):
    """Called by Bitmap's constructor."""
    if source is None:
        for name in ("array", "path", "stream", "pixel_format", "arg"):
            if name in kwargs:
                source = kwargs.pop(name)
                break
    if isinstance(source, Bitmap):
        return _copied(source)
    if isinstance(source, (str, os.PathLike)):
        return _read(source, *args, **kwargs)
    if isinstance(source, PixelFormat):
        return _blank(source, *args, **kwargs)
    if isinstance(source, (bytes, bytearray)) or hasattr(source, "read"):
        return _decode(source, *args, **kwargs)
    return _from_array(source, *args, **kwargs)


def _copied(source):
    made = _core.bitmap_copy(source)
    made._premultiplied = source.premultiplied_alpha()
    return made


def _read(path, format=FileFormat.Auto):
    from ._logging import file_resolver
    return _core.bitmap_read(os.fspath(file_resolver().resolve(path)))


def _decode(stream, format=FileFormat.Auto):
    data = bytes(stream) if isinstance(stream, (bytes, bytearray)) else stream.read()
    return _core.bitmap_decode(data, "stream." + _extensions.get(format, "png"))


def _blank(pixel_format, component_format, size, channel_count=0, channel_names=()):
    count = channel_count or len(channel_names) or len(_names.get(pixel_format, ()))
    width, height = (int(s) for s in _size(size))
    component = _component(component_format)
    return _core.bitmap_empty(width, height, _channels(pixel_format, count, channel_names), component, component == 0)


def _size(size):
    if isinstance(size, dr.ArrayBase):
        return [e[0] for e in size] if dr.depth_v(size) > 1 else size
    return size


def _from_array(array, pixel_format=None, channel_names=()):
    import numpy as np
    if hasattr(array, "detach") and not isinstance(array, dr.ArrayBase):
        array = array.detach()  # of PyTorch
        array = array.cpu() if getattr(array, "is_cuda", False) else array
    if isinstance(array, dr.ArrayBase):
        array = array.numpy()
    elif not isinstance(array, np.ndarray) and not hasattr(array, "__array__") and hasattr(array, "__dlpack__"):
        array = np.from_dlpack(array)
    array = np.ascontiguousarray(array)
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3:
        raise TypeError(f"a bitmap is made of an array of two or three dimensions, not of {array.ndim}; "
                        "give rows, columns and channels")
    height, width, count = array.shape
    component = _component(array.dtype)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    names = _channels(pixel_format, count, channel_names)
    return _core.bitmap_from_memory(array, width, height, names, component, component == 0)


# ---- queries

def size(self):
    """[width, height]"""
    from ._variant_types import resolve
    return resolve("ScalarVector2u")(self.width(), self.height())


def pixel_format(self):
    """What the channels mean."""
    names = self.channel_names()
    return next((f for f, n in _names.items() if n == names), PixelFormat.MultiChannel)


def component_format(self):
    """Type of the components."""
    return _components[self._component]


def has_alpha(self):
    """Whether there is an alpha channel."""
    return any(n == "A" or n.endswith(".A") for n in self.channel_names())


def bytes_per_pixel(self):
    """Memory of a pixel."""
    return self.channel_count() * numpy_type(self.component_format()).itemsize


def premultiplied_alpha(self):
    """Whether colours are multiplied by alpha."""
    return getattr(self, "_premultiplied", True)


def set_premultiplied_alpha(self, value):
    """Says whether colours are multiplied by alpha."""
    self._premultiplied = bool(value)


def struct_(self):
    """The layout of a pixel."""
    s = Struct()
    F, pixels = Struct.Flags, self.pixel_format()
    for name in self.channel_names():
        flags = F.Normalized if self._component < 3 else F.Empty
        if name == "A" and pixels is not PixelFormat.MultiChannel:
            flags |= F.Alpha
        elif name == "W" and pixels in (PixelFormat.RGBW, PixelFormat.RGBAW):
            flags |= F.Weight
        else:
            flags |= (F.Gamma if self.srgb_gamma() else 0) | (F.PremultipliedAlpha if self.premultiplied_alpha() else 0)
        s.append(name, self.component_format(), flags)
    s._fields = [Channel(f, self, i) for i, f in enumerate(s._fields)]
    return s


class Channel(Struct.Field):
    """A channel of a bitmap, which takes a new name over."""

    def __init__(self, field, bitmap, index):
        self._bitmap, self._index = None, index
        super().__init__(field.name, field.type, field.offset, field.flags, field.value)
        self._bitmap = bitmap

    @property
    def name(self):
        return self._name

    @name.setter
    def name(self, name):
        if self._bitmap is not None:
            self._bitmap._rename_channel(self._index, str(name))
        self._name = str(name)


class Metadata(Properties):
    """What a file says beside its pixels; a change is kept by the bitmap."""

    def __init__(self, bitmap):
        super().__init__()
        for key, value in bitmap._metadata().items():
            super().__setitem__(key, Transform4f([value[i:i + 4] for i in (0, 4, 8, 12)]) if isinstance(value, list) else value)
        self._bitmap = bitmap

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        self._keep()

    def __delitem__(self, key):
        super().__delitem__(key)
        self._keep()

    def remove_property(self, key):
        found = super().remove_property(key)
        self._keep()
        return found

    def _keep(self):
        kinds = Properties.Type
        self._bitmap._set_metadata({k: self._stored(*self._entry(k), kinds) for k in self.keys()})

    def _stored(self, kind, value, kinds):
        """What files have a place for: texts, numbers, vectors and matrices."""
        if kind is kinds.Transform:
            return value.numpy().ravel().tolist()
        if kind in (kinds.Vector, kinds.Color):
            return tuple(_host(value))
        return value if kind in (kinds.Integer, kinds.Float) else int(value) if kind is kinds.Bool else str(value)


def metadata(self):
    """Names and values that are stored with the image."""
    return Metadata(self)


def _array_interface(self):
    shape = (self.height(), self.width(), self.channel_count())
    return {"shape": shape[:2] if shape[2] == 1 else shape, "typestr": numpy_type(self.component_format()).str,
            "data": (self._address, False), "version": 3}


def __array__(self, dtype=None, copy=None):
    import numpy as np
    a = np.asarray(memoryview(self))
    return a.astype(dtype) if dtype is not None and a.dtype != dtype else a.copy() if copy else a


def __dlpack__(self, **kwargs): return __array__(self).__dlpack__()
def __dlpack_device__(self): return (1, 0)


def __eq__(self, other):
    if not isinstance(other, Bitmap):
        return NotImplemented
    return (self.channel_names() == other.channel_names() and self._component == other._component
            and self.srgb_gamma() == other.srgb_gamma() and self._metadata() == other._metadata()
            and (self.width(), self.height()) == (other.width(), other.height())
            and memoryview(self).tobytes() == memoryview(other).tobytes())


def __repr__(self):
    struct = "\n  ".join(repr(self.struct_()).splitlines())
    rows = ",".join(f"\n    {k} => {m.as_string(k)}" for m in [self.metadata()] for k in m.keys())
    further = f"  metadata = {{{rows}\n  }},\n" if rows else ""
    return (f"Bitmap[\n  pixel_format = {self.pixel_format().name.lower()},\n"
            f"  component_format = {self.component_format().name.lower()},\n"
            f"  size = [{self.width()}, {self.height()}],\n  srgb_gamma = {int(self.srgb_gamma())},\n"
            f"  struct = {struct},\n{further}  data = [ {self.buffer_size()} B of image data ]\n]")


# ---- conversion

def convert(self, pixel_format=None, component_format=None, srgb_gamma=None, alpha_transform=AlphaTransform.Empty):
    """The image in other formats; what is not named stays. Into `target`: convert(target)."""
    if isinstance(pixel_format, Bitmap):
        target = pixel_format
        _assign(target, self.convert(target.pixel_format(), target.component_format(), target.srgb_gamma()))
        return None
    srgb = self.srgb_gamma() if srgb_gamma is None else bool(srgb_gamma)
    component = self._component if component_format is None else _component(component_format)
    result, own = self, self.pixel_format()
    # Colours are converted in floating point, so that nothing is rounded or clamped twice.
    if pixel_format not in (None, PixelFormat.MultiChannel, own):
        if pixel_format not in _models and pixel_format not in _weighted:
            raise ValueError(f"Bitmap: a conversion from {own.name} to {pixel_format.name} is not defined")
        result = _core.bitmap_convert(result, 5 if component == 5 else 4, False)
        if own in _weighted:
            result = _without_weight(result)
        if pixel_format in _weighted:
            result = _with_weight(_core.bitmap_to_model(result, *_models[_weighted[pixel_format]]), pixel_format)
        else:
            result = _to_model(result, pixel_format)
    premultiplied = self.premultiplied_alpha()
    if alpha_transform is AlphaTransform.Premultiply and not premultiplied:
        result, premultiplied = _core.bitmap_premultiply(_core.bitmap_convert(result, 4, False)), True
    elif alpha_transform is AlphaTransform.Unpremultiply and premultiplied:
        result, premultiplied = _core.bitmap_unpremultiply(_core.bitmap_convert(result, 4, False)), False
    result = _core.bitmap_convert(result, component, srgb)
    result._premultiplied = premultiplied
    return result


# Formats with a weight, and what is left without it.
_weighted = {PixelFormat.RGBAW: PixelFormat.RGBA, PixelFormat.RGBW: PixelFormat.RGB}


def _without_weight(bitmap):
    """Channels divided by their weight; where it is zero they stay."""
    import numpy as np
    a = np.array(__array__(bitmap))
    w = np.where(a[:, :, -1:] == 0, 1, a[:, :, -1:])
    return _from_array(np.ascontiguousarray(a[:, :, :-1] / w), _weighted[bitmap.pixel_format()])


def _with_weight(bitmap, pixel_format):
    import numpy as np
    a = __array__(bitmap)
    return _from_array(np.concatenate([a, np.ones_like(a[:, :, :1])], axis=2), pixel_format)


def _to_model(bitmap, pixel_format):
    """A picture in another colour model; its luminance has the weights that mi.luminance() has."""
    own, rgb, xyz = bitmap.pixel_format(), (PixelFormat.RGB, PixelFormat.RGBA), (PixelFormat.XYZ, PixelFormat.XYZA)
    if not (own in rgb and pixel_format not in rgb or own in xyz and pixel_format in rgb):
        return _core.bitmap_to_model(bitmap, *_models[pixel_format])
    import numpy as np
    from ._colour import srgb_to_xyz_rows
    a, rows = __array__(bitmap), np.array(srgb_to_xyz_rows)
    c = a[:, :, :3].astype(np.float64) @ (rows if own in rgb else np.linalg.inv(rows)).T
    if pixel_format in (PixelFormat.Y, PixelFormat.YA):
        c = c[:, :, 1:2]
    if _models[pixel_format][1]:
        c = np.concatenate([c, a[:, :, 3:] if a.shape[2] == 4 else np.ones_like(a[:, :, :1])], axis=2)
    return _from_array(np.ascontiguousarray(c.astype(a.dtype)), pixel_format)


def _assign(target, source):
    """Copies pixels into memory that others may look at."""
    if (target.width(), target.height(), target.channel_count()) != (
            source.width(), source.height(), source.channel_count()):
        raise ValueError(f"Bitmap: {source.width()} x {source.height()} pixels of {source.channel_count()} channels do "
                         f"not fit into {target.width()} x {target.height()} of {target.channel_count()}")
    memoryview(target).cast("B")[:] = memoryview(source).cast("B")


_filters = {"box": ("box", 0.5), "tent": ("tent", 1.0), "lanczos": ("lanczos", 3.0)}


def resample(self, target, rfilter=None, bc=(FilterBoundaryCondition.Clamp, FilterBoundaryCondition.Clamp),
             clamp=(-float("inf"), float("inf")), temp=None):
    """The image at another size, [width, height]; or into a bitmap of that size. The filter is a name (box, tent,
    lanczos) or has radius() and eval(x); by default a Lanczos filter of two lobes."""
    into = target if isinstance(target, Bitmap) else None
    width, height = (into.width(), into.height()) if into is not None else (int(s) for s in _size(target))
    function = None
    if rfilter is None:
        name, radius = "lanczos", 2.0
    elif isinstance(rfilter, str):
        if rfilter not in _filters:
            raise ValueError(f"Bitmap: there is no filter \"{rfilter}\"; there are {', '.join(_filters)}")
        name, radius = _filters[rfilter]
    else:
        def function(x):
            y = rfilter.eval(x)
            return float(y[0]) if isinstance(y, dr.ArrayBase) else float(y)
        name, radius = "", float(rfilter.radius() if callable(rfilter.radius) else rfilter.radius)
    low, high = (max(-1e300, min(1e300, float(c))) for c in clamp)
    result = _core.bitmap_resample(self, width, height, name, function, radius, bc[0].value, bc[1].value, low, high)
    return result if into is None else _assign(into, result.convert(
        into.pixel_format(), into.component_format(), into.srgb_gamma()))


def split(self):
    """[(name, bitmap)] of the layers of an image with many channels; "<root>" are channels without a layer."""
    names, layers = self.channel_names(), {}
    for n in names:
        layer, _, channel = n.rpartition(".")
        layers.setdefault(layer, []).append(channel)
    result = []
    for layer, channels in layers.items():
        # Channels of a colour may be stored in any order: EXR files sort them by name.
        order = next((n for n in _names.values() if sorted(n) == sorted(channels)), channels)
        part = _core.bitmap_select(self, [f"{layer}.{c}" if layer else c for c in order])
        result.append((layer or "<root>", _core.bitmap_layer(part, layer) if layer else part))
    return result


def accumulate(self, bitmap, *args, source_offset=None, target_offset=None, size=None):
    """Adds an image, or a part of it: accumulate(bitmap[, target_offset | source_offset, target_offset, size])."""
    if len(args) == 1:
        target_offset = args[0]
    elif args:
        source_offset, target_offset, size = args
    source = [0, 0] if source_offset is None else [int(e) for e in _size(source_offset)]
    target = [0, 0] if target_offset is None else [int(e) for e in _size(target_offset)]
    extent = [bitmap.width(), bitmap.height()] if size is None else [int(e) for e in _size(size)]
    if bitmap.channel_names() != self.channel_names() or bitmap._component != self._component:
        raise ValueError("Bitmap: accumulate() needs images of the same channels and components; see convert()")
    for i, (own, other) in enumerate(((self.width(), bitmap.width()), (self.height(), bitmap.height()))):
        # What lies outside of either image is left out.
        shift = max(0, -source[i], -target[i])
        source[i], target[i], extent[i] = source[i] + shift, target[i] + shift, extent[i] - shift
        extent[i] = min(extent[i], own - target[i], other - source[i])
    if min(extent) > 0:
        (x, y), (u, v), (w, h) = target, source, extent
        __array__(self)[y:y + h, x:x + w] += __array__(bitmap)[v:v + h, u:u + w]


def vflip(self):
    """Turns it upside down."""
    a = __array__(self)
    a[:] = a[::-1].copy()


# ---- arithmetic: of images of floating point

def _operator(name):
    def operate(self, other):
        import numpy as np
        if self._component < 3:
            raise TypeError(f"Bitmap: no arithmetic with {self.component_format().name}; convert(component_format="
                            "Struct.Type.Float32, srgb_gamma=False) first")
        a = __array__(self)
        b = np.asarray(other) if isinstance(other, Bitmap) or hasattr(other, "__array__") else other
        if isinstance(other, Bitmap) and np.shape(b) != a.shape:
            raise ValueError(f"Bitmap: arithmetic needs images of one shape, not {a.shape} and {np.shape(b)}")
        result = np.ascontiguousarray(getattr(a, name)(b), dtype=a.dtype)
        if result.shape != a.shape:
            raise ValueError(f"Bitmap: an image of shape {a.shape} and an array of {np.shape(b)} give {result.shape}")
        out = _core.bitmap_copy(self)
        __array__(out)[...] = result
        return out
    operate.__name__ = name
    return operate


# ---- files

def _options(format, quality, extension):
    """(quality, compression): what -1 means is up to the format."""
    if extension == "exr":
        return None, "zip" if quality < 0 else "dwab"
    return None if quality < 0 or extension not in ("jpg", "jpeg") else max(1, quality), "zip"


def write(self, path, format=FileFormat.Auto, quality=-1):
    """Writes a file, whose extension or `format` decides the format; or to a stream with a method write()."""
    if hasattr(path, "write"):
        if format in (FileFormat.Auto, FileFormat.Unknown):
            raise ValueError("Bitmap: a stream has no extension; give `format`")
        path.write(_core.bitmap_encode(self, _extensions[format], *_options(format, quality, _extensions[format])))
        return
    path = os.fspath(path)
    extension = os.path.splitext(path)[1][1:].lower()
    if format not in (FileFormat.Auto, FileFormat.Unknown) and _extensions[format] != extension:
        data = _core.bitmap_encode(self, _extensions[format], *_options(format, quality, _extensions[format]))
        with open(path, "wb") as f:
            f.write(data)
        return
    _core.bitmap_write(self, path, *_options(format, quality, extension))


_tasks = []  # (thread, its errors)


def write_async(self, path, format=FileFormat.Auto, quality=-1):
    """Writes a file while the program goes on. A name that cannot be written is an error at once. What goes wrong later, such as
    a full disk, is raised by the next write_async(), dr.sync_thread() or wait_for_tasks(); the image is then kept in
    the folder for temporary files."""
    _raise_errors()
    if not hasattr(path, "write"):
        _core.check_bitmap_file(os.fspath(path), format not in (FileFormat.Auto, FileFormat.Unknown))
    copy = _core.bitmap_copy(self)

    def task():
        try:
            write(copy, path, format, quality)
        except Exception as e:  # belongs to whoever waits
            errors.append(_rescued(copy, path, e))
    errors = []
    thread = threading.Thread(target=task, name=f"write {path}")
    thread.start()
    _tasks.append((thread, errors))


def _rescued(bitmap, path, error):
    """The error, with the place where the image is instead."""
    if hasattr(path, "write"):
        return error
    stem = os.path.splitext(os.path.basename(os.fspath(path)))[0]
    other = os.path.join(tempfile.gettempdir(), f"umbel-{os.getpid()}-{stem}.exr")
    try:
        _core.bitmap_write(bitmap, other, None, "zip")
    except Exception:
        return error
    return dr.UserError(f"{error}; the image is saved as {other}")


def _raise_errors(wait=False):
    """Of files that were to be written: those that are done, or all."""
    done = [t for t in _tasks if wait or not t[0].is_alive()]
    errors = []
    for task in done:
        task[0].join()
        errors += task[1]
        _tasks.remove(task)
    if errors:
        raise errors[0]


def wait_for_tasks():
    """Until all files are written; raises the first error of their writing."""
    _raise_errors(wait=True)


dr._eval._at_sync.append(wait_for_tasks)


# ---- display

def _picture(self):
    """8 bits of sRGB, of the first layer that is a picture."""
    for _, part in self.split():
        f = part.pixel_format()
        if f in (PixelFormat.RGBAW, PixelFormat.RGBW):
            part = _core.bitmap_select(part, ["R", "G", "B"])
        elif f is PixelFormat.MultiChannel:
            continue
        grey = f in (PixelFormat.Y, PixelFormat.YA)
        return part.convert(PixelFormat.Y if grey else PixelFormat.RGB, Type.UInt8, True)
    first = self.channel_names()[0]
    import numpy as np
    return Bitmap(np.asarray(_core.bitmap_select(self, [first]))).convert(PixelFormat.Y, Type.UInt8, True)


def _repr_png_(self):
    return _core.bitmap_encode(_picture(self), "png", None, "zip")


def _repr_html_(self):
    data = base64.b64encode(_repr_png_(self)).decode()
    return f'<img src="data:image/png;base64,{data}" width="{max(self.width(), 250)}" style="image-rendering: auto">'


def _reduce(self):
    return _restore, (memoryview(self).tobytes(), self.width(), self.height(), self.channel_names(), self._component,
                      self.srgb_gamma(), self._metadata())


def _restore(data, width, height, channels, component, srgb, metadata):
    b = _core.bitmap_from_memory(data, width, height, channels, component, srgb)
    b._set_metadata(metadata)
    return b


for _f in (size, pixel_format, component_format, has_alpha, bytes_per_pixel, premultiplied_alpha,
           set_premultiplied_alpha, struct_, metadata, __array__, __dlpack__, __dlpack_device__, __eq__, __repr__,
           convert, resample, split, accumulate, vflip, write, write_async, _repr_png_, _repr_html_):
    setattr(Bitmap, _f.__name__, _f)
for _name in ("add", "sub", "mul", "truediv", "pow", "radd", "rsub", "rmul", "rtruediv"):
    setattr(Bitmap, f"__{_name}__", _operator(f"__{_name}__"))
Bitmap.__hash__ = None
Bitmap.__reduce__ = _reduce
Bitmap.__copy__ = lambda self: _copied(self)
Bitmap.__deepcopy__ = lambda self, memo: _copied(self)
Bitmap.__array_interface__ = property(_array_interface)
Bitmap._tensor_shape = property(lambda self: (self.height(), self.width(), self.channel_count()))
Bitmap.__module__ = "umbel"
Bitmap.__doc__ = """An image on the host.

Bitmap(path)                                       reads a file, of any known format
Bitmap(array, pixel_format, channel_names)         copies an array of rows, columns and channels
Bitmap(pixel_format, component_format, size)       a black one
Bitmap(stream)                                     reads an open file, or bytes"""
Bitmap.PixelFormat, Bitmap.FileFormat, Bitmap.AlphaTransform = PixelFormat, FileFormat, AlphaTransform
for _t in Type:
    setattr(Bitmap, _t.name, _t)
Bitmap.Float = Type.Float32
Bitmap.detect_file_format = staticmethod(lambda stream: _detect(stream))


def _detect(stream):
    """The format of a file, by its first bytes."""
    data = stream.read(16) if hasattr(stream, "read") else bytes(stream)[:16]
    if hasattr(stream, "seek"):
        stream.seek(stream.tell() - len(data))
    for head, format in ((b"\x89PNG", "PNG"), (b"\x76\x2f\x31\x01", "OpenEXR"), (b"#?", "RGBE"), (b"\xff\xd8", "JPEG"),
                         (b"BM", "BMP"), (b"P6", "PPM"), (b"P5", "PPM"), (b"PF", "PFM"), (b"Pf", "PFM")):
        if data.startswith(head):
            return FileFormat[format]
    return FileFormat.Unknown
