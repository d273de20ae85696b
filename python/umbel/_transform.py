# umbel/_transform.py: Transform3f and Transform4f: homogeneous matrices and their inverses.
#
# An entry is a number of Python's, in double precision, or an array. Numbers stay numbers as long as they can: scenes
# are loaded with them, and zeros and ones cost nothing where a transform is applied to arrays.
import math
import numbers

from . import _core
from . import jit as dr
from ._variant_types import Fields, resolve

_Literal = 1  # jit.VarState
_Point, _Normal = 2, 3  # senses, as in src/python/objects.h


def _entry(e):
    """A number where that is known, else the array."""
    if isinstance(e, dr.ArrayBase):
        return float(_core.element(e, 0, 0)) if _core.state(e) == _Literal and _core.width(e) == 1 else e
    if isinstance(e, numbers.Real):
        return float(e)
    if hasattr(e, "__float__"):
        return float(e)
    raise TypeError(f"a transform is made of numbers and arrays, not of '{type(e).__name__}'")


def _list(v, n, what):
    """n entries of a vector, list, NumPy array or one number."""
    if isinstance(v, dr.ArrayBase) and not dr.is_tensor_v(v):
        v = _core.entries(v) if dr.depth_v(v) > 1 else [v[i] for i in range(len(v))] if len(v) == n else [v]
    elif isinstance(v, numbers.Real):
        v = [v]
    v = [_entry(e) for e in v]
    if len(v) == 1:
        v = v * n
    if len(v) != n:
        raise ValueError(f"{what} needs {n} numbers, not {len(v)}")
    return v


# ---- arithmetic of entries, with what numbers allow to leave out

def _mul(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return a * b
    for x, y in ((a, b), (b, a)):
        if isinstance(x, float) and x in (0.0, 1.0):
            return 0.0 if x == 0 else y
    return a * b


def _add(a, b):
    if isinstance(a, float) and a == 0:
        return b
    return a if isinstance(b, float) and b == 0 else a + b


def _dot(a, b):
    r = 0.0
    for x, y in zip(a, b):
        r = _add(r, _mul(x, y))
    return r


def _cross(a, b):
    return [_add(_mul(a[i], b[j]), _mul(_neg(a[j]), b[i])) for i, j in ((1, 2), (2, 0), (0, 1))]


def _call(name, x): return getattr(math if isinstance(x, float) else dr, name)(x)


def _normalize(v, what):
    s = _dot(v, v)
    if isinstance(s, float) and not 0 < s < math.inf:
        raise dr.UserError(f"{what} has no direction: its length is {math.sqrt(s) if s >= 0 else s}")
    s = 1 / _call("sqrt", s)
    return [_mul(e, s) for e in v]


def _neg(e): return 0.0 - e if isinstance(e, float) else -e
def _transposed(m, n): return [m[j * n + i] for i in range(n) for j in range(n)]
def _identity(n): return [float(i == j) for i in range(n) for j in range(n)]


def _product(a, b, n):
    return [_dot(a[i * n:i * n + n], b[j::n]) for i in range(n) for j in range(n)]


def _inverted(m, n):
    if all(isinstance(e, float) for e in m):
        import numpy as np
        a = np.array(m).reshape(n, n)
        if not np.isfinite(a).all() or abs(np.linalg.det(a)) < 1e-300:
            raise dr.UserError(f"a transform must have an inverse; the matrix {a.tolist()} has none")
        return np.linalg.inv(a).ravel().tolist()
    return [_entry(e) for e in _core.entries(dr.inverse(_matrix(m, n)))]


def _matrix(m, n, prefix=""):
    cls = resolve(f"{prefix}Matrix{n}f")
    leaf = dr.leaf_t(cls)
    return _core.from_entries(cls, [leaf(e) for e in m])


def _read_matrix(value, n):
    """Entries, row by row, of anything that is a matrix; of n x n x k numbers, those of k matrices."""
    is_flat = isinstance(value, dr.ArrayBase) and dr.depth_v(value) == 1 and not dr.is_tensor_v(value)
    if isinstance(value, numbers.Real) or is_flat and len(value) != n * n:  # along the diagonal
        return [_entry(value) if i == j else 0.0 for i in range(n) for j in range(n)]
    if isinstance(value, dr.ArrayBase) and dr.is_matrix_v(value):
        entries = _core.entries(value)
    elif isinstance(value, (list, tuple)):
        entries = []
        for row in value:
            entries.extend(row if isinstance(row, (list, tuple)) or getattr(row, "ndim", 0) else [row])
    else:
        import numpy as np
        a = np.asarray(value, dtype=np.float64)
        many = a.ndim == 3 and a.shape[:2] == (n, n)
        entries = [resolve("Float")(row) for row in a.reshape(n * n, -1)] if many else a.ravel().tolist()
    if len(entries) != n * n:
        raise ValueError(f"a transform of {n} by {n} entries cannot be made of {len(entries)}")
    return [_entry(e) for e in entries]


class _Step:
    """A method that appends a transform: T().scale(2); on the class it makes one: T.scale(2)."""

    def __init__(self, make): self._make, self.__doc__ = make, make.__doc__

    def __get__(self, obj, cls):
        def step(*args, **kwargs):
            made = self._make(cls, *args, **kwargs)
            return made if obj is None else obj @ made
        step.__doc__ = self.__doc__
        return step


class _Transform:
    """A homogeneous matrix, together with the transpose of its inverse."""
    _n = 4
    _is_projective = False  # else the last row is that of the identity, whatever a script says

    def __init__(self, matrix=None, inverse_transpose=None):
        n = self._n
        self._m = self._it = self._matrix = self._inverse_transpose = None
        if matrix is None:
            self._m, self._it = _identity(n), _identity(n)
        elif isinstance(matrix, _Transform):
            if matrix._n != n:
                raise TypeError(f"{type(matrix).__name__} is no {type(self).__name__}")
            self._m, self._it = self._rows_of(matrix._entries()), list(matrix._inverse_entries())
        else:
            self._m = self._rows_of(_read_matrix(matrix, n))
            if inverse_transpose is not None:
                self._it = _read_matrix(inverse_transpose, n)

    @classmethod
    def _of(cls, m, it=None):
        t = cls.__new__(cls)
        t._m, t._it, t._matrix, t._inverse_transpose = m, it, None, None
        return t

    @classmethod
    def _projective(cls):
        """The class whose last row counts."""
        return cls if cls._is_projective else globals()[cls.__name__.replace("Transform", "ProjectiveTransform")]

    _prefix = ""

    def _prefix_of(self, entries, wanted=None):
        """Of the names of arrays of these entries: those of scalar transforms have no lanes."""
        return (self._prefix if wanted is None else wanted) if all(isinstance(e, float) for e in entries) else ""

    def _rows_of(self, entries):
        n = self._n
        return list(entries) if self._is_projective else entries[:n * (n - 1)] + _identity(n)[n * (n - 1):]

    # A matrix that was handed out may be changed by its new owner: from then on it is what counts.
    def _entries(self):
        return self._m if self._matrix is None else self._rows_of([_entry(e) for e in _core.entries(self._matrix)])

    def _inverse_entries(self):
        if self._inverse_transpose is not None:
            return [_entry(e) for e in _core.entries(self._inverse_transpose)]
        if self._it is None:
            self._it = _transposed(_inverted(self._entries(), self._n), self._n)
        return self._it

    def _keep_inverse(self):
        """What changes the matrix does not change its inverse; a matrix without one complains when it is needed."""
        try:
            self._inverse_entries()
        except dr.UserError:
            pass

    @property
    def matrix(self):
        """The matrix, as an array."""
        entries = self._entries()
        prefix = self._prefix_of(entries)
        if self._matrix is None or type(self._matrix) is not resolve(f"{prefix}Matrix{self._n}f"):
            self._keep_inverse()
            self._matrix = _matrix(entries, self._n, prefix)
        return self._matrix

    @matrix.setter
    def matrix(self, value):
        self._keep_inverse()
        self._m, self._matrix = self._rows_of(_read_matrix(value, self._n)), None

    @property
    def inverse_transpose(self):
        """The transpose of its inverse, as an array."""
        entries = self._inverse_entries()
        prefix = self._prefix_of(entries)
        if self._inverse_transpose is None or type(self._inverse_transpose) is not resolve(f"{prefix}Matrix{self._n}f"):
            self._inverse_transpose = _matrix(entries, self._n, prefix)
        return self._inverse_transpose

    @inverse_transpose.setter
    def inverse_transpose(self, value):
        self._it, self._inverse_transpose = _read_matrix(value, self._n), None

    def update(self):
        """Computes the inverse anew after `matrix` was changed."""
        self._it = self._inverse_transpose = None
        self._inverse_entries()
        return self

    def assign(self, other):
        """Takes the value of another one."""
        self.__init__(other)

    def _is_same(self, other):
        """Whether it has the same numbers and the same arrays, with their derivatives."""
        other = other if isinstance(other, _Transform) else type(self)(other)
        return all(a == b if isinstance(a, float) and isinstance(b, float) else
                   isinstance(a, dr.ArrayBase) and isinstance(b, dr.ArrayBase) and (a.index, a.index_ad) == (b.index, b.index_ad)
                   for a, b in zip(self._entries(), other._entries()))

    def inverse(self):
        """The transform that undoes this one."""
        n = self._n
        return self._of(_transposed(self._inverse_entries(), n), _transposed(self._entries(), n))

    def translation(self):
        """Where the origin goes."""
        n = self._n
        return self._vector(self._entries()[n - 1:n * (n - 1):n], 1)

    def numpy(self):
        """The matrix as a NumPy array of double precision; of many matrices one of three dimensions."""
        import numpy as np
        m, n = self._entries(), self._n
        if not all(isinstance(e, float) for e in m):
            dr.eval([e for e in m if not isinstance(e, float)])
        columns = [np.atleast_1d(np.asarray(e if isinstance(e, float) else e.numpy(), dtype=np.float64)) for e in m]
        return np.squeeze(np.stack(np.broadcast_arrays(*columns)).reshape(n, n, -1), axis=2) \
            if max(len(c) for c in columns) == 1 else np.stack(np.broadcast_arrays(*columns)).reshape(n, n, -1)

    def __array__(self, dtype=None, copy=None):
        a = self.numpy()
        return a if dtype is None else a.astype(dtype)

    def has_scale(self):
        """Whether it changes lengths or angles."""
        n, m = self._n, self._entries()
        rows = [m[i * n:i * n + n - 1] for i in range(n - 1)]
        result = False
        for i in range(n - 1):
            for j in range(i, n - 1):
                d = _dot(rows[i], rows[j])
                wrong = abs(d - float(i == j)) > 1e-3 if isinstance(d, float) else dr.abs(d - float(i == j)) > 1e-3
                result = result or wrong if isinstance(result, bool) and isinstance(wrong, bool) else wrong | result
        return result

    # ---- application

    def _is_affine(self, m):
        n = self._n
        return m[n * (n - 1):] == [0.0] * (n - 1) + [1.0] if all(
            isinstance(e, float) for e in m[n * (n - 1):]) else False

    def _vector(self, entries, sense, like=None):
        name = {1: "Vector", _Point: "Point", _Normal: "Normal"}[sense]
        double = like is not None and dr.type_v(like) == dr.VarType.Float64
        prefix = "" if dr.is_jit_v(like) else self._prefix_of(entries, "Scalar" if dr.is_host_v(like) else self._prefix)
        cls = resolve(f"{prefix}{name}{self._n - 1}{'d' if double else 'f'}")
        leaf = dr.leaf_t(cls)
        return _core.from_entries(cls, [leaf(e) for e in entries])

    def _apply(self, v, affine):
        n = self._n
        sense = _core.describe(type(v))[2] if isinstance(v, dr.ArrayBase) else _Point
        p = _list(v, n - 1, f"what {type(self).__name__} is applied to")
        if sense == _Normal:
            m = self._inverse_entries()
            return self._vector([_dot(m[i * n:i * n + n - 1], p) for i in range(n - 1)], sense, v)
        m = self._entries()
        out = [_dot(m[i * n:i * n + n - 1], p) for i in range(n - 1)]
        if sense == 1:
            return self._vector(out, sense, v)
        out = [_add(e, m[i * n + n - 1]) for i, e in enumerate(out)]
        if self._is_projective and not affine and not self._is_affine(m):
            w = _add(_dot(m[n * (n - 1):n * n - 1], p), m[-1])
            out = [e / w for e in out]
        return self._vector(out, _Point, v)

    def _apply_ray(self, ray):
        result = type(ray)(ray)
        for name in ("o", "o_x", "o_y"):
            if hasattr(ray, name):
                setattr(result, name, self @ resolve(f"Point{self._n - 1}f")(getattr(ray, name)))
        for name in ("d", "d_x", "d_y"):
            if hasattr(ray, name):
                setattr(result, name, self @ resolve(f"Vector{self._n - 1}f")(getattr(ray, name)))
        return result

    def __matmul__(self, other):
        if isinstance(other, _Transform):
            if other._n != self._n:
                return NotImplemented
            n, both = self._n, self._it is not None and other._it is not None
            it = _product(self._inverse_entries(), other._inverse_entries(), n) if both else None
            cls = other if other._is_projective else self
            return cls._of(_product(self._entries(), other._entries(), n), it)
        if hasattr(other, "o") and hasattr(other, "d"):
            return self._apply_ray(other)
        return self._apply(other, False)

    def __mul__(self, other): return self @ other

    def transform_affine(self, v):
        """The image of a point, vector, normal or ray, without a division by w."""
        return self._apply_ray(v) if hasattr(v, "o") and hasattr(v, "d") else self._apply(v, True)

    def __eq__(self, other):
        if not isinstance(other, _Transform) or other._n != self._n:
            return NotImplemented
        result = True
        for a, b in zip(self._entries(), other._entries()):
            result = (a == b) & result
        return result

    __hash__ = object.__hash__

    def __repr__(self):
        def block(name, m):
            rows = str(m).splitlines()
            return f"  {name}=" + ("\n" + " " * (len(name) + 3)).join(rows)
        if all(isinstance(e, float) for e in self._entries()):
            n = self._n

            def text(m):
                rows = [[f"{e:.6g}" for e in m[i * n:i * n + n]] for i in range(n)]
                return "[" + ",\n ".join("[" + ", ".join(r) + "]" for r in rows) + "]"
            return f"Transform[\n{block('matrix', text(self._entries()))},\n" \
                   f"{block('inverse_transpose', text(self._inverse_entries()))}\n]"
        return f"Transform[\n{block('matrix', self.matrix)},\n{block('inverse_transpose', self.inverse_transpose)}\n]"

    # ---- steps that all of them have

    @_Step
    def translate(cls, v):
        """Moves by a vector."""
        n = cls._n
        v = _list(v, n - 1, "translate()")
        m, it = _identity(n), _identity(n)
        m[n - 1:n * (n - 1):n] = v
        it[n * (n - 1):n * n - 1] = [_neg(e) for e in v]
        return cls._of(m, it)

    @_Step
    def scale(cls, v):
        """Stretches by a number, or by one for each axis."""
        n = cls._n
        v = _list(v, n - 1, "scale()")
        if any(isinstance(e, float) and (e == 0 or not math.isfinite(e)) for e in v):
            raise dr.UserError(f"scale(): a transform must have an inverse, but the factors are {v}")
        m, it = _identity(n), _identity(n)
        for i, e in enumerate(v):
            m[i * (n + 1)], it[i * (n + 1)] = e, 1 / e
        return cls._of(m, it)

    @classmethod
    def _rotation(cls, r):
        """Of an orthonormal matrix, whose rows are lists."""
        n = cls._n
        m = _identity(n)
        for i, row in enumerate(r):
            m[i * n:i * n + n - 1] = row
        return cls._of(m, list(m))


class Transform3f(_Transform):
    """A transform of the plane."""
    _n = 3
    DRJIT_STRUCT = Fields(matrix="Matrix3f", inverse_transpose="Matrix3f")

    @_Step
    def rotate(cls, angle):
        """Turns counter-clockwise, in degrees."""
        s, c = _sincos(angle)
        return cls._rotation([[c, _neg(s)], [s, c]])


class Transform4f(_Transform):
    """A transform of space."""
    DRJIT_STRUCT = Fields(matrix="Matrix4f", inverse_transpose="Matrix4f")

    @_Step
    def rotate(cls, axis, angle):
        """Turns counter-clockwise about an axis, in degrees."""
        a = _normalize(_list(axis, 3, "rotate()"), "rotate(): the axis")
        s, c = _sincos(angle)
        x = _cross_matrix(a)
        return cls._rotation([[_add(_add(_mul(_mul(a[i], a[j]), 1 - c), _mul(x[i][j], s)), c if i == j else 0.0)
                               for j in range(3)] for i in range(3)])

    @_Step
    def look_at(cls, origin, target, up):
        """A camera at `origin` that looks along +z to `target`, with +y near to `up`."""
        origin, target, up = (_list(v, 3, "look_at()") for v in (origin, target, up))
        d = _normalize([t - o for o, t in zip(origin, target)], "look_at(): the way from origin to target")
        left = _normalize(_cross(up, d), "look_at(): the cross product of `up` and the way to the target")
        axes = list(zip(left, _cross(d, left), d))
        m, it = _identity(4), _identity(4)
        for i in range(3):
            m[4 * i:4 * i + 4] = [*axes[i], origin[i]]
            it[4 * i:4 * i + 3] = axes[i]
        for j in range(3):
            it[12 + j] = _neg(_dot([a[j] for a in axes], origin))
        return cls._of(m, it)

    @_Step
    def perspective(cls, fov, near, far):
        """Maps z in [near, far] to [0, 1] and what a cone of `fov` degrees sees to [-1, 1]."""
        fov, near, far = _entry(fov), _entry(near), _entry(far)
        r, tan = 1 / (far - near), _call("tan", fov * (0.5 * math.pi / 180))
        z = [0.0] * 3
        m = [1 / tan, *z, 0.0, 1 / tan, *z[:2], 0.0, 0.0, far * r, -near * far * r, 0.0, 0.0, 1.0, 0.0]
        inv = [tan, *z, 0.0, tan, *z[:2], *z, 1.0, 0.0, 0.0, (near - far) / (far * near), 1 / near]
        return cls._projective()._of(m, _transposed(inv, 4))

    @_Step
    def orthographic(cls, near, far):
        """Maps z in [near, far] to [0, 1]."""
        near, far = _entry(near), _entry(far)
        return cls.scale([1.0, 1.0, 1 / (far - near)]) @ cls.translate([0.0, 0.0, _neg(near)])

    @_Step
    def to_frame(cls, frame):
        """Takes the axes x, y and z to a frame's s, t and n: local coordinates become the world's."""
        return cls._rotation(list(zip(*(_list(v, 3, "to_frame()") for v in (frame.s, frame.t, frame.n)))))

    @_Step
    def from_frame(cls, frame):
        """Takes a frame's s, t and n to the axes: the world's coordinates become local ones."""
        return cls._rotation([_list(v, 3, "from_frame()") for v in (frame.s, frame.t, frame.n)])

    def extract(self):
        """What it does to the first two coordinates, as a transform of the plane."""
        m, kept = self._entries(), (0, 1, 3)
        return _plane_of(type(self))._of([m[4 * i + j] for i in kept for j in kept])


def _sincos(degrees):
    a = _entry(degrees)
    a = a * (math.pi / 180)
    if not isinstance(a, float):
        return dr.sincos(a)
    # Quarter turns are exact: a cosine of 1e-17 would tilt planes, and light along them would have endless densities
    return tuple(0.0 if abs(v) < 1e-15 else v for v in (math.sin(a), math.cos(a)))


def _cross_matrix(a):
    n = [_neg(e) for e in a]
    return [[0.0, n[2], a[1]], [a[2], 0.0, n[0]], [n[1], a[0], 0.0]]


def _projection(film_size, crop_size, crop_offset, last):
    """To [0, 1] over the crop window; `last` maps to [-1, 1] over the film's width."""
    film, crop, offset = ([float(e) for e in _list(v, 2, "a projection")] for v in (film_size, crop_size, crop_offset))
    aspect = film[0] / film[1]
    T = Transform4f
    return (T.scale([film[0] / crop[0], film[1] / crop[1], 1.0])
            @ T.translate([-offset[0] / film[0], -offset[1] / film[1], 0.0])
            @ T.scale([-0.5, -0.5 * aspect, 1.0]) @ T.translate([-1.0, -1.0 / aspect, 0.0]) @ last)


def perspective_projection(film_size, crop_size, crop_offset, fov_x, near_clip, far_clip):
    """The transform from a pinhole camera's space to its crop window, [0, 1] in each direction."""
    return _projection(film_size, crop_size, crop_offset, Transform4f.perspective(fov_x, near_clip, far_clip))


def orthographic_projection(film_size, crop_size, crop_offset, near_clip, far_clip):
    """Likewise of a camera of parallel rays."""
    return _projection(film_size, crop_size, crop_offset, Transform4f.orthographic(near_clip, far_clip))


def _plane_of(cls):
    """Transforms of the plane of the same sort."""
    kinds = {ScalarTransform4f: ScalarTransform3f, ProjectiveTransform4f: ProjectiveTransform3f,
             ScalarProjectiveTransform4f: ScalarProjectiveTransform3f}
    return kinds.get(cls, Transform3f)


class ProjectiveTransform3f(Transform3f):
    """A transform of the plane whose last row counts: points are divided by their last coordinate."""
    _is_projective = True


class ProjectiveTransform4f(Transform4f):
    """A transform of space whose last row counts: points are divided by their last coordinate."""
    _is_projective = True


class ScalarTransform3f(Transform3f):
    """A transform of the plane made of numbers: its arrays have no lanes."""
    _prefix = "Scalar"


class ScalarTransform4f(Transform4f):
    """A transform of space made of numbers: its arrays have no lanes."""
    _prefix = "Scalar"


class ScalarProjectiveTransform3f(ProjectiveTransform3f):
    """A projective transform of the plane made of numbers: its arrays have no lanes."""
    _prefix = "Scalar"


class ScalarProjectiveTransform4f(ProjectiveTransform4f):
    """A projective transform of space made of numbers: its arrays have no lanes."""
    _prefix = "Scalar"


# Those in double precision are of a kind with the others, and plain transforms are affine ones.
for _cls in (Transform3f, Transform4f, ScalarTransform3f, ScalarTransform4f):
    for _word, _made in (("Transform", _cls), ("AffineTransform", _cls), ("ProjectiveTransform", _cls._projective())):
        for _suffix in ("f", "d"):
            globals()[_cls.__name__.replace("Transform", _word)[:-1] + _suffix] = _made
__all__ = [_k for _k in globals() if "Transform" in _k and not _k.startswith("_")] + [
    "perspective_projection", "orthographic_projection"]
