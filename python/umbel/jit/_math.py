# jit/_math.py: functions of arrays, entry by entry, and of small vectors.
import builtins
import functools
import math
import sys
import warnings

from .. import _core
from ._hooks import ArgumentError, ShapeError
from ._types import (ArrayBase, Complex, Matrix, Quaternion, Tensor, VarType, depth_v, describe, expr_t, is_array_v,
                     is_complex_v, is_float_v, is_integral_v, is_matrix_v, is_quaternion_v, is_tensor_v,
                     itemsize_v, leaf_t, like, mask_t, replace_type_t, uint_array_t, vectors)
from ._tree import children, leaves, map_leaves, rebuild

# Functions that the compiled part offers as they are
from .._core import (abs, acos, acosh, asin, asinh, atan, atan2, atanh, cbrt, ceil, cos, cosh, erf, erfinv,
                     exp, exp2, floor, lgamma, log, log2, lzcnt, maximum, minimum, mul_hi, popcnt, rcp, round,
                     rsqrt, select, sin, sinh, sqrt, tan, tanh, trunc, tzcnt)
from .._core import fma as _fma

inf, nan, pi, e = math.inf, math.nan, math.pi, math.e
two_pi, four_pi = 2 * pi, 4 * pi
inv_pi, inv_two_pi, inv_four_pi = 1 / pi, 0.5 / pi, 0.25 / pi
sqrt_pi, sqrt_two_pi, sqrt_four_pi = math.sqrt(pi), math.sqrt(two_pi), math.sqrt(four_pi)
inv_sqrt_pi, inv_sqrt_two_pi, inv_sqrt_four_pi = 1 / sqrt_pi, 1 / sqrt_two_pi, 1 / sqrt_four_pi
sqrt_two, inv_sqrt_two = math.sqrt(2), 1 / math.sqrt(2)
log_two, inv_log_two = math.log(2), 1 / math.log(2)


def fma(a, b, c):
    """a * b + c, rounded once."""
    if type(a) in vectors or type(b) in vectors or type(c) in vectors:
        vector = a if type(a) in vectors else b if type(b) in vectors else c
        return vector._umbel_call(fma, a, b, c)
    if is_array_v(a) and describe(type(a))[1] not in (0,) or is_array_v(b) and describe(type(b))[1] not in (0,) \
            or is_array_v(c) and describe(type(c))[1] not in (0,):
        if builtins.all(not isinstance(x, ArrayBase) or is_tensor_v(x) or not describe(type(x))[3] for x in (a, b, c)):
            from ._tensor import broadcast_all
            (x, y, z), shape = broadcast_all(a, b, c)
            r = _fma(x, y, z)
            return _core.tensor(_core.lookup(describe(type(r))[0], Tensor, (), 0), r, shape)
        return a * b + c
    return _fma(a, b, c)


def power(a, b):
    """a to the power b."""
    return a ** b


def sqr(a):
    """a * a"""
    return a * a


square = sqr


def sincos(a):
    """Sine and cosine."""
    return sin(a), cos(a)


def sincosh(a):
    """Hyperbolic sine and cosine."""
    return sinh(a), cosh(a)


def _number(x):
    return not isinstance(x, ArrayBase)


def safe_sqrt(a):
    """sqrt(max(a, 0)); its derivative stays finite at 0."""
    r = sqrt(maximum(a, 0))
    if not _number(a) and _core.grad_enabled(a):
        r = _replace(r, sqrt(maximum(a, _epsilon(a))))
    return r


def safe_asin(a):
    """asin of a clamped to [-1, 1]; its derivative stays finite at the ends."""
    r = asin(clip(a, -1, 1))
    if not _number(a) and _core.grad_enabled(a):
        one = 1 - _epsilon(a)
        r = _replace(r, asin(clip(a, -one, one)))
    return r


def safe_acos(a):
    """acos of a clamped to [-1, 1]; its derivative stays finite at the ends."""
    r = acos(clip(a, -1, 1))
    if not _number(a) and _core.grad_enabled(a):
        one = 1 - _epsilon(a)
        r = _replace(r, acos(clip(a, -one, one)))
    return r


def _epsilon(a):
    from ._types import epsilon
    return epsilon(a)


def _replace(a, b):
    return _core.replace_grad(a, b)


def clip(value, min, max):
    """The value, but at least `min` and at most `max`."""
    return minimum(maximum(value, min), max)


clamp = clip


def fmin(a, b):
    """The smaller one, entry by entry; as minimum()."""
    return minimum(a, b)


def fmax(a, b):
    """The larger one, entry by entry; as maximum()."""
    return maximum(a, b)


def lerp(a, b, t):
    """a at t = 0, b at t = 1, on a line."""
    return fma(b, t, fma(-a, t, a)) if not _number(a) or not _number(b) or not _number(t) else a * (1 - t) + b * t


def step(x, edge):
    """1 where edge < x or equal, else 0, as an integer."""
    if type(x) in vectors or type(edge) in vectors:
        return (x if type(x) in vectors else edge)._umbel_call(step, x, edge)
    if _number(x) and _number(edge):
        return 0 if x < edge else 1
    tp = replace_type_t(expr_t(x, edge), VarType.Int32)
    return select(x < edge, tp(0), tp(1))


def deg2rad(a):
    """Degrees in radians."""
    return a * (pi / 180)


def rad2deg(a):
    """Radians in degrees."""
    return a * (180 / pi)


def _bits(a):
    return _core.bitcast(a, describe(uint_array_t(a))[0])


def sign(a):
    """-1 below 0, else 1."""
    if _number(a):
        return type(a)(-1 if a < 0 else 1)
    return select(a < 0, type(a)(-1), type(a)(1))


def _negative(a):
    if not is_float_v(a):
        return a < 0
    d = _core.detach(a)
    bits = _bits(d)
    return (bits >> (8 * itemsize_v(a) - 1)) != 0


def copysign(a, b):
    """|a| with the sign of b."""
    if _number(a) and _number(b):
        return math.copysign(a, b)
    return mulsign(abs(a), b)


def mulsign(a, b):
    """a, negated where b is negative (also -0)."""
    if _number(a) and _number(b):
        return -a if math.copysign(1.0, b) < 0 else a
    if _number(b):
        return -a if math.copysign(1.0, b) < 0 else a
    return select(_negative(b), -a, a)


def mulsign_neg(a, b):
    """a, negated where b is positive."""
    return mulsign(-a, b)


def isnan(a):
    """Where a is not a number."""
    return a != a


def isinf(a):
    """Which entries are infinite, of either sign."""
    return abs(a) == inf


def isfinite(a):
    """Which entries are neither infinite nor NaN."""
    return abs(a) < inf


def hypot(a, b):
    """sqrt(a a + b b) without overflow on the way."""
    a, b = abs(a), abs(b)
    largest, least = maximum(a, b), minimum(a, b)
    ratio = least / largest if not (_number(largest) and largest == 0) else 0.0
    r = largest * sqrt(fma(ratio, ratio, 1.0))
    if _number(r):
        return math.hypot(a, b)
    return select((largest < inf) & (largest > 0), r, largest + least)


def log2i(a):
    """Position of the highest set bit."""
    if _number(a):
        return int(a).bit_length() - 1
    return (8 * itemsize_v(a) - 1) - lzcnt(a)


def brev(a):
    """Bits in reverse order."""
    if _number(a):
        return int(f"{a & 0xffffffff:032b}"[::-1], 2)
    width = 8 * itemsize_v(a)
    tp = type(a)
    u = _bits(a)
    shift = 1
    mask_all = (1 << width) - 1
    while shift < width:
        block = 2 * shift
        low = builtins.sum(((1 << shift) - 1) << i for i in range(0, width, block)) & mask_all
        u = ((u & type(u)(low)) << shift) | ((u >> shift) & type(u)(low))
        shift = block
    return _core.bitcast(u, describe(tp)[0])


def mul_wide(a, b):
    """The product with twice the bits."""
    if _number(a) and _number(b):
        return a * b
    tp = expr_t(a, b)
    e = describe(tp)[0]
    wide = {2: 4, 3: 5, 4: 6, 5: 7, 6: 8, 7: 9}.get(e)
    if wide is None:
        raise TypeError(f"mul_wide(): not defined for {tp.__name__}")
    w = replace_type_t(tp, wide)
    return w(tp(a)) * w(tp(b))


def rotl(a, n):
    """The bits of an integer, rotated to the left by n."""
    return _core._rotl(a, n)


def rotr(a, n):
    """The bits of an integer, rotated to the right by n."""
    return _core._rotr(a, n)


# ---- vectors

def dot(a, b):
    """Sum of products: of vectors over their entries, of arrays over their lanes."""
    if isinstance(a, ArrayBase) and isinstance(b, ArrayBase):
        da, db = describe(type(a))[3], describe(type(b))[3]
        if len(da) == 1 and da == db:
            return _core.fold_dot(a, b)
        if not da and not db and not is_tensor_v(a) and not is_tensor_v(b) and type(a) is type(b) \
                and is_float_v(a) and len(a) == len(b) > 0:
            return _core.dot(a, b)
    from ._reduce import sum
    if isinstance(a, ArrayBase) and isinstance(b, ArrayBase) and describe(type(a))[1] == describe(type(b))[1] in \
            (Complex, Quaternion):
        return _core.fold_dot(_plain(a), _plain(b))
    if isinstance(a, ArrayBase) or isinstance(b, ArrayBase):
        product = a * b
        return sum(product, axis=0) if is_tensor_v(product) and product.shape else sum(product)
    if len(a) != len(b):
        raise ShapeError(f"dot(): invalid input sizes ({len(a)} and {len(b)})")
    return builtins.sum(x * y for x, y in zip(a, b))


def abs_dot(a, b):
    """The absolute value of the dot product."""
    return abs(dot(a, b))


def squared_norm(value, axis=..., mode=None, keepdims=False):
    """Sum of the squared entries, along an axis."""
    if axis is not ... or keepdims:
        from ._reduce import sum
        return sum(value * value, axis, keepdims=keepdims)
    a = value
    if isinstance(a, ArrayBase):
        d = describe(type(a))
        if d[1] in (Complex, Quaternion):
            return _core.fold_dot(_plain(a), _plain(a))
        if len(d[3]) == 1:
            return _core.fold_dot(a, a)
        from ._reduce import sum
        return sum(a * a)
    return builtins.sum(x * x for x in a) if isinstance(a, (list, tuple)) else a * a


def _plain(a):
    e, kind, sense, dims = describe(type(a))
    return _core.from_entries(like(a, dims), _core.entries(a))


def norm(value, axis=..., mode=None, keepdims=False):
    """Length of a vector, magnitude of a complex number or quaternion; of other arrays along an axis."""
    return sqrt(squared_norm(value, axis, mode, keepdims))


def normalize(a):
    """The vector divided by its length."""
    if isinstance(a, (list, tuple)):
        n = norm(a)
        return type(a)(x / n for x in a)
    return a * rsqrt(squared_norm(a))


def cross(a, b):
    """Cross product of vectors of three entries."""
    if len(a) != 3 or len(b) != 3:
        raise ShapeError("cross(): requires 3D input arrays")
    if not isinstance(a, ArrayBase) and not isinstance(b, ArrayBase):
        return type(a)((a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]))
    tp = expr_t(a, b)
    ax, ay, az = a[0], a[1], a[2]
    bx, by, bz = b[0], b[1], b[2]
    return tp(_fma(ay, bz, -(az * by)), _fma(az, bx, -(ax * bz)), _fma(ax, by, -(ay * bx)))


def unit_angle(a, b):
    """Angle between unit vectors, accurate for small and large ones [Kahan 2006]."""
    d = dot(a, b)
    r = safe_asin(0.5 * norm(b - mulsign(a, d))) * 2
    return select(d >= 0, r, pi - r)


def sphdir(theta, phi):
    """Direction at colatitude theta and longitude phi."""
    st, ct = sincos(theta)
    sp, cp = sincos(phi)
    tp = _core.lookup(describe(leaf_t(st))[0], 0, (3,), 0)
    return tp(cp * st, sp * st, ct)


def rotate(dtype, axis, angle):
    """Rotation by `angle` around a unit axis, as a quaternion or matrix."""
    s, c = sincos(angle * 0.5)
    e = describe(leaf_t(axis))[0]
    q = like(axis, (4,), Quaternion)(axis[0] * s, axis[1] * s, axis[2] * s, c)
    if is_quaternion_v(dtype):
        return dtype(q)
    from ._special import quat_to_matrix
    return quat_to_matrix(dtype, q)


def reverse(value, axis=0):
    """Entries in reverse order."""
    if not isinstance(value, ArrayBase):
        return type(value)(reversed(value))
    d = describe(type(value))
    if is_tensor_v(value):
        return value[tuple([slice(None)] * axis + [slice(None, None, -1)])]
    if d[3]:
        return type(value)([value[i] for i in range(len(value) - 1, -1, -1)])
    return value[::-1]


# ---- comparing

def _sizes_fit(x, y):
    a, b = x.shape[::-1], y.shape[::-1]
    return builtins.all(m == n or m == 1 or n == 1 for m, n in zip(a, b))


def _close(a, b, rtol, atol, equal_nan):
    import numpy
    x = numpy.asarray(a.numpy() if isinstance(a, ArrayBase) else a)
    y = numpy.asarray(b.numpy() if isinstance(b, ArrayBase) else b)
    for p, q, o in ((x, y, b), (y, x, a)):  # an entry a row, beside one number an entry
        if isinstance(o, ArrayBase) and p.ndim == 1 and q.ndim == 2 and q.shape == (len(p), 1):
            x, y = x.reshape(-1), y.reshape(-1)
    if not _sizes_fit(x, y):
        raise ShapeError(f"allclose(): incompatible sizes ({x.shape} and {y.shape})")
    return bool(numpy.allclose(x, y, rtol=rtol, atol=atol, equal_nan=equal_nan))


def _wide(x):
    return describe(type(x))[3] if isinstance(x, ArrayBase) and not is_tensor_v(x) else ()


def allclose(a, b, rtol=None, atol=None, equal_nan=False):
    """Whether a and b agree: |a - b| <= |b| rtol + atol everywhere. Numbers, arrays, structures of them."""
    kids = None if isinstance(a, ArrayBase) else children(a)
    other = None if isinstance(b, ArrayBase) else children(b)
    types = [describe(type(x))[0] for x in (a, b) if isinstance(x, ArrayBase)]
    half, single = 10 in types, 11 in types
    r = rtol if rtol is not None else 1e-1 if half else 1e-3 if single else 1e-5
    t = atol if atol is not None else 1e-2 if half else 1e-5 if single else 1e-8
    nested = [leaves(x) for x, k in ((a, kids), (b, other)) if k is not None]
    if kids is not None and other is not None and builtins.any(nested):
        if len(kids) != len(other):
            raise ShapeError(f"allclose(): incompatible sizes ({len(kids)} and {len(other)})")
        return builtins.all(allclose(x, y, rtol, atol, equal_nan) for (_, x), (_, y) in zip(kids, other))
    if not isinstance(a, ArrayBase) and not isinstance(b, ArrayBase):
        return _close(a, b, r, t, equal_nan)
    if isinstance(a, (list, tuple, complex)) and not is_tensor_v(b):
        a = type(b)(a)
    if isinstance(b, (list, tuple, complex)) and not is_tensor_v(a):
        b = type(a)(b)
    for x, y in ((a, b), (b, a)):  # a number beside a matrix or complex number, an array beside a vector
        if isinstance(x, ArrayBase) and describe(type(x))[1] in (Matrix, Complex, Quaternion) and isinstance(y, (int, float)):
            a, b = (x, type(x)(y)) if x is a else (type(x)(y), x)
            break
    if _wide(a) and _wide(b) and len(_wide(a)) == len(_wide(b)):
        if len(a) != len(b):
            raise ShapeError(f"allclose(): incompatible sizes ({len(a)} and {len(b)})")
        return builtins.all(_close(x, y, r, t, equal_nan) for x, y in zip(_core.entries(a), _core.entries(b)))
    return _close(*_same_depth(a, b), r, t, equal_nan)


def _same_depth(a, b):
    """Both as they are, or without the lanes of the one whose entries the other has as plain numbers."""
    import numpy as np
    if not builtins.all(hasattr(x, "__array__") or hasattr(x, "numpy") for x in (a, b)):
        return a, b
    x, y = (np.asarray(v.numpy() if hasattr(v, "numpy") else v) for v in (a, b))
    if x.ndim == y.ndim + 1 and x.ndim > 1 and x.shape[-1] == 1:
        return x[..., 0], y
    if y.ndim == x.ndim + 1 and y.ndim > 1 and y.shape[-1] == 1:
        return x, y[..., 0]
    return a, b


def assert_allclose(a, b, rtol=None, atol=None, equal_nan=False, msg=None, **kwargs):
    """An error unless a and b agree."""
    if not allclose(a, b, rtol, atol, equal_nan):
        raise AssertionError(f"{msg or 'the values differ'}: {a} and {b}")


def _debugging():
    from ._eval import JitFlag, flag
    return flag(JitFlag.Debug)


def _failure(fmt, args, kwargs):
    from ._print import format
    return AssertionError(format(_complaint(fmt), *args, **kwargs))


def _complaint(fmt): return "Assertion failure: " + fmt if fmt else "Assertion failure!"


def _where(cond, values):
    """The lanes of `values` in which a condition holds."""
    if is_tensor_v(cond):
        return values
    lanes = cond
    while depth_v(lanes) > 1:
        lanes = functools.reduce(lambda a, b: a | b, _core.entries(lanes))
    index = _core.compress(lanes)
    return map_leaves(lambda a: _core.gather(type(a), a, index, None) if _core.width(a) > 1 else a, values)


def assert_true(cond, fmt=None, *args, tb_depth=3, tb_skip=0, **kwargs):
    """With JitFlag.Debug, an error unless the condition holds everywhere, which tells the values of lanes where it does not;
    in recorded bodies, when the kernel runs."""
    if not _debugging():
        return
    if isinstance(cond, ArrayBase):
        if _core.state(cond) == 5:
            from ._print import print
            print(_complaint(fmt) + f"\n  at {_core.line_of_script()}", *args, active=~cond, file=sys.stderr, **kwargs)
            return
        if cond.numpy().all():
            return
        args, kwargs = _where(~cond, (args, kwargs))
    elif cond:
        return
    raise _failure(fmt, args, kwargs)


def assert_false(cond, fmt=None, *args, tb_depth=3, tb_skip=0, **kwargs):
    """With JitFlag.Debug, an error where the condition holds; in recorded bodies, when the kernel runs."""
    assert_true(~cond if isinstance(cond, ArrayBase) else not cond, fmt, *args, **kwargs)


def assert_equal(arg0, arg1, fmt=None, *args, limit=3, tb_depth=3, tb_skip=0, **kwargs):
    """With JitFlag.Debug, an error unless both are equal everywhere."""
    if not _debugging():
        return
    equal = arg0 == arg1
    if isinstance(equal, ArrayBase) and _core.state(equal) == 5:
        assert_true(equal, fmt, *args, **kwargs)
    else:
        assert_true(equal, fmt or "the values differ: {} and {}", *(args if fmt else (arg0, arg1)), **kwargs)
