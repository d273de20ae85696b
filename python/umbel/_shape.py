# umbel/_shape.py: shapes on their own, and lanes that refer to shapes.
import collections

from . import _core
from . import jit as dr
from ._records import OneLane, _mi, PreliminaryIntersection3f, Ray3f
from .jit._enum import NamedFlags, NamedInt

Shape, Mesh = _core.Shape, _core.Mesh


class ShapeType(NamedInt):
    """Kinds of shapes."""
    Invalid = 0
    Mesh = 1
    Rectangle = 3
    BSplineCurve = 4
    LinearCurve = 8
    Cylinder = 16
    Disk = 32
    SDFGrid = 64
    Sphere = 128
    Ellipsoids = 256
    EllipsoidsMesh = 513


class DiscontinuityFlags(NamedFlags):
    """Kinds of silhouettes."""
    Empty = 0
    PerimeterType = 1
    InteriorType = 2
    DirectionLune = 4
    DirectionSphere = 8
    HeuristicWalk = 16
    AllTypes = 3


# ---- a shape on its own

class _Alone(collections.OrderedDict):
    """Scenes of one shape each, for rays against it: those that were used last."""
    most = 8

    def scene(self, shape):
        return self._get((shape._number(), _core.variant(), "surface"), shape,
                         lambda: _core.load_dict({"type": "scene", "shape": shape}))

    def uv_scene(self, shape):
        """The texture coordinates of a mesh as a surface."""
        if not shape.has_vertex_texcoords():
            raise RuntimeError("eval_parameterization(): mesh does not have UV coordinates!")
        uv = dr.unravel(_mi("Point2f"), dr.detach(shape.vertex_texcoords_buffer()))
        flat = Mesh("uv", shape.vertex_count(), shape.face_count())
        from ._params import traverse
        params = traverse(flat)
        params["vertex_positions"] = dr.ravel(_mi("Point3f")(uv.x, uv.y, 0))
        params["faces"] = shape.faces_buffer()
        params.update()
        return _core.load_dict({"type": "scene", "shape": flat})

    def _get(self, key, shape, make):
        found = self.get(key)
        if found is None or found[0] is not shape:
            found = self[key] = shape, make()
            while len(self) > self.most:
                self.popitem(last=False)
        self.move_to_end(key)
        found[1]._update()
        return found[1]


_alone = _Alone()


def bbox(self, index=None, clip=None):
    """The box around the shape, or around one of its primitives, or around the part of that in another box."""
    if index is None:
        return self._bounds()
    b = self._primitive_bounds(int(index))
    if clip is not None:
        b.min, b.max = dr.maximum(b.min, clip.min), dr.minimum(b.max, clip.max)
    return b


def ray_intersect_preliminary(self, ray, prim_index=0, active=True):
    """Where rays meet this shape, whatever else there is in a scene."""
    return _alone.scene(self).ray_intersect_preliminary(ray, active=active)


def ray_intersect(self, ray, ray_flags=None, active=True):
    """All about the points where rays meet this shape, whatever else there is in a scene."""
    return _alone.scene(self).ray_intersect(ray, ray_flags, False, active)


def ray_test(self, ray, active=True):
    """Whether rays meet this shape."""
    return _alone.scene(self).ray_test(ray, False, active)


def compute_surface_interaction(self, ray, pi, ray_flags=None, active=True):
    """All about the points that ray_intersect_preliminary() has found."""
    if pi._scene is None:
        pi._scene = _alone.scene(self)
    return pi.compute_surface_interaction(ray, ray_flags, active)


def eval_parameterization(self, uv, ray_flags=None, active=True):
    """The points with these texture coordinates; nothing is met where there are none."""
    uv = _mi("Point2f")(uv)
    if self.is_mesh():
        return _mesh_point(self, uv, ray_flags, active)
    u, v = uv
    kind, turn = self.shape_type(), dr.two_pi
    if kind == ShapeType.Sphere:
        s, c = dr.sincos(v * dr.pi)
        sp, cp = dr.sincos(u * turn)
        local, out = (s * cp, s * sp, c), (s * cp, s * sp, c)
    elif kind == ShapeType.Cylinder:
        s, c = dr.sincos(u * turn)
        local, out = (c, s, v), (c, s, 0)
    elif kind == ShapeType.Disk:
        s, c = dr.sincos(v * turn)
        local, out = (u * c, u * s, 0), (0, 0, 1)
    else:
        raise RuntimeError("eval_parameterization(): not implemented!")
    placement = self._placement()
    p = placement @ _mi("Point3f")(*local)
    n = dr.normalize(_mi("Vector3f")(placement @ _mi("Normal3f")(*out)))
    inside = (u >= 0) & (u <= 1) & (v >= 0) & (v <= 1)
    ray = Ray3f(_mi("Point3f")(p + n), -n)
    return ray_intersect(self, ray, ray_flags, inside & active)


def _mesh_point(mesh, uv, ray_flags, active):
    scene = _alone.scene(mesh)
    flat = _alone._get((mesh._number(), _core.variant(), mesh._revision()), mesh, lambda: _alone.uv_scene(mesh))
    pi = flat.ray_intersect_preliminary(Ray3f(_mi("Point3f")(uv.x, uv.y, -1), _mi("Vector3f")(0, 0, 1)), active=active)
    if mesh._inside_out():
        pi._u, pi._v = pi._v, pi._u
    pi._scene = scene
    # From straight above: the ray's direction is known only once the normal is
    si = pi.compute_surface_interaction(Ray3f(_mi("Point3f")(0), _mi("Vector3f")(0, 0, -1)), ray_flags, active)
    si.wi = _mi("Vector3f")(0, 0, dr.select(si.is_valid(), _mi("Float")(1), 0))
    return si


def eval_attribute_x(self, name, si, active=True):
    """The attribute, however many numbers it has."""
    values = self._eval_attribute_x(name, si, active)
    return _mi("ArrayXf")([dr.select(active, v, 0) for v in values])


def _constant(value, doc):
    def method(self, active=True):
        return value
    method.__doc__ = doc
    return method


for f in (bbox, ray_intersect_preliminary, ray_intersect, ray_test, compute_surface_interaction, eval_parameterization,
          eval_attribute_x):
    setattr(Shape, f.__name__, f)
Shape.is_ellipsoids = _constant(False, "Whether it consists of ellipsoids; there are none.")


# ---- lanes that refer to shapes

def _live(pointer):
    """[(number, shape)] of the shapes that lanes may refer to: those of their scene, if it is known."""
    scene = pointer._scene
    known = scene and {n for n, *_ in scene._surface_table()} | set(scene._surface_numbers())
    return [(n, s) for n, s in _core.live_shapes() if isinstance(s, pointer._kind) and (known is None or n in known)]


class _ShapePointer(OneLane):
    """A shape for each lane, or none: numbers that are unique among all shapes."""
    DRJIT_STRUCT = {"index": None}
    _kind = Shape

    def __init__(self, shapes=None):
        U = _mi("UInt")
        self._scene = None
        if isinstance(shapes, _ShapePointer):
            self._scene, index = shapes._scene, shapes.index
            if not issubclass(type(shapes), type(self)):  # a mesh, or nothing
                index = dr.select(_lookup(U, index, [(n, 1) for n, _ in _live(self)]) != 0, index, 0)
            self.index = U(index)
        elif isinstance(shapes, dr.ArrayBase):
            self.index = shapes if type(shapes) is U else U(shapes)
        else:
            shapes = list(shapes) if isinstance(shapes, (list, tuple)) else [] if shapes is None else [shapes]
            self.index = U([s._number() if isinstance(s, self._kind) else 0 for s in shapes])

    def zero_(self, size=1): self.index = dr.zeros(_mi("UInt"), size)

    def __len__(self): return dr.width(self.index)

    def __getitem__(self, i):
        number = int(self.index[i]) if dr.width(self.index) > 1 else int(self.index[0])
        return next((s for n, s in _core.live_shapes() if n == number), None)

    def __eq__(self, other):
        if other is None:
            return self.index == 0
        if isinstance(other, _ShapePointer):
            return self.index == other.index
        if isinstance(other, Shape):
            return self.index == other._number()
        return NotImplemented

    def __ne__(self, other):
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else ~equal

    __hash__ = None

    def __repr__(self):
        numbers = [] if not dr.width(self.index) else dr.detach(self.index).numpy().tolist()
        return "[" + ", ".join(f"{n:#x}" for n in numbers) + "]"

    # What reinterpret_array() asks
    def _umbel_bits(self): return self.index

    @classmethod
    def _umbel_from_bits(cls, bits): return cls(bits)

    # What dispatch() asks
    def _umbel_numbers(self):
        return _lookup(_mi("UInt"), self.index, [(n, i + 1) for i, (n, _) in enumerate(_live(self))])

    def _umbel_instances(self): return [s for _, s in _live(self)]


def _lookup(T, index, pairs, active=True):
    """The value of each lane's shape, of [(number, value)]; zero for others."""
    table = [0] * (max([n for n, _ in pairs], default=0) + 1)
    for n, v in pairs:
        table[n] = v
    return dr.gather(T, T(table), index, (index < len(table)) & active)


def _fact(name, kind):
    def method(self, active=True):
        pairs = [(n, getattr(s, name)()) for n, s in _live(self)]
        return _lookup(_mi(kind), self.index, [(n, v[0] if isinstance(v, dr.ArrayBase) else v) for n, v in pairs], active)
    method.__name__, method.__doc__ = name, getattr(getattr(Shape, name, None) or getattr(Mesh, name), "__doc__", None)
    return method


def _calls(name, count):
    """A method of each lane's shape; the mask may come by position, after `count` arguments."""
    def method(self, *args, active=True, **kwargs):
        args, active = args[:count], args[count] if len(args) > count else active
        return dr.dispatch(self, lambda s, *a, mask, **k: getattr(s, name)(*a, **k, active=mask), *args, mask=_mask(active),
                           **kwargs)
    method.__name__, method.__doc__ = name, f"{name}() of each lane's shape."
    return method


def _mask(active): return _mi("Bool")(active)


class ShapePtr(_ShapePointer):
    """A shape for each lane, or none."""

    def has_attribute(self, name, active=True):
        """Whether each lane's shape has such an attribute."""
        return _lookup(_mi("Bool"), self.index, [(n, s.has_attribute(name)[0]) for n, s in _live(self)], active)

    def bsdf(self, active=True):
        """The BSDFs of the shapes."""
        from ._pointers import BSDFPtr, references
        if self._scene is None:
            return references(BSDFPtr, self, "bsdf", active)
        table, U, index = self._scene._surface_table(), _mi("UInt"), dr.select(active, self.index, 0)
        out = BSDFPtr._of(self._scene, _lookup(U, index, [(n, b) for n, b, f, e in table]))
        out._flags = out._number, _lookup(U, index, [(n, f) for n, b, f, e in table])
        return out

    def emitter(self, active=True):
        """The lights that the shapes are."""
        from ._pointers import EmitterPtr, references
        if self._scene is None:
            return references(EmitterPtr, self, "emitter", active)
        index = dr.select(active, self.index, 0)
        return EmitterPtr._of(self._scene, _lookup(_mi("UInt"), index, [(n, e) for n, b, f, e in self._scene._surface_table()]))


    def interior_medium(self, active=True):
        """The media behind the surfaces."""
        from ._pointers import MediumPtr, references
        return references(MediumPtr, self, "interior_medium", active)

    def exterior_medium(self, active=True):
        """The media in front of the surfaces."""
        from ._pointers import MediumPtr, references
        return references(MediumPtr, self, "exterior_medium", active)


class MeshPtr(_ShapePointer):
    """A mesh for each lane, or none."""
    _kind = Mesh


for name, kind in (("is_mesh", "Bool"), ("is_emitter", "Bool"), ("is_sensor", "Bool"), ("is_medium_transition", "Bool"),
                   ("is_ellipsoids", "Bool"), ("has_flipped_normals", "Bool"), ("shape_type", "UInt"),
                   ("surface_area", "Float"), ("primitive_count", "UInt"), ("effective_primitive_count", "UInt")):
    setattr(ShapePtr, name, _fact(name, kind))
for name, count in (("compute_surface_interaction", 3), ("eval_attribute", 2), ("eval_attribute_1", 2),
                    ("eval_attribute_3", 2), ("eval_attribute_x", 2), ("eval_parameterization", 2), ("pdf_direction", 2),
                    ("pdf_position", 1), ("ray_intersect", 2), ("ray_intersect_preliminary", 2), ("ray_test", 1),
                    ("sample_direction", 2), ("sample_position", 2)):
    setattr(ShapePtr, name, _calls(name, count))
for name, kind in (("vertex_count", "UInt"), ("face_count", "UInt"), ("has_vertex_normals", "Bool"),
                   ("has_vertex_texcoords", "Bool"), ("has_mesh_attributes", "Bool"), ("has_face_normals", "Bool"),
                   ("has_flipped_normals", "Bool")):
    setattr(MeshPtr, name, _fact(name, kind))
for name, count in (("edge_indices", 2), ("face_indices", 1), ("face_normal", 1), ("opposite_dedge", 1),
                    ("ray_intersect_triangle", 2), ("vertex_normal", 1), ("vertex_position", 1), ("vertex_texcoord", 1)):
    setattr(MeshPtr, name, _calls(name, count))


# ---- how shapes print

_class_names = {"ply": "PLYMesh", "obj": "OBJMesh", "serialized": "SerializedMesh", "mesh": "Mesh", "sdfgrid": "SDFGrid",
                "ellipsoidsmesh": "EllipsoidsMesh", "bsplinecurve": "BSplineCurve", "linearcurve": "LinearCurve",
                "shapegroup": "ShapeGroup"}


def _class_name(self):
    """The name of the plugin's class."""
    return _class_names.get(self.plugin_name(), self.plugin_name().capitalize())


def _indent(text, by=2): return str(text).replace("\n", "\n" + " " * by)


def _repr(self):
    rows, b = [], self.bbox()
    if self.is_mesh() and self.shape_type() == ShapeType.Mesh:
        attributes = sorted(self._attributes())
        per = {p: sum(s for n, s in attributes if n.startswith(p)) for p in ("vertex_", "face_")}
        size = 8 if _mi("Float").__name__ == "Float64" else 4
        floats = 3 + 3 * self.has_vertex_normals() + 2 * self.has_vertex_texcoords() + per["vertex_"]
        rows = [f'name = "{self.id() or self.plugin_name()}"', f"bbox = {_indent(b).replace('Scalar', '')}",
                f"vertex_count = {self.vertex_count()}",
                f"vertices = [{_bytes(self.vertex_count() * floats * size)} of vertex data]",
                f"face_count = {self.face_count()}",
                f"faces = [{_bytes(self.face_count() * (12 + per['face_'] * size))} of face data]",
                f"face_normals = {int(self.has_face_normals())}"]
        if attributes:
            lines = ",\n".join(f"    {n}: {s} float{'s' if s > 1 else ''}" for n, s in attributes)
            rows.append(f"mesh attributes = [\n{lines}\n  ]")
    else:
        numbers = [f"{float(v) + 0:.6g}" for v in dr.ravel(_mi("Matrix4f")(self._placement().matrix), order="C")]
        matrix = ",\n              ".join(f"[{', '.join(numbers[i:i + 4])}]" for i in range(0, 16, 4))
        rows = [f"to_world = [{matrix}]", f"surface_area = {self.surface_area()}"]
        if self.shape_type() == ShapeType.Sphere:
            rows[1:1] = [f"center = {b.center()}", f"radius = {float(b.extents()[0]) / 2:.6g}"]
    if self.bsdf() is not None:
        rows.append(f"bsdf = {_indent(self.bsdf())}")
    return f"{_class_name(self)}[\n  " + ",\n  ".join(rows) + "\n]"


def _bytes(n):
    for unit in ("B", "KiB", "MiB"):
        if n < 1024:
            return f"{n:.4g} {unit}"
        n /= 1024
    return f"{n:.4g} GiB"


Shape.class_name, Shape.to_string, Shape.__repr__, Shape.__str__ = _class_name, _repr, _repr, _repr
