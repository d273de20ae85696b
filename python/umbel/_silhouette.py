# umbel/_silhouette.py: points where a surface ends, as somebody sees it, and how shapes move: for estimators of derivatives
# that scripts write themselves. Those of prb_projective are in render/silhouettes.h.
#
# Meshes, rectangles, disks and the ends of cylinders end along curves (perimeter): a sample is a point of the curve and a
# direction. Spheres and the sides of cylinders end where they are seen at a right angle to their normal (interior): a sample is
# a point of the surface and a direction in its tangent plane.
import collections

from . import jit as dr
from . import math, warp
from ._core import DiscreteDistribution, Scene, variant
from ._records import _mi, PositionSample3f, Ray3f
from ._transform import Transform4f
from ._shape import DiscontinuityFlags, Shape, ShapePtr, ShapeType, _calls, _fact, _live

_NoEdge = 2**32 - 1
_types = {ShapeType.Mesh: 1, ShapeType.Rectangle: 1, ShapeType.Disk: 1, ShapeType.Sphere: 2, ShapeType.Cylinder: 3}


class SilhouetteSample3f(PositionSample3f):
    """A point of a silhouette: the surface ends there on the way `d`. `n` is at a right angle to that way and to the curve, and
    points away from the surface."""
    _fields = {**PositionSample3f._fields, "discontinuity_type": "UInt", "d": "Vector3f", "silhouette_d": "Vector3f",
               "prim_index": "UInt", "scene_index": "UInt", "flags": "UInt", "projection_index": "UInt", "_shape": "UInt",
               "foreshortening": "Float", "offset": "Float"}

    def __init__(self, other=None):
        if isinstance(other, PositionSample3f):
            self.assign(other)

    @property
    def shape(self): return ShapePtr(self._shape)

    @shape.setter
    def shape(self, shape): self._shape = ShapePtr(shape).index

    def _shown(self): return ["shape" if n == "_shape" else n for n in self._fields]

    def is_valid(self):
        """Whether there is a silhouette."""
        return self.discontinuity_type != int(DiscontinuityFlags.Empty)

    def spawn_ray(self):
        """A ray that leaves the silhouette along `d`, just beside the surface."""
        away = self.d * math.RayEpsilon + self.n * self.offset
        return Ray3f(_mi("Point3f")(self.p + away * (1 + dr.max(dr.abs(self.p)))), self.d)


def _sample(shape, p, d, edge, inside, pdf, kind, flags, valid, foreshortening=None):
    """`inside`: from p towards where the surface is."""
    ss, V = SilhouetteSample3f(), _mi("Vector3f")
    lanes = max(dr.width(p), dr.width(d))
    valid = _mi("Bool")(valid) & dr.full(_mi("Bool"), True, lanes)
    n = dr.normalize(dr.cross(d, edge))
    ss.p, ss.d, ss.silhouette_d = _mi("Point3f")(p), V(d), V(edge)
    ss.n = _mi("Normal3f")(dr.select(dr.dot(n, inside) > 0, -n, n))
    ss.pdf = dr.select(valid, pdf, 0)
    ss.discontinuity_type = dr.select(valid, _mi("UInt")(kind), 0)
    ss.flags = dr.full(_mi("UInt"), int(flags), lanes)
    ss._shape = dr.full(_mi("UInt"), shape._number(), lanes)
    ss.foreshortening = dr.norm(dr.cross(d, edge)) if foreshortening is None else foreshortening
    ss.offset = _mi("Float")(math.RayEpsilon)
    return ss


def _nothing(flags, sample):
    ss = dr.zeros(SilhouetteSample3f, dr.width(sample))
    ss.flags = dr.full(_mi("UInt"), int(flags), dr.width(sample))
    return ss


def _one_type(shape, flags):
    """PerimeterType, InteriorType, or 0 where the shape has no silhouette of the type that `flags` asks for."""
    flags, own = int(flags), int(shape.silhouette_discontinuity_types())
    asked = flags & int(DiscontinuityFlags.AllTypes)
    if asked not in (1, 2):
        raise dr.UserError("sample_silhouette(): a shape samples silhouettes of one type: PerimeterType or InteriorType; a scene "
                           "takes both")
    return asked & own


# ---- edges of meshes

class _Edges:
    """Those of a mesh that can be a silhouette, each once: boundaries, and convex edges between two triangles."""

    def __init__(self, mesh, index):
        U = _mi("UInt")
        self.face = index // 3
        self.corner = index - self.face * 3
        v = mesh.face_indices(self.face)
        i = [_pick(v, (self.corner + k) % 3) for k in range(3)]
        self.a, self.b, self.third = (dr.detach(mesh.vertex_position(j)) for j in i)
        other = dr.gather(U, _edges_of(mesh)[0], index)
        self.open = other == _NoEdge
        self.first = self.open | (index < other)
        self.n0 = dr.detach(mesh.face_normal(self.face))
        g = dr.select(self.open, U(0), other)
        self.n1 = dr.select(self.open, -self.n0, dr.detach(mesh.face_normal(g // 3)))
        far = dr.detach(mesh.vertex_position(_pick(mesh.face_indices(g // 3), (g + 2) % 3)))
        self.bends = self.open | (dr.dot(self.n0, dr.normalize(far - self.a)) < -1e-5)  # outwards
        self.length = dr.norm(self.b - self.a)
        self.way = (self.b - self.a) / self.length

    def ends(self, d):
        """Whether the surface ends there, seen along d."""
        return self.open | (self.bends & (dr.dot(self.n0, d) * dr.dot(self.n1, d) < 0))

    def at(self, mesh, t, d, pdf, flags, valid):
        """The sample at a place of the edge."""
        valid = valid & self.ends(d) & (self.length > 0)
        ss = _sample(mesh, self.a + t * (self.b - self.a), d, self.way, self.third - self.a, pdf, 1, flags, valid)
        ss.prim_index, ss.projection_index = self.face, self.corner
        corners = [dr.select(self.corner == k, 1 - t, dr.select(self.corner == (k + 2) % 3, t, 0)) for k in (1, 2)]
        ss.uv = _mi("Point2f")(*corners)
        return ss

    def direction(self, u, flags):
        """A direction, and its density."""
        V, sphere = _mi("Vector3f"), warp.square_to_uniform_sphere(u)
        pdf = _mi("Float")(1 / (4 * dr.pi))
        if not int(flags) & int(DiscontinuityFlags.DirectionLune):
            return V(sphere), pdf
        lune = V(warp.square_to_uniform_spherical_lune(u, self.n0, self.n1))
        density = warp.square_to_uniform_spherical_lune_pdf(lune, self.n0, self.n1)
        return dr.select(self.open, V(sphere), lune), dr.select(self.open, pdf, density)

    def square(self, d, flags):
        """The random numbers of a direction."""
        sphere = warp.uniform_sphere_to_square(d)
        if not int(flags) & int(DiscontinuityFlags.DirectionLune):
            return sphere
        return dr.select(self.open, sphere, warp.uniform_spherical_lune_to_square(d, self.n0, self.n1))


def _pick(v, k): return dr.select(k == 0, v[0], dr.select(k == 1, v[1], v[2]))


def _all_edges(mesh): return _Edges(mesh, dr.arange(_mi("UInt"), mesh.face_count() * 3))


def _opposite(mesh):
    """By edge: the one that runs along it in the opposite direction. Corners in one place are one, whatever their normals."""
    import numpy as np
    positions = np.reshape(dr.detach(mesh.vertex_positions_buffer()).numpy(), (-1, 3)) + 0.0
    _, place = np.unique(positions, axis=0, return_inverse=True)
    corners = place.ravel()[np.reshape(mesh.faces_buffer().numpy(), (-1, 3))].astype(np.int64)
    ends, count = (corners.ravel(), np.roll(corners, -1, axis=1).ravel()), np.int64(len(positions))
    key, wanted = ends[0] * count + ends[1], ends[1] * count + ends[0]
    known, first, count = np.unique(key, return_index=True, return_counts=True)
    at = np.minimum(np.searchsorted(known, wanted), max(len(known) - 1, 0))
    mine = np.searchsorted(known, key)
    paired = (known[at] == wanted) & (count[at] == 1) & (count[mine] == 1)  # where more than two meet, all end
    return np.where(paired, first[at], _NoEdge).astype(np.uint32)


def _edges_of(mesh):
    """Opposite edges; all by their length, or None if none can be a silhouette. Kept until the mesh changes."""
    key = mesh._number(), variant(), mesh._revision()
    if key not in _kept or _kept[key][0] is not mesh:  # numbers are given again
        _kept[key] = mesh, _mi("UInt")(_opposite(mesh)), None
        e = _all_edges(mesh)
        weights = dr.select(e.first & e.bends, e.length, 0)
        _kept[key] = mesh, _kept[key][1], DiscreteDistribution(weights) if dr.any(weights > 0) else None
        while len(_kept) > 16:
            _kept.popitem(last=False)
    return _kept[key][1:]


_kept = collections.OrderedDict()


def _mesh_sample(mesh, sample, flags, active):
    distribution = _edges_of(mesh)[1]
    if distribution is None:
        return _nothing(flags, sample)
    index, t, pmf = distribution.sample_reuse_pmf(sample.x)
    e = _Edges(mesh, index)
    d, pdf = e.direction(_mi("Point2f")(sample.y, sample.z), flags)
    return e.at(mesh, t, d, pdf * distribution.normalization(), flags, active)


def _mesh_invert(mesh, ss, flags):
    distribution, index = _edges_of(mesh)[1], dr.select(ss.is_valid(), ss.prim_index * 3 + ss.projection_index, 0)
    if distribution is None:
        return dr.zeros(_mi("Point3f"), dr.width(ss.p))
    e = _Edges(mesh, index)
    t = dr.dot(ss.p - e.a, e.way) / e.length
    w = distribution.eval_pmf(index)
    x = (distribution.eval_cdf(index) - w + t * w) * distribution.normalization()
    return _mi("Point3f")(x, *e.square(ss.d, flags))


# ---- analytic shapes, in the space of their own

def _local(shape):
    """To the world, as numbers."""
    return Transform4f(shape._placement())


def _tangent(shape, sample, p, n, area, radius, flags, active, axis=None):
    """On a curved surface: any point of it, any tangent direction."""
    from . import Frame3f
    s, c = dr.sincos(sample.z * dr.two_pi)
    d = Frame3f(n).to_world(_mi("Vector3f")(c, s, 0))
    edge = dr.normalize(dr.cross(n, d)) if axis is None else axis
    bend = 1 / radius if axis is None else dr.square(dr.norm(dr.cross(d, axis))) / radius
    return _sample(shape, p, d, edge, -n, 1 / (area * dr.two_pi), 2, flags, active, bend)


def _angle(n, d):
    """The random number of a direction in the tangent plane."""
    from . import Frame3f
    local = Frame3f(n).to_local(d)
    turn = dr.atan2(local.y, local.x) / dr.two_pi
    return dr.select(turn < 0, turn + 1, turn)


def _circle(shape, x, sample, z, flags, active, share=1.0):
    """A point of a circle around the axis of a disk or cylinder, any direction."""
    place = _local(shape)
    s, c = dr.sincos(x * dr.two_pi)
    p = place @ _mi("Point3f")(c, s, z)
    step = place @ _mi("Vector3f")(-s, c, 0)
    d = _mi("Vector3f")(warp.square_to_uniform_sphere(_mi("Point2f")(sample.y, sample.z)))
    length = dr.norm(step)
    if shape.shape_type() == ShapeType.Disk:
        inside = place @ _mi("Point3f")(0) - p
    else:  # along the side
        inside = place @ _mi("Vector3f")(0, 0, 0.5 - z)
    return _sample(shape, p, d, step / length, inside, share / (8 * dr.pi**2 * length), 1, flags, active)


def _turn(q):
    turn = dr.atan2(q.y, q.x) / dr.two_pi
    return dr.select(turn < 0, turn + 1, turn)


def _square_sides(shape):
    """Of a rectangle: where its sides begin, and the ways along them."""
    P, V, place = _mi("Point3f"), _mi("Vector3f"), _local(shape)
    corners = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
    return [(place @ P(x, y, 0), place @ V(u - x, v - y, 0)) for (x, y), (u, v) in zip(corners, corners[1:] + corners[:1])]


def _rectangle_sample(shape, sample, flags, active):
    sides = _square_sides(shape)
    total = sum(dr.norm(w) for _, w in sides)
    left, p, way = sample.x * total, *sides[-1]
    at = dr.clip((left - total + dr.norm(way)) / dr.norm(way), 0, 1)
    begin = total
    for q, w in reversed(sides):
        length = dr.norm(w)
        begin = begin - length
        here = left < begin + length
        p, way, at = dr.select(here, q, p), dr.select(here, w, way), dr.select(here, (left - begin) / length, at)
    d = _mi("Vector3f")(warp.square_to_uniform_sphere(_mi("Point2f")(sample.y, sample.z)))
    p = p + at * way
    middle = _local(shape) @ _mi("Point3f")(0)
    return _sample(shape, p, d, dr.normalize(way), middle - p, 1 / (4 * dr.pi * total), 1, flags, active)


def _rectangle_invert(shape, ss):
    sides = _square_sides(shape)
    total, begin, x = sum(dr.norm(w) for _, w in sides), 0, _mi("Float")(0)
    for q, w in sides:
        length = dr.norm(w)
        x = dr.select(dr.dot(ss.silhouette_d, w) > 0.5 * length, dr.select(
            dr.norm(dr.cross(ss.p - q, w)) < 1e-3 * length * total, (begin + dr.dot(ss.p - q, w) / length) / total, x), x)
        begin = begin + length
    return x


def _ball(shape):
    place = _local(shape)
    return place @ _mi("Point3f")(0), dr.norm(place @ _mi("Vector3f")(1, 0, 0))


def _shape_sample(shape, sample, flags, kind, active):
    P2, P3, V = _mi("Point2f"), _mi("Point3f"), _mi("Vector3f")
    what = shape.shape_type()
    if what == ShapeType.Rectangle:
        return _rectangle_sample(shape, sample, flags, active)
    if what == ShapeType.Disk:
        return _circle(shape, sample.x, sample, 0, flags, active)
    if what == ShapeType.Sphere:
        centre, radius = _ball(shape)
        n = V(warp.square_to_uniform_sphere(P2(sample.x, sample.y)))
        return _tangent(shape, sample, centre + radius * n, n, 4 * dr.pi * dr.square(radius), radius, flags, active)
    if kind == 1:  # the two ends of a cylinder
        upper = sample.x >= 0.5
        x = dr.select(upper, sample.x * 2 - 1, sample.x * 2)
        return _circle(shape, x, sample, dr.select(upper, _mi("Float")(1), 0), flags, active, 0.5)
    place = _local(shape)
    s, c = dr.sincos(sample.x * dr.two_pi)
    p, n = place @ P3(c, s, sample.y), dr.normalize(V(place @ _mi("Normal3f")(c, s, 0)))
    axis = place @ V(0, 0, 1)
    radius, height = dr.norm(place @ V(1, 0, 0)), dr.norm(axis)
    return _tangent(shape, sample, p, n, dr.two_pi * radius * height, radius, flags, active, axis / height)


def _shape_invert(shape, ss, kind):
    P3, what, place = _mi("Point3f"), shape.shape_type(), _local(shape)
    q = place.inverse() @ ss.p
    sphere = warp.uniform_sphere_to_square(ss.d)
    if what == ShapeType.Rectangle:
        return P3(_rectangle_invert(shape, ss), *sphere)
    if what == ShapeType.Disk:
        return P3(_turn(q), *sphere)
    if what == ShapeType.Sphere:
        centre, radius = _ball(shape)
        n = (ss.p - centre) / radius
        return P3(*warp.uniform_sphere_to_square(n), _angle(n, ss.d))
    side = P3(_turn(q), q.z, _angle(dr.normalize(_mi("Vector3f")(place @ _mi("Normal3f")(q.x, q.y, 0))), ss.d))
    end = P3(_turn(q) * 0.5 + dr.select(q.z > 0.5, _mi("Float")(0.5), 0), *sphere)
    return side if kind == 2 else end


# ---- of shapes

def silhouette_discontinuity_types(self, active=True):
    """The types of silhouettes that the shape has: DiscontinuityFlags."""
    return _types.get(self.shape_type(), 0)


def sample_silhouette(self, sample, flags, active=True):
    """Silhouettes of one type, and their density; none is valid if the shape has none of that type."""
    sample, kind = _mi("Point3f")(sample), _one_type(self, flags)
    if kind == 0:
        return _nothing(flags, sample)
    if self.is_mesh():
        return _mesh_sample(self, sample, flags, active)
    return _shape_sample(self, sample, flags, kind, active)


def invert_silhouette_sample(self, ss, active=True):
    """The random numbers of samples of this shape."""
    if self.is_mesh():  # directions are drawn in two ways
        lune = (ss.flags & int(DiscontinuityFlags.DirectionLune)) != 0
        out = dr.select(lune, _mesh_invert(self, ss, DiscontinuityFlags.DirectionLune), _mesh_invert(self, ss, 0))
    else:
        out = dr.select(ss.discontinuity_type == 2, _shape_invert(self, ss, 2), _shape_invert(self, ss, 1))
    return dr.select(active & ss.is_valid(), out, 0)


def differential_motion(self, si, active=True):
    """`si.p`, with derivatives of the shape's parameters: of the point of the surface that is there now."""
    from ._params import traverse
    P3 = _mi("Point3f")
    if self.is_mesh() and self.shape_type() != ShapeType.Rectangle:  # that follows its to_world
        a, b, c = (self.vertex_position(i, active) for i in self.face_indices(si.prim_index, active))
        u, v = dr.detach(si.uv)
        moved = a * (1 - u - v) + b * u + c * v
    else:
        to_world = traverse(self)["to_world"]
        moved = to_world @ P3(dr.detach(to_world).inverse() @ dr.detach(si.p))
    return dr.replace_grad(P3(dr.detach(si.p)), P3(moved))


# ---- silhouettes as seen from somewhere

def primitive_silhouette_projection(self, viewpoint, si, flags, sample, active=True):
    """A silhouette, as seen from a point, near where a ray has met the shape. Of meshes and spheres."""
    viewpoint, kind = _mi("Point3f")(viewpoint), _one_type(self, flags)
    if kind == 0:
        return _nothing(flags, si.p)
    active = active & si.is_valid()
    if self.is_mesh():
        u = dr.clip(_mi("Float")(sample), 0, 1) * 3
        corner = dr.minimum(_mi("UInt")(u), 2)
        e = _Edges(self, dr.select(active, si.prim_index * 3 + corner, 0))  # rays that met nothing have no triangle
        t = u - _mi("Float")(corner)
        d = dr.normalize(_mi("Vector3f")(e.a + t * (e.b - e.a) - viewpoint))
        return e.at(self, t, d, 0, flags, active)
    if self.shape_type() == ShapeType.Sphere:
        centre, axis, s = _cone(self, viewpoint)
        side = _mi("Vector3f")(si.p - centre)
        return _on_cone(self, viewpoint, dr.normalize(side - axis * dr.dot(side, axis)), 0, flags, active)
    raise dr.UserError("primitive_silhouette_projection(): known of meshes and spheres")


def _cone(sphere, viewpoint):
    """Its centre, the way there, and the sine of half the angle under which it is seen."""
    centre, radius = _ball(sphere)
    way = _mi("Vector3f")(centre - viewpoint)
    far = dr.norm(way)
    return centre, way / far, radius / far


def _on_cone(sphere, viewpoint, side, density, flags, active):
    """Where the sphere ends on that side, a direction at a right angle to the way to its centre; `density`: over the circle."""
    (centre, axis, s), radius = _cone(sphere, viewpoint), _ball(sphere)[1]
    cosine = dr.safe_sqrt(1 - dr.square(s))
    n = side * cosine - axis * s
    p = centre + n * radius
    d = dr.normalize(_mi("Vector3f")(p - viewpoint))
    pdf = density / (dr.two_pi * radius * cosine)
    return _sample(sphere, p, d, dr.normalize(dr.cross(n, d)), -n, pdf, 2, flags, active & (s < 1), 1 / radius)


def precompute_silhouette(self, viewpoint):
    """The edges of a mesh that are silhouettes as seen from a point, three a triangle, and how long they look from there. Of a
    sphere, the type of its silhouette, with the weight 1."""
    if self.shape_type() == ShapeType.Sphere:
        return _mi("UInt")(int(DiscontinuityFlags.InteriorType)), _mi("Float")(1)
    if not self.is_mesh():
        raise dr.UserError("precompute_silhouette(): known of meshes and spheres")
    viewpoint, e = _mi("Point3f")(viewpoint), _all_edges(self)
    way = _mi("Vector3f")((e.a + e.b) * 0.5 - viewpoint)
    far = dr.norm(way)
    looks = dr.norm(dr.cross(way, e.b - e.a)) / dr.square(far)
    index = dr.compress(e.first & e.ends(way / far) & (looks > 0))
    return index, dr.gather(_mi("Float"), looks, index)


def sample_precomputed_silhouette(self, viewpoint, sample1, sample2, active=True):
    """A point of an edge that precompute_silhouette() has named, or of a sphere; the density is along the silhouette."""
    viewpoint, t = _mi("Point3f")(viewpoint), _mi("Float")(sample2)
    if self.shape_type() == ShapeType.Sphere:
        from . import Frame3f
        s, c = dr.sincos(t * dr.two_pi)
        side = Frame3f(_cone(self, viewpoint)[1]).to_world(_mi("Vector3f")(c, s, 0))
        return _on_cone(self, viewpoint, side, 1, DiscontinuityFlags.InteriorType, active)
    if not self.is_mesh():
        raise dr.UserError("sample_precomputed_silhouette(): known of meshes and spheres")
    e = _Edges(self, dr.select(active, _mi("UInt")(sample1), 0))
    d = dr.normalize(_mi("Vector3f")(e.a + t * (e.b - e.a) - viewpoint))
    return e.at(self, t, d, 1 / e.length, DiscontinuityFlags.PerimeterType, active)


# ---- of scenes

def silhouette_shapes(self):
    """The shapes whose derivatives are followed, and whose silhouettes can be sampled."""
    return [s for s in self.shapes() if s.parameters_grad_enabled() and s.silhouette_discontinuity_types()]


def _chosen(scene, kind):
    return [(i, s) for i, s in enumerate(scene.silhouette_shapes())
            if s.silhouette_discontinuity_types() & kind and s.silhouette_sampling_weight() > 0]


def _shares(shapes):
    """The probability of each, and of all before it, by their weights."""
    weights = [s.silhouette_sampling_weight() for _, s in shapes]
    parts = [w / sum(weights) for w in weights]
    return _mi("Float")(parts), _mi("Float")([sum(parts[:k]) for k in range(len(parts))])


def _scene_sample(self, sample, flags, active=True):
    """Silhouettes of all shapes whose derivatives are followed, as often as their weights say; of both types in equal parts."""
    U, sample, flags = _mi("UInt"), _mi("Point3f")(sample), int(flags)
    both = [t for t in (1, 2) if flags & t and _chosen(self, t)]
    out, share, x = _nothing(flags, sample), 1 / max(len(both), 1), sample.x
    for k, kind in enumerate(both):
        here = (x >= k * share) & ((x < (k + 1) * share) if k + 1 < len(both) else True)
        shapes = _chosen(self, kind)
        parts, before = _shares(shapes)
        scaled, number = x / share - k, dr.zeros(U, dr.width(x))
        for j in range(1, len(shapes)):
            number = dr.select(scaled >= before[j], j, number)
        part = dr.gather(_mi("Float"), parts, number)
        u = _mi("Point3f")((scaled - dr.gather(_mi("Float"), before, number)) / part, sample.y, sample.z)
        ss = _of_each(shapes, number, lambda s, u, m: sample_silhouette(s, u, flags & ~3 | kind, m), u, active & here)
        ss.scene_index = dr.gather(U, U([i for i, _ in shapes]), number)
        ss.flags = dr.full(U, flags, dr.width(ss.pdf))
        ss.pdf = ss.pdf * (share * part)
        out = dr.select(here, ss, out)
    return out


def _of_each(shapes, number, function, *args):
    """What the function gives for each lane's shape."""
    _compute_edges(s for _, s in shapes)
    calls = [lambda *a, s=s: function(s, *a) for _, s in shapes]
    return dr.switch(number, calls, *args)


def _compute_edges(shapes):
    """What a recorded call could not."""
    for s in shapes:
        if s.is_mesh():
            _edges_of(s)


def _scene_invert(self, ss, active=True):
    """The random numbers of samples of this scene."""
    U, F = _mi("UInt"), _mi("Float")
    out = dr.zeros(_mi("Point3f"), dr.width(ss.p))
    both = [(kind, shapes) for kind in (1, 2) for shapes in [_chosen(self, kind)] if shapes]
    halved = (ss.flags & 3) == 3 if len(both) == 2 else False
    for kind, shapes in both:
        place = dr.zeros(U, dr.width(ss.p))
        for k, (i, _) in enumerate(shapes):
            place = dr.select(ss.scene_index == i, k, place)
        u = _of_each(shapes, place, invert_silhouette_sample, ss, _mi("Bool")(active))
        parts, before = _shares(shapes)
        x = dr.fma(u.x, dr.gather(F, parts, place), dr.gather(F, before, place))
        x = dr.select(halved, (x + kind - 1) * 0.5, x)
        out = dr.select(ss.discontinuity_type == kind, _mi("Point3f")(x, u.y, u.z), out)
    return out


for _f in (silhouette_discontinuity_types, sample_silhouette, invert_silhouette_sample,
           differential_motion, primitive_silhouette_projection, precompute_silhouette, sample_precomputed_silhouette):
    setattr(Shape, _f.__name__, _f)
Scene.silhouette_shapes, Scene.sample_silhouette, Scene.invert_silhouette_sample = silhouette_shapes, _scene_sample, _scene_invert
ShapePtr.silhouette_discontinuity_types = _fact("silhouette_discontinuity_types", "UInt")
ShapePtr.silhouette_sampling_weight = _fact("silhouette_sampling_weight", "Float")
for _name, _count in (("differential_motion", 1), ("primitive_silhouette_projection", 4), ("sample_precomputed_silhouette", 3)):
    setattr(ShapePtr, _name, _calls(_name, _count))


def _with_edges(name, count):
    call = _calls(name, count)

    def method(self, *args, **kwargs):
        _compute_edges(s for _, s in _live(self))
        return call(self, *args, **kwargs)
    method.__name__, method.__doc__ = name, call.__doc__
    return method


ShapePtr.sample_silhouette = _with_edges("sample_silhouette", 2)
ShapePtr.invert_silhouette_sample = _with_edges("invert_silhouette_sample", 1)
