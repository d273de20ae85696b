# umbel/_mesh.py: what scripts read of meshes, vertex by vertex and triangle by triangle.
from . import jit as dr
from ._core import Mesh
from ._records import _mi


def _rows(kind, buffer):
    def method(self, index, active=True):
        return dr.gather(_mi(kind), getattr(self, buffer)(), index, active)
    method.__doc__ = f"Entries of {buffer}()."
    return method


Mesh.vertex_position = _rows("Point3f", "vertex_positions_buffer")
Mesh.vertex_normal = _rows("Normal3f", "vertex_normals_buffer")
Mesh.vertex_texcoord = _rows("Point2f", "vertex_texcoords_buffer")
Mesh.face_indices = _rows("Vector3u", "faces_buffer")


def face_normal(self, index, active=True):
    """Normals of triangles: to the side from which their vertices run counterclockwise."""
    a, b, c = (self.vertex_position(i, active) for i in self.face_indices(index, active))
    return _mi("Normal3f")(dr.normalize(dr.cross(b - a, c - a)))


Mesh.face_normal = face_normal
