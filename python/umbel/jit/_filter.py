# jit/_filter.py: resampling and blurring along axes; spherical harmonics.
import math
import warnings

from .. import _core
from ._hooks import UserError
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
            raise UserError(f"{what}(): 'filter_radius' must be specified with a filter function of your own")
        return radius, kernel
    if kernel not in _filters:
        raise UserError(f"{what}(): filter \"{kernel}\" is unknown; there are {', '.join(_filters)}")
    own, f = _filters[kernel]
    return (own, f) if radius is None else (own * radius, lambda x: f(x / radius))  # stretched so much


_boundaries = ("zero", "nearest", "wrap", "reflect", "mirror")


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
    raise AssertionError(boundary)


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


def _check_mode(what, mode, boundary):
    if mode not in (None, "evaluated", "symbolic"):
        raise UserError(f"{what}(): 'mode' must be None, 'evaluated', or 'symbolic' (got {mode!r}).")
    if boundary not in _boundaries:
        raise UserError(f"{what}(): invalid boundary {boundary!r}; it is {', '.join(_boundaries)}")


def resample(source, shape, filter="cubic", filter_radius=None, boundary="zero", mode=None):
    """The array at another resolution. Where that is lower, the filter is as much wider; weights sum to 1.

    `filter` is box, linear, hamming, cubic, lanczos, gaussian, or a function of the distance with `filter_radius`.
    `boundary` says what lies beyond the border: zero (left out), nearest, wrap, reflect or mirror. `mode` is accepted.
    """
    _check_mode("resample", mode, boundary)
    tensor = _as_tensor(source)
    if len(shape) != len(tensor.shape):
        raise UserError(f"resample(): 'source' and 'shape' must have the same number of axes; they are "
                        f"{tuple(tensor.shape)} and {tuple(shape)}")
    radius, f = _kernel("resample", filter, filter_radius)
    for axis in reversed(range(len(shape))):
        n, m = tensor.shape[axis], shape[axis]
        if m != n:
            tensor = _apply(tensor, axis, _resample_rows(n, m, radius, f, boundary))
    return tensor if is_tensor_v(source) else _core.tensor_array(tensor)


def _resample_rows(n, m, radius, f, boundary):
    stretch, rows = max(n / m, 1.0), []
    for i in range(m):
        centre = (i + 0.5) * n / m - 0.5
        first, last = math.ceil(centre - radius * stretch - 1e-6), math.floor(centre + radius * stretch + 1e-6)
        row = [(_inside(boundary, j, n), float(f((j - centre) / stretch))) for j in range(first, last + 1)]
        row = [(p, w) for p, w in row if p is not None and w]
        total = sum(w for _, w in row)
        rows.append([(p, w / total) for p, w in row])
    return rows


def convolve(source, filter, filter_radius=None, *, axis=None, boundary="zero", normalize=False, mode=None):
    """The array filtered along axes (all, unless given), at its resolution, as numpy.convolve(..., mode="same").

    `filter` is a list of weights, a function of the distance in elements with `filter_radius`, or a name that
    resample() knows, whose radius is multiplied by `filter_radius`. `normalize` makes the weights of each result sum to
    1, also near a border beyond which there is nothing.
    """
    _check_mode("convolve", mode, boundary)
    tensor = _as_tensor(source)
    discrete = not isinstance(filter, str) and not callable(filter)
    if not discrete:
        if callable(filter) and filter_radius is None:
            raise UserError("convolve(): 'filter_radius' must be specified when using a custom (continuous) filter "
                            "function.")
        radius, f = _kernel("convolve", filter, filter_radius)
        before = after = math.floor(radius + 1e-6)
        weights = [float(f(float(j))) for j in range(-before, after + 1)]
    else:
        if filter_radius is not None:
            raise UserError("convolve(): 'filter_radius' must be None when using a discrete filter kernel.")
        weights = [float(w) for w in filter][::-1]  # a convolution turns the kernel round
        if not weights:
            raise UserError("convolve(): the filter kernel is empty.")
        after = (len(weights) - 1) // 2
        before = len(weights) - 1 - after
    axes = range(len(tensor.shape)) if axis is None else [axis] if isinstance(axis, int) else axis
    for a in axes:
        a = _axis(a, len(tensor.shape))
        n = tensor.shape[a]
        if discrete and boundary != "zero" and len(weights) > n:
            raise UserError(f"convolve(): the filter kernel ({len(weights)}) cannot be larger than the array ({n}) unless "
                            "the boundary is 'zero'")
        rows = []
        for i in range(n):
            row = [(_inside(boundary, i + j, n), weights[j + before]) for j in range(-before, after + 1)]
            row = [(p, w) for p, w in row if p is not None and w]
            if normalize:
                total = sum(w for _, w in row)
                row = [(p, w / total) for p, w in row] if total else row
            rows.append(row or [(0, 0.0)])
        tensor = _apply(tensor, a, rows)
    return tensor if is_tensor_v(source) else _core.tensor_array(tensor)


def upsample(t, shape=None, scale_factor=None):
    """A tensor with each element repeated, or a texture evaluated on a finer grid. Prefer resample()."""
    warnings.warn("upsample() is deprecated, please use resample() instead.", DeprecationWarning, stacklevel=2)
    texture = getattr(t, "IsTexture", False)
    if not texture and not is_tensor_v(t):
        raise TypeError("upsample(): unsupported input type, expected Jit tensor or texture type!")
    for what, given in (("shape", shape), ("scale_factor", scale_factor)):
        if given is not None and not isinstance(given, (list, tuple)):
            raise TypeError(f"upsample(): unsupported {what} type, expected a list!")
    if shape is None and scale_factor is None:
        raise TypeError("upsample(): unsupported scale_factor type, expected a list!")
    size = tuple(t.shape)[:-1] if texture else tuple(t.shape)
    if shape is not None:
        if len(shape) > len(size):
            raise TypeError(f"upsample(): the shape {tuple(shape)} has more axes than there are: {len(size)}")
        shape = tuple(shape) + size[len(shape):]
    else:
        if any(not isinstance(k, int) for k in scale_factor):
            raise TypeError("upsample(): scale_factor must contain integer values!")
        shape = tuple(s * k for s, k in zip(size, tuple(scale_factor) + (1,) * len(size)))
    for new, old in zip(shape, size):
        if new < old:
            raise TypeError(f"upsample(): target shape values must be larger or equal to input shape! ({new} vs {old})")
        if not texture and new % old:
            raise TypeError(f"upsample(): target shape must be multiples of the input shape! ({new} vs {old})")
    if texture:
        from ._create import meshgrid
        from ._memory import ravel
        axes = [(Float(_core.lane_index(n)) + 0.5) * (1 / n) for n in shape[::-1]]
        grid = meshgrid(*axes) if len(axes) > 1 else axes
        values = type(t.value())(ravel(t.eval(list(grid))))
        return type(t)(_core.tensor(type(t.tensor()), values, (*shape, t.shape[-1])), t.use_accel(),
                       filter_mode=t.filter_mode(), wrap_mode=t.wrap_mode())
    for axis, (new, old) in enumerate(zip(shape, size)):
        if new > old:
            t = repeat(t, new // old, axis=axis)
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
