# tests/python/higher_order_test.py: derivatives of gradients from Python.
import numpy as np
import pytest

import umbel.jit as dr
from umbel.jit.auto import Array3f64, Float64, TensorXf64


def f(x): return dr.sin(x * x) * dr.exp(x) + dr.sum(x) * x


def slopes(at):
    x = Float64(at)
    dr.enable_grad(x)
    dr.backward(f(x))
    return dr.grad(x).numpy()


def test_products_with_the_hessian_agree_with_differences():
    at, v, h = np.array([0.3, 0.6, 0.9]), np.array([1.0, -0.5, 0.25]), 1e-5
    expected = (slopes(at + h * v) - slopes(at - h * v)) / (2 * h)
    assert np.allclose(dr.hvp(f, Float64(at), Float64(v)).numpy(), expected, rtol=1e-6)


def test_a_penalty_on_the_gradient_is_differentiated_as_a_whole():
    x = Float64(0.3, 0.7)
    dr.enable_grad(x)
    y = dr.sin(x)
    g = dr.gradient(y, x)
    dr.backward(y + g * g)
    at = np.array([0.3, 0.7])
    assert np.allclose(dr.grad(x).numpy(), np.cos(at) * (1 - 2 * np.sin(at)))


@pytest.mark.parametrize("flags", (dr.ADFlag.Default, dr.ADFlag.ClearVertices))
def test_a_gradient_whose_derivative_would_be_missing_is_refused(flags):
    x = Float64(0.3, 0.7)
    dr.enable_grad(x)
    y = dr.sin(x)
    dr.backward(y, flags)
    g = dr.grad(x)
    with pytest.raises(RuntimeError, match="gradient"):
        dr.backward(y + g * g)


def test_a_detached_gradient_is_a_constant():
    x = Float64(0.3, 0.7)
    dr.enable_grad(x)
    y = dr.sin(x)
    dr.backward(y, dr.ADFlag.ClearVertices)
    g = dr.detach(dr.grad(x))
    dr.clear_grad(x)
    dr.backward(y * g)
    assert np.allclose(dr.grad(x).numpy(), np.cos([0.3, 0.7]) ** 2)


def test_structures_and_tensors_have_gradients_of_their_shape():
    p = {"a": Array3f64(1, 2, 3), "t": TensorXf64(np.arange(6.0).reshape(2, 3))}
    dr.enable_grad(p)
    y = dr.squared_norm(p["a"]) + dr.sum(p["t"] * p["t"] * p["t"], axis=None).array
    g = dr.gradient(y, p)
    assert np.allclose(g["a"].numpy().ravel(), [2, 4, 6])
    assert g["t"].shape == (2, 3)
    second = dr.gradient(dr.sum(g["t"], axis=None), p["t"])
    assert np.allclose(second.numpy(), 6 * np.arange(6.0).reshape(2, 3))


def test_an_optimizer_of_ones_own_goes_on_as_before():
    x, m = Float64(1, 2), Float64(0)
    for _ in range(20):
        dr.enable_grad(x)
        dr.backward(dr.sum(x * x))
        m = 0.5 * m + dr.grad(x)
        x = dr.detach(x) - 0.1 * m
    assert np.all(np.abs(x.numpy()) < 0.2)
