# jit/_tensor.py: tensors: making, indexing, broadcasting and reshaping as NumPy does.
import builtins

from .. import _core
from ._hooks import ArgumentError, PlaceError, ShapeError, host_index
from ._types import (ArrayBase, Array, Tensor, describe, expr_t, is_array_v, is_host_v, is_mask_v, is_tensor_v,
                     leaf_t, replace_type_t, tensor_t, vectors)

UInt = _core.classes["UInt"]
newaxis = None


def _count(shape):
    n = 1
    for s in shape:
        n *= s
    return n


def make_tensor(dtype, array=None, shape=None, flip_axes=False):
    """TensorXf(array, shape): from numbers, nested lists, arrays, NumPy's and other tensors."""
    leaf, value = leaf_t(dtype), array
    if value is None:
        if shape is not None:
            raise TypeError(f"{dtype.__name__}: Input array must be specified beside its shape")
        return _core.tensor(dtype, leaf(), (0,))
    if is_tensor_v(value) and not isinstance(value, type):
        array, own = _core.tensor_array(value), tuple(value.shape)
    elif isinstance(value, ArrayBase):
        if describe(type(value))[3]:
            array, own = _ravel_rows(value)
        else:
            array, own = value, (len(value),)
    elif isinstance(value, (bool, int, float)):
        array, own = leaf(value), ()
    elif type(value) in vectors:
        parts = [leaf(v) for v in value]
        array, own = _ravel_rows(_core.from_entries(_core.lookup(describe(leaf)[0], Array, (-1,), 0), parts))
    elif hasattr(value, "_flat"):  # a view of a matrix
        array, own = value._flat()
    else:
        array, own = _from_foreign(leaf, value)
    if shape is not None:
        shape = _infer(tuple(shape), _count(own))
        if _count(shape) != _count(own):
            raise ShapeError(f"{dtype.__name__}: Input array has the wrong number of entries (got {_count(own)}, "
                             f"expected {_count(shape)})")
    array = leaf(array) if type(array) is not leaf else array
    result = _core.tensor(dtype, array, own if shape is None else shape)
    if flip_axes:
        result = transpose(result)
    return result


def _from_foreign(leaf, value):
    if isinstance(value, (list, tuple)) and value and not isinstance(value[0], (list, tuple, ArrayBase)):
        return leaf(value), (len(value),)
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], ArrayBase):
        parts = [tensor_t(leaf)(v) for v in value]
        r = stack(parts)
        return _core.tensor_array(r), tuple(r.shape)
    import numpy
    from ._hooks import foreign_array
    try:
        array = foreign_array(value) if not isinstance(value, (list, tuple)) else numpy.asarray(value)
    except ValueError:
        raise ShapeError("a tensor cannot be made of a ragged input: its rows have different lengths") from None
    if array.dtype == object:
        raise TypeError("a tensor cannot be made of a ragged input: its rows have different lengths")
    shape = getattr(value, "_tensor_shape", array.shape)  # of images: also a single channel is one
    return leaf(numpy.ascontiguousarray(array).reshape(-1)) if array.size else leaf(), shape


def _ravel_rows(value):
    """A nested array as the elements of a tensor of shape (dimensions, lanes)."""
    shape = tuple(_core.shape(value))
    lanes = shape[-1]
    n = _count(shape)
    entries = _core.entries(value)
    target = _core.full(leaf_t(value), 0, n)
    index = _core.lane_index(lanes)
    for k, e in enumerate(entries):
        _core.scatter(target, e, index + k * lanes, None, 0)
    return target, shape


def _infer(shape, total):
    if shape.count(-1) > 1:
        raise ShapeError(f"the shape {shape}: only a single entry may be equal to -1")
    if -1 in shape:
        known = -_count(shape)
        if not known or total % known:
            raise ShapeError(f"cannot infer a compatible shape: {total} elements do not fill {shape}")
        shape = tuple(total // known if s == -1 and known else s for s in shape)
    return shape


# ---- broadcasting

def _shape(a):
    if isinstance(a, ArrayBase):
        if is_tensor_v(a):
            return tuple(a.shape)
        n = len(a)
        return () if n == 1 else (n,)
    return ()


def broadcast_shapes(*shapes):
    """The shape that all of these fit."""
    n = builtins.max((len(s) for s in shapes), default=0)
    out = []
    for i in range(n):
        sizes = {s[i - n + len(s)] for s in shapes if i - n + len(s) >= 0} - {1}
        if len(sizes) > 1:
            raise ShapeError("operands have incompatible shapes: " + " and ".join(map(str, shapes)))
        out.append(sizes.pop() if sizes else 1)
    return tuple(out)


def _strides(shape):
    out, step = [], 1
    for s in reversed(shape):
        out.append(step)
        step *= s
    return out[::-1]


def _broadcast(a, shape):
    """The elements of `a` as an array of the lanes of a tensor of that shape."""
    if not isinstance(a, ArrayBase):
        return a
    own = _shape(a)
    array = _core.tensor_array(a) if is_tensor_v(a) else a
    if own == shape or _count(own) == 1:
        return array
    own = (1,) * (len(shape) - len(own)) + own
    strides = _strides(own)
    index, rest = None, _core.lane_index(_count(shape))
    for i in range(len(shape) - 1, -1, -1):
        if i == 0:
            place = rest
        else:
            q = rest // shape[i] if shape[i] != 1 else rest
            place = rest - q * shape[i] if shape[i] != 1 else None
            rest = q
        if own[i] != 1:
            term = place * strides[i] if strides[i] != 1 else place
            index = term if index is None else index + term
    return _core.gather(type(array), array, index if index is not None else 0, None)


def broadcast_all(*args):
    """Arrays of the lanes of a common shape, and that shape."""
    shape = broadcast_shapes(*(_shape(a) for a in args))
    return [_broadcast(a, shape) for a in args], shape


def tensor_binary(op, a, b):
    for x in (a, b):
        if isinstance(x, ArrayBase) and describe(type(x))[3]:
            raise ArgumentError(f"Incompatible arguments: {type(a).__name__} and {type(b).__name__}; make a tensor of both")
    (x, y), shape = broadcast_all(a, b)
    r = _core.binary(op, x, y)
    return _core.tensor(tensor_t(r), r, shape)


# ---- indexing

def _index_plan(shape, key):
    """Shape of the result and, for each dimension of the source, how its coordinate follows."""
    if not isinstance(key, tuple):
        key = (key,)
    given = sum(1 for k in key if k is not None and k is not Ellipsis)
    if given > len(shape):
        raise PlaceError(f"too many indices: {given} for a tensor of {len(shape)} dimensions")
    if not builtins.any(k is Ellipsis for k in key):
        key = key + (Ellipsis,)
    full = []
    for k in key:
        if k is Ellipsis:
            full += [slice(None)] * (len(shape) - given)
        else:
            full.append(k)
    return full


def _resolve(shape, key):
    """Result's shape and the flat index of each of its elements."""
    out_shape, parts, d = [], [], 0  # parts: (axes of the result, f(coordinates) -> offset)
    strides = _strides(shape)
    fancy, fancy_axis, apart = [], None, False  # apart: other dimensions lie between arrays of indices
    for k in _index_plan(shape, key):
        if k is None:
            out_shape.append(1)
            continue
        n, stride = shape[d], strides[d]
        if isinstance(k, slice):
            start, stop, step = k.indices(n)
            length = len(range(start, stop, step))
            parts.append((len(out_shape), start, step, stride))
            out_shape.append(length)
        elif isinstance(k, (ArrayBase, list, range)) or (hasattr(k, "__array__") and getattr(k, "ndim", 0)):
            listed = host_index(k, n, f"axis {d}")
            if listed is not None:
                k, kshape = UInt(listed.astype("uint32").reshape(-1)), listed.shape
            elif is_tensor_v(k):
                kshape = tuple(k.shape)
                k = _core.tensor_array(k)
            else:
                k = k if isinstance(k, ArrayBase) else UInt(k)
                kshape = (len(k),)
            if is_mask_v(k):
                raise TypeError("a tensor cannot be indexed by a mask: its shape would depend on data; "
                                "use select(), or compress() the mask first")
            if describe(type(k))[0] in (2, 4, 6, 8):  # negative ones count from the end
                k = _core.select(k < 0, k + n, k)
            fancy.append((UInt(k), kshape, stride))
            if fancy_axis is None:
                fancy_axis = len(out_shape)
                out_shape.append("fancy")
            apart = apart or len(out_shape) > fancy_axis + 1
        else:
            if not hasattr(k, "__index__") or isinstance(k, bool):
                raise PlaceError(f'unsupported type "{type(k).__name__}" in slice expression')
            i = k.__index__()
            if not -n <= i < n:
                raise PlaceError(f"index {i} is out of bounds for axis {d} with size {n}")
            parts.append((None, i % n if n else 0, 0, stride))
        d += 1
    fshape = broadcast_shapes(*(f[1] for f in fancy)) if fancy else ()
    if apart:  # then their dimensions come first, as in NumPy and PyTorch
        out_shape.insert(0, out_shape.pop(fancy_axis))
        parts = [(a + 1 if a is not None and a < fancy_axis else a, s, t, u) for a, s, t, u in parts]
    if fancy:
        at = out_shape.index("fancy")
        out_shape[at:at + 1] = list(fshape)
        grow = len(fshape) - 1
        parts = [(a + grow if a is not None and a > at else a, s, t, u) for a, s, t, u in parts]
    total = _count(out_shape)
    if total == 0:
        return tuple(out_shape), None
    constant = sum(start * stride for _, start, _, stride in parts)
    # Coordinates of the result's elements, innermost first
    rest, index = _core.lane_index(total), None
    need = {a: step * stride for a, _, step, stride in parts if a is not None}
    fancy_axes = range(at, at + len(fshape)) if fancy else ()
    fancy_flat, fancy_stride = None, 1
    for axis in range(len(out_shape) - 1, -1, -1):
        n = out_shape[axis]
        if axis == 0 or n == total:
            place, q = rest, rest
        else:
            q = rest // n
            place = rest - q * n
        if n != 1:
            rest = q
        else:
            place = None
        if axis in need and place is not None:
            factor = need[axis]
            term = _core.cast(place, 6) * factor if factor < 0 else place * factor if factor != 1 else place
            term = UInt(term)
            index = term if index is None else index + term
        if axis in fancy_axes:
            if place is not None:
                term = place * fancy_stride if fancy_stride != 1 else place
                fancy_flat = term if fancy_flat is None else fancy_flat + term
            fancy_stride *= n
    for k, kshape, stride in fancy:
        values = _broadcast(_core.tensor(tensor_t(k), k, kshape), fshape)
        if len(values) > 1 or _count(fshape) > 1:
            values = _core.gather(UInt, UInt(values), fancy_flat if fancy_flat is not None else 0, None) \
                if len(values) > 1 else values
        term = values * stride if stride != 1 else values
        index = term if index is None else index + term
    if index is None:
        index = UInt(constant)
    elif constant:
        index = index + constant
    return tuple(out_shape), index


def slice_index(dtype, shape, indices):
    """Shape of a tensor's part and the flat index of each of its elements."""
    host = is_array_v(dtype) and is_host_v(dtype) and describe(dtype)[3] == (-1,)
    if not is_array_v(dtype) or describe(dtype)[0] != 7 or describe(dtype)[3] and not host or is_tensor_v(dtype):
        raise TypeError("slice_index(): the type must be an array of unsigned integers of 32 bits")
    if host:
        plain = lambda k: list(k) if isinstance(k, ArrayBase) and is_host_v(k) else k
        indices = tuple(plain(k) for k in (indices if isinstance(indices, tuple) else (indices,)))
    out, index = _resolve(tuple(shape), indices)
    if host:
        return out, dtype(list(index) if index is not None else [])
    return out, dtype(index if index is not None else UInt())


def tensor_get(self, key):
    if isinstance(key, ArrayBase) and is_mask_v(key):
        return _core.copy(self)  # for a[mask] += b
    shape, index = _resolve(tuple(self.shape), key)
    leaf = leaf_t(self)
    if index is None:
        return _core.tensor(type(self), leaf(), shape)
    source = _core.tensor_array(self)
    if shape == tuple(self.shape) and key is Ellipsis:
        return _core.tensor(type(self), source, shape)
    return _core.tensor(type(self), _core.gather(leaf, source, index, None), shape)


def tensor_set(self, key, value):
    if isinstance(key, ArrayBase) and is_mask_v(key):
        from ._hooks import select
        _core.assign(self, type(self)(select(key, value, self)))
        return
    shape, index = _resolve(tuple(self.shape), key)
    if index is None:
        return
    if isinstance(value, (list, tuple)) or not isinstance(value, (ArrayBase, int, float)):
        value = tensor_t(self)(value)
    if isinstance(value, ArrayBase):
        vs = _shape(value)
        while len(vs) > len(shape) and vs[0] == 1:
            vs = vs[1:]
        if broadcast_shapes(vs, shape) != shape:
            raise ShapeError(f"a value of shape {_shape(value)} does not fit into a part of shape {shape}")
        value = _broadcast(value, shape) if len(_shape(value)) <= len(shape) else _core.tensor_array(value)
    target = _core.tensor_array(self)
    _core.scatter(target, value if isinstance(value, ArrayBase) else leaf_t(self)(value), index, None, 0)
    _core.assign(self, _core.tensor(type(self), target, tuple(self.shape)))


# ---- shapes

def _need(what, a):
    if not is_tensor_v(a):
        raise TypeError(f"{what}(): a tensor is needed, not {type(a).__name__}")
    return tuple(a.shape)


def _axis(axis, ndim):
    if not -ndim <= axis < ndim:
        raise PlaceError(f"out-of-bounds axis: {axis}, of {ndim} dimensions")
    return axis % ndim


def reshape(dtype, value=None, shape=None, order="A", shrink=False):
    """The same elements in another shape, or as another type. One length may be -1: it follows from the others.
    `shrink` drops elements at the end that the shape leaves over."""
    from ._memory import _unravel, ravel
    if not isinstance(dtype, type):  # reshape(value, shape)
        dtype, value, shape = type(dtype), dtype, value if shape is None else shape
    if isinstance(value, ArrayBase) and isinstance(shape, int) and is_array_v(dtype) and describe(dtype)[3] and \
            not is_tensor_v(dtype):
        shape = (*describe(dtype)[3], shape)  # lanes
        if shrink and type(value) is dtype:
            return _core.from_entries(dtype, [e if len(e) == 1 else e[:shape[-1]] for e in _core.entries(value)])
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if not isinstance(value, ArrayBase):
        from ._tree import children, rebuild
        kids = children(value)
        if kids is not None and dtype is type(value):
            return rebuild(value, [reshape(type(v), v, shape, order, shrink) for _, v in kids])
    flat = ravel(value, order=order) if isinstance(value, ArrayBase) else value
    n = len(flat) if isinstance(flat, ArrayBase) else 1
    shape = _infer(shape, n)
    total = _count(shape)
    if shrink and total < n:
        flat, n = flat[:total], total
    if total != n:
        raise ShapeError(f"reshape(): mismatched array sizes: {n} elements do not fill the shape {shape}")
    if is_tensor_v(dtype):
        return _core.tensor(dtype, leaf_t(dtype)(flat), shape)
    dims = describe(dtype)[3]
    if len(shape) != len(dims) + 1 or builtins.any(d not in (-1, s) for d, s in zip(dims, shape)):
        raise ShapeError(f"reshape(): the shape {shape} does not fit {dtype.__name__}")
    flat = flat if type(flat) is leaf_t(dtype) else leaf_t(dtype)(flat)
    return _unravel(dtype, shape[:-1], flat, order) if dims else flat


def transpose(a, axes=None):
    """Dimensions in reverse order, or in that of `axes`; of a matrix, rows become columns."""
    if not is_tensor_v(a):
        from ._special import transpose as t
        return t(a)
    shape = _need("transpose", a)
    n = len(shape)
    order = list(range(n))[::-1] if axes is None else [_axis(x, n) for x in axes]
    if sorted(order) != list(range(n)):
        raise ShapeError(f"transpose(): the axes {tuple(axes)} must be a permutation of those of a tensor of {n} dimensions")
    strides = _strides(shape)
    out = tuple(shape[i] for i in order)
    if _count(out) == 0 or n < 2:
        return _core.tensor(type(a), _core.tensor_array(a), out)
    rest, index = _core.lane_index(_count(out)), None
    for i in range(n - 1, -1, -1):
        q = rest // out[i] if i else rest
        place = rest - q * out[i] if i else rest
        rest = q
        term = place * strides[order[i]] if strides[order[i]] != 1 else place
        index = term if index is None else index + term
    leaf = leaf_t(a)
    return _core.tensor(type(a), _core.gather(leaf, _core.tensor_array(a), index, None), out)


def swapaxes(a, axis1, axis2):
    """Exchanges two dimensions."""
    n = len(_need("swapaxes", a))
    order = list(range(n))
    i, j = _axis(axis1, n), _axis(axis2, n)
    order[i], order[j] = order[j], order[i]
    return transpose(a, order)


def moveaxis(a, source, destination):
    """Dimensions in another order: those of `source` go to `destination`."""
    n = len(_need("moveaxis", a))
    source = (source,) if isinstance(source, int) else source
    destination = (destination,) if isinstance(destination, int) else destination
    source, destination = [_axis(s, n) for s in source], [_axis(d, n) for d in destination]
    order = [i for i in range(n) if i not in source]
    for d, s in sorted(zip(destination, source)):
        order.insert(d, s)
    return transpose(a, order)


def expand_dims(a, axis):
    """Dimensions of length 1 at the given places."""
    shape = list(_shape(a) if is_tensor_v(a) else (len(a),))
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    n = len(shape) + len(axes)
    places = sorted(_axis(x, n) for x in axes)
    if len(set(places)) != len(places):
        raise ShapeError(f"expand_dims(): duplicate axes in {axes}")
    for x in places:
        shape.insert(x, 1)
    tp = tensor_t(a)
    return _core.tensor(tp, _core.tensor_array(a) if is_tensor_v(a) else a, shape)


def squeeze(a, axis=None):
    """Drops dimensions of length 1."""
    shape = _need("squeeze", a)
    n = len(shape)
    drop = range(n) if axis is None else [_axis(x, n) for x in ((axis,) if isinstance(axis, int) else axis)]
    for x in drop:
        if axis is not None and shape[x] != 1:
            raise ShapeError(f"dimension {x} has {shape[x]} entries and cannot be dropped")
    return _core.tensor(type(a), _core.tensor_array(a), tuple(s for i, s in enumerate(shape)
                                                             if i not in drop or s != 1))


def _tensors(what, arrays):
    arrays = list(arrays)
    if not arrays:
        raise ShapeError(f"{what}(): at least one array is needed")
    tp = tensor_t(expr_t(*arrays))
    return tp, [a if type(a) is tp else tp(a) for a in arrays]


def concat(arrays, axis=0):
    """Arrays one behind the other."""
    arrays = list(arrays)
    if not arrays:
        raise ShapeError("concat(): at least one array is needed")
    if axis is None:  # all elements in a row
        arrays, axis = [_core.tensor_array(a) if is_tensor_v(a) else a for a in arrays], 0
    if not builtins.any(is_tensor_v(a) for a in arrays):
        if axis not in (0, -1):
            raise ShapeError("concat(): arrays have no axis but 0")
        tp = expr_t(*arrays)
        if describe(tp)[3]:
            raise TypeError(f"concat(): {tp.__name__} has more than one dimension; use a tensor")
        total = sum(len(a) for a in arrays)
        if total == 0:
            return tp()
        out = _core.full(tp, 0, total)
        _core.opaque(out)
        offset = 0
        for a in arrays:
            n = len(a)
            if n:
                _core.scatter(out, tp(a) if type(a) is not tp else a, _core.lane_index(n) + offset if offset else
                              _core.lane_index(n), None, 0)
                offset += n
        return out
    tp, arrays = _tensors("concat", arrays)
    shapes = [tuple(a.shape) for a in arrays]
    n = len(shapes[0])
    axis = _axis(axis, n)
    for s in shapes:
        if len(s) != n or builtins.any(i != axis and s[i] != shapes[0][i] for i in range(n)):
            raise ShapeError("concat(): the shapes " + ", ".join(map(str, shapes)) + " do not fit together")
    out_shape = list(shapes[0])
    out_shape[axis] = sum(s[axis] for s in shapes)
    out = _core.tensor(tp, _core.full(leaf_t(tp), 0, _count(out_shape)) if _count(out_shape) else leaf_t(tp)(),
                       out_shape)
    first = 0
    for a, s in zip(arrays, shapes):
        if _count(s):
            out[tuple([slice(None)] * axis + [slice(first, first + s[axis])])] = a
        first += s[axis]
    return out


def stack(arrays, axis=0):
    """Arrays as the entries of a new dimension."""
    tp, arrays = _tensors("stack", arrays)
    return concat([expand_dims(a, axis) for a in arrays], axis if axis >= 0 else axis % (len(arrays[0].shape) + 1))


def _at_least(a, n):
    a = a if is_tensor_v(a) else tensor_t(a)(a)
    shape = tuple(a.shape)
    if n == 2 and len(shape) < 2:
        shape = (1,) * (2 - len(shape)) + shape
    elif n == 3:
        shape = (1, *shape, 1) if len(shape) == 1 else (1, 1, 1) if not shape else (*shape, 1) if len(shape) == 2 else shape
    return _core.tensor(type(a), _core.tensor_array(a), shape)


def vstack(arrays):
    """Arrays one below another, along the first axis."""
    return concat([_at_least(a, 2) for a in arrays], 0)


def hstack(arrays):
    """Arrays side by side, along the second axis."""
    arrays = list(arrays)
    one = builtins.all(len(_shape(a)) <= 1 for a in arrays)
    return concat([a if is_tensor_v(a) else tensor_t(a)(a) for a in arrays], 0 if one else 1)


def dstack(arrays):
    """Arrays one behind another, along the third axis."""
    return concat([_at_least(a, 3) for a in arrays], 2)


def column_stack(arrays):
    """Arrays of one dimension as columns of one of two."""
    return concat([expand_dims(a, 1) if len(_shape(a)) <= 1 else a for a in arrays], 1)
row_stack = vstack


def array_split(a, sections, axis=0):
    """Parts along an axis, of nearly equal length or at the given places."""
    shape = _need("split", a)
    axis = _axis(axis, len(shape))
    n = shape[axis]
    if isinstance(sections, int):
        size, extra = divmod(n, sections)
        cuts, at = [], 0
        for i in range(sections - 1):
            at += size + (i < extra)
            cuts.append(at)
    else:
        cuts = list(sections)
    ends = [0, *cuts, n]
    return [a[tuple([slice(None)] * axis + [slice(ends[i], ends[i + 1])])] for i in range(len(ends) - 1)]


def split(a, sections, axis=0):
    """Equal parts along an axis, or parts that end at the given places."""
    shape = _need("split", a)
    if isinstance(sections, int) and shape[_axis(axis, len(shape))] % sections:
        raise ShapeError(f"{shape[axis]} entries cannot be split into {sections} equal parts")
    return array_split(a, sections, axis)


def take(value, index, axis=0):
    """Entries `index` along an axis."""
    if not is_tensor_v(value):
        return value[index]
    axis = _axis(axis, len(value.shape))
    return value[tuple([slice(None)] * axis + [index])]


def take_interp(value, pos, axis=0):
    """Entries along an axis at fractional positions, by linear interpolation."""
    from ._math import clip, floor, lerp, minimum
    n = value.shape[_axis(axis, len(value.shape))] if is_tensor_v(value) else len(value)
    low = floor(clip(pos, 0, builtins.max(n - 1, 0)))
    if isinstance(pos, ArrayBase):
        i0 = replace_type_t(type(pos), 7)(low)
        i1 = minimum(i0 + 1, n - 1)
    else:
        i0 = int(low)
        i1 = builtins.min(i0 + 1, n - 1)
    t = clip(pos, 0, n - 1) - low
    return lerp(take(value, i0, axis), take(value, i1, axis), t)
