"""Regularizers: what is asked of unknowns besides that their images are right. Numbers to be weighted and added to a loss."""
from .. import jit as dr
from .._variant_types import resolve


def _neighbours(x, axes):
    for axis in range(axes):
        n = x.shape[axis]
        if n > 1:
            before, behind = [slice(None)] * len(x.shape), [slice(None)] * len(x.shape)
            before[axis], behind[axis] = slice(0, n - 1), slice(1, n)
            yield x[tuple(behind)] - x[tuple(before)]


def _axes(x, what):
    if not dr.is_tensor_v(x) or len(x.shape) < 2:
        raise dr.UserError(f"{what} is of tensors: rows, columns and channels of a texture, or slices, rows, columns and channels of a "
                           "volume; make one of the array with TensorXf(array, shape)")
    return len(x.shape) - 1


def total_variation(x):
    """The mean difference of neighbours: small for what is smooth in patches. Textures, or volumes; the last index numbers channels."""
    return sum((dr.mean(dr.abs(d), axis=None) for d in _neighbours(x, _axes(x, "total variation"))), resolve("Float")(0))


def smoothness(x):
    """The mean squared difference of neighbours: small for what has no steps."""
    return sum((dr.mean(dr.square(d), axis=None) for d in _neighbours(x, _axes(x, "smoothness"))), resolve("Float")(0))


class Laplacian:
    """How far vertices of a mesh are from the middle of their neighbours: the mean squared distance. Made once for a mesh.

        rough = Laplacian(params["mesh.faces"], vertices=1000)
        loss += 0.1 * rough(params["mesh.vertex_positions"])
    """

    def __init__(self, faces, vertices):
        import numpy as np
        f = np.array(faces).reshape(-1, 3).astype(np.int64)
        if f.size and f.max() >= vertices:
            raise dr.UserError(f"a face has vertex {f.max()}; there are {vertices}")
        ends = np.concatenate([f[:, [0, 1]], f[:, [1, 2]], f[:, [2, 0]]])
        edges = np.unique(np.concatenate([ends, ends[:, ::-1]]), axis=0)
        degree = np.maximum(np.bincount(edges[:, 0], minlength=vertices), 1)
        UInt, Float = resolve("UInt"), resolve("Float")
        self._from, self._to = (UInt(np.ascontiguousarray(edges[:, i]).astype(np.uint32)) for i in (0, 1))
        self._weight, self._count = Float((1 / degree[edges[:, 0]]).astype(np.float32)), vertices

    def __call__(self, positions):
        Point3f, Float = resolve("Point3f"), resolve("Float")
        flat = dr.ravel(positions) if not isinstance(positions, Float) else positions
        p = dr.unravel(Point3f, flat)
        middle = dr.zeros(Point3f, self._count)
        dr.scatter_add(middle, dr.gather(Point3f, p, self._to) * self._weight, self._from)
        return dr.mean(dr.squared_norm(p - middle))


__all__ = ["Laplacian", "smoothness", "total_variation"]
