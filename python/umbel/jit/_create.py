# jit/_create.py: making arrays.
import builtins
import math

from .. import _core
from ._hooks import ShapeError
from ._types import (ArrayBase, Matrix, Tensor, array_t, describe, is_array_v, is_float_v, is_host_v, is_mask_v,
                     is_struct_v, is_tensor_v, leaf_t, tensor_t, value_t)
from ._tree import _fields, empty as no_entries, leaves, map_leaves


def _count(shape):
    n = 1
    for s in shape:
        n *= s
    return n


def _check_shape(dtype, shape):
    """Lengths of the dimensions, and lanes, of an object of this shape: an int, or one length for each dimension."""
    dims = describe(dtype)[3]
    if is_host_v(dtype):  # no lanes
        if isinstance(shape, int):
            return tuple(shape if d < 0 else d for d in dims), 1
        dims, shape = dims[:-1], tuple(shape)
        lanes = describe(dtype)[3][-1]
        if lanes not in (-1, shape[-1] if shape else None):
            dims = None
    elif isinstance(shape, int):
        return tuple(1 if d < 0 else d for d in dims), shape
    shape = tuple(shape)
    if dims is None or len(shape) != len(dims) + 1 or builtins.any(d not in (-1, s) for d, s in zip(dims, shape)):
        raise ShapeError(f'{dtype.__name__}: the provided "shape" and "dtype" parameters are incompatible. '
                         f'The shape is {shape}; see umbel.jit.shape() of an object of the type')
    return (shape, 1) if is_host_v(dtype) else (shape[:-1], shape[-1])


_usual = {c for c in _core.classes.values()
          if describe(c)[1] not in (Matrix, Tensor) and builtins.all(d > 0 for d in describe(c)[3])}


def full(dtype, value, shape=1):
    """An array (or structure of arrays) filled with a constant, which is part of the program."""
    if dtype in _usual and type(shape) is int:
        return _core.full(dtype, value, shape)
    if isinstance(dtype, ArrayBase):
        dtype = type(dtype)
    if is_array_v(dtype):
        if is_tensor_v(dtype):
            shape = (shape,) if isinstance(shape, int) else tuple(shape)
            return _core.tensor(dtype, _core.full(leaf_t(dtype), value, _count(shape)), shape)
        dims, lanes = _check_shape(dtype, shape)
        if 0 in dims:
            return dtype()
        open_or_matrix = dims and (describe(dtype)[3][0] < 0 or describe(dtype)[1] == Matrix)
        if not open_or_matrix or not isinstance(value, (bool, int, float)):
            return _core.full(dtype, value, lanes)
        return _core.from_entries(dtype, [_core.full(leaf_t(dtype), value, lanes)] * _count(dims))
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
    if dtype in _usual and type(shape) is int:
        return _core.full(dtype, 0, shape)
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


def full_like(a, value, dtype=None, shape=None):
    """An array, or a structure of arrays, of the type and shape of another one, filled with a constant."""
    def one(x):
        tp = type(x) if dtype is None else dtype
        return full(tp, value if not is_mask_v(tp) else bool(value), tuple(x.shape) if shape is None else shape)
    return map_leaves(one, a) if not isinstance(a, (bool, int, float)) else type(a)(value)


def zeros_like(a, dtype=None, shape=None):
    """Zeros of the type and shape of another array."""
    return full_like(a, 0, dtype, shape)


def ones_like(a, dtype=None, shape=None):
    """Ones of the type and shape of another array."""
    return full_like(a, 1, dtype, shape)


def empty_like(a, dtype=None, shape=None):
    """An array of the type and shape of another one, whose elements are yet to be written."""
    r = full_like(a, 0, dtype, shape)
    for x in leaves(r):
        _core.opaque(x)
    return r


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
    if not is_array_v(dtype):
        raise TypeError("arange(): an array type is needed")
    if is_mask_v(dtype):
        raise TypeError(f"arange(): {dtype.__name__} must be an arithmetic type")
    n = builtins.max(0, math.ceil((stop - start) / step))
    if is_host_v(dtype) and describe(dtype)[3] == (-1,):
        return dtype([start + i * step for i in range(n)])
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
    if not is_float_v(dtype):
        raise TypeError(f"linspace(): {dtype.__name__} must be a floating point type")
    if num == 0:
        return _as_tensor(dtype, leaf_t(dtype)(), (0,))
    if is_host_v(dtype) and describe(dtype)[3] == (-1,):
        n = num - 1 if endpoint else num
        return dtype([start + i * (stop - start) / n if n else start for i in range(num)])
    leaf = leaf_t(dtype)
    if num == 1:
        r = leaf(start)
    else:
        n = num - 1 if endpoint else num
        index = leaf(_core.lane_index(num))
        r = _core.fma(index, (stop - start) / n, start)
    return _as_tensor(dtype, r, (num,))


def meshgrid(*args, indexing="xy"):
    """Coordinates of all points of a grid. The first array varies slowest with "ij"; "xy" exchanges the first two."""
    if indexing not in ("xy", "ij"):
        raise ValueError("meshgrid(): indexing must be 'xy' or 'ij'")
    if not args:
        return ()
    if builtins.all(is_host_v(a) and describe(type(a))[3] == (-1,) for a in args):
        grids = meshgrid(*(leaf_t(a)(list(a)) for a in args), indexing=indexing)
        return tuple(type(a)(list(g)) for a, g in zip(args, grids if len(args) > 1 else (grids,)))
    for a in args:
        if not is_array_v(a) or describe(type(a))[3] or is_tensor_v(a):
            raise TypeError(f"meshgrid(): arrays of one dimension are needed, not {type(a).__name__}")
    if len(args) == 1:
        return args[0]
    if builtins.any(len(a) == 0 for a in args):
        return tuple(type(a)() for a in args)
    order = list(range(len(args)))
    if indexing == "xy":
        order[0], order[1] = 1, 0
    index, out = _core.lane_index(_count(len(a) for a in args)), [None] * len(args)
    for k in reversed(order):  # fastest first
        n = len(args[k])
        rest = index // n if k != order[0] else index
        out[k] = _core.gather(type(args[k]), args[k], index - rest * n if k != order[0] else index, None)
        index = rest
    return tuple(out)


def shape(arg):
    """Lengths of all dimensions; an error where the entries of a dimension differ in theirs."""
    a = arg
    if isinstance(a, ArrayBase):
        return _core.shape(a)
    if hasattr(a, "shape"):
        return tuple(a.shape)
    if isinstance(a, (list, tuple, dict)):
        inner = {shape(x) for x in a}
        if len(inner) > 1:
            raise ShapeError("shape(): the input is ragged: the shapes of its entries differ")
        return (len(a), *(inner.pop() if inner else ()))
    return ()


def width(*args):
    """Lanes of an array or structure of arrays."""
    w = None
    for a in leaves(args):
        w = builtins.max(w or 0, _core.width(a))
    if w is None:  # nothing has lanes: numbers have one, an array without entries none
        return 0 if len(args) == 1 and isinstance(args[0], ArrayBase) else 1
    return w


def with_lanes(tree, n):
    """The structure with zeros of so many lanes in the places of its arrays."""
    def one(a):
        if is_tensor_v(a):
            return zeros(type(a), (n, *(k if n == 0 else k or n for k in a.shape[1:])) if a.shape else ())
        return _core.from_entries(type(a), [zeros(type(e), n) for e in _core.entries(a)])
    return map_leaves(one, tree)


def is_empty(a):
    """Whether an array has size zero, though its type has entries."""
    return _core.width(a) == 0 and type(a) not in no_entries


def opaque_width(arg):
    """The width as an array of one element that is data."""
    return opaque(_core.classes["UInt"], width(arg))
