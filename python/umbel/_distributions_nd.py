# umbel/_distributions_nd.py: densities over the unit square or a line that depend on further parameters.
#
# A table has one slice for each combination of the parameters' values. Between them everything is interpolated linearly:
# values, integrals, and the sums that sampling searches. All of these are linear in the table, so they stay consistent.
from . import _core
from . import jit as dr
from ._variant_types import resolve


def _floats(v): return v if type(v) is resolve("Float") else resolve("Float")(v)
def _at(table, i, active=True): return dr.gather(type(table), table, i, active)

def _mix(fetch, slices):
    """The interpolation of fetch(slice) between slices: pairs of number and weight."""
    total = None
    for index, weight in slices:
        part = fetch(index) if weight is None else fetch(index) * weight
        total = part if total is None else total + part
    return total


def _interpolated(axes, values):
    """[(slice, weight)] for positions along the axes, each a function that gives (left index, weight of the right one,
    count)."""
    slices = [(resolve("UInt32")(0), None)]
    for axis, value in zip(axes, values):
        left, t, n = axis(value)
        if n == 1:
            continue
        slices = [(index * n + left + k, w if weight is None else weight * w)
                  for index, weight in slices for k, w in ((0, 1 - t), (1, t))]
    return slices


def _irregular_axis(nodes):
    """Of increasing positions."""
    n, table = len(nodes), _floats(nodes)

    def place(value):
        value = _floats(value)
        if n < 2:
            return resolve("UInt32")(0), None, n
        left = dr.binary_search(0, n - 2, lambda i: _at(table, i + 1) <= value)
        left = dr.minimum(left, n - 2)
        a, b = _at(table, left), _at(table, left + 1)
        return left, dr.clip((value - a) / (b - a), 0, 1), n
    return place


def _regular_axis(low, high, n):
    def place(value):
        value = _floats(value)
        if n < 2:
            return resolve("UInt32")(0), None, n
        x = dr.clip((value - low) / (high - low) * (n - 1), 0, n - 1)
        left = dr.minimum(resolve("UInt32")(x), n - 2)
        return left, x - resolve("Float")(left), n
    return place


# ---- over the unit square

class _Square:
    """A density over the unit square, bilinear between the entries of a table, which include the square's edges. `data` has
    an axis for each parameter, whose positions are `param_values`, and then rows and columns. `normalize`: each slice
    integrates to 1. Without `enable_sampling` (or `build_hierarchy`) it can be evaluated alone."""
    _dimensions = 0

    def __init__(self, data, param_values=(), normalize=True, enable_sampling=True, build_hierarchy=True):
        import numpy as np
        data = np.ascontiguousarray(data.numpy() if isinstance(data, dr.ArrayBase) else data, dtype=np.float64)
        name, n = type(self).__name__, self._dimensions
        if data.ndim != n + 2:
            raise dr.UserError(f"{name}: the table has {data.ndim} dimensions; {n} parameters, rows and columns make {n + 2}")
        if len(param_values) != n or any(len(p) != s for p, s in zip(param_values, data.shape)):
            raise dr.UserError(f"{name}: param_values has {[len(p) for p in param_values]} positions for a table of shape "
                               f"{data.shape}")
        if not (data >= 0).all():
            raise dr.UserError(f"{name}: entries must be non-negative")
        self._height, self._width = h, w = data.shape[-2:]
        if w < 2 or h < 2:
            raise dr.UserError(f"{name}: needs two rows and columns or more, not {h} and {w}")
        slices = data.reshape(-1, h, w)
        cells = 0.25 * (slices[:, 1:, 1:] + slices[:, :-1, 1:] + slices[:, 1:, :-1] + slices[:, :-1, :-1])
        mean = cells.mean(axis=(1, 2), keepdims=True)
        if not mean.all():
            raise dr.UserError(f"{name}: no probability mass found")
        self._is_sampled = enable_sampling and build_hierarchy
        self._tabulate(data, [[float(v) for v in p] for p in param_values], normalize)

    def _to_sample(self):
        if not self._is_sampled:
            raise dr.UserError(f"{type(self).__name__}: it was made to be evaluated alone; leave enable_sampling and "
                               "build_hierarchy True to sample it")

    def _parameters(self, param):
        n = self._dimensions
        return [0.0] * n if param is None else [param[i] for i in range(n)]

    def __repr__(self): return f"{type(self).__name__}[\n  size = [{self._width}, {self._height}]\n]"


def _before(f, i): return dr.select(i > 0, f(dr.maximum(i, 1) - 1), 0)


class _Continuous(_Square):
    """First y is sampled by the rows' integrals, then x in the row."""

    def _tabulate(self, data, param_values, normalize):
        self._core = _core.ParametricGrid2D(data, param_values, normalize)

    def eval(self, pos, param=None, active=True):
        """The density at a position."""
        p = resolve("Point2f")(pos)
        inside = (p.x >= 0) & (p.x <= 1) & (p.y >= 0) & (p.y <= 1) & active
        return dr.select(inside, self._core.eval(p, self._parameters(param), active), 0)

    pdf = eval

    def sample(self, sample, param=None, active=True):
        """(position, density) for two numbers in [0, 1)"""
        self._to_sample()
        return self._core.sample(resolve("Point2f")(sample), self._parameters(param), active)

    def invert(self, sample, param=None, active=True):
        """(numbers, density): what sample() gives this position for."""
        self._to_sample()
        return self._core.invert(resolve("Point2f")(sample), self._parameters(param), active)


class _Discrete(_Square):
    """First a cell between four entries is chosen, by its row and column, then a position in it."""

    def _tabulate(self, data, param_values, normalize):
        Float = resolve("Float")
        self._axes = [_irregular_axis(p) for p in param_values]
        slices = data.reshape(-1, self._height, self._width)
        cells = 0.25 * (slices[:, 1:, 1:] + slices[:, :-1, 1:] + slices[:, 1:, :-1] + slices[:, :-1, :-1])
        if normalize:
            mean = cells.mean(axis=(1, 2), keepdims=True)
            slices, cells = slices / mean, cells / mean
        self._values = Float(slices.ravel())
        self._cells = Float(cells.cumsum(axis=2).ravel())  # sums of each row of cells
        self._rows = Float(cells.sum(axis=2).cumsum(axis=1).ravel())

    def _slices(self, param): return _interpolated(self._axes, self._parameters(param))

    def _corners(self, i, j, slices, active):
        w, stride = self._width, self._width * self._height
        return [_mix(lambda s: _at(self._values, s * stride + (j + b) * w + i + a, active), slices)
                for b in (0, 1) for a in (0, 1)]

    def _locate(self, p):
        UInt = resolve("UInt32")
        x, y = dr.clip(p[0], 0, 1) * (self._width - 1), dr.clip(p[1], 0, 1) * (self._height - 1)
        i, j = dr.minimum(UInt(x), self._width - 2), dr.minimum(UInt(y), self._height - 2)
        return i, j, x - type(x)(i), y - type(y)(j)

    def eval(self, pos, param=None, active=True):
        """The density at a position."""
        p, slices = resolve("Point2f")(pos), self._slices(param)
        i, j, tx, ty = self._locate(p)
        v00, v10, v01, v11 = self._corners(i, j, slices, active)
        value = dr.lerp(dr.lerp(v00, v10, tx), dr.lerp(v01, v11, tx), ty)
        return dr.select((p.x >= 0) & (p.x <= 1) & (p.y >= 0) & (p.y <= 1) & active, value, 0)

    pdf = eval

    def _tables(self, slices, active):
        w, h = self._width - 1, self._height - 1

        def rows(j): return _mix(lambda s: _at(self._rows, s * h + j, active), slices)
        def cells(j): return lambda i: _mix(lambda s: _at(self._cells, (s * h + j) * w + i, active), slices)
        return rows, cells

    @staticmethod
    def _choose(u, n, sums):
        """(index, what is left of the number)"""
        x = u * sums(resolve("UInt32")(n - 1))
        i = dr.binary_search(0, n - 1, lambda k: sums(k) <= x)
        low = _before(sums, i)
        return i, dr.clip((x - low) / dr.maximum(sums(i) - low, 1e-30), 0, 1)

    def sample(self, sample, param=None, active=True):
        """(position, density) for two numbers in [0, 1)"""
        from .warp import square_to_bilinear
        self._to_sample()
        u, slices = resolve("Point2f")(sample), self._slices(param)
        w, h, (rows, cells) = self._width - 1, self._height - 1, self._tables(slices, active)
        j, v = self._choose(u.y, h, rows)
        i, u = self._choose(u.x, w, cells(j))
        corners = self._corners(i, j, slices, active)
        p, pdf = square_to_bilinear(*corners, resolve("Point2f")(u, v))
        Float = resolve("Float")
        return resolve("Point2f")((Float(i) + p.x) / w, (Float(j) + p.y) / h), self._density(corners, p)

    @staticmethod
    def _density(corners, p):
        v00, v10, v01, v11 = corners
        return dr.lerp(dr.lerp(v00, v10, p.x), dr.lerp(v01, v11, p.x), p.y)

    def invert(self, sample, param=None, active=True):
        """(numbers, density): what sample() gives this position for."""
        from .warp import bilinear_to_square
        self._to_sample()
        slices = self._slices(param)
        w, h, (rows, cells) = self._width - 1, self._height - 1, self._tables(slices, active)
        i, j, tx, ty = self._locate(resolve("Point2f")(sample))
        corners, p = self._corners(i, j, slices, active), resolve("Point2f")(tx, ty)
        u, _ = bilinear_to_square(*corners, p)

        def undo(u, k, n, sums):
            low = _before(sums, k)
            return dr.fma(u, sums(k) - low, low) / sums(resolve("UInt32")(n - 1))
        return resolve("Point2f")(undo(u.x, i, w, cells(j)), undo(u.y, j, h, rows)), self._density(corners, p)


def _classes():
    for kind, base, how in (("MarginalContinuous2D", _Continuous, ""), ("MarginalDiscrete2D", _Discrete, ""),
                            ("Hierarchical2D", _Discrete, " The same as MarginalDiscrete2D.")):
        for n in range(4):
            name = f"{kind}{n}"
            globals()[name] = type(name, (base,), {"_dimensions": n, "__module__": __name__, "__doc__":
                                                   f"{_Square.__doc__} {base.__doc__}{how} It has {n} parameters."})


_classes()


# ---- over a line

class _Conditional:
    """A density over a line that is linear between values, and depends on conditions. Without `enable_sampling` it can be
    evaluated alone."""

    def __init__(self, enable_sampling=True):
        self._is_sampled = enable_sampling
        self.pdf = resolve("TensorXf")()
        self.cdf_array = self.integral_array = resolve("Float")()
        self._max = 0.0

    def _rows(self):
        """The table: a row of values for each combination of conditions."""
        import numpy as np
        values = self.pdf.numpy().astype(np.float64)
        n = values.shape[-1] if values.ndim else 0
        if n < 2:
            raise dr.UserError(f"{type(self).__name__}: needs at least two entries")
        if (values < 0).any():
            raise dr.UserError(f"{type(self).__name__}: entries must be non-negative")
        return values.reshape(-1, n)

    def update(self):
        """Computes what depends on the values; call it after a change."""
        import numpy as np
        rows = self._rows()
        width = np.diff(self._positions(rows.shape[1]))
        cdf = (0.5 * (rows[:, 1:] + rows[:, :-1]) * width).cumsum(axis=1)
        if not cdf[:, -1].all():
            raise dr.UserError(f"{type(self).__name__}: no probability mass found")
        Float = resolve("Float")
        self._size, self._values = rows.shape[1], Float(rows.ravel())
        self.cdf_array, self.integral_array, self._max = Float(cdf.ravel()), Float(cdf[:, -1]), float(rows.max())

    m_integral = property(lambda self: self.integral_array)
    m_cdf = property(lambda self: self.cdf_array)
    def empty(self): return len(self.pdf.array) == 0
    def max(self): return self._max

    # Spectra are handled channel by channel.
    @staticmethod
    def _each(f, x, cond):
        cond = list(cond)
        deep = next((v for v in (x, *cond) if isinstance(v, dr.ArrayBase) and dr.depth_v(v) > 1), None)
        if deep is None:
            return f(x, cond)
        part = lambda v, i: v[i] if isinstance(v, dr.ArrayBase) and dr.depth_v(v) > 1 else v
        results = [f(part(x, i), [part(c, i) for c in cond]) for i in range(len(deep))]
        if isinstance(results[0], tuple):
            return tuple(type(deep)(*parts) for parts in zip(*results))
        return type(deep)(*results)

    def eval_pdf(self, x, cond, active=True):
        """The values' interpolation at x, as given."""
        def f(x, cond):
            x = _floats(x)
            i, t = self._place(x)
            slices, n = _interpolated(self._axes(), cond), self._size
            a, b = (_mix(lambda s: _at(self._values, s * n + i + k, active), slices) for k in (0, 1))
            low, high = self._range()
            return dr.select((x >= low) & (x <= high) & active, dr.lerp(a, b, t), 0)
        return self._each(f, x, cond)

    def eval_pdf_normalized(self, x, cond, active=True):
        """The density at x."""
        return self.eval_pdf(x, cond, active) / self.integral(cond)

    def integral(self, cond):
        """Over the line, under these conditions."""
        return self._each(lambda _, c: _mix(lambda s: _at(self.integral_array, s), _interpolated(self._axes(), c)), None, cond)

    def sample_pdf(self, u, cond, active=True):
        """(position, density) for a number in [0, 1)"""
        if not self._is_sampled:
            raise dr.UserError(f"{type(self).__name__}: it was made to be evaluated alone; leave enable_sampling True to sample it")

        def f(u, cond):
            slices, n = _interpolated(self._axes(), cond), self._size
            def sums(i): return _mix(lambda s: _at(self.cdf_array, s * (n - 1) + i, active), slices)
            total = sums(resolve("UInt32")(n - 2))
            y = _floats(u) * total
            i = dr.binary_search(0, n - 2, lambda k: sums(k) <= y)
            start, width = self._interval(i)
            a, b = (_mix(lambda s: _at(self._values, s * n + i + k, active), slices) for k in (0, 1))
            t = _core.sample_linear(a, b, (y - _before(sums, i)) / width)
            return dr.fma(t, width, start), dr.lerp(a, b, t) / total
        return self._each(f, u, cond)

    def _place(self, x):
        i = self._find(x)
        start, width = self._interval(i)
        return i, dr.clip((x - start) / width, 0, 1)

    def __repr__(self): return f"{type(self).__name__}[\n  shape = {self.pdf.shape},\n  max = {self._max:g}\n]"


class ConditionalRegular1D(_Conditional):
    """Values at equal distances over `range`, one row for each combination of conditions, which are at equal distances, too:
    `ConditionalRegular1D(pdf, range, range_cond, size_cond)`, or with a tensor, whose shape says the sizes."""

    def __init__(self, pdf=None, range=None, range_cond=(), size_cond=None, enable_sampling=True):
        super().__init__(enable_sampling)
        self.range, self.range_cond = [0.0, 0.0], []
        if pdf is None:
            return
        self.range, self.range_cond = _pair(range), [_pair(r) for r in range_cond]
        self.pdf = _tensor(pdf, size_cond)
        self.update()

    def _positions(self, n):
        import numpy as np
        return np.linspace(self.range[0], self.range[1], n)

    def _axes(self): return [_regular_axis(*r, n) for r, n in zip(self.range_cond, self.pdf.shape)]
    def _range(self): return self.range
    def _step(self): return (self.range[1] - self.range[0]) / (self._size - 1)
    def _find(self, x): return resolve("UInt32")(dr.clip((x - self.range[0]) / self._step(), 0, self._size - 2))
    def _interval(self, i): return dr.fma(resolve("Float")(i), self._step(), self.range[0]), resolve("Float")(self._step())


class ConditionalIrregular1D(_Conditional):
    """Values at the positions `nodes`, one row for each combination of conditions, whose positions are `nodes_cond`."""

    def __init__(self, nodes=None, pdf=None, nodes_cond=(), enable_sampling=True):
        super().__init__(enable_sampling)
        self.nodes, self.nodes_cond = resolve("Float")(), []
        if nodes is None:
            return
        self.nodes, self.nodes_cond = _floats(nodes), [_floats(n) for n in nodes_cond]
        self.pdf = _tensor(pdf, [len(n) for n in self.nodes_cond])
        if self.pdf.shape[-1] != len(self.nodes):
            raise dr.UserError(f"ConditionalIrregular1D: size mismatch: {len(self.nodes)} nodes for rows of {self.pdf.shape[-1]} values")
        self.update()

    def _positions(self, n): return self.nodes.numpy().astype("float64")
    def _axes(self): return [_irregular_axis(n) for n in self.nodes_cond]
    def _range(self): return float(self.nodes[0]), float(self.nodes[len(self.nodes) - 1])

    def _find(self, x):
        from .math import find_interval
        return find_interval(len(self.nodes), lambda j: _at(self.nodes, j) <= x)

    def _interval(self, i):
        start = _at(self.nodes, i)
        return start, _at(self.nodes, i + 1) - start


def _pair(r): return [float(e[0]) if isinstance(e, dr.ArrayBase) else float(e) for e in r]


def _tensor(values, sizes):
    """A tensor of conditions and positions."""
    T = resolve("TensorXf")
    if isinstance(values, dr.ArrayBase) and dr.is_tensor_v(values):
        return T(values)
    import numpy as np
    flat = np.asarray(values.numpy() if isinstance(values, dr.ArrayBase) else values).ravel()
    count = int(np.prod(sizes, dtype=np.int64))
    if count == 0 or len(flat) % count:
        raise dr.UserError(f"a conditional distribution: size mismatch: {len(flat)} values are no whole rows for conditions of "
                           f"{list(sizes)}")
    return T(np.ascontiguousarray(flat.reshape(*sizes, -1)))


ConditionalRegular1DSpectrum, ConditionalIrregular1DSpectrum = ConditionalRegular1D, ConditionalIrregular1D
__all__ = [n for n in globals() if n.startswith(("Marginal", "Hierarchical", "Conditional"))]
