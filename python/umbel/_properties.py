# umbel/_properties.py: Properties: what a plugin is made of, by name; and the plugins that there are.
import enum
import numbers
import warnings

from . import _core
from . import jit as dr
from ._transform import ScalarTransform4f, Transform4f, _Transform
from ._variant_types import resolve


class ObjectType(enum.Enum):
    """The kinds of objects that a scene has."""
    Unknown = 0
    Scene = 1
    ReconstructionFilter = 2
    Sensor = 3
    Film = 4
    Emitter = 5
    Sampler = 6
    Shape = 7
    Texture = 8
    Volume = 9
    Medium = 10
    BSDF = 11
    PhaseFunction = 12
    Integrator = 13


_kinds = {"scene": ObjectType.Scene, "rfilter": ObjectType.ReconstructionFilter, "filter": ObjectType.ReconstructionFilter,
          "sensor": ObjectType.Sensor, "film": ObjectType.Film, "emitter": ObjectType.Emitter,
          "sampler": ObjectType.Sampler, "shape": ObjectType.Shape, "texture": ObjectType.Texture,
          "volume": ObjectType.Volume, "medium": ObjectType.Medium, "bsdf": ObjectType.BSDF,
          "phase": ObjectType.PhaseFunction, "integrator": ObjectType.Integrator}


class Type(enum.Enum):
    """What kind of value a property has."""
    Bool = 1
    Integer = 2
    Float = 3
    String = 4
    Vector = 5
    Color = 6
    Spectrum = 7
    Transform = 8
    Reference = 9
    ResolvedReference = 10
    Object = 11
    Any = 12


_type_names = {Type.Bool: "boolean", Type.Any: "any"}


class Reference:
    """Another object of the scene, by its name."""

    def __init__(self, name): self._id = str(name)
    def id(self): return self._id
    def __eq__(self, other): return isinstance(other, Reference) and other._id == self._id
    def __hash__(self): return hash(self._id)
    def __repr__(self): return f"Reference[{self._id}]"


class ResolvedReference:
    """Another object of the scene, by its place in the parser's list."""

    def __init__(self, index): self._index = int(index)
    def index(self): return self._index
    def __eq__(self, other): return isinstance(other, ResolvedReference) and other._index == self._index
    def __hash__(self): return hash(self._index)
    def __repr__(self): return f"ResolvedReference[{self._index}]"


class Spectrum:
    """A spectrum as a scene has it: values at wavelengths in nm, or one value at all of them."""

    def __init__(self, values, wavelengths=()):
        self.values, self.wavelengths = [float(v) for v in values], [float(w) for w in wavelengths]
        if self.wavelengths or len(self.values) != 1:
            if len(self.values) < 2 or len(self.wavelengths) < 2:
                raise RuntimeError("Spectrum must have at least two entries")
            if len(self.values) != len(self.wavelengths):
                raise RuntimeError(f"Spectrum: {len(self.wavelengths)} wavelengths and {len(self.values)} values")
            if any(a >= b for a, b in zip(self.wavelengths, self.wavelengths[1:])):
                raise RuntimeError("Wavelengths must be specified in increasing order")

    def is_uniform(self): return not self.wavelengths
    def __eq__(self, other): return isinstance(other, Spectrum) and vars(self) == vars(other)
    __hash__ = None

    def to_dict(self):
        """What load_dict() takes."""
        return {"type": "spectrum", "value": self.values[0] if self.is_uniform() else list(zip(self.wavelengths, self.values))}

    def __repr__(self):
        return f"[spectrum: {self.values[0]:g}]" if self.is_uniform() else f"[spectrum: {len(self.values)} samples]"


def _vector(v): return _core.host_of(resolve("Array3f64"))(*(float(e) for e in v))
def _colour(v): return _core.host_of(resolve("Color3f64"))(*(float(e) for e in v))


def _is_plain(a): return type(a).__module__ == "umbel.jit.scalar"  # its entries are numbers


def _host(a):
    """The numbers of an array of one lane, or None."""
    if dr.is_tensor_v(a) or dr.is_matrix_v(a) or not _is_plain(a) and _core.width(a) > 1:
        return None
    return [float(e[0]) if isinstance(e, dr.ArrayBase) else float(e) for e in a]


def _read(key, value):
    """(type, value) as they are kept."""
    name = type(value).__name__
    if type(value).__module__ == "numpy" and name not in ("ndarray", "matrix"):
        if value.dtype.kind not in "biuf":
            raise RuntimeError(f"Properties: \"{key}\": numpy scalars with a '{value.dtype.kind}' data type are not supported; "
                               "give a bool, an integer or a float")
        value = value.item()
    if isinstance(value, bool):
        return Type.Bool, value
    if isinstance(value, numbers.Integral):
        return (Type.Integer, int(value)) if -2**63 <= value < 2**63 else (Type.Float, float(value))
    if isinstance(value, numbers.Real):
        return Type.Float, float(value)
    if isinstance(value, str):
        return Type.String, value
    if isinstance(value, Reference):
        return Type.Reference, value
    if isinstance(value, ResolvedReference):
        return Type.ResolvedReference, value
    if isinstance(value, Spectrum):
        return Type.Spectrum, value
    if isinstance(value, _Transform):
        return Type.Transform, _to_space(value)
    if isinstance(value, (_core.Object, _core.Bitmap)) or hasattr(value, "_source"):
        return Type.Object, value
    if isinstance(value, dr.ArrayBase):
        is_triple = dr.is_float_v(value) and dr.size_v(value) == 3 and (_is_plain(value) or dr.depth_v(value) == 2)
        numbers_ = _host(value) if is_triple else None
        if numbers_ is None:
            return Type.Any, value
        return (Type.Color, _colour(numbers_)) if name.startswith("Color") else (Type.Vector, _vector(numbers_))
    if isinstance(value, (list, tuple)) or name == "ndarray":
        try:
            if len(value) == 3 and not getattr(value, "ndim", 1) > 1:
                return Type.Vector, _vector(value)
        except (TypeError, ValueError):
            pass
    elif hasattr(type(value), "DRJIT_STRUCT") or type(value).__module__.startswith("umbel"):
        return Type.Any, value
    raise RuntimeError(f"Properties.__setitem__(): could not assign an object of type '{name}' to key '{key}', as the value was "
                       "not convertible any of the supported property types (e.g. int/float/color/vector/transform/object)")


def _to_space(t):
    """A transform of numbers; one of the plane leaves z alone."""
    m = t._entries()
    if isinstance(t, Transform4f):
        return ScalarTransform4f(t) if all(isinstance(e, float) for e in m) else t
    a, b, c, d, e, f, g, h, i = m
    return ScalarTransform4f._of([a, b, 0.0, c, d, e, 0.0, f, 0.0, 0.0, 1.0, 0.0, g, h, 0.0, i])


def _text(kind, value):
    if kind is Type.String:
        return f'"{value}"'
    if kind is Type.Bool:
        return "true" if value else "false"
    if kind is Type.Float:
        return f"{value:g}"
    if kind in (Type.Vector, Type.Color):
        return "[" + ", ".join(f"{e:g}" for e in _host(value)) + "]"
    if kind is Type.Transform:
        rows = value.numpy().reshape(4, 4, -1)[:, :, 0]
        return "[" + ",\n ".join("[" + ", ".join(f"{e:g}" for e in row) + "]" for row in rows) + "]"
    if kind is Type.Reference:
        return f'[ref: "{value.id()}"]'
    if kind is Type.ResolvedReference:
        return f"[resolved ref: {value.index()}]"
    return "[any]" if kind is Type.Any else str(value)


class MissingProperty(dr.UserError, KeyError):
    """There is no property of that name."""

    def __str__(self): return str(self.args[0])


class Properties:
    """What a plugin is given, by name: `props["name"]`, `props.get("name", otherwise)`. Values keep their order; which
    were asked for is known."""
    Type, Reference, ResolvedReference, Spectrum = Type, Reference, ResolvedReference, Spectrum

    def __init__(self, source=None):
        self._core = None  # of a plugin that is being loaded
        self._name = self._id = ""
        self._entries, self._queried = {}, set()
        self._asked = set()  # while a plugin is made: also names that there are not
        if isinstance(source, str):
            self._name = source
        elif isinstance(source, Properties):
            self._core, self._name, self._id = source._core, source._name, source._id
            self._entries, self._queried = dict(source._entries), set(source._queried)
            self._asked = source._asked  # a copy asks for the same plugin
        elif source is not None:
            self._core, self._name, self._id = source, source.type, source.id
            self._entries = dict.fromkeys(source.keys())

    # ---- names
    def plugin_name(self): return self._name
    def set_plugin_name(self, name): self._name = str(name)
    def id(self): return self._id
    def set_id(self, id): self._id = str(id)

    # ---- values
    def _entry(self, key, message="Property \"{}\" has not been specified!"):
        if key not in self._entries:
            raise MissingProperty(message.format(key))
        if self._entries[key] is None:  # not fetched yet
            if self._core is None:
                raise dr.UserError(f"Properties: \"{key}\" can be read while the plugin is made, and not any longer")
            value = self._core.get(key)
            self._entries[key] = (Type.Any, None) if value is None else _read_loaded(key, value)
        return self._entries[key]

    def __getitem__(self, key):
        value = self._entry(key)[1]
        self._asked.add(key)
        self._queried.add(key)
        return value

    def get(self, key, def_value=None):
        """The value of that name, or `def_value`."""
        self._asked.add(key)
        return self[key] if key in self._entries else def_value

    def _loaded(self):
        """The plugin has been made: what it has not asked for, the scene's loader complains about."""
        if self._core is not None:
            for key in self._asked | self._queried:
                self._core.ask(key)
        self._core = None

    def __setitem__(self, key, value):
        if value is None:
            raise TypeError(f"Properties: \"{key}\" cannot be None")
        self._entries[key] = _read(key, value)
        self._queried.discard(key)

    def __delitem__(self, key):
        self._entries.pop(key, None)
        self._queried.discard(key)

    def __contains__(self, key): return key in self._entries
    def __iter__(self): return iter(self.keys())
    def keys(self): return list(self._entries)

    def items(self):
        self._asked.update(self._entries)
        return [(k, self._entry(k)[1]) for k in self._entries]

    def has_property(self, key):
        """Deprecated: use `key in props`."""
        _deprecated("has_property", "'key in props'")
        return key in self

    def property_names(self):
        """Deprecated: use `props.keys()`."""
        _deprecated("property_names", "'props.keys()'")
        return self.keys()

    def remove_property(self, key):
        """Deprecated: use `del props[key]`."""
        _deprecated("remove_property", "'del props[key]'")
        found = key in self._entries
        self._entries.pop(key, None)
        return found

    def type(self, key):
        """The kind of a value."""
        if key not in self._entries:
            raise MissingProperty(f"type(): Could not find property named \"{key}\"!")
        return self._entry(key)[0]

    def as_string(self, key):
        """A value as text."""
        if key not in self._entries:
            raise RuntimeError(f"Property \"{key}\" not found!")
        self._queried.add(key)
        return _text(*self._entry(key))

    def references(self):
        """[(name, id)] of what refers to other objects."""
        return [(k, v.id()) for k, v in self.items() if isinstance(v, Reference)]

    def objects(self, mark_queried=True):
        """[(name, object)] of all objects."""
        found = [(k, self._entry(k)[1]) for k in self._entries if self._entry(k)[0] is Type.Object]
        if mark_queried:
            self._queried.update(k for k, _ in found)
        return found

    # ---- which were asked for
    def was_queried(self, key):
        if key not in self._entries:
            raise RuntimeError(f"Could not find property named \"{key}\"!")
        return key in self._queried

    def mark_queried(self, key, value=True):
        """Says that a value was asked for, or was not; whether there is one."""
        if key in self._entries:
            (self._queried.add if value else self._queried.discard)(key)
        return key in self._entries

    def unqueried(self):
        """The names of values that nobody has asked for."""
        return [k for k in self._entries if k not in self._queried]

    def merge(self, other):
        """Takes all values of another one; they win over those of the same name."""
        for k in other._entries:
            self._entries[k] = other._entry(k)
            if k in other._queried:
                self._queried.add(k)
            else:
                self._queried.discard(k)

    # ---- textures
    def get_texture(self, name, default=None):
        """The value as a texture, of reflectances where it is a colour."""
        return self._texture(name, default, 1)

    def get_emissive_texture(self, name, default=None):
        """The value as a texture, of light: a colour is one of D65."""
        return self._texture(name, default, 2)

    def get_unbounded_texture(self, name, default=None):
        """The value as a texture without a bound."""
        return self._texture(name, default, 0)

    def _texture(self, name, default, intent):
        self._asked.add(name)
        if name not in self._entries:
            if default is None:
                raise RuntimeError(f"Property \"{name}\" cannot be found!")
            if isinstance(default, _core.Object):
                return default
            return _core.make_spectrum(float(default), intent)
        kind, value = self._entry(name)
        self._queried.add(name)
        if kind is Type.Object:
            if not isinstance(value, _core.Texture):
                got = _kinds.get(value._kind(), ObjectType.Unknown).name if isinstance(value, _core.Object) else "Object"
                raise RuntimeError(f"Property \"{name}\": has an incompatible object type! (expected Texture, got {got})")
            return value
        if kind is Type.Color:
            return _core.make_colour(_host(value), intent)
        if kind is Type.Spectrum:
            return _core.load_dict(value.to_dict())
        if kind in (Type.Float, Type.Integer):
            return _core.make_colour([float(value)] * 3, 2) if intent == 2 else _core.make_spectrum(float(value), intent)
        raise RuntimeError(f"The property \"{name}\" has the wrong type (expected texture/float/color/spectrum, got "
                           f"{_type_names.get(kind, kind.name.lower())})")

    # ---- comparison
    def __eq__(self, other):
        if not isinstance(other, Properties):
            return NotImplemented
        if (self._name, self._id) != (other._name, other._id) or self._entries.keys() != other._entries.keys():
            return False
        return all(_same(self._entry(k), other._entry(k)) for k in self._entries)

    __hash__ = object.__hash__

    def __repr__(self):
        rows = ",".join(f'\n    "{k}" -> {_text(*self._entry(k))}' for k in self._entries)
        return f'Properties[\n  plugin_name = "{self._name}",\n  id = "{self._id}",\n  elements = {{{rows}\n  }}\n]\n'


def _same(a, b):
    if a[0] is not b[0]:
        return False
    if a[1] is b[1]:
        return True
    equal = a[1] == b[1]
    return equal if isinstance(equal, bool) else bool(dr.all(equal, axis=None))


def _read_loaded(key, value):
    """(type, value) of what a scene's loader gives."""
    return (Type.Vector, _vector(value)) if isinstance(value, tuple) else _read(key, value)


def _deprecated(name, instead):
    warnings.warn(f"{name}() is deprecated, use {instead} instead", DeprecationWarning, stacklevel=3)


class PluginManager:
    """Makes objects of plugins: `PluginManager.instance().create_object(props)`."""
    _instance = None

    @staticmethod
    def instance():
        """The only one that there is."""
        if PluginManager._instance is None:
            PluginManager._instance = PluginManager()
        return PluginManager._instance

    def create_object(self, props):
        """The plugin that `props` names, with its values."""
        from ._scene import load_dict
        made = load_dict(to_dict(props))
        for key in props.keys():
            props.mark_queried(key)
        return made

    def plugin_type(self, name):
        """The kind of a plugin; Unknown where there is none. "kind/name" tells those of two kinds apart."""
        if name == "scene":
            return ObjectType.Scene
        kind, _, plugin = name.rpartition("/")
        kinds = [k for k in _core.plugin_kinds(plugin) if kind in ("", k)]
        if len(kinds) > 1:
            raise dr.UserError(f"there are several plugins \"{name}\"; write " + " or ".join(f'"{k}/{name}"' for k in kinds))
        return _kinds.get(kinds[0], ObjectType.Unknown) if kinds else ObjectType.Unknown


def to_dict(props):
    """The dictionary that load_dict() takes, of one object's properties."""
    result = {"type": props.plugin_name()}
    if props.id():
        result["id"] = props.id()
    for key in props.keys():
        kind, value = props._entry(key)
        if kind is Type.Color:
            value = {"type": "rgb", "value": _host(value)}
        elif kind is Type.Spectrum:
            value = value.to_dict()
        elif kind is Type.Reference:
            value = {"type": "ref", "id": value.id()}
        elif kind is Type.Vector:
            value = _host(value)
        result[key] = value
    return result
