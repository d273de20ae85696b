# jit/_memory.py: reading and writing elements by index, and rearranging them.
import builtins

from .. import _core
from ._create import full, zeros
from ._enum import NamedInt
from ._eval import JitFlag, _own as _flags
from ._hooks import ArgumentError, PlaceError, ShapeError, host_index
from ._tensor import _count, _strides
from ._tree import children, leaves, map_leaves, rebuild
from ._types import (ArrayBase, Array, Tensor, array_t, describe, is_array_v, is_host_v, is_mask_v, is_struct_v,
                     is_tensor_v, leaf_t, like, replace_type_t, tensor_t)

UInt = _core.classes["UInt"]
_debug = JitFlag.Debug
_records = {c for c in _core.classes.values() if _core.describe(c)[1] != Tensor}  # what can be gathered at once
_flat = {c for c in _records if not _core.describe(c)[3]}


class ReduceOp(NamedInt):
    """How several values become one."""
    Identity, Add, Mul, Min, Max, And, Or = range(7)


class ReduceMode(NamedInt):
    """How a scatter-reduce is carried out. Umbel chooses by itself; the names are accepted."""
    Auto, Direct, Local, NoConflicts, Permute, Expand = range(6)


def _mask(active):
    return None if active is True else active


def _lane_index_of(index):
    if not isinstance(index, ArrayBase):
        return index if isinstance(index, int) else UInt(index)
    return index


def _checked(what, verb, size, index, active):
    """In debug mode, the mask without lanes whose index is out of range, which are reported when the kernel runs."""
    if not _flags.get(_debug) or not size:
        return active
    from ._print import report
    index = index if isinstance(index, ArrayBase) else UInt(index)
    if describe(type(index))[3]:
        return active
    index = UInt(index)
    active = _core.classes["Bool"](True) if active is True else active
    report(f"{_core.line_of_script()}: {what}(): out-of-bounds {verb} position {{}} in an array of size {size}.", index,
           active & (index >= size))
    return active & (index < size)


def gather(dtype, source, index, active=True, mode=ReduceMode.Auto, shape=None):
    """Elements of `source` at `index`. Of a flat source a type of n entries reads n elements in a row; structures
    are read field by field. Lanes outside `active` read 0."""
    if type(source) in _flat and type(index) is UInt and dtype in _records and shape is None and not _flags.get(_debug):
        return _core.gather(dtype, source, index, None if active is True else active)  # the usual case
    if isinstance(source, ArrayBase):
        if not is_array_v(dtype):
            raise TypeError(f"gather(): unsupported dtype: '{getattr(dtype, '__name__', dtype)}' is no array type")
        if is_host_v(source):
            indices = index if not isinstance(index, int) else [index]
            on = [True] * len(indices) if active is True else active
            return dtype([source[i] if m else 0 for i, m in zip(indices, on)])
        if is_tensor_v(source):
            source = _core.tensor_array(source)
        if is_tensor_v(dtype):
            leaf = leaf_t(dtype)
            if is_tensor_v(index):
                r = _core.gather(leaf, source, _core.tensor_array(index), _mask(active))
                return _core.tensor(dtype, r, tuple(index.shape))
            r = _core.gather(leaf, source, index, _mask(active))
            return _core.tensor(dtype, r, (len(r),))
        index = _lane_index_of(index)
        entries = _count(describe(dtype)[3]) if not describe(type(source))[3] else 1
        active = _checked("gather", "read from", _core.width(source) // builtins.max(entries, 1), index, active)
        return _core.gather(dtype, source, index, _mask(active), shape[0] if shape else 0)
    kids = children(source)
    if kids is None:
        raise TypeError(f"gather(): cannot read from an object of type '{type(source).__name__}'")
    return rebuild(source, [gather(type(v), v, index, active, mode) if isinstance(v, ArrayBase) or children(v) is not None
                            else v for _, v in kids])


_host_ops = (lambda a, b: b, lambda a, b: a + b, lambda a, b: a * b, builtins.min, builtins.max, lambda a, b: a & b,
             lambda a, b: a | b)


def _scatter(what, target, value, index, active, op):
    if isinstance(target, ArrayBase):
        if is_tensor_v(value):
            value = _core.tensor_array(value)
        if is_host_v(target):
            indices = [index] if isinstance(index, int) else list(index)
            values = [value] * len(indices) if isinstance(value, (bool, int, float)) else list(value)
            for k, i in enumerate(indices):
                if active is True or active[k]:
                    target[i] = _host_ops[int(op)](target[i], values[k])
            return
        index = _lane_index_of(index)
        entries = len(_core.entries(value)) if isinstance(value, ArrayBase) and not describe(type(target))[3] else 1
        active = _checked(what, "write to", _core.width(target) // builtins.max(entries, 1), index, active)
        _core.scatter(target, value, index, _mask(active), int(op))
        return
    merge = getattr(type(target), "_umbel_merge", None)  # of references to objects: numbers in one list
    if merge is not None:
        value = merge(target, value)
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


def scatter_exch(target, value, index, active=True):
    """Replaces target[index] by `value` in one atomic step and returns what was there before. Lanes that meet in one
    element follow one another, in no fixed order; those outside `active` get 0."""
    return _core.scatter_exch(target, value, _lane_index_of(index), _mask(active))


def scatter_cas(target, compare, value, index, active=True):
    """Atomic compare and swap: replaces target[index] by `value` where it equals `compare`. Returns what was there
    before and whether it was replaced."""
    return _core.scatter_cas(target, compare, value, _lane_index_of(index), _mask(active))


# ---- shapes of arrays

def _check_order(what, order):
    if order not in ("A", "C", "F"):
        raise ShapeError(f"{what}(): the order parameter must equal 'A', 'C' or 'F', not {order!r}")


def _flat_places(dims, lanes, order):
    """For each entry of a nested array, in its own order, where its lanes begin in a row and how far apart they are:
    "C" has the lanes of an entry together, "F" the entries of a lane, the first dimension fastest."""
    n = _count(dims)
    strides = _strides(dims)
    for k in range(n):
        if order == "C":
            yield k * lanes, 1
            continue
        place, step = 0, 1
        for d, stride in zip(dims, strides):
            place += k // stride % d * step
            step *= d
        yield place, n


def ravel(array, order="A", return_dim=False):
    """All elements in a row: of nested arrays lane by lane (order "F", default), of tensors as they are ("C")."""
    _check_order("ravel", order)
    if is_tensor_v(array):
        r = _core.tensor_array(array)
        if order == "F":
            from ._tensor import transpose
            r = _core.tensor_array(transpose(array))
        return r
    if not isinstance(array, ArrayBase) or not describe(type(array))[3]:
        return array
    if is_host_v(array):
        flat = _core.entries(array)
        dims = _core.shape(array)
        if len(dims) == 1 and describe(type(array))[3] == (-1,):
            return array
        places = [p for p, _ in _flat_places(dims, 1, order)]
        return _core.from_entries(like(array, (-1,)), [flat[places.index(i)] for i in range(len(flat))])
    *dims, lanes = _core.shape(array)
    entries = _core.entries(array)
    if lanes == 0 or not entries:
        return leaf_t(array)()
    if lanes == 1 and len(entries) == 1:
        return entries[0]
    target = _core.full(leaf_t(array), False if is_mask_v(array) else 0, lanes * len(entries))
    index = _core.lane_index(lanes)
    for e, (first, step) in zip(entries, _flat_places(dims, lanes, order)):
        _core.scatter(target, e, index * step + first, None, 0)
    return target


def unravel(dtype, array, order="A"):
    """The inverse of ravel."""
    _check_order("unravel", order)
    if is_tensor_v(dtype):
        return dtype(array)
    if is_tensor_v(array):
        array = _core.tensor_array(array)
    if is_host_v(dtype) and is_host_v(array):
        if type(array) is dtype:
            return array
        flat = _core.entries(array)
        if len(flat) != _count(describe(dtype)[3]):
            raise ShapeError(f"unravel(): the input array size of {len(flat)} is not divisible by the entries of {dtype.__name__}")
        return _core.from_entries(dtype, [flat[p] for p, _ in _flat_places(describe(dtype)[3], 1, order)])
    if isinstance(array, ArrayBase) and describe(type(array))[3]:
        raise TypeError(f"unravel(): expected array of type '{leaf_t(dtype).__name__}', not '{type(array).__name__}'")
    if not describe(dtype)[3]:
        return array if type(array) is dtype else dtype(array)
    n = _count(describe(dtype)[3])
    if n < 0:
        raise TypeError(f"unravel(): {dtype.__name__} leaves the number of its entries open")
    return _unravel(dtype, describe(dtype)[3], array, order)


def _unravel(dtype, dims, array, order):
    n, total = _count(dims), len(array)
    if n == 0 or total % n:
        raise ShapeError(f"unravel(): the input array size of {total} is not divisible by the {n} entries of {dtype.__name__}")
    if total == 0:
        return dtype()
    lanes = total // n
    index = _core.lane_index(lanes)
    if order != "C" and len(dims) == 1:
        return _core.gather(dtype, array, index, None, n)
    return _core.from_entries(dtype, [_core.gather(type(array), array, index * step + first, None)
                                      for first, step in _flat_places(dims, lanes, order)])


def slice(value, index=None):
    """Element `index` of every array of a structure, as Python's numbers and arrays of umbel.jit.scalar; of several
    indices, the arrays of those elements."""
    if isinstance(value, ArrayBase):
        if is_host_v(value) or is_tensor_v(value):
            return value
        several = index is not None and not isinstance(index, int)
        if several:
            known = host_index(index, _core.width(value), "slice()")
            pick = UInt(index if known is None else known.astype("uint32"))
            return _core.from_entries(type(value), [e if len(e) == 1 else _core.gather(type(e), e, pick, None)
                                                    for e in _core.entries(value)])
        lanes = _core.width(value)
        if builtins.any(n == 0 for n in _core.sizes(value)) or lanes > 1 and not -lanes <= (index or 0) < lanes:
            raise PlaceError(f"slice(): entry {index or 0} is out of bounds (the array is of size {lanes})")
        lane = (index or 0) % builtins.max(lanes, 1)
        entries = [_core.element(e, 0, lane if len(e) > 1 else 0) for e in _core.entries(value)]
        e, kind, sense, dims = describe(type(value))
        if not dims:
            return entries[0]
        tp = _core.lookup(e, kind, dims, sense, True) or _core.lookup(e, kind, dims, 0, True)
        return _core.from_entries(tp, [leaf_t(value)(x) for x in entries])
    kids = children(value)
    return value if kids is None else rebuild(value, [slice(v, index) for _, v in kids])


def _remap(array, n, f):
    lanes = _core.width(array)
    if describe(type(array))[3]:  # entries of one lane have all
        entries = [e if len(e) == lanes and lanes > 1 else _core.full(type(e), e, lanes) for e in _core.entries(array)]
        return _core.from_entries(type(array), [_remap(e, n, f) for e in entries])
    if lanes == 1:
        return _core.full(type(array), array, n)
    return _core.gather(type(array), array, f(_core.lane_index(n)), None)


def tile(value, reps):
    """The array, `reps` times in a row; of a tensor, a number for each dimension."""
    array, several = value, () if isinstance(reps, int) else tuple(reps)
    if builtins.any(r < 0 for r in several or (reps,)):
        raise ValueError(f"tile(): the number of repetitions must be non-negative, not {reps}")
    if not isinstance(array, ArrayBase):
        kids = children(array)
        return array if kids is None else rebuild(array, [tile(v, reps) for _, v in kids])
    if reps == 1:
        return array
    if not is_tensor_v(array) and len(several) > 1:
        array = tensor_t(array)(array)
    if is_tensor_v(array):
        reps = several or (reps,)
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
    reps = several[0] if several else reps
    n = _core.width(array)
    return _remap(array, n * reps, lambda i: i % n) if n * reps else type(array)()


def _repeated(n, counts):
    """For each element of the result, which of the n elements it repeats."""
    if isinstance(counts, int):
        return _core.lane_index(n * counts) // counts
    if len(counts) != n:
        raise ShapeError(f"repeat(): {len(counts)} numbers of repetitions do not match {n} elements")
    return UInt([i for i, k in enumerate(counts.numpy()) for _ in range(int(k))])


def repeat(value, repeats, axis=None):
    """Each element `repeats` times: a number, or an array with one for each element."""
    if isinstance(repeats, int) and repeats < 0:
        raise ValueError(f"repeat(): the number of repetitions must be non-negative, not {repeats}")
    array = value
    if isinstance(repeats, (list, tuple)):
        repeats = UInt(repeats)
    if not isinstance(array, ArrayBase):
        kids = children(array)
        return array if kids is None else rebuild(array, [repeat(v, repeats) for _, v in kids])
    if is_tensor_v(array):
        shape = tuple(array.shape)
        if axis is None:
            r = repeat(_core.tensor_array(array), repeats)
            return _core.tensor(type(array), r, (len(r),))
        from ._tensor import _axis
        axis = _axis(axis, len(shape))
        return array[tuple([builtins.slice(None)] * axis + [_repeated(shape[axis], repeats)])]
    if isinstance(repeats, int) and repeats == 1:
        return array
    n = _core.width(array)
    if isinstance(repeats, ArrayBase):
        index = _repeated(n, repeats)
        return _remap(array, len(index), lambda i: index) if len(index) else type(array)()
    return _remap(array, n * repeats, lambda i: i // repeats) if n * repeats else type(array)()


def reinterpret_array(dtype, value):
    """The same bits as elements of another type of the same width. Lanes that refer to objects have numbers for bits."""
    if not isinstance(value, ArrayBase):
        value = value._umbel_bits()
    if hasattr(dtype, "_umbel_from_bits"):
        return dtype._umbel_from_bits(value)
    e = describe(dtype)[0]
    from ._types import itemsize_v
    if itemsize_v(dtype) != itemsize_v(value):
        raise ShapeError("reinterpret_array(): cannot reinterpret-cast between types of different size: "
                         f"{type(value).__name__} and {dtype.__name__}")
    r = _core.bitcast(value, e)
    return r if type(r) is dtype else dtype(r)


def copy(value):
    """A copy; arrays of a structure no longer share later changes."""
    return map_leaves(_core.copy, value)


def compress(mask, size=None):
    """Numbers of the lanes where the mask holds. Waits, since their count depends on data. With a `size` nothing waits: an array of
    that size, of as many as fit and zeros after them, and their count, as an array of one element that stays where it was computed."""
    if size is not None and not (isinstance(size, int) and 0 <= size < 2 ** 32):
        raise ArgumentError(f"compress(): the size must be a number from 0 to 2**32 - 1, not {size!r}")
    if is_host_v(mask) and is_mask_v(mask):
        held = [i for i, m in enumerate(mask) if m]
        array = _core.host_classes["ArrayXu"]
        return array(held) if size is None else (array((held + [0] * size)[:size]), array([len(held)]))
    if not isinstance(mask, ArrayBase) or not is_mask_v(mask) or describe(type(mask))[3]:
        raise ArgumentError(f"compress(): a flat mask is needed, not '{type(mask).__name__}'")
    if size is not None:
        return _core.compress_to(mask, size) if len(mask) else (zeros(UInt, size), UInt(0))
    if len(mask) == 0:
        return UInt()
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
    if len(flat) == 0:
        r = f(flat)
        return _core.tensor(tensor_t(r), r, shape)
    rows = [f(flat[i:i + n]) for i in range(0, len(flat), n)]
    r = concat(rows)
    out = _core.tensor(tensor_t(r), r, tuple(moved.shape))
    return moveaxis(out, -1, axis) if axis != len(shape) - 1 else out


def binary_search(start, end, pred):
    """The first index in [start, end) where `pred` no longer holds; it must hold up to there."""
    for x in (start, end):
        if isinstance(x, ArrayBase) and describe(type(x))[3]:
            raise ValueError(f"binary_search(): bounds of type {type(x).__name__}; arrays of depth <= 1 are needed")
    if not isinstance(start, ArrayBase) and not isinstance(end, ArrayBase):
        probe = pred(start)
        if isinstance(probe, ArrayBase):
            iterations = (end - start).bit_length()
            tp = replace_type_t(type(probe), 6)  # signed, as Python's numbers are: scripts subtract 1
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

    def __init__(self, dtype, size=None, value=None):
        if isinstance(dtype, Local):  # a copy
            self._dtype, self._size, self._fresh = dtype._dtype, dtype._size, dtype._fresh
            self._value = map_leaves(_core.copy, dtype._value)
            return
        self._dtype, self._size = dtype, size
        start = zeros(dtype) if value is None else value
        if not builtins.any(_core.entries(a) for a in leaves(start)):
            raise TypeError(f"alloc_local({getattr(dtype, '__name__', dtype)}): type does not contain any Jit-tracked arrays")
        self._value = map_leaves(lambda a: _core.local_array(a, size), start)
        self._fresh = start, leaves(map_leaves(_core.copy, self._value))  # what all elements are as long as it is this one

    def __len__(self): return self._size

    def _check(self, what, index):
        if isinstance(index, int) and not 0 <= index < self._size:
            raise PlaceError(f"Local: out of bounds {what} (size={self._size}, offset={index})")

    def _unwritten(self):
        return builtins.all(_core.same_values(a, b) for a, b in zip(leaves(self._value), self._fresh[1]))

    def read(self, index, active=True):
        """Element `index`; 0 out of range."""
        self._check("read", index)
        if active is True and isinstance(index, int) and self._unwritten():
            return map_leaves(_core.copy, self._fresh[0])
        active = _checked("Local.read", "read from", self._size, index, active)
        return map_leaves(lambda a: _core.local_get(a, index, _mask(active)), self._value)

    def write(self, value, index, active=True):
        """Replaces element `index`."""
        self._check("write", index)
        active = _checked("Local.write", "write to", self._size, index, active)

        def put(a, v):
            _core.local_set(a, index, v, _mask(active))
            return a
        map_leaves(put, self._value, value)

    __getitem__ = read

    def __setitem__(self, index, value): self.write(value, index)

    def __repr__(self): return f"Local[{getattr(self._dtype, '__name__', self._dtype)}, size={self._size}]"

    DRJIT_STRUCT = {"_value": None}


def alloc_local(dtype, size, value=None):
    """A local array of `size` elements: registers or stack, not memory of the program."""
    return Local(dtype, size, value)
