# jit/_reduce.py: sums, extrema, prefix sums: over entries, lanes, axes, and structures.
import builtins
import functools
import math

from .. import _core
from ._grad import of_nothing
from ._hooks import ArgumentError, ShapeError
from ._memory import ReduceMode, ReduceOp
from ._tensor import _axis, _count, transpose
from ._tree import children
from ._types import (ArrayBase, Tensor, VarType, array_t, describe, is_array_v, is_float_v, is_mask_v, is_tensor_v,
                     is_host_v, leaf_t, like, replace_type_t, tensor_t)

ops = _core.ops
UInt = _core.classes["UInt"]
_binary = {ReduceOp.Add: ops["Add"], ReduceOp.Mul: ops["Mul"], ReduceOp.Min: ops["Min"], ReduceOp.Max: ops["Max"],
           ReduceOp.And: ops["And"], ReduceOp.Or: ops["Or"]}
_python = {ReduceOp.Add: lambda a, b: a + b, ReduceOp.Mul: lambda a, b: a * b,
           ReduceOp.Min: lambda a, b: _core.minimum(a, b), ReduceOp.Max: lambda a, b: _core.maximum(a, b),
           ReduceOp.And: lambda a, b: a & b, ReduceOp.Or: lambda a, b: a | b}


_add = ops["Add"]
_vectors = {c for c in _core.classes.values()  # numbers in a fixed number of entries: the usual case
            if describe(c)[0] > 1 and describe(c)[1] == 0 and len(describe(c)[3]) == 1 and describe(c)[3][0] > 0}


def _neutral(op, tp):
    from ._types import largest, smallest
    if op == ReduceOp.Add or op == ReduceOp.Or:
        return False if describe(tp)[0] == 1 else 0
    if op == ReduceOp.Mul:
        return 1
    if op == ReduceOp.And:
        return True if describe(tp)[0] == 1 else largest(tp) if describe(tp)[0] in (3, 5, 7, 9) else -1
    if is_float_v(tp):
        return math.inf if op == ReduceOp.Min else -math.inf
    return largest(tp) if op == ReduceOp.Min else smallest(tp)


def _lanes(op, a):
    """Over the lanes of each entry; an empty array gives the neutral element."""
    tp = type(a)
    if _core.width(a) == 0:
        return of_nothing(tp(_neutral(op, tp))) if _core.sizes(a) else a  # no entries, so no lanes of them
    return _core.reduce(int(op), a)


def _keep(a, axis, r):
    """A reduced tensor with dimensions of length 1 in the places of those that went."""
    shape = tuple(a.shape)
    n = len(shape)
    axes = range(n) if axis is None or axis is ... else {_axis(x, n) for x in ((axis,) if isinstance(axis, int) else axis)}
    return _core.tensor(type(r), _core.tensor_array(r), tuple(1 if i in axes else s for i, s in enumerate(shape)))


def _tensor(op, a, axis):
    shape = tuple(a.shape)
    n = len(shape)
    tp = type(a)
    axes = list(range(n)) if axis is None else sorted({_axis(x, n) for x in ((axis,) if isinstance(axis, int) else axis)})
    if not axes:
        return a
    keep = [i for i in range(n) if i not in axes]
    leaf = leaf_t(tp)
    out = tuple(shape[i] for i in keep)
    if not keep:
        return _core.tensor(tp, _lanes(op, _core.tensor_array(a)), ())
    if _count(shape) == 0:
        return of_nothing(_core.tensor(tp, _core.full(leaf, _neutral(op, tp), _count(out)), out))
    if axes != list(range(len(keep), n)):
        a = transpose(a, keep + axes)
    block = _count(shape[i] for i in axes)
    array = _core.tensor_array(a)
    return _core.tensor(tp, array if block == 1 else _core.block_reduce(int(op), array, block), out)


def reduce(op, value, axis=..., mode=ReduceMode.Auto, keepdims=False):
    """Combines values along an axis: by default the first one, all of a tensor. None: all."""
    if axis is ... and not keepdims and type(value) in _vectors:
        return _core.fold(_binary[op], value)
    op = ReduceOp(op)
    if keepdims and isinstance(value, ArrayBase) and not is_tensor_v(value):
        depth = len(_core.shape(value))
        if (0 if axis is ... else axis) not in (-1, depth - 1):
            raise ShapeError("'keepdims=True' is only supported for tensors and for reductions over lanes")
    if keepdims and is_tensor_v(value):
        return _keep(value, axis, reduce(op, value, axis, mode))
    if isinstance(value, ArrayBase):
        if is_tensor_v(value):
            return _tensor(op, value, None if axis is ... else axis)
        dims = describe(type(value))[3]
        host = is_host_v(value)
        depth = len(dims) + (not host)
        if axis is ...:
            axis = 0
        axes = list(range(depth)) if axis is None else sorted(
            {_axis(x, depth) for x in ((axis,) if isinstance(axis, int) else axis)})
        if depth - 1 in axes and not host:
            wide = _core.width(value) if dims else 0
            parts = _core.sizes(value)
            if dims and builtins.any(s != wide for s in parts) and wide > 1:  # entries of one lane stand for all
                value = value + _core.full(leaf_t(value), 0, wide) if not is_mask_v(value) else \
                    value | _core.full(leaf_t(value), False, wide)
            value = _lanes(op, value)
            axes.remove(depth - 1)
        for x in reversed(axes):
            value = _fold(op, value, x)
        return value
    if isinstance(value, (bool, int, float)):
        return value
    kids = children(value)
    if kids is not None:
        values = [v for _, v in kids]
        if axis is not None and axis is not ... and axis != 0:
            return [reduce(op, v, axis - 1 if isinstance(axis, int) else axis) for v in values]
        if axis is None:
            values = [reduce(op, v, None) for v in values]
        if not values:
            return {ReduceOp.Add: 0, ReduceOp.Mul: 1, ReduceOp.And: True, ReduceOp.Or: False,
                    ReduceOp.Min: math.inf, ReduceOp.Max: -math.inf}[op]
        return _combine(op, values)
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise ArgumentError(f"a reduction of an object of type '{type(value).__name__}' is not defined")
    return _combine(op, list(value))


def _combine(op, values):
    try:
        return functools.reduce(_python[op], values)
    except TypeError as e:
        raise ArgumentError(f"the entries cannot be combined: {e}") from e


def _fold(op, value, axis):
    if axis == 0:
        if describe(type(value))[1] not in (0,):
            e, _, _, dims = describe(type(value))
            value = _core.from_entries(like(value, dims), _core.entries(value))
        if len(value) == 0:
            neutral = _neutral(op, type(value))
            return neutral if is_host_v(value) else _core.entry_of(type(value))(neutral)
        return _core.fold(_binary[op], value)
    parts = [_fold(op, value[i], axis - 1) for i in range(len(value))]
    e, dims = describe(type(value))[0], list(describe(type(value))[3])
    del dims[axis]
    return like(value, tuple(dims))(parts)


def sum(value, axis=..., mode=ReduceMode.Auto, keepdims=False):
    """Sum along an axis."""
    if axis is ... and not keepdims and type(value) in _vectors:
        return _core.fold(_add, value)
    if isinstance(value, ArrayBase) and is_mask_v(value):
        value = replace_type_t(type(value), VarType.UInt32)(value)
    return reduce(ReduceOp.Add, value, axis, mode, keepdims)


def prod(value, axis=..., mode=ReduceMode.Auto, keepdims=False):
    """Product along an axis."""
    return reduce(ReduceOp.Mul, value, axis, mode, keepdims)


def min(value, axis=..., mode=ReduceMode.Auto, keepdims=False):
    """Minimum along an axis."""
    return reduce(ReduceOp.Min, value, axis, mode, keepdims)


def max(value, axis=..., mode=ReduceMode.Auto, keepdims=False):
    """Maximum along an axis."""
    return reduce(ReduceOp.Max, value, axis, mode, keepdims)


def all(value, axis=..., keepdims=False, mode=ReduceMode.Auto):
    """Whether all hold, along an axis."""
    return reduce(ReduceOp.And, _mask(value), axis, mode, keepdims)


def any(value, axis=..., keepdims=False, mode=ReduceMode.Auto):
    """Whether any holds, along an axis."""
    return reduce(ReduceOp.Or, _mask(value), axis, mode, keepdims)


def none(value, axis=..., keepdims=False, mode=ReduceMode.Auto):
    """Whether none holds, along an axis."""
    r = any(value, axis, keepdims, mode)
    return ~r if isinstance(r, ArrayBase) else not r


def _mask(value):
    if isinstance(value, ArrayBase) and not is_mask_v(value) or isinstance(value, (int, float)) and \
            not isinstance(value, bool):
        raise ArgumentError(f"a mask is needed, not {type(value).__name__}; compare it first")
    return value


def count(value, axis=..., keepdims=False, mode=ReduceMode.Auto):
    """How many hold, along an axis."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, ArrayBase):
        if not is_mask_v(value):
            raise ArgumentError(f"count(): a mask is needed, not {type(value).__name__}")
        dims = describe(type(value))[3]
        if len(dims) > 1 and _core.with_type(type(value), 7) is None:  # there are no such arrays of integers
            if axis not in (..., 0, None):
                raise ShapeError(f"count(): of a {type(value).__name__} along its first axis, or of all, not {axis}")
            rows = [count(value[i], None) if axis is None else
                    replace_type_t(type(value[i]), VarType.UInt32)(value[i]) for i in range(len(value))]
            return _combine(ReduceOp.Add, rows)
        value = replace_type_t(type(value), VarType.UInt32)(value)
        return sum(value, axis, mode, keepdims)
    return _combine(ReduceOp.Add, [0, *(replace_type_t(type(x), VarType.UInt32)(x) if isinstance(x, ArrayBase) else
                                        1 if x else 0 for x in value)])


def all_nested(value):
    """Whether all entries of all dimensions hold."""
    return all(value, axis=None)


def any_nested(value):
    """Whether an entry of any dimension holds."""
    return any(value, axis=None)


def none_nested(value):
    """Whether no entry of any dimension holds."""
    return none(value, axis=None)


def sum_nested(value):
    """The sum over all dimensions."""
    return sum(value, axis=None)


def prod_nested(value):
    """The product over all dimensions."""
    return prod(value, axis=None)


def min_nested(value):
    """The smallest entry of all dimensions."""
    return min(value, axis=None)


def max_nested(value):
    """The largest entry of all dimensions."""
    return max(value, axis=None)


def _number_of(value, axis):
    if isinstance(value, ArrayBase):
        shape = _core.shape(value)
        if axis is ...:
            return shape[0] if not is_tensor_v(value) else _count(shape)
        if axis is None:
            return _count(shape)
        axes = (axis,) if isinstance(axis, int) else axis
        return _count(shape[x] for x in axes)
    return len(value)


def mean(value, axis=..., mode=ReduceMode.Auto, keepdims=False):
    """Mean along an axis."""
    if isinstance(value, (int, float)):
        return float(value)
    s = sum(value, axis, mode, keepdims)
    if _core.is_freezing() and isinstance(value, ArrayBase) and _core.describe(type(value))[1] == 4:
        one = len(value.shape) == 1
    else:
        one = isinstance(value, ArrayBase) and not _core.describe(type(value))[3]
    if one and isinstance(s, ArrayBase) and is_float_v(s) and _core.is_freezing():
        return s / type(s)(_core.recorded_size(value))  # that of each replay
    n = _number_of(value, axis)
    return s * (1 / n) if n and isinstance(s, ArrayBase) and is_float_v(s) else s / n


def var(value, axis=..., mode=ReduceMode.Auto, keepdims=False, ddof=0):
    """Variance along an axis: of the values at hand, or with ddof=1 an estimate from a sample."""
    if isinstance(value, (list, tuple)) and not builtins.any(isinstance(x, ArrayBase) for x in value):
        m = mean(value)
        return builtins.sum((x - m) ** 2 for x in value) / (len(value) - ddof)
    m = mean(value, axis, mode, keepdims=True) if is_tensor_v(value) else mean(value, axis, mode)
    d = value - m
    n = _number_of(value, axis)
    return sum(d * d, axis, mode, keepdims) * (1 / (n - ddof) if n > ddof else math.nan)


def std(value, axis=..., mode=ReduceMode.Auto, keepdims=False, ddof=0):
    """Standard deviation along an axis."""
    return _core.sqrt(var(value, axis, mode, keepdims, ddof))


def median(value, axis=-1, keepdims=False, return_index=False):
    """The middle value along an axis (None: of all elements); of an even number, the lesser of the two in the middle.
    With `return_index`, also its place."""
    def middle(a):
        n = len(a)
        if n == 0:
            return UInt(0) if return_index == "only" else type(a)(math.nan)
        place = _core.gather(UInt, _core.sort_permutation(a, False), (n - 1) // 2, None)
        return place if return_index == "only" else _core.gather(type(a), a, place, None)
    if return_index is True:
        return median(value, axis, keepdims), median(value, axis, keepdims, "only")
    if not is_tensor_v(value):
        return middle(value)
    if axis is None or len(value.shape) == 1:
        r = middle(_core.tensor_array(value))
        return _kept(value, axis, keepdims, _core.tensor(tensor_t(r), r, ()))
    return _kept(value, axis, keepdims, _along_reduce(value, axis, middle))


def _along_reduce(value, axis, f):
    from ._tensor import concat, moveaxis
    shape = tuple(value.shape)
    axis = _axis(axis, len(shape))
    moved = moveaxis(value, axis, -1) if axis != len(shape) - 1 else value
    n, flat, rest = shape[axis], _core.tensor_array(moved), tuple(moved.shape)[:-1]
    if _count(shape) == 0:
        one = f(flat if n == 0 else _core.full(leaf_t(type(value)), 0, 1))
        r = concat([one] * builtins.max(_count(rest), 1))[:_count(rest)]
    else:
        r = concat([f(flat[i:i + n]) for i in range(0, len(flat), n)])
    return _core.tensor(tensor_t(r), r, rest)


def _arg(value, axis, best):
    if is_tensor_v(value):
        if axis is None or axis is ... or len(value.shape) == 1:
            return _arg(_core.tensor_array(value), None, best)
        return _along_reduce(value, axis, lambda a: _arg(a, None, best))
    dims = describe(type(value))[3]
    if len(value) == 0:
        raise ValueError(f"arg{best.__name__}(): an array without elements has no {best.__name__}imum")
    extreme = best(value)
    if dims:  # over the entries
        r = UInt(len(value) - 1)
        for i in range(len(value) - 2, -1, -1):
            r = _core.select(value[i] == extreme, UInt(i), r)
        return r
    n = len(value)
    index = _core.select(value == extreme, _core.lane_index(n), UInt(n - 1))
    return _core.reduce(int(ReduceOp.Min), index)


def argmin(value, axis=None, keepdims=False):
    """Place of the first minimum: in the row of all elements, or along an axis."""
    return _kept(value, axis, keepdims, _arg(value, axis, min))


def argmax(value, axis=None, keepdims=False):
    """Place of the first maximum: in the row of all elements, or along an axis."""
    return _kept(value, axis, keepdims, _arg(value, axis, max))


def _kept(value, axis, keepdims, r):
    """The result with dimensions of length 1 in the places of those that went, where that is asked for."""
    if not keepdims or not is_tensor_v(value):
        return r
    return _keep(value, axis, r if is_tensor_v(r) else _core.tensor(tensor_t(r), r, ()))


# ---- runs and prefixes

def block_reduce(op, value, block_size, mode=ReduceMode.Auto):
    """One result for each run of `block_size` elements."""
    if block_size == 1:
        return value
    return _core.block_reduce(int(op), value, block_size)


def block_sum(value, block_size, mode=ReduceMode.Auto):
    """Sums of blocks of neighbours."""
    return block_reduce(ReduceOp.Add, value, block_size)


def prefix_reduce(op, value, axis=0, exclusive=True, reverse=False):
    """Combines each element with all before it, without (exclusive) or with itself."""
    return block_prefix_reduce(op, value, 0, exclusive, reverse, axis)


def block_prefix_reduce(op, value, block_size, exclusive=True, reverse=False, axis=0):
    """prefix_reduce within runs of `block_size` elements."""
    op = ReduceOp(op)
    if is_tensor_v(value):
        from ._tensor import moveaxis
        shape = tuple(value.shape)
        k = _axis(axis, len(shape))
        last = len(shape) - 1
        moved = moveaxis(value, k, -1) if k != last else value
        array = _core.tensor_array(moved)
        r = block_prefix_reduce(op, array, block_size or shape[k], exclusive, reverse)
        out = _core.tensor(type(value), r, tuple(moved.shape))
        return moveaxis(out, -1, k) if k != last else out
    dims = describe(type(value))[3]
    if dims and axis == 0:
        entries, out, s = [value[i] for i in range(len(value))], [], None
        if reverse:
            entries.reverse()
        for x in entries:
            if exclusive:
                out.append(s if s is not None else _neutral(op, type(value)) if is_host_v(value) else
                           type(x)(_neutral(op, type(value))))
            s = x if s is None else _python[op](s, x)
            if not exclusive:
                out.append(s)
        return type(value)(out[::-1] if reverse else out)
    n = _core.width(value)
    if n == 0:
        return value
    block = block_size or n
    if reverse:
        index = _core.lane_index(n)
        first = index // block * block
        flip = first + _core.binary(ops["Min"], first + block, UInt(n)) - 1 - index  # the last block may be shorter
        value = _core.gather(type(value), value, flip, None)
    if op == ReduceOp.Add:
        r = _core.prefix_sum(value, exclusive, 0 if block == n else block)
    else:  # by doubling: log2(n) steps, each a gather
        index = _core.lane_index(n)
        place, distance, r = index % block, 1, value
        while distance < block:
            inside = place >= distance
            before = _core.gather(type(r), r, _core.select(inside, index - distance, index), None)
            r = _core.select(inside, _core.binary(_binary[op], r, before), r)
            _core.eval([r])
            distance *= 2
        if exclusive:
            before = _core.gather(type(r), r, _core.select(place > 0, index - 1, index), None)
            r = _core.select(place > 0, before, type(r)(_neutral(op, type(r))))
    return _core.gather(type(r), r, flip, None) if reverse else r


def prefix_sum(value, axis=0, reverse=False):
    """Sums of all entries before each one."""
    return prefix_reduce(ReduceOp.Add, value, axis, True, reverse)


def cumsum(value, axis=0, reverse=False):
    """Sums of all entries up to each one, with it."""
    return prefix_reduce(ReduceOp.Add, value, axis, False, reverse)


def block_prefix_sum(value, block_size, exclusive=True, reverse=False):
    """Sums of the entries before each one in its block."""
    return block_prefix_reduce(ReduceOp.Add, value, block_size, exclusive, reverse)
