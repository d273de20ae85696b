# tests/python/dda_test.py: rays through the cells of a grid, and integrals along them.
import itertools

import numpy as np
import pytest

import umbel.jit as dr
from umbel.jit import scalar
from umbel.jit.auto import Array2f, Array3f, Bool, Float, PCG32, TensorXf
from umbel.jit.dda import dda, integrate, integrate_ref


def passed_cells(o, d, t_max, res, low, high):
    """By intersecting all cells: [(time, cell)], sorted."""
    size = (np.array(high, float) - low) / res[::-1]
    out = []
    for cell in itertools.product(*(range(r) for r in res[::-1])):  # x first
        t0, t1 = 0.0, t_max
        for i in range(3):
            a, b = low[i] + cell[i] * size[i], low[i] + (cell[i] + 1) * size[i]
            if d[i] == 0:
                if not a <= o[i] <= b:
                    t1 = -1
                continue
            u, v = sorted(((a - o[i]) / d[i], (b - o[i]) / d[i]))
            t0, t1 = max(t0, u), min(t1, v)
        if t1 - t0 > 1e-6:
            out.append((t0, cell[::-1]))
    return [c for _, c in sorted(out)]


@pytest.mark.parametrize("o,d,t_max", [((0.5, 0.4, 0.3), (0.1, 0.2, 0.3), 0.9), ((0, 0, -1.1), (0.1, 0.2, 0.3), 1e9),
                                       ((0, 0, 1.1), (-0.1, -0.2, -0.3), 1e9), ((-2, 0.1, 0.2), (1, 0, 0.05), 1e9),
                                       ((0.3, 0.3, 0.3), (0.2, 0.1, -0.3), 2.0), ((5, 5, 5), (1, 1, 1), 1e9)])
def test_cells_come_in_order(o, d, t_max):
    res, low, high = (3, 4, 5), (-1, -1, -1), (1, 1, 1)

    def visit(state, cell, p, q, active):
        if active:
            state.append(tuple(cell))
            for x in (*p, *q):
                assert -1e-5 <= x <= 1 + 1e-5
        return state, True
    S = scalar
    found = dda(S.Array3f(o), S.Array3f(d), t_max, S.Array3u(res), S.Array3f(low), S.Array3f(high), visit, [], True)
    assert found == passed_cells(o, d, t_max, res, low, high)


def segments(rng, n, low, high):
    p = type(low)([rng.next_float32() for _ in range(n)]) * (high - low) + low
    q = type(low)([rng.next_float32() for _ in range(n)]) * (high - low) + low
    return p, q - p


@pytest.mark.parametrize("Vector,shape", [(Array2f, (3, 4)), (Array3f, (3, 2, 5))])
def test_integrals_agree_with_the_trapezoidal_rule(Vector, shape):
    vol = TensorXf(PCG32(int(np.prod(shape))).next_float32() * 2 - 1, shape)
    n = len(shape)
    low, high = Vector(0), Vector([1.0, 2.0, 3.0][:n])
    o, d = segments(PCG32(16), n, low, high)
    a = integrate(o, d, Float(1), low, high, vol)
    b = integrate_ref(o, d, Float(1), low, high, vol, 2048)
    assert dr.allclose(a, b, atol=1e-4)


def test_derivatives_with_respect_to_the_volume_agree():
    low, high = Array2f(0), Array2f(1, 2)
    o, d = segments(PCG32(4), 2, low, high)
    grads = []
    for f in (lambda v: integrate(o, d, Float(1), low, high, v), lambda v: integrate_ref(o, d, Float(1), low, high, v, 1024)):
        vol = TensorXf(dr.arange(Float, 9) * 0.1, (3, 3))
        dr.enable_grad(vol)
        dr.backward(dr.sum(f(vol)))
        grads.append(dr.grad(vol).numpy())
    assert np.allclose(grads[0], grads[1], atol=2e-3) and np.abs(grads[0]).max() > 0.1
    with pytest.raises(TypeError, match="dimensions"):
        integrate(o, d, Float(1), low, high, TensorXf([1.0, 2.0]))
