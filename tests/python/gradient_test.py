# tests/python/gradient_test.py: derivatives from Python: traversals, scopes, custom operations, structures.
import numpy as np
import pytest

import umbel.jit as dr
from umbel.jit.auto import Array3f, Array3f64, Float, Float64, Int, Matrix3f64, UInt


def test_forward_and_backward_agree_with_differences():
    def f(x): return dr.sin(x) * x + dr.exp(-x * x) / (1 + x * x)
    at, h = np.linspace(-2, 2, 41), 1e-6
    expected = (f(Float64(at + h)).numpy() - f(Float64(at - h)).numpy()) / (2 * h)
    x = Float64(at)
    dr.enable_grad(x)
    dr.backward(f(x))
    assert np.allclose(x.grad.numpy(), expected, atol=1e-8)
    x = Float64(at)
    dr.enable_grad(x)
    y = f(x)
    dr.forward(x)
    assert np.allclose(dr.grad(y).numpy(), expected, atol=1e-8)


def test_directed_traversals_return_gradients():
    x, y = Float(2), Float(3)
    dr.enable_grad(x, y)
    z = x * y
    dr.set_grad(z, 10)
    dr.enqueue(dr.ADMode.Backward, z)
    dr.traverse(dr.ADMode.Backward)
    assert x.grad[0] == 30 and y.grad[0] == 20
    x = Float(2)
    dr.enable_grad(x)
    y = x * x
    dr.set_grad(x, 5)
    assert dr.forward_to(y)[0] == 20


def test_nested_arrays_and_structures_have_gradients():
    v = Array3f64(1, 2, 3)
    state = {"v": v, "list": [Float64(4), Int(1)]}
    dr.enable_grad(state)
    assert dr.grad_enabled(state) and dr.grad_enabled(v) and not dr.grad_enabled(state["list"][1])
    y = dr.dot(state["v"], state["v"]) * state["list"][0]
    dr.backward(y)
    g = dr.grad(state)
    assert list(g["v"].numpy().ravel()) == [8, 16, 24] and g["list"][0][0] == 14
    m = Matrix3f64(2)
    dr.enable_grad(m)
    dr.backward(dr.det(m))
    assert np.allclose(m.grad.numpy()[..., 0], 4 * np.eye(3))


def test_detached_values_pass_nothing_on():
    x = Float(3)
    dr.enable_grad(x)
    y = x * dr.detach(x)
    dr.backward(y)
    assert x.grad[0] == 3
    x = Float(3)
    dr.enable_grad(x)
    y = dr.replace_grad(Float(100), x * x)
    assert y[0] == 100
    dr.backward(y)
    assert x.grad[0] == 6
    dr.disable_grad(x)
    assert not dr.grad_enabled(x)


def test_scopes():
    x, y = Float(2), Float(5)
    dr.enable_grad(x, y)
    with dr.suspend_grad():
        assert not dr.grad_enabled(x) and not dr.grad_enabled(x * 2)
        with dr.resume_grad(y):
            assert dr.grad_enabled(y) and not dr.grad_enabled(x)
    with dr.suspend_grad(x):
        z = x * y
        assert dr.grad_enabled(z)
    dr.backward(z)
    assert x.grad[0] == 0 and y.grad[0] == 2
    with dr.suspend_grad(when=False):
        assert dr.grad_enabled(x)


def test_isolation_postpones_what_lies_outside():
    x = Float(3)
    dr.enable_grad(x)
    y = x * x
    with dr.isolate_grad():
        z = y * 2
        dr.backward(z)
        assert x.grad[0] == 0
    assert x.grad[0] == 12


def test_an_isolation_that_an_error_ends_spreads_nothing():
    x = Float(3)
    dr.enable_grad(x)
    y = x * x
    with pytest.raises(KeyError):
        with dr.isolate_grad():
            dr.backward(y * 2)
            raise KeyError
    assert x.grad[0] == 0
    dr.backward(y * 2)
    assert x.grad[0] == 12


def test_errors_at_the_end_of_an_isolation_are_raised():
    class Fails(dr.CustomOp):
        def eval(self, x): return x + 0
        def backward(self): raise KeyError("no derivative")

    x = Float(3)
    dr.enable_grad(x)
    y = dr.custom(Fails, x)
    with pytest.raises(Exception, match="no derivative"):
        with dr.isolate_grad():
            dr.backward(y * 1)


class Cube(dr.CustomOp):
    def eval(self, x, scale=1):
        self.x, self.scale = x, scale
        return x * x * x * scale

    def forward(self):
        self.set_grad_out(3 * self.x * self.x * self.scale * self.grad_in("x"))

    def backward(self):
        self.set_grad_in("x", 3 * self.x * self.x * self.scale * self.grad_out())


def test_custom_operations():
    x = Float(1, 2)
    dr.enable_grad(x)
    y = dr.custom(Cube, x, scale=2)
    assert list(y) == [2, 16] and dr.grad_enabled(y)
    dr.backward(y)
    assert list(x.grad) == [6, 24]
    x = Float(1, 2)
    dr.enable_grad(x)
    y = dr.custom(Cube, x)
    dr.forward(x)
    assert list(y.grad) == [3, 12]
    assert not dr.grad_enabled(dr.custom(Cube, Float(1)))


def test_custom_operations_of_structures():
    class Swap(dr.CustomOp):
        def eval(self, d): return {"a": d["b"] * 2, "b": d["a"] * 3}

        def backward(self):
            g = self.grad_out()
            self.set_grad_in("d", {"a": g["b"] * 3, "b": g["a"] * 2})
    d = {"a": Float(1), "b": Array3f(1, 2, 3)}
    dr.enable_grad(d)
    r = dr.custom(Swap, d)
    dr.backward(dr.sum(r["a"]) + r["b"] * 10)
    assert d["a"].grad[0] == 30 and list(d["b"].grad.numpy().ravel()) == [2, 2, 2]


def test_errors_of_custom_operations_reach_the_caller():
    class Broken(dr.CustomOp):
        def eval(self, x): return x * 1
        def backward(self): raise ValueError("no derivative today")
    x = Float(1)
    dr.enable_grad(x)
    y = dr.custom(Broken, x)
    with pytest.raises(ValueError, match="no derivative today"):
        dr.backward(y)


def test_what_depends_on_nothing_is_an_error():
    with pytest.raises(dr.UserError, match="enable_grad"):
        dr.backward(Float(1))
    dr.backward(Float(1), dr.ADFlag.AllowNoGrad)


def test_a_graph_can_be_kept():
    x = Float(3)
    dr.enable_grad(x)
    y = x * x
    dr.backward(y, dr.ADFlag.ClearInterior | dr.ADFlag.ClearInput)
    assert x.grad[0] == 6
    dr.backward(y)
    assert x.grad[0] == 12
    dr.clear_grad(x)
    assert x.grad[0] == 0


def test_nothing_is_left_behind():
    import gc
    gc.collect()
    before = dr.ad_live()
    x = dr.arange(Float, 10)
    dr.enable_grad(x)
    y = dr.sum(dr.sin(x) * dr.gather(Float, x, UInt(range(10))))
    dr.backward(y)
    del x, y
    gc.collect()
    assert dr.ad_live() == before


def test_gradient_descent_converges():
    target = Array3f(0.2, 0.5, 0.9)
    x = Array3f(0.5)
    for _ in range(100):
        dr.enable_grad(x)
        loss = dr.squared_norm(x - target)
        dr.backward(loss)
        x = dr.detach(x) - 0.1 * x.grad
        dr.eval(x)
    assert dr.allclose(x, target, atol=1e-4)


def test_traversals_from_a_value_keep_a_gradient_that_is_set():
    for start, expected in ((dr.backward_from, 15), (dr.backward, 3)):
        x = Float(1, 2)
        dr.enable_grad(x)
        y = x * 3
        y.grad = 5
        start(y)
        assert dr.all(x.grad == expected)
    x = Float(1)
    dr.enable_grad(x)
    y = x * 3
    dr.forward_from(x)
    assert y.grad[0] == 3
    x = Float(1)
    dr.enable_grad(x)
    x.grad = 4
    y = x * 3
    dr.forward_from(x)
    assert y.grad[0] == 12


def test_a_call_of_a_known_function_differentiates_what_it_gathers_from():
    for index in (UInt(0), UInt(0, 0)):
        table, x = Float(1, 3), Float(2)
        dr.enable_grad(table, x)
        y = dr.switch(index, [lambda x: dr.gather(Float, table, UInt(1)) * x, lambda x: x], x)
        dr.backward(dr.sum(y))
        assert dr.all(table.grad == Float(0, 2 * len(y))) and x.grad[0] == 3 * len(y)


def test_all_entries_of_a_matrix_count_in_its_derivative():
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    inverse = np.linalg.inv(a)
    x = dr.auto.Matrix2f(a)
    dr.enable_grad(x)
    dr.backward(dr.rcp(x))
    assert np.allclose(x.grad.numpy()[..., 0], -inverse.T @ np.ones((2, 2)) @ inverse.T)
    x = dr.auto.Matrix2f(a)
    dr.enable_grad(x)
    y = x @ x
    dr.forward(x)
    assert np.allclose(y.grad.numpy()[..., 0], np.ones((2, 2)) @ a + a @ np.ones((2, 2)))
    z, q = dr.auto.Complex2f(1, 2), dr.auto.Quaternion4f(1, 2, 3, 4)
    dr.enable_grad(z, q)
    dr.backward([z * 2, q * 3])
    assert z.grad.real[0] == z.grad.imag[0] == 2 and [q.grad[i][0] for i in range(4)] == [3, 3, 3, 3]
    dr.set_grad(x, 1)  # as arrays of one number are: the identity
    assert x.grad[0, 1][0] == 0 and x.grad[1, 1][0] == 1
