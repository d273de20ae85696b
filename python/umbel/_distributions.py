# umbel/_distributions.py: distributions given by tables, on arrays: tables may change and have gradients.
from . import jit as dr
from ._fields import Typed
from ._variant_types import Fields, resolve


def _floats(v): return v if type(v) is resolve("Float") else resolve("Float")(v)
def _at(table, i, active=True): return dr.gather(type(table), table, _index(i), active)
def _index(i): return i if isinstance(i, dr.ArrayBase) else resolve("UInt32")(i)


def _check(name, values):
    """Complains about a table that is no distribution."""
    if not (values >= 0).all():  # also where an entry is no number
        raise dr.UserError(f"{name}: entries must be non-negative; they are {values.tolist()[:8]}")
    if not values.any():
        raise dr.UserError(f"{name}: no probability mass found: all entries are zero")


class DiscreteDistribution(Typed):
    """An index, with a probability proportional to its entry of `pmf`."""
    DRJIT_STRUCT = Fields(pmf="Float", cdf="Float")
    _kinds = {"pmf": "Float", "cdf": "Float"}

    def __init__(self, pmf=None):
        if isinstance(pmf, DiscreteDistribution):
            pmf = pmf.pmf
        self.pmf = resolve("Float")() if pmf is None else _floats(pmf)
        self.cdf = resolve("Float")()
        if len(self.pmf):
            self.update()

    def update(self):
        """Computes what depends on `pmf`."""
        self.pmf = _floats(self.pmf)
        if len(self.pmf) == 0:
            raise dr.UserError("DiscreteDistribution: empty distribution: give one or more entries")
        values = self.pmf.numpy()
        _check("DiscreteDistribution", values)
        used = values.nonzero()[0]
        self._first, self._last = int(used[0]), int(used[-1])
        self.cdf = dr.cumsum(self.pmf)
        self._sum = _at(self.cdf, resolve("UInt32")(len(self.pmf) - 1))

    def size(self): return len(self.pmf)
    def empty(self): return len(self.pmf) == 0
    def sum(self): return self._sum
    def normalization(self): return 1 / self._sum
    def eval_pmf(self, index, active=True): return _at(self.pmf, index, active)
    def eval_pmf_normalized(self, index, active=True): return _at(self.pmf, index, active) / self._sum
    def eval_cdf(self, index, active=True): return _at(self.cdf, index, active)
    def eval_cdf_normalized(self, index, active=True): return _at(self.cdf, index, active) / self._sum

    def sample(self, value, active=True):
        """The index for a number in [0, 1)."""
        value = _floats(value) * self._sum
        return dr.binary_search(self._first, self._last, lambda i: _at(self.cdf, i, active) < value)

    def sample_pmf(self, value, active=True):
        """(index, its probability)"""
        index = self.sample(value, active)
        return index, self.eval_pmf_normalized(index, active)

    def sample_reuse(self, value, active=True):
        """(index, a number in [0, 1) made of what is left of the given one)"""
        return self.sample_reuse_pmf(value, active)[:2]

    def sample_reuse_pmf(self, value, active=True):
        """(index, number, probability)"""
        index, pmf = self.sample_pmf(value, active)
        below = dr.select(index > 0, self.eval_cdf_normalized(dr.maximum(index, 1) - 1, active), 0)
        return index, (value - below) / pmf, pmf

    def __len__(self): return len(self.pmf)

    def __repr__(self):
        return f"DiscreteDistribution[\n  size = {len(self.pmf)},\n  sum = {getattr(self, '_sum', 0)},\n" \
               f"  pmf = {self.pmf}\n]"


class _Linear(Typed):
    """A density that is linear between positions, and 0 outside."""

    def update(self):
        """Computes what depends on the values."""
        self.pdf = _floats(self.pdf)
        n = len(self.pdf)
        if n < 2:
            raise dr.UserError(f"{type(self).__name__}: needs at least two entries, not {n}")
        values = self.pdf.numpy()
        _check(type(self).__name__, values)
        i = dr.arange(resolve("UInt32"), n - 1)
        area = 0.5 * (_at(self.pdf, i) + _at(self.pdf, i + 1)) * self._interval(i)[1]
        self.cdf = dr.cumsum(area)
        used = ((values[:-1] > 0) | (values[1:] > 0)).nonzero()[0]
        self._first, self._last = int(used[0]), int(used[-1])
        self._integral, self._max = _at(self.cdf, resolve("UInt32")(n - 2)), float(values.max())

    def size(self): return len(self.pdf)
    def empty(self): return len(self.pdf) == 0
    def __len__(self): return len(self.pdf)
    def integral(self): return self._integral
    def normalization(self): return 1 / self._integral
    def max(self): return self._max

    def _place(self, x):
        i = self._find(x)
        start, width = self._interval(i)
        return i, dr.clip((x - start) / width, 0, 1), width

    def _inside(self, x, active): return (x >= self.range[0]) & (x <= self.range[1]) & active

    def eval_pdf(self, x, active=True):
        """The values' interpolation at x, as given."""
        x = _floats(x)
        i, t, _ = self._place(x)
        a, b = _at(self.pdf, i, active), _at(self.pdf, i + 1, active)
        return dr.select(self._inside(x, active), dr.lerp(a, b, t), 0)

    def eval_pdf_normalized(self, x, active=True): return self.eval_pdf(x, active) / self._integral

    def eval_cdf(self, x, active=True):
        """Their integral up to x."""
        x = _floats(x)
        i, t, width = self._place(x)
        a, b = _at(self.pdf, i, active), _at(self.pdf, i + 1, active)
        below = dr.select(i > 0, _at(self.cdf, dr.maximum(i, 1) - 1, active), 0)
        return dr.fma(t * dr.fma(0.5 * t, b - a, a), width, below)

    def eval_cdf_normalized(self, x, active=True): return self.eval_cdf(x, active) / self._integral
    def sample(self, value, active=True): return self.sample_pdf(value, active)[0]

    def sample_pdf(self, value, active=True):
        """(position, density) for a number in [0, 1)"""
        value = _floats(value) * self._integral
        i = dr.binary_search(self._first, self._last, lambda j: _at(self.cdf, j, active) <= value)
        a, b = _at(self.pdf, i, active), _at(self.pdf, i + 1, active)
        start, width = self._interval(i)
        rest = (value - dr.select(i > 0, _at(self.cdf, dr.maximum(i, 1) - 1, active), 0)) / width
        t = _invert_linear(a, b, rest)
        return dr.fma(t, width, start), dr.lerp(a, b, t) / self._integral


def _invert_linear(a, b, y):
    """t at which the integral of the line from a (t = 0) to b (t = 1) is y."""
    # The form of the root that has no cancellation; also where a = b
    return dr.clip(2 * y / dr.maximum(a + dr.safe_sqrt(dr.fma(a, a, 2 * y * (b - a))), 1e-30), 0, 1)


class ContinuousDistribution(_Linear):
    """A density through values at equal distances over a range."""
    DRJIT_STRUCT = Fields(pdf="Float", cdf="Float")
    _kinds = {"pdf": "Float", "cdf": "Float"}

    def __init__(self, range=None, pdf=None):
        if isinstance(range, ContinuousDistribution):
            range, pdf = range.range, range.pdf
        self.pdf = self.cdf = resolve("Float")()
        self.range = [0.0, 0.0]
        if pdf is not None:
            self.range = [float(r[0]) if hasattr(r, "__len__") else float(r) for r in range]
            if not self.range[0] < self.range[1]:
                raise dr.UserError(f"ContinuousDistribution: invalid range {self.range}; the first number must be smaller")
            self.pdf = _floats(pdf)
            self.update()

    def interval_resolution(self): return (self.range[1] - self.range[0]) / (len(self.pdf) - 1)

    def _find(self, x):
        n = len(self.pdf)
        return resolve("UInt32")(dr.clip((x - self.range[0]) / self.interval_resolution(), 0, n - 2))

    def _interval(self, i):
        step = self.interval_resolution()
        return dr.fma(resolve("Float")(i), step, self.range[0]), resolve("Float")(step)

    def __repr__(self):
        return f"ContinuousDistribution[\n  size = {len(self.pdf)},\n  range = {self.range},\n  pdf = {self.pdf}\n]"


class IrregularContinuousDistribution(_Linear):
    """A density through values at given positions, which increase."""
    DRJIT_STRUCT = Fields(nodes="Float", pdf="Float", cdf="Float")
    _kinds = {"nodes": "Float", "pdf": "Float", "cdf": "Float"}

    def __init__(self, nodes=None, pdf=None):
        if isinstance(nodes, IrregularContinuousDistribution):
            nodes, pdf = nodes.nodes, nodes.pdf
        self.nodes = self.pdf = self.cdf = resolve("Float")()
        self.range = [0.0, 0.0]
        if nodes is not None:
            self.nodes, self.pdf = _floats(nodes), _floats(pdf)
            self.update()

    def update(self):
        self.nodes, self.pdf = _floats(self.nodes), _floats(self.pdf)
        values = self.nodes.numpy()
        if len(values) != len(self.pdf):
            raise dr.UserError(f"IrregularContinuousDistribution: size mismatch: {len(values)} nodes and {len(self.pdf)} "
                               "values; there must be as many of both")
        if not (values[1:] > values[:-1]).all():
            raise dr.UserError("IrregularContinuousDistribution: nodes must be strictly increasing; they are "
                               f"{values.tolist()[:8]}")
        self.range = [float(values[0]), float(values[-1])] if len(values) else [0.0, 0.0]
        self._resolution = float((values[1:] - values[:-1]).min()) if len(values) > 1 else 0.0
        super().update()

    def interval_resolution(self): return self._resolution

    def _find(self, x):
        from .math import find_interval
        return find_interval(len(self.nodes), lambda j: _at(self.nodes, j) <= x)

    def _interval(self, i):
        start = _at(self.nodes, i)
        return start, _at(self.nodes, i + 1) - start

    def __repr__(self):
        return f"IrregularContinuousDistribution[\n  size = {len(self.pdf)},\n  nodes = {self.nodes},\n" \
               f"  pdf = {self.pdf}\n]"


def _table(data):
    """(values, width, height) of an array of rows."""
    import numpy as np
    data = np.ascontiguousarray(data.numpy() if isinstance(data, dr.ArrayBase) else data, dtype=np.float64)
    if data.ndim == 3 and data.shape[2] == 1:
        data = data[:, :, 0]
    if data.ndim != 2 or not (data >= 0).all() or not data.any():
        raise dr.UserError("a distribution over a rectangle needs rows of numbers that are not negative, nor all zero; "
                           f"the array has the shape {data.shape}")
    return data


class DiscreteDistribution2D:
    """A cell of a table, with a probability proportional to its entry."""

    def __init__(self, data):
        data = _table(data)
        Float = resolve("Float")
        self._height, self._width = data.shape
        self._values = Float(data.ravel())
        self._rows = DiscreteDistribution(Float(data.sum(axis=1)))
        self._cells = Float(data.cumsum(axis=1).ravel())  # each row's own sums
        self._last = resolve("UInt32")([int(r.nonzero()[0][-1]) if r.any() else 0 for r in data])

    def eval(self, pos, active=True):
        """The entry of a cell, [column, row]."""
        return _at(self._values, pos[0] + pos[1] * self._width, active)

    def pdf(self, pos, active=True):
        """The probability of a cell."""
        return self.eval(pos, active) / self._rows.sum()

    def sample(self, sample, active=True):
        """(cell, probability, numbers in [0, 1) made of what is left of the given ones)"""
        UInt = resolve("UInt32")
        row, v, p_row = self._rows.sample_reuse_pmf(sample[1], active)
        base, total = row * self._width, self._rows.eval_pmf(row, active)
        u = _floats(sample[0]) * total
        last = dr.gather(UInt, self._last, row, active)
        column = dr.binary_search(0, self._width - 1, lambda i: _at(self._cells, base + i, active) <= u)
        column = dr.minimum(column, last)
        value = _at(self._values, base + column, active)
        below = dr.select(column > 0, _at(self._cells, base + dr.maximum(column, 1) - 1, active), 0)
        return (resolve("Point2u")(column, row), value / self._rows.sum(),
                resolve("Point2f")((u - below) / value, v))


__all__ = ["DiscreteDistribution", "ContinuousDistribution", "IrregularContinuousDistribution",
           "DiscreteDistribution2D"]
