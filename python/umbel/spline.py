"""Cubic splines through values at regular or given positions, with slopes from finite differences (Catmull-Rom).

Functions take (min, max, values, ...) for regular positions or (nodes, values, ...) for given ones."""
import math

from . import jit as dr
from ._variant_types import resolve


# ---- one interval: from f0 with slope d0 to f1 with slope d1, t in [0, 1]

def eval_spline(f0, f1, d0, d1, t):
    """The value at t."""
    return f0 + t * (d0 + t * (3 * (f1 - f0) - 2 * d0 - d1 + t * (2 * (f0 - f1) + d0 + d1)))


def eval_spline_d(f0, f1, d0, d1, t):
    """(value, derivative) at t."""
    a, b = 3 * (f1 - f0) - 2 * d0 - d1, 2 * (f0 - f1) + d0 + d1
    return eval_spline(f0, f1, d0, d1, t), d0 + t * (2 * a + t * (3 * b))


def eval_spline_i(f0, f1, d0, d1, t):
    """(integral from 0 to t, value) at t."""
    a, b = 3 * (f1 - f0) - 2 * d0 - d1, 2 * (f0 - f1) + d0 + d1
    return t * (f0 + t * (d0 / 2 + t * (a / 3 + t * (b / 4)))), eval_spline(f0, f1, d0, d1, t)


# ---- positions of values

class _Nodes:
    """Intervals between positions, and the slopes at their ends."""

    def __init__(self, args):
        Float = resolve("Float")
        self.regular = not hasattr(args[0], "__len__")
        if self.regular:
            self.low, self.high, values = float(args[0]), float(args[1]), args[2]
            self.rest = args[3:]
        else:
            self.nodes, values = Float(args[0]), args[1]
            self.rest = args[2:]
        self._set(Float(values) if hasattr(values, "__len__") else None, values)

    def _set(self, values, size):
        self.values = values
        self.size = size if values is None else len(values)
        if self.size < 2:
            raise ValueError(f"a spline needs two values or more, not {self.size}")
        if not self.regular:
            if len(self.nodes) != self.size:
                raise ValueError(f"a spline needs as many nodes as values, not {len(self.nodes)} and {self.size}")
            self.low, self.high = self.nodes[0], self.nodes[self.size - 1]

    def node(self, i):
        if self.regular:
            step = (self.high - self.low) / (self.size - 1)
            return self.low + resolve("Float")(i) * step
        return dr.gather(resolve("Float"), self.nodes, i)

    def find(self, x):
        """(whether x is inside, interval, its start, its length)"""
        Float, UInt = resolve("Float"), resolve("UInt32")
        x = Float(x)
        inside = (x >= self.low) & (x <= self.high)
        if self.regular:
            step = (self.high - self.low) / (self.size - 1)
            i = dr.clip(UInt(dr.clip((x - self.low) / step, 0, self.size - 2)), 0, self.size - 2)
            return inside, i, self.low + Float(i) * step, Float(step)
        from .math import find_interval
        i = find_interval(self.size, lambda j: dr.gather(Float, self.nodes, j) <= x)
        start = self.node(i)
        return inside, i, start, self.node(i + 1) - start

    def at(self, i): return dr.gather(resolve("Float"), self.values, i)

    def ends(self, i, width):
        """(f0, f1, d0, d1) of an interval; slopes with respect to t. One-sided at the ends."""
        f0, f1 = self.at(i), self.at(i + 1)
        before, after = dr.maximum(i, 1) - 1, dr.minimum(i + 2, self.size - 1)
        if self.regular:
            w0, w2 = 2.0, 2.0
        else:
            w0, w2 = (self.node(i + 1) - self.node(before)) / width, (self.node(after) - self.node(i)) / width
        d0 = dr.select(i > 0, (f1 - self.at(before)) / w0, f1 - f0)
        d1 = dr.select(i + 2 < self.size, (self.at(after) - f0) / w2, f1 - f0)
        return f0, f1, d0, d1


def eval_1d(*args):
    """The spline at x; 0 outside. eval_1d(min, max, values, x) or eval_1d(nodes, values, x)"""
    n = _Nodes(args)
    x, = n.rest
    inside, i, start, width = n.find(x)
    return dr.select(inside, eval_spline(*n.ends(i, width), (x - start) / width), 0)


def integrate_1d(*args):
    """Integrals from the first position to each one."""
    n = _Nodes(args)
    i = dr.arange(resolve("UInt32"), n.size - 1)
    width = n.node(i + 1) - n.node(i)
    f0, f1, d0, d1 = n.ends(i, width)
    sums = dr.cumsum(((d0 - d1) / 12 + (f0 + f1) / 2) * width)
    out = dr.zeros(resolve("Float"), n.size)
    dr.scatter(out, sums, i + 1)
    return out


def _solve(function, target, first, eps):
    """t in [0, 1] with function(t) = (target, slope), which increases, to `eps`: Newton's steps, bisection where they fail."""
    if not 0 < eps < 1:
        raise ValueError(f"eps is {eps}, and must lie between 0 and 1")
    count = math.ceil(-math.log2(eps))  # as bisection alone would need
    Float = resolve("Float")
    t, low, high = Float(first), dr.zeros(Float, dr.width(first)), dr.full(Float, 1.0, dr.width(first))
    for _ in range(count):
        value, slope = function(t)
        above = value > target
        high, low = dr.select(above, t, high), dr.select(above, low, t)
        step = t - (value - target) / slope
        t = dr.select((step >= low) & (step <= high), step, 0.5 * (low + high))
    return t


def invert_1d(*args, eps=1e-6):
    """The x at which a monotonically increasing spline has the value y; beyond its values, the nearest end."""
    n = _Nodes(args)
    y = n.rest[0]
    Float = resolve("Float")
    y = Float(y)
    from .math import find_interval
    i = find_interval(n.size, lambda j: n.at(j) <= y)
    start = n.node(i)
    width = n.node(i + 1) - start
    ends = n.ends(i, width)
    t = _solve(lambda t: eval_spline_d(*ends, t), y, (y - ends[0]) / dr.maximum(ends[1] - ends[0], 1e-20), eps)
    x = start + t * width
    return dr.select(y <= n.values[0], n.low, dr.select(y >= n.values[n.size - 1], n.high, x))


def sample_1d(*args, eps=1e-6):
    """(position, value, density): importance samples a spline that is not negative; `cdf` is integrate_1d() of it."""
    n = _Nodes(args)
    cdf, sample = resolve("Float")(n.rest[0]), n.rest[1]
    Float = resolve("Float")
    total = cdf[n.size - 1]
    u = Float(sample) * total
    from .math import find_interval
    i = find_interval(n.size, lambda j: dr.gather(Float, cdf, j) <= u)
    start = n.node(i)
    width = n.node(i + 1) - start
    ends = n.ends(i, width)
    target = (u - dr.gather(Float, cdf, i)) / width
    # As if the density were linear
    f0, f1 = ends[0], ends[1]
    first = dr.select(f0 == f1, target / f0, (f0 - dr.safe_sqrt(f0 * f0 + 2 * target * (f1 - f0))) / (f0 - f1))
    t = _solve(lambda t: eval_spline_i(*ends, t), target, dr.clip(first, 0, 1), eps)
    value = eval_spline(*ends, t)
    return start + t * width, value, value / total


def eval_spline_weights(*args):
    """(whether x is inside, index of the first value, weights of four values): what eval_1d() sums up."""
    n = _Nodes((*args[:2], args[2], args[3]) if len(args) == 4 else (args[0], len(args[0]), args[1]))
    x, = n.rest
    inside, i, start, width = n.find(x)
    t = (x - start) / width
    t2, t3 = t * t, t * t * t
    slope0, slope1 = t3 - 2 * t2 + t, t3 - t2  # weights of d0 and d1
    w = [dr.zeros(resolve("Float"), dr.width(t)), 2 * t3 - 3 * t2 + 1, -2 * t3 + 3 * t2,
         dr.zeros(resolve("Float"), dr.width(t))]
    before, after = dr.maximum(i, 1) - 1, dr.minimum(i + 2, n.size - 1)
    if n.regular:
        w0, w2 = 2.0, 2.0
    else:
        w0, w2 = (n.node(i + 1) - n.node(before)) / width, (n.node(after) - n.node(i)) / width
    first, last = i == 0, i + 2 >= n.size
    a, b = slope0 / dr.select(first, 1.0, w0), slope1 / dr.select(last, 1.0, w2)
    w[2] += a
    w[0] -= dr.select(first, 0.0, a)
    w[1] -= dr.select(first, a, 0.0)
    w[3] += dr.select(last, 0.0, b)
    w[2] += dr.select(last, b, 0.0)
    w[1] -= b
    return inside, resolve("Int32")(i) - 1, [dr.select(inside, e, 0.0) for e in w]


def eval_2d(nodes1, nodes2, values, x, y):
    """The product of two splines; `values` has a row for each of nodes2."""
    Float, values = resolve("Float"), resolve("Float")(values)
    inside1, i, wx = eval_spline_weights(nodes1, x)
    inside2, j, wy = eval_spline_weights(nodes2, y)
    n1, n2 = len(nodes1), len(nodes2)
    UInt, total = resolve("UInt32"), 0.0
    for b in range(4):
        row = UInt(dr.clip(j + b, 0, n2 - 1))
        for a in range(4):
            total += wx[a] * wy[b] * dr.gather(Float, values, row * n1 + UInt(dr.clip(i + a, 0, n1 - 1)))
    return dr.select(inside1 & inside2, total, 0)
