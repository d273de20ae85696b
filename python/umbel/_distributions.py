# umbel/_distributions.py: distributions given by tables, on arrays: tables may change and have gradients.
from . import jit as dr
from ._variant_types import Fields, resolve


def _floats(v): return v if type(v) is resolve("Float") else resolve("Float")(v)
def _at(table, i, active=True): return dr.gather(type(table), table, i, active)


class DiscreteDistribution:
    """An index, with a probability proportional to its entry of `pmf`."""
    DRJIT_STRUCT = Fields(pmf="Float", cdf="Float")

    def __init__(self, pmf=None):
        if isinstance(pmf, DiscreteDistribution):
            pmf = pmf.pmf
        self.pmf = resolve("Float")() if pmf is None else _floats(pmf)
        self.cdf = resolve("Float")()
        if len(self.pmf):
            self.update()

    def update(self):
        """Computes what depends on `pmf`."""
        if len(self.pmf) == 0:
            raise dr.UserError("DiscreteDistribution: there are no entries; give one or more")
        values = self.pmf.numpy()
        if not (values >= 0).all() or not values.any():  # also where an entry is no number
            raise dr.UserError("DiscreteDistribution: entries must not be negative, nor all zero; they are "
                               f"{values.tolist()[:8]}")
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
        return dr.binary_search(self._first, self._last, lambda i: _at(self.cdf, i, active) <= value)

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


class _Linear:
    """A density that is linear between positions, and 0 outside."""

    def update(self):
        """Computes what depends on the values."""
        n = len(self.pdf)
        if n < 2:
            raise dr.UserError(f"{type(self).__name__}: {n} values make no interval; give two or more")
        values = self.pdf.numpy()
        if not (values >= 0).all() or not values.any():
            raise dr.UserError(f"{type(self).__name__}: values must not be negative, nor all zero; they are "
                               f"{values.tolist()[:8]}")
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

    def __init__(self, range=None, pdf=None):
        if isinstance(range, ContinuousDistribution):
            range, pdf = range.range, range.pdf
        self.pdf = self.cdf = resolve("Float")()
        self.range = [0.0, 0.0]
        if pdf is not None:
            self.range = [float(r[0]) if hasattr(r, "__len__") else float(r) for r in range]
            if not self.range[0] < self.range[1]:
                raise dr.UserError(f"ContinuousDistribution: the range {self.range} is empty")
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

    def __init__(self, nodes=None, pdf=None):
        if isinstance(nodes, IrregularContinuousDistribution):
            nodes, pdf = nodes.nodes, nodes.pdf
        self.nodes = self.pdf = self.cdf = resolve("Float")()
        self.range = [0.0, 0.0]
        if nodes is not None:
            self.nodes, self.pdf = _floats(nodes), _floats(pdf)
            self.update()

    def update(self):
        values = self.nodes.numpy()
        if len(values) != len(self.pdf):
            raise dr.UserError(f"IrregularContinuousDistribution: {len(values)} nodes and {len(self.pdf)} values; "
                               "there must be as many of both")
        if not (values[1:] > values[:-1]).all():
            raise dr.UserError("IrregularContinuousDistribution: nodes must increase; they are "
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


class MarginalContinuous2D0:
    """A density over the unit square, bilinear between the entries of a table, which include the square's edges. First
    y is sampled by the rows' integrals, then x."""

    def __init__(self, data, param_values=(), normalize=True, enable_sampling=True):
        if len(param_values):
            raise dr.UserError(f"{type(self).__name__}: a table without parameters takes no param_values")
        data = _table(data)
        Float = resolve("Float")
        self._height, self._width = h, w = data.shape
        if w < 2 or h < 2:
            raise dr.UserError(f"{type(self).__name__}: needs two rows and columns or more, not {h} and {w}")
        if normalize:
            mean = 0.25 * (data[1:, 1:] + data[:-1, 1:] + data[1:, :-1] + data[:-1, :-1]).mean()
            data = data / mean
        cells = 0.5 * (data[:, 1:] + data[:, :-1]).cumsum(axis=1) / (w - 1)
        rows = cells[:, -1]
        self._values, self._cells, self._rows = Float(data.ravel()), Float(cells.ravel()), Float(rows)
        self._below = Float((0.5 * (rows[1:] + rows[:-1]) / (h - 1)).cumsum())
        self._total = float((0.5 * (rows[1:] + rows[:-1]) / (h - 1)).sum())

    def _corners(self, i, j, active):
        w = self._width
        return [_at(self._values, (j + b) * w + i + a, active) for b in (0, 1) for a in (0, 1)]

    def _locate(self, p):
        UInt = resolve("UInt32")
        x, y = dr.clip(p[0], 0, 1) * (self._width - 1), dr.clip(p[1], 0, 1) * (self._height - 1)
        i, j = dr.minimum(UInt(x), self._width - 2), dr.minimum(UInt(y), self._height - 2)
        return i, j, x - type(x)(i), y - type(y)(j)

    def eval(self, pos, param=None, active=True):
        """The density at a position."""
        p = resolve("Point2f")(pos)
        i, j, tx, ty = self._locate(p)
        v00, v10, v01, v11 = self._corners(i, j, active)
        value = dr.lerp(dr.lerp(v00, v10, tx), dr.lerp(v01, v11, tx), ty)
        return dr.select((p.x >= 0) & (p.x <= 1) & (p.y >= 0) & (p.y <= 1) & active, value, 0)

    pdf = eval

    def _row(self, j, ty, active):
        """A function for the integral from 0 to a node of the row between two others."""
        w = self._width - 1
        return lambda i: dr.lerp(_at(self._cells, j * w + i, active), _at(self._cells, (j + 1) * w + i, active), ty)

    def _before(self, f, i): return dr.select(i > 0, f(dr.maximum(i, 1) - 1), 0)

    def sample(self, sample, param=None, active=True):
        """(position, density) for two numbers in [0, 1)"""
        u = resolve("Point2f")(sample)
        w, h = self._width - 1, self._height - 1
        v = u.y * self._total
        j = dr.binary_search(0, h - 1, lambda k: _at(self._below, k, active) <= v)
        r0, r1 = _at(self._rows, j, active), _at(self._rows, j + 1, active)
        ty = _invert_linear(r0, r1, (v - self._before(lambda k: _at(self._below, k, active), j)) * h)
        row, x = self._row(j, ty, active), u.x * dr.lerp(r0, r1, ty)
        i = dr.binary_search(0, w - 1, lambda k: row(k) <= x)
        v00, v10, v01, v11 = self._corners(i, j, active)
        a, b = dr.lerp(v00, v01, ty), dr.lerp(v10, v11, ty)
        tx = _invert_linear(a, b, (x - self._before(row, i)) * w)
        Float = resolve("Float")
        return resolve("Point2f")((Float(i) + tx) / w, (Float(j) + ty) / h), dr.lerp(a, b, tx)

    def invert(self, sample, param=None, active=True):
        """(numbers, density): what sample() gives this position for."""
        p = resolve("Point2f")(sample)
        w, h = self._width - 1, self._height - 1
        i, j, tx, ty = self._locate(p)
        v00, v10, v01, v11 = self._corners(i, j, active)
        a, b = dr.lerp(v00, v01, ty), dr.lerp(v10, v11, ty)
        r0, r1 = _at(self._rows, j, active), _at(self._rows, j + 1, active)
        x = self._before(self._row(j, ty, active), i) + tx * dr.fma(0.5 * tx, b - a, a) / w
        y = self._before(lambda k: _at(self._below, k, active), j) + ty * dr.fma(0.5 * ty, r1 - r0, r0) / h
        return resolve("Point2f")(x / dr.lerp(r0, r1, ty), y / self._total), dr.lerp(a, b, tx)


class Hierarchical2D0(MarginalContinuous2D0):
    """The same density and interface as MarginalContinuous2D0, which it is sampled by."""


__all__ = ["DiscreteDistribution", "ContinuousDistribution", "IrregularContinuousDistribution",
           "DiscreteDistribution2D", "MarginalContinuous2D0", "Hierarchical2D0"]
