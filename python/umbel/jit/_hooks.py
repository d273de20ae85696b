# jit/_hooks.py: what the compiled part leaves to Python: printing, indexing, products of special arrays.
import math

from .. import _core
from ._types import (ArrayBase, Array, Complex, Matrix, Quaternion, Tensor, describe, is_array_v,
                     is_host_v, is_tensor_v, leaf_t, like, mask_t, vectors)

ops = _core.ops
op_names = {v: k for k, v in ops.items()}


class UserError(RuntimeError):
    """The input or the call is wrong; the message says where, what and what to do."""


class StateAccess(UserError):
    """Memory is accessed that the recorded loop around has as a state; `node` is that state."""

    def __init__(self, message, node=0):
        super().__init__(message)
        self.node = node


class InsideBody(UserError):
    """Derivatives are asked for in a recorded body that is differentiated as a whole."""


class DeviceError(RuntimeError):
    """The machine failed: no memory, no disk, no GPU."""


class InternalError(RuntimeError):
    """A bug of Umbel's own."""


class ArgumentError(UserError, TypeError):
    """An argument of a type that the operation does not take."""


class ShapeError(UserError, ValueError, TypeError):
    """Shapes, sizes or dimensions that do not fit together."""


class PlaceError(UserError, IndexError, TypeError):
    """An index that names no element."""


class ComponentError(UserError, AttributeError):
    """A component that the array does not have."""


# ---- Python's numbers

def _real(f):
    def call(x):
        try:
            return f(x)
        except OverflowError:
            return math.inf
        except (ValueError, ZeroDivisionError):
            return math.nan
    return call


def _erfinv(x):
    return _core.erfinv(_core.classes["Float64"](x))[0]


def _cbrt(x):
    return math.copysign(abs(x) ** (1 / 3), x)


_number_unary = {
    "Abs": abs, "Sqrt": _real(math.sqrt), "Rcp": lambda x: 1 / x if x else math.copysign(math.inf, x),
    "Rsqrt": lambda x: 1 / math.sqrt(x) if x > 0 else math.inf if x == 0 else math.nan,
    "Floor": lambda x: float(math.floor(x)), "Ceil": lambda x: float(math.ceil(x)),
    "Trunc": lambda x: float(math.trunc(x)), "Round": lambda x: float(round(x)),
    "Popcount": lambda x: bin(x & 0xFFFFFFFF).count("1"),
    "Clz": lambda x: 32 - int(x).bit_length(), "Ctz": lambda x: (x & -x).bit_length() - 1 if x else 32,
    "Exp2": lambda x: 2.0 ** x, "Cbrt": _cbrt, "Erfinv": _erfinv,
    "Log": lambda x: -math.inf if x == 0 else _real(math.log)(x),
    "Log2": lambda x: -math.inf if x == 0 else _real(math.log2)(x),
}
for _name in "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp erf lgamma".split():
    _number_unary[_name.capitalize()] = _real(getattr(math, _name))


def number_unary(op, x):
    name = op_names[op]
    item = getattr(x, "item", None)
    if item is not None and not isinstance(x, (int, float)) and getattr(x, "ndim", 0) == 0:
        x = item()
    if not isinstance(x, (int, float)):
        if type(x) in vectors:
            return x._umbel_call(lambda e: _core.unary(op, e), x)
        if type(x) in (list, tuple):
            return type(x)(_core.unary(op, e) if isinstance(e, ArrayBase) else number_unary(op, e) for e in x)
        raise TypeError(f"{name.lower()}(): not defined for an object of type '{type(x).__name__}'")
    return _number_unary[name](x)


_number_binary = {
    "Min": lambda a, b: a if a < b else b, "Max": lambda a, b: a if a > b else b,
    "Atan2": math.atan2, "Pow": lambda a, b: a ** b, "MulHi": lambda a, b: (a * b) >> 32,
    "Rotl": lambda a, b: ((a << b) | (a >> (32 - b))) & 0xFFFFFFFF,
    "Rotr": lambda a, b: ((a >> b) | (a << (32 - b))) & 0xFFFFFFFF,
}


def number_binary(op, a, b):
    name = op_names[op]
    if not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
        if type(a) in vectors or type(b) in vectors:
            return (a if type(a) in vectors else b)._umbel_call(lambda x, y: _core.binary(op, x, y), a, b)
        try:
            a, b = a.item(), b.item()  # NumPy's
        except AttributeError:
            raise TypeError(f"{name}(): not defined for '{type(a).__name__}' and "
                            f"'{type(b).__name__}'") from None
    return _number_binary[name](a, b)


def fma(a, b, c):
    from ._math import fma as general
    return a * b + c if not any(isinstance(x, ArrayBase) for x in (a, b, c)) else general(a, b, c)


def power(a, b):
    """a ** b: whole powers by repeated multiplication, so that negative bases and integers work."""
    if isinstance(b, int) and not isinstance(b, bool) and isinstance(a, ArrayBase):
        n = abs(b)
        if n <= 64:
            result, square = None, a
            while n:
                if n & 1:
                    result = square if result is None else result * square
                n >>= 1
                if n:
                    square = square * square
            if result is None:
                from ._create import ones_like
                return ones_like(a) if is_tensor_v(a) else type(a)(1)
            if b < 0:
                result = _core.rcp(result) if is_tensor_v(a) or describe(type(a))[1] == 0 else 1 / result
            return result if b != 1 else _core.copy(a)
    if is_array_v(a) and describe(type(a))[1] in (Complex, Quaternion) or \
            is_array_v(b) and describe(type(b))[1] in (Complex, Quaternion):
        from ._math import exp, log
        return exp(log(a) * b)
    if not isinstance(a, ArrayBase):  # a whole number to a power that lanes compute need not be whole
        a = float(a) if _core.is_host(type(b)) else (leaf_t(b) if describe(type(b))[0] >= 10 else _core.classes["Float"])(a)
    if isinstance(a, ArrayBase) and describe(type(a))[0] < 10:
        if isinstance(b, float) or (isinstance(b, ArrayBase) and describe(type(b))[0] >= 10):
            from ._types import expr_t
            a = expr_t(a, b)(a)
        else:
            return NotImplemented
    return _core._pow(a, b)


def select(mask, a, b):
    """Of structures and tensors."""
    from ._tensor import broadcast_all
    from ._tree import children, rebuild
    if is_tensor_v(mask) or is_tensor_v(a) or is_tensor_v(b):
        (m, x, y), shape = broadcast_all(mask, a, b)
        r = _core.select(m, x, y)
        return _core.tensor(_core.lookup(describe(type(r))[0], Tensor, (), 0), r, shape)
    if isinstance(a, ArrayBase) or isinstance(b, ArrayBase):
        return _core.select(mask, a, type(a)(b)) if isinstance(a, ArrayBase) else _core.select(mask, type(b)(a), b)
    own = getattr(type(a), "_umbel_select", None) or getattr(type(b), "_umbel_select", None)
    if own is not None:
        return own(mask, a, b)
    x, y = children(a), children(b)
    if x is None or y is None or len(x) != len(y) or type(a) is not type(b):
        if a is b or (x is None and y is None and type(a) is type(b) and a == b):
            return a
        raise TypeError(f"select(): cannot choose between '{type(a).__name__}' and '{type(b).__name__}'")
    return rebuild(a, [_core.select(mask, p[1], q[1]) for p, q in zip(x, y)])


def and_mask(a, b):
    """mask & number: the number where the mask holds, else 0."""
    from ._create import zeros_like
    mask, x = (a, b) if describe(type(a))[0] == 1 else (b, a)
    return _core.select(mask, x, zeros_like(x) if is_tensor_v(x) else type(x)(0))


# ---- matrices, complex numbers, quaternions

def _scale(op, a, s):
    """Each entry with a plain number."""
    tp = type(a)
    return _core.from_entries(tp, [_core.binary(op, e, s) for e in _core.entries(a)])


def _is_scalar(x):
    return isinstance(x, ArrayBase) and describe(type(x))[1] == Array and not describe(type(x))[3]


def _kind(x):
    return describe(type(x))[1] if isinstance(x, ArrayBase) else Array


def _common(a, b):
    tp = _core.promote(type(a), type(b))
    return tp, a if type(a) is tp else tp(a), b if type(b) is tp else tp(b)


def matrix_product(a, b):
    ka, kb = _kind(a), _kind(b)
    if ka == Matrix and kb == Matrix:
        tp, a, b = _common(a, b)
        n = describe(tp)[3][0]
        columns = [[b[k][j] for k in range(n)] for j in range(n)]
        rows = []
        for i in range(n):
            row = a[i]
            left = [row[k] for k in range(n)]
            out = []
            for j in range(n):
                s = left[0] * columns[j][0]
                for k in range(1, n):
                    s = _core.fma(left[k], columns[j][k], s)
                out.append(s)
            rows.append(out)
        return tp(*rows)
    if ka == Matrix:  # times a vector
        n = describe(type(a))[3][0]
        if len(b) != n:
            raise ArgumentError(f"a {type(a).__name__} cannot be multiplied by a {type(b).__name__}")
        entries = [b[k] for k in range(n)]
        out = []
        for i in range(n):
            row = a[i]
            s = row[0] * entries[0]
            for k in range(1, n):
                s = _core.fma(row[k], entries[k], s)
            out.append(s)
        return _core.promote(type(b), type(a[0]))(*out)
    n = describe(type(b))[3][0]  # a row times a matrix
    if kb == Matrix and len(describe(type(a))[3]) == 1 and len(a) == n:
        out = []
        for j in range(n):
            s = a[0] * b[0][j]
            for k in range(1, n):
                s = _core.fma(a[k], b[k][j], s)
            out.append(s)
        return _core.promote(type(a), type(b[0]))(*out)
    raise ArgumentError(f"Incompatible arguments: a {type(a).__name__} cannot be multiplied by a {type(b).__name__}")


def complex_product(a, b):
    (x, y), (u, v) = (a[0], a[1]), (b[0], b[1])
    return type(a)(_core.fma(x, u, -(y * v)), _core.fma(x, v, y * u))


def quaternion_product(a, b):
    ax, ay, az, aw = a[0], a[1], a[2], a[3]
    bx, by, bz, bw = b[0], b[1], b[2], b[3]
    return type(a)(aw * bx + ax * bw + ay * bz - az * by,
                   aw * by - ax * bz + ay * bw + az * bx,
                   aw * bz + ax * by - ay * bx + az * bw,
                   aw * bw - ax * bx - ay * by - az * bz)


def special_binary(op, a, b):
    name = op_names[op]
    ka, kb = _kind(a), _kind(b)
    if name == "Mul":
        if _is_scalar(a):
            return _scale(op, b, a)
        if _is_scalar(b):
            return _scale(op, a, b)
        if ka == Matrix or kb == Matrix:
            return matrix_product(a, b)
        tp, a, b = _common(a, b)
        return complex_product(a, b) if describe(tp)[1] == Complex else quaternion_product(a, b)
    if name == "Div":
        if _is_scalar(b):
            return _scale(op, a, b)
        from ._math import rcp
        inverse = rcp(b)
        return special_binary(ops["Mul"], a, inverse)
    if name in ("Min", "Max"):
        tp, a, b = _common(a, b)
        return _core.from_entries(tp, [_core.binary(op, x, y)
                                       for x, y in zip(_core.entries(a), _core.entries(b))])
    return NotImplemented


def special_unary(op, a):
    from . import _special
    return _special.unary(op_names[op], a)


def norm(a):
    from ._math import norm as general
    return general(a)


def matmul(a, b):
    if not isinstance(a, ArrayBase) and not isinstance(b, ArrayBase):
        return NotImplemented
    if not isinstance(b, (ArrayBase, int, float, list, tuple)) or \
            not isinstance(a, (ArrayBase, int, float, list, tuple)):
        return NotImplemented  # such as a transform: its own method knows
    if is_tensor_v(a) or is_tensor_v(b):
        from ._matmul import matmul as product
        return product(a, b)
    if is_array_v(a) and is_array_v(b) and _kind(a) == Array and _kind(b) == Array \
            and len(describe(type(a))[3]) == 1 and len(describe(type(b))[3]) == 1:
        from ._math import dot
        return dot(a, b)
    if is_array_v(a) and is_array_v(b) and len(describe(type(a))[3]) == 2 and _kind(a) == Array:
        n = describe(type(a))[3][0]
        m = _core.lookup(describe(type(a))[0], Matrix, (n, n), 0)
        r = matrix_product(m(a), m(b) if len(describe(type(b))[3]) == 2 and _kind(b) == Array else b)
        return r if len(describe(type(r))[3]) == 1 else type(a)(r)
    return a * b


# ---- entries

def _from_end(key, n):
    """Negative indices count from the end."""
    return _core.select(key < 0, key + n, key) if describe(type(key))[0] in (2, 4, 6, 8) else key


def host_index(key, n, what):
    """The numbers of elements that a list, a range or an array of another library names, as an array of NumPy's: the places of
    true ones, of numbers those from the beginning. None of what is no such key."""
    listed = isinstance(key, (list, range))
    if isinstance(key, ArrayBase) or not listed and not (hasattr(key, "__array__") and getattr(key, "ndim", 0)):
        return None
    import numpy
    if listed and any(isinstance(k, ArrayBase) for k in key):
        return None  # their numbers may not be known yet
    a = numpy.asarray(key) if listed else foreign_array(key)
    if a.dtype == bool:
        if a.shape != (n,):
            raise PlaceError(f"{what}: a mask of shape {a.shape} does not fit {n} elements")
        return numpy.nonzero(a)[0]
    if a.dtype.kind not in "iu" and a.size:
        raise PlaceError(f"{what}: indices are integers or a mask, not {a.dtype}")
    bad = a[(a >= n) | (a < -n) if a.dtype.kind == "i" else a >= n]
    if bad.size:
        raise PlaceError(f"{what}: index {bad.flat[0]} is out of bounds (size {n})")
    return a.astype(numpy.int64) % max(n, 1)


def _listed(self, key):
    """The same for arrays of one dimension."""
    a = host_index(key, len(self), type(self).__name__)
    if a is None:
        return None
    if a.ndim != 1:
        raise PlaceError(f"{type(self).__name__}: indices of {a.ndim} dimensions; an array of one has others only as a tensor")
    return _core.classes["UInt"](a.astype("uint32"))


def get_item(self, key):
    """self[key] of arrays, where the key is no integer."""
    dims = describe(type(self))[3]
    if isinstance(key, tuple):
        r = self
        for k in key:
            if not isinstance(r, ArrayBase):
                raise PlaceError(f"{type(self).__name__}: {len(key)} indices are too many")
            if k is Ellipsis or k is None:
                raise PlaceError("Complex slicing operations are only supported on tensors")
            r = r[k]
        return r
    if isinstance(key, slice):
        if not dims:
            start, stop, step = key.indices(len(self))
            n = len(range(start, stop, step))
            if n == 0:
                return type(self)()
            if n == len(self) and step == 1:
                return _core.copy(self)
            index = _core.lane_index(n)
            if step < 0:
                i = _core.cast(index, 6) * step + start
            else:
                i = index * step + start
            return _core.gather(type(self), self, i, None)
        parts = [self[i] for i in range(*key.indices(len(self)))]
        e, kind, sense, d = describe(type(self))
        if is_host_v(self):
            return like(self, (-1,))(parts) if d == (-1,) else like(self, (len(parts), *d[1:]))(parts)
        tp = _core.lookup(e, Array, (len(parts), *d[1:]), sense) or _core.lookup(e, Array, (len(parts), *d[1:]), 0) \
            or (_core.lookup(e, Array, (-1,), 0) if len(d) == 1 else None)
        if tp is None:
            raise TypeError(f"no array type has {len(parts)} entries like those of {type(self).__name__}")
        return tp(parts)
    if isinstance(key, ArrayBase):
        if describe(type(key))[0] == 1:
            return _core.copy(self)  # for a[mask] += b, which must not change a before it is masked
        if not dims:
            key = _from_end(key, len(self))
            return _core.gather(_core.with_type(type(key), describe(type(self))[0]) if describe(type(key))[3] else type(self),
                                self, key, None)
    elif isinstance(key, bool):
        return self
    elif not dims:
        listed = _listed(self, key)
        if listed is not None or isinstance(key, list):
            return get_item(self, _core.classes["UInt"](key) if listed is None else listed)
    raise TypeError(f"{type(self).__name__}: an entry is chosen by an integer, a slice or an array of "
                    f"integers, not by '{type(key).__name__}'")


def set_item(self, key, value):
    """self[key] = value of arrays, where the key is no integer or the array has no dimension but its lanes."""
    dims = describe(type(self))[3]
    if isinstance(key, tuple):
        if len(key) == 1:
            self[key[0]] = value
            return
        entry = self[key[0]]
        entry[key[1:] if len(key) > 2 else key[1]] = value
        self[key[0]] = entry
        return
    if isinstance(key, bool):
        if key:
            _core.assign(self, type(self)(value))
        return
    if isinstance(key, ArrayBase) and describe(type(key))[0] == 1:
        _core.assign(self, _core.select(key, value if isinstance(value, type(self)) else type(self)(value), self))
        return
    if isinstance(key, slice):
        if dims:
            places = range(*key.indices(len(self)))
            for k, i in enumerate(places):
                self[i] = value if isinstance(value, (int, float)) or _is_scalar(value) else value[k]
            return
        start, stop, step = key.indices(len(self))
        n = len(range(start, stop, step))
        if n == len(self) and step == 1:
            fresh = value if isinstance(value, type(self)) else type(self)(value)
            _core.assign(self, fresh if len(fresh) == n else _core.full(type(self), fresh, n))
        elif n:
            i = _core.cast(_core.lane_index(n), 6) * step + start
            _core.scatter(self, value, i, None, 0)
        return
    listed = None if dims else _listed(self, key)
    if listed is not None:
        key = listed
    if not dims and (isinstance(key, int) or isinstance(key, ArrayBase) or hasattr(key, "__index__")):
        if not isinstance(key, ArrayBase):
            n = len(self)
            k = int(key) + (n if key < 0 else 0)
            if not 0 <= k < n:
                raise IndexError(f"{type(self).__name__}: entry {key} is out of bounds (the array is of size {n})")
            key = k
        else:
            key = _from_end(key, len(self))
        _core.scatter(self, value, key, None, 0)
        return
    if not dims and isinstance(key, list):
        _core.scatter(self, value, _core.classes["UInt"](key), None, 0)
        return
    raise TypeError(f"{type(self).__name__}: an entry is chosen by an integer, a slice, an array of integers "
                    f"or a mask, not by '{type(key).__name__}'")


def iterate(self):
    if is_tensor_v(self) or describe(type(self))[3]:
        return iter([self[i] for i in range(len(self))])
    return iter(self.numpy().tolist() if len(self) else [])


def from_tensor(cls, tensor, flip_axes):
    """An array of a tensor; with `flip_axes`, of one whose dimensions are in reverse order."""
    if flip_axes and is_tensor_v(tensor):
        from ._tensor import transpose
        tensor = transpose(tensor)
    return cls(tensor)


def complex_parts(o):
    """(real, imaginary) parts of an array of complex numbers of another library; None of anything else."""
    dtype = getattr(o, "dtype", None)
    if dtype is None or "complex" not in str(dtype):
        return None
    import numpy
    array = numpy.asarray(o)
    kind = numpy.float64 if array.dtype.itemsize == 16 else numpy.float32
    return numpy.array(array.real, kind), numpy.array(array.imag, kind)


def foreign_array(o):
    """Objects of other libraries as NumPy arrays, in place where they are in the CPU's memory."""
    import numpy
    detach = getattr(o, "detach", None)
    if detach is not None:
        o = detach()  # of PyTorch
        if getattr(o, "is_cuda", False):
            o = o.cpu()
    if hasattr(o, "__dlpack__"):
        try:
            return numpy.from_dlpack(o)
        except (BufferError, TypeError, RuntimeError):
            pass  # such as booleans and read-only arrays
    return numpy.asarray(o)
