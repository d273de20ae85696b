# umbel/_endpoints.py: what emitters and sensors offer to scripts beyond what rendering needs of them.
import math

from . import _core
from . import jit as dr
from ._records import RayDifferential3f, _mi
from .jit._enum import NamedFlags

Emitter, Endpoint, Sensor = _core.Emitter, _core.Endpoint, _core.Sensor


class EmitterFlags(NamedFlags):
    """What kind of light an emitter is."""
    Empty = 0
    DeltaPosition = 1
    DeltaDirection = 2
    Infinite = 4
    Surface = 8
    SpatiallyVarying = 16
    Delta = DeltaPosition | DeltaDirection


def bbox(self):
    """The surface that it is part of, a single point, or nothing that has bounds."""
    from . import BoundingBox3f
    low, high = self._bounds()
    return BoundingBox3f(low, high) if low[0] <= high[0] else BoundingBox3f()


def sample_wavelengths(self, si, sample, active=True):
    """Wavelengths that matter to it, and what it emits or receives there over their density."""
    wavelengths, weight = self._sample_wavelengths(si, sample, active)
    return (wavelengths if _mi("is_spectral") else []), weight


class Surroundings:
    """What a scene tells endpoints written in Python of itself, in set_scene(): it is not complete yet."""

    def __init__(self, low, high): self._ends = low, high

    def bbox(self):
        """The bounds of all shapes."""
        from . import ScalarBoundingBox3f
        low, high = self._ends
        return ScalarBoundingBox3f(list(low), list(high)) if low[0] <= high[0] else ScalarBoundingBox3f()


def ends_of(box):
    """Six numbers of Python's, of what bbox() of such an endpoint returns."""
    return [float(v[0]) if isinstance(v, dr.ArrayBase) else float(v) for end in (box.min, box.max) for v in end]


Endpoint.bbox, Endpoint.sample_wavelengths = bbox, sample_wavelengths
Endpoint.m_flags = EmitterFlags.Empty  # of plugins written in Python, which set theirs


# ---- emitters

Emitter.m_needs_sample_2 = Emitter.m_needs_sample_3 = True


def needs_sample_2(self):
    """Whether sample_ray() uses its second sample."""
    return bool(self.m_needs_sample_2 if self._is_python() else not self.flags() & EmitterFlags.DeltaPosition)


def needs_sample_3(self):
    """Whether sample_ray() uses its third sample."""
    return bool(self.m_needs_sample_3 if self._is_python() else not self.flags() & EmitterFlags.DeltaDirection)


def world_transform(self):
    """From its own coordinates to the scene's."""
    from . import Transform4f
    from ._params import traverse
    if self._is_python():  # its traverse() may ask for this
        return self.__dict__.get("m_to_world") or Transform4f()
    if self._moves():
        raise dr.UserError("world_transform(): it moves, so that there is one for each time")
    params = traverse(self)
    place = params["to_world"] if "to_world" in params else Transform4f()
    if "position" in params:  # in the space of to_world
        place = place @ Transform4f().translate([float(v[0]) for v in params["position"]])
    return place


for _f in (needs_sample_2, needs_sample_3, world_transform):
    setattr(Emitter, _f.__name__, _f)


# ---- sensors

Sensor.m_needs_sample_2, Sensor.m_needs_sample_3 = True, False
Sensor.needs_sample_2 = lambda self: bool(self.m_needs_sample_2)
Sensor.needs_sample_3 = lambda self: bool(self.needs_aperture_sample())


def _sensor_to_world(self):
    """From its own coordinates to the scene's. A plugin in Python has a copy of what the scene says, which it may change and
    report in traverse()."""
    if not self._is_python():
        return world_transform(self)
    if "m_to_world" not in self.__dict__:
        self.__dict__["m_to_world"] = self._to_world()
    return self.__dict__["m_to_world"]


Sensor.world_transform = _sensor_to_world


def _number(name, doc):
    def method(self):
        from ._params import traverse
        return float(traverse(self)[name])
    method.__name__, method.__doc__ = name, doc
    return method


Sensor.shutter_open = _number("shutter_open", "When the shutter opens.")
Sensor.near_clip = _number("near_clip", "Nothing nearer than this is seen.")
Sensor.far_clip = _number("far_clip", "Nothing farther than this is seen.")


def focus_distance(self):
    """The distance at which the image is sharp; where all is, the farthest that is seen."""
    from ._params import traverse
    params = traverse(self)
    return float(params.get("focus_distance", 0)) or float(params["far_clip"])


def shutter_open_time(self):
    """How long the shutter is open."""
    from ._params import traverse
    params = traverse(self)
    return float(params["shutter_close"]) - float(params["shutter_open"])


def projection_transform(self):
    """From camera space to the unit square of the film."""
    from . import orthographic_projection, perspective_projection
    from ._params import traverse
    film, params = self.film(), traverse(self)
    window, clip = (film.size(), film.crop_size(), film.crop_offset()), (params["near_clip"], params["far_clip"])
    if "x_fov" in params:
        return perspective_projection(*window, params["x_fov"], *clip)
    return orthographic_projection(*window, *clip)


def sample_ray_differential(self, time, sample1, sample2, sample3, active=True):
    """A ray through a point of the film, with those through the next pixels to the right and below."""
    Point2f = _mi("Point2f")
    sample2 = Point2f(sample2)
    ray, weight = self.sample_ray(time, sample1, sample2, sample3, active)
    width, height = (float(n) for n in self.film().crop_size())
    out = RayDifferential3f(ray)
    out.o_x, out.d_x = _ends(self.sample_ray(time, sample1, Point2f(sample2.x + 1 / width, sample2.y), sample3, active)[0])
    out.o_y, out.d_y = _ends(self.sample_ray(time, sample1, Point2f(sample2.x, sample2.y + 1 / height), sample3, active)[0])
    out.has_differentials = True
    return out, weight


def _ends(ray): return ray.o, ray.d


for _f in (focus_distance, shutter_open_time, projection_transform, sample_ray_differential):
    setattr(Sensor, _f.__name__, _f)


def _plain(name):
    def accessor(self): return self.__dict__.get(name)

    def assign(self, value): self.__dict__[name] = value
    return property(accessor, assign)


def _m_film(self): return self.__dict__.get("m_film") or self.film()


Sensor.m_film = property(_m_film, lambda self, film: self.__dict__.__setitem__("m_film", film))
Sensor.m_to_world = property(_sensor_to_world,
                             lambda self, t: self.__dict__.__setitem__("m_to_world", t))
ProjectiveCamera = Sensor


def parse_fov(props, aspect):
    """The horizontal field of view, in degrees, of a camera with these properties: `fov` along `fov_axis`, or
    `focal_length` on film of 35 mm."""
    if "fov" in props and "focal_length" in props:
        raise dr.UserError("a camera has either a field of view (fov) or a focal length (focal_length), not both")
    fov, axis = float(props.get("fov", 0)), props.get("fov_axis", "x")
    if "fov" in props and not 0 < fov < 180:
        raise dr.UserError(f"fov is {fov}; it must lie between 0 and 180 degrees")
    if axis not in ("x", "y", "diagonal", "smaller", "larger"):
        raise dr.UserError(f"fov_axis is \"{axis}\"; it must be one of x, y, diagonal, smaller, larger")
    return 2 * math.degrees(math.atan(_core.half_width(fov, str(props.get("focal_length", "50mm")), axis, aspect)))
