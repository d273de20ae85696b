# umbel/_scene.py: scenes, lanes that refer to their objects, samplers, plugins in Python, and rendering.
import atexit
import enum
import sys
import time

from . import _core
from . import jit as dr
from ._random import sample_tea_32
from ._records import _mi, PreliminaryIntersection3f, Ray3f, SurfaceInteraction3f


class BSDFFlags(enum.IntFlag):
    """What a BSDF, or one of its lobes, does."""
    Empty = 0x0
    Null = 0x1
    DiffuseReflection = 0x2
    DiffuseTransmission = 0x4
    GlossyReflection = 0x8
    GlossyTransmission = 0x10
    DeltaReflection = 0x20
    DeltaTransmission = 0x40
    Anisotropic = 0x1000
    SpatiallyVarying = 0x2000
    NonSymmetric = 0x4000
    FrontSide = 0x8000
    BackSide = 0x10000
    Reflection = DiffuseReflection | GlossyReflection | DeltaReflection
    Transmission = DiffuseTransmission | GlossyTransmission | DeltaTransmission | Null
    Diffuse = DiffuseReflection | DiffuseTransmission
    Glossy = GlossyReflection | GlossyTransmission
    Smooth = Diffuse | Glossy
    Delta = Null | DeltaReflection | DeltaTransmission
    All = Reflection | Transmission


class RayFlags(enum.IntFlag):
    """What an intersection is to compute; everything is, and what is not used costs nothing."""
    Empty = 0x0
    Minimal = 0x1
    UV = 0x2
    dPdUV = 0x4
    ShadingFrame = 0x8
    dNGdUV = 0x10
    dNSdUV = 0x20
    FollowShape = 0x80
    DetachShape = 0x100
    All = UV | dPdUV | ShadingFrame
    AllNonDifferentiable = All | DetachShape


class TransportMode(enum.IntEnum):
    Radiance = 0
    Importance = 1


class ParamFlags(enum.IntFlag):
    """Properties of a parameter."""
    Differentiable = 0x0
    NonDifferentiable = 0x1
    Discontinuous = 0x2
    ReadOnly = 0x4


def has_flag(flags, bit):
    """Whether a bit is set, also for arrays of flags."""
    return (flags & int(bit)) != 0


# ---- objects that lanes refer to

class _Pointer:
    DRJIT_STRUCT = {"index": None}

    def __init__(self, scene=None, index=None):
        self.index = _mi("UInt")(0) if index is None else index
        self._scene = scene

    def __eq__(self, other):
        if other is None:
            return self.index == 0
        if isinstance(other, _Pointer):
            return self.index == other.index
        return NotImplemented

    def __ne__(self, other):
        return ~(self == other)

    __hash__ = None

    def __len__(self): return len(self.index)

    def __repr__(self): return f"{type(self).__name__}{self.index}"


class BSDFPtr(_Pointer):
    """A BSDF for each lane, or none."""

    def __init__(self, scene=None, index=None, flags=None):
        super().__init__(scene, index)
        self._flags = flags

    def flags(self, active=True):
        return dr.select(active, self._flags, 0)

    def eval_pdf(self, ctx, si, wo, active=True):
        return self._scene._bsdf_eval_pdf(self.index, ctx, si, wo, active)

    def eval(self, ctx, si, wo, active=True):
        return self.eval_pdf(ctx, si, wo, active)[0]

    def pdf(self, ctx, si, wo, active=True):
        return self.eval_pdf(ctx, si, wo, active)[1]

    def sample(self, ctx, si, sample1, sample2, active=True):
        return self._scene._bsdf_sample(self.index, ctx, si, sample1, sample2, active)

    def eval_pdf_sample(self, ctx, si, wo, sample1, sample2, active=True):
        return (*self.eval_pdf(ctx, si, wo, active), *self.sample(ctx, si, sample1, sample2, active))

    def eval_diffuse_reflectance(self, si, active=True):
        return self._scene._bsdf_reflectance(self.index, si, active)


class EmitterPtr(_Pointer):
    """A light for each lane, or none."""

    def eval(self, si, active=True):
        return self._scene._eval_emitter(si, self.index, active)


# ---- the scene

def make_bbox(low, high):
    from . import BoundingBox3f
    return BoundingBox3f(low, high)


def _scene_methods():
    Scene = _core.Scene

    def ray_intersect(self, ray, ray_flags=None, coherent=False, active=True, reorder=False,
                      reorder_hint=0, reorder_hint_bits=0):
        """All about the surfaces that rays meet first. Lanes are never reordered."""
        if not isinstance(ray_flags, (int, type(None))):  # ray_intersect(ray, active)
            active, ray_flags = ray_flags, None
        elif isinstance(ray_flags, bool):
            active = ray_flags
        pi = self._trace(ray, active, _plain(coherent))
        pi._scene = self
        return pi.compute_surface_interaction(ray, ray_flags, active)

    def ray_intersect_preliminary(self, ray, coherent=False, active=True, reorder=False,
                                  reorder_hint=0, reorder_hint_bits=0):
        """The hits alone."""
        pi = self._trace(ray, active, _plain(coherent))
        pi._scene = self
        return pi

    def ray_test(self, ray, coherent=False, active=True):
        """Whether anything lies between the ends of rays."""
        if not isinstance(coherent, bool):  # ray_test(ray, active)
            active = coherent
        return self._ray_test(ray, active)

    def sample_emitter_direction(self, ref, sample, test_visibility=True, active=True):
        """Directions towards lights, and radiance over density."""
        ds, weight = self._sample_emitter_direction(ref, sample, test_visibility, active)
        ds._scene = self
        return ds, weight

    def pdf_emitter_direction(self, ref, ds, active=True):
        """The density of sample_emitter_direction."""
        return self._pdf_emitter_direction(ref, ds, active)

    def bbox(self):
        b = self._bounds()
        return make_bbox(list(b[:3]), list(b[3:]))

    def shapes_dr(self):
        """The shapes, one a lane."""
        from ._shape import ShapePtr
        out = ShapePtr(_mi("UInt")(self._surface_numbers()))
        out._scene = self
        return out

    def emitters(self):
        """All lights: those of shapes, then the others."""
        found = [s.emitter() for s in self.shapes() if s.emitter() is not None]
        return found + self._free_emitters()

    def environment(self):
        """The light that surrounds the scene, or None."""
        return next((e for e in self._free_emitters() if e.is_environment()), None)

    for f in (ray_intersect, ray_intersect_preliminary, ray_test, sample_emitter_direction, pdf_emitter_direction,
              bbox, shapes_dr, emitters, environment):
        setattr(Scene, f.__name__, f)


def _plain(v):
    return bool(v) if isinstance(v, bool) else False


# ---- films, sensors, samplers

class Stream:
    """A sampler in mid-sequence: the random numbers of many samples, one a lane."""
    DRJIT_STRUCT = {"_key0": None, "_key1": None, "_sample": None, "_dimension": None}

    def __init__(self, source, seed=None, lanes=1):
        self._source = source
        if seed is not None:
            self.seed(seed, lanes)

    def seed(self, seed, wavefront_size=1):
        """Starts that many sequences."""
        lane = dr.arange(_mi("UInt"), wavefront_size)
        count = max(1, self._source.sample_count())
        pixel = lane // count
        self._key0, self._key1, self._sample, self._dimension = self._source._begin(
            dr.opaque(_mi("UInt"), seed), pixel, lane - pixel * count)

    def next_1d(self, active=True):
        u, self._dimension = self._source._next_1d(self._key0, self._key1, self._sample, self._dimension)
        return u

    def next_2d(self, active=True):
        u, self._dimension = self._source._next_2d(self._key0, self._key1, self._sample, self._dimension)
        return u

    def sample_count(self): return self._source.sample_count()

    def set_sample_count(self, n): self._source.set_sample_count(n)

    def wavefront_size(self): return dr.width(self._key0)

    def clone(self):
        out = Stream(self._source)
        out.__dict__.update(self.__dict__)
        return out

    fork = clone

    def schedule_state(self): dr.schedule(self._dimension)


def _film_methods():
    Film, Sensor = _core.Film, _core.Sensor
    Film.size = lambda self: _mi("ScalarVector2u")(*self._size())
    Film.crop_size = lambda self: _mi("ScalarVector2u")(*self._crop()[2:])
    Film.crop_offset = lambda self: _mi("ScalarPoint2u")(*self._crop()[:2])

    def sampler(self):
        """A sampler to be seeded: `sensor.sampler().seed(0, lanes)`."""
        return Stream(self._sampler())

    def sample_ray_differential(self, time, sample1, sample2, sample3, active=True):
        ray, weight = self.sample_ray(time, sample1, sample2, sample3, active)
        return _differential(ray), weight

    def world_transform(self):
        """From the sensor's coordinates to the scene's."""
        from ._params import traverse
        return traverse(self)["to_world"]

    Sensor.sampler, Sensor.world_transform = sampler, world_transform
    Sensor.sample_ray_differential = sample_ray_differential

    def develop(self, raw=False):
        """The last image that was rendered with this film, as a tensor."""
        return _core.last_image(self)

    def bitmap(self, raw=False):
        """The last image that was rendered with this film."""
        from ._bitmap import Bitmap
        return Bitmap(_core.last_image(self))

    def write(self, path):
        """Writes the last image that was rendered with this film."""
        self.bitmap().write(path)

    Film.develop, Film.bitmap, Film.write = develop, bitmap, write

    def sample(self, scene, sampler, ray, medium=None, active=True):
        """Radiance along rays, whether they met anything, and further channels."""
        return self._sample(scene, sampler, ray, active)

    _core.Integrator.sample = sample

    def render_with(self, scene, sensor=0, seed=0, spp=0, develop=True, evaluate=True):
        """An image by this method; it is always developed, and computed when it is needed."""
        return render(scene, sensor=sensor, integrator=self, seed=seed, spp=spp)

    _core.Integrator.render = render_with


def _differential(ray):
    from ._records import RayDifferential3f
    return RayDifferential3f(ray)


# ---- plugins in Python

class Properties:
    """What a plugin was given: `props["name"]`, `props.get("name", otherwise)`."""

    def __init__(self, core=None):
        self._core = core
        self._values = {}

    def plugin_name(self): return self._core.type if self._core else ""

    def id(self): return self._core.id if self._core else ""

    def has_property(self, name): return name in self

    def __contains__(self, name): return name in self._values or bool(self._core and self._core.has(name))

    def keys(self): return list(self._values) + (self._core.keys() if self._core else [])

    property_names = keys

    def get(self, name, otherwise=None):
        if name in self._values:
            return self._values[name]
        return self._core.get(name) if self._core and self._core.has(name) else otherwise

    def __getitem__(self, name):
        if name not in self:
            raise KeyError(f"property \"{name}\" has not been specified")
        return self.get(name)

    def __setitem__(self, name, value): self._values[name] = value

    def get_texture(self, name, otherwise=None):
        """The value as a texture."""
        value = self.get(name, otherwise)
        if isinstance(value, _core.Object):
            return value
        if isinstance(value, (int, float)):
            return _core.load_dict({"type": "uniform", "value": float(value)})
        return _core.load_dict({"type": "rgb", "value": list(value)})


class Callback:
    """What traverse() of a plugin written in Python reports to."""

    def __init__(self, found): self._found = found

    def put_parameter(self, name, value, flags=ParamFlags.Differentiable):
        self._found.append((name, value, not int(flags) & int(ParamFlags.NonDifferentiable)))

    def put_object(self, name, value, flags=ParamFlags.Differentiable):
        if value is not None:
            self._found.append((name, value, False))

    def put(self, name, value, flags=ParamFlags.Differentiable):
        (self.put_object if isinstance(value, _core.Object) else self.put_parameter)(name, value, flags)

    put_value = put_parameter


def _register(kind):
    def register(name, make):
        _core.register_plugin(kind, name, lambda core: make(Properties(core)))
    register.__name__ = f"register_{kind}"
    register.__doc__ = f"Makes `make(props)`, usually a class, the {kind} plugin of that name."
    return register


register_bsdf, register_emitter, register_texture = _register("bsdf"), _register("emitter"), _register("texture")
register_sensor, register_integrator = _register("sensor"), _register("integrator")


# ---- loading

def load_dict(dict, parallel=True, optimize=True):
    """Loads a scene, or one object, from nested dictionaries. Scenes load in one thread, and nothing is merged."""
    loaded = _core.load_dict(dict)
    return Stream(loaded) if isinstance(loaded, _core.Sampler) else loaded


# ---- rendering

class Progress:
    """A bar for renders that take more than a second, on terminals and in notebooks."""

    def __init__(self):
        self._begin, self._shown = time.perf_counter(), False

    def __call__(self, fraction):
        spent = time.perf_counter() - self._begin
        if spent < 1 or not (sys.stderr.isatty() or "ipykernel" in sys.modules):
            return
        left = spent / max(fraction, 1e-6) - spent
        done = int(30 * fraction)
        self._shown = True
        print(f"\rrendering |{'#' * done}{' ' * (30 - done)}| {100 * fraction:3.0f} %, {left:.0f} s left ",
              end="" if fraction < 1 else "\n", file=sys.stderr, flush=True)

    def stop(self):
        if self._shown:
            print(file=sys.stderr)


def render(scene, params=None, sensor=0, integrator=None, seed=0, seed_grad=0, spp=0, spp_grad=0):
    """An image of the scene, a tensor of rows, columns and channels; differentiable in `params`.

    `sensor` is one of the scene's, by number, or any other; `integrator` is the scene's unless given. The derivative is
    computed with `spp_grad` samples a pixel (as many as `spp` unless given) of another seed, `seed_grad`.
    """
    from ._params import SceneParameters
    seed = int(seed) & 0xffffffff
    if not seed_grad:
        seed_grad = sample_tea_32(seed, 1)[0]
    if not isinstance(scene, _core.Scene):
        raise TypeError("render: the first argument must be a scene")
    if isinstance(params, SceneParameters):
        params._sync()
        pointer = params._core.pointer()
    else:
        pointer = 0
        if params is not None and dr._tree.leaves(params):
            raise TypeError("render: params must be what umbel.traverse() returns")
    return _core.render(scene, pointer, sensor, integrator, seed, int(seed_grad) & 0xffffffff, int(spp), int(spp_grad))


_scene_methods()
_film_methods()
atexit.register(_core.clear_plugins)
atexit.register(_core.release_scenes)
atexit.register(_core.forget_images)
