"""umbel.jit.dda: rays through the cells of a regular grid, and integrals of gridded data along them.

Cells and resolutions are given from the last dimension to the first (z, y, x), positions the other way round (x, y, z).
"""
import itertools

from .. import _core
from ._control import while_loop
from ._create import arange
from ._hooks import ArgumentError
from ._math import clip, fma, inf, isfinite, lerp, maximum, minimum, norm, rcp, select
from ._memory import gather, repeat, tile
from ._reduce import all, block_sum, max, min
from ._types import ArrayBase, int32_array_t, is_tensor_v, mask_t, uint32_array_t, value_t


def _reversed(dtype, a):
    return dtype([a[i] for i in range(len(a) - 1, -1, -1)])


def dda(ray_o, ray_d, ray_max, grid_res, grid_min, grid_max, func, state, active, mode=None, max_iterations=None):
    """Calls func(state, cell, p_in, p_out, active) for each cell that a ray or segment passes, in order. The positions
    are where it enters and leaves, within the cell: 0 to 1. The function returns the next state and whether to go on.
    `ray_max` is in multiples of the direction's length [Amanatides 1987]."""
    Vector = type(ray_o)
    Cell, Index = int32_array_t(Vector), uint32_array_t(Vector)
    res = _reversed(Index, grid_res)
    size = Vector(res)

    # The ray in units of cells
    scale = size / (grid_max - grid_min)
    o, d = (ray_o - grid_min) * scale, ray_d * scale
    along, step_time = d == 0, abs(rcp(d))  # dimensions that the ray does not change; time from cell to cell

    # The part of it within the grid
    t0, t1 = -o * rcp(d), (size - o) * rcp(d)
    first, last = select(along, -inf, minimum(t0, t1)), select(along, inf, maximum(t0, t1))
    begin = maximum(max(first), 0)
    end = minimum(min(last), ray_max)
    active = active & (end > begin) & isfinite(end) & all(~along | ((o >= 0) & (o <= size)))

    # The first cell, and the time to each of its walls
    start = fma(d, begin, o)
    cell = clip(Cell(start), 0, Cell(res) - 1)
    p = start - Vector(cell)
    wall = select(d >= 0, (1 - p) * rcp(d), -p * rcp(d))
    wall = select(along, inf, wall)
    step = select(d >= 0, Cell(1), Cell(-1))

    def cond(active, state, wall, p, cell, rest):
        return active

    def body(active, state, wall, p, cell, rest):
        dt = minimum(min(wall), rest)  # 0 where the ray begins on a wall
        out = fma(d, dt, p)
        state, go_on = func(state, _reversed(Index, Index(cell)), p, out, active & (dt > 0))
        hit = wall == dt
        wall = select(hit, step_time, wall - dt)
        p = select(hit, select(d >= 0, Vector(0), Vector(1)), out)
        cell = select(hit, cell + step, cell)
        rest = rest - dt
        inside = all((cell >= 0) & (cell < Cell(res)))
        return active & inside & (rest > 0) & go_on, state, wall, p, cell, rest

    loop_state = (active, state, wall, p, cell, end - begin)
    if isinstance(active, bool):  # one ray: a loop of Python's, whose state may be anything
        while loop_state[0]:
            loop_state = body(*loop_state)
            loop_state = (bool(loop_state[0]), *loop_state[1:])
        return loop_state[1]
    return while_loop(loop_state, cond, body, label="dda", mode=mode, max_iterations=max_iterations)[1]


def _interpolator(vol):
    """f(cell, p, active): the value at position p of a cell, linear in each dimension between the values at its corners."""
    source, shape = vol.array, tuple(vol.shape)
    n = len(shape)
    strides = [1] * n
    for i in range(n - 2, -1, -1):
        strides[i] = strides[i + 1] * shape[i + 1]

    def corners(cell, active):
        at = cell[n - 1]
        for i in range(n - 1):
            at = at + cell[i] * strides[i]
        Float = type(source)
        return {c: gather(Float, source, at + sum(k * s for k, s in zip(c, strides)), active)
                for c in itertools.product((0, 1), repeat=n)}

    def value(values, p):
        for i in range(n):  # x first: the last of the corner's numbers
            values = {c[:-1]: lerp(values[c[:-1] + (0,)], values[c[:-1] + (1,)], p[i]) for c in values if c[-1] == 0}
        return values[()]
    return corners, value


def _check(what, vol, *rays):
    if not is_tensor_v(vol) or len(vol.shape) != len(rays[0]) or len(vol.shape) not in (2, 3):
        raise ArgumentError(f"{what}(): a tensor of two or three dimensions, those of the rays, is needed")
    if any(isinstance(r, ArrayBase) and _core.grad_enabled(r) for r in rays):
        raise ArgumentError(f"{what}(): derivatives are defined for the volume, not for rays and bounds; detach() them")


def integrate(ray_o, ray_d, ray_max, grid_min, grid_max, vol, active=None, mode=None):
    """Integral along a ray or segment of data at the points of a grid, linear in each dimension between them. Exact:
    along a line such a function is a polynomial of at most third degree in each cell, and Simpson's rule is, too."""
    _check("integrate", vol, ray_o, ray_d, grid_min, grid_max)
    Vector, Float = type(ray_o), value_t(ray_o)
    corners, value = _interpolator(vol)
    cells = [s - 1 for s in vol.shape]
    unit = (grid_max - grid_min) / Vector([float(c) for c in reversed(cells)])  # a cell's size

    def cell_integral(total, cell, p, q, active):
        v = corners(cell, active)
        mean = (value(v, p) + 4 * value(v, (p + q) * 0.5) + value(v, q)) * (1 / 6)
        return total + select(active, mean * norm((q - p) * unit), 0), mask_t(Float)(True)

    active = mask_t(Float)(True) if active is None else active
    return dda(ray_o, ray_d, Float(ray_max), uint32_array_t(Vector)(cells), grid_min, grid_max, cell_integral, Float(0),
               active, mode, -1)


def integrate_ref(ray_o, ray_d, ray_max, grid_min, grid_max, vol, n_samples):
    """The same integral of a segment by the trapezoidal rule with that many samples: a check of integrate()."""
    _check("integrate_ref", vol, ray_o, ray_d, grid_min, grid_max)
    Vector, Float = type(ray_o), value_t(ray_o)
    Index = uint32_array_t(Float)
    corners, value = _interpolator(vol)
    cells = Vector([float(s - 1) for s in reversed(vol.shape)])
    d = ray_d * ray_max
    rays = _core.width(ray_o + d)
    k = tile(arange(Index, n_samples), rays)
    at = fma(repeat(d, n_samples), Float(k) * (1 / (n_samples - 1)), repeat(ray_o + 0 * d, n_samples))
    p = (at - grid_min) * (cells / (grid_max - grid_min))
    inside = all((p >= 0) & (p <= cells))
    cell = clip(int32_array_t(Vector)(p), 0, int32_array_t(Vector)(cells) - 1)
    v = corners(_reversed(uint32_array_t(Vector), uint32_array_t(Vector)(cell)), inside)
    weight = select((k == 0) | (k == n_samples - 1), Float(0.5), Float(1))
    f = select(inside, value(v, p - Vector(cell)) * weight, 0)
    return block_sum(f, n_samples) * norm(d) * (1 / (n_samples - 1))
