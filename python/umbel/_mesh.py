# umbel/_mesh.py: what scripts read of meshes, vertex by vertex and triangle by triangle.
from . import jit as dr
from ._core import Mesh
from ._records import _mi, PreliminaryIntersection3f


def _rows(kind, buffer):
    def method(self, index, active=True):
        return dr.gather(_mi(kind), getattr(self, buffer)(), _mi("UInt")(index), active)
    method.__doc__ = f"Entries of {buffer}()."
    return method


Mesh.vertex_position = _rows("Point3f", "vertex_positions_buffer")
Mesh.vertex_normal = _rows("Normal3f", "vertex_normals_buffer")
Mesh.vertex_texcoord = _rows("Point2f", "vertex_texcoords_buffer")
Mesh.face_indices = _rows("Vector3u", "faces_buffer")


def from_arrays(name, faces, positions, normals=None, texcoords=None, props=None):
    """A mesh with this contents: tables with a row for each triangle or vertex, or arrays of vectors and points."""
    from ._params import traverse

    def flat(value, kind, columns, what):
        is_nested = isinstance(value, dr.ArrayBase) and not dr.is_tensor_v(value) and dr.depth_v(value) > 1
        shape = (dr.width(value), len(value)) if is_nested else tuple(getattr(value, "shape", ())) or (len(value), columns)
        if shape[-1] != columns and len(shape) > 1:
            raise dr.UserError(f"Mesh: {what} have {columns} numbers a row, not {shape[-1]}")
        if is_nested or dr.is_tensor_v(value):
            return _mi(kind)(dr.ravel(value))
        import numpy as np
        return _mi(kind)(np.ravel(np.asarray(value)))
    data = {"faces": flat(faces, "UInt", 3, "faces"), "vertex_positions": flat(positions, "Float", 3, "positions")}
    if normals is not None:
        data["vertex_normals"] = flat(normals, "Float", 3, "normals")
    if texcoords is not None:
        data["vertex_texcoords"] = flat(texcoords, "Float", 2, "texcoords")
    mesh = Mesh(name, len(data["vertex_positions"]) // 3, len(data["faces"]) // 3, props, normals is not None,
                texcoords is not None)
    traverse(mesh).update(data)
    return mesh


def add_attribute(self, name, size, buffer):
    """Gives each vertex (`vertex_...`) or face (`face_...`) `size` numbers under a name."""
    self._add_attribute(name, size, _mi("Float")(buffer))


def face_normal(self, index, active=True):
    """Normals of triangles: to the side from which their vertices run counterclockwise."""
    a, b, c = (self.vertex_position(i, active) for i in self.face_indices(index, active))
    return _mi("Normal3f")(dr.normalize(dr.cross(b - a, c - a)))


def edge_indices(self, tri_index, edge_index, active=True):
    """The vertices at both ends of a triangle's edge: the first is from its first corner to the second."""
    U = _mi("UInt")
    tri, edge = U(tri_index) * 3, U(edge_index)
    faces, following = self.faces_buffer(), dr.select(edge == 2, 0, edge + 1)
    return _mi("Vector2u")(dr.gather(U, faces, tri + edge, active), dr.gather(U, faces, tri + following, active))


def opposite_dedge(self, index, active=True):
    """The edge, three a triangle, that runs along another one in the opposite direction; 2**32 - 1 where there is none."""
    return dr.gather(_mi("UInt"), self._opposite_edges(), _mi("UInt")(index), active)


def ray_intersect_triangle(self, index, ray, active=True):
    """Where rays meet triangles, each ray one of them."""
    from ._shape import _alone
    index = _mi("UInt")(index)
    a, b, c = (self.vertex_position(i, active) for i in self.face_indices(index, active))
    if self._inside_out():  # as the scene has it
        b, c = c, b
    e1, e2, rel = b - a, c - a, ray.o - a
    p, q = dr.cross(ray.d, e2), dr.cross(rel, e1)
    inv_det = dr.rcp(dr.dot(e1, p))
    pi = PreliminaryIntersection3f()
    pi._u, pi._v, t = dr.dot(rel, p) * inv_det, dr.dot(ray.d, q) * inv_det, dr.dot(e2, q) * inv_det
    hit = (pi._u >= 0) & (pi._v >= 0) & (pi._u + pi._v <= 1) & (t >= 0) & (t <= ray.maxt) & active
    pi.t = dr.select(hit, t, dr.inf)
    pi._prim = index
    pi._geometry = pi._instance = dr.zeros(_mi("UInt"), dr.width(t))
    pi._scene = _alone.scene(self)
    return pi


def write_ply(self, filename):
    """Writes a binary PLY file, or to a stream; with parameters that were changed and not passed on by update() yet."""
    from ._integrators import live_parameters
    for p in list(live_parameters):
        p._pass_on(self)
    self._write_ply(filename)


for f in (write_ply, add_attribute, face_normal, edge_indices, opposite_dedge, ray_intersect_triangle):
    setattr(Mesh, f.__name__, f)
