# jit/_memory.py: reading and writing elements by index, and rearranging them.
import builtins
import enum

from .. import _core
from ._create import full, zeros
from ._tensor import _count, _strides
from ._tree import children, leaves, map_leaves, rebuild
from ._types import (ArrayBase, Array, Tensor, array_t, describe, is_array_v, is_mask_v, is_struct_v, is_tensor_v,
                     leaf_t, replace_type_t, tensor_t)

UInt = _core.classes["UInt"]


class ReduceOp(enum.IntEnum):
    """How several values become one."""
    Identity, Add, Mul, Min, Max, And, Or = range(7)


class ReduceMode(enum.IntEnum):
    """How a scatter-reduce is carried out. Umbel chooses by itself; the names are accepted."""
    Auto, Direct, Local, NoConflicts, Permute, Expand = range(6)


def _mask(active):
    return None if active is True else active


def gather(dtype, source, index, active=True, mode=ReduceMode.Auto, shape=None):
    """Elements of `source` at `index`. Of a flat source a type of n entries reads n elements in a row; structures
    are read field by field. Lanes outside `active` read 0."""
    if isinstance(source, ArrayBase):
        if is_tensor_v(source):
            source = _core.tensor_array(source)
        if is_tensor_v(dtype):
            leaf = leaf_t(dtype)
            if is_tensor_v(index):
                r = _core.gather(leaf, source, _core.tensor_array(index), _mask(active))
                return _core.tensor(dtype, r, tuple(index.shape))
            r = _core.gather(leaf, source, index, _mask(active))
            return _core.tensor(dtype, r, (len(r),))
        return _core.gather(dtype, source, index, _mask(active))
    kids = children(source)
    if kids is None:
        if isinstance(source, (int, float)):
            return source
        raise TypeError(f"gather(): cannot read from an object of type '{type(source).__name__}'")
    return rebuild(source, [gather(type(v), v, index, active, mode) for _, v in kids])


def _scatter(what, target, value, index, active, op):
    if isinstance(target, ArrayBase):
        if is_tensor_v(value):
            value = _core.tensor_array(value)
        _core.scatter(target, value, index, _mask(active), int(op))
        return
    a, b = children(target), children(value)
    if a is None or b is None or len(a) != len(b):
        raise TypeError(f"{what}(): cannot write a '{type(value).__name__}' into a '{type(target).__name__}'")
    for (_, t), (_, v) in zip(a, b):
        if isinstance(t, ArrayBase) or children(t) is not None:
            _scatter(what, t, v, index, active, op)


def scatter(target, value, index, active=True, mode=ReduceMode.Auto):
    """target[index] = value, in place. Which of several lanes that hit one element wins is not fixed."""
    _scatter("scatter", target, value, index, active, 0)


def scatter_reduce(op, target, value, index, active=True, mode=ReduceMode.Auto):
    """target[index] = op(target[index], value), in place."""
    _scatter("scatter_reduce", target, value, index, active, op)


def scatter_add(target, value, index, active=True, mode=ReduceMode.Auto):
    """target[index] += value, in place, for each lane."""
    _scatter("scatter_add", target, value, index, active, ReduceOp.Add)


def scatter_inc(target, index, active=True):
    """Adds 1 to target[index] and returns what was there before."""
    return _core.scatter_inc(target, index, _mask(active))


def scatter_add_kahan(target_1, target_2, value, index, active=True):
    """A sum whose rounding errors go to a second array: here sums are accumulated in double precision."""
    _scatter("scatter_add_kahan", target_1, value, index, active, ReduceOp.Add)


# ---- shapes of arrays

def ravel(array, order="A", return_dim=False):
    """All elements in a row: of nested arrays lane by lane (order "F", default), of tensors as they are ("C")."""
    if is_tensor_v(array):
        r = _core.tensor_array(array)
        if order == "F":
            from ._tensor import transpose
            r = _core.tensor_array(transpose(array))
        return r
    if not isinstance(array, ArrayBase):
        return array
    if not describe(type(array))[3]:
        return array
    entries = _core.entries(array)
    lanes, n = _core.width(array), len(entries)
    if lanes == 0 or n == 0:
        return leaf_t(array)()
    if lanes == 1 and n == 1:
        return entries[0]
    target = _core.full(leaf_t(array), False if is_mask_v(array) else 0, lanes * n)
    index = _core.lane_index(lanes)
    for k, e in enumerate(entries):
        _core.scatter(target, e, index * n + k if order != "C" else index + k * lanes, None, 0)
    return target


def unravel(dtype, array, order="A"):
    """The inverse of ravel."""
    if is_tensor_v(dtype):
        return dtype(array)
    if not describe(dtype)[3]:
        return dtype(array)
    if is_tensor_v(array):
        array = _core.tensor_array(array)
    n = 1
    for d in describe(dtype)[3]:
        n *= d
    if n < 0:
        raise TypeError(f"unravel(): {dtype.__name__} leaves the number of its entries open")
    total = len(array)
    if total % n:
        raise ValueError(f"unravel(): {total} elements cannot be split into entries of {dtype.__name__}")
    lanes = total // n
    if order == "C":
        index = _core.lane_index(lanes)
        return _core.from_entries(dtype, [_core.gather(type(array), array, index + k * lanes, None)
                                          for k in range(n)])
    return _core.gather(dtype, array, _core.lane_index(lanes), None)


def slice(value, index=None):
    """Element `index` of every array of a structure, as Python's numbers and lists."""
    if isinstance(value, ArrayBase):
        d = describe(type(value))[3]
        if not d and not is_tensor_v(value):
            if index is None:
                if len(value) != 1:
                    raise IndexError("slice(): which element? The array has more than one")
                index = 0
            return value[index if len(value) > 1 else 0]
        lane = index or 0
        entries = [_core.element(value, k, lane) for k in range(len(_core.entries(value)))]
        return array_t(value)(entries) if len(d) == 1 else type(value)(*entries)
    kids = children(value)
    return value if kids is None else rebuild(value, [slice(v, index) for _, v in kids])


def _remap(array, n, f):
    return _core.gather(type(array), array, f(_core.lane_index(n)), None)


def tile(array, reps):
    """The array, `reps` times in a row; of a tensor, a number for each dimension."""
    if is_tensor_v(array):
        reps = (reps,) if isinstance(reps, int) else tuple(reps)
        shape = tuple(array.shape)
        n = builtins.max(len(reps), len(shape))
        reps, shape = (1,) * (n - len(reps)) + reps, (1,) * (n - len(shape)) + shape
        out = tuple(r * s for r, s in zip(reps, shape))
        strides, rest, index = _strides(shape), _core.lane_index(_count(out)), None
        for i in range(n - 1, -1, -1):
            q = rest // out[i] if i else rest
            place = (rest - q * out[i] if i else rest) % shape[i]
            rest = q
            term = place * strides[i]
            index = term if index is None else index + term
        return _core.tensor(type(array), _core.gather(leaf_t(array), _core.tensor_array(array), index, None), out)
    if not isinstance(array, ArrayBase):
        kids = children(array)
        return array if kids is None else rebuild(array, [tile(v, reps) for _, v in kids])
    n = _core.width(array)
    return _remap(array, n * reps, lambda i: i % n)


def repeat(array, reps, axis=None):
    """Each element `reps` times."""
    if is_tensor_v(array):
        shape = tuple(array.shape)
        if axis is None:
            flat = _core.tensor_array(array)
            r = repeat(flat, reps)
            return _core.tensor(type(array), r, (len(r),))
        from ._tensor import _axis
        axis = _axis(axis, len(shape))
        index = _core.lane_index(shape[axis] * reps) // reps
        return array[tuple([builtins.slice(None)] * axis + [index])]
    if not isinstance(array, ArrayBase):
        kids = children(array)
        return array if kids is None else rebuild(array, [repeat(v, reps) for _, v in kids])
    n = _core.width(array)
    return _remap(array, n * reps, lambda i: i // reps)


def reinterpret_array(dtype, value):
    """The same bits as elements of another type of the same width."""
    e = describe(dtype)[0]
    if not isinstance(value, ArrayBase):  # lanes that refer to objects, by number
        value = value.index
    r = _core.bitcast(value, e)
    return r if type(r) is dtype else dtype(r)


def copy(value):
    """A copy; arrays of a structure no longer share later changes."""
    return map_leaves(_core.copy, value)


def compress(mask):
    """Numbers of the lanes where the mask holds. Waits, since the size depends on data."""
    return _core.compress(mask)


def argsort(value, axis=-1, descending=False, stable=True):
    """Order in which the elements are sorted."""
    if is_tensor_v(value):
        return _along(value, axis, lambda a: argsort(a, descending=descending))
    return _core.sort_permutation(value, descending)


def sort(value, axis=-1, descending=False, stable=True):
    """The elements in order."""
    if is_tensor_v(value):
        return _along(value, axis, lambda a: sort(a, descending=descending))
    return _core.gather(type(value), value, _core.sort_permutation(value, descending), None)


def _along(value, axis, f):
    """A function of one-dimensional arrays, applied along an axis of a tensor."""
    from ._tensor import _axis, concat, moveaxis, reshape
    shape = tuple(value.shape)
    axis = _axis(axis, len(shape))
    if len(shape) == 1:
        r = f(_core.tensor_array(value))
        return _core.tensor(tensor_t(r), r, (len(r),))
    moved = moveaxis(value, axis, -1) if axis != len(shape) - 1 else value
    n = shape[axis]
    flat = _core.tensor_array(moved)
    rows = [f(flat[i:i + n]) for i in range(0, len(flat), n)]
    r = concat(rows)
    out = _core.tensor(tensor_t(r), r, tuple(moved.shape))
    return moveaxis(out, -1, axis) if axis != len(shape) - 1 else out


def binary_search(start, end, pred):
    """The first index in [start, end) where `pred` no longer holds; it must hold up to there."""
    if not isinstance(start, ArrayBase) and not isinstance(end, ArrayBase):
        probe = pred(start)
        if isinstance(probe, ArrayBase):
            iterations = (end - start).bit_length()
            tp = replace_type_t(type(probe), 7)
            low, high = full(tp, start, len(probe)), full(tp, end, len(probe))
        else:
            while start < end:
                mid = (start + end) // 2
                if pred(mid):
                    start = mid + 1
                else:
                    end = mid
            return start
    else:
        tp = type(start) if isinstance(start, ArrayBase) else type(end)
        low, high = tp(start), tp(end)
        from ._reduce import max
        iterations = int(max(high - low)[0]).bit_length() if not _core.is_recording() else 32

    def body(state):
        i, lo, hi = state
        mid = (lo + hi) >> 1
        open_ = lo < hi
        hold = pred(mid) & open_
        return [i + 1, _core.select(hold, mid + 1, lo), _core.select(open_ & ~hold, mid, hi)]
    if iterations == 0:
        return low
    return _core.loop("binary_search", [UInt(0), low, high], lambda s: s[0] < iterations, body)[1]


class Local:
    """A small array of each lane's own, indexed at run time: alloc_local()."""

    def __init__(self, dtype, size, value=None):
        self._dtype, self._size = dtype, size
        start = zeros(dtype) if value is None else value
        self._value = map_leaves(lambda a: _core.local_array(a, size), start)

    def __len__(self): return self._size

    def read(self, index, active=True):
        """Element `index`; 0 out of range."""
        return map_leaves(lambda a: _core.local_get(a, index, _mask(active)), self._value)

    def write(self, value, index, active=True):
        """Replaces element `index`."""
        def put(a, v):
            _core.local_set(a, index, v, _mask(active))
            return a
        map_leaves(put, self._value, value)

    __getitem__ = read

    def __setitem__(self, index, value): self.write(value, index)

    DRJIT_STRUCT = {"_value": None}


def alloc_local(dtype, size, value=None):
    """A local array of `size` elements: registers or stack, not memory of the program."""
    return Local(dtype, size, value)
