# tests/python/empty_test.py: arrays of size zero mean what NumPy's do.
import numpy as np
import pytest

import umbel.jit as dr
from umbel.jit.auto import Array3f, Bool, Float, TensorXf, UInt


def nothing(t=Float): return dr.zeros(t, 0)


def is_empty(a, t=Float):
    return type(a) is t and dr.width(a) == 0


@pytest.mark.parametrize("f", [
    lambda z: z + 1, lambda z: 1 - z, lambda z: z * z, lambda z: z + Float(3), lambda z: -z, lambda z: z / 2,
    lambda z: z ** 2, lambda z: 2 ** z, abs, dr.sin, dr.sqrt, dr.round, lambda z: dr.minimum(z, 2),
    lambda z: dr.fma(z, 2, z), lambda z: dr.select(z < 1, z, 0), lambda z: dr.clip(z, 0, 1), lambda z: dr.lerp(z, 1, .5),
    dr.cumsum, dr.prefix_sum, lambda z: dr.cumsum(z, reverse=True), lambda z: dr.prefix_reduce(dr.ReduceOp.Max, z),
    dr.sort, lambda z: dr.block_sum(z, 2), dr.reverse, lambda z: dr.gather(Float, z, nothing(UInt)),
    lambda z: dr.gather(Float, Float(1, 2), nothing(UInt)), lambda z: dr.norm(dr.zeros(Array3f, 0)),
    lambda z: dr.dot(dr.zeros(Array3f, 0), Array3f(1, 2, 3)), lambda z: UInt(z) * 2.5])
def test_what_is_made_of_nothing_is_nothing(f):
    assert is_empty(f(nothing()))


def test_classes_are_those_of_other_sizes():
    z = nothing()
    assert is_empty(z < 1, Bool) and is_empty((z < 1) & (z > 0), Bool) and is_empty(~(z < 1), Bool)
    assert is_empty(dr.argsort(z), UInt) and is_empty(dr.zeros(Array3f, 0) * 2, Array3f)
    assert is_empty(dr.gather(Array3f, Float(1, 2, 3), nothing(UInt)), Array3f)
    z += 1
    assert is_empty(z)


def test_only_one_element_broadcasts_beside_nothing():
    with pytest.raises(dr.UserError, match="sizes 0 and 3"):
        nothing() + Float(1, 2, 3)
    with pytest.raises(dr.UserError, match="sizes 0 and 2"):
        dr.fma(nothing(), Float(1, 2), 1)


def test_reductions_of_nothing():
    z, n = nothing(), np.zeros(0, np.float32)
    assert dr.sum(z) == n.sum() and dr.prod(z) == n.prod() and dr.dot(z, z) == 0
    assert dr.all(z < 1) and not dr.any(z < 1) and dr.count(z < 1) == 0
    for f in (dr.mean, dr.var, dr.std, dr.median):
        assert np.isnan(f(z).numpy()).all()
    for f, g in ((dr.argmax, np.argmax), (dr.argmin, np.argmin)):
        with pytest.raises(ValueError):
            g(n)
        with pytest.raises(ValueError):
            f(z)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 3)])
def test_tensors(shape):
    t, n = dr.zeros(TensorXf, shape), np.zeros(shape, np.float32)
    assert (t + 1).shape == dr.sin(t).shape == shape
    for axis in range(len(shape)):
        assert dr.cumsum(t, axis=axis).shape == dr.sort(t, axis=axis).shape == shape
        assert np.array_equal(dr.sum(t, axis=axis).numpy(), n.sum(axis=axis))
        if shape[axis]:
            assert dr.argmax(t, axis=axis).shape == n.argmax(axis=axis).shape
        else:
            with pytest.raises(ValueError):
                dr.argmax(t, axis=axis)


def test_gradients():
    x = nothing()
    dr.enable_grad(x)
    y = x * x
    dr.backward(y)
    assert is_empty(dr.grad(x)) and is_empty(dr.grad(y))
    dr.forward(x)
    dr.set_grad(x, 1)
    assert is_empty(dr.grad(x)) and is_empty(dr.detach(x))
    w = Float(1, 2)
    dr.enable_grad(w)
    dr.backward(dr.sum(w) + dr.sum(dr.gather(Float, w, nothing(UInt))))
    assert dr.all(dr.grad(w) == 1)
