# umbel/_records.py: rays, interactions and samples. Their fields may be traced in loops and calls.
from . import _core
from . import jit as dr


def _mi(name):
    from ._variant_types import resolve
    return resolve(name)


def frame(n=None):
    """The class of frames, made without or with a normal."""
    from . import Frame3f
    return Frame3f() if n is None else Frame3f(n)


class _Record:
    """Fields that are given by name; the others are zero."""
    _fields = {}

    def __init_subclass__(cls, **kw):
        super().__init_subclass__(**kw)
        cls.DRJIT_STRUCT = {n: None for n in cls._fields}

    def __repr__(self):
        rows = ",\n".join(f"  {n} = {getattr(self, n, None)}" for n in self._fields if not n.startswith("_"))
        return f"{type(self).__name__}[\n{rows}\n]"

    def zero_(self, size=1):
        """Sets all fields to zeros of that many lanes."""
        for name, kind in self._fields.items():
            setattr(self, name, _zero(kind, size))


def _zero(kind, size=1):
    if kind == "wavelengths":
        return dr.zeros(_mi("UnpolarizedSpectrum"), size) if "spectral" in _core.variant() else []
    if kind == "frame":
        out = frame()
        for n, k in (("s", "Vector3f"), ("t", "Vector3f"), ("n", "Normal3f")):
            setattr(out, n, dr.zeros(_mi(k), size))
        return out
    return dr.zeros(_mi(kind), size)


def _convert(kind, value):
    return value if kind in ("wavelengths", "frame") else _mi(kind)(value)


class Ray3f(_Record):
    """A ray: origin, direction, how far it reaches, time, wavelengths."""
    _fields = {"o": "Point3f", "d": "Vector3f", "maxt": "Float", "time": "Float", "wavelengths": "wavelengths"}

    def __init__(self, o=None, d=None, *args, maxt=None, time=0., wavelengths=None):
        if isinstance(o, Ray3f):  # a copy
            for n in self._fields:
                setattr(self, n, getattr(o, n))
            return
        if o is None:
            return self.zero_()
        if len(args) >= 3:
            maxt, time, wavelengths = args[:3]
        elif args:
            time, wavelengths = (*args, None)[:2]
        self.o, self.d = _mi("Point3f")(o), _mi("Vector3f")(d)
        self.maxt = _mi("Float")(dr.largest(_mi("Float")) if maxt is None else maxt)
        self.time = _mi("Float")(time)
        self.wavelengths = _zero("wavelengths") if wavelengths is None else wavelengths

    def __call__(self, t):
        """The point at distance t."""
        return _mi("Point3f")(dr.fma(self.d, t, self.o))


class RayDifferential3f(Ray3f):
    """A ray; what it offers beyond is empty here."""
    has_differentials = False

    def scale_differential(self, amount): pass


class Interaction3f(_Record):
    """A reference point: on a surface, or elsewhere in space."""
    _fields = {"t": "Float", "time": "Float", "wavelengths": "wavelengths", "p": "Point3f", "n": "Normal3f"}

    def __init__(self, *args, **fields):
        self.zero_()
        if args and isinstance(args[0], Interaction3f):
            for n in Interaction3f._fields:
                setattr(self, n, getattr(args[0], n))
        else:
            for n, v in list(zip(("t", "time", "wavelengths", "p", "n"), args)) + list(fields.items()):
                setattr(self, n, _convert(self._fields[n], v))

    def is_valid(self): return self.t < float("inf")

    def spawn_ray(self, d): return RayDifferential3f(_core.spawn_ray(self, d))

    def spawn_ray_to(self, p): return Ray3f(_core.spawn_ray_to(self, p))


class SurfaceInteraction3f(Interaction3f):
    """Where a ray has met a surface."""
    _fields = {**Interaction3f._fields, "uv": "Point2f", "sh_frame": "frame", "dp_du": "Vector3f", "dp_dv": "Vector3f",
               "wi": "Vector3f", "prim_index": "UInt", "_shape": "UInt", "_bsdf": "UInt", "_bsdf_flags": "UInt",
               "_emitter": "UInt"}
    _scene = None

    def __init__(self, *args, **fields): super().__init__(*args, **fields)

    def to_world(self, v): return self.sh_frame.to_world(v)

    def to_local(self, v): return self.sh_frame.to_local(v)

    def to_world_mueller(self, m, wi, wo): return _core.to_world_mueller(self, m, wi, wo)

    @property
    def shape(self):
        from ._pointers import ShapePtr
        return ShapePtr._of(self._scene, self._shape)

    def bsdf(self, ray=None):
        """The BSDFs of the surfaces, one a lane."""
        from ._pointers import BSDFPtr
        pointer = BSDFPtr._of(self._scene, self._bsdf)
        pointer._flags = self._bsdf_flags
        return pointer

    def emitter(self, scene=None, active=True):
        """The lights that the rays have met: those of the surfaces, or the environment."""
        from ._pointers import EmitterPtr
        scene = scene or self._scene
        return EmitterPtr._of(scene, dr.select(active, scene._emitter_of(self), 0))

    def is_sensor(self): return dr.zeros(_mi("Bool"), dr.width(self.t))

    def has_uv_partials(self): return dr.zeros(_mi("Bool"), dr.width(self.t))


class PreliminaryIntersection3f(_Record):
    """A hit, before anything else is known about it."""
    _fields = {"t": "Float", "_u": "Float", "_v": "Float", "prim_index": "UInt", "_geometry": "UInt",
               "_instance": "UInt"}
    _scene = None

    def __init__(self): self.zero_()

    def is_valid(self): return self.t < float("inf")

    @property
    def prim_uv(self): return _mi("Point2f")(self._u, self._v)

    def compute_surface_interaction(self, ray, ray_flags=None, active=True):
        si = self._scene._interaction(ray, self, active)
        si._scene = self._scene
        return si


class PositionSample3f(_Record):
    """A point on a surface."""
    _fields = {"p": "Point3f", "n": "Normal3f", "uv": "Point2f", "time": "Float", "pdf": "Float", "delta": "Bool"}

    def __init__(self, si=None):
        self.zero_()
        if si is not None:
            self.p, self.n, self.uv, self.time = si.p, si.sh_frame.n, si.uv, si.time


class DirectionSample3f(PositionSample3f):
    """A point on a light, seen from elsewhere."""
    _fields = {**PositionSample3f._fields, "d": "Vector3f", "dist": "Float", "_emitter": "UInt"}
    _scene = None

    def __init__(self, scene=None, si=None, ref=None):
        self.zero_()
        if si is not None:
            made = scene._direction_to(ref if ref is not None else Interaction3f(), si)
            for n in self._fields:
                setattr(self, n, getattr(made, n))
            self._scene = scene

    @property
    def emitter(self):
        from ._pointers import EmitterPtr
        return EmitterPtr._of(self._scene, self._emitter)


class BSDFSample3f(_Record):
    """A direction sampled from a BSDF."""
    _fields = {"wo": "Vector3f", "pdf": "Float", "eta": "Float", "sampled_type": "UInt", "sampled_component": "UInt"}

    def __init__(self, wo=None):
        self.zero_()
        self.eta = _mi("Float")(1)
        if wo is not None:
            self.wo = wo
