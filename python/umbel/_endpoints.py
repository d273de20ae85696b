# umbel/_endpoints.py: what emitters and sensors offer to scripts beyond what rendering needs of them.
import copy
import enum
import math

from . import _core
from . import jit as dr
from ._records import DirectionSample3f, Interaction3f, PositionSample3f, Ray3f, RayDifferential3f, SurfaceInteraction3f, _mi
from ._state import state_of

Emitter, Sensor = _core.Emitter, _core.Sensor


class EmitterFlags(enum.IntFlag):
    """What kind of light an emitter is."""
    Empty = 0
    DeltaPosition = 1
    DeltaDirection = 2
    Infinite = 4
    Surface = 8
    SpatiallyVarying = 16
    Delta = DeltaPosition | DeltaDirection


class _EndpointType(type):
    def __instancecheck__(cls, o): return isinstance(o, (Emitter, Sensor))
    def __subclasscheck__(cls, c): return issubclass(c, (Emitter, Sensor))


class Endpoint(metaclass=_EndpointType):
    """Where light begins or ends: emitters and sensors."""


def _undefined(self, name):
    return dr.UserError(f"{self._where()}: {name}() is not defined for it")


# ---- emitters

Emitter.m_flags = EmitterFlags.Empty  # of plugins written in Python, which set theirs
Emitter.m_needs_sample_2 = Emitter.m_needs_sample_3 = True


def _flags(self):
    if self._is_python():
        return int(self.m_flags)
    if self.is_environment():
        return int(EmitterFlags.Infinite)
    if self.get_shape() is not None:
        return int(EmitterFlags.Surface)
    return int(EmitterFlags.DeltaPosition if self._is_delta() else EmitterFlags.Surface)


def flags(self, active=True):
    """EmitterFlags."""
    return _flags(self)


def _position(self):
    """Of a light at a point: where it sees itself from anywhere."""
    ds, _ = self.sample_direction(Interaction3f(p=[0, 0, 0]), [0.5, 0.5])
    return ds.p


def _sphere(self):
    """Centre and radius of what an environment surrounds."""
    known = state_of(self).get("sphere")
    return known or ([0., 0., 0.], 1.)


def bbox(self):
    """The surface of an area light, a single point, or nothing that has bounds."""
    from . import BoundingBox3f
    shape = self.get_shape()
    if shape is not None:
        return shape.bbox()
    if _flags(self) & EmitterFlags.DeltaPosition:
        p = [float(v[0]) for v in _position(self)]
        return BoundingBox3f(p, p)
    return BoundingBox3f()


def _shifted(sample):
    """Samples for all wavelengths of a ray: equally far apart."""
    Spectrum, u = _mi("UnpolarizedSpectrum"), _mi("Float")(sample)
    n = len(Spectrum())
    shifted = Spectrum(*(u + i / n for i in range(n)))
    return shifted - dr.floor(shifted)


def _spectrum(self):
    """The texture that says how much light there is, or None."""
    from ._plugins import TraversalCallback
    found = TraversalCallback()
    self.traverse(found)
    return next((v for n, v, _ in found._found if n in ("radiance", "intensity")), None)


def _radiance(self, si):
    """In the direction that is brightest."""
    si.wi = _mi("Vector3f")(0, 0, 1)
    return self.eval(si)


def _intensity(self, si):
    """Of a light at a point, from a place at distance one."""
    p = _position(self)
    it = Interaction3f(si)
    it.p = _mi("Point3f")(p.x, p.y, p.z + 1)
    return self.sample_direction(it, [0.5, 0.5])[1]


def sample_wavelengths(self, si, sample, active=True):
    """Wavelengths of the light, and its radiance or intensity over their density."""
    si = copy.copy(si)
    if _mi("is_spectral"):
        wavelengths, weight = _spectrum(self).sample_spectrum(si, _shifted(sample), active)
        return wavelengths, _mi("Spectrum")(weight)
    return [], _intensity(self, si) if _flags(self) & EmitterFlags.DeltaPosition else _radiance(self, si)


def sample_position(self, time, sample, active=True):
    """A point of the light, and one over its density per area."""
    shape = self.get_shape()
    if shape is not None:
        ps = shape.sample_position(time, sample, active)
        return ps, dr.select((ps.pdf > 0) & active, dr.rcp(ps.pdf), 0)
    if not _flags(self) & EmitterFlags.DeltaPosition:
        raise _undefined(self, "sample_position")
    ps = PositionSample3f()
    ps.p, ps.time, ps.delta = _position(self), _mi("Float")(time), _mi("Bool")(True)
    return ps, _mi("Float")(1)


def pdf_position(self, ps, active=True):
    """The density of sample_position() per area."""
    shape = self.get_shape()
    if shape is None:
        raise _undefined(self, "pdf_position")
    return dr.select(active, shape.pdf_position(ps, active), 0)


def _from_surface(self, shape, time, sample1, sample2, sample3, active):
    from . import Frame3f
    from .warp import square_to_cosine_hemisphere
    ps, area = self.sample_position(time, sample2, active)
    local = square_to_cosine_hemisphere(sample3)
    si = SurfaceInteraction3f()
    si.p, si.n, si.uv, si.time, si.sh_frame, si.t = ps.p, ps.n, ps.uv, ps.time, Frame3f(ps.n), _mi("Float")(0)
    wavelengths, weight = self.sample_wavelengths(si, sample1, active)
    ray = Ray3f(si.spawn_ray(si.to_world(local)))
    ray.wavelengths = wavelengths
    return ray, weight * (area * math.pi)


def _from_point(self, time, sample1, sample3, active):
    from .warp import square_to_uniform_sphere
    wavelengths, weight = self.sample_wavelengths(SurfaceInteraction3f(), sample1, active)
    return Ray3f(_position(self), square_to_uniform_sphere(sample3), time, wavelengths), weight * (4 * math.pi)


def _from_around(self, time, sample1, sample2, sample3, active):
    """Into the sphere around the scene, from a point of it."""
    from . import Frame3f
    from .warp import square_to_cosine_hemisphere, square_to_uniform_sphere
    centre, radius = _sphere(self)
    v = square_to_uniform_sphere(sample2)
    d = Frame3f(-v).to_world(square_to_cosine_hemisphere(sample3))
    wavelengths, weight = self.sample_wavelengths(SurfaceInteraction3f(), sample1, active)
    o = _mi("Point3f")(v * radius + _mi("Vector3f")(*centre))
    return Ray3f(o, d, time, wavelengths), weight * (4 * math.pi * math.pi * radius * radius)


def sample_ray(self, time, sample1, sample2, sample3, active=True):
    """A ray of light that leaves the emitter, and its radiance over the density of both ends: `sample1` chooses wavelengths,
    `sample2` where it begins, `sample3` its direction."""
    shape, kind = self.get_shape(), _flags(self)
    if shape is not None:
        return _from_surface(self, shape, time, sample1, sample2, sample3, active)
    if kind & EmitterFlags.DeltaPosition:
        return _from_point(self, time, sample1, sample3, active)
    if kind & EmitterFlags.Infinite:
        return _from_around(self, time, sample1, sample2, sample3, active)
    raise _undefined(self, "sample_ray")


def eval_direction(self, it, ds, active=True):
    """The light that arrives at `it` along ds.d, as sample_direction() found it, before it is divided by the density."""
    if _flags(self) & EmitterFlags.DeltaPosition:
        return dr.select(active, self.sample_direction(it, [0.5, 0.5], active)[1], 0)
    si = SurfaceInteraction3f()
    si.p, si.n, si.uv, si.time, si.wavelengths = ds.p, ds.n, ds.uv, ds.time, it.wavelengths
    si.wi = _mi("Vector3f")(0, 0, dr.select((dr.dot(ds.d, ds.n) < 0) | (_flags(self) & 4 != 0), 1, -1))
    return dr.select(active, self.eval(si, active), 0)


def needs_sample_2(self):
    """Whether sample_ray() uses its second sample."""
    return bool(self.m_needs_sample_2)


def needs_sample_3(self):
    """Whether sample_ray() uses its third sample."""
    return bool(self.m_needs_sample_3 if self._is_python() else not _flags(self) & EmitterFlags.DeltaPosition)


def get_medium(self): return None


def world_transform(self):
    """From its own coordinates to the scene's."""
    from . import Transform4f
    from ._params import traverse
    params = traverse(self)
    if "to_world" in params:
        return params["to_world"]
    if "position" in params:
        return Transform4f().translate([float(v[0]) for v in params["position"]])
    return Transform4f()


def set_scene(self, scene):
    """Tells an environment what it surrounds."""
    box = scene.bbox()
    if box.valid():
        low, high = ([float(v) for v in p] for p in (box.min, box.max))
        centre = [(a + b) / 2 for a, b in zip(low, high)]
        radius = max(1e-3, math.dist(high, centre) * (1 + 1e-4))
        state_of(self)["sphere"] = (centre, radius)


for _f in (flags, bbox, sample_wavelengths, sample_position, pdf_position, sample_ray, eval_direction, needs_sample_2,
           needs_sample_3, get_medium, world_transform, set_scene):
    setattr(Emitter, _f.__name__, _f)


# ---- sensors

Sensor.m_needs_sample_2, Sensor.m_needs_sample_3 = True, False
Sensor.get_medium, Sensor.get_shape = (lambda self: None), (lambda self: None)
Sensor.needs_sample_2 = lambda self: bool(self.m_needs_sample_2)
Sensor.needs_sample_3 = lambda self: bool(self.needs_aperture_sample())
Sensor.world_transform = world_transform


def _number(name, doc):
    def method(self):
        from ._params import traverse
        return float(traverse(self)[name])
    method.__name__, method.__doc__ = name, doc
    return method


Sensor.shutter_open = _number("shutter_open", "When the shutter opens.")
Sensor.near_clip = _number("near_clip", "Nothing nearer than this is seen.")
Sensor.far_clip = _number("far_clip", "Nothing farther than this is seen.")
Sensor.focus_distance = _number("focus_distance", "The distance at which the image is sharp.")


def shutter_open_time(self):
    """How long the shutter is open."""
    from ._params import traverse
    params = traverse(self)
    return float(params["shutter_close"]) - float(params["shutter_open"])


def sensor_bbox(self):
    """The point where the camera stands."""
    from . import BoundingBox3f
    m = self.world_transform().matrix
    p = [float(dr.slice(m[i, 3])) for i in range(3)]
    return BoundingBox3f(p, p)


def projection_transform(self):
    """From camera space to the unit square of the film."""
    from . import perspective_projection
    from ._params import traverse
    film, params = self.film(), traverse(self)
    return perspective_projection(film.size(), film.crop_size(), film.crop_offset(), params["x_fov"], params["near_clip"],
                                  params["far_clip"])


def sample_ray_differential(self, time, sample1, sample2, sample3, active=True):
    """A ray through a point of the film, with those through the next pixels to the right and below."""
    Point2f = _mi("Point2f")
    sample2 = Point2f(sample2)
    ray, weight = self.sample_ray(time, sample1, sample2, sample3, active)
    width, height = (float(n) for n in self.film().size())
    out = RayDifferential3f(ray)
    out.o_x, out.d_x = _ends(self.sample_ray(time, sample1, Point2f(sample2.x + 1 / width, sample2.y), sample3, active)[0])
    out.o_y, out.d_y = _ends(self.sample_ray(time, sample1, Point2f(sample2.x, sample2.y + 1 / height), sample3, active)[0])
    out.has_differentials = True
    return out, weight


def _ends(ray): return ray.o, ray.d


def sensor_wavelengths(self, si, sample, active=True):
    """Wavelengths that the sensor responds to, and one over their density."""
    if not _mi("is_spectral"):
        return [], _mi("Spectrum")(1)
    ray, weight = self.sample_ray(0, sample, [0.5, 0.5], [0.5, 0.5], active)
    return ray.wavelengths, weight


def _projected(self, p):
    """Points in camera space, and where they are seen in the unit square of the film."""
    local = self.world_transform().inverse() @ _mi("Point3f")(p)
    q = self.projection_transform() @ local
    return local, _mi("Point2f")(q.x, q.y)


def sensor_sample_direction(self, it, sample, active=True):
    """The direction towards the camera, where in the film it is seen (`uv`, in pixels), and its importance over density."""
    local, uv = _projected(self, it.p)
    size, near, far = self.film().crop_size(), self.near_clip(), self.far_clip()
    seen = active & (local.z >= near) & (local.z <= far) & (uv.x >= 0) & (uv.x <= 1) & (uv.y >= 0) & (uv.y <= 1)
    ds, transform = DirectionSample3f(), self.world_transform()
    ds.p = transform @ _mi("Point3f")(0, 0, 0)
    ds.n = _mi("Normal3f")(dr.normalize(transform @ _mi("Vector3f")(0, 0, 1)))
    d = _mi("Vector3f")(ds.p - it.p)
    ds.dist = dr.norm(d)
    ds.d, ds.time = d * dr.rcp(ds.dist), it.time
    ds.uv = _mi("Point2f")(uv.x * float(size[0]), uv.y * float(size[1]))
    ds.pdf = dr.select(seen, _mi("Float")(1), 0)
    value = dr.select(seen, _importance(self, local) / dr.square(ds.dist), 0)
    return ds, _mi("Spectrum")(value)


def _importance(self, local):
    """1 / (A cos^3): of a film of area A at distance one, A = 4 tan(fov_x / 2) tan(fov_y / 2)."""
    from ._params import traverse
    width, height = (float(n) for n in self.film().size())
    half = math.tan(math.radians(float(dr.slice(traverse(self)["x_fov"]))) / 2)
    crop_w, crop_h = (float(n) for n in self.film().crop_size())
    area = 4 * half * half * (height / width) * (crop_w / width) * (crop_h / height)
    cosine = local.z / dr.norm(local)
    return 1 / (area * cosine * cosine * cosine)


def sensor_pdf_direction(self, it, ds, active=True):
    """Zero: a camera is a point."""
    return _mi("Float")(0)


def sensor_eval(self, si, active=True):
    """Zero: a camera is a point."""
    return dr.zeros(_mi("Spectrum"), dr.width(si.t))


def sensor_sample_position(self, time, sample, active=True):
    """Where the camera stands."""
    ps = PositionSample3f()
    ps.p = self.world_transform() @ _mi("Point3f")(0, 0, 0)
    ps.time, ps.delta = _mi("Float")(time), _mi("Bool")(True)
    return ps, _mi("Float")(1)


for _name, _f in dict(shutter_open_time=shutter_open_time, bbox=sensor_bbox, projection_transform=projection_transform,
                      sample_ray_differential=sample_ray_differential, sample_wavelengths=sensor_wavelengths,
                      sample_direction=sensor_sample_direction, pdf_direction=sensor_pdf_direction, eval=sensor_eval,
                      sample_position=sensor_sample_position).items():
    setattr(Sensor, _name, _f)


def _plain(name):
    def accessor(self): return self.__dict__.get(name)

    def assign(self, value): self.__dict__[name] = value
    return property(accessor, assign)


def _m_film(self): return self.__dict__.get("m_film") or self.film()


Sensor.m_film = property(_m_film, lambda self, film: self.__dict__.__setitem__("m_film", film))
Sensor.m_to_world = property(lambda self: self.__dict__.get("m_to_world") or self.world_transform(),
                             lambda self, t: self.__dict__.__setitem__("m_to_world", t))
ProjectiveCamera = Sensor


def parse_fov(props, aspect):
    """The horizontal field of view, in degrees, of a camera with these properties: `fov` along `fov_axis`, or
    `focal_length` on film of 35 mm."""
    if "fov" in props and "focal_length" in props:
        raise dr.UserError("a camera has either a field of view (fov) or a focal length (focal_length), not both")
    if "fov" in props:
        fov, axis = float(props["fov"]), props.get("fov_axis", "x")
        if not 0 < fov < 180:
            raise dr.UserError(f"fov is {fov}; it must lie between 0 and 180 degrees")
    else:
        text = str(props.get("focal_length", "50mm"))
        length = float(text[:-2] if text.endswith("mm") else text)
        fov, axis = 2 * math.degrees(math.atan(math.hypot(36, 24) / (2 * length))), "diagonal"
    if axis in ("smaller", "larger"):
        axis = "x" if (axis == "larger") == (aspect > 1) else "y"
    half = math.tan(math.radians(fov) / 2)
    scale = {"x": 1, "y": aspect, "diagonal": aspect / math.hypot(1, aspect)}.get(axis)
    if scale is None:
        raise dr.UserError(f"fov_axis is \"{axis}\"; it must be one of x, y, diagonal, smaller, larger")
    return 2 * math.degrees(math.atan(half * scale))
