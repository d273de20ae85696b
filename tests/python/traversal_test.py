# tests/python/traversal_test.py: derivatives through and inside of control flow; scopes; custom operations; names.
import threading

import numpy as np
import pytest

import umbel.jit as dr
from umbel.jit.auto import Array2f, Array3f, Bool, Float, TensorXf, UInt

modes = pytest.mark.parametrize("mode", ["symbolic", "evaluated"])


def values(x): return [float(v) for v in x]


# ---- control flow

@modes
def test_dependence_travels_along_a_chain_of_loop_variables(mode):
    state = [Float(0) for _ in range(4)]
    dr.enable_grad(state[0])
    dr.set_grad(state[0], 1)

    def body(i, s): return i + 1, [s[0]] + [s[k] + s[k - 1] for k in range(1, 4)]
    _, out = dr.while_loop((UInt(0), state), lambda i, s: i < 3, body, mode=mode)
    dr.forward_to(out)
    assert [float(dr.grad(v)[0]) for v in out[1:]] == [3, 3, 1]


@modes
@pytest.mark.parametrize("reverse", [False, True])
def test_loops_branches_and_calls_have_derivatives_in_both_directions(mode, reverse):
    table = Float(2, 3, 4)
    x = Float(1, 2, 3)
    dr.enable_grad(x, table)
    i = UInt(0, 1, 2)
    y = dr.while_loop((UInt(0, 0, 0), x * 1), lambda k, y: k < i, lambda k, y: (k + 1, y * x), mode=mode)[1]
    y = dr.if_stmt((y,), i < 1, lambda y: y * 5, lambda y: y + dr.gather(Float, table, i), mode=mode)
    y = dr.switch(i % 2, [lambda y: y * 10, lambda y: -y], y, mode=mode)
    assert values(y) == [50, -7, 310]
    if reverse:
        dr.backward(y)
        assert values(x.grad) == [50, -4, 270] and values(table.grad) == [0, -1, 10]
    else:
        dr.set_grad(x, 1)
        dr.set_grad(table, [0, 1, 1])
        assert values(dr.forward_to(y)) == [50, -5, 280]


@modes
def test_gathers_of_lanes_that_wait_have_no_part_in_derivatives(mode):
    table = Float(1, 2)
    dr.enable_grad(table)
    i, total = dr.while_loop((UInt(0, 1), Float(0, 0)), lambda i, t: i < 2,
                             lambda i, t: (i + 1, t + dr.gather(Float, table, i)), mode=mode)
    dr.backward(total)
    assert values(table.grad) == [1, 2]


@modes
def test_a_branch_may_traverse_derivatives_itself(mode):
    x = Float(1, 2, 3)
    dr.enable_grad(x)
    y = x * 2

    def one(y): dr.backward_from(y * 2)
    def two(y): dr.backward_from(y * y)
    dr.if_stmt((y,), UInt(0, 1, 2) < 1, one, two, mode=mode)
    assert values(x.grad) == [4, 16, 24]


@modes
def test_a_loop_may_traverse_derivatives_itself(mode):
    x = Float(1, 2)
    dr.enable_grad(x)

    def body(i):
        dr.backward_from(x * Float(i + 1))
        return (i + 1,)
    dr.while_loop((UInt(0, 1),), lambda i: i < 3, body, mode=mode)
    assert values(x.grad) == [6, 5]


# ---- gradients

def test_gradients_of_several_lanes_are_summed_for_one():
    x = Float(1)
    dr.enable_grad(x)
    dr.set_grad(x, Float(1, 2, 3))
    assert values(x.grad) == [6]
    v = Array3f(x)
    dr.clear_grad(x)
    dr.backward_from(v)
    assert values(x.grad) == [3]
    dr.set_grad(x, Float())
    assert values(x.grad) == [0]
    y = Float(1, 2, 3)
    dr.enable_grad(y)
    with pytest.raises(dr.UserError, match="a gradient of size 2 into AD variable .* size 3"):
        dr.set_grad(y, Float(1, 2))


def test_a_constant_that_is_no_number_stays_behind_select():
    x = dr.arange(Float, 3)
    dr.enable_grad(x)
    dr.backward(dr.select(x < 5, x, x * (Float(0) / Float(0))))
    assert values(x.grad) == [1, 1, 1]


def test_one_number_as_a_gradient_is_that_of_every_lane():
    x, y = Float(1, 2, 3), Float(2)
    dr.enable_grad(x, y)
    dr.backward(x + y)
    assert values(y.grad) == [3]
    z = x - y
    dr.clear_grad(x, y)
    dr.set_grad(z, 2)
    assert values(dr.backward_to(y)) == [-6]
    z = x + y
    dr.clear_grad(x, y)
    g = Float(5)
    dr.make_opaque(g)
    dr.set_grad(z, g)
    assert values(dr.backward_to(y)) == [15]


def test_a_gradient_that_is_one_number_passes_through_a_second_scatter():
    x = Float(2)
    dr.enable_grad(x)
    target = dr.zeros(Float, 4)
    dr.scatter(target, x * 2, UInt(1))
    dr.scatter(target, Float(7), UInt(0))
    dr.backward(target)
    assert values(x.grad) == [2]


def test_traversals_from_nothing_are_errors_unless_allowed():
    for f in (dr.forward_from, dr.forward_to, dr.backward_from, dr.backward_to):
        with pytest.raises(RuntimeError, match="the argument does not depend on the input variable"):
            f(Float(1))
        f(Float(1), flags=dr.ADFlag.Default | dr.ADFlag.AllowNoGrad)
    x = Float(2)
    dr.enable_grad(x)
    dr.set_grad(x, 1)
    a, b = dr.forward_to(x * 2, x * 3, dr.ADFlag.ClearNone)
    assert values(a) == [2] and values(b) == [3]


def test_replaced_gradients_need_fitting_types_and_sizes():
    with pytest.raises(RuntimeError, match=r"incompatible input sizes \(3 and 4\)"):
        dr.replace_grad(Float(1, 2, 3), Float(1, 2, 3, 4))
    with pytest.raises(RuntimeError) as e:
        dr.replace_grad((1.0,), (UInt(1),))
    assert "incompatible input types" in str(e.value.__cause__)
    x, y = Array2f(1, 2), Float(3)
    dr.enable_grad(y)
    z = dr.replace_grad(x, y)
    assert type(z) is Array2f and z.x.index_ad == z.y.index_ad == y.index_ad


@modes
def test_calls_see_gradients_that_a_scatter_has_cleared(mode):
    y = Float(1, 2, 3)
    dr.enable_grad(y)
    z = dr.switch(UInt(0, 1, 0), [lambda a: a * 2, lambda a: a * a], y, mode=mode)
    dr.scatter(z, Float(7, 8), UInt(2, 0))
    dr.backward(z)
    assert values(y.grad) == [0, 4, 0]


# ---- scopes

def test_copies_of_what_is_suspended_have_no_derivatives():
    x = Float(1)
    dr.enable_grad(x)
    with dr.suspend_grad():
        y, z = Float(x), Float(2)
        dr.enable_grad(z)
        assert values(dr.grad(x)) == [0]
    assert dr.grad_enabled(x) and not dr.grad_enabled(y) and not dr.grad_enabled(z)


def test_scopes_belong_to_the_thread_that_opens_them():
    x = Float(1)
    dr.enable_grad(x)
    seen = []

    def other():
        seen.append(dr.grad_enabled(x))
        with dr.suspend_grad():
            seen.append(dr.grad_enabled(x * 2))
        seen.append(dr.grad_enabled(x * 2))
    with dr.suspend_grad():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert not dr.grad_enabled(x * 2)
    assert seen == [True, False, True]


# ---- custom operations

class Product(dr.CustomOp):
    def eval(self, *args, **kwargs):
        self.args, self.kwargs = args, kwargs
        return {"r": args[0] * kwargs["scale"], "n": len(args)}

    def forward(self):
        self.set_grad_out({"r": self.grad_in("args")[0] * self.kwargs["scale"] +
                           self.args[0] * self.grad_in("kwargs")["scale"], "n": 0})

    def backward(self):
        g = self.grad_out()["r"]
        self.set_grad_in("args", (g * self.kwargs["scale"],))
        self.set_grad_in("kwargs", {"scale": g * self.args[0]})


def test_custom_operations_know_their_arguments_by_name():
    x, s = Float(2, 3), Float(5)
    dr.enable_grad(x, s)
    out = dr.custom(Product, x, scale=s)
    assert out["n"] == 1 and values(out["r"]) == [10, 15]
    dr.backward(out["r"])
    assert values(x.grad) == [5, 5] and values(s.grad) == [5]
    out = dr.custom(Product, x, scale=s)
    dr.clear_grad(x, s)
    dr.set_grad(s, 1)
    assert values(dr.forward_to(out["r"])) == [2, 3]


def test_custom_operations_read_what_is_not_among_their_arguments():
    x = Float(2)
    dr.enable_grad(x)
    hidden = x * 3

    class Op(dr.CustomOp):
        def eval(self, k):
            self.add_input(hidden)
            assert dr.grad_enabled(hidden)
            self.k = k
            return dr.detach(hidden) * k

        def forward(self):
            assert self.grad_in("k") == 0
            self.set_grad_out(dr.grad(hidden) * self.k)

        def backward(self): dr.accum_grad(hidden, self.grad_out() * self.k)
    y = dr.custom(Op, 7)
    dr.backward(y)
    assert values(y) == [42] and values(x.grad) == [21]
    hidden = x * 3
    dr.clear_grad(x)
    dr.set_grad(x, 1)
    assert values(dr.forward_to(dr.custom(Op, 7))) == [21]


def test_custom_operations_inside_of_recorded_loops():
    class Square(dr.CustomOp):
        def eval(self, x):
            self.x = x
            return x * x

        def forward(self): self.set_grad_out(self.grad_in("x") * self.x * 5)
        def backward(self): self.set_grad_in("x", self.grad_out() * self.x * 5)

    @dr.syntax
    def f(x):
        i = UInt(0)
        while i < 2:
            x = dr.custom(Square, x)
            i += 1
        return x
    x = Float(1, 2)
    dr.enable_grad(x)
    y = f(x)
    dr.backward(y)
    assert values(y) == [1, 16] and values(x.grad) == [25, 25 * 2 * 4]
    x = Float(1, 2)
    dr.enable_grad(x)
    dr.set_grad(x, 1)
    assert values(dr.forward_to(f(x))) == [25, 200]


def test_custom_operations_say_what_is_wrong():
    class Op(dr.CustomOp):
        def eval(self, a): return a * 1
        def backward(self): self.set_grad_in("b", 1)

    class Broken(dr.CustomOp):
        def eval(self, a): raise ValueError("no")
    x = Float(1)
    dr.enable_grad(x)
    with pytest.raises(RuntimeError, match="no input argument|could not find an input argument named \"b\""):
        dr.backward(dr.custom(Op, x))
    y = dr.custom(Op, x)
    with pytest.raises(RuntimeError, match=r"Op.forward\(\): not implemented"):
        dr.forward(x)
    del y
    with pytest.raises(RuntimeError, match="ValueError in eval") as e:
        dr.custom(Broken, x)
    assert type(e.value.__cause__) is ValueError
    with pytest.raises(RuntimeError, match="missing a required argument"):
        dr.custom(Op)
    with pytest.raises(TypeError, match="subclass of CustomOp"):
        dr.custom(int, x)


# ---- names

def test_arrays_have_names():
    x, v, s = Float(1, 2), Array2f([1, 2], [3, 4]), {"k": Float(5, 6)}
    dr.enable_grad(x)
    assert x.label is None
    dr.set_label(x, "x")
    dr.set_label(v=v, s=s)
    assert x.label == "x" and v.x.label == "v_0" and v.y.label == "v_1" and s["k"].label == "s_k"
    assert "x" in dr.whos_ad(as_string=True) and dr.graphviz_ad(as_string=True).startswith("digraph")
    x.label = "other"
    assert x.label == "other" and (x + 1).label is None
    with pytest.raises(TypeError, match="incompatible function arguments"):
        dr.set_label(x, "x", v=v)


@modes
def test_members_of_instances_get_gradients_of_the_lanes_that_call_them(mode):
    class Shape:
        def __init__(self, k): self.k = Float(k)
    shapes = [Shape(2), Shape(3)]
    dr.enable_grad([s.k for s in shapes])
    pointers = dr.InstancePtr(shapes, UInt(1, 0, 1, 7))  # there is no eighth
    r = dr.dispatch(pointers, lambda s, x, active: s.k * x, Float(1, 2, 3, 4), Bool(True, True, False, True), mode=mode)
    assert values(r) == [3, 4, 0, 0]
    dr.backward(r)
    assert [values(s.k.grad) for s in shapes] == [[2], [1]]
    with pytest.raises(dr.UserError, match="must be an array of instances"):
        dr.dispatch(Float(1), lambda s: s)
