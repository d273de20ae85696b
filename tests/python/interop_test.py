# tests/python/interop_test.py: arrays and gradients go to PyTorch and JAX and come back; skipped where they are absent.
import numpy as np
import pytest

import umbel.jit as dr
from umbel.jit.auto import Array3f, Float, Int, TensorXf


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


# ---- both directions, forward and in reverse

def foreign(library, f):
    """A function of Umbel's arrays that another library computes."""
    if library == "jax.jit":
        f = pytest.importorskip("jax").jit(f)
    else:
        pytest.importorskip(library)
    return dr.wrap(source="umbel", target=library.split(".")[0])(f)


@pytest.mark.parametrize("library", ["torch", "jax", "jax.jit"])
@pytest.mark.parametrize("reverse", [False, True])
def test_structures_pass_through_other_libraries_with_their_gradients(library, reverse):
    f = foreign(library, lambda items, *, scale: {"r": items[0]["a"] * scale + 2 * items[1][0], "i": items[2] + 1})
    a, b, scale = Float(1, 2, 3), Float(4, 5, 6), Float(10)
    dr.enable_grad(a, b, scale)
    out = f([{"a": a}, (b,), Int(7, 8)], scale=scale)
    assert list(out["r"]) == [18, 30, 42] and list(out["i"]) == [8, 9]
    if reverse:
        dr.set_grad(out["r"], [1, 10, 100])
        dr.backward_to(a, b, scale)
        assert list(a.grad) == [10, 100, 1000] and list(b.grad) == [2, 20, 200] and list(scale.grad) == [321]
    else:
        dr.set_grad(a, [1, 1, 1])
        dr.set_grad(scale, 1)
        assert list(dr.forward_to(out["r"])) == [11, 12, 13]


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_nested_arrays_become_tensors_of_other_libraries(library):
    f = foreign(library, lambda x, y: (x * y).sum())
    x, y = Array3f([1, 2], [3, 4], [5, 6]), Array3f(10, 20, 30)
    dr.enable_grad(x, y)
    r = f(x, y)
    assert r.shape == () and r.array[0] == 500
    dr.backward(r)
    assert [list(v) for v in x.grad] == [[10, 10], [20, 20], [30, 30]] and [list(v) for v in y.grad] == [[3], [7], [11]]


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_errors_of_other_libraries_are_causes(library):
    def broken(x): raise ValueError("not today")
    with pytest.raises(RuntimeError) as e:
        foreign(library, broken)(Float(1))
    assert "not today" in str(e.value.__cause__)


def test_pytorch_differentiates_through_umbel_forward():
    torch = pytest.importorskip("torch")
    import torch.autograd.forward_ad as fwd

    @dr.wrap(source="torch", target="umbel")
    def f(x, y): return x * dr.sum(y), y + 1
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    with fwd.dual_level():
        a, b = f(fwd.make_dual(x, torch.tensor([10.0, 20.0])), fwd.make_dual(y, torch.tensor([1.0, 0.0])))
        assert torch.allclose(fwd.unpack_dual(a).tangent, torch.tensor([71.0, 142.0]))
        assert torch.allclose(fwd.unpack_dual(b).tangent, torch.tensor([1.0, 0.0]))


def test_functions_of_both_libraries_nest():
    torch = pytest.importorskip("torch")

    @dr.wrap(source="umbel", target="torch")
    def add(x, y): return x + y

    @dr.wrap(source="torch", target="umbel")
    def f(x, y): return x * add(x, y)
    x, y = torch.arange(3.0, requires_grad=True), torch.tensor([0.0, 4.0, 8.0], requires_grad=True)
    f(x, y).backward(torch.tensor([1.0, 2.0, 3.0]))
    assert x.grad.tolist() == [0, 12, 36] and y.grad.tolist() == [0, 2, 6]


def test_unknown_libraries_are_named():
    with pytest.raises(ValueError, match="unknown 'target' argument"):
        dr.wrap(source="umbel", target="tensorflow2")
    with pytest.raises(ValueError, match="at least one of 'source' and 'target' must be umbel"):
        dr.wrap(source="torch", target="jax")
