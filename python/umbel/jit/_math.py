# jit/_math.py: functions of arrays, entry by entry, and of small vectors.
import builtins
import math
import warnings

from .. import _core
from ._types import (ArrayBase, Complex, Matrix, Quaternion, Tensor, VarType, describe, expr_t, is_array_v,
                     is_complex_v, is_float_v, is_integral_v, is_matrix_v, is_quaternion_v, is_tensor_v,
                     itemsize_v, leaf_t, mask_t, replace_type_t, uint_array_t, vectors)
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


def sincos(a): return sin(a), cos(a)
def sincosh(a): return sinh(a), cosh(a)


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


def fmin(a, b): return minimum(a, b)
def fmax(a, b): return maximum(a, b)


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


def deg2rad(a): return a * (pi / 180)
def rad2deg(a): return a * (180 / pi)


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


def mulsign_neg(a, b): return mulsign(-a, b)


def isnan(a):
    """Where a is not a number."""
    return a != a


def isinf(a): return abs(a) == inf
def isfinite(a): return abs(a) < inf


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
    tp = expr_t(a, b)
    e = describe(tp)[0]
    wide = {2: 4, 3: 5, 4: 6, 5: 7, 6: 8, 7: 9}.get(e)
    if wide is None:
        raise TypeError(f"mul_wide(): not defined for {tp.__name__}")
    w = replace_type_t(tp, wide)
    return w(tp(a)) * w(tp(b))


def rotl(a, n): return _core._rotl(a, n)
def rotr(a, n): return _core._rotr(a, n)


# ---- vectors

def dot(a, b):
    """Sum of products: of vectors over their entries, of arrays over their lanes."""
    if isinstance(a, ArrayBase) and isinstance(b, ArrayBase):
        da, db = describe(type(a))[3], describe(type(b))[3]
        if len(da) == 1 and da == db:
            return _core.fold_dot(a, b)
        if not da and not db and not is_tensor_v(a) and not is_tensor_v(b) and type(a) is type(b) \
                and is_float_v(a) and len(a) == len(b):
            return _core.dot(a, b)
    from ._reduce import sum
    if isinstance(a, ArrayBase) or isinstance(b, ArrayBase):
        return sum(a * b)
    return builtins.sum(x * y for x, y in zip(a, b))


def abs_dot(a, b): return abs(dot(a, b))


def squared_norm(a):
    """Sum of the squared entries."""
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
    return _core.from_entries(_core.lookup(e, 0, dims, 0), _core.entries(a))


def norm(a):
    """Length of a vector, magnitude of a complex number or quaternion."""
    return sqrt(squared_norm(a))


def normalize(a):
    """The vector divided by its length."""
    return a * rsqrt(squared_norm(a))


def cross(a, b):
    """Cross product of vectors of three entries."""
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
    q = _core.lookup(e, Quaternion, (4,), 0)(axis[0] * s, axis[1] * s, axis[2] * s, c)
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

def _close(a, b, rtol, atol, equal_nan):
    import numpy
    x = numpy.asarray(a.numpy() if isinstance(a, ArrayBase) else a)
    y = numpy.asarray(b.numpy() if isinstance(b, ArrayBase) else b)
    return bool(numpy.allclose(x, y, rtol=rtol, atol=atol, equal_nan=equal_nan))


def allclose(a, b, rtol=None, atol=None, equal_nan=False):
    """Whether a and b agree: |a - b| <= |b| rtol + atol everywhere."""
    kids = None if isinstance(a, ArrayBase) else children(a)
    other = None if isinstance(b, ArrayBase) else children(b)
    half = builtins.any(isinstance(x, ArrayBase) and describe(type(x))[0] == 10 for x in (a, b))
    double = builtins.all(not isinstance(x, ArrayBase) or describe(type(x))[0] == 12 for x in (a, b))
    r = rtol if rtol is not None else 1e-3 if half else 1e-5
    t = atol if atol is not None else 1e-3 if half else 1e-8 if double else 1e-6
    if kids is not None and other is not None and type(a) in (list, tuple, dict) and \
            builtins.any(isinstance(v, ArrayBase) for _, v in kids):
        return len(kids) == len(other) and builtins.all(
            allclose(x, y, rtol, atol, equal_nan) for (_, x), (_, y) in zip(kids, other))
    if not isinstance(a, ArrayBase) and not isinstance(b, ArrayBase):
        return _close(a, b, r, t, equal_nan)
    if isinstance(a, (list, tuple)):
        a = type(b)(a)
    if isinstance(b, (list, tuple)):
        b = type(a)(b)
    return _close(a, b, r, t, equal_nan)


def assert_allclose(a, b, rtol=None, atol=None, equal_nan=False, msg=None, **kwargs):
    if not allclose(a, b, rtol, atol, equal_nan):
        raise AssertionError(f"{msg or 'the values differ'}: {a} and {b}")


def assert_equal(a, b, fmt=None, *args, **kwargs):
    r = a == b
    if not (builtins.all(x.numpy().all() for x in [r]) if isinstance(r, ArrayBase) else r):
        raise AssertionError(f"{fmt or 'the values differ'}: {a} and {b}")


def assert_true(cond, fmt=None, *args, **kwargs):
    """An error unless the condition holds everywhere; in recorded bodies, when the kernel runs."""
    if isinstance(cond, ArrayBase):
        if _core.is_recording():
            _core.assert_lanes(cond, fmt or "the condition does not hold", None)
            return
        cond = bool(cond.numpy().all())
    if not cond:
        raise AssertionError(fmt or "the condition does not hold")


def assert_false(cond, fmt=None, *args, **kwargs):
    assert_true(~cond if isinstance(cond, ArrayBase) else not cond, fmt)
