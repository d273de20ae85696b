# jit/_filter.py: resampling and blurring along axes; spherical harmonics.
import math

from .. import _core
from ._memory import repeat
from ._tensor import _axis, _count
from ._types import ArrayBase, describe, is_tensor_v, leaf_t

UInt, Float = _core.classes["UInt"], _core.classes["Float"]


def _sinc(x): return 1.0 if abs(x) < 1e-8 else math.sin(math.pi * x) / (math.pi * x)


def _cubic(x, a=-0.5):  # Catmull and Rom's
    x = abs(x)
    if x < 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * (x**3 - 5 * x**2 + 8 * x - 4) if x < 2 else 0.0


_filters = {  # radius, function
    "box": (0.5, lambda x: 1.0 if -0.5 < x <= 0.5 else 0.0),
    "linear": (1.0, lambda x: max(1 - abs(x), 0.0)),
    "hamming": (1.0, lambda x: _sinc(x) * (0.54 + 0.46 * math.cos(math.pi * x)) if abs(x) < 1 else 0.0),
    "cubic": (2.0, _cubic),
    "lanczos": (3.0, lambda x: _sinc(x) * _sinc(x / 3) if abs(x) < 3 else 0.0),
    "gaussian": (2.0, lambda x: math.exp(-2 * x * x) - math.exp(-8)),
}


def _kernel(what, kernel, radius):
    if callable(kernel):
        if radius is None:
            raise ValueError(f"{what}(): a filter of your own needs filter_radius")
        return radius, kernel
    if kernel not in _filters:
        raise ValueError(f"{what}(): filter \"{kernel}\" is unknown; there are {', '.join(_filters)}")
    own, f = _filters[kernel]
    return (own, f) if radius is None else (own * radius, lambda x: f(x / radius))  # stretched so much


def _inside(boundary, i, n):
    """Place of element i, which may lie outside; None: nothing is there."""
    if 0 <= i < n:
        return i
    if boundary == "zero":
        return None
    if boundary == "nearest":
        return min(max(i, 0), n - 1)
    if boundary == "wrap":
        return i % n
    if boundary == "mirror" and n > 1:  # the border element counts once
        i %= 2 * n - 2
        return i if i < n else 2 * n - 2 - i
    if boundary in ("reflect", "mirror"):
        i %= 2 * n
        return i if i < n else 2 * n - 1 - i
    raise ValueError(f"boundary \"{boundary}\" is unknown; it is zero, nearest, wrap, reflect or mirror")


def _apply(source, axis, rows):
    """Along an axis, sums of elements: rows[i] lists (place, weight) of result i."""
    shape = tuple(source.shape)
    n, m = shape[axis], len(rows)
    inner = _count(shape[axis + 1:])
    taps = max(len(r) for r in rows)
    places, weights = [], []
    for r in rows:
        padded = r + [(0, 0.0)] * (taps - len(r))
        places += [p for p, _ in padded]
        weights += [w for _, w in padded]
    leaf = leaf_t(source)
    places, weights = UInt(places), leaf([float(w) for w in weights])
    _core.opaque(places)
    _core.opaque(weights)
    out = shape[:axis] + (m,) + shape[axis + 1:]
    lane = _core.lane_index(_count(out))
    row, rest = lane // inner, lane % inner
    i, base = row % m, (row // m) * (n * inner) + rest
    data = _core.tensor_array(source)

    def term(k, s):
        at = i * taps + k
        place = _core.gather(UInt, places, at, None)
        return _core.fma(_core.gather(leaf, weights, at, None), _core.gather(leaf, data, base + place * inner, None), s)
    s = _core.full(leaf, 0, len(lane))
    if taps <= 16:
        for k in range(taps):
            s = term(k, s)
    else:
        s = _core.loop("resample", [UInt(0), s], lambda a: a[0] < taps, lambda a: [a[0] + 1, term(a[0], a[1])])[1]
    return _core.tensor(type(source), s, out)


def _as_tensor(source):
    return source if is_tensor_v(source) else _core.tensor(_core.lookup(describe(type(source))[0], 4, (), 0), source,
                                                           (len(source),))


def resample(source, shape, filter="cubic", filter_radius=None, boundary="zero", mode=None):
    """The array at another resolution. Where that is lower, the filter is as much wider; weights sum to 1."""
    tensor = _as_tensor(source)
    if len(shape) != len(tensor.shape):
        raise ValueError(f"resample(): a tensor of shape {tuple(tensor.shape)} cannot become one of {tuple(shape)}")
    radius, f = _kernel("resample", filter, filter_radius)
    for axis, m in enumerate(shape):
        n = tensor.shape[axis]
        if m == n:
            continue
        stretch = max(n / m, 1.0)
        rows = []
        for i in range(m):
            centre = (i + 0.5) * n / m - 0.5
            first, last = math.ceil(centre - radius * stretch - 1e-6), math.floor(centre + radius * stretch + 1e-6)
            row = [(_inside(boundary, j, n), f((j - centre) / stretch)) for j in range(first, last + 1)]
            row = [(p, w) for p, w in row if p is not None and w]
            total = sum(w for _, w in row)
            rows.append([(p, w / total) for p, w in row])
        tensor = _apply(tensor, axis, rows)
    return tensor if is_tensor_v(source) else _core.tensor_array(tensor)


def convolve(source, filter, filter_radius=None, *, axis=None, boundary="zero", normalize=False, mode=None):
    """The array blurred along axes (all, unless given), at its resolution. A filter may be a list of odd length."""
    tensor = _as_tensor(source)
    if isinstance(filter, (list, tuple)) or hasattr(filter, "__len__") and not isinstance(filter, str):
        weights = [float(w) for w in filter]
        if len(weights) % 2 == 0:
            raise ValueError("convolve(): a filter of an even number of weights has no centre")
        half = len(weights) // 2
    else:
        radius, f = _kernel("convolve", filter, filter_radius)
        half = math.floor(radius)
        weights = [f(float(j)) for j in range(-half, half + 1)]
    if normalize:
        total = sum(weights)
        weights = [w / total for w in weights]
    axes = range(len(tensor.shape)) if axis is None else [axis] if isinstance(axis, int) else axis
    for a in axes:
        a = _axis(a, len(tensor.shape))
        n = tensor.shape[a]
        rows = []
        for i in range(n):
            row = [(_inside(boundary, i + j, n), weights[j + half]) for j in range(-half, half + 1)]
            row = [(p, w) for p, w in row if p is not None and w]
            if normalize and boundary == "zero":
                total = sum(w for _, w in row)
                row = [(p, w / total) for p, w in row]
            rows.append(row or [(0, 0.0)])
        tensor = _apply(tensor, a, rows)
    return tensor if is_tensor_v(source) else _core.tensor_array(tensor)


def upsample(t, shape=None, scale_factor=None):
    """A tensor with each element repeated, or a texture evaluated on a finer grid."""
    if hasattr(t, "eval_fetch"):  # a texture
        from ._create import arange, meshgrid
        size = t.shape[:-1]
        new = tuple(shape) if shape is not None else tuple(int(s * k) for s, k in zip(size, scale_factor))
        axes = [(leaf_t(t.value())(_core.lane_index(n)) + 0.5) * (1 / n) for n in new[::-1]]
        grid = meshgrid(*axes) if len(axes) > 1 else axes
        values = t.eval(_core.lookup(t._element, 0, (len(axes),), 0)(*grid))
        from ._memory import ravel
        return type(t)(_core.tensor(t._tensor_type, ravel(values), (*new, t.shape[-1])),
                       filter_mode=t.filter_mode(), wrap_mode=t.wrap_mode())
    if not is_tensor_v(t):
        raise TypeError(f"upsample(): unsupported input type '{type(t).__name__}'; a tensor or texture is needed")
    size = tuple(t.shape)
    if (shape is None) == (scale_factor is None):
        raise TypeError("upsample(): one of shape and scale_factor is needed")
    for name, given in (("shape", shape), ("scale_factor", scale_factor)):
        if given is None:
            continue
        if not isinstance(given, (list, tuple)):
            raise TypeError(f"upsample(): unsupported {name} type '{type(given).__name__}'; a list is needed")
        if len(given) > len(size):
            raise TypeError(f"upsample(): invalid {name} size: {len(given)}, of {len(size)} dimensions")
        if any(not isinstance(k, int) for k in given):
            raise TypeError(f"upsample(): the {name} must contain integer values")
    if shape is not None:
        shape = tuple(shape) + size[len(shape):]
        if any(s < o for s, o in zip(shape, size)):
            raise TypeError(f"upsample(): the shape {shape} must be larger than {size}, or equal")
        if any(s % o for s, o in zip(shape, size)):
            raise TypeError(f"upsample(): values of the shape {shape} must be multiples of {size}")
        scale_factor = [s // o for s, o in zip(shape, size)]
    for axis, k in enumerate(scale_factor):
        if k < 1:
            raise TypeError("upsample(): values of scale_factor must be greater than 0")
        if k > 1:
            t = repeat(t, int(k), axis=axis)
    return t


def sh_eval(d, order):
    """Real spherical harmonics of a direction, up to an order: a list of (order + 1)^2 values."""
    x, y, z = d[0], d[1], d[2]
    n = (order + 1)**2
    out = [None] * n
    # Legendre functions divided by sin^m, and cos(m phi) sin^m, sin(m phi) sin^m, by recurrence
    c, s = [x * 0 + 1], [x * 0]
    for m in range(1, order + 1):
        c.append(x * c[-1] - y * s[-1])
        s.append(x * s[-1] + y * c[-2])
    for m in range(order + 1):
        previous, current = None, None
        for k in range(m, order + 1):
            if k == m:
                factor = 1.0
                for i in range(1, 2 * m, 2):
                    factor *= i
                value = x * 0 + factor
            elif k == m + 1:
                value = z * current * (2 * m + 1)
            else:
                value = (z * current * (2 * k - 1) - previous * (k + m - 1)) * (1 / (k - m))
            previous, current = current, value
            norm = math.sqrt((2 * k + 1) / (4 * math.pi) * math.factorial(k - m) / math.factorial(k + m))
            if m == 0:
                out[k * k + k] = value * norm
            else:
                scale = norm * math.sqrt(2) * (-1)**m
                out[k * k + k + m] = value * c[m] * scale
                out[k * k + k - m] = value * s[m] * scale
    return out
