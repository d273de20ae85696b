# umbel/_pointers.py: arrays of references to objects of a scene: BSDFPtr, EmitterPtr...
#
# A lane holds a number, 1 for the first object of a list and 0 for none. The list is that of a scene, whose own calls are
# then used, or any other; two arrays with different lists have one in common before they meet.
import atexit

from . import _core
from . import jit as dr
from ._records import OneLane, _mi
from ._shape import ShapePtr
from .jit._calls import as_wide_as


class _Table:
    """The objects of one kind in a scene."""

    def __init__(self, scene, kind): self.scene, self.kind = scene, kind

    def objects(self): return getattr(self.scene, f"_{self.kind}_list")()

    def __eq__(self, other): return isinstance(other, _Table) and self.scene is other.scene and self.kind == other.kind

    __hash__ = None


class _List:
    """Any objects."""
    scene = None

    def __init__(self, objects=()): self._objects = tuple(objects)

    def objects(self): return list(self._objects)

    def __eq__(self, other):
        return isinstance(other, _List) and len(self._objects) == len(other._objects) and \
            all(a is b for a, b in zip(self._objects, other._objects))

    __hash__ = None


def _place(objects, o):
    return next((i + 1 for i, p in enumerate(objects) if p is o), 0)


_numbered = []  # objects that scripts hold the numbers of
atexit.register(_numbered.clear)  # before the interpreter looks for what was left behind


class Pointer(OneLane):
    """An array of references: methods are called for each lane's object, and give zeros where there is none."""
    DRJIT_STRUCT = {"_number": None}
    _kind = _base = None

    def __init__(self, *args):
        UInt = _mi("UInt")
        self._list = _List()
        if not args:
            self._number = UInt(0)
        elif isinstance(args[0], Pointer):
            self._number, self._list = UInt(args[0]._number), args[0]._list
        elif isinstance(args[0], dr.ArrayBase):
            self._number = UInt(args[0])
        else:
            given = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
            for o in given:
                if o is not None and not isinstance(o, self._base):
                    raise TypeError(f"{type(self).__name__}: '{type(o).__name__}' is no {self._base.__name__}")
            objects = []
            for o in given:
                if o is not None and not _place(objects, o):
                    objects.append(o)
            self._list = _List(objects)
            self._number = UInt([_place(objects, o) if o is not None else 0 for o in given])

    @classmethod
    def _of(cls, scene, number):
        """Numbers as the scene has them."""
        out = cls.__new__(cls)
        out._number = number
        out._list = _Table(scene, cls._kind) if scene is not None else _List()
        return out

    def _with(self, number):
        """Other references into the same list."""
        out = type(self).__new__(type(self))
        out._number, out._list = number, self._list
        return out

    def zero_(self, size=1): self._number = dr.zeros(_mi("UInt"), size)

    # See jit/_state.py: introduce()
    def _umbel_owner(self): return self._list.scene

    def _umbel_belong(self, scene):
        if not self._list.objects() and hasattr(scene, f"_{self._kind}_list"):
            self._list = _Table(scene, self._kind)

    # ---- an array
    def _umbel_instances(self): return self._list.objects()

    def _umbel_numbers(self): return self._number

    @property
    def index(self):
        """The number of the variable, as in all arrays."""
        return self._number.index

    @property
    def shape(self): return (len(self),)

    def __len__(self): return dr.width(self._number)

    def __getitem__(self, i):
        n = int(self._number[i])
        return self._list.objects()[n - 1] if n else None

    def __setitem__(self, mask, value):
        chosen = self._umbel_select(mask if isinstance(mask, dr.ArrayBase) else _mi("Bool")(mask), value, self)
        self._number, self._list = chosen._number, chosen._list

    def __iter__(self): return (self[i] for i in range(len(self)))

    def numpy(self): return self._number.numpy()

    def __repr__(self):
        return "[" + ", ".join("None" if o is None else repr(o) for o in self) + "]"

    def _together(self, other):
        """The common list, and the numbers of both in it."""
        a, b = self._list, other._list
        if a == b or not b.scene and not b.objects():
            return a, self._number, other._number
        if not a.scene and not a.objects():
            return b, self._number, other._number
        objects, theirs = a.objects(), b.objects()
        for o in theirs:
            if not _place(objects, o):
                objects.append(o)
        table = [0] + [_place(objects, o) for o in theirs]
        UInt = _mi("UInt")
        return _List(objects), self._number, dr.gather(UInt, UInt(table), other._number)

    @classmethod
    def _as(cls, v):
        if v is None or isinstance(v, cls._base):
            return cls(v)
        return v if isinstance(v, Pointer) else None

    def __eq__(self, other):
        other = self._as(other)
        if other is None:
            return NotImplemented
        _, a, b = self._together(other)
        return a == b

    def __ne__(self, other):
        same = self.__eq__(other)
        return same if same is NotImplemented else ~same

    __hash__ = None

    @classmethod
    def _umbel_select(cls, mask, a, b):
        a, b = cls._as(a), cls._as(b)
        if a is None or b is None:
            raise TypeError(f"select(): cannot choose between '{type(a).__name__}' and '{type(b).__name__}'")
        out = cls.__new__(cls)
        out._list, x, y = a._together(b)
        out._number = dr.select(mask, x, y)
        return out

    # See jit/_state.py: fit()
    def _umbel_meaning(self): return self._list

    # Written to by scatter(), or in the next round of a loop: the list becomes one that has all objects
    def _umbel_merge(self, value):
        value = self._as(value)
        if value is None:
            raise TypeError(f"scatter(): only {self._base.__name__} objects can be written into a '{type(self).__name__}'")
        out = type(self).__new__(type(self))
        self._list, _, out._number = self._together(value)
        out._list = self._list
        return out

    # For reinterpret_array(): numbers that last as long as the process, as objects that have one do
    def _umbel_bits(self):
        UInt, table = _mi("UInt"), [0]
        for o in self._list.objects():
            if not _place(_numbered, o):
                _numbered.append(o)
            table.append(_place(_numbered, o))
        return dr.gather(UInt, UInt(table), self._number)

    @classmethod
    def _umbel_from_bits(cls, bits):
        """What those numbers stand for, as far as they are objects of this kind."""
        UInt, out = _mi("UInt"), cls([o for o in _numbered if isinstance(o, cls._base)])
        table = UInt([0] + [_place(out._list.objects(), o) for o in _numbered])
        out._number = dr.gather(UInt, table, UInt(bits), UInt(bits) < len(table))
        return out

    def _call(self, method, *args, active=True, **kwargs):
        """method(object, *args) for each lane's object."""
        active = active if isinstance(active, dr.ArrayBase) else _mi("Bool")(active)
        if not self._umbel_instances():
            return None

        def call(o, *a, active=True, **k): return method(o, *a, **k)  # lanes that are not active do not call
        return dr.dispatch(self, call, *args, active=active & (self._number != 0), label=type(self).__name__, **kwargs)


def _method(name, *empty):
    """A method of the pointer that calls that of the objects; `empty`: types of the result where there is no object."""
    def call(self, *args, active=True, **kwargs):
        if args and (isinstance(args[-1], bool) or isinstance(args[-1], dr.ArrayBase) and dr.is_mask_v(args[-1])):
            *args, active = args
        if empty[0] in _pointer_types:
            return references(_pointer_types[empty[0]], self, name, active)

        def one(o, *a, **k):
            r = getattr(o, name)(*a, **k)
            return tuple(_as_array(t, v) for t, v in zip(empty, r)) if len(empty) > 1 else _as_array(empty[0], r)
        result = self._call(one, *args, active=active, **kwargs)
        if result is None:
            zeros = tuple(dr.zeros(_type(t), dr.width(self._number, args, kwargs)) for t in empty)
            return zeros if len(zeros) > 1 else zeros[0]
        return result
    call.__name__, call.__doc__ = name, f"{name}() of each lane's object."
    return call


def references(cls, pointers, name, active):
    """What method `name` of each lane's object returns, an object itself."""
    found, UInt = [getattr(o, name)() for o in pointers._umbel_instances()], _mi("UInt")
    if cls is ShapePtr:
        out = cls()
        table = [o._number() if o is not None else 0 for o in found]
        out.index = dr.gather(UInt, UInt([0] + table), pointers._umbel_numbers(), active)
        return out
    out = cls(found) if found else cls()
    table = [_place(out._list.objects(), o) if o is not None else 0 for o in found]
    out._number = dr.gather(UInt, UInt([0] + table), pointers._umbel_numbers(), active)
    return out


def _type(name):
    from . import _records
    return getattr(_records, name, None) or _pointer_types.get(name) or _mi(name)


def _as_array(kind, value):
    if isinstance(value, (bool, int, float)) or kind in ("Float", "UInt", "Bool", "Spectrum"):
        return _mi(kind)(value)
    return value


_pointer_types = {"ShapePtr": ShapePtr}


def _define(name, base, kind, **methods):
    cls = type(name, (Pointer,), {"__doc__": f"{base.__name__} objects, one a lane.", "_kind": kind, "_base": base,
                                  "Domain": base.__name__, "__module__": "umbel"})
    for method, empty in methods.items():
        setattr(cls, method, _method(method, *(empty if isinstance(empty, tuple) else (empty,))))
    _pointer_types[name] = cls
    return cls


_endpoint = dict(eval="Spectrum", sample_direction=("DirectionSample3f", "Spectrum"), pdf_direction="Float",
                 eval_direction="Spectrum", sample_position=("PositionSample3f", "Float"), pdf_position="Float",
                 sample_ray=("Ray3f", "Spectrum"), sample_wavelengths=("UnpolarizedSpectrum", "Spectrum"))
BSDFPtr = _define("BSDFPtr", _core.BSDF, "bsdf", eval="Spectrum", pdf="Float", eval_pdf=("Spectrum", "Float"),
                  sample=("BSDFSample3f", "Spectrum"),
                  eval_pdf_sample=("Spectrum", "Float", "BSDFSample3f", "Spectrum"),
                  eval_delta="Spectrum", eval_null_transmission="Spectrum", eval_diffuse_reflectance="Spectrum", has_attribute="Bool",
                  eval_attribute="UnpolarizedSpectrum", eval_attribute_1="Float", eval_attribute_3="Color3f",
                  needs_differentials="Bool", flags="UInt", component_count="UInt")
EmitterPtr = _define("EmitterPtr", _core.Emitter, "emitter", **_endpoint, flags="UInt", is_environment="Bool",
                     sampling_weight="Float", get_shape="ShapePtr", get_medium="MediumPtr")
SensorPtr = _define("SensorPtr", _core.Sensor, "sensor", **_endpoint,
                    sample_ray_differential=("RayDifferential3f", "Spectrum"), get_shape="ShapePtr")
TexturePtr = _define("TexturePtr", _core.Texture, "texture", eval="UnpolarizedSpectrum", eval_1="Float",
                     eval_1_grad="Vector2f", eval_3="Color3f", is_spatially_varying="Bool", mean="Float", max="Float",
                     sample_position=("Point2f", "Float"), pdf_position="Float",
                     sample_spectrum=("UnpolarizedSpectrum", "UnpolarizedSpectrum"), pdf_spectrum="UnpolarizedSpectrum")
PhaseFunctionPtr = _define("PhaseFunctionPtr", _core.PhaseFunction, "phase", sample=("Vector3f", "Spectrum", "Float"),
                           eval_pdf=("Spectrum", "Float"), projected_area="Float", max_projected_area="Float",
                           flags="UInt", component_count="UInt")
_plain = "UnpolarizedSpectrum"
MediumPtr = _define("MediumPtr", _core.Medium, "medium", phase_function="PhaseFunctionPtr", use_emitter_sampling="Bool",
                    is_homogeneous="Bool", has_spectral_extinction="Bool", get_majorant=_plain,
                    get_scattering_coefficients=(_plain, _plain, _plain), intersect_aabb=("Bool", "Float", "Float"),
                    sample_interaction="MediumInteraction3f", transmittance_eval_pdf=(_plain, _plain))


# ---- collisions know their medium

def _knows_medium(cls, pointers):
    general = cls.sample_interaction

    def sample_interaction(self, ray, sample, channel, active=True):
        found = general(self, ray, sample, channel, active)
        found.medium = pointers(self)
        return found
    sample_interaction.__doc__ = general.__doc__
    cls.sample_interaction = sample_interaction


_knows_medium(_core.Medium, MediumPtr)
_knows_medium(MediumPtr, lambda self: self)


# ---- references into a scene: its own calls are shorter

def _in_scene(cls, name, call):
    general = getattr(cls, name)

    def method(self, *args, **kwargs):
        if self._list.scene is None:
            return general(self, *args, **kwargs)
        return as_wide_as(call(self, self._list.scene, *args, **kwargs), self._number, args, kwargs)
    method.__name__, method.__doc__ = name, general.__doc__
    setattr(cls, name, method)


def _bsdf_eval_pdf(self, scene, ctx, si, wo, active=True):
    return scene._bsdf_eval_pdf(self._number, ctx, si, wo, active)


def _bsdf_sample(self, scene, ctx, si, sample1, sample2, active=True):
    return scene._bsdf_sample(self._number, ctx, si, sample1, sample2, active)


def _bsdf_flags(self, scene, *args, active=True):
    # Those that came with the references, unless these were gathered or changed since
    number, flags = getattr(self, "_flags", (None, None))
    if number is not self._number or args:
        return _method("flags", "UInt")(self, *args, active=active)
    return dr.select(active, flags, 0)


_in_scene(BSDFPtr, "eval_pdf", _bsdf_eval_pdf)
_in_scene(BSDFPtr, "eval", lambda self, scene, *a, **k: _bsdf_eval_pdf(self, scene, *a, **k)[0])
_in_scene(BSDFPtr, "pdf", lambda self, scene, *a, **k: _bsdf_eval_pdf(self, scene, *a, **k)[1])
_in_scene(BSDFPtr, "sample", _bsdf_sample)
_in_scene(BSDFPtr, "flags", _bsdf_flags)
_in_scene(BSDFPtr, "eval_pdf_sample",
          lambda self, scene, ctx, si, wo, sample1, sample2, active=True:
          (*_bsdf_eval_pdf(self, scene, ctx, si, wo, active), *_bsdf_sample(self, scene, ctx, si, sample1, sample2, active)))
_in_scene(BSDFPtr, "eval_diffuse_reflectance",
          lambda self, scene, si, active=True: scene._bsdf_reflectance(self._number, si, active))
_in_scene(EmitterPtr, "eval", lambda self, scene, si, active=True: scene._eval_emitter(si, self._number, active))
