# umbel/_records.py: rays, interactions and samples. Their fields may be traced in loops and calls.
from . import _core
from . import jit as dr
from ._fields import Typed
from .jit._tree import children, rebuild


def _mi(name):
    from ._variant_types import resolve
    return resolve(name)


def _is_scalar():
    from ._variants import variant
    return (variant() or "").startswith("scalar_")


class OneLane:
    """References, which in scalar variants are to one object: what only the object itself has is found there."""

    def __getattr__(self, name):
        if not name.startswith("_") and _is_scalar():
            target = self[0]
            if target is None:
                raise AttributeError(f"'{name}': the reference is to no object; compare it with None first")
            return getattr(target, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    def __bool__(self):
        if _is_scalar():
            return self[0] is not None
        raise TypeError("lanes may refer to different objects: compare them with None")


def frame(n=None):
    """The class of frames, made without or with a normal."""
    from . import Frame3f
    return Frame3f() if n is None else Frame3f(n)


class _Record(Typed):
    """Fields that are given by name; the others are zero."""
    _fields = {}
    _beside = ("_scene", "has_differentials", "_lights", "_media")  # what copies share that is no array

    # See jit/_state.py: introduce()
    def _umbel_owner(self): return getattr(self, "_scene", None)

    def _umbel_belong(self, scene):
        if hasattr(type(self), "_scene"):
            self._scene = scene

    # Of the fields that are references to objects: numbers, which mean something in their list only
    _references = (("_emitter", "_lights", "emitter"), ("_medium", "_media", "medium"))

    def _umbel_meaning(self):
        """See jit/_state.py: fit()"""
        lists = [getattr(self, name, None) for _, name, _ in self._references]
        return [getattr(self, "_scene", None), *(None if v is None else v._list for v in lists)]

    def _umbel_merge(self, other):
        """`other`, whose references have the numbers of this record's lists, which then have all objects."""
        other = rebuild(other, [v for _, v in children(other)])
        for numbers, lists, name in self._references:
            if numbers in self._fields and (getattr(self, lists, None) or getattr(other, lists, None)) is not None:
                mine = getattr(self, name)
                setattr(other, name, mine._umbel_merge(getattr(other, name)))
                setattr(self, name, mine)
        if self._umbel_owner() is None:
            self._umbel_belong(other._umbel_owner())
        return other

    def __init_subclass__(cls, **kw):
        cls._kinds = cls._fields
        super().__init_subclass__(**kw)
        cls.DRJIT_STRUCT = {n: None for n in cls._fields}

    def __repr__(self):
        rows = ",\n".join(f"  {n}={_row(getattr(self, n, None))}" for n in self._shown())
        return f"{type(self).__name__.removesuffix('3f')}[\n{rows}\n]"

    def _shown(self): return [n for n in self._fields if not n.startswith("_")]

    def __getattr__(self, name):
        kind = type(self)._fields.get(name)
        if kind is None:
            raise AttributeError(f"'{type(self).__name__}' has no attribute '{name}'")
        value = _zero(kind)  # made when it is asked for
        self.__dict__[name] = value
        return value

    def __setattr__(self, name, value):
        if not isinstance(value, dr.ArrayBase):  # numbers and lists
            kind = type(self)._fields.get(name)
            if kind is not None:
                value = _convert(kind, value)
        object.__setattr__(self, name, value)

    def __setitem__(self, mask, other):
        """Takes the values of another record in lanes of a mask."""
        references = {}  # numbers mean something in their list only: these meet in one that has both
        for numbers, lists, name in self._references:
            if numbers in self._fields and (getattr(self, lists, None) or getattr(other, lists, None)) is not None:
                references[name] = dr.select(mask, getattr(other, name), getattr(self, name))
        super().__setitem__(mask, other)
        for name in self._beside:
            if getattr(self, name, None) is None and getattr(other, name, None) is not None:
                object.__setattr__(self, name, getattr(other, name))
        for name, value in references.items():
            setattr(self, name, value)

    def assign(self, other):
        """Takes over the fields of another record, as far as it has them; later changes of one do not show in the other."""
        for name in self._fields:
            if name in other._fields:
                setattr(self, name, dr.copy(getattr(other, name)))
        for name in self._beside:
            if hasattr(type(self), name) and hasattr(other, name):
                object.__setattr__(self, name, getattr(other, name))

    def zero_(self, size=1):
        """Sets all fields to zeros of that many lanes."""
        for name, kind in self._fields.items():
            object.__setattr__(self, name, _zero(kind, size))


def _row(value):
    return f"{value}".replace("Frame3f[", "Frame[")


def _zero(kind, size=1):
    if kind == "distance":  # to nothing
        return dr.full(_mi("Float"), float("inf"), size)
    if kind == "wavelengths":
        return dr.zeros(_mi("UnpolarizedSpectrum"), size) if "spectral" in _core.variant() else _mi("Color0f")()
    if kind == "frame":
        out = frame()
        for n, k in (("s", "Vector3f"), ("t", "Vector3f"), ("n", "Normal3f")):
            setattr(out, n, dr.zeros(_mi(k), size))
        return out
    return dr.zeros(_mi(kind), size)


def _convert(kind, value):
    if kind == "frame" or value is None or (kind == "wavelengths" and hasattr(value, "__len__") and not len(value)):
        return value
    if kind == "wavelengths":
        return _mi("UnpolarizedSpectrum")(value)
    return _mi("Float" if kind == "distance" else kind)(value)


def _ray_fields(size, precision):
    number = "Float" if precision == "f" else "Float64"
    return {"o": f"Point{size}{precision}", "d": f"Vector{size}{precision}", "maxt": number, "time": number,
            "wavelengths": "wavelengths"}


class Ray3f(_Record):
    """A ray: origin, direction, how far it reaches, time, wavelengths."""
    _fields = _ray_fields(3, "f")

    def __init__(self, o=None, d=None, *args, maxt=None, time=0., wavelengths=None, other=None):
        o, number = o if other is None else other, _mi(self._fields["time"])
        if isinstance(o, Ray3f):  # (other, maxt)
            self.assign(o)
            maxt = d if maxt is None else maxt
            if maxt is not None:
                self.maxt = number(maxt)
            return
        if o is None:
            return self.zero_()
        if len(args) >= 3:
            maxt, time, wavelengths = args[:3]
        elif args:
            time, wavelengths = (*args, None)[:2]
        self.o, self.d = _mi(self._fields["o"])(o), _mi(self._fields["d"])(d)
        self.maxt = number(dr.largest(number) if maxt is None else maxt)
        self.time = number(time)
        self.wavelengths = _zero("wavelengths") if wavelengths is None else wavelengths

    def __call__(self, t):
        """The point at distance t."""
        return _mi(self._fields["o"])(dr.fma(self.d, t, self.o))


class Ray2f(Ray3f):
    """A ray in the plane."""
    _fields = _ray_fields(2, "f")


class Ray2d(Ray3f):
    """A ray in the plane, in double precision."""
    _fields = _ray_fields(2, "d")


class Ray3d(Ray3f):
    """A ray in double precision."""
    _fields = _ray_fields(3, "d")


class RayDifferential3f(Ray3f):
    """A ray with two neighbours, a pixel to the right and a pixel below, if has_differentials is set."""
    _fields = {**Ray3f._fields, "o_x": "Point3f", "o_y": "Point3f", "d_x": "Vector3f", "d_y": "Vector3f"}
    has_differentials = False

    def scale_differential(self, amount):
        """Moves the neighbours closer, or farther away."""
        for a, a_x, a_y in (("o", "o_x", "o_y"), ("d", "d_x", "d_y")):
            centre = getattr(self, a)
            for name in (a_x, a_y):
                setattr(self, name, type(centre)((getattr(self, name) - centre) * amount + centre))

    scale = scale_differential


class Interaction3f(_Record):
    """A reference point: on a surface, or elsewhere in space."""
    _fields = {"t": "distance", "time": "Float", "wavelengths": "wavelengths", "p": "Point3f", "n": "Normal3f"}

    def __init__(self, *args, **fields):
        if args and isinstance(args[0], Interaction3f):
            self.assign(args[0])
        else:
            for n, v in list(zip(("t", "time", "wavelengths", "p", "n"), args)) + list(fields.items()):
                if n not in self._fields:
                    raise TypeError(f"{type(self).__name__} has no field '{n}'")
                setattr(self, n, _convert(self._fields[n], v))

    def is_valid(self): return self.t < float("inf")

    def spawn_ray(self, d): return Ray3f(_core.spawn_ray(self, d))

    def spawn_ray_to(self, t): return Ray3f(_core.spawn_ray_to(self, t))


class SurfaceInteraction3f(Interaction3f):
    """Where a ray has met a surface."""
    _fields = {**Interaction3f._fields, "uv": "Point2f", "sh_frame": "frame", "dp_du": "Vector3f", "dp_dv": "Vector3f",
               "dn_du": "Vector3f", "dn_dv": "Vector3f", "duv_dx": "Vector2f", "duv_dy": "Vector2f", "wi": "Vector3f",
               "prim_index": "UInt", "_shape": "UInt", "_instance": "UInt", "_bsdf": "UInt", "_bsdf_flags": "UInt",
               "_emitter": "UInt"}
    _scene = None

    def __init__(self, *args, **fields):
        if "ps" in fields:
            args = fields.pop("ps"), *args
        if args and isinstance(args[0], PositionSample3f):  # (ps, wavelengths)
            ps, wavelengths = (*args, fields.get("wavelengths"))[:2]
            super().__init__(t=0, time=ps.time, p=ps.p, n=ps.n)
            self.uv = ps.uv
            self.wavelengths = _zero("wavelengths") if wavelengths is None else wavelengths
            self.sh_frame = frame(ps.n)
        else:
            super().__init__(*args, **fields)

    def _shown(self):
        names = [n for n in self._fields if not n.startswith("_")]
        names.insert(names.index("uv"), "shape")
        return names + ["instance"]

    def to_world(self, v): return self.sh_frame.to_world(v)

    def to_local(self, v): return self.sh_frame.to_local(v)

    def to_world_mueller(self, M_local, wi_local, wo_local):
        """Of a Mueller matrix of directions in the shading frame, that of directions in the world."""
        return _core.to_world_mueller(self, M_local, wi_local, wo_local)

    def to_local_mueller(self, M_world, wi_world, wo_world):
        """Of a Mueller matrix of directions in the world, that of directions in the shading frame."""
        from . import mueller
        if "polarized" not in _core.variant():
            return M_world
        wi, wo = self.to_local(wi_world), self.to_local(wo_world)
        basis = mueller.stokes_basis
        return mueller.rotate_mueller_basis(M_world, wi, self.to_local(basis(wi_world)), basis(wi),
                                            wo, self.to_local(basis(wo_world)), basis(wo))

    @property
    def shape(self):
        """The shapes that were met, one a lane."""
        return self._pointer(self._shape)

    @shape.setter
    def shape(self, value): self._shape = _number_of(value)

    @property
    def instance(self):
        """The instances that they are part of, one a lane."""
        return self._pointer(self._instance)

    @instance.setter
    def instance(self, value): self._instance = _number_of(value)

    def _pointer(self, numbers):
        from ._shape import ShapePtr
        out = ShapePtr(numbers)
        out._scene = self._scene
        return out

    def initialize_sh_frame(self):
        """Completes the shading frame around its normal; its first direction follows dp_du."""
        n = self.sh_frame.n
        s = dr.fma(n, -dr.dot(n, self.dp_du), self.dp_du)
        good = dr.squared_norm(s) > 0
        other = frame(n)
        s = dr.select(good, dr.normalize(s), other.s)
        self.sh_frame = type(other)(_mi("Vector3f")(s), _mi("Vector3f")(dr.cross(n, s)), n)

    def compute_uv_partials(self, ray):
        """How texture coordinates change from pixel to pixel: duv_dx and duv_dy."""
        zero = dr.zeros(_mi("Vector2f"))
        if not ray.has_differentials:
            self.duv_dx = self.duv_dy = zero
            return
        # Where the neighbours meet the tangent plane
        d = dr.dot(self.n, self.p)
        at = lambda o, v: dr.fma(v, (d - dr.dot(self.n, o)) / dr.dot(self.n, v), o) - self.p
        a, b = self.dp_du, self.dp_dv
        aa, ab, bb = dr.squared_norm(a), dr.dot(a, b), dr.squared_norm(b)
        det = aa * bb - ab * ab
        good = (det > 0) & dr.isfinite(dr.rcp(det))

        def solve(step):
            x, y = dr.dot(a, step), dr.dot(b, step)
            uv = _mi("Vector2f")(bb * x - ab * y, aa * y - ab * x) * dr.rcp(det)
            return dr.select(good, uv, zero)
        self.duv_dx, self.duv_dy = solve(at(ray.o_x, ray.d_x)), solve(at(ray.o_y, ray.d_y))

    def is_medium_transition(self):
        """Whether the surfaces separate media."""
        return self.shape.is_medium_transition()

    def target_medium(self, towards):
        """The media that rays enter in that direction, or on that side of the surface (a cosine)."""
        cosine = towards if dr.depth_v(towards) < 2 else dr.dot(towards, self.n)
        return dr.select(cosine > 0, self.shape.exterior_medium(), self.shape.interior_medium())

    def bsdf(self, ray=None):
        """The BSDFs of the surfaces, one a lane."""
        from ._pointers import BSDFPtr
        pointer = BSDFPtr._of(self._scene, self._bsdf)
        pointer._flags = self._bsdf, self._bsdf_flags
        return pointer

    def emitter(self, scene=None, active=True):
        """The lights that the rays have met: those of the surfaces, or the environment."""
        from ._pointers import EmitterPtr
        scene = scene or self._scene
        return EmitterPtr._of(scene, dr.select(active, scene._emitter_of(self), 0))

    def is_sensor(self):
        """Whether the surface has a sensor."""
        return self.shape.is_sensor()

    def has_uv_partials(self):
        """Whether compute_uv_partials() has found any."""
        return dr.any(self.duv_dx != 0) | dr.any(self.duv_dy != 0)

    def has_n_partials(self):
        """Whether derivatives of the normal are known and not zero."""
        return dr.any(self.dn_du != 0) | dr.any(self.dn_dv != 0)


class MediumInteraction3f(Interaction3f):
    """Where light may collide with a medium."""
    _plain = dict.fromkeys(("sigma_s", "sigma_n", "sigma_t", "combined_extinction"), "UnpolarizedSpectrum")
    _fields = {**Interaction3f._fields, "sh_frame": "frame", "wi": "Vector3f", **_plain, "mint": "Float", "_medium": "UInt"}
    _media = None  # references with the list that the numbers belong to

    @property
    def medium(self):
        """The media that they are in."""
        from ._pointers import MediumPtr
        return MediumPtr._of(None, self._medium) if self._media is None else self._media._with(self._medium)

    @medium.setter
    def medium(self, media):
        from ._pointers import MediumPtr
        self._media = media if isinstance(media, MediumPtr) else MediumPtr(media)
        self._medium = self._media._number

    def to_world(self, v): return self.sh_frame.to_world(v)

    def to_local(self, v): return self.sh_frame.to_local(v)


def _number_of(value):
    if value is None:
        return _mi("UInt")(0)
    index = getattr(value, "index", None)
    return index if isinstance(index, dr.ArrayBase) else _mi("UInt")(value._number())


class PreliminaryIntersection3f(_Record):
    """A hit, before anything else is known about it."""
    _fields = {"t": "distance", "_u": "Float", "_v": "Float", "_prim": "UInt", "_geometry": "UInt",
               "_instance": "UInt"}
    _scene = None

    def __init__(self, other=None):
        if other is not None:
            self.assign(other)

    def _shown(self): return ["t", "prim_uv", "prim_index", "shape_index", "shape", "instance"]

    def is_valid(self): return self.t < float("inf")

    @property
    def valid(self): return self.is_valid()

    def _place(self):
        if self._scene is not None:
            return self._scene._place(self)
        none = _mi("UInt")(0)
        return self._prim, none, none, none, _mi("Point2f")(self._u, self._v)

    @property
    def prim_index(self):
        """The triangle of the mesh; 0 for other shapes."""
        return self._place()[0]

    @property
    def shape_index(self):
        """The number of the shape in its scene."""
        return self._place()[3]

    @property
    def prim_uv(self):
        """Barycentric coordinates in a triangle."""
        return self._place()[4]

    @property
    def shape(self):
        """The shapes that were met, one a lane."""
        return SurfaceInteraction3f._pointer(self, self._place()[1])

    @property
    def instance(self):
        """The instances that they are part of, one a lane."""
        return SurfaceInteraction3f._pointer(self, self._place()[2])

    def compute_surface_interaction(self, ray, ray_flags=None, active=True):
        """All about the points that were met."""
        from ._scene import RayFlags
        flags = int(RayFlags.All if ray_flags is None else ray_flags)
        follow = 3 if flags & RayFlags.DetachShape else 2 if flags & RayFlags.FollowShape else 1
        si = self._scene._interaction(ray, self, active, follow)
        if flags & (RayFlags.dNGdUV | RayFlags.dNSdUV):
            si.dn_du, si.dn_dv = self._scene._normal_partials(ray, self, si, bool(flags & RayFlags.dNSdUV), active)
        si._scene = self._scene
        return si


class PositionSample3f(_Record):
    """A point on a surface."""
    _fields = {"p": "Point3f", "n": "Normal3f", "uv": "Point2f", "time": "Float", "pdf": "Float", "delta": "Bool"}

    def __init__(self, si=None):
        if isinstance(si, PositionSample3f):
            self.assign(si)
        elif si is not None:
            self.p, self.n, self.uv, self.time = si.p, si.sh_frame.n, si.uv, si.time


class DirectionSample3f(PositionSample3f):
    """A point on a light, seen from elsewhere."""
    _fields = {**PositionSample3f._fields, "d": "Vector3f", "dist": "Float", "_emitter": "UInt"}
    _scene = _lights = None
    _given = ("p", "n", "uv", "time", "pdf", "delta", "d", "dist", "emitter")

    def __init__(self, scene=None, si=None, ref=None, *args, **fields):
        unknown = [n for n in fields if n not in self._given]
        if unknown:
            raise TypeError(f"{type(self).__name__} has no field '{unknown[0]}'")
        if isinstance(scene, PositionSample3f):
            self.assign(scene)
        elif args or fields:  # all fields, in order or by name
            for n, v in (*zip(self._given, (scene, si, ref, *args)), *fields.items()):
                if v is not None:
                    setattr(self, n, v)
        elif si is not None:
            ref, self._scene = ref if ref is not None else Interaction3f(), scene
            if scene is None:  # geometry alone
                PositionSample3f.__init__(self, si)
                way = si.p - ref.p
                self.dist = dr.norm(way)
                self.d = _mi("Vector3f")(dr.select(si.is_valid(), way / self.dist, -si.wi))
                return
            made = scene._direction_to(ref, si)
            for n in self._fields:
                setattr(self, n, getattr(made, n))

    @property
    def emitter(self):
        from ._pointers import EmitterPtr
        return EmitterPtr._of(self._scene, self._emitter) if self._lights is None else self._lights._with(self._emitter)

    @emitter.setter
    def emitter(self, lights):
        from ._pointers import EmitterPtr
        self._lights = lights if isinstance(lights, EmitterPtr) else EmitterPtr(lights)
        self._emitter = self._lights._number  # whose list is that of `_lights`


class BSDFSample3f(_Record):
    """A direction sampled from a BSDF."""
    _fields = {"wo": "Vector3f", "pdf": "Float", "eta": "Float", "sampled_type": "UInt", "sampled_component": "UInt"}

    def __init__(self, wo=None):
        if isinstance(wo, BSDFSample3f):
            return self.assign(wo)
        self.eta = _mi("Float")(1)
        if wo is not None:
            self.wo, self.sampled_component = wo, _mi("UInt")(0xffffffff)  # of no component
