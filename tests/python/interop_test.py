# tests/python/interop_test.py: arrays and gradients go to PyTorch and JAX and come back; skipped where they are absent.
import numpy as np
import pytest

import umbel.jit as dr
from umbel.jit.auto import Float, TensorXf


def test_pytorch_tensors_convert_in_place():
    torch = pytest.importorskip("torch")
    t = torch.arange(6, dtype=torch.float32)
    a = Float(t)
    assert list(a) == list(range(6)) and np.shares_memory(a.numpy(), t.numpy())
    assert torch.equal((a + 1).torch(), t + 1)
    assert TensorXf(t.reshape(2, 3)).shape == (2, 3)


def test_pytorch_differentiates_through_umbel():
    torch = pytest.importorskip("torch")

    @dr.wrap(source="torch", target="umbel")
    def f(x, y, scale): return {"sum": dr.sum(x * y) * scale, "sin": dr.sin(x)}
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = torch.tensor([4.0, 5.0, 6.0], requires_grad=True)
    r = f(x, y, scale=2)
    assert torch.allclose(r["sum"].reshape(()), torch.tensor(64.0))
    (r["sum"].sum() + (r["sin"] * torch.tensor([1.0, 10.0, 100.0])).sum()).backward()
    assert torch.allclose(y.grad, 2 * x.detach())
    assert torch.allclose(x.grad, 2 * y.detach() + torch.cos(x.detach()) * torch.tensor([1.0, 10.0, 100.0]))


def test_umbel_differentiates_through_pytorch():
    torch = pytest.importorskip("torch")

    @dr.wrap(source="umbel", target="torch")
    def f(x): return torch.exp(x) * 2
    x = TensorXf([0.0, 1.0])
    dr.enable_grad(x)
    y = f(x)
    assert np.allclose(y.numpy(), 2 * np.exp([0, 1]))
    dr.backward(y * y)
    assert np.allclose(x.grad.numpy(), 8 * np.exp([0, 2]), rtol=1e-5)


def test_jax_differentiates_through_umbel():
    jax = pytest.importorskip("jax")

    @dr.wrap(source="jax", target="umbel")
    def f(x): return dr.sum(dr.sin(x) * x)
    x = jax.numpy.array([1.0, 2.0, 3.0])
    g = jax.grad(lambda v: f(v).sum())(x)
    assert np.allclose(np.array(g), np.cos(np.array(x)) * np.array(x) + np.sin(np.array(x)), atol=1e-5)


def test_umbel_differentiates_through_jax():
    jax = pytest.importorskip("jax")

    @dr.wrap(source="umbel", target="jax")
    def f(x): return jax.numpy.tanh(x)
    x = TensorXf([0.5, -1.0])
    dr.enable_grad(x)
    dr.backward(f(x))
    assert np.allclose(x.grad.numpy(), 1 - np.tanh([0.5, -1.0])**2, atol=1e-6)


def test_unknown_libraries_are_named():
    with pytest.raises(ValueError, match="unknown 'target' argument"):
        dr.wrap(source="umbel", target="tensorflow2")
    with pytest.raises(ValueError, match="at least one of 'source' and 'target' must be umbel"):
        dr.wrap(source="torch", target="jax")
