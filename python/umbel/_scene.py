# umbel/_scene.py: scenes: loading them, and what scripts ask of them.
import contextlib
import os

from . import _core
from . import jit as dr
from ._logging import FileResolver, file_resolver, set_file_resolver
from ._records import _mi
from ._state import state_of
from .jit._calls import as_wide_as
from .jit._enum import NamedFlags, NamedInt


class BSDFFlags(NamedFlags):
    """What a BSDF, or one of its lobes, does."""
    Empty = 0x0
    Null = 0x1
    DiffuseReflection = 0x2
    DiffuseTransmission = 0x4
    GlossyReflection = 0x8
    GlossyTransmission = 0x10
    DeltaReflection = 0x20
    DeltaTransmission = 0x40
    Delta1DReflection = 0x80
    Delta1DTransmission = 0x100
    Anisotropic = 0x1000
    SpatiallyVarying = 0x2000
    NonSymmetric = 0x4000
    FrontSide = 0x8000
    BackSide = 0x10000
    Reflection = DiffuseReflection | GlossyReflection | DeltaReflection | Delta1DReflection
    Transmission = DiffuseTransmission | GlossyTransmission | DeltaTransmission | Delta1DTransmission | Null
    Diffuse = DiffuseReflection | DiffuseTransmission
    Glossy = GlossyReflection | GlossyTransmission
    Smooth = Diffuse | Glossy
    Delta = Null | DeltaReflection | DeltaTransmission
    Delta1D = Delta1DReflection | Delta1DTransmission
    All = Reflection | Transmission


class RayFlags(NamedFlags):
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


class TransportMode(NamedInt):
    """What flows along a path: light, or importance."""
    Radiance = 0
    Importance = 1


def has_flag(flags, bit):
    """Whether a bit is set, also for arrays of flags."""
    return (flags & int(bit)) != 0


# ---- the scene

def make_bbox(low, high):
    from . import ScalarBoundingBox3f
    return ScalarBoundingBox3f(low, high)


def sample_emitter_ray(self, time, sample1, sample2, sample3, active=True):
    """A ray of light from a light chosen at random, its radiance over density, and the light."""
    from ._pointers import EmitterPtr
    args = time, sample1, sample2, sample3, active
    ray, weight, number = as_wide_as(self._sample_emitter_ray(*args), *args)
    return ray, weight, EmitterPtr._of(self, number)


def emitters_dr(self):
    """emitters() as an array."""
    from ._pointers import EmitterPtr
    return EmitterPtr(self.emitters())


def sensors_dr(self):
    """sensors() as an array."""
    from ._pointers import SensorPtr
    return SensorPtr(self.sensors())


def shapes_dr(self):
    """shapes() as an array."""
    from ._shape import ShapePtr
    out = ShapePtr(self.shapes())
    out._scene = self
    return out


def shape_types(self):
    """The kinds of all shapes, as bits."""
    found = 0
    for s in self.shapes():
        found |= int(s.shape_type())
    return found


def shapes_grad_enabled(self):
    """Whether derivatives of the geometry are followed."""
    for s in self.shapes():
        p = _core._Parameters(s)
        if any("." not in k and dr.grad_enabled(p.get(k)) for k in p.keys()):
            return True
    return False


_object_methods = (emitters_dr, sensors_dr, shapes_dr, shape_types, shapes_grad_enabled)


def _scene_methods():
    Scene = _core.Scene
    Scene._umbel_owner = lambda self: self  # see jit/_state.py: introduce()

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
        ds, weight = as_wide_as(self._sample_emitter_direction(ref, sample, test_visibility, active), ref, sample, active)
        ds._scene = self
        return ds, weight

    def pdf_emitter_direction(self, ref, ds, active=True):
        """The density of sample_emitter_direction."""
        return self._pdf_emitter_direction(ref, ds, active)

    def bbox(self):
        b = self._bounds()
        return make_bbox(list(b[:3]), list(b[3:]))

    def environment(self):
        """The light that surrounds the scene, or None."""
        return next((e for e in self.emitters() if e.is_environment()), None)

    for f in (ray_intersect, ray_intersect_preliminary, ray_test, sample_emitter_direction, pdf_emitter_direction,
              bbox, environment, sample_emitter_ray, *_object_methods):
        setattr(Scene, f.__name__, f)


def _plain(v):
    return bool(v) if isinstance(v, bool) else False


# ---- loading

def _is_of_type(d, name):
    """Whether it is a dictionary of this type; what compares itself in a way of its own is none."""
    kind = d.get("type") if hasattr(d, "get") else None
    return isinstance(kind, str) and kind == name


def split_resources(d):
    """A scene's dictionary without its entries {"type": "resources", "path": ...}, and the folders that those name."""
    resources = [k for k, v in d.items() if _is_of_type(v, "resources")]
    folders = []
    for key in resources:
        if "path" not in d[key]:
            raise dr.UserError(f"{key}: missing 'path' attribute")
        folder = file_resolver().resolve(d[key]["path"])
        if not os.path.isdir(folder):
            raise dr.UserError(f"{key}: Folder \"{folder}\" not found")
        folders.insert(0, str(folder))
    return {k: v for k, v in d.items() if k not in resources}, folders


@contextlib.contextmanager
def looking_in(folders):
    """Files are looked for in these folders first."""
    before = file_resolver()
    extended = FileResolver(before)
    for folder in reversed(folders):
        extended.prepend(folder)
    set_file_resolver(extended)
    try:
        yield
    finally:
        set_file_resolver(before)


def load_dict(dict, parallel=True, optimize=False):
    """Loads a scene, or one object, from nested dictionaries. Entries {"type": "resources", "path": ...} name folders in which
    its files are. `optimize`: equal materials and textures become one. `parallel` allows for several threads; the scene is the
    same, and one will do."""
    if not hasattr(dict, "items"):
        raise dr._hooks.ArgumentError(f"load_dict(): a dictionary is needed, such as {{\"type\": \"scene\"}}, not "
                                      f"{repr(dict)[:100]}; load_file() and load_string() read XML")
    if optimize:
        return _optimized("parse_dict", dict)
    dict, folders = split_resources(dict)
    parts = dict if _is_of_type(dict, "scene") else {}
    for key, value in parts.items():
        if isinstance(value, _core.Object):  # what was loaded before is called here as the scene calls it
            value.set_id(key)
    with looking_in(folders):
        loaded = _core.load_dict(dict)
    listed = _listed(dict, "")
    for key, value in parts.items():
        if hasattr(value, "get"):
            listed |= _listed(value, value.get("id", key) + ".")
    if listed:
        state_of(loaded)["listed"] = listed
    return loaded


_lists = {"shapegroup": "shape", "batch": "sensor"}


def _listed(d, prefix):
    """Of an object that has several others: where these are found by their names in its dictionary, and by their own ones."""
    kind = _lists.get(d.get("type"))
    out, number = {}, 0
    if kind is None:
        return out
    for key, value in d.items():
        if hasattr(value, "get"):
            name = value["type"].rpartition("/")[2]
            fits, own = name == "ref" or kind in _core.plugin_kinds(name), value.get("id")
        else:
            fits = isinstance(value, getattr(_core, kind.capitalize()))
            own = fits and value.id()
        if fits:
            out[prefix + key] = own or f"{prefix}{kind}_{number}"
            number += 1
    return out


def load_file(path, parallel=True, optimize=False, **kwargs):
    """Loads a scene file; other keyword arguments are what -D sets on the command line. `parallel`, `optimize`: see load_dict()."""
    return _optimized("parse_file", path, **kwargs) if optimize else _core.load_file(path, **kwargs)


def load_string(string, parallel=True, optimize=False, **kwargs):
    """Loads a scene from the text of a scene file; arguments are those of load_file()."""
    return _optimized("parse_string", string, **kwargs) if optimize else _core.load_string(string, **kwargs)


def _optimized(parse, source, **kwargs):
    from . import parser, variant
    config = parser.ParserConfig(variant())
    state = getattr(parser, parse)(config, source, **kwargs)
    parser.transform_all(config, state)
    return parser.instantiate(config, state)


_scene_methods()
