# tests/python/control_test.py: loops, conditionals and calls from Python; @syntax; recorded and evaluated.
from dataclasses import dataclass

import numpy as np
import pytest

import umbel.jit as dr
from umbel.jit.auto import Array2f, Array3f, Bool, Float, Float64, Int, PCG32, UInt

modes = pytest.mark.parametrize("mode", ["symbolic", "evaluated"])


@modes
def test_loops_run_each_lane_to_its_own_end(mode):
    n = UInt(0, 1, 5, 10)
    i, total = dr.while_loop((UInt(0, 0, 0, 0), dr.zeros(UInt, 4)), lambda i, t: i < n, lambda i, t: (i + 1, t + i),
                             mode=mode)
    assert list(total) == [0, 0, 10, 45] and list(i) == [0, 1, 5, 10]


@modes
def test_loops_carry_structures(mode):
    @dataclass
    class State:
        p: Array2f
        count: UInt

    def body(s, extra):
        return State(s.p * 0.5, s.count + 1), {"last": s.p.x}
    s, extra = dr.while_loop((State(Array2f([8, 1], 4), UInt(0)), {"last": Float(0)}),
                             lambda s, e: s.p.x > 1, body, mode=mode)
    assert list(s.count) == [3, 0] and list(s.p.x) == [1, 1] and list(extra["last"]) == [2, 0]


def test_loops_of_python_numbers_stay_pythons():
    assert dr.while_loop((0, 1), lambda i, x: i < 5, lambda i, x: (i + 1, x * 2)) == (5, 32)


def test_state_keeps_its_type_and_structure():
    with pytest.raises(dr.UserError, match=r"type of state variable 'state\[1\]' changed from .*Float' to .*Float64'"):
        dr.while_loop((UInt(0), Float(0)), lambda i, x: i < 3, lambda i, x: (i + 1, Float64(x)))
    with pytest.raises(dr.UserError, match=r"'state\[1\]' of type 'int' changed from '0' to '1'"):
        dr.while_loop((UInt(0), 0), lambda i, x: i < 3, lambda i, x: (i + 1, x + 1))
    with pytest.raises(dr.UserError, match="1 state variables, not 2"):
        dr.while_loop((UInt(0), Float(0)), lambda i, x: i < 3, lambda i, x: (i + 1,))


def test_errors_in_bodies_reach_the_caller_and_leave_the_context_usable():
    def body(i):
        raise ValueError("stop here")
    for _ in range(3):
        for f in (lambda: dr.while_loop((UInt(0),), lambda i: i < 3, body),
                  lambda: dr.if_stmt((UInt(1),), Bool(True, False), body, lambda i: i),
                  lambda: dr.switch(UInt(0, 1), [lambda x: x, body], UInt(1))):
            with pytest.raises(RuntimeError, match="raised ValueError: stop here") as e:
                f()
            assert type(e.value.__cause__) is ValueError
    assert list(dr.arange(UInt, 3) + 1) == [1, 2, 3]


@modes
def test_conditionals_choose_a_branch_a_lane(mode):
    x = Float(-2, 3)
    r = dr.if_stmt((x,), x > 0, lambda x: (x * 2, Int(1)), lambda x: (-x, Int(2)), mode=mode)
    assert list(r[0]) == [2, 6] and list(r[1]) == [2, 1]
    assert dr.if_stmt((1,), True, lambda x: x + 1, lambda x: x) == 2


def test_branches_have_side_effects_for_their_lanes_only():
    target = dr.zeros(Float, 4)
    i = dr.arange(UInt, 4)

    def write(i):
        dr.scatter(target, Float(1), i)
    dr.if_stmt((i,), i < 2, write, lambda i: None)
    assert list(target) == [1, 1, 0, 0]


@modes
def test_switch_calls_one_of_several_functions(mode):
    functions = [lambda x, y: x + y, lambda x, y: x * y, lambda x, y: x - y]
    r = dr.switch(UInt(0, 1, 2, 3), functions, Float(4, 5, 6, 7), Float(2), mode=mode)
    assert list(r) == [6, 10, 4, 0]
    assert dr.switch(1, functions, 3, 4) == 12
    r = dr.switch(UInt(0, 1), [lambda x: (x, 1), lambda x: (x * 2, 1)], Float(1, 2), mode=mode)
    assert list(r[0]) == [1, 4] and r[1] == 1


@modes
def test_results_have_the_width_of_the_call(mode):
    functions = [lambda x, active: x + 1, lambda x, active: x * 2]
    for mask in (False, Bool(False), dr.full(Bool, False, 4), dr.opaque(Bool, False, 4)):
        assert list(dr.switch(dr.arange(UInt, 4) % 2, functions, dr.arange(Float, 4), mask, mode=mode)) == [0, 0, 0, 0]
    assert list(dr.switch(dr.full(UInt, 7, 4), [lambda: Float(1)], mode=mode)) == [0, 0, 0, 0]
    a, (b, c) = dr.switch(UInt(0, 1, 0), [lambda x: (Float(5), (Bool(True), x)), lambda x: (Float(5), (Bool(True), x))],
                          Float(3), mode=mode)
    assert list(a) == [5, 5, 5] and list(b) == [True] * 3 and list(c) == [3, 3, 3]


def test_dispatch_calls_methods_of_objects():
    class Shape:
        def __init__(self, k): self.k = k
        def area(self, x): return x * self.k
    shapes = dr.InstancePtr([Shape(Float(2)), Shape(Float(3))], UInt(1, 0, 1))
    assert list(dr.dispatch(shapes, lambda s, x: s.area(x), Float(1, 2, 3))) == [3, 4, 9]


def test_gradients_pass_through_control_flow():
    x = Float(1, 2, 3)
    dr.enable_grad(x)
    i, y = dr.while_loop((UInt(0), x * 1), lambda i, y: i < 3, lambda i, y: (i + 1, y * x))
    dr.backward(y)
    assert np.allclose(x.grad.numpy(), 4 * np.array([1, 8, 27]))
    x = Float(-1, 2)
    dr.enable_grad(x)
    y = dr.if_stmt((x,), x > 0, lambda x: x * x, lambda x: 5 * x)
    dr.backward(y)
    assert list(x.grad) == [5, 4]


# ---- @syntax

@dr.syntax
def collatz(n):
    steps = UInt(0)
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def test_syntax_turns_statements_into_recorded_ones():
    assert list(collatz(UInt(1, 2, 3, 7, 27))) == [0, 1, 7, 16, 111]


@dr.syntax
def mixed(n, x, flag):
    y = Float(0)
    if flag:  # Python's own
        y = Float(100)
    for k in range(3):
        if x > k:
            t = x * 2  # ends with the branch
            y += t
    i = UInt(0)
    while dr.hint(i < n, mode="evaluated", label="inner"):
        i += 1
        if x > 0:
            y += 1
    j = 0
    while dr.hint(j < 2, mode="scalar"):
        j += 1
        if dr.hint(j == 5, mode="scalar"):
            break
    return y, j


def test_syntax_leaves_pythons_conditions_alone():
    y, j = mixed(UInt(2), Float(-1, 2.5), True)
    assert list(y) == [100, 117] and j == 2
    y, j = mixed(UInt(0), Float(-1, 2.5), False)
    assert list(y) == [0, 15]


def test_syntax_keeps_closures_defaults_and_objects():
    factor = Float(3)

    @dr.syntax
    def f(n, start=2):
        rng = PCG32(2)
        total = Float(start)
        i = UInt(0)
        while i < n:
            total += factor * rng.next_float32()
            i += 1
        return total, rng
    total, rng = f(UInt(2))
    g = PCG32(2)
    expected = 2 + 3 * (g.next_float32().numpy() + g.next_float32().numpy())
    assert np.allclose(total.numpy(), expected)
    assert np.array_equal(rng.state.numpy(), g.state.numpy())


def test_syntax_explains_what_it_cannot_do():
    with pytest.raises(SyntaxError, match="use of 'break' inside a transformed 'while' loop"):
        @dr.syntax
        def f(n):
            while n > 0:
                n -= 1
                break
            return n


def test_kernels_print(capfd):
    @dr.syntax
    def f(n):
        i = UInt(0)
        while i < n:
            dr.print("step {} of {}", i, n)
            i += 1
        return i
    dr.eval(f(UInt(2)))
    dr.sync_thread()
    assert "step [0, 1] of [2, 2]\n" in "".join(capfd.readouterr())


def test_a_loop_is_one_kernel():
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        dr.kernel_history_clear()
        r = collatz(dr.arange(UInt, 100) + 1)
        dr.eval(r)
        assert len(dr.kernel_history([dr.KernelType.JIT])) == 1


def test_frozen_functions_compile_once():
    @dr.freeze
    def f(x, y): return dr.sin(x) * y
    f(dr.arange(Float, 100), Float(1))
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        for k in range(3):
            dr.kernel_history_clear()
            r = f(dr.arange(Float, 100) + k, Float(k))
            assert np.allclose(r.numpy(), np.sin(np.arange(100) + k) * k, atol=1e-5)
            assert k < 2 or all(h["cache_hit"] for h in dr.kernel_history([dr.KernelType.JIT])[-1:])
    assert f.n_recordings == 2  # a constant that changes becomes data


def test_functions_of_a_switch_must_agree_in_what_they_return():
    for other, text in ((lambda x: UInt(x), "inconsistent types for field 'result'"), (lambda x: 1, "inconsistent types"),
                        (lambda x: Float(), "field 'result' is uninitialized")):
        with pytest.raises(dr.UserError, match=text):
            dr.switch(UInt(0, 1), [lambda x: x, other], Float(1, 2))
    with pytest.raises(dr.UserError, match=r"keys for field 'result' \(\['b'\] and \['a'\]\)"):
        dr.switch(UInt(0, 1), [lambda x: {"a": x}, lambda x: {"b": x}], Float(1, 2))


def test_threads_wait_while_another_records_a_body():
    import threading
    import time
    inside, wrong = threading.Event(), []

    def other():
        inside.wait()
        for k in range(20):  # would become part of the loop's body
            target = dr.zeros(UInt, 3)
            dr.scatter(target, UInt(k), UInt(1))
            if list(target) != [0, k, 0]:
                wrong.append(k)

    def body(i, x):
        inside.set()
        time.sleep(0.02)  # the interpreter switches threads here
        return i + 1, x + 1
    thread = threading.Thread(target=other)
    thread.start()
    i, x = dr.while_loop((UInt(0), UInt(0, 10)), lambda i, x: i < 5, body)
    assert list(x) == [5, 15]
    thread.join()
    assert not wrong
