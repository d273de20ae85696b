# jit/_special.py: matrices, complex numbers and quaternions.
import math

from .. import _core
from ._types import (ArrayBase, Complex, Matrix, Quaternion, array_t, describe, is_complex_v, is_matrix_v,
                     is_quaternion_v, leaf_t, like, matrix_t, value_t)
from . import _math as m


# ---- functions of complex numbers and quaternions

def _complex(a, re, im):
    return type(a)(re, im)


def _c_sqrt(a):
    r = m.norm(a)
    x, y = a[0], a[1]
    re = m.sqrt(m.maximum(0.5 * (r + x), 0))
    im = m.mulsign(m.sqrt(m.maximum(0.5 * (r - x), 0)), y)
    return _complex(a, re, im)


def _c_exp(a):
    s, c = m.sincos(a[1])
    r = m.exp(a[0])
    return _complex(a, r * c, r * s)


def _c_log(a):
    return _complex(a, 0.5 * m.log(m.squared_norm(a)), m.atan2(a[1], a[0]))


def _c_sin(a):
    return _complex(a, m.sin(a[0]) * m.cosh(a[1]), m.cos(a[0]) * m.sinh(a[1]))


def _c_cos(a):
    return _complex(a, m.cos(a[0]) * m.cosh(a[1]), -(m.sin(a[0]) * m.sinh(a[1])))


def _i_times(a):
    return _complex(a, -a[1], a[0])


def _i_divide(a):  # a / i
    return _complex(a, a[1], -a[0])


def _c_asin(a):  # -i log(i a + sqrt(1 - a a))
    return _i_divide(_c_log(_i_times(a) + _c_sqrt(1 - a * a)))


def _c_acos(a):
    return math.pi / 2 - _c_asin(a)


def _c_atan(a):  # i/2 (log(1 - i a) - log(1 + i a))
    z = _i_times(a)
    return 0.5 * _i_times(_c_log(1 - z) - _c_log(1 + z))


def _c_sinh(a): return _i_divide(_c_sin(_i_times(a)))
def _c_cosh(a): return _c_cos(_i_times(a))
def _c_rcp(a): return conj(a) / m.squared_norm(a)


_complex_functions = {
    "Sqrt": _c_sqrt, "Exp": _c_exp, "Log": _c_log, "Sin": _c_sin, "Cos": _c_cos, "Rcp": _c_rcp,
    "Tan": lambda a: _c_sin(a) / _c_cos(a), "Asin": _c_asin, "Acos": _c_acos, "Atan": _c_atan,
    "Sinh": _c_sinh, "Cosh": _c_cosh, "Tanh": lambda a: _c_sinh(a) / _c_cosh(a),
    "Asinh": lambda a: _c_log(a + _c_sqrt(a * a + 1)),
    "Acosh": lambda a: _c_log(a + _c_sqrt(a + 1) * _c_sqrt(a - 1)),
    "Atanh": lambda a: 0.5 * _c_log((1 + a) / (1 - a)),
    "Abs": lambda a: m.norm(a), "Rsqrt": lambda a: _c_rcp(_c_sqrt(a)),
    "Log2": lambda a: _c_log(a) / math.log(2), "Exp2": lambda a: _c_exp(a * math.log(2)),
}


def _vector(q):
    return like(q, (3,))(q[0], q[1], q[2])


def _quaternion(q, v, w):
    return type(q)(v[0], v[1], v[2], w)


def _q_rcp(q): return conj(q) / m.squared_norm(q)


def _q_exp(q):
    v = _vector(q)
    n = m.norm(v)
    s, c = m.sincos(n)
    r = m.exp(q[3])
    return _quaternion(q, v * (r * m.select(n == 0, 1, s / n)), r * c)


def _q_log(q):
    v = _vector(q)
    n, length = m.norm(v), m.norm(q)
    angle = m.acos(m.clip(q[3] / length, -1, 1))
    return _quaternion(q, v * m.select(n == 0, 0, angle / n), m.log(length))


def _q_sqrt(q):
    w = m.sqrt(m.maximum(0.5 * (m.norm(q) + q[3]), 0))
    return _quaternion(q, _vector(q) * m.select(w == 0, 0, 0.5 / w), w)


_quaternion_functions = {
    "Rcp": _q_rcp, "Exp": _q_exp, "Log": _q_log, "Sqrt": _q_sqrt, "Abs": lambda q: m.norm(q),
    "Rsqrt": lambda q: _q_rcp(_q_sqrt(q)),
    "Log2": lambda q: _q_log(q) / math.log(2), "Exp2": lambda q: _q_exp(q * math.log(2)),
}


def unary(name, a):
    """A function of a special array, by the name of its operation."""
    table = _complex_functions if is_complex_v(a) else _quaternion_functions if is_quaternion_v(a) else \
        {"Rcp": inverse}
    f = table.get(name)
    if f is None:
        if is_matrix_v(a) or name in ("Floor", "Ceil", "Trunc", "Round"):  # entry by entry
            return _core.unary(_core.ops[name], a)
        raise TypeError(f"{name.lower()}(): not defined for {type(a).__name__}")
    return f(a)


def real(a):
    """Real part of a complex number or quaternion; anything else is real."""
    if isinstance(a, complex):
        return a.real
    return a[0] if is_complex_v(a) else a[3] if is_quaternion_v(a) else a


def imag(a):
    """Imaginary part; of a quaternion, a vector."""
    if isinstance(a, complex):
        return a.imag
    if is_complex_v(a):
        return a[1]
    return _vector(a) if is_quaternion_v(a) else a * 0


def conj(a):
    """Complex conjugate."""
    if isinstance(a, complex):
        return a.conjugate()
    if is_complex_v(a):
        return type(a)(a[0], -a[1])
    return type(a)(-a[0], -a[1], -a[2], a[3]) if is_quaternion_v(a) else a


def arg(a):
    """Angle of a complex number."""
    if is_complex_v(a):
        return m.atan2(a[1], a[0])
    return m.select(a >= 0, type(a)(0), type(a)(math.pi))


# ---- matrices

def _size(a):
    d = describe(type(a))
    if d[1] != Matrix and len(d[3]) < 2:
        raise TypeError(f"a matrix is needed, not {type(a).__name__}")
    return d[3][0], d[3][1]


def transpose(a):
    """Rows become columns."""
    rows, columns = _size(a)
    return type(a)([[a[j][i] for j in range(rows)] for i in range(columns)])


def trace(a):
    """Sum of the diagonal."""
    n = _size(a)[0]
    s = a[0][0]
    for i in range(1, n):
        s = s + a[i][i]
    return s


def frob(a):
    """Squared Frobenius norm: the sum of all squared entries."""
    s = 0
    for e in _core.entries(a):
        s = m._fma(e, e, s) if isinstance(s, ArrayBase) else e * e
    return s


def diag(a):
    """The diagonal of a matrix as a vector; a vector as a diagonal matrix."""
    if is_matrix_v(a):
        return value_t(a)([a[i][i] for i in range(_size(a)[0])])
    n = len(a)
    tp = matrix_t(array_t(a))
    zero = leaf_t(a)(0)
    return tp([[a[i] if i == j else zero for j in range(n)] for i in range(n)])


def identity(dtype, size=1):
    """Identity matrix, or the 1 of complex numbers and quaternions."""
    from ._create import full, zeros
    return zeros(dtype, size) + dtype(1) if describe(dtype)[3] else full(dtype, 1, size)


def _minor(rows, i, j):
    return [[x for c, x in enumerate(row) if c != j] for r, row in enumerate(rows) if r != i]


def _det(rows):
    n = len(rows)
    if n == 1:
        return rows[0][0]
    if n == 2:
        return m._fma(rows[0][0], rows[1][1], -(rows[0][1] * rows[1][0]))
    s = None
    for j in range(n):
        term = rows[0][j] * _det(_minor(rows, 0, j))
        s = term if s is None else s - term if j & 1 else s + term
    return s


def _rows(a):
    r, c = _size(a)
    return [[a[i][j] for j in range(c)] for i in range(r)]


def det(a):
    """Determinant."""
    return _det(_rows(a))


def inverse_transpose(a):
    """Transpose of the inverse."""
    rows = _rows(a)
    n = len(rows)
    cofactors = [[_det(_minor(rows, i, j)) if n > 1 else leaf_t(a)(1) for j in range(n)] for i in range(n)]
    cofactors = [[-x if (i + j) & 1 else x for j, x in enumerate(r)] for i, r in enumerate(cofactors)]
    d = rows[0][0] * cofactors[0][0]
    for j in range(1, n):
        d = m._fma(rows[0][j], cofactors[0][j], d)
    r = m.rcp(d)
    return type(a)([[x * r for x in row] for row in cofactors])


def inverse(a):
    """Inverse of a matrix by cofactors; of other arrays, 1 / a."""
    if not is_matrix_v(a):
        return m.rcp(a)
    return transpose(inverse_transpose(a))


def polar_decomp(arg, it=10):
    """a = Q P with a rotation Q and a symmetric P, by averaging with the inverse transpose [Higham 1986]."""
    a = arg
    q = type(a)(a)
    for _ in range(it):
        qi = inverse_transpose(q)
        gamma = m.sqrt(m.sqrt(frob(qi) / frob(q)))
        q = q * (gamma * 0.5) + qi * (m.rcp(gamma) * 0.5)
    return q, transpose(q) @ a


def transform_decompose(a, it=10):
    """A 4 by 4 transform as scale and shear (a matrix), rotation (a quaternion) and translation."""
    e = describe(leaf_t(a))[0]
    matrix3, vector3 = like(a, (3, 3), Matrix), like(a, (3,))
    part = matrix3([[a[i][j] for j in range(3)] for i in range(3)])
    q, p = polar_decomp(part, it)
    sign = m.sign(det(q))
    q, p = q * sign, p * sign
    return p, matrix_to_quat(q), vector3(a[0][3], a[1][3], a[2][3])


def transform_compose(s, q, t):
    """The inverse of transform_decompose."""
    e = describe(leaf_t(s))[0]
    matrix4 = _core.lookup(e, Matrix, (4, 4), 0)
    r = quat_to_matrix(_core.lookup(e, Matrix, (3, 3), 0), q) @ s
    rows = [[r[i][0], r[i][1], r[i][2], t[i]] for i in range(3)]
    return matrix4(rows + [[0, 0, 0, 1]])


# ---- rotations

def quat_to_matrix(dtype, q=None, size=None):
    """Rotation matrix of a unit quaternion: quat_to_matrix([dtype,] q)."""
    dtype, q = (None, dtype) if q is None else (dtype, q)
    if size is None:
        size = describe(dtype)[3][0] if dtype is not None else 4
    if dtype is None:
        dtype = like(q, (size, size), Matrix)
    x, y, z, w = q[0], q[1], q[2], q[3]
    xx, yy, zz = x * x * 2, y * y * 2, z * z * 2
    xy, xz, yz = x * y * 2, x * z * 2, y * z * 2
    xw, yw, zw = x * w * 2, y * w * 2, z * w * 2
    rows = [[1 - yy - zz, xy - zw, xz + yw],
            [xy + zw, 1 - xx - zz, yz - xw],
            [xz - yw, yz + xw, 1 - xx - yy]]
    if size == 4:
        rows = [r + [0] for r in rows] + [[0, 0, 0, 1]]
    return dtype(rows)


def matrix_to_quat(*args):
    """Unit quaternion of a rotation matrix: matrix_to_quat([dtype,] m). The largest component is found first."""
    a = args[-1]
    q = args[0] if len(args) == 2 else like(a, (4,), Quaternion)
    m00, m11, m22 = a[0][0], a[1][1], a[2][2]
    t0 = 1 + m00 - m11 - m22
    t1 = 1 - m00 + m11 - m22
    t2 = 1 - m00 - m11 + m22
    t3 = 1 + m00 + m11 + m22
    q0 = q(t0, a[1][0] + a[0][1], a[0][2] + a[2][0], a[2][1] - a[1][2])
    q1 = q(a[1][0] + a[0][1], t1, a[2][1] + a[1][2], a[0][2] - a[2][0])
    q2 = q(a[0][2] + a[2][0], a[2][1] + a[1][2], t2, a[1][0] - a[0][1])
    q3 = q(a[2][1] - a[1][2], a[0][2] - a[2][0], a[1][0] - a[0][1], t3)
    x_largest, neg = m00 > m11, m22 < 0
    diag_neg = m00 < -m11
    c01, t01 = m.select(x_largest, q0, q1), m.select(x_largest, t0, t1)
    c23, t23 = m.select(diag_neg, q2, q3), m.select(diag_neg, t2, t3)
    chosen, t = m.select(neg, c01, c23), m.select(neg, t01, t23)
    return chosen * (m.rsqrt(t) * 0.5)


def quat_to_euler(q):
    """Angles around x, y and z: rotations about the fixed axes in that order."""
    x, y, z, w = q[0], q[1], q[2], q[3]
    tp = like(q, (3,))
    s = m.clip(2 * (w * y - z * x), -1, 1)
    return tp(m.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)), m.asin(s),
              m.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))


def euler_to_quat(a):
    """The inverse of quat_to_euler."""
    (sx, cx), (sy, cy), (sz, cz) = (m.sincos(a[i] * 0.5) for i in range(3))
    tp = like(a, (4,), Quaternion)
    return tp(sx * cy * cz - cx * sy * sz, cx * sy * cz + sx * cy * sz,
              cx * cy * sz - sx * sy * cz, cx * cy * cz + sx * sy * sz)


def quat_apply(q, v):
    """The vector rotated by a unit quaternion."""
    u, w = _vector(q), q[3]
    t = m.cross(u, v) * 2
    return v + w * t + m.cross(u, t)


def slerp(a, b, t):
    """Between unit quaternions at constant speed."""
    c = m._plain(a)
    d = m._plain(b)
    cos = m.dot(c, d)
    b = b * m.select(cos < 0, -1.0, 1.0)
    cos = m.abs(cos)
    angle = m.acos(m.clip(cos, -1, 1))
    s = m.sin(angle)
    near = cos > 0.9995  # nearly parallel: a line will do
    wa = m.select(near, 1 - t, m.sin((1 - t) * angle) / s)
    wb = m.select(near, t, m.sin(t * angle) / s)
    r = a * wa + b * wb
    return r / m.norm(r)
