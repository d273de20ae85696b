# jit/_create.py: making arrays.
import builtins
import math

from .. import _core
from ._types import (ArrayBase, Tensor, array_t, describe, is_array_v, is_float_v, is_struct_v, is_tensor_v,
                     leaf_t, tensor_t, value_t)
from ._tree import _fields, leaves


def _count(shape):
    n = 1
    for s in shape:
        n *= s
    return n


def _check_shape(dtype, shape):
    """Lanes of an object of this shape: an int, or one length for each dimension."""
    if isinstance(shape, int):
        return shape
    dims = describe(dtype)[3]
    shape = tuple(shape)
    if len(shape) != len(dims) + 1 or builtins.any(d not in (-1, s) for d, s in zip(dims, shape)):
        raise TypeError(f"{dtype.__name__}: the shape {shape} does not fit")
    return shape[-1]


def full(dtype, value, shape=1):
    """An array (or structure of arrays) filled with a constant, which is part of the program."""
    if isinstance(dtype, ArrayBase):
        dtype = type(dtype)
    if is_array_v(dtype):
        if is_tensor_v(dtype):
            shape = (shape,) if isinstance(shape, int) else tuple(shape)
            return _core.tensor(dtype, _core.full(leaf_t(dtype), value, _count(shape)), shape)
        if describe(dtype)[3][:1] == (-1,):
            if isinstance(shape, int):
                raise TypeError(f"{dtype.__name__}: the shape must have a length for each dimension")
            lanes = _check_shape(dtype, shape)
            return _core.from_entries(dtype, [_core.full(leaf_t(dtype), value, lanes)] * shape[0])
        return _core.full(dtype, value, _check_shape(dtype, shape))
    if dtype in (bool, int, float):
        return dtype(value)
    make = getattr(dtype, "zero_", None)  # of structures whose fields depend on the variant
    if make is not None and value == 0:
        result = dtype()
        result.zero_(shape if isinstance(shape, int) else shape[-1])
        return result
    struct = getattr(dtype, "DRJIT_STRUCT", None)
    if isinstance(struct, dict):
        result = dtype()
        for name, tp in struct.items():
            setattr(result, name, full(tp, value, shape))
        return result
    fields = getattr(dtype, "__dataclass_fields__", None)
    if fields is not None:
        import typing
        hints = typing.get_type_hints(dtype)
        return dtype(**{n: full(hints[n], value, shape) for n in fields})
    if isinstance(dtype, type):
        return dtype()
    raise TypeError(f"'{dtype}' is no type of array")


def zeros(dtype, shape=1):
    """Zeros."""
    return full(dtype, 0 if not is_array_v(dtype) or describe(dtype)[0] != 1 else False, shape)


def ones(dtype, shape=1):
    """Ones."""
    return full(dtype, 1, shape)


def empty(dtype, shape=1):
    """An array whose elements are yet to be written: zeros."""
    r = zeros(dtype, shape)
    for a in leaves(r):
        _core.opaque(a)
    return r


def _shape_of(a):
    return tuple(a.shape)


def full_like(a, value): return full(type(a), value, _shape_of(a) if isinstance(a, ArrayBase) else 1)
def zeros_like(a): return full_like(a, 0)
def ones_like(a): return full_like(a, 1)
def empty_like(a): return empty(type(a), _shape_of(a))


def opaque(dtype, value, shape=1):
    """Like `full`, but data: another value does not mean another program."""
    r = full(dtype, value, shape)
    for a in leaves(r):
        _core.opaque(a)
    return r


def _as_tensor(dtype, array, shape):
    return _core.tensor(dtype, array, shape) if is_tensor_v(dtype) else array


def arange(dtype, start=None, stop=None, step=1, *, size=None):
    """Numbers from `start` (0) up to but without `stop`, `step` apart."""
    if size is not None:
        stop = size
    if stop is None:
        start, stop = 0, start
    elif start is None:
        start = 0
    if dtype in (int, float):
        raise TypeError("arange(): an array type is needed")
    n = builtins.max(0, math.ceil((stop - start) / step))
    leaf = leaf_t(dtype)
    if describe(dtype)[3]:
        raise TypeError(f"arange(): {dtype.__name__} has more than one dimension")
    if n == 0:
        r = leaf()
    else:
        index = _core.lane_index(n)
        if is_float_v(dtype):
            r = leaf(index)
            r = r if start == 0 and step == 1 else _core.fma(r, step, start)
        else:
            r = leaf(index)
            r = r if step == 1 else r * step
            r = r if start == 0 else r + start
    return _as_tensor(dtype, r, (n,))


def linspace(dtype, start, stop, num=1, endpoint=True):
    """`num` numbers from `start` to `stop`, evenly spaced."""
    leaf = leaf_t(dtype)
    if num == 1:
        r = leaf(start)
    else:
        n = num - 1 if endpoint else num
        index = leaf(_core.lane_index(num))
        r = _core.fma(index, (stop - start) / n, start)
    return _as_tensor(dtype, r, (num,))


def meshgrid(*args, indexing="xy"):
    """Coordinates of all points of a grid; the last array varies slowest ("xy") or fastest ("ij")."""
    if indexing not in ("xy", "ij"):
        raise ValueError("meshgrid(): indexing must be 'xy' or 'ij'")
    if not args:
        return ()
    if len(args) == 1:
        return (args[0],)
    total = 1
    for a in args:
        total *= len(a)
    index = _core.lane_index(total)
    order = list(args) if indexing == "xy" else list(args)[::-1]  # fastest first
    out = []
    for k, a in enumerate(order):
        n = len(a)
        if k == len(order) - 1:
            i = index
        else:
            q = index // n
            i = index - q * n
            index = q
        out.append(_core.gather(type(a), a, i, None))
    return tuple(out if indexing == "xy" else out[::-1])


def shape(a):
    """Lengths of all dimensions; of a ragged structure None."""
    if isinstance(a, ArrayBase):
        return _core.shape(a)
    if hasattr(a, "shape"):
        return tuple(a.shape)
    if isinstance(a, (list, tuple)):
        inner = {shape(x) for x in a}
        if len(inner) > 1:
            return None
        return (len(a), *(inner.pop() if inner else ()))
    return ()


def width(*args):
    """Lanes of an array or structure of arrays."""
    w = None
    for a in leaves(args):
        w = builtins.max(w or 0, _core.width(a))
    return 1 if w is None else w


def opaque_width(arg):
    """The width as an array of one element that is data."""
    return opaque(_core.classes["UInt"], width(arg))
