# umbel/ad/largesteps.py: LargeSteps: vertices of a mesh as unknowns that optimizers can move far [Nicolet 2021].
from .. import jit as dr
from .._variant_types import resolve


def _cholesky(rows, columns, values, n):
    """A function that solves systems of a sparse, symmetric and positive matrix, factorized once, by the first library that is there;
    None where there is none."""
    import numpy as np
    try:
        import cholespy
        solver = cholespy.CholeskySolverD(n, rows.astype(np.int32), columns.astype(np.int32), values.astype(np.float64),
                                          cholespy.MatrixType.COO)

        def solve(b):
            x = np.zeros_like(b)
            solver.solve(np.ascontiguousarray(b), x)
            return x
        return solve
    except ImportError:
        pass
    try:
        from scipy.sparse import csc_matrix
        from scipy.sparse.linalg import splu
    except ImportError:
        return None
    # Without exchanges of rows, in an order for symmetric matrices, these factors are Cholesky's up to a diagonal
    factors = splu(csc_matrix((values, (rows, columns)), shape=(n, n)), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0,
                   options={"SymmetricMode": True})
    return factors.solve


class _Smooth:
    """I + lambda L of a mesh, L its combinatorial Laplacian: symmetric, and all eigenvalues are at least 1. Systems are solved in double
    precision, by a sparse Cholesky factorization of `cholespy` or SciPy, or by conjugate gradients with the diagonal as
    preconditioner."""

    def __init__(self, vertices, faces, scale, solver):
        import numpy as np
        ends = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
        edges = np.unique(np.concatenate([ends, ends[:, ::-1]]), axis=0)  # both ways, sorted by the first vertex
        edges = edges[edges[:, 0] != edges[:, 1]]
        degree = np.bincount(edges[:, 0], minlength=vertices)
        self.start, self.to, self.scale = edges[:, 0], edges[:, 1], scale
        self.diagonal = (1 + scale * degree)[:, None]
        self._count = vertices
        self._factors = None
        if solver != "cg":
            every = np.arange(vertices)
            self._factors = _cholesky(np.concatenate([self.start, every]), np.concatenate([self.to, every]),
                                      np.concatenate([np.full(len(self.start), -float(scale)), self.diagonal[:, 0]]), vertices)
            if self._factors is None and solver == "cholesky":
                raise ImportError("LargeSteps: a sparse Cholesky factorization needs the package cholespy or SciPy, and neither is "
                                  'installed: pip install cholespy (or scipy), or take solver="cg", which needs none')

    def apply(self, x):
        """The product with a table of rows."""
        import numpy as np
        sums = np.stack([np.bincount(self.start, weights=column[self.to], minlength=self._count) for column in x.T], axis=1)
        return self.diagonal * x - self.scale * sums

    def solve(self, b, tolerance=1e-9):
        """The table that apply() turns into this one; to that part of its length where there are no factors."""
        import numpy as np
        if self._factors is not None:
            return self._factors(b)
        x = b / self.diagonal
        r = b - self.apply(x)
        z = r / self.diagonal
        p, rz = z, (r * z).sum(axis=0)
        wanted = tolerance * np.linalg.norm(b, axis=0)
        for _ in range(10 * self._count):
            if (np.linalg.norm(r, axis=0) <= wanted).all():
                break
            q = self.apply(p)
            step = rz / np.maximum((p * q).sum(axis=0), 1e-300)
            x, r = x + step * p, r - step * q
            z = r / self.diagonal
            rz, before = (r * z).sum(axis=0), rz
            p = z + rz / np.maximum(before, 1e-300) * p
        return x


class _Solve(dr.CustomOp):
    """The solution as a differentiable function of the right hand side; the matrix is symmetric."""

    def eval(self, matrix, u):
        self._matrix = matrix
        return self._solved(u)

    def _solved(self, u):
        import numpy as np
        return type(u)(self._matrix.solve(np.array(u, dtype=np.float64)))

    def forward(self): self.set_grad_out(self._solved(self.grad_in("u")))
    def backward(self): self.set_grad_in("u", self._solved(self.grad_out()))
    def name(self): return "LargeSteps"


class LargeSteps:
    """Coordinates u = (I + lambda L) v in the place of vertices v. A step of gradient descent on u moves neighbouring vertices
    together, so that steps may be large and surfaces stay smooth.

        ls = umbel.ad.LargeSteps(params["mesh.vertex_positions"], params["mesh.faces"])
        opt["u"] = ls.to_differential(params["mesh.vertex_positions"])
        ...
        params["mesh.vertex_positions"] = ls.from_differential(opt["u"])

    Vertices at one place are one, so that seams stay closed. `lambda_`: how far gradients are spread; the finer the mesh,
    the larger. `solver`: "cholesky", which needs the package cholespy or SciPy; "cg", conjugate gradients, which are slower on large
    meshes and need nothing; "auto", the first that there is."""

    def __init__(self, verts, faces, lambda_=19.0, solver="auto"):
        import numpy as np
        if solver not in ("auto", "cholesky", "cg"):
            raise ValueError(f'LargeSteps: solver is "{solver}"; it must be "auto", "cholesky" or "cg"')
        v, f = np.array(verts, dtype=np.float64).reshape(-1, 3), np.array(faces).reshape(-1, 3).astype(np.int64)
        _, first, place = np.unique(v, axis=0, return_index=True, return_inverse=True)
        place = place.reshape(-1)
        self.n_verts = len(first)
        self._first, self._place = (resolve("UInt")(a.astype(np.uint32)) for a in (first, place))
        self._matrix = _Smooth(self.n_verts, place[f], float(lambda_), solver)

    def to_differential(self, v):
        """Of vertices, three numbers each: u, three numbers for each place; differentiable."""
        Point3f, m = resolve("Point3f"), self._matrix
        rows = dr.gather(Point3f, dr.unravel(Point3f, resolve("Float")(v)), self._first)
        start, to = (resolve("UInt")(a) for a in (m.start, m.to))
        sums = dr.zeros(Point3f, self.n_verts)
        dr.scatter_add(sums, dr.gather(Point3f, rows, to), start)
        return dr.ravel(rows * resolve("Float")(m.diagonal[:, 0]) - m.scale * sums)

    def from_differential(self, u):
        """Of u, the vertices; differentiable."""
        Point3f = resolve("Point3f")
        table = resolve("TensorXf")(resolve("Float")(u), (self.n_verts, 3))
        solved = dr.unravel(Point3f, dr.custom(_Solve, self._matrix, table).array)
        return dr.ravel(dr.gather(Point3f, solved, self._place))


__all__ = ["LargeSteps"]
